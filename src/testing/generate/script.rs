//! A program that is written instead of generated: every command in its place, with its faults.
//!
//! A failing generated program is kept as a script (the renderer `rust` of [`report`](crate::report) writes
//! it), and a hand-written scenario is tested like generated ones: under many schedules, recorded, checked and
//! shrunk.

use super::CommandId;
use crate::nemesis::Fault;
use crate::run::program::{Faults, Part};

/// A program, command by command, for [`parallel::scripted`](crate::testing::parallel::scripted).
///
/// A modifier of a command, such as [`again`](Script::again), applies to the last one added.
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
    /// An empty script.
    pub fn new() -> Script<Op> {
        Script { commands: Vec::new(), faults: Vec::new(), budget: super::shape::BUDGET }
    }

    /// Adds a command that runs before all concurrent ones.
    #[must_use]
    pub fn prefix(self, op: Op) -> Script<Op> {
        self.add(Part::Prefix, op)
    }

    /// Adds a command at the end of a branch, which runs beside the other branches of its stage; a
    /// stage begins when the previous one has ended. Both are counted from 0, up to 1000.
    ///
    /// # Panics
    /// If one of the numbers is above 1000.
    #[must_use]
    #[track_caller]
    pub fn branch(self, stage: u32, branch: u32, op: Op) -> Script<Op> {
        assert!(
            stage <= MOST && branch <= MOST,
            "branch {branch} of stage {stage}: give numbers up to {MOST}"
        );
        self.add(Part::Branch { stage, branch }, op)
    }

    /// Adds a command that runs after all concurrent ones.
    #[must_use]
    pub fn suffix(self, op: Op) -> Script<Op> {
        self.add(Part::Suffix, op)
    }

    /// Adds a fault, which comes beside the branches, after the faults before it. Its nodes are the
    /// nodes of [`Parallel::nemesis`](crate::parallel::Parallel::nemesis): without them the program
    /// is not run.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Script<Op> {
        self.faults.push(fault);
        self
    }

    /// Gives the last command this id, by which others use its result. By default the id is the number of
    /// commands before it.
    ///
    /// # Panics
    /// If there is no command, the name is taken, or its number is above 1000.
    #[must_use]
    #[track_caller]
    pub fn named(mut self, id: CommandId) -> Script<Op> {
        let others = &self.commands[..self.commands.len().saturating_sub(1)];
        assert!(others.iter().all(|line| line.id != id), "two commands are called {id:?}");
        assert!(id.0 <= MOST, "{id:?}: give numbers up to {MOST}");
        self.last().id = id;
        self
    }

    /// The last command is sent once more after it has returned: see [`Shape::stutter`](super::Shape::stutter).
    ///
    /// # Panics
    /// If there is no command.
    #[must_use]
    #[track_caller]
    pub fn again(mut self) -> Script<Op> {
        self.last().faults.again = true;
        self
    }

    /// The last command is dropped at this point, counted from 1: see [`Shape::crash`](super::Shape::crash).
    ///
    /// # Panics
    /// If there is no command.
    #[must_use]
    #[track_caller]
    pub fn crash(mut self, point: u32) -> Script<Op> {
        self.last().faults.crash = Some(point.max(1));
        self
    }

    /// No branch waits for the last command: see [`Shape::timeout`](super::Shape::timeout).
    ///
    /// # Panics
    /// If there is no command.
    #[must_use]
    #[track_caller]
    pub fn timeout(mut self) -> Script<Op> {
        self.last().faults.timeout = true;
        self
    }

    /// The budget of the check: see [`Shape::budget`](super::Shape::budget).
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

/// The greatest number of a stage, a branch or a command.
const MOST: u32 = 1000;
