//! Parallel programs from a model: generated, run, recorded, checked.
//!
//! A [`Program`] says what can be asked of a thing, a [`Shape`] how much at the same time, a closure how
//! one command is asked of the real thing. [`parallel`] is the concurrent test made of them. The
//! program is drawn from the decisions of the run, so that a trace holds it and shrinking makes it
//! smaller; its branches are tasks like any other.

use std::future::Future;
use std::ops::Range;
use std::panic::Location;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::channel::oneshot;

use crate::check::Budget;
use crate::generate::{CommandId, Plan, Results, Slot};
use crate::generate::{Program, Script, Shape};
use crate::ids::{Place, TaskId};
use crate::program::{Change, CommandLayout, CommandRecord, Fate, ProgramRecord, ProgramSource};
use crate::recorder::History;
use crate::run::Condition;
use crate::seam::{self, Crew, Here, here};
use crate::task::yield_now;

/// A test whose programs are all empty has shown nothing.
const SOMETHING_ASKED: &str = "a command that `precondition` allows";

/// Sizes of programs are 0 to 100.
const SIZES: u64 = 101;

/// Generates a program, runs it on the real thing, records it and checks that the history is
/// linearizable; fails the run if it is not, or if the checker cannot decide within its budget. A test in
/// which no program has a command fails, as [`sometimes!`](macro@crate::sometimes) has it.
///
/// `run` asks one command of the thing. It may borrow whatever the body of the test has, and it needs
/// neither be `'static` nor give a future that is `Send`: in a run there is one thread, and on real
/// threads every branch makes its futures where it polls them.
///
/// Prefix and suffix are run by the current task, each branch by a task of its own. A program is a
/// part of the decisions of its run: replayed with them, and shrunk together with the schedule.
///
/// # Panics
/// In a run, if the current task is not the body of the test. Outside one, if the history is not
/// linearizable. If what is returned is dropped before it was polled: a forgotten `.await` is no pass.
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
pub fn parallel<P, F>(shape: Shape, program: P, run: F) -> impl Future<Output = ()>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync,
{
    let (place, here) = (Location::caller(), here());
    let budget = shape.budget;
    let book = move |program: &P| {
        let book = Book::draw(&shape, program);
        let runs = u64::from(book.plan.slots.iter().any(|slot| slot.op.is_some()));
        let place = place.into();
        seam::note_condition(Condition { name: SOMETHING_ASKED, place, percent: 0, runs });
        book
    };
    awaited(place, run_book(book, program, run, budget, (place, here)))
}

/// Runs a program that is written down, as [`parallel`] does one that it generates: recorded, checked,
/// made smaller if it fails.
///
/// `program` is the model, and says what of the script is allowed and what results stand for; it is asked
/// to generate nothing.
///
/// # Panics
/// As [`parallel`]; and if the model does not allow a command where the script has it, whatever the order.
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
pub fn scripted<P, F>(script: Script<P::Op>, program: P, run: F) -> impl Future<Output = ()>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync,
{
    let (place, here) = (Location::caller(), here());
    let budget = script.budget;
    let book = move |program: &P| Book::of_script(script, program, place);
    awaited(place, run_book(book, program, run, budget, (place, here)))
}

/// The future of a program written at `place`, which has to be awaited.
fn awaited(place: Place, run: impl Future<Output = ()>) -> impl Future<Output = ()> {
    let unawaited = Unawaited(place);
    async move {
        unawaited.end();
        run.await;
    }
}

/// Stands for a program, written at this place, of which nothing was run. Left so, it panics: a test that
/// forgot to await it would pass.
struct Unawaited(Place);

impl Unawaited {
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unawaited {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the parallel program of {} was never run: write `.await` after it", self.0);
        }
    }
}

/// Runs the program of the book that `make` makes.
async fn run_book<P, F>(
    make: impl FnOnce(&P) -> Book<P>,
    program: P,
    run: F,
    budget: u64,
    (place, here): (Place, Here),
) where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync,
{
    let book = Arc::new(make(&program));
    seam::add_program(book.clone());
    let history = History::new(program);
    let actors = Actors { book: &book, history: &history, run: &run };
    let crew = Crew::new();
    let script = actors.all(&crew, here);
    match crew.drive(script).await {
        Some(Ok(())) => history.assert_linearizable_at(&Budget::nodes(budget), place),
        Some(Err(error)) => match error.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => std::future::pending().await,
        },
        // The current task was aborted: it is dropped at its next await.
        None => std::future::pending().await,
    }
}

/// A program and what became of it.
struct Book<P: Program> {
    initial: P,
    plan: Plan<P>,
    interleavings_max: u64,
    /// Which of the values drawn in the run are the program, and which is the first change.
    draws: Range<usize>,
    changes: usize,
    pages: Mutex<Pages<P>>,
}

