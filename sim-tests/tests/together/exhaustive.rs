//! The exhaustive search, from outside: its proofs, its findings, and its report if it has neither.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::task::{Context, Poll, Waker};

use sim::Ordering::SeqCst;
use sim::census::class_of;
use sim::check::models::{Counter, CounterOp, CounterRet, Register, RegisterOp, RegisterRet};
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Mutex, Runner};
use sim_tests::corpus::all;
use sim_tests::corpus::programs::Spawning;
use sim_tests::fingerprint::Fingerprint;
use sim_tests::programs::{PROGRAMS, program};
use sim_tests::seeds::failure;

fn search() -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exhaustive");
    Runner::new().hermetic().strategy("exhaustive").out(out).name("searched")
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// Tasks that each add to a counter, in one operation.
async fn adders(tasks: usize) {
    let counter = Arc::new(Atomic::new(0usize));
    let add = |_| {
        let counter = counter.clone();
        sim::spawn(async move { counter.fetch_add(1, SeqCst).await })
    };
    let tasks: Vec<_> = (0..tasks).map(add).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn every_order_of_conflicting_steps_is_run_once() {
    for (tasks, orders) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        let report = search().run(async || adders(tasks).await);
        assert!(report.passed());
        let searched = report.searched.clone().unwrap();
        assert!(searched.is_proof() && searched.part == Some(1.0), "{searched:?}");
        assert_eq!(report.runs, orders);
        assert!(searched.blocked <= orders, "{searched:?}");
    }
    let report = search().run(async || adders(3).await);
    let steps = report.steps;
    let said = format!("passed  searched: explored all 6 interleavings, {steps} steps\n");
    assert!(screen(&report).starts_with(&said), "{}", screen(&report));
    let assumption = "        (assumes that tasks share memory through sim only)\n";
    assert!(screen(&report).ends_with(assumption), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn the_progress_over_time_does_not_depend_on_the_number_of_threads() {
    let series = |jobs: usize| {
        let report = search().seeds(0..100_000).jobs(jobs).run(async || adders(6).await);
        assert_eq!(report.runs, 720);
        report.searched.unwrap().series
    };
    let alone = series(1);
    let last = alone.last().unwrap();
    let end = (last.runs, last.part, last.total, last.interval);
    assert_eq!(end, (720, Some(1.0), Some(720), None));
    assert!(alone.len() > 1 && alone[0].part.is_none(), "{alone:?}");
    for pair in alone.windows(2) {
        assert!(pair[0].runs < pair[1].runs, "{alone:?}");
        assert!(pair[0].milliseconds <= pair[1].milliseconds, "{alone:?}");
    }
    assert_eq!(series(3), alone);
}

#[cfg_attr(feature = "sim", test)]
fn what_fails_in_one_interleaving_is_found_shrunk_and_replayed() {
    for program in PROGRAMS.iter().filter(|program| program.fails) {
        let report = search().run(program.body);
        let found = report.finding.unwrap_or_else(|| panic!("{} passes", program.name));
        assert!(found.shrunk.is_some(), "{}", program.name);
        let trace = found.trace_file.expect("a trace is written");
        let again = search().replay(&trace).run(program.body);
        let again = again.finding.expect("it fails again").run;
        assert_eq!(again.outcome, found.run.outcome, "{}", program.name);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_deadlock_that_one_order_of_locks_leads_to_is_found_and_its_fix_is_proven() {
    let philosophers = |fixed: bool| {
        search().run(async move || {
            let forks: Arc<[_; 3]> = Arc::new(std::array::from_fn(|_| Mutex::new(())));
            let tasks = [(0, 1), (1, 2), if fixed { (0, 2) } else { (2, 0) }].map(|(a, b)| {
                let forks = forks.clone();
                sim::spawn(async move {
                    let _first = forks[a].lock().await;
                    let _second = forks[b].lock().await;
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        })
    };
    let found = philosophers(false).finding.expect("a deadlock");
    assert!(matches!(failure(&found.run), Failure::Deadlock { .. }));
    let report = philosophers(true);
    assert!(report.passed() && report.searched.unwrap().is_proof());
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_was_stopped_says_that_it_proves_nothing() {
    let report = search().seeds(0..10).run(async || adders(4).await);
    assert!(report.passed());
    assert_eq!(report.runs, 10);
    let searched = report.searched.clone().unwrap();
    assert!(!searched.complete && !searched.is_proof());
    assert_eq!((searched.part, searched.estimate), (None, None));
    let screen = screen(&report);
    assert!(screen.contains("NOT A PROOF") && !screen.contains('%'), "{screen}");
    assert!(screen.contains("the total number is unknown"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_share_something_unseen_are_searched_step_by_step() {
    let report = search().run(async || {
        let (tell, told) = futures::channel::oneshot::channel();
        let task = sim::spawn(async move { told.await.unwrap_or(0) });
        sim::task::yield_now().await;
        tell.send(1).unwrap();
        assert_eq!(task.await.unwrap(), 1);
    });
    assert!(report.passed());
    let searched = report.searched.clone().unwrap();
    assert!(searched.by_step && searched.is_proof(), "{searched:?}");
    // The task starts before or after the message is sent.
    assert_eq!(report.runs, 2, "{}", screen(&report));
    assert!(screen(&report).contains("share something outside sim"), "{}", screen(&report));
}

/// A future that is ready when a flag is set. The waker of the future is behind a lock of std, which no search sees.
struct Told {
    flag: Arc<Atomic<bool>>,
    waker: Arc<std::sync::Mutex<Option<Waker>>>,
}

impl Told {
    fn new() -> Told {
        Told { flag: Arc::new(Atomic::new(false)), waker: Arc::default() }
    }

    fn twin(&self) -> Told {
        Told { flag: self.flag.clone(), waker: self.waker.clone() }
    }

    /// Waits. With `again` it loads the flag again when its waker is in place.
    async fn wait(self, again: bool) {
        if self.flag.load(SeqCst).await {
            return;
        }
        sim::task::yield_now().await;
        let register = |cx: &mut Context<'_>| {
            *self.waker.lock().unwrap() = Some(cx.waker().clone());
            Poll::Ready(())
        };
        std::future::poll_fn(register).await;
        if again && self.flag.load(SeqCst).await {
            return;
        }
        std::future::poll_fn(|_| match self.waker.lock().unwrap().is_some() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
    }

    async fn tell(self) {
        self.flag.store(true, SeqCst).await;
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }
}

fn told(again: bool) -> Report {
    search().run(async || {
        let told = Told::new();
        let task = sim::spawn(told.twin().wait(again));
        told.tell().await;
        task.await.unwrap();
    })
}

#[cfg_attr(feature = "sim", test)]
fn a_waker_that_is_registered_too_late_is_found() {
    let report = told(false);
    let outcome = &report.finding.as_ref().expect("a lost wake-up").run.outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::Deadlock { .. })), "{outcome:?}");
    let fixed = told(true);
    assert!(fixed.passed() && fixed.searched.as_ref().unwrap().is_proof(), "{}", screen(&fixed));
}

#[cfg_attr(feature = "sim", test)]
fn a_body_that_leaves_tasks_is_proven_too() {
    // The body may look before the task begins, before the task adds, or after the task has added.
    let leaves = |most: u64| {
        search().run(async move || {
            let count = Arc::new(Atomic::new(0));
            let other = count.clone();
            sim::spawn(async move { other.fetch_add(1, SeqCst).await }).detach();
            assert!(count.load(SeqCst).await <= most);
        })
    };
    let report = leaves(1);
    assert!(report.passed() && report.searched.unwrap().is_proof());
    assert_eq!(report.runs, 3);
    assert!(!leaves(0).passed());
}

/// A register that is written to one word and read from another. Both tasks exist from the start, and the task that
/// `write_first` selects is spawned first.
async fn stale_register(write_first: bool) {
    let history = History::new(Register::<u64>::default());
    let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
    let (other, other_words) = (history.clone(), words.clone());
    let write = async move {
        let work = async {
            words[0].store(1, SeqCst).await;
            RegisterRet::Done
        };
        history.call(RegisterOp::Write(1), work).await;
        history
    };
    let read = async move {
        let work = async { RegisterRet::Value(other_words[1].load(SeqCst).await) };
        other.call(RegisterOp::Read, work).await;
        other
    };
    let tasks = match write_first {
        true => [sim::spawn(write), sim::spawn(read)],
        false => [sim::spawn(read), sim::spawn(write)],
    };
    let [one, two] = tasks;
    one.await.unwrap();
    two.await.unwrap().assert_linearizable();
}

#[cfg_attr(feature = "sim", test)]
fn an_order_of_calls_is_found_in_a_run_that_does_not_have_it() {
    // No two steps conflict, so there is only one run. In this run, the read may end before the write.
    for write_first in [true, false] {
        let report = search().run(async || stale_register(write_first).await);
        assert_eq!(report.runs, 1);
        let found = report.finding.expect("the read may come later");
        assert!(matches!(failure(&found.run), Failure::History { .. }), "{:?}", found.run.outcome);
        let body = async || stale_register(write_first).await;
        assert_eq!(search().run_seed(found.run.seed.0, body).outcome, found.run.outcome);
        let again = search().replay(found.trace_file.unwrap()).run(body);
        assert_eq!(again.finding.expect("it fails again").run.outcome, found.run.outcome);
    }
}

#[cfg_attr(feature = "sim", test)]
fn whoever_looks_at_a_history_gets_a_run_for_each_order() {
    let runs = |looks: bool| {
        let report = search().run(async move || {
            let history = History::new(Counter::default());
            let clients = [(); 3].map(|()| history.clone());
            sim::map_concurrently(clients, async |history| {
                let own = Atomic::new(0);
                let work = async {
                    own.store(1, SeqCst).await;
                    CounterRet::Done
                };
                history.call(CounterOp::Increment, work).await;
            })
            .await;
            match looks {
                true => assert_eq!(history.operations().len(), 3),
                false => history.assert_linearizable(),
            }
        });
        assert!(report.passed() && report.searched.unwrap().is_proof());
        report.runs
    };
    assert_eq!((runs(false), runs(true)), (1, 6));
}

#[cfg_attr(feature = "sim", test)]
fn an_order_of_calls_that_is_not_as_foreseen_is_no_finding() {
    let report = search().run(async || {
        let history = History::new(Register::<u64>::default());
        // The library does not see that the tasks share this atomic.
        let hidden = Arc::new(AtomicU64::new(0));
        let (other, told) = (history.clone(), hidden.clone());
        let write = sim::spawn(async move {
            let own = Atomic::new(0);
            let work = async {
                own.store(1, SeqCst).await;
                hidden.store(1, SeqCst);
                RegisterRet::Done
            };
            history.call(RegisterOp::Write(1), work).await;
        });
        let read = sim::spawn(async move {
            let own = Atomic::new(0);
            let work = async {
                own.store(1, SeqCst).await;
                RegisterRet::Value(told.load(SeqCst))
            };
            other.call(RegisterOp::Read, work).await;
            other
        });
        write.await.unwrap();
        read.await.unwrap().assert_linearizable();
    });
    assert!(report.passed(), "{:?}", report.finding);
    // The first order, then both, from the start.
    assert_eq!((report.runs, report.searched.unwrap().blocked), (2, 1));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_runs_each_class_of_the_census_once() {
    // Two independent computations are compared: one during the run, and one from the record of the run.
    let mut compared = 0;
    for program in all() {
        let body = || (program.fixed)(Spawning::Together);
        let report = search().seeds(0..500).run(body);
        let by_class = |report: &Report| {
            let searched = report.searched.as_ref().unwrap();
            searched.is_proof() && !searched.by_step
        };
        if !by_class(&report) {
            continue;
        }
        let mut classes = BTreeSet::new();
        let each = search().seeds(0..3000).each_run(body, |run| {
            classes.insert(class_of(&run));
        });
        if by_class(&each) {
            assert_eq!(report.runs, classes.len() as u64, "{}", program.name);
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[cfg_attr(feature = "sim", test)]
fn the_number_of_a_run_is_the_run() {
    let program = program("store");
    let mut runs = Vec::new();
    search().seeds(0..40).each_run(program.body, |run| {
        runs.push((run.seed, Fingerprint::of(&run)));
    });
    assert!(runs.len() > 20);
    let different: BTreeSet<_> = runs.iter().map(|(_, print)| print.0).collect();
    assert_eq!(different.len(), runs.len());
    for (seed, print) in runs.into_iter().step_by(7) {
        assert_eq!(Fingerprint::of(&search().run_seed(seed.0, program.body)), print);
    }
}

#[cfg_attr(feature = "sim", test)]
fn each_run_goes_on_after_one_that_fails() {
    let mut outcomes = (0, 0);
    let report = search().each_run(program("lost_update").body, |run| match run.outcome {
        Outcome::Passed => outcomes.0 += 1,
        Outcome::Failed(_) => outcomes.1 += 1,
    });
    assert!(report.passed() && report.searched.unwrap().is_proof());
    // Two tasks load and store, which gives six interleavings. Four of them begin with both loads. Loads commute, so
    // only the order of the stores counts there.
    assert_eq!(outcomes, (2, 2));
}

#[cfg_attr(feature = "sim", test)]
fn a_body_that_is_not_a_function_of_its_decisions_is_told_of() {
    // The first and its repetition.
    let runs = AtomicU32::new(0);
    let report = search().run(async || {
        let turn = runs.fetch_add(1, SeqCst);
        adders(if turn < 2 { 2 } else { 3 }).await;
    });
    let found = report.finding.expect("it is noticed");
    assert!(matches!(failure(&found.run), Failure::NonDeterminism { .. }), "{:?}", found.run);
}

#[cfg_attr(feature = "sim", test)]
fn a_loop_without_end_fails_by_the_limit_of_steps() {
    let report = search().max_steps(1000).run(async || {
        let flag = Arc::new(Atomic::new(false));
        let other = flag.clone();
        let task = sim::spawn(async move { while !other.load(SeqCst).await {} });
        task.await.unwrap();
    });
    let found = report.finding.expect("there is no end");
    assert!(matches!(failure(&found.run), Failure::StepLimit { .. }));
}

#[sim::test(strategy = "exhaustive")]
async fn the_attribute_takes_it() {
    adders(3).await;
}
