//! Multicast and broadcast datagrams.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::line::Line;
use super::{Mailbox, OfRun};
use crate::net::fabric::Host;
use crate::net::keys;
use crate::net::sockets::ports;
use crate::node::Cluster;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Here, Wrapped};

const JOIN: Op = Op::of_kind("join_multicast", Access::Tell, net::CLOSE);
const LEAVE: Op = Op::of_kind("leave_multicast", Access::Tell, net::CLOSE);
const MEMBERS: Op = Op::of_kind("members", Access::Peek, net::LOOK).quiet();

/// The broadcast addresses: limited broadcast, and the broadcast address of the run's network. Datagrams to these
/// addresses reach all hosts of the run.
const ALL: [Ipv4Addr; 2] = [Ipv4Addr::BROADCAST, Ipv4Addr::new(10, 255, 255, 255)];

/// The sockets that receive a datagram.
#[derive(Clone)]
pub(super) enum Aim {
    /// The socket that is bound to the address. If no socket is bound, the sender is notified.
    One,
    /// Any socket that is bound to the port of the host; this is for broadcasts.
    Any,
    /// This member of a multicast group.
    Member(Arc<Mailbox>, Ipv4Addr),
}

/// A multicast group.
pub(super) struct Group {
    mark: Wrapped,
    members: Mutex<Vec<Arc<Mailbox>>>,
}

impl Group {
    fn members(&self) -> MutexGuard<'_, Vec<Arc<Mailbox>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a socket from the group, within the step of an operation or a drop.
    fn lose(&self, member: &Arc<Mailbox>, here: Here) {
        self.mark.last(&LEAVE, here);
        self.members().retain(|other| !Arc::ptr_eq(other, member));
    }
}

/// The groups of a run.
#[derive(Default)]
struct Groups(Mutex<Map<Ipv4Addr, Arc<Group>>>);

impl Drop for Groups {
    /// Breaks the reference cycles between groups and their members.
    fn drop(&mut self) {
        let groups = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for group in std::mem::take(groups).into_values() {
            let members = std::mem::take(&mut *group.members());
            members.iter().for_each(|member| drop(std::mem::take(&mut *member.groups())));
        }
    }
}

impl Groups {
    /// Returns the group of an address. The first call for an address creates its group.
    fn group(ip: Ipv4Addr, here: Here) -> Arc<Group> {
        let groups = seam::kept::<Groups>();
        let mut groups = groups.0.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let mark = Wrapped::outside_keyed("group", &ip.to_string(), keys::group(ip), here);
            Arc::new(Group { mark, members: Mutex::default() })
        };
        groups.entry(ip).or_insert_with(make).clone()
    }
}

/// Returns `true` for a multicast or broadcast address.
pub(super) fn is_of_several(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.is_multicast() || ALL.contains(&ip))
}

impl Mailbox {
    /// Removes the socket from all groups, because it is dropped or its host has died.
    pub(super) fn leave_all(self: &Arc<Self>, here: Here) {
        let groups = std::mem::take(&mut *self.groups());
        groups.values().for_each(|group| group.lose(self, here));
    }

    pub(super) fn groups(&self) -> MutexGuard<'_, Map<Ipv4Addr, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfRun {
    fn check_group(&self, ip: Ipv4Addr, interface: Ipv4Addr, here: Here) -> io::Result<()> {
        self.origin.check(here)?;
        if !ip.is_multicast() {
            let text = format!("{ip} is no address of a group: give one from 224.0.0.0 on");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        ports::own_address(self.mailbox.port.host, interface.into(), here).map(drop)
    }

    pub(super) fn join(&self, ip: Ipv4Addr, interface: Ipv4Addr, here: Here) -> io::Result<()> {
        self.check_group(ip, interface, here)?;
        let group = Groups::group(ip, here);
        self.mark().record(&JOIN, here);
        if self.mailbox.groups().insert(ip, group.clone()).is_some() {
            let text = format!("the socket is a member of {ip} already");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        group.mark.act(&JOIN, here, || group.members().push(self.mailbox.clone()));
        Ok(())
    }

    pub(super) fn leave(&self, ip: Ipv4Addr, interface: Ipv4Addr, here: Here) -> io::Result<()> {
        self.check_group(ip, interface, here)?;
        self.mark().record(&LEAVE, here);
        let Some(group) = self.mailbox.groups().remove(&ip) else {
            let text = format!("the socket is no member of {ip}: join it before");
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        };
        group.lose(&self.mailbox, here);
        Ok(())
    }

    /// Returns the routes to all receivers of a datagram to a multicast or broadcast address.
    pub(super) fn ways(&self, to: SocketAddr, here: Here) -> io::Result<Vec<(Arc<Line>, Aim)>> {
        let own = self.mailbox.port.host;
        let options = self.options.values();
        let line = |host: Host| self.line(SocketAddr::new(ports::address(host), to.port()), here);
        match to.ip() {
            IpAddr::V4(ip) if ip.is_multicast() => {
                let group = Groups::group(ip, here);
                let members = group.mark.act(&MEMBERS, here, || group.members().clone());
                let reaches = |member: &Arc<Mailbox>| {
                    let is_here = member.port.host == own;
                    let reaches =
                        if is_here { options.multicast_loop } else { options.multicast_ttl > 0 };
                    reaches && member.addr.port() == to.port()
                };
                let members = members.into_iter().filter(reaches);
                members.map(|to| Ok((line(to.port.host)?, Aim::Member(to, ip)))).collect()
            }
            IpAddr::V4(ip) if ALL.contains(&ip) => {
                if !options.broadcast {
                    let text = "a datagram to all hosts: call set_broadcast(true) before";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
                }
                let nodes = seam::kept::<Cluster>().list(here);
                let hosts = nodes.iter().map(Host::of).chain([Host::OUTSIDE]);
                hosts.map(|host| Ok((line(host)?, Aim::Any))).collect()
            }
            _ => Ok(Vec::new()),
        }
    }
}
