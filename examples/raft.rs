//! Raft: an elected leader replicates its log, over a network that loses messages, to nodes that restart.
//!
//! Each node keeps its term, its vote and its log in a [`Store`], which survives restarts. After each step, the example
//! checks that a term has at most one leader, and that committed entries remain. Three bugs of real implementations are
//! planted: a restart forgets a vote, logs are compared by length, and figure 8 of the paper (Ongaro and Ousterhout,
//! *In Search of an Understandable Consensus Algorithm*, 2014). In figure 8, a leader commits an entry of an earlier
//! term once a majority has it, and a later leader overwrites it. Faults are guided: they cut off leaders with
//! uncommitted entries, and restart nodes that have voted. `cargo run --example raft` prints the output at the end of
//! this file. With `UNPAUSE_LONG`, it also runs 100000 seeds of the fixed version.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use sim::net::{self, Faults, Latency, Receiver, Sender};
use sim::time::{Duration, Instant, sleep, sleep_until};
use sim::{Node, node};

use shared::Version::Buggy;
use shared::{Example, locked};

mod shared;

const NODES: usize = 3;
/// The latency of a message.
const TICK: Duration = Duration::from_millis(1);
/// The number of ticks between two messages of a leader.
const HEARTBEAT: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// A leader commits entries of earlier terms by their number of replicas.
    Figure8,
    /// A node votes before it saves its vote.
    VoteNotKept,
    /// The longer log wins, regardless of its terms.
    LengthFirst,
}

/// A term and a value.
type Entry = (u64, u64);

/// The state that a node must not lose.
#[derive(Clone, Debug, Default)]
struct Kept {
    term: u64,
    vote: Option<usize>,
    log: Vec<Entry>,
}

/// The store for this state.
trait Store: Send + Sync {
    fn load(&self) -> Kept;
    fn save(&self, kept: &Kept);
}

/// A store in memory that belongs to no node.
#[derive(Default)]
struct Memory(Mutex<Kept>);

impl Store for Memory {
    fn load(&self) -> Kept {
        locked(&self.0).clone()
    }

    fn save(&self, kept: &Kept) {
        locked(&self.0).clone_from(kept);
    }
}

/// A message with its term.
type Message = (u64, Body);

#[derive(Clone, Debug)]
enum Body {
    /// Requests a vote, with the term of the last entry and the length of the log.
    Ask {
        last: (u64, usize),
    },
    Vote,
    /// The whole log, to keep the program short, and the number of committed entries.
    Append {
        log: Vec<Entry>,
        committed: usize,
    },
    /// The sender's first `length` entries equal the leader's.
    Holds {
        length: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Follower,
    Candidate,
    Leader,
}

/// The state of a node in one life.
struct Raft {
    number: usize,
    bug: Option<Bug>,
    store: Arc<dyn Store>,
    kept: Kept,
    role: Role,
    committed: usize,
    votes: BTreeSet<usize>,
    /// For a leader: the number of entries that each node is known to hold.
    held: [usize; NODES],
    /// The time at which the node requests votes. `patience` is its election timeout.
    due: Instant,
    patience: Duration,
    ticked: Instant,
    /// Messages to send, each with its receiver.
    outbox: Vec<(usize, Message)>,
}

impl Raft {
    fn new(number: usize, bug: Option<Bug>, store: Arc<dyn Store>) -> Raft {
        let (now, patience) = (Instant::now(), patience(number));
        Raft {
            number,
            bug,
            kept: store.load(),
            store,
            role: Role::Follower,
            committed: 0,
            votes: BTreeSet::new(),
            held: [0; NODES],
            due: now + patience,
            patience,
            ticked: now,
            outbox: Vec::new(),
        }
    }

    fn send_all(&mut self, body: Body) {
        let others = (0..NODES).filter(|other| *other != self.number);
        self.outbox.extend(others.map(|other| (other, (self.kept.term, body.clone()))));
    }

