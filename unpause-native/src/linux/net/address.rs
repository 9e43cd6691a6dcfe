//! Socket addresses, and their conversion from and to the memory of a call.

use std::ffi::c_int;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ptr::copy_nonoverlapping;

/// The address of a socket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Address {
    V4([u8; 4], u16),
    V6([u8; 16], u16),
    /// The name of a Unix socket, without the folder. Empty for an unnamed socket.
    Path(Vec<u8>),
}

/// The offset of the path in `sockaddr_un`.
const PATH: usize = 2;

impl Address {
    /// Returns the unspecified address of a domain.
    pub(crate) fn unspecified(domain: c_int) -> Address {
        match domain {
            libc::AF_INET => Address::V4([0; 4], 0),
            libc::AF_INET6 => Address::V6([0; 16], 0),
            _ => Address::Path(Vec::new()),
        }
    }

    /// Returns the domain of the address.
    pub(crate) fn domain(&self) -> c_int {
        match self {
            Address::V4(..) => libc::AF_INET,
            Address::V6(..) => libc::AF_INET6,
            Address::Path(_) => libc::AF_UNIX,
        }
    }

    /// Reads the address that a call passes.
    ///
    /// # Safety
    /// `size` bytes at `memory` must be valid.
    pub(crate) unsafe fn read(memory: *const libc::sockaddr, size: u32) -> Result<Address, c_int> {
        let least = |least: usize| if size as usize >= least { Ok(()) } else { Err(libc::EINVAL) };
        least(size_of::<libc::sa_family_t>())?;
        // SAFETY: the size is checked, and the reads allow any alignment.
        unsafe {
            match c_int::from(memory.cast::<u16>().read_unaligned()) {
                libc::AF_INET => {
                    least(size_of::<libc::sockaddr_in>())?;
                    let read = memory.cast::<libc::sockaddr_in>().read_unaligned();
                    let port = u16::from_be(read.sin_port);
                    Ok(Address::V4(read.sin_addr.s_addr.to_ne_bytes(), port))
                }
                libc::AF_INET6 => {
                    least(size_of::<libc::sockaddr_in6>())?;
                    let read = memory.cast::<libc::sockaddr_in6>().read_unaligned();
                    Ok(Address::V6(read.sin6_addr.s6_addr, u16::from_be(read.sin6_port)))
                }
                libc::AF_UNIX => {
                    let path = memory.cast::<u8>().add(PATH);
                    let path = std::slice::from_raw_parts(path, size as usize - PATH);
                    // The name of an abstract socket begins with a zero byte.
                    let end = path.iter().skip(1).position(|byte| *byte == 0).map(|at| at + 1);
                    let is_abstract = path.first() == Some(&0);
                    let end = end.filter(|_| !is_abstract).unwrap_or(path.len());
                    Ok(Address::Path(path[..end].to_vec()))
                }
                _ => Err(libc::EAFNOSUPPORT),
            }
        }
    }

    /// Returns `true` for an address without a family, with which a program dissolves a connection.
    ///
    /// # Safety
    /// `size` bytes at `memory` must be valid.
    pub(crate) unsafe fn has_no_family(memory: *const libc::sockaddr, size: u32) -> bool {
        // SAFETY: the size is checked, and the read allows any alignment.
        size as usize >= size_of::<libc::sa_family_t>()
            && c_int::from(unsafe { memory.cast::<u16>().read_unaligned() }) == libc::AF_UNSPEC
    }

