//! The ways on which a socket sends its datagrams.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, PoisonError};

use super::super::names;
use super::super::ports::{self, Port, Ports, Protocol};
use super::OfRun;
use crate::net::fabric::{Fabric, Flow, Host, Link};
use crate::node::Death;
use crate::run::op::{Access, Op, net};
use crate::seam::Here;

const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The way from a socket to an address.
pub(super) struct Line {
    pub(super) addr: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) port: Arc<Port>,
    pub(super) link: Arc<Link>,
}

/// The port of a socket that sends over a link.
struct Source(Arc<Port>);

impl Flow for Source {
    // The datagrams are lost at their arrival.
    fn set_cut(&self, _: bool, _: Here) {}

    fn was_set(&self, here: Here) {
        self.0.mark.act(&SET, here, || ());
    }

    // Ports learn of that by themselves.
    fn died(self: Arc<Self>, _: Host, _: Death, _: Here) {}
}

impl OfRun {
    /// The way to an address, looked up when it is first named.
    pub(super) fn line(&self, named: SocketAddr, here: Here) -> io::Result<Arc<Line>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&named) {
            return Ok(line.clone());
        }
        let host = self.mailbox.port.host;
        let target = names::host(host, named)?;
        let link = Fabric::of_run().link(host, target, here);
        link.add_flow(Arc::new(Source(self.mailbox.port.clone())), here);
        let port = Ports::of_run().port(target, Protocol::Udp, named.port(), here);
        let ip = named.ip();
        let is_local = ip.is_loopback() || ip.is_unspecified();
        let to = SocketAddr::new(if ip.is_unspecified() { LOOPBACK } else { ip }, named.port());
        let ip = match self.mailbox.addr.ip() {
            ip if !ip.is_unspecified() => ip,
            _ if is_local => to.ip(),
            _ => ports::address(host),
        };
        let addr = SocketAddr::new(ip, self.mailbox.addr.port());
        let line = Arc::new(Line { addr, to, port, link });
        lines.insert(named, line.clone());
        Ok(line)
    }
}
