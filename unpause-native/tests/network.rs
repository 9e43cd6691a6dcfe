//! The network of a run compared with the kernel's network: the same calls have the same results.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "network/connections.rs"]
mod connections;
#[path = "network/descriptors.rs"]
mod descriptors;
#[path = "network/listeners.rs"]
mod listeners;
#[path = "network/messages.rs"]
mod messages;
#[path = "network/options.rs"]
mod options;
#[path = "network/waits.rs"]
mod waits;

use std::ffi::c_int;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unpause_native::{Effect, Ended, Execution, Request, outside};

/// Random numbers from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % bound
    }
}

/// Returns the result of a call: a number, or a negative error code.
fn called(result: impl Into<i64>) -> i64 {
    match result.into() {
        // SAFETY: libc gives each thread an `errno`.
        -1 => -i64::from(unsafe { *libc::__errno_location() }),
        number => number,
    }
}

/// Returns the two nonblocking ends of a new TCP connection.
fn tcp_pair() -> [c_int; 2] {
    // SAFETY: calls with valid memory.
    unsafe {
        let listener = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as u16;
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let mut size = size_of::<libc::sockaddr_in>() as u32;
        let pointer = (&raw mut address).cast::<libc::sockaddr>();
        assert_eq!(libc::bind(listener, pointer, size), 0);
        assert_eq!(libc::listen(listener, 8), 0);
        assert_eq!(libc::getsockname(listener, pointer, &mut size), 0);
        let client = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        assert_eq!(libc::connect(client, pointer, size), 0);
        let server = libc::accept4(listener, pointer, &mut size, libc::SOCK_NONBLOCK);
        assert_eq!(libc::fcntl(client, libc::F_SETFL, libc::O_NONBLOCK), 0);
        // Small packets are sent at once.
        for end in [client, server] {
            let (yes, level) = (1 as c_int, libc::IPPROTO_TCP);
            let size = size_of::<c_int>() as u32;
            let yes = (&raw const yes).cast();
            assert_eq!(libc::setsockopt(end, level, libc::TCP_NODELAY, yes, size), 0);
        }
        libc::close(listener);
        [client, server]
    }
}

/// The results of calls, each with the name of the call.
type Results = Vec<(&'static str, i64)>;

/// Takes at most `count` events of an epoll file, without a wait. Also adds the events to the results.
fn take_events(epoll: c_int, count: c_int, results: &mut Results) -> i64 {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
    // SAFETY: there is room for the events.
    let found = called(unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), count, 0) });
    for event in &events[..found.max(0) as usize] {
        results.push(("event of", event.u64 as i64));
        results.push(("events", i64::from(event.events)));
    }
    found
}

/// Polls a file, without a wait. Also adds the readiness of the file to the results.
fn poll_now(file: c_int, results: &mut Results) -> i64 {
    let events = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP;
    let mut one = libc::pollfd { fd: file, events, revents: 0 };
    // SAFETY: the memory is valid.
    let found = called(unsafe { libc::poll(&mut one, 1, 0) });
    results.push(("ready", i64::from(one.revents)));
    found
}

/// Performs random calls on two ends of a connection, an event, and an epoll file that watches them. Returns the
/// results with the names of the calls. Pauses before each call.
fn program(seed: u64, pause: Duration) -> Results {
    let mut numbers = Numbers(seed);
    let mut results = Vec::new();
    let mut files = [-1; 3];
    let kind = numbers.below(3);
    // SAFETY: calls with valid memory.
    unsafe {
        match kind {
            0 => {
                let flags = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
                libc::socketpair(libc::AF_UNIX, flags, 0, files.as_mut_ptr());
            }
            1 => _ = libc::pipe2(files.as_mut_ptr(), libc::O_NONBLOCK),
            _ => files[..2].copy_from_slice(&tcp_pair()),
        }
        files[2] = libc::eventfd(0, libc::EFD_NONBLOCK);
    }
    // SAFETY: the call accesses no memory.
    let epoll = unsafe { libc::epoll_create1(0) };
    assert!(epoll >= 0 && files.iter().all(|file| *file >= 0));
    for _ in 0..25 {
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        let at = numbers.below(3) as usize;
        let file = files[at];
        let mut buffer = [7u8; 16];
        let size = if at == 2 { 8 } else { 1 + numbers.below(8) as usize };
        // SAFETY: the calls get valid memory. A closed descriptor is -1.
        let result = unsafe {
            match numbers.below(12) {
                0..3 => ("read", called(libc::read(file, buffer.as_mut_ptr().cast(), size) as i64)),
                3..5 => {
                    buffer[..8].copy_from_slice(&3u64.to_ne_bytes());
                    ("write", called(libc::write(file, buffer.as_ptr().cast(), size) as i64))
                }
                5..7 => {
                    let mut event = libc::epoll_event {
                        events: [libc::EPOLLIN, libc::EPOLLOUT, libc::EPOLLIN | libc::EPOLLOUT]
                            [numbers.below(3) as usize] as u32,
                        u64: at as u64,
                    };
                    let flags = [0, libc::EPOLLET, libc::EPOLLONESHOT, libc::EPOLLRDHUP];
                    event.events |= flags[numbers.below(4) as usize] as u32;
                    let operation = 1 + numbers.below(3) as c_int;
                    ("control", called(libc::epoll_ctl(epoll, operation, file, &mut event)))
                }
                7..10 => {
                    let count = 1 + numbers.below(3) as c_int;
                    ("wait", take_events(epoll, count, &mut results))
                }
                10 if kind != 1 && at < 2 && numbers.below(2) == 0 => {
                    ("shutdown", called(libc::shutdown(file, numbers.below(3) as c_int)))
                }
                11 if numbers.below(4) == 0 => {
                    files[at] = -1;
                    ("close", called(libc::close(file)))
                }
                _ => ("poll", poll_now(file, &mut results)),
            }
        };
        results.push(("of file", at as i64));
        results.push(result);
    }
    // SAFETY: the calls access no memory.
    files.into_iter().chain([epoll]).for_each(|file| _ = unsafe { libc::close(file) });
    results
}

