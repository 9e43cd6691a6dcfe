//! What a load may see.
//!
//! Today memory is sequentially consistent: a load sees the last store to its object, in the order
//! of the steps, and orderings weaker than `SeqCst` are treated as `SeqCst`. A weaker model keeps
//! old stores here, keeps no word near and asks the run which one a load sees; nothing outside this
//! module changes.
//!
//! There is one word for every object of a run. The words of atomics live here and not in the atomics
//! themselves, so that a `static` starts each run afresh, in several workers at once. Those of the first
//! objects are kept in the [thread](near), where an operation reaches them in a few instructions; the
//! others are in the [`Memory`] of the world.

use std::cell::Cell;

use crate::run::ids::ObjectId;

/// How many objects of a run have their words in the thread.
const NEAR: usize = 64;

thread_local! {
    static WORDS: [Cell<u64>; NEAR] = const { [const { Cell::new(0) }; NEAR] };
}

/// Whether the word of `object` is kept in the thread.
#[inline(always)]
pub(crate) fn is_near(object: ObjectId) -> bool {
    object.index() < NEAR
}

/// Has `act` use the word of an object that [is near](is_near), in the run that is on on this thread.
#[inline(always)]
pub(crate) fn near<R>(object: ObjectId, act: impl FnOnce(&Cell<u64>) -> R) -> R {
    WORDS.with(|words| act(&words[object.index()]))
}

/// The words of one run, by object. Those that are near are in the thread that the run is on.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// How many objects there are.
    objects: usize,
    /// The words of all but the first [`NEAR`] of them.
    far: Vec<u64>,
}

impl Memory {
    /// Forgets the last run and keeps its allocation.
    pub(crate) fn clear(&mut self) {
        self.objects = 0;
        self.far.clear();
    }

    /// A new object, the next in order, whose word is `initial`.
    pub(crate) fn push(&mut self, initial: u64) {
        let object = ObjectId::new(self.objects as u32);
        self.objects += 1;
        match is_near(object) {
            true => near(object, |word| word.set(initial)),
            false => self.far.push(initial),
        }
    }

    /// What a load of `object` sees.
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
