//! A compare-and-set register on three nodes, with a primary and fail-over. The network cuts the primary off.
//!
//! An epoch's primary sends its chain of versions to the others, and answers a call when a majority accepts it. A node
//! that hears nothing asks a majority for the next epoch, and adopts the latest chain. A client asks only its own node,
//! so a deposed primary keeps answering. [`Chain`] checks calls online. Two bugs are planted. The output is at the end.

#![forbid(unsafe_code)]
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use shared::Version::Buggy;
use shared::{Example, locked};
use sim::check::chain::Chain;
use sim::check::models::{
    VersionedRegister, VersionedRegisterOp as Op, VersionedRegisterRet as Ret,
};
use sim::generate::Guess;
use sim::net::{self, Receiver, Sender};
use sim::recorder::Invoked;
use sim::time::{Duration, Instant, sleep, sleep_until};
use sim::{History, Node, node};
mod shared;

const NODES: usize = 3;
const TICK: Duration = Duration::from_millis(5);
/// The number of ticks between two messages of an idle primary.
const HEARTBEAT: u32 = 2;
/// The number of ticks without messages until a node takes over, by node.
const PATIENCE: [u32; NODES] = [4, 5, 6];
/// The number of ticks until a client gives up.
const TIMEOUT: u32 = 4;
type Calls = History<VersionedRegister>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// The primary answers reads immediately, although it may have been deposed.
    ReadsLocally,
    /// The primary answers updates at once, so they may be lost if it dies.
    AnswersEarly,
}

#[derive(Clone, Debug)]
enum Message {
    /// The chain, sent by the primary of an epoch.
    Append { epoch: u64, chain: Vec<u64>, round: u64 },
    /// The chain of this round was accepted.
    Accepted { epoch: u64, round: u64 },
    /// Requests the promise to reject earlier epochs.
    Prepare { epoch: u64 },
    /// The promise, with the current chain and the epoch in which it was written.
    Promised { epoch: u64, latest: (u64, Vec<u64>) },
}

/// A request that waits for a majority.
struct Waiting {
    round: u64,
    accepted: BTreeSet<usize>,
    /// The length of the chain that a majority then accepts.
    length: usize,
    /// The answer to the client; `None` for the first round of a primary.
    answer: Option<Ret>,
}

/// The state of a node.
struct Replica {
    number: usize,
    bug: Option<Bug>,
    is_primary: bool,
    /// The lowest epoch whose messages the node still accepts.
    promised: u64,
    /// The versions, the current one last. `chain_epoch` is the epoch in which the chain was written.
    chain: Vec<u64>,
    chain_epoch: u64,
    /// For a primary: the length of the chain prefix that a majority is known to have.
    committed: usize,
    round: u64,
    waiting: Vec<Waiting>,
    /// For each received promise, the epoch of the chain and the chain.
    promises: Vec<(u64, Vec<u64>)>,
    /// The time of the last message from a primary; for a primary, the time of its last message.
    heard: Instant,
    ticked: Instant,
    client: Client,
    /// Messages to send, each with its receiver.
    outbox: Vec<(usize, Message)>,
}

impl Replica {
    fn new(number: usize, bug: Option<Bug>, begin: Instant, history: Calls) -> Replica {
        Replica {
            number,
            bug,
            is_primary: number == 0,
            promised: 0,
            chain: vec![0],
            chain_epoch: 0,
            committed: 1,
            round: 0,
            waiting: Vec::new(),
            promises: Vec::new(),
            heard: begin,
            ticked: begin,
            client: Client { number: number as u64, open: None, updates: 0, history },
            outbox: Vec::new(),
        }
    }

    fn send_all(&mut self, message: Message) {
        let others = (0..NODES).filter(|other| *other != self.number);
        self.outbox.extend(others.map(|other| (other, message.clone())));
    }

    /// Sends the chain to the other nodes, and defers an answer until a majority has accepted it.
    fn begin_round(&mut self, answer: Option<Ret>) {
        self.round += 1;
        let (round, length) = (self.round, self.chain.len());
        self.waiting.push(Waiting { round, accepted: BTreeSet::new(), length, answer });
        self.send_chain();
    }

    fn send_chain(&mut self) {
        self.heard = Instant::now();
        let (epoch, round) = (self.promised, self.round);
        let append = Message::Append { epoch, chain: self.chain.clone(), round };
        self.send_all(append);
    }

