//! The uses of files by kinds of calls, for the tables of libc functions.

use std::ffi::{c_char, c_int, c_void};

use super::disk::{is_on_disk, on_disk};
use super::objects::{Access, How, Uses};

/// A path, or a name.
pub(super) type Path = *const c_char;

const HERE: c_int = libc::AT_FDCWD;
const LINK: c_int = libc::AT_SYMLINK_NOFOLLOW;

/// Defines functions that return the uses of a call on a path in the working directory.
macro_rules! of_paths {
    ($($name:ident $link:literal $how:expr;)*) => {$(
        pub(super) fn $name(path: Path) -> Option<Uses> {
            Uses::at((HERE, path), !$link, $how)
        }
    )*};
}

of_paths! {
    reads false How::Reads;
    reads_link true How::Reads;
    changes false How::Changes;
    changes_link true How::Changes;
    opens false How::Opens { creates: false, truncates: false };
}

pub(super) fn all(access: Access) -> Option<Uses> {
    Some(Uses::all(access))
}

/// Returns the uses of a call on a path, or on the descriptor if the path is empty. Without a path the call only finds
/// out if the kernel supports it, as std does once in a process.
pub(super) fn at((folder, path): (c_int, Path), flags: c_int, how: How) -> Option<Uses> {
    // SAFETY: the caller of the libc function passes null or a string.
    if *unsafe { path.as_ref() }? == 0 {
        return is_on_disk(folder).then(|| Uses::open(folder, how));
    }
    Uses::at((folder, path), flags & LINK == 0, how)
}

/// Returns the uses of `utimensat`, which changes the file of a descriptor if it has no path.
pub(super) fn of_times(folder: c_int, path: Path, flags: c_int) -> Option<Uses> {
    match path.is_null() {
        true => on_disk(folder, Access::Changes),
        false => at((folder, path), flags, How::Changes),
    }
}

/// Returns the uses of a call that adds or removes a name.
pub(super) fn name(folder: c_int, path: Path, how: How) -> Option<Uses> {
    Uses::at((folder, path), false, how)
}

/// Returns the uses of a call that renames a file.
pub(super) fn names(folders: [c_int; 2], [from, to]: [Path; 2]) -> Option<Uses> {
    Some(name(folders[0], from, How::Names)?.and(name(folders[1], to, How::Names)?))
}

/// Returns the uses of a call that adds a second name of a file.
pub(super) fn second_name(folders: [c_int; 2], [from, to]: [Path; 2]) -> Option<Uses> {
    let second = name(folders[1], to, How::Structure)?;
    Some(second.and(name(folders[0], from, How::Reads)?))
}

/// Returns the uses of a call that reads the next name in an open folder.
pub(super) fn list(folder: *mut c_void) -> Option<Uses> {
    // SAFETY: the caller of the libc function passes an open folder.
    lists(unsafe { libc::dirfd(folder.cast()) })
}

/// Returns the uses of a call that reads names in the folder of a descriptor.
pub(super) fn lists(descriptor: c_int) -> Option<Uses> {
    is_on_disk(descriptor).then(|| Uses::open(descriptor, How::Lists))
}
