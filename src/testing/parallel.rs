//! Parallel programs from a model: they are generated, run, recorded and checked.
//!
//! A [`Program`] generates commands, a [`Shape`] limits how many run at the same time, and a closure performs one
//! command on the real object. [`parallel`] combines them into a concurrent test. The program is drawn as decisions of
//! the run, so a trace contains it and shrinking makes it smaller. The branches of the program are ordinary tasks.

mod actors;
mod blocking;
mod book;
mod hooks;

use std::panic::Location;
use std::sync::Arc;

use self::actors::{Actors, Call};
pub use self::blocking::{Blocking, blocking, blocking_scripted};
use self::book::{Payload, RunningProgram};
use self::hooks::Hooks;
pub use self::hooks::{Parallel, initial};
use crate::run::Condition;
use crate::run::ids::Place;
use crate::run::program::SOMETHING_ASKED;
use crate::seam::{self, Crew, Here, here};
use crate::testing::generate::{Program, Script, Shape};
use crate::testing::recorder::History;
use unpause_check::Budget;

/// Generates a program, runs it on the real object, records it and checks that the history is linearizable. Fails the
/// run if the history is not linearizable, or if the checker cannot decide within its budget. A test also fails if no
/// program in any run has a command, like a [`sometimes!`](macro@crate::sometimes) that never holds.
///
/// `run` performs one command. `run` may borrow from the body of the test, because it need not be `'static`. The future
/// of `run` need not be `Send`, because a run has one thread, and on real threads each branch creates its futures on
/// the thread that polls them. Real threads share the closure, so it must be `Sync`: for example, it may borrow a
/// [`Mutex`](crate::Mutex) or a [`Cell`](crate::Cell) of this library, but not a `RefCell`.
///
/// Await the returned value in the body of the test. The returned value is not `Send`, so it cannot be awaited in a
/// spawned task.
///
/// The current task runs the prefix and the suffix, and each branch has a task of its own. A program is part of the
/// decisions of its run, so it is replayed with them, and shrunk together with the schedule.
///
/// Under a [search](crate::strategy::SEARCHES), such as `exhaustive`, all programs of the shape are explored: all
/// sizes, all values that [`Program::generate`] draws, and all interleavings. A proof covers all of them. A search
/// completes only for a small shape and few arguments. Use [`scripted`] for one fixed program.
///
/// # Panics
/// In a run, if the current task is not the body of the test. Outside of runs, if the history is not linearizable. Also
/// if the returned value is dropped before its first poll, because a forgotten `.await` must not pass.
///
/// Add further checks before the `.await`: see [`Parallel`].
///
/// ```
/// use sim::check::models::{Counter, CounterOp, CounterRet};
/// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
///
/// impl Program for Tally {
///     fn generate(&self, g: &mut Gen<'_, Self>) -> CounterOp {
///         g.choose(&[CounterOp::Increment, CounterOp::Get])
///     }
/// }
/// # use sim::check::Model;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// # struct Tally(Counter);
/// # impl Model for Tally {
/// #     type Op = CounterOp;
/// #     type Ret = CounterRet;
/// #     fn step(&mut self, op: &CounterOp) -> CounterRet { self.0.step(op) }
/// # }
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let counter = Atomic::new(0);
///     sim::parallel(Shape::chunks(), Tally::default(), async |op| match op {
///         CounterOp::Get => CounterRet::Value(counter.load(SeqCst).await),
///         _ => {
///             counter.fetch_add(1, SeqCst).await;
///             CounterRet::Done
///         }
///     })
///     .await;
/// });
/// assert!(report.passed());
/// ```
#[track_caller]
pub fn parallel<'a, P, F>(shape: Shape, program: P, run: F) -> Parallel<'a, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync + 'a,
{
    let (place, here) = (Location::caller(), here());
    let budget = shape.budget;
    let book = move |program: &P| draw(&shape, program, place);
    Parallel::new(place, move |hooks| run_book(book, program, run, hooks, budget, (place, here)))
}

