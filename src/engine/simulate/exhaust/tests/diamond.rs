//! The diamond test: the law of the declarations in `op`, in states that programs reach.
//!
//! ```text
//!        s
//!      p/ \q      if the steps of p and q at s do not conflict, each can be taken after the other, does
//!      ·   ·       the same there, and both ways lead to the same state: what comes then is the same, too
//!      q\ /p
//!        t
//! ```

use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use super::act::Act;
use super::place;
use super::program::{Program, body};
use crate::rt::{TaskBody, Worker};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::clock_mode::ClockMode;
use crate::run::ids::{ObjectId, Seed, TaskId};
use crate::run::op::kind::{Kind, WATCH, faults};
use crate::run::op::{clock, lock, task, word};
use crate::run::rng::Rng;
use crate::strategy::exhaustive::Observer;
use crate::strategy::footprint::{StepItem, dependent};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;

/// Takes some given steps, then always the task with the lowest number.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    turns: Vec<TaskId>,
    /// The differences that distinguish classes.
    apart: Apart,
    order: HappensBefore,
    observer: Observer,
    steps: usize,
    /// True if the script had a step of a task that could not step.
    stuck: bool,
    /// The tasks enabled after the script.
    enabled: Vec<TaskId>,
}

impl Script {
    fn end_step(&mut self) {
        if self.steps > 0 {
            self.observer.add_to(&mut self.order);
        }
    }
}

impl Strategy for Scripted {
    fn begin(&mut self, _: Seed) {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (turns, apart) = (std::mem::take(&mut script.turns), script.apart);
        *script = Script { turns, apart, ..Script::default() };
        script.observer.begin_anew();
        script.observer.tell_apart(apart);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let mut script = self.0.lock().unwrap();
        if script.steps > 0 {
            script.observer.after(view);
        }
        script.end_step();
        let mut candidates = view.candidates().to_vec();
        candidates.sort_unstable();
        if script.steps == script.turns.len() {
            script.enabled = candidates.clone();
        }
        let told = script.turns.get(script.steps).copied();
        script.stuck |= told.is_some_and(|task| !candidates.contains(&task));
        let task = told.filter(|task| candidates.contains(task)).unwrap_or(candidates[0]);
        script.observer.before(view, task);
        script.steps += 1;
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.0.lock().unwrap().observer.drew(0, draw.bound);
        Ok(0)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut script = self.0.lock().unwrap();
        script.observer.after_last(view);
        script.end_step();
        Ok(())
    }
}

/// The instructions of programs.
type Acts = &'static [fn(&mut Rng) -> Act];

/// The result of a script.
#[derive(PartialEq, Debug)]
struct Told {
    stuck: bool,
    enabled: Vec<TaskId>,
    /// For each step: the effect of the step, and the next request of its task. Empty for steps before the last two of
    /// the script.
    footprints: Vec<(Vec<StepItem>, Vec<StepItem>)>,
    /// True if the run went beyond the script.
    goes_on: bool,
    /// The values seen by all tasks, to the end of the run.
    seen: super::Seen,
}

impl Told {
    /// Returns `true` if the step at `at` killed the task.
    fn kills(&self, at: usize, task: TaskId) -> bool {
        let kill = |item: &StepItem| match *item {
            StepItem::Task { target, kind, .. } => (target, kind) == (task, task::KILL),
            _ => false,
        };
        self.footprints.get(at).is_some_and(|(done, _)| done.iter().any(kill))
    }
}

fn tell(program: &Program, turns: &[TaskId]) -> Told {
    tell_without(program, turns, None)
}

/// Like [`tell`], without the values seen by one of the tasks.
fn tell_without(program: &Program, turns: &[TaskId], without: Option<TaskId>) -> Told {
    let scripted = Scripted::default();
    scripted.0.lock().unwrap().turns = turns.to_vec();
    if program.sees_order_of_nodes() {
        scripted.0.lock().unwrap().apart = Apart::NODES;
    }
    let mut worker = Worker::new(Box::new(scripted.clone()));
    worker.run(Seed(0), &super::limits(program), place(), pin!(TaskBody::new(body(program))));
    let run = worker.extract(Seed(0), "scripted");
    worker.forget_histories();
    let script = scripted.0.lock().unwrap();
    let compared = turns.len().saturating_sub(2) as u32;
    let of = |step| match step < compared {
        true => Default::default(),
        false => (plain(script.order.items_of(step)), plain(script.order.guarded_after(step))),
    };
    Told {
        stuck: script.stuck,
        enabled: script.enabled.clone(),
        footprints: (0..script.order.steps().min(turns.len() as u32)).map(of).collect(),
        goes_on: script.steps > turns.len(),
        seen: super::seen_but(&run, |at| Some(run.events[at].task) == without),
    }
}

