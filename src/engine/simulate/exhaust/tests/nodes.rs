//! Acts on the table of nodes: tasks add nodes, look them up, list them, and read their addresses.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use super::act::Act;
use super::cluster::OnCluster;
use super::diamond::{Found, diamonds_of};
use super::program::Program;
use crate::run::op::kind::{Kind, faults};
use crate::run::op::node as kinds;
use crate::run::rng::Rng;
use crate::sync::Ordering::SeqCst;
use crate::{Atomic, Node, net, node};

/// An act on the table of nodes, beside the two initial nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnTable {
    /// Adds the node with this number, unless the run has it.
    Add(usize),
    /// Stores whether the run has this node.
    Find(usize),
    /// Stores whether its name is found.
    LookUp(usize),
    /// Stores its address, if the run has it.
    Address(usize),
    /// Stores the number of hosts to which a datagram to all hosts is sent.
    Broadcast,
    /// Cuts the first node off from all others.
    Isolate,
    /// Stores whether the run contains a datagram that reaches this node from the first node.
    Reach(usize),
    /// Gives the first node a main function, which adds to a word.
    Run,
    /// Has nodes share memory from now on.
    Share,
}

/// The names of nodes that are added while the program runs.
const NAMES: [&str; 2] = ["late", "later"];

impl OnTable {
    /// Returns `true` if the act depends on the order in which nodes were added.
    pub(super) fn sees_order(self) -> bool {
        use OnTable::{Address, Broadcast, Isolate, LookUp};
        matches!(self, Address(_) | Broadcast | Isolate | LookUp(_))
    }

    /// Returns `true` if the act applies to all tasks, including ended tasks.
    pub(super) fn sees_ends(self) -> bool {
        self == OnTable::Share
    }

    pub(super) async fn perform(self, nodes: &[Node; 2], words: &Arc<[Atomic<u64>; 2]>) {
        let find = |number: usize| node::find(NAMES[number]);
        match self {
            OnTable::Add(number) => {
                if find(number).is_none() {
                    drop(node::node(NAMES[number]));
                }
            }
            OnTable::Find(number) => {
                if find(number).is_some() {
                    words[number].store(2, SeqCst).await;
                }
            }
            OnTable::LookUp(number) => {
                if looks_up(NAMES[number]).await {
                    words[number].store(3, SeqCst).await;
                }
            }
            OnTable::Address(number) => {
                if let Some(IpAddr::V4(address)) = find(number).map(|node| node.addr()) {
                    words[0].store(u64::from(address.octets()[3]), SeqCst).await;
                }
            }
            OnTable::Broadcast => words[1].store(broadcast().await, SeqCst).await,
            OnTable::Isolate => net::isolate(&nodes[0]),
            OnTable::Reach(number) => {
                let Some(node) = find(number) else { return };
                let (sender, mut receiver) = net::link(&nodes[0], &node);
                let _ = sender.send(1_u64).await;
                crate::time::sleep(std::time::Duration::from_secs(1)).await;
                let reached = receiver.try_recv().is_some();
                words[number].store(4 + u64::from(reached), SeqCst).await;
            }
            OnTable::Run => {
                let words = words.clone();
                nodes[0].run(move || {
                    let words = words.clone();
                    async move {
                        words[0].fetch_add(1, SeqCst).await;
                    }
                });
            }
            OnTable::Share => node::share_memory(),
        }
    }
}

#[cfg(feature = "tokio")]
async fn looks_up(name: &str) -> bool {
    net::lookup_host((name, 1)).await.is_ok()
}

#[cfg(not(feature = "tokio"))]
async fn looks_up(name: &str) -> bool {
    node::find(name).is_some()
}

/// Sends a datagram to all hosts. Returns the number of receivers.
#[cfg(feature = "tokio")]
async fn broadcast() -> u64 {
    let socket = net::UdpSocket::bind("0.0.0.0:0").await.unwrap();
    socket.set_broadcast(true).unwrap();
    socket.send_to(b"x", "255.255.255.255:9").await.unwrap() as u64
}

#[cfg(not(feature = "tokio"))]
async fn broadcast() -> u64 {
    0
}

fn one_of(acts: &[OnTable], rng: &mut Rng) -> Act {
    Act::OnCluster(OnCluster::Table(acts[rng.below(acts.len() as u64) as usize]))
}

