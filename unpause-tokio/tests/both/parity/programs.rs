//! Programs for tokio that return their observations. `tokio` is the crate that the module above names so.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};

use super::tokio;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Barrier, Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::task::{
    JoinError, JoinSet, LocalSet, block_in_place, spawn_blocking, spawn_local, yield_now,
};
use tokio::time::{
    Duration, Instant, MissedTickBehavior, advance, interval, interval_at, sleep, sleep_until,
    timeout, timeout_at,
};

/// The lines of a program.
type Lines = Vec<String>;

macro_rules! say {
    ($lines:ident, $($text:tt)*) => {
        $lines.push(format!($($text)*))
    };
}

/// The lines of a program in a runtime of one thread with a paused clock.
pub(crate) fn paused(program: impl Future<Output = Lines>) -> Lines {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).thread_name("worker").build().unwrap();
    runtime.block_on(program)
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn kind(error: &JoinError) -> (bool, bool) {
    (error.is_cancelled(), error.is_panic())
}

pub(crate) async fn tasks() -> Lines {
    let mut lines = Lines::new();
    let order = Arc::new(Mutex::new(Lines::new()));
    let tasks: Vec<_> = (0..3)
        .map(|n| {
            let order = order.clone();
            tokio::spawn(async move {
                order.lock().await.push(format!("begin {n}"));
                yield_now().await;
                order.lock().await.push(format!("end {n}"));
                n
            })
        })
        .collect();
    for task in tasks {
        say!(lines, "{:?} {}", task.is_finished(), task.await.unwrap());
    }
    say!(lines, "{order:?}");

    let task = tokio::spawn(pending::<()>());
    let abort = task.abort_handle();
    abort.abort();
    let error = task.await.unwrap_err();
    say!(lines, "{:?} {}", kind(&error), abort.is_finished());
    let error = std::io::Error::from(error);
    say!(lines, "{:?}", error.kind());

    let error = tokio::spawn(async { panic!("a {}", "reason") }).await.unwrap_err();
    say!(lines, "{:?} {}", kind(&error), error.to_string().contains("a reason"));
    say!(lines, "{:?}", error.into_panic().downcast_ref::<String>());
    let cancelled = tokio::spawn(pending::<()>());
    cancelled.abort();
    say!(lines, "{:?}", cancelled.await.unwrap_err().try_into_panic().is_err());

    say!(lines, "{}", spawn_blocking(|| 7).await.unwrap());
    let error = spawn_blocking(|| panic!("blocked")).await.unwrap_err();
    say!(lines, "{:?}", kind(&error));
    lines
}

pub(crate) async fn sets_of_tasks() -> Lines {
    let mut lines = Lines::new();
    let mut set = JoinSet::new();
    say!(lines, "{set:?} {:?}", set.try_join_next().is_none());
    for n in [3, 1, 2] {
        set.spawn(async move {
            sleep(Duration::from_secs(n)).await;
            n
        });
    }
    say!(lines, "{} {}", set.len(), set.is_empty());
    say!(lines, "{:?}", set.join_next().await.unwrap().unwrap());
    set.abort_all();
    say!(lines, "{:?}", kind(&set.join_next().await.unwrap().unwrap_err()));
    set.detach_all();
    say!(lines, "{:?}", set.join_next().await.is_none());
    set.spawn_blocking(|| 4);
    set.spawn_on(async { 4 }, &Handle::current());
    set.spawn_blocking_on(|| 4, &Handle::current());
    say!(lines, "{:?}", set.join_all().await);

    let mut set: JoinSet<_> = (0..2).map(|n| async move { n }).collect();
    set.extend((2..4).map(|n| async move { n }));
    say!(lines, "{}", set.len());
    say!(lines, "{:?}", set.join_next().await.unwrap().unwrap());
    say!(lines, "{:?}", set.join_next().await.unwrap().unwrap());
    set.spawn(pending());
    say!(lines, "{:?}", set.join_next().await.unwrap().unwrap());
    say!(lines, "{:?}", std::future::poll_fn(|cx| set.poll_join_next(cx)).await.unwrap().unwrap());
    set.shutdown().await;
    say!(lines, "{set:?}");
    lines
}

pub(crate) async fn numbers_of_tasks() -> Lines {
    let mut lines = Lines::new();
    say!(lines, "{:?}", tokio::task::try_id());
    let task = tokio::spawn(async { (tokio::task::id(), tokio::task::try_id()) });
    let (id, abort) = (task.id(), task.abort_handle().id());
    let seen = task.await.unwrap();
    say!(lines, "{} {}", seen == (id, Some(id)), abort == id);
    let mut set = JoinSet::new();
    let first = set.spawn(async { 1 }).id();
    let joined = set.join_next_with_id().await.unwrap().unwrap();
    say!(lines, "{} {}", joined.0 == first, joined.1);
    let second = set.spawn(pending());
    second.abort();
    yield_now().await;
    let error = set.try_join_next_with_id().unwrap().unwrap_err();
    say!(lines, "{} {}", error.id() == second.id(), first == second.id());
    lines
}

