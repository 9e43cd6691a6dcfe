//! The search against brute force: every run of a small program, in the same runtime.
//!
//! Compares a search with brute force in three points: the set of results, the set of classes of runs, and the absence
//! of repeated classes. A result is the end of the run with everything that each task saw, so it does not depend on the
//! definition of a conflict.

mod act;
mod audited;
mod bounded;
mod brute;
mod certified;
mod certified_bounds;
#[cfg(feature = "tokio")]
mod channels;
mod clashes;
mod cluster;
mod counted;
mod deaths;
mod diamond;
mod divided;
mod families;
mod fated;
mod faults;
mod late;
#[cfg(feature = "tokio")]
mod mail;
mod nodes;
#[cfg(feature = "tokio")]
mod of_tokio;
mod once;
mod orders;
mod parking;
mod program;
mod proofs;
mod regions;
mod residents;
mod selects;
mod timed;
mod unseen;
mod weak_bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::pin::pin;

use self::act::Act;
use self::brute::Brute;
use self::certified::Certified;
use self::divided::Divided;
use self::program::{Program, body};
use super::ends_by_a_step;
use crate::rt::{RunLimits, TaskBody, Worker};
use crate::run::faults::Faults;
use crate::run::ids::Seed;
use crate::run::{Failure, Outcome, Run};
use crate::strategy::Search;
use crate::strategy::exhaustive::Exhaustive;
use crate::strategy::search::Apart;

/// The outcome of a run, the values seen by each task, and the real-time order of the recorded calls.
type Seen = (String, BTreeMap<String, Vec<String>>, BTreeSet<String>);

/// The whole record, except the effects that deaths of nodes revoked.
fn seen(run: &Run) -> Seen {
    let lost = deaths::lost_events(run);
    seen_but(run, |at| lost.contains(&at))
}

/// The whole record, except the events at these positions.
fn seen_but(run: &Run, is_left_out: impl Fn(usize) -> bool) -> Seen {
    let outcome = match &run.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(failure) => {
            let signature = failure.signature();
            format!("{} {}", signature.kind, signature.place)
        }
    };
    let mut tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, event) in run.events.iter().enumerate() {
        if is_left_out(at) {
            continue;
        }
        let path = run.tasks[event.task.index()].path.to_string();
        let values = match event.values {
            crate::run::event::Values::Task(task) => run.tasks[task.index()].path.to_string(),
            values => format!("{values:?}"),
        };
        tasks.entry(path).or_default().push(format!("{} {values}", event.op.name));
    }
    #[cfg(feature = "tokio")]
    for (task, got) in channels::take_got() {
        tasks.entry(format!("what {task} got")).or_default().push(got);
    }
    let mut precedence = BTreeSet::new();
    for history in &run.histories {
        let name = |at: usize| {
            let client = history.operations[at].client;
            let before = history.operations[..at].iter().filter(|other| other.client == client);
            format!("{} {}", history.clients[client as usize], before.count())
        };
        let count = history.operations.len();
        // An operation that never did anything may be left out, regardless of its start.
        let ended = |at: &usize| history.operations[*at].returned.is_some();
        for (a, b) in (0..count).flat_map(|a| (0..count).filter(ended).map(move |b| (a, b))) {
            let returned = history.operations[a].returned.as_ref().map(|(_, time)| *time);
            if returned.is_some_and(|time| time < history.operations[b].invoked) {
                precedence.insert(format!("{} < {}", name(a), name(b)));
            }
        }
    }
    (outcome, tasks, precedence)
}

/// All results and classes of a program.
#[derive(Default)]
struct All {
    results: BTreeSet<Seen>,
    classes: BTreeMap<u64, u64>,
    /// For each class, the number that the census gives to the runs of the class.
    census: BTreeSet<(u64, u64)>,
    runs: u64,
    blocked: u64,
    astray: u64,
    /// The differences that distinguished runs at the end.
    apart: Apart,
    /// True if a step ended a run while tasks were left.
    cut_short: bool,
}

