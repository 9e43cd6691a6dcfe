//! A notified future that is dropped and loses the permit (tokio, pull request 3652).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "notify_drop",
    seeds: 200,
    buggy: |spawning| boxed(notify(spawning, false)),
    fixed: |spawning| boxed(notify(spawning, true)),
}];

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Permit {
    #[default]
    Empty,
    Waiting,
    Notified,
}

#[derive(Default)]
struct Notify {
    permit: Permit,
    /// True if the only task that waits is in the list.
    queued: bool,
    /// True if a permit was given to this task.
    handed: bool,
}

/// Fixed: a task that leaves the list resets the permit only if it is `Waiting`.
async fn notify(spawning: Spawning, fixed: bool) {
    let notify = Arc::new(Mutex::new(Notify::default()));
    let (waiter, notifier) = (notify.clone(), notify.clone());
    let tasks = vec![
        boxed(async move {
            let mut state = waiter.lock().await;
            if state.permit == Permit::Notified {
                (state.permit, state.handed) = (Permit::Empty, true);
                return;
            }
            (state.permit, state.queued) = (Permit::Waiting, true);
            drop(state);
            // The future is dropped.
            let mut state = waiter.lock().await;
            state.queued = false;
            if !fixed || state.permit == Permit::Waiting {
                state.permit = Permit::Empty;
            }
        }),
        boxed(async move {
            let mut state = notifier.lock().await;
            state.queued = false;
            if state.permit == Permit::Waiting {
                state.permit = Permit::Empty;
            }
            drop(state);
            let mut state = notifier.lock().await;
            if state.queued {
                (state.queued, state.handed, state.permit) = (false, true, Permit::Empty);
            } else {
                state.permit = Permit::Notified;
            }
        }),
    ];
    together(spawning, tasks).await;
    let state = notify.lock().await;
    assert!(state.handed || state.permit == Permit::Notified, "the permit is lost");
}
