//! Acts on nodes and links.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::act::Act;
use super::diamond::diamonds_of;
use super::nodes::OnTable;
use super::program::Program;
use super::residents::Wait;
use crate::fs::{self, DiskFault};
use crate::net::{self, Latency, Receiver, Sender};
use crate::node::Shift;
use crate::run::clock_mode::ClockMode;
use crate::run::op::kind::faults;
use crate::run::op::{clock as time_kinds, net as kinds, task as task_kinds};
use crate::run::rng::Rng;
use crate::sync::Ordering::SeqCst;
use crate::time::{Instant, SystemTime};
use crate::{Atomic, JoinHandle, Node};

/// The next act of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnCluster {
    Send(u64),
    SendDatagram(u64),
    /// Receives a message; only the first task does this.
    Recv,
    TryRecv,
    RecvDatagram,
    TryRecvDatagram,
    DropReceiver,
    Cut,
    /// Cuts the link back, which carries no message.
    CutBack,
    Mend,
    Isolate,
    Heal,
    /// Delays messages by a second.
    Clog,
    Unclog,
    Kill(usize),
    PowerOff(usize),
    Restart(usize),
    Pause(usize),
    Resume(usize),
    Look(usize),
    /// Spawns a task of the node, which writes twice.
    Spawn(usize),
    /// Spawns a task of the node. The task sleeps this number of seconds of the node's clock and writes.
    Nap(usize, u64),
    /// Makes the clock of the node run faster, by this number of halves of the true rate.
    Drift(usize, i8),
    /// Makes the clock of the node jump by this number of seconds.
    Jump(usize, u64),
    Correct(usize),
    /// Reads the wall clock of the node.
    Wall(usize),
    Now(usize),
    Slow(usize, u32),
    Late(usize),
    /// Spawns a task of the node. The task counts in a static, and stores the value that it saw.
    Count(usize),
    /// Spawns a task of the node. The task adds this number of times to its own word. Another task runs beside this
    /// task if the flag is set. At its end, the other task stores twice the value that it sees.
    Work(usize, u64, bool),
    /// Spawns a task of the node. The caller reads the task's memory.
    Show(usize),
    /// Counts in the static itself.
    CountOutside,
    /// Spawns a task of the first node, which writes a file, syncs it and stores the result.
    Write,
    /// Begins or ends the fault of its disk with this number.
    Disk(usize, bool),
    /// Spawns a task of the node, which waits so, adds and is a child of the caller.
    Reside(usize, Wait),
    /// Kills both nodes in one step.
    KillAll,
    Table(OnTable),
}

/// Each life of a node has its own `COUNT`.
static COUNT: Atomic<u64> = Atomic::<u64>::const_new(0);

const DISK_FAULTS: [DiskFault; 4] = [
    DiskFault::Full,
    DiskFault::Short,
    DiskFault::SyncErrors,
    DiskFault::Slow(Duration::from_secs(1)),
];

impl OnCluster {
    /// Returns `true` if its tasks draw values.
    pub(super) fn draws(self) -> bool {
        matches!(self, OnCluster::Late(_) | OnCluster::Disk(..))
    }

    /// Returns `true` if it ends tasks of others: of their classes a few run twice.
    pub(super) fn kills(self) -> bool {
        use OnCluster::{Kill, KillAll, PowerOff, Restart};
        matches!(self, Kill(_) | PowerOff(_) | Restart(_) | KillAll)
    }

    /// Returns `true` if the act depends on which tasks of a node have ended.
    pub(super) fn sees_ends(self) -> bool {
        let is_about_tasks = match self {
            OnCluster::Slow(..) | OnCluster::Late(_) | OnCluster::Disk(..) => true,
            OnCluster::Table(act) => act.sees_ends(),
            _ => false,
        };
        self.kills() || is_about_tasks || matches!(self, OnCluster::Pause(_) | OnCluster::Resume(_))
    }
}

