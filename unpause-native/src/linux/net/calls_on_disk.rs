//! libc functions that operate on the real file system: the table of all such calls, with the files that each uses.
//!
//! Not in the table, because a program sees no effect of another thread in them: `fsync` and related functions,
//! `closedir`, `dirfd`, `fdopendir`, `statfs`, advice to the kernel, and locks of a whole process (`lockf`).

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::clock::fail;
use super::super::processors;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{current, outside};
use super::calls_of_files;
use super::disk::{self, moves, on_disk};
use super::locks::{self, Lock};
use super::objects::{Access, How};
use super::uses::{
    Path, all, at, changes, changes_link, list, lists, name, names, of_times, opens, reads,
    reads_link, second_name,
};

const HERE: c_int = libc::AT_FDCWD;

/// Lists the names of functions, for a test.
macro_rules! names {
    ($list:ident: $($name:ident)*) => {
        #[cfg(test)]
        const $list: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Defines functions. A row contains the name, the name as text, the name of the operation, the uses, the arguments and
/// the result.
macro_rules! calls {
    ($list:ident: $($name:ident $symbol:literal $operation:literal [$uses:expr]
        ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Function)($($argument),*) };
            disk::perform(frame_pointer(), $operation, || $uses, call)
        }
    )*};
}

type Mode = libc::mode_t;

