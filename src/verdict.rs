//! What a checker says of a history: consistent, violated, or unknown.
//!
//! A verdict speaks of operations by their index in the history, so it needs no type parameter and
//! can be kept, shown and compared. Unknown is an answer of its own and never a pass.

use std::fmt;

/// The answer of a checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The history satisfies the condition, and this shows it.
    Consistent(Witness),
    /// It does not, and this shows why.
    Violated(Box<Evidence>),
    /// The budget ran out first. Neither a pass nor a failure.
    Unknown(Exhausted),
}

impl Verdict {
    /// Whether the history was shown to satisfy the condition.
    pub fn is_consistent(&self) -> bool {
        matches!(self, Verdict::Consistent(_))
    }

    /// Whether the history was shown to break the condition.
    pub fn is_violated(&self) -> bool {
        matches!(self, Verdict::Violated(_))
    }
}

/// A sequential order that explains a history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// Indices of operations in an order that respects real time and that the model accepts.
    /// Operations without a return may be absent: they did not happen.
    pub order: Vec<usize>,
}

/// Why no sequential order explains a history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The longest orders that explain a part of the history, as indices of operations; at least
    /// one, at most a handful.
    pub partial: Vec<Vec<usize>>,
    /// The operation that none of them can take next although it has to come before any other
    /// that is left returns.
    pub misfit: usize,
    /// What the misfit could have returned instead, one text for each distinct possibility after
    /// `partial`. May be empty where the model cannot tell.
    pub expected: Vec<String>,
    /// The state of the model after `partial[0]`.
    pub state: String,
    /// The operations the checker looked at, if it split the history by key; else empty, meaning all.
    pub part: Vec<usize>,
}

/// A budget ran out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exhausted {
    /// Configurations visited.
    pub nodes: u64,
    /// The longest order found up to then, in operations.
    pub longest: usize,
    /// Operations in the history.
    pub operations: usize,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted { nodes, longest, operations } = self;
        write!(
            f,
            "undecided after {nodes} configurations: {longest} of {operations} operations ordered"
        )
    }
}