/// Performs random calls on four events and two epoll files, of which one may watch the other. Returns the results with
/// the names of the calls.
fn nested(seed: u64) -> Results {
    let mut numbers = Numbers(seed);
    let mut results = Vec::new();
    // SAFETY: the calls access no memory.
    let files = unsafe {
        let event = || libc::eventfd(0, libc::EFD_NONBLOCK);
        let epoll = || libc::epoll_create1(0);
        [event(), event(), event(), event(), epoll(), epoll()]
    };
    assert!(files.iter().all(|file| *file >= 0));
    let [.., inner, outer] = files;
    for _ in 0..40 {
        let event = files[numbers.below(4) as usize];
        // SAFETY: the calls get valid memory.
        let result = unsafe {
            match numbers.below(12) {
                0..2 => {
                    let mut buffer = [0u8; 8];
                    ("read", called(libc::read(event, buffer.as_mut_ptr().cast(), 8) as i64))
                }
                2..5 => {
                    let one = 1u64.to_ne_bytes();
                    ("write", called(libc::write(event, one.as_ptr().cast(), 8) as i64))
                }
                5..8 => {
                    // No event has two watchers.
                    let (epoll, file) = match numbers.below(6) {
                        0 => (outer, files[3]),
                        1 | 2 => (outer, inner),
                        3 => (inner, outer),
                        _ => (inner, files[numbers.below(3) as usize]),
                    };
                    let events = [libc::EPOLLIN, libc::EPOLLOUT, libc::EPOLLIN | libc::EPOLLOUT];
                    let flags = [0, libc::EPOLLET, libc::EPOLLONESHOT];
                    let events = events[numbers.below(3) as usize];
                    let events = (events | flags[numbers.below(3) as usize]) as u32;
                    let at = files.iter().position(|other| *other == file);
                    let mut interest = libc::epoll_event { events, u64: at.unwrap() as u64 };
                    let operation = 1 + numbers.below(3) as c_int;
                    ("control", called(libc::epoll_ctl(epoll, operation, file, &mut interest)))
                }
                8..10 => {
                    let epoll = [inner, outer][numbers.below(2) as usize];
                    let count = 1 + numbers.below(3) as c_int;
                    ("wait", take_events(epoll, count, &mut results))
                }
                _ => {
                    let file = files[numbers.below(6) as usize];
                    ("poll", poll_now(file, &mut results))
                }
            }
        };
        results.push(result);
    }
    // SAFETY: the calls access no memory.
    files.into_iter().for_each(|file| _ = unsafe { libc::close(file) });
    results
}

/// Returns the results of a program in a run.
fn in_run(program: impl FnOnce() -> Results + Send + 'static) -> Results {
    let results = Arc::new(Mutex::new(Vec::new()));
    let slot = results.clone();
    let body = move || {
        let found = program();
        outside(|| slot.lock().unwrap().extend_from_slice(&found));
    };
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    loop {
        match execution.resume(0, 0) {
            Request::Transfer(_) => {
                let effect = execution.perform_transfer(0);
                assert!(matches!(effect, Effect::Done { .. }), "{effect:?}");
            }
            Request::End => break,
            _ => {}
        }
    }
    assert_eq!(execution.ended(), Some(Ended::Returned));
    results.lock().unwrap().clone()
}