/// Items without the parts that differ from run to run, in an arbitrary order.
fn plain(items: &[StepItem]) -> Vec<StepItem> {
    let mut plain: Vec<StepItem> = items.to_vec();
    if plain.len() > 1 {
        plain.sort_by_cached_key(|item| format!("{item:?}"));
    }
    plain
}

/// Replaces the object numbers in these items by numbers of the object keys, because two runs may give an object
/// different numbers.
fn in_both(
    keys: &mut Vec<u64>,
    (done, asked): &(Vec<StepItem>, Vec<StepItem>),
) -> (Vec<StepItem>, Vec<StepItem>) {
    let mut known = |item: &StepItem| match *item {
        StepItem::Object { key, kind, span, done, .. } => {
            let at = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            StepItem::Object { object: ObjectId::new(at as u32), key, kind, span, done }
        }
        other => other,
    };
    (done.iter().map(&mut known).collect(), asked.iter().map(&mut known).collect())
}

/// Removes the object numbers from these items and keeps the object keys. The number of an object depends on earlier
/// objects.
fn by_key((done, asked): &(Vec<StepItem>, Vec<StepItem>)) -> (Vec<StepItem>, Vec<StepItem>) {
    let by_key = |item: &StepItem| match *item {
        StepItem::Object { key, kind, span, done, .. } => {
            StepItem::Object { object: ObjectId::new(0), key, kind, span, done }
        }
        other => other,
    };
    let all = |items: &[StepItem]| plain(&items.iter().map(by_key).collect::<Vec<_>>());
    (all(done), all(asked))
}

/// The number of compared pairs of steps, and a description of the first pair that breaks the law.
#[derive(Default)]
pub(super) struct Found {
    pub(super) pairs: u64,
    /// The pairs of a step and the death of its task.
    pub(super) deaths: u64,
    /// The number of the program that was compared last.
    pub(super) program: u64,
    pub(super) broken: Option<String>,
}

impl Found {
    /// Asserts that a planted fault was found.
    #[track_caller]
    pub(super) fn assert_broken(&self, name: &str) {
        println!("{name}: found in program {}", self.program);
        assert!(self.broken.is_some(), "{name}: not found in {} pairs", self.pairs);
    }
}

/// Returns the numbers of the programs that are tried for a planted fault. The program `first` or one shortly after it
/// shows the fault: a search from program 0 would take up to a hundred times as long.
pub(super) fn from(first: u64) -> Range<u64> {
    first..first + 20_000
}

/// Looks at the states along one way through the program.
fn look(program: &Program, rng: &mut Rng, found: &mut Found) {
    let mut prefix: Vec<TaskId> = Vec::new();
    for _ in 0..12 {
        let here = tell(program, &prefix);
        if !here.goes_on || here.stuck {
            return;
        }
        for (at, p) in here.enabled.iter().enumerate() {
            for q in &here.enabled[at + 1..] {
                compare(program, &prefix, (*p, *q), found);
                if found.broken.is_some() {
                    return;
                }
            }
        }
        prefix.push(here.enabled[rng.below(here.enabled.len() as u64) as usize]);
    }
}

