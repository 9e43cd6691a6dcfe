//! The bug corpus over plain threads: programs with a known bug, each beside its fixed twin.
//!
//! They are small models of bugs of the literature and of published crates, in their own words; where a program has
//! the name of one in `sim-tests/src/corpus`, it has the same bug. The names of the primitives come from
//! `super::names`: those of std here, those of shuttle in `sim-bench`, which compiles these files too. So only
//! primitives that both have are used, and no time limit, which shuttle does not model.
//!
//! To add a program, write it in a file of this folder; a new file has its line in [`FAMILIES`].

mod atomics;
mod channels;
mod conditions;
mod counts;
mod deadlocks;
mod init;
mod locks;
mod parking;
mod queues;
mod spin_locks;
mod stages;

// Part of the others.
mod watched;

use super::names::{sync, thread};
use sync::Arc;

use self::watched::Watched;

/// A program with a known bug, and the same without it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The number of seeds, from 0 on, within which the default strategy must find the bug.
    pub seeds: u64,
    /// Has the bug.
    pub buggy: fn(),
    /// Does not have it.
    pub fixed: fn(),
}

/// The families, a line for each file.
const FAMILIES: &[&[Program]] = &[
    atomics::PROGRAMS,
    channels::PROGRAMS,
    conditions::PROGRAMS,
    counts::PROGRAMS,
    deadlocks::PROGRAMS,
    init::PROGRAMS,
    locks::PROGRAMS,
    parking::PROGRAMS,
    queues::PROGRAMS,
    spin_locks::PROGRAMS,
    stages::PROGRAMS,
];

/// Every program of the corpus.
pub fn all() -> impl Iterator<Item = &'static Program> {
    FAMILIES.iter().copied().flatten()
}

/// A thread that is not yet spawned.
type Body = Box<dyn FnOnce() + Send>;

/// A thread that works on a shared object.
fn on<T: Send + Sync + 'static>(shared: &Arc<T>, work: impl FnOnce(&T) + Send + 'static) -> Body {
    let shared = shared.clone();
    Box::new(move || work(&shared))
}

/// Spawns threads and joins them. A panic of one is a panic here.
fn together(bodies: impl IntoIterator<Item = Body>) {
    let threads: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
