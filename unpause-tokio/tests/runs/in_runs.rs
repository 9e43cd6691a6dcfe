//! tokio's names in a run: each is simulated, or refused in words.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::Duration;

use sim::run::{Failure, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet, coop, spawn_blocking, spawn_local, yield_now};
use tokio::time::{self, Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// Asserts that no order of the body's steps fails.
#[track_caller]
fn holds(body: impl AsyncFn() + Sync) {
    let report = sim::Runner::new().hermetic().strategy("exhaustive").run(body);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
}

/// Asserts that the body is refused, with this text.
#[track_caller]
fn refused(text: &str, body: impl AsyncFn() + Sync) {
    match sim::Runner::new().hermetic().run_seed(0, body).outcome {
        Outcome::Failed(Failure::Misuse { message, place }) => {
            assert!(message.contains(text), "{message}");
            assert!(place.contains("in_runs.rs"), "{place}");
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the results of all runs of a body.
fn results<R: Ord + Send>(body: impl AsyncFn() -> R + Sync) -> Vec<R> {
    let all = Mutex::new(Vec::new());
    holds(async || {
        let result = body().await;
        all.lock().unwrap().push(result);
    });
    let mut all = all.into_inner().unwrap();
    all.sort();
    all.dedup();
    all
}

#[test]
fn the_tasks_of_a_run_step_in_any_order() {
    let orders = results(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for n in 1..=3 {
            let sender = sender.clone();
            tokio::spawn(async move {
                yield_now().await;
                sender.send(n).unwrap();
            });
        }
        drop(sender);
        let mut order = Vec::new();
        while let Some(n) = receiver.recv().await {
            order.push(n);
        }
        order
    });
    assert_eq!(orders.len(), 6, "{orders:?}");
}

#[test]
fn the_handle_of_a_run_spawns_into_it() {
    let sums = results(async || {
        let handle = Handle::try_current().unwrap();
        assert_eq!(format!("{handle:?}"), "Handle(run)");
        assert_eq!(handle.runtime_flavor(), RuntimeFlavor::CurrentThread);
        assert_eq!(handle.name(), None);
        let _entered = handle.enter();
        let thread = std::thread::current().id();
        let one = handle.spawn(async move {
            assert_eq!(std::thread::current().id(), thread);
            1
        });
        let two = Handle::current().spawn_blocking(move || {
            assert_eq!(std::thread::current().id(), thread);
            2
        });
        one.await.unwrap() + two.await.unwrap()
    });
    assert_eq!(sums, [3]);
}

#[test]
fn a_runtime_of_elsewhere_spawns_into_the_run() {
    let runtime = AssertUnwindSafe(Builder::new_current_thread().build().unwrap());
    holds(async || {
        assert_eq!(runtime.spawn(async { yield_now().await }).await.unwrap(), ());
        assert_eq!(runtime.spawn_blocking(|| 1).await.unwrap(), 1);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(async { 2 }, runtime.handle());
        tasks.spawn_blocking_on(|| 2, runtime.handle());
        assert_eq!(tasks.join_all().await, [2, 2]);
    });
    refused("write .await", async || runtime.block_on(async {}));
    assert_eq!(runtime.block_on(async { tokio::spawn(async { 3 }).await.unwrap() }), 3);
}

#[test]
fn a_run_makes_no_runtime_and_blocks_no_thread() {
    holds(async || {
        for error in
            [Runtime::new().unwrap_err(), Builder::new_current_thread().build().unwrap_err()]
        {
            assert!(error.to_string().contains("make the runtime outside of the test"), "{error}");
        }
    });
    refused("write .await", async || Handle::current().block_on(async {}));
    refused("write lock().await", async || {
        let lock = tokio::sync::Mutex::new(());
        drop(lock.blocking_lock());
    });
}

#[test]
fn the_handle_of_a_run_that_is_over_says_so() {
    let kept = Mutex::new(None);
    holds(async || *kept.lock().unwrap() = Some(Handle::current()));
    let handle = kept.into_inner().unwrap().unwrap();
    let panic = std::panic::catch_unwind(AssertUnwindSafe(|| drop(handle.spawn(async {}))));
    let message = panic.unwrap_err().downcast::<&str>().unwrap();
    assert!(message.contains("use it in a task of the run"), "{message}");
}

#[test]
fn time_is_virtual_paused_or_not() {
    holds(async || {
        let begin = Instant::now();
        sleep(Duration::from_secs(3_600)).await;
        time::pause();
        sleep_until(begin + Duration::from_secs(7_200)).await;
        time::advance(Duration::from_secs(3_600)).await;
        time::resume();
        assert_eq!(begin.elapsed(), Duration::from_secs(3 * 3_600));

        let late = timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        assert_eq!(late.unwrap_err().to_string(), "deadline has elapsed");
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        assert_eq!(ticks.missed_tick_behavior(), MissedTickBehavior::Skip);
        let first = ticks.tick().await;
        sleep(Duration::from_millis(2_500)).await;
        assert_eq!(ticks.tick().await - first, Duration::from_secs(1));
        assert_eq!(ticks.tick().await - first, Duration::from_secs(3));
    });
}

#[test]
fn tasks_are_aborted_and_joined_as_they_end() {
    holds(async || {
        let task = tokio::spawn(std::future::pending::<()>());
        let abort = task.abort_handle();
        assert!(!task.is_finished());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(abort.is_finished());

        let mut tasks: JoinSet<u32> = (1..=2).map(|n| async move { n }).collect();
        let (_held, waits) = oneshot::channel::<()>();
        tasks.spawn(async {
            let _ = waits.await;
            3
        });
        let mut joined =
            [tasks.join_next().await.unwrap().unwrap(), tasks.join_next().await.unwrap().unwrap()];
        joined.sort();
        assert_eq!((joined, tasks.len()), ([1, 2], 1));
        assert!(tasks.try_join_next().is_none());
        tasks.shutdown().await;
        assert!(tasks.is_empty());
    });
}

#[test]
fn blocking_work_is_a_task() {
    let orders = results(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let other = sender.clone();
        let work = spawn_blocking(move || other.send(1).unwrap());
        yield_now().await;
        sender.send(2).unwrap();
        work.await.unwrap();
        tokio::task::block_in_place(|| sender.send(3).unwrap());
        [receiver.recv().await, receiver.recv().await, receiver.recv().await].map(Option::unwrap)
    });
    assert_eq!(orders, [[1, 2, 3], [2, 1, 3]]);
}

#[test]
fn the_branch_that_is_polled_first_is_a_decision() {
    let firsts = results(async || {
        let (one, mut ones) = mpsc::unbounded_channel();
        let (two, mut twos) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            one.send(1).unwrap();
            two.send(2).unwrap();
        });
        tokio::select! {
            Some(n) = ones.recv() => n,
            Some(n) = twos.recv() => n,
        }
    });
    assert_eq!(firsts, [1, 2]);
    let firsts = results(async || {
        let sums = tokio::join!(async { 1 }, async { yield_now().await });
        let all: Result<_, ()> = tokio::try_join!(async { Ok(sums.0) }, async { Ok(2) });
        tokio::select! {
            biased;
            n = async { all.unwrap() } => n,
            n = async { (3, 3) } => n,
        }
    });
    assert_eq!(firsts, [(1, 2)]);
}