fn compare(program: &Program, prefix: &[TaskId], (p, q): (TaskId, TaskId), found: &mut Found) {
    let after = |first, second| {
        let turns: Vec<TaskId> = prefix.iter().copied().chain([first, second]).collect();
        tell(program, &turns)
    };
    let (pq, qp) = (after(p, q), after(q, p));
    let at = prefix.len();
    // The run may have ended with the first of the two steps.
    let (Some(p_first), Some(q_first)) = (pq.footprints.get(at), qp.footprints.get(at)) else {
        return;
    };
    if is_last(&pq, at) || is_last(&qp, at) {
        return;
    }
    // The steps as they are at s, and as they follow each other in a run.
    let (q_then, p_then) = (pq.footprints.get(at + 1), qp.footprints.get(at + 1));
    let apart = |p_does: &(Vec<StepItem>, Vec<StepItem>),
                 q_does: &(Vec<StepItem>, Vec<StepItem>)| {
        !dependent((p, &p_does.0), (q, &q_does.0))
    };
    // The first steps belong to two runs, and may create objects.
    let mut keys = Vec::new();
    let can_swap = apart(&in_both(&mut keys, p_first), &in_both(&mut keys, q_first))
        || !pq.stuck && q_then.is_some_and(|q_then| apart(p_first, q_then))
        || !qp.stuck && p_then.is_some_and(|p_then| apart(p_then, q_first));
    // The children of two tasks get their numbers in the order of the steps. These numbers do not matter, because tasks
    // are identified by their paths.
    let spawns = |step: &(Vec<StepItem>, Vec<StepItem>)| {
        step.0.iter().any(|item| matches!(item, StepItem::Spawned(_)))
    };
    if !can_swap || spawns(p_first) && spawns(q_first) {
        return;
    }
    found.pairs += 1;
    let death =
        [(p, q, &pq), (q, p, &qp)].into_iter().find(|(_, dead, told)| told.kills(at, *dead));
    if let Some((death, dead, _)) = death {
        return compare_death(program, prefix, (death, dead), found);
    }
    let same = !pq.stuck
        && !qp.stuck
        && q_then.map(by_key) == Some(by_key(q_first))
        && p_then.map(by_key) == Some(by_key(p_first))
        && (pq.goes_on, &pq.enabled, &pq.seen) == (qp.goes_on, &qp.enabled, &qp.seen);
    if !same {
        found.broken = Some(format!("{program:?}\n{prefix:?} {p:?} {q:?}\n{pq:#?}\n{qp:#?}"));
    }
}

/// Compares two runs: the death of a task alone, and a step of the task followed by its death. The two runs must have
/// the same result.
fn compare_death(
    program: &Program,
    prefix: &[TaskId],
    (death, dead): (TaskId, TaskId),
    found: &mut Found,
) {
    found.deaths += 1;
    let after = |turns: &[TaskId]| {
        let turns: Vec<TaskId> = prefix.iter().chain(turns).copied().collect();
        tell_without(program, &turns, Some(dead))
    };
    let (alone, late) = (after(&[death]), after(&[dead, death]));
    let at = prefix.len();
    let same = !alone.stuck
        && !late.stuck
        && alone.footprints.get(at).map(by_key) == late.footprints.get(at + 1).map(by_key)
        && (alone.goes_on, &alone.enabled, &alone.seen)
            == (late.goes_on, &late.enabled, &late.seen);
    if !same {
        found.broken = Some(format!(
            "{program:?}\n{prefix:?} {dead:?} dies by {death:?}\n{alone:#?}\n{late:#?}"
        ));
    }
}

/// Returns `true` if the run ended with the step at `at`, or with the next step.
fn is_last(told: &Told, at: usize) -> bool {
    told.footprints.len() == at + 1 || !told.goes_on
}

fn diamonds(kind: Acts, programs: Range<u64>) -> Found {
    diamonds_of(programs, |rng| Program::generate(rng, kind, (3, 3)))
}

/// Compares pairs of steps in these programs, until one breaks the law.
pub(super) fn diamonds_of(programs: Range<u64>, generate: impl Fn(&mut Rng) -> Program) -> Found {
    crate::engine::simulate::hook::install();
    let mut found = Found::default();
    for seed in programs {
        let mut rng = Rng::new(seed);
        let program = generate(&mut rng);
        let program = if seed % 4 == 3 { program.with_clock(ClockMode::Any) } else { program };
        look(&program, &mut rng, &mut found);
        found.program = seed;
        if found.broken.is_some() {
            break;
        }
    }
    found
}

const ALL: Acts = &[
    Act::load,
    Act::store,
    Act::add,
    Act::exchange,
    Act::lock,
    Act::lock,
    Act::unlock,
    Act::attempt,
    Act::spawn,
    Act::join,
    Act::finished,
    Act::abort,
    Act::leave,
    Act::both,
    Act::pause,
    Act::wait,
    Act::sleep,
    Act::within,
    Act::now,
    Act::advance,
];

#[test]
fn steps_that_do_not_conflict_can_be_swapped() {
    let found = diamonds(ALL, super::swapped());
    println!("{} pairs", found.pairs);
    assert_eq!(found.broken, None);
    assert!(found.pairs > 180);
}

