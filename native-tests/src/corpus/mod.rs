//! The bug corpus over plain threads: programs with a known bug, each with a fixed twin.
//!
//! The programs are small, newly written models of bugs from the literature and from published crates. A program with
//! the same name as a program in `sim-tests/src/corpus` has the same bug. The primitives come from `super::names`:
//! std's here, and shuttle's in `sim-bench`, which compiles these files too. So the programs use only primitives of
//! both, and no time limit, because shuttle does not model time limits.
//!
//! To add a program, write it in a file of this folder. Add a new file to [`FAMILIES`].

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

// A building block of the programs.
mod watched;

use super::names::{sync, thread};
use sync::Arc;

use self::watched::Watched;

/// A program with a known bug, and its fixed twin.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The number of seeds, from 0 on, within which the default strategy must find the bug.
    pub seeds: u64,
    /// The version with the bug.
    pub buggy: fn(),
    /// The version without the bug.
    pub fixed: fn(),
}

/// The families, one line per file.
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

/// Returns every program of the corpus.
pub fn all() -> impl Iterator<Item = &'static Program> {
    FAMILIES.iter().copied().flatten()
}

/// The body of a thread that is not spawned yet.
type Body = Box<dyn FnOnce() + Send>;

/// Returns a thread body that works on a shared object.
fn on<T: Send + Sync + 'static>(shared: &Arc<T>, work: impl FnOnce(&T) + Send + 'static) -> Body {
    let shared = shared.clone();
    Box::new(move || work(&shared))
}

/// Spawns threads and joins them. Panics if a thread panicked.
fn together(bodies: impl IntoIterator<Item = Body>) {
    let threads: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