    fn on_message(&mut self, from: usize, message: Message) {
        match message {
            Message::Append { epoch, chain, round } if epoch >= self.promised => {
                self.depose(epoch);
                (self.chain, self.chain_epoch, self.heard) = (chain, epoch, Instant::now());
                self.outbox.push((from, Message::Accepted { epoch, round }));
            }
            Message::Accepted { epoch, round } if self.is_primary && epoch == self.promised => {
                for waiting in self.waiting.iter_mut().filter(|waiting| waiting.round <= round) {
                    waiting.accepted.insert(from);
                }
                while self.waiting.first().is_some_and(|first| first.accepted.len() >= NODES / 2) {
                    let waiting = self.waiting.remove(0);
                    self.committed = self.committed.max(waiting.length);
                    if let Some(answer) = waiting.answer {
                        self.client.end(answer);
                    }
                }
            }
            Message::Prepare { epoch } if epoch > self.promised => {
                self.depose(epoch);
                self.heard = Instant::now();
                let latest = (self.chain_epoch, self.chain.clone());
                self.outbox.push((from, Message::Promised { epoch, latest }));
            }
            Message::Promised { epoch, latest } if epoch == self.promised && !self.is_primary => {
                self.promises.push(latest);
                if self.promises.len() > NODES / 2 {
                    self.take_over();
                }
            }
            // The message belongs to an old epoch.
            _ => {}
        }
    }

    /// Accepts an epoch of another primary.
    fn depose(&mut self, epoch: u64) {
        if epoch > self.promised {
            (self.promised, self.is_primary) = (epoch, false);
            self.waiting.clear();
            self.promises.clear();
        }
    }

    fn take_over(&mut self) {
        let latest = self.promises.drain(..).max_by_key(|(epoch, chain)| (*epoch, chain.len()));
        (_, self.chain) = latest.expect("its own is among them");
        (self.chain_epoch, self.is_primary) = (self.promised, true);
        // The adopted chain is committed when a majority has it.
        self.committed = 0;
        self.begin_round(None);
    }

    /// Asks the others for the next epoch that belongs to this node: its number modulo [`NODES`] is the node's.
    fn prepare(&mut self) {
        let mut later = self.promised + 1..;
        let epoch = later.find(|epoch| *epoch as usize % NODES == self.number);
        self.depose(epoch.expect("epochs do not end"));
        self.heard = Instant::now();
        self.promises.push((self.chain_epoch, self.chain.clone()));
        self.send_all(Message::Prepare { epoch: self.promised });
    }

    /// Returns the time of the next tick. An idle follower has no tick before its timeout.
    fn next_tick(&self) -> Instant {
        let is_busy = self.is_primary || self.client.open.is_some();
        if is_busy { self.ticked + TICK } else { self.heard + TICK * PATIENCE[self.number] }
    }

    fn on_tick(&mut self, now: Instant) {
        self.ticked = now;
        let silence = now - self.heard;
        if !self.is_primary && silence >= TICK * PATIENCE[self.number] {
            self.prepare();
        }
        if self.is_primary && silence >= TICK * HEARTBEAT {
            self.send_chain();
        }
        if self.client.gives_up(now) {
            self.waiting.retain(|waiting| waiting.answer.is_none());
        } else if self.is_primary && self.committed > 0 && self.client.open.is_none() {
            self.call(now);
        }
    }

    /// Begins the next call of the client, if any.
    fn call(&mut self, now: Instant) {
        let last = *self.chain.last().expect("a chain has a first version");
        match self.client.begin(now) {
            None => {}
            Some(Op::Read) if self.bug == Some(Bug::ReadsLocally) => {
                self.client.end(Ret::Version(self.chain[self.committed - 1]));
            }
            Some(Op::Read) => self.begin_round(Some(Ret::Version(last))),
            Some(Op::Update { from, .. }) if from != last => self.client.end(Ret::Updated(false)),
            Some(Op::Update { to, .. }) => {
                self.chain.push(to);
                let is_early = self.bug == Some(Bug::AnswersEarly);
                if is_early {
                    self.client.end(Ret::Updated(true));
                }
                self.begin_round((!is_early).then_some(Ret::Updated(true)));
            }
        }
    }
}

/// The client of a node. It has one call open at a time.
struct Client {
    number: u64,
    /// The open call, and the time of its invocation.
    open: Option<(Instant, Invoked<VersionedRegister>)>,
    /// The number of its updates. It is the end of a version name: 101 and 102 are versions of client 0.
    updates: u64,
    history: Calls,
}

