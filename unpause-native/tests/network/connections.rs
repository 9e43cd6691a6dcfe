//! Connections that are refused or dissolved, and calls on files that are not sockets: compared with the kernel's.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::time::Duration;

use super::{Results, called, in_run, poll_now, tcp_pair};

/// Returns an address of the loopback.
fn loopback(port: u16) -> libc::sockaddr_in {
    // SAFETY: the type allows all bytes to be zero.
    let mut name: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    (name.sin_family, name.sin_port) = (libc::AF_INET as u16, port.to_be());
    name.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
    name
}

/// Calls a function with an address. Returns the result.
fn with(
    call: unsafe extern "C" fn(c_int, *const libc::sockaddr, u32) -> c_int,
    file: c_int,
    name: libc::sockaddr_in,
) -> i64 {
    // SAFETY: the address is valid during the call.
    called(unsafe { call(file, (&raw const name).cast(), size_of_val(&name) as u32) })
}

fn connect(file: c_int, port: u16) -> i64 {
    with(libc::connect, file, loopback(port))
}

/// Connects a file to an address without a family.
fn dissolve(file: c_int) -> i64 {
    // SAFETY: the type allows all bytes to be zero.
    with(libc::connect, file, unsafe { std::mem::zeroed() })
}

fn socket(domain: c_int, kind: c_int) -> c_int {
    // SAFETY: the call accesses no memory.
    let socket = unsafe { libc::socket(domain, kind, 0) };
    assert!(socket >= 0);
    socket
}

fn close(file: c_int) {
    // SAFETY: the call accesses no memory.
    unsafe { libc::close(file) };
}

/// Returns the address of an IPv4 socket and its port.
fn name_of(file: c_int) -> (i64, u16) {
    let mut name = loopback(0);
    let mut size = size_of_val(&name) as u32;
    // SAFETY: there is room for the address.
    let result = unsafe { libc::getsockname(file, (&raw mut name).cast(), &mut size) };
    assert_eq!(result, 0);
    (i64::from(u32::from_be(name.sin_addr.s_addr)), u16::from_be(name.sin_port))
}

/// Returns a port that no socket has.
fn free_port(kind: c_int) -> u16 {
    let file = socket(libc::AF_INET, kind);
    assert_eq!(with(libc::bind, file, loopback(0)), 0);
    let (_, port) = name_of(file);
    close(file);
    port
}

/// Takes the error of a socket.
fn take_error(file: c_int) -> i64 {
    let (mut error, mut size) = (0 as c_int, size_of::<c_int>() as u32);
    let memory = (&raw mut error).cast();
    // SAFETY: there is room for the error.
    let result =
        unsafe { libc::getsockopt(file, libc::SOL_SOCKET, libc::SO_ERROR, memory, &mut size) };
    assert_eq!(result, 0);
    i64::from(error)
}

fn receive(file: c_int) -> i64 {
    let mut byte = 0u8;
    // SAFETY: the memory is valid.
    called(unsafe { libc::recv(file, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) } as i64)
}

fn send(file: c_int) -> i64 {
    // SAFETY: the memory is valid.
    called(unsafe { libc::send(file, [7u8].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) } as i64)
}

fn listen(file: c_int) -> i64 {
    // SAFETY: the call accesses no memory.
    called(unsafe { libc::listen(file, 8) })
}

fn accept(file: c_int) -> i64 {
    // SAFETY: the call writes no address.
    called(unsafe { libc::accept(file, null_mut(), null_mut()) })
}

/// Connects nonblocking sockets to a port without a listener, and calls different functions then.
fn refused() -> Results {
    let (mut results, port) = (Vec::new(), free_port(libc::SOCK_STREAM));
    for variant in 0..5 {
        let file = socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
        results.push(("connect", connect(file, port)));
        // The kernel's loopback needs time.
        std::thread::sleep(Duration::from_millis(2));
        poll_now(file, &mut results);
        match variant {
            0 => {
                results.push(("error", take_error(file)));
                poll_now(file, &mut results);
                results.extend([("receive", receive(file)), ("send", send(file))]);
                results.push(("connect again", connect(file, port)));
                poll_now(file, &mut results);
                results.push(("connect anew", connect(file, port)));
            }
            1 => results.extend([("receive", receive(file)), ("receive again", receive(file))]),
            2 => results.extend([("send", send(file)), ("send again", send(file))]),
            3 => results.extend([("listen", listen(file)), ("error", take_error(file))]),
            _ => {
                results.push(("dissolve", dissolve(file)));
                poll_now(file, &mut results);
                results.push(("error", take_error(file)));
            }
        }
        close(file);
    }
    results
}

#[test]
fn a_nonblocking_socket_has_the_error_of_a_refused_connection_afterwards() {
    let real = refused();
    assert_eq!(real[0], ("connect", -i64::from(libc::EINPROGRESS)));
    assert_eq!(in_run(refused), real);
}

