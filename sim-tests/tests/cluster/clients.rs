//! Clients of a cluster: one branch for each, more branches than in other shapes, and properties of the run.

use std::sync::Arc;

use sim::check::{Key, Model};
use sim::nemesis::{Nemesis, Victim};
use sim::time::{Duration, sleep};
use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape, Topology, node};

use super::{failure, passes, screen};

const NODES: usize = 3;

/// Registers, and the clients that write and read them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Store {
    values: Vec<u64>,
    topology: Topology,
}

/// One operation of a client at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Op {
    key: usize,
    node: usize,
    /// None to read.
    value: Option<u64>,
}

impl Model for Store {
    type Op = Op;
    type Ret = u64;

    fn step(&mut self, op: &Op) -> u64 {
        let place = &mut self.values[op.key];
        *place = op.value.unwrap_or(*place);
        *place
    }

    fn partition(op: &Op) -> Option<Key> {
        Some(Key::of(&op.key))
    }
}

impl Program for Store {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let client = self.topology.client(g.client().unwrap_or(0));
        let node = client.node.unwrap_or_else(|| g.below(NODES as u64) as usize);
        let value = client.writes.then_some(u64::from(g.id().0) + 1);
        Op { key: client.key, node, value }
    }
}

/// A copy of each register at each node. The bug: a node answers from its own copy, which a write reaches later.
fn store(topology: &Topology, from_own: bool) -> sim::report::Report {
    let keys = topology.clients().iter().map(|client| client.key + 1).max().unwrap_or(0);
    Runner::new().hermetic().seeds(0..100).run(async || {
        let copies: Vec<[Atomic<u64>; NODES]> =
            (0..keys).map(|_| std::array::from_fn(|_| Atomic::new(0))).collect();
        let store = Store { values: vec![0; keys], topology: topology.clone() };
        let shape = Shape::clients(topology.clone()).max_branch_length(3);
        sim::parallel(shape, store, async |Op { key, node, value }| {
            let home = key % NODES;
            let Some(value) = value else {
                return copies[key][if from_own { node } else { home }].load(SeqCst).await;
            };
            copies[key][home].store(value, SeqCst).await;
            for copy in copies[key].iter().enumerate().filter(|(node, _)| *node != home) {
                copy.1.store(value, SeqCst).await;
            }
            value
        })
        .await;
    })
}

#[cfg_attr(feature = "sim", test)]
fn twelve_clients_find_the_node_that_answers_from_its_own_copy() {
    for topology in [Topology::sticky(NODES, 3), Topology::sticky(NODES, 3).roaming()] {
        assert_eq!(topology.clients().len(), 12);
        let found = store(&topology, true);
        assert_eq!(failure(&found).kind(), "history", "{}", screen(&found));
        // The write, the read of the new value, and the read of the old value.
        let left = found.finding.as_ref().unwrap().run.programs[0].left().len();
        assert!(left <= 3, "{left} commands\n{}", screen(&found));
        let fixed = store(&topology, false);
        passes(&fixed);
        assert!(fixed.warnings.is_empty(), "{:?}", fixed.warnings);
    }
}

#[test]
fn each_client_has_its_key_and_its_node() {
    let topology = Topology::sticky(NODES, 5);
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let store = Store { values: vec![0; 5], topology: topology.clone() };
        let asked = std::sync::Mutex::new(Vec::new());
        let values: [Atomic<u64>; 5] = std::array::from_fn(|_| Atomic::new(0));
        sim::parallel(Shape::clients(topology.clone()), store, async |op| {
            asked.lock().unwrap().push((op.key, op.node, op.value.is_some()));
            match op.value {
                None => values[op.key].load(SeqCst).await,
                Some(value) => {
                    values[op.key].store(value, SeqCst).await;
                    value
                }
            }
        })
        .postcondition(async |op, _| {
            let is = |client: &&sim::generate::Client| {
                (client.key, client.node, client.writes)
                    == (op.key, Some(op.node), op.value.is_some())
            };
            assert!(topology.clients().iter().any(|client| is(&client)), "{op:?}");
        })
        .validate(async || {
            let mut asked = asked.lock().unwrap().clone();
            asked.sort_unstable();
            asked.dedup();
            assert!(asked.len() >= topology.clients().len(), "each client asks at least once");
        })
        .await;
    });
    passes(&report);
}

/// A node that counts, and restarts with what it has stored or with nothing.
async fn counts(stores: bool) {
    let nodes = [node("a")];
    let stored = Arc::new(Atomic::new(0));
    let kept = stored.clone();
    nodes[0].run(move || {
        let kept = kept.clone();
        async move {
            let first = if stores { kept.load(SeqCst).await } else { 0 };
            for next in first + 1..=3 {
                let before = kept.load(SeqCst).await;
                sim::always!(before < next, "the count only grows");
                kept.store(next, SeqCst).await;
                sleep(Duration::from_millis(20)).await;
            }
        }
    });
    Nemesis::new().restart(Victim::one()).faults(1..=2).run(&nodes).await;
    sim::eventually!(stored.load(SeqCst).await == 3, within = Duration::from_millis(100)).await;
}

