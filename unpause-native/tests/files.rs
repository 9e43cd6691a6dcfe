//! Calls on real files, and on the state of sockets, in a run: each call is one operation, which reads or changes its
//! object.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::backtrace::Backtrace;
use std::ffi::{CString, c_int};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use unpause_native::{Effect, Ended, Execution, Request, Use, outside};

/// An operation on files: its name, and `true` if it has changed the files.
type Done = (&'static str, bool);

/// Returns the operations of the first thread of a run. If `spawns` is true, the run has another thread, which does
/// nothing.
fn operations(spawns: bool, body: impl FnOnce() + Send + 'static) -> Vec<Done> {
    let body = move || {
        if spawns {
            drop(std::thread::spawn(|| ()));
        }
        body();
    };
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    let mut done = Vec::new();
    loop {
        match execution.resume(0, 0) {
            Request::Transfer(transfer) => match execution.perform_transfer(0) {
                Effect::Done { changed, .. } => done.push((transfer.name, !changed.is_empty())),
                waits @ Effect::Waits { .. } => panic!("{}: {waits:?}", transfer.name),
            },
            Request::End => break,
            _ => {}
        }
    }
    assert_eq!(execution.ended(), Some(Ended::Returned));
    done
}

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Performs calls, and records the expected operation of each. Each call must succeed.
macro_rules! perform {
    ($expected:ident: $($name:literal $changes:literal $call:expr;)*) => {$(
        let succeeds = Succeeds::of($call);
        assert!(succeeds, "{} fails: {}", stringify!($call), std::io::Error::last_os_error());
        $expected.push(($name, $changes));
    )*};
}

/// The result of a libc function.
trait Succeeds {
    fn of(self) -> bool;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Succeeds for $number {
            fn of(self) -> bool {
                self >= 0
            }
        }
    )*};
}
numbers!(i32 i64 isize);

impl Succeeds for u32 {
    fn of(self) -> bool {
        true
    }
}

impl<T> Succeeds for *mut T {
    fn of(self) -> bool {
        !self.is_null()
    }
}

#[path = "files/similar.rs"]
mod similar;

