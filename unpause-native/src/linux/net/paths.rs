//! The objects of real files: one for each path, and one for the names in each folder.
//!
//! A path is absolute, and contains no symbolic link, `.` or `..`. The kernel resolves all folders of a path; this file
//! resolves a symbolic link at its end. The object of a path is the same in all runs and processes, if the path is the
//! same. So the number of the process, and the folder for temporary files, are not part of it. `own_number.rs` decides
//! if digits in a path are this number.
//!
//! # Limits
//!
//! A folder that is mounted at two places has two paths, and its files have two objects each.

use std::ffi::{CStr, c_char, c_int};
use std::io;

use super::super::own_number;
use super::super::thread::outside;
use super::KEY;

/// The number of a device, and of a file on it.
pub(super) type Number = (libc::dev_t, libc::ino_t);

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// There is no file.
    Absent,
    /// A file with at most one name.
    File,
    Folder,
    /// A symbolic link, or a file with several names.
    Other,
    /// It is not known which path the file has.
    Unknown,
}

/// The file to which a path or a descriptor refers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) form: Form,
    /// The object of the path, if the path is known.
    pub(super) file: Option<u64>,
    /// The object of the names in the folder that contains the file.
    pub(super) names: Option<u64>,
    /// The object of the names in the file, if it is a folder.
    pub(super) own_names: Option<u64>,
}

impl Target {
    pub(super) const fn without_path(form: Form) -> Target {
        Target { form, file: None, names: None, own_names: None }
    }

    fn at(path: &[u8], form: Form) -> Target {
        let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Target {
            form,
            file: Some(key(FILE, path)),
            names: Some(key(NAMES, &path[..slash.max(1)])),
            own_names: (form == Form::Folder).then(|| key(NAMES, path)),
        }
    }
}

const UNKNOWN: Target = Target::without_path(Form::Unknown);

/// The kinds of objects.
const FILE: u64 = 1;
const NAMES: u64 = 2;
const PIPE: u64 = 3;

/// The maximum number of symbolic links at the ends of paths, and of missing folders, that are followed.
const LINKS: u32 = 40;

/// The end of the path of a file that has been removed, in the kernel's form.
const REMOVED: &[u8] = b" (deleted)";

/// Returns the key of an object for a path.
fn key(kind: u64, path: &[u8]) -> u64 {
    let process = std::process::id().to_string();
    let path = path.strip_suffix(REMOVED).unwrap_or(path);
    let is_in = numbers(path).any(|digits| digits == process.as_bytes()) && own_number::is_in(path);
    key_without(kind, path, is_in.then_some(process.as_bytes()))
}

/// Returns the numbers in a path, without leading zeros.
fn numbers(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| !byte.is_ascii_digit()).map(without_zeros)
}

/// Returns a number without leading zeros.
fn without_zeros(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|digit| **digit == b'0').count()..]
}

/// Returns the key of an object for a path. The number of the process, if given, is not a part of the key.
fn key_without(kind: u64, path: &[u8], process: Option<&[u8]>) -> u64 {
    let mut hash = kind << 32 | 1 << 63;
    let mut add = |byte: u64| {
        hash = (hash ^ byte).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    };
    for part in path.split(|byte| *byte == b'/') {
        let mut rest = if is_temporary(part) { &b"temporary"[..] } else { part };
        while let Some(first) = rest.first() {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 && process == Some(without_zeros(&rest[..digits])) {
                add(1 << 8);
                rest = &rest[digits..];
                continue;
            }
            // On some file systems, names are the same if they differ only in the case of letters.
            let taken = digits.max(1);
            match digits {
                0 => add(u64::from(first.to_ascii_lowercase())),
                _ => rest[..digits].iter().for_each(|digit| add(u64::from(*digit))),
            }
            rest = &rest[taken..];
        }
        add(u64::from(b'/'));
    }
    hash >> 3 | KEY
}

/// Returns `true` for the name of a folder for temporary files, which contains the number of a process: see
/// `temporary.rs`.
fn is_temporary(name: &[u8]) -> bool {
    let numbers = name.strip_prefix(b"unpause-").unwrap_or_default();
    let mut parts = numbers.split(|byte| *byte == b'-');
    let mut is_number =
        || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    is_number() && is_number() && parts.next().is_none()
}

