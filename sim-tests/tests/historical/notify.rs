//! Notifications: tokio's `Notify`, and event-listener.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, MutexGuard, spawn};

use crate::Shows::{Deadlock, Panic};
use crate::parts::Sleeper;

crate::bugs! {
    a_permit_is_overwritten:
        "tokio #3660", "`notify_waiters` without waiters stores a state that it has read before",
        Deadlock, 100, overwritten;
    one_call_wakes_two_in_a_row:
        "tokio #5396", "`notify_waiters` lets go of the lock between its batches, and wakes those who came since",
        Panic("woken twice"), 100, woken_twice;
    a_dropped_waiter_takes_a_permit:
        "tokio #3652", "a waiter that `notify_waiters` has told is dropped, and empties the state",
        Deadlock, 200, emptied;
    an_unpolled_future_takes_a_permit:
        "tokio #7965", "a `Notified` that `notify_waiters` has completed takes the permit of `notify_one`",
        Deadlock, 200, taken_unpolled;
    a_dropped_listener_keeps_its_notification:
        "event-listener (planted)", "a listener that was told is dropped and does not tell another",
        Deadlock, 100, kept_by_a_listener;
}

const EMPTY: u64 = 0;
const WAITING: u64 = 1;
const NOTIFIED: u64 = 2;
/// The two lowest bits have the state; above them calls of `notify_waiters` are counted.
const STATE: u64 = 3;
const CALL: u64 = 4;

/// The state of `bits` replaced.
const fn with(bits: u64, state: u64) -> u64 {
    bits & !STATE | state
}

/// The versions of `Notify`, by the mistake of each.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    Overwrites,
    WakesInBatches,
    EmptiesOnDrop,
    TakesPermitFirst,
    Fixed,
}

struct Notify {
    version: Version,
    state: Atomic<u64>,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    queue: VecDeque<Arc<Sleeper>>,
    /// The waiters notified by `notify_one` that have not been polled since.
    told_one: Vec<Arc<Sleeper>>,
    /// The waiters that `notify_waiters` has woken.
    told_all: Vec<Arc<Sleeper>>,
}

/// Takes `waiter` out of `list` if it contains it.
fn take(list: &mut Vec<Arc<Sleeper>>, waiter: &Arc<Sleeper>) -> bool {
    let before = list.len();
    list.retain(|other| !Arc::ptr_eq(other, waiter));
    list.len() < before
}

/// The future of `notified`.
enum Notified {
    /// The count of `notify_waiters` at its creation.
    Init(u64),
    Waits(Arc<Sleeper>),
    Done,
}

impl Notify {
    fn new(version: Version) -> Arc<Notify> {
        let state = Atomic::new(EMPTY).named("state");
        Arc::new(Notify { version, state, waiters: Mutex::default() })
    }

    async fn exchange(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.state.compare_exchange(from, to, SeqCst, SeqCst).await
    }

    async fn notify_one(&self) {
        let mut bits = self.state.load(SeqCst).await;
        while bits & STATE != WAITING {
            match self.exchange(bits, with(bits, NOTIFIED)).await {
                Ok(_) => return,
                Err(other) => bits = other,
            }
        }
        let mut waiters = self.waiters.lock().await;
        let told = self.notify_locked(&mut waiters).await;
        drop(waiters);
        if let Some(told) = told {
            told.wake().await;
        }
    }

    /// Notifies the first waiter, or leaves a permit.
    async fn notify_locked(&self, waiters: &mut MutexGuard<'_, Waiters>) -> Option<Arc<Sleeper>> {
        let bits = self.state.load(SeqCst).await;
        if bits & STATE == WAITING
            && let Some(first) = waiters.queue.pop_front()
        {
            waiters.told_one.push(first.clone());
            if waiters.queue.is_empty() {
                self.state.store(with(bits, EMPTY), SeqCst).await;
            }
            return Some(first);
        }
        // If there are no waiters, the state may change without the lock.
        let update = |bits| Some(with(bits, NOTIFIED));
        let _ = self.state.fetch_update(SeqCst, SeqCst, update).await;
        None
    }

    async fn notify_waiters(&self) {
        let mut waiters = self.waiters.lock().await;
        let bits = self.state.load(SeqCst).await;
        if bits & STATE != WAITING {
            match self.version {
                Version::Overwrites => self.state.store(bits + CALL, SeqCst).await,
                _ => _ = self.state.fetch_add(CALL, SeqCst).await,
            }
            return;
        }
        self.state.store(with(bits + CALL, EMPTY), SeqCst).await;
        if self.version != Version::WakesInBatches {
            let all = std::mem::take(&mut waiters.queue);
            waiters.told_all.extend(all.iter().cloned());
            drop(waiters);
            for waiter in all {
                waiter.wake().await;
            }
            return;
        }
        // A batch is of one waiter here, and of 32 in tokio.
        while let Some(first) = waiters.queue.pop_front() {
            waiters.told_all.push(first.clone());
            drop(waiters);
            first.wake().await;
            waiters = self.waiters.lock().await;
        }
    }

    async fn notified(&self) -> Notified {
        Notified::Init(self.state.load(SeqCst).await / CALL)
    }

    /// Waits until `future` is done.
    async fn wait(&self, mut future: Notified) {
        while !self.poll(&mut future).await {
            let Notified::Waits(me) = &future else { unreachable!("it is not done") };
            me.sleep().await;
        }
    }

