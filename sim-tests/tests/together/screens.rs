//! Screens of whole runs agree with the runs.

use std::sync::Arc;
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet, Stack, StackOp, StackRet};
use sim::report::{Report, Style, text};
use sim::run::Failure;
use sim::{Atomic, History, Runner, SIMULATED};
use sim_tests::seeds::failure;

fn runner(name: &str) -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("screens");
    Runner::new().hermetic().out(out).name(name)
}

/// The screen with each paragraph on one line.
fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 120, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(report: &Report, what: &str) {
    let screen = screen(report);
    assert!(screen.contains(what), "{what:?} is not in\n{}", text(report, &Style::default()));
}

#[track_caller]
fn never_says(report: &Report, what: &str) {
    let screen = screen(report);
    assert!(!screen.contains(what), "{what:?} is in\n{}", text(report, &Style::default()));
}

// ---- histories

#[cfg_attr(feature = "sim", test)]
fn a_part_of_a_history_is_not_told_of_as_all_of_it() {
    // The history has two pushes, and a pop that wrongly finds nothing. One push is enough to show the violation, so
    // the other push is left out. A pop before it would give another state.
    let report = runner("left_out").seeds(0..100).run(async || {
        let word = Arc::new(Atomic::new(0u64));
        let history = History::new(Stack::<u64>::default());
        let call = |op, ret| {
            let (word, history) = (word.clone(), history.clone());
            async move {
                let work = async {
                    word.fetch_add(1, SeqCst).await;
                    word.fetch_add(1, SeqCst).await;
                    ret
                };
                history.call(op, work).await;
            }
        };
        let first = sim::spawn(call(StackOp::Push(10), StackRet::Done));
        let second = sim::spawn(call(StackOp::Push(11), StackRet::Done));
        call(StackOp::Pop, StackRet::Item(None)).await;
        first.await.unwrap();
        second.await.unwrap();
        history.assert_linearizable();
    });
    says(&report, "history ── stack, 2 of 3 operations, 2 of 3 clients");
    says(&report, "The other one is not shown: no order explains these, whatever else was done.");
    says(&report, "by main fits nowhere among these alone: after `Push(1");
    never_says(&report, "The state is then");
}

#[cfg_attr(feature = "sim", test)]
fn a_whole_history_says_its_state() {
    let report = runner("whole").seeds(0..1).run(async || {
        let history = History::new(Counter::default());
        let word = Atomic::new(0i64);
        let call = async |op, ret| {
            let load = async {
                word.load(SeqCst).await;
                ret
            };
            history.call(op, load).await;
        };
        call(CounterOp::Add(3), CounterRet::Done).await;
        call(CounterOp::Get, CounterRet::Value(7)).await;
        history.assert_linearizable();
    });
    says(&report, "history ── counter, 2 operations, 1 client");
    says(&report, "fits nowhere: after `Add(3) → ok` by main it should have returned `3`.");
    never_says(&report, "not shown");
}

// ---- waits

#[cfg_attr(feature = "sim", test)]
fn who_waits_for_something_foreign_may_wait_for_a_thread() {
    let report = runner("late").seeds(0..1).run(async || {
        let (sender, receiver) = futures::channel::oneshot::channel::<()>();
        // This message comes long after the end of the run.
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            let _ = sender.send(());
        });
        let _ = receiver.await;
    });
    let finding = report.finding.as_ref().expect("it is stuck");
    assert!(matches!(failure(&finding.run), Failure::Deadlock { .. }));
    says(
        &report,
        "If a thread or a timer outside of the run should have woken it: a run cannot wait for those",
    );
    never_says(&report, "Nobody is left");
}

#[cfg_attr(feature = "sim", test)]
fn who_waits_for_a_task_waits_for_no_thread() {
    let report = runner("never").seeds(0..1).run(async || {
        let flag = Atomic::new(false);
        sim::spin_until(async || flag.load(SeqCst).await).await;
    });
    says(&report, "No task is left that could wake them.");
    never_says(&report, "timer outside");
}

// ---- searches

#[cfg_attr(feature = "sim", test)]
fn a_search_that_is_not_through_says_to_try_seeds() {
    let wide = async || {
        let word = Arc::new(Atomic::new(0u32));
        let add = |_| {
            let word = word.clone();
            sim::spawn(async move { word.fetch_add(1, SeqCst).await })
        };
        let tasks: Vec<_> = (0..9).map(add).collect();
        for task in tasks {
            task.await.unwrap();
        }
    };
    for strategy in ["exhaustive", "preemptions", "delays"] {
        let report = runner(strategy).strategy(strategy).seeds(0..50).run(wide);
        assert!(!report.searched.as_ref().expect("it is a search").is_proof());
        says(&report, "run seeds first: remove the strategy");
    }
    let report = runner("through").strategy("exhaustive").run(async || {});
    never_says(&report, "run seeds first");
}