    /// Returns the term of the last entry, and the number of entries.
    fn last(&self) -> (u64, usize) {
        let log = &self.kept.log;
        (log.last().map_or(0, |(term, _)| *term), log.len())
    }

    /// Saves the term and the vote.
    fn keep_vote(&self) {
        if self.bug != Some(Bug::VoteNotKept) {
            self.store.save(&self.kept);
        }
    }

    fn on_message(&mut self, from: usize, (term, body): Message) {
        if term > self.kept.term {
            (self.kept.term, self.kept.vote, self.role) = (term, None, Role::Follower);
            self.keep_vote();
        }
        let is_current = term == self.kept.term;
        match body {
            Body::Ask { last } if is_current && self.grants(from, last) => {
                self.kept.vote = Some(from);
                self.keep_vote();
                self.due = Instant::now() + self.patience;
                self.outbox.push((from, (term, Body::Vote)));
            }
            Body::Vote if is_current && self.role == Role::Candidate => {
                self.votes.insert(from);
                if self.votes.len() > NODES / 2 {
                    (self.role, self.held) = (Role::Leader, [0; NODES]);
                }
            }
            Body::Append { log, committed } if is_current => {
                self.role = Role::Follower;
                self.due = Instant::now() + self.patience;
                let length = log.len();
                self.take(log);
                self.committed = self.committed.max(committed.min(length));
                self.outbox.push((from, (term, Body::Holds { length })));
            }
            Body::Holds { length } if is_current && self.role == Role::Leader => {
                self.held[from] = self.held[from].max(length);
                self.commit();
            }
            // The message belongs to an old term.
            _ => {}
        }
    }

    fn grants(&self, candidate: usize, last: (u64, usize)) -> bool {
        let is_up_to_date = match self.bug {
            Some(Bug::LengthFirst) => last.1 >= self.last().1,
            _ => last >= self.last(),
        };
        let is_free = self.kept.vote.is_none_or(|vote| vote == candidate);
        self.role == Role::Follower && is_free && is_up_to_date
    }

    /// Adopts the leader's log. Keeps additional entries of its own, because the message may be old.
    fn take(&mut self, log: Vec<Entry>) {
        for (at, entry) in log.into_iter().enumerate() {
            if self.kept.log.get(at) != Some(&entry) {
                self.kept.log.truncate(at);
                self.kept.log.push(entry);
            }
        }
        self.store.save(&self.kept);
    }

    /// For a leader: commits the entries that a majority holds, up to the last such entry of its term.
    fn commit(&mut self) {
        let is_held = |length: &usize| {
            // The node's own entry in `held` is 0.
            let holders = 1 + self.held.iter().filter(|held| *held >= length).count();
            let is_own = self.kept.log[length - 1].0 == self.kept.term;
            holders > NODES / 2 && (is_own || self.bug == Some(Bug::Figure8))
        };
        let last = (self.committed + 1..=self.kept.log.len()).rfind(is_held);
        self.committed = last.unwrap_or(self.committed);
    }

    fn next_tick(&self) -> Instant {
        if self.role == Role::Follower { self.due } else { self.ticked + TICK * HEARTBEAT }
    }