/// Dissolves the connections of sockets.
fn dissolved() -> Results {
    let mut results = Vec::new();
    let receiver = socket(libc::AF_INET, libc::SOCK_DGRAM);
    assert_eq!(with(libc::bind, receiver, loopback(0)), 0);
    let (_, target) = name_of(receiver);
    let requested = free_port(libc::SOCK_DGRAM);
    for port in [None, Some(0), Some(requested)] {
        let file = socket(libc::AF_INET, libc::SOCK_DGRAM);
        if let Some(port) = port {
            results.push(("bind", with(libc::bind, file, loopback(port))));
        }
        results.extend([("connect", connect(file, target)), ("send", send(file))]);
        results.extend([("dissolve", dissolve(file)), ("send", send(file))]);
        let (address, port) = name_of(file);
        results.push(("address", address));
        results.push(("has the requested port", i64::from(port == requested)));
        results.push(("has no port", i64::from(port == 0)));
        results.extend([("connect", connect(file, target)), ("send", send(file))]);
        close(file);
    }
    close(receiver);
    for has_packet in [false, true] {
        let mut ends = [-1; 2];
        // SAFETY: there is room for two descriptors.
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, ends.as_mut_ptr()) };
        if has_packet {
            results.push(("send", send(ends[1])));
        }
        results.push(("dissolve", dissolve(ends[0])));
        results.push(("error", take_error(ends[1])));
        results.extend([("receive", receive(ends[0])), ("send", send(ends[0]))]);
        ends.into_iter().for_each(close);
    }
    for domain in [libc::AF_INET, libc::AF_UNIX] {
        let file = socket(domain, libc::SOCK_STREAM);
        results.push(("dissolve", dissolve(file)));
        close(file);
    }
    let listener = socket(libc::AF_INET, libc::SOCK_STREAM);
    results.extend([("listen", listen(listener)), ("dissolve", dissolve(listener))]);
    results.push(("accept", accept(listener)));
    close(listener);
    results
}

#[test]
fn connections_are_dissolved_as_by_the_kernel() {
    assert_eq!(in_run(dissolved), dissolved());
}

/// The kernel's loopback needs time.
fn pause() {
    std::thread::sleep(Duration::from_millis(2));
}

fn shut_down(file: c_int) {
    // SAFETY: the call accesses no memory.
    assert_eq!(unsafe { libc::shutdown(file, libc::SHUT_WR) }, 0);
}

/// Dissolves TCP connections in different states, and calls functions on both ends then.
fn dissolved_streams() -> Results {
    let mut results = Vec::new();
    for (case, takes_error) in (0..7).flat_map(|case| [(case, false), (case, true)]) {
        let [own, other] = tcp_pair();
        match case {
            1 => results.push(("send", send(own))),
            2 => results.push(("send by the other", send(other))),
            3 => shut_down(own),
            4 => shut_down(other),
            5 => [own, other].into_iter().for_each(shut_down),
            6 => close(other),
            _ => {}
        }
        pause();
        results.push(("dissolve", dissolve(own)));
        pause();
        poll_now(own, &mut results);
        results.push(("address", name_of(own).0));
        if takes_error {
            results.push(("error", take_error(own)));
            poll_now(own, &mut results);
        }
        results.extend([("receive", receive(own)), ("receive again", receive(own))]);
        results.extend([("send", send(own)), ("dissolve again", dissolve(own))]);
        results.push(("bind", with(libc::bind, own, loopback(0))));
        if case != 6 {
            poll_now(other, &mut results);
            results.push(("receive by the other", receive(other)));
            results.push(("receive by the other again", receive(other)));
            results.push(("send by the other", send(other)));
            close(other);
        }
        close(own);
    }
    results
}

#[test]
fn a_tcp_connection_is_dissolved_as_by_the_kernel() {
    let real = dissolved_streams();
    assert!(real.contains(&("receive", -i64::from(libc::ECONNRESET))));
    assert_eq!(in_run(dissolved_streams), real);
}

/// Connects a socket that was connected before, and sends a byte.
fn connected_again() -> Results {
    let mut results = Vec::new();
    let listener = socket(libc::AF_INET, libc::SOCK_STREAM);
    assert_eq!((with(libc::bind, listener, loopback(0)), listen(listener)), (0, 0));
    let (_, port) = name_of(listener);
    for is_bound in [false, true] {
        let file = socket(libc::AF_INET, libc::SOCK_STREAM);
        if is_bound {
            assert_eq!(with(libc::bind, file, loopback(free_port(libc::SOCK_STREAM))), 0);
        }
        for _ in 0..2 {
            results.push(("connect", connect(file, port)));
            let other = accept(listener) as c_int;
            results.extend([("error", take_error(file)), ("send", send(file))]);
            pause();
            results.extend([("receive", receive(other)), ("dissolve", dissolve(file))]);
            close(other);
        }
        close(file);
    }
    close(listener);
    results
}

#[test]
fn a_dissolved_socket_is_connected_again() {
    assert_eq!(in_run(connected_again), connected_again());
}

/// Calls functions for sockets on a pipe and an event, and functions for other sockets.
fn not_sockets() -> Results {
    let mut ends = [-1; 2];
    // SAFETY: there is room for two descriptors.
    let event = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), 0), 0);
        libc::eventfd(1, 0)
    };
    let mut results = Vec::new();
    for file in [ends[0], ends[1], event] {
        results.extend([("receive", receive(file)), ("send", send(file))]);
        results.extend([("accept", accept(file)), ("listen", listen(file))]);
        results.push(("bind", with(libc::bind, file, loopback(0))));
        results.extend([("connect", connect(file, 9)), ("dissolve", dissolve(file))]);
        close(file);
    }
    let packets = socket(libc::AF_INET, libc::SOCK_DGRAM);
    results.extend([("accept", accept(packets)), ("listen", listen(packets))]);
    close(packets);
    results
}

#[test]
fn a_function_for_sockets_fails_for_other_files() {
    let real = not_sockets();
    assert_eq!(real[0], ("receive", -i64::from(libc::ENOTSOCK)));
    assert_eq!(in_run(not_sockets), real);
}
