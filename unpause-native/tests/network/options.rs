//! Options of sockets, and shutdowns of sockets that are not connected: compared with the kernel's.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::{Results, called, in_run, poll_now, tcp_pair};

const SOCKET: c_int = libc::SOL_SOCKET;
/// The numbers of the time limits in newer programs.
const NEW_LIMITS: [c_int; 2] = [66, 67];

fn close(file: c_int) {
    // SAFETY: the call accesses no memory.
    unsafe { libc::close(file) };
}

fn socket(domain: c_int, kind: c_int) -> c_int {
    // SAFETY: the call accesses no memory.
    let socket = unsafe { libc::socket(domain, kind, 0) };
    assert!(socket >= 0);
    socket
}

/// Sets an option to these numbers of 32 bits.
fn set(socket: c_int, (level, name): (c_int, c_int), value: &[c_int]) -> i64 {
    let (memory, size) = (value.as_ptr().cast::<c_void>(), size_of_val(value) as u32);
    // SAFETY: the memory is valid.
    called(unsafe { libc::setsockopt(socket, level, name, memory, size) })
}

/// Adds the value of an option to the results: its size, and its numbers of 32 bits.
fn get(socket: c_int, (level, name): (c_int, c_int), results: &mut Results) {
    let (mut value, mut size) = ([-1 as c_int; 6], size_of::<[c_int; 6]>() as u32);
    let memory = value.as_mut_ptr().cast::<c_void>();
    // SAFETY: there is room for the value.
    let result = unsafe { libc::getsockopt(socket, level, name, memory, &mut size) };
    results.push(("get", called(result)));
    results.push(("size", i64::from(size)));
    results.extend(value.map(|number| ("number", i64::from(number))));
}

/// Sets and reads options. The values do not depend on the settings of the kernel.
fn options() -> Results {
    let mut results = Vec::new();
    let kinds = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
    for domain in [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX] {
        for kind in kinds {
            let socket = socket(domain, kind);
            let mut both = |option, value: &[c_int]| {
                results.push(("set", set(socket, option, value)));
                get(socket, option, &mut results);
            };
            for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, NEW_LIMITS[0], NEW_LIMITS[1]] {
                // A time limit is two numbers of 64 bits: seconds and microseconds.
                let times = [
                    [3, 0, 0, 0],
                    [-1, -1, 0, 0],
                    [0, i32::MAX, 5, 0],
                    [4, 0, 1_000_000, 0],
                    [4, 0, -1, -1],
                    [0; 4],
                ];
                times.iter().for_each(|time| both((SOCKET, name), time));
                both((SOCKET, name), &[1, 0]);
            }
            for linger in [&[5, 3][..], &[0, 9], &[1], &[-1, 0], &[0, 0]] {
                both((SOCKET, libc::SO_LINGER), linger);
            }
            for name in [libc::SO_REUSEADDR, libc::SO_KEEPALIVE, libc::SO_BROADCAST] {
                [&[7][..], &[0], &[]].iter().for_each(|value| both((SOCKET, name), value));
            }
            for name in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
                [5000, 6000].iter().for_each(|size| both((SOCKET, name), &[*size]));
            }
            let constants = [
                libc::SO_TYPE,
                libc::SO_DOMAIN,
                libc::SO_PROTOCOL,
                libc::SO_ACCEPTCONN,
                libc::SO_PEERCRED,
            ];
            constants.iter().for_each(|name| both((SOCKET, *name), &[1, 1, 1]));
            if domain == libc::AF_INET {
                for hops in [5, 0, 256] {
                    both((libc::IPPROTO_IP, libc::IP_TTL), &[hops]);
                }
            }
            if domain == libc::AF_INET6 {
                both((libc::IPPROTO_IPV6, libc::IPV6_V6ONLY), &[7]);
            }
            close(socket);
        }
    }
    let (mut pipe, socket) = ([-1; 2], socket(libc::AF_INET, libc::SOCK_STREAM));
    // SAFETY: there is room for two descriptors.
    unsafe { libc::pipe(pipe.as_mut_ptr()) };
    results.push(("set", set(pipe[0], (SOCKET, libc::SO_REUSEADDR), &[1])));
    results.push(("set", set(socket, (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY), &[1])));
    get(pipe[0], (SOCKET, libc::SO_TYPE), &mut results);
    [pipe[0], pipe[1], socket].into_iter().for_each(close);
    results
}

#[test]
fn options_are_returned_as_the_kernel_stores_them() {
    let (simulated, real) = (in_run(options), options());
    let at = real.iter().zip(&simulated).position(|(one, other)| one != other);
    let at = at.map(|at| (at, &real[at.saturating_sub(16)..=at], simulated[at]));
    assert!(at.is_none() && real.len() == simulated.len(), "{at:?}");
}

/// The kernel rounds a time limit to its ticks, so the result is not compared with the kernel's.
#[test]
fn a_time_limit_is_rounded_up_to_a_millisecond() {
    let found = in_run(|| {
        let (socket, mut results) = (socket(libc::AF_INET, libc::SOCK_DGRAM), Vec::new());
        for micros in [1, 1500, 999_001] {
            set(socket, (SOCKET, libc::SO_RCVTIMEO), &[0, 0, micros, 0]);
            let mut time = Vec::new();
            get(socket, (SOCKET, libc::SO_RCVTIMEO), &mut time);
            // The results begin with two other values.
            results.extend([time[2], time[4]]);
        }
        results
    });
    let numbers: Vec<i64> = found.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [0, 1000, 0, 2000, 1, 0]);
}

