//! The results of the search against the results of random runs, on generated programs over all channels.
//!
//! A result consists of the values that each task got, in order, and of the tasks that wait forever. The generated
//! programs are larger than the programs that the library compares with brute force.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::{Either, select};
use sim::Runner;
use sim::run::{Failure, Outcome, Run};
use sim::task::yield_now;
use sim::tokio::sync::{broadcast, mpsc, oneshot, watch};

/// An act of a task. An act of a task that lacks this channel end does nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    Send(u8),
    TrySend(u8),
    SendOrStop(u8),
    Reserve,
    SendReserved(u8),
    Recv,
    RecvOrStop,
    TryRecv,
    RecvMany,
    Close,
    DropSenders,
    DropReceivers,
    Post(u8),
    Take,
    TryTake,
    Publish(u8),
    Hear,
    TryHear,
    Write(u8),
    Changed,
    See,
    WaitFor(u8),
    Closed,
    Answer(u8),
    Ask,
    Pause,
}

use Act::*;

const ACTS: [Act; 34] = [
    Send(1),
    Send(2),
    Send(3),
    TrySend(4),
    SendOrStop(5),
    Reserve,
    SendReserved(6),
    Recv,
    Recv,
    Recv,
    RecvOrStop,
    TryRecv,
    RecvMany,
    Close,
    DropSenders,
    DropReceivers,
    Post(1),
    Post(2),
    Take,
    Take,
    TryTake,
    Publish(1),
    Publish(2),
    Publish(3),
    Hear,
    Hear,
    TryHear,
    Write(1),
    Write(2),
    Changed,
    See,
    WaitFor(2),
    Closed,
    Pause,
];
const ONESHOT: [Act; 2] = [Answer(9), Ask];

/// The ends of a task.
#[derive(Default)]
struct Ends {
    permit: Option<mpsc::OwnedPermit<u8>>,
    sender: Option<mpsc::Sender<u8>>,
    receiver: Option<mpsc::Receiver<u8>>,
    poster: Option<mpsc::UnboundedSender<u8>>,
    taker: Option<mpsc::UnboundedReceiver<u8>>,
    publisher: Option<broadcast::Sender<u8>>,
    subscriber: Option<broadcast::Receiver<u8>>,
    writer: Option<watch::Sender<u8>>,
    watcher: Option<watch::Receiver<u8>>,
    answer: Option<oneshot::Sender<u8>>,
    question: Option<oneshot::Receiver<u8>>,
}

/// The ends for tasks with these acts. Channels that no act uses are not created.
fn ends(program: &[Vec<Act>]) -> Vec<Ends> {
    let mut all: Vec<Ends> = program.iter().map(|_| Ends::default()).collect();
    let last = all.len() - 1;
    let has = |acts: &[Act]| program.iter().flatten().any(|act| acts.contains(act));
    if has(&ACTS[..14]) {
        let (sender, receiver) = mpsc::channel(1);
        all[0].receiver = Some(receiver);
        all[1..].iter_mut().for_each(|ends| ends.sender = Some(sender.clone()));
    }
    if has(&ACTS[16..21]) {
        let (sender, receiver) = mpsc::unbounded_channel();
        all[last].taker = Some(receiver);
        all[..last].iter_mut().for_each(|ends| ends.poster = Some(sender.clone()));
    }
    if has(&ACTS[21..27]) {
        let (sender, receiver) = broadcast::channel(2);
        all[1].publisher = Some(sender);
        all[2..].iter_mut().for_each(|ends| ends.subscriber = Some(receiver.resubscribe()));
        all[0].subscriber = Some(receiver);
    }
    if has(&ACTS[27..32]) {
        let (sender, receiver) = watch::channel(0);
        all[..last].iter_mut().for_each(|ends| ends.watcher = Some(receiver.clone()));
        all[last].writer = Some(sender);
    }
    if has(&ONESHOT) {
        let (sender, receiver) = oneshot::channel();
        (all[0].answer, all[1].question) = (Some(sender), Some(receiver));
    }
    all
}

async fn or_stop<R>(future: impl Future<Output = R>) -> Option<R> {
    let stop = async {
        yield_now().await;
        yield_now().await;
    };
    match select(pin!(future), pin!(stop)).await {
        Either::Left((got, _)) => Some(got),
        Either::Right(_) => None,
    }
}

