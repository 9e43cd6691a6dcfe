//! Calls on files that resemble the calls in `files.rs`, and a check that no function of the table is without a call.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

use super::{Done, Succeeds};

/// Functions that the crate libc does not declare, or that it declares with other names.
mod more {
    use std::ffi::{c_char, c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn eaccess(path: *const c_char, mode: c_int) -> c_int;
        pub(super) fn euidaccess(path: *const c_char, mode: c_int) -> c_int;
        pub(super) fn readdir_r(
            folder: *mut libc::DIR,
            entry: *mut libc::dirent,
            result: *mut *mut libc::dirent,
        ) -> c_int;
        pub(super) fn readdir64(folder: *mut libc::DIR) -> *mut libc::dirent64;
        pub(super) fn getdents64(folder: c_int, entries: *mut c_void, size: usize) -> isize;
        pub(super) fn utime(path: *const c_char, times: *const c_void) -> c_int;
        pub(super) fn lutimes(path: *const c_char, times: *const c_void) -> c_int;
        pub(super) fn futimes(file: c_int, times: *const c_void) -> c_int;
        pub(super) fn mkfifoat(folder: c_int, path: *const c_char, mode: c_uint) -> c_int;
        pub(super) fn mkstemp64(template: *mut c_char) -> c_int;
        pub(super) fn mkostemp(template: *mut c_char, flags: c_int) -> c_int;
        pub(super) fn mkostemp64(template: *mut c_char, flags: c_int) -> c_int;
        pub(super) fn mkstemps(template: *mut c_char, end: c_int) -> c_int;
        pub(super) fn mkstemps64(template: *mut c_char, end: c_int) -> c_int;
        pub(super) fn mkostemps(template: *mut c_char, end: c_int, flags: c_int) -> c_int;
        pub(super) fn mkostemps64(template: *mut c_char, end: c_int, flags: c_int) -> c_int;
        pub(super) fn preadv64v2(
            file: c_int,
            parts: *const libc::iovec,
            count: c_int,
            from: i64,
            flags: c_int,
        ) -> isize;
        pub(super) fn pwritev64v2(
            file: c_int,
            parts: *const libc::iovec,
            count: c_int,
            to: i64,
            flags: c_int,
        ) -> isize;
    }
}

/// Performs calls that not every file system allows, and records the expected operation of each. A call that fails
/// changes nothing.
macro_rules! attempt {
    ($expected:ident: $($name:literal $changes:literal $call:expr;)*) => {$(
        let succeeds = Succeeds::of($call);
        $expected.push(($name, $changes && succeeds));
    )*};
}

