//! `spin_until`: its condition, its wake-ups, and the report of loops that should use it.

use std::sync::Arc;
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome, Run};
use sim::strategy::STRATEGIES;
use sim::{Atomic, Cell, Mutex, OnceLock, Runner, counted, spin_until};
use sim_tests::seeds::{failure, passes};

fn search(name: &str) -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("spin_until");
    Runner::new().hermetic().strategy(name).out(out).name("waits")
}

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A writer publishes a value behind a flag, in the correct or in the wrong order.
async fn publish(right: bool) {
    let shared = Arc::new((Cell::new(0u32), Atomic::new(false)));
    let writer = sim::spawn({
        let shared = shared.clone();
        async move {
            if right {
                shared.0.set(7).await;
            }
            shared.1.store(true, SeqCst).await;
            shared.0.set(7).await;
        }
    });
    spin_until(|| shared.1.load(SeqCst)).await;
    assert_eq!(shared.0.get().await, 7, "seen before it was published");
    writer.await.unwrap();
}

/// A ticket lock whose holders increment a counter by a load and a store.
async fn tickets(tasks: usize) {
    let shared = Arc::new([const { Atomic::<u64>::const_new(0) }; 3]);
    let tasks = Vec::from_iter((0..tasks).map(|_| {
        let shared = shared.clone();
        sim::spawn(async move {
            let [next, serving, total] = &*shared;
            let mine = next.fetch_add(1, SeqCst).await;
            spin_until(async || serving.load(SeqCst).await == mine).await;
            let seen = total.load(SeqCst).await;
            total.store(seen + 1, SeqCst).await;
            serving.store(mine + 1, SeqCst).await;
        })
    }));
    let count = tasks.len() as u64;
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(shared[2].load(SeqCst).await, count);
}

