//! A law about dropped operations: a future can be dropped at any point. The drop loses no permit, message,
//! notification or lock, and no later waiter waits forever.

use std::sync::Arc;

use sim::tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch,
};
use sim::{cancellable, spawn};

use crate::{fails, holds};

/// Runs two waiting tasks, the first of which may be dropped, and a task that gives.
async fn with_one_dropped<A, B, C>(dropped: A, waits: B, gives: C) -> Option<A::Output>
where
    A: Future<Output: Send + 'static> + Send + 'static,
    B: Future<Output = ()> + Send + 'static,
    C: Future<Output = ()>,
{
    let (dropped, waits) = (spawn(cancellable(dropped)), spawn(waits));
    gives.await;
    waits.await.unwrap();
    dropped.await.unwrap()
}

#[test]
fn a_lock_is_not_lost() {
    holds(async || {
        let lock = Arc::new(Mutex::new(0));
        let (one, two) = (lock.clone(), lock.clone());
        let guard = lock.lock().await;
        let first = async move { drop(one.lock().await) };
        let second = async move { *two.lock().await += 1 };
        with_one_dropped(first, second, async { drop(guard) }).await;
        assert_eq!(*lock.try_lock().unwrap(), 1);
    });
}

#[test]
fn a_lock_of_readers_is_not_lost() {
    holds(async || {
        let lock = Arc::new(RwLock::new(0));
        let (one, two) = (lock.clone(), lock.clone());
        let guard = lock.read().await;
        let first = async move { *one.write().await += 1 };
        let second = async move { drop(two.read().await) };
        with_one_dropped(first, second, async { drop(guard) }).await;
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn permits_are_not_lost() {
    holds(async || {
        let permits = Arc::new(Semaphore::new(1));
        let (one, two) = (permits.clone(), permits.clone());
        // A large request is before a small request in the queue, and has got a part of its permits.
        let first = async move { drop(one.acquire_many(2).await.unwrap()) };
        let second = async move { drop(two.acquire().await.unwrap()) };
        with_one_dropped(first, second, async { permits.add_permits(1) }).await;
        assert_eq!(permits.available_permits(), 2);
    });
}

#[test]
fn a_notification_is_not_lost() {
    holds(async || {
        let notify = Arc::new(Notify::new());
        let own = notify.clone();
        let first = spawn(async move { cancellable(own.notified()).await.is_some() });
        notify.notify_one();
        // The permit of a dropped waiter was passed to the next waiter.
        if !first.await.unwrap() {
            notify.notified().await;
        }
    });
    holds(async || {
        let notify = Arc::new(Notify::new());
        let mut told = Box::pin(notify.clone().notified_owned());
        told.as_mut().enable();
        let mut next = Box::pin(notify.clone().notified_owned());
        next.as_mut().enable();
        let first = spawn(async move { cancellable(told).await.is_some() });
        notify.notify_one();
        if first.await.unwrap() {
            notify.notify_one();
        }
        next.await;
    });
}

#[test]
fn a_message_is_not_lost() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let sending = spawn(async move {
            for message in 0..2 {
                sender.send(message).await.unwrap();
            }
        });
        let mut got = Vec::new();
        got.extend(cancellable(receiver.recv()).await.flatten());
        while let Some(message) = receiver.recv().await {
            got.push(message);
        }
        sending.await.unwrap();
        assert_eq!(got, [0, 1]);
    });
}

#[test]
fn a_place_in_a_channel_is_not_lost() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let (one, two) = (sender.clone(), sender.clone());
        sender.send(0).await.unwrap();
        let first = async move { one.send(1).await.is_ok() };
        let second = async move { two.send(2).await.unwrap() };
        let mut got = Vec::new();
        drop(sender);
        let gives = async {
            while let Some(message) = receiver.recv().await {
                got.push(message);
            }
        };
        let sent = with_one_dropped(first, second, gives).await;
        // The message of a dropped call is in the channel, or was dropped.
        got.sort_unstable();
        assert_eq!(got, if sent.is_some() { vec![0, 1, 2] } else { vec![0, 2] });
    });
}

#[test]
fn a_version_and_a_message_to_all_are_not_lost() {
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        let sending = spawn(async move { sender.send(1).unwrap() });
        cancellable(receiver.wait_for(|value| *value == 1)).await;
        assert_eq!(*receiver.wait_for(|value| *value == 1).await.unwrap(), 1);
        sending.await.unwrap();
    });
    holds(async || {
        let (sender, mut receiver) = broadcast::channel(2);
        let sending = spawn(async move { sender.send(1).unwrap() });
        let first = cancellable(receiver.recv()).await;
        match first {
            Some(message) => assert_eq!(message, Ok(1)),
            None => assert_eq!(receiver.recv().await, Ok(1)),
        }
        sending.await.unwrap();
    });
}

#[test]
fn an_answer_is_not_lost() {
    holds(async || {
        let (sender, mut receiver) = oneshot::channel();
        let sending = spawn(async move { sender.send(1).unwrap() });
        let first = cancellable(&mut receiver).await;
        match first {
            Some(answer) => assert_eq!(answer, Ok(1)),
            None => assert_eq!(receiver.await, Ok(1)),
        }
        sending.await.unwrap();
    });
}

#[test]
fn the_making_of_a_value_is_not_lost() {
    holds(async || {
        let cell = Arc::new(OnceCell::new());
        let make = |cell: Arc<OnceCell<u32>>, value| async move {
            let slowly = async || {
                sim::task::yield_now().await;
                value
            };
            *cell.get_or_init(slowly).await
        };
        let (first, second) = (make(cell.clone(), 1), make(cell.clone(), 2));
        with_one_dropped(first, async move { assert!(second.await > 0) }, async {}).await;
        assert!(cell.initialized());
    });
    holds(async || {
        let cell = Arc::new(SetOnce::new());
        let (one, two) = (cell.clone(), cell.clone());
        let first = async move { *one.wait().await };
        let second = async move { assert_eq!(*two.wait().await, 7) };
        with_one_dropped(first, second, async { cell.set(7).unwrap() }).await;
    });
}

/// The exception: a barrier counts tasks that arrived, even if they have left.
#[test]
fn an_arrival_at_a_barrier_is_not_taken_back() {
    fails(async || {
        let barrier = Arc::new(Barrier::new(2));
        let own = barrier.clone();
        let task = spawn(async move { cancellable(own.wait()).await.is_some() });
        barrier.wait().await;
        assert!(task.await.unwrap(), "the other one has left");
    });
}

/// A violation of the law: if its task is dropped between two points, a permit is lost.
#[test]
fn a_permit_that_is_put_back_by_hand_is_lost() {
    let body = async |by_hand: bool| {
        let permits = Arc::new(Semaphore::new(1));
        let own = permits.clone();
        let task = spawn(cancellable(async move {
            let permit = own.acquire().await.unwrap();
            match by_hand {
                true => {
                    permit.forget();
                    sim::task::yield_now().await;
                    own.add_permits(1);
                }
                false => {
                    sim::task::yield_now().await;
                    drop(permit);
                }
            }
        }));
        task.await.unwrap();
        assert_eq!(permits.available_permits(), 1, "a permit is lost");
    };
    fails(async || body(true).await);
    holds(async || body(false).await);
}