calls! {
    CALLS:
    access c"access" "access" [reads(path)] (path: Path, mode: c_int) -> c_int;
    eaccess c"eaccess" "access" [reads(path)] (path: Path, mode: c_int) -> c_int;
    euidaccess c"euidaccess" "access" [reads(path)] (path: Path, mode: c_int) -> c_int;
    faccessat c"faccessat" "access" [at((folder, path), flags, How::Reads)]
        (folder: c_int, path: Path, mode: c_int, flags: c_int) -> c_int;
    readlink c"readlink" "readlink" [reads_link(path)]
        (path: Path, buffer: *mut c_char, size: usize) -> isize;
    readlinkat c"readlinkat" "readlink" [at((folder, path), libc::AT_SYMLINK_NOFOLLOW, How::Reads)]
        (folder: c_int, path: Path, buffer: *mut c_char, size: usize) -> isize;
    realpath c"realpath" "realpath" [reads(path)] (path: Path, buffer: *mut c_char) -> *mut c_char;
    getcwd c"getcwd" "getcwd" [all(Access::Reads)]
        (buffer: *mut c_char, size: usize) -> *mut c_char;
    opendir c"opendir" "opendir" [opens(path)] (path: Path) -> *mut c_void;
    readdir c"readdir" "readdir" [list(folder)] (folder: *mut c_void) -> *mut c_void;
    readdir64 c"readdir64" "readdir" [list(folder)] (folder: *mut c_void) -> *mut c_void;
    readdir_r c"readdir_r" "readdir" [list(folder)]
        (folder: *mut c_void, entry: *mut c_void, result: *mut *mut c_void) -> c_int;
    readdir64_r c"readdir64_r" "readdir" [list(folder)]
        (folder: *mut c_void, entry: *mut c_void, result: *mut *mut c_void) -> c_int;
    getdents64 c"getdents64" "readdir" [lists(folder)]
        (folder: c_int, entries: *mut c_void, size: usize) -> isize;

    mkdir c"mkdir" "mkdir" [name(HERE, path, How::Structure)] (path: Path, mode: Mode) -> c_int;
    mkdirat c"mkdirat" "mkdir" [name(folder, path, How::Structure)]
        (folder: c_int, path: Path, mode: Mode) -> c_int;
    rmdir c"rmdir" "rmdir" [name(HERE, path, How::Structure)] (path: Path) -> c_int;
    unlink c"unlink" "unlink" [name(HERE, path, How::Names)] (path: Path) -> c_int;
    unlinkat c"unlinkat" "unlink" [name(folder, path, How::Names)]
        (folder: c_int, path: Path, flags: c_int) -> c_int;
    remove c"remove" "unlink" [name(HERE, path, How::Names)] (path: Path) -> c_int;
    rename c"rename" "rename" [names([HERE, HERE], [from, to])] (from: Path, to: Path) -> c_int;
    renameat c"renameat" "rename" [names([folder, other], [from, to])]
        (folder: c_int, from: Path, other: c_int, to: Path) -> c_int;
    link c"link" "link" [second_name([HERE, HERE], [from, to])] (from: Path, to: Path) -> c_int;
    linkat c"linkat" "link" [second_name([folder, other], [from, to])]
        (folder: c_int, from: Path, other: c_int, to: Path, flags: c_int) -> c_int;
    symlink c"symlink" "symlink" [name(HERE, path, How::Structure)]
        (target: Path, path: Path) -> c_int;
    symlinkat c"symlinkat" "symlink" [name(folder, path, How::Structure)]
        (target: Path, folder: c_int, path: Path) -> c_int;
    mkfifo c"mkfifo" "mkfifo" [name(HERE, path, How::Names)] (path: Path, mode: Mode) -> c_int;
    mkfifoat c"mkfifoat" "mkfifo" [name(folder, path, How::Names)]
        (folder: c_int, path: Path, mode: Mode) -> c_int;
    mkdtemp c"mkdtemp" "mkdir" [name(HERE, template, How::Structure)]
        (template: *mut c_char) -> *mut c_char;

    chmod c"chmod" "chmod" [changes(path)] (path: Path, mode: Mode) -> c_int;
    fchmod c"fchmod" "chmod" [on_disk(file, Access::Changes)] (file: c_int, mode: Mode) -> c_int;
    fchmodat c"fchmodat" "chmod" [at((folder, path), flags, How::Changes)]
        (folder: c_int, path: Path, mode: Mode, flags: c_int) -> c_int;
    chown c"chown" "chown" [changes(path)] (path: Path, user: c_uint, group: c_uint) -> c_int;
    lchown c"lchown" "chown" [changes_link(path)]
        (path: Path, user: c_uint, group: c_uint) -> c_int;
    fchown c"fchown" "chown" [on_disk(file, Access::Changes)]
        (file: c_int, user: c_uint, group: c_uint) -> c_int;
    fchownat c"fchownat" "chown" [at((folder, path), flags, How::Changes)]
        (folder: c_int, path: Path, user: c_uint, group: c_uint, flags: c_int) -> c_int;
    utime c"utime" "utime" [changes(path)] (path: Path, times: *const c_void) -> c_int;
    utimes c"utimes" "utime" [changes(path)] (path: Path, times: *const c_void) -> c_int;
    lutimes c"lutimes" "utime" [changes_link(path)] (path: Path, times: *const c_void) -> c_int;
    futimes c"futimes" "utime" [on_disk(file, Access::Changes)]
        (file: c_int, times: *const c_void) -> c_int;
    futimens c"futimens" "utime" [on_disk(file, Access::Changes)]
        (file: c_int, times: *const c_void) -> c_int;
    utimensat c"utimensat" "utime" [of_times(folder, path, flags)]
        (folder: c_int, path: Path, times: *const c_void, flags: c_int) -> c_int;
    umask c"umask" "umask" [all(Access::Changes)] (mask: Mode) -> Mode;
    chroot c"chroot" "chroot" [all(Access::Changes)] (path: Path) -> c_int;

    getxattr c"getxattr" "getxattr" [reads(path)]
        (path: Path, name: Path, value: *mut c_void, size: usize) -> isize;
    lgetxattr c"lgetxattr" "getxattr" [reads_link(path)]
        (path: Path, name: Path, value: *mut c_void, size: usize) -> isize;
    fgetxattr c"fgetxattr" "getxattr" [on_disk(file, Access::Reads)]
        (file: c_int, name: Path, value: *mut c_void, size: usize) -> isize;
    listxattr c"listxattr" "listxattr" [reads(path)]
        (path: Path, list: *mut c_char, size: usize) -> isize;
    llistxattr c"llistxattr" "listxattr" [reads_link(path)]
        (path: Path, list: *mut c_char, size: usize) -> isize;
    flistxattr c"flistxattr" "listxattr" [on_disk(file, Access::Reads)]
        (file: c_int, list: *mut c_char, size: usize) -> isize;
    setxattr c"setxattr" "setxattr" [changes(path)]
        (path: Path, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    lsetxattr c"lsetxattr" "setxattr" [changes_link(path)]
        (path: Path, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    fsetxattr c"fsetxattr" "setxattr" [on_disk(file, Access::Changes)]
        (file: c_int, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    removexattr c"removexattr" "removexattr" [changes(path)] (path: Path, name: Path) -> c_int;
    lremovexattr c"lremovexattr" "removexattr" [changes_link(path)]
        (path: Path, name: Path) -> c_int;
    fremovexattr c"fremovexattr" "removexattr" [on_disk(file, Access::Changes)]
        (file: c_int, name: Path) -> c_int;

    truncate c"truncate" "truncate" [changes(path)] (path: Path, size: i64) -> c_int;
    truncate64 c"truncate64" "truncate" [changes(path)] (path: Path, size: i64) -> c_int;
    ftruncate c"ftruncate" "truncate" [on_disk(file, Access::Changes)]
        (file: c_int, size: i64) -> c_int;
    ftruncate64 c"ftruncate64" "truncate" [on_disk(file, Access::Changes)]
        (file: c_int, size: i64) -> c_int;
    fallocate c"fallocate" "fallocate" [on_disk(file, Access::Changes)]
        (file: c_int, mode: c_int, from: i64, size: i64) -> c_int;
    fallocate64 c"fallocate64" "fallocate" [on_disk(file, Access::Changes)]
        (file: c_int, mode: c_int, from: i64, size: i64) -> c_int;
    posix_fallocate c"posix_fallocate" "fallocate" [on_disk(file, Access::Changes)]
        (file: c_int, from: i64, size: i64) -> c_int;
    posix_fallocate64 c"posix_fallocate64" "fallocate" [on_disk(file, Access::Changes)]
        (file: c_int, from: i64, size: i64) -> c_int;
    pread c"pread" "read" [on_disk(file, Access::Reads)]
        (file: c_int, buffer: *mut c_void, size: usize, from: i64) -> isize;
    pread64 c"pread64" "read" [on_disk(file, Access::Reads)]
        (file: c_int, buffer: *mut c_void, size: usize, from: i64) -> isize;
    preadv c"preadv" "read" [on_disk(file, Access::Reads)]
        (file: c_int, parts: *const libc::iovec, count: c_int, from: i64) -> isize;
    preadv64 c"preadv64" "read" [on_disk(file, Access::Reads)]
        (file: c_int, parts: *const libc::iovec, count: c_int, from: i64) -> isize;
    pwrite c"pwrite" "write" [on_disk(file, Access::Changes)]
        (file: c_int, buffer: *const c_void, size: usize, to: i64) -> isize;
    pwrite64 c"pwrite64" "write" [on_disk(file, Access::Changes)]
        (file: c_int, buffer: *const c_void, size: usize, to: i64) -> isize;
    pwritev c"pwritev" "write" [on_disk(file, Access::Changes)]
        (file: c_int, parts: *const libc::iovec, count: c_int, to: i64) -> isize;
    pwritev64 c"pwritev64" "write" [on_disk(file, Access::Changes)]
        (file: c_int, parts: *const libc::iovec, count: c_int, to: i64) -> isize;
    pwritev2 c"pwritev2" "write" [on_disk(file, Access::Changes)]
        (file: c_int, parts: *const libc::iovec, count: c_int, to: i64, flags: c_int) -> isize;
    pwritev64v2 c"pwritev64v2" "write" [on_disk(file, Access::Changes)]
        (file: c_int, parts: *const libc::iovec, count: c_int, to: i64, flags: c_int) -> isize;
    preadv2 c"preadv2" "read" [moves(file)]
        (file: c_int, parts: *const libc::iovec, count: c_int, from: i64, flags: c_int) -> isize;
    preadv64v2 c"preadv64v2" "read" [moves(file)]
        (file: c_int, parts: *const libc::iovec, count: c_int, from: i64, flags: c_int) -> isize;
}

/// Defines functions that old versions of libc do not have, or do not have as functions, by their system calls.
macro_rules! by_number {
    ($list:ident: $($name:ident $operation:literal [$uses:expr] ($($argument:ident: $type:ty),*)
        = ($($part:expr),*);)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller guarantees the arguments.
            let call = || outside(|| unsafe { libc::syscall($($part),*) }) as c_int;
            disk::perform(frame_pointer(), $operation, || $uses, call)
        }
    )*};
}

by_number! {
    BY_NUMBER:
    stat "stat" [reads(path)] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, 0);
    stat64 "stat" [reads(path)] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, 0);
    lstat "stat" [reads_link(path)] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    lstat64 "stat" [reads_link(path)] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    mknod "mknod" [name(HERE, path, How::Names)] (path: Path, mode: Mode, device: libc::dev_t)
        = (libc::SYS_mknodat, libc::AT_FDCWD, path, mode, device);
    mknodat "mknod" [name(folder, path, How::Names)]
        (folder: c_int, path: Path, mode: Mode, device: libc::dev_t)
        = (libc::SYS_mknodat, folder, path, mode, device);
    renameat2 "rename" [names([folder, other], [from, to])]
        (folder: c_int, from: Path, other: c_int, to: Path, flags: c_uint)
        = (libc::SYS_renameat2, folder, from, other, to, flags);
}

