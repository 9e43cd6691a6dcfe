//! All sequential executions of a small history, as a tree: for teaching, and for failures small enough to read
//! completely. The tree decides nothing faster than [`linearizable`](super::linearizable()), but it shows every order
//! that a search would try.

use std::fmt;

use super::limits::Malformed;
use super::linearizable::events;
use super::model::Model;
use crate::history::Operation;
use crate::picture::screen::{columns, cut};

/// All orders of operations that real time allows, each as far as the model accepts it.
///
/// A path from the root is a sequential execution. The [`Branch`]es are in depth-first order, which is also the display
/// order, each with its depth. A branch with a refused operation has no further branches.
///
/// [`Display`](fmt::Display) draws the tree with lines of at most 100 columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forest {
    /// The state before any operation.
    pub state: String,
    /// The branches, in display order.
    pub branches: Vec<Branch>,
    /// The number of orders that contain every operation that returned: 0 if the history is not linearizable.
    /// Operations that never returned may be absent from such an order. Only orders in `branches` are counted.
    pub orders: u64,
    /// True if there are more branches than the limit allows.
    pub is_cut: bool,
}

/// One operation, accepted or refused after the operations on its path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The number of operations before this operation on its path; 0 for the first.
    pub depth: usize,
    /// The index of the operation in the history.
    pub operation: usize,
    /// Client, operation and result, in one line.
    pub text: String,
    /// The effect on the object.
    pub outcome: BranchOutcome,
}

/// The effect of an operation on the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BranchOutcome {
    /// The model accepts the operation.
    Accepted {
        /// The state after the operation.
        state: String,
        /// True if the path now contains all operations that returned. The path is then an order that explains the
        /// history.
        is_complete: bool,
    },
    /// The model does not return this result in this state.
    Refused {
        /// The result that the client received.
        returned: String,
        /// The results that the model allows in this state, one text each.
        expected: Vec<String>,
    },
}

/// Creates the forest of `operations`, with at most `limit` branches. A person can read a few hundred branches. Three
/// operations that all overlap have up to 15 branches, five up to 325, eight up to 109 600.
///
/// An operation that never returned can take effect at any time after its invocation, or never. A nondeterministic
/// model has a branch for each state that an operation may lead to.
///
/// # Errors
/// [`Malformed`] in the cases of [`linearizable`](super::linearizable()).
///
/// # Cost
/// O(n) for each branch, with up to n steps of the model.
///
/// ```
/// use unpause_check::{forest, models::{Register, RegisterOp::*, RegisterRet::*}};
/// use unpause_check::history::Operation;
/// // client 0: |--- Write(1) -------------|
/// // client 1:     |- Read: 1 -| |- Read: 0 -|
/// let history = [
///     Operation { client: 0, op: Write(1), invoked: 1, returned: Some((Done, 5)) },
///     Operation { client: 1, op: Read, invoked: 2, returned: Some((Value(1), 3)) },
///     Operation { client: 1, op: Read, invoked: 4, returned: Some((Value(0), 6)) },
/// ];
/// let forest = forest(&Register::new(0), &history, 100).unwrap();
/// assert_eq!(forest.orders, 0);
/// assert_eq!(forest.to_string(), "\
/// 0
/// ├─ client 0: Write(1) → ok · now 1
/// │  └─ client 1: Read → 1 · now 1
/// │     └─ client 1: Read ✗ returned 0, should have been 1
/// └─ client 1: Read ✗ returned 1, should have been 0
/// no order explains the history
/// ");
/// ```
pub fn forest<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    limit: usize,
) -> Result<Forest, Malformed> {
    // Sorted by invocation: branches are tried and shown in this order.
    let by_invocation: Vec<usize> =
        events(operations)?.filter(|(_, is_return)| !is_return).map(|(index, _)| index).collect();
    let mut forest =
        Forest { state: initial.state_text(), branches: Vec::new(), orders: 0, is_cut: false };
    let mut left = operations.iter().filter(|call| call.returned.is_some()).count();
    forest.orders += u64::from(left == 0);
    let mut taken = vec![false; operations.len()];
    let first_end = |taken: &[bool]| {
        let waiting = operations.iter().zip(taken).filter(|(_, taken)| !**taken);
        waiting.map(|(call, _)| call.end()).min().unwrap_or(u64::MAX)
    };
    let fork = |state, came_by, taken: &[bool]| {
        let first_end = first_end(taken);
        Fork { state, came_by, next: 0, first_end, grown: Vec::new() }
    };
    let mut stack = vec![fork(initial.clone(), None, &taken)];
    while let Some(depth) = stack.len().checked_sub(1) {
        let here = &mut stack[depth];
        if let Some(state) = here.grown.pop() {
            if forest.branches.len() == limit {
                forest.is_cut = true;
                break;
            }
            let operation = by_invocation[here.next - 1];
            let call = &operations[operation];
            taken[operation] = true;
            left -= usize::from(call.returned.is_some());
            forest.orders += u64::from(left == 0);
            let outcome =
                BranchOutcome::Accepted { state: state.state_text(), is_complete: left == 0 };
            let text = text::<M>(call, true);
            forest.branches.push(Branch { depth, operation, text, outcome });
            stack.push(fork(state, Some(operation), &taken));
            continue;
        }
        let Some(&operation) = by_invocation.get(here.next) else {
            if let Some(operation) = here.came_by {
                taken[operation] = false;
                left += usize::from(operations[operation].returned.is_some());
            }
            stack.pop();
            continue;
        };
        here.next += 1;
        let call = &operations[operation];
        if taken[operation] || call.invoked > here.first_end {
            continue;
        }
        let ret = call.returned.as_ref().map(|(ret, _)| ret);
        here.state.successors(&call.op, ret, &mut here.grown);
        here.grown.reverse();
        let Some(returned) = ret.filter(|_| here.grown.is_empty()) else { continue };
        if forest.branches.len() == limit {
            forest.is_cut = true;
            break;
        }
        let mut expected: Vec<String> = Vec::new();
        for ret in here.state.returns(&call.op) {
            let text = M::ret_text(&ret);
            if !expected.contains(&text) {
                expected.push(text);
            }
        }
        let outcome = BranchOutcome::Refused { returned: M::ret_text(returned), expected };
        let text = text::<M>(call, false);
        forest.branches.push(Branch { depth, operation, text, outcome });
    }
    Ok(forest)
}

