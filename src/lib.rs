//! Deterministic testing of concurrent Rust. A test runs under the scheduler of this library, and each seed is one
//! interleaving. The library finds a bug that shows up once in a million runs within seconds. It shrinks the failure to
//! the steps that matter, explains it on one screen, and replays it at will.
//!
//! # Two doors
//!
//! | your code | the test | the command |
//! |---|---|---|
//! | async code over the primitives of this crate | `#[sim::test] async fn` | `cargo test`: each await on a primitive is a point |
//! | plain threads, with std and any other crates | `#[sim::test(native)] fn` | `cargo unpause test`: each atomic operation, lock and socket is a point |
//! | plain threads of a crate without a dependency on this crate | its own `#[test] fn` | `cargo unpause test --any` |
//!
//! Both doors share seeds, strategies, searches, traces, histories and screens. Applications on tokio use the first
//! door with the package `unpause-tokio`, and the second door without changes. This page is about the first door.
//! `docs/native.md` of the repository is about the second door, and `docs/method.md` leads from a crate to a bug or a
//! bound. The package `unpause-histories` and `cargo unpause check` check histories recorded by other systems.
//!
//! The first door in five links:
//!
//! - [`#[sim::test]`](macro@test) runs a test under many seeds; [`Runner`] does the same as a plain function.
//! - [`Atomic`], [`Cell`], [`Mutex`], [`spawn`], [`mod@rand`]: the primitives for tests and for the code under test.
//!   Without the feature `sim` they are the real primitives. [`RaceCell`] is plain memory whose data races are found.
//! - [`History`] and [`check`]: record client calls and their results, and check them against a model.
//! - [`parallel()`]: concurrent programs generated from a model.
//! - [`mod@strategy`]: random walks, PCT, POS and others. The [`exhaustive`](runner#proofs) search proves that no
//!   interleaving fails.
//!
//! ```toml
//! [dependencies]
//! unpause = { version = "0.1", default-features = false }   # the library is called `sim`
//!
//! [dev-dependencies]
//! unpause = "0.1"                                           # tests run under the scheduler
//! ```
//!
//! # A test that fails
//!
//! ```
//! use sim::{Atomic, Ordering::SeqCst};
//! use std::sync::Arc;
//!
//! /// Adds one.
//! pub async fn increment(counter: &Atomic<u64>) {
//!     let value = counter.load(SeqCst).await;
//!     counter.store(value + 1, SeqCst).await;
//! }
//!
//! #[sim::test]
//! async fn increments_are_not_lost() {
//!     let counter = Arc::new(Atomic::new(0));
//!     let tasks = [(); 2].map(|()| {
//!         let counter = counter.clone();
//!         sim::spawn(async move { increment(&counter).await })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(counter.load(SeqCst).await, 2);
//! }
//! # fn main() {}
//! ```
//!
//! ```text
//! FAILED  counter::tests::increments_are_not_lost  seed 1: main panicked
//!
//!   assertion `left == right` failed
//!     left: 1
//!    right: 2
//!
//!   at          src/lib.rs:24:9
//!   tested      2 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//!   shrunk      from 10 steps, 4 preemptions to 10 steps, 1 preemption (528 replays)
//!   why         lost update: between `load` (lib.rs:5) and `store` (:6) of 0.0 came
//!               `store atomic := 1` (:6) of 0.1
//!               0.0  lib.rs:5 | let value = counter.load(SeqCst).await;
//!               0.1        :6 | counter.store(value + 1, SeqCst).await;
//!               0.0        :6 | counter.store(value + 1, SeqCst).await;
//!   remedy      as one step, lib.rs:5 to :6: all 2 interleavings pass (proved; it keeps 2 of the 2
//!               that pass now)
//!   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//!
//! ── schedule ── 10 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//!
//!   step  main             0.0                0.1                              P                 place
//!      0  spawn 0.0, 0.1                                                     .11      src/lib.rs:19:13
//!      1  │                start
//!      2  │                load atomic = 0                                             src/lib.rs:5:25
//!         │                ├─ preempted ──────┐
//!      3  │                │                  start                          .88 ◂
//!      4  │                │                  load atomic = 0                  1       src/lib.rs:5:25
//!   no way back: every schedule fails from here on (proved)
//!      5  │                │                  store atomic := 1                        src/lib.rs:6:13
//!      6  │                store atomic := 1                                           src/lib.rs:6:13
//!      7  join 0.0                                                                    src/lib.rs:19:13
//!      8  join 0.1                                                                    src/lib.rs:19:13
//!      9  load atomic = 1                                                             src/lib.rs:24:28
//!         panics                                                                       src/lib.rs:24:9
//!
//!   atomic  created at src/lib.rs:16:32
//!
//! trace:   target/sim/counter/counter.tests.increments_are_not_lost/1.simtrace
//! replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x3,0.0,0x3 cargo test -p counter --lib tests::increments_are_not_lost -- --exact
//! ```
//!
//! Each column is a task, and time runs downward. The test body is `main`, and its first child is `0.0`. The last line
//! is a command that replays these ten steps.
//!
//! # Points, steps and runs
//!
//! A **point** is an await on a primitive of this library: [`Atomic`], [`Cell`], [`Mutex`], a [`JoinHandle`],
//! [`yield_now`](task::yield_now). The task announces its next operation there, and any other task may run first. A
//! **step** is the code from one point to the next, without interruption. Spawning a task and dropping a guard take
//! effect at once and are not points. A task is blocked while it waits for a lock or for another task. When a lock is
//! freed, all waiters are enabled, and the first waiter that steps gets the lock. A task in [`spin_until`] is blocked
//! until the memory that its condition read has changed.
//!
//! A **run** is one execution of the body. **Decisions** determine the run: which task steps next, and which value
//! [`mod@rand`] draws. A **trace** is the list of these decisions. The trace replays the run without seed or strategy.
//! A run fails if
//!
//! - a task panics, or the body returns an error;
//! - every remaining task is blocked and none waits for a [time](mod@time): a deadlock;
//! - it takes more than a million steps ([`Runner::max_steps`]), most often in a loop that polls a value. A run of
//!   plain threads continues past the limit, and fails only if it never ends;
//! - a [`History`] that it [asserts](History::assert_linearizable) is not [linearizable](check::linearizable()), or the
//!   checker exceeds its budget (a note names each history that was recorded but never checked);
//! - it diverges from the trace that it replays;
//! - one step takes longer than ten seconds ([`Runner::hang`]), or a destructor panics during unwinding. Both end the
//!   process after the trace is written.
//!
//! Create everything in the body: state that survives a run, such as a `static` of std, makes later runs differ. The
//! library runs the first seed and every failing seed twice, and [reports](run::Failure::NonDeterminism) the first step
//! that differs.
//!
//! A stack overflow, `abort()` or a failed allocation ends the process without a report. On Unix, the next start runs
//! the test first in a new process, for at most ten seconds. The new process notes each run before it begins. If this
//! process also ends, the seed of its last run fails with the command that repeats it, and the other tests of the first
//! process continue. If there are notes already, only the noted runs are repeated, each in its own process. So a killed
//! process does not make a seed fail. (The notes are in `target/sim/<package>/underway/`. Hermetic runners and replays
//! write no notes.) In a test with plain threads, such an end fails the seed at once, like a hang: see
//! `docs/native.md`.
//!
//! # Programs from a model
//!
//! With a model you need not write the concurrent test. [`Program`] adds command generation to the model, and [`Shape`]
//! sets the concurrency. For each seed, [`parallel()`] generates a program, runs it, and checks the recorded history. A
//! failing program is shrunk together with its schedule.
//!
//! ```
//! use sim::check::Model;
//! use sim::{Atomic, Gen, Ordering::SeqCst, Program, Shape};
//!
//! /// Hands out numbers.
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! struct Tickets(u32);
//!
//! impl Model for Tickets {
//!     type Op = ();
//!     type Ret = u32;
//!     fn step(&mut self, _take: &()) -> u32 {
//!         self.0 += 1;
//!         self.0
//!     }
//! }
//!
//! impl Program for Tickets {
//!     fn generate(&self, _: &mut Gen<'_, Self>) {}
//! }
//!
//! #[sim::test(seeds = 50)]
//! async fn no_number_is_handed_out_twice() {
//!     let last = Atomic::new(0);
//!     sim::parallel(Shape::chunks(), Tickets(0), async |()| last.fetch_add(1, SeqCst).await + 1).await;
//! }
//! # fn main() {}
//! ```
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`sync`] | atomics, locks, cells that are set once: std's primitives for tasks |
//! | [`task`] | tasks, their handles, `select!` and `join!`, cancellation, parking |
//! | [`mod@rand`] | random values, drawn as decisions of the run |
//! | [`time`] | sleeps, timeouts, intervals; a virtual clock |
//! | [`tokio`](https://docs.rs/unpause/latest/sim/tokio/) | tokio's names, with the feature `tokio` |
//! | [`mod@node`] | nodes: simulated processes, each on its own machine, which may crash and restart |
//! | [`net`] | links, datagrams and sockets between nodes, and their faults |
//! | [`fs`] | files, and their contents after a power failure |
//! | [`nemesis`] | faults of nodes, links, clocks and disks, drawn by the run |
//! | [`recorder`], [`check`] | histories, models, checkers |
//! | [`generate`], [`mod@parallel`] | programs from a model |
//! | [`runner`] | settings of a test, coverage, proofs |
//! | [`mod@strategy`] | strategies and searches, and the contract for your own strategies |
//! | [`report`], [`run`], [`shrink`] | results as data: the report, the failing run, its [trace](run::trace), shrinking |
//! | [`census`] | classes of interleavings |
//!
//! Properties are macros: [`always!`](macro@always), [`eventually!`](macro@eventually),
//! [`sometimes!`](macro@sometimes), [`cover!`](macro@cover), and the function [`invariant`].
//! [`buggify!`](macro@buggify) marks rare cases that the run may force.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | `sim`, the default | the scheduler. Without this feature each primitive is the real one: see [the two builds](#the-two-builds) |
//! | `tokio` | the module `tokio`, the sockets of [`net`], and tokio's traits for the files of [`fs`] |
//! | `proptest` | arguments of generated commands from strategies of proptest: `Gen::strategy` |
//! | `arbitrary` | arguments of generated commands from types that implement `Arbitrary`, as used by fuzzers: `Gen::arbitrary` |
//!
//! # The two builds
//!
//! With the default feature `sim`, a primitive is simulated inside a run and real outside of runs. Without the feature,
//! or under `--cfg sim_real`, each primitive is always the real one, at no cost. A test or [`Runner`] then becomes a
//! stress test: the same body on real threads, the same checks, 100 seeds by default. Both builds have the same
//! signatures; [`SIMULATED`] distinguishes the builds. A library should depend on this crate with
//! `default-features = false`, and enable `sim` in its dev-dependencies.
//!
//! A stress test starts spawned tasks at the same time as each other and as the spawning task. In builds with debug
//! assertions, it also disturbs their threads at each point, driven by the seed. There, an aborted task ends at its
//! next point, and each run has its own value of a `static`. Without debug assertions a point is the bare operation, so
//! the test finds few races and cannot abort a task that never waits. The test prints a note about that.
//! `cargo test --release --config profile.release.package.unpause.debug-assertions=true` is optimised and keeps all of
//! these checks. The settings for strategies, searches and traces have no effect on real threads, and a replay is
//! refused. The test ends the process if no task moves for 10 seconds ([`Runner::hang`]) or a run lasts for 60 seconds
//! ([`Runner::limit`]).
//!
//! A run may give a lock to any waiter, even if other tasks have acquired it many times since the waiter arrived. The
//! real [`Mutex`] is fairer: a task that has waited for half a millisecond gets the lock next.
//!
//! Outside of runs, code over these primitives needs nothing from this library:
//!
//! ```
//! sim::block_on(async {
//!     let list = sim::Mutex::new(vec![1]);
//!     list.lock().await.push(2);
//!     assert_eq!(list.into_inner(), [1, 2]);
//! });
//! ```
//!
//! # Limits
//!
//! - Memory is sequentially consistent in a run by default, for every [`Ordering`]. With [`Runner::memory`], loads may
//!   return the stale values that weaker orderings allow.
//! - Code without an await on this library is not interleaved. One poll of a `join!` or `select!` is one step, and so
//!   are all operations of its branches in that poll.
//! - A call of a [`History`] begins with its first access to an object of this library. An earlier effect, for example
//!   on a std atomic or a channel, would be recorded too late. Begin such a call with [`task::yield_now`]. Commands of
//!   [`parallel()`] begin when they are first polled.
//! - The run does not control random generators, real threads, clocks other than [`mod@time`], files other than [`fs`],
//!   or sockets other than [`net`]. It controls the order of a `HashMap` under `cargo unpause test` only, where the
//!   hash keys belong to the run. The polling order of another library's `select!` is not controlled: use
//!   [`select!`](macro@select). The library runs the first seed and every failing seed twice, and
//!   [reports](run::Failure::NonDeterminism) the first step that differs.
//! - A std lock held across a point, a blocking call, or a loop without an await stalls the run until the watchdog ends
//!   the process. [`block_on`] in a run panics.
//! - An atomic or cell in a `static` is created with `const_new`, and starts each run with its initial value. On real
//!   threads it does so only in builds with debug assertions, because the reset costs memory. A [`OnceLock`], [`Once`]
//!   or [`LazyLock`] starts each run empty in simulated runs only. A [`Mutex`] in a `static` fails the second run that
//!   uses it. A [`Cell`] created in one run fails any other run that uses it.
//! - A passing test is not a proof, unless its strategy was a search that completed.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// L0 and L1: the data of a run, and computations on this data
pub(crate) use unpause_run::disk;
#[doc(inline)]
pub use unpause_run::{census, report, run, shrink, strategy};

