//! Checks during a run. Each check must decide at the first event that shows a violation, although calls are lost.

use std::sync::{Arc, Mutex};

use sim::Ordering::SeqCst;
use sim::check::chain::{Chain, Versions};
use sim::check::models::{Register, RegisterOp, RegisterRet};
use sim::check::models::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};
use sim::check::online::{ClientEvent, MalformedEvent, Online, OnlineChecker, OnlineStatus};
use sim::check::verdict::{Evidence, Verdict};
use sim::check::{Budget, Key, Model, Operation, linearizable};
use sim::report::Report;
use sim::run::Failure;
use sim::task::yield_now;
use sim::{Atomic, Gen, History, Program, Runner, Shape, Topology};

use super::{failure, passes, proves, screen, search};

const NODES: usize = 3;

type Event = ClientEvent<RegisterOp<u64>, RegisterRet<u64>>;
type Call = Operation<RegisterOp<u64>, RegisterRet<u64>>;

fn holds(calls: &[Call]) -> bool {
    linearizable(&Register::new(0), calls, &Budget::default()).unwrap().is_consistent()
}

/// A part of these calls: all that happened up to the moment `end`.
fn up_to(calls: &[Call], end: u64) -> Vec<Call> {
    let begun = calls.iter().filter(|call| call.invoked <= end).cloned();
    let cut = |mut call: Call| {
        call.returned = call.returned.filter(|(_, returned)| *returned <= end);
        call
    };
    begun.map(cut).collect()
}

/// The events fed, and the number of returns up to the first violation.
#[derive(Default)]
struct Log {
    calls: Vec<Call>,
    open: Vec<(u32, usize)>,
    time: u64,
    returns: usize,
    decided: Option<usize>,
    lost: usize,
}

/// Compares [`Online`] with the checker of whole histories at each event. Never fails a run by a violation.
struct Compared {
    online: Online<Register>,
    log: Arc<Mutex<Log>>,
}

impl OnlineChecker<Register> for Compared {
    fn feed(&mut self, event: Event) -> Result<OnlineStatus, MalformedEvent> {
        let log = &mut *self.log.lock().unwrap();
        log.time += 1;
        match &event {
            ClientEvent::Invoke { client, op } => {
                let (op, invoked, returned) = (op.clone(), log.time, None);
                log.open.push((*client, log.calls.len()));
                log.calls.push(Operation { client: *client, op, invoked, returned });
            }
            ended => {
                let place = log.open.iter().position(|(client, _)| *client == ended.client());
                let (_, call) = log.open.remove(place.expect("it has begun"));
                match ended {
                    ClientEvent::Return { ret, .. } => {
                        log.returns += 1;
                        log.calls[call].returned = Some((ret.clone(), log.time));
                    }
                    ClientEvent::Failed { .. } => {
                        // A failed call is removed, as if it had never begun.
                        log.calls.remove(call);
                        log.open.iter_mut().for_each(|(_, at)| *at -= usize::from(*at > call));
                    }
                    _ => log.lost += 1,
                }
            }
        }
        let status = self.online.feed(event)?;
        let expected = log.decided.is_none() && holds(&log.calls);
        assert_eq!(status == OnlineStatus::Possible, expected, "{:#?}", log.calls);
        if !expected && log.decided.is_none() {
            log.decided = Some(log.returns);
        }
        Ok(OnlineStatus::Possible)
    }

    fn evidence(&self) -> Option<&Evidence> {
        None
    }
}

/// The register of all clients: reads are stale now and then.
struct Words {
    now: Atomic<u64>,
    before: Atomic<u64>,
}

impl Words {
    async fn call(&self, op: RegisterOp<u64>, is_stale: bool) -> RegisterRet<u64> {
        match op {
            RegisterOp::Write(value) => {
                let before = self.now.swap(value, SeqCst).await;
                self.before.store(before, SeqCst).await;
                RegisterRet::Done
            }
            RegisterOp::Read if is_stale => RegisterRet::Value(self.before.load(SeqCst).await),
            RegisterOp::Read => RegisterRet::Value(self.now.load(SeqCst).await),
        }
    }
}

