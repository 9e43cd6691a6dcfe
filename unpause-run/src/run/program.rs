//! A generated program as data: the positions and fates of its commands.
//!
//! The commands themselves are values of the user's types. This module contains the data for reports and shrinking. A
//! command is a position in the program, the decision whether it runs there, and the steps that it took.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use unpause_ordered::sort_by_key;

use crate::run::ids::TaskId;

/// A generated program that was executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProgramRecord {
    /// The name of the model from which the program was generated.
    pub model: String,
    /// The initial state of the model, as Rust source.
    pub initial: String,
    /// The type of the commands, with its path.
    pub op_type: String,
    /// The number of orders in which the commands could have taken effect; `u64::MAX` if there are more.
    pub interleavings: u64,
    /// The same number, for the largest program with this shape.
    pub interleavings_max: u64,
    /// The commands as they were generated, including commands that were left out later.
    pub commands: Vec<CommandRecord>,
    /// The range of drawn values of the run, counted from 0, from which the program was generated.
    pub draws: Range<usize>,
    /// The commands that were left out during generation.
    pub omitted: Omitted,
    /// The number of model steps evaluated during generation.
    pub work: u64,
    /// The activity that panicked, if the model panicked during generation. The program did not run in this case.
    pub unfinished: Option<String>,
    /// True if the commands block, because `blocking` executed the program.
    pub blocks: bool,
    /// The guided fault victims that are not pinned.
    pub pins: Vec<Pin>,
}

/// The numbers of commands that generation left out, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Omitted {
    /// The number of times that a command was generated again, or finally left out, because the model refused it.
    pub refused: u32,
    /// The number of commands with a precondition that did not hold in some order.
    pub precondition: u32,
    /// The number of commands that use a result which does not exist in some order.
    pub reference: u32,
    /// The number of commands that would have waited forever in some order.
    pub waiting: u32,
    /// The number of commands with too many orders and states to check.
    pub unchecked: u32,
    /// The number of commands that run without faults, because there are too many orders and states to check.
    pub faults: u32,
    /// True if a script runs unchecked, because there are too many orders and states to check.
    pub trusted: bool,
}

impl Omitted {
    /// Returns the number of commands left out.
    ///
    /// ```
    /// use sim::run::program::Omitted;
    /// let omitted = Omitted { refused: 11, precondition: 1, unchecked: 2, ..Omitted::default() };
    /// assert_eq!(omitted.commands(), 3);
    /// ```
    pub fn commands(&self) -> u32 {
        let others = [self.reference, self.waiting, self.unchecked];
        others.into_iter().fold(self.precondition, u32::saturating_add)
    }

    /// Adds the omitted commands of another program.
    #[doc(hidden)]
    pub fn add(&mut self, other: &Omitted) {
        // The sum is over all runs of a test, and may come from a file.
        for (own, other) in [
            (&mut self.refused, other.refused),
            (&mut self.precondition, other.precondition),
            (&mut self.reference, other.reference),
            (&mut self.waiting, other.waiting),
            (&mut self.unchecked, other.unchecked),
            (&mut self.faults, other.faults),
        ] {
            *own = own.saturating_add(other);
        }
        self.trusted |= other.trusted;
    }

