//! The ports of the hosts in a run, the sockets bound to them, and the automatic choice of port numbers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::tcp::{Backlog, Reservation};
use super::udp::Mailbox;
use crate::net::by_host::ByHost;
use crate::net::fabric::Host;
use crate::net::keys;
use crate::node::{Cluster, Death, Name, Node, Texts};
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Deed, Here, Wrapped};

/// Binds a port that a call requests.
pub(super) const BIND: Op = Op::of_kind("bind", Access::Tell, net::CLOSE);
/// Binds a free port for a socket that connects without being bound.
pub(super) const RESERVE: Op = Op::of_kind("bind", Access::Tell, net::CLOSE).quiet();
const IN_USE: Op = Op::of_kind("bind", Access::Peek, net::LOOK).quiet();
const UNBIND: Op = Op::of_kind("unbind", Access::Tell, net::CLOSE).quiet();

/// The first ephemeral port, and the number of ephemeral ports.
const FIRST: u16 = 49_152;
const COUNT: u16 = u16::MAX - FIRST + 1;

/// The address of the outside.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);

/// The protocol of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// A port of a host.
pub(super) struct Port {
    pub(super) host: Host,
    /// The node of the host; `None` for the outside.
    node: Option<Node>,
    number: u16,
    /// The object on which messages to the port arrive.
    pub(super) mark: Arc<Wrapped>,
    /// The sockets bound to the port, each with its address. Invariant: the addresses differ, and an unspecified
    /// address is the only one.
    bound: Mutex<Vec<(IpAddr, Bound)>>,
    /// `true` if the port was selected as a free port.
    was_given: AtomicBool,
}

/// A socket that is bound to a port.
#[derive(Clone)]
pub(super) enum Bound {
    Backlog(Arc<Backlog>),
    Mailbox(Arc<Mailbox>),
    /// A bound socket that neither listens nor receives.
    Reserved(Arc<Reservation>),
}