/// Does an act. Returns the values that the task got.
async fn act(ends: &mut Ends, act: Act) -> Option<String> {
    let text = match act {
        Send(n) => format!("{:?}", ends.sender.as_ref()?.send(n).await),
        TrySend(n) => format!("{:?}", ends.sender.as_ref()?.try_send(n)),
        SendOrStop(n) => format!("{:?}", or_stop(ends.sender.as_ref()?.send(n)).await),
        Reserve => {
            let permit = ends.sender.take()?.reserve_owned().await;
            let got = permit.is_ok();
            ends.permit = permit.ok();
            got.to_string()
        }
        SendReserved(n) => {
            ends.sender = Some(ends.permit.take()?.send(n));
            return None;
        }
        Recv => format!("{:?}", ends.receiver.as_mut()?.recv().await),
        RecvOrStop => format!("{:?}", or_stop(ends.receiver.as_mut()?.recv()).await),
        TryRecv => format!("{:?}", ends.receiver.as_mut()?.try_recv()),
        RecvMany => {
            let mut got = Vec::new();
            ends.receiver.as_mut()?.recv_many(&mut got, 2).await;
            format!("{got:?}")
        }
        Close => {
            ends.receiver.as_mut()?.close();
            return None;
        }
        DropSenders => {
            (ends.sender, ends.poster, ends.publisher, ends.writer) = (None, None, None, None);
            return None;
        }
        DropReceivers => {
            (ends.receiver, ends.taker, ends.subscriber, ends.watcher) = (None, None, None, None);
            return None;
        }
        Post(n) => format!("{:?}", ends.poster.as_ref()?.send(n)),
        Take => format!("{:?}", ends.taker.as_mut()?.recv().await),
        TryTake => format!("{:?}", ends.taker.as_mut()?.try_recv()),
        Publish(n) => format!("{:?}", ends.publisher.as_ref()?.send(n)),
        Hear => format!("{:?}", ends.subscriber.as_mut()?.recv().await),
        TryHear => format!("{:?}", ends.subscriber.as_mut()?.try_recv()),
        Write(n) => format!("{:?}", ends.writer.as_ref()?.send(n)),
        Changed => format!("{:?}", ends.watcher.as_mut()?.changed().await),
        See => format!("{:?}", *ends.watcher.as_mut()?.borrow_and_update()),
        WaitFor(n) => {
            format!("{:?}", ends.watcher.as_mut()?.wait_for(|seen| *seen == n).await.map(|n| *n))
        }
        Closed => {
            match (&ends.sender, &ends.writer) {
                (Some(sender), _) => sender.closed().await,
                (None, Some(writer)) => writer.closed().await,
                (None, None) => return None,
            }
            return None;
        }
        Answer(n) => format!("{:?}", ends.answer.take()?.send(n)),
        Ask => format!("{:?}", ends.question.take()?.await),
        Pause => {
            yield_now().await;
            return None;
        }
    };
    Some(text)
}

/// The results of the tasks of the run at hand.
type Got = Mutex<Vec<Vec<String>>>;