    /// Returns the number of omitted commands and the reasons as text; `None` if no command was omitted.
    #[doc(hidden)]
    pub fn text(&self) -> Option<String> {
        let reasons = [
            (self.precondition, "by their precondition"),
            (self.reference, "for a result that is not there"),
            (self.waiting, "as they would wait for ever"),
            (self.unchecked, "with too many orders to be checked"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} {why}"))
            .collect();
        let mut parts = Vec::new();
        if !reasons.is_empty() {
            parts.push(format!("{} commands: {}", self.commands(), reasons.join(", ")));
        }
        if self.faults > 0 {
            let why =
                "are not dropped and are waited for, as there are too many orders to be checked";
            parts.push(format!("{} commands {why}", self.faults));
        }
        if self.refused > 0 {
            parts.push(format!("the model refused {} that were generated", self.refused));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The number of orders above which the check of a program may have to give up.
const FEASIBLE: u64 = 1_000_000_000_000;

impl ProgramRecord {
    /// Returns a warning about programs of this shape if a check of such a program may not complete.
    #[doc(hidden)]
    pub fn warning(&self) -> Option<String> {
        let most = self.interleavings_max;
        let count =
            if most == u64::MAX { "more than 10^19".to_owned() } else { format!("{most:.1e}") };
        let text = format!(
            "the commands of a program of {} can take effect in {count} orders: the check of one may give up \
             and fail the test as undecided. Let the shape have fewer or shorter branches, or give the model \
             a `partition`",
            self.model
        );
        let trusted = format!(
            "the preconditions of {} were not checked in all orders of a script: there are too many. It is run \
             as it stands, so a command may be asked where the model does not allow it. Write down fewer \
             commands that run at the same time",
            self.model
        );
        let trusted = self.omitted.trusted.then_some(trusted);
        trusted.or((most > FEASIBLE).then_some(text))
    }

    /// Returns `true` if the program can be written as a test.
    #[doc(hidden)]
    pub fn can_be_written(&self) -> bool {
        self.unfinished.is_none() && !self.left().is_empty()
    }

    /// Returns the remaining commands, part by part, in running order within a part.
    pub fn left(&self) -> Vec<&CommandRecord> {
        let runs = |command: &&CommandRecord| command.layout.fate != Fate::Absent;
        let mut left: Vec<&CommandRecord> = self.commands.iter().filter(runs).collect();
        // The stable sort is right for commands that moved to the end of the prefix or to the start of the suffix.
        // These commands were generated after the prefix and before the suffix.
        sort_by_key(&mut left, |command| command.layout.part);
        left
    }
}

/// A command of a generated program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandRecord {
    /// The position and the fate of the command.
    pub layout: CommandLayout,
    /// The command as text, with its faults: `Increment, sent again`.
    pub text: String,
    /// The label of the command, for counting.
    pub label: String,
    /// The command as Rust source.
    pub source: String,
    /// The faults of the command.
    pub faults: Faults,
}

impl CommandRecord {
    /// Returns the text of the command, or of the points that replace it.
    #[doc(hidden)]
    pub fn tells(&self) -> String {
        match self.layout.fate {
            Fate::Tombstone(points) => format!("{points} points in place of {}", self.text),
            Fate::Runs | Fate::Absent => self.text.clone(),
        }
    }
}

/// The injected faults of a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Faults {
    /// True if the command is sent again.
    pub again: bool,
    /// The point at which the command is dropped, counted from 1.
    pub crash: Option<u32>,
    /// True if the branch of the command does not wait for it.
    pub timeout: bool,
}

impl Faults {
    /// Returns `true` if the branch sends the command again after its return. If the command was dropped before, the
    /// same call is sent again without having returned.
    #[doc(hidden)]
    pub fn is_repeated(&self) -> bool {
        self.again && self.crash.is_none() && !self.timeout
    }
}

impl fmt::Display for Faults {
    /// Writes the faults after the text of the command: `, dropped at point 3, sent again`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(point) = self.crash {
            write!(f, ", dropped at point {point}")?;
        }
        f.write_str(if self.again { ", sent again" } else { "" })?;
        f.write_str(if self.timeout { ", not waited for" } else { "" })
    }
}

/// The position and the fate of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandLayout {
    /// The position of the command, after a move by [`Change`].
    pub part: Part,
    /// The fate of the command.
    pub fate: Fate,
    /// The index, from 0, of the drawn value that is the [`Change`] of this command.
    pub change: usize,
    /// The half-open range of drawn values that replace the command with a simpler one: a number from 1 for each
    /// simplification, then 0.
    pub simpler: (usize, usize),
    /// The number of simpler commands that the model offers for the command's current form.
    pub candidates: u64,
    /// The task that ran the command, with the command's first step and last step.
    pub ran: Option<(TaskId, u32, u32)>,
    /// The number of values that all tasks had drawn in the run when the command began and when it ended.
    pub drawn: (usize, usize),
}

/// A guided fault victim and its node. The drawn value becomes this node in later runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// The index of the drawn value in the run, from 0.
    pub draw: usize,
    /// The value that represents the node.
    pub value: u64,
}

/// A part of a program. Parts run one after the other, but the branches of a stage run concurrently. Parts are ordered
/// as they run, and the faults of a stage come after its branches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// The first part, which runs in one task.
    Prefix,
    /// A sequence that runs concurrently with the other branches of its stage, numbered from 0.
    Branch {
        /// The stage.
        stage: u32,
        /// The number of the branch in the stage.
        branch: u32,
    },
    /// The faults that run concurrently with a stage: see `Parallel::nemesis`.
    Nemesis {
        /// The stage.
        stage: u32,
    },
    /// The last part, which runs in one task.
    Suffix,
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        let key = |part: &Part| match *part {
            Part::Prefix => (0, 0, 0),
            Part::Branch { stage, branch } => (1, stage, u64::from(branch)),
            Part::Nemesis { stage } => (1, stage, u64::MAX),
            Part::Suffix => (2, 0, 0),
        };
        key(self).cmp(&key(other))
    }
}

impl Part {
    /// Returns the stage to which the part belongs, if any.
    #[doc(hidden)]
    pub fn stage(self) -> Option<u32> {
        match self {
            Part::Branch { stage, .. } | Part::Nemesis { stage } => Some(stage),
            Part::Prefix | Part::Suffix => None,
        }
    }