/// Returns the version that a call returned or wrote, or that an open call may write.
fn version(op: &Op, ret: Option<&Ret>) -> Option<u64> {
    match (op, ret) {
        (_, Some(Ret::Version(id))) => Some(*id),
        (Op::Update { to, .. }, Some(Ret::Updated(true)) | None) => Some(*to),
        _ => None,
    }
}

impl Client {
    /// Draws the next call, if this tick has a call.
    fn begin(&mut self, now: Instant) -> Option<Op> {
        // 0 is a read, because shrinking replaces irrelevant draws by 0.
        let op = match sim::rand::below(4) {
            1 => {
                self.updates += 1;
                let from = self.history.guess(Guess::Own, version).unwrap_or(0);
                Op::Update { from, to: (self.number + 1) * 100 + self.updates }
            }
            2 => return None,
            _ => Op::Read,
        };
        self.open = Some((now, self.history.invoke(op.clone())));
        Some(op)
    }

    fn end(&mut self, ret: Ret) {
        if let Some((_, call)) = self.open.take() {
            call.ok(ret);
        }
    }

    /// Ends an open call that has waited too long. It may have taken effect, or may still take effect.
    fn gives_up(&mut self, now: Instant) -> bool {
        let late = self.open.take_if(|(since, _)| now - *since >= TICK * TIMEOUT);
        late.map(|(_, call)| call.info()).is_some()
    }
}

/// A node: its state, and the links to the other nodes.
struct Server {
    replica: Mutex<Replica>,
    senders: BTreeMap<usize, Sender<Message>>,
}

impl Server {
    async fn hear(self: Arc<Self>, from: usize, mut inbox: Receiver<Message>) {
        while let Some(message) = inbox.recv().await {
            locked(&self.replica).on_message(from, message);
            self.send().await;
        }
    }

    async fn tick(self: Arc<Self>) {
        loop {
            let next = locked(&self.replica).next_tick();
            sleep_until(next).await;
            locked(&self.replica).on_tick(next);
            self.send().await;
        }
    }

    async fn send(&self) {
        let outbox = std::mem::take(&mut locked(&self.replica).outbox);
        for (to, message) in outbox {
            // An error means that the run is ending and stops its nodes one after the other.
            let _ = self.senders[&to].send(message).await;
        }
    }
}

/// Runs three nodes and cuts off a random node for a while, or the primary if the cut is guided.
async fn program(bug: Option<Bug>, is_guided: bool) {
    let nodes: Vec<Node> = (1..=NODES).map(|number| node(format!("n{number}"))).collect();
    let mut senders = vec![BTreeMap::new(); NODES];
    let mut inboxes = Vec::new();
    for from in 0..NODES {
        for to in (0..NODES).filter(|to| *to != from) {
            let (sender, inbox) = net::link(&nodes[from], &nodes[to]);
            senders[from].insert(to, sender);
            inboxes.push((from, to, inbox));
        }
    }
    let history = History::new(VersionedRegister::new(0)).check_online(Chain::by_key);
    let server = |(number, senders): (usize, _)| {
        let begin = nodes[number].enter(|| Instant::now());
        let replica = Mutex::new(Replica::new(number, bug, begin, history.clone()));
        Arc::new(Server { replica, senders })
    };
    let servers: Vec<_> = senders.into_iter().enumerate().map(server).collect();
    for (node, server) in nodes.iter().zip(&servers) {
        node.spawn(server.clone().tick()).detach();
    }
    for (from, to, inbox) in inboxes {
        nodes[to].spawn(servers[to].clone().hear(from, inbox)).detach();
    }

    sleep(TICK * sim::rand::range(1..9) as u32).await;
    let is_primary = |number: &usize| locked(&servers[*number].replica).is_primary;
    let victim = match (0..NODES).find(is_primary) {
        Some(primary) if is_guided => primary,
        _ => sim::rand::below(NODES as u64) as usize,
    };
    net::isolate(&nodes[victim]);
    sleep(TICK * sim::rand::range(10..18) as u32).await;
    net::heal();
    sleep(TICK * 5).await;
    // The cut held messages. A cut that holds no message tests nothing.
    assert!(net::met() > 0 || !sim::SIMULATED);
    let is_deposed = servers.iter().any(|server| locked(&server.replica).promised > 0);
    sim::sometimes!(is_deposed || !sim::SIMULATED, "another node takes over");
    nodes.iter().for_each(Node::kill);
}

