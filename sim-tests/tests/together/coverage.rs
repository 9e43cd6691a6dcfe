//! Coverage: classes of interleavings beside brute force, blind spots, conditions that never held.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::census::class_of;
use sim::report::{Report, Style, text};
use sim::run::event::Values;
use sim::run::ids::{ObjectId, TaskId};
use sim::run::op::Access;
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, Mutex, Runner, SIMULATED};
use sim_tests::corpus::all;
use sim_tests::corpus::programs::Spawning;
use sim_tests::histories::{Draw, long};

// ---- classes

/// A step: the task, its number among the steps of that task, and its accesses to objects.
type Step = (TaskId, usize, Vec<(ObjectId, Access)>);

/// Returns the normal form of a run: the first of all orders that can be reached by swaps of independent neighbouring
/// steps. The function repeatedly takes the lowest task whose next step depends on no remaining earlier step. Steps
/// without an access are omitted.
fn normal_form(run: &Run) -> Vec<(TaskId, usize)> {
    let mut operations: BTreeMap<u32, Vec<(ObjectId, Access)>> = BTreeMap::new();
    for event in &run.events {
        if let Some(object) = event.object {
            let changed = !matches!(event.values, Values::Refused(..) | Values::Failed)
                && !matches!(event.values, Values::Changed(old, new) if old == new);
            let access = if changed { event.op.access } else { Access::Read };
            operations.entry(event.step).or_default().push((object, access));
        }
    }
    let mut counts: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut left: Vec<Step> = Vec::new();
    for (number, operations) in operations {
        let task = run.steps[number as usize].task;
        let nth = counts.entry(task).or_default();
        left.push((task, *nth, operations));
        *nth += 1;
    }
    let depends = |a: &Step, b: &Step| {
        let conflict =
            |x: &(ObjectId, Access), y: &(ObjectId, Access)| x.0 == y.0 && x.1.conflicts(y.1);
        a.0 == b.0 || a.2.iter().any(|x| b.2.iter().any(|y| conflict(x, y)))
    };
    let mut form = Vec::new();
    while !left.is_empty() {
        let free = |i: &usize| (0..*i).all(|j| !depends(&left[j], &left[*i]));
        let next =
            (0..left.len()).filter(free).min_by_key(|i| left[*i].0).expect("the first is free");
        let (task, nth, _) = left.remove(next);
        form.push((task, nth));
    }
    form
}