const LIMITS: RunLimits = RunLimits::of_test(200);

/// The limits of runs of a program.
fn limits(program: &Program) -> RunLimits {
    let (faults, what_if) = (program.faults.clone(), program.what_if.clone());
    RunLimits { clock: program.clock, faults, what_if, ..LIMITS }
}

fn place() -> crate::run::ids::Place {
    std::panic::Location::caller()
}

/// Executes all sequences of decisions; `None` if there are too many. These differences distinguish classes.
fn by_brute_force(program: &Program, apart: Apart, runs_max: u64) -> Option<All> {
    let brute = Brute::default();
    brute.tell_apart(apart);
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut all = All::default();
    loop {
        let failure =
            worker.run(Seed(0), &limits(program), place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), "brute force");
        worker.forget_histories();
        all.runs += 1;
        if all.runs > runs_max {
            return None;
        }
        let class = brute.class(ends_by_a_step(failure.as_ref()));
        *all.classes.entry(class).or_default() += 1;
        all.census.insert((class, crate::census::class_of(&run)));
        all.results.insert(seen(&run));
        all.cut_short |= ends_by_a_step(failure.as_ref()) && brute.leaves();
        if !brute.advance() {
            return Some(all);
        }
    }
}

/// Returns the results and classes that the search finds.
fn by_search(program: &Program, apart: Apart) -> All {
    by_search_up_to(program, apart, 1_000_000)
        .unwrap_or_else(|| panic!("the search does not end: {program:?}"))
}

/// Explores the runs by the search; `None` if it takes more than `runs_max` runs.
fn by_search_up_to(program: &Program, apart: Apart, runs_max: u64) -> Option<All> {
    let search = Exhaustive::default();
    search.tell_apart(apart);
    let mut worker = Worker::new(search.strategy());
    let mut all = All::default();
    for _ in 0..runs_max {
        let failure =
            worker.run(Seed(0), &limits(program), place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), "exhaustive");
        worker.forget_histories();
        let blocked = search.is_blocked();
        if !blocked {
            let diverged = matches!(failure, Some(Failure::Diverged { .. }));
            assert!(!diverged, "{failure:?} in {program:?}");
            all.results.insert(seen(&run));
        }
        let more = search.advance_and(ends_by_a_step(failure.as_ref()), |order| {
            if !blocked {
                *all.classes.entry(order.class()).or_default() += 1;
            }
        });
        if search.progress().runs == 0 {
            all.classes.clear();
        }
        if !more {
            let progress = search.progress();
            (all.runs, all.blocked) = (progress.runs, progress.blocked);
            all.apart = search.apart();
            all.astray = search.explorer().astray;
            return Some(all);
        }
    }
    None
}

/// Sums over programs.
#[derive(Default, Debug)]
struct Tally {
    programs: u64,
    /// The number of programs that may deadlock.
    deadlocks: u64,
    brute: u64,
    classes: u64,
    runs: u64,
    blocked: u64,
    astray: u64,
    twice: u64,
    /// Programs that were searched step by step.
    by_step: u64,
    /// Programs that left tasks behind.
    cut_short: u64,
    divided: Divided,
    certified: Certified,
}

impl Tally {
    /// Compares one program.
    fn compare(&mut self, program: &Program, runs_max: u64) {
        // The compared results contain the order of calls.
        self.compare_apart(program, runs_max, Apart::ORDERS);
    }

