//! Small programs: the acts of each task, in order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::act::Act;
#[cfg(feature = "tokio")]
use super::channels::Ends;
use super::cluster::OnCluster;
use super::counted::References;
use super::unseen::Bell;
use crate::run::clock_mode::ClockMode;
use crate::run::faults::Faults;
use crate::run::rng::Rng;
use crate::run::what_if::WhatIf;
use crate::sync::Ordering::SeqCst;
use crate::task::{AbortHandle, Builder, Unparker, unparker};
use crate::time::{Instant, timeout};
use crate::{Atomic, Condvar, History, JoinHandle, Mutex, MutexGuard, OnceLock};
use unpause_check::models::{Counter, CounterOp, CounterRet};

/// A program: its tasks, by number. The first task is the body. The body spawns the tasks that no other task spawns,
/// executes its own acts, and then awaits most or all of its children.
#[derive(Clone, Debug)]
pub(super) struct Program {
    tasks: Arc<Vec<Vec<Act>>>,
    /// The number of initial tasks.
    early: usize,
    /// The number of spawned tasks that the body awaits.
    awaited: usize,
    /// When the time moves.
    pub(super) clock: ClockMode,
    /// The faults that its runs may have.
    pub(super) faults: Faults,
    pub(super) what_if: Option<Arc<WhatIf>>,
}

impl Program {
    /// Creates a program: a body and its tasks. The body spawns the first `early` tasks at once and
    /// awaits `awaited` of them.
    pub(super) fn new(tasks: Vec<Vec<Act>>, early: usize, awaited: usize) -> Program {
        let (clock, faults) = (ClockMode::Last, Faults::NONE);
        Program { tasks: Arc::new(tasks), early, awaited, clock, faults, what_if: None }
    }

    pub(super) fn generate(
        rng: &mut Rng,
        acts: &[fn(&mut Rng) -> Act],
        (tasks_max, acts_max): (u64, u64),
    ) -> Program {
        let tasks = 2 + rng.below(tasks_max - 1);
        let mut all = vec![Vec::new()];
        for _ in 0..tasks {
            let count = 1 + rng.below(acts_max);
            let mut own = Vec::new();
            for _ in 0..count {
                own.push(acts[rng.below(acts.len() as u64) as usize](rng));
            }
            all.push(own);
        }
        if rng.below(3) == 0 {
            let act = acts[rng.below(acts.len() as u64) as usize];
            all[0].push(act(rng));
        }
        let mut acts = all.iter().flatten();
        let early = if acts.any(|act| matches!(act, Act::Spawn)) { 1 } else { tasks } as usize;
        let awaited = if rng.below(5) == 0 { rng.below(tasks) } else { tasks } as usize;
        Program::new(all, early, awaited)
    }
}

impl Program {
    /// Returns this program with one more task, which the body spawns at the start and awaits.
    #[cfg(feature = "tokio")]
    pub(super) fn beside(self, acts: Vec<Act>) -> Program {
        let mut tasks = (*self.tasks).clone();
        tasks.insert(1 + self.early, acts);
        let (early, awaited) = (self.early + 1, self.awaited + 1);
        Program { tasks: Arc::new(tasks), early, awaited, ..self }
    }

    /// Returns this program with only `awaited` of the initial tasks awaited.
    pub(super) fn awaiting(self, awaited: usize) -> Program {
        Program { awaited, ..self }
    }

    /// Returns this program with this clock mode.
    pub(super) fn with_clock(self, clock: ClockMode) -> Program {
        Program { clock, ..self }
    }

    /// Returns this program with these faults.
    pub(super) fn befallen_by(self, faults: Faults) -> Program {
        Program { faults, ..self }
    }

