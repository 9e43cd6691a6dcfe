//! Explanations of failures of plain threads: planted bugs whose cause is known by its lines, and the limits of an
//! explanation.

use std::hint::black_box;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use sim::Runner;
use sim::report::{Change, Finding, Pattern, Report, Style, Tested, Why, text};
use sim::run::{Failure, Outcome};

/// The maximum number of runs of an explanation, by default.
const RUNS: u64 = 3000;

pub(super) fn runner() -> Runner {
    Runner::new().hermetic().prove(0).seeds(0..2000)
}

fn finding(body: fn()) -> Box<Finding> {
    found(&runner().run_native(body))
}

pub(super) fn found(report: &Report) -> Box<Finding> {
    // libtest shows it if the test fails.
    println!("{}", text(report, &Style::default()));
    report.finding.clone().expect("the bug is found")
}

pub(super) fn why(finding: &Finding) -> &Why {
    finding.why.as_ref().expect("an explanation")
}

/// The number of the line with a mark.
fn line_of(mark: &str) -> u32 {
    let mark = format!("// {mark}");
    let is_marked = |line: &str| line.trim_end().ends_with(&mark);
    let line = include_str!("why.rs").lines().position(is_marked).expect("the mark");
    line as u32 + 1
}

/// The lines of the regions that the remedy makes one step.
pub(super) fn regions(why: &Why) -> Vec<(u32, u32)> {
    let remedy = why.remedy.as_ref().expect("a remedy");
    let Change::Regions { regions, .. } = &remedy.change else { panic!("{remedy:?}") };
    regions.iter().map(|it| (it.from.place.line(), it.to.place.line())).collect()
}

/// Checks that the cause and the remedy are the region between these lines, that the remedy is proved, and that the
/// chance jumps at a step.
fn check(finding: &Finding, [from, to]: [&str; 2], pattern: Option<Pattern>) {
    let why = why(finding);
    assert_eq!(regions(why), [(line_of(from), line_of(to))], "{why:?}");
    let tested = why.remedy.as_ref().unwrap().tested;
    assert!(matches!(tested, Tested::All { interleavings: 1.., .. }), "{tested:?}");
    let cause = why.cause.as_ref().expect("a cause");
    let ends = (cause.region.from.place.line(), cause.region.to.place.line());
    assert_eq!(ends, (line_of(from), line_of(to)), "{why:?}");
    assert_eq!(Pattern::of_finding(finding), pattern, "{why:?}");
    assert!(!why.marks.is_empty() && why.chances.len() > 1, "{why:?}");
    assert!(why.no_return.is_some_and(|proved| proved.after > 0), "{why:?}");
    assert!(why.passing.is_some() && (1..=RUNS).contains(&why.runs), "{why:?}");
}

/// Runs two threads.
pub(super) fn both<T: Send + Sync + 'static>(shared: T, first: fn(&T), second: fn(&T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let spawn = |body: fn(&T)| {
        let shared = shared.clone();
        thread::spawn(move || body(&shared))
    };
    let threads = [spawn(first), spawn(second)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    shared
}