/// Returns the file at a path, relative to a folder.
pub(super) fn resolve(folder: c_int, path: &CStr, follows: bool) -> Target {
    outside(|| find(folder, path.to_bytes(), follows, 0))
}

/// Returns the key of the pipe of a FIFO at a path.
pub(super) fn key_of_pipe(folder: c_int, path: &CStr) -> u64 {
    outside(|| match find(folder, path.to_bytes(), true, 0).file {
        Some(file) => file ^ PIPE,
        None => KEY | PIPE,
    })
}

fn find(folder: c_int, path: &[u8], follows: bool, links: u32) -> Target {
    if links > LINKS {
        return UNKNOWN;
    }
    let (parent, name, is_folder) = split(path);
    let mut whole = match path_of_folder(folder, parent) {
        Ok(place) => place,
        // The call fails because of a name that is missing, or that is not a folder. Its result depends on this name.
        Err(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP | libc::ENAMETOOLONG)
            if !parent.is_empty() =>
        {
            return find(folder, parent, true, links + 1);
        }
        Err(_) => return UNKNOWN,
    };
    if name.is_empty() {
        return Target::at(&whole, Form::Folder);
    }
    let place = whole.len();
    push(&mut whole, name);
    let Some(status) = status_at(&whole) else { return Target::at(&whole, Form::Absent) };
    let form = match status.st_mode & libc::S_IFMT {
        libc::S_IFLNK if follows || is_folder => {
            // The links in this folder are not paths.
            let text = text_of_link(&whole).filter(|_| !whole.starts_with(b"/proc/"));
            let Some(text) = text else { return UNKNOWN };
            whole.truncate(place);
            match text.first() {
                Some(b'/') => whole = text,
                _ => push(&mut whole, &text),
            }
            return find(libc::AT_FDCWD, &whole, true, links + 1);
        }
        libc::S_IFLNK => Form::Other,
        libc::S_IFDIR => Form::Folder,
        _ if status.st_nlink > 1 => Form::Other,
        _ => Form::File,
    };
    Target::at(&whole, form)
}

/// Splits a path into the path of a folder, and a name in it. The name is empty if the path is the path of a folder.
/// Also returns `true` if the file must be a folder.
fn split(path: &[u8]) -> (&[u8], &[u8], bool) {
    let Some(last) = path.iter().rposition(|byte| *byte != b'/') else { return (path, b"", true) };
    let (whole, slashes) = path.split_at(last + 1);
    let start = whole.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (parent, name) = whole.split_at(start);
    match name {
        b"." | b".." => (whole, b"", true),
        _ => (parent, name, !slashes.is_empty()),
    }
}

