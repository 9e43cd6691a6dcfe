//! libc functions that operate on the real file system: the table of all such calls, with the access of each.
//!
//! Not in the table, because a program sees no effect of another thread in them: `fsync` and related functions,
//! `closedir`, `dirfd`, `fdopendir`, `statfs`, advice to the kernel, and locks of a whole process (`lockf`). The
//! functions in `noted` use libc's own buffers or memory, so a run sees only that they are called.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::processors;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{current, outside};
use super::disk::{self, Access, moves, on_disk};

const READS: Option<Access> = Some(Access::Reads);
const CHANGES: Option<Access> = Some(Access::Changes);

/// Lists the names of functions, for a test.
macro_rules! names {
    ($list:ident: $($name:ident)*) => {
        #[cfg(test)]
        const $list: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Defines functions. A row contains the name, the name as text, the name of the operation, the access, the arguments
/// and the result.
macro_rules! calls {
    ($list:ident: $($name:ident $symbol:literal $operation:literal [$access:expr]
        ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Function)($($argument),*) };
            disk::perform(frame_pointer(), $operation, || $access, call)
        }
    )*};
}

/// A path, or a name.
type Path = *const c_char;
type Mode = libc::mode_t;

calls! {
    CALLS:
    access c"access" "access" [READS] (path: Path, mode: c_int) -> c_int;
    eaccess c"eaccess" "access" [READS] (path: Path, mode: c_int) -> c_int;
    euidaccess c"euidaccess" "access" [READS] (path: Path, mode: c_int) -> c_int;
    faccessat c"faccessat" "access" [READS]
        (folder: c_int, path: Path, mode: c_int, flags: c_int) -> c_int;
    readlink c"readlink" "readlink" [READS]
        (path: Path, buffer: *mut c_char, size: usize) -> isize;
    readlinkat c"readlinkat" "readlink" [READS]
        (folder: c_int, path: Path, buffer: *mut c_char, size: usize) -> isize;
    realpath c"realpath" "realpath" [READS] (path: Path, buffer: *mut c_char) -> *mut c_char;
    getcwd c"getcwd" "getcwd" [READS] (buffer: *mut c_char, size: usize) -> *mut c_char;
    opendir c"opendir" "opendir" [READS] (path: Path) -> *mut c_void;
    readdir c"readdir" "readdir" [READS] (folder: *mut c_void) -> *mut c_void;
    readdir64 c"readdir64" "readdir" [READS] (folder: *mut c_void) -> *mut c_void;

    mkdir c"mkdir" "mkdir" [CHANGES] (path: Path, mode: Mode) -> c_int;
    mkdirat c"mkdirat" "mkdir" [CHANGES] (folder: c_int, path: Path, mode: Mode) -> c_int;
    rmdir c"rmdir" "rmdir" [CHANGES] (path: Path) -> c_int;
    unlink c"unlink" "unlink" [CHANGES] (path: Path) -> c_int;
    unlinkat c"unlinkat" "unlink" [CHANGES] (folder: c_int, path: Path, flags: c_int) -> c_int;
    remove c"remove" "unlink" [CHANGES] (path: Path) -> c_int;
    rename c"rename" "rename" [CHANGES] (from: Path, to: Path) -> c_int;
    renameat c"renameat" "rename" [CHANGES]
        (folder: c_int, from: Path, other: c_int, to: Path) -> c_int;
    link c"link" "link" [CHANGES] (from: Path, to: Path) -> c_int;
    linkat c"linkat" "link" [CHANGES]
        (folder: c_int, from: Path, other: c_int, to: Path, flags: c_int) -> c_int;
    symlink c"symlink" "symlink" [CHANGES] (target: Path, path: Path) -> c_int;
    symlinkat c"symlinkat" "symlink" [CHANGES] (target: Path, folder: c_int, path: Path) -> c_int;
    mkfifo c"mkfifo" "mkfifo" [CHANGES] (path: Path, mode: Mode) -> c_int;
    mkfifoat c"mkfifoat" "mkfifo" [CHANGES] (folder: c_int, path: Path, mode: Mode) -> c_int;
    mkstemp c"mkstemp" "open" [CHANGES] (template: *mut c_char) -> c_int;
    mkstemp64 c"mkstemp64" "open" [CHANGES] (template: *mut c_char) -> c_int;
    mkostemp c"mkostemp" "open" [CHANGES] (template: *mut c_char, flags: c_int) -> c_int;
    mkostemp64 c"mkostemp64" "open" [CHANGES] (template: *mut c_char, flags: c_int) -> c_int;
    mkdtemp c"mkdtemp" "mkdir" [CHANGES] (template: *mut c_char) -> *mut c_char;

    chmod c"chmod" "chmod" [CHANGES] (path: Path, mode: Mode) -> c_int;
    fchmod c"fchmod" "chmod" [on_disk(file, Access::Changes)] (file: c_int, mode: Mode) -> c_int;
    fchmodat c"fchmodat" "chmod" [CHANGES]
        (folder: c_int, path: Path, mode: Mode, flags: c_int) -> c_int;
    chown c"chown" "chown" [CHANGES] (path: Path, user: c_uint, group: c_uint) -> c_int;
    lchown c"lchown" "chown" [CHANGES] (path: Path, user: c_uint, group: c_uint) -> c_int;
    fchown c"fchown" "chown" [on_disk(file, Access::Changes)]
        (file: c_int, user: c_uint, group: c_uint) -> c_int;
    fchownat c"fchownat" "chown" [CHANGES]
        (folder: c_int, path: Path, user: c_uint, group: c_uint, flags: c_int) -> c_int;
    utime c"utime" "utime" [CHANGES] (path: Path, times: *const c_void) -> c_int;
    utimes c"utimes" "utime" [CHANGES] (path: Path, times: *const c_void) -> c_int;
    lutimes c"lutimes" "utime" [CHANGES] (path: Path, times: *const c_void) -> c_int;
    futimes c"futimes" "utime" [on_disk(file, Access::Changes)]
        (file: c_int, times: *const c_void) -> c_int;
    futimens c"futimens" "utime" [on_disk(file, Access::Changes)]
        (file: c_int, times: *const c_void) -> c_int;
    utimensat c"utimensat" "utime" [CHANGES]
        (folder: c_int, path: Path, times: *const c_void, flags: c_int) -> c_int;
    umask c"umask" "umask" [CHANGES] (mask: Mode) -> Mode;
    chroot c"chroot" "chroot" [CHANGES] (path: Path) -> c_int;

    getxattr c"getxattr" "getxattr" [READS]
        (path: Path, name: Path, value: *mut c_void, size: usize) -> isize;
    lgetxattr c"lgetxattr" "getxattr" [READS]
        (path: Path, name: Path, value: *mut c_void, size: usize) -> isize;
    fgetxattr c"fgetxattr" "getxattr" [on_disk(file, Access::Reads)]
        (file: c_int, name: Path, value: *mut c_void, size: usize) -> isize;
    listxattr c"listxattr" "listxattr" [READS] (path: Path, list: *mut c_char, size: usize) -> isize;
    llistxattr c"llistxattr" "listxattr" [READS]
        (path: Path, list: *mut c_char, size: usize) -> isize;
    flistxattr c"flistxattr" "listxattr" [on_disk(file, Access::Reads)]
        (file: c_int, list: *mut c_char, size: usize) -> isize;
    setxattr c"setxattr" "setxattr" [CHANGES]
        (path: Path, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    lsetxattr c"lsetxattr" "setxattr" [CHANGES]
        (path: Path, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    fsetxattr c"fsetxattr" "setxattr" [on_disk(file, Access::Changes)]
        (file: c_int, name: Path, value: *const c_void, size: usize, flags: c_int) -> c_int;
    removexattr c"removexattr" "removexattr" [CHANGES] (path: Path, name: Path) -> c_int;
    lremovexattr c"lremovexattr" "removexattr" [CHANGES] (path: Path, name: Path) -> c_int;
    fremovexattr c"fremovexattr" "removexattr" [on_disk(file, Access::Changes)]
        (file: c_int, name: Path) -> c_int;

    truncate c"truncate" "truncate" [CHANGES] (path: Path, size: i64) -> c_int;
    truncate64 c"truncate64" "truncate" [CHANGES] (path: Path, size: i64) -> c_int;
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
    lseek c"lseek" "seek" [moves(file)] (file: c_int, to: i64, from: c_int) -> i64;
    lseek64 c"lseek64" "seek" [moves(file)] (file: c_int, to: i64, from: c_int) -> i64;
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
}

/// Defines functions that old versions of libc do not have, or do not have as functions, by their system calls.
macro_rules! by_number {
    ($list:ident: $($name:ident $operation:literal [$access:expr] ($($argument:ident: $type:ty),*)
        = ($($part:expr),*);)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller guarantees the arguments.
            let call = || outside(|| unsafe { libc::syscall($($part),*) }) as c_int;
            disk::perform(frame_pointer(), $operation, || $access, call)
        }
    )*};
}