/// Performs each kind of call on files in a folder. Returns the expected operations.
fn all_calls(folder: &Path) -> Vec<Done> {
    let at = |name: &str| CString::new(folder.join(name).to_str().unwrap()).unwrap();
    let [file, other, sub, link] = ["file", "other", "sub", "link"].map(at);
    let [file, other, sub, link] = [&file, &other, &sub, &link].map(|path| path.as_ptr());
    let here = libc::AT_FDCWD;
    let root = CString::new("/").unwrap();
    let templates = [at("fileXXXXXX"), at("subXXXXXX")].map(CString::into_raw);
    let mut bytes = [0u8; 4096];
    let buffer: *mut libc::c_void = bytes.as_mut_ptr().cast();
    let text = bytes.as_mut_ptr().cast();
    let part = libc::iovec { iov_base: buffer, iov_len: 4 };
    let mut all = Vec::new();
    // SAFETY: the calls get strings, descriptors that they have opened, and memory that is large enough.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let mut status64: libc::stat64 = std::mem::zeroed();
        let mut extended: libc::statx = std::mem::zeroed();
        let flags = libc::O_CREAT | libc::O_RDWR;
        let one = libc::open(file, flags, 0o600);
        let two = libc::open64(file, libc::O_RDWR);
        let three = libc::openat(here, other, flags, 0o600);
        all.extend([("open", true), ("open", false), ("open", true)]);
        assert!(one >= 0 && two >= 0 && three >= 0);
        perform! { all:
            "write" true libc::write(one, buffer, 8);
            "write" true libc::writev(one, &part, 1);
            "write" true libc::pwrite(one, buffer, 4, 0);
            "write" true libc::pwrite64(one, buffer, 4, 0);
            "write" true libc::pwritev(one, &part, 1, 0);
            "write" true libc::pwritev2(one, &part, 1, 0, 0);
            "read" false libc::preadv2(two, &part, 1, 0, 0);
            "read" false libc::read(two, buffer, 4);
            "read" false libc::readv(two, &part, 1);
            "read" false libc::pread(two, buffer, 4, 0);
            "read" false libc::pread64(two, buffer, 4, 0);
            "read" false libc::preadv(two, &part, 1, 0);
            "seek" false libc::lseek(two, 0, libc::SEEK_SET);
            "seek" false libc::lseek64(two, 0, libc::SEEK_SET);
            "truncate" true libc::ftruncate(one, 16);
            "truncate" true libc::ftruncate64(one, 16);
            "truncate" true libc::truncate(file, 16);
            "truncate" true libc::truncate64(file, 16);
            "fallocate" true libc::posix_fallocate(one, 0, 32);
            "copy" true libc::copy_file_range(two, null_mut(), three, null_mut(), 4, 0);
            "copy" true libc::sendfile(three, two, null_mut(), 4);
            "stat" false libc::stat(file, &mut status);
            "stat" false libc::stat64(file, &mut status64);
            "stat" false libc::lstat(file, &mut status);
            "stat" false libc::lstat64(file, &mut status64);
            "stat" false libc::fstat(one, &mut status);
            "stat" false libc::fstat64(one, &mut status64);
            "stat" false libc::fstatat(here, file, &mut status, 0);
            "stat" false libc::statx(here, file, 0, libc::STATX_SIZE, &mut extended);
            "access" false libc::access(file, libc::F_OK);
            "access" false libc::faccessat(here, file, libc::F_OK, 0);
            "realpath" false libc::realpath(file, text);
            "getcwd" false libc::getcwd(text, 4096);
            "chmod" true libc::chmod(file, 0o600);
            "chmod" true libc::fchmod(one, 0o600);
            "chmod" true libc::fchmodat(here, file, 0o600, 0);
            "chown" true libc::chown(file, u32::MAX, u32::MAX);
            "chown" true libc::lchown(file, u32::MAX, u32::MAX);
            "chown" true libc::fchown(one, u32::MAX, u32::MAX);
            "chown" true libc::fchownat(here, file, u32::MAX, u32::MAX, 0);
            "utime" true libc::utimes(file, null());
            "utime" true libc::futimens(one, null());
            "utime" true libc::utimensat(here, file, null(), 0);
            "mkdir" true libc::mkdir(sub, 0o700);
            "rmdir" true libc::rmdir(sub);
            "mkdir" true libc::mkdirat(here, sub, 0o700);
            "link" true libc::link(file, link);
            "unlink" true libc::unlink(link);
            "link" true libc::linkat(here, file, here, link, 0);
            "unlink" true libc::unlinkat(here, link, 0);
            "symlink" true libc::symlink(file, link);
            "readlink" false libc::readlink(link, text, 4096);
            "readlink" false libc::readlinkat(here, link, text, 4096);
            "unlink" true libc::remove(link);
            "symlink" true libc::symlinkat(file, here, link);
            "rename" true libc::rename(link, other);
            "rename" true libc::renameat(here, other, here, link);
            "rename" true libc::renameat2(here, link, here, other, 0);
            "mkfifo" true libc::mkfifo(link, 0o600);
            "open" true libc::mkstemp(templates[0]);
            "mkdir" true libc::mkdtemp(templates[1]);
        }
        all.extend(similar::calls(folder, one, buffer));
        perform! { all:
            "umask" true libc::umask(0o22);
            "chdir" true libc::chdir(root.as_ptr());
        }
        let list = libc::opendir(sub);
        let (mut entry, mut next): (libc::dirent64, _) = (std::mem::zeroed(), null_mut());
        perform! { all:
            "opendir" false list;
            "readdir" false libc::readdir(list);
            "readdir" false libc::readdir64_r(list, &mut entry, &mut next);
        }
        assert!(libc::closedir(list) == 0);
        // A call that fails changes nothing.
        assert!(libc::open(file, flags | libc::O_EXCL, 0o600) == -1);
        assert!(libc::unlink(sub) == -1 && libc::mkdir(sub, 0o700) == -1);
        all.extend([("open", false), ("unlink", false), ("mkdir", false)]);
        // A duplicate has the same position.
        let twin = libc::dup(two);
        all.push(("dup", false));
        perform! { all:
            "read" true libc::read(twin, buffer, 1);
            "lock" true libc::flock(one, libc::LOCK_EX);
            "unlock" true libc::flock(one, libc::LOCK_UN);
            "try_lock_shared" true libc::flock(one, libc::LOCK_SH | libc::LOCK_NB);
        }
        // These are not operations.
        assert!(libc::fsync(one) == 0 && libc::fcntl(one, libc::F_GETFD) >= 0);
        assert!([twin, two, three, one].iter().all(|file| libc::close(*file) == 0));
        all.extend([("close", true); 4]);
        // Another thread may have used the number in the meantime.
        assert!(libc::read(one, buffer, 1) == -1 && libc::close(one) == -1);
        all.extend([("read", false), ("close", false)]);
        templates.into_iter().for_each(|template| drop(CString::from_raw(template)));
    }
    all
}

