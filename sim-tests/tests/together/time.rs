//! Virtual time: sleeps, time-outs and intervals. Planted bugs, with their fixed twins.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Run};
use sim::time::{Duration, Instant, MissedTickBehavior, Sleep};
use sim::time::{advance, interval, interval_at, sleep, sleep_until, timeout};
use sim::{Atomic, Mutex, Runner};
use sim_tests::seeds::{fails, failure, finding, passes, runner};

const SECOND: Duration = Duration::from_secs(1);
/// Short enough for the real build.
const SHORT: Duration = Duration::from_millis(2);

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn search(name: &str) -> Runner {
    runner(name).strategy("exhaustive")
}

/// Asserts that a search explores all runs of a body in `runs` runs, and that each run passes.
#[track_caller]
fn proves(name: &str, runs: u64, body: impl AsyncFn() + Sync) {
    let report = search(name).run(body);
    let screen = screen(&report);
    assert!(report.passed(), "{screen}");
    let searched = report.searched.expect("it was a search");
    assert!(searched.is_proof(), "{screen}");
    assert_eq!(report.runs, runs, "{screen}");
}

/// The run of a body that fails in a search.
#[track_caller]
fn found(name: &str, body: impl AsyncFn() + Sync) -> Run {
    let report = search(name).run(body);
    report.finding.unwrap_or_else(|| panic!("{name} passes")).run
}

// ---- programs

/// A retry stops waiting for the answer, but does not cancel the first request. So the request is executed twice.
async fn retry(cancels: bool) {
    let done = Arc::new(Atomic::new(0));
    let mut request = ask(&done, 5 * SHORT);
    let answer = timeout(SHORT, &mut request).await;
    if answer.is_err() {
        if cancels {
            request.abort();
            let _ = request.await;
        }
        ask(&done, SHORT).await.unwrap();
    }
    sleep(20 * SHORT).await;
    assert_eq!(done.load(SeqCst).await, 1, "done twice");
}

/// Sends a request whose answer takes `time`.
fn ask(done: &Arc<Atomic<u32>>, time: Duration) -> sim::JoinHandle<()> {
    let done = done.clone();
    sim::spawn(async move {
        sleep(time).await;
        done.fetch_add(1, SeqCst).await;
    })
}

/// Two clients write under a lease of three seconds. A client checks the lease, and writes after a second.
async fn leases(checks_last: bool) {
    // The owner of the lease, and the second in which the lease ends.
    let lease = Arc::new(Mutex::new((0u64, 0u64)));
    let written_by = Arc::new(Atomic::new(0u64));
    let begin = Instant::now();
    let client = |number: u64, work: Duration| {
        let (lease, written_by) = (lease.clone(), written_by.clone());
        async move {
            loop {
                let mut held = lease.lock().await;
                if held.1 <= begin.elapsed().as_secs() {
                    *held = (number, begin.elapsed().as_secs() + 3);
                    break;
                }
                drop(held);
                sleep(SECOND).await;
            }
            sleep(work).await;
            let held = lease.lock().await;
            if *held != (number, held.1) || held.1 <= begin.elapsed().as_secs() {
                return;
            }
            if !checks_last {
                drop(held);
                sleep(SECOND).await;
            }
            written_by.store(number, SeqCst).await;
            let owner = lease_owner(&lease, checks_last, number).await;
            assert_eq!(owner, number, "written without a lease");
        }
    };
    sim::map_concurrently([(1, 2 * SECOND), (2, Duration::ZERO)], |(n, work)| client(n, work))
        .await;
}

/// Returns the owner of the lease. A client that holds the lock knows the owner.
async fn lease_owner(lease: &Mutex<(u64, u64)>, held: bool, number: u64) -> u64 {
    if held { number } else { lease.lock().await.0 }
}

/// Two tasks take two locks in opposite orders; one gives up after a second and begins again.
async fn two_locks(gives_up: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let other = sim::spawn({
        let locks = locks.clone();
        async move {
            let _first = locks[1].lock().await;
            let _second = locks[0].lock().await;
        }
    });
    loop {
        let first = locks[0].lock().await;
        match gives_up {
            false => drop(locks[1].lock().await),
            true => match timeout(SHORT, locks[1].lock()).await {
                Ok(second) => drop(second),
                Err(_) => {
                    drop(first);
                    sleep(SHORT).await;
                    continue;
                }
            },
        }
        break;
    }
    other.await.unwrap();
}

// ---- both builds

#[test]
fn correct_programs_pass_on_every_build() {
    passes("time retry", async || retry(true).await);
    passes("time locks", async || two_locks(true).await);
    passes("time ticks", async || {
        let begin = Instant::now();
        let mut ticks = interval(SHORT);
        for _ in 0..3 {
            ticks.tick().await;
        }
        assert!(begin.elapsed() >= 2 * SHORT);
    });
    passes("time reset", async || reset_by_another_task().await);
}