by_number! {
    BY_NUMBER:
    stat "stat" [READS] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, 0);
    stat64 "stat" [READS] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, 0);
    lstat "stat" [READS] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    lstat64 "stat" [READS] (path: Path, status: *mut c_void)
        = (libc::SYS_newfstatat, libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fstat "stat" [on_disk(file, Access::Reads)] (file: c_int, status: *mut c_void)
        = (libc::SYS_fstat, file, status);
    fstat64 "stat" [on_disk(file, Access::Reads)] (file: c_int, status: *mut c_void)
        = (libc::SYS_fstat, file, status);
    fstatat "stat" [of_path(folder, path)]
        (folder: c_int, path: Path, status: *mut c_void, flags: c_int)
        = (libc::SYS_newfstatat, folder, path, status, flags);
    fstatat64 "stat" [of_path(folder, path)]
        (folder: c_int, path: Path, status: *mut c_void, flags: c_int)
        = (libc::SYS_newfstatat, folder, path, status, flags);
    statx "stat" [of_path(folder, path)]
        (folder: c_int, path: Path, flags: c_int, mask: c_uint, status: *mut c_void)
        = (libc::SYS_statx, folder, path, flags, mask, status);
    mknod "mknod" [CHANGES] (path: Path, mode: Mode, device: libc::dev_t)
        = (libc::SYS_mknodat, libc::AT_FDCWD, path, mode, device);
    mknodat "mknod" [CHANGES] (folder: c_int, path: Path, mode: Mode, device: libc::dev_t)
        = (libc::SYS_mknodat, folder, path, mode, device);
    renameat2 "rename" [CHANGES]
        (folder: c_int, from: Path, other: c_int, to: Path, flags: c_uint)
        = (libc::SYS_renameat2, folder, from, other, to, flags);
}