    /// Parses a part from the text that [`Display`](fmt::Display) writes.
    ///
    /// ```
    /// use sim::run::program::Part;
    /// for part in [Part::Branch { stage: 3, branch: 0 }, Part::Nemesis { stage: 0 }, Part::Suffix] {
    ///     assert_eq!(Part::parse(&part.to_string()), Some(part));
    /// }
    /// assert_eq!(Part::parse("0.1"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Part> {
        let number = |digits: &str| -> Option<u32> {
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            let leading = digits.len() > 1 && digits.starts_with('0');
            if plain && !leading { digits.parse().ok() } else { None }
        };
        match text {
            "prefix" => Some(Part::Prefix),
            "suffix" => Some(Part::Suffix),
            other => {
                let (stage, branch) = other.split_once('.')?;
                let stage = number(stage)?.checked_sub(1)?;
                match branch {
                    "nemesis" => Some(Part::Nemesis { stage }),
                    branch => Some(Part::Branch { stage, branch: number(branch)? }),
                }
            }
        }
    }
}

impl fmt::Display for Part {
    /// Writes `prefix`, `1.0`, `1.nemesis` or `suffix`, with the stage counted from 1 and the branch from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Prefix => f.write_str("prefix"),
            Part::Branch { stage, branch } => write!(f, "{}.{branch}", stage + 1),
            Part::Nemesis { stage } => write!(f, "{}.nemesis", stage + 1),
            Part::Suffix => f.write_str("suffix"),
        }
    }
}

/// The fate of a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// The command runs.
    Runs,
    /// The command does not run: it was left out, or the model does not allow it in the remaining program.
    Absent,
    /// This number of points without effect replaces the command.
    Tombstone(u32),
}

/// The name of a condition that holds if a generated program is not empty. If all programs of a test are empty, the
/// test has shown nothing.
#[doc(hidden)]
pub const SOMETHING_ASKED: &str = "a command that `precondition` and `resolve` allow";

/// The purpose of the draws from which a program is generated.
#[doc(hidden)]
pub const PROGRAM: &str = "program";

/// The purpose of the draws from which an initial state is generated.
#[doc(hidden)]
pub const INITIAL: &str = "initial state";

/// Returns `true` if values drawn for this purpose determine the program, as opposed to values that commands draw
/// while they run.
#[allow(dead_code, reason = "the real build searches no programs")]
#[doc(hidden)]
pub fn is_of_program(why: &str) -> bool {
    why == PROGRAM || why == INITIAL
}

/// The change of a generated command in a smaller program. The change is a decision of the run, so that a trace records
/// it. The decision is 0, [`Change::Keep`], while nothing is shrunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The command keeps its position.
    Keep,
    /// The command is left out.
    Drop,
    /// The command runs at the end of the prefix.
    ToPrefix,
    /// The command runs at the beginning of the suffix.
    ToSuffix,
    /// This number of points replaces the command, at most [`Change::POINTS_MAX`].
    Tombstone(u32),
}

impl Change {
    /// The maximum number of points that can replace a command.
    pub const POINTS_MAX: u32 = 9_995;
    /// The exclusive upper bound of a change as a decision.
    pub const BOUND: u64 = 10_000;

    /// Returns the change as a decision.
    pub fn to_decision(self) -> u64 {
        match self {
            Change::Keep => 0,
            Change::Drop => 1,
            Change::ToPrefix => 2,
            Change::ToSuffix => 3,
            Change::Tombstone(points) => 4 + u64::from(points.min(Change::POINTS_MAX)),
        }
    }

    /// Decodes a decision below [`Change::BOUND`].
    ///
    /// ```
    /// use sim::run::program::Change;
    /// for decision in 0..Change::BOUND {
    ///     assert_eq!(Change::of_decision(decision).to_decision(), decision);
    /// }
    /// ```
    pub fn of_decision(decision: u64) -> Change {
        match decision {
            0 => Change::Keep,
            1 => Change::Drop,
            2 => Change::ToPrefix,
            3 => Change::ToSuffix,
            points => Change::Tombstone((points - 4) as u32),
        }
    }
}

/// A program that is running.
#[doc(hidden)]
pub trait ProgramSource: Send + Sync {
    /// Returns the program in its current state, as text.
    fn record(&self) -> ProgramRecord;

    /// Returns the layout of the commands, for shrinking.
    fn layout(&self) -> Vec<CommandLayout>;

    /// Returns the same number as [`ProgramRecord::work`].
    #[allow(dead_code, reason = "the real build makes no program smaller")]
    fn work(&self) -> u64;
}