fn lost_update() {
    let add = |count: &AtomicU32| {
        let old = count.load(SeqCst); // reads the count
        count.store(old + 1, SeqCst); // writes the count
    };
    let count = both(AtomicU32::new(0), add, add);
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn a_lost_update_has_its_lines_and_its_name() {
    let finding = finding(lost_update);
    let marks = ["reads the count", "writes the count"];
    check(&finding, marks, Some(Pattern::LostUpdate));
}

/// Both critical sections are right, but the check is old in the second one.
fn check_then_act() {
    let reserve = |seats: &Mutex<Vec<u32>>| {
        let is_free = seats.lock().unwrap().is_empty(); // checks
        if is_free {
            seats.lock().unwrap().push(7); // acts
        }
    };
    let seats = both(Mutex::new(Vec::new()), reserve, reserve);
    assert_eq!(seats.lock().unwrap().len(), 1, "reserved twice");
}

#[test]
fn a_check_before_an_act_has_the_lines_of_both_critical_sections() {
    // The values behind a mutex are unknown, so the pattern has no name.
    check(&finding(check_then_act), ["checks", "acts"], None);
}

fn lock_order() {
    both(
        (Mutex::new(1), Mutex::new(2)),
        |(one, other)| {
            let one = one.lock().unwrap(); // has the first
            let other = other.lock().unwrap(); // wants the second
            black_box(*one + *other);
        },
        |(one, other)| {
            let other = other.lock().unwrap();
            let one = one.lock().unwrap();
            black_box(*one + *other);
        },
    );
}

#[test]
fn locks_in_both_orders_have_their_lines_and_a_region_that_prevents_it() {
    let finding = finding(lock_order);
    assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
    assert_eq!(Pattern::of_finding(&finding), Some(Pattern::LockOrder));
    let why = why(&finding);
    let tested = why.remedy.as_ref().expect("a remedy").tested;
    assert!(matches!(tested, Tested::All { .. }), "{tested:?}");
    // One of the threads takes both locks in one step.
    let (from, to) = regions(why)[0];
    let (has, wants) = (line_of("has the first"), line_of("wants the second"));
    assert!((from, to) == (has, wants) || (from, to) == (has + 5, wants + 5), "{why:?}");
}

/// The flag is set without the lock, between the check and the wait.
fn lost_wake_up() {
    both(
        (AtomicBool::new(false), Mutex::new(()), Condvar::new()),
        |(is_ready, lock, changed)| {
            let mut guard = lock.lock().unwrap();
            let looks = || is_ready.load(SeqCst); // looks
            while !looks() {
                guard = changed.wait(guard).unwrap(); // waits
            }
        },
        |(is_ready, _, changed)| {
            is_ready.store(true, SeqCst);
            changed.notify_one();
        },
    );
}

#[test]
fn a_lost_wake_up_has_its_lines_and_its_name() {
    let finding = finding(lost_wake_up);
    assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
    check(&finding, ["looks", "waits"], Some(Pattern::LostWakeUp));
}

/// The flag says that the value is there, before it is.
fn publishes(is_right: fn(u32)) -> impl FnOnce() {
    move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let writer = shared.clone();
        let writer = thread::spawn(move || {
            writer.0.store(true, SeqCst); // publishes
            writer.1.store(7, SeqCst); // writes
        });
        if shared.0.load(SeqCst) {
            is_right(shared.1.load(SeqCst));
        }
        writer.join().unwrap();
    }
}

fn published_too_early() {
    publishes(|value| assert_eq!(value, 7, "published before it was written"))();
}

#[test]
fn a_value_that_is_published_before_it_is_written_has_its_lines() {
    check(&finding(published_too_early), ["publishes", "writes"], None);
}

/// A run that aborts ends no process, and neither do the runs that explain it.
#[test]
fn an_abort_is_explained() {
    fn aborts() {
        publishes(|value| {
            if value != 7 {
                std::process::abort();
            }
        })();
    }
    let finding = finding(aborts);
    assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Crash { .. })));
    check(&finding, ["publishes", "writes"], None);
}

/// Takes the first node of a list of two nodes; another thread takes both and puts the first one back.
fn aba() {
    const END: usize = usize::MAX;
    type List = (AtomicUsize, [AtomicUsize; 2]);
    let taken = AtomicUsize::new(END);
    let list: List = (AtomicUsize::new(0), [AtomicUsize::new(1), AtomicUsize::new(END)]);
    let shared = both(
        (list, taken),
        |((head, next), _)| {
            let first = head.load(SeqCst);
            if first == END {
                return;
            }
            let second = next[first].load(SeqCst); // reads the second node
            _ = head.compare_exchange(first, second, SeqCst, SeqCst); // takes the first node
        },
        |((head, next), taken)| {
            if head.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                return;
            }
            if head.compare_exchange(1, END, SeqCst, SeqCst).is_err() {
                return;
            }
            taken.store(1, SeqCst);
            next[0].store(END, SeqCst);
            head.store(0, SeqCst);
        },
    );
    let ((head, _), taken) = &*shared;
    assert!(head.load(SeqCst) != 1 || taken.load(SeqCst) != 1, "the second node is in the list");
}

