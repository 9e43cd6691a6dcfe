//! Options of sockets. A socket returns an option in the form in which the kernel stores it. The time limits,
//! `SO_LINGER` and `IPV6_V6ONLY` have an effect. Other options are stored only.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::address::Address;
use super::{Answer, Kind, Net};

/// The values of options that were set.
pub(super) type Options = BTreeMap<Name, Vec<u8>>;

/// The level and the name of an option.
type Name = (c_int, c_int);

/// The options for the time limits of a socket: for receiving and for sending.
const LIMITS: [Name; 2] =
    [(libc::SOL_SOCKET, libc::SO_RCVTIMEO), (libc::SOL_SOCKET, libc::SO_SNDTIMEO)];
/// The numbers of the same options in newer programs for processors with 32 bits.
const NEW_LIMITS: [Name; 2] = [(libc::SOL_SOCKET, 66), (libc::SOL_SOCKET, 67)];
const LINGER: Name = (libc::SOL_SOCKET, libc::SO_LINGER);
const ONLY_V6: Name = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
const SEND_BUFFER: Name = (libc::SOL_SOCKET, libc::SO_SNDBUF);
const RECEIVE_BUFFER: Name = (libc::SOL_SOCKET, libc::SO_RCVBUF);
const TIME_TO_LIVE: Name = (libc::IPPROTO_IP, libc::IP_TTL);

/// Options that are on or off.
const SWITCHES: &[Name] = &[
    ONLY_V6,
    (libc::SOL_SOCKET, libc::SO_BROADCAST),
    (libc::SOL_SOCKET, libc::SO_DONTROUTE),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
];

/// Options of the level `SOL_SOCKET` that cannot be set.
const CONSTANT: &[c_int] = &[
    libc::SO_TYPE,
    libc::SO_ERROR,
    libc::SO_ACCEPTCONN,
    libc::SO_DOMAIN,
    libc::SO_PROTOCOL,
    libc::SO_PEERCRED,
];

/// The hops that a packet may take, unless the option for them is set.
const HOPS: c_int = 64;

/// Options that are not 0 at first.
const FIRST_VALUES: &[(Name, c_int)] = &[
    (TIME_TO_LIVE, HOPS),
    ((libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP), 1),
    ((libc::IPPROTO_IP, libc::IP_MULTICAST_TTL), 1),
    ((libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS), 1),
    ((libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP), 1),
    ((libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS), HOPS),
];

/// The first size of a buffer, which is also the maximum size that can be set.
const BUFFER: c_int = 212_992;
/// The minimum sizes of a buffer: for receiving and for sending.
const SMALLEST: [c_int; 2] = [2304, 4608];
/// The first sizes of the buffers of a TCP socket: for receiving and for sending.
const OF_TCP: [c_int; 2] = [131_072, 16_384];

/// The number of microseconds in a tick of the kernel's clock, if it has 1,000 ticks per second. A time limit is a
/// whole number of ticks.
const TICK: i64 = 1_000;
const SECOND: i64 = 1_000_000;

/// Returns `true` if a connection with these options is reset when it is closed, because it lingers for no time.
pub(super) fn resets(options: &Options) -> bool {
    options.get(&LINGER).is_some_and(|linger| linger[..] == [1, 0, 0, 0, 0, 0, 0, 0])
}

/// Returns the usual name of an option.
fn usual(name: Name) -> Name {
    match NEW_LIMITS.iter().position(|new| *new == name) {
        Some(at) => LIMITS[at],
        None => name,
    }
}

impl Net {
    /// Sets an option of a socket.
    pub(super) fn set_option(&mut self, file: usize, name: Name, value: &[u8]) -> Answer {
        let name = usual(name);
        let local = self.address(file, false)?;
        let is_foreign = name == ONLY_V6 && !matches!(local, Address::V6(..));
        if is_foreign || name.0 == libc::SOL_SOCKET && CONSTANT.contains(&name.1) {
            return Err(libc::ENOPROTOOPT);
        }
        let is_short = value.len() < 4 && [libc::SOL_SOCKET, libc::IPPROTO_TCP].contains(&name.0);
        if is_short || name == ONLY_V6 && local.port() != 0 {
            return Err(libc::EINVAL);
        }
        let entry = self.file(file);
        let stored = match LIMITS.iter().position(|limit| *limit == name) {
            Some(at) => {
                let (stored, limit) = time_limit(value)?;
                entry.timeouts[at] = limit;
                stored
            }
            None => stored(name, value, entry.options.get(&name))?,
        };
        let object = entry.object;
        if entry.options.insert(name, stored.clone()) != Some(stored) {
            self.change(object);
        }
        Ok(0)
    }