pub(crate) async fn local_tasks() -> Lines {
    let mut lines = Lines::new();
    let (local, value) = (LocalSet::new(), Rc::new(1));
    let held = value.clone();
    let outside = local.spawn_local(async move { *held + 1 });
    let inside = local.run_until(async {
        let mut set = JoinSet::new();
        let held = value.clone();
        set.spawn_local(async move { *held + 2 });
        spawn_local(async move { *value + 3 }).await.unwrap()
            + set.join_next().await.unwrap().unwrap()
    });
    say!(lines, "{:?}", inside.await);
    local.await;
    say!(lines, "{:?}", outside.await.unwrap());
    lines
}

pub(crate) async fn handles() -> Lines {
    let mut lines = Lines::new();
    let handle = Handle::try_current().unwrap();
    say!(lines, "{:?} {:?}", handle.runtime_flavor(), handle.name());
    say!(lines, "{}", handle.spawn(async { 1 }).await.unwrap());
    say!(lines, "{}", handle.spawn_blocking(|| 2).await.unwrap());
    say!(lines, "{}", handle.metrics().num_workers());
    let (send, receive) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let here = Handle::try_current().is_err();
        let _entered = handle.enter();
        let there = Handle::try_current().is_ok();
        handle.block_on(async move { send.send((here, there)).unwrap() });
    });
    say!(lines, "{:?}", receive.await);
    thread.join().unwrap();
    lines
}

pub(crate) async fn clocks() -> Lines {
    let mut lines = Lines::new();
    let begin = Instant::now();
    advance(Duration::from_millis(1_500)).await;
    say!(lines, "{:?}", begin.elapsed());
    let mut later = begin + Duration::from_secs(1);
    say!(lines, "{:?} {:?}", later - begin, begin.checked_duration_since(later));
    say!(lines, "{:?} {:?}", begin - later, begin.saturating_duration_since(later));
    later += Duration::from_secs(1);
    later -= Duration::from_secs(3);
    say!(lines, "{:?} {}", begin.duration_since(later), later < begin);
    say!(lines, "{:?}", begin.checked_add(Duration::MAX).is_none());
    say!(lines, "{}", Instant::from_std(begin.into_std()) == begin);
    tokio::time::resume();
    tokio::time::pause();
    lines
}

pub(crate) async fn sleeps() -> Lines {
    let mut lines = Lines::new();
    let begin = Instant::now();
    sleep(Duration::from_secs(3_600)).await;
    say!(lines, "{:?}", begin.elapsed());
    sleep_until(begin).await;
    // Rounded up.
    sleep(Duration::from_micros(10)).await;
    say!(lines, "{:?}", begin.elapsed());
    let mut sleep = pin!(sleep(Duration::from_secs(1)));
    say!(lines, "{} {:?}", sleep.is_elapsed(), sleep.deadline() - begin);
    say!(lines, "{:?}", poll_once(sleep.as_mut()));
    sleep.as_mut().reset(begin + Duration::from_secs(7_200));
    sleep.as_mut().await;
    say!(lines, "{} {:?}", sleep.is_elapsed(), begin.elapsed());
    lines
}

pub(crate) async fn time_outs() -> Lines {
    let mut lines = Lines::new();
    let begin = Instant::now();
    let late = timeout(Duration::from_secs(1), pending::<()>()).await.unwrap_err();
    say!(lines, "{late} {late:?}");
    say!(lines, "{:?}", std::io::Error::from(late).kind());
    say!(lines, "{:?}", timeout(Duration::ZERO, async { 1 }).await);
    say!(lines, "{:?}", timeout_at(begin, async { 1 }).await);
    say!(lines, "{:?}", timeout(Duration::MAX, sleep(Duration::from_secs(1))).await);
    let mut inside = timeout(Duration::from_secs(1), std::future::ready(5));
    say!(lines, "{:?}", inside.get_ref());
    say!(lines, "{:?}", inside.get_mut());
    say!(lines, "{}", inside.into_inner().await);
    say!(lines, "{:?}", begin.elapsed());
    lines
}

pub(crate) async fn intervals() -> Lines {
    let mut lines = Lines::new();
    let begin = Instant::now();
    let mut ticks = interval_at(begin + Duration::from_secs(1), Duration::from_secs(2));
    say!(lines, "{:?} {:?}", ticks.period(), ticks.missed_tick_behavior());
    say!(lines, "{:?}", ticks.tick().await - begin);
    say!(lines, "{:?}", ticks.tick().await - begin);
    ticks.reset();
    say!(lines, "{:?}", ticks.tick().await - begin);
    ticks.reset_immediately();
    say!(lines, "{:?}", ticks.tick().await - begin);
    ticks.reset_after(Duration::from_secs(5));
    say!(lines, "{:?}", ticks.tick().await - begin);
    ticks.reset_at(begin + Duration::from_secs(20));
    say!(lines, "{:?}", ticks.tick().await - begin);
    lines
}