#[test]
fn an_aba_has_its_lines_and_its_name() {
    check(&finding(aba), ["reads the second node", "takes the first node"], Some(Pattern::Aba));
}

/// A reader that tries a lock sees how long another thread holds it, which a run of whole lock calls leaves out.
fn tries() {
    let shared = both(
        (RwLock::new(0), AtomicU32::new(0)),
        |(lock, seen)| {
            let value = lock.try_read().map(|value| *value);
            if let Ok(value) = value {
                seen.store(value, SeqCst);
            }
        },
        |(lock, seen)| {
            *lock.write().unwrap() = 1;
            seen.store(1, SeqCst);
        },
    );
    assert_eq!(shared.1.load(SeqCst), 1);
}

#[test]
fn an_explanation_says_no_more_than_its_runs_have_shown() {
    for (body, is_whole) in [(lost_update as fn(), true), (tries, false), (lock_order, true)] {
        let finding = finding(body);
        let detail = finding.run.draws.iter().find(|draw| draw.why.contains("detail of locks"));
        let is_exact = [1, 2].contains(&(detail.expect("the decision").value % 4));
        let why = why(&finding);
        // Only the second body uses a lock by calls that do not wait. Whole calls leave out orders of such calls, so
        // nothing is proved about schedules that begin like this run.
        assert_eq!(why.no_return.is_some(), is_whole || is_exact, "{why:?}");
        // The search of the whole program leaves out no order.
        let remedy = why.remedy.as_ref().map(|remedy| remedy.tested);
        assert!(matches!(remedy, Some(Tested::All { .. })), "{why:?}");
    }
}

#[test]
fn an_explanation_is_the_same_twice_and_keeps_its_limit() {
    for runs in [RUNS, 50] {
        let explained = || found(&runner().why(runs).run_native(aba)).why;
        let first = explained();
        assert_eq!(first, explained());
        assert!(first.is_none_or(|why| why.runs <= runs));
    }
    assert_eq!(found(&runner().why(0).run_native(aba)).why, None);
}

/// A thread that loops for ever in another order of steps. The runs that explain the failure meet it.
fn hangs_or_panics() {
    let shared = both(
        (AtomicU32::new(0), AtomicU32::new(0)),
        |(one, _)| (1..=3).for_each(|value| one.store(value, SeqCst)),
        |(one, seen)| {
            let value = one.load(SeqCst);
            while value == 2 {
                black_box(value);
            }
            seen.store(value, SeqCst);
        },
    );
    assert_ne!(shared.1.load(SeqCst), 1);
}

#[test]
fn a_hang_among_its_runs_costs_the_explanation_and_not_the_failure() {
    let of_seed = |seed, why| {
        let runner = Runner::new().hermetic().prove(0).hang(Duration::from_millis(400));
        // Only the explained run is shrunk: a replay that hangs uses the processor until the limit.
        let runner = runner.shrink(why > 0);
        runner.seeds(seed..seed + 1).why(why).run_native(hangs_or_panics)
    };
    let panics = |report: &Report| {
        let outcome = report.finding.as_ref().map(|finding| &finding.run.outcome);
        matches!(outcome, Some(Outcome::Failed(Failure::Panic { .. })))
    };
    let seed = (0..200).find(|seed| panics(&of_seed(*seed, 0))).expect("a seed that panics");
    let report = of_seed(seed, RUNS);
    assert!(panics(&report), "{:?}", report.finding);
    assert_eq!(found(&report).why, None);
}

