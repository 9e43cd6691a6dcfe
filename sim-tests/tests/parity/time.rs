//! The surface of `sim::time`, with its types: tokio's.

use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sim::time::error::Elapsed;
use sim::time::{Duration, Instant, Interval, MissedTickBehavior, Sleep, Timeout};
use sim::time::{advance, interval, interval_at, sleep, sleep_until, timeout, timeout_at};

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn instants() {
    let mut now: Instant = Instant::now();
    let std: std::time::Instant = now.into_std();
    assert_eq!((Instant::from_std(std), Instant::from(std), std), (now, now, now.into()));
    let later: Instant = now.checked_add(SHORT).unwrap();
    let earlier: Option<Instant> = later.checked_sub(SHORT);
    assert_eq!((later - SHORT, earlier, later > now), (now, Some(now), true));
    assert_eq!((later - now, now - later), (SHORT, Duration::ZERO));
    let since: Option<Duration> = now.checked_duration_since(later);
    assert_eq!((since, now.saturating_duration_since(later)), (None, Duration::ZERO));
    assert_eq!(later.duration_since(now), SHORT);
    now += SHORT;
    assert_eq!(now, later);
    now -= SHORT;
    let _: (Duration, &dyn Debug) = (now.elapsed(), &now);
}

#[test]
fn sleeps() {
    sim::block_on(async {
        let begin = Instant::now();
        let sleep: Sleep = sleep(Duration::from_secs(3_600));
        let _: &dyn Debug = &sleep;
        let mut sleep = pin!(sleep);
        assert!(sleep.deadline() > begin && !sleep.is_elapsed());
        sleep.as_mut().reset(begin + SHORT);
        let _: () = sleep.as_mut().await;
        assert!(sleep.is_elapsed() && begin.elapsed() >= SHORT);
        // Like in tokio, it may be awaited again.
        sleep.as_mut().await;
        sleep_until(begin).await;
        let _: () = advance(SHORT).await;
        assert!(begin.elapsed() >= 2 * SHORT);
    });
}

#[test]
fn timeouts() {
    sim::block_on(async {
        let wait: Timeout<std::future::Pending<u8>> = timeout(SHORT, std::future::pending());
        let late: Result<u8, Elapsed> = wait.await;
        let late: Elapsed = late.unwrap_err();
        let _: &dyn Error = &late;
        assert_eq!(std::io::Error::from(late).kind(), std::io::ErrorKind::TimedOut);
        let mut wait = timeout_at(Instant::now(), std::future::ready(1));
        let _: (&std::future::Ready<i32>, &dyn Debug) = (wait.get_ref(), &wait);
        let _ready: &mut std::future::Ready<i32> = wait.get_mut();
        assert_eq!(wait.await, Ok(1));
        assert_eq!(timeout(SHORT, std::future::ready(2)).into_inner().await, 2);
    });
}

#[test]
fn intervals() {
    sim::block_on(async {
        let start = Instant::now() + SHORT;
        let mut ticks: Interval = interval_at(start, 2 * SHORT);
        assert_eq!((ticks.period(), ticks.tick().await), (2 * SHORT, start));
        assert_eq!(ticks.tick().await, start + 2 * SHORT);
        assert_eq!(ticks.missed_tick_behavior(), MissedTickBehavior::default());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks.reset_immediately();
        ticks.tick().await;
        ticks.reset_at(start);
        assert_eq!(ticks.tick().await, start);
        ticks.reset_after(SHORT);
        ticks.reset();
        let polled: Poll<Instant> = ticks.poll_tick(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        let _: &dyn Debug = &ticks;
        interval(SHORT).tick().await;
    });
    let zero = std::panic::catch_unwind(|| drop(interval(Duration::ZERO))).unwrap_err();
    assert_eq!(zero.downcast_ref::<&str>(), Some(&"`period` must be non-zero."));
}

/// Futures can be sent, as tokio's.
#[test]
fn futures_can_be_sent() {
    fn is_sent<T: Send + Sync>(_: T) {}
    fn is_future<T: Future + Send>(_: T) {}
    is_sent((sleep(SHORT), timeout(SHORT, std::future::ready(1)), interval(SHORT), Instant::now()));
    is_future(advance(SHORT));
    is_future(async { interval(SHORT).tick().await });
}