/// Performs the calls in a folder. Returns the expected operations.
///
/// # Safety
/// `one` must be a descriptor of a file, and the memory must have 4,096 bytes.
pub(super) unsafe fn calls(folder: &Path, one: c_int, buffer: *mut libc::c_void) -> Vec<Done> {
    let at = |name: &str| CString::new(folder.join(name).to_str().unwrap()).unwrap();
    let [file, sub, new] = ["file", "sub", "new"].map(at);
    let [file, sub, new] = [&file, &sub, &new].map(|path| path.as_ptr());
    let (here, name, missing) = (libc::AT_FDCWD, c"user.unpause".as_ptr(), c"/missing/path");
    let template = || at("fileXXXXXX").into_raw();
    let with_end = || at("fileXXXXXX.txt").into_raw();
    let part = libc::iovec { iov_base: buffer, iov_len: 4 };
    let mut all = Vec::new();
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        perform! { all:
            "access" false more::eaccess(file, libc::F_OK);
            "access" false more::euidaccess(file, libc::F_OK);
            "open" true libc::openat64(here, file, libc::O_RDWR | libc::O_TRUNC, 0);
            "open" true libc::creat(file, 0o600);
            "open" true libc::creat64(file, 0o600);
            "write" true more::pwritev64v2(one, &part, 1, 0, 0);
            "write" true libc::pwritev64(one, &part, 1, 0);
            "read" false libc::preadv64(one, &part, 1, 0);
            "read" false more::preadv64v2(one, &part, 1, 0, 0);
            "fallocate" true libc::posix_fallocate64(one, 0, 32);
            "utime" true more::utime(file, null());
            "utime" true more::lutimes(file, null());
            "utime" true more::futimes(one, null());
            "mkfifo" true more::mkfifoat(here, new, 0o600);
            "unlink" true libc::unlink(new);
            "mknod" true libc::mknod(new, libc::S_IFREG | 0o600, 0);
            "unlink" true libc::unlink(new);
            "mknod" true libc::mknodat(here, new, libc::S_IFREG | 0o600, 0);
            "open" true more::mkstemp64(template());
            "open" true more::mkostemp(template(), 0);
            "open" true more::mkostemp64(template(), 0);
            "open" true more::mkstemps(with_end(), 4);
            "open" true more::mkstemps64(with_end(), 4);
            "open" true more::mkostemps(with_end(), 4, 0);
            "open" true more::mkostemps64(with_end(), 4, 0);
        }
        let folder = libc::open(sub, libc::O_RDONLY | libc::O_DIRECTORY);
        let list = libc::opendir(sub);
        let (mut entry, mut next): (libc::dirent, _) = (std::mem::zeroed(), null_mut());
        all.extend([("open", false), ("opendir", false)]);
        perform! { all:
            "readdir" false more::getdents64(folder, buffer, 4096);
            "readdir" false more::readdir64(list);
            "readdir" false more::readdir_r(list, &mut entry, &mut next);
        }
        assert!(libc::closedir(list) == 0);
        attempt! { all:
            "chroot" true libc::chroot(missing.as_ptr());
            "fallocate" true libc::fallocate(one, 0, 0, 32);
            "fallocate" true libc::fallocate64(one, 0, 0, 32);
            "setxattr" true libc::setxattr(file, name, buffer, 4, 0);
            "setxattr" true libc::lsetxattr(file, name, buffer, 4, 0);
            "setxattr" true libc::fsetxattr(one, name, buffer, 4, 0);
            "getxattr" false libc::getxattr(file, name, buffer, 4);
            "getxattr" false libc::lgetxattr(file, name, buffer, 4);
            "getxattr" false libc::fgetxattr(one, name, buffer, 4);
            "listxattr" false libc::listxattr(file, buffer.cast(), 64);
            "listxattr" false libc::llistxattr(file, buffer.cast(), 64);
            "listxattr" false libc::flistxattr(one, buffer.cast(), 64);
            "removexattr" true libc::removexattr(file, name);
            "removexattr" true libc::lremovexattr(file, name);
            "removexattr" true libc::fremovexattr(one, name);
        }
    }
    all
}

/// Returns the functions in the rows of a table in the source of the library.
fn rows(source: &str) -> Vec<&str> {
    source
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.strip_prefix("    ")?.split_once(' ')?;
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            (is_name && (rest.starts_with("c\"") || rest.starts_with('"'))).then_some(name)
        })
        .collect()
}

#[test]
fn each_function_of_the_table_is_called_here() {
    let names = rows(include_str!("../../src/linux/net/calls_on_disk.rs"));
    assert!(names.len() > 80 && names.contains(&"mknod") && names.contains(&"mkstemps"));
    let sources = [include_str!("../files.rs"), include_str!("similar.rs")];
    let is_called = |name: &&str| {
        let call = |module| format!("{module}{name}(");
        ["libc::", "more::"]
            .iter()
            .any(|module| sources.iter().any(|text| text.contains(&call(module))))
    };
    let missing: Vec<&str> = names.into_iter().filter(|name| !is_called(name)).collect();
    assert!(missing.is_empty(), "functions without a call: {missing:?}");
}
