//! Calls that wait for several files, files that are closed during a wait, and pipes without room.

use std::ffi::{c_int, c_void};

use unpause_native::{Effect, Ended, Execution, Request};

use super::{Results, called, in_run, poll_now, take_events, wakes};

/// Returns an event with a count, and an epoll file that waits for it.
fn watched_event(count: u32) -> [c_int; 2] {
    // SAFETY: the calls get valid memory.
    unsafe {
        let [event, epoll] = [libc::eventfd(count, libc::EFD_NONBLOCK), libc::epoll_create1(0)];
        let mut interest = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
        assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, event, &mut interest), 0);
        [event, epoll]
    }
}

/// Waits in an epoll file without a time limit. Returns the number of events, or a negative error code.
fn wait_in(epoll: c_int, count: c_int) -> i64 {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
    // SAFETY: there is room for four events.
    called(unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), count, -1) })
}

fn close(file: c_int) -> i64 {
    // SAFETY: the call accesses no memory.
    called(unsafe { libc::close(file) })
}

fn write(file: c_int, size: usize) -> i64 {
    let bytes = vec![1u8; size];
    // SAFETY: the memory is valid.
    called(unsafe { libc::write(file, bytes.as_ptr().cast(), size) } as i64)
}

fn read(file: c_int, size: usize) -> i64 {
    let mut bytes = vec![0u8; size];
    // SAFETY: the memory is valid.
    called(unsafe { libc::read(file, bytes.as_mut_ptr().cast(), size) } as i64)
}

/// Runs `body` until it requests its wait, then the thread that it has spawned, and then the wait.
fn overtakes(body: impl FnOnce() + Send + 'static) {
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    let (mut thread, mut has_requested) = (0, false);
    loop {
        match execution.resume(thread, 0) {
            Request::Transfer(transfer) if transfer.name == "poll" && !has_requested => {
                (thread, has_requested) = (1, true);
            }
            Request::End if thread == 1 => {
                thread = 0;
                let effect = execution.perform_transfer(0);
                assert!(matches!(effect, Effect::Done { .. }), "{effect:?}");
            }
            Request::Transfer(_) => {
                let effect = execution.perform_transfer(thread);
                assert!(matches!(effect, Effect::Done { .. }), "{effect:?}");
            }
            Request::End => break,
            _ => {}
        }
    }
    assert_eq!(execution.ended(), Some(Ended::Returned));
}

#[test]
fn a_wait_in_an_epoll_file_that_another_thread_has_closed_is_an_error() {
    overtakes(|| {
        let [event, epoll] = watched_event(1);
        drop(std::thread::spawn(move || assert_eq!(close(epoll), 0)));
        assert_eq!(wait_in(epoll, 4), -i64::from(libc::EBADF));
        close(event);
    });
}

#[test]
fn a_call_that_waits_keeps_its_file_open() {
    wakes(|| {
        let [event, epoll] = watched_event(0);
        drop(std::thread::spawn(move || assert_eq!([close(epoll), write(event, 8)], [0, 8])));
        assert_eq!(wait_in(epoll, 4), 1);
        assert_eq!([close(epoll), close(event)], [-i64::from(libc::EBADF), 0]);
    });
    wakes(|| {
        let mut ends = [-1; 2];
        // SAFETY: there is room for two descriptors.
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()) };
        let [one, two] = ends;
        drop(std::thread::spawn(move || assert_eq!([close(two), write(one, 3)], [0, 3])));
        assert_eq!(read(two, 8), 3);
        // The end was closed when the read ended.
        assert_eq!([read(one, 8), close(two), close(one)], [0, -i64::from(libc::EBADF), 0]);
    });
}

/// Returns the results of calls with invalid arguments.
fn invalid() -> Results {
    let [event, epoll] = watched_event(1);
    let mut results = Vec::new();
    for count in [0, -1] {
        let mut found = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for one event.
        let result = called(unsafe { libc::epoll_wait(epoll, &mut found, count, 0) });
        results.push(("wait for no events", result));
    }
    // SAFETY: the call accesses no memory.
    results.push(("create", called(unsafe { libc::epoll_create1(5) })));
    // SAFETY: the call accesses no memory.
    results.push(("create", called(unsafe { libc::epoll_create(0) })));
    [event, epoll].into_iter().for_each(|file| _ = close(file));
    results
}

#[test]
fn calls_with_invalid_arguments_have_the_errors_of_the_kernel() {
    assert_eq!(in_run(invalid), invalid());
}

/// Polls descriptors without a time limit.
fn poll_all<const N: usize>(files: [c_int; N], timeout: c_int) -> (i64, [i16; N]) {
    let mut polled = files.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the memory is valid.
    let found = called(unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, timeout) });
    (found, polled.map(|one| one.revents))
}

/// Polls a socket together with a pipe of the system and a number without a file.
fn polls_both(pipe: c_int) -> Results {
    const NONE: c_int = 999_999;
    let mut ends = [-1; 2];
    // SAFETY: there is room for two descriptors.
    unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()) };
    let mut results = Vec::new();
    let mut add = |(found, ready): (i64, [i16; 3])| {
        results.push(("found", found));
        results.extend(ready.map(|ready| ("ready", i64::from(ready))));
    };
    add(poll_all([ends[0], pipe, -1], -1));
    add(poll_all([ends[0], pipe, NONE], -1));
    add(poll_all([ends[0], NONE, -1], 0));
    write(ends[1], 1);
    add(poll_all([ends[0], pipe, -1], -1));
    ends.into_iter().for_each(|file| _ = close(file));
    results
}

