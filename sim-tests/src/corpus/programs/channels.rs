//! Channels that are closed during use (tokio, pull request 2854; flume, issue 120 and commit
//! 8b7518b).

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "permit_after_close",
        seeds: 250,
        buggy: |spawning| boxed(permit_after_close(spawning, false)),
        fixed: |spawning| boxed(permit_after_close(spawning, true)),
    },
    Program {
        name: "message_lost",
        seeds: 200,
        buggy: |spawning| boxed(message_lost(spawning, false)),
        fixed: |spawning| boxed(message_lost(spawning, true)),
    },
    Program {
        name: "disconnect_missed",
        seeds: 200,
        buggy: |spawning| boxed(disconnect_missed(spawning, false)),
        fixed: |spawning| boxed(disconnect_missed(spawning, true)),
    },
];

#[derive(Default)]
struct Bounded {
    available: Atomic<i64>,
    closed: Atomic<bool>,
    registered: Atomic<bool>,
    token: Watched,
}

/// A sender returns its permit after the channel was closed, but does not notify the receiver, which waits for this
/// permit. Fixed: the sender notifies it.
async fn permit_after_close(spawning: Spawning, fixed: bool) {
    let channel = Arc::new(Bounded::default());
    let sender = channel.clone();
    let tasks = vec![
        boxed(async move {
            sender.available.fetch_add(1, SeqCst).await;
            if fixed && sender.closed.load(SeqCst).await && sender.registered.load(SeqCst).await {
                sender.token.store(1).await;
            }
        }),
        boxed(async move {
            channel.closed.store(true, SeqCst).await;
            if channel.available.load(SeqCst).await == 1 {
                return;
            }
            channel.registered.store(true, SeqCst).await;
            if channel.available.load(SeqCst).await == 0 {
                channel.token.wait(|token| token == 1).await;
            }
        }),
    ];
    together(spawning, tasks).await;
}

#[derive(Default)]
struct Unbounded {
    queue: Mutex<Vec<i64>>,
    disconnected: Atomic<bool>,
}

/// The receiver finds the queue empty and then the channel disconnected. A message may arrive in between. Fixed: the
/// receiver checks the queue again.
async fn message_lost(spawning: Spawning, fixed: bool) {
    let channel = Arc::new(Unbounded::default());
    let sender = channel.clone();
    let tasks = vec![
        boxed(async move {
            sender.queue.lock().await.push(1);
            sender.disconnected.store(true, SeqCst).await;
        }),
        boxed(async move {
            if channel.queue.lock().await.pop().is_some() {
                return;
            }
            if channel.disconnected.load(SeqCst).await {
                let late = if fixed { channel.queue.lock().await.pop() } else { None };
                assert_eq!(late, Some(1), "disconnected with a message in the queue");
            }
        }),
    ];
    together(spawning, tasks).await;
}

#[derive(Default)]
struct Hooked {
    disconnected: Atomic<bool>,
    hook: Atomic<bool>,
    token: Watched,
}

/// The receiver checks for a disconnect, then registers a hook. The sender may disconnect and search for a hook in
/// between. Fixed: the receiver checks again.
async fn disconnect_missed(spawning: Spawning, fixed: bool) {
    let channel = Arc::new(Hooked::default());
    let dropper = channel.clone();
    let tasks = vec![
        boxed(async move {
            if channel.disconnected.load(SeqCst).await {
                return;
            }
            channel.hook.store(true, SeqCst).await;
            if fixed && channel.disconnected.load(SeqCst).await {
                return;
            }
            channel.token.wait(|token| token == 1).await;
        }),
        boxed(async move {
            dropper.disconnected.store(true, SeqCst).await;
            if dropper.hook.swap(false, SeqCst).await {
                dropper.token.store(1).await;
            }
        }),
    ];
    together(spawning, tasks).await;
}
