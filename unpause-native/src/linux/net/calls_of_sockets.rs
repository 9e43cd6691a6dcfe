//! libc functions that create, name and connect sockets.

use std::ffi::{c_char, c_int, c_void};

use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current, outside};
use super::address::Address;
use super::calls::{Call, about, at_once, caller, on, result, source};
use super::calls_of_files::{in_run, on_state};
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
                    true => Kind::Unbound(Unbound::new(domain, local)),
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
            at_once(thread, |net| net.find_socket(descriptor))?;
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
        if let Err(error) = at_once(thread, |net| net.find_socket(descriptor)) {
            return fail(error);
        }
        // SAFETY: the caller guarantees the address.
        if unsafe { Address::has_no_family(address, length) } {
            let call = Call { frame, name: "connect", limit: None, waits: false };
            return result(on(thread, descriptor, call, |net, file| net.disconnect(file)));
        }
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
        if let Err(error) = at_once(thread, |net| net.find_socket(descriptor)) {
            return fail(error);
        }
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
        if let Err(error) = at_once(thread, |net| net.find_socket(descriptor)) {
            return fail(error);
        }
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
        if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
            return fail(libc::EINVAL);
        }
        let ends = [how != libc::SHUT_WR, how != libc::SHUT_RD];
        let call = Call { frame: frame_pointer(), name: "shutdown", limit: None, waits: false };
        return result(on(thread, descriptor, call, |net, file| {
            let is_path = matches!(net.address(file, false)?, Address::Path(_));
            match net.file(file).kind {
                Kind::Stream(_) => net.shut_down(file, ends),
                Kind::Listener(_) => net.shut_listener(file, ends),
                Kind::Datagram(_) => net.shut_packets(file, ends),
                _ if is_path => Ok(0),
                _ => Err(libc::ENOTCONN),
            }
        }));
    }
    type Shutdown = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"shutdown", Shutdown)(descriptor, how) }
}

/// Returns the address of a socket, or of the other end. Not a point if the address cannot change any more.
fn address_of(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    remote: bool,
) -> Result<Address, c_int> {
    let constant = at_once(thread, |net| {
        let file = net.find(descriptor)?;
        let is_constant = match net.file(file).kind {
            Kind::Stream(_) => true,
            Kind::Listener(_) => !remote,
            _ => false,
        };
        Ok::<_, c_int>(is_constant.then(|| net.address(file, remote)))
    })?;
    if let Some(found) = constant {
        return found;
    }
    let (name, mut found) = (if remote { "peer_addr" } else { "local_addr" }, None);
    on_state(thread, frame, descriptor, name, |net, file| {
        found = Some(net.address(file, remote)?);
        Ok(0)
    })?;
    found.ok_or(libc::EBADF)
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
                return match address_of(thread, frame_pointer(), descriptor, $remote) {
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

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    descriptor: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: u32,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        if c_int::try_from(length).is_err() {
            return fail(libc::EINVAL);
        }
        // SAFETY: the caller guarantees the memory.
        let value = unsafe { source(value, length as usize) };
        return result(on_state(thread, frame_pointer(), descriptor, "set_option", |net, file| {
            net.set_option(file, (level, name), value)
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
        // SAFETY: the caller provides the length of the memory.
        let room = unsafe { *length };
        if c_int::try_from(room).is_err() {
            return fail(libc::EINVAL);
        }
        let room = room as usize;
        let answer = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                let call = Call { frame, name: "take_error", limit: None, waits: false };
                on(thread, descriptor, call, |net, file| {
                    net.address(file, false)?;
                    bytes = net.take_error(file).to_ne_bytes().to_vec();
                    Ok(0)
                })
            }
            _ => on_state(thread, frame, descriptor, "option", |net, file| {
                bytes = net.option(file, (level, name), room)?;
                Ok(0)
            }),
        };
        if answer.is_ok() {
            let size = room.min(bytes.len());
            // SAFETY: the caller provides room for `*length` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), size);
                *length = size as u32;
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