// ---- names

#[derive(Default)]
struct Derived {
    ready: Atomic<u64>,
    data: Atomic<u64>,
    slots: [Atomic<u64>; 2],
}

#[cfg_attr(feature = "sim", test)]
fn objects_that_were_created_in_one_place_are_told_apart_by_their_first_use() {
    let report = runner("derived").run(async || {
        let shared = Arc::new(Derived::default());
        let other = shared.clone();
        let task = sim::spawn(async move {
            other.ready.store(1, SeqCst).await;
            other.slots[1].store(7, SeqCst).await;
            other.data.store(7, SeqCst).await;
        });
        if shared.ready.load(SeqCst).await == 1 {
            assert_eq!(shared.slots[1].load(SeqCst).await, shared.data.load(SeqCst).await);
        }
        task.await.unwrap();
    });
    let events = &report.finding.as_ref().expect("it fails").run.events;
    let used = |op| events.iter().find(|event| event.op.name == op).unwrap().place.line();
    // All fields have the location of the derive, and all slots have a location in `core`.
    let file = file!();
    says(&report, &format!("atomic#0 created at {file}:"));
    says(&report, &format!(", used first in line {}", used("store")));
    says(&report, &format!("created in std, used first at {file}:{}:", used("store") + 1));
    never_says(&report, "rustc");
}

#[cfg_attr(feature = "sim", test)]
fn objects_that_were_created_apart_say_only_where() {
    let report = runner("apart").seeds(0..1).run(async || {
        let (a, b) = (Atomic::new(0), Atomic::new(1));
        assert_eq!(a.load(SeqCst).await, b.load(SeqCst).await);
    });
    says(&report, &format!("atomic#1 created at {}:{}:", file!(), line!() - 3));
    never_says(&report, "used first");
}

static COUNT: Atomic<u64> = Atomic::<u64>::const_new(0).named("count");

#[test]
fn objects_are_called_what_the_user_calls_them() {
    let body = async || {
        let slots = [5, 1].map(|n| Atomic::new(n).named("slot"));
        // The run knows this atomic before it has a name, but must not count it as a second object.
        let used = Atomic::new(3u8);
        used.store(4, SeqCst).await;
        let used = used.named("used");
        used.fetch_add(1, SeqCst).await;
        let mine = sim::Mutex::new(()).named("door");
        let seen = sim::Cell::new(0).named("seen");
        drop(mine.lock().await);
        seen.set(1).await;
        COUNT.fetch_add(1, SeqCst).await;
        slots[1].store(6, SeqCst).await;
        let (zero, one) = (slots[0].load(SeqCst).await, slots[1].load(SeqCst).await);
        assert_eq!((zero, one, used.load(SeqCst).await), (5, 6, 5));
        assert_eq!(COUNT.load(SeqCst).await, 100, "so that there is a screen");
    };
    // In the real build, named objects work as if they had no name.
    let report = runner("named").seeds(0..1).run(body);
    assert!(!report.passed());
    if !SIMULATED {
        return;
    }
    for said in [
        "lock door",
        "unlock door",
        "set seen := 1",
        "fetch_add count 0 → 1",
        "store slot#1 := 6",
        "load slot#0 = 5",
        "load slot#1 = 6",
        "store used := 4",
        "load used = 5",
        "door mutex, created at",
        "count atomic, created at",
    ] {
        says(&report, said);
    }
    let run = &report.finding.as_ref().unwrap().run;
    assert_eq!(run.objects.len(), 6, "{:?}", run.objects);
}

#[test]
fn what_has_a_name_is_changed_in_place_like_any_other() {
    let report = runner("in_place").seeds(0..1).run(async || {
        let mut fresh = Atomic::new(3u8).named("fresh");
        assert_eq!(*fresh.get_mut(), 3);
        *fresh.get_mut() = 4;
        assert_eq!(fresh.load(SeqCst).await, 4);
        let used = Atomic::new(5u8);
        used.store(6, SeqCst).await;
        let mut used = used.named("used");
        assert_eq!(*used.get_mut(), 6);
        *used.get_mut() = 7;
        assert_eq!(used.load(SeqCst).await, 7);
        assert_eq!(used.named("again").into_inner(), 7);
        // The guard frees the lock under its new name.
        let door = sim::Mutex::new(());
        drop(door.lock().await);
        let door = door.named("door");
        drop(door.lock().await);
        drop(door.lock().await);
    });
    assert!(report.passed(), "{}", text(&report, &Style::default()));
}

#[test]
fn names_cost_no_memory_in_the_real_build() {
    // In a build with jitter, each object has room for its initial value in a new run.
    if SIMULATED || cfg!(debug_assertions) {
        return;
    }
    assert_eq!(size_of::<Atomic<u64>>(), size_of::<u64>());
    assert_eq!(size_of::<sim::Cell<u64>>(), size_of::<std::sync::Mutex<u64>>());
}