// L1: two executors: one computes a simulated run, the other uses real threads
mod real;
#[cfg(all(feature = "sim", not(sim_real)))]
mod rt;

// L2: the contract between primitives and a run
#[cfg(all(unpause_native, feature = "sim", not(sim_real)))]
mod native;
#[cfg(not(all(unpause_native, feature = "sim", not(sim_real))))]
#[path = "native/absent.rs"]
mod native;
mod seam;

// L3: the items that users name
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub mod fs;
pub mod nemesis;
pub mod net;
pub mod node;
pub mod rand;
pub mod sync;
pub mod task;
mod testing;
pub mod time;
#[cfg(all(feature = "tokio", feature = "sim", not(sim_real)))]
pub mod tokio;
/// tokio's names, for code written for tokio. In this build, the items of this module are tokio's own items.
#[cfg(all(feature = "tokio", not(all(feature = "sim", not(sim_real)))))]
pub mod tokio {
    mod exports;

    pub use self::exports::*;
    pub use ::tokio::sync;
}

// L4: wiring
mod engine;

#[doc(inline)]
pub use self::engine::runner::{self, Runner};
#[doc(inline)]
pub use self::node::{Node, node};
#[doc(inline)]
pub use self::sync::{
    Atomic, Cell, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, Ordering, RaceCell,
    counted, fence, spin_until,
};
#[doc(inline)]
pub use self::task::{JoinError, JoinHandle, block_on, cancellable, map_concurrently, spawn};
#[doc(inline)]
pub use self::testing::generate::{
    self, CommandId, Gen, Program, Reference, Results, Script, Shape, Topology,
};
#[doc(inline)]
pub use self::testing::parallel::{self, parallel};
#[doc(inline)]
pub use self::testing::properties::{Invariant, invariant};
#[doc(inline)]
pub use self::testing::recorder::{self, History};
#[doc(inline)]
pub use unpause_check as check;
#[doc(inline)]
pub use unpause_macros::test;

