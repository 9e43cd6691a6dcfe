//! Listeners of both families of addresses, and listeners that are shut down: compared with the kernel's.

use std::ffi::{c_int, c_void};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::ptr::null_mut;
use std::time::Duration;

use super::{Results, called, in_run, poll_now, wakes};

/// Closes a file.
fn close(file: c_int) {
    // SAFETY: the call accesses no memory.
    unsafe { libc::close(file) };
}

/// Returns a new socket of the family of an address.
fn socket_for(ip: &str, kind: c_int) -> c_int {
    let domain = if ip.contains(':') { libc::AF_INET6 } else { libc::AF_INET };
    // SAFETY: the call accesses no memory.
    let socket = unsafe { libc::socket(domain, kind, 0) };
    assert!(socket >= 0);
    socket
}

/// Calls `act` with an address with this port.
fn with_address(ip: &str, port: u16, act: impl FnOnce(*const libc::sockaddr, u32) -> c_int) -> i64 {
    called(match ip.parse::<IpAddr>().unwrap() {
        IpAddr::V4(ip) => {
            // SAFETY: the type allows all bytes to be zero.
            let mut name: libc::sockaddr_in = unsafe { std::mem::zeroed() };
            (name.sin_family, name.sin_port) = (libc::AF_INET as u16, port.to_be());
            name.sin_addr.s_addr = u32::from_ne_bytes(ip.octets());
            act((&raw const name).cast(), size_of_val(&name) as u32)
        }
        IpAddr::V6(ip) => {
            // SAFETY: the type allows all bytes to be zero.
            let mut name: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
            (name.sin6_family, name.sin6_port) = (libc::AF_INET6 as u16, port.to_be());
            name.sin6_addr.s6_addr = ip.octets();
            act((&raw const name).cast(), size_of_val(&name) as u32)
        }
    })
}

/// Binds a socket. Returns the result.
fn bind(socket: c_int, ip: &str, port: u16) -> i64 {
    // SAFETY: the address is valid during the call.
    with_address(ip, port, |name, size| unsafe { libc::bind(socket, name, size) })
}

/// Connects a socket. Returns the result.
fn connect(socket: c_int, ip: &str, port: u16) -> i64 {
    // SAFETY: the address is valid during the call.
    with_address(ip, port, |name, size| unsafe { libc::connect(socket, name, size) })
}

/// Accepts a connection. Returns its descriptor, or a negative error code.
fn accept(listener: c_int) -> i64 {
    // SAFETY: the call writes no address.
    called(unsafe { libc::accept(listener, null_mut(), null_mut()) })
}

/// Returns the address of a socket or, if `remote` is true, of the other end: a number for the address without its
/// port, and the port.
fn name_of(socket: c_int, remote: bool) -> (i64, u16) {
    // SAFETY: the calls get valid memory, and the types allow all bytes to be zero.
    unsafe {
        let mut name: libc::sockaddr_in6 = std::mem::zeroed();
        let mut size = size_of_val(&name) as u32;
        let call = if remote { libc::getpeername } else { libc::getsockname };
        assert_eq!(call(socket, (&raw mut name).cast(), &mut size), 0);
        // Both families have the port at the same place.
        let port = u16::from_be(name.sin6_port);
        match c_int::from(name.sin6_family) {
            libc::AF_INET => {
                let name = (&raw const name).cast::<libc::sockaddr_in>().read();
                let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
                (i64::from(u32::from(ip)), port)
            }
            _ => (u128::from(Ipv6Addr::from(name.sin6_addr.s6_addr)) as i64, port),
        }
    }
}

/// The addresses on which programs listen. The last is an IPv4 address in the form of the other family.
const OWN: [&str; 5] = ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"];
/// The addresses to which programs connect.
const TARGETS: [&str; 3] = ["127.0.0.1", "::1", "::ffff:127.0.0.1"];

/// Listens on an address, and connects to each of [`TARGETS`].
fn listens(own: &str, only_v6: c_int) -> Results {
    let mut results = Vec::new();
    let listener = socket_for(own, libc::SOCK_STREAM);
    if own.contains(':') {
        let (level, name) = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
        let (value, size) = ((&raw const only_v6).cast(), size_of::<c_int>() as u32);
        // SAFETY: the call gets valid memory.
        assert_eq!(unsafe { libc::setsockopt(listener, level, name, value, size) }, 0);
    }
    let bound = bind(listener, own, 0);
    results.push(("bind", bound));
    if bound == 0 {
        // SAFETY: the call accesses no memory.
        assert_eq!(unsafe { libc::listen(listener, 8) }, 0);
        let (_, port) = name_of(listener, false);
        for target in TARGETS {
            let [client, other] = [(); 2].map(|()| socket_for(target, libc::SOCK_STREAM));
            let connected = connect(client, target, port);
            results.push(("connect", connected));
            if connected == 0 {
                let server = accept(listener) as c_int;
                for end in [client, server] {
                    results.extend([false, true].map(|remote| ("name", name_of(end, remote).0)));
                }
                // The client ends first, so that the kernel keeps the client's port, and not the listener's.
                close(client);
                close(server);
            } else {
                close(client);
            }
            results.push(("bind the same port", bind(other, target, port)));
            close(other);
        }
    }
    close(listener);
    results
}

