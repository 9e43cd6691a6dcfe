//! Events of a run: one [`Event`] for every operation that took effect.

use std::time::Duration;

use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};

/// An operation that took effect.
///
/// A step usually has one event. The step has no event if the task only started or found something that was not ready.
/// The step has several events if it polled a `join!` or dropped guards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The step of the event, counted from 0.
    pub step: u32,
    /// The task that did the operation.
    pub task: TaskId,
    /// The object of the operation, if any.
    pub object: Option<ObjectId>,
    /// The operation.
    pub op: &'static Op,
    /// The place in the user's source.
    pub place: Place,
    /// The values involved.
    pub values: Values,
}

impl Event {
    /// Returns `true` if the operation left its object unchanged, because it was a read or a failed change.
    #[doc(hidden)]
    pub fn is_look(&self) -> bool {
        if let Some(kind) = self.op.kind {
            return kind.is_look();
        }
        match (self.op.access, self.values) {
            (Access::Read | Access::Resume, _) => true,
            (Access::ReadModifyWrite, Values::Refused(..)) => true,
            (Access::ReadModifyWrite, Values::Changed(old, new)) => old == new,
            (Access::TryLock, Values::Failed) => true,
            (Access::Enqueue, Values::Refused(..) | Values::Read(_)) => true,
            (Access::Wake, Values::Changed(_, woken)) => woken == 0,
            _ => false,
        }
    }
}

/// The values that an operation read and wrote, as raw bits; [`ValueKind`] defines their interpretation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Values {
    /// No value, or a value that cannot be shown.
    #[default]
    None,
    /// The operation read this value.
    Read(u64),
    /// The operation wrote this value without reading the previous one.
    Wrote(u64),
    /// The operation read the first value and wrote the second value.
    Changed(u64, u64),
    /// A failed compare-exchange: the value that it read, then the value that it expected.
    Refused(u64, u64),
    /// A failed attempt, for example `try_lock` on a held lock.
    Failed,
    /// The task that the operation concerns: the spawned, joined, aborted or woken task.
    Task(TaskId),
    /// The message numbers of a channel operation, which screens do not show. For an operation that takes messages:
    /// these messages. For an operation that sends a message: the messages that may be received before or after it
    /// without a difference.
    Messages {
        /// The number of the first message.
        from: u32,
        /// The number after the last message.
        to: u32,
        /// A number that the operation read, such as the number of receivers.
        saw: Option<u32>,
    },
}

impl Values {
    /// Returns the values of an operation that read the word `old`. The operation wrote `new`, or wrote nothing because
    /// it expected `wanted`.
    #[doc(hidden)]
    #[inline]
    pub fn of_change(old: u64, new: Option<u64>, wanted: u64) -> Values {
        match new {
            Some(new) => Values::Changed(old, new),
            None => Values::Refused(old, wanted),
        }
    }
}

/// Returns a time since the start of a run as text, such as `1.5s`.
#[doc(hidden)]
pub fn show_time(time: Duration) -> String {
    if time.is_zero() { "0s".to_owned() } else { format!("{time:?}") }
}

/// The interpretation of the bits of an object's [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ValueKind {
    /// The value is not shown.
    #[default]
    Opaque,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer, sign-extended to 64 bits.
    Signed,
    /// 0 is false, 1 is true.
    Bool,
    /// An address: only the distinction between null and not null is the same in every run.
    Pointer,
    /// A time since the run began, in nanoseconds.
    Time,
    /// A word in the memory of plain threads: an unsigned integer, or an address.
    Word,
}

/// Returns `true` for an address of plain threads that is the same in every process. Such an address is in the heap of
/// a run or, according to its highest bits, in a stack, a thread-local or a static.
fn is_address(word: u64) -> bool {
    const HEAP: std::ops::Range<u64> = 0x2000_0000_0000..0x3000_0000_0000;
    HEAP.contains(&word) || (1..=3).contains(&(word >> 60))
}

impl ValueKind {
    /// Returns a value with these bits as text. The text is the same in every run, so a pointer is `null` or `ptr`. An
    /// address of plain threads is the same in every run, so it is shown in hexadecimal.
    pub fn show(self, bits: u64) -> String {
        match self {
            ValueKind::Opaque => "_".to_owned(),
            ValueKind::Word if is_address(bits) => format!("{bits:#x}"),
            ValueKind::Unsigned | ValueKind::Word => bits.to_string(),
            ValueKind::Signed => (bits as i64).to_string(),
            ValueKind::Bool => (bits != 0).to_string(),
            ValueKind::Pointer => if bits == 0 { "null" } else { "ptr" }.to_owned(),
            ValueKind::Time => show_time(Duration::from_nanos(bits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_plain_threads_is_hexadecimal() {
        for (word, expected) in [
            (0, "0"),
            (7_000_000_000, "7000000000"),
            (u64::MAX - 3, "18446744073709551612"),
            (0x2000_0000_1040, "0x200000001040"),
            (0x2000_0000_1041, "0x200000001041"),
            (2 << 60 | 1 << 32 | 0x40, "0x2000000100000040"),
        ] {
            assert_eq!(ValueKind::Word.show(word), expected);
        }
        assert_eq!(ValueKind::Unsigned.show(0x2000_0000_1040), "35184372092992");
    }
}