impl Bound {
    fn is(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Backlog(one), Bound::Backlog(other)) => Arc::ptr_eq(one, other),
            (Bound::Mailbox(one), Bound::Mailbox(other)) => Arc::ptr_eq(one, other),
            (Bound::Reserved(one), Bound::Reserved(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Port {
    fn bound(&self) -> MutexGuard<'_, Vec<(IpAddr, Bound)>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the node at an address, from the viewpoint of code on this host. The inner `None` means the outside.
    pub(super) fn node_at(&self, ip: IpAddr, here: Here) -> Option<Option<Node>> {
        match ip.is_loopback() || ip.is_unspecified() {
            true => Some(self.node.clone()),
            false => node_at(ip, here),
        }
    }

    /// Returns the address of the port's host.
    pub(super) fn address(&self) -> IpAddr {
        self.node.as_ref().map_or(IpAddr::V4(OUTSIDE), Node::addr)
    }

    /// Returns the node of the port's host; `None` for the outside.
    pub(super) fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// Returns `true` if the host is on. The kernel of such a host replies even if the process is dead.
    pub(super) fn is_on(&self, here: Here) -> bool {
        self.node.as_ref().is_none_or(|node| node.is_on(here))
    }

    /// Like [`is_on`](Self::is_on), but returns the operation for the caller to record.
    pub(super) fn look(&self) -> (bool, Option<Deed<'_>>) {
        match &self.node {
            Some(node) => {
                let (is_on, look) = node.look();
                (is_on, Some(look))
            }
            None => (true, None),
        }
    }

    /// Returns the socket that is bound to the port and accepts this address, in the step of an arrival at the port.
    pub(super) fn at(&self, ip: IpAddr) -> Option<Bound> {
        let bound = self.bound();
        let accepts = |(at, _): &&(IpAddr, Bound)| at.is_unspecified() || *at == ip;
        bound.iter().find(accepts).map(|(_, bound)| bound.clone())
    }

    /// Returns `true` if a socket bound to the port prevents another one from being bound to this address.
    fn is_in_use(&self, ip: IpAddr) -> bool {
        let overlaps = |at: IpAddr| at == ip || at.is_unspecified() || ip.is_unspecified();
        self.bound().iter().any(|(at, _)| overlaps(*at))
    }

    /// Unbinds `what` from the port, if it is still bound.
    pub(super) fn unbind(&self, what: &Bound, here: Here) {
        self.mark.last(&UNBIND, here);
        self.bound().retain(|(_, bound)| !bound.is(what));
    }
}

/// A port of a node or of the outside. The node is identified by the number of its name.
type EndKey = (Option<u32>, u16);

fn end_key(node: Option<Name>, port: u16) -> EndKey {
    (node.map(|name| name.number), port)
}

fn end_name(node: Option<Name>, port: u16) -> String {
    format!("{}:{port}", node.map_or("outside", |name| name.text))
}

/// Cached texts about two ports, such as the ends of a connection. Each text is created once in the process, from names
/// like `n1:7000`.
pub(super) struct PairTexts<V: 'static>(Texts<[EndKey; 2], V>);

impl<V> PairTexts<V> {
    pub(super) const fn new() -> PairTexts<V> {
        PairTexts(Texts::new())
    }

    /// Returns the text of these ports. On first use, `make` creates the text from the port names.
    pub(super) fn of(
        &self,
        ends: [(Host, u16); 2],
        make: impl FnOnce([String; 2]) -> V,
    ) -> &'static V {
        let ends = ends.map(|(host, port)| (host.node().as_ref().map(Node::known), port));
        let key = ends.map(|(node, port)| end_key(node, port));
        self.0.of(key, || make(ends.map(|(node, port)| end_name(node, port))))
    }
}

/// The ports of a run.
#[derive(Default)]
pub(super) struct Ports(Mutex<PortsState>);

#[derive(Default)]
struct PortsState {
    ports: ByHost<(u16, Protocol), Arc<Port>>,
    /// All ports, in the order of first use.
    order: Vec<Arc<Port>>,
    /// The number of ephemeral ports that each task has tried on each host.
    given: Map<(Host, u64), u16>,
    listens: bool,
}

impl Drop for Ports {
    /// Breaks the reference cycles between ports and the sockets bound to them.
    fn drop(&mut self) {
        let order = std::mem::take(&mut self.state().order);
        for port in order {
            let bound = std::mem::take(&mut *port.bound());
            drop(bound);
        }
    }
}

impl Ports {
    /// Returns the ports of the current run.
    pub(super) fn of_run() -> Arc<Ports> {
        let ports = seam::kept::<Ports>();
        if !std::mem::replace(&mut ports.state().listens, true) {
            // Backlogs reset their connections. The streams of a connection would end it without a reset.
            seam::kept::<Cluster>().listen_first(|node, death, here| {
                if death != Death::Wiped {
                    Ports::of_run().host_died(Host::of(node), death, here);
                }
            });
        }
        ports
    }

    fn state(&self) -> MutexGuard<'_, PortsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a port, bound or not.
    pub(super) fn port(
        &self,
        host: Host,
        protocol: Protocol,
        number: u16,
        here: Here,
    ) -> Arc<Port> {
        let (at, sought) = (host.number() as usize, (number, protocol));
        if let Some(port) = self.state().ports.get(at, &sought) {
            return port.clone();
        }
        static NAMES: Texts<EndKey, String> = Texts::new();
        let node = host.node();
        let known = node.as_ref().map(Node::known);
        let name = NAMES.of(end_key(known, number), || end_name(known, number));
        let key = keys::port(known, protocol == Protocol::Udp, number);
        let mark = Arc::new(Wrapped::outside_known("port", name, Some(key), here));
        let (bound, was_given) = (Mutex::default(), AtomicBool::new(false));
        let port = Arc::new(Port { host, node, number, mark, bound, was_given });
        let mut state = self.state();
        state.ports.insert(at, sought, port.clone());
        state.order.push(port.clone());
        port
    }

    /// Binds a port of a host, by [`BIND`] or [`RESERVE`]. Port number 0 selects a free port.
    pub(super) fn bind(
        &self,
        host: Host,
        (protocol, addr): (Protocol, SocketAddr),
        make: impl FnOnce(Arc<Port>, SocketAddr) -> Bound,
        (op, here): (&'static Op, Here),
    ) -> io::Result<()> {
        let ip = own_address(host, addr.ip(), here)?;
        let port = match addr.port() {
            0 => self.free_port(host, protocol, here)?,
            number => self.port(host, protocol, number, here),
        };
        if port.is_in_use(ip) {
            port.mark.record(&IN_USE, here);
            return Err(in_use(&port));
        }
        let bound = make(port.clone(), SocketAddr::new(ip, port.number));
        port.mark.record(op, here);
        port.bound().push((ip, bound));
        Ok(())
    }

    /// Returns an ephemeral port to which no socket is bound. A port is selected again only after all others, because
    /// the other end of its last connection may still be open.
    fn free_port(&self, host: Host, protocol: Protocol, here: Here) -> io::Result<Arc<Port>> {
        for _ in 0..2 {
            for _ in 0..COUNT {
                let port = self.port(host, protocol, self.number(host), here);
                if port.bound().is_empty() && !port.was_given.swap(true, Relaxed) {
                    return Ok(port);
                }
                port.mark.record(&IN_USE, here);
            }
            let state = self.state();
            let of_host = state.order.iter().filter(|port| port.host == host);
            of_host.for_each(|port| port.was_given.store(false, Relaxed));
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "the host has no free port"))
    }

    /// Returns the next ephemeral port number that the current task tries.
    //
    // The number is counted per task and not per host. With a number per host, the port numbers of a task would depend
    // on the calls of other tasks.
    fn number(&self, host: Host) -> u16 {
        let task = seam::path_number();
        let mut state = self.state();
        let given = state.given.entry((host, task)).or_default();
        let nth = *given % COUNT;
        *given = given.wrapping_add(1);
        let spread = task.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        FIRST + ((spread as u16).wrapping_mul(32) % COUNT + nth) % COUNT
    }

    fn host_died(&self, host: Host, death: Death, here: Here) {
        let ports: Vec<_> = self.state().order.iter().filter(|p| p.host == host).cloned().collect();
        for port in ports {
            let all = std::mem::take(&mut *port.bound());
            if !all.is_empty() {
                port.mark.record(&UNBIND, here);
            }
            for (_, bound) in all {
                match bound {
                    Bound::Backlog(backlog) => backlog.close(death == Death::Killed, here),
                    Bound::Mailbox(mailbox) => mailbox.close(here),
                    Bound::Reserved(_) => {}
                }
            }
        }
    }
}

fn in_use(port: &Port) -> io::Error {
    let number = port.number;
    let text = format!(
        "port {number} is in use on {}: bind another one, or port 0 for one that is free",
        name(port.host)
    );
    io::Error::new(io::ErrorKind::AddrInUse, text)
}

/// Returns the name of a host for messages.
pub(super) fn name(host: Host) -> String {
    host.node().map_or_else(|| "the outside".to_owned(), |node| node.name().to_owned())
}

/// Returns the address of a host.
pub(super) fn address(host: Host) -> IpAddr {
    host.node().map_or(IpAddr::V4(OUTSIDE), |node| node.addr())
}

/// Returns the host at an address, from the viewpoint of code on `from`.
pub(super) fn host_at(from: Host, ip: IpAddr, here: Here) -> Option<Host> {
    if ip.is_loopback() || ip.is_unspecified() {
        return Some(from);
    }
    node_at(ip, here).map(|node| node.as_ref().map_or(Host::OUTSIDE, Host::of))
}

/// Returns the node at an address that is the same for all hosts. The inner `None` means the outside.
fn node_at(ip: IpAddr, here: Here) -> Option<Option<Node>> {
    if ip == IpAddr::V4(OUTSIDE) {
        return Some(None);
    }
    let IpAddr::V4(v4) = ip else { return None };
    // The inverse of `Node::addr`.
    let [_, high, middle, low] = v4.octets();
    let number = u32::from_be_bytes([0, high, middle, low]).checked_sub(1)?;
    seam::kept::<Cluster>().numbered(number, here).filter(|node| node.addr() == ip).map(Some)
}

/// Returns the address to bind, if it is an address of the host.
pub(super) fn own_address(host: Host, ip: IpAddr, here: Here) -> io::Result<IpAddr> {
    if ip.is_loopback() || ip.is_unspecified() || ip == address(host) {
        return Ok(ip);
    }
    let owner = host_at(host, ip, here).map_or_else(|| "no node".to_owned(), name);
    let text = format!(
        "{ip} is the address of {owner}, and this code is of {}: bind 0.0.0.0, or call it in Node::enter",
        name(host)
    );
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text))
}
