//! A generated program as data: its commands, their positions and their fates.
//!
//! The commands themselves are values of the user's types. This module has the data for reports and shrinking: a
//! command is a position in the program, the decision whether it is run there, and the steps it took.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use unpause_ordered::sort_by_key;

use crate::run::ids::TaskId;

/// A program that was generated and run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProgramRecord {
    /// The name of the model it was generated from.
    pub model: String,
    /// The state that the model was in at first, as Rust source.
    pub initial: String,
    /// The type of its commands, with its path.
    pub op_type: String,
    /// In how many orders its commands could have taken effect; `u64::MAX` if there are more.
    pub interleavings: u64,
    /// The same of the largest program of its shape.
    pub interleavings_max: u64,
    /// Its commands as they were generated, those too that were left out since.
    pub commands: Vec<CommandRecord>,
    /// The drawn values of the run from which it was generated, counted from 0.
    pub draws: Range<usize>,
    /// The commands left out when it was generated.
    pub omitted: Omitted,
    /// The number of steps of the model evaluated to generate it.
    pub work: u64,
    /// The activity that panicked, if the model panicked while the program was generated; the program did not run then.
    pub unfinished: Option<String>,
    /// True if its commands block: `blocking` has run it.
    pub blocks: bool,
    /// The guided victims of its faults that are not pinned.
    pub pins: Vec<Pin>,
}

/// Numbers of commands left out of a program when it was generated, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Omitted {
    /// The number of times that a command was generated again, or finally left out, because the model refused it.
    pub refused: u32,
    /// Commands whose precondition did not hold, in some order.
    pub precondition: u32,
    /// Commands that use a result that is not there, in some order.
    pub reference: u32,
    /// Commands that would have waited for ever, in some order.
    pub waiting: u32,
    /// Commands with too many orders and states to check.
    pub unchecked: u32,
    /// The number of commands without faults for the same reason.
    pub faults: u32,
    /// True if a script is run unchanged for the same reason.
    pub trusted: bool,
}

impl Omitted {
    /// The number of commands left out.
    ///
    /// ```
    /// use sim::run::program::Omitted;
    /// let omitted = Omitted { refused: 11, precondition: 1, unchecked: 2, ..Omitted::default() };
    /// assert_eq!(omitted.commands(), 3);
    /// ```
    pub fn commands(&self) -> u32 {
        self.precondition + self.reference + self.waiting + self.unchecked
    }

    /// Adds what was left out of another program.
    #[doc(hidden)]
    pub fn add(&mut self, other: &Omitted) {
        self.refused += other.refused;
        self.precondition += other.precondition;
        self.reference += other.reference;
        self.waiting += other.waiting;
        self.unchecked += other.unchecked;
        self.faults += other.faults;
        self.trusted |= other.trusted;
    }

    /// Returns the number of commands left out and the reason as text; `None` if there are none.
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

/// With more orders than this the check of a program may have to give up.
const FEASIBLE: u64 = 1_000_000_000_000;

impl ProgramRecord {
    /// Returns a warning about programs of this shape if the check of one may not complete.
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

    /// Returns the commands that are left, part by part, in running order within a part.
    pub fn left(&self) -> Vec<&CommandRecord> {
        let runs = |command: &&CommandRecord| command.layout.fate != Fate::Absent;
        let mut left: Vec<&CommandRecord> = self.commands.iter().filter(runs).collect();
        // The stable order is right for commands moved to the end of the prefix or to the start of the suffix,
        // because they were generated after the prefix and before the suffix.
        sort_by_key(&mut left, |command| command.layout.part);
        left
    }
}

/// A command of a generated program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandRecord {
    /// Its position and its fate.
    pub layout: CommandLayout,
    /// The command as text, with its faults: `Increment, sent again`.
    pub text: String,
    /// The kind of command it is, for counting.
    pub label: String,
    /// The command as Rust source.
    pub source: String,
    /// Its faults.
    pub faults: Faults,
}

