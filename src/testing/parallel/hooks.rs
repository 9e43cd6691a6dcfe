//! Additional checks of a running program: after each command, whenever no command is running, and at the end. Also
//! drawn initial states.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::nemesis::Nemesis;
use crate::node::Node;
use crate::run::ids::Place;
use crate::run::place::in_text;
use crate::run::program::INITIAL;
use crate::seam::{self, Here, here, on_carrier};
use crate::testing::generate::{CommandId, Gen, Program};
use crate::testing::recorder::Make;
use unpause_check::Model;
use unpause_check::online::OnlineChecker;

/// A future that borrows for `'a`.
type BorrowedFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A program to run: a future that the body of the test must await. Created by [`parallel()`](super::parallel()) and
/// [`scripted`](super::scripted()).
///
/// The methods add checks besides linearizability. A check fails by a panic, for example by `assert!`. A check may use
/// the object with points of its own; they are steps of the run, but not part of the history.
///
/// ```
/// use sim::check::Model;
/// use sim::{Cell, Gen, Mutex, Program, Runner, Shape};
///
/// /// Two accounts.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Bank([i64; 2]);
///
/// impl Model for Bank {
///     /// The amount that goes from the first to the second.
///     type Op = i64;
///     /// The amount that is left in the first.
///     type Ret = i64;
///     fn step(&mut self, amount: &i64) -> i64 {
///         self.0[0] -= amount;
///         self.0[1] += amount;
///         self.0[0]
///     }
/// }
///
/// impl Program for Bank {
///     fn generate(&self, g: &mut Gen<'_, Self>) -> i64 {
///         g.range(1..9) as i64
///     }
///     fn precondition(&self, amount: &i64) -> bool {
///         self.0[0] >= *amount
///     }
/// }
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let start = sim::parallel::initial::<Bank, _>(|g| [20 + g.below(30) as i64, 0]);
///     let (lock, accounts) = (Mutex::new(()), start.map(Cell::new));
///     let sum = async || accounts[0].get().await + accounts[1].get().await;
///     sim::parallel(Shape::chunks(), Bank(start), async |amount| {
///         let _held = lock.lock().await;
///         let [first, second] = [accounts[0].get().await, accounts[1].get().await];
///         accounts[0].set(first - amount).await;
///         accounts[1].set(second + amount).await;
///         first - amount
///     })
///     .postcondition(async |_amount, left| assert!(*left >= 0))
///     .invariant(async || assert_eq!(sum().await, start[0]))
///     .validate(async || assert!(accounts[1].get().await > 0))
///     .await;
/// });
/// assert!(report.passed());
/// ```
#[must_use = "a program is run when it is awaited"]
pub struct Parallel<'a, P: Program> {
    place: Place,
    // A single trait object, so that an attempt to spawn it gives a single compiler error, which shows the name of this
    // trait.
    state: Box<dyn OnlyInTheBodyOfTheTest<'a, P> + 'a>,
}

/// The rule for awaiting a program: only in the body of the test, never in a spawned task.
trait OnlyInTheBodyOfTheTest<'a, P: Program> {
    fn hooks(&mut self) -> &mut Hooks<'a, P>;
    fn is_started(&self) -> bool;
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// The state of a program before and while it runs.
struct ParallelState<'a, P: Program> {
    hooks: Hooks<'a, P>,
    /// The function that starts the program, until the first poll takes it.
    start: Option<Box<dyn FnOnce(Hooks<'a, P>) -> BorrowedFuture<'a> + 'a>>,
    running: Option<BorrowedFuture<'a>>,
}

impl<'a, P: Program> OnlyInTheBodyOfTheTest<'a, P> for ParallelState<'a, P> {
    fn hooks(&mut self) -> &mut Hooks<'a, P> {
        &mut self.hooks
    }

    fn is_started(&self) -> bool {
        self.start.is_none()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(start) = self.start.take() {
            let hooks = std::mem::take(&mut self.hooks);
            self.running = Some(start(hooks));
        }
        let running = self.running.as_mut().expect("it was started when it was first polled");
        running.as_mut().poll(cx)
    }
}