    /// Returns `true` if `future` is done.
    async fn poll(&self, future: &mut Notified) -> bool {
        let is_done = match future {
            Notified::Done => true,
            Notified::Waits(me) => {
                let mut waiters = self.waiters.lock().await;
                let Waiters { told_one, told_all, .. } = &mut *waiters;
                take(told_one, me) || take(told_all, me)
            }
            Notified::Init(calls) => match self.register(*calls).await {
                None => true,
                Some(me) => {
                    *future = Notified::Waits(me);
                    return false;
                }
            },
        };
        if is_done {
            *future = Notified::Done;
        }
        is_done
    }

    /// Enters the queue, or returns `None` if the future is done.
    async fn register(&self, calls: u64) -> Option<Arc<Sleeper>> {
        let bits = self.state.load(SeqCst).await;
        let is_told = self.version != Version::TakesPermitFirst && bits / CALL != calls;
        if is_told || self.exchange(with(bits, NOTIFIED), with(bits, EMPTY)).await.is_ok() {
            return None;
        }
        let mut waiters = self.waiters.lock().await;
        let mut bits = self.state.load(SeqCst).await;
        if bits / CALL != calls {
            return None;
        }
        while bits & STATE != WAITING {
            let next = if bits & STATE == NOTIFIED { EMPTY } else { WAITING };
            match self.exchange(bits, with(bits, next)).await {
                Ok(_) if next == EMPTY => return None,
                Ok(_) => break,
                Err(other) => bits = other,
            }
        }
        let me = Sleeper::new();
        waiters.queue.push_back(me.clone());
        Some(me)
    }

    /// The drop of a future.
    async fn leave(&self, future: Notified) {
        let Notified::Waits(me) = future else { return };
        let mut waiters = self.waiters.lock().await;
        let bits = self.state.load(SeqCst).await;
        waiters.queue.retain(|other| !Arc::ptr_eq(other, &me));
        let empties = self.version == Version::EmptiesOnDrop || bits & STATE == WAITING;
        if waiters.queue.is_empty() && empties {
            self.state.store(with(bits, EMPTY), SeqCst).await;
        }
        let mut told = None;
        if take(&mut waiters.told_one, &me) {
            told = self.notify_locked(&mut waiters).await;
        }
        drop(waiters);
        if let Some(told) = told {
            told.wake().await;
        }
    }
}

const fn version(is_fixed: bool, bug: Version) -> Version {
    if is_fixed { Version::Fixed } else { bug }
}

async fn overwritten(is_fixed: bool) {
    let notify = Notify::new(version(is_fixed, Version::Overwrites));
    let (one, all) = (notify.clone(), notify.clone());
    let one = spawn(async move { one.notify_one().await });
    let all = spawn(async move { all.notify_waiters().await });
    one.await.unwrap();
    all.await.unwrap();
    notify.wait(notify.notified().await).await;
}

async fn woken_twice(is_fixed: bool) {
    let notify = Notify::new(version(is_fixed, Version::WakesInBatches));
    let first = notify.notified().await;
    let all = notify.clone();
    let all = spawn(async move { all.notify_waiters().await });
    notify.wait(first).await;
    let mut second = notify.notified().await;
    notify.poll(&mut second).await;
    all.await.unwrap();
    assert!(!notify.poll(&mut second).await, "woken twice");
}

async fn emptied(is_fixed: bool) {
    let notify = Notify::new(version(is_fixed, Version::EmptiesOnDrop));
    let shared = notify.clone();
    let notifier = spawn(async move {
        shared.notify_waiters().await;
        shared.notify_one().await;
    });
    let mut dropped = notify.notified().await;
    let had_it = notify.poll(&mut dropped).await;
    notify.leave(dropped).await;
    if !had_it {
        notify.wait(notify.notified().await).await;
    }
    notifier.await.unwrap();
}

async fn taken_unpolled(is_fixed: bool) {
    let notify = Notify::new(version(is_fixed, Version::TakesPermitFirst));
    let first = notify.notified().await;
    let shared = notify.clone();
    let notifier = spawn(async move {
        shared.notify_waiters().await;
        shared.notify_one().await;
    });
    notify.wait(first).await;
    notify.wait(notify.notified().await).await;
    notifier.await.unwrap();
}

/// The list of an event of event-listener: listeners in order, with a mark for each notified listener.
#[derive(Default)]
struct Event {
    listeners: Mutex<Vec<(Arc<Sleeper>, bool)>>,
}

impl Event {
    async fn listen(&self) -> Arc<Sleeper> {
        let me = Sleeper::new();
        self.listeners.lock().await.push((me.clone(), false));
        me
    }

    /// `notify_additional(1)`.
    async fn notify(&self) {
        let mut listeners = self.listeners.lock().await;
        let Some((first, is_told)) = listeners.iter_mut().find(|(_, is_told)| !is_told) else {
            return;
        };
        *is_told = true;
        let first = first.clone();
        drop(listeners);
        first.wake().await;
    }

    /// Drops a listener that was notified but not polled since then.
    async fn leave(&self, me: Arc<Sleeper>, tells_another: bool) {
        let mut listeners = self.listeners.lock().await;
        let place = listeners.iter().position(|(other, _)| Arc::ptr_eq(other, &me));
        let (_, is_told) = listeners.remove(place.expect("it listens"));
        drop(listeners);
        if is_told && tells_another {
            self.notify().await;
        }
    }
}

async fn kept_by_a_listener(is_fixed: bool) {
    let event = Arc::new(Event::default());
    let [cancelled, patient] = [event.listen().await, event.listen().await];
    let (notifier, shared) = (event.clone(), event.clone());
    let notifier = spawn(async move { notifier.notify().await });
    let leaving = spawn(async move { shared.leave(cancelled, is_fixed).await });
    patient.sleep().await;
    notifier.await.unwrap();
    leaving.await.unwrap();
}
