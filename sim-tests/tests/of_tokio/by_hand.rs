//! Futures that are polled by hand: with no-op wakers, and with mock wakers in `by_hand`.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::FutureExt;
use sim::task::{by_hand, yield_now};
use sim::time::{Duration, advance, sleep};
use sim::tokio::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use sim::{Atomic, spawn};

use crate::{Results, fails, holds};

/// A waker that records its call.
#[derive(Default)]
struct Mock(AtomicBool);

impl Wake for Mock {
    fn wake(self: Arc<Self>) {
        self.0.swap(true, Ordering::Relaxed);
    }
}

impl Mock {
    /// Returns `true` if the waker was called since the last call of this function.
    fn is_woken(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        let waker = Waker::from(self.clone());
        by_hand(|| future.poll(&mut Context::from_waker(&waker)))
    }
}

#[test]
fn an_operation_takes_effect_at_once() {
    let report = holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        assert!(receiver.recv().now_or_never().is_none());
        assert_eq!(sender.send(1).now_or_never(), Some(Ok(())));
        assert!(sender.send(2).now_or_never().is_none());
        assert_eq!(receiver.recv().now_or_never(), Some(Some(1)));
        let (lock, semaphore) = (RwLock::new(3), Semaphore::new(1));
        assert_eq!(*lock.read().now_or_never().unwrap(), 3);
        let permit = semaphore.acquire().now_or_never().unwrap().unwrap();
        assert!(semaphore.acquire().now_or_never().is_none());
        drop(permit);
        let mutex = sim::Mutex::new(4);
        let guard = mutex.lock().now_or_never().unwrap();
        assert!(mutex.lock().now_or_never().is_none());
        drop(guard);
        assert_eq!(*mutex.lock().now_or_never().unwrap(), 4);
        let word = Atomic::new(5);
        assert_eq!(word.fetch_add(1, sim::Ordering::SeqCst).now_or_never(), Some(5));
        assert_eq!(word.load(sim::Ordering::SeqCst).now_or_never(), Some(6));
        assert!(yield_now().now_or_never().is_none());
    });
    if sim::SIMULATED {
        assert_eq!((report.runs, report.steps), (1, 1), "a part of the first step");
    }
}

#[test]
fn a_wait_calls_the_waker_of_the_poll_in_the_step_that_ends_it() {
    let report = holds(async || {
        let mock = Arc::new(Mock::default());
        let notify = Notify::new();
        let mut notified = pin!(notify.notified());
        assert!(mock.poll(notified.as_mut()).is_pending());
        assert!(!mock.is_woken());
        notify.notify_one();
        assert!(mock.is_woken());
        assert!(mock.poll(notified.as_mut()).is_ready());

        let (sender, mut receiver) = oneshot::channel();
        assert!(mock.poll(Pin::new(&mut receiver)).is_pending());
        sender.send(1).unwrap();
        assert!(mock.is_woken());
        assert_eq!(mock.poll(Pin::new(&mut receiver)), Poll::Ready(Ok(1)));

        let (sender, mut receiver) = broadcast::channel(4);
        {
            let mut recv = pin!(receiver.recv());
            assert!(mock.poll(recv.as_mut()).is_pending());
            sender.send(2).unwrap();
            assert!(mock.is_woken());
            assert_eq!(mock.poll(recv.as_mut()), Poll::Ready(Ok(2)));
        }

        let (sender, mut receiver) = watch::channel(0);
        let mut changed = pin!(receiver.changed());
        assert!(mock.poll(changed.as_mut()).is_pending());
        sender.send(3).unwrap();
        assert!(mock.is_woken());
        assert!(mock.poll(changed.as_mut()).is_ready());

        let mutex = Mutex::new(());
        let guard = mutex.try_lock().unwrap();
        let mut lock = pin!(mutex.lock());
        assert!(mock.poll(lock.as_mut()).is_pending());
        drop(guard);
        assert!(mock.is_woken());
        assert!(mock.poll(lock.as_mut()).is_ready());
    });
    if sim::SIMULATED {
        assert_eq!(report.runs, 1);
    }
}

#[test]
fn a_wait_for_this_librarys_objects_calls_the_waker_before_the_next_step() {
    holds(async || {
        let mock = Arc::new(Mock::default());
        let mutex = sim::Mutex::new(());
        let guard = mutex.lock().await;
        let mut lock = pin!(mutex.lock());
        assert!(mock.poll(lock.as_mut()).is_pending());
        yield_now().await;
        assert!(!mock.is_woken());
        drop(guard);
        yield_now().await;
        if sim::SIMULATED {
            assert!(mock.is_woken());
        }
        assert!(mock.poll(lock.as_mut()).is_ready());
    });
}

#[cfg_attr(feature = "sim", test)]
fn sleeps_and_tasks_are_polled_by_hand() {
    holds(async || {
        let mock = Arc::new(Mock::default());
        let mut nap = pin!(sleep(Duration::from_secs(1)));
        assert!(mock.poll(nap.as_mut()).is_pending());
        assert!(nap.as_mut().now_or_never().is_none());
        advance(Duration::from_millis(999)).await;
        assert!(!mock.is_woken());
        assert!(mock.poll(nap.as_mut()).is_pending());
        // If it is polled by hand, `advance` moves the time at once and then yields.
        assert!(advance(Duration::from_millis(1)).now_or_never().is_none());
        assert!(mock.poll(nap.as_mut()).is_ready());

        let mut task = spawn(async { 7 });
        assert!(mock.poll(Pin::new(&mut task)).is_pending());
        sleep(Duration::from_secs(1)).await;
        assert!(mock.is_woken());
        assert_eq!(mock.poll(Pin::new(&mut task)).map(Result::unwrap), Poll::Ready(7));
    });
}