/// A task waits for a sleep that another task sets to an earlier time.
async fn reset_by_another_task() {
    type Shared = Arc<std::sync::Mutex<Pin<Box<Sleep>>>>;
    let begin = Instant::now();
    let shared: Shared = Arc::new(std::sync::Mutex::new(Box::pin(sleep(3_600 * SECOND))));
    let waits = sim::spawn({
        let shared = shared.clone();
        std::future::poll_fn(move |cx| shared.lock().unwrap().as_mut().poll(cx))
    });
    sleep(SHORT).await;
    shared.lock().unwrap().as_mut().reset(begin + 2 * SHORT);
    waits.await.unwrap();
    assert!(begin.elapsed() < 1_800 * SECOND, "the old deadline counts");
}

// ---- runs

#[cfg_attr(feature = "sim", test)]
fn an_hour_takes_as_many_steps_as_things_happen_in_it() {
    let body = async || {
        let begin = Instant::now();
        sleep(3_600 * SECOND).await;
        assert_eq!(begin.elapsed(), 3_600 * SECOND);
    };
    let run = Runner::new().hermetic().run_seed(7, body);
    assert_eq!(run.steps.len(), 2);
    let moves: Vec<(u32, Duration)> = run.time_moves.iter().map(|m| (m.step, m.to)).collect();
    assert_eq!(moves, [(1, 3_600 * SECOND)]);
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_are_due_at_one_time_step_in_any_order() {
    let body = async || {
        let word = Arc::new(Atomic::new(0));
        let tasks = [1, 2, 3].map(|n| {
            let word = word.clone();
            sim::spawn(async move {
                sleep(SECOND).await;
                word.store(n, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        sim::sometimes!(word.load(SeqCst).await == 1, "the first is last");
    };
    proves("time due", 6, body);
    // Only different deadlines have a fixed order.
    proves("time order", 1, async || {
        let word = Arc::new(Atomic::new(0));
        sim::map_concurrently(1..=3, |n| {
            let word = word.clone();
            async move {
                sleep(n * SECOND).await;
                assert_eq!(word.swap(n, SeqCst).await, n - 1);
            }
        })
        .await;
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_timeout_ends_no_wait_that_others_can_end() {
    proves("time slow", 2, async || {
        let lock = Arc::new(Mutex::new(()));
        let other = sim::spawn({
            let lock = lock.clone();
            async move { drop(lock.lock().await) }
        });
        assert!(timeout(Duration::ZERO, async {}).await.is_ok());
        assert!(timeout(SECOND, lock.lock()).await.is_ok());
        other.await.unwrap();
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_retry_that_does_not_cancel_is_found() {
    let Failure::Panic { message, .. } = fails("time retry", async || retry(false).await) else {
        panic!("no panic");
    };
    assert!(message.contains("done twice"), "{message}");
    proves("time retry proof", 1, async || retry(true).await);
}

#[cfg_attr(feature = "sim", test)]
fn a_lease_that_is_checked_before_an_await_and_used_after_it_is_found() {
    let Failure::Panic { message, .. } =
        failure(&found("time lease", async || leases(false).await))
    else {
        panic!("no panic");
    };
    assert!(message.contains("without a lease"), "{message}");
    let report = search("time lease fixed").run(async || leases(true).await);
    assert!(report.passed() && report.searched.unwrap().is_proof());
}

#[cfg_attr(feature = "sim", test)]
fn a_timeout_resolves_a_deadlock() {
    let failure = fails("time deadlock", async || two_locks(false).await);
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
    let report = search("time no deadlock").run(async || two_locks(true).await);
    assert!(report.passed() && report.searched.unwrap().is_proof());
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_is_shrunk_and_replayed_with_its_times() {
    let body = async || {
        let noise = sim::spawn(async { sleep(SECOND).await });
        retry(false).await;
        noise.await.unwrap();
    };
    let finding = finding("time replay", body);
    let trace = finding.trace_file.expect("a trace is written");
    assert!(finding.shrunk.is_some());
    let report = runner("time replay").replay(&trace).run(body);
    let again = report.finding.expect("it fails again").run;
    assert_eq!(again.outcome, finding.run.outcome);
    assert_eq!(again.time_moves, finding.run.time_moves);
    assert!(!again.time_moves.is_empty());
}

#[cfg_attr(feature = "sim", test)]
fn every_strategy_gives_the_same_run_for_the_same_seed() {
    for strategy in sim::strategy::STRATEGIES {
        let body = async || {
            let word = Arc::new(Atomic::new(false));
            sim::map_concurrently(0..3, |n| {
                let word = word.clone();
                async move {
                    sleep((n % 2) * SECOND).await;
                    let _ = timeout(SECOND, sim::spin_until(|| word.load(SeqCst))).await;
                    word.store(n == 2, SeqCst).await;
                }
            })
            .await;
        };
        let run = || Runner::new().hermetic().strategy(strategy.name).run_seed(3, body);
        let (one, other) = (run(), run());
        assert_eq!((&one.steps, &one.events), (&other.steps, &other.events), "{}", strategy.name);
        assert_eq!(one.time_moves, other.time_moves, "{}", strategy.name);
    }
}

#[cfg_attr(feature = "sim", test)]
fn late_ticks_are_as_the_behavior_says() {
    let all = [
        (MissedTickBehavior::Burst, [0, 2, 4, 6, 8]),
        (MissedTickBehavior::Delay, [0, 2, 7, 9, 11]),
        (MissedTickBehavior::Skip, [0, 2, 6, 8, 10]),
    ];
    for (behavior, expected) in all {
        let report = Runner::new().hermetic().seeds(0..1).run(async || {
            let begin = Instant::now();
            let mut ticks = interval_at(begin, 2 * SECOND);
            ticks.set_missed_tick_behavior(behavior);
            let mut planned = Vec::new();
            for nth in 0..5 {
                planned.push((ticks.tick().await - begin).as_secs());
                if nth == 0 {
                    sleep(5 * SECOND).await;
                }
            }
            assert_eq!(planned, expected, "{behavior:?}");
        });
        assert!(report.passed(), "{}", screen(&report));
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_time_can_be_moved_by_a_test() {
    proves("time advance", 1, async || {
        let begin = Instant::now();
        let task = sim::spawn(async move {
            sleep_until(begin + SECOND).await;
            begin.elapsed()
        });
        advance(3 * SECOND).await;
        let woken = task.await.unwrap();
        assert!(woken == 3 * SECOND, "{woken:?}");
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_loop_that_polls_the_time_reaches_the_step_limit() {
    // The time moves only when no task can step, and this one always can.
    let report = runner("time polled").max_steps(1_000).seeds(0..1).run(async || {
        let begin = Instant::now();
        sim::spin_until(async || begin.elapsed() >= SECOND).await;
    });
    let finding = report.finding.expect("it does not end");
    assert!(matches!(failure(&finding.run), Failure::StepLimit { .. }));
}

#[cfg_attr(feature = "sim", test)]
fn the_screen_shows_when_the_time_moved() {
    let report = runner("time screen").seeds(0..1).run(async || {
        let mut sleep = pin!(sleep(1_500 * Duration::from_millis(1)));
        sleep.as_mut().await;
        assert!(sleep.deadline() > Instant::now(), "at {:?}", Instant::now());
    });
    let screen = screen(&report);
    assert!(screen.contains("set_timer clock := 1.5s"), "{screen}");
    assert!(screen.contains("time moves on to 1.5s 1 sleep clock = 1.5s"), "{screen}");
    assert!(screen.contains("clock the time of the run"), "{screen}");
    assert!(screen.contains("at Instant(1.5s)"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn a_run_in_which_only_the_time_moves_is_told() {
    let forever = || {
        sim::spawn(async {
            let mut ticks = interval(SECOND);
            loop {
                ticks.tick().await;
            }
        })
    };
    let report = runner("time forever").max_steps(3_000).seeds(0..1).run(async || {
        let task: sim::JoinHandle<()> = forever();
        task.await.unwrap();
    });
    let screen = screen(&report);
    let Some(finding) = &report.finding else { panic!("it ends") };
    assert!(matches!(failure(&finding.run), Failure::StepLimit { .. }));
    assert!(screen.contains("In the last 1000 steps the time moved 1000 times"), "{screen}");
    assert!(screen.contains("A loop with a timer, such as an interval"), "{screen}");
    // If the body does not wait for this task, there is no deadlock, and nothing is reported.
    let report = runner("time detached").seeds(0..10).run(async || {
        forever().detach();
        let sleeps = sim::spawn(sleep(SECOND));
        drop(sleeps);
        sim::task::yield_now().await;
    });
    assert!(report.passed() && report.warnings.is_empty(), "{:?}", report.warnings);
}

#[cfg_attr(feature = "sim", test)]
fn nothing_that_can_step_and_no_timer_is_a_deadlock() {
    let failure = fails("time none", async || {
        let _elapsed = timeout(SECOND, async {}).await;
        std::future::pending::<()>().await;
    });
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_timer_of_tokio_is_told_with_the_remedy() {
    let report = runner("time tokio").seeds(0..1).run(async || {
        // The message of tokio's timers outside of its runtime.
        let message = "there is no reactor running, must be called from a Tokio 1.x runtime";
        if sim::SIMULATED {
            panic!("{message}");
        }
    });
    let screen = screen(&report);
    assert!(screen.contains("in place of tokio::time"), "{screen}");
}