    /// Returns `true` if the program's tasks draw values, kill others, or abort tasks of nodes: a few classes run
    /// twice.
    pub(super) fn draws(&self) -> bool {
        let draws = |act: &Act| match act {
            Act::OnCell(act) => act.draws(),
            Act::OnToken(act) => act.draws(),
            Act::OnCluster(act) => act.kills() || act.draws(),
            act => {
                use Act::{Cancellable, Notify, Select, StoreDrawn};
                matches!(act, StoreDrawn(_) | Cancellable(_) | Notify(true) | Select(_))
            }
        };
        let has_late_moves = matches!(self.clock, ClockMode::Late(_));
        has_late_moves
            || self.faults != Faults::NONE
            || self.tasks.iter().flatten().any(draws)
            || self.aborts_residents()
    }

    fn aborts_residents(&self) -> bool {
        let mut acts = self.tasks.iter().flatten();
        let resides = |act: &Act| matches!(act, Act::OnCluster(act) if act.resides());
        acts.clone().any(|act| matches!(act, Act::Abort)) && acts.any(resides)
    }

    /// Returns `true` if the tasks of the program share bells, which no search sees.
    pub(super) fn rings(&self) -> bool {
        let mut acts = self.tasks.iter().flatten();
        acts.any(|act| matches!(act, Act::Hear(_) | Act::Ring(_)))
    }

    /// Returns `true` if nodes die in the program.
    pub(super) fn kills(&self) -> bool {
        let kills = |act: &Act| matches!(act, Act::OnCluster(act) if act.kills());
        self.tasks.iter().flatten().any(kills)
    }

    /// Returns `true` if the program depends on the order in which nodes were added.
    pub(super) fn sees_order_of_nodes(&self) -> bool {
        let sees =
            |act: &Act| matches!(act, Act::OnCluster(OnCluster::Table(act)) if act.sees_order());
        self.tasks.iter().flatten().any(sees)
    }

    /// Returns `true` if classes differ in facts other than operations. Such facts are: the call that returned first;
    /// the end of another task, as a branch found it; the branch of a step. Three more facts concern waits: whether an
    /// abandoned wait could have ended before, the number of wakes before a wait for several words checked the first
    /// word again, and events during a wait for something else.
    pub(super) fn tells_more_than_its_operations(&self) -> bool {
        use Act::{AwaitBeside, AwaitBoth, AwaitEither, AwaitWithin, Both};
        use Act::{Call, Finished, LockWithin, Race};
        let more = |act: &Act| {
            matches!(
                act,
                Call(..) | Both(..) | Finished | AwaitBeside(_) | AwaitBoth(..) | AwaitEither(..)
            )
        };
        let more = |act: &Act| {
            #[cfg(feature = "tokio")]
            if let Act::Channel(act) = act {
                return act.tells_more();
            }
            match act {
                Act::OnCell(act) => act.draws(),
                Act::OnToken(act) => act.draws(),
                Act::OnCluster(act) => act.sees_ends(),
                _ => more(act),
            }
        };
        let gives_up = |act: &Act| {
            use Act::{Cancellable, Select, Strike, WaitFor};
            let ends_early = matches!(act, Cancellable(_) | Select(_) | Strike(_) | WaitFor);
            ends_early || matches!(act, LockWithin(..) | AwaitWithin(..) | Race(..))
        };
        let is_befallen = self.faults != Faults::NONE || self.sees_order_of_nodes();
        is_befallen || self.tasks.iter().flatten().any(|act| more(act) || gives_up(act))
    }
}

/// The state shared by tasks.
struct Shared {
    program: Program,
    words: Arc<[Atomic<u64>; 2]>,
    locks: [Mutex<()>; 2],
    history: History<Counter>,
    #[cfg(feature = "tokio")]
    of_tokio: super::of_tokio::Objects,
    start: Instant,
    bells: [Bell; 2],
    changed: Condvar,
    cell: OnceLock<usize>,
    /// The objects of the cluster, if an act uses the cluster.
    cluster: Option<super::cluster::Objects>,
    /// The handles that unpark the tasks; set before the first task steps.
    unparkers: std::sync::OnceLock<Vec<Unparker>>,
    aborters: std::sync::OnceLock<Vec<AbortHandle>>,
}

