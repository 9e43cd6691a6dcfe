//! The routes of a UDP socket to its destinations.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::super::addresses;
use super::super::ports::{Bound, Port, Protocol};
use super::groups::Aim;
use super::{Datagram, Mailbox, OfRun, report};
use crate::net::bytes::Bytes;
use crate::net::fabric::{Fabric, Flow, Host, Link};
use crate::net::ops::ROOM;
use crate::net::shows;
use crate::net::slots::Slots;
use crate::node::Death;
use crate::run::in_flight::Delivery;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Here, Latch};

const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Returns the address of the socket that datagrams to `named` reach. The unspecified address reaches the own host.
pub(super) fn reached(named: SocketAddr) -> SocketAddr {
    let ip = if named.ip().is_unspecified() { LOOPBACK } else { named.ip() };
    SocketAddr::new(ip, named.port())
}

/// The route from a socket to an address.
pub(super) struct Line {
    pub(super) addr: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) port: Arc<Port>,
    pub(super) link: Arc<Link>,
}

/// A datagram in flight.
pub(in crate::net::sockets) struct Flying {
    pub(super) line: Arc<Line>,
    /// The destination address that the sender used.
    pub(super) to: SocketAddr,
    pub(super) aim: Aim,
    pub(super) bytes: Bytes,
    pub(super) here: Here,
}

impl Mailbox {
    fn flying(&self) -> MutexGuard<'_, Slots<Flying>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    /// Replies to a datagram on behalf of the kernel of `port`, which no socket has bound. A
    /// connected sender gets only one error, even if several refusals arrive before a call reports
    /// it.
    fn is_refused(&self, port: &Port, to: SocketAddr, here: Here) {
        let back = Fabric::of_run().link(port.host, self.port.host, here);
        if back.passes(here) {
            report(&self.port.mark, here);
            if self.peer() == Some(to) {
                let refusal = Datagram { from: to, bytes: None };
                self.inbox.put_first(refusal, |first| first.bytes.is_none());
            }
        }
    }
}

impl seam::Transport for Mailbox {
    type Message = Flying;

    fn take(&self, flying: Flying, _: Option<Latch>) -> (u64, bool) {
        (self.flying().add(flying), true)
    }

    fn may_arrive(&self, _: u64, _: Latch) -> bool {
        true
    }

    fn describe(&self, number: u64) -> Option<String> {
        Some(shows::bytes(&self.flying().get_mut(number)?.bytes))
    }
}

impl Delivery for Mailbox {
    fn arrive(self: Arc<Self>, number: u64) {
        let flying = self.flying().remove(number);
        let Some(Flying { line, to, aim, bytes, here }) = flying else { return };
        let Line { addr, port, link, .. } = &*line;
        let (is_on, look) = port.look();
        let meets = is_on.then(|| link.meet());
        seam::record_all([look, meets.map(|(_, deed)| deed)], here);
        if !meets.is_some_and(|(passes, _)| passes) {
            return;
        }
        let bound = port.at(to.ip()).filter(|bound| match (&aim, bound) {
            (Aim::Member(member, group), Bound::Mailbox(mailbox)) => {
                Arc::ptr_eq(member, mailbox) && mailbox.groups().contains_key(group)
            }
            _ => true,
        });
        match (bound, aim) {
            (Some(Bound::Mailbox(mailbox)), _) => {
                let is_from_peer = mailbox.peer().is_none_or(|peer| peer == *addr);
                if is_from_peer {
                    let datagram = Datagram { from: *addr, bytes: Some(bytes) };
                    mailbox.inbox.put_within(ROOM, datagram);
                }
            }
            (_, Aim::One) => self.is_refused(port, to, here),
            (_, Aim::Any | Aim::Member(..)) => {}
        }
    }

    fn lose(&self, number: u64) {
        let flying = self.flying().remove(number);
        drop(flying);
    }
}

/// The routes of a socket, by destination address.
#[derive(Default)]
pub(super) struct Lines {
    /// Sorted by key.
    all: Vec<(Key, Arc<Line>)>,
    /// The position of the most recently used route.
    last: usize,
}

impl Lines {
    /// Returns the position of the route to an address. If there is no route, the error is the position at which to
    /// insert one.
    fn find(&self, named: &Key) -> Result<usize, usize> {
        match self.all.get(self.last) {
            Some((known, _)) if known == named => Ok(self.last),
            _ => self.all.binary_search_by(|(known, _)| known.cmp(named)),
        }
    }
}

/// An address in a form that is fast to compare: a number for IPv4, or a fixed number and the address
/// for IPv6.
type Key = (u64, Option<SocketAddrV6>);

fn key(addr: SocketAddr) -> Key {
    match addr {
        SocketAddr::V4(addr) => {
            (u64::from(addr.ip().to_bits()) << 16 | u64::from(addr.port()), None)
        }
        SocketAddr::V6(addr) => (u64::MAX, Some(addr)),
    }
}

/// A port whose socket sends over the link.
impl Flow for Port {
    // A cut link loses datagrams at their arrival.
    fn set_cut(&self, _: bool, _: Here) {}

    fn was_set(&self, here: Here) {
        self.mark.record(&SET, here);
    }

    // Ports listen for deaths on their own.
    fn died(self: Arc<Self>, _: Host, _: Death, _: Here) {}
}

impl OfRun {
    /// Returns the route to an address. Looks the address up on first use.
    pub(super) fn line(&self, named: SocketAddr, here: Here) -> io::Result<Arc<Line>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match lines.find(&key(named)) {
            Ok(found) => {
                lines.last = found;
                return Ok(lines.all[found].1.clone());
            }
            Err(place) => place,
        };
        let own = &self.mailbox.port;
        let node = own.node_at(named.ip(), here).ok_or_else(|| addresses::no_host(named))?;
        let target = node.as_ref().map_or(Host::OUTSIDE, Host::of);
        let ends = [(own.host, own.node()), (target, node.as_ref())];
        let link = Fabric::of_run().link_of(ends, here);
        link.add_flow(own.clone(), here);
        let port = self.ports.port(target, Protocol::Udp, named.port(), here);
        let ip = named.ip();
        let is_local = ip.is_loopback() || ip.is_unspecified();
        let to = reached(named);
        let ip = match self.mailbox.addr.ip() {
            ip if !ip.is_unspecified() => ip,
            _ if is_local => to.ip(),
            _ => own.address(),
        };
        let addr = SocketAddr::new(ip, self.mailbox.addr.port());
        let line = Arc::new(Line { addr, to, port, link });
        lines.all.insert(place, (key(named), line.clone()));
        lines.last = place;
        Ok(line)
    }
}