impl Act {
    /// Returns an act that adds a node, or looks for one.
    pub(super) fn table(rng: &mut Rng) -> Act {
        use OnTable::{Add, Find, LookUp};
        let number = rng.below(2) as usize;
        one_of(&[Add(number), Add(number), Find(number), LookUp(number)], rng)
    }

    /// Returns an act on names of nodes that does not show an address.
    pub(super) fn names(rng: &mut Rng) -> Act {
        use OnTable::{Add, Find};
        let number = rng.below(2) as usize;
        one_of(&[Add(number), Add(number), Find(number)], rng)
    }

    pub(super) fn address(rng: &mut Rng) -> Act {
        let number = rng.below(2) as usize;
        one_of(&[OnTable::Add(number), OnTable::Add(number), OnTable::Address(number)], rng)
    }

    pub(super) fn list(rng: &mut Rng) -> Act {
        use OnTable::{Add, Broadcast, Isolate, Reach};
        one_of(&[Add(0), Isolate, Reach(0), Broadcast], rng)
    }

    pub(super) fn main_of_node(rng: &mut Rng) -> Act {
        one_of(&[OnTable::Run], rng)
    }

    pub(super) fn share(rng: &mut Rng) -> Act {
        one_of(&[OnTable::Share], rng)
    }
}

type Acts = &'static [fn(&mut Rng) -> Act];

fn diamonds(acts: Acts, programs: Range<u64>) -> Found {
    diamonds_of(programs, |rng| Program::generate(rng, acts, (3, 3)))
}

const KINDS: [Acts; 5] = [
    &[Act::names, Act::names, Act::add],
    &[Act::table, Act::table, Act::address],
    &[Act::list, Act::list, Act::names],
    &[Act::main_of_node, Act::main_of_node, Act::death, Act::pause_node, Act::load],
    &[Act::share, Act::of_static, Act::of_static, Act::of_static],
];

#[test]
fn steps_on_the_table_of_nodes_that_do_not_conflict_can_be_swapped() {
    for acts in KINDS {
        let found = diamonds(acts, super::swapped());
        println!("{} pairs", found.pairs);
        assert_eq!(found.broken, None);
        assert!(found.pairs > 50);
    }
}

#[test]
fn a_relation_of_the_table_of_nodes_that_is_not_declared_is_found() {
    let pairs: [(&str, (Kind, Kind), Acts); 5] = [
        ("add, find", (kinds::ADD, kinds::FIND), KINDS[0]),
        ("add, list", (kinds::table::ADD, kinds::table::LIST), KINDS[2]),
        (
            "add, add in order",
            (kinds::table::ADD_IN_ORDER, kinds::table::ADD_IN_ORDER),
            &[Act::address, Act::address, Act::load],
        ),
        ("run, change", (kinds::RUN, kinds::CHANGE), KINDS[3]),
        ("see, change", (kinds::SEE, kinds::CHANGE), &[Act::death, Act::node_task]),
    ];
    for (name, pair, acts) in pairs {
        let found = faults::without(pair, || diamonds(acts, 0..20_000));
        found.assert_broken(name);
    }
}

/// An act on many tasks visits them in an order that does not depend on which of two tasks spawned first.
#[test]
fn two_spawns_commute_beside_each_act_on_many_tasks() {
    use OnCluster::{Count, Disk, Kill, KillAll, Late, Pause, PowerOff, Restart, Slow, Table};
    crate::engine::simulate::hook::install();
    let acts = [
        Table(OnTable::Share),
        Kill(0),
        KillAll,
        PowerOff(0),
        Restart(0),
        Pause(0),
        Slow(0, 2),
        Late(0),
        Disk(0, true),
    ];
    for act in acts {
        // If there are two nodes, an act on all nodes has both orders. For an act on one node, a second node would only
        // make the test longer.
        let is_on_all = matches!(act, Table(_) | KillAll);
        let nodes = if is_on_all || crate::long() { 2 } else { 1 };
        for spawned in (0..nodes).map(Count) {
            let on = |act| vec![Act::OnCluster(act)];
            let tasks = vec![vec![], on(act), on(spawned), on(Table(OnTable::Run))];
            let mut tally = super::Tally::default();
            tally.compare(&Program::new(tasks, 3, 1), 200_000);
            assert_eq!(tally.programs, 1, "{act:?}");
        }
    }
}