/// Returns the access of a call that reads the attributes of a path, or of the descriptor if the path is empty. Without
/// a path the call only finds out if the kernel supports it, as std does once in a process.
fn of_path(folder: c_int, path: Path) -> Option<Access> {
    // SAFETY: the caller of the libc function passes null or a string.
    let first = unsafe { path.as_ref() }?;
    if *first == 0 { on_disk(folder, Access::Reads) } else { READS }
}

/// Returns the access of a call that opens a file with these flags.
fn opening(flags: c_int) -> Option<Access> {
    let creates = flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    let is_temporary = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    if creates || is_temporary { CHANGES } else { READS }
}

/// Defines functions that open files.
//
// The last argument of most of the real functions is variadic, and is passed in the same register.
macro_rules! opens {
    ($list:ident: $($name:ident $symbol:literal [$access:expr] ($($argument:ident: $type:ty),*);)*) => {
        names!($list: $($name)*);
        $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Open = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Open)($($argument),*) };
            disk::opened(disk::perform(frame_pointer(), "open", || $access, call))
        }
    )*};
}

opens! {
    OPENS:
    open c"open" [opening(flags)] (path: Path, flags: c_int, mode: Mode);
    openat c"openat" [opening(flags)] (folder: c_int, path: Path, flags: c_int, mode: Mode);
    openat64 c"openat64" [opening(flags)] (folder: c_int, path: Path, flags: c_int, mode: Mode);
    creat c"creat" [CHANGES] (path: Path, mode: Mode);
    creat64 c"creat64" [CHANGES] (path: Path, mode: Mode);
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
    disk::opened(disk::perform(frame_pointer(), "open", || opening(flags), call))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(descriptor: c_int, other: c_int) -> c_int {
    type Duplicate = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    let call = || unsafe { real!(c"dup2", Duplicate)(descriptor, other) };
    disk::replaced(frame_pointer(), descriptor, other, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(descriptor: c_int, other: c_int, flags: c_int) -> c_int {
    type Duplicate = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    let call = || unsafe { real!(c"dup3", Duplicate)(descriptor, other, flags) };
    disk::replaced(frame_pointer(), descriptor, other, call)
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
    type Lock = unsafe extern "C" fn(c_int, c_int) -> c_int;
    let call = |waits| {
        let operation = operation & !libc::LOCK_NB | if waits { 0 } else { libc::LOCK_NB };
        // SAFETY: the arguments are numbers.
        unsafe { real!(c"flock", Lock)(descriptor, operation) }
    };
    disk::lock(frame_pointer(), (name, descriptor), (waits, name == "unlock"), call)
}

/// Defines functions with up to six arguments, none of them a floating-point number, that a run only records.
macro_rules! noted {
    ($($name:ident $symbol:literal $text:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            if current().is_some() {
                note_entered($text);
            }
            type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
            // SAFETY: the caller guarantees the arguments. The function ignores the registers of arguments that it does
            // not have.
            unsafe { real!($symbol, Function)(a, b, c, d, e, f) }
        }
    )*};
}

noted! {
    fopen c"fopen" "fopen";
    fopen64 c"fopen64" "fopen";
    freopen c"freopen" "freopen";
    freopen64 c"freopen64" "freopen";
    fdopen c"fdopen" "fdopen";
    tmpfile c"tmpfile" "tmpfile";
    tmpfile64 c"tmpfile64" "tmpfile";
    scandir c"scandir" "scandir";
    scandir64 c"scandir64" "scandir";
    glob c"glob" "glob";
    glob64 c"glob64" "glob";
    nftw c"nftw" "nftw";
    nftw64 c"nftw64" "nftw";
}

/// Maps memory. Changes of a file through its memory are not operations.
///
/// # Safety
/// The requirements are the same as for `mmap`.
unsafe fn map(
    (address, size): (*mut c_void, usize),
    (protection, flags): (c_int, c_int),
    (file, from): (c_int, i64),
) -> *mut c_void {
    let is_shared = matches!(flags & libc::MAP_TYPE, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE);
    if is_shared && flags & libc::MAP_ANONYMOUS == 0 && current().is_some() {
        note_entered("mmap, of a file");
    }
    // The kernel reads whole registers.
    let [protection, flags, file] = [protection, flags, file].map(i64::from);
    // SAFETY: the caller guarantees the arguments.
    let mapped = outside(|| unsafe {
        libc::syscall(libc::SYS_mmap, address, size, protection, flags, file, from)
    });
    mapped as *mut c_void
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    // SAFETY: the caller guarantees the arguments.
    unsafe { map((address, size), (protection, flags), (file, from)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    // SAFETY: the caller guarantees the arguments.
    unsafe { map((address, size), (protection, flags), (file, from)) }
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
        let known: Vec<&str> = [CALLS, BY_NUMBER, OPENS, ELSEWHERE].concat();
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
        for name in CALLS.iter().chain(OPENS) {
            let name = std::ffi::CString::new(*name).unwrap();
            // SAFETY: the name is a string.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}");
        }
    }
}