/// The fixed twin of [`lost_update`].
fn adds() {
    let add = |count: &AtomicU32| _ = count.fetch_add(1, SeqCst);
    let count = both(AtomicU32::new(0), add, add);
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn a_right_program_has_no_runs_of_an_explanation() {
    let counts = |why| {
        let report = Runner::new().hermetic().seeds(0..100).why(why).run_native(adds);
        assert!(report.passed() && report.runs == 100, "{:?}", report.finding);
        (report.runs, report.rehearsals, report.steps)
    };
    assert_eq!(counts(RUNS), counts(0));
}

/// Two threads wait, and one of them is notified. The other one also continues if it is about to wait at that moment.
fn one_notification_for_two_waiters(notify: fn(&Condvar)) {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let waits = |shared: Arc<(Mutex<i32>, Condvar)>| {
        let (count, changed) = &*shared;
        let mut count = count.lock().unwrap();
        *count += 1;
        drop(changed.wait(count).unwrap());
    };
    let threads = [(); 2].map(|()| {
        let shared = shared.clone();
        thread::spawn(move || waits(shared))
    });
    let (count, changed) = &*shared;
    while *count.lock().unwrap() < 2 {
        thread::yield_now();
    }
    notify(changed);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_condvar_with_several_waiters_has_no_proof_by_runs_of_whole_calls() {
    let found = finding(|| one_notification_for_two_waiters(Condvar::notify_one));
    assert!(matches!(found.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
    let no_return = found.why.as_ref().and_then(|why| why.no_return);
    assert_eq!(no_return, None, "the second thread can see the notification");
    // Without a notification, no thread can continue once one of them waits.
    let found = finding(|| one_notification_for_two_waiters(|_| ()));
    assert!(why(&found).no_return.is_some(), "{found:?}");
}

fn of_c11(body: fn()) -> Box<Finding> {
    found(&runner().memory("c11").run_native(body))
}

/// The threads may see old values of the hint, which is not the reason of the failure.
fn check_then_act_with_a_hint() {
    let reserve = |(seats, hint): &(Mutex<Vec<u32>>, AtomicU32)| {
        hint.store(1 + hint.load(Relaxed), Relaxed);
        let is_free = seats.lock().unwrap().is_empty(); // checks besides the hint
        if is_free {
            seats.lock().unwrap().push(7); // acts besides the hint
        }
    };
    let shared = both((Mutex::new(Vec::new()), AtomicU32::new(0)), reserve, reserve);
    assert_eq!(shared.0.lock().unwrap().len(), 1, "reserved twice");
}

/// Each thread may miss the store of the other one.
fn store_buffering() {
    let seen = both(
        [const { AtomicU32::new(0) }; 4],
        |[one, other, seen, _]| {
            one.store(1, Relaxed);
            seen.store(other.load(Relaxed), Relaxed);
        },
        |[one, other, _, seen]| {
            other.store(1, Relaxed);
            seen.store(one.load(Relaxed), Relaxed);
        },
    );
    assert!(seen[2].load(SeqCst) + seen[3].load(SeqCst) > 0);
}

#[test]
fn a_failure_under_c11_is_explained_if_it_needs_no_old_store() {
    let found = of_c11(check_then_act_with_a_hint);
    assert!(found.run.draws.iter().any(|draw| draw.why.contains("store")), "{:?}", found.run.draws);
    check(&found, ["checks besides the hint", "acts besides the hint"], None);
    // The runs of the explanation have the memory `sc`, so their proofs are no proofs for `c11`.
    let report = Report { finding: Some(found.clone()), ..Report::default() };
    let screen = text(&report, &Style { width: 400, ..Style::default() });
    let line = |label: &str| screen.lines().find(|line| line.trim_start().starts_with(label));
    for label in ["remedy", "chances"] {
        let line = line(label).expect(label);
        assert!(line.contains("(proved") && line.contains("with the newest stores"), "{line}");
    }
    assert!(why(&found).newest_stores && !why(&finding(check_then_act_with_a_hint)).newest_stores);
    // The replay of a run with the memory `c11` needs the choices of stores.
    assert_eq!(why(&found).passing.as_ref().unwrap().replay, None);
    let found = of_c11(store_buffering);
    assert!(found.why.is_none() && found.strengthening.is_some(), "{:?}", found.why);
}