#[test]
fn tasks_have_numbers_of_their_run() {
    let numbers = results(async || {
        let task = tokio::spawn(async { tokio::task::id() });
        let (id, abort) = (task.id(), task.abort_handle().id());
        assert_eq!((task.await.unwrap(), abort), (id, id));
        assert_eq!(tokio::task::try_id(), None);

        let mut tasks = JoinSet::new();
        let ends = tasks.spawn(async { 1 });
        let aborted = tasks.spawn(std::future::pending());
        aborted.abort();
        let (mut done, mut failed) = (None, None);
        while let Some(joined) = tasks.join_next_with_id().await {
            match joined {
                Ok((id, 1)) => done = Some(id),
                Ok(other) => panic!("{other:?}"),
                Err(error) => failed = Some(error.id()),
            }
        }
        assert_eq!((done, failed), (Some(ends.id()), Some(aborted.id())));
        format!("{id} {id:?}")
    });
    assert_eq!(numbers, ["1 Id(1)"]);
}

#[test]
fn local_tasks_are_tasks_of_the_run() {
    let orders = results(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let (local, sender) = (LocalSet::new(), std::rc::Rc::new(sender));
        let send = |n: u32| {
            let sender = sender.clone();
            async move { sender.send(n).unwrap() }
        };
        let mut tasks = JoinSet::new();
        local.spawn_local(send(1));
        tasks.spawn_local_on(send(2), &local);
        local.run_until(async { spawn_local(send(3)).await.unwrap() }).await;
        local.await;
        tasks.join_all().await;
        [receiver.recv().await, receiver.recv().await, receiver.recv().await].map(Option::unwrap)
    });
    assert_eq!(orders.len(), 6, "{orders:?}");
}

