//! Mistakes of users of a primitive.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::tokio::sync::Notify;
use sim::{Atomic, Mutex, spawn};

use crate::Shows::{Deadlock, Panic};

crate::bugs! {
    a_future_is_made_after_the_look:
        "octos #927", "`notified()` is made after the look at the flag, and `notify_waiters` comes between",
        Deadlock, 100, made_late;
    a_follower_removes_the_new_leader:
        "async_singleflight #12", "each follower of a leader that was dropped removes the entry, also that of a new leader",
        Panic("two leaders"), 100, two_leaders;
}

async fn made_late(is_fixed: bool) {
    let shared = Arc::new((Atomic::new(false), Notify::new()));
    let cancelling = shared.clone();
    let cancelling = spawn(async move {
        cancelling.0.store(true, SeqCst).await;
        cancelling.1.notify_waiters();
    });
    let (is_cancelled, notify) = &*shared;
    if is_fixed {
        let notified = notify.notified();
        if !is_cancelled.load(SeqCst).await {
            notified.await;
        }
    } else if !is_cancelled.load(SeqCst).await {
        notify.notified().await;
    }
    cancelling.await.unwrap();
}

/// The entry of a key: one call computes its value for all calls.
#[derive(Clone, Copy, PartialEq)]
enum Entry {
    LeaderDropped,
    Runs,
    Done,
}

async fn two_leaders(is_fixed: bool) {
    let entry = Mutex::new(Some(Entry::LeaderDropped)).named("entry");
    let shared = Arc::new((entry, Atomic::new(0)));
    let followers = [(); 2].map(|()| {
        let shared = shared.clone();
        spawn(async move {
            let (entry, leaders) = &*shared;
            if !is_fixed {
                *entry.lock().await = None;
            }
            let mut found = entry.lock().await;
            if matches!(*found, Some(Entry::Runs | Entry::Done)) {
                return;
            }
            *found = Some(Entry::Runs);
            drop(found);
            assert_eq!(leaders.fetch_add(1, SeqCst).await, 0, "two leaders");
            *entry.lock().await = Some(Entry::Done);
        })
    });
    for follower in followers {
        follower.await.unwrap();
    }
}