impl<'a, P: Program + 'a> Parallel<'a, P> {
    /// Creates a program. `place` is its place in the source, and `run` runs it.
    pub(super) fn new<F>(place: Place, run: impl FnOnce(Hooks<'a, P>) -> F + 'a) -> Parallel<'a, P>
    where
        F: Future<Output = ()> + 'a,
    {
        let start = Box::new(move |hooks| Box::pin(run(hooks)) as BorrowedFuture<'a>);
        let state = ParallelState { hooks: Hooks::default(), start: Some(start), running: None };
        Parallel { place, state: Box::new(state) }
    }

    /// Runs `check` whenever no command is running: after each command that runs alone, and after each stage. Commands
    /// without a waiting branch ([`Shape::timeout`](crate::Shape::timeout)) may still run concurrently.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
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
    /// let report = Runner::new().hermetic().seeds(0..50).run(async || {
    ///     let (last, running) = (Atomic::new(0), Atomic::new(0));
    ///     sim::parallel(Shape::chunks(), Tickets(0), async |()| {
    ///         running.fetch_add(1, SeqCst).await;
    ///         let ticket = last.fetch_add(1, SeqCst).await + 1;
    ///         running.fetch_sub(1, SeqCst).await;
    ///         ticket
    ///     })
    ///     .invariant(async || assert_eq!(running.load(SeqCst).await, 0))
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    pub fn invariant(mut self, check: impl AsyncFn() + Sync + 'a) -> Self {
        self.state.hooks().invariant = Some(Box::new(check));
        self
    }

    /// Runs `check` after each command that returned, in the task of its branch, with the resolved command and its
    /// result. Other branches continue in the meantime.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Shape};
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
    /// let runner = sim::Runner::new().hermetic().seeds(0..50);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     let last = Atomic::new(0);
    ///     let shape = Shape::chunks();
    ///     sim::parallel(shape, Tickets(0), async |()| last.fetch_add(1, SeqCst).await + 1)
    ///         .postcondition(async |_take, ticket| assert!(*ticket < 4, "sold out"))
    ///         .await;
    /// });
    /// assert!(!report.passed(), "some program takes a fourth ticket");
    /// ```
    pub fn postcondition(mut self, check: impl AsyncFn(&P::Op, &P::Ret) + Sync + 'a) -> Self {
        self.state.hooks().postcondition = Some(Box::new(check));
        self
    }

    /// Feeds each call to a checker when it is recorded. The run ends at the first return that shows a violation, with
    /// the evidence from this checker. The whole history is also checked at the end; under a search, in all orders of
    /// its calls. See [`History::check_online`](crate::History::check_online).
    ///
    /// ```
    /// use sim::check::chain::{Chain, Versions};
    /// # use sim::check::Model;
    /// # use sim::check::models::VersionedRegister;
    /// use sim::check::models::{VersionedRegisterOp as Op, VersionedRegisterRet as Ret};
    /// use sim::{Gen, Mutex, Program, Runner, Shape};
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    /// struct Versioned(VersionedRegister);
    /// # impl Model for Versioned {
    /// #     type Op = Op;
    /// #     type Ret = Ret;
    /// #     fn step(&mut self, op: &Op) -> Ret { self.0.step(op) }
    /// #     fn successors(&self, op: &Op, ret: Option<&Ret>, out: &mut Vec<Self>) {
    /// #         let mut next = Vec::new();
    /// #         self.0.successors(op, ret, &mut next);
    /// #         out.extend(next.into_iter().map(Versioned));
    /// #     }
    /// # }
    /// # impl Versions for Versioned {
    /// #     type Id = u64;
    /// #     fn first(&self, op: &Op) -> u64 { self.0.first(op) }
    /// #     fn version_op(op: &Op) -> Op { op.clone() }
    /// #     fn version_ret(_: &Op, ret: &Ret) -> Ret { ret.clone() }
    /// # }
    /// impl Program for Versioned {
    ///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
    ///         let to = u64::from(g.id().0) + 1;
    ///         if g.bool() { Op::Update { from: g.below(to), to } } else { Op::Read }
    ///     }
    /// }
    ///
    /// let report = Runner::new().hermetic().seeds(0..50).run(async || {
    ///     let version = Mutex::new(0);
    ///     sim::parallel(Shape::chunks(), Versioned::default(), async |op| {
    ///         let mut version = version.lock().await;
    ///         match op {
    ///             Op::Read => Ret::Version(*version),
    ///             Op::Update { from, to } => {
    ///                 let is_current = from == *version;
    ///                 *version = if is_current { to } else { *version };
    ///                 Ret::Updated(is_current)
    ///             }
    ///         }
    ///     })
    ///     .check_online(Chain::by_key)
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn check_online<C>(mut self, make: impl Fn(P) -> C + Send + Sync + 'static) -> Self
    where
        C: OnlineChecker<P> + Send + 'static,
    {
        let make: Make<P> = Box::new(move |initial| Box::new(make(initial)));
        self.state.hooks().online = Some((make, Location::caller()));
        self
    }

    /// Adds a branch that injects faults into `nodes`. The faults are drawn, shrunk and replayed like commands, but the
    /// model does not see them. If the program has several stages, the faults are distributed over them.
    ///
    /// Faults without a duration end when the branches have ended, or when the branches have taken four times the
    /// longest fault duration. All faults end before the suffix.
    ///
    /// If the program is a [`Script`](crate::Script) with faults, it uses these faults and draws none.
    ///
    /// # Panics
    /// If, when the program runs, the number of nodes is not 1 to 32, or the nemesis has no kind of fault.
    ///
    /// ```
    /// use sim::check::models::{Counter, CounterOp, CounterRet};
    /// use sim::nemesis::{Nemesis, Victim};
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
    ///
    /// # use sim::check::Model;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    /// # struct Tally(Counter);
    /// # impl Model for Tally {
    /// #     type Op = CounterOp;
    /// #     type Ret = CounterRet;
    /// #     fn step(&mut self, op: &CounterOp) -> CounterRet { self.0.step(op) }
    /// # }
    /// # impl Program for Tally {
    /// #     fn generate(&self, g: &mut Gen<'_, Self>) -> CounterOp {
    /// #         g.choose(&[CounterOp::Increment, CounterOp::Get])
    /// #     }
    /// # }
    /// let report = Runner::new().hermetic().seeds(0..50).run(async || {
    ///     let nodes = ["a", "b"].map(sim::node);
    ///     let counter = Atomic::new(0);
    ///     let faults = Nemesis::new().pause(Victim::one()).restart(Victim::any());
    ///     sim::parallel(Shape::chunks(), Tally::default(), async |op| match op {
    ///         CounterOp::Get => CounterRet::Value(counter.load(SeqCst).await),
    ///         _ => {
    ///             counter.fetch_add(1, SeqCst).await;
    ///             CounterRet::Done
    ///         }
    ///     })
    ///     .nemesis(faults, &nodes)
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn nemesis(mut self, nemesis: Nemesis, nodes: &[Node]) -> Self {
        let from = (Location::caller(), here());
        self.state.hooks().nemesis = Some((nemesis, nodes.to_vec(), from));
        self
    }

    /// Runs `check` once at the end, if the history is linearizable.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
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
    /// let report = Runner::new().hermetic().seeds(0..50).run(async || {
    ///     let (last, sold) = (Atomic::new(0), Mutex::new(Vec::new()));
    ///     sim::parallel(Shape::chunks(), Tickets(0), async |()| {
    ///         let ticket = last.fetch_add(1, SeqCst).await + 1;
    ///         sold.lock().unwrap().push(ticket);
    ///         ticket
    ///     })
    ///     .validate(async || {
    ///         let count = sold.lock().unwrap().len() as u64;
    ///         assert_eq!(last.load(SeqCst).await, count);
    ///     })
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    pub fn validate(mut self, check: impl AsyncFn() + Sync + 'a) -> Self {
        self.state.hooks().validate = Some(Box::new(check));
        self
    }
}

impl<P: Program> Future for Parallel<'_, P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.state.poll(cx)
    }
}