/// The body that runs the program.
pub(super) async fn body(program: &Program) {
    let is_clustered = program.tasks.iter().flatten().any(|act| matches!(act, Act::OnCluster(_)));
    let shared = Arc::new(Shared {
        program: program.clone(),
        words: Arc::new([Atomic::new(0), Atomic::new(0)]),
        locks: [Mutex::new(()), Mutex::new(())],
        history: History::new(Counter::default()),
        #[cfg(feature = "tokio")]
        of_tokio: super::of_tokio::Objects::new(),
        start: Instant::now(),
        bells: Default::default(),
        changed: Condvar::new(),
        cell: OnceLock::new(),
        cluster: is_clustered.then(super::cluster::Objects::new),
        unparkers: std::sync::OnceLock::new(),
        aborters: std::sync::OnceLock::new(),
    });
    let mut handles: Vec<Option<JoinHandle<()>>> = Vec::new();
    let ends = ends(program);
    let counts = program.tasks.iter().flatten().any(|act| matches!(act, Act::OnCount(..)));
    let references = super::counted::references(counts);
    for (at, ends) in ends.into_iter().enumerate() {
        let name = format!("t{}", at + 1);
        let task = task(shared.clone(), at + 1, 0, (ends, references.clone()));
        handles.push(Some(Builder::new().name(name).spawn(task)));
    }
    let unparkers = handles.iter().flatten().map(JoinHandle::unparker);
    let unparkers = std::iter::once(unparker()).chain(unparkers).collect();
    shared.unparkers.set(unparkers).expect("set once");
    let aborters = handles.iter().flatten().map(JoinHandle::abort_handle).collect();
    shared.aborters.set(aborters).expect("set once");
    // The tasks are the only owners.
    drop(references);
    let (ends, references) = Default::default();
    let mut local = Local { number: 0, depth: 0, handles, ends, references, receivers: None };
    let acts = program.tasks[0].clone();
    perform(&shared, &mut local, &acts).await;
    for handle in local.handles.iter_mut().take(program.awaited) {
        if let Some(handle) = handle.take() {
            let _ = handle.await;
        }
    }
}

/// The channel ends of the initial tasks.
#[cfg(feature = "tokio")]
fn ends(program: &Program) -> Vec<Ends> {
    let acts = program.tasks.iter().flatten().filter_map(|act| match act {
        Act::Channel(act) => Some(*act),
        _ => None,
    });
    super::channels::ends(program.early, acts)
}

#[cfg(not(feature = "tokio"))]
fn ends(program: &Program) -> Vec<Ends> {
    vec![Ends {}; program.early]
}

/// The ends of channels that one task has: none.
#[cfg(not(feature = "tokio"))]
#[derive(Clone, Default)]
struct Ends {}

/// The state of one task.
struct Local {
    number: usize,
    depth: usize,
    handles: Vec<Option<JoinHandle<()>>>,
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    ends: Ends,
    references: References,
    receivers: Option<super::cluster::Receivers>,
}

fn task(
    shared: Arc<Shared>,
    number: usize,
    depth: usize,
    (ends, references): (Ends, References),
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let acts = shared.program.tasks[number].clone();
        let mut local =
            Local { number, depth, handles: Vec::new(), ends, references, receivers: None };
        perform(&shared, &mut local, &acts).await;
    })
}

