//! Keys of objects that any task may be the first to use: see
//! [`Wrapped::outside_keyed`](crate::seam::Wrapped::outside_keyed). All these keys have a bit that no key of a node
//! or a file has.
//!
//! The key of a link or port is a hash of its nodes' names. Node numbers would not work, because
//! they depend on the order in which nodes are added. Two objects with the same key are harmless: a
//! search then only treats some independent operations as conflicting.
//
// The 29 bits below the `NET` bit contain: 1 and the group; 01 and the port; 001 for all links; or
// 000 and the link.

#[cfg(feature = "tokio")]
use std::net::Ipv4Addr;

use crate::node::Name;
use crate::run::rng::mix;

const NET: u32 = 1 << 29;
#[cfg(feature = "tokio")]
const GROUP: u32 = NET | 1 << 28;
#[cfg(feature = "tokio")]
const PORT: u32 = NET | 1 << 27;

/// The key of the object of all links together.
pub(super) const ALL_LINKS: u32 = NET | 1 << 26;

/// Returns the key of the link between two hosts. `None` is the outside.
pub(super) fn link(from: Option<Name>, to: Option<Name>) -> u32 {
    NET | hashed(mix(hash(from), hash(to)), 26)
}

/// Returns the key of a port of a host.
#[cfg(feature = "tokio")]
pub(super) fn port(host: Option<Name>, is_udp: bool, number: u16) -> u32 {
    let end = u64::from(is_udp) << 16 | u64::from(number);
    PORT | hashed(mix(hash(host), end), 27).max(1)
}

fn hash(host: Option<Name>) -> u64 {
    host.map_or(0, |name| u64::from(name.hash))
}

/// Returns the upper bits of a hash.
fn hashed(hash: u64, bits: u32) -> u32 {
    (hash >> (64 - bits)) as u32
}

/// The key of the object of all names in a run: the key of a port with an impossible number.
#[cfg(feature = "tokio")]
pub(super) const NAMES: u32 = PORT;

/// Returns the key of a multicast group. All group addresses share their upper four bits, so the
/// lower 28 bits suffice.
#[cfg(feature = "tokio")]
pub(super) fn group(group: Ipv4Addr) -> u32 {
    GROUP | u32::from(group) & ((1 << 28) - 1)
}
