//! Raft: an elected leader has the others keep a log, over a net that loses messages, and on nodes that restart.
//!
//! Each node keeps its term, its vote and its log in a [`Store`], which survives its death. Two things hold after each step,
//! however nodes are cut off and restarted: a term has one leader, and an entry that was committed stays. Three bugs of
//! real implementations are planted, one at a time: a vote that a restart forgets, logs compared by their length, and
//! figure 8 of the paper (Ongaro and Ousterhout, *In Search of an Understandable Consensus Algorithm*, 2014): a leader
//! counts the replicas of an entry of an earlier term, commits it, and a later leader overwrites it.
//!
//! Faults are guided: a leader is cut off while it has an entry that is not committed, and a node is restarted when it has
//! voted. `cargo run --example raft` prints the output at the end of this file. With `UNPAUSE_LONG` the fixed version runs
//! under 100000 seeds of each.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sim::net::{self, Faults, Latency, Receiver, Sender};
use sim::time::{Duration, Instant, sleep, sleep_until};
use sim::{Node, node};

use shared::Example;
use shared::Version::Buggy;

mod shared;

const NODES: usize = 3;
/// The time that a message takes.
const TICK: Duration = Duration::from_millis(1);
/// Ticks between two messages of a leader.
const HEARTBEAT: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// A leader commits entries of earlier terms by the number of their replicas.
    Figure8,
    /// A vote is not in the store when it is given.
    VoteNotKept,
    /// The longer log wins, whatever its terms.
    LengthFirst,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    term: u64,
    value: u64,
}

/// What a node must not forget.
#[derive(Clone, Debug, Default)]
struct Kept {
    term: u64,
    vote: Option<usize>,
    log: Vec<Entry>,
}

/// Where it is kept.
trait Store: Send + Sync {
    fn load(&self) -> Kept;
    fn save(&self, kept: &Kept);
}

/// A store that is in no node.
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

/// A message of a term.
type Message = (u64, Body);