/// Two nodes, and links from the first to the second.
pub(super) struct Objects {
    nodes: [Node; 2],
    sender: Sender<u64>,
    datagrams: Sender<u64>,
    /// The receivers, until the first task takes them.
    receivers: Mutex<Option<Receivers>>,
}

/// The receivers, which one task has.
pub(super) struct Receivers {
    link: Option<Receiver<u64>>,
    datagrams: Option<Receiver<u64>>,
}

impl Objects {
    pub(super) fn new() -> Objects {
        let nodes = ["a", "b"].map(crate::node);
        let (sender, link) = net::link(&nodes[0], &nodes[1]);
        let (datagrams, received) = net::datagrams(&nodes[0], &nodes[1]);
        let receivers = Receivers { link: Some(link), datagrams: Some(received) };
        Objects { nodes, sender, datagrams, receivers: Mutex::new(Some(receivers)) }
    }

    /// The receivers, for one task.
    pub(super) fn receivers(&self) -> Option<Receivers> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) async fn perform(
        &self,
        receivers: Option<&mut Receivers>,
        words: &std::sync::Arc<[Atomic<u64>; 2]>,
        act: OnCluster,
    ) -> Option<JoinHandle<()>> {
        let [a, b] = &self.nodes;
        let link = || receivers;
        match act {
            OnCluster::Send(value) => {
                if self.sender.send(value).await.is_err() {
                    words[1].store(8, SeqCst).await;
                }
            }
            OnCluster::SendDatagram(value) => drop(self.datagrams.send(value).await),
            OnCluster::Recv => {
                if let Some(receiver) = link().and_then(|own| own.link.as_mut()) {
                    let received = receiver.recv().await;
                    words[1].store(received.unwrap_or(9), SeqCst).await;
                }
            }
            OnCluster::TryRecv => {
                if let Some(receiver) = link().and_then(|own| own.link.as_mut()) {
                    if let Some(received) = receiver.try_recv() {
                        words[1].store(received, SeqCst).await;
                    }
                }
            }
            OnCluster::RecvDatagram => {
                if let Some(receiver) = link().and_then(|own| own.datagrams.as_mut()) {
                    let received = receiver.recv().await;
                    words[1].store(received.unwrap_or(9), SeqCst).await;
                }
            }
            OnCluster::TryRecvDatagram => {
                if let Some(receiver) = link().and_then(|own| own.datagrams.as_mut()) {
                    if let Some(received) = receiver.try_recv() {
                        words[1].store(received, SeqCst).await;
                    }
                }
            }
            OnCluster::DropReceiver => {
                if let Some(receivers) = link() {
                    drop(receivers.link.take());
                    crate::task::yield_now().await;
                }
            }
            OnCluster::Cut => net::cut(a, b),
            OnCluster::CutBack => net::cut(b, a),
            OnCluster::Mend => net::mend(a, b),
            OnCluster::Isolate => net::isolate(b),
            OnCluster::Heal => net::heal(),
            OnCluster::Clog => net::clog(a, b, Latency::exact(Duration::from_secs(1))),
            OnCluster::Unclog => net::unclog(a, b),
            OnCluster::Kill(node) => self.nodes[node].kill(),
            OnCluster::PowerOff(node) => self.nodes[node].power_off(),
            OnCluster::Restart(node) => self.nodes[node].restart(),
            OnCluster::Pause(node) => self.nodes[node].pause(),
            OnCluster::Resume(node) => self.nodes[node].resume(),
            OnCluster::Look(node) => {
                if self.nodes[node].is_up() {
                    words[0].store(5, SeqCst).await;
                }
            }
            OnCluster::Spawn(node) => {
                let words = words.clone();
                let task = self.nodes[node].spawn(async move {
                    words[0].fetch_add(1, SeqCst).await;
                    words[1].fetch_add(1, SeqCst).await;
                });
                task.detach();
            }
            OnCluster::Nap(node, seconds) => {
                let words = words.clone();
                let task = self.nodes[node].spawn(async move {
                    crate::time::sleep(Duration::from_secs(seconds)).await;
                    words[0].fetch_add(1, SeqCst).await;
                });
                task.detach();
            }
            OnCluster::Drift(node, halves) => {
                self.nodes[node].clock().set_drift(f64::from(halves) / 2.0);
            }
            OnCluster::Jump(node, by) => {
                self.nodes[node].clock().jump(Shift::Ahead(Duration::from_secs(by)));
            }
            OnCluster::Correct(node) => self.nodes[node].clock().correct(),
            OnCluster::Wall(node) => {
                let there = self.nodes[node].enter(SystemTime::now);
                let ahead = there.duration_since(SystemTime::now()).unwrap_or_default();
                words[1].store(ahead.as_millis() as u64, SeqCst).await;
            }
            OnCluster::Now(node) => drop(self.nodes[node].enter(Instant::now)),
            OnCluster::Slow(node, k) => self.nodes[node].slow(k),
            OnCluster::Late(node) => self.nodes[node].clock().late_timers(1),
            OnCluster::Count(node) => {
                let words = words.clone();
                let task = self.nodes[node].spawn(async move {
                    let seen = COUNT.fetch_add(1, SeqCst).await;
                    if seen == 1 {
                        words[0].store(seen, SeqCst).await;
                    }
                });
                task.detach();
            }
            OnCluster::Work(node, steps, is_shared) => {
                let words = words.clone();
                let task = self.nodes[node].spawn(async move {
                    let own = std::sync::Arc::new(Atomic::new(0));
                    let shared = own.clone();
                    if is_shared {
                        let other = crate::spawn(async move {
                            shared.fetch_add(2, SeqCst).await;
                        });
                        other.detach();
                    }
                    for _ in 0..steps {
                        own.fetch_add(3, SeqCst).await;
                    }
                    let seen = own.load(SeqCst).await;
                    words[0].store(seen, SeqCst).await;
                    words[1].store(seen, SeqCst).await;
                });
                task.detach();
            }
            OnCluster::Show(node) => {
                let own = self.nodes[node].enter(|| std::sync::Arc::new(Atomic::new(0)));
                let shared = own.clone();
                let task = self.nodes[node].spawn(async move {
                    shared.store(1, SeqCst).await;
                    shared.store(2, SeqCst).await;
                });
                task.detach();
                let seen = own.load(SeqCst).await;
                words[1].store(seen, SeqCst).await;
            }
            OnCluster::Write => {
                let words = words.clone();
                let task = self.nodes[0].spawn(async move {
                    let written = async {
                        let file = fs::File::create("/f").await?;
                        let count = file.write_at(b"ab", 0).await?;
                        file.sync_all().await?;
                        Ok::<_, std::io::Error>(count as u64)
                    };
                    let written = written.await.unwrap_or(9);
                    words[0].store(written, SeqCst).await;
                });
                task.detach();
            }
            OnCluster::Disk(fault, begins) => {
                let disk = fs::on(&self.nodes[0]);
                let fault = DISK_FAULTS[fault];
                if begins { disk.begin(fault) } else { disk.end(fault) }
            }
            OnCluster::CountOutside => drop(COUNT.fetch_add(1, SeqCst).await),
            OnCluster::Reside(node, wait) => {
                let words = words.clone();
                return Some(self.nodes[node].spawn(async move {
                    wait.pass().await;
                    words[0].fetch_add(1, SeqCst).await;
                }));
            }
            OnCluster::KillAll => self.nodes.iter().for_each(Node::kill),
            OnCluster::Table(act) => act.perform(&self.nodes, words).await,
        }
        None
    }
}

