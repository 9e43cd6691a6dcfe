//! Lost notifications: sent before any task waits, never sent, or received by the wrong task.

use std::sync::Arc;

use super::{Condvar, Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "missed_signal",
        seeds: 100,
        buggy: |spawning| boxed(missed_signal(spawning, false)),
        fixed: |spawning| boxed(missed_signal(spawning, true)),
    },
    Program {
        name: "sync01",
        seeds: 1,
        buggy: |spawning| boxed(sync01(spawning, false)),
        fixed: |spawning| boxed(sync01(spawning, true)),
    },
    Program {
        name: "cargill_buffer",
        seeds: 300,
        buggy: |spawning| boxed(cargill(spawning, false)),
        fixed: |spawning| boxed(cargill(spawning, true)),
    },
];

#[derive(Default)]
struct Event {
    ready: Mutex<bool>,
    changed: Condvar,
}

/// The waiter checks the event and then waits; the notification may come in between. Fixed: it holds the lock from the
/// check to the wait.
async fn missed_signal(spawning: Spawning, fixed: bool) {
    let event = Arc::new(Event::default());
    let other = event.clone();
    let tasks = vec![
        boxed(async move {
            let Event { ready, changed } = &*event;
            let mut guard = ready.lock().await;
            while !*guard {
                if !fixed {
                    drop(guard);
                    guard = ready.lock().await;
                }
                changed.wait(guard).await;
                guard = ready.lock().await;
            }
        }),
        boxed(async move {
            *other.ready.lock().await = true;
            other.changed.notify_one().await;
        }),
    ];
    together(spawning, tasks).await;
}

#[derive(Default)]
struct Slot {
    items: Mutex<usize>,
    emptied: Condvar,
    filled: Condvar,
}

/// A full slot: one task waits to fill it, and the other task forgets to empty it (SV-COMP, `sync01`). Fixed: the other
/// task empties it.
async fn sync01(spawning: Spawning, fixed: bool) {
    let slot = Arc::new(Slot { items: Mutex::new(1), ..Slot::default() });
    let other = slot.clone();
    let tasks = vec![
        boxed(async move {
            let mut items = slot.items.lock().await;
            while *items > 0 {
                slot.emptied.wait(items).await;
                items = slot.items.lock().await;
            }
            *items += 1;
            drop(items);
            slot.filled.notify_one().await;
        }),
        boxed(async move {
            let mut items = other.items.lock().await;
            while *items == 0 {
                other.filled.wait(items).await;
                items = other.items.lock().await;
            }
            *items -= usize::from(fixed);
            drop(items);
            other.emptied.notify_one().await;
        }),
    ];
    together(spawning, tasks).await;
}

#[derive(Default)]
struct Buffer {
    full: Mutex<bool>,
    changed: Condvar,
}

impl Buffer {
    /// Waits until the state differs from `full`, and sets it to `full`. Notifies one waiter, or all.
    async fn make(&self, full: bool, all: bool) {
        let mut guard = self.full.lock().await;
        while *guard == full {
            self.changed.wait(guard).await;
            guard = self.full.lock().await;
        }
        *guard = full;
        if all {
            self.changed.notify_all().await;
        } else {
            self.changed.notify_one().await;
        }
    }
}

/// A buffer of one item with one condition for both sides, two producers and two consumers. A notification
/// that a producer needs may wake a consumer, or the other way round (T. Cargill). Fixed: all waiters are
/// notified.
async fn cargill(spawning: Spawning, fixed: bool) {
    let buffer = Arc::new(Buffer::default());
    let task = |full: bool| {
        let buffer = buffer.clone();
        boxed(async move { buffer.make(full, fixed).await })
    };
    together(spawning, [true, true, false, false].map(task).into()).await;
}