/// A call with a negative time limit does not wait, and options of a listener are inherited.
fn inherited() -> Results {
    let mut results = Vec::new();
    // SAFETY: the calls get valid memory, and the type allows all bytes to be zero.
    let sockets = unsafe {
        let listener = socket(libc::AF_INET, libc::SOCK_STREAM);
        set(listener, (SOCKET, libc::SO_RCVTIMEO), &[-1, -1, 0, 0]);
        set(listener, (SOCKET, libc::SO_LINGER), &[2, 0]);
        set(listener, (libc::IPPROTO_TCP, libc::TCP_NODELAY), &[5]);
        let mut name: libc::sockaddr_in = std::mem::zeroed();
        name.sin_family = libc::AF_INET as u16;
        name.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let mut size = size_of_val(&name) as u32;
        let pointer = (&raw mut name).cast::<libc::sockaddr>();
        assert_eq!(libc::bind(listener, pointer, size), 0);
        assert_eq!(libc::listen(listener, 8), 0);
        assert_eq!(libc::getsockname(listener, pointer, &mut size), 0);
        results.push(("accept", called(libc::accept(listener, null_mut(), null_mut()))));
        let client = socket(libc::AF_INET, libc::SOCK_STREAM);
        assert_eq!(libc::connect(client, pointer, size), 0);
        set(listener, (SOCKET, libc::SO_RCVTIMEO), &[9, 0, 0, 0]);
        [listener, client, libc::accept(listener, null_mut(), null_mut())]
    };
    let [_, client, accepted] = sockets;
    get(accepted, (libc::IPPROTO_TCP, libc::TCP_NODELAY), &mut results);
    get(accepted, (SOCKET, libc::SO_LINGER), &mut results);
    let mut byte = 0u8;
    let memory = (&raw mut byte).cast::<c_void>();
    // SAFETY: the memory is valid.
    results.push(("read", called(unsafe { libc::read(accepted, memory, 1) } as i64)));
    // The connection is reset, because it lingers for no time.
    close(accepted);
    // SAFETY: the memory is valid.
    results.push(("read", called(unsafe { libc::read(client, memory, 1) } as i64)));
    close(client);
    close(sockets[0]);
    results
}

#[test]
fn an_accepted_socket_has_the_options_of_its_listener() {
    assert_eq!(in_run(inherited), inherited());
}

/// A Unix socket that lingers for no time, and a TCP socket that does not linger.
fn not_reset() -> Results {
    let (mut unix, mut results) = ([-1; 2], Vec::new());
    // SAFETY: there is room for two descriptors.
    unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, unix.as_mut_ptr()) };
    for (ends, linger) in [(unix, [1, 0]), (tcp_pair(), [0, 0]), (tcp_pair(), [7, 0])] {
        set(ends[0], (SOCKET, libc::SO_LINGER), &linger);
        close(ends[0]);
        let mut one = libc::pollfd { fd: ends[1], events: libc::POLLIN, revents: 0 };
        // SAFETY: the memory is valid.
        assert_eq!(unsafe { libc::poll(&mut one, 1, 10_000) }, 1);
        let mut byte = 0u8;
        // SAFETY: the memory is valid.
        let read = unsafe { libc::read(ends[1], (&raw mut byte).cast(), 1) };
        results.push(("read", called(read as i64)));
        close(ends[1]);
    }
    results
}

#[test]
fn only_a_tcp_socket_that_lingers_for_no_time_is_reset() {
    let reset = -i64::from(libc::ECONNRESET);
    let results = [0, 0, reset].map(|result| ("read", result));
    assert_eq!(not_reset(), results);
    assert_eq!(in_run(not_reset), results);
}

/// Shuts down sockets that are not connected, and receives from sockets of packets.
fn shut() -> Results {
    let mut results = Vec::new();
    for domain in [libc::AF_INET, libc::AF_UNIX] {
        let [stream, packets] =
            [libc::SOCK_STREAM, libc::SOCK_DGRAM].map(|kind| socket(domain, kind));
        for (file, how) in [(stream, 2), (packets, 3), (packets, 0), (packets, 1)] {
            // SAFETY: the call accesses no memory.
            results.push(("shutdown", called(unsafe { libc::shutdown(file, how) })));
            if file == packets && how < 2 {
                poll_now(packets, &mut results);
                for flags in [0, libc::MSG_DONTWAIT] {
                    let mut byte = 0u8;
                    // SAFETY: the memory is valid.
                    let got = unsafe { libc::recv(packets, (&raw mut byte).cast(), 1, flags) };
                    results.push(("recv", called(got as i64)));
                }
            }
        }
        [stream, packets].into_iter().for_each(close);
    }
    results
}

#[test]
fn a_shutdown_ends_the_calls_that_receive_packets() {
    assert_eq!(in_run(shut), shut());
}