// ---- places

#[cfg_attr(feature = "sim", test)]
fn who_waits_for_something_foreign_is_placed_at_its_last_access() {
    /// The helper that spawns all tasks does not identify any of them.
    fn spawn(task: impl Future<Output = ()> + Send + 'static) -> sim::JoinHandle<()> {
        sim::spawn(task)
    }
    let (looked, spawned) = (line!() + 5, line!() - 2);
    let report = runner("foreign_wait").seeds(0..1).run(async || {
        let (ready, never) = (Arc::new(Atomic::new(0)), Arc::new(Atomic::new(0)));
        let (sender, receiver) = futures::channel::oneshot::channel::<()>();
        let waits = spawn(async move {
            ready.load(SeqCst).await;
            let _ = receiver.await;
        });
        waits.await.unwrap();
        never.store(1, SeqCst).await;
        drop(sender);
    });
    let file = file!();
    let waits = match failure(&report.finding.as_ref().unwrap().run) {
        Failure::Deadlock { waits } => waits.clone(),
        other => panic!("{other:?}"),
    };
    let own = waits.iter().find(|wait| wait.op.is_none()).expect("one waits for a channel");
    assert_eq!((own.place.file(), own.place.line()), (file, looked));
    let waits = "0.0 waits for a future outside sim";
    says(&report, &format!("{waits}, last access at {file}:{looked}:"));
    let report = runner("at_once").seeds(0..1).run(async || {
        spawn(std::future::pending()).await.unwrap();
    });
    says(&report, &format!("{waits}, spawned at {file}:{spawned}:"));
}

#[cfg_attr(feature = "sim", test)]
fn a_panic_in_std_is_placed_where_std_was_called() {
    let called = line!() + 4;
    let mut report = runner("in_std").seeds(0..1).run(async || {
        let word = Atomic::new(usize::MAX);
        let size = word.load(SeqCst).await;
        let _ = Vec::<u64>::with_capacity(size);
    });
    let file = file!();
    let finding = report.finding.as_mut().expect("it panics");
    assert!(
        matches!(failure(&finding.run), Failure::Panic { place, .. } if place.contains("/library/"))
    );
    // The path is relative to the folder of the test, which is the folder of its package. The location is known if the
    // test was built with debug information. Otherwise, the report states no location.
    let frames = format!("{:?}", std::backtrace::Backtrace::force_capture());
    let known = frames.contains("tests/together/screens.rs\", line");
    let place = known.then(|| format!("tests/together/screens.rs:{called}"));
    assert_eq!(finding.called_from, place);
    if known {
        says(
            &report,
            &format!("at tests/together/screens.rs:{called}, in alloc/src/raw_vec/mod.rs:"),
        );
    }
    never_says(&report, "rustc");
    // Without debug information, the report has only the part that does not need it.
    report.finding.as_mut().unwrap().called_from = None;
    says(&report, "in std, called by main after `load atomic = 18446744073709551615` at");
    says(&report, &format!(" at {file}:{}:", called - 1));

    let report = runner("not_in_std").seeds(0..1).run(async || {
        // The function has `#[track_caller]`, so the report needs no caller.
        std::hint::black_box(None::<u8>).unwrap();
    });
    assert_eq!(report.finding.as_ref().unwrap().called_from, None);
    says(&report, &format!("at {file}:{}:", line!() - 3));
}

// ---- counts

#[cfg_attr(feature = "sim", test)]
fn rehearsals_are_told_of_where_they_are_not_few() {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    for (strategy, rehearses) in [("orders", true), ("random", false)] {
        let executed = AtomicU64::new(0);
        let body = async || {
            executed.fetch_add(1, Relaxed);
            Atomic::new(0).load(SeqCst).await;
        };
        let one = runner("one").strategy(strategy).seeds(0..1).jobs(1).run(body);
        // The first seed is run twice, to check that both runs are equal.
        assert_eq!(executed.load(Relaxed), u64::from(one.rehearsals) + 2);
        assert_eq!(one.rehearsals > 0, rehearses);
        let said = format!("1 run after {} rehearsals", one.rehearsals);
        assert_eq!(screen(&one).contains(&said), rehearses, "{}", screen(&one));
        let many = runner("many").strategy(strategy).seeds(0..200).run(body);
        never_says(&many, "rehearsal");
        let fails = runner("fails").strategy(strategy).seeds(7..8).run(async || -> () {
            Atomic::new(0).load(SeqCst).await;
            panic!("always");
        });
        let said = format!("1 run of seed 7 after {} rehearsals", fails.rehearsals);
        assert_eq!(screen(&fails).contains(&said), rehearses, "{}", screen(&fails));
    }
}
