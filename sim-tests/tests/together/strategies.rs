//! All strategies of the registry must pass this suite. A replay must notice every difference, and must not crash on
//! any trace.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use sim::Ordering::SeqCst;
use sim::report::Report;
use sim::run::trace::{
    Header, Trace, TraceDraw, TraceObject, TraceOp, TraceStep, TraceTask, format,
};
use sim::run::{Failure, Outcome, Run};
use sim::strategy::STRATEGIES;
use sim::{Atomic, Runner, SIMULATED};
use sim_tests::fingerprint::Fingerprint;
use sim_tests::histories::long;
use sim_tests::programs::{PROGRAMS, Program, program};
use sim_tests::seeds::failure;

fn run(strategy: &str, seed: u64, program: Program) -> Run {
    Runner::new().hermetic().strategy(strategy).run_seed(seed, program.body)
}

#[test]
fn names_are_distinct_words_and_said_in_one_line() {
    let names: BTreeSet<_> = STRATEGIES.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), STRATEGIES.len());
    for row in STRATEGIES {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!row.name.is_empty() && row.name.chars().all(word), "{}", row.name);
        assert!(!row.summary.is_empty() && !row.summary.contains('\n'), "{}", row.name);
        assert_eq!(sim::strategy::find(row.name).map(|found| found.name), Some(row.name));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_is_one_run_and_every_answer_is_in_range() {
    for row in STRATEGIES {
        for program in PROGRAMS {
            let mut different = BTreeSet::new();
            for seed in 0..if long() { 100 } else { 10 } {
                let first = run(row.name, seed, *program);
                let second = run(row.name, seed, *program);
                let print = Fingerprint::of(&first);
                assert_eq!(print, Fingerprint::of(&second), "{} seed {seed}", row.name);
                let misused = matches!(first.outcome, Outcome::Failed(Failure::Misuse { .. }));
                assert!(!misused, "{}: {:?}", row.name, first.outcome);
                assert_eq!(first.strategy, row.name);
                different.insert(print.0);
            }
            assert!(
                different.len() > 1,
                "{} runs {} in the same way with all seeds: a strategy without a number draws from its seed",
                row.name,
                program.name
            );
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn every_interleaving_of_a_small_program_is_reached() {
    /// Orders of six accesses, three of each task.
    const ALL: usize = 20;
    /// Every strategy reaches the orders with at most three task switches.
    const FEW: usize = 14;
    let few = |orders: &BTreeSet<Vec<u32>>| {
        let changes = |order: &Vec<u32>| order.windows(2).filter(|pair| pair[0] != pair[1]).count();
        orders.iter().filter(|order| changes(order) <= 3).count()
    };
    for row in STRATEGIES {
        let mut orders = BTreeSet::new();
        for seed in 0..3000 {
            let run = Runner::new().hermetic().strategy(row.name).run_seed(seed, async || {
                let word = Arc::new(Atomic::new(0u8));
                let tasks: Vec<_> = (0..2)
                    .map(|_| {
                        let word = word.clone();
                        sim::spawn(async move {
                            for _ in 0..3 {
                                word.fetch_add(1, SeqCst).await;
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            });
            let accesses = run.events.iter().filter(|event| event.object.is_some());
            orders.insert(accesses.map(|event| event.task.0).collect::<Vec<_>>());
            if orders.len() == ALL || !row.reaches_all && few(&orders) == FEW {
                break;
            }
        }
        if row.reaches_all {
            let reached = orders.len();
            assert_eq!(reached, ALL, "{}: correct it, or set `reaches_all` to false", row.name);
        }
        assert_eq!(few(&orders), FEW, "{}: every strategy reaches these", row.name);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_strategy_with_a_number_is_chosen_by_name_and_says_it() {
    let program = program("lost_update");
    for form in STRATEGIES.iter().flat_map(|row| row.numbered) {
        assert_eq!(run(form.name, 1, program).strategy, form.name);
    }
    for row in STRATEGIES {
        let count = row.numbered.len();
        let numbers =
            ["0", "", "x"].map(str::to_owned).into_iter().chain([(count + 1).to_string()]);
        let names = numbers.map(|number| format!("{}:{number}", row.name));
        let is_unknown = |name: &String| row.numbered.iter().all(|form| form.name != name);
        for name in names.filter(is_unknown) {
            let refused =
                Runner::new().hermetic().strategy(&name).try_run(program.body).unwrap_err();
            let text = refused.to_string();
            let grammar = match row.numbered {
                [first, .., last] => format!("{} ({} to {})", row.name, first.name, last.name),
                _ => row.name.to_owned(),
            };
            assert!(text.contains(&name) && text.contains(&grammar), "{text}");
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_alone_is_the_run_that_it_is_among_others() {
    for row in STRATEGIES {
        let program = program("lost_update");
        let runner = || Runner::new().hermetic().strategy(row.name);
        let report = runner().jobs(1).seeds(0..2000).run(program.body);
        let found = report.finding.unwrap_or_else(|| panic!("{} finds nothing", row.name));
        let alone = run(row.name, found.run.seed.0, program);
        assert_eq!(alone.outcome, found.run.outcome, "{}", row.name);
        assert_eq!(alone.steps.len() as u64, found.original.steps as u64, "{}", row.name);
        if found.run.seed.0 > 0 {
            let before = runner().seeds(0..found.run.seed.0).run(program.body);
            assert!(before.passed(), "{}", row.name);
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_of_the_portfolio_is_that_seed_of_one_of_its_members() {
    let (program, mut served) = (program("mix"), BTreeSet::new());
    for seed in 0..100 {
        let print = |strategy| Fingerprint::of(&run(strategy, seed, program));
        let all = print("portfolio");
        let same = ["orders", "urw", "pos", "pct"].into_iter().filter(|name| print(name) == all);
        let same: Vec<&str> = same.collect();
        assert!(!same.is_empty(), "seed {seed}");
        served.extend(Some(same[0]).filter(|_| same.len() == 1));
    }
    assert_eq!(served.len(), 4, "{served:?}");
}

/// The number of failing seeds among the first `seeds` seeds, counted up to `enough`.
fn failing<B: AsyncFn() + Sync>(strategy: &str, seeds: u64, enough: usize, body: B) -> usize {
    let runner = Runner::new().hermetic().strategy(strategy);
    let fails = |seed: &u64| runner.run_seed(*seed, &body).outcome != Outcome::Passed;
    (0..seeds).filter(fails).take(enough).count()
}

/// The number that corresponds to one of 2000. A fourth of the runs has half of the deviation.
fn at_least_of_500(of_2000: usize) -> usize {
    let deviation = (of_2000 as f64 * (1.0 - of_2000 as f64 / 2000.0)).sqrt();
    of_2000 / 4 - (5.0 / 4.0 * deviation) as usize
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_is_found_as_often_as_is_promised() {
    // The numbers are out of 2000 runs. The numbers are at least five standard deviations below the numbers that the
    // strategies' own tests compute.
    for (name, at_least) in [
        ("random", 700),
        ("pct:2", 150),
        ("pct:3", 200),
        ("pos", 500),
        ("urw", 700),
        ("surw", 1150),
        ("orders", 900),
    ] {
        let few = (500, at_least_of_500(at_least));
        let (seeds, at_least) = if long() { (2000, at_least) } else { few };
        let found = failing(name, seeds, at_least, sim_tests::programs::lost_update);
        assert!(found >= at_least, "{name}: {found}");
    }
}

/// A0 < B0 < A1 < C0 fails: three orderings.
async fn three_orderings() {
    let word = Arc::new(Atomic::new(0u8));
    let seen = Arc::new(Atomic::new(0u8));
    let task = |expected: u8, then: Option<u8>| {
        let (word, seen) = (word.clone(), seen.clone());
        async move {
            for expected in std::iter::once(expected).chain(then) {
                if word.fetch_add(1, SeqCst).await == expected {
                    seen.fetch_add(1, SeqCst).await;
                }
            }
        }
    };
    let tasks = [task(0, Some(2)), task(1, None), task(3, None)].map(sim::spawn);
    for task in tasks {
        task.await.unwrap();
    }
    assert_ne!(seen.load(SeqCst).await, 4);
}

#[cfg_attr(feature = "sim", test)]
fn a_bug_of_three_orderings_is_found_as_often_as_is_promised() {
    // The bound of PCT: 4 tasks and about 17 steps give one run of 1156 at least.
    for (name, at_least) in
        [("random", 10), ("pct:3", 2), ("pct", 1), ("pos", 10), ("urw", 10), ("surw", 10)]
    {
        let found = failing(name, 2000, at_least, three_orderings);
        assert!(found >= at_least, "{name}: {found}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_waits_in_a_loop_does_not_keep_the_others_from_going_on() {
    for row in STRATEGIES {
        for yields in [false, true] {
            let runner = Runner::new().hermetic().strategy(row.name).max_steps(100_000);
            let report = runner.seeds(0..100).run(async || {
                let flag = Arc::new(Atomic::new(false));
                let other = flag.clone();
                let task = sim::spawn(async move { other.store(true, SeqCst).await });
                while !flag.load(SeqCst).await {
                    if yields {
                        sim::task::yield_now().await;
                    }
                }
                task.await.unwrap();
            });
            let outcome = report.finding.map(|found| found.run.outcome);
            assert_eq!(outcome, None, "{}", row.name);
        }
        // This program has state that no strategy sees.
        let runner = Runner::new().hermetic().strategy(row.name).max_steps(100_000);
        let report = runner.seeds(0..100).run(async || {
            let flag = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let (other, word) = (flag.clone(), Atomic::new(0u8));
            let task = sim::spawn(async move {
                sim::task::yield_now().await;
                word.store(1, SeqCst).await;
                other.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            let own = Atomic::new(0u8);
            while !flag.load(std::sync::atomic::Ordering::SeqCst) {
                own.load(SeqCst).await;
            }
            task.await.unwrap();
        });
        let outcome = report.finding.map(|found| found.run.outcome);
        assert_eq!(outcome, None, "{}", row.name);
    }
}

// ---- replay

fn trace_of(run: &Run) -> Trace {
    Trace::of(run, Header { seed: run.seed, ..Header::default() })
}

/// Writes a trace to a separate file, and replays it.
fn replay(name: &str, trace: &Trace, program: Program) -> Report {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("strategies");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.simtrace"));
    std::fs::write(&path, format::write(trace)).unwrap();
    Runner::new().hermetic().replay(path.to_str().unwrap()).run(program.body)
}

#[cfg_attr(feature = "sim", test)]
fn what_a_strategy_did_is_replayed_from_a_file_and_from_a_word() {
    for row in STRATEGIES {
        for program in PROGRAMS {
            for seed in 0..if long() { 20 } else { 4 } {
                let run = run(row.name, seed, *program);
                let (name, trace) = (format!("{}_{}", row.name, program.name), trace_of(&run));
                let word = format::inline(&trace);
                let from_word = Runner::new().hermetic().replay(word).run(program.body);
                for report in [replay(&name, &trace, *program), from_word] {
                    let outcome = match report.finding {
                        None => Outcome::Passed,
                        Some(found) => {
                            let again = Run { seed: run.seed, ..found.run };
                            assert_eq!(Fingerprint::of(&again), Fingerprint::of(&run), "{name}");
                            again.outcome
                        }
                    };
                    assert_eq!(outcome, run.outcome, "{name} seed {seed}");
                }
            }
        }
    }
}

/// Returns the step at which the replay of a changed trace diverges.
#[track_caller]
fn diverges(name: &str, program: &str, change: impl FnOnce(&mut Trace)) -> usize {
    let program = sim_tests::programs::program(program);
    let passes = |seed: &u64| run("random", *seed, program).outcome == Outcome::Passed;
    let seed = (0..100).find(passes).unwrap();
    let mut trace = trace_of(&run("random", seed, program));
    change(&mut trace);
    let report = replay(name, &trace, program);
    let found = report.finding.unwrap_or_else(|| panic!("{name}: the change is not noticed"));
    match failure(&found.run) {
        Failure::Diverged { step, expected, found } => {
            assert_ne!(expected, found);
            step as usize
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[cfg_attr(feature = "sim", test)]
fn replay_names_the_first_step_that_differs() {
    let mut at = 0;
    let missing = diverges("missing_task", "store", |trace| {
        at = trace.steps.len() / 2;
        let path = "0.7".parse().unwrap();
        trace.tasks.push(TraceTask { path, name: None });
        trace.steps[at].task = trace.tasks.len() - 1;
    });
    assert_eq!(missing, at);
    let operation = |trace: &Trace| {
        let with_object =
            |step: &TraceStep| step.operations.first().is_some_and(|d| d.object.is_some());
        trace.steps.iter().rposition(with_object).unwrap()
    };
    let other_op = diverges("other_op", "store", |trace| {
        at = operation(trace);
        trace.steps[at].operations[0].op = "fetch_sub".to_owned();
    });
    assert_eq!(other_op, at);
    let other_object = diverges("other_object", "store", |trace| {
        at = operation(trace);
        let object = &mut trace.steps[at].operations[0].object;
        *object = Some(usize::from(*object == Some(0)));
    });
    assert_eq!(other_object, at);
    let less_done = diverges("less_done", "store", |trace| {
        at = operation(trace);
        trace.steps[at].operations.pop();
    });
    assert_eq!(less_done, at);
    let surplus = diverges("surplus", "store", |trace| {
        at = trace.steps.len();
        trace.steps.push(TraceStep::default());
    });
    assert_eq!(surplus, at);
    let early = diverges("early", "store", |trace| {
        at = trace.steps.len() - 1;
        trace.steps.pop();
    });
    assert_eq!(early, at);
    type ChangeDraws = fn(&mut Vec<TraceDraw>);
    let changes: [(&str, ChangeDraws); 3] = [
        ("other_bound", |draws| draws[0].bound += 1),
        ("no_draw", |draws| draws.truncate(draws.len() - 1)),
        ("another_draw", |draws| draws.push(TraceDraw { value: 0, bound: 2 })),
    ];
    for (name, change) in changes {
        let step = diverges(name, "store", |trace| {
            at = trace.steps.iter().position(|step| !step.draws.is_empty()).unwrap();
            change(&mut trace.steps[at].draws);
        });
        assert_eq!(step, at, "{name}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn replay_does_not_mind_other_values_and_other_places() {
    let program = program("store");
    let mut trace = trace_of(&run("random", 0, program));
    for operation in trace.steps.iter_mut().flat_map(|step| &mut step.operations) {
        operation.place = "elsewhere.rs:1:1".to_owned();
        operation.values = "1->2".to_owned();
    }
    assert!(replay("moved", &trace, program).passed());
}

/// A change of a trace after which it is still a valid trace.
#[derive(Clone, Copy, Debug)]
enum Change {
    Remove(usize),
    Repeat(usize),
    Swap(usize, usize),
    Task(usize, usize),
    Object(usize, usize),
    Draw(usize, u64, u64),
}

fn change() -> impl Strategy<Value = Change> {
    let at = || 0..1000usize;
    prop_oneof![
        at().prop_map(Change::Remove),
        at().prop_map(Change::Repeat),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Task(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Object(a, b)),
        (at(), any::<u64>(), 1..=u64::MAX).prop_map(|(a, v, b)| Change::Draw(a, v % b, b)),
    ]
}

fn apply(trace: &mut Trace, change: Change) {
    let (tasks, objects, steps) = (trace.tasks.len(), trace.objects.len(), trace.steps.len());
    if steps == 0 {
        return;
    }
    match change {
        Change::Remove(at) => drop(trace.steps.remove(at % steps)),
        Change::Repeat(at) => trace.steps.insert(at % steps, trace.steps[at % steps].clone()),
        Change::Swap(a, b) => trace.steps.swap(a % steps, b % steps),
        Change::Task(at, task) => trace.steps[at % steps].task = task % tasks,
        Change::Object(at, object) if objects > 0 => {
            let operations = &mut trace.steps[at % steps].operations;
            operations.iter_mut().for_each(|operation| operation.object = Some(object % objects));
        }
        Change::Object(..) => {}
        Change::Draw(at, value, bound) => {
            trace.steps[at % steps].draws.push(TraceDraw { value, bound });
        }
    }
}

/// A trace of nothing that ever ran.
fn invented() -> impl Strategy<Value = Trace> {
    let operation = ("[a-z_]{1,8}", proptest::option::of(0..3usize)).prop_map(|(op, object)| {
        TraceOp { op, object, place: "x.rs:1:1".to_owned(), values: String::new() }
    });
    let draw = (any::<u64>(), 1..=u64::MAX)
        .prop_map(|(value, bound)| TraceDraw { value: value % bound, bound });
    let few = 0..3usize;
    let (operations, draws) =
        (proptest::collection::vec(operation, few.clone()), proptest::collection::vec(draw, few));
    let step = (0..6usize, operations, draws).prop_map(|(task, operations, draws)| TraceStep {
        task,
        operations,
        draws,
    });
    proptest::collection::vec(step, 0..40).prop_map(|steps| {
        let paths = ["0", "0.0", "0.1", "0.0.0", "0.4294967295", "0.2"];
        let task = |path: &&str| TraceTask { path: path.parse().unwrap(), name: None };
        let object = |n| TraceObject { kind: format!("kind{n}"), place: "x.rs:1:1".to_owned() };
        let (tasks, objects) = (paths.iter().map(task).collect(), (0..3).map(object).collect());
        Trace { tasks, objects, steps, ..Trace::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_changed_trace_is_replayed_or_diverges(
        seed in 0..50u64,
        number in 0..PROGRAMS.len(),
        changes in proptest::collection::vec(change(), 1..6),
    ) {
        if SIMULATED {
            let program = PROGRAMS[number];
            let mut trace = trace_of(&run("random", seed, program));
            changes.into_iter().for_each(|change| apply(&mut trace, change));
            let report = replay("changed", &trace, program);
            if let Some(found) = report.finding {
                let told = matches!(
                    failure(&found.run),
                    Failure::Diverged { .. }
                        | Failure::Panic { .. }
                        | Failure::Deadlock { .. }
                        | Failure::History { .. }
                );
                prop_assert!(told, "{:?}", found.run.outcome);
            }
        }
    }

    #[test]
    fn an_invented_trace_diverges(trace in invented(), number in 0..PROGRAMS.len()) {
        if SIMULATED {
            let report = replay("invented", &trace, PROGRAMS[number]);
            let found = failure(&report.finding.expect("no program does that").run);
            prop_assert!(matches!(found, Failure::Diverged { .. }), "{found:?}");
        }
    }
}
