//! libc functions that create, name and connect sockets.

use std::ffi::{c_char, c_int, c_void};

use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current, outside};
use super::address::Address;
use super::calls::{Call, about, at_once, caller, on, result};
use super::calls_of_files::in_run;
use super::datagram::Datagram;
use super::sockets::Unbound;
use super::stream::{Stream, Wire};
use super::{Answer, Kind, Net};

/// Returns `true` for a kind of socket that runs simulate.
fn is_simulated(domain: c_int, kind: c_int) -> bool {
    let inet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    match kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
        libc::SOCK_STREAM | libc::SOCK_DGRAM => inet || domain == libc::AF_UNIX,
        _ => false,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if let Some(thread) = current() {
        if is_simulated(domain, kind) {
            return at_once(thread, |net| {
                let object = net.new_object();
                let local = Address::unspecified(domain);
                let is_stream = kind & 0xf == libc::SOCK_STREAM;
                let new = match is_stream {
                    true => Kind::Unbound(Unbound { domain, local }),
                    false => Kind::Datagram(Datagram::new(local)),
                };
                let file = net.add(new, object);
                net.open(file, kind & libc::SOCK_NONBLOCK != 0)
            });
        }
        note_entered("socket, of another kind than TCP, UDP and Unix streams and packets");
    }
    type Socket = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"socket", Socket)(domain, kind, protocol) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    if let Some(thread) = in_run(frame_pointer()) {
        if is_simulated(domain, kind) {
            let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
            let ends = at_once(thread, |net| {
                if kind & 0xf == libc::SOCK_DGRAM {
                    return net.pair_of_packets().map(|end| net.open(end, nonblocking));
                }
                let object = net.new_object();
                let unnamed = || Address::Path(Vec::new());
                let end = || Stream::new(Wire::Unix, unnamed(), unnamed());
                let ends = net.connection([end(), end()], object);
                ends.map(|end| net.open(end, nonblocking))
            });
            // SAFETY: the caller provides room for two descriptors.
            unsafe { pair.cast::<[c_int; 2]>().write(ends) };
            return 0;
        }
        note_entered("socketpair, of another kind than Unix streams and packets");
    }
    type Pair = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"socketpair", Pair)(domain, kind, protocol, pair) }
}

/// Returns the object of an address, for the kind of socket of the descriptor.
fn object_of(thread: &mut Thread, descriptor: c_int, address: &Address) -> (u64, &'static str) {
    at_once(thread, |net| {
        let file = net.find(descriptor).ok();
        let is_stream = file.is_none_or(|file| net.datagram(file).is_err());
        let target = address.target();
        let object = match net.named(is_stream, &target) {
            Some(named) => match &net.file(named).kind {
                Kind::Listener(_) | Kind::Unbound(_) | Kind::Datagram(_) => net.file(named).object,
                _ => Net::object_of(&target, is_stream),
            },
            None => Net::object_of(&target, is_stream),
        };
        let kind = match (is_stream, address) {
            (false, Address::Path(_)) => "UnixDatagram",
            (false, _) => "UdpSocket",
            (true, Address::Path(_)) => "UnixListener",
            (true, _) => "TcpListener",
        };
        (object, kind)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(descriptor: c_int, address: *const libc::sockaddr, length: u32) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        // SAFETY: the caller guarantees the address.
        return result(unsafe { Address::read(address, length) }.and_then(|address| {
            check(&address)?;
            let (object, kind) = object_of(thread, descriptor, &address);
            let act = |net: &mut Net| {
                let file = net.find(descriptor)?;
                net.bind(file, address.clone())
            };
            // A bind to any free port is not a point, because no other socket can have requested the port.
            match address.port() == 0 && !matches!(address, Address::Path(_)) {
                true => at_once(thread, act),
                false => about(thread, frame, (object, kind, "bind"), act),
            }
        }));
    }
    type Bind = unsafe extern "C" fn(c_int, *const libc::sockaddr, u32) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"bind", Bind)(descriptor, address, length) }
}

/// Checks if an address belongs to this computer. Otherwise reports it, and returns an error.
pub(super) fn check(address: &Address) -> Answer {
    if address.is_local() {
        return Ok(0);
    }
    note_entered("connect or bind, to another address than the loopback");
    static ONCE: std::sync::Once = std::sync::Once::new();
    outside(|| {
        ONCE.call_once(|| {
            eprintln!(
                "unpause: the network of a run is its loopback, and the test uses the address {}. Start \
                 the server within the test, or leave the test to `cargo test`.",
                shown(address)
            );
        });
    });
    Err(libc::ENETUNREACH)
}

