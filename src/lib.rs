//! Runs concurrent Rust under a scheduler of its own: finds the interleaving that breaks the code,
//! cuts it down to the steps that matter, explains it on one screen and replays it.
//!
//! This page is the manual. The README shows a failing test and its screen first, and says how to
//! bring the library into a crate of your own and which variables of the environment it listens to.
//!
//! # A test
//!
//! A test is an `async fn` under [`#[sim::test]`](macro@test). It creates what it tests, spawns
//! tasks, waits for them, and asserts. It is run once for each seed, 1000 times unless told
//! otherwise; a seed is an interleaving, the same on every machine. Nothing may be kept from run to
//! run, so create everything in the body.
//!
//! ```
//! use std::sync::Arc;
//!
//! #[sim::test(seeds = 200)]
//! async fn a_lock_keeps_both_increments() {
//!     let counter = Arc::new(sim::Mutex::new(0));
//!     let tasks = [(); 2].map(|()| {
//!         let counter = counter.clone();
//!         sim::spawn(async move { *counter.lock().await += 1 })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(*counter.lock().await, 2);
//! }
//! ```
//!
//! [`Runner`] is the function under the attribute, for programs and for tests of tests: it gives a
//! [`Report`](report::Report), which is data. This one has a bug to find:
//!
//! ```
//! use sim::run::{Failure, Outcome};
//! use sim::{Atomic, Ordering::SeqCst, Runner};
//! use std::sync::Arc;
//!
//! let report = Runner::new().hermetic().seeds(0..100).run(async || {
//!     let counter = Arc::new(Atomic::new(0));
//!     sim::map_concurrently(0..2, |_| {
//!         let counter = counter.clone();
//!         async move {
//!             let value = counter.load(SeqCst).await;
//!             counter.store(value + 1, SeqCst).await;
//!         }
//!     })
//!     .await;
//!     assert_eq!(counter.load(SeqCst).await, 2);
//! });
//! // Real threads may or may not show it.
//! assert!(report.finding.is_some() || !sim::SIMULATED);
//! if let Some(finding) = report.finding {
//!     assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Panic { .. })));
//! }
//! ```
//!
//! # Points, steps and runs
//!
//! A **point** is an await on something of this library: [`Atomic`], [`Cell`], [`Mutex`], a
//! [`JoinHandle`], [`yield_now`](task::yield_now). There the task says what it does next, and any
//! other task may go first. From one point to the next it runs alone: that is a **step**. Spawning
//! and dropping a guard take effect at once and are no points. A task that waits for a lock or for
//! another task cannot step; when a lock is freed every waiter can, and whoever is chosen gets it. One
//! that waits [until](spin_until) shared memory is as it should be can step when that has changed.
//!
//! A **run** is one execution of the body. All that is open in it, which task steps and which value
//! [`rand`] draws, is a **decision**, and the decisions are the run: written down they are its
//! **trace**, which replays it without seed and strategy. A run fails if
//!
//! - a task panics, or the body returns an error;
//! - tasks are left and none can step: a deadlock;
//! - it takes more than a million steps: a loop without end;
//! - a [`History`] that was checked is not [linearizable](check::linearizable()), or the checker
//!   cannot decide within its budget;
//! - it is not the run that its trace was written from;
//! - one step does not end within ten seconds; that ends the process, with the trace written.
//!
//! A stack overflow, `abort()` or a failed allocation ends the process without a word on the run. The
//! next start of the test says so and notes each run before it begins, which costs about a microsecond a run; if
//! the process ends again, the start after that says which seed it was. (What tells them is a file in
//! `target/sim/<package>/underway/`, which goes with the test. Hermetic runners and replays have none.)
//!
//! # Programs from a model
//!
//! Who has a model need not write the concurrent test: [`Program`] adds to it what can be asked,
//! [`Shape`] says how much at the same time, and [`parallel()`] generates a program for each seed, runs it,
//! records it and checks the history. A failing program is shrunk together with its schedule.
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
//! # Strategies
//!
//! Who answers the choices is said by `strategy = "..."`, [`Runner::strategy`] or `SIM_STRATEGY`. Each
//! is good at other bugs, and none at all of them: the default has each seed run by one of the others.
//!
//! | name | good at | promise | where it is weak |
//! |---|---|---|---|
//! | `portfolio`, the default | a bug of which nothing is known | never much worse than the best of `orders`, `urw`, `pos` and `pct`, each of which gets its share of the seeds | a bug that one strategy alone finds, and rarely |
//! | `random` | few steps, many switches | every interleaving is possible | one late step of a short task against many of a long one |
//! | `pct`, `pct:1` to `pct:8` | few orderings far apart | `pct:d` meets a bug of d orderings with a probability of at least 1 / (n k^(d-1)), for n tasks and k steps | many switches: at most d - 1 are enforced; `pct` draws d from the seed, 2 to 5 |
//! | `pos` | conflicts among much that is private | every partial order is possible | bugs of few orderings far apart |
//! | `urw` | tasks of unequal length | all interleavings have the same probability, if nothing waits | much that is private |
//! | `orders` | several contended objects, one task among many, locks taken in a circle | each possible choice of an order of the accesses for every object has at least the probability of drawing it, if nothing waits, in a run that leaves no object out and favours nobody | tasks that go through the same objects in different orders |
//! | `surw` | one contended object | all orders of the accesses to one object, drawn by the seed, have the same probability, if nothing waits | bugs between several objects |
//!
//! All but `random` first see a few runs of the body, to count its steps, tasks and accesses. These
//! are no runs of a seed: how they end is not told. The first seed is run twice, to see that a run is a
//! function of its decisions. So a test of one seed executes its body more than once, and says `1 run`. A seed run alone is the run it is among others. The
//! files of [`mod@strategy`] name the papers and say more.
//!
//! # What was seen
//!
//! A test that passes says nothing unless asked: `#[sim::test(coverage)]`, [`Runner::coverage`] or
//! `SIM_COVERAGE=1` adds a line, and [`Report::coverage`](report::Report::coverage), with the number of
//! classes of interleavings that were seen, where orders that make no difference count as one; how many
//! were new in the last hundred runs; the probability that one run more would be of a new class; and what
//! no run tried: objects nobody had to fight for, tasks nobody preempted, values never drawn.
//! [`sometimes!`] fails a test in which an interesting case never came up, [`cover!`] one in which it came up
//! in too few runs. `statistics`, [`Runner::statistics`] or `SIM_STATISTICS=1` adds a table of what generated
//! programs were made of, and how much of it ran at the same time; a missed `cover!` shows it unasked.
//!
//! A recorded history is checked as it came in the run. With `#[sim::test(closure)]`, [`Runner::closure`] or
//! `SIM_CLOSURE=1` it is also checked in all orders of its calls that would have been the same run to every
//! task, without running them; one that is violated is run before it is reported. A bug that shows
//! only if a call begins or ends at a certain time is then found by seeds in which it does not.
//!
//! # Proofs
//!
//! `exhaustive` is no sampling strategy but a search: it makes one run of each class of runs that differ only
//! in the order of steps that do not conflict. When there is no other class it says `explored all N
//! interleavings`, which is a proof: no interleaving of the body fails. If the runs that it may take are not
//! enough, it says how many it made, that this is no proof, and an estimate of what is left.
//!
//! ```
//! # if !sim::SIMULATED { return }
//! use std::sync::Arc;
//! use sim::{Mutex, Runner};
//!
//! let report = Runner::new().hermetic().strategy("exhaustive").run(async || {
//!     let total = Arc::new(Mutex::new(0));
//!     let tasks = [1, 2, 3].map(|n| {
//!         let total = total.clone();
//!         sim::spawn(async move { *total.lock().await += n })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(*total.lock().await, 6);
//! });
//! assert!(report.searched.unwrap().is_proof());
//! assert_eq!(report.runs, 6);
//! ```
//!
//! A test that asks for a search and passes without a proof says so in a line that the test harness does
//! not take, and passes all the same. With `must_prove`, [`Runner::must_prove`] or `SIM_MUST_PROVE=1` it
//! fails: what it proved before, it must prove after every change.
//!
//! ```
//! #[sim::test(strategy = "exhaustive", must_prove)]
//! async fn a_swap_is_one_step() {
//!     let word = std::sync::Arc::new(sim::Atomic::new(0));
//!     let tasks = [1, 2].map(|n| {
//!         let word = word.clone();
//!         sim::spawn(async move { word.swap(n, sim::Ordering::SeqCst).await })
//!     });
//!     let mut first = 0;
//!     for task in tasks {
//!         first += usize::from(task.await.unwrap() == 0);
//!     }
//!     assert_eq!(first, 1);
//! }
//! # fn main() {}
//! ```
//!
//! What it proves, and what not:
//!
//! - Tasks still running when the body returns are dropped, and what they would have done is not explored.
//!   Await them to include them in the proof.
//! - Everything that tasks share must be of this library. Orders of what they do to anything else
//!   (a channel of another crate, a lock of std, a thread-local) are not tried. Where tasks wake each other by
//!   such a thing the report says so, and it is no proof.
//! - A search that is through checks itself. It samples a hundred runs, looks up the class of each among those
//!   that it explored, and makes each again with its steps in another order of the class. A run that fails, is of
//!   an unknown class or shows something else in the other order takes the proof away: the report says whether
//!   the search is at fault or tasks share something unseen ([`Searched::audit`](report::Searched::audit)).
//! - One poll of a task is one step. A future that is polled once and then dropped does not take effect, and the
//!   branches of one `join!` are not interleaved with each other. `now_or_never` on a [`JoinHandle`] is no
//!   point: it takes the result if the task has ended.
//! - Which call of a [`History`] returned before which began is looked at in every order that the steps
//!   of a run allow, without running them; an order that is not linearizable is then run, and that run is
//!   the one reported. Where the body asks for [`History::operations`], which tells all orders apart, or
//!   where calls have very many orders, each gets a run of its own: many more.
//! - Every value that [`rand`] can draw is tried: keep the bounds small. A loop that waits by looking
//!   again and again has runs without end, which fail by the limit of steps: await [`spin_until`]
//!   instead.
//!
//! A test that is too large for that is explored within a bound. If half of the runs that it may take are
//! made and it estimates that the other half will not be enough, the search gives them to `preemptions`
//! by itself, and says how far both came. `preemptions` makes all runs in which no
//! task is interrupted, then all in which one is, and so on; `delays` does the same for departures from a
//! round-robin scheduler, which are fewer where there are many tasks. Runs that are made once more, to come to
//! those that begin like them, count against the number of runs that the search may take. `preemptions:2` stops when it is
//! through with two. Most bugs need one or two, and the first failing run that is found has the fewest
//! that any has. To come to the runs with one more, those that they begin like are made once more; these
//! count against the runs that the search may take, but are not among those of the report. The report says
//! which bound was reached; where nothing was left out it is a proof, too,
//! and one that does not depend on what tasks share. Orders that make no difference are not left out, so
//! for a proof `exhaustive` takes far fewer runs.
//!
//! ```
//! # if !sim::SIMULATED { return }
//! use std::sync::Arc;
//! use sim::{Atomic, Ordering::SeqCst, Runner};
//!
//! let report = Runner::new().hermetic().strategy("preemptions:1").run(async || {
//!     let count = Arc::new(Atomic::new(0));
//!     let tasks = [1, 2, 3].map(|_| {
//!         let count = count.clone();
//!         sim::spawn(async move { for _ in 0..3 { count.fetch_add(1, SeqCst).await; } })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(count.load(SeqCst).await, 9);
//! });
//! assert!(report.passed());
//! assert_eq!(report.searched.unwrap().bound.unwrap().through, Some(1));
//! ```
//!
//! Of a failing run, too, something can be proven. Shrinking leaves what is least to read, never more steps
//! than were found: few steps and few preemptions, of which each weighs as much as
//! [four steps](run::schedule::Cost). With `prove = 100000`, [`Runner::prove`] or `SIM_PROVE` all runs with fewer
//! preemptions are made, if there are not more than that: either one of them fails in the same way and takes
//! the place of the trace, unless it is longer than the run that was found, or the screen says `no failing
//! run has fewer than 2 preemptions`. What a search found is proven without being asked for.
//!
//! # Modules, in the order to read them
//!
//! | module | what is in it |
//! |---|---|
//! | [`sync`] | [`Atomic`], [`Cell`], [`Mutex`]: what tasks share; [`spin_until`]: waiting for it to change |
//! | [`task`] | [`spawn`], [`map_concurrently`], named tasks, yielding, the spawner of real tasks |
//! | [`mod@rand`] | random values that are decisions |
//! | [`parallel()`], [`generate`] | parallel programs from a model |
//! | [`recorder`] | [`History`]: what clients asked and were told |
//! | [`check`] | models of data structures, and the search for an order that explains a history |
//! | [`runner`] | [`Runner`], for programs that find bugs without a test harness |
//! | [`report`] | what was found, as data and as text |
//! | [`run`] | one run as data: how it ended, its steps, events, generated programs; the [trace](run::trace) format |
//! | [`run::coverage`], [`census`] | the share of interleavings that was seen |
//! | [`run::statistics`] | the composition of generated programs |
//! | [`mod@strategy`] | strategies and searches, and the contract of one |
//! | [`shrink`], [`run::schedule`] | making a failing run smaller |
//!
//! # The two builds
//!
//! With the feature `sim`, the default, a primitive is simulated inside a run and real outside one.
//! Without it, or under `--cfg sim_real`, it is always the real one, at no cost, and a test or
//! [`Runner`] becomes a stress test: the same body on real threads, the same checks, 100 seeds unless
//! told otherwise. The signatures are the same; [`SIMULATED`] tells which build it is. Libraries
//! depend on it with `default-features = false`, and switch `sim` on in their dev-dependencies.
//!
//! A stress test starts tasks together with each other and with the task that spawned them. In builds with debug
//! assertions it also disturbs their threads at each point, as the seed says, ends an aborted task at its next
//! point, and gives each run its own value of a `static`. Without debug assertions a point is the bare operation, where
//! nothing can be done: races are hardly found, a task that never waits cannot be aborted, and the test says so.
//! `cargo test --release --config profile.release.package.unpause.debug-assertions=true` is optimised and has all of
//! it. The settings of strategies, searches and traces mean nothing on real threads; a replay is refused. A test in
//! which no task moves for 10 seconds ([`Runner::hang`]), or one run lasts for 60 ([`Runner::limit`]), ends the process.
//!
//! A run may give a lock to any waiter, however often others had it since. The real [`Mutex`] is fairer: whoever waited
//! for half a millisecond is next.
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
//! - Memory is sequentially consistent in a run, whatever the [`Ordering`]: what weaker orderings
//!   allow is not explored.
//! - What does not await something of this library is not interleaved. One poll of a `join!` or
//!   `select!` is one step, whatever its branches do in it.
//! - A call of a [`History`] begins with its first access to something of this library. What it does before
//!   that, to an atomic of std or a channel, is recorded as later than it was: let such a call begin with
//!   [`task::yield_now`]. Commands of [`parallel()`] begin when they are first polled.
//! - The order of a `HashMap`, clocks, random generators, real threads, files, sockets and the
//!   polling order of `select!` are out of control. The first seed and every failing one are run
//!   twice, and the first step that differs is [reported](run::Failure::NonDeterminism).
//! - A lock of std held across a point, a blocking call, a loop without an await keep the run from
//!   going on until the watchdog ends the process. [`block_on`] in a run panics.
//! - An atomic or cell in a `static` is made with `const_new` and starts each run afresh; on real threads
//!   only in builds with debug assertions, because it costs room. A [`Mutex`] in a `static` fails the second run
//!   that meets it, and so does a [`Cell`] made in another run.
//! - A test that passes is no proof, unless its strategy was a search that came to its end.

