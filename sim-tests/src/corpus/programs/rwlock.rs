//! A reader-writer lock that prefers readers, so any number of readers may overtake a writer.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "writer_starves",
    seeds: 100,
    buggy: |spawning| boxed(starvation(spawning, false)),
    fixed: |spawning| boxed(starvation(spawning, true)),
}];

#[derive(Default)]
struct State {
    readers: u32,
    writes: bool,
    /// True if the writer waits for the lock.
    asked: bool,
    /// The number of readers admitted while the writer waits.
    overtook: u32,
}

#[derive(Default)]
struct Lock {
    state: Mutex<State>,
    /// The number of releases.
    left: Watched,
}

/// Fixed: readers wait while the writer waits.
async fn starvation(spawning: Spawning, fixed: bool) {
    let lock = Arc::new(Lock::default());
    let reader = || {
        let lock = lock.clone();
        boxed(async move {
            for _ in 0..4 {
                loop {
                    let left = lock.left.load().await;
                    let mut state = lock.state.lock().await;
                    let held_back = fixed && state.asked;
                    if !state.writes && !held_back {
                        state.readers += 1;
                        state.overtook += u32::from(state.asked);
                        assert!(state.overtook <= 3, "the writer starves");
                        break;
                    }
                    drop(state);
                    lock.left.wait(|now| now != left).await;
                }
                lock.state.lock().await.readers -= 1;
                lock.left.add(1).await;
            }
        })
    };
    let mut tasks = vec![reader(), reader()];
    tasks.push(boxed(async move {
        lock.state.lock().await.asked = true;
        loop {
            let left = lock.left.load().await;
            let mut state = lock.state.lock().await;
            if state.readers == 0 {
                (state.writes, state.asked) = (true, false);
                break;
            }
            drop(state);
            lock.left.wait(|now| now != left).await;
        }
        lock.state.lock().await.writes = false;
        lock.left.add(1).await;
    }));
    together(spawning, tasks).await;
}