impl CommandRecord {
    /// Returns the text of the command, or of its replacement.
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
    /// It is sent once more.
    pub again: bool,
    /// It is dropped at this point, counted from 1.
    pub crash: Option<u32>,
    /// Its branch does not wait for it.
    pub timeout: bool,
}

impl Faults {
    /// Returns `true` if its branch sends it again after its return. If it was dropped before, the same call is sent
    /// again without having returned.
    #[doc(hidden)]
    pub fn is_repeated(&self) -> bool {
        self.again && self.crash.is_none() && !self.timeout
    }
}

impl fmt::Display for Faults {
    /// `, dropped at point 3, sent again`: what follows the text of the command.
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
    /// Its position, after a move by [`Change`].
    pub part: Part,
    /// Its fate.
    pub fate: Fate,
    /// The index, from 0, of the drawn value of the run that is its [`Change`].
    pub change: usize,
    /// The range of drawn values of the run that select a simpler command in its place, the end excluded: a number
    /// from 1 for each simplification, then 0.
    pub simpler: (usize, usize),
    /// The number of simpler commands that the model offers for its current form.
    pub candidates: u64,
    /// The task that ran it, its first step and its last step.
    pub ran: Option<(TaskId, u32, u32)>,
    /// The number of values drawn in the run, by any task, when it began and when it ended.
    pub drawn: (usize, usize),
}

/// A guided victim of a fault, and the node that it was: the drawn value that is the node from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// The index, from 0, of the drawn value of the run.
    pub draw: usize,
    /// The value that represents the node.
    pub value: u64,
}

/// A part of a program. Parts run one after the other, the branches of a stage at the same time. They are ordered as
/// they run, and faults of a stage come after its branches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Runs first, in one task.
    Prefix,
    /// A sequence that runs concurrently with the other branches of its stage, numbered from 0.
    Branch {
        /// The stage.
        stage: u32,
        /// The branch in it.
        branch: u32,
    },
    /// The faults beside a stage: see `Parallel::nemesis`.
    Nemesis {
        /// The stage.
        stage: u32,
    },
    /// Runs last, in one task.
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
    /// The stage that it is a part of.
    #[doc(hidden)]
    pub fn stage(self) -> Option<u32> {
        match self {
            Part::Branch { stage, .. } | Part::Nemesis { stage } => Some(stage),
            Part::Prefix | Part::Suffix => None,
        }
    }

    /// The part that this text, made with [`Display`](fmt::Display), names.
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
    /// `prefix`, `1.0`, `1.nemesis`, `suffix`: the stage counted from 1, the branch from 0.
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
    /// It is run.
    Runs,
    /// It is not: it was left out, or the model does not allow it in what is left.
    Absent,
    /// This number of points without effect replaces it.
    Tombstone(u32),
}

/// The condition of each test with generated programs: if all programs are empty, the test has
/// shown nothing.
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

/// The change of a generated command in a smaller program. It is a decision of the run, so that a trace has it; 0,
/// [`Change::Keep`], while nothing is shrunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// It stays where it is.
    Keep,
    /// It is left out.
    Drop,
    /// It is run at the end of the prefix.
    ToPrefix,
    /// It is run at the beginning of the suffix.
    ToSuffix,
    /// It is replaced by so many points, at most [`Change::POINTS_MAX`].
    Tombstone(u32),
}

impl Change {
    /// The maximum number of points that can replace a command.
    pub const POINTS_MAX: u32 = 9_995;
    /// An change as a decision is a number below this.
    pub const BOUND: u64 = 10_000;

    /// The decision.
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

/// A program that is being run.
#[doc(hidden)]
pub trait ProgramSource: Send + Sync {
    /// The program in its present state, as text.
    fn record(&self) -> ProgramRecord;

    /// Returns the layout of its commands, for shrinking.
    fn layout(&self) -> Vec<CommandLayout>;

    /// The same as for [`ProgramRecord::work`].
    #[allow(dead_code, reason = "the real build makes no program smaller")]
    fn work(&self) -> u64;
}
