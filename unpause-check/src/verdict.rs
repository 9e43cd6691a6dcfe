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

/// That a history satisfies the condition it was checked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// Which engine found out, such as `search` or `unique queue`. Several if parts of the history
    /// were decided by different ones, joined by ` + `.
    pub engine: String,
    /// Indices of operations in an order that the condition allows (for linearizability: one that
    /// respects real time) and that the model accepts. Operations without a return may be absent:
    /// they did not happen. `None` if the engine proves that there is one without making it.
    pub order: Option<Vec<usize>>,
}

/// Why a history breaks the condition it was checked for.
///
/// A search shows how far any order got ([`partial`](Evidence::partial)); an engine that knows what
/// it looks for shows the [`Anomaly`] it found. There may be both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// Which engine found out, such as `search` or `unique queue`.
    pub engine: String,
    /// The contradiction by its name, if the engine knows one.
    pub anomaly: Option<Anomaly>,
    /// The longest orders that explain a part of the history, as indices of operations; at most a
    /// handful, none if the engine makes no orders.
    pub partial: Vec<Vec<usize>>,
    /// The operation that none of them can take next although it has to come before any other
    /// that is left returns; without orders, the operation that completes the anomaly.
    pub misfit: usize,
    /// What the misfit could have returned instead, one text for each distinct possibility after
    /// `partial`. May be empty where the model cannot tell. If there is a `part`, this is so if nothing else
    /// was done: in the whole history it might have returned something else, but not what it did.
    pub expected: Vec<String>,
    /// The state of the model after `partial[0]`, which is not that of the whole history if there is a
    /// `part`.
    pub state: String,
    /// The operations that the contradiction is among, if not all: those of one key, or the few of
    /// an anomaly. Empty means all.
    pub part: Vec<usize>,
}

/// A contradiction with a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anomaly {
    /// What the field calls it: `stale read`, `lost update`, `G1c`.
    pub name: String,
    /// What is wrong with these operations, in a sentence or two that name them by their texts.
    pub text: String,
    /// Which operation has to come before which. If they form a cycle, each edge leads to where the
    /// next begins and the last to where the first does.
    pub edges: Vec<Edge>,
}

/// One operation has to come before another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    /// The index of the first operation.
    pub from: usize,
    /// The index of the second.
    pub to: usize,
    /// The reason: `returned before it was invoked`, `reads what it wrote`, `wr`.
    pub why: String,
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
    /// What ran out.
    pub limit: Limit,
}

/// What can run out while a history is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Limit {
    /// The number of configurations.
    #[default]
    Nodes,
    /// The memory.
    Memory,
    /// The patience of the caller, who said to stop: mostly time.
    Stop,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted { nodes, longest, operations, limit } = self;
        let why = match limit {
            Limit::Nodes => "",
            Limit::Memory => " and all the memory that it may take",
            Limit::Stop => " and all the time that it may take",
        };
        write!(
            f,
            "undecided after {nodes} configurations{why}: {longest} of {operations} operations ordered"
        )
    }
}