    /// Writes the address for a caller, truncated to the available room, and the whole size. Writes nothing if `memory`
    /// is null.
    ///
    /// # Safety
    /// `memory` must be null, or valid for the number of bytes in `size`.
    pub(crate) unsafe fn write(&self, memory: *mut libc::sockaddr, size: *mut u32) {
        if memory.is_null() || size.is_null() {
            return;
        }
        // SAFETY: the caller guarantees the memory, and the structures are plain data.
        unsafe {
            let put = |from: *const u8, whole: usize| {
                copy_nonoverlapping(from, memory.cast(), whole.min(*size as usize));
                *size = whole as u32;
            };
            match self {
                Address::V4(address, port) => {
                    let mut new: libc::sockaddr_in = std::mem::zeroed();
                    new.sin_family = libc::AF_INET as u16;
                    new.sin_port = port.to_be();
                    new.sin_addr.s_addr = u32::from_ne_bytes(*address);
                    put((&raw const new).cast(), size_of_val(&new));
                }
                Address::V6(address, port) => {
                    let mut new: libc::sockaddr_in6 = std::mem::zeroed();
                    new.sin6_family = libc::AF_INET6 as u16;
                    new.sin6_port = port.to_be();
                    new.sin6_addr.s6_addr = *address;
                    put((&raw const new).cast(), size_of_val(&new));
                }
                Address::Path(path) => {
                    let mut new = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
                    new.extend(path);
                    // The size of a path includes its final zero byte.
                    new.extend((!path.is_empty() && path[0] != 0).then_some(0));
                    put(new.as_ptr(), new.len());
                }
            }
        }
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Address::V4(_, port) | Address::V6(_, port) => *port,
            Address::Path(_) => 0,
        }
    }

    /// Returns the same address with another port.
    pub(crate) fn with_port(&self, port: u16) -> Address {
        match self {
            Address::V4(address, _) => Address::V4(*address, port),
            Address::V6(address, _) => Address::V6(*address, port),
            Address::Path(path) => Address::Path(path.clone()),
        }
    }

    /// Returns `true` for the address of all interfaces.
    pub(crate) fn is_unspecified(&self) -> bool {
        match self {
            Address::V4(address, _) => *address == [0; 4],
            Address::V6(address, _) => *address == [0; 16],
            Address::Path(path) => path.is_empty(),
        }
    }

    /// Returns `true` for an address of this computer: a loopback address, an unspecified address, or a path.
    pub(crate) fn is_local(&self) -> bool {
        let loopback = Ipv6Addr::LOCALHOST.octets();
        match self.unmapped() {
            Address::V4(address, _) => address[0] == 127 || address == [0; 4],
            Address::V6(address, _) => address == loopback || address == [0; 16],
            Address::Path(_) => true,
        }
    }

    /// Returns the IPv4 address to which an IPv6 address is mapped, for example `127.0.0.1` for `::ffff:127.0.0.1`.
    /// Returns any other address unchanged.
    pub(crate) fn unmapped(&self) -> Address {
        let mapped_to = match self {
            Address::V6(address, port) => {
                Ipv6Addr::from(*address).to_ipv4_mapped().map(|to| Address::V4(to.octets(), *port))
            }
            _ => None,
        };
        mapped_to.unwrap_or_else(|| self.clone())
    }

    /// Returns the address in the form that a socket with the address `own` sees. An IPv6 socket sees an IPv4 address
    /// as the IPv6 address that is mapped to it.
    pub(crate) fn seen_by(&self, own: &Address) -> Address {
        match (self.unmapped(), own) {
            (Address::V4(address, port), Address::V6(..)) => {
                Address::V6(Ipv4Addr::from(address).to_ipv6_mapped().octets(), port)
            }
            (address, _) => address,
        }
    }

    /// Returns the address at which packets to this address arrive.
    pub(crate) fn target(&self) -> Address {
        match self {
            Address::V4([0, 0, 0, 0], port) => Address::V4([127, 0, 0, 1], *port),
            Address::V6(address, port) if *address == [0; 16] => {
                Address::V6(Ipv6Addr::LOCALHOST.octets(), *port)
            }
            other => other.clone(),
        }
    }

    /// Returns a number for the object of an address. It is equal for all addresses with the same port or the same
    /// path, and the same in all processes. An IPv6 socket may receive packets for an IPv4 address.
    pub(crate) fn hash(&self) -> u64 {
        let (kind, bytes): (u64, &[u8]) = match self {
            Address::V4(..) | Address::V6(..) => (4, &[]),
            Address::Path(path) => (1, path),
        };
        let start = kind << 32 | u64::from(self.port()) | 1 << 63;
        bytes.iter().chain([&0]).fold(start, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
        })
    }
}