impl<P: Program> Drop for Parallel<'_, P> {
    fn drop(&mut self) {
        // A test that forgets to await the program would pass.
        if !self.state.is_started() && !std::thread::panicking() {
            let place = in_text(self.place);
            panic!("the parallel program of {place} was never run: write `.await` after it");
        }
    }
}

impl<P: Program> fmt::Debug for Parallel<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A check of the object.
trait Check: Sync {
    fn check(&self) -> BorrowedFuture<'_>;
}

impl<F: AsyncFn() + Sync> Check for F {
    fn check(&self) -> BorrowedFuture<'_> {
        Box::pin(self())
    }
}

/// A check of a command and its result.
trait AsyncCheck<P: Model>: Sync {
    fn check<'s>(&'s self, op: &'s P::Op, ret: &'s P::Ret) -> BorrowedFuture<'s>;
}

impl<P: Model, F: AsyncFn(&P::Op, &P::Ret) + Sync> AsyncCheck<P> for F {
    fn check<'s>(&'s self, op: &'s P::Op, ret: &'s P::Ret) -> BorrowedFuture<'s> {
        Box::pin(self(op, ret))
    }
}

/// A nemesis, the nodes for its faults, and the place that configured it.
pub(super) type NemesisOf = (Nemesis, Vec<Node>, (Place, Here));