pub(super) fn one_of(acts: &[OnCluster], rng: &mut Rng) -> Act {
    Act::OnCluster(acts[rng.below(acts.len() as u64) as usize])
}

impl Act {
    pub(super) fn link(rng: &mut Rng) -> Act {
        use OnCluster::{DropReceiver, Recv, Send, TryRecv};
        one_of(&[Send(1), Send(2), Send(3), Recv, Recv, Recv, TryRecv, DropReceiver], rng)
    }

    pub(super) fn datagram(rng: &mut Rng) -> Act {
        use OnCluster::{RecvDatagram, SendDatagram, TryRecvDatagram};
        let sends = [SendDatagram(1), SendDatagram(2)];
        one_of(&[sends[0], sends[1], RecvDatagram, RecvDatagram, TryRecvDatagram], rng)
    }

    pub(super) fn cut(rng: &mut Rng) -> Act {
        use OnCluster::{Cut, CutBack, Heal, Isolate, Mend};
        one_of(&[Cut, Cut, Mend, Mend, Isolate, Heal, CutBack], rng)
    }

    pub(super) fn clog(rng: &mut Rng) -> Act {
        one_of(&[OnCluster::Clog, OnCluster::Clog, OnCluster::Unclog], rng)
    }

    pub(super) fn death(rng: &mut Rng) -> Act {
        use OnCluster::{Kill, Look, PowerOff, Restart};
        let node = rng.below(2) as usize;
        one_of(&[Kill(node), Kill(node), PowerOff(node), Restart(node), Look(node)], rng)
    }