/// Runs the program.
async fn body(program: &Arc<Vec<Vec<Act>>>, got: &Arc<Got>) {
    *got.lock().unwrap() = vec![Vec::new(); program.len()];
    let mut tasks = Vec::new();
    for (number, mut ends) in ends(program).into_iter().enumerate() {
        let (program, got) = (program.clone(), got.clone());
        tasks.push(sim::spawn(async move {
            for what in &program[number] {
                // An act without a point needs a yield before it, too.
                if !matches!(what, Send(_) | Recv | RecvMany | Take | Hear | Changed | Pause) {
                    yield_now().await;
                }
                if let Some(text) = act(&mut ends, *what).await {
                    got.lock().unwrap()[number].push(text);
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// The results of the tasks, and the tasks that wait forever.
type Result = (Vec<Vec<String>>, BTreeSet<String>);

fn result(run: &Run, got: &Got) -> Result {
    let waits = match &run.outcome {
        Outcome::Passed => BTreeSet::new(),
        Outcome::Failed(Failure::Deadlock { waits }) => {
            waits.iter().map(|wait| format!("{:?} {:?}", wait.task, wait.op)).collect()
        }
        Outcome::Failed(failure) => panic!("{failure:?}"),
    };
    (std::mem::take(&mut *got.lock().unwrap()), waits)
}

/// A generator of programs (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    /// Tasks with acts on one family of channels, or on all.
    fn program(&mut self) -> Vec<Vec<Act>> {
        let family = match self.below(7) {
            0 | 1 => &ACTS[..16],
            2 => &ACTS[14..21],
            3 => &ACTS[14..27],
            4 => &ACTS[27..],
            _ => &ACTS[..],
        };
        let tasks = 2 + self.below(2);
        let acts_max = if tasks == 2 { 6 } else { 4 };
        (0..tasks)
            .map(|task| {
                let acts = 2 + self.below(acts_max - 1);
                (0..acts)
                    .map(|_| match self.below(12) {
                        0 => ONESHOT[self.below(2)],
                        _ => self.act(family, task, tasks - 1),
                    })
                    .collect()
            })
            .collect()
    }

    /// Returns an act whose channel end the task has.
    fn act(&mut self, family: &[Act], task: usize, last: usize) -> Act {
        loop {
            let act = family[self.below(family.len())];
            let has_end = match act {
                Recv | RecvOrStop | TryRecv | RecvMany | Close => task == 0,
                Send(_) | TrySend(_) | SendOrStop(_) | Reserve | SendReserved(_) => task > 0,
                Post(_) | Changed | See | WaitFor(_) => task < last,
                Take | TryTake | Write(_) => task == last,
                Publish(_) => task == 1,
                Hear | TryHear => task != 1,
                _ => true,
            };
            if has_end || self.below(10) == 0 {
                return act;
            }
        }
    }
}

/// The number of programs, or `LONG` with `UNPAUSE_LONG`.
const PROGRAMS: u64 = 24;
const LONG: u64 = 200;
/// Random runs of each program, by all strategies together.
const RUNS: u64 = 2_000;
/// The number of runs of a program in which a task may wait forever. The number is smaller than for other programs,
/// because a failing run takes longer.
const FAILING_RUNS: u64 = 280;
/// Programs with more runs are left out, because their search would take too long for a test.
const SEARCHED_MAX: u64 = 2_000;

#[cfg_attr(feature = "sim", test)]
fn the_search_has_all_results_of_random_runs() {
    let begun = Instant::now();
    let programs = if sim_tests::histories::long() { LONG } else { PROGRAMS };
    let (mut compared, mut results, mut common, mut random) = (0, 0, 0, 0);
    for seed in 0..programs {
        let program = Arc::new(Dice(seed).program());
        let got = Arc::new(Got::default());
        let mut searched = BTreeSet::new();
        let report =
            Runner::new().hermetic().strategy("exhaustive").seeds(0..SEARCHED_MAX).each_run(
                async || body(&program, &got).await,
                |run| {
                    searched.insert(result(&run, &got));
                },
            );
        let proof = report.searched.as_ref().unwrap();
        if !proof.is_proof() {
            assert!(!proof.complete && !proof.blind, "{program:?}\n{proof:?}");
            continue;
        }
        let waits = searched.iter().any(|(_, waits)| !waits.is_empty());
        let strategies = sim::strategy::STRATEGIES;
        let runs = if waits { FAILING_RUNS } else { RUNS } / strategies.len() as u64;
        let sampled = Mutex::new(BTreeSet::new());
        let sample = async || {
            body(&program, &got).await;
            let all = std::mem::take(&mut *got.lock().unwrap());
            sampled.lock().unwrap().insert((all, BTreeSet::new()));
        };
        for row in strategies {
            let runner = Runner::new().hermetic().hang(Duration::ZERO).jobs(1).strategy(row.name);
            if waits {
                for seed in 0..runs {
                    let run = runner.run_seed(seed, async || body(&program, &got).await);
                    sampled.lock().unwrap().insert(result(&run, &got));
                }
            } else {
                // Passes, or the search has missed that a task waits.
                let report = runner.seeds(0..runs).run(sample);
                assert!(report.passed(), "{program:?} by {}", row.name);
            }
            random += runs;
        }
        let sampled = sampled.into_inner().unwrap();
        let missing: Vec<_> = sampled.difference(&searched).collect();
        assert!(missing.is_empty(), "{program:?}\nis missing {missing:#?}");
        common += sampled.len();
        (compared, results) = (compared + 1, results + searched.len());
    }
    let time = begun.elapsed();
    println!("{compared} programs, {results} results, {common} in {random} random runs: {time:?}");
    assert!(compared * 10 > programs * 9, "{compared} of {programs}");
    assert!(results as u64 > 3 * programs, "{results}");
    // If the random runs had few results in common with the search, this test would compare nothing.
    assert!(common * 10 > results * 9, "{common} of {results}");
}