/// A node of the tree under construction.
struct Fork<M> {
    state: M,
    /// The operation that led to this node.
    came_by: Option<usize>,
    /// The index of the next operation to try, in order of invocation.
    next: usize,
    /// The earliest return of the operations not yet on the path. Operations invoked after this time must wait.
    first_end: u64,
    /// States after the last tried operation that still have to be extended, in reverse order.
    grown: Vec<M>,
}

fn text<M: Model>(call: &Operation<M::Op, M::Ret>, with_result: bool) -> String {
    let (client, op) = (call.client, M::op_text(&call.op));
    match &call.returned {
        Some((ret, _)) if with_result => format!("client {client}: {op} → {}", M::ret_text(ret)),
        Some(_) => format!("client {client}: {op}"),
        None => format!("client {client}: {op} → never returned"),
    }
}

/// The usual width of a terminal.
const COLUMNS: usize = 100;

/// Deeper branches are not indented further.
const INDENTS_MAX: usize = 16;

impl fmt::Display for Forest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", fitted(&self.state, COLUMNS))?;
        let last = self.last_of_their_fork();
        // For each depth above the current one, true if another branch follows below at this depth.
        let mut goes_on: Vec<bool> = Vec::new();
        for (branch, is_last) in self.branches.iter().zip(last) {
            goes_on.truncate(branch.depth);
            let skipped = branch.depth.saturating_sub(INDENTS_MAX);
            let mut line = String::new();
            for more in &goes_on[skipped..] {
                line.push_str(if *more { "│  " } else { "   " });
            }
            line.push_str(if is_last { "└─ " } else { "├─ " });
            goes_on.push(!is_last);
            let used = columns(&line);
            let rest = match &branch.outcome {
                BranchOutcome::Accepted { state, is_complete } => {
                    let mark = if *is_complete { " ✓" } else { "" };
                    let body = format!("{} · now {state}", branch.text);
                    format!("{}{mark}", fitted(&body, COLUMNS - used - columns(mark)))
                }
                BranchOutcome::Refused { returned, expected } => {
                    let expected = expected.join(" or ");
                    let text = &branch.text;
                    let body = format!("{text} ✗ returned {returned}, should have been {expected}");
                    fitted(&body, COLUMNS - used)
                }
            };
            writeln!(f, "{line}{rest}")?;
        }
        match (self.is_cut, self.orders) {
            (true, orders) => {
                let shown = self.branches.len();
                writeln!(f, "… and more: cut after {shown} branches, with {orders} orders so far")
            }
            (false, 0) => writeln!(f, "no order explains the history"),
            (false, 1) => writeln!(f, "1 order explains the history"),
            (false, orders) => writeln!(f, "{orders} orders explain the history"),
        }
    }
}

impl Forest {
    /// Returns, for each branch, true if no other branch of the same node follows it.
    fn last_of_their_fork(&self) -> Vec<bool> {
        let mut last = vec![true; self.branches.len()];
        // The depths at which another branch follows below, without a shallower branch in between.
        let mut follows: Vec<bool> = Vec::new();
        for (place, branch) in self.branches.iter().enumerate().rev() {
            last[place] = !follows.get(branch.depth).copied().unwrap_or(false);
            follows.resize(branch.depth, false);
            follows.push(true);
        }
        last
    }
}

/// Returns the text in one line of at most `width` columns.
fn fitted(text: &str, width: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(&line, width)
}