    pub(super) fn pause_node(rng: &mut Rng) -> Act {
        use OnCluster::{Pause, Resume};
        one_of(&[Pause(0), Resume(0), Resume(0)], rng)
    }

    pub(super) fn clock_of_node(rng: &mut Rng) -> Act {
        use OnCluster::{Correct, Drift, Jump, Now, Wall};
        let node = rng.below(2) as usize;
        let acts = [
            Drift(node, 1),
            Drift(node, -1),
            Drift(node, 0),
            Jump(node, 1),
            Jump(node, 2),
            Correct(node),
            Wall(node),
            Wall(node),
            Now(node),
        ];
        one_of(&acts, rng)
    }

    pub(super) fn nap(rng: &mut Rng) -> Act {
        Act::OnCluster(OnCluster::Nap(rng.below(2) as usize, 1 + rng.below(2)))
    }

    pub(super) fn slow_node(rng: &mut Rng) -> Act {
        use OnCluster::Slow;
        one_of(&[Slow(0, 1), Slow(0, 3), Slow(0, 0)], rng)
    }

    pub(super) fn late_timers(_: &mut Rng) -> Act {
        Act::OnCluster(OnCluster::Late(0))
    }

    pub(super) fn of_static(rng: &mut Rng) -> Act {
        use OnCluster::{Count, CountOutside};
        one_of(&[Count(0), Count(1), Count(1), CountOutside], rng)
    }

    pub(super) fn disk(rng: &mut Rng) -> Act {
        use OnCluster::{Disk, Write};
        let fault = rng.below(DISK_FAULTS.len() as u64) as usize;
        one_of(&[Disk(fault, true), Disk(fault, true), Disk(fault, false), Write, Write], rng)
    }

    pub(super) fn node_work(rng: &mut Rng) -> Act {
        let node = rng.below(2) as usize;
        one_of(
            &[
                OnCluster::Work(node, rng.below(3), rng.below(2) == 0),
                OnCluster::Count(node),
                OnCluster::Show(node),
            ],
            rng,
        )
    }

    pub(super) fn node_task(rng: &mut Rng) -> Act {
        Act::OnCluster(OnCluster::Spawn(rng.below(2) as usize))
    }
}

fn diamonds(acts: &[fn(&mut Rng) -> Act], programs: Range<u64>) -> super::diamond::Found {
    diamonds_of(programs, |rng| Program::generate(rng, acts, (3, 3)))
}

#[test]
fn steps_on_clusters_that_do_not_conflict_can_be_swapped() {
    let acts: [fn(&mut Rng) -> Act; 7] = [
        Act::link,
        Act::link,
        Act::datagram,
        Act::cut,
        Act::death,
        Act::node_task,
        Act::pause_node,
    ];
    let found = diamonds(&acts, super::swapped());
    println!("{} pairs", found.pairs);
    assert_eq!(found.broken, None);
    assert!(found.pairs > 75);
}

