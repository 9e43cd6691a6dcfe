//! The net between [nodes](mod@crate::node): links that lose, delay, cut and reorder messages as the scheduler chooses.
//!
//! A message on its way is a task of the run with one step, its arrival. So messages overtake each other where they
//! may, a trace has each arrival as a step, a search tries all orders, and shrinking leaves the reordering that a
//! failure needs.
//!
//! [`cut`] and [`isolate`] end the connection of nodes, in one direction or both: datagrams are lost at their arrival,
//! messages of streams wait until [`heal`]. [`faults()`] has messages lost, duplicated and delayed by themselves, on
//! one link [`faults_on`]; [`clog`] has a link be slow for a while.
//!
//! ```
//! use sim::net;
//!
//! # if !sim::SIMULATED { return }
//! # let report = sim::Runner::new().hermetic().run(async || {
//! let [a, b] = ["a", "b"].map(sim::node);
//! let (sender, mut receiver) = net::link(&a, &b);
//! net::isolate(&a);
//! a.spawn(async move { sender.send("late").await.unwrap() }).detach();
//! sim::time::sleep(sim::time::Duration::from_secs(9)).await;
//! assert_eq!(receiver.try_recv(), None);
//! net::heal();
//! assert_eq!(receiver.recv().await, Some("late"));
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # Sockets
//!
//! With the feature `tokio` there are `TcpListener`, `TcpSocket`, `TcpStream` with its halves, and `UdpSocket`, under
//! tokio's names and with the traits of tokio and futures. A socket belongs to the node of the code that binds or
//! connects it; the test, outside of nodes, is a host of its own, which reaches all.
//!
//! - A name is the name of a node, an `alias`, or `localhost`. An address is [`Node::addr`] or an
//!   address of the loopback device. Port 0 is a free one from 49152. Ports that are in use,
//!   unknown names and addresses of others are errors of the kind that std has.
//! - Connections are 64 KiB wide and outlive cuts of up to 924 s. When a node is [killed](Node::kill) its kernel closes
//!   them and refuses others; when it is [switched off](Node::power_off) nobody tells or answers.
//! - Datagrams are messages of their own, with all that may happen to these.
//!
//! Outside of runs they are tokio's sockets, which need its runtime.
//!
//! # Outside of runs
//!
//! Outside of runs and in the real build nothing is cut, lost or late.

mod by_host;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod bytes;
mod channel;
mod datagrams;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod fabric;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod faults;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod inbox;
mod keys;
mod ops;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod queue;
mod refusal;
mod settings;
mod shows;
mod slots;
#[cfg(feature = "tokio")]
mod sockets;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod stream;

pub use self::channel::{Closed, Receiver, Sender, datagrams, link};
use self::fabric::{Fabric, Host};
pub use self::faults::{Faults, Latency};
#[cfg(feature = "tokio")]
pub use self::sockets::{
    TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, alias, lookup_host, tcp,
};
use crate::node::{Cluster, Node};
use crate::seam::{self, Here, here};

/// Sets what may happen to the messages of the run. Before the first use of the net.
#[track_caller]
pub fn faults(faults: Faults) {
    Fabric::of_run().set_faults(faults, here());
}

/// Cuts the link from one node to another. The other direction stays. Not a point.
#[track_caller]
pub fn cut(from: &Node, to: &Node) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), true, here());
}

/// Mends the link from one node to another. Not a point.
#[track_caller]
pub fn mend(from: &Node, to: &Node) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), false, here());
}

/// Cuts or mends the link from one node to another, called at `here`.
pub(crate) fn set_cut(from: &Node, to: &Node, is_cut: bool, here: Here) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), is_cut, here);
}

/// Mends all links, called at `here`.
pub(crate) fn heal_all(here: Here) {
    Fabric::of_run().heal(here);
}