    fn on_tick(&mut self, now: Instant) {
        self.ticked = now;
        if self.role == Role::Leader {
            let (log, committed) = (self.kept.log.clone(), self.committed);
            self.send_all(Body::Append { log, committed });
            // A client sends a write, which the next message replicates.
            if sim::rand::below(3) == 0 {
                self.kept.log.push((self.kept.term, self.kept.log.len() as u64));
                self.store.save(&self.kept);
            }
        } else if now >= self.due {
            self.kept.term += 1;
            (self.kept.vote, self.role) = (Some(self.number), Role::Candidate);
            self.keep_vote();
            self.votes = BTreeSet::from([self.number]);
            self.patience = patience(self.number);
            self.due = now + self.patience;
            self.send_all(Body::Ask { last: self.last() });
        }
    }
}

/// Draws the time without a leader after which a node requests votes.
fn patience(number: usize) -> Duration {
    TICK * (10 + number as u32 + 3 * sim::rand::below(3) as u32)
}

/// Facts about all nodes, for the invariants and the faults. They belong to no node.
#[derive(Default)]
struct Watch {
    leaders: BTreeMap<u64, usize>,
    committed: Vec<Entry>,
    /// The channels, by sender and receiver.
    senders: BTreeMap<(usize, usize), Sender<Message>>,
    /// The leader of the last term, and the number of its uncommitted entries.
    leader: Option<(usize, usize)>,
    /// A node that has voted for another node.
    voter: Option<usize>,
}

impl Watch {
    /// Checks the invariants after a step of a node.
    fn check(&mut self, raft: &Raft) {
        let Kept { term, vote, log } = &raft.kept;
        if raft.role == Role::Leader {
            let leader = *self.leaders.entry(*term).or_insert(raft.number);
            assert_eq!(leader, raft.number, "two leaders of term {term}");
            if self.leaders.keys().last() == Some(term) {
                self.leader = Some((raft.number, log.len().saturating_sub(raft.committed)));
            }
        }
        if vote.is_some_and(|vote| vote != raft.number) {
            self.voter = Some(raft.number);
        }
        for (at, known) in self.committed.iter().enumerate().take(raft.committed) {
            assert_eq!(log.get(at), Some(known), "committed entry {at} changed");
        }
        self.committed.extend(log.get(self.committed.len()..raft.committed).unwrap_or_default());
    }
}

/// One life of a node.
struct Server {
    raft: Mutex<Raft>,
    watch: Arc<Mutex<Watch>>,
}

impl Server {
    async fn run(self: Arc<Self>, number: usize, nodes: Vec<Node>) {
        for from in (0..NODES).filter(|from| *from != number) {
            let (sender, inbox) = net::datagrams(&nodes[from], &nodes[number]);
            locked(&self.watch).senders.insert((from, number), sender);
            nodes[number].spawn(self.clone().hear(from, number, inbox)).detach();
        }
        loop {
            let next = locked(&self.raft).next_tick();
            sleep_until(next).await;
            locked(&self.raft).on_tick(next);
            self.send(number).await;
        }
    }

    async fn hear(self: Arc<Self>, from: usize, number: usize, mut inbox: Receiver<Message>) {
        while let Some(message) = inbox.recv().await {
            locked(&self.raft).on_message(from, message);
            self.send(number).await;
        }
    }

