//! Parallel programs with blocking commands: each branch is a thread of std.

use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::book::{Payload, RunningProgram};
use super::draw;
use crate::native;
use crate::run::ids::Place;
use crate::run::panic_text;
use crate::run::place::in_text;
use crate::run::program::Fate;
use crate::seam::{self, on_carrier};
use crate::testing::generate::{CommandId, Program, Script, Shape};
use crate::testing::recorder::History;
use unpause_check::Budget;

/// Like [`parallel()`](crate::parallel()), for code that blocks: `run` performs one command, and each branch is a
/// thread of std. Use it in tests of plain threads, with `#[sim::test(native)]`; its [docs](crate::test) describe how
/// to run them. Outside of a run the threads are real. [`Blocking::run`] runs the program.
///
/// Blocking work cannot be dropped, so a shape with [`Shape::crash`] is refused. A command that no branch waits for
/// ([`Shape::timeout`]) has a thread of its own, and the program ends with its last thread.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
/// use sim::check::Model;
/// use sim::{Gen, Program, Shape};
///
/// /// Hands out numbers.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Tickets(u64);
///
/// impl Model for Tickets {
///     type Op = ();
///     type Ret = u64;
///     fn step(&mut self, (): &()) -> u64 {
///         self.0 += 1;
///         self.0
///     }
/// }
///
/// impl Program for Tickets {
///     fn generate(&self, _: &mut Gen<'_, Self>) {}
/// }
///
/// // The body of a test with `#[sim::test(native)]`.
/// fn numbers_differ() {
///     let last = AtomicU64::new(0);
///     sim::parallel::blocking(Shape::chunks(), Tickets(0), |()| last.fetch_add(1, SeqCst) + 1).run();
/// }
/// # numbers_differ();
/// ```
#[track_caller]
pub fn blocking<'a, P, F>(shape: Shape, program: P, run: F) -> Blocking<'a, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: Fn(P::Op) -> P::Ret + Sync + 'a,
{
    let place: Place = Location::caller();
    let budget = shape.budget;
    let make = Box::new(move |program: &P| draw(&shape, program, place));
    Blocking::new(place, program, Box::new(run), (make, budget))
}

/// Like [`scripted`](super::scripted), but for code that blocks: see [`blocking`].
///
/// # Panics
/// In the same cases as [`scripted`](super::scripted).
///
/// ```
/// use std::sync::Mutex;
/// use sim::Script;
/// use sim::check::models::{Counter, CounterOp, CounterRet};
/// # use sim::check::Model;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// # struct Tally(Counter);
/// # impl Model for Tally {
/// #     type Op = CounterOp;
/// #     type Ret = CounterRet;
/// #     fn step(&mut self, op: &CounterOp) -> CounterRet { self.0.step(op) }
/// # }
/// # impl sim::Program for Tally {
/// #     fn generate(&self, _: &mut sim::Gen<'_, Self>) -> CounterOp { CounterOp::Increment }
/// # }
///
/// let count = Mutex::new(0);
/// let script = Script::new()
///     .branch(0, 0, CounterOp::Increment)
///     .branch(0, 1, CounterOp::Increment)
///     .suffix(CounterOp::Get);
/// let run = |op| match op {
///     CounterOp::Get => CounterRet::Value(*count.lock().unwrap()),
///     _ => {
///         *count.lock().unwrap() += 1;
///         CounterRet::Done
///     }
/// };
/// sim::parallel::blocking_scripted(script, Tally::default(), run).run();
/// ```
#[track_caller]
pub fn blocking_scripted<'a, P, F>(script: Script<P::Op>, program: P, run: F) -> Blocking<'a, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: Fn(P::Op) -> P::Ret + Sync + 'a,
{
    let place: Place = Location::caller();
    let budget = script.budget;
    let make =
        Box::new(move |program: &P| (RunningProgram::of_script(script, program, place), None));
    Blocking::new(place, program, Box::new(run), (make, budget))
}

/// Creates the program. Also returns the panic of the model, if a panic ended the generation.
type Make<P> = Box<dyn FnOnce(&P) -> (RunningProgram<P>, Option<Payload>) + Send>;

/// A check of a command and its result.
type BlockingCheck<'a, P> =
    Box<dyn Fn(&<P as unpause_check::Model>::Op, &<P as unpause_check::Model>::Ret) + Sync + 'a>;

/// A program whose branches are threads, created by [`blocking`] and [`blocking_scripted`]. The methods add checks,
/// which fail by a panic; [`run`](Blocking::run) runs the program.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
/// use sim::{Gen, Program, Shape};
///
/// # use sim::check::Model;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Tickets(u64);
/// # impl Model for Tickets {
/// #     type Op = ();
/// #     type Ret = u64;
/// #     fn step(&mut self, _take: &()) -> u64 {
/// #         self.0 += 1;
/// #         self.0
/// #     }
/// # }
/// # impl Program for Tickets {
/// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
/// # }
/// let last = AtomicU64::new(0);
/// sim::parallel::blocking(Shape::chunks(), Tickets(0), |()| last.fetch_add(1, SeqCst) + 1)
///     .postcondition(|_take, ticket| assert!(*ticket > 0))
///     .validate(|| assert!(last.load(SeqCst) > 0))
///     .run();
/// ```
#[must_use = "a program does nothing before `run`"]
pub struct Blocking<'a, P: Program> {
    place: Place,
    // The parts of the program, until `run` takes them.
    parts: Option<Parts<'a, P>>,
}