    /// Returns an option of a socket. The result has `room` bytes if the option is unknown and was not set.
    pub(super) fn option(
        &mut self,
        file: usize,
        name: Name,
        room: usize,
    ) -> Result<Vec<u8>, c_int> {
        let name = usual(name);
        let domain = match self.address(file, false)? {
            Address::V4(..) => libc::AF_INET,
            Address::V6(..) => libc::AF_INET6,
            Address::Path(_) => libc::AF_UNIX,
        };
        let entry = self.file(file);
        let is_stream = !matches!(entry.kind, Kind::Datagram(_));
        let protocol = match (domain, is_stream) {
            (libc::AF_UNIX, _) => 0,
            (_, true) => libc::IPPROTO_TCP,
            (_, false) => libc::IPPROTO_UDP,
        };
        if let Some(stored) = entry.options.get(&name) {
            return Ok(stored.clone());
        }
        let buffers = if protocol == libc::IPPROTO_TCP { OF_TCP } else { [BUFFER; 2] };
        let number = match name {
            (libc::SOL_SOCKET, libc::SO_TYPE) if is_stream => libc::SOCK_STREAM,
            (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_DGRAM,
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => domain,
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => protocol,
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                c_int::from(matches!(entry.kind, Kind::Listener(_)))
            }
            (libc::SOL_SOCKET, libc::SO_PEERCRED) => {
                let has_peer = matches!(entry.kind, Kind::Stream(_) | Kind::Listener(_));
                return Ok(credentials(has_peer && domain == libc::AF_UNIX));
            }
            RECEIVE_BUFFER => buffers[0],
            SEND_BUFFER => buffers[1],
            LINGER => return Ok(vec![0; 8]),
            name if LIMITS.contains(&name) => return Ok(vec![0; 16]),
            name => match FIRST_VALUES.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => *value,
                None if SWITCHES.contains(&name) => 0,
                None => return Ok(vec![0; room]),
            },
        };
        Ok(number.to_ne_bytes().to_vec())
    }
}

/// Returns the bytes that the kernel stores for an option. `before` contains the bytes that were stored before.
fn stored(name: Name, value: &[u8], before: Option<&Vec<u8>>) -> Result<Vec<u8>, c_int> {
    let Some(number) = value.first_chunk::<4>() else { return Ok(value.to_vec()) };
    let number = c_int::from_ne_bytes(*number);
    let number = match name {
        LINGER => {
            let time = value.get(4..8).ok_or(libc::EINVAL)?;
            let is_on = c_int::from(number != 0);
            let time: &[u8] = match before {
                // If the option is turned off, its time stays.
                Some(before) if number == 0 => &before[4..8],
                None if number == 0 => &[0; 4],
                _ => time,
            };
            return Ok([&is_on.to_ne_bytes()[..], time].concat());
        }
        RECEIVE_BUFFER => buffer(number, SMALLEST[0]),
        SEND_BUFFER => buffer(number, SMALLEST[1]),
        TIME_TO_LIVE if number == -1 => HOPS,
        TIME_TO_LIVE if !(1..=255).contains(&number) => return Err(libc::EINVAL),
        name if SWITCHES.contains(&name) => c_int::from(number != 0),
        _ => return Ok(value.to_vec()),
    };
    Ok(number.to_ne_bytes().to_vec())
}

/// Returns the size of a buffer of which a program has requested a size. The kernel adds as much for its own data.
fn buffer(requested: c_int, smallest: c_int) -> c_int {
    let size = if requested < 0 { BUFFER } else { requested.min(BUFFER) };
    (2 * size).max(smallest)
}

/// Returns the bytes that the kernel stores for a time limit, and the limit in nanoseconds. The limit 0 means no
/// limit. A negative limit is over at once.
fn time_limit(value: &[u8]) -> Result<(Vec<u8>, Option<u64>), c_int> {
    let [seconds, micros, ..] = value.as_chunks::<8>().0 else { return Err(libc::EINVAL) };
    let [seconds, micros] = [seconds, micros].map(|bytes| i64::from_ne_bytes(*bytes));
    if !(0..SECOND).contains(&micros) {
        return Err(libc::EDOM);
    }
    let all = seconds.checked_mul(SECOND).and_then(|time| time.checked_add(micros + TICK - 1));
    let (limit, time) = match all.map(|time| time / TICK * TICK) {
        _ if seconds < 0 => (Some(0), 0),
        None | Some(0) => (None, 0),
        Some(time) => (Some((time as u64).saturating_mul(1_000)), time),
    };
    Ok(([time / SECOND, time % SECOND].map(i64::to_ne_bytes).concat(), limit))
}

/// Returns the credentials of the process at the other end of a Unix socket: this process, or none.
fn credentials(has_peer: bool) -> Vec<u8> {
    let (mut process, mut user, mut group) = (0, u32::MAX, u32::MAX);
    if has_peer {
        // SAFETY: the calls have no arguments.
        (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        process = std::process::id();
    }
    [process, user, group].map(u32::to_ne_bytes).concat()
}