/// One client. The client executes calls as futures, some of which are dropped, and calls by explicit events, some of
/// which never end.
async fn client(number: u64, words: Arc<Words>, history: History<Register>) {
    for nth in 1..=3 {
        let is_write = sim::rand::below(2) == 1;
        let op = if is_write { RegisterOp::Write(10 * number + nth) } else { RegisterOp::Read };
        let is_stale = sim::rand::below(4) == 3;
        match sim::rand::below(7) {
            0 => {
                let (words, history, op) = (words.clone(), history.clone(), op.clone());
                let call = async move {
                    history.call(op.clone(), words.call(op, is_stale)).await;
                };
                let task = sim::spawn(call);
                yield_now().await;
                task.abort();
                let _ = task.await;
            }
            1 => history.invoke(op).fail(),
            2 => {
                let call = history.invoke(op.clone());
                words.call(op, is_stale).await;
                call.info();
            }
            3 => {
                let call = history.invoke(op.clone());
                call.ok(words.call(op, is_stale).await);
            }
            _ => {
                history.call(op.clone(), words.call(op, is_stale)).await;
            }
        }
    }
}

#[test]
fn each_event_is_decided_as_the_calls_up_to_it_and_at_the_right_one() {
    let seeds = if sim_tests::histories::long() {
        20_000
    } else if sim::SIMULATED {
        120
    } else {
        30
    };
    let counts = Mutex::new((0, 0, 0));
    let report = Runner::new().hermetic().seeds(0..seeds).run(async || {
        let log = Arc::new(Mutex::new(Log::default()));
        let fed = log.clone();
        let history = History::new(Register::new(0)).check_online(move |initial| {
            *fed.lock().unwrap() = Log::default();
            Compared { online: Online::new(initial), log: fed.clone() }
        });
        let words = Arc::new(Words { now: Atomic::new(0), before: Atomic::new(0) });
        let clients =
            (1..=3).map(|number| sim::spawn(client(number, words.clone(), history.clone())));
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        // One more return ensures that all stamps are known and all events are fed.
        let last = words.call(RegisterOp::Read, false);
        history.call(RegisterOp::Read, last).await;

        let calls = history.operations();
        let mut ends: Vec<u64> =
            calls.iter().filter_map(|call| Some(call.returned.as_ref()?.1)).collect();
        ends.sort_unstable();
        let first = ends.iter().position(|end| !holds(&up_to(&calls, *end)));
        let log = log.lock().unwrap();
        assert_eq!(log.returns, ends.len());
        assert_eq!(log.decided, first.map(|nth| nth + 1), "{calls:#?}\n{:#?}", log.calls);
        let mut counts = counts.lock().unwrap();
        counts.0 += usize::from(first.is_some());
        counts.1 += usize::from(first.is_some_and(|nth| nth + 1 < ends.len()));
        counts.2 += log.lost;
    });
    passes(&report);
    let (violated, early, lost) = *counts.lock().unwrap();
    let least = if sim::SIMULATED { 20 } else { 1 };
    assert!(violated >= least && early >= least && lost >= least, "{violated} {early} {lost}");
}

/// A write of one word and a read of another word: no order of steps shows whether one call returned before the
/// other began.
async fn two_words(is_one: bool) {
    let history = History::new(Register::new(0)).check_online(Online::new);
    let words = Arc::new([Atomic::new(0_u64), Atomic::new(0)]);
    let (own, calls) = (words.clone(), history.clone());
    let writer = sim::spawn(async move {
        let write = async {
            own[0].store(7, SeqCst).await;
            RegisterRet::Done
        };
        calls.call(RegisterOp::Write(7), write).await;
    });
    let reader = sim::spawn(async move {
        let read = async { RegisterRet::Value(words[usize::from(!is_one)].load(SeqCst).await) };
        history.call(RegisterOp::Read, read).await;
    });
    writer.await.unwrap();
    reader.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tells_orders_of_calls_apart() {
    let found = search().run(async || two_words(false).await);
    assert_eq!(failure(&found).kind(), "history", "{}", screen(&found));
    proves(&search().run(async || two_words(true).await));
}

/// Registers with versions at the nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Store {
    registers: Vec<VersionedRegister>,
    topology: Topology,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Op {
    key: usize,
    node: usize,
    op: VersionedRegisterOp,
}

impl Model for Store {
    type Op = Op;
    type Ret = VersionedRegisterRet;

    fn step(&mut self, op: &Op) -> VersionedRegisterRet {
        self.registers[op.key].step(&op.op)
    }

    fn partition(op: &Op) -> Option<Key> {
        Some(Key::of(&op.key))
    }
}

impl Versions for Store {
    type Id = u64;

    fn first(&self, _: &Op) -> u64 {
        0
    }

    fn version_op(op: &Op) -> VersionedRegisterOp {
        op.op.clone()
    }

    fn version_ret(_: &Op, ret: &VersionedRegisterRet) -> VersionedRegisterRet {
        ret.clone()
    }
}

impl Program for Store {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let client = self.topology.client(g.client().unwrap_or(0));
        let to = u64::from(g.id().0) + 1;
        let op = match client.writes {
            true => VersionedRegisterOp::Update { from: g.below(to), to },
            false => VersionedRegisterOp::Read,
        };
        Op { key: client.key, node: client.node.unwrap_or(0), op }
    }
}