#[test]
fn a_relation_that_is_not_declared_is_found() {
    let memory: Acts = &[Act::load, Act::store, Act::add, Act::exchange, Act::wait];
    let locks: Acts = &[Act::lock, Act::lock, Act::unlock, Act::attempt, Act::load];
    let tasks: Acts = &[Act::spawn, Act::join, Act::finished, Act::abort, Act::pause, Act::both];
    let time: Acts = &[Act::sleep, Act::now, Act::advance, Act::within, Act::store];
    let faults: [(&str, (Kind, Kind), Acts, u64); 14] = [
        ("read, write", (word::READ, word::WRITE), memory, 0),
        ("write, write", (word::WRITE, word::WRITE), memory, 0),
        ("write, watch", (word::WRITE, WATCH), memory, 245),
        ("acquire, acquire", (lock::ACQUIRE, lock::ACQUIRE), locks, 0),
        ("acquire, fail", (lock::ACQUIRE, lock::FAIL), locks, 0),
        ("release, fail", (lock::RELEASE, lock::FAIL), locks, 0),
        ("end, look", (task::END, task::LOOK), tasks, 1046),
        ("end, join", (task::END, task::JOIN), tasks, 234),
        ("abort, live", (task::ABORT, task::LIVE), tasks, 2737),
        ("move, read", (clock::MOVE, clock::READ), time, 0),
        ("move, set", (clock::MOVE, clock::SET), time, 0),
        ("advance, read", (clock::ADVANCE, clock::READ), time, 0),
        ("advance, due", (clock::ADVANCE, clock::DUE), time, 0),
        ("advance, advance", (clock::ADVANCE, clock::ADVANCE), time, 0),
    ];
    for (name, pair, kind, first) in faults {
        let found = faults::without(pair, || diamonds(kind, from(first)));
        found.assert_broken(name);
    }
}

#[cfg(feature = "tokio")]
mod of_tokio {
    use super::*;
    use crate::run::op::of_tokio::{permits, readers, tellings, whole};

    const ALL: Acts =
        &[Act::semaphore, Act::rwlock, Act::notify, Act::once, Act::race, Act::spawn, Act::abort];

    #[test]
    fn steps_that_do_not_conflict_can_be_swapped() {
        let kinds: [Acts; 5] =
            [&[Act::semaphore], &[Act::rwlock], &[Act::notify], &[Act::once, Act::add], ALL];
        for kind in kinds {
            let found = diamonds(kind, super::super::swapped());
            println!("{} pairs", found.pairs);
            assert_eq!(found.broken, None);
            assert!(found.pairs > 75);
        }
    }

    #[test]
    fn a_relation_that_is_not_declared_is_found() {
        let semaphores: Acts = &[Act::semaphore, Act::semaphore, Act::add];
        let dropped: Acts = &[Act::semaphore, Act::semaphore, Act::race];
        let closing: Acts = &[Act::closing, Act::closing, Act::add];
        let locks: Acts = &[Act::rwlock, Act::rwlock, Act::add];
        let notes: Acts = &[Act::notify];
        let cells: Acts = &[Act::once];
        let faults: [(&str, (Kind, Kind), Acts, u64); 17] = [
            ("take, take", (permits::TAKE, permits::TAKE), semaphores, 0),
            ("take, queue", (permits::TAKE, permits::QUEUE), semaphores, 0),
            ("queue, give", (permits::QUEUE, permits::GIVE), semaphores, 0),
            ("fail, give", (permits::FAIL, permits::GIVE), semaphores, 0),
            ("take, forget", (permits::TAKE, permits::FORGET), semaphores, 147),
            ("take, close", (permits::TAKE, permits::CLOSE), semaphores, 0),
            ("hear, close", (permits::HEAR, permits::CLOSE), closing, 2029),
            ("count, give", (permits::COUNT, permits::GIVE), semaphores, 0),
            ("leave, queue", (permits::LEAVE, permits::QUEUE), dropped, 10981),
            ("read, write", (readers::READ, readers::WRITE), locks, 0),
            ("read, queue to write", (readers::READ, readers::QUEUE_TO_WRITE), locks, 0),
            ("read, downgrade", (readers::QUEUE_TO_READ, readers::DOWNGRADE), locks, 1498),
            ("fail, end reading", (readers::FAIL_TO_WRITE, readers::END_READING), locks, 167),
            ("take, register", (tellings::TAKE, tellings::TAKE), notes, 0),
            ("register, one", (tellings::REGISTER, tellings::TELL_ONE), notes, 0),
            ("create, all", (tellings::CREATE, tellings::TELL_ALL), notes, 0),
            ("change, look", (whole::CHANGE, whole::LOOK), cells, 0),
        ];
        for (name, pair, kind, first) in faults {
            let found = faults::without(pair, || diamonds(kind, from(first)));
            found.assert_broken(name);
        }
    }
}
