//! Programs from a model: commands, their order, and their concurrency.
//!
//! A [`Program`] is a [`Model`] that can generate commands. A `Program` and a [`Shape`] determine a plan: a prefix,
//! stages of concurrent branches, and a suffix. The caller's function draws every choice in the plan, so the plan is a
//! function of the drawn numbers. The number, bounds and order of the draws are frozen, because a trace contains only
//! these numbers. This module runs nothing: see [`parallel`](crate::parallel()).
//!
//! # What is safe
//!
//! A command is added to a branch only if two conditions hold in every order of the branches. First,
//! [`Program::precondition`] holds for the command and for all other commands of its stage. Second, no order ends with
//! all branches waiting ([`Program::waits`]; `safety.rs`). A dropped command may take effect or not. A command without
//! a waiting branch may take effect at once, at any later time, or never. If a model has several
//! [`successors`](Model::successors), all of them are followed. Every smaller program is checked again in the same way.
//!
//! All orders are checked, not only a sample. The check is limited to 5000 state transitions in a stage, and 20,000 in
//! a program. A command that would exceed this limit is tried without its faults, then left out and counted
//! ([`ProgramRecord::omitted`](crate::run::program::ProgramRecord)). With the default shapes, this affects models such
//! as queues and stacks, because their different orders rarely lead to the same state. For such models, 4 to 10 % of
//! the commands in chunks and 2 to 3 % in branches are left out. For other models, no commands are left out. A model
//! without own preconditions, waits or references needs no check and has no limit.
//!
//! # Results of earlier commands
//!
//! A command may use the result of another command if that command has certainly ended before. All later
//! commands may use the result of a prefix command. The result of a branch command may be used later in the same
//! branch, in later stages and in the suffix. Results of concurrent commands cannot be used. A command contains the
//! [`CommandId`] of the result, and [`Program::resolve`] replaces the id by the result.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod defaults;
mod draft;
mod draws;
mod guess;
pub(crate) mod memo;
mod program_plan;
#[cfg(feature = "proptest")]
mod proptest;
mod reference;
mod safety;
mod script;
mod shape;
#[cfg(test)]
mod tests;
mod topology;

pub use self::draws::{Earlier, Gen};
pub use self::guess::Guess;
pub(crate) use self::program_plan::{PlanSlot, ProgramPlan, ProgramSize, Unfinished};
pub use self::reference::Reference;
pub use self::safety::Results;
pub use self::script::Script;
pub use self::shape::Shape;
pub use self::topology::{Client, Topology};

use std::fmt;

use self::defaults::Method;
use crate::testing::recorder::History;
use unpause_check::Model;