fn shown(address: &Address) -> String {
    match address {
        Address::V4(bytes, port) => format!("{}:{port}", std::net::Ipv4Addr::from(*bytes)),
        Address::V6(bytes, port) => format!("[{}]:{port}", std::net::Ipv6Addr::from(*bytes)),
        Address::Path(path) => String::from_utf8_lossy(path).into_owned(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(
    descriptor: c_int,
    address: *const libc::sockaddr,
    length: u32,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        // SAFETY: the caller guarantees the address.
        return result(unsafe { Address::read(address, length) }.and_then(|address| {
            check(&address)?;
            let (object, kind) = object_of(thread, descriptor, &address);
            about(thread, frame, (object, kind, "connect"), |net| {
                let file = net.find(descriptor)?;
                net.connect(file, address.clone())
            })
        }));
    }
    type Connect = unsafe extern "C" fn(c_int, *const libc::sockaddr, u32) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"connect", Connect)(descriptor, address, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn listen(descriptor: c_int, backlog: c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let call = Call { frame: frame_pointer(), name: "listen", limit: None, waits: false };
        return result(on(thread, descriptor, call, |net, file| net.listen(file)));
    }
    type Listen = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"listen", Listen)(descriptor, backlog) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    descriptor: c_int,
    address: *mut libc::sockaddr,
    length: *mut u32,
    flags: c_int,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let mut remote = None;
        let call = Call { frame: frame_pointer(), name: "accept", limit: Some(0), waits: true };
        let answer = on(thread, descriptor, call, |net, file| {
            let (accepted, from) = net.accept(file, flags & libc::SOCK_NONBLOCK != 0)?;
            remote = Some(from);
            Ok(accepted as usize)
        });
        if let Some(remote) = remote {
            // SAFETY: the caller guarantees the memory.
            unsafe { remote.write(address, length) };
        }
        return result(answer);
    }
    type Accept = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut u32, c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"accept4", Accept)(descriptor, address, length, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(
    descriptor: c_int,
    address: *mut libc::sockaddr,
    length: *mut u32,
) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    unsafe { accept4(descriptor, address, length, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(descriptor: c_int, how: c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let ends = [how != libc::SHUT_WR, how != libc::SHUT_RD];
        let call = Call { frame: frame_pointer(), name: "shutdown", limit: None, waits: false };
        return result(on(thread, descriptor, call, |net, file| match &mut net.file(file).kind {
            Kind::Stream(_) => net.shut_down(file, ends),
            Kind::Listener(_) => net.shut_listener(file, ends),
            Kind::Datagram(socket) if socket.is_unix() => net.shut_packets(file, ends),
            _ => Err(libc::ENOTCONN),
        }));
    }
    type Shutdown = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"shutdown", Shutdown)(descriptor, how) }
}

/// Defines a function that returns an address of a socket.
macro_rules! names {
    ($name:ident, $symbol:literal, $remote:literal) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            descriptor: c_int,
            address: *mut libc::sockaddr,
            length: *mut u32,
        ) -> c_int {
            if let Some(thread) = caller(descriptor) {
                let found = at_once(thread, |net| {
                    let file = net.find(descriptor)?;
                    net.address(file, $remote)
                });
                return match found {
                    Ok(found) => {
                        // SAFETY: the caller guarantees the memory.
                        unsafe { found.write(address, length) };
                        0
                    }
                    Err(error) => fail(error),
                };
            }
            type Name = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut u32) -> c_int;
            // SAFETY: the caller guarantees the arguments.
            unsafe { real!($symbol, Name)(descriptor, address, length) }
        }
    };
}
names!(getsockname, c"getsockname", false);
names!(getpeername, c"getpeername", true);

/// The options for the time limits of a socket: for receiving and for sending.
const LIMITS: [c_int; 2] = [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO];

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    descriptor: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: u32,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the memory.
        let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), length as usize) };
        return result(at_once(thread, |net| {
            let file = net.find(descriptor)?;
            let entry = net.file(file);
            let limit = LIMITS.iter().position(|limit| *limit == name);
            if let (libc::SOL_SOCKET, Some(limit), [seconds, micros]) =
                (level, limit, value.as_chunks::<8>().0)
            {
                let nanoseconds = u64::from_ne_bytes(*seconds)
                    .saturating_mul(1_000_000_000)
                    .saturating_add(u64::from_ne_bytes(*micros).saturating_mul(1000));
                entry.timeouts[limit] = (nanoseconds > 0).then_some(nanoseconds);
            }
            entry.options.insert((level, name), value.to_vec());
            Ok(0)
        }));
    }
    type Set = unsafe extern "C" fn(c_int, c_int, c_int, *const c_void, u32) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"setsockopt", Set)(descriptor, level, name, value, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    descriptor: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut u32,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        let mut bytes = Vec::new();
        let answer = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                let call = Call { frame, name: "take_error", limit: None, waits: false };
                on(thread, descriptor, call, |net, file| {
                    let error = match &mut net.file(file).kind {
                        Kind::Stream(stream) => std::mem::take(&mut stream.error),
                        Kind::Datagram(socket) => std::mem::take(&mut socket.error),
                        _ => 0,
                    };
                    if error != 0 {
                        net.notify(file, 0);
                    }
                    bytes = error.to_ne_bytes().to_vec();
                    Ok(0)
                })
            }
            _ => at_once(thread, |net| {
                let file = net.find(descriptor)?;
                let entry = net.file(file);
                bytes = match (level, name) {
                    (libc::SOL_SOCKET, libc::SO_TYPE) => match entry.kind {
                        Kind::Datagram(_) => libc::SOCK_DGRAM.to_ne_bytes().to_vec(),
                        _ => libc::SOCK_STREAM.to_ne_bytes().to_vec(),
                    },
                    (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                        c_int::from(matches!(entry.kind, Kind::Listener(_))).to_ne_bytes().to_vec()
                    }
                    option => entry.options.get(&option).cloned().unwrap_or_default(),
                };
                Ok(0)
            }),
        };
        if answer.is_ok() {
            // SAFETY: the caller provides room for `*length` bytes. An option that was not set is zero.
            unsafe {
                let room = *length as usize;
                bytes.resize(room, 0);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), room);
            }
        }
        return result(answer);
    }
    type Get = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut u32) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"getsockopt", Get)(descriptor, level, name, value, length) }
}

/// Looks up a name in the real way. libc's state for this outlives the run.
#[unsafe(no_mangle)]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    found: *mut *mut libc::addrinfo,
) -> c_int {
    type LookUp = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const libc::addrinfo,
        *mut *mut libc::addrinfo,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    outside(|| unsafe { real!(c"getaddrinfo", LookUp)(node, service, hints, found) })
}