    /// Ends a step: checks the invariants, then sends all pending messages.
    async fn send(&self, number: usize) {
        locked(&self.watch).check(&locked(&self.raft));
        let outbox = std::mem::take(&mut locked(&self.raft).outbox);
        for (to, message) in outbox {
            let sender = locked(&self.watch).senders.get(&(number, to)).cloned();
            if let Some(sender) = sender {
                let _ = sender.send(message).await;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Cuts off a leader with uncommitted entries, and heals the previously cut node.
    CutLeader,
    /// Restarts a node that has voted.
    Restart,
}

/// Runs three nodes under faults, for this many ticks.
async fn program(ticks: u32, bug: Option<Bug>, fault: Fault) {
    net::faults(Faults::none().latency(Latency::exact(TICK)));
    let nodes: Vec<Node> = (1..=NODES).map(|number| node(format!("n{number}"))).collect();
    let watch = Arc::<Mutex<Watch>>::default();
    for (number, node) in nodes.iter().enumerate() {
        let (watch, nodes) = (watch.clone(), nodes.clone());
        let store = Arc::new(Memory::default());
        node.run(move || {
            let raft = Mutex::new(Raft::new(number, bug, store.clone()));
            let server = Arc::new(Server { raft, watch: watch.clone() });
            server.run(number, nodes.clone())
        });
    }

    let mut left = ticks;
    while left > 0 {
        let pause = match fault {
            Fault::CutLeader => [1, 6, 15][sim::rand::below(3) as usize].min(left),
            Fault::Restart => 1,
        };
        sleep(TICK * pause).await;
        left -= pause;
        let leader = locked(&watch).leader.take();
        let voter = locked(&watch).voter.take();
        match (fault, leader, voter) {
            (Fault::CutLeader, Some((leader, 1..)), _) => {
                net::heal();
                net::isolate(&nodes[leader]);
            }
            (Fault::Restart, _, Some(voter)) => nodes[voter].restart(),
            _ => {}
        }
    }
    nodes.iter().for_each(Node::kill);
}

fn main() -> ExitCode {
    let mut example = Example::new("raft: a node that restarts forgets its vote, and votes twice");
    let cut = Fault::CutLeader;
    example.check("raft_vote", async |version| {
        program(30, (version == Buggy).then_some(Bug::VoteNotKept), Fault::Restart).await;
    });
    example.find("raft_figure_8", async || program(130, Some(Bug::Figure8), cut).await);
    example.find("raft_length", async || program(130, Some(Bug::LengthFirst), cut).await);
    example.pass_too("raft_cuts", async || program(130, None, cut).await);
    example.pass_long("raft_long", 100_000, async || program(130, None, cut).await);
    example.end()
}

// ---- Output ----
//
// raft: a node that restarts forgets its vote, and votes twice
//
// FAILED  raft_vote  seed 65: 0.1.1 n2 panicked
//
//   assertion `left == right` failed: two leaders of term 1
//     left: 0
//    right: 1
//
//   at          examples/raft.rs:275:13
//   tested      66 runs of seeds 0 to 999, portfolio
//   shrunk      from 61 steps, 3 preemptions, 22 tasks, 7 draws to 51 steps, 0 preemptions, 19 tasks,
//               6 draws (1574 replays)
//
// ── schedule ── 51 steps, 32 switches, 0 preemptions, 6 values drawn ────────────────────────────────
//
//   step  main          n1            n2            n3                                           place
//      0  now clock = 0s                                                       examples/raft.rs:122:32
//         spawn 0.0 n1                                                         examples/raft.rs:347:14
//         now clock = 0s                                                       examples/raft.rs:122:32
//         spawn 0.1 n2                                                         examples/raft.rs:347:14
//         now clock = 0s                                                       examples/raft.rs:122:32
//         spawn 0.2 n3                                                         examples/raft.rs:347:14
//         set_timer clock := 1ms                                                examples/raft.rs:360:9
//         draw 0 below 3
//         draw 0 below 3
//         draw 0 below 3
//      1  │                           0.1: spawn 0.1.0 n2, 0.1.1 n2            examples/raft.rs:301:27
//      2  │                           0.1.1: start
//      3  │                           │             0.2: spawn 0.2.0 n3,       examples/raft.rs:301:27
//         │                           │               0.2.1 n3
//      4  │                           0.1.0: start  │
//      5  │             0.0: spawn 0.0.0 n1, 0.0.1 n1                          examples/raft.rs:301:27
//      6  │             0.0.0: start  │             │
//      7  │             │             │             0.2.0: start
//      8  │             0.0.1: start  │             │
//      9  │             │             │             0.2.1: start
//   time moves on to 10ms
//     10  10 steps: sleep clock 10 times, set_timer clock 10 times              examples/raft.rs:360:9
//     20  │             0.0: 3 steps: sleep clock, send_later clock 2          examples/raft.rs:305:13
//         │               times, send to n2, send to n3
//   time moves on to 11ms
//     25  │             ├─ sent in 22 ──────────────▶                          examples/raft.rs:325:32
//     26  │             │             │             0.2.0: recv n1→n3#0        examples/raft.rs:312:41
//         │             │             │             0.2.0: now clock = 11ms    examples/raft.rs:167:28
//     27  │             │             │             0.2.0: send_later clock    examples/raft.rs:325:32
//         │             │             │               := 12ms
//         │             │             │             0.2.0: send to n1          examples/raft.rs:325:32
//     29  sleep clock = 11ms          │             │                           examples/raft.rs:360:9
//         restart n3    │             │             │                          examples/raft.rs:369:62
//         now clock = 11ms            │             │                          examples/raft.rs:122:32
//         spawn 0.3 n3  │             │             │                          examples/raft.rs:369:62
//         set_timer clock := 12ms     │             │                           examples/raft.rs:360:9
//         draw 0 below 3              │             │
//     30  │             │             │             0.3: spawn 0.3.0 n3,       examples/raft.rs:301:27
//         │             │             │               0.3.1 n3
//     31  │             │             │             0.3.0: start
//     32  │             │             │             0.3.1: start
//     33  │             ├─────────────▶             │                          examples/raft.rs:325:32
//     34  │             │             0.1: 3 steps: sleep clock, send_later    examples/raft.rs:305:13
//         │             │               clock 2 times, send to n1, send to n3
//     37  │             │             0.1.0: recv n1→n2                        examples/raft.rs:312:41
//   time moves on to 12ms
//     40  │             │             ├─────────────▶                          examples/raft.rs:325:32
//     41  sleep clock = 12ms          │             │                           examples/raft.rs:360:9
//         set_timer clock := 13ms     │             │                           examples/raft.rs:360:9
//     42                ◀─────────────┤             │                          examples/raft.rs:325:32
//     43                0.0.0: recv n2→n1           │                          examples/raft.rs:312:41
//     44                ◀─ sent in 27 ──────────────┤                          examples/raft.rs:325:32
//     45                0.0.1: recv n3→n1           │                          examples/raft.rs:312:41
//     46                              │             0.3.1: recv n2→n3#1        examples/raft.rs:312:41
//                                     │             0.3.1: now clock = 12ms    examples/raft.rs:167:28
//     47                              │             0.3.1: send_later clock    examples/raft.rs:325:32
//                                     │               := 13ms
//                                     │             0.3.1: send to n2          examples/raft.rs:325:32
//   time moves on to 13ms
//     49                              ◀─────────────┤                          examples/raft.rs:325:32
//     50                              0.1.1: recv n3→n2                        examples/raft.rs:312:41
//                                     0.1.1: drop_receiver n3→n2               examples/raft.rs:299:35
//                                     0.1.1: panics                            examples/raft.rs:275:13
//
//   n3       node, used first at examples/raft.rs:342:53
//   clock    the time of the run
//   n1→n2    datagrams, used first at examples/raft.rs:299:35
//   n3→n2    datagrams, used first at examples/raft.rs:299:35
//   n1→n3#0  datagrams, created at examples/raft.rs:299:35
//   n2→n1    datagrams, used first at examples/raft.rs:299:35
//   n3→n1    datagrams, used first at examples/raft.rs:299:35
//   n2→n3#1  datagrams, used first at examples/raft.rs:299:35
//
// trace:   target/sim/unpause/example-raft.raft_vote/65.simtrace
// replay:  SIM_REPLAY=sim2:0=0/3=0/3=0/3,0.1,0.1.1,0.2,0.1.0,0.0,0.0.0,0.2.0,0.0.1,0.2.1,0x10,0.0=0/3,0.0x2,0.0.2,0.0.3x2,0.2.0x2,0.2.0.0,0=0/3,0.3,0.3.0,0.3.1,0.0.2,0.1=0/3,0.1x2,0.1.0,0.1.2,0.1.3x2,0,0.1.2,0.0.0,0.2.0.0,0.0.1,0.3.1x2,0.3.1.0x2,0.1.1 cargo run -p unpause --example raft
//
// the trace file, replayed, ends with the same failure
//
// passed  raft_vote_fixed: 1000 runs, 138038 steps
//
// FAILED  raft_figure_8  seed 3: 0.1.1 n2 panicked
//
//   assertion `left == right` failed: committed entry 0 changed
//     left: Some((1, 0))
//    right: Some((2, 0))
//
// FAILED  raft_length  seed 1: 0.2.0 n3 panicked
//
//   assertion `left == right` failed: committed entry 0 changed
//     left: Some((1, 0))
//    right: Some((2, 0))
//
// passed  raft_cuts: 1000 runs, 543734 steps