/// Programs about clocks of nodes and slow nodes, whose time moves at any moment.
fn timed_diamonds(acts: &[fn(&mut Rng) -> Act], programs: Range<u64>) -> super::diamond::Found {
    let generate = |rng: &mut Rng| Program::generate(rng, acts, (2, 3)).with_clock(ClockMode::Any);
    diamonds_of(programs, generate)
}

#[test]
fn steps_on_clocks_that_do_not_conflict_can_be_swapped() {
    let clocks: &[fn(&mut Rng) -> Act] =
        &[Act::clock_of_node, Act::clock_of_node, Act::nap, Act::advance];
    let paces: &[fn(&mut Rng) -> Act] =
        &[Act::slow_node, Act::node_task, Act::nap, Act::late_timers, Act::death, Act::advance];
    for acts in [clocks, paces] {
        let found = timed_diamonds(acts, super::swapped());
        println!("{} pairs", found.pairs);
        assert_eq!(found.broken, None);
        assert!(found.pairs > 100);
    }
}

#[test]
fn a_wait_for_a_time_that_has_come_sees_the_move_that_came_before_it() {
    let sleeps: &[fn(&mut Rng) -> Act] = &[Act::sleep, Act::sleep, Act::advance, Act::store];
    let delays: &[fn(&mut Rng) -> Act] = &[Act::link, Act::link, Act::clog, Act::advance];
    let ends: &[fn(&mut Rng) -> Act] = &[Act::sleep, Act::abort, Act::spawn, Act::store];
    let deaths: &[fn(&mut Rng) -> Act] = &[Act::nap, Act::nap, Act::death];
    for acts in [sleeps, delays, ends, deaths] {
        let found = timed_diamonds(acts, 0..2 * super::swapped().end);
        println!("{} pairs", found.pairs);
        assert_eq!(found.broken, None);
        assert!(found.pairs > 100);
    }
}

#[test]
fn a_relation_of_clocks_that_is_not_declared_is_found() {
    let drifts: &[fn(&mut Rng) -> Act] =
        &[Act::clock_of_node, Act::clock_of_node, Act::nap, Act::advance];
    let paces: &[fn(&mut Rng) -> Act] = &[Act::slow_node, Act::node_task, Act::advance];
    let ends: &[fn(&mut Rng) -> Act] = &[Act::nap, Act::nap, Act::death];
    let pairs = [
        ("adjust, move", (time_kinds::ADJUST, time_kinds::MOVE), drifts),
        ("move, unset", (time_kinds::MOVE, time_kinds::UNSET), ends),
        ("adjust, advance", (time_kinds::ADJUST, time_kinds::ADVANCE), drifts),
        ("pace, live", (task_kinds::PACE, task_kinds::LIVE), paces),
        ("rest, advance", (time_kinds::SET, time_kinds::ADVANCE), paces),
    ];
    for (name, pair, acts) in pairs {
        let found = faults::without(pair, || timed_diamonds(acts, 0..20_000));
        found.assert_broken(name);
    }
}

#[test]
fn a_relation_of_clusters_that_is_not_declared_is_found() {
    type Acts = &'static [fn(&mut Rng) -> Act];
    let cuts: Acts = &[Act::link, Act::link, Act::cut];
    let datagrams: Acts = &[Act::datagram, Act::datagram, Act::cut];
    let pairs: [(_, _, Acts); 6] = [
        ("arrive, cut", (kinds::ARRIVE, kinds::CUT), cuts),
        ("arrive, arrive", (kinds::ARRIVE, kinds::ARRIVE), datagrams),
        ("arrive, look", (kinds::ARRIVE, kinds::LOOK), datagrams),
        ("pass, cut", (kinds::link::PASS, kinds::link::CUT), datagrams),
        ("send, set", (kinds::SEND, kinds::SET), &[Act::link, Act::clog]),
        ("send, set", (kinds::SEND_DATAGRAM, kinds::SET), &[Act::datagram, Act::clog]),
    ];
    for (name, pair, acts) in pairs {
        let found = faults::without(pair, || diamonds(acts, 0..20_000));
        found.assert_broken(name);
    }
}
