//! Calls on time and on tasks.

use std::future::{pending, poll_fn};
use std::sync::Arc;

use futures::future::BoxFuture;
use sim::task::{AbortHandle, Unparker, park, yield_now};
use sim::time::{
    Duration, Instant, SystemTime, advance, interval, interval_at, sleep, sleep_until, timeout,
    timeout_at, truth,
};
use sim::{Atomic, Ordering::SeqCst, spawn};

use super::{Act, World, act, compare};

struct Tasks {
    begin: Instant,
    /// A task that ends by itself, after a step.
    short: AbortHandle,
    /// A task that is currently parked.
    parked: Unparker,
    word: Arc<Atomic<u64>>,
}

const WORLD: World<Tasks> = World {
    begin: || {
        Box::pin(async {
            let word = Arc::new(Atomic::new(0));
            let count = word.clone();
            let short = spawn(async move { count.fetch_add(1, SeqCst).await });
            let handle = short.abort_handle();
            short.detach();
            let (count, told) = (word.clone(), Arc::new(Atomic::new(false)));
            let tells = told.clone();
            let parks = spawn(async move {
                tells.store(true, SeqCst).await;
                park().await;
                count.fetch_add(10, SeqCst).await;
            });
            let parked = parks.unparker();
            parks.detach();
            Tasks { begin: Instant::now(), short: handle, parked, word }
        })
    },
    look: |own| {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            format!("{} {}", own.word.load(SeqCst).await, own.short.is_finished())
        })
    },
};

fn done(own: Arc<Tasks>, call: fn(&Tasks) -> String) -> BoxFuture<'static, String> {
    Box::pin(async move { call(&own) })
}

fn acts() -> Vec<Act<Tasks>> {
    vec![
        act("time::Instant::now", |own| {
            done(own, |own| format!("{:?}", Instant::now() - own.begin))
        }),
        act("time::truth", |own| done(own, |own| format!("{:?}", truth() - own.begin))),
        act("time::advance", |_| {
            Box::pin(async {
                advance(Duration::from_secs(1)).await;
                String::new()
            })
        }),
        act("time::sleep", |own| {
            Box::pin(async move {
                sleep(Duration::from_secs(1)).await;
                format!("{:?}", own.begin.elapsed())
            })
        }),
        act("task::AbortHandle::abort", |own| {
            done(own, |own| {
                own.short.abort();
                String::new()
            })
        }),
        act("task::AbortHandle::is_finished", |own| {
            done(own, |own| own.short.is_finished().to_string())
        }),
        act("task::Unparker::unpark", |own| {
            done(own, |own| {
                own.parked.unpark();
                String::new()
            })
        }),
        act("task::spawn", |own| {
            done(own, |own| {
                let word = own.word.clone();
                spawn(async move { word.fetch_add(100, SeqCst).await }).detach();
                String::new()
            })
        }),
        act("task::yield_now", |own| {
            Box::pin(async move {
                yield_now().await;
                own.word.load(SeqCst).await.to_string()
            })
        }),
    ]
}

/// The time from the start to the end of a call.
async fn since(own: &Tasks) -> String {
    format!("{:?} {}", own.begin.elapsed(), own.word.load(SeqCst).await)
}

fn timers() -> Vec<Act<Tasks>> {
    const SECOND: Duration = Duration::from_secs(1);
    vec![
        act("time::advance", |_| {
            Box::pin(async {
                advance(SECOND).await;
                String::new()
            })
        }),
        act("time::__instant!::elapsed", |own| {
            done(own, |own| format!("{:?}", own.begin.elapsed()))
        }),
        act("time::SystemTime::elapsed", |own| {
            done(own, |_| format!("{:?}", SystemTime::UNIX_EPOCH.elapsed()))
        }),
        act("time::sleep_until", |own| {
            Box::pin(async move {
                sleep_until(own.begin + SECOND).await;
                since(&own).await
            })
        }),
        act("time::timeout", |own| {
            Box::pin(async move {
                let ended = timeout(SECOND, pending::<()>()).await;
                format!("{} {}", ended.is_ok(), since(&own).await)
            })
        }),
        act("time::timeout_at", |own| {
            Box::pin(async move {
                let ended = timeout_at(own.begin + SECOND, pending::<()>()).await;
                format!("{} {}", ended.is_ok(), since(&own).await)
            })
        }),
        act("time::interval + time::Interval::tick", |own| {
            Box::pin(async move {
                let mut ticks = interval(SECOND);
                ticks.tick().await;
                ticks.tick().await;
                since(&own).await
            })
        }),
        act("time::interval_at + time::Interval::poll_tick", |own| {
            Box::pin(async move {
                let mut ticks = interval_at(own.begin + SECOND, SECOND);
                poll_fn(|cx| ticks.poll_tick(cx)).await;
                since(&own).await
            })
        }),
        act("time::Interval::reset + time::Interval::reset_at", |own| {
            Box::pin(async move {
                let mut ticks = interval_at(own.begin + 2 * SECOND, SECOND);
                ticks.reset();
                ticks.tick().await;
                ticks.reset_at(own.begin + 2 * SECOND);
                ticks.tick().await;
                since(&own).await
            })
        }),
        act("time::Interval::reset_immediately + time::Interval::reset_after", |own| {
            Box::pin(async move {
                let mut ticks = interval_at(own.begin + 2 * SECOND, SECOND);
                ticks.reset_immediately();
                ticks.tick().await;
                ticks.reset_after(SECOND);
                ticks.tick().await;
                since(&own).await
            })
        }),
        act("time::Sleep::is_elapsed + time::Sleep::reset", |own| {
            Box::pin(async move {
                let mut sleeps = Box::pin(sleep(2 * SECOND));
                sleeps.as_mut().reset(own.begin + SECOND);
                let early = sleeps.is_elapsed();
                sleeps.as_mut().await;
                format!("{early} {} {}", sleeps.is_elapsed(), since(&own).await)
            })
        }),
    ]
}

#[test]
fn timers_are_searched_in_each_order() {
    compare(&WORLD, &timers());
}

#[test]
fn calls_on_time_and_tasks_are_searched_in_each_order() {
    compare(&WORLD, &acts());
}