#![forbid(unsafe_code)]

// L0: data of a run. What only runs use is dead in a build that cannot simulate.
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub mod run;

// L1: siblings, which do not know each other
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub mod census;
pub mod report;
#[cfg(all(feature = "sim", not(sim_real)))]
mod rt;
pub mod shrink;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub mod strategy;

// L2: the contract between primitives and a run
mod seam;

// L3: what users type
pub mod rand;
pub mod sync;
pub mod task;
mod testing;

// L4: wiring
mod engine;

#[doc(inline)]
pub use self::engine::runner::{self, Runner};
#[doc(inline)]
pub use self::sync::{Atomic, Cell, Mutex, MutexGuard, Ordering, spin_until};
#[doc(inline)]
pub use self::task::{JoinError, JoinHandle, block_on, map_concurrently, spawn};
#[doc(inline)]
pub use self::testing::generate::{
    self, CommandId, Gen, Program, Reference, Results, Script, Shape,
};
#[doc(inline)]
pub use self::testing::parallel::{self, parallel};
#[doc(inline)]
pub use self::testing::recorder::{self, History};
#[doc(inline)]
pub use unpause_check as check;
#[doc(inline)]
pub use unpause_macros::test;

/// Whether this build can simulate: whether a [`Runner`] runs its body under the scheduler, and not
/// on real threads.
pub const SIMULATED: bool = seam::SIMULATED;

/// For the expansion of macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::engine::runner::{Attributes, TestSite as Site, test, wants_color};
    pub use crate::testing::sometimes::{cover, note};

    /// Files of results, for `cargo sim merge`.
    pub mod results {
        pub use crate::engine::results::{
            End, Failed, Header, Part, Segment, Subject, Tally, Unread, chain,
        };
    }
}

// Its code blocks are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
