//! Locks with readers and writers: the lock of Windows, and the lock of parking_lot.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spawn, spin_until};

use crate::Shows::Deadlock;
use crate::parts::Sleeper;

crate::bugs! {
    a_reader_waits_though_only_readers_hold:
        "rust #121949 (planted)", "a writer that unlocks lets in one reader that waits, not all",
        Deadlock, 100, left_outside;
    a_read_waits_behind_an_upgradable_read:
        "parking_lot #101", "a read waits if any thread does, also one that waits for an upgradable read",
        Deadlock, 100, behind_upgradable;
    a_thread_reads_twice:
        "parking_lot #212", "a thread that reads asks again, and a writer waits between",
        Deadlock, 100, reads_twice;
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    /// A read that does not wait behind others.
    Recursive,
    Upgradable,
    Write,
}

#[derive(Default)]
struct Lock {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    readers: u32,
    is_upgradable: bool,
    is_written: bool,
    queue: VecDeque<(Kind, Arc<Sleeper>)>,
}

/// The mistakes.
#[derive(Clone, Copy, Default)]
struct Flaws {
    /// A release lets in the first thread of the queue.
    lets_in_one: bool,
    /// A read waits if any thread waits, not only behind a writer.
    waits_behind_all: bool,
}

impl State {
    fn can_enter(&self, kind: Kind) -> bool {
        match kind {
            Kind::Read | Kind::Recursive => !self.is_written,
            Kind::Upgradable => !self.is_written && !self.is_upgradable,
            Kind::Write => !self.is_written && !self.is_upgradable && self.readers == 0,
        }
    }

    fn enter(&mut self, kind: Kind) {
        match kind {
            Kind::Read | Kind::Recursive => self.readers += 1,
            Kind::Upgradable => self.is_upgradable = true,
            Kind::Write => self.is_written = true,
        }
    }
}

impl Lock {
    async fn lock(&self, kind: Kind, flaws: Flaws) {
        let mut state = self.state.lock().await;
        let mut waiting = state.queue.iter().map(|(kind, _)| *kind);
        let must_wait = match kind {
            Kind::Recursive => false,
            Kind::Read if !flaws.waits_behind_all => waiting.any(|kind| kind == Kind::Write),
            _ => waiting.next().is_some(),
        };
        if !must_wait && state.can_enter(kind) {
            return state.enter(kind);
        }
        let me = Sleeper::new();
        state.queue.push_back((kind, me.clone()));
        drop(state);
        me.sleep().await;
    }

    async fn unlock(&self, kind: Kind, flaws: Flaws) {
        let mut state = self.state.lock().await;
        match kind {
            Kind::Read | Kind::Recursive => state.readers -= 1,
            Kind::Upgradable => state.is_upgradable = false,
            Kind::Write => state.is_written = false,
        }
        let mut let_in = Vec::new();
        while let Some((kind, _)) = state.queue.front()
            && state.can_enter(*kind)
        {
            let (kind, thread) = state.queue.pop_front().expect("it was seen");
            state.enter(kind);
            let_in.push(thread);
            if flaws.lets_in_one {
                break;
            }
        }
        drop(state);
        for thread in let_in {
            thread.wake().await;
        }
    }
}

/// Two readers that meet at a barrier, behind a writer. The issue has five.
async fn left_outside(is_fixed: bool) {
    let flaws = Flaws { lets_in_one: !is_fixed, ..Flaws::default() };
    let shared = Arc::new((Lock::default(), Atomic::new(0)));
    shared.0.lock(Kind::Write, flaws).await;
    let readers = [(); 2].map(|()| {
        let shared = shared.clone();
        spawn(async move {
            let (lock, arrived) = &*shared;
            lock.lock(Kind::Read, flaws).await;
            arrived.fetch_add(1, SeqCst).await;
            spin_until(async || arrived.load(SeqCst).await == 2).await;
            lock.unlock(Kind::Read, flaws).await;
        })
    });
    shared.0.unlock(Kind::Write, flaws).await;
    for reader in readers {
        reader.await.unwrap();
    }
}

/// The holder of an upgradable read waits for a thread that reads.
async fn behind_upgradable(is_fixed: bool) {
    let flaws = Flaws { waits_behind_all: !is_fixed, ..Flaws::default() };
    let lock = Arc::new(Lock::default());
    lock.lock(Kind::Upgradable, flaws).await;
    let [second, reader] = [Kind::Upgradable, Kind::Read].map(|kind| {
        let lock = lock.clone();
        spawn(async move {
            lock.lock(kind, flaws).await;
            lock.unlock(kind, flaws).await;
        })
    });
    reader.await.unwrap();
    lock.unlock(Kind::Upgradable, flaws).await;
    second.await.unwrap();
}

async fn reads_twice(is_fixed: bool) {
    let again = if is_fixed { Kind::Recursive } else { Kind::Read };
    let flaws = Flaws::default();
    let lock = Arc::new(Lock::default());
    let writer = lock.clone();
    let writer = spawn(async move {
        writer.lock(Kind::Write, flaws).await;
        writer.unlock(Kind::Write, flaws).await;
    });
    lock.lock(Kind::Read, flaws).await;
    lock.lock(again, flaws).await;
    lock.unlock(again, flaws).await;
    lock.unlock(Kind::Read, flaws).await;
    writer.await.unwrap();
}