#[test]
fn what_waits_goes_on_when_it_may_on_every_build() {
    passes("publish", async || publish(true).await);
    passes("tickets", async || tickets(3).await);
    sim::block_on(async {
        let mut asked = 0;
        spin_until(|| {
            asked += 1;
            std::future::ready(asked == 10)
        })
        .await;
        assert_eq!(asked, 10);
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_search_proves_what_waits_right_and_finds_what_waits_wrong() {
    for name in ["exhaustive", "preemptions", "delays"] {
        let report = search(name).run(async || publish(true).await);
        assert!(report.passed() && report.searched.unwrap().is_proof(), "{name}");
        let report = search(name).run(async || publish(false).await);
        let found = report.finding.unwrap_or_else(|| panic!("{name} finds nothing"));
        assert!(matches!(failure(&found.run), Failure::Panic { .. }), "{name}");
    }
    let report = search("exhaustive").run(async || tickets(3).await);
    assert!(
        report.passed() && report.searched.as_ref().unwrap().is_proof(),
        "{:?}",
        report.searched
    );
}

#[cfg_attr(feature = "sim", test)]
fn waiting_takes_no_steps_whoever_decides() {
    let body = async || {
        let flag = Arc::new(Atomic::new(false));
        let other = flag.clone();
        let busy = sim::spawn(async move {
            let own = Atomic::new(0u32);
            for _ in 0..500 {
                own.fetch_add(1, SeqCst).await;
            }
            other.store(true, SeqCst).await;
        });
        spin_until(|| flag.load(SeqCst)).await;
        busy.await.unwrap();
    };
    for row in STRATEGIES {
        for seed in 0..20 {
            let run = Runner::new().hermetic().strategy(row.name).run_seed(seed, body);
            assert_eq!(run.outcome, Outcome::Passed);
            let looks = run.events.iter().filter(|event| event.op.name == "load").count();
            assert!((1..=2).contains(&looks), "{}: {looks} looks", row.name);
            assert!(run.steps.len() < 510, "{}: {} steps", row.name, run.steps.len());
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn what_nobody_changes_is_a_deadlock_that_says_what_it_waits_for() {
    let report = search("random").seeds(0..50).run(async || {
        let (head, tail) = (Atomic::new(0u8), Arc::new(Atomic::new(1u8)));
        let other = tail.clone();
        let writer = sim::spawn(async move { other.store(2, SeqCst).await });
        spin_until(async || head.load(SeqCst).await == tail.load(SeqCst).await).await;
        writer.await.unwrap();
    });
    let line = line!() - 3;
    let found = report.finding.as_ref().expect("nobody makes them equal");
    let Failure::Deadlock { waits } = failure(&found.run) else {
        panic!("{:?}", found.run.outcome)
    };
    assert_eq!(waits.len(), 2, "one for each thing it looked at: {waits:?}");
    assert!(waits.iter().all(|wait| wait.place.line() == line && wait.holder.is_none()));
    let said = screen(&report);
    assert!(said.contains("deadlock, every remaining task is blocked"), "{said}");
    assert!(said.contains("main waits for atomic#0 to change"), "{said}");
    assert!(said.contains("waits for atomic#1 to change"), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_change_between_two_looks_is_not_slept_through() {
    // The first word is right only during the first read of the second.
    let report = search("exhaustive").run(async || {
        let words = Arc::new([Atomic::new(0u8), Atomic::new(0u8)]);
        let other = words.clone();
        let writer = sim::spawn(async move {
            other[0].store(1, SeqCst).await;
            other[1].store(1, SeqCst).await;
        });
        let is = async |at: usize| words[at].load(SeqCst).await == 1;
        spin_until(async || is(0).await && is(1).await).await;
        spin_until(async || is(1).await || is(0).await).await;
        writer.await.unwrap();
    });
    assert!(report.passed() && report.searched.unwrap().is_proof());
}

#[cfg_attr(feature = "sim", test)]
fn a_search_proves_waits_for_a_value_and_for_the_last_owner() {
    let report = search("exhaustive").run(async || {
        let cell = Arc::new(OnceLock::new());
        let other = cell.clone();
        let making = sim::spawn(async move {
            let made = other.get_or_init(|| async {
                sim::task::yield_now().await;
                7
            });
            assert_eq!(*made.await, 7);
        });
        // An initialization that only begins does not make a waiting task look again.
        spin_until(async || cell.get().await.is_some()).await;
        making.await.unwrap();
    });
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
    let report = search("exhaustive").run(async || {
        let value = counted::Arc::new(7);
        let tasks = [value.clone(), value.clone()].map(|owner| {
            sim::spawn(async move {
                sim::task::yield_now().await;
                drop(owner);
            })
        });
        spin_until(async || counted::Arc::strong_count(&value).await == 1).await;
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
}

#[test]
fn another_branch_of_the_same_task_may_change_it() {
    passes("branches", async || {
        let flag = Atomic::new(false);
        futures::join!(spin_until(|| flag.load(SeqCst)), flag.store(true, SeqCst));
        let (flag, other) = (Atomic::new(0u8), Atomic::new(0u8));
        futures::join!(
            async {
                spin_until(async || other.load(SeqCst).await == 1).await;
                flag.store(1, SeqCst).await;
            },
            async {
                other.store(1, SeqCst).await;
                spin_until(async || flag.load(SeqCst).await == 1).await;
            },
        );
    });
}

#[cfg_attr(feature = "sim", test)]
fn what_other_branches_of_the_task_do_is_not_the_doing_of_the_condition() {
    let body = async || {
        let flags = Arc::new([Atomic::new(0u8), Atomic::new(0u8)]);
        let other = flags.clone();
        let task = sim::spawn(async move {
            other[0].store(1, SeqCst).await;
            other[0].store(2, SeqCst).await;
        });
        let waiting = async {
            spin_until(async || {
                flags[1].load(SeqCst).await == 0 && flags[0].load(SeqCst).await == 2
            })
            .await;
        };
        let own = Atomic::new(0u8);
        let busy = async {
            for _ in 0..3 {
                own.fetch_add(1, SeqCst).await;
            }
        };
        futures::join!(waiting, busy);
        task.await.unwrap();
    };
    let report = search("exhaustive").run(body);
    assert!(report.passed() && report.searched.unwrap().is_proof());
    for seed in 0..100 {
        let run = Runner::new().hermetic().strategy("random").run_seed(seed, body);
        assert!(run.events.iter().all(|event| event.op.name != "spin_until"), "it looked only");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_made_of_exchanges_lets_one_in_at_a_time() {
    let body = async || {
        let shared = Arc::new((Atomic::new(false), Cell::new(0u32)));
        let tasks = [(); 2].map(|()| {
            let shared = shared.clone();
            sim::spawn(async move {
                let (held, count) = &*shared;
                let take = || held.compare_exchange(false, true, SeqCst, SeqCst);
                spin_until(async || take().await.is_ok()).await;
                let seen = count.get().await;
                count.set(seen + 1).await;
                held.store(false, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(shared.1.get().await, 2);
    };
    let report = search("exhaustive").run(body);
    assert!(report.passed() && report.searched.unwrap().is_proof());
}

#[test]
fn conditions_that_do_more_than_look_are_asked_again_and_again() {
    passes("asked", async || {
        let count = Atomic::new(0u32);
        spin_until(async || count.fetch_add(1, SeqCst).await == 5).await;
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let task = sim::spawn(async move { *other.lock().await = 3 });
        spin_until(async || *lock.lock().await == 3).await;
        spin_until(async || task.is_finished()).await;
        spin_until(async || sim::rand::below(4) == 3).await;
        let free = lock.lock().await;
        let other = lock.clone();
        let trying = sim::spawn(async move {
            spin_until(async || other.try_lock().await.is_some()).await;
        });
        drop(free);
        trying.await.unwrap();
    });
}

#[test]
fn a_wait_can_be_given_up() {
    passes("given_up", async || {
        let flag = Arc::new(Atomic::new(false));
        let other = flag.clone();
        let waiting = sim::spawn(async move { spin_until(|| other.load(SeqCst)).await });
        if sim::rand::below(2) == 0 {
            sim::task::yield_now().await;
        }
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        let mut wait = Box::pin(spin_until(|| flag.load(SeqCst)));
        for _ in 0..2 {
            assert!(futures::poll!(&mut wait).is_pending());
        }
        drop(wait);
        assert!(!flag.swap(true, SeqCst).await);
        spin_until(|| flag.load(SeqCst)).await;
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_plain_loop_without_end_is_told_by_what_it_looks_at() {
    let spinning = |yields: bool| {
        search("random").seeds(0..5).max_steps(2000).run(async move || {
            let flag = Arc::new(Atomic::new(0u8));
            let other = flag.clone();
            let task = sim::spawn(async move {
                while other.load(SeqCst).await == 0 {
                    if yields {
                        sim::task::yield_now().await;
                    }
                }
            });
            task.await.unwrap();
        })
    };
    for yields in [false, true] {
        let report = spinning(yields);
        let run = &report.finding.as_ref().expect("nobody sets the flag").run;
        let [spin] = &run.spins()[..] else { panic!("{:?}", run.spins()) };
        assert_eq!((spin.task.0, spin.looks.len()), (1, 1));
        assert!(spin.times > 900, "{}", spin.times);
        let said = screen(&report);
        let times = format!("0.0 repeated `load atomic = 0` at {}", place(run, spin.looks[0]));
        assert!(said.contains(&times) && said.contains("times in a row"), "{said}");
        assert!(said.contains("Await `sim::spin_until(condition)`"), "{said}");
    }
}

fn place(run: &Run, event: usize) -> String {
    run.events[event].place.to_string()
}

#[cfg_attr(feature = "sim", test)]
fn a_loop_that_gets_on_is_no_spin() {
    let run = Runner::new().hermetic().max_steps(500).run_seed(1, async || {
        let count = Atomic::new(0u32);
        while count.fetch_add(1, SeqCst).await < 1000 {
            count.load(SeqCst).await;
        }
    });
    assert!(matches!(failure(&run), Failure::StepLimit { .. }));
    assert_eq!(run.spins(), []);
}

#[test]
fn a_real_wait_ends_soon_after_the_change() {
    // Outside a run, on every build.
    let flag = Arc::new(Atomic::new(false));
    let other = flag.clone();
    let setter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        sim::block_on(other.store(true, SeqCst));
    });
    sim::block_on(spin_until(|| flag.load(SeqCst)));
    setter.join().unwrap();
}