/// `true` if this build can simulate: a [`Runner`] then runs its body under the scheduler instead of on real threads.
pub const SIMULATED: bool = seam::SIMULATED;

/// Items that the macros expand to.
#[doc(hidden)]
pub mod __private {
    /// Items for tests of the bridge to plain threads.
    #[cfg(all(unpause_native, feature = "sim", not(sim_real)))]
    pub use crate::native::{CHECKS as NATIVE_CHECKS, Rule as OrderRule};

    pub use crate::engine::runner::{
        Attributes, ExistingTest, ModelEnd, ModelVerdict, TestSite as Site, Verdict, run_model,
        test, test_existing, test_native, wants_color, width,
    };
    pub use crate::report::runtimes::{RUNTIME_PARTS, RuntimePart};
    pub use crate::task::branches::{
        Branches, join_later, poll, take, take_value, try_join_later, try_poll,
    };
    pub use crate::testing::buggify::buggify;
    pub use crate::testing::properties::{always, eventually};
    pub use crate::testing::sometimes::{cover, note};
    pub use unpause_macros::{join, select, try_join};

    /// Fails the run with the last panic of the current simulated thread.
    pub fn fail_by_panic() {
        crate::native::fail_by_panic();
    }

    /// Returns `true` if loads of plain threads may return older stores in the current run.
    pub fn may_be_old() -> bool {
        crate::native::may_be_old()
    }