#[cfg_attr(feature = "sim", test)]
fn a_property_in_the_code_of_a_node_holds_always() {
    let runner = || Runner::new().hermetic().seeds(0..100);
    let found = runner().run(async || counts(false).await);
    let sim::run::Failure::Panic { message, .. } = failure(&found) else {
        panic!("{}", screen(&found))
    };
    assert_eq!(message, "the count only grows: `before < next` does not hold");
    passes(&runner().run(async || counts(true).await));
}

/// A task that ends its work after `millis` milliseconds.
async fn works(millis: u64) {
    let done = Arc::new(Atomic::new(false));
    let work = sim::spawn({
        let done = done.clone();
        async move {
            sleep(Duration::from_millis(millis)).await;
            done.store(true, SeqCst).await;
        }
    });
    sim::eventually!(done.load(SeqCst).await, within = Duration::from_millis(100)).await;
    work.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn what_holds_eventually_does_so_in_time() {
    passes(&Runner::new().hermetic().seeds(0..20).run(async || works(99).await));
    let late = Runner::new().hermetic().seeds(0..20).run(async || works(101).await);
    let sim::run::Failure::Panic { message, .. } = failure(&late) else {
        panic!("{}", screen(&late))
    };
    assert!(message.contains("did not come to hold within 100ms"), "{message}");
    // The message names the value that the wait read last, and the task that would change it.
    assert!(message.contains("\nlast seen: load atomic = false at "), "{message}");
    assert!(message.contains("\nwaits: 0.0: "), "{message}");
    assert!(screen(&late).contains("last seen: load atomic = false"), "{}", screen(&late));
}

/// A message that a cut holds.
async fn asks(is_cut: bool) {
    let nodes = [node("a"), node("b")];
    let (sender, mut inbox) = sim::net::link::<u64>(&nodes[0], &nodes[1]);
    let heard = Arc::new(Atomic::new(0));
    let own = heard.clone();
    let hears = nodes[1].spawn(async move {
        own.store(inbox.recv().await.unwrap_or(0), SeqCst).await;
    });
    if is_cut {
        sim::net::cut(&nodes[0], &nodes[1]);
    }
    sender.send(7).await.unwrap();
    sim::eventually!(heard.load(SeqCst).await == 7, within = Duration::from_millis(50)).await;
    hears.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn what_does_not_hold_in_time_names_the_messages_on_their_way() {
    let late = Runner::new().hermetic().seeds(0..20).run(async || asks(true).await);
    let sim::run::Failure::Panic { message, .. } = failure(&late) else {
        panic!("{}", screen(&late))
    };
    assert!(message.contains("\nwaits: 0.0 b: recv at "), "{message}");
    assert!(message.contains("\non its way: a→b, sent at "), "{message}");
    passes(&Runner::new().hermetic().seeds(0..20).run(async || asks(false).await));
}

/// Spawns nodes, `needs` of which must be up when the system runs without faults.
async fn spreads(needs: usize) {
    let nodes: Vec<_> = ["a", "b", "c"].map(node).into();
    let known = Arc::new(Atomic::new(0));
    for node in &nodes {
        let known = known.clone();
        node.run(move || {
            let known = known.clone();
            async move {
                known.fetch_add(1, SeqCst).await;
            }
        });
    }
    nodes.iter().for_each(sim::Node::kill);
    known.store(0, SeqCst).await;
    let core = sim::nemesis::majority(&nodes);
    sim::nemesis::quiesce_core(&nodes, &core, Duration::from_millis(10)).await;
    assert_eq!(core.len(), 2);
    assert!(nodes.iter().all(|node| node.is_up() == core.contains(node)));
    sim::eventually!(known.load(SeqCst).await >= needs, within = Duration::from_millis(50)).await;
}

#[cfg_attr(feature = "sim", test)]
fn a_protocol_that_needs_all_nodes_does_not_live_with_the_core() {
    let runner = || Runner::new().hermetic().seeds(0..30);
    assert_eq!(failure(&runner().run(async || spreads(3).await)).kind(), "panic");
    passes(&runner().run(async || spreads(2).await));
}

/// The core must be connected, and the third node must be cut off from the core.
async fn core_talks() {
    let nodes: Vec<_> = ["a", "b", "c"].map(node).into();
    sim::net::isolate(&nodes[0]);
    let mut ends = Vec::new();
    for from in &nodes {
        for to in nodes.iter().filter(|to| *to != from) {
            ends.push((from.clone(), to.clone(), sim::net::link::<()>(from, to)));
        }
    }
    let core = sim::nemesis::majority(&nodes);
    sim::nemesis::quiesce_core(&nodes, &core, Duration::from_millis(10)).await;
    for (.., (sender, _)) in &ends {
        sender.send(()).await.unwrap();
    }
    sleep(Duration::from_millis(10)).await;
    for (from, to, (_, inbox)) in &mut ends {
        let both = core.contains(from) && core.contains(to);
        assert_eq!(inbox.try_recv().is_some(), both, "{} {}", from.name(), to.name());
    }
}

#[cfg_attr(feature = "sim", test)]
fn only_the_core_is_healed() {
    passes(&Runner::new().hermetic().seeds(0..50).run(core_talks));
}