#[test]
fn each_call_on_files_is_an_operation() {
    let folder = folder("all");
    let expected = Arc::new(Mutex::new(Vec::new()));
    let slot = expected.clone();
    let done = operations(true, move || {
        let all = all_calls(&folder);
        outside(|| slot.lock().unwrap().extend_from_slice(&all));
    });
    let expected = expected.lock().unwrap();
    let differs = done.iter().zip(&*expected).position(|(done, expected)| done != expected);
    assert_eq!(differs.map(|at| (at, done[at], expected[at])), None);
    assert_eq!(done.len(), expected.len());
}

#[test]
fn the_calls_of_the_only_thread_are_no_operations_except_locks() {
    let folder = folder("alone");
    let done = operations(false, move || drop(all_calls(&folder)));
    let locks = [("lock", true), ("unlock", true), ("try_lock_shared", true), ("close", true)];
    assert_eq!(done, locks);
}

#[test]
fn calls_on_the_state_of_a_socket_are_operations() {
    let done = operations(true, || {
        let (mut pair, mut number, mut yes) = ([-1; 2], 0 as c_int, 1 as c_int);
        let mut size = size_of::<c_int>() as u32;
        // SAFETY: the calls get valid memory, and descriptors that they have opened.
        unsafe {
            assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr()), 0);
            let (one, level, name) = (pair[0], libc::SOL_SOCKET, libc::SO_KEEPALIVE);
            assert_eq!(libc::ioctl(one, libc::FIONREAD, &mut number), 0);
            assert_eq!(libc::ioctl(one, libc::FIONBIO, &mut yes), 0);
            assert_eq!(libc::ioctl(one, libc::FIONBIO, &mut yes), 0);
            assert!(libc::fcntl(one, libc::F_GETFL) & libc::O_NONBLOCK != 0);
            assert_eq!(libc::fcntl(one, libc::F_SETFL, 0), 0);
            assert_eq!(libc::setsockopt(one, level, name, (&raw const yes).cast(), size), 0);
            let value = (&raw mut number).cast();
            assert_eq!(libc::getsockopt(one, level, name, value, &mut size), 0);
            // The addresses of a connection do not change.
            let mut address: libc::sockaddr_in = std::mem::zeroed();
            let mut length = size_of::<libc::sockaddr_in>() as u32;
            let pointer: *mut libc::sockaddr = (&raw mut address).cast();
            assert_eq!(libc::getpeername(one, pointer, &mut length), 0);
            // No other thread has a socket without an address.
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
            assert_eq!(libc::ioctl(socket, libc::FIONBIO, &mut yes), 0);
            address.sin_family = libc::AF_INET as u16;
            address.sin_port = 4000u16.to_be();
            address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
            let pointer: *mut libc::sockaddr = (&raw mut address).cast();
            length = size_of::<libc::sockaddr_in>() as u32;
            assert_eq!(libc::bind(socket, pointer, length), 0);
            assert_eq!(libc::getsockname(socket, pointer, &mut length), 0);
            assert_eq!(libc::getpeername(socket, pointer, &mut length), -1);
        }
    });
    let expected = [
        ("available", false),
        ("set_nonblocking", true),
        ("set_nonblocking", false),
        ("flags", false),
        ("set_nonblocking", true),
        ("set_option", true),
        ("option", false),
        ("bind", true),
        ("local_addr", false),
        ("peer_addr", false),
    ];
    assert_eq!(done, expected);
}

