//! The options of a UDP socket. A run stores all options, but only the multicast and broadcast options have an effect.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use super::{OfRun, UdpSocket};
use crate::net::sockets::kinds::two_kinds;
use crate::net::sockets::options::{of_tokio, options};
use crate::run::op::{Access, Op, net};
use crate::seam::Here;

const SET_OPTION: Op = Op::of_kind("set_option", Access::Tell, net::SET).quiet();
const OPTION: Op = Op::of_kind("option", Access::Tell, net::SET).quiet();

/// The options of a socket of a run.
pub(super) struct UdpOptions(Mutex<Values>);

#[derive(Clone, Copy)]
pub(super) struct Values {
    pub(super) broadcast: bool,
    pub(super) ttl: u32,
    pub(super) tos: u32,
    /// `true` if a multicast datagram also arrives at members on the same host.
    pub(super) multicast_loop: bool,
    /// 0 if multicast datagrams stay on the host.
    pub(super) multicast_ttl: u32,
}

impl UdpOptions {
    /// Returns the defaults of Linux.
    pub(super) fn new() -> UdpOptions {
        let (broadcast, ttl, tos) = (false, 64, 0);
        let (multicast_loop, multicast_ttl) = (true, 1);
        UdpOptions(Mutex::new(Values { broadcast, ttl, tos, multicast_loop, multicast_ttl }))
    }

    /// Returns the option values. The current step must record a send operation or an option operation.
    pub(super) fn values(&self) -> Values {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfRun {
    fn option<R>(&self, here: Here, get: impl FnOnce(Values) -> R) -> io::Result<R> {
        self.origin.check(here)?;
        Ok(self.mark().act(&OPTION, here, || get(self.options.values())))
    }

    fn set_option(&self, here: Here, set: impl FnOnce(&mut Values)) -> io::Result<()> {
        self.origin.check(here)?;
        self.mark().act(&SET_OPTION, here, || {
            set(&mut self.options.0.lock().unwrap_or_else(PoisonError::into_inner));
        });
        Ok(())
    }
}

options! { UdpSocket:
    /// Returns `true` if the socket may send broadcasts.
    broadcast;
    /// Sets whether the socket may send broadcasts to 255.255.255.255. In a run a broadcast sends a datagram to each
    /// node and to the outside.
    set_broadcast: bool => broadcast;

    /// Returns the hop limit of datagrams. The limit has no effect in a run.
    ttl;
    /// Sets the hop limit of datagrams. The limit has no effect in a run.
    set_ttl: u32 => ttl;

    /// Returns `true` if multicast datagrams also arrive at members on the host of the sender.
    multicast_loop_v4;
    /// Sets whether multicast datagrams also arrive at members on the host of the sender.
    set_multicast_loop_v4: bool => multicast_loop;

    /// Returns the hop limit of multicast datagrams.
    multicast_ttl_v4;
    /// Sets the hop limit of multicast datagrams. In a run, 0 keeps them on the host, and all other values are
    /// equivalent.
    set_multicast_ttl_v4: u32 => multicast_ttl;

    /// Returns the type of service. The type of service has no effect in a run.
    tos_v4, once tos;
    /// Sets the type of service. The type of service has no effect in a run.
    set_tos_v4, once set_tos: u32 => tos;
}

impl UdpSocket {
    two_kinds! {
        /// Joins a multicast group, an address from 224.0.0.0 to 239.255.255.255. Datagrams to the group and to the
        /// port of this socket then arrive here and at all other members. `interface` is 0.0.0.0 or an address of the
        /// host. This call is not a point in a run.
        ///
        /// ```
        /// use sim::net::UdpSocket;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().run(async || {
        /// let nodes = ["a", "b"].map(sim::node);
        /// let mut members = Vec::new();
        /// for node in &nodes {
        ///     let member = node.enter(|| UdpSocket::bind("0.0.0.0:9000")).await.unwrap();
        ///     member.join_multicast_v4([239, 0, 0, 1].into(), [0; 4].into()).unwrap();
        ///     members.push(member);
        /// }
        /// let sender = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        /// sender.send_to(b"to all", "239.0.0.1:9000").await.unwrap();
        /// for member in members {
        ///     assert_eq!(member.recv(&mut [0; 16]).await.unwrap(), 6);
        /// }
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the address is not a multicast address, or the socket is already a member.
        #[track_caller]
        pub fn join_multicast_v4(
            &self,
            multiaddr: Ipv4Addr,
            interface: Ipv4Addr,
        ) -> io::Result<()> {
            |run, here| run.join(multiaddr, interface, here)
        }

        /// Leaves a multicast group. This call is not a point in a run.
        ///
        /// ```
        /// use sim::net::UdpSocket;
        /// use std::io::ErrorKind;
        /// use std::net::Ipv4Addr;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let socket = UdpSocket::bind("0.0.0.0:9000").await.unwrap();
        /// let (group, any) = (Ipv4Addr::new(239, 0, 0, 1), Ipv4Addr::UNSPECIFIED);
        /// socket.join_multicast_v4(group, any).unwrap();
        /// socket.leave_multicast_v4(group, any).unwrap();
        /// let error = socket.leave_multicast_v4(group, any).unwrap_err();
        /// assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the socket is not a member.
        #[track_caller]
        pub fn leave_multicast_v4(
            &self,
            multiaddr: Ipv4Addr,
            interface: Ipv4Addr,
        ) -> io::Result<()> {
            |run, here| run.leave(multiaddr, interface, here)
        }
    }
}
