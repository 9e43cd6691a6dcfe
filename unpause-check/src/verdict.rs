//! The verdict of a checker on a history: consistent, violated, or unknown.
//!
//! A verdict names operations by their index in the history, so it needs no type parameter and can be stored, shown and
//! compared. Unknown is a separate verdict and never counts as a pass.

use std::fmt;

/// The result of a check.
///
/// ```
/// use unpause_check::{Budget, Operation, Verdict, linearizable};
/// use unpause_check::models::{Counter, CounterOp::Get, CounterRet::Value};
/// let get = Operation { client: 0, op: Get, invoked: 0, returned: Some((Value(1), 1)) };
/// match linearizable(&Counter::new(0), &[get], &Budget::default()).unwrap() {
///     Verdict::Consistent(witness) => println!("in the order {:?}", witness.order),
///     Verdict::Violated(evidence) => assert_eq!(evidence.expected, ["0"]),
///     Verdict::Unknown(exhausted) => println!("{exhausted}"),
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The history satisfies the condition; the witness shows it.
    Consistent(Witness),
    /// The history does not satisfy the condition; the evidence shows why.
    Violated(Box<Evidence>),
    /// The budget ran out before the check was decided. This verdict is neither a pass nor a failure.
    Unknown(Exhausted),
}

impl Verdict {
    /// Returns `true` if the checker has shown that the history satisfies the condition.
    pub fn is_consistent(&self) -> bool {
        matches!(self, Verdict::Consistent(_))
    }

    /// Returns `true` if the checker has shown that the history breaks the condition.
    pub fn is_violated(&self) -> bool {
        matches!(self, Verdict::Violated(_))
    }
}

/// The proof that a history satisfies its condition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// The engine that decided, such as `search` or `unique queue`. If different engines decided parts of the history,
    /// their names are joined by ` + `.
    pub engine: String,
    /// The indices of the operations, in an order that the condition and the model allow. (For linearizability, the
    /// order respects real time.) Operations without a return may be absent, because they did not take effect. `None`
    /// if the engine proves that an order exists without constructing one.
    pub order: Option<Vec<usize>>,
}

/// The proof that a history breaks its condition.
///
/// A search shows the longest orders that it reached ([`partial`](Evidence::partial)). An engine for one kind of object
/// names the [`Anomaly`] it found. Evidence may contain both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The engine that decided, such as `search` or `unique queue`.
    pub engine: String,
    /// The contradiction with its name, if the engine has one.
    pub anomaly: Option<Anomaly>,
    /// The longest orders that explain a part of the history, as indices of operations; at most a few. Empty if the
    /// engine constructs no orders.
    pub partial: Vec<Vec<usize>>,
    /// The operation that cannot come next after any order in `partial`, although it must precede the return of every
    /// other remaining operation. Without orders, the operation that completes the anomaly.
    pub misfit: usize,
    /// The results that the misfit could have returned after `partial`, each distinct text once. May be empty if the
    /// model cannot enumerate them. If `part` is not empty, these results ignore all operations outside of `part`: in
    /// the whole history other results may be possible, but not the recorded one.
    pub expected: Vec<String>,
    /// The model state after `partial[0]`. If `part` is not empty, it is the state after the operations in `part` only,
    /// not after the whole history.
    pub state: String,
    /// The operations in the contradiction: the operations of one key, or the few operations of an anomaly. Empty if
    /// all operations take part.
    pub part: Vec<usize>,
}

/// A contradiction with a name.
///
/// ```
/// use unpause_check::{Budget, Operation, Verdict, linearizable};
/// use unpause_check::models::{Register, RegisterOp::*, RegisterRet::*};
/// let history = [
///     Operation { client: 0, op: Write(1), invoked: 0, returned: Some((Done, 1)) },
///     Operation { client: 1, op: Read, invoked: 2, returned: Some((Value(0), 3)) },
/// ];
/// let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
/// let Verdict::Violated(evidence) = verdict else { panic!() };
/// assert_eq!(evidence.anomaly.unwrap().name, "stale read");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anomaly {
    /// The standard name of the anomaly: `stale read`, `lost update`, `G1c`.
    pub name: String,
    /// An explanation of the contradiction in one or two sentences, with the texts of the operations.
    pub text: String,
    /// Pairs of operations in their required order. In a cycle, each edge ends where the next edge starts, and the last
    /// edge ends where the first starts.
    pub edges: Vec<Edge>,
}

/// The requirement that one operation comes before another operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    /// The index of the first operation.
    pub from: usize,
    /// The index of the second operation.
    pub to: usize,
    /// The reason for the requirement: `returned before it was invoked`, `reads what it wrote`, `wr`.
    pub why: String,
}

/// The counts of a check whose budget ran out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exhausted {
    /// The number of configurations visited.
    pub nodes: u64,
    /// The length of the longest order found before the budget ran out, in operations.
    pub longest: usize,
    /// The number of operations in the history.
    pub operations: usize,
    /// The limit that was reached.
    pub limit: Limit,
}

/// A limit of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Limit {
    /// The number of configurations.
    #[default]
    Nodes,
    /// The memory.
    Memory,
    /// [`Budget::stop`](crate::Budget::stop) returned `true`, usually because time was up.
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