#[test]
fn a_run_answers_as_the_kernel_does() {
    let mut differing = Vec::new();
    for seed in 0..4000 {
        let mut real = program(seed, Duration::ZERO);
        let simulated = in_run(move || program(seed, Duration::ZERO));
        if real != simulated {
            // The kernel's loopback needs time.
            real = program(seed, Duration::from_millis(2));
        }
        if real != simulated {
            let at = real.iter().zip(&simulated).position(|(one, two)| one != two).unwrap();
            let from = at.saturating_sub(60);
            let kind = Numbers(seed).below(3);
            differing.push((seed, kind, real[from..=at].to_vec(), simulated[at]));
        }
    }
    differing.sort_by_key(|(_, _, before, _)| before.len());
    for different in differing.iter().take(6) {
        println!("{different:?}");
    }
    assert!(differing.is_empty(), "{} of 4000", differing.len());
}

#[test]
fn a_run_answers_as_the_kernel_does_if_an_epoll_file_watches_another() {
    let mut events = 0;
    for seed in 0..1000 {
        let (real, simulated) = (nested(seed), in_run(move || nested(seed)));
        assert_eq!(real, simulated, "seed {seed}");
        events += real.iter().filter(|(name, value)| *name == "event of" && *value >= 4).count();
    }
    assert!(events > 100, "{events} events of epoll files");
}

/// Runs `body` until it waits for a file, then the thread that it has spawned, and then the rest of `body`.
fn wakes(body: impl FnOnce() + Send + 'static) {
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    let (mut thread, mut awaited) = (0, None);
    loop {
        match execution.resume(thread, 0) {
            Request::Transfer(transfer) => {
                if let Effect::Waits { version, .. } = execution.perform_transfer(thread) {
                    assert_eq!(thread, 0, "the other thread does not wait");
                    (thread, awaited) = (1, Some((transfer.object, version)));
                }
            }
            Request::End if thread == 1 => {
                let (object, version) = awaited.take().expect("the first thread waits");
                assert_ne!(execution.version(object), version, "the wait has not ended");
                let effect = execution.perform_transfer(0);
                assert!(matches!(effect, Effect::Done { .. }), "{effect:?}");
                thread = 0;
            }
            Request::End => break,
            _ => {}
        }
    }
    assert_eq!(execution.ended(), Some(Ended::Returned));
}

/// Waits in an epoll file, or polls it, after its member was ready and was read. Another thread makes it ready again.
fn waits_again(polls: bool) {
    // SAFETY: the calls get valid memory.
    unsafe {
        let event = libc::eventfd(0, libc::EFD_NONBLOCK);
        let [inner, outer] = [libc::epoll_create1(0), libc::epoll_create1(0)];
        for (epoll, file) in [(inner, event), (outer, inner)] {
            let mut interest = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
            assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, file, &mut interest), 0);
        }
        let mut buffer = 1u64.to_ne_bytes();
        assert_eq!(libc::write(event, buffer.as_ptr().cast(), 8), 8);
        assert_eq!(libc::read(event, buffer.as_mut_ptr().cast(), 8), 8);
        drop(std::thread::spawn(move || {
            libc::write(event, 1u64.to_ne_bytes().as_ptr().cast(), 8);
        }));
        if polls {
            let mut one = libc::pollfd { fd: inner, events: libc::POLLIN, revents: 0 };
            assert_eq!(libc::poll(&mut one, 1, -1), 1);
        } else {
            let mut found = libc::epoll_event { events: 0, u64: 0 };
            assert_eq!(libc::epoll_wait(outer, &mut found, 1, -1), 1);
        }
        [outer, inner, event].into_iter().for_each(|file| _ = libc::close(file));
    }
}

#[test]
fn a_wait_for_an_epoll_file_ends_at_each_event_of_its_members() {
    wakes(|| waits_again(false));
    wakes(|| waits_again(true));
}

#[test]
fn copies_within_the_kernel_refuse_files_of_a_run() {
    let found = in_run(|| {
        let mut pipe = [-1; 2];
        let (null, mut results) = (std::ptr::null_mut, Vec::new());
        let mut add = |name, result: isize| results.push((name, called(result as i64)));
        // SAFETY: the calls get valid memory.
        unsafe {
            assert_eq!(libc::pipe2(pipe.as_mut_ptr(), 0), 0);
            let [from, to] = pipe;
            add("splice", libc::splice(from, null(), 1, null(), 8, 0));
            add("tee", libc::tee(from, to, 8, 0));
            add("sendfile", libc::sendfile(to, 0, null(), 8));
            add("sendfile64", libc::sendfile64(to, 0, null(), 8));
            add("copy_file_range", libc::copy_file_range(0, null(), to, null(), 8, 0));
            libc::close(from);
            add("splice of a closed file", libc::splice(from, null(), to, null(), 8, 0));
        }
        results
    });
    let (errors, last) = found.split_at(5);
    assert!(errors.iter().all(|(_, error)| *error == -i64::from(libc::EINVAL)), "{found:?}");
    assert_eq!(last, [("splice of a closed file", -i64::from(libc::EBADF))]);
}