pub(crate) async fn late_intervals() -> Lines {
    let mut lines = Lines::new();
    for behavior in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip]
    {
        let begin = Instant::now();
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(behavior);
        say!(lines, "{:?}", ticks.missed_tick_behavior());
        ticks.tick().await;
        sleep(Duration::from_millis(2_500)).await;
        for _ in 0..4 {
            say!(lines, "{:?}", ticks.tick().await - begin);
        }
    }
    lines
}

pub(crate) async fn channels() -> Lines {
    let mut lines = Lines::new();
    let (sender, mut receiver) = mpsc::channel(1);
    sender.send(1).await.unwrap();
    say!(lines, "{:?}", sender.try_send(2));
    say!(lines, "{:?}", receiver.recv().await);
    sender.send(3).await.unwrap();
    let begin = Instant::now();
    let late = sender.send_timeout(4, Duration::from_millis(50)).await;
    say!(lines, "{late:?} {:?}", begin.elapsed());
    say!(lines, "{:?}", receiver.recv().await);
    drop(sender);
    say!(lines, "{:?}", receiver.recv().await);

    let (sender, mut receiver) = broadcast::channel(1);
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    say!(lines, "{:?} {:?}", receiver.recv().await, receiver.recv().await);

    let (sender, mut receiver) = watch::channel(1);
    sender.send(2).unwrap();
    say!(lines, "{:?} {:?}", receiver.changed().await, *receiver.borrow_and_update());

    let notify = Notify::new();
    let mut notified = pin!(notify.notified());
    say!(lines, "{:?}", poll_once(notified.as_mut()));
    notify.notify_waiters();
    say!(lines, "{:?}", poll_once(notified.as_mut()));
    lines
}

pub(crate) async fn texts() -> Lines {
    let mut lines = Lines::new();
    let places = Arc::new(Semaphore::new(3));
    say!(lines, "{places:?}");
    say!(lines, "{:?}", places.acquire_many(2).await.unwrap());
    say!(lines, "{:?}", places.clone().acquire_owned().await.unwrap());
    say!(lines, "{:?} {:?}", Notify::new(), Barrier::new(2));
    let (sender, receiver) = oneshot::channel::<u8>();
    say!(lines, "{sender:?} {receiver:?}");
    let mutex = Mutex::new(1);
    let held = mutex.lock().await;
    say!(lines, "{mutex:?} {held:?}");
    let task = tokio::spawn(async {});
    let (id, abort) = (task.id(), task.abort_handle());
    say!(lines, "{}", format!("{task:?}") == format!("JoinHandle {{ id: {id:?} }}"));
    say!(lines, "{}", format!("{abort:?}") == format!("AbortHandle {{ id: {id:?} }}"));
    task.await.unwrap();
    let local = LocalSet::new();
    say!(lines, "{local:?} {:?}", local.enter());
    lines
}

tokio::task_local! {
    static NUMBER: Cell<u32>;
}

pub(crate) async fn macros() -> Lines {
    let mut lines = Lines::new();
    NUMBER
        .scope(Cell::new(1), async {
            yield_now().await;
            NUMBER.with(|number| number.set(number.get() + 1));
            say!(lines, "{}", NUMBER.get().get());
        })
        .await;
    say!(lines, "{:?}", NUMBER.try_with(Cell::get).is_err());
    say!(lines, "{:?}", tokio::join!(async { 1 }, async { 2 }));
    say!(lines, "{:?}", tokio::try_join!(async { Ok(1) }, async { Err::<u8, _>(2) }));
    let sleep = sleep(Duration::from_secs(1));
    tokio::pin!(sleep);
    let selected = tokio::select! {
        biased;
        () = &mut sleep => 1,
        () = pending() => 2,
    };
    say!(lines, "{selected} {}", sleep.is_elapsed());
    lines
}

/// A runtime with several threads.
pub(crate) fn threads() -> Lines {
    let mut lines = Lines::new();
    let (send, started) = channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .thread_name("a worker")
        .name("a runtime")
        .thread_keep_alive(Duration::from_secs(1))
        .on_thread_start(move || send.send(()).unwrap())
        .on_thread_stop(|| {})
        .enable_time()
        .build()
        .unwrap();
    say!(lines, "{:?}", started.recv());
    say!(lines, "{:?} {:?}", runtime.handle().runtime_flavor(), runtime.handle().name());
    let name = runtime
        .spawn(async { block_in_place(|| std::thread::current().name().map(str::to_owned)) });
    say!(lines, "{:?}", runtime.block_on(name).unwrap());
    let _entered = runtime.enter();
    let blocking = tokio::task::spawn_blocking(|| 3);
    say!(lines, "{:?}", runtime.block_on(blocking).unwrap());
    drop(_entered);
    runtime.shutdown_background();
    lines
}