#[test]
fn a_future_is_polled_by_hand_and_awaited_in_turn() {
    holds(async || {
        let mock = Arc::new(Mock::default());
        let (sender, mut receiver) = mpsc::channel(1);
        let mut recv = Box::pin(receiver.recv());
        assert!(mock.poll(recv.as_mut()).is_pending());
        let sending = spawn(async move { sender.send(1).await });
        assert_eq!(recv.await, Some(1));
        sending.await.unwrap().unwrap();
        // The channel keeps the waker of the manual poll until the step of the await.
        mock.is_woken();

        let notify = Arc::new(Notify::new());
        let mut notified = Box::pin(notify.clone().notified_owned());
        let waits = futures::future::poll_fn(|cx| {
            let first = notified.as_mut().poll(cx);
            // The announced operation is retracted, and the object is checked at once.
            Poll::Ready((first, mock.poll(notified.as_mut())))
        });
        assert_eq!(waits.await, (Poll::Pending, Poll::Pending));
        notify.notify_one();
        assert!(mock.is_woken());
        notified.await;
    });
}

/// Two tasks that take a number each, and read and write it by hand.
async fn counts(at_once: bool) -> u32 {
    let mutex = Arc::new(sim::Mutex::new(()));
    let word = Arc::new(Atomic::new(0u32));
    let tasks = [(); 2].map(|()| {
        let (mutex, word) = (mutex.clone(), word.clone());
        spawn(async move {
            let Some(_guard) = mutex.lock().now_or_never() else { return };
            let old = word.load(sim::Ordering::SeqCst).now_or_never().unwrap();
            if !at_once {
                yield_now().await;
            }
            word.store(old + 1, sim::Ordering::SeqCst).now_or_never().unwrap();
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    word.load(sim::Ordering::SeqCst).await
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_all_orders_of_what_is_done_by_hand() {
    let results = Results::new();
    holds(async || results.add(counts(true).await));
    results.are([2]);
    let results = Results::new();
    holds(async || results.add(counts(false).await));
    // The second task finds the lock taken, or comes later.
    results.are([1, 2]);
}

#[test]
fn a_message_by_hand_is_missed_or_not() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let sending = spawn(async move { sender.send(1).now_or_never().unwrap().unwrap() });
        yield_now().await;
        results.add(receiver.recv().now_or_never().flatten());
        sending.await.unwrap();
    });
    results.are([None, Some(1)]);
}

#[test]
fn a_wake_up_that_is_lost_is_found() {
    let lost = async |registers_first: bool| {
        let mock = Arc::new(Mock::default());
        let (notify, word) = (Arc::new(Notify::new()), Arc::new(Atomic::new(false)));
        let telling = spawn({
            let (notify, word) = (notify.clone(), word.clone());
            async move {
                word.store(true, sim::Ordering::SeqCst).await;
                notify.notify_waiters();
            }
        });
        let mut notified = Box::pin(notify.notified_owned());
        if registers_first {
            assert!(mock.poll(notified.as_mut()).is_pending());
        }
        let is_set = word.load(sim::Ordering::SeqCst).await;
        if !registers_first {
            notified = Box::pin(Arc::new(Notify::new()).notified_owned());
            assert!(mock.poll(notified.as_mut()).is_pending());
        }
        telling.await.unwrap();
        assert!(is_set || mock.is_woken(), "nobody told it");
    };
    holds(async || lost(true).await);
    assert!(fails(async || lost(false).await).is_some() || !sim::SIMULATED);
}

#[test]
fn a_search_tries_both_answers_of_a_mock_waker() {
    let results = Results::new();
    holds(async || {
        let (mock, notify) = (Arc::new(Mock::default()), Arc::new(Notify::new()));
        let mut notified = Box::pin(notify.clone().notified_owned());
        assert!(mock.poll(notified.as_mut()).is_pending());
        let telling = spawn(async move { notify.notify_one() });
        yield_now().await;
        // This task shares only the waker with the other task.
        results.add(mock.is_woken());
        telling.await.unwrap();
    });
    match sim::SIMULATED {
        true => results.are([false, true]),
        false => drop(results),
    }
}

#[test]
fn a_panic_in_a_poll_ends_the_polls_by_hand() {
    holds(async || {
        let caught =
            std::panic::catch_unwind(|| by_hand(|| std::panic::resume_unwind(Box::new(1))));
        assert!(caught.is_err());
        let word = Atomic::new(0);
        let mut load = pin!(word.load(sim::Ordering::SeqCst));
        let first = futures::future::poll_fn(|cx| Poll::Ready(load.as_mut().poll(cx))).await;
        assert_eq!(first.is_pending(), sim::SIMULATED);
    });
}

#[test]
fn a_condition_that_reads_by_hand_is_evaluated_again() {
    // This test is no search, because a condition without a point is polled without end.
    let report = sim::Runner::new().hermetic().seeds(0..50).run(async || {
        let word = Arc::new(Atomic::new(0));
        let setting = spawn({
            let word = word.clone();
            async move { word.store(1, sim::Ordering::SeqCst).await }
        });
        sim::spin_until(async || word.load(sim::Ordering::SeqCst).now_or_never().unwrap() == 1)
            .await;
        setting.await.unwrap();
    });
    assert!(report.passed());
}
