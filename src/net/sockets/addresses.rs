//! Host names and socket addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::{aliases, ports};
use crate::net::fabric::Host;
use crate::seam::{self, Here, here};

/// Values that can be converted to socket addresses: an address, an IP address and a port, or a name and a port.
///
/// In a run a name is the name of a node, an [`alias`](crate::net::alias) or `localhost`. Outside
/// of runs, a node name resolves to a loopback address, and the operating system looks up all other
/// names. The trait has the name of tokio's trait and is sealed like it.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let found: Vec<_> = sim::net::lookup_host("db-1:7000").await.unwrap().collect();
/// assert_eq!(found, [std::net::SocketAddr::new(db.addr(), 7000)]);
/// # });
/// # assert!(report.passed());
/// ```
pub trait ToSocketAddrs: private::Target {}

impl<T: private::Target + ?Sized> ToSocketAddrs for T {}

/// A host name and a port, or addresses.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Destination {
    Address(SocketAddr),
    Addresses(Vec<SocketAddr>),
    Named(String, u16),
    Malformed(&'static str),
}

mod private {
    use super::Destination;

    pub trait Target {
        fn destination(&self) -> Destination;
    }
}

use private::Target;

/// Resolves a name. In a run, it resolves node names: see [`ToSocketAddrs`].
///
/// ```
/// use sim::net::lookup_host;
/// use std::io::ErrorKind;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let _db = sim::node("db-1");
/// assert_eq!(lookup_host("db-1:7000").await.unwrap().count(), 1);
/// let unknown = lookup_host("db-2:7000").await.map(drop).unwrap_err();
/// assert_eq!(unknown.kind(), ErrorKind::NotFound);
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// If the name is unknown.
pub async fn lookup_host<T: ToSocketAddrs>(
    host: T,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    resolve(host.destination(), here()).await.map(Vec::into_iter)
}

/// Returns the addresses of a destination.
pub(super) async fn resolve(destination: Destination, here: Here) -> io::Result<Vec<SocketAddr>> {
    match destination {
        Destination::Address(addr) => Ok(vec![addr]),
        Destination::Addresses(addresses) => Ok(addresses),
        Destination::Malformed(message) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
        Destination::Named(name, port) => {
            if let Some(node) = aliases::look_up(&name, here)? {
                return Ok(vec![SocketAddr::new(node.addr(), port)]);
            }
            if !seam::in_run() {
                return Ok(tokio::net::lookup_host((name, port)).await?.collect());
            }
            match name.as_str() {
                "localhost" => Ok(vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)]),
                _ => Err(unknown(&name)),
            }
        }
    }
}

fn unknown(name: &str) -> io::Error {
    let text = format!(
        "failed to look up {name:?}: the run has no node of this name; add it by sim::node({name:?}) or sim::net::alias"
    );
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// Calls `act` with each address until a call succeeds.
pub(super) async fn each<R, F: Future<Output = io::Result<R>>>(
    (destination, here): (Destination, Here),
    mut act: impl FnMut(SocketAddr) -> F,
) -> io::Result<R> {
    if let Destination::Address(addr) = destination {
        return act(addr).await;
    }
    let mut last = None;
    for addr in resolve(destination, here).await? {
        match act(addr).await {
            Ok(result) => return Ok(result),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any address")
    }))
}

/// Returns the host at an address of a run.
pub(super) fn host(from: Host, addr: SocketAddr, here: Here) -> io::Result<Host> {
    ports::host_at(from, addr.ip(), here).ok_or_else(|| no_host(addr))
}

pub(super) fn no_host(addr: SocketAddr) -> io::Error {
    let text = format!("{addr} is the address of no node of the run: see Node::addr()");
    io::Error::new(io::ErrorKind::HostUnreachable, text)
}

impl<T: Target + ?Sized> Target for &T {
    fn destination(&self) -> Destination {
        (**self).destination()
    }
}

macro_rules! addresses {
    ($($type:ty, $self:ident => $addr:expr;)*) => {$(
        impl Target for $type {
            fn destination(&self) -> Destination {
                let $self = self;
                Destination::Address(SocketAddr::from($addr))
            }
        }
    )*};
}

addresses! {
    SocketAddr, addr => *addr;
    SocketAddrV4, addr => *addr;
    SocketAddrV6, addr => *addr;
    (IpAddr, u16), addr => *addr;
    (Ipv4Addr, u16), addr => *addr;
    (Ipv6Addr, u16), addr => *addr;
}

impl Target for [SocketAddr] {
    fn destination(&self) -> Destination {
        Destination::Addresses(self.to_vec())
    }
}

impl Target for Vec<SocketAddr> {
    fn destination(&self) -> Destination {
        Destination::Addresses(self.clone())
    }
}

impl Target for str {
    fn destination(&self) -> Destination {
        if let Ok(addr) = self.parse() {
            return Destination::Address(addr);
        }
        let Some((host, port)) = self.rsplit_once(':') else {
            return Destination::Malformed("invalid socket address: write host:port");
        };
        match port.parse() {
            Ok(port) => (host, port).destination(),
            Err(_) => Destination::Malformed("invalid port value: write a number up to 65535"),
        }
    }
}

impl Target for (&str, u16) {
    fn destination(&self) -> Destination {
        match self.0.parse::<IpAddr>() {
            Ok(ip) => (ip, self.1).destination(),
            Err(_) => Destination::Named(self.0.to_owned(), self.1),
        }
    }
}

impl Target for String {
    fn destination(&self) -> Destination {
        self.as_str().destination()
    }
}

impl Target for (String, u16) {
    fn destination(&self) -> Destination {
        (self.0.as_str(), self.1).destination()
    }
}