    /// Compares one program. At least the differences `apart` distinguish runs of the program.
    fn compare_apart(&mut self, program: &Program, runs_max: u64, apart: Apart) {
        // A cheap check that finds programs that are too large, before they are searched.
        let Some(brute) = by_brute_force(program, apart, runs_max) else { return };
        let search = by_search(program, apart);
        let brute = match search.apart == apart {
            true => brute,
            false => {
                by_brute_force(program, search.apart, runs_max).expect("as many runs as before")
            }
        };
        self.by_step += u64::from(search.apart.steps);
        if !program.rings() && self.programs % AUDITED == 0 {
            assert!(!search.apart.steps, "{program:?}\nis searched step by step");
            let passes = search.results.iter().all(|(outcome, ..)| outcome == "passed");
            let searched = proofs::searched(program, passes);
            let agrees = searched.audit.as_ref().is_some_and(|audit| audit.agrees());
            assert!(agrees && !searched.by_step, "{program:?}\n{searched:#?}");
        }
        if self.programs % AUDITED == 0 {
            self.divided.compare(program, &search, apart);
            assert_eq!(self.divided.missing, 0, "{program:?}\nthe divided search misses something");
            if search.runs <= CERTIFIED_MAX {
                self.certified.check(program, apart);
            }
        }
        let missing: Vec<_> = brute.results.difference(&search.results).collect();
        assert!(missing.is_empty(), "{program:?}\nis missing {missing:#?}");
        let extra: Vec<_> = search.results.difference(&brute.results).collect();
        assert!(extra.is_empty(), "{program:?}\nmade up {extra:#?}");
        self.cut_short += u64::from(brute.cut_short);
        let all = brute.classes.len();
        let census: BTreeSet<u64> = brute.census.iter().map(|(_, number)| *number).collect();
        let missing = brute.classes.keys().filter(|class| !search.classes.contains_key(class));
        let missing = missing.count();
        assert!(missing == 0, "{program:?}\nmisses {missing} classes of {all}");
        // Without this criterion, the search does not count effects that the death of a node revokes.
        let all_counts = search.apart.deaths || !program.kills();
        if !brute.cut_short && !search.apart.steps && all_counts {
            // The census uses only the records, and does not know of the search.
            assert_eq!(brute.census.len(), all, "{program:?}\nthe census tells equal runs apart");
            let coarser = program.tells_more_than_its_operations();
            assert!(census.len() == all || coarser, "{program:?}\n{} of {all}", census.len());
        }
        // Draws make a few classes run twice: a task that sleeps has the items of all values it drew.
        let twice = search.classes.values().filter(|count| **count > 1).count();
        self.twice += twice as u64;
        assert!(twice == 0 || program.draws(), "{program:?}\nran {twice} classes twice, of {all}");
        assert_eq!(search.astray, 0, "{program:?}\nnobody could begin");
        let is_deadlock = |seen: &Seen| seen.0.starts_with("deadlock");
        self.deadlocks += u64::from(brute.results.iter().any(is_deadlock));
        self.programs += 1;
        self.brute += brute.runs;
        self.classes += brute.classes.len() as u64;
        self.runs += search.runs;
        self.blocked += search.blocked;
        self.astray += search.astray;
    }

    fn add(&mut self, other: &Tally) {
        self.programs += other.programs;
        self.deadlocks += other.deadlocks;
        self.brute += other.brute;
        self.classes += other.classes;
        self.runs += other.runs;
        self.blocked += other.blocked;
        self.astray += other.astray;
        self.twice += other.twice;
        self.by_step += other.by_step;
        self.cut_short += other.cut_short;
    }
}

/// One of this number of programs is also searched in the same way as a test, and sampled runs check the search.
const AUDITED: u64 = if cfg!(debug_assertions) { 4 } else { 1 };

/// A certificate is verified only if the search has at most this number of runs. The certificate is verified as a
/// whole, and without each of its runs.
const CERTIFIED_MAX: u64 = if cfg!(debug_assertions) { 12 } else { 60 };

/// Returns the number of programs of each kind, and the maximum number of runs of one program by brute force.
fn effort() -> (u64, u64) {
    if crate::long() { (4_000, 2_000) } else { (40, 300) }
}

/// Returns the numbers of the programs in which steps without a conflict are swapped. Each program has at least ten
/// pairs of such steps.
fn swapped() -> Range<u64> {
    0..if crate::long() { 4_000 } else { 30 }
}