/// A program that has not run yet.
struct Parts<'a, P: Program> {
    program: P,
    make: Make<P>,
    budget: u64,
    commands: Commands<'a, P>,
    validate: Option<Box<dyn Fn() + 'a>>,
}

/// The function that runs commands, and the checks during the program.
struct Commands<'a, P: Program> {
    run: Box<dyn Fn(P::Op) -> P::Ret + Sync + 'a>,
    invariant: Option<Box<dyn Fn() + Sync + 'a>>,
    postcondition: Option<BlockingCheck<'a, P>>,
}

impl<'a, P> Blocking<'a, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    fn new(
        place: Place,
        program: P,
        run: Box<dyn Fn(P::Op) -> P::Ret + Sync + 'a>,
        (make, budget): (Make<P>, u64),
    ) -> Blocking<'a, P> {
        let commands = Commands { run, invariant: None, postcondition: None };
        let parts = Parts { program, make, budget, commands, validate: None };
        Blocking { place, parts: Some(parts) }
    }

    fn parts(&mut self) -> &mut Parts<'a, P> {
        self.parts.as_mut().expect("`run` takes the program")
    }

    /// Runs `check` whenever no command is running: see [`Parallel::invariant`](super::Parallel::invariant).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    /// use sim::{Gen, Program, Shape};
    ///
    /// # use sim::check::Model;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Tickets(u64);
    /// # impl Model for Tickets {
    /// #     type Op = ();
    /// #     type Ret = u64;
    /// #     fn step(&mut self, _take: &()) -> u64 {
    /// #         self.0 += 1;
    /// #         self.0
    /// #     }
    /// # }
    /// # impl Program for Tickets {
    /// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
    /// # }
    /// let (last, running) = (AtomicU64::new(0), AtomicU64::new(0));
    /// let take = |()| {
    ///     running.fetch_add(1, SeqCst);
    ///     let ticket = last.fetch_add(1, SeqCst) + 1;
    ///     running.fetch_sub(1, SeqCst);
    ///     ticket
    /// };
    /// sim::parallel::blocking(Shape::chunks(), Tickets(0), take)
    ///     .invariant(|| assert_eq!(running.load(SeqCst), 0))
    ///     .run();
    /// ```
    pub fn invariant(mut self, check: impl Fn() + Sync + 'a) -> Self {
        self.parts().commands.invariant = Some(Box::new(check));
        self
    }

    /// Runs `check` after each command that has returned: see
    /// [`Parallel::postcondition`](super::Parallel::postcondition).
    pub fn postcondition(mut self, check: impl Fn(&P::Op, &P::Ret) + Sync + 'a) -> Self {
        self.parts().commands.postcondition = Some(Box::new(check));
        self
    }

    /// Runs `check` once at the end, if the history is linearizable.
    pub fn validate(mut self, check: impl Fn() + 'a) -> Self {
        self.parts().validate = Some(Box::new(check));
        self
    }

    /// Runs the program, and checks that its history is linearizable.
    ///
    /// # Panics
    /// The same as for [`parallel()`](crate::parallel()). Also if the shape has crashes, and in a run whose tasks are
    /// futures, because such a run does not step threads.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use sim::{Gen, Program, Script};
    ///
    /// # use sim::check::Model;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Tickets(u64);
    /// # impl Model for Tickets {
    /// #     type Op = ();
    /// #     type Ret = u64;
    /// #     fn step(&mut self, _take: &()) -> u64 {
    /// #         self.0 += 1;
    /// #         self.0
    /// #     }
    /// # }
    /// # impl Program for Tickets {
    /// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
    /// # }
    /// // Both calls return the same number.
    /// let script = Script::new().prefix(()).suffix(());
    /// let program = sim::parallel::blocking_scripted(script, Tickets(0), |()| 1);
    /// let outcome = catch_unwind(AssertUnwindSafe(|| program.run()));
    /// assert!(outcome.is_err(), "the history is not linearizable");
    /// ```
    #[track_caller]
    pub fn run(mut self) {
        let place = self.place;
        let parts = self.parts.take().expect("`run` takes the program");
        let Parts { program, make, budget, commands, validate } = parts;
        if seam::in_run() {
            misused(place, NOT_STEPPED);
        }
        let (book, panicked, history) = on_carrier(|| {
            let (mut book, panicked) = make(&program);
            book.blocks = true;
            let book = Arc::new(book);
            seam::add_program(book.clone());
            (book, panicked, History::new(program))
        });
        if let Some(payload) = panicked {
            raise(payload);
        }
        if book.plan.slots.iter().any(|slot| slot.faults.crash.is_some()) {
            misused(place, NOT_DROPPED);
        }
        if !book.script.is_empty() {
            misused(place, NO_NODES);
        }
        let all = Threads { book: &book, history: &history, commands: &commands };
        if let Err(payload) = thread::scope(|scope| all.stages(scope)) {
            raise(payload);
        }
        history.assert_linearizable_at(&Budget::nodes(budget), place);
        if let Some(check) = validate {
            check();
        }
    }
}