/// What becomes of the next command: given, and not explored.
fn change() -> Change {
    Change::of_decision(seam::given(Change::BOUND, 0, "change of the program"))
}

struct Pages<P: Program> {
    /// By [`CommandId`], as in [`CommandLayout`].
    ran: Vec<Option<(TaskId, u32, u32)>>,
    drawn: Vec<(usize, usize)>,
    returned: Vec<Option<P::Ret>>,
}

impl<P: Program> Book<P> {
    fn draw(shape: &Shape, program: &P) -> Book<P> {
        let first = seam::position().0;
        let size = seam::seed().saturating_mul(2).saturating_add(20).min(SIZES - 1);
        let size = seam::given(SIZES, size, "size of the program") as u32;
        let mut changes = None;
        let mut change = || {
            changes.get_or_insert(seam::position().0);
            change()
        };
        let mut draw = |bound| seam::draw(bound, "program");
        let plan = Plan::draw(shape, size, program, &mut draw, &mut change);
        Book::of(plan, program, first, changes.unwrap_or(first), shape.interleavings())
    }

    fn of_script(script: Script<P::Op>, program: &P, place: Place) -> Book<P> {
        let first = seam::position().0;
        match Plan::of_script(script, program, &mut change) {
            Ok(plan) => {
                let most = plan.interleavings;
                Book::of(plan, program, first, first, most)
            }
            Err(id) => panic!(
                "the model does not allow command {id:?} of the script that is run at {place}: in some \
                 order of what runs at the same time its precondition does not hold, or all wait"
            ),
        }
    }

    fn of(plan: Plan<P>, program: &P, first: usize, changes: usize, most: u64) -> Book<P> {
        let commands = plan.slots.len();
        let pages = Pages {
            ran: vec![None; commands],
            drawn: vec![(0, 0); commands],
            returned: vec![None; commands],
        };
        let draws = first..seam::position().0;
        let (initial, pages) = (program.clone(), Mutex::new(pages));
        Book { initial, plan, interleavings_max: most, draws, changes, pages }
    }

    fn pages(&self) -> MutexGuard<'_, Pages<P>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, id: CommandId) -> &Slot<P> {
        &self.plan.slots[id.index()]
    }

    /// The command with the results of earlier ones in place.
    fn resolve(&self, id: CommandId, place: (usize, usize)) -> Option<P::Op> {
        let pages = self.pages();
        let visible = |n: usize| self.plan.sees(place, CommandId(n as u32));
        let hidden = |n: usize| if visible(n) { pages.returned[n].clone() } else { None };
        let known: Vec<_> = (0..pages.returned.len()).map(hidden).collect();
        drop(pages);
        P::resolve(self.slot(id).op.as_ref()?, &Results { known: &known })
    }

    fn begins(&self, id: CommandId) {
        if seam::in_run() {
            let (task, (drawn, step)) = (TaskId(seam::client() as u32), seam::position());
            let mut pages = self.pages();
            pages.ran[id.index()] = Some((task, step, step));
            pages.drawn[id.index()] = (drawn, drawn);
        }
    }

    fn ended(&self, id: CommandId) {
        let (drawn, step) = seam::position();
        let mut pages = self.pages();
        if let Some((_, _, ended)) = &mut pages.ran[id.index()] {
            *ended = step;
            pages.drawn[id.index()].1 = drawn;
        }
    }
}

impl<P> ProgramSource for Book<P>
where
    P: Program + Send + Sync,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    fn record(&self) -> ProgramRecord {
        let record = |(layout, slot): (CommandLayout, &Slot<P>)| {
            let op = slot.op.as_ref();
            let (text, faults) = (op.map_or_else(|| "nothing".to_owned(), P::op_text), slot.faults);
            let text = format!("{text}{faults}");
            let label = op.map_or_else(String::new, P::label);
            let source = op.map_or_else(String::new, P::source);
            CommandRecord { layout, text, label, source, faults }
        };
        ProgramRecord {
            model: P::name().to_owned(),
            initial: format!("{:#?}", self.initial),
            op_type: std::any::type_name::<P::Op>().to_owned(),
            interleavings: self.plan.interleavings,
            interleavings_max: self.interleavings_max,
            draws: self.draws.clone(),
            commands: self.layout().into_iter().zip(&self.plan.slots).map(record).collect(),
        }
    }

    fn layout(&self) -> Vec<CommandLayout> {
        let pages = self.pages();
        let layout = |(n, slot): (usize, &Slot<P>)| {
            let Slot { part, fate, .. } = *slot;
            let (ran, drawn) = (pages.ran[n], pages.drawn[n]);
            CommandLayout { part, fate, change: self.changes + n, ran, drawn }
        };
        self.plan.slots.iter().enumerate().map(layout).collect()
    }
}