/// Runs up to three tasks with up to three operations on up to two objects, all drawn from `seed`.
async fn generated(seed: u64) {
    let mut draw = Draw(seed);
    let shared = Arc::new(([Atomic::new(0u64), Atomic::new(0u64)], Mutex::new(0u64)));
    let mut tasks = Vec::new();
    for _ in 0..2 + draw.below(2) {
        let ops: Vec<usize> = (0..1 + draw.below(3)).map(|_| draw.below(8)).collect();
        let shared = shared.clone();
        tasks.push(sim::spawn(async move {
            for op in ops {
                let (words, lock) = &*shared;
                match op {
                    0..=2 => drop(words[op % 2].load(SeqCst).await),
                    3..=4 => words[op % 2].store(1, SeqCst).await,
                    5 => drop(words[0].fetch_add(1, SeqCst).await),
                    6 => *lock.lock().await += 1,
                    _ => drop(lock.try_lock().await),
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn two_runs_have_one_number_just_if_independent_steps_alone_differ() {
    let (mut several, mut total) = (0, 0);
    let programs = if long() { 60 } else { 12 };
    for program in 0..programs {
        let mut forms: BTreeMap<u64, Vec<(TaskId, usize)>> = BTreeMap::new();
        for seed in 0..150 {
            let run = Runner::new()
                .hermetic()
                .strategy("random")
                .run_seed(seed, async || generated(program).await);
            let (class, form) = (class_of(&run), normal_form(&run));
            let known = forms.entry(class).or_insert_with(|| form.clone());
            assert_eq!(*known, form, "program {program}: one number for two classes");
        }
        let distinct: BTreeSet<_> = forms.values().collect();
        assert_eq!(distinct.len(), forms.len(), "program {program}: two numbers for one class");
        several += usize::from(forms.len() > 1);
        total += forms.len();
    }
    let programs = programs as usize;
    assert!(
        several * 3 > programs * 2 && total > programs * 5,
        "{several} programs with several classes, {total} in all"
    );
}

#[cfg_attr(feature = "sim", test)]
fn programs_of_the_corpus_have_as_many_classes_as_are_known() {
    // These numbers come from an exhaustive exploration of the fixed programs, as described in their files.
    for (name, classes) in [
        ("account", 6),
        ("lazy01", 6),
        ("token_ring", 24),
        ("bank_transfer", 6),
        ("hazard_pointer", 9),
        ("reentrant_unlock", 2),
        ("snapshot", 9),
    ] {
        let program = all().find(|program| program.name == name).unwrap();
        let run = |seed| {
            let runner = Runner::new().hermetic().strategy("urw");
            class_of(&runner.run_seed(seed, || (program.fixed)(Spawning::Together)))
        };
        // When all classes are found, further runs must not find others.
        let mut found = BTreeSet::new();
        for seed in 0..1500 {
            if !long() && seed % 250 == 0 && found.len() == classes {
                break;
            }
            found.insert(run(seed));
        }
        assert_eq!(found.len(), classes, "{name}");
    }
}

// ---- the text of a report

fn seen(strategy: &str, jobs: usize, body: impl AsyncFn() + Sync) -> Report {
    let runner = Runner::new().hermetic().strategy(strategy).jobs(jobs);
    let report = runner.seeds(0..450).coverage(true).run(body);
    assert!(report.passed());
    report
}

/// Uses three words: three tasks compete for the first, the second is only read, and the third is written before the
/// tasks exist.
async fn shared_words() {
    let words = Arc::new([Atomic::new(0u64), Atomic::new(1), Atomic::new(2)]);
    words[2].store(3, SeqCst).await;
    sim::map_concurrently(0..3, |_| {
        let words = words.clone();
        async move {
            words[0].fetch_add(1, SeqCst).await;
            words[1].load(SeqCst).await;
            words[2].load(SeqCst).await;
            let _ = sim::rand::below(4) + sim::rand::below(1);
        }
    })
    .await;
    words[2].store(4, SeqCst).await;
}

#[cfg_attr(feature = "sim", test)]
fn coverage_is_the_same_on_any_number_of_threads_and_counts_what_there_is() {
    let coverage = seen("random", 1, shared_words).coverage.unwrap();
    assert_eq!(seen("random", 3, shared_words).coverage.as_ref(), Some(&coverage));
    // The same classes, counted by brute force.
    let runner = Runner::new().hermetic().strategy("random");
    let classes: Vec<u64> =
        (0..450).map(|seed| class_of(&runner.run_seed(seed, shared_words))).collect();
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let mut new = vec![0; 5];
    for (n, class) in classes.iter().enumerate() {
        let count = counts.entry(*class).or_default();
        new[n / 100] += u64::from(*count == 0);
        *count += 1;
    }
    assert_eq!((coverage.runs, coverage.classes), (450, counts.len() as u64));
    assert_eq!(coverage.new_per_hundred, new);
    assert_eq!(coverage.once, counts.values().filter(|count| **count == 1).count() as u64);
    // The first word is fought for; of the others nothing depends on chance.
    let ordinals: Vec<u32> = coverage.blind.objects.iter().map(|object| object.ordinal).collect();
    assert_eq!(ordinals.len(), 2, "{:?}", coverage.blind);
    assert_eq!(coverage.blind.draws, []);
    // The join of a task is a point, too, so other tasks may step before it.
    assert_eq!(coverage.blind.tasks, []);
}

#[test]
fn who_does_not_ask_for_coverage_gets_none() {
    let report = Runner::new().hermetic().seeds(0..20).run(shared_words);
    assert_eq!(report.coverage, None);
    let report = Runner::new().hermetic().seeds(0..20).coverage(true).run(shared_words);
    assert_eq!(report.coverage.is_some(), SIMULATED, "real threads tell nobody their order");
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_are_never_preempted_and_values_never_drawn_are_told() {
    let report = seen("random", 1, async || {
        let word = Atomic::new(0u64);
        word.store(sim::rand::below(2), SeqCst).await;
        if sim::rand::below(64) == 0 && sim::rand::below(64) == 0 && sim::rand::below(64) == 0 {
            word.store(1, SeqCst).await;
        }
    });
    let coverage = report.coverage.clone().unwrap();
    assert_eq!(coverage.blind.tasks.len(), 1, "the body, which is alone");
    assert!(coverage.blind.draws.iter().all(|draw| draw.bound == 64), "{:?}", coverage.blind);
    let screen = text(&report, &Style::default());
    let (_, line) = screen.split_once('\n').unwrap();
    assert!(line.starts_with("seen    ") && line.contains("1 task"), "{screen}");
    // The following lines of a wrapped line are indented.
    assert!(line.lines().skip(1).all(|rest| rest.starts_with("        ")), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn a_program_of_one_class_is_seen_at_once() {
    let report = seen("random", 2, async || Atomic::new(0u64).store(1, SeqCst).await);
    let coverage = report.coverage.unwrap();
    assert_eq!((coverage.classes, coverage.unseen()), (1, 0.0));
    assert_eq!(coverage.new_per_hundred, [1, 0, 0, 0, 0]);
}

// ---- sometimes

/// Increments a word twice, with a condition that an increment was lost.
async fn increments(atomic: bool) {
    let counter = Arc::new(Atomic::new(0u64));
    sim::map_concurrently(0..2, |_| {
        let counter = counter.clone();
        async move {
            if atomic {
                counter.fetch_add(1, SeqCst).await;
            } else {
                let value = counter.load(SeqCst).await;
                counter.store(value + 1, SeqCst).await;
            }
        }
    })
    .await;
    let lost = counter.load(SeqCst).await == 1;
    sim::sometimes!(lost, "an update is lost");
    sim::sometimes!(!lost, "no update is lost");
}

fn never_held(report: &Report) -> Vec<&'static str> {
    match report.finding.as_ref().map(|finding| &finding.run.outcome) {
        None => Vec::new(),
        Some(Outcome::Failed(Failure::TooSeldom { conditions, .. })) => {
            conditions.iter().map(|condition| condition.name).collect()
        }
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_test_in_which_a_condition_never_held_fails() {
    for jobs in [1, 3] {
        let runner = || Runner::new().hermetic().jobs(jobs).seeds(0..100);
        let report = runner().run(async || increments(true).await);
        assert_eq!(never_held(&report), ["an update is lost"]);
        assert!(text(&report, &Style::default()).contains("an update is lost"));
        if SIMULATED {
            assert_eq!(never_held(&runner().run(async || increments(false).await)), [""; 0]);
        }
    }
}

#[test]
fn one_seed_alone_is_not_asked_whether_a_condition_held() {
    let report = Runner::new().hermetic().seed(3).run(async || increments(true).await);
    assert!(report.passed());
    let run = Runner::new().hermetic().run_seed(3, async || increments(true).await);
    let held: Vec<u64> = run.conditions.iter().map(|condition| condition.runs).collect();
    assert_eq!(held, [0, 1]);
}

#[cfg_attr(feature = "sim", test)]
fn a_failing_run_is_what_is_told_of() {
    let report = Runner::new().hermetic().seeds(0..100).run(async || {
        sim::sometimes!(false, "never");
        assert_eq!(sim::rand::below(1), 1);
    });
    let outcome = &report.finding.unwrap().run.outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::Panic { .. })), "{outcome:?}");
}

// ---- objects that tasks share outside this library

fn covered(body: impl AsyncFn() + Sync) -> Report {
    Runner::new().hermetic().coverage(true).seeds(0..200).run(body)
}

/// Checks that coverage gives no probability for unseen classes.
fn says_no_figure(report: &Report) {
    assert!(report.passed(), "{:?}", report.finding);
    assert!(report.coverage.as_ref().unwrap().foreign);
    let screen = text(report, &Style::default());
    assert!(screen.contains("tasks share data outside this library"), "{screen}");
    assert!(!screen.contains("% unseen"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_share_a_channel_of_another_crate_have_no_figure() {
    says_no_figure(&covered(async || {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let task = sim::spawn(async move { receiver.await.unwrap() });
        sim::task::yield_now().await;
        sender.send(1).unwrap();
        assert_eq!(task.await.unwrap(), 1);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_share_a_lock_of_std_have_no_figure() {
    says_no_figure(&covered(async || {
        let shared = Arc::new(std::sync::Mutex::new(0));
        let seen = Arc::new([Atomic::new(0), Atomic::new(0)]);
        let task = |n: usize| {
            let (shared, seen) = (shared.clone(), seen.clone());
            sim::spawn(async move {
                sim::task::yield_now().await;
                let number = {
                    let mut shared = shared.lock().unwrap();
                    *shared += 1;
                    *shared
                };
                seen[n].store(number, SeqCst).await;
            })
        };
        for task in [task(0), task(1)] {
            task.await.unwrap();
        }
    }));
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_share_what_is_of_this_library_have_a_figure() {
    let report = covered(async || generated(7).await);
    assert!(report.passed() && !report.coverage.as_ref().unwrap().foreign);
    assert!(text(&report, &Style::default()).contains("% unseen"));
}