#[test]
fn whoever_waits_when_nothing_new_is_left_may_have_come_first() {
    crate::engine::simulate::hook::install();
    // The second task takes the lock for which the body waits. All its possible next steps were explored before the
    // first task took its step. An earlier version of the search missed the order in which the body steps before the
    // second task.
    let waits = vec![Act::Lock(0), Act::Lock(1), Act::Store(0, 1)];
    let first = vec![Act::Lock(1), Act::Store(0, 2), Act::Unlock(1)];
    let locks = Program::new(vec![vec![Act::Lock(0)], first, waits], 2, 0);
    let first = vec![Act::Attempt(0), Act::AwaitEither(2, 1)];
    let waits = vec![Act::Lock(0), Act::Load(0), Act::Await(0, 2)];
    let attempts = Program::new(vec![vec![Act::Lock(0)], first, waits], 2, 0);
    let mut tally = Tally::default();
    tally.compare(&locks, 10_000);
    tally.compare(&attempts, 10_000);
    assert_eq!(tally.programs, 2);
}

#[test]
fn a_step_is_cut_for_the_sake_of_what_needs_the_end_that_cuts_it() {
    crate::engine::simulate::hook::install();
    // The body adds, and then finds that its task has ended. If the body added first, a child of this task adds between
    // these two steps. An earlier version of the search missed this order.
    let parent = vec![Act::Add(0), Act::Load(1), Act::Spawn];
    let child = vec![Act::Lock(1), Act::Add(0)];
    let program = Program::new(vec![vec![Act::Add(0)], parent, vec![], child], 1, 1);
    let mut tally = Tally::default();
    tally.compare(&program, 10_000);
    assert_eq!(tally.programs, 1);
}

#[test]
fn what_was_about_to_happen_fits_between_the_parts_of_the_last_step() {
    crate::engine::simulate::hook::install();
    // The last step stores and ends the run, because it finds that its task has ended. The read comes before the store.
    // If the task has not ended, the read comes after the store. An earlier version of the search missed one of these
    // orders.
    let child = vec![Act::Load(1), Act::Check(0)];
    let parent = vec![Act::Spawn, Act::Check(0), Act::Attempt(1)];
    let program = Program::new(vec![vec![Act::Exchange(0, 0, 2)], parent, vec![], child], 1, 1);
    let mut tally = Tally::default();
    tally.compare(&program, 10_000);
    assert_eq!(tally.programs, 1);
}

#[test]
fn aborts_of_one_task_have_no_order_in_the_census() {
    crate::engine::simulate::hook::install();
    // The fault and the last task abort the task that locks. The two orders of these aborts are one class.
    let acts = vec![vec![Act::Sleep(2)], vec![Act::Lock(1)], vec![Act::Strike(0)]];
    let faults = Faults { cancel: Some("t1".into()), ..Faults::NONE };
    let mut tally = Tally::default();
    tally.compare(&Program::new(acts, 2, 2).befallen_by(faults), 10_000);
    assert_eq!(tally.programs, 1);
}

#[test]
fn a_slice_has_only_the_classes_that_are_kept() {
    crate::engine::simulate::hook::install();
    let adds = vec![vec![], vec![Act::Add(0)], vec![Act::Add(0)], vec![Act::Add(0), Act::Add(0)]];
    let program = Program::new(adds, 3, 3);
    let classes = |end: Option<u64>| {
        let search = Exhaustive::default();
        let mut worker = Worker::new(search.strategy());
        let mut part = search.tree().part(0);
        part.known.class_end = end;
        search.adopt(part);
        loop {
            let body = pin!(TaskBody::new(body(&program)));
            let failure = worker.run(Seed(0), &limits(&program), place(), body);
            worker.forget_histories();
            if !search.advance(ends_by_a_step(failure.as_ref())) {
                return search.leave().classes;
            }
        }
    };
    let all = classes(None);
    let end = all.iter().copied().max().expect("a search has runs");
    let kept: Vec<u64> = all.into_iter().filter(|class| *class < end).collect();
    assert!(kept.len() > 5, "{kept:?}");
    assert_eq!(classes(Some(end)), kept);
}