const NO_NODES: &str = "a script with faults, but a blocking program has no nodes: leave out the faults, or write \
    `sim::parallel::scripted(..)` with `.nemesis(..)`";

const NOT_STEPPED: &str = "a blocking program is run in a test whose tasks are futures, where its threads are not \
    stepped: write `sim::parallel(..).await`, or `#[sim::test(native)]` and a function that is not async";

const NOT_DROPPED: &str = "a blocking command cannot be dropped at a point: a blocking program has no crashes. Leave \
    them out of its shape or script";

/// Fails the run; outside of a run, panics.
#[track_caller]
fn misused(place: Place, message: &str) -> ! {
    on_carrier(|| {
        let (message, place) = (message.to_owned(), place.to_string());
        seam::fail(|| crate::run::Failure::Misuse { message, place });
    });
    panic!("{message} (the program is at {})", in_text(place))
}

/// Resumes a panic of another thread or of the model.
#[track_caller]
fn raise(payload: Payload) -> ! {
    if native::is_stepped() {
        // The panic hook of a simulated thread records the panic.
        panic!("{}", panic_text(&*payload));
    }
    std::panic::resume_unwind(payload)
}

impl<P: Program> Drop for Blocking<'_, P> {
    fn drop(&mut self) {
        // A test that forgets to run the program would pass.
        if self.parts.is_some() && !thread::panicking() {
            let place = in_text(self.place);
            panic!("the parallel program of {place} was never run: write `.run()` after it");
        }
    }
}

impl<P: Program> fmt::Debug for Blocking<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The threads of a program, and the state that they share.
struct Threads<'e, P: Program> {
    book: &'e RunningProgram<P>,
    history: &'e History<P>,
    commands: &'e Commands<'e, P>,
}

impl<P: Program> Clone for Threads<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Program> Copy for Threads<'_, P> {}

impl<'e, P> Threads<'e, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    /// Runs all parts in sequence. Returns the first panic of a branch.
    fn stages<'s>(self, scope: &'s Scope<'s, 'e>) -> Result<(), Payload> {
        for branches in &self.book.plan.stages {
            let busy: Vec<_> = branches.iter().filter(|branch| !branch.is_empty()).collect();
            // A single branch needs no thread.
            if let [branch] = busy[..] {
                self.branch(scope, branch, false);
                continue;
            }
            let work = |branch: &'e Vec<CommandId>| {
                scope.spawn(move || noted(|| self.branch(scope, branch, true)))
            };
            let threads: Vec<_> = busy.into_iter().map(work).collect();
            threads.into_iter().try_for_each(ScopedJoinHandle::join)?;
            self.invariant();
        }
        Ok(())
    }

    /// Runs the commands of a branch. `beside` is `true` if other branches run concurrently.
    fn branch<'s>(self, scope: &'s Scope<'s, 'e>, commands: &'e [CommandId], beside: bool) {
        for id in commands {
            let slot = self.book.slot(*id);
            if slot.faults.timeout && slot.fate == Fate::Runs {
                scope.spawn(move || noted(|| self.command(*id)));
                continue;
            }
            self.command(*id);
            if !beside {
                self.invariant();
            }
        }
    }

    /// Runs one command, and sends it again if its faults require it.
    fn command(self, id: CommandId) {
        let Threads { book, history, commands } = self;
        let slot = book.slot(id);
        if let Fate::Tombstone(points) = slot.fate {
            on_carrier(|| book.begins(id));
            (0..points).for_each(|_| native::point());
            return on_carrier(|| book.ended(id));
        }
        let begun = on_carrier(|| book.resolve(id).inspect(|_| book.begins(id)));
        let Some(op) = begun else { return };
        let op = P::guess(&op, history);
        let ret = history.call_blocking(op.clone(), || (commands.run)(op.clone()));
        if let Some(check) = &commands.postcondition {
            check(&op, &ret);
        }
        if !slot.faults.timeout {
            on_carrier(|| book.pages().returned[id.index()] = Some(ret));
        }
        if slot.faults.again {
            match P::again(&op) {
                Some(again) => drop(history.call_blocking(again, || (commands.run)(op))),
                None => drop((commands.run)(op)),
            }
        }
        on_carrier(|| book.ended(id));
    }

    fn invariant(self) {
        if let Some(check) = &self.commands.invariant {
            check();
        }
    }
}

/// Runs the work of a thread. A panic in it fails the run at the place of the panic.
fn noted(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        native::fail_by_panic();
        std::panic::resume_unwind(payload);
    }
}