#[test]
fn std_probes_the_kernel_without_an_operation() {
    // In each run, std checks again if the kernel has `statx`.
    let stat = || operations(true, || assert!(std::fs::metadata("/does/not/exist").is_err()));
    assert_eq!([stat(), stat()], [[("stat", false)]; 2]);
}

#[test]
fn calls_for_a_backtrace_are_no_operations() {
    let backtrace = || Backtrace::force_capture().to_string();
    let done = operations(true, move || {
        let text = backtrace();
        assert!(text.contains("calls_for_a_backtrace"), "{text}");
    });
    // A program without debug information does not know the callers of its functions.
    if backtrace().contains("/std/src/") {
        assert!(done.is_empty(), "{done:?}");
    }
}

#[test]
fn a_lock_of_a_run_ends_with_the_run() {
    let path = folder("lock").join("file");
    for _ in 0..2 {
        let path = path.clone();
        let done = operations(false, move || {
            let name = CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: the calls get a string and numbers.
            let locked: c_int = unsafe {
                let file = libc::open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600);
                libc::flock(file, libc::LOCK_EX | libc::LOCK_NB)
            };
            assert_eq!(locked, 0, "the lock of an earlier run");
        });
        assert_eq!(done, [("try_lock", true)]);
    }
}

#[test]
fn a_descriptor_that_is_replaced_releases_its_lock() {
    let path = folder("replaced").join("file");
    let done = operations(false, move || {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the calls get a string and numbers.
        unsafe {
            let open = || libc::open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600);
            let [one, two] = [open(), open()];
            assert_eq!(libc::flock(one, libc::LOCK_EX | libc::LOCK_NB), 0);
            // Without an effect.
            assert_eq!(libc::dup2(one, one), one);
            assert_eq!(libc::dup2(two, one), one);
            assert_eq!(libc::flock(two, libc::LOCK_EX | libc::LOCK_NB), 0);
        }
    });
    assert_eq!(done, [("try_lock", true), ("close", true), ("try_lock", true)]);
}

/// Locks a file twice, and tries to convert one of the locks without success. Returns the results of the calls.
fn conversion(path: &Path) -> [c_int; 5] {
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the calls get a string and numbers.
    unsafe {
        let open = || libc::open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600);
        let [one, two] = [open(), open()];
        let results = [
            libc::flock(one, libc::LOCK_SH),
            libc::flock(two, libc::LOCK_SH),
            libc::flock(libc::dup(one), libc::LOCK_EX | libc::LOCK_NB),
            // The conversion has released the lock.
            libc::flock(two, libc::LOCK_EX | libc::LOCK_NB),
            libc::flock(one, libc::LOCK_SH | libc::LOCK_NB),
        ];
        [one, two].iter().for_each(|file| _ = libc::close(*file));
        results
    }
}

#[test]
fn a_conversion_that_fails_loses_the_lock_as_in_the_kernel() {
    let path = folder("conversion").join("file");
    let real = conversion(&path);
    assert_eq!(real, [0, 0, -1, 0, -1]);
    let done = operations(false, move || assert_eq!(conversion(&path), real));
    let lost = ("try_lock", true);
    let locks = [("lock_shared", true), ("lock_shared", true), lost, ("try_lock", true)];
    assert_eq!(done[..4], locks);
    assert_eq!(done[4..], [("try_lock_shared", false), ("close", true)]);
}

