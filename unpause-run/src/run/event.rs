//! Events: one [`Event`] for every operation that took effect in a run.

use std::time::Duration;

use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};

/// One operation that took effect.
///
/// A step usually has one event. It has no event if the task only started or found something not
/// ready, and several if it polled a `join!` or dropped guards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The step it belongs to, counted from 0.
    pub step: u32,
    /// The task that did it.
    pub task: TaskId,
    /// The object it was done to, if any.
    pub object: Option<ObjectId>,
    /// The operation.
    pub op: &'static Op,
    /// The place in the user's source.
    pub place: Place,
    /// The values involved.
    pub values: Values,
}

impl Event {
    /// Returns `true` if it left its object unchanged: it read it, or failed to change it.
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
            (Access::Enqueue, Values::Refused(..)) => true,
            (Access::Wake, Values::Changed(_, woken)) => woken == 0,
            _ => false,
        }
    }
}

/// The values an operation saw and left, as raw bits; [`ValueKind`] says how to read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Values {
    /// No value, or a value that cannot be shown.
    #[default]
    None,
    /// The operation saw this value.
    Read(u64),
    /// The operation left this value, without looking at the old one.
    Wrote(u64),
    /// The operation saw the first value and left the second.
    Changed(u64, u64),
    /// A compare-exchange that failed: the value it saw, the value it expected.
    Refused(u64, u64),
    /// An attempt that failed (`try_lock` on a held lock).
    Failed,
    /// The task it was about: the spawned, joined, aborted or woken task.
    Task(TaskId),
    /// Of a channel, with the numbers of messages, which screens do not show. These are the
    /// received messages, or the messages whose receipt makes no difference to a sent message.
    Messages {
        /// The number of the first one.
        from: u32,
        /// The number after the last message's number.
        to: u32,
        /// A number that the operation saw, such as the number of receivers.
        saw: Option<u32>,
    },
}

impl Values {
    /// Those of an operation that saw the word `old` and left `new`, or nothing, because it expected `wanted`.
    #[doc(hidden)]
    #[inline]
    pub fn of_change(old: u64, new: Option<u64>, wanted: u64) -> Values {
        match new {
            Some(new) => Values::Changed(old, new),
            None => Values::Refused(old, wanted),
        }
    }
}

/// The text of a time since a run began, such as `1.5s`.
#[doc(hidden)]
pub fn show_time(time: Duration) -> String {
    if time.is_zero() { "0s".to_owned() } else { format!("{time:?}") }
}

/// The interpretation of the bits of an object's [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ValueKind {
    /// Not shown.
    #[default]
    Opaque,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer, sign-extended to 64 bits.
    Signed,
    /// 0 is false, 1 is true.
    Bool,
    /// An address: only null and not null mean the same in every run.
    Pointer,
    /// A time since the run began, in nanoseconds.
    Time,
    /// A word in the memory of plain threads: an unsigned integer, or an address.
    Word,
}

/// Returns `true` for an address of plain threads that is the same in every process: in the heap of a run, or, by its
/// highest bits, in a stack, a thread-local or a static.
fn is_address(word: u64) -> bool {
    const HEAP: std::ops::Range<u64> = 0x2000_0000_0000..0x3000_0000_0000;
    HEAP.contains(&word) || (1..=3).contains(&(word >> 60))
}

impl ValueKind {
    /// Returns the text of a value with these bits. The text is the same in every run, so a pointer is `null` or `ptr`.
    /// An address of plain threads, which is the same in every run, is hexadecimal.
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