#[test]
fn files_of_the_run_and_of_the_system_are_polled_together() {
    let mut pipe = [-1; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let [source, sink] = pipe;
    write(sink, 1);
    assert_eq!(in_run(move || polls_both(source)), polls_both(source));
    read(source, 1);
    let refused = in_run(move || {
        let [event, _] = watched_event(0);
        let [waits, looks] = [-1, 0].map(|timeout| poll_all([event, source], timeout).0);
        vec![("waits", waits), ("looks", looks)]
    });
    assert_eq!(refused, [("waits", -i64::from(libc::ENOSYS)), ("looks", 0)]);
    pipe.into_iter().for_each(|file| _ = close(file));
}

/// Fills a pipe and reads from it. A write of a page is possible when the pipe is ready for writes.
fn full_pipe() -> Results {
    const PAGE: usize = 4096;
    let (mut pipe, mut results) = ([-1; 2], Vec::new());
    // SAFETY: the calls get valid memory.
    let epoll = unsafe {
        assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_NONBLOCK), 0);
        let epoll = libc::epoll_create1(0);
        let mut interest = libc::epoll_event { events: libc::EPOLLOUT as u32, u64: 7 };
        assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, pipe[1], &mut interest), 0);
        epoll
    };
    let [source, sink] = pipe;
    while write(sink, PAGE) > 0 {}
    for size in [0, 100, PAGE - 100, 1, PAGE - 1] {
        results.push(("read", read(source, size)));
        poll_now(sink, &mut results);
        take_events(epoll, 4, &mut results);
    }
    results.extend([(); 3].map(|()| ("write", write(sink, PAGE))));
    [source, sink, epoll].into_iter().for_each(|file| _ = close(file));
    results
}

#[test]
fn a_pipe_is_ready_for_a_write_that_it_accepts() {
    assert_eq!(in_run(full_pipe), full_pipe());
}

/// Receives packets that are longer than the buffer.
fn cut_packets(domain: c_int) -> Results {
    let (mut ends, mut results) = ([-1; 2], Vec::new());
    // SAFETY: the calls get valid memory, and the types allow all bytes to be zero.
    unsafe {
        if domain == libc::AF_UNIX {
            libc::socketpair(domain, libc::SOCK_DGRAM, 0, ends.as_mut_ptr());
        } else {
            let socket = libc::socket(domain, libc::SOCK_DGRAM, 0);
            let mut name: libc::sockaddr_in = std::mem::zeroed();
            name.sin_family = domain as u16;
            name.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
            let mut size = size_of_val(&name) as u32;
            let pointer = (&raw mut name).cast::<libc::sockaddr>();
            assert_eq!(libc::bind(socket, pointer, size), 0);
            assert_eq!(libc::getsockname(socket, pointer, &mut size), 0);
            assert_eq!(libc::connect(socket, pointer, size), 0);
            ends = [socket, socket];
        }
        let mut buffer = [0u8; 4];
        let memory = buffer.as_mut_ptr().cast::<c_void>();
        for flags in [libc::MSG_PEEK | libc::MSG_TRUNC, libc::MSG_TRUNC, libc::MSG_WAITALL, 0] {
            assert_eq!(write(ends[0], 7), 7);
            results.push(("recv", called(libc::recv(ends[1], memory, 4, flags) as i64)));
        }
        // One packet was only peeked at.
        for _ in 0..2 {
            let mut part = libc::iovec { iov_base: memory, iov_len: 4 };
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            results.push(("recvmsg", called(libc::recvmsg(ends[1], &mut message, 0) as i64)));
            results.push(("flags", i64::from(message.msg_flags)));
            assert_eq!(write(ends[0], 4), 4);
        }
    }
    ends.into_iter().for_each(|file| _ = close(file));
    results
}

#[test]
fn the_size_of_a_cut_packet_is_reported() {
    for domain in [libc::AF_UNIX, libc::AF_INET] {
        assert_eq!(in_run(move || cut_packets(domain)), cut_packets(domain), "{domain}");
    }
}

#[test]
fn a_call_that_receives_all_bytes_waits_for_the_rest() {
    wakes(|| {
        let mut ends = [-1; 2];
        // SAFETY: there is room for two descriptors.
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()) };
        let [one, two] = ends;
        assert_eq!(write(one, 2), 2);
        drop(std::thread::spawn(move || assert_eq!(write(one, 4), 4)));
        let mut buffer = [0u8; 6];
        // SAFETY: the memory is valid.
        let got = unsafe { libc::recv(two, buffer.as_mut_ptr().cast(), 6, libc::MSG_WAITALL) };
        assert_eq!((got, buffer), (6, [1; 6]));
        [one, two].into_iter().for_each(|file| _ = close(file));
    });
}

/// Polls an event, and a sleep, with times that the kernel refuses.
fn refused_times() -> Results {
    let mut results = Vec::new();
    // SAFETY: the calls get valid memory.
    unsafe {
        let event = libc::eventfd(0, libc::EFD_NONBLOCK);
        for (tv_sec, tv_nsec) in [(-1, 0), (0, -1), (0, 1_000_000_000)] {
            let time = libc::timespec { tv_sec, tv_nsec };
            for fd in [event, -1] {
                let mut one = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                let found = libc::ppoll(&mut one, 1, &time, std::ptr::null());
                results.push(("ppoll", called(found)));
            }
        }
        libc::close(event);
    }
    results
}

#[test]
fn a_wait_refuses_a_time_that_the_kernel_refuses() {
    let real = refused_times();
    assert_eq!(real[0], ("ppoll", -i64::from(libc::EINVAL)));
    assert_eq!(in_run(refused_times), real);
}
