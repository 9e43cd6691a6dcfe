//! Reports of tasks that wait for ever.

use sim::run::Failure;
use sim::spawn;
use sim::tokio::sync::{broadcast, mpsc, watch};

use crate::fails;

/// Asserts that the body waits for ever, and that the screen has these words.
fn waits(body: impl AsyncFn() + Sync, words: &[&str]) {
    let Some((failure, screen)) = fails(body) else { return };
    assert!(matches!(failure, Failure::Deadlock { .. }), "{screen}");
    for word in words {
        assert!(screen.contains(word), "{word:?} is not in\n{screen}");
    }
}

#[test]
fn a_receiver_without_messages_is_named() {
    waits(
        async || {
            let (sender, mut receiver) = mpsc::channel::<u8>(1);
            receiver.recv().await;
            drop(sender);
        },
        &["recv", "mpsc", "deadlocks.rs"],
    );
    waits(
        async || {
            let (sender, mut receiver) = broadcast::channel::<u8>(1);
            let _ = receiver.recv().await;
            drop(sender);
        },
        &["recv", "broadcast", "deadlocks.rs"],
    );
    waits(
        async || {
            let (sender, mut receiver) = watch::channel(1);
            let _ = receiver.changed().await;
            drop(sender);
        },
        &["changed", "watch", "deadlocks.rs"],
    );
}

#[test]
fn a_sender_without_room_is_named() {
    waits(
        async || {
            let (sender, mut receiver) = mpsc::channel(1);
            let _permit = sender.reserve().await.unwrap();
            sender.send(1).await.unwrap();
            receiver.recv().await;
        },
        &["send", "mpsc", "deadlocks.rs"],
    );
}

#[test]
fn a_sender_that_waits_for_the_end_is_named() {
    waits(
        async || {
            let (sender, receiver) = mpsc::unbounded_channel::<u8>();
            let waiting = spawn(async move { sender.closed().await });
            waiting.await.unwrap();
            drop(receiver);
        },
        &["closed", "mpsc", "deadlocks.rs"],
    );
}