/// Defines functions that create files with new names.
macro_rules! temporary {
    ($list:ident: $($name:ident $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(template: *mut c_char, $($argument: $type),*) -> c_int {
            type Create = unsafe extern "C" fn(*mut c_char, $($type),*) -> c_int;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Create)(template, $($argument),*) };
            let uses = || name(HERE, template, How::Names);
            let frame = frame_pointer();
            disk::record(frame, disk::perform(frame, "open", uses, call))
        }
    )*};
}

temporary! {
    TEMPORARY:
    mkstemp c"mkstemp" ();
    mkstemp64 c"mkstemp64" ();
    mkostemp c"mkostemp" (flags: c_int);
    mkostemp64 c"mkostemp64" (flags: c_int);
    mkstemps c"mkstemps" (end: c_int);
    mkstemps64 c"mkstemps64" (end: c_int);
    mkostemps c"mkostemps" (end: c_int, flags: c_int);
    mkostemps64 c"mkostemps64" (end: c_int, flags: c_int);
}

/// Defines functions that open files.
//
// The last argument of most of the real functions is variadic, and is passed in the same register.
macro_rules! opens {
    ($list:ident: $($name:ident $symbol:literal [$folder:expr, $path:expr, $flags:expr]
        ($($argument:ident: $type:ty),*);)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Open = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Open)($($argument),*) };
            disk::open(frame_pointer(), ($folder, $path, $flags), call)
        }
    )*};
}