/// Runs a fixed program like [`parallel`] runs a generated program: recorded, checked, and shrunk if it fails.
///
/// `program` is the model. The model decides which commands are allowed and resolves results, but it generates nothing.
///
/// # Panics
/// In the same cases as [`parallel`], and if the model does not allow a command in its place in every order.
///
/// ```
/// use sim::check::Model;
/// use sim::{Gen, Mutex, Program, Runner, Script};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Sum(u32);
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Op { Add(u32), Get }
/// use Op::{Add, Get};
///
/// impl Model for Sum {
///     type Op = Op;
///     type Ret = u32;
///     fn step(&mut self, op: &Op) -> u32 {
///         if let Add(n) = op { self.0 += n; }
///         self.0
///     }
/// }
///
/// impl Program for Sum {
///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
///         if g.bool() { Get } else { Add(g.range(1..9) as u32) }
///     }
/// }
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let sum = Mutex::new(0);
///     let script = Script::new().branch(0, 0, Add(1)).branch(0, 1, Add(2)).suffix(Get);
///     sim::parallel::scripted(script, Sum(0), async |op| {
///         let mut sum = sum.lock().await;
///         if let Add(n) = op { *sum += n; }
///         *sum
///     })
///     .await;
/// });
/// assert!(report.passed());
/// ```
#[track_caller]
pub fn scripted<'a, P, F>(script: Script<P::Op>, program: P, run: F) -> Parallel<'a, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync + 'a,
{
    let (place, here) = (Location::caller(), here());
    let budget = script.budget;
    let book = move |program: &P| (RunningProgram::of_script(script, program, place), None);
    Parallel::new(place, move |hooks| run_book(book, program, run, hooks, budget, (place, here)))
}

/// Draws a program of this shape. Also returns the panic of the model, if a panic ended the generation.
fn draw<P: Program + 'static>(
    shape: &Shape,
    program: &P,
    place: Place,
) -> (RunningProgram<P>, Option<Payload>) {
    let (book, panicked) = RunningProgram::draw(shape, program);
    let runs = u64::from(book.plan.slots.iter().any(|slot| slot.op.is_some()));
    let place = place.into();
    seam::note_condition(Condition { name: SOMETHING_ASKED, place, percent: 0, runs });
    for name in P::labels() {
        let runs = u64::from(book.plan.runs(name));
        seam::note_condition(Condition { name, place, percent: 0, runs });
    }
    (book, panicked)
}

/// Runs the program that `make` returns.
async fn run_book<P, F>(
    make: impl FnOnce(&P) -> (RunningProgram<P>, Option<Payload>),
    program: P,
    run: F,
    hooks: Hooks<'_, P>,
    budget: u64,
    places: (Place, Here),
) where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync,
{
    let drawn = make(&program);
    let run = &run;
    let call = move |op| -> Call<'_, P> { Box::pin(run(op)) };
    run_drawn(drawn, program, &call, hooks, budget, places).await;
}

/// Runs this program, or resumes the panic of the model.
async fn run_drawn<'r, P>(
    (mut book, panicked): (RunningProgram<P>, Option<Payload>),
    program: P,
    run: &(dyn Fn(P::Op) -> Call<'r, P> + Sync + 'r),
    mut hooks: Hooks<'_, P>,
    budget: u64,
    (place, here): (Place, Here),
) where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    if panicked.is_none() {
        book.add_faults(hooks.nemesis.take());
    }
    let book = Arc::new(book);
    seam::add_program(book.clone());
    if let Some(payload) = panicked {
        std::panic::resume_unwind(payload);
    }
    let history = History::new(program);
    if let Some((make, place)) = hooks.online.take() {
        history.feed_at(make, place);
    }
    let actors = Actors { book: &book, history: &history, hooks: &hooks, run };
    let crew = Crew::new();
    let script = actors.all(&crew, here);
    match crew.drive(script).await {
        Some(Ok(())) => {
            history.assert_linearizable_at(&Budget::nodes(budget), place);
            hooks.validate().await;
        }
        Some(Err(error)) => match error.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => std::future::pending().await,
        },
        // The current task was aborted, so it is dropped at its next await.
        None => std::future::pending().await,
    }
}
