//! Keys of objects that any task may be the first to use: see [`Wrapped::outside_keyed`](crate::seam::Wrapped::outside_keyed).
//! All have one bit that no key of a file has.
//
// 29 bits below it: 1 and the group; 01 and the port; 001 for all links; 000 and the link.

#[cfg(feature = "tokio")]
use std::net::Ipv4Addr;

const NET: u32 = 1 << 29;
#[cfg(feature = "tokio")]
const GROUP: u32 = NET | 1 << 28;
#[cfg(feature = "tokio")]
const PORT: u32 = NET | 1 << 27;

/// The key of all links together.
pub(super) const ALL_LINKS: u32 = NET | 1 << 26;

/// The key of the link between two hosts. None for hosts of high numbers.
pub(super) fn link(from: u32, to: u32) -> Option<u32> {
    const BITS: u32 = 13;
    (from >> BITS == 0 && to >> BITS == 0).then_some(NET | from << BITS | to)
}

/// The key of a port of a host. None for a host of a high number.
#[cfg(feature = "tokio")]
pub(super) fn port(host: u32, is_udp: bool, number: u16) -> Option<u32> {
    (host >> 10 == 0).then_some(PORT | host << 17 | u32::from(is_udp) << 16 | u32::from(number))
}

/// The key of the names of a run: that of a port with a number that none has.
#[cfg(feature = "tokio")]
pub(super) const NAMES: u32 = PORT;

/// The key of a group, whose address begins with the bits of all groups.
#[cfg(feature = "tokio")]
pub(super) fn group(group: Ipv4Addr) -> u32 {
    GROUP | u32::from(group) & ((1 << 28) - 1)
}