/// A model that generates commands for parallel programs.
///
/// ```
/// use sim::check::Model;
/// use sim::{Gen, Program};
///
/// /// A counter from which no more is taken than there is.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Stock(u32);
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Op { Put, Take }
///
/// impl Model for Stock {
///     type Op = Op;
///     type Ret = ();
///     fn step(&mut self, op: &Op) {
///         match op {
///             Op::Put => self.0 += 1,
///             Op::Take => self.0 = self.0.saturating_sub(1),
///         }
///     }
/// }
///
/// impl Program for Stock {
///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
///         if g.bool() { Op::Put } else { Op::Take }
///     }
///     fn precondition(&self, op: &Op) -> bool {
///         *op == Op::Put || self.0 > 0
///     }
/// }
/// ```
pub trait Program: Model {
    /// Generates a command. `self` is a possible state of the object. All choices must be drawn from `g`. A command
    /// that [`precondition`](Program::precondition) refuses is generated again a few times and then left out.
    fn generate(&self, g: &mut Gen<'_, Self>) -> Self::Op;

    /// Returns `true` if `op`, with resolved ids, is allowed in this state. By default, all commands are allowed.
    fn precondition(&self, op: &Self::Op) -> bool {
        let _ = op;
        defaults::called::<Self>(Method::Precondition);
        true
    }

    /// Returns `true` if `op`, with resolved ids, waits in this state until another command changes the state. For
    /// example, taking from an empty queue waits. A waiting command is placed only where other commands end its wait in
    /// every order. By default, no command waits.
    ///
    /// In such a state, [`Model::step`] must return a result that no client ever receives, so that the checker places
    /// no operation in it.
    fn waits(&self, op: &Self::Op) -> bool {
        let _ = op;
        defaults::called::<Self>(Method::Waits);
        false
    }

    /// Returns the command with the results of earlier commands in place of their [`CommandId`]s. Return `None` if a
    /// needed result is missing or unusable; the command then does not run. By default, returns the command unchanged.
    fn resolve(op: &Self::Op, results: &Results<'_, Self>) -> Option<Self::Op> {
        let _ = results;
        defaults::called::<Self>(Method::Resolve);
        Some(op.clone())
    }

    /// Returns the resolved command with values in place of its [`Guess`]es, when the command runs. Usually uses
    /// [`History::guess`]. By default, returns the command unchanged.
    ///
    /// During the generation of a program, the model steps with commands whose guesses are not replaced yet.
    /// [`precondition`](Program::precondition) and [`waits`](Program::waits) do not see the guessed values either.
    ///
    /// ```
    /// # use sim::check::Model;
    /// use sim::{Atomic, Gen, History, Ordering::SeqCst, Program, Runner, Shape, generate::Guess};
    ///
    /// /// A value that is replaced if it is the expected one.
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Register(u64);
    ///
    /// #[derive(Clone, PartialEq, Debug)]
    /// struct Cas { guess: Guess, from: u64, to: u64 }
    ///
    /// impl Model for Register {
    ///     type Op = Cas;
    ///     type Ret = bool;
    ///     fn step(&mut self, op: &Cas) -> bool {
    ///         let done = self.0 == op.from;
    ///         self.0 = if done { op.to } else { self.0 };
    ///         done
    ///     }
    /// }
    ///
    /// impl Program for Register {
    ///     fn generate(&self, g: &mut Gen<'_, Self>) -> Cas {
    ///         Cas { guess: g.guess(), from: 0, to: u64::from(g.id().0) + 1 }
    ///     }
    ///     fn guess(op: &Cas, history: &History<Self>) -> Cas {
    ///         // A call that was done shows the value that it wrote; an open one may have written it.
    ///         let written = |op: &Cas, done: Option<&bool>| done.unwrap_or(&true).then_some(op.to);
    ///         let from = history.guess(op.guess, written).unwrap_or(0);
    ///         Cas { from, ..op.clone() }
    ///     }
    /// }
    ///
    /// let report = Runner::new().hermetic().seeds(0..50).run(async || {
    ///     let value = Atomic::new(0);
    ///     sim::parallel(Shape::chunks(), Register(0), async |op| {
    ///         value.compare_exchange(op.from, op.to, SeqCst, SeqCst).await.is_ok()
    ///     })
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    fn guess(op: &Self::Op, history: &History<Self>) -> Self::Op {
        let _ = history;
        op.clone()
    }

    /// Returns commands that are simpler than the unresolved command `op`, the simplest first. These commands are
    /// candidates to replace `op` when a failing program is shrunk. Candidates are tried until the program fails in the
    /// same way. Then the candidates for the simplified command are tried, and so on, at most 500 times per command. By
    /// default, there are no candidates.
    ///
    /// [Drawn](Gen) values shrink by themselves, towards 0 and the first item. Implement this method for relations
    /// between values. For example, one kind of command is simpler than another kind, the middle of a range is the
    /// simplest value, or two arguments must shrink together. A candidate whose [`precondition`](Program::precondition)
    /// does not hold in the remaining program is not tried. No candidate is tried twice, so a model may return an
    /// earlier command again. The result must depend only on `op`. This method is called once for each command of each
    /// program, even if no program fails.
    ///
    /// ```
    /// # use sim::check::Model;
    /// # use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Sum(i64);
    /// # #[derive(Clone, PartialEq, Debug)]
    /// # enum Op { Add(i64), Get }
    /// # impl Model for Sum {
    /// #     type Op = Op;
    /// #     type Ret = i64;
    /// #     fn step(&mut self, op: &Op) -> i64 {
    /// #         if let Op::Add(n) = op { self.0 += n; }
    /// #         self.0
    /// #     }
    /// # }
    /// impl Program for Sum {
    ///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
    ///         if g.bool() { Op::Add(g.below(2000) as i64 - 1000) } else { Op::Get }
    ///     }
    ///     /// The drawn number shrinks to -1000, but 1 is easier to read.
    ///     fn shrink(op: &Op) -> Vec<Op> {
    ///         match op {
    ///             Op::Add(1) | Op::Get => vec![],
    ///             Op::Add(n) => vec![Op::Add(1), Op::Add(n / 2)],
    ///         }
    ///     }
    /// }
    ///
    /// let report = Runner::new().hermetic().seeds(0..500).run(async || {
    ///     let sum = Atomic::new(0);
    ///     sim::parallel(Shape::chunks(), Sum(0), async |op| {
    ///         let before = sum.load(SeqCst).await;
    ///         let Op::Add(n) = op else { return before };
    ///         sum.store(before + n, SeqCst).await; // An update may be lost.
    ///         before + n
    ///     })
    ///     .await;
    /// });
    /// # if sim::SIMULATED {
    /// let found = report.finding.expect("an update is lost");
    /// for command in found.run.programs[0].left() {
    ///     assert!(["Add(1)", "Get"].contains(&command.text.as_str()));
    /// }
    /// # }
    /// ```
    fn shrink(op: &Self::Op) -> Vec<Self::Op> {
        let _ = op;
        Vec::new()
    }

    /// Returns the command to send again after it has returned ([`Shape::stutter`]). `None` is the default: the
    /// repeated command must then change nothing, and its result is ignored. If a model identifies commands and stores
    /// their results, return the command unchanged. The repetition is then recorded like other commands, and its result
    /// is checked. Its [`precondition`](Program::precondition) is not checked, because a network may always repeat a
    /// message. The choice of `Some` or `None` must not depend on unresolved results.
    fn again(op: &Self::Op) -> Option<Self::Op> {
        let _ = op;
        None
    }

    /// Returns the command as Rust source, for the regression test of a failing program. By default, returns the output
    /// of [`Debug`]. This output is valid source for enums, structs and tuples of numbers, characters and `bool`s with
    /// derived `Debug`. It is not valid source for types that own text or items (`String`, `Vec`, a map), for a
    /// hand-written `Debug`, and for floats that are `NaN` or infinite. Implement this method for such types.
    fn source(op: &Self::Op) -> String {
        format!("{op:#?}")
    }

    /// Returns the kind of a command, for counting. By default, returns [`Model::op_text`] up to the first character
    /// that is not a letter or a digit.
    fn label(op: &Self::Op) -> String {
        let text = Self::op_text(op);
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..if end == 0 { text.len() } else { end }].to_owned()
    }

