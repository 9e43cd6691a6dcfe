//! The network of a run compared with the kernel's network: the same calls have the same results.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

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

/// Performs random calls on two ends of a connection, an event, and an epoll file that watches them. Returns the
/// results with the names of the calls. Pauses before each call.
fn program(seed: u64, pause: Duration) -> Vec<(&'static str, i64)> {
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
                    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
                    let count = 1 + numbers.below(3) as c_int;
                    let found = called(libc::epoll_wait(epoll, events.as_mut_ptr(), count, 0));
                    for event in &events[..found.max(0) as usize] {
                        results.push(("event of", event.u64 as i64));
                        results.push(("events", i64::from(event.events)));
                    }
                    ("wait", found)
                }
                10 if kind != 1 && at < 2 && numbers.below(2) == 0 => {
                    ("shutdown", called(libc::shutdown(file, numbers.below(3) as c_int)))
                }
                11 if numbers.below(4) == 0 => {
                    files[at] = -1;
                    ("close", called(libc::close(file)))
                }
                _ => {
                    let mut one = libc::pollfd {
                        fd: file,
                        events: libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP,
                        revents: 0,
                    };
                    let found = libc::poll(&mut one, 1, 0);
                    results.push(("ready", i64::from(one.revents)));
                    ("poll", called(found))
                }
            }
        };
        results.push(("of file", at as i64));
        results.push(result);
    }
    // SAFETY: the calls access no memory.
    files.into_iter().chain([epoll]).for_each(|file| _ = unsafe { libc::close(file) });
    results
}

/// Returns the results of the program in a run.
fn in_run(seed: u64) -> Vec<(&'static str, i64)> {
    let results = Arc::new(Mutex::new(Vec::new()));
    let slot = results.clone();
    let body = move || {
        let found = program(seed, Duration::ZERO);
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
        let (mut real, simulated) = (program(seed, Duration::ZERO), in_run(seed));
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
