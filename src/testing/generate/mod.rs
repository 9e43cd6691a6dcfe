//! Programs from a model: what to ask of a thing, in which order, and what at the same time.
//!
//! A [`Program`] is a [`Model`] that knows what could be asked of it. From it and a [`Shape`] comes a
//! plan: a prefix, stages of branches that run at the same time, and a suffix. Everything in it is
//! drawn by a function that the caller gives, so that a plan is a function of the numbers drawn; how
//! many are drawn, below which bounds and in which order is frozen, as a trace holds nothing else.
//! Nothing is run here: see [`parallel`](crate::parallel()).
//!
//! # What is safe
//!
//! A command enters a branch only if [`Program::precondition`] holds for it and for all others of
//! its stage in whatever order the branches go on, and if none of these orders ends with all of them
//! waiting ([`Program::waits`]; `safety.rs`). A command that is dropped counts as one that happens or not,
//! one that is not waited for as one that takes effect at once, at any later time, or never; a model with several
//! [`successors`](Model::successors) is followed into each. The same is asked again of every smaller program.
//!
//! All orders are looked at, and none is sampled. That has a limit: 5000 steps from state to state in a stage,
//! 20,000 in a program. A command that would take more is left out, after it was tried without what befalls
//! it, and counted ([`ProgramRecord::omitted`](crate::run::program::ProgramRecord)); with the default shapes that
//! is 4 to 10 % of the commands in chunks and 2 to 3 % in branches for models of which hardly two orders lead to
//! the same state, as of queues and stacks, and none for others.
//! A model that has no precondition, waiting or references of its own needs no such check, and has no limit.
//!
//! # Results of earlier commands
//!
//! A command may use what another one returned if that one has certainly ended when it begins: one of
//! the prefix anywhere after it, one of a branch in that branch, in later stages and in the suffix;
//! never one of a branch beside it. It holds a [`CommandId`], and [`Program::resolve`] puts the result
//! in its place.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod defaults;
mod draft;
mod draws;
pub(crate) mod memo;
mod plan;
#[cfg(feature = "proptest")]
mod proptest;
mod reference;
mod safety;
mod script;
mod shape;
#[cfg(test)]
mod tests;

pub use self::draws::{Earlier, Gen};
pub(crate) use self::plan::{Plan, PlanSlot, Size, Unfinished};
pub use self::reference::Reference;
pub use self::safety::Results;
pub use self::script::Script;
pub use self::shape::Shape;

use std::fmt;

use self::defaults::Method;
use unpause_check::Model;

/// A model that knows what could be asked of it, from which parallel programs are made.
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
    /// A command that could be asked now. `self` is a state that the thing may be in; all that is
    /// open must be drawn from `g`. What [`precondition`](Program::precondition) refuses is generated
    /// anew a few times and then left out.
    fn generate(&self, g: &mut Gen<'_, Self>) -> Self::Op;

    /// Whether `op`, resolved, may be asked in this state. By default always.
    fn precondition(&self, op: &Self::Op) -> bool {
        let _ = op;
        defaults::called::<Self>(Method::Precondition);
        true
    }

    /// Whether `op`, resolved, waits in this state until another command has changed it, as taking from
    /// an empty queue does. A command that waits may stand where others end its waiting in whatever
    /// order. By default none waits.
    ///
    /// [`Model::step`] must then return what no client is ever told, so that the checker lets nobody
    /// get past.
    fn waits(&self, op: &Self::Op) -> bool {
        let _ = op;
        defaults::called::<Self>(Method::Waits);
        false
    }

    /// The command with the results of earlier ones in place of their [`CommandId`]s. `None` if one
    /// that it needs is not there or is of no use; then the command is not run. By default the
    /// command as it is.
    fn resolve(op: &Self::Op, results: &Results<'_, Self>) -> Option<Self::Op> {
        let _ = results;
        defaults::called::<Self>(Method::Resolve);
        Some(op.clone())
    }

    /// Commands that are simpler than `op`, not resolved, those that are most so first: what else to try in its
    /// place when a failing program is made smaller. Each is tried until one fails in the same way; then those
    /// simpler than that one, and so on, at most 500 times for a command. By default there are none.
    ///
    /// Values [drawn](Gen) become small by themselves, towards 0 and the first item. This is for what they do not
    /// know: that a command is simpler than another kind of command, that the middle of a range is its zero, that
    /// one argument must shrink together with another. A command that does not hold its
    /// [`precondition`](Program::precondition) in the program that is left is not tried, and one that was there before
    /// is not tried again, so a model may go round in a circle. Must be a function of `op`. It is called once for
    /// each command of each program, whether that fails or not.
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
    ///     /// What was drawn shrinks to -1000; a reader would rather see 1.
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

    /// What a command is that is sent again although it has returned ([`Shape::stutter`]). `None`, the
    /// default: it must change nothing, and what it returns is not looked at. A model that knows commands
    /// by their identity, and what each was told, gives the command as it is; then it is recorded as any
    /// other and what it returns is checked. It is not asked for its
    /// [`precondition`](Program::precondition): nobody can keep a network from sending it. Whether there
    /// is one must not depend on results that are not resolved yet.
    fn again(op: &Self::Op) -> Option<Self::Op> {
        let _ = op;
        None
    }

    /// The command as Rust source, for the test that a failing program is written down as. By default as
    /// [`Debug`] shows it, which is source for enums, structs and tuples of numbers, characters and `bool`s
    /// with derived `Debug`. It is none for what owns its text or items (`String`, `Vec`, a map), for
    /// `Debug` written by hand, and for numbers that are none (`NaN`): then write it here.
    fn source(op: &Self::Op) -> String {
        format!("{op:#?}")
    }

    /// The kind of a command, for counting: by default [`Model::op_text`] up to the first character
    /// that is not a letter or a digit.
    fn label(op: &Self::Op) -> String {
        let text = Self::op_text(op);
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..if end == 0 { text.len() } else { end }].to_owned()
    }

    /// The [labels](Program::label) of which every test must run a command in some program. A test in which
    /// one of them is never run fails, as [`sometimes!`](macro@crate::sometimes) has it. None by default.
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

/// Names a command of a program: its place among those that were generated, from 0. It stays the same
/// when others are left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl fmt::Debug for CommandId {
    /// `#3`, as it stands in the texts of commands; `CommandId(3)`, as in Rust source, if the alternate
    /// form is asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { write!(f, "CommandId({})", self.0) } else { write!(f, "#{}", self.0) }
    }
}

impl CommandId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
