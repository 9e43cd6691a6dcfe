//! The programs, with their sizes and bars.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Messages each way in a run of a ping-pong.
const ROUND_TRIPS: u64 = 500;
/// Rounds of a run of gossip between ten nodes, and between a hundred.
const GOSSIP_ROUNDS: [u64; 2] = [30, 10];
/// Datagrams that a node of gossip sends in a round.
pub(crate) const GOSSIP_DATAGRAMS: u64 = 3;
/// The pause between two rounds.
pub(crate) const GOSSIP_PAUSE: Duration = Duration::from_millis(10);
/// The time after which all sent messages have arrived.
pub(crate) const GOSSIP_LAST: Duration = Duration::from_millis(50);

/// The programs of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Two nodes send each other this number of messages over a connection.
    Tcp(u64),
    /// The same with datagrams.
    Udp(u64),
    /// The same with values: a channel between nodes.
    Typed(u64),
    /// All nodes send to other nodes in this number of rounds.
    Gossip(u64),
}

/// A program that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) body: Body,
    /// The number of nodes. Nodes for which the body has no work are idle.
    pub(crate) nodes: usize,
    /// The time that each message takes. `None` means the cheapest setting of the peer.
    pub(crate) latency: Option<Duration>,
    /// The required ratio to the better peer. Zero asks nothing.
    pub(crate) ratio_min: f64,
    /// Runs are counted, not messages.
    pub(crate) by_run: bool,
}

const TCP: Workload = Workload {
    name: "tcp",
    summary: "2 nodes, TCP, 8 bytes to and fro",
    body: Body::Tcp(ROUND_TRIPS),
    nodes: 2,
    latency: None,
    ratio_min: 3.0,
    by_run: false,
};

const UDP: Workload = Workload {
    name: "udp",
    summary: "2 nodes, UDP, 8 bytes to and fro",
    body: Body::Udp(ROUND_TRIPS),
    ..TCP
};

const GOSSIP: Workload = Workload {
    name: "gossip-10",
    summary: "10 nodes, each sends 3 datagrams every 10 ms",
    body: Body::Gossip(GOSSIP_ROUNDS[0]),
    nodes: 10,
    ratio_min: 0.0,
    ..TCP
};

/// All workloads, in the order they are shown.
pub(crate) const ALL: [Workload; 10] = [
    TCP,
    UDP,
    Workload {
        name: "typed",
        summary: "2 nodes, a channel of values each way",
        body: Body::Typed(ROUND_TRIPS),
        ratio_min: 0.0,
        ..TCP
    },
    GOSSIP,
    Workload {
        name: "gossip-100",
        summary: "100 nodes, each sends 3 datagrams every 10 ms",
        body: Body::Gossip(GOSSIP_ROUNDS[1]),
        nodes: 100,
        ratio_min: 3.0,
        ..GOSSIP
    },
    Workload {
        name: "tiny-udp",
        summary: "a run of udp with 2 messages",
        body: Body::Udp(1),
        by_run: true,
        ..UDP
    },
    Workload {
        name: "tiny-tcp",
        summary: "a run of tcp with 2 messages",
        body: Body::Tcp(1),
        by_run: true,
        ..TCP
    },
    Workload {
        name: "udp-1ms",
        summary: "udp, each message takes 1 ms",
        latency: Some(Duration::from_millis(1)),
        ratio_min: 0.0,
        ..UDP
    },
    Workload {
        name: "udp-10ms",
        summary: "udp, each message takes 10 ms",
        latency: Some(Duration::from_millis(10)),
        ratio_min: 0.0,
        ..UDP
    },
    Workload {
        name: "udp-idle",
        summary: "udp, beside 98 nodes that have ended",
        nodes: 100,
        ratio_min: 0.0,
        ..UDP
    },
];

impl Workload {
    /// The number of messages of a run.
    pub(crate) fn messages(self) -> u64 {
        match self.body {
            Body::Tcp(messages) | Body::Udp(messages) | Body::Typed(messages) => 2 * messages,
            Body::Gossip(rounds) => rounds * GOSSIP_DATAGRAMS * self.nodes as u64,
        }
    }

    /// The number of counted items in a run.
    pub(crate) fn units(self) -> u64 {
        if self.by_run { 1 } else { self.messages() }
    }

    /// Checks the number of datagrams of gossip that arrived.
    ///
    /// # Panics
    /// If it is not all of them.
    pub(crate) fn check(self, arrived: u64) {
        if matches!(self.body, Body::Gossip(_)) {
            assert_eq!(arrived, self.messages(), "{}: datagrams that arrived", self.name);
        }
    }
}

/// The port of the sockets, one for each node.
pub(crate) const PORT: u16 = 7000;
/// The address that they are bound to.
pub(crate) const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
