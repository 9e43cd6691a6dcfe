//! The memory of a run: the value that a load sees.
//!
//! Memory is sequentially consistent: a load sees the last store to its object, in the order
//! of the steps, and orderings weaker than `SeqCst` are treated as `SeqCst`. A weaker model would keep
//! old stores here and let a choice of the run select the store that a load sees, without changes outside this
//! module.
//!
//! There is one word for each object of a run. The words of atomics are here and not in the atomics
//! themselves, so that a `static` starts each run with its initial value, in several workers at once. The words of
//! the first objects are [thread-local](near), where an operation reaches them in a few instructions; the
//! others are in the [`Memory`] of the world.

use std::cell::Cell;

use crate::run::ids::ObjectId;

/// The number of objects of a run whose words are thread-local.
const NEAR: usize = 64;

thread_local! {
    static WORDS: [Cell<u64>; NEAR] = const { [const { Cell::new(0) }; NEAR] };
}

/// Returns `true` if the word of `object` is thread-local.
#[inline(always)]
pub(crate) fn is_near(object: ObjectId) -> bool {
    object.index() < NEAR
}

/// Calls `act` with the word of an object that [is near](is_near), in the current run of this thread.
#[inline(always)]
pub(crate) fn near<R>(object: ObjectId, act: impl FnOnce(&Cell<u64>) -> R) -> R {
    WORDS.with(|words| act(&words[object.index()]))
}

/// The words of one run, by object, except the thread-local ones.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The number of objects.
    objects: usize,
    /// The words of all but the first [`NEAR`] objects.
    far: Vec<u64>,
}

impl Memory {
    /// Forgets the last run and keeps its allocation.
    pub(crate) fn clear(&mut self) {
        self.objects = 0;
        self.far.clear();
    }

    /// Adds the next object, with the word `initial`.
    pub(crate) fn push(&mut self, initial: u64) {
        let object = ObjectId::new(self.objects as u32);
        self.objects += 1;
        match is_near(object) {
            true => near(object, |word| word.set(initial)),
            false => self.far.push(initial),
        }
    }

    /// The value that a load of `object` sees.
    pub(crate) fn load(&self, object: ObjectId) -> u64 {
        match is_near(object) {
            true => near(object, Cell::get),
            false => self.far[object.index() - NEAR],
        }
    }

    /// Stores `value`.
    pub(crate) fn store(&mut self, object: ObjectId, value: u64) {
        match is_near(object) {
            true => near(object, |word| word.set(value)),
            false => self.far[object.index() - NEAR] = value,
        }
    }
}