    /// Returns `true` if the thread polls a task of a simulated run. Always `false` in the real build.
    pub fn in_run() -> bool {
        crate::seam::in_run()
    }

    /// From now on, stores a panic of the task in the `JoinError` of its handle, as in the real build. The run then
    /// fails only if no handle receives the panic.
    pub fn give_panic(task: &crate::task::AbortHandle) {
        task.give_panic();
    }

    /// Fails the run if two instants come from different clocks: from two nodes, or from two lives of one node.
    #[inline]
    #[track_caller]
    pub fn of_one_clock(one: std::time::Instant, other: std::time::Instant) {
        crate::seam::of_one_clock(one, other, crate::seam::here());
    }

    /// Returns the error of the first variable, such as `SIM_SEEDS`, with an invalid value, if any.
    pub fn invalid_setting(
        variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    ) -> Option<String> {
        crate::engine::invalid_setting(variables)
    }

    /// Returns a warning if the name of a variable looks like a setting, but no such setting exists.
    pub fn unknown_setting(variable: &str) -> Option<String> {
        crate::engine::unknown_setting(variable)
    }

    /// Returns the folder name of a test. The name of the test is unique in its package: `test-queue::pops`.
    pub fn folder_name(test: &str) -> String {
        crate::engine::folder_name(test)
    }

