//! The options of a socket. In a run they are kept; options of groups and broadcasts have their
//! effect.

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
pub(super) struct Options(Mutex<Values>);

#[derive(Clone, Copy)]
pub(super) struct Values {
    pub(super) broadcast: bool,
    pub(super) ttl: u32,
    pub(super) tos: u32,
    /// A datagram to a group also arrives at members of the host.
    pub(super) multicast_loop: bool,
    /// 0 for datagrams to groups that stay on the host.
    pub(super) multicast_ttl: u32,
}

impl Options {
    /// Returns the defaults of Linux.
    pub(super) fn new() -> Options {
        let (broadcast, ttl, tos) = (false, 64, 0);
        let (multicast_loop, multicast_ttl) = (true, 1);
        Options(Mutex::new(Values { broadcast, ttl, tos, multicast_loop, multicast_ttl }))
    }

    /// Their values, in a step that has an operation of a send or of an option.
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
    /// Returns `true` if it may send to all hosts.
    broadcast;
    /// Sets if it may send to all hosts, at 255.255.255.255: in a run a datagram to each node and the outside.
    set_broadcast: bool => broadcast;

    /// The number of hops of a datagram. In a run it has no effect.
    ttl;
    /// Sets the number of hops of a datagram. In a run it has no effect.
    set_ttl: u32 => ttl;

    /// Returns `true` if datagrams to a group also arrive at members on the host of the sender.
    multicast_loop_v4;
    /// Sets if datagrams to a group also arrive at members on the host of the sender.
    set_multicast_loop_v4: bool => multicast_loop;

    /// The number of hops of a datagram to a group.
    multicast_ttl_v4;
    /// Sets the number of hops of a datagram to a group. In a run 0 has it stay on the host, and others have no effect.
    set_multicast_ttl_v4: u32 => multicast_ttl;

    /// The type of service. In a run it has no effect.
    tos_v4, once tos;
    /// Sets the type of service. In a run it has no effect.
    set_tos_v4, once set_tos: u32 => tos;
}

impl UdpSocket {
    two_kinds! {
        /// Joins a group, an address from 224.0.0.0 to 239.255.255.255: datagrams that are sent to it, with the port of
        /// this socket, arrive here and at all other members. `interface` is 0.0.0.0 or an address of the host. Not a
        /// point in a run.
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
        /// If that is no address of a group, or the socket is a member.
        #[track_caller]
        pub fn join_multicast_v4(
            &self,
            multiaddr: Ipv4Addr,
            interface: Ipv4Addr,
        ) -> io::Result<()> {
            |run, here| run.join(multiaddr, interface, here)
        }

        /// Leaves a group. Not a point in a run.
        ///
        /// # Errors
        /// If the socket is no member.
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
