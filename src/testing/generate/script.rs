//! Scripts: programs that are written instead of generated. A script gives every command with its place and its faults.
//!
//! A failing generated program can be saved as a script (the renderer `rust` of [`report`](crate::report) writes it).
//! Handwritten scenarios are tested like generated programs: under many schedules, recorded, checked and shrunk.

use super::CommandId;
use crate::nemesis::Fault;
use crate::run::program::{Faults, Part};

/// A program, command by command, for [`parallel::scripted`](crate::testing::parallel::scripted).
///
/// A modifier of a command, such as [`again`](Script::again), applies to the last added command.
///
/// ```
/// use sim::Script;
/// use sim::check::models::CounterOp::{Get, Increment};
///
/// // Two increments at the same time, one of them sent twice, then a read of the result.
/// let script = Script::new().branch(0, 0, Increment).again().branch(0, 1, Increment).suffix(Get);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Script<Op> {
    pub(crate) commands: Vec<ScriptLine<Op>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) budget: u64,
}

/// A command of a script.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptLine<Op> {
    pub(crate) id: CommandId,
    pub(crate) part: Part,
    pub(crate) faults: Faults,
    pub(crate) op: Op,
}

impl<Op> Default for Script<Op> {
    fn default() -> Script<Op> {
        Script::new()
    }
}

impl<Op> Script<Op> {
    /// Creates an empty script.
    pub fn new() -> Script<Op> {
        Script { commands: Vec::new(), faults: Vec::new(), budget: super::shape::BUDGET }
    }

    /// Adds a command that runs before all concurrent commands.
    #[must_use]
    pub fn prefix(self, op: Op) -> Script<Op> {
        self.add(Part::Prefix, op)
    }

    /// Adds a command at the end of a branch. The branches of a stage run concurrently, and a stage begins when the
    /// previous stage has ended. Stages and branches are numbered from 0 to 100,000.
    ///
    /// # Panics
    /// If one of the numbers is above 100,000.
    ///
    /// ```
    /// use sim::check::models::{Counter, CounterOp, CounterRet};
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Script};
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
    /// let runner = sim::Runner::new().hermetic().seeds(0..50);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     let counter = Atomic::new(0);
    ///     let [add, get] = [CounterOp::Increment, CounterOp::Get];
    ///     // The second stage begins when both branches of the first stage have ended.
    ///     let script = Script::new().branch(0, 0, add.clone()).branch(0, 1, add);
    ///     let script = script.branch(1, 0, get);
    ///     sim::parallel::scripted(script, Tally::default(), async |op| match op {
    ///         CounterOp::Get => CounterRet::Value(counter.load(SeqCst).await),
    ///         _ => {
    ///             counter.fetch_add(1, SeqCst).await;
    ///             CounterRet::Done
    ///         }
    ///     })
    ///     .postcondition(async |op, ret| {
    ///         assert!(*op != CounterOp::Get || *ret == CounterRet::Value(2));
    ///     })
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn branch(self, stage: u32, branch: u32, op: Op) -> Script<Op> {
        assert!(
            stage <= MOST && branch <= MOST,
            "branch {branch} of stage {stage}: give numbers up to {MOST}"
        );
        self.add(Part::Branch { stage, branch }, op)
    }

    /// Adds a command that runs after all concurrent commands.
    #[must_use]
    pub fn suffix(self, op: Op) -> Script<Op> {
        self.add(Part::Suffix, op)
    }

    /// Adds a fault. Faults run concurrently with the branches, in the order in which they are added. The nodes of the
    /// faults are the nodes of [`Parallel::nemesis`](crate::parallel::Parallel::nemesis); without a nemesis the program
    /// does not run.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Script<Op> {
        self.faults.push(fault);
        self
    }

    /// Sets the id of the last added command. Other commands use this id to use its result. By default the id is the
    /// number of commands before it.
    ///
    /// # Panics
    /// If there is no command, the id is in use, or its number is above 100,000.
    #[must_use]
    #[track_caller]
    pub fn named(mut self, id: CommandId) -> Script<Op> {
        let others = &self.commands[..self.commands.len().saturating_sub(1)];
        assert!(others.iter().all(|line| line.id != id), "two commands are called {id:?}");
        assert!(id.0 <= MOST, "{id:?}: give numbers up to {MOST}");
        self.last().id = id;
        self
    }

    /// Makes the last added command be sent once more after it has returned: see
    /// [`Shape::stutter`](super::Shape::stutter).
    ///
    /// # Panics
    /// If there is no command.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Script};
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
    ///     let script = Script::new().prefix(()).again().suffix(());
    ///     sim::parallel::scripted(script, Tickets(0), async |()| {
    ///         last.fetch_add(1, SeqCst).await + 1
    ///     })
    ///     .await;
    /// });
    /// assert!(!report.passed(), "the repeated command takes a second ticket");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn again(mut self) -> Script<Op> {
        self.last().faults.again = true;
        self
    }

    /// Drops the last added command at this point, counted from 1: see [`Shape::crash`](super::Shape::crash).
    ///
    /// # Panics
    /// If there is no command.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Script};
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
    ///     let script = Script::new().prefix(()).crash(1).suffix(());
    ///     sim::parallel::scripted(script, Tickets(0), async |()| {
    ///         last.fetch_add(1, SeqCst).await + 1
    ///     })
    ///     .await;
    /// });
    /// // The model allows both outcomes of a dropped command.
    /// assert!(report.passed());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn crash(mut self, point: u32) -> Script<Op> {
        self.last().faults.crash = Some(point.max(1));
        self
    }

    /// Makes the branch not wait for the last added command: see [`Shape::timeout`](super::Shape::timeout).
    ///
    /// # Panics
    /// If there is no command.
    #[must_use]
    #[track_caller]
    pub fn timeout(mut self) -> Script<Op> {
        self.last().faults.timeout = true;
        self
    }

    /// Sets the budget of the check: see [`Shape::budget`](super::Shape::budget).
    #[must_use]
    pub fn budget(mut self, configurations: u64) -> Script<Op> {
        self.budget = configurations;
        self
    }

    fn add(mut self, part: Part, op: Op) -> Script<Op> {
        let id = CommandId(self.commands.len() as u32);
        self.commands.push(ScriptLine { id, part, faults: Faults::default(), op });
        self
    }

    #[track_caller]
    fn last(&mut self) -> &mut ScriptLine<Op> {
        self.commands.last_mut().expect("there is no command yet to apply this to")
    }
}

/// The maximum number of a stage, a branch or a command. A generated program that has failed must be valid as a script,
/// and programs of more commands are not generated in a reasonable time.
const MOST: u32 = 100_000;