    /// Returns the environment variable of a setting.
    pub fn variable_of(setting: &str) -> Option<&'static str> {
        crate::engine::variable_of(setting)
    }

    /// Creates the error of a timeout.
    pub fn elapsed() -> crate::time::error::Elapsed {
        crate::time::error::Elapsed::new()
    }

    /// Fails the run because code at `place` misuses the library. Does nothing outside of a simulated run.
    pub fn refuse(message: &str, place: &'static std::panic::Location<'static>) {
        if crate::seam::in_run() {
            let (message, place) = (message.to_owned(), place.to_string());
            crate::seam::fail(|| crate::run::Failure::Misuse { message, place });
        }
    }

    /// Result files, for `cargo unpause merge`.
    pub mod results {
        pub use crate::engine::results::{
            EndRecord, Failed, Ledger, MustFail, ResultsFile, ResultsHeader, SearchCommand,
            SearchLines, Segment, Subject, Tally, Unread, chain, one_search,
        };
    }
}

// The code blocks of these pages are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
mod guide {}
#[cfg(doctest)]
#[doc = include_str!("../docs/method.md")]
mod method {}

/// Returns `true` if tests use their large samples, because the environment variable `UNPAUSE_LONG` is set to something
/// other than 0.
#[cfg(test)]
fn long() -> bool {
    std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0")
}