fn main() -> ExitCode {
    let mut example = Example::new("cas_register: a deposed primary answers reads");
    let (local, early) = (Some(Bug::ReadsLocally), Some(Bug::AnswersEarly));
    example.check("cas_register", async |v| program(local.filter(|_| v == Buggy), true).await);
    example.find("cas_register_early", async || program(early, true).await);
    for (name, bug) in [("reads locally", local), ("answers early", early)] {
        let guided = example.count(name, 300, async || program(bug, true).await);
        let any = example.count(name, 300, async || program(bug, false).await);
        if let (Some(guided), Some(any)) = (guided, any) {
            println!("{name}: {guided} of 300 seeds if the primary is cut, {any} if any node is");
        }
    }
    example.end()
}

// ---- Output ----
//
// cas_register: a deposed primary answers reads
//
// FAILED  cas_register  seed 0: history is not linearizable (versioned-register)
//
//   checked at  examples/cas_register.rs:330:59
//   tested      1 run of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 117 steps, 12 preemptions, 56 tasks, 19 draws to 74 steps, 0 preemptions, 41
//               tasks, 17 draws (1589 replays)
//
// ── history ── versioned-register, 2 of 15 operations, 2 of 2 clients ───────────────────────────────
//
//   0.0 n1                               ├ Read → 0 ┤
//                                        ^^^^^^^^^^^^ fits nowhere
//   0.1 n2  ├ Update(0 to 201) → true ┤
//
//   The other 13 are not shown: no order explains these, whatever else was done.
//
//   stale read: `Read` by 0.0 n1 read version 0. When it was invoked, the chain 0 → 201 was known
//   already by `Update(0 to 201)` by 0.1 n2, 1 version newer.
//
// ── schedule ── 74 steps, 37 switches, 0 preemptions, 17 values drawn ───────────────────────────────
//
//   step  main          n1            n2           n3                                            place
//      0  now clock = 0s                                                      …/cas_register.rs:332:44
//         now clock = 0s                                                      …/cas_register.rs:332:44
//         now clock = 0s                                                      …/cas_register.rs:332:44
//         spawn 0.0 n1, 0.1 n2, 0.2 n3                                        …/cas_register.rs:338:14
//         spawn 0.3 n2 to 0.8 n2                                              …/cas_register.rs:341:19
//         set_timer clock := 5ms                                               …/cas_register.rs:344:5
//         draw 0 below 8
//      1  │                           0.1: start
//      2  │                           │            0.2: start
//      3  │                           0.3: start   │
//      4  │                           │            0.4: start
//      5  │             0.5: start    │            │
//      6  │             │             │            0.6: start
//      7  │             0.7: start    │            │
//      8  │             │             0.8: start   │
//      9  │             0.0: start    │            │
//   time moves on to 5ms
//     10  │             0.0: sleep clock = 5ms     │                          …/cas_register.rs:303:13
//         │             0.0: draw 0 below 4        │
//     11  sleep clock = 5ms           │            │                           …/cas_register.rs:344:5
//         cut n1>n2     │             │            │                           …/cas_register.rs:350:5
//         cut n2>n1     │             │            │                           …/cas_register.rs:350:5
//         cut n1>n3     │             │            │                           …/cas_register.rs:350:5
//         cut n3>n1     │             │            │                           …/cas_register.rs:350:5
//         set_timer clock := 60ms     │            │                           …/cas_register.rs:351:5
//         draw 1 below 8              │            │
//   time moves on to 25ms
//     12                0.0: 8 steps: sleep clock 4 times, now clock 2        …/cas_register.rs:303:13
//                         times, send to n2 2 times, send to n3 2 times
//     20                │             0.1: 3 steps: sleep clock, now          …/cas_register.rs:303:13
//                       │               clock, send to n1, send to n3
//     23                │             ├────────────▶                          …/cas_register.rs:313:39
//     24                │             │            0.6: recv n2→n3            …/cas_register.rs:294:41
//                       │             │            0.6: now clock = 25ms      …/cas_register.rs:150:30
//     25                │             │            0.6: send to n2            …/cas_register.rs:313:39
//     26                │             ◀────────────┤                          …/cas_register.rs:313:39
//     27                │             0.8: 3 steps: recv n3→n2, now clock,    …/cas_register.rs:294:41
//                       │               send to n1, send to n3
//     30                │             ├────────────▶                          …/cas_register.rs:313:39
//     31                │             │            0.6: recv n2→n3            …/cas_register.rs:294:41
//                       │             │            0.6: now clock = 25ms      …/cas_register.rs:133:77
//     32                │             │            0.6: send to n2            …/cas_register.rs:313:39
//     33                │             ◀────────────┤                          …/cas_register.rs:313:39
//     34                │             0.8: recv n3→n2                         …/cas_register.rs:294:41
//   time moves on to 30ms
//     35                │             │            0.2: sleep clock = 30ms    …/cas_register.rs:303:13
//   time moves on to 50ms
//     36                0.0: 11 steps: sleep clock 5 times, now clock 3       …/cas_register.rs:303:13
//                         times, send to n2 3 times, send to n3 3 times
//     47                │             0.1: 3 steps: sleep clock, now          …/cas_register.rs:303:13
//                       │               clock, send to n1, send to n3
//     50                │             ├────────────▶                          …/cas_register.rs:313:39
//     51                │             │            0.6: recv n2→n3            …/cas_register.rs:294:41
//                       │             │            0.6: now clock = 50ms      …/cas_register.rs:133:77
//     52                │             │            0.6: send to n2            …/cas_register.rs:313:39
//     53                │             ◀────────────┤                          …/cas_register.rs:313:39
//     54                │             0.8: recv n3→n2                         …/cas_register.rs:294:41
//   time moves on to 55ms
//     55                │             │            0.2: sleep clock = 55ms    …/cas_register.rs:303:13
//     56                0.0: sleep clock = 55ms    │                          …/cas_register.rs:303:13
//                       0.0: draw 0 below 4        │
//   time moves on to 60ms
//     57                │             0.1: 6 steps: sleep clock 2 times,      …/cas_register.rs:303:13
//                       │               now clock 2 times, send to n1 2
//                       │               times, send to n3 2 times
//     63                │             ├────────────▶                          …/cas_register.rs:313:39
//     64                │             ├────────────▶                          …/cas_register.rs:313:39
//     65                │             │            0.6: 4 steps: recv         …/cas_register.rs:294:41
//                       │             │              n2→n3 2 times, now
//                       │             │              clock 2 times, send to
//                       │             │              n2 2 times
//     69                │             ◀────────────┤                          …/cas_register.rs:313:39
//     70                │             ◀────────────┤                          …/cas_register.rs:313:39
//     71                │             0.8: recv n3→n2                         …/cas_register.rs:294:41
//     72                │             0.8: recv n3→n2                         …/cas_register.rs:294:41
//     73                0.0: sleep clock = 60ms                               …/cas_register.rs:303:13
//                       0.0: now clock = 60ms                                 …/cas_register.rs:123:22
//                       0.0: draw 0 below 4
//
//   n1>n2  link, used first at examples/cas_register.rs:325:35
//   n1>n3  link, used first at examples/cas_register.rs:325:35
//   n2>n1  link, used first at examples/cas_register.rs:325:35
//   n2→n3  link, used first at examples/cas_register.rs:325:35
//   n3>n1  link, used first at examples/cas_register.rs:325:35
//   n3→n2  link, used first at examples/cas_register.rs:325:35
//   clock  the time of the run
//
// trace:   target/sim/unpause/example-cas_register.cas_register/0.simtrace
// replay:  SIM_REPLAY=sim2:0=0/8,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.0,0.0=0/4,0=1/8,0.0=0/4,0.0x2,0.0=0/4,0.0=0/4,0.0x2,0.0=0/4,0.1x3,0.1.1,0.6x2,0.6.0,0.8x3,0.8.1,0.6x2,0.6.1,0.8,0.2,0.0=0/4,0.0x2,0.0=0/4,0.0=0/4,0.0x2,0.0=0/4,0.0=0/4,0.0x2,0.1=0/4,0.1x2,0.1.3,0.6x2,0.6.2,0.8,0.2,0.0=0/4,0.1=0/4,0.1=1/4,0.1x4,0.1.5,0.1.7,0.6x4,0.6.3,0.6.4,0.8x2,0.0=0/4 cargo run -p unpause --example cas_register
//
// the trace file, replayed, ends with the same failure
//
// passed  cas_register_fixed: 1000 runs, 279901 steps
//
// FAILED  cas_register_early  seed 0: history is not linearizable (versioned-register)
//
//   checked at  examples/cas_register.rs:330:59
//
// reads locally: 157 of 300 seeds if the primary is cut, 55 if any node is
// answers early: 206 of 300 seeds if the primary is cut, 79 if any node is