/// Appends a name, or a relative path.
fn push(path: &mut Vec<u8>, name: &[u8]) {
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Returns the path of a folder. An empty path is the folder itself.
///
/// # Errors
/// Returns the error number of the kernel if there is no such folder, or `EIO` if its path is unknown.
fn path_of_folder(folder: c_int, path: &[u8]) -> Result<Vec<u8>, c_int> {
    if path.is_empty() {
        return match folder {
            libc::AT_FDCWD => path_of_working_directory(),
            _ => path_of(folder).ok_or(libc::EIO),
        };
    }
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let name = [path, b"\0"].concat();
    // SAFETY: a system call with a string and numbers.
    let opened = unsafe { libc::syscall(libc::SYS_openat, folder, name.as_ptr(), flags) } as c_int;
    if opened < 0 {
        return Err(last_error());
    }
    let found = path_of(opened);
    // SAFETY: a system call with a number. The descriptor was opened above.
    unsafe { libc::syscall(libc::SYS_close, opened) };
    found.ok_or(libc::EIO)
}

fn path_of_working_directory() -> Result<Vec<u8>, c_int> {
    let mut path = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: a system call with memory of this size.
    let size = unsafe { libc::syscall(libc::SYS_getcwd, path.as_mut_ptr(), path.len()) };
    path.truncate(usize::try_from(size).map_or(0, |size| size.saturating_sub(1)));
    // The kernel marks a folder outside of the root folder.
    if path.starts_with(b"/") { Ok(path) } else { Err(libc::EIO) }
}

/// Returns the path of an open file, in the kernel's form.
fn path_of(descriptor: c_int) -> Option<Vec<u8>> {
    let link = format!("/proc/self/fd/{descriptor}");
    text_of_link(link.as_bytes()).filter(|path| path.starts_with(b"/"))
}

/// Returns the text of a symbolic link.
fn text_of_link(path: &[u8]) -> Option<Vec<u8>> {
    let (name, folder) = ([path, b"\0"].concat(), libc::AT_FDCWD);
    let mut text = vec![0u8; libc::PATH_MAX as usize + REMOVED.len()];
    // SAFETY: a system call with a string, and with memory of this size.
    let size = unsafe {
        libc::syscall(libc::SYS_readlinkat, folder, name.as_ptr(), text.as_mut_ptr(), text.len())
    };
    let size = usize::try_from(size).ok().filter(|size| (1..text.len()).contains(size))?;
    text.truncate(size);
    Some(text)
}

/// Returns the attributes of the file at a path, which may be a symbolic link.
fn status_at(path: &[u8]) -> Option<libc::stat> {
    let name = [path, b"\0"].concat();
    status_by(libc::AT_FDCWD, name.as_ptr().cast(), libc::AT_SYMLINK_NOFOLLOW)
}

/// Returns the attributes of the file at a path, relative to a folder. The path must be a string.
pub(super) fn status_by(folder: c_int, path: *const c_char, flags: c_int) -> Option<libc::stat> {
    // SAFETY: the type allows all bytes to be zero.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a system call with a string, and with room for the result. The libc function is not used, because it is
    // replaced.
    let answer = outside(|| unsafe {
        libc::syscall(libc::SYS_newfstatat, folder, path, &raw mut found, flags)
    });
    (answer == 0).then_some(found)
}

/// Returns the attributes of an open file.
pub(super) fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: the type allows all bytes to be zero.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a system call with a number and room for the result. The libc function is not used, because it is
    // replaced.
    let answer = outside(|| unsafe { libc::syscall(libc::SYS_fstat, descriptor, &raw mut found) });
    (answer == 0).then_some(found)
}

/// Returns the number of an open file.
pub(super) fn number(descriptor: c_int) -> Option<Number> {
    status(descriptor).map(|status| (status.st_dev, status.st_ino))
}

/// Returns the file of a descriptor, with its attributes.
pub(super) fn of_descriptor(descriptor: c_int, status: &libc::stat) -> Target {
    outside(|| {
        let Some(path) = path_of(descriptor) else { return UNKNOWN };
        match status.st_mode & libc::S_IFMT {
            libc::S_IFDIR => Target::at(&path, Form::Folder),
            libc::S_IFREG if status.st_nlink == 0 => {
                of_removed(&path, (status.st_dev, status.st_ino))
            }
            libc::S_IFREG if status.st_nlink == 1 => {
                // The name of the descriptor may have been removed, while another name exists.
                let number = |status: libc::stat| (status.st_dev, status.st_ino);
                match status_at(&path).map(number) == Some(number(*status)) {
                    true => Target::at(&path, Form::File),
                    false => UNKNOWN,
                }
            }
            _ => Target::without_path(Form::Other),
        }
    })
}

/// Returns the file of a descriptor after the removal of the file's last name.
fn of_removed(path: &[u8], own: Number) -> Target {
    let Some(short) = path.strip_suffix(REMOVED) else { return UNKNOWN };
    let name = short.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    // A file that never had a name, or that is open by several names.
    if name.starts_with(b"#") || short.starts_with(b"/memfd:") || has_other_path(path, own) {
        return Target::without_path(Form::Other);
    }
    Target::at(short, Form::File)
}

/// Returns `true` if a descriptor has the same file as a descriptor with this path, but another path. Both names have
/// been removed then, and the descriptors keep the paths.
fn has_other_path(path: &[u8], own: Number) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return true };
    let mut descriptors =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<c_int>().ok());
    descriptors
        .any(|other| number(other) == Some(own) && path_of(other).is_none_or(|other| other != path))
}