/// Returns the objects that the calls of the first thread of a run use. The run has another thread.
fn objects(body: impl FnOnce() + Send + 'static) -> Vec<(u64, Use)> {
    let body = move || {
        drop(std::thread::spawn(|| ()));
        body();
    };
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    let mut used = Vec::new();
    loop {
        match execution.resume(0, 0) {
            Request::Transfer(transfer) => match execution.perform_transfer(0) {
                Effect::Done { changed, beside, .. } => {
                    let how = if changed.is_empty() { Use::Reads } else { Use::Changes };
                    used.push((transfer.object, how));
                    used.extend(beside.into_iter().map(|(object, _, how)| (object, how)));
                }
                waits @ Effect::Waits { .. } => panic!("{}: {waits:?}", transfer.name),
            },
            Request::End => break,
            _ => {}
        }
    }
    assert_eq!(execution.ended(), Some(Ended::Returned));
    used
}

fn write_to(path: PathBuf) {
    OpenOptions::new().write(true).open(path).unwrap().write_all(b"text").unwrap();
}

/// Calls in a folder, each with the calls before it with which it conflicts. `*` means all calls.
type Call = (&'static str, fn(&Path), &'static [&'static str]);
const IN_A_FOLDER: &[Call] = &[
    ("stat file", |folder| assert!(fs::metadata(folder.join("file")).is_ok()), &[]),
    ("write file", |folder| write_to(folder.join("file")), &["stat file"]),
    ("create new", |folder| fs::write(folder.join("new"), "").unwrap(), &[]),
    (
        "unlink file",
        |folder| fs::remove_file(folder.join("file")).unwrap(),
        &["stat file", "write file"],
    ),
    (
        "rename file to new",
        |folder| fs::rename(folder.join("file"), folder.join("new")).unwrap(),
        &["stat file", "write file", "create new", "unlink file"],
    ),
    (
        "stat new",
        |folder| assert!(fs::metadata(folder.join("new")).is_err()),
        &["create new", "rename file to new"],
    ),
    ("mkdir", |folder| fs::create_dir(folder.join("sub")).unwrap(), &["*"]),
    (
        "list",
        |folder| assert_eq!(fs::read_dir(folder).unwrap().count(), 5),
        &["create new", "unlink file", "rename file to new", "mkdir"],
    ),
    ("write hard", |folder| write_to(folder.join("hard")), &["*"]),
    (
        "stat twin",
        |folder| assert!(fs::metadata(folder.join("twin")).is_ok()),
        &["mkdir", "write hard"],
    ),
    (
        "write by link",
        |folder| write_to(folder.join("link")),
        &["stat file", "write file", "unlink file", "rename file to new", "mkdir", "write hard"],
    ),
    (
        "write in a missing folder",
        |folder| assert!(fs::write(folder.join("sub/file"), "").is_err()),
        &["mkdir", "write hard"],
    ),
    ("write unrelated", |folder| write_to(folder.join("unrelated")), &["mkdir", "write hard"]),
];

#[test]
fn calls_conflict_if_they_can_affect_each_other() {
    let folder = folder("objects");
    let used = |call: fn(&Path)| {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for name in ["file", "hard", "unrelated"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::hard_link(folder.join("hard"), folder.join("twin")).unwrap();
        std::os::unix::fs::symlink("file", folder.join("link")).unwrap();
        let folder = folder.clone();
        objects(move || call(&folder))
    };
    let all: Vec<_> = IN_A_FOLDER.iter().map(|(_, call, _)| used(*call)).collect();
    let conflict = |one: &[(u64, Use)], two: &[(u64, Use)]| {
        use Use::{Adds, Changes, Reads};
        one.iter().any(|(object, how)| {
            two.iter().any(|(other, other_how)| {
                let conflicts = match (how, other_how) {
                    (Changes, _) | (_, Changes) => true,
                    (Adds, Reads) | (Reads, Adds) => true,
                    (Adds, Adds) | (Reads, Reads) => false,
                };
                object == other && conflicts
            })
        })
    };
    for (at, (name, _, expected)) in IN_A_FOLDER.iter().enumerate() {
        for (before, (other, ..)) in IN_A_FOLDER[..at].iter().enumerate() {
            let must = expected.contains(other) || expected.contains(&"*");
            assert_eq!(conflict(&all[before], &all[at]), must, "{other}, {name}");
        }
    }
}
