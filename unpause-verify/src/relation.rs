//! The declared relation: pairs of effects that must not be swapped.
//!
//! Each kind of operation declares two sets of kinds of the same object. The kind conflicts with the kinds in the first
//! set, and may change the guards of the kinds in the second set. The program declares these sets, and this module
//! derives the relation.

/// A kind of operation on one object, as declared by the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The bit of this kind in the set of kinds of the object.
    pub bit: u64,
    /// The bits of the conflicting kinds.
    pub conflicts: u64,
    /// The bits of the kinds that this kind may enable, because it turns their guard to true.
    pub enables: u64,
    /// The bits of the kinds that this kind may disable, because it turns their guard to false.
    pub disables: u64,
    /// 1 if the operation inserts messages, 2 if it removes messages, else 0.
    pub side: u64,
}

/// An operation, executed or only tested by a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The object or the task of the operation.
    pub on: u64,
    /// The kind of the operation.
    pub kind: Kind,
    /// `false` if only the guard of the operation was read.
    pub done: bool,
    /// The range of message numbers of the operation: the first number, and the number after the last.
    pub span: (u64, u64),
}

/// One effect of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants describe their fields")]
pub enum Effect {
    /// An operation on an object.
    Object(Operation),
    /// An operation on a task. Each step has an operation on its own task.
    Task(Operation),
    /// The creation of a task.
    Spawned(usize),
    /// The death of a task.
    Killed(usize),
    /// A recorded call: the number of its history, and a point of the call. The point is 0 if the call began, 1 if it
    /// returned, 2 if the history was checked, 3 if the history was shown. If `strict`, returns and begins of calls
    /// conflict.
    Call { history: u64, point: u64, strict: bool },
    /// An effect that outlives the life with this number of a node, or the end of the life.
    Life { life: u64, ends: bool },
    /// The counts of messages that faults have affected. If not `reads`, the counts may have been increased.
    Counted { reads: bool },
    /// An effect outside of the library's operations.
    Unseen,
    /// The end of the run.
    Over,
}

fn operations_conflict(one: &Operation, other: &Operation) -> bool {
    let (a, b) = (one.kind, other.kind);
    let is_within =
        |own: (u64, u64), of: (u64, u64)| own.0 < own.1 && of.0 <= own.0 && own.1 <= of.1;
    let is_inserted = a.side == 1 && b.side == 2 && is_within(other.span, one.span);
    let is_removed = a.side == 2 && b.side == 1 && is_within(one.span, other.span);
    let are_related = match (one.done, other.done) {
        (true, true) => a.conflicts & b.bit != 0 || b.conflicts & a.bit != 0,
        // An operation conflicts with a guard that it may turn.
        (true, false) => (a.enables | a.disables) & b.bit != 0,
        (false, true) => (b.enables | b.disables) & a.bit != 0,
        (false, false) => false,
    };
    one.on == other.on && are_related && !is_inserted && !is_removed
}

/// Returns `true` if an effect may disable a pending operation, because it turns the guard to false.
pub fn may_disable(effect: &Effect, guard: &Effect) -> bool {
    use Effect::{Object, Task};
    let ((Object(one), Object(other)) | (Task(one), Task(other))) = (effect, guard) else {
        return false;
    };
    one.on == other.on && one.done && one.kind.disables & other.kind.bit != 0
}

/// Returns `true` if two effects of steps of different tasks conflict.
pub fn conflict(one: &Effect, other: &Effect) -> bool {
    use Effect::{Call, Counted, Life, Object, Over, Task, Unseen};
    match (one, other) {
        (Over, _) | (_, Over) | (Unseen, Unseen) => true,
        (Object(one), Object(other)) | (Task(one), Task(other)) => operations_conflict(one, other),
        (Counted { reads }, Counted { reads: others }) => reads != others,
        (Life { life: a, ends: dies }, Life { life: b, ends: died }) => a == b && (*dies || *died),
        (Call { history, point, strict }, Call { history: other, point: others, .. }) => {
            let matter = match (point, others) {
                (0, 1) | (1, 0) => *strict,
                (0 | 1, 2 | 3) | (2 | 3, 0 | 1) => true,
                _ => false,
            };
            history == other && matter
        }
        _ => false,
    }
}