/// The flags of `creat`.
const CREATES: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

opens! {
    OPENS:
    open c"open" [HERE, path, flags] (path: Path, flags: c_int, mode: Mode);
    openat c"openat" [folder, path, flags] (folder: c_int, path: Path, flags: c_int, mode: Mode);
    openat64 c"openat64" [folder, path, flags] (folder: c_int, path: Path, flags: c_int, mode: Mode);
    creat c"creat" [HERE, path, CREATES] (path: Path, mode: Mode);
    creat64 c"creat64" [HERE, path, CREATES] (path: Path, mode: Mode);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: Path, flags: c_int, mode: Mode) -> c_int {
    // SAFETY: the caller guarantees the path.
    if current().is_some() && unsafe { processors::has_limits(path) } {
        return fail(libc::ENOENT);
    }
    type Open = unsafe extern "C" fn(Path, c_int, Mode) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"open64", Open)(path, flags, mode) };
    disk::open(frame_pointer(), (HERE, path, flags), call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(descriptor: c_int, other: c_int) -> c_int {
    type Duplicate = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    let call = || unsafe { real!(c"dup2", Duplicate)(descriptor, other) };
    let frame = frame_pointer();
    let of_run = calls_of_files::replaced(frame, descriptor, other);
    of_run.unwrap_or_else(|| locks::replaced(frame, descriptor, other, call))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(descriptor: c_int, other: c_int, flags: c_int) -> c_int {
    type Duplicate = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    let call = || unsafe { real!(c"dup3", Duplicate)(descriptor, other, flags) };
    let frame = frame_pointer();
    // Without an effect, `dup3` fails. The kernel checks the descriptors first.
    let is_same = descriptor == other && flags & !libc::O_CLOEXEC == 0;
    match calls_of_files::replaced(frame, descriptor, other) {
        Some(answer) if is_same && answer == other => fail(libc::EINVAL),
        Some(answer) => answer,
        None => locks::replaced(frame, descriptor, other, call),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn flock(descriptor: c_int, operation: c_int) -> c_int {
    let waits = operation & libc::LOCK_NB == 0;
    let name = match (operation & !libc::LOCK_NB, waits) {
        (libc::LOCK_UN, _) => "unlock",
        (libc::LOCK_SH, true) => "lock_shared",
        (libc::LOCK_SH, false) => "try_lock_shared",
        (_, true) => "lock",
        (_, false) => "try_lock",
    };
    type RealLock = unsafe extern "C" fn(c_int, c_int) -> c_int;
    let call = |waits| {
        let operation = operation & !libc::LOCK_NB | if waits { 0 } else { libc::LOCK_NB };
        // SAFETY: the arguments are numbers.
        unsafe { real!(c"flock", RealLock)(descriptor, operation) }
    };
    let releases = name == "unlock";
    locks::lock(
        frame_pointer(),
        Lock { name, descriptor, waits, releases, converts: !releases },
        call,
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use object::read::archive::ArchiveFile;
    use object::{Object, ObjectSymbol};

    use super::*;

    /// Calls on files that are defined here without a row, or in other files of this folder and in `environment.rs`.
    const ELSEWHERE: &[&str] = &[
        "fstat",
        "fstat64",
        "fstatat64",
        "statx",
        "lseek64",
        "open64",
        "flock",
        "dup",
        "dup2",
        "mmap64",
        "read",
        "write",
        "readv",
        "writev",
        "close",
        "fcntl",
        "ioctl",
        "chdir",
        "copy_file_range",
        "sendfile64",
        "splice",
    ];

    /// The other functions of C that std calls.
    const OTHERS: &str = "
        __cxa_thread_atexit_impl __dso_handle __errno_location __res_init __tls_get_addr __xpg_strerror_r _exit abort
        accept4 bcmp bind calloc clock_gettime clock_nanosleep closedir connect dirfd dl_iterate_phdr dlsym environ
        execvp exit fdatasync fdopendir fork free freeaddrinfo fsync gai_strerror getaddrinfo getauxval getenv
        gethostname getpeername getpid getppid getpwuid_r getrandom getsockname getsockopt gettid getuid
        gnu_get_libc_version kill killpg listen malloc memcmp memcpy memmove memset mprotect munmap pause pidfd_getpid
        pidfd_spawnp pipe2 poll posix_memalign realloc recv recvfrom recvmsg sched_getaffinity sched_yield send sendmsg
        sendto setenv setgid setgroups setpgid setsid setsockopt setuid shutdown sigaction sigaddset sigaltstack
        sigemptyset signal socket socketpair strlen strnlen syscall sysconf unsetenv waitid waitpid
    ";

    /// The starts of the names of functions that are not in `OTHERS`: of threads, of other processes, of Rust.
    const BEGINS: &[&str] =
        &["_R", "_ZN", "__rust", "rust_", "_Unwind_", "pthread_", "posix_spawn"];

    /// Returns the functions that the std of the toolchain calls.
    fn called_by_std() -> Vec<String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let folder = Command::new(rustc).args(["--print", "target-libdir"]).output().unwrap();
        let folder = PathBuf::from(String::from_utf8(folder.stdout).unwrap().trim());
        let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_std = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        };
        let bytes = std::fs::read(files.find(is_std).unwrap()).unwrap();
        let archive = ArchiveFile::parse(&*bytes).unwrap();
        let mut called = Vec::new();
        for member in archive.members() {
            let member = member.unwrap();
            if member.name() == b"lib.rmeta" {
                continue;
            }
            let file = object::File::parse(member.data(&*bytes).unwrap()).unwrap();
            let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
            called.extend(undefined.map(|symbol| symbol.name().unwrap().to_owned()));
        }
        called
    }

    #[test]
    fn each_call_of_std_on_files_has_an_access() {
        let known: Vec<&str> = [CALLS, BY_NUMBER, TEMPORARY, OPENS, ELSEWHERE].concat();
        let is_other = |name: &str| {
            let begins = BEGINS.iter().any(|begin| name.starts_with(begin));
            name.is_empty() || begins || OTHERS.split_whitespace().any(|other| other == name)
        };
        let called = called_by_std();
        let unknown: Vec<&String> = called
            .iter()
            .filter(|name| !known.contains(&&***name) && !is_other(name.as_str()))
            .collect();
        assert!(unknown.is_empty(), "functions without a row: {unknown:?}");
        assert!(called.iter().filter(|name| known.contains(&&***name)).count() > 30, "{called:?}");
    }

    #[test]
    fn libc_has_the_functions_that_are_not_called_by_number() {
        for name in [CALLS, TEMPORARY, OPENS].concat() {
            let name = std::ffi::CString::new(name).unwrap();
            // SAFETY: the name is a string.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}");
        }
    }
}