/// Delays messages sent from now on from one node to another, by `by`, until [`unclog`] or
/// [`heal`]. Messages already on their way are not delayed. Not a point.
///
/// A message that overtakes others finds code that relies on their order: a late append of an old
/// leader, or a lease renewed after its end.
///
/// ```
/// use sim::net::{self, Latency};
/// use sim::time::{Duration, Instant};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::datagrams(&a, &b);
/// let begin = Instant::now();
/// net::clog(&a, &b, Latency::exact(Duration::from_millis(500)));
/// sender.send("first").await.unwrap();
/// net::unclog(&a, &b);
/// sender.send("second").await.unwrap();
/// assert_eq!(receiver.recv().await, Some("second"));
/// assert_eq!(receiver.recv().await, Some("first"));
/// assert_eq!(begin.elapsed(), Duration::from_millis(500));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn clog(from: &Node, to: &Node, by: Latency) {
    clog_at(from, to, Some(by), here());
}

/// Like [`clog`], in both directions.
#[track_caller]
pub fn clog_pair(one: &Node, other: &Node, by: Latency) {
    let here = here();
    clog_at(one, other, Some(by.clone()), here);
    clog_at(other, one, Some(by), here);
}

/// Ends a [`clog`] of the link from one node to another. Not a point.
#[track_caller]
pub fn unclog(from: &Node, to: &Node) {
    clog_at(from, to, None, here());
}

/// Clogs the link from one node to another or, for `None`, ends that, called at `here`.
pub(crate) fn clog_at(from: &Node, to: &Node, by: Option<Latency>, here: Here) {
    Fabric::of_run().link_to_change(Host::of(from), Host::of(to), here).clog(by, here);
}

/// Sets what may happen to messages that are sent from now on from one node to another, in place of what [`faults()`]
/// says for all links. [`heal`] leaves it. Not a point.
///
/// ```
/// use sim::net::{self, Faults, Latency};
/// use sim::time::Duration;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// net::faults(Faults::none().latency(Latency::lan()));
/// let [near, far] = ["near", "far"].map(sim::node);
/// let way = Latency::within(Duration::from_millis(80), Duration::from_millis(120));
/// net::faults_on(&near, &far, Faults::none().latency(way).loss(3).rate(100_000));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn faults_on(from: &Node, to: &Node, faults: Faults) {
    let here = here();
    Fabric::of_run().link(Host::of(from), Host::of(to), here).set_faults(faults, here);
}

/// Cuts a node off from all others, in both directions. The test, which is outside of nodes, still reaches it. Not a
/// point.
#[track_caller]
pub fn isolate(node: &Node) {
    isolate_at(node, here());
}

/// Cuts a node off from all others, called at `here`.
pub(crate) fn isolate_at(node: &Node, here: Here) {
    for other in seam::kept::<Cluster>().list(here) {
        if other != *node {
            let (one, other) = (Host::of(node), Host::of(&other));
            Fabric::of_run().set_cut(one, other, true, here);
            Fabric::of_run().set_cut(other, one, true, here);
        }
    }
}

/// Cuts the nodes into groups: the links between nodes of different groups, in both directions. Nodes in no group stay
/// connected to all. Not a point.
#[track_caller]
pub fn partition(groups: &[&[&Node]]) {
    let here = here();
    for (at, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(other, _)| *other != at);
        for other in others.flat_map(|(_, other)| other.iter()) {
            for node in *group {
                Fabric::of_run().set_cut(Host::of(node), Host::of(other), true, here);
            }
        }
    }
}

/// Mends all links, and ends all clogs. Not a point.
#[track_caller]
pub fn heal() {
    Fabric::of_run().heal(here());
}

/// The number of messages that clogs have delayed in the run so far. Not a point.
///
/// A search over a test that calls this or [`met`] tells runs apart by these numbers, and makes more of them.
#[track_caller]
pub fn delayed() -> u64 {
    let fabric = Fabric::of_run();
    fabric.counts(here());
    fabric.delayed()
}

/// The number of messages that cuts have lost or held in the run so far. A held message counts once
/// for each cut that holds it. Not a point.
#[track_caller]
pub fn met() -> u64 {
    let fabric = Fabric::of_run();
    fabric.counts(here());
    fabric.met()
}

/// Like [`delayed`], for reports.
pub(crate) fn delayed_so_far() -> u64 {
    Fabric::of_run().delayed()
}

/// Like [`met`], for reports.
pub(crate) fn met_so_far() -> u64 {
    Fabric::of_run().met()
}