/// The checks of a program, and its nemesis.
pub(super) struct Hooks<'a, P: Model> {
    invariant: Option<Box<dyn Check + 'a>>,
    postcondition: Option<Box<dyn AsyncCheck<P> + 'a>>,
    validate: Option<Box<dyn Check + 'a>>,
    /// The online checker that each call is fed to, and the place that configured it.
    pub(super) online: Option<(Make<P>, Place)>,
    pub(super) nemesis: Option<NemesisOf>,
}

impl<P: Model> Default for Hooks<'_, P> {
    fn default() -> Self {
        Hooks { invariant: None, postcondition: None, validate: None, online: None, nemesis: None }
    }
}

impl<P: Model> Hooks<'_, P> {
    /// Runs the invariant, if any, while no command is running.
    pub(super) async fn invariant(&self) {
        if let Some(check) = &self.invariant {
            check.check().await;
        }
    }

    /// Runs the postcondition, if any, after a command has returned.
    pub(super) async fn returned(&self, op: &P::Op, ret: &P::Ret) {
        if let Some(check) = &self.postcondition {
            check.check(op, ret).await;
        }
    }

    /// Runs the final check, if any.
    pub(super) async fn validate(&self) {
        if let Some(check) = &self.validate {
            check.check().await;
        }
    }
}

/// Draws an initial value from the decisions of the run: for the state of the model `P`, and for the object that the
/// body creates from it. The value is replayed and shrunk like programs, and a search explores all values.
///
/// No command exists yet, so [`Gen::id`] is 0 and [`Gen::earlier`] is empty. See [`Parallel`] for an example.
///
/// ```
/// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
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
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let start = sim::parallel::initial::<Tickets, _>(|g| g.below(100));
///     let last = Atomic::new(start);
///     let shape = Shape::chunks();
///     sim::parallel(shape, Tickets(start), async |()| last.fetch_add(1, SeqCst).await + 1)
///         .postcondition(async |_take, ticket| assert!(*ticket > start))
///         .await;
/// });
/// assert!(report.passed());
/// ```
pub fn initial<P: Model, T>(make: impl FnOnce(&mut Gen<'_, P>) -> T) -> T {
    on_carrier(|| Gen::with(CommandId(0), &mut |bound| seam::draw(bound, INITIAL), make))
}
