//! The acts of small programs, and their random forms.

use crate::run::rng::Rng;

/// The next act of a task.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Load(usize),
    Store(usize, u64),
    StoreDrawn(usize),
    Add(usize),
    Exchange(usize, u64, u64),
    Lock(usize),
    Attempt(usize),
    Unlock(usize),
    /// Spawns a task whose number follows from the number of this task.
    Spawn,
    /// Awaits the handle of the oldest of its children.
    Join,
    Finished,
    Abort,
    /// Aborts an initial task, by its number.
    Strike(usize),
    /// Two branches of a `join!`.
    Both(Vec<Act>, Vec<Act>),
    /// Two branches of a `select!`.
    Select(super::selects::Select),
    /// A recorded call, with an explicit invocation or without.
    Call(bool, Vec<Act>),
    /// Ends.
    Leave,
    /// Panics if a word is 2.
    Check(usize),
    Pause,
    /// Waits until a word has a value.
    Await(usize, u64),
    /// Waits until one of the words has a value, and looks at the first word first.
    AwaitEither(u64, u64),
    /// Waits until a word could be exchanged.
    AwaitExchange(usize, u64, u64),
    /// Waits for one word and another at the same time.
    AwaitBoth(u64, u64),
    /// Waits for one word and, at the same time, adds to the other word.
    AwaitBeside(u64),
    #[cfg(feature = "tokio")]
    OfTokio(super::of_tokio::OfTokio),
    /// An act on a channel.
    #[cfg(feature = "tokio")]
    Channel(super::channels::Act),
    /// Sleeps for this number of seconds.
    Sleep(u64),
    /// Sleeps until this number of seconds has passed since the run began.
    Until(u64),
    /// Reads the time.
    Now,
    /// Moves the time forward by this number of seconds.
    Advance(u64),
    /// Takes a lock, or gives up after this number of seconds and stores the fact.
    LockWithin(usize, u64),
    /// Waits until a word has a value, or gives up after this number of seconds and stores the fact.
    AwaitWithin(usize, u64, u64),
    /// Two sleeps at once, in seconds; the shorter one ends both.
    Race(u64, u64),
    /// A part that may be dropped at any of its points.
    Cancellable(Vec<Act>),
    /// A weak compare-exchange, which may fail although it sees the expected value.
    ExchangeWeakly(usize, u64, u64),
    /// Waits for a notification of the condition variable, with the first lock.
    WaitFor,
    /// Notifies all waiting tasks if the flag is set, otherwise one of them.
    Notify(bool),
    /// Waits until a bell rings.
    Hear(usize),
    /// Rings a bell.
    Ring(usize),
    /// An act on a cell that is written once.
    OnCell(super::once::OnCell),
    /// An act on the token of a task.
    OnToken(super::parking::OnToken),
    /// On nodes and links.
    OnCluster(super::cluster::OnCluster),
    /// An act on the value with a destructor or on the value without; all tasks own both.
    OnCount(bool, super::counted::OnCount),
}

impl Act {
    pub(super) fn load(rng: &mut Rng) -> Act {
        Act::Load(rng.below(2) as usize)
    }

    pub(super) fn store(rng: &mut Rng) -> Act {
        Act::Store(rng.below(2) as usize, 1 + rng.below(2))
    }

    pub(super) fn store_drawn(rng: &mut Rng) -> Act {
        Act::StoreDrawn(rng.below(2) as usize)
    }

    pub(super) fn add(rng: &mut Rng) -> Act {
        Act::Add(rng.below(2) as usize)
    }

    pub(super) fn exchange(rng: &mut Rng) -> Act {
        Act::Exchange(rng.below(2) as usize, rng.below(2), 1 + rng.below(2))
    }

    pub(super) fn lock(rng: &mut Rng) -> Act {
        Act::Lock(rng.below(2) as usize)
    }

    pub(super) fn attempt(rng: &mut Rng) -> Act {
        Act::Attempt(rng.below(2) as usize)
    }

    pub(super) fn unlock(rng: &mut Rng) -> Act {
        Act::Unlock(rng.below(2) as usize)
    }

    pub(super) fn spawn(_: &mut Rng) -> Act {
        Act::Spawn
    }

    pub(super) fn join(_: &mut Rng) -> Act {
        Act::Join
    }

    pub(super) fn finished(_: &mut Rng) -> Act {
        Act::Finished
    }

    pub(super) fn abort(_: &mut Rng) -> Act {
        Act::Abort
    }

    pub(super) fn strike(rng: &mut Rng) -> Act {
        Act::Strike(rng.below(3) as usize)
    }

    pub(super) fn both(rng: &mut Rng) -> Act {
        let all = [Act::load, Act::store, Act::lock, Act::unlock, Act::join];
        let mut branch = || {
            let mut acts = Vec::new();
            for _ in 0..=rng.below(2) {
                acts.push(all[rng.below(all.len() as u64) as usize](rng));
            }
            acts
        };
        Act::Both(branch(), branch())
    }

    pub(super) fn call(rng: &mut Rng) -> Act {
        let explicit = rng.below(2) == 0;
        let mut acts = Vec::new();
        for _ in 0..=rng.below(2) {
            acts.push([Act::load, Act::store][rng.below(2) as usize](rng));
        }
        Act::Call(explicit, acts)
    }

    pub(super) fn leave(rng: &mut Rng) -> Act {
        if rng.below(3) == 0 { Act::Leave } else { Act::Pause }
    }

    pub(super) fn check(rng: &mut Rng) -> Act {
        Act::Check(rng.below(2) as usize)
    }

    pub(super) fn pause(_: &mut Rng) -> Act {
        Act::Pause
    }

    pub(super) fn wait(rng: &mut Rng) -> Act {
        let (one, other) = (rng.below(3), rng.below(3));
        match rng.below(6) {
            0 | 1 => Act::Await(rng.below(2) as usize, one),
            2 => Act::AwaitEither(one, other),
            3 => Act::AwaitExchange(rng.below(2) as usize, one, other),
            4 => Act::AwaitBeside(one),
            _ => Act::AwaitBoth(one, other),
        }
    }
}
