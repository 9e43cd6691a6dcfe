//! A model of the `RwLock` of parking_lot. It performs the atomic operations of the lock, and the waits in its two
//! queues. No time passes in a search, so unlocks are not fair unless a command requests it.

use super::subject::Local;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Read,
    Upgradable,
    Write,
}

pub(super) const PARKED: u32 = 1;
const WRITER_PARKED: u32 = 2;
pub(super) const UPGRADABLE: u32 = 4;
pub(super) const WRITER: u32 = 8;
pub(super) const ONE: u32 = 16;

pub(super) fn has_readers(state: u32) -> bool {
    state >= ONE
}

/// Returns the bits that exclude a guard, and the bits that it adds.
fn bits(kind: Kind) -> (u32, u32) {
    match kind {
        Kind::Read => (WRITER, ONE),
        Kind::Upgradable => (WRITER | UPGRADABLE, ONE | UPGRADABLE),
        Kind::Write => (WRITER | UPGRADABLE, WRITER),
    }
}

/// The state of a thread in a wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Wake {
    #[default]
    None,
    Normal,
    /// The thread has got the lock.
    HandedOver,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Own {
    /// The bits of its guard.
    pub(super) guard: u32,
    /// The state that the thread has read.
    pub(super) state: u32,
    wake: Wake,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Upgrades {
    pub(super) state: u32,
    pub(super) value: i64,
    /// The waiting threads with the bits that they want, and the thread with the lock of this queue.
    queue: Vec<(usize, u32)>,
    has_queue: Option<usize>,
    /// The writer that waits for the end of all readers.
    last: Option<usize>,
    has_last: Option<usize>,
    pub(super) threads: Vec<Own>,
}

/// The first stages: of an acquisition, of a wait for the end of all readers, of a release, of the unlock of an
/// upgradable guard, of a wake-up of the waiting threads, and the end of an acquisition.
const ACQUIRE: u32 = 10;
pub(super) const WAIT: u32 = 20;
pub(super) const UNLOCK: u32 = 30;
pub(super) const WAKE: u32 = 40;
pub(super) const DONE: u32 = 50;

impl Upgrades {
    pub(super) fn new(threads: usize) -> Upgrades {
        Upgrades {
            state: 0,
            value: 0,
            queue: Vec::new(),
            has_queue: None,
            last: None,
            has_last: None,
            threads: vec![Own::default(); threads],
        }
    }

    fn exchange(&mut self, from: u32, to: u32) -> Result<(), u32> {
        if self.state != from {
            return Err(self.state);
        }
        self.state = to;
        Ok(())
    }

    /// Acquires the bits if nothing excludes them.
    pub(super) fn try_acquire(&mut self, kind: Kind, me: usize) -> bool {
        let (excluding, added) = bits(kind);
        let excluding = if kind == Kind::Write { !0 } else { excluding };
        let is_free = self.state & excluding == 0;
        if is_free {
            self.state += added;
            self.threads[me].guard = added;
        }
        is_free
    }

    /// Performs an effect of an acquisition. Returns `true` after its end.
    pub(super) fn acquire(&mut self, kind: Kind, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let (excluding, added) = bits(kind);
        let state = self.threads[me].state;
        match local.stage {
            // The first attempt: a load, and an exchange. A writer only exchanges.
            0 if kind == Kind::Write => {
                let is_acquired = self.exchange(0, WRITER).is_ok();
                local.go_to(if is_acquired { DONE } else { ACQUIRE })
            }
            0 => {
                self.threads[me].state = self.state;
                local.go_to(if self.state & excluding == 0 { 1 } else { ACQUIRE })
            }
            1 => {
                let is_acquired = self.exchange(state, state + added).is_ok();
                local.go_to(if is_acquired { DONE } else { ACQUIRE })
            }
            ACQUIRE => {
                self.threads[me].state = self.state;
                local.go_to(ACQUIRE + 1)
            }
            // The attempt, or the mark of a waiting thread.
            11 if state & excluding == 0 => match self.exchange(state, state + added) {
                Ok(()) => local.go_to(if kind == Kind::Write { WAIT } else { DONE }),
                Err(other) if kind == Kind::Write => {
                    self.threads[me].state = other;
                    local.go_to(ACQUIRE + 1)
                }
                Err(_) => local.go_to(ACQUIRE),
            },
            11 if state & PARKED == 0 => match self.exchange(state, state | PARKED) {
                Ok(()) => local.go_to(ACQUIRE + 2),
                Err(other) => {
                    self.threads[me].state = other;
                    local.go_to(ACQUIRE + 1)
                }
            },
            // The wait, if the state is still the same.
            11 | 12 => {
                self.has_queue.is_none().then_some(())?;
                if self.state & PARKED == 0 || self.state & excluding == 0 {
                    return local.go_to(ACQUIRE);
                }
                self.has_queue = Some(me);
                local.go_to(ACQUIRE + 3)
            }
            13 => {
                self.queue.push((me, added));
                self.has_queue = None;
                self.threads[me].wake = Wake::None;
                local.go_to(ACQUIRE + 4)
            }
            14 => match std::mem::take(&mut self.threads[me].wake) {
                Wake::None => None,
                Wake::Normal => local.go_to(ACQUIRE),
                Wake::HandedOver if kind == Kind::Write => local.go_to(WAIT),
                Wake::HandedOver => local.go_to(DONE),
            },
            stage if stage < UNLOCK => self.wait(local),
            _ => {
                self.threads[me].guard = added;
                self.threads[me].state = 0;
                Some(true)
            }
        }
    }

    /// Waits for the end of all readers.
    pub(super) fn wait(&mut self, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let state = self.threads[me].state;
        match local.stage - WAIT {
            0 => {
                self.threads[me].state = self.state;
                local.go_to(if has_readers(self.state) { WAIT + 1 } else { DONE })
            }
            1 if !has_readers(state) => local.go_to(DONE),
            1 if state & WRITER_PARKED == 0 => match self.exchange(state, state | WRITER_PARKED) {
                Ok(()) => local.go_to(WAIT + 2),
                Err(other) => {
                    self.threads[me].state = other;
                    local.go_to(WAIT + 1)
                }
            },
            1 | 2 => {
                self.has_last.is_none().then_some(())?;
                if !has_readers(self.state) || self.state & WRITER_PARKED == 0 {
                    return local.go_to(WAIT);
                }
                self.has_last = Some(me);
                local.go_to(WAIT + 3)
            }
            3 => {
                (self.last, self.has_last) = (Some(me), None);
                self.threads[me].wake = Wake::None;
                local.go_to(WAIT + 4)
            }
            _ => match std::mem::take(&mut self.threads[me].wake) {
                Wake::None => None,
                _ => local.go_to(WAIT),
            },
        }
    }

    /// Takes the threads from the queue that can get the lock when a lock with these bits is still held. Returns them
    /// with all bits, and `true` if threads are left.
    fn unqueue(&mut self, mut bits: u32) -> (Vec<usize>, u32, bool) {
        let (mut woken, mut left) = (Vec::new(), Vec::new());
        for (thread, token) in std::mem::take(&mut self.queue) {
            let is_skipped = token & (UPGRADABLE | WRITER) != 0 && bits & UPGRADABLE != 0;
            if bits & WRITER != 0 || is_skipped {
                left.push((thread, token));
            } else {
                bits += token;
                woken.push(thread);
            }
        }
        self.queue = left;
        let has_more = !self.queue.is_empty();
        (woken, bits, has_more)
    }

    /// Wakes threads after a change to a guard with these bits.
    pub(super) fn wake(&mut self, bits: u32) -> Option<bool> {
        self.has_queue.is_none().then_some(())?;
        let (woken, _, has_more) = self.unqueue(bits);
        if !has_more {
            self.state &= !PARKED;
        }
        for thread in woken {
            self.threads[thread].wake = Wake::Normal;
        }
        Some(true)
    }

    /// Performs an effect of the end of a guard. Returns `true` after its end.
    pub(super) fn release(&mut self, is_fair: bool, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let guard = self.threads[me].guard;
        match (guard, local.stage) {
            (WRITER, UNLOCK) => {
                if self.exchange(WRITER, 0).is_err() {
                    return local.go_to(UNLOCK + 1);
                }
            }
            (WRITER, _) => {
                self.has_queue.is_none().then_some(())?;
                let (woken, bits, has_more) = self.unqueue(0);
                let is_fair = is_fair && !woken.is_empty();
                self.state = if is_fair { bits } else { 0 } | if has_more { PARKED } else { 0 };
                for thread in woken {
                    self.threads[thread].wake =
                        if is_fair { Wake::HandedOver } else { Wake::Normal };
                }
            }
            (ONE, UNLOCK) => {
                let state = self.state;
                self.state -= ONE;
                if !has_readers(self.state) && state & WRITER_PARKED != 0 {
                    return local.go_to(UNLOCK + 1);
                }
            }
            (ONE, _) => {
                self.has_last.is_none().then_some(())?;
                self.state &= !WRITER_PARKED;
                if let Some(writer) = self.last.take() {
                    self.threads[writer].wake = Wake::Normal;
                }
            }
            // An upgradable guard looks twice if threads wait.
            (_, stage) if stage < UNLOCK + 2 => {
                if self.state & PARKED != 0 {
                    return local.go_to(stage + 1);
                }
                self.state -= guard;
            }
            _ => {
                self.has_queue.is_none().then_some(())?;
                let (woken, _, has_more) = self.unqueue(0);
                self.state = (self.state - guard) & !PARKED | if has_more { PARKED } else { 0 };
                for thread in woken {
                    self.threads[thread].wake = Wake::Normal;
                }
            }
        }
        self.threads[me].guard = 0;
        Some(true)
    }
}