    /// Returns the [labels](Program::label) that every test must run in some program. A test fails if a label never
    /// runs, like a [`sometimes!`](macro@crate::sometimes) that never holds. By default, there are no required labels.
    ///
    /// ```
    /// # use sim::check::Model;
    /// # use sim::{Gen, Program};
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Stock(u32);
    /// # #[derive(Clone, PartialEq, Debug)]
    /// # enum Op { Put, Take }
    /// # impl Model for Stock {
    /// #     type Op = Op;
    /// #     type Ret = ();
    /// #     fn step(&mut self, _: &Op) {}
    /// # }
    /// impl Program for Stock {
    ///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
    ///         if g.bool() { Op::Put } else { Op::Take }
    ///     }
    ///     fn labels() -> &'static [&'static str] {
    ///         &["Put", "Take"]
    ///     }
    /// }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// #     sim::parallel(sim::Shape::chunks(), Stock(0), async |_| ()).await;
    /// # });
    /// # assert!(report.passed());
    /// ```
    fn labels() -> &'static [&'static str] {
        &[]
    }
}

/// The id of a command in a program: its position among the generated commands, from 0. The id does not change when
/// other commands are left out.
///
/// ```
/// let id = sim::CommandId(3);
/// assert_eq!(format!("{id:?}"), "#3");
/// assert_eq!(format!("{id:#?}"), "sim::CommandId(3)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl fmt::Debug for CommandId {
    /// Formats the id as `#3`, like in the texts of commands; in the alternate form as Rust source:
    /// `sim::CommandId(3)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => write!(f, "sim::CommandId({})", self.0),
            false => write!(f, "#{}", self.0),
        }
    }
}

impl CommandId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