#[derive(Clone, Debug)]
enum Body {
    /// Asks for a vote, with the term of the last entry and the length of the log.
    Ask {
        last: (u64, usize),
    },
    Vote,
    /// Entries from a place in the log on, with the term of the one before, and the number of committed entries.
    Append {
        at: usize,
        before: u64,
        entries: Vec<Entry>,
        committed: usize,
    },
    /// So many entries are as the leader has them.
    Holds {
        length: usize,
    },
    /// The log is shorter than that, or differs there.
    Lacks {
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
    /// As a leader: the length of what each node is sent next, and of what it is known to hold.
    next: [usize; NODES],
    held: [usize; NODES],
    /// When it asks for votes.
    due: Instant,
    ticked: Instant,
    /// Messages to be sent, each with its receiver.
    outbox: Vec<(usize, Message)>,
}

impl Raft {
    fn new(number: usize, bug: Option<Bug>, store: Arc<dyn Store>) -> Raft {
        let now = Instant::now();
        Raft {
            number,
            bug,
            kept: store.load(),
            store,
            role: Role::Follower,
            committed: 0,
            votes: BTreeSet::new(),
            next: [0; NODES],
            held: [0; NODES],
            due: now + patience(number),
            ticked: now,
            outbox: Vec::new(),
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let number = self.number;
        (0..NODES).filter(move |other| *other != number)
    }

    fn send(&mut self, to: usize, body: Body) {
        self.outbox.push((to, (self.kept.term, body)));
    }

    /// The term of the entry before a place in the log.
    fn term_before(&self, at: usize) -> u64 {
        at.checked_sub(1).map_or(0, |at| self.kept.log[at].term)
    }

    fn last(&self) -> (u64, usize) {
        (self.term_before(self.kept.log.len()), self.kept.log.len())
    }

    /// Keeps the term and the vote.
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
                self.due = Instant::now() + patience(self.number);
                self.send(from, Body::Vote);
            }
            Body::Vote if is_current && self.role == Role::Candidate => {
                self.votes.insert(from);
                if self.votes.len() > NODES / 2 {
                    self.role = Role::Leader;
                    // A guess; it begins with the last entry.
                    let next = self.kept.log.len().saturating_sub(1);
                    (self.next, self.held) = ([next; NODES], [0; NODES]);
                    self.append();
                }
            }
            Body::Append { at, before, entries, committed } if is_current => {
                self.role = Role::Follower;
                self.due = Instant::now() + patience(self.number);
                if self.kept.log.len() < at || self.term_before(at) != before {
                    let length = self.kept.log.len().min(at - 1);
                    return self.send(from, Body::Lacks { length });
                }
                let length = at + entries.len();
                self.take(at, entries);
                self.committed = self.committed.max(committed.min(length));
                self.send(from, Body::Holds { length });
            }
            Body::Holds { length } if is_current && self.role == Role::Leader => {
                self.held[from] = self.held[from].max(length);
                self.next[from] = self.held[from];
                self.commit();
            }
            Body::Lacks { length } if is_current && self.role == Role::Leader => {
                self.next[from] = length;
            }
            // Of a term that is over.
            _ => {}
        }
    }

    fn grants(&self, candidate: usize, last: (u64, usize)) -> bool {
        let is_free = self.kept.vote.is_none_or(|vote| vote == candidate);
        let (mine, theirs) = (self.last(), last);
        let is_up_to_date = match self.bug {
            Some(Bug::LengthFirst) => (theirs.1, theirs.0) >= (mine.1, mine.0),
            _ => theirs >= mine,
        };
        self.role == Role::Follower && is_free && is_up_to_date
    }

    /// Takes entries of the leader. Those that it has already are left: the message may be an old one.
    fn take(&mut self, at: usize, entries: Vec<Entry>) {
        for (at, entry) in (at..).zip(entries) {
            if self.kept.log.get(at) != Some(&entry) {
                self.kept.log.truncate(at);
                self.kept.log.push(entry);
            }
        }
        self.store.save(&self.kept);
    }

    /// As a leader: commits what a majority holds, up to the last entry of its term.
    fn commit(&mut self) {
        let is_held = |at: &usize| {
            let holders = self.others().filter(|other| self.held[*other] >= *at).count();
            let is_own = self.term_before(*at) == self.kept.term;
            1 + holders > NODES / 2 && (is_own || self.bug == Some(Bug::Figure8))
        };
        let last = (self.committed + 1..=self.kept.log.len()).rfind(is_held);
        self.committed = last.unwrap_or(self.committed);
    }

    /// As a leader: sends each node what it lacks.
    fn append(&mut self) {
        for to in self.others() {
            let at = self.next[to];
            let (before, entries) = (self.term_before(at), self.kept.log[at..].to_vec());
            self.send(to, Body::Append { at, before, entries, committed: self.committed });
        }
    }

    fn next_tick(&self) -> Instant {
        match self.role {
            Role::Follower => self.due,
            _ => self.ticked + TICK * HEARTBEAT,
        }
    }

    fn on_tick(&mut self, now: Instant) {
        self.ticked = now;
        if self.role == Role::Leader {
            self.append();
            // A client asks; what it writes is sent with the next message.
            if sim::rand::below(3) == 0 {
                let entry = Entry { term: self.kept.term, value: self.kept.log.len() as u64 };
                self.kept.log.push(entry);
                self.store.save(&self.kept);
            }
        } else if now >= self.due {
            self.kept.term += 1;
            (self.kept.vote, self.role) = (Some(self.number), Role::Candidate);
            self.keep_vote();
            self.votes = BTreeSet::from([self.number]);
            self.due = now + patience(self.number);
            let last = self.last();
            self.others().for_each(|other| self.send(other, Body::Ask { last }));
        }
    }
}

/// The time without a leader after which a node asks for votes.
fn patience(number: usize) -> Duration {
    TICK * (10 + number as u32 + 3 * sim::rand::below(3) as u32)
}

/// What is known of all nodes, in none of them: for the invariants, and for the faults.
#[derive(Default)]
struct Watch {
    leaders: BTreeMap<u64, usize>,
    committed: Vec<Entry>,
    /// The senders to each node, by sender and receiver.
    senders: BTreeMap<(usize, usize), Sender<Message>>,
    /// The leader of the last term, and the number of its entries that are not committed.
    leader: Option<(usize, usize)>,
    /// One that has voted for another.
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
                self.leader = Some((raft.number, log.len() - raft.committed));
            }
        }
        if vote.is_some_and(|vote| vote != raft.number) {
            self.voter = Some(raft.number);
        }
        for (at, entry) in log[..raft.committed].iter().enumerate() {
            match self.committed.get(at) {
                Some(known) => assert_eq!(known, entry, "committed entry {at} changed"),
                None => self.committed.push(*entry),
            }
        }
    }
}