fn last_error() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("unpause-paths-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn at(path: &Path, follows: bool) -> Target {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        resolve(libc::AT_FDCWD, &path, follows)
    }

    fn of(file: &fs::File) -> Target {
        let descriptor = file.as_raw_fd();
        of_descriptor(descriptor, &status(descriptor).unwrap())
    }

    #[test]
    fn all_ways_to_a_file_lead_to_its_object() {
        let folder = folder("ways");
        let path = folder.join("file");
        assert_eq!(at(&path, true).form, Form::Absent);
        let absent = at(&path, true);
        let file = fs::File::create(&path).unwrap();
        fs::create_dir(folder.join("sub")).unwrap();
        std::os::unix::fs::symlink("sub/../file", folder.join("link")).unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("sub/back")).unwrap();
        let same = [
            at(&path, true),
            at(&folder.join("sub/../file"), true),
            at(&folder.join("link"), true),
            at(&folder.join("sub/back/./link"), true),
            of(&file),
        ];
        for target in same {
            assert_eq!(target, Target { form: Form::File, ..absent });
        }
        let own = at(&folder, true);
        assert_eq!((own.form, own.own_names), (Form::Folder, absent.names));
        assert_eq!(at(&folder.join("sub/.."), true), own);
        assert_eq!(at(&folder.join("link"), false).form, Form::Other);
        assert_ne!(at(&folder.join("other"), true).file, absent.file);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_path_in_a_missing_folder_depends_on_the_name_of_the_folder() {
        let folder = folder("missing");
        let missing = at(&folder.join("one"), true);
        assert_eq!(at(&folder.join("one/two/three"), true), missing);
        fs::write(folder.join("one"), "").unwrap();
        assert_eq!(at(&folder.join("one/two"), true).file, missing.file);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_removed_file_keeps_its_object_and_a_second_name_takes_it() {
        let folder = folder("removed");
        let [path, other] = ["file", "other"].map(|name| folder.join(name));
        let file = fs::File::create(&path).unwrap();
        let before = of(&file);
        fs::hard_link(&path, &other).unwrap();
        assert_eq!([of(&file).form, at(&path, true).form, at(&other, true).form], [Form::Other; 3]);
        fs::remove_file(&path).unwrap();
        assert_eq!(of(&file).form, Form::Unknown);
        fs::remove_file(&other).unwrap();
        assert_eq!(of(&file), before);
        fs::File::create(&path).unwrap();
        assert_eq!((of(&file), at(&path, true)), (before, before));
        // Both descriptors have the same file, and neither of its paths.
        let [one, two] = [&path, &other].map(|path| {
            let _ = fs::hard_link(folder.join("file"), path);
            fs::File::open(path).unwrap()
        });
        [&path, &other].into_iter().for_each(|path| fs::remove_file(path).unwrap());
        assert_eq!([of(&one), of(&two)], [Target::without_path(Form::Other); 2]);
        drop(two);
        assert_eq!(of(&one), before);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_object_of_a_path_does_not_depend_on_the_process() {
        let in_process =
            |text: &str| key_without(FILE, text.replace("PID", "8").as_bytes(), Some(b"8"));
        assert_eq!(in_process("/tmp/run-00PID.log"), in_process("/tmp/run-PID.log"));
        assert_ne!(in_process("/tmp/run-PID.log"), in_process("/tmp/run-1PID.log"));
        let other = key_without(FILE, b"/tmp/run-31.log", Some(b"31"));
        assert_eq!(in_process("/tmp/run-PID.log"), other);
        let [one, two] = ["/tmp/unpause-1000-1/a", "/tmp/unpause-1000-27/a"];
        assert_eq!(key(FILE, one.as_bytes()), key(FILE, two.as_bytes()));
        assert_ne!(key(FILE, b"/tmp/unpause-1/a"), key(FILE, b"/tmp/unpause-2/a"));
        assert_ne!(key(FILE, b"/a/b"), key(FILE, b"/a/c"));
        assert_eq!(key(FILE, b"/a/B"), key(FILE, b"/a/b"));
    }

    /// The program has not read the number of its process, so no name contains the number.
    #[test]
    fn a_fixed_name_with_the_digits_of_the_process_is_the_same_object_in_each_process() {
        let path = format!("/tmp/part-{}", std::process::id());
        let of_others = key_without(FILE, path.as_bytes(), None);
        assert_eq!(key(FILE, path.as_bytes()), of_others);
        let of_run = format!("/proc/{}/status", std::process::id());
        assert_ne!(key(FILE, of_run.as_bytes()), key_without(FILE, of_run.as_bytes(), None));
    }
}