/// Sends a packet to a socket with an address, and an answer. The answer goes to the address that the socket has seen.
fn packets(own: &str, target: &str) -> Results {
    let [receiver, sender] = [own, target].map(|ip| socket_for(ip, libc::SOCK_DGRAM));
    let mut results = vec![("bind", bind(receiver, own, 0))];
    let (_, port) = name_of(receiver, false);
    let mut byte = [7u8];
    let memory: *mut c_void = byte.as_mut_ptr().cast();
    // SAFETY: the calls get valid memory, and the type allows all bytes to be zero.
    unsafe {
        let send = |name, size| libc::sendto(sender, memory, 1, 0, name, size) as c_int;
        results.push(("send", with_address(target, port, send)));
        let mut from: libc::sockaddr_in6 = std::mem::zeroed();
        let mut size = size_of_val(&from) as u32;
        let name = (&raw mut from).cast::<libc::sockaddr>();
        let received = libc::recvfrom(receiver, memory, 1, 0, name, &mut size);
        results.push(("receive", called(received as i64)));
        let answered = libc::sendto(receiver, memory, 1, 0, name, size);
        results.push(("answer", called(answered as i64)));
        results.push(("connect", called(libc::connect(receiver, name, size))));
        results.push(("name", name_of(receiver, true).0));
        results.push(("receive the answer", called(libc::recv(sender, memory, 1, 0) as i64)));
    }
    [receiver, sender].into_iter().for_each(close);
    results
}

#[test]
fn sockets_of_both_families_see_each_other_as_the_kernel_says() {
    if TcpListener::bind("[::1]:0").is_err() {
        println!("this machine has no IPv6");
        return;
    }
    let mut connections = 0;
    for (own, only_v6) in OWN.into_iter().flat_map(|own| [(own, 0), (own, 1)]) {
        let in_run = in_run(move || listens(own, only_v6));
        // Another process may have the port in the other family.
        let mut attempts = (0..10).map(|_| listens(own, only_v6));
        let real = attempts.find(|real| *real == in_run).unwrap_or_else(|| listens(own, only_v6));
        assert_eq!(in_run, real, "{own}, {only_v6}");
        connections += real.iter().filter(|result| **result == ("connect", 0)).count();
    }
    assert!(connections > 12, "{connections}");
    for (own, target) in [("::", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"), ("::", "::1")] {
        assert_eq!(in_run(move || packets(own, target)), packets(own, target), "{own}, {target}");
    }
}

/// Shuts a listener down, with a connection that was not accepted. Returns the results of calls before and after that.
fn shuts_down(domain: c_int, how: c_int) -> Results {
    let mut results = Vec::new();
    // SAFETY: the calls get valid memory, and the types allow all bytes to be zero.
    unsafe {
        let listener = libc::socket(domain, libc::SOCK_STREAM, 0);
        // There is room for both kinds of address.
        let mut name: libc::sockaddr_storage = std::mem::zeroed();
        let mut size = size_of::<libc::sockaddr_in>() as u32;
        name.ss_family = domain as u16;
        let pointer = (&raw mut name).cast::<libc::sockaddr>();
        if domain == libc::AF_UNIX {
            // An abstract name, which is not a file.
            let text = format!("\0unpause-{}-{how}", std::process::id());
            let path = &mut (*pointer.cast::<libc::sockaddr_un>()).sun_path;
            let bytes = path.iter_mut().zip(text.bytes());
            bytes.for_each(|(to, from)| *to = from as libc::c_char);
            size = 2 + text.len() as u32;
        }
        if domain == libc::AF_INET {
            let loopback = u32::from_ne_bytes([127, 0, 0, 1]);
            (*pointer.cast::<libc::sockaddr_in>()).sin_addr.s_addr = loopback;
        }
        assert_eq!(libc::bind(listener, pointer, size), 0);
        assert_eq!(libc::listen(listener, 8), 0);
        assert_eq!(libc::getsockname(listener, pointer, &mut size), 0);
        let connects = || {
            let client = libc::socket(domain, libc::SOCK_STREAM, 0);
            let connected = called(libc::connect(client, pointer, size));
            libc::fcntl(client, libc::F_SETFL, libc::O_NONBLOCK);
            (client, connected)
        };
        let (client, connected) = connects();
        results.push(("connect", connected));
        results.push(("shutdown", called(libc::shutdown(listener, how))));
        // The kernel's loopback needs time.
        std::thread::sleep(Duration::from_millis(2));
        let ready = poll_now(listener, &mut results);
        results.push(("poll", ready));
        let mut byte = [0u8];
        results.push(("read", called(libc::read(client, byte.as_mut_ptr().cast(), 1) as i64)));
        let (other, connected) = connects();
        results.push(("connect again", connected));
        // A call that may wait comes first: there is a connection, or the listener does not wait.
        for flags in [0, libc::O_NONBLOCK, libc::O_NONBLOCK] {
            libc::fcntl(listener, libc::F_SETFL, flags);
            let accepted = accept(listener);
            results.push(("accept", accepted.min(0)));
            if accepted >= 0 {
                close(accepted as c_int);
            }
        }
        results.push(("shutdown again", called(libc::shutdown(listener, how))));
        [client, other, listener].into_iter().for_each(close);
    }
    results
}

#[test]
fn a_listener_is_shut_down_as_by_the_kernel() {
    for domain in [libc::AF_INET, libc::AF_UNIX] {
        for how in [libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR] {
            let real = shuts_down(domain, how);
            assert_eq!(in_run(move || shuts_down(domain, how)), real, "{domain}, {how}");
        }
    }
}

#[test]
fn a_thread_that_accepts_is_woken_when_its_listener_is_shut_down() {
    wakes(|| {
        let ip = "127.0.0.1";
        let listener = socket_for(ip, libc::SOCK_STREAM);
        assert_eq!(bind(listener, ip, 0), 0);
        // SAFETY: the call accesses no memory.
        assert_eq!(unsafe { libc::listen(listener, 8) }, 0);
        // SAFETY: as above.
        drop(std::thread::spawn(move || unsafe { libc::shutdown(listener, libc::SHUT_RDWR) }));
        assert_eq!(accept(listener), -i64::from(libc::EINVAL));
        close(listener);
    });
}
