//! Duplicates and attributes of descriptors, and FIFOs: compared with the kernel's.

use std::ffi::{CString, c_int};

use super::{Results, called, in_run, poll_now};

fn read(file: c_int, size: usize) -> i64 {
    let mut bytes = vec![0u8; size];
    // SAFETY: the memory has this size.
    called(unsafe { libc::read(file, bytes.as_mut_ptr().cast(), size) } as i64)
}

fn write(file: c_int, size: usize) -> i64 {
    let bytes = vec![7u8; size];
    // SAFETY: the memory has this size.
    called(unsafe { libc::write(file, bytes.as_ptr().cast(), size) } as i64)
}

fn close(file: c_int) -> i64 {
    // SAFETY: the call accesses no memory.
    called(unsafe { libc::close(file) })
}

/// Returns the kind of an open file by `fstat` and by `statx`, and its mode.
fn state(file: c_int) -> Results {
    // SAFETY: the types allow all bytes to be zero, and there is room for the results.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let mut extended: libc::statx = std::mem::zeroed();
        let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_BASIC_STATS);
        let results = [
            ("fstat", called(libc::fstat(file, &mut status))),
            ("statx", called(libc::statx(file, c"".as_ptr(), flags, mask, &mut extended))),
            ("kind", i64::from(status.st_mode & libc::S_IFMT)),
            ("kind by statx", i64::from(u32::from(extended.stx_mode) & libc::S_IFMT)),
            ("seek", called(libc::lseek(file, 0, libc::SEEK_SET))),
            ("flags", called(libc::fcntl(file, libc::F_GETFL)) & i64::from(libc::O_ACCMODE)),
        ];
        results.to_vec()
    }
}

/// Duplicates descriptors to numbers in use.
fn duplicates() -> Results {
    let (mut ends, mut pipe) = ([-1; 2], [-1; 2]);
    // SAFETY: there is room for the descriptors.
    let event = unsafe {
        assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()), 0);
        assert_eq!(libc::pipe2(pipe.as_mut_ptr(), 0), 0);
        libc::eventfd(0, 0)
    };
    let ([one, other], [source, sink]) = (ends, pipe);
    let mut results = Vec::new();
    for file in [one, source, sink] {
        results.extend(state(file));
    }
    results.extend(&state(event)[..5]);
    // SAFETY: the calls access no memory.
    unsafe {
        results.push(("dup2", i64::from(libc::dup2(one, sink) == sink)));
        results.push(("dup2 of itself", i64::from(libc::dup2(one, one) == one)));
        results.push(("dup3 of itself", called(libc::dup3(one, one, 0))));
        results.push(("dup2 to no number", called(libc::dup2(one, -1))));
        results.push(("dup2 of no number", called(libc::dup2(-1, one))));
    }
    // The write end of the pipe is closed, and its number is an end of the connection.
    results.extend([
        ("read", read(source, 1)),
        ("write", write(sink, 1)),
        ("read", read(other, 4)),
    ]);
    results.push(("close", close(one)));
    // SAFETY: the call accesses no memory.
    results.push(("dup2 of a closed one", called(unsafe { libc::dup2(one, other) })));
    results.extend([("write", write(sink, 1)), ("read", read(other, 4)), ("close", close(sink))]);
    results.extend([("read", read(other, 4)), ("state", state(sink)[0].1)]);
    [other, source, event].into_iter().for_each(|file| _ = close(file));
    results
}

#[test]
fn a_descriptor_is_replaced_as_by_the_kernel() {
    assert_eq!(in_run(duplicates), duplicates());
}

/// Opens a FIFO in different modes, without a wait, and reads and writes.
fn fifo(name: &str) -> Results {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    let path = CString::new(path).unwrap();
    let mut results = Vec::new();
    // SAFETY: the calls get a string and numbers.
    let open = |flags| called(unsafe { libc::open(path.as_ptr(), flags | libc::O_NONBLOCK) });
    // SAFETY: as above.
    unsafe {
        libc::unlink(path.as_ptr());
        assert_eq!(libc::mkfifo(path.as_ptr(), 0o600), 0);
    }
    results.push(("open without a reader", open(libc::O_WRONLY)));
    results.push(("create", open(libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)));
    let source = open(libc::O_RDONLY) as c_int;
    poll_now(source, &mut results);
    results.push(("read without a writer", read(source, 1)));
    let sink = open(libc::O_WRONLY) as c_int;
    results.extend(state(source));
    results.extend(state(sink));
    poll_now(source, &mut results);
    results.extend([("write nothing", write(sink, 0)), ("read", read(source, 1))]);
    poll_now(source, &mut results);
    results.extend([("write", write(sink, 3)), ("read nothing", read(source, 0))]);
    poll_now(source, &mut results);
    results.extend([("read", read(source, 8)), ("write", write(sink, 70_000))]);
    poll_now(sink, &mut results);
    results.extend([("write", write(sink, 1)), ("write nothing", write(sink, 0))]);
    results.push(("read", read(source, 4096)));
    poll_now(sink, &mut results);
    results.push(("close", close(sink)));
    poll_now(source, &mut results);
    results.extend([("read", read(source, 70_000)), ("read", read(source, 1))]);
    poll_now(source, &mut results);
    let sink = open(libc::O_WRONLY) as c_int;
    poll_now(source, &mut results);
    results.push(("close", close(source)));
    poll_now(sink, &mut results);
    results.push(("write without a reader", write(sink, 1)));
    results.push(("write nothing without a reader", write(sink, 0)));
    let both = open(libc::O_RDWR) as c_int;
    results.extend([("write", write(sink, 2)), ("write", write(both, 1)), ("read", read(both, 8))]);
    results.extend([("close", close(sink)), ("read", read(both, 1)), ("close", close(both))]);
    // SAFETY: as above.
    results.push(("unlink", called(unsafe { libc::unlink(path.as_ptr()) })));
    results
}

#[test]
fn a_fifo_is_opened_and_used_as_by_the_kernel() {
    assert_eq!(in_run(|| fifo("fifo-in-run")), fifo("fifo"));
}