#[tokio::test]
#[should_panic(
    expected = "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
)]
async fn a_local_task_needs_a_set() {
    spawn_local(async {});
}

#[test]
fn a_budget_is_a_point() {
    let orders = results(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let other = sender.clone();
        let task = tokio::spawn(async move { other.send(1).unwrap() });
        coop::consume_budget().await;
        sender.send(2).unwrap();
        coop::unconstrained(task).await.unwrap();
        [receiver.recv().await, receiver.recv().await].map(Option::unwrap)
    });
    assert_eq!(orders, [[1, 2], [2, 1]]);
}

#[test]
fn pipes_are_tokios_and_need_no_reactor() {
    // A search would be no proof here, because it does not see the memory of a pipe.
    let report = sim::Runner::new().hermetic().seeds(0..50).run(async || {
        let (mut one, mut two) = tokio::io::duplex(2);
        let writing = tokio::spawn(async move { one.write_all(b"abc").await.unwrap() });
        let mut read = String::new();
        two.read_to_string(&mut read).await.unwrap();
        writing.await.unwrap();
        assert_eq!(read, "abc");
    });
    assert!(report.passed(), "{report:?}");
}

#[test]
fn options_of_std_are_refused_in_a_run() {
    refused("options of std cannot be read", async || {
        let options = tokio::fs::OpenOptions::from(std::fs::OpenOptions::new());
        drop(options.open("/file").await);
    });
}

#[test]
fn a_pipe_that_nobody_writes_to_is_a_deadlock() {
    let run = sim::Runner::new().hermetic().run_seed(0, async || {
        let (_one, mut two) = tokio::io::duplex(2);
        two.read_u8().await.unwrap();
    });
    assert!(matches!(run.outcome, Outcome::Failed(Failure::Deadlock { .. })), "{:?}", run.outcome);
}

#[test]
fn timers_of_a_node_go_at_the_rate_of_its_clock() {
    holds(async || {
        let db = sim::node("db-1");
        db.clock().set_drift(0.25);
        let begin = sim::time::truth();
        let work = db.spawn(async {
            let there = Instant::now();
            assert!(timeout(Duration::from_secs(5), sleep(Duration::from_secs(6))).await.is_err());
            assert_eq!(there.elapsed(), Duration::from_secs(5));
        });
        work.await.unwrap();
        assert_eq!(sim::time::truth() - begin, Duration::from_secs(4));
    });
    refused("an instant of db-1 is compared with an instant of the test outside", async || {
        let there = sim::node("db-1").enter(Instant::now);
        let _ = there - Instant::now();
    });
}