/// Each register has a home node, and every node has a copy that is updated later. The bug: a node answers reads from
/// its own copy. Some clients do not wait for an answer.
fn store(runner: Runner, is_local: bool, is_online: bool) -> Report {
    let topology = Topology::sticky(NODES, 2);
    runner.run(async || {
        let copies: [[Atomic<u64>; NODES]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| Atomic::new(0)));
        let registers = vec![VersionedRegister::new(0); 2];
        let store = Store { registers, topology: topology.clone() };
        let shape = Shape::clients(topology.clone()).max_branch_length(4).timeout(0.2).crash(0.1);
        let program = sim::parallel(shape, store, async |Op { key, node, op }| {
            let home = &copies[key][key];
            let (from, to) = match op {
                VersionedRegisterOp::Read => {
                    let copy = if is_local { &copies[key][node] } else { home };
                    return VersionedRegisterRet::Version(copy.load(SeqCst).await);
                }
                VersionedRegisterOp::Update { from, to } => (from, to),
            };
            let done = home.compare_exchange(from, to, SeqCst, SeqCst).await.is_ok();
            if done {
                for (_, copy) in copies[key].iter().enumerate().filter(|(node, _)| *node != key) {
                    copy.fetch_max(to, SeqCst).await;
                }
            }
            VersionedRegisterRet::Updated(done)
        });
        match is_online {
            true => program.check_online(Chain::by_key).await,
            false => program.await,
        }
    })
}

fn runner() -> Runner {
    Runner::new().hermetic().seeds(0..300)
}

#[cfg_attr(feature = "sim", test)]
fn a_run_of_the_same_seed_ends_earlier() {
    let [early, late] = [true, false].map(|is_online| {
        let found = store(runner().shrink(false), true, is_online);
        let run = &found.finding.as_ref().unwrap().run;
        (run.seed, run.steps.len())
    });
    assert!(early.0 == late.0 && early.1 < late.1, "{early:?} {late:?}");
}

#[cfg_attr(feature = "sim", test)]
fn the_run_ends_at_the_stale_read_and_shows_its_chain() {
    let found = store(runner(), true, true);
    let Failure::History { verdict: Verdict::Violated(evidence), .. } = failure(&found) else {
        panic!("{}", screen(&found))
    };
    assert_eq!(evidence.engine, "chain");
    let anomaly = evidence.anomaly.as_ref().unwrap();
    assert_eq!(anomaly.name, "stale read");
    assert!(anomaly.text.contains("the chain 0 → "), "{}", anomaly.text);
    let shown = screen(&found).split_whitespace().collect::<Vec<_>>().join(" ");
    let names_the_read =
        shown.contains("stale read: `Op { key: ") && shown.contains("the chain 0 → ");
    assert!(names_the_read, "{}", screen(&found));
    // The run ends at the event that decides: no later event exists.
    let finding = found.finding.as_ref().unwrap();
    let calls = &finding.run.histories[0].operations;
    let ends = calls.iter().filter_map(|call| Some(call.returned.as_ref()?.1));
    let last = calls[evidence.misfit].returned.as_ref().unwrap().1;
    assert_eq!(ends.max(), Some(last), "{}", screen(&found));
    assert!(finding.run.programs[0].left().len() <= 3, "{}", screen(&found));

    let seeds = if sim_tests::histories::long() { 300 } else { 40 };
    passes(&store(runner().seeds(0..seeds), false, true));
}

#[test]
fn a_call_that_the_checker_refuses_is_a_misuse() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || {
        let history = History::new(VersionedRegister::new(0)).check_online(Chain::by_key);
        for _ in 0..2 {
            let op = VersionedRegisterOp::Update { from: 0, to: 7 };
            history.invoke(op).ok(VersionedRegisterRet::Updated(true));
        }
    });
    let message = format!("{:?}", failure(&report));
    assert!(message.contains("which is the id of another version"), "{message}");
}