/// What the tasks of a program share.
struct Actors<'a, P: Program, F> {
    book: &'a Book<P>,
    history: &'a History<P>,
    run: &'a F,
}

impl<P: Program, F> Clone for Actors<'_, P, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Program, F> Copy for Actors<'_, P, F> {}

impl<'a, P, F> Actors<'a, P, F>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
    F: AsyncFn(P::Op) -> P::Ret + Sync,
{
    /// All parts, one after the other.
    async fn all(self, crew: &Crew<'a>, here: Here) -> Result<(), seam::JoinError> {
        for (stage, branches) in self.book.plan.stages.iter().enumerate() {
            let busy = branches.iter().enumerate().filter(|(_, branch)| !branch.is_empty());
            let mut busy: Vec<_> = busy
                .map(|(branch, ids)| {
                    ((stage, branch), self.unheard(crew, here, (stage, branch), ids))
                })
                .collect();
            // One alone needs no task.
            if busy.len() == 1 {
                let (place, unheard) = busy.remove(0);
                self.branch(place, unheard).await;
                continue;
            }
            let tasks: Vec<_> = busy
                .into_iter()
                .map(|(place, unheard)| crew.lend(here, move || self.branch(place, unheard)))
                .collect();
            for mut task in tasks {
                let joined = std::future::poll_fn(|cx| task.poll_join(cx, here)).await;
                // A task that is a part of this one hands nothing over, as one that was aborted.
                joined.or_else(|error| if error.is_panic() { Err(error) } else { Ok(()) })?;
            }
        }
        Ok(())
    }

    /// Tasks for the commands of a branch that it does not wait for, with what lets them begin.
    fn unheard(
        self,
        crew: &Crew<'a>,
        here: Here,
        place: (usize, usize),
        ids: &[CommandId],
    ) -> Vec<(CommandId, oneshot::Sender<()>)> {
        let slots = ids.iter().map(|id| (*id, self.book.slot(*id)));
        let unheard = slots.filter(|(_, slot)| slot.faults.unheard && slot.fate == Fate::Runs);
        let lend = |(id, _)| {
            let (begin, begins) = oneshot::channel();
            let work = async move || {
                if begins.await.is_ok() {
                    self.command(id, place).await;
                }
            };
            crew.lend(here, work).detach();
            (id, begin)
        };
        unheard.map(lend).collect()
    }

    /// The commands of a branch.
    async fn branch(
        self,
        (stage, branch): (usize, usize),
        unheard: Vec<(CommandId, oneshot::Sender<()>)>,
    ) {
        let mut unheard = unheard.into_iter().peekable();
        for id in &self.book.plan.stages[stage][branch] {
            match unheard.next_if(|(next, _)| next == id) {
                // It may be gone already, if all is being aborted.
                Some((_, begin)) => drop(begin.send(())),
                None => self.command(*id, (stage, branch)).await,
            }
        }
    }

    /// One command, with what befalls it.
    async fn command(self, id: CommandId, place: (usize, usize)) {
        let Actors { book, history, run } = self;
        let slot = book.slot(id);
        if let Fate::Tombstone(points) = slot.fate {
            book.begins(id);
            for _ in 0..points {
                yield_now().await;
            }
            return book.ended(id);
        }
        let Some(op) = book.resolve(id, place) else { return };
        book.begins(id);
        let faults = slot.faults;
        let ret = match faults.crash {
            None => Some(history.call(op.clone(), run(op.clone())).await),
            crash if !faults.again => up_to(crash, history.call(op.clone(), run(op.clone()))).await,
            // Who did not hear asks once more, and what it is told then is the answer to both.
            crash => {
                let until_heard = async {
                    match up_to(crash, run(op.clone())).await {
                        Some(ret) => ret,
                        None => run(op.clone()).await,
                    }
                };
                Some(history.call(op.clone(), until_heard).await)
            }
        };
        if !faults.unheard {
            book.pages().returned[id.index()] = ret;
        }
        if faults.again && faults.crash.is_none() {
            match P::again(&op) {
                Some(again) => drop(history.call(again, run(op)).await),
                None => drop(run(op).await),
            }
        }
        book.ended(id);
    }
}

/// The result of `work`; none if it is dropped before it has one, at this point counted from 1.
async fn up_to<T>(point: Option<u32>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut points = 0;
    let mut poll = |cx: &mut Context<'_>| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => {
            points += 1;
            if Some(points) == point { Poll::Ready(None) } else { Poll::Pending }
        }
    };
    std::future::poll_fn(|cx| poll(cx)).await
}