/// The state of a node, or of none. No await while it is held.
fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    // Poisoned by the panic that ends the run.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A life of a node.
struct Server {
    raft: Mutex<Raft>,
    watch: Arc<Mutex<Watch>>,
}

impl Server {
    async fn run(self: Arc<Self>, nodes: Vec<Node>) {
        let (number, others) = {
            let raft = locked(&self.raft);
            (raft.number, raft.others())
        };
        for from in others {
            let (sender, inbox) = net::datagrams(&nodes[from], &nodes[number]);
            locked(&self.watch).senders.insert((from, number), sender);
            nodes[number].spawn(self.clone().hear(from, inbox)).detach();
        }
        loop {
            let next = locked(&self.raft).next_tick();
            sleep_until(next).await;
            self.act(|raft| raft.on_tick(next)).await;
        }
    }

    async fn hear(self: Arc<Self>, from: usize, mut inbox: Receiver<Message>) {
        while let Some(message) = inbox.recv().await {
            self.act(|raft| raft.on_message(from, message)).await;
        }
    }

    async fn act(&self, step: impl FnOnce(&mut Raft)) {
        let (number, outbox) = {
            let mut raft = locked(&self.raft);
            step(&mut raft);
            locked(&self.watch).check(&raft);
            (raft.number, std::mem::take(&mut raft.outbox))
        };
        for (to, message) in outbox {
            let sender = locked(&self.watch).senders.get(&(number, to)).cloned();
            if let Some(sender) = sender {
                // No error: datagrams get lost.
                let _ = sender.send(message).await;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Cuts off a leader that has entries that are not committed, and heals the one before.
    CutLeader,
    /// Cuts off any node, and heals the one before.
    CutAny,
    /// Restarts a node that has voted, and now and then a leader.
    Restart,
}

/// Three nodes under faults, for so many ticks.
async fn program(ticks: u32, bug: Option<Bug>, fault: Fault) {
    net::faults(Faults::none().latency(Latency::exact(TICK)));
    let nodes: Vec<Node> = (1..=NODES).map(|number| node(format!("n{number}"))).collect();
    let watch = Arc::<Mutex<Watch>>::default();
    for (number, node) in nodes.iter().enumerate() {
        let (watch, nodes) = (watch.clone(), nodes.clone());
        let store = Arc::new(Memory::default());
        node.run(move || {
            let raft = Mutex::new(Raft::new(number, bug, store.clone()));
            Arc::new(Server { raft, watch: watch.clone() }).run(nodes.clone())
        });
    }

    let end = Instant::now() + TICK * ticks;
    while Instant::now() < end {
        let pause = match fault {
            Fault::Restart => 1,
            _ => [1, 6, 15][sim::rand::below(3) as usize],
        };
        sleep(TICK * pause).await;
        let (leader, voter) = {
            let mut watch = locked(&watch);
            (watch.leader.take(), watch.voter.take())
        };
        match (fault, leader, voter) {
            (Fault::CutLeader, Some((leader, 1..)), _) => {
                net::heal();
                net::isolate(&nodes[leader]);
            }
            (Fault::CutAny, _, _) => {
                net::heal();
                net::isolate(&nodes[sim::rand::below(NODES as u64) as usize]);
            }
            (Fault::Restart, _, Some(voter)) => nodes[voter].restart(),
            (Fault::Restart, Some((leader, _)), _) if sim::rand::below(8) == 7 => {
                nodes[leader].restart();
            }
            _ => {}
        }
    }
    nodes.iter().for_each(Node::kill);
}

fn main() -> ExitCode {
    let mut example = Example::new("raft: a node that restarts forgets its vote, and votes twice");
    let (figure_8, vote, length) = (Bug::Figure8, Bug::VoteNotKept, Bug::LengthFirst);
    example.check("raft_vote", async |version| {
        program(30, (version == Buggy).then_some(vote), Fault::Restart).await;
    });
    example.find("raft_figure_8", async || program(130, Some(figure_8), Fault::CutLeader).await);
    example.find("raft_length", async || program(130, Some(length), Fault::CutLeader).await);
    example.pass_too("raft_cuts", async || program(130, None, Fault::CutLeader).await);
    for (name, fault) in [("raft_long_restarts", Fault::Restart), ("raft_long", Fault::CutLeader)] {
        example.pass_long(name, 100_000, async || program(130, None, fault).await);
    }
    example.end()
}

// ---- Output ----
//
// raft: a node that restarts forgets its vote, and votes twice
//
// FAILED  raft_vote  seed 187: 0.1.1 n2 panicked
//
//   assertion `left == right` failed: two leaders of term 1
//     left: 0
//    right: 1
//
//   at          examples/raft.rs:317:13
//   tested      188 runs of seeds 0 to 999, portfolio
//   shrunk      from 64 steps, 4 preemptions, 25 tasks, 10 draws to 55 steps, 1 preemption, 21 tasks,
//               8 draws (2225 replays)
//
// ── schedule ── 55 steps, 35 switches, 1 preemption, 8 values drawn ─────────────────────────────────
//
//   step  main          n1            n2            n3                                           place
//      0  now clock = 0s                                                       examples/raft.rs:133:19
//         spawn 0.0 n1                                                         examples/raft.rs:405:14
//         now clock = 0s                                                       examples/raft.rs:133:19
//         spawn 0.1 n2                                                         examples/raft.rs:405:14
//         now clock = 0s                                                       examples/raft.rs:133:19
//         spawn 0.2 n3                                                         examples/raft.rs:405:14
//         now clock = 0s                                                       examples/raft.rs:411:15
//         now clock = 0s                                                       examples/raft.rs:412:11
//         set_timer clock := 1ms                                                examples/raft.rs:417:9
//         draw 0 below 3
//         draw 0 below 3
//         draw 0 below 3
//      1  │                                         0.2: spawn 0.2.0 n3,       examples/raft.rs:355:27
//         │                                           0.2.1 n3
//      2  │                                         0.2.1: start
//      3  │                           0.1: spawn 0.1.0 n2, 0.1.1 n2            examples/raft.rs:355:27
//      4  │                           0.1.1: start  │
//      5  │                           │             0.2.0: start
//      6  │             0.0: spawn 0.0.0 n1, 0.0.1 n1                          examples/raft.rs:355:27
//      7  │             0.0.0: start  │             │
//      8  │             │             0.1.0: start  │
//      9  │             0.0.1: start  │             │
//   time moves on to 10ms
//     10  10 steps: sleep clock 10 times, now clock 10 times, set_timer         examples/raft.rs:417:9
//           clock 10 times            │             │
//     20  │             0.0: 3 steps: sleep clock, send_later clock 2          examples/raft.rs:359:13
//         │               times, send to n2, send n1→n2, …
//   time moves on to 11ms
//     25  │             ├─────────────▶             │                          examples/raft.rs:381:32
//     26  │             ├─ sent in 22 ──────────────▶                          examples/raft.rs:381:32
//     27  │             │             0.1: sleep clock = 11ms                  examples/raft.rs:359:13
//         │             │             0.1: draw 0 below 3
//         │             │             ├─ preempted ─┐
//     28  │             │             │             0.2.0: recv n1→n3#0        examples/raft.rs:365:41
//         │             │             │             0.2.0: now clock = 11ms    examples/raft.rs:185:28
//         │             │             │             0.2.0: draw 0 below 3
//     29  │             │             │             0.2.0: send_later clock    examples/raft.rs:381:32
//         │             │             │               := 12ms
//         │             │             │             0.2.0: send to n1          examples/raft.rs:381:32
//     31  sleep clock = 11ms          │             │                           examples/raft.rs:417:9
//         restart n3    │             │             │                          examples/raft.rs:431:62
//         now clock = 11ms            │             │                          examples/raft.rs:133:19
//         spawn 0.3 n3  │             │             │                          examples/raft.rs:431:62
//         now clock = 11ms            │             │                          examples/raft.rs:412:11
//         set_timer clock := 12ms     │             │                           examples/raft.rs:417:9
//         draw 0 below 3              │             │
//     32  │             │             │             0.3: spawn 0.3.0 n3,       examples/raft.rs:355:27
//         │             │             │               0.3.1 n3
//     33  │             │             │             0.3.0: start
//     34  │             │             │             0.3.1: start
//     35  │             │             0.1.0: recv n1→n2                        examples/raft.rs:365:41
//     36  │             │             0.1: send_later clock := 12ms            examples/raft.rs:381:32
//         │             │             0.1: send to n1                          examples/raft.rs:381:32
//     37  │             │             0.1: send_later clock := 12ms            examples/raft.rs:381:32
//         │             │             0.1: send to n3                          examples/raft.rs:381:32
//   time moves on to 12ms
//     40  │             │             ├─────────────▶                          examples/raft.rs:381:32
//     41  sleep clock = 12ms          │             │                           examples/raft.rs:417:9
//         now clock = 12ms            │             │                          examples/raft.rs:412:11
//         set_timer clock := 13ms     │             │                           examples/raft.rs:417:9
//     42                ◀─────────────┤             │                          examples/raft.rs:381:32
//     43                0.0.0: recv n2→n1           │                          examples/raft.rs:365:41
//     44                │             │             0.3.1: recv n2→n3#1        examples/raft.rs:365:41
//                       │             │             0.3.1: now clock = 12ms    examples/raft.rs:185:28
//                       │             │             0.3.1: draw 0 below 3
//     45                │             │             0.3.1: send_later clock    examples/raft.rs:381:32
//                       │             │               := 13ms
//                       │             │             0.3.1: send to n2          examples/raft.rs:381:32
//     46                ◀─ sent in 29 ──────────────┤                          examples/raft.rs:381:32
//     47                0.0.1: 3 steps: recv n3→n1, get message#4,             examples/raft.rs:365:41
//                         send_later clock 2 times, send to n2, …
//   time moves on to 13ms
//     53                              ◀─────────────┤                          examples/raft.rs:381:32
//     54                              0.1.1: recv n3→n2                        examples/raft.rs:365:41
//                                     0.1.1: drop_receiver n3→n2               examples/raft.rs:353:35
//                                     0.1.1: panics                            examples/raft.rs:317:13
//
//   n3         node, created at examples/raft.rs:400:53
//   clock      the time of the run
//   n1→n3#0    datagrams, created at examples/raft.rs:353:35
//   n1→n2      datagrams, used first at examples/raft.rs:353:35
//   n3→n2      datagrams, used first at examples/raft.rs:353:35
//   n2→n1      datagrams, used first at examples/raft.rs:353:35
//   n3→n1      datagrams, used first at examples/raft.rs:353:35
//   n2→n3#1    datagrams, used first at examples/raft.rs:353:35
//   message#4  used first at examples/raft.rs:353:35
//
// trace:   target/sim/unpause/example-raft.raft_vote/187.simtrace
// replay:  SIM_REPLAY=sim2:0=0/3=0/3=0/3,0.2,0.2.1,0.1,0.1.1,0.2.0,0.0,0.0.0,0.1.0,0.0.1,0x10,0.0=0/3,0.0x2,0.0.3,0.0.2x2,0.0.3,0.1=0/3,0.2.0=0/3,0.2.0,0.2.0.0,0=0/3,0.3,0.3.0,0.3.1,0.1.0,0.1x2,0.1.2,0.1.3x2,0,0.1.2,0.0.0,0.3.1=0/3,0.3.1,0.2.0.0,0.0.1x3,0.0.1.1,0.0.1.0,0.3.1.0x2,0.1.1 cargo run -p unpause --example raft
//
// the trace file, replayed, ends with the same failure
//
// passed  raft_vote_fixed: 1000 runs, 136376 steps
//
// FAILED  raft_figure_8  seed 11: 0.1.1 n2 panicked
//
//   assertion `left == right` failed: committed entry 0 changed
//     left: Entry { term: 2, value: 0 }
//    right: Entry { term: 1, value: 0 }
//
// FAILED  raft_length  seed 18: 0.2.1 n3 panicked
//
//   assertion `left == right` failed: committed entry 0 changed
//     left: Entry { term: 2, value: 0 }
//    right: Entry { term: 1, value: 0 }
//
// passed  raft_cuts: 1000 runs, 627062 steps