fn perform<'a>(
    shared: &'a Arc<Shared>,
    local: &'a mut Local,
    acts: &'a [Act],
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        let mut guards: [Option<MutexGuard<'a, ()>>; 2] = [None, None];
        #[cfg(feature = "tokio")]
        let mut holds = super::of_tokio::Holds::default();
        for act in acts {
            match act {
                #[cfg(feature = "tokio")]
                Act::OfTokio(act) => {
                    super::of_tokio::perform(&shared.of_tokio, &mut holds, act).await;
                }
                Act::Load(word) => drop(shared.words[*word].load(SeqCst).await),
                Act::Store(word, value) => shared.words[*word].store(*value, SeqCst).await,
                Act::StoreDrawn(word) => {
                    let value = crate::rand::below(2);
                    shared.words[*word].store(value + 1, SeqCst).await;
                }
                Act::Add(word) => drop(shared.words[*word].fetch_add(1, SeqCst).await),
                Act::Exchange(word, old, new) => {
                    let word = &shared.words[*word];
                    let _ = word.compare_exchange(*old, *new, SeqCst, SeqCst).await;
                }
                Act::Lock(lock) if guards[*lock].is_none() => {
                    guards[*lock] = Some(shared.locks[*lock].lock().await);
                }
                Act::Attempt(lock) if guards[*lock].is_none() => {
                    guards[*lock] = shared.locks[*lock].try_lock().await;
                }
                Act::Lock(_) | Act::Attempt(_) => {}
                Act::Unlock(lock) => drop(guards[*lock].take()),
                Act::Spawn => {
                    let next = local.number + 1 + usize::from(local.depth == 0);
                    if next < shared.program.tasks.len() && local.depth < 2 {
                        let child = task(shared.clone(), next, local.depth + 1, Default::default());
                        local.handles.push(Some(crate::spawn(child)));
                    }
                }
                Act::Join => {
                    if let Some(handle) = local.handles.iter_mut().find_map(Option::take) {
                        let _ = handle.await;
                    }
                }
                Act::Finished => {
                    if let Some(handle) = local.handles.iter().flatten().next() {
                        if handle.is_finished() {
                            shared.words[0].store(7, SeqCst).await;
                        }
                    }
                }
                Act::Abort => {
                    if let Some(handle) = local.handles.iter().flatten().next_back() {
                        handle.abort();
                    }
                }
                Act::Strike(task) => {
                    let aborters = shared.aborters.get().expect("set by the body");
                    aborters[*task % aborters.len()].abort();
                }
                Act::Both(left, right) => {
                    let number = local.number;
                    let depth = local.depth;
                    let branch = |handles| {
                        let (ends, references) = Default::default();
                        Local { number, depth, handles, ends, references, receivers: None }
                    };
                    let mut first = branch(std::mem::take(&mut local.handles));
                    let mut second = branch(Vec::new());
                    if first.handles.len() > 1 {
                        second.handles.extend(first.handles.pop());
                    }
                    let left = perform(shared, &mut first, left);
                    futures::future::join(left, perform(shared, &mut second, right)).await;
                    local.handles = first.handles;
                    local.handles.append(&mut second.handles);
                }
                Act::Select(select) => {
                    let (number, depth) = (local.number, local.depth);
                    let begin = |branch: usize| -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
                        let acts = &select.branches[branch];
                        let (handles, ends) = (Vec::new(), Ends::default());
                        Box::pin(async move {
                            let references = Default::default();
                            let mut own =
                                Local { number, depth, handles, ends, references, receivers: None };
                            perform(shared, &mut own, acts).await;
                        })
                    };
                    let (first, second) = (|| begin(0), || begin(1));
                    let won = super::selects::select(select.form, [&first, &second]).await;
                    shared.words[1].store(won, SeqCst).await;
                }
                Act::Call(true, acts) => {
                    let call = shared.history.invoke(CounterOp::Increment);
                    perform(shared, local, acts).await;
                    call.ok(CounterRet::Done);
                }
                Act::Call(false, acts) => {
                    let work = async {
                        perform(shared, local, acts).await;
                        CounterRet::Done
                    };
                    shared.history.call(CounterOp::Increment, work).await;
                }
                Act::Leave => return,
                Act::Check(word) => {
                    assert_ne!(shared.words[*word].load(SeqCst).await, 2, "a word is 2");
                }
                Act::Pause => crate::task::yield_now().await,
                Act::Await(word, value) => await_value(shared, *word, *value).await,
                Act::AwaitEither(one, other) => {
                    crate::spin_until(async || {
                        shared.words[0].load(SeqCst).await == *one
                            || shared.words[1].load(SeqCst).await == *other
                    })
                    .await;
                }
                Act::AwaitExchange(word, old, new) => {
                    let word = &shared.words[*word];
                    let exchange = || word.compare_exchange(*old, *new, SeqCst, SeqCst);
                    crate::spin_until(async || exchange().await.is_ok()).await;
                }
                Act::Sleep(seconds) => crate::time::sleep(Duration::from_secs(*seconds)).await,
                Act::Until(seconds) => {
                    let deadline = shared.start + Duration::from_secs(*seconds);
                    crate::time::sleep_until(deadline).await;
                }
                Act::Now => drop(crate::time::Instant::now()),
                Act::Advance(seconds) => {
                    crate::time::advance(Duration::from_secs(*seconds)).await;
                }
                Act::LockWithin(lock, seconds) if guards[*lock].is_none() => {
                    let wait = Duration::from_secs(*seconds);
                    guards[*lock] = timeout(wait, shared.locks[*lock].lock()).await.ok();
                    if guards[*lock].is_none() {
                        shared.words[0].store(8, SeqCst).await;
                    }
                }
                Act::LockWithin(..) => {}
                Act::AwaitWithin(word, value, seconds) => {
                    let wait = Duration::from_secs(*seconds);
                    let found = timeout(wait, await_value(shared, *word, *value)).await;
                    if found.is_err() {
                        shared.words[1].store(9, SeqCst).await;
                    }
                }
                Act::Race(one, other) => {
                    let [one, other] = [one, other].map(|seconds| Duration::from_secs(*seconds));
                    let _ = timeout(one, crate::time::sleep(other)).await;
                }
                Act::Cancellable(acts) => {
                    let cut = crate::cancellable(perform(shared, local, acts)).await.is_none();
                    if cut {
                        shared.words[0].store(6, SeqCst).await;
                    }
                }
                Act::ExchangeWeakly(word, old, new) => {
                    let word = &shared.words[*word];
                    let _ = word.compare_exchange_weak(*old, *new, SeqCst, SeqCst).await;
                }
                Act::WaitFor => {
                    let guard = match guards[0].take() {
                        Some(guard) => guard,
                        None => shared.locks[0].lock().await,
                    };
                    guards[0] = Some(shared.changed.wait(guard).await);
                }
                Act::Notify(true) => shared.changed.notify_one(),
                Act::Notify(false) => shared.changed.notify_all(),
                Act::OnCell(act) => {
                    super::once::perform(&shared.cell, act, local.number).await;
                }
                Act::OnCluster(act) => {
                    let cluster = shared.cluster.as_ref().expect("an act is about it");
                    if local.number == 1 && local.receivers.is_none() {
                        local.receivers = cluster.receivers();
                    }
                    let receivers = local.receivers.as_mut();
                    let resident = cluster.perform(receivers, &shared.words, *act).await;
                    local.handles.extend(resident.map(Some));
                }
                Act::OnToken(act) => {
                    let tasks = shared.unparkers.get().expect("set by the body");
                    super::parking::perform(tasks, act).await;
                }
                Act::OnCount(is_loud, act) => {
                    super::counted::perform(&mut local.references, (*is_loud, *act)).await;
                }
                Act::Hear(bell) => shared.bells[*bell].hear().await,
                Act::Ring(bell) => shared.bells[*bell].ring(),
                Act::AwaitBeside(one) => {
                    let add = shared.words[1].fetch_add(1, SeqCst);
                    futures::future::join(await_value(shared, 0, *one), add).await;
                }
                Act::AwaitBoth(one, other) => {
                    let first = await_value(shared, 0, *one);
                    futures::future::join(first, await_value(shared, 1, *other)).await;
                }
                #[cfg(feature = "tokio")]
                Act::Channel(act) => {
                    super::channels::perform(&mut local.ends, *act, local.number).await;
                }
            }
        }
    })
}

async fn await_value(shared: &Shared, word: usize, value: u64) {
    crate::spin_until(async || shared.words[word].load(SeqCst).await == value).await;
}
