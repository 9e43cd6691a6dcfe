//! The relation between operations on one object: which pairs conflict, and which operations enable or disable others.
//!
//! A *machine* is the behavior of an object: a word of memory, a lock, a task. Each machine has its own file and
//! declares its kinds of operations, one per row. Happens-before and the exhaustive search use only kinds and do not
//! depend on machines.
//!
//! A declaration must obey this law. Two steps that do not conflict give the same state, the same results and the same
//! footprints in either order, wherever both steps are possible. An operation that may change a guard conflicts with
//! the operation that the guard permits. `simulate/exhaust/tests/diamond.rs` executes pairs of steps in both orders and
//! compares the results.

#[cfg(any(test, feature = "planted"))]
use super::{
    cancellation, clock, condvar, count, fs, lock, net, node, of_tokio, once, parking, task, word,
};

/// A set of kinds of one machine.
pub type Bits = u16;

/// A kind of operation, with its relation to the kinds of the same machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind {
    bit: Bits,
    /// The kinds that conflict with this kind. Each of two conflicting kinds lists the other, except [`WATCH`].
    conflicts: Bits,
    /// The kinds that this kind may enable.
    enables: Bits,
    /// The kinds that this kind may disable.
    disables: Bits,
    /// True if the operation leaves the object unchanged.
    looks: bool,
    side: Side,
    /// True if the operation is recorded only together with an operation that has a point in the same step.
    beside: bool,
    /// True if the kind is a fault: it disturbs tasks at a moment that they do not choose.
    fault: bool,
}

/// A half-open range of message numbers of a channel: the first number, and the number after the last.
///
/// For an operation that takes messages: these messages. For an operation that sends a message or takes room for it:
/// the messages with a receipt that commutes with the operation. The span does not include the operation's own message
/// and the messages that freed its room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub from: u32,
    pub to: u32,
}

impl Span {
    /// The span of an operation without numbers.
    pub const NONE: Span = Span { from: 0, to: 0 };

    /// Returns `true` if the span is not empty and lies within `other`.
    #[inline]
    fn is_within(self, other: Span) -> bool {
        self.from < self.to && other.from <= self.from && self.to <= other.to
    }

    #[inline]
    fn seen(self) -> Span {
        #[cfg(any(test, feature = "planted"))]
        return faults::widened(self);
        #[cfg(not(any(test, feature = "planted")))]
        self
    }
}

/// The side of a kind in conflicts that message numbers decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    /// No side: conflicts do not depend on numbers.
    Neither,
    /// The operation sends a message, or takes room for a message.
    Puts,
    /// The operation receives messages.
    Takes,
}

/// The bit of [`WATCH`].
pub const WATCHES: Bits = 1 << 15;

/// Waits for a change of the object. Guard: the object has changed. This kind is the same for all machines. Only an
/// operation of a kind that enables it ends the wait.
pub const WATCH: Kind = Kind::of(WATCHES);

impl Kind {
    /// An operation polled by hand, the same for all machines. Only the object knows if this poll began a wait, ended a
    /// wait or did neither. So the operation conflicts with every other operation and may change any guard.
    //
    // This operation shares the bit of a watch. A shared bit is possible because a watch never takes effect and this
    // operation never has a guard.
    pub const fn by_hand(looks: bool) -> Kind {
        let turns = if looks { 0 } else { Bits::MAX };
        let (side, beside, fault) = (Side::Neither, false, false);
        Kind {
            bit: WATCHES,
            conflicts: Bits::MAX,
            enables: turns,
            disables: turns,
            looks,
            side,
            beside,
            fault,
        }
    }

    /// Creates a kind that commutes with all other kinds.
    pub const fn of(bit: Bits) -> Kind {
        let (looks, side, beside, fault) = (false, Side::Neither, false, false);
        Kind { bit, conflicts: 0, enables: 0, disables: 0, looks, side, beside, fault }
    }

    /// Returns this kind with these conflicts.
    pub const fn conflicts_with(self, kinds: Bits) -> Kind {
        Kind { conflicts: kinds, ..self }
    }

    /// Returns this kind with the kinds that it may enable.
    pub const fn enables(self, kinds: Bits) -> Kind {
        Kind { enables: kinds, ..self }
    }

    /// Returns this kind with the kinds that it may disable.
    pub const fn disables(self, kinds: Bits) -> Kind {
        Kind { disables: kinds, ..self }
    }

    /// Returns this kind, marked as leaving the object unchanged.
    pub const fn looks(self) -> Kind {
        Kind { looks: true, ..self }
    }

    /// Returns this kind, marked as sending a message or taking room for a message. Message numbers decide if it
    /// conflicts with a kind that [takes](Self::takes) messages.
    pub const fn puts(self) -> Kind {
        Kind { side: Side::Puts, ..self }
    }

    /// Returns this kind, marked as receiving messages.
    pub const fn takes(self) -> Kind {
        Kind { side: Side::Takes, ..self }
    }

    /// Returns this kind, marked as recorded only together with an operation that has a point in the same step.
    pub const fn beside_a_point(self) -> Kind {
        Kind { beside: true, ..self }
    }

    /// Returns this kind, marked as a fault: it disturbs tasks without a point, at a moment that they do not choose.
    /// Strategies draw this moment among the steps of its victims.
    pub const fn fault(self) -> Kind {
        Kind { fault: true, ..self }
    }

    /// Returns `true` for the kind of a fault.
    pub const fn is_fault(self) -> bool {
        self.fault
    }

    /// Returns `true` if the operation is recorded only together with an operation that has a point in the same step.
    pub const fn is_beside_a_point(self) -> bool {
        self.beside
    }

    /// Returns `true` if an operation of this kind leaves the object unchanged.
    pub const fn is_look(self) -> bool {
        self.looks
    }

    /// Returns `true` if two operations of these kinds that took effect conflict, so that they must not be swapped.
    #[inline]
    pub fn conflicts(self, other: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, other) {
            return false;
        }
        self.conflicts & other.bit != 0 || other.conflicts & self.bit != 0
    }

    /// Returns `true` if the message numbers show that two operations commute although their kinds conflict.
    #[inline]
    pub fn are_apart((one, span): (Kind, Span), (other, other_span): (Kind, Span)) -> bool {
        match (one.side, other.side) {
            (Side::Puts, Side::Takes) => other_span.is_within(span.seen()),
            (Side::Takes, Side::Puts) => span.is_within(other_span.seen()),
            _ => false,
        }
    }

    /// Returns `true` if message numbers decide some conflicts of this kind.
    #[inline]
    pub fn is_numbered(self) -> bool {
        self.side != Side::Neither
    }

    /// Returns `true` if this operation, which took effect, may have enabled the operation `asked`.
    #[inline]
    pub fn may_enable(self, asked: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.enables & asked.bit != 0
    }

    /// Returns `true` if this operation, which took effect, may have disabled the operation `asked`.
    #[inline]
    pub fn may_disable(self, asked: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.disables & asked.bit != 0
    }

    /// Returns `true` if this operation may enable or disable another operation.
    pub fn turns_some(self) -> bool {
        self.enables | self.disables != 0
    }

    /// Returns `true` if this operation, which took effect, may have disabled any other operation.
    #[inline]
    pub fn may_disable_some(self) -> bool {
        self.disables != 0
    }

    /// Returns the declaration as numbers: its own bit, the conflicting kinds, the kinds that it may enable, the kinds
    /// that it may disable, and its side. The side is 1 if it sends messages, 2 if it receives messages, else 0.
    pub fn relation(self) -> [u64; 5] {
        let side = match self.side {
            Side::Neither => 0,
            Side::Puts => 1,
            Side::Takes => 2,
        };
        let [bit, conflicts, enables, disables] =
            [self.bit, self.conflicts, self.enables, self.disables].map(u64::from);
        [bit, conflicts, enables, disables, side]
    }

    /// Returns the number of the kind in its machine.
    pub fn number(self) -> usize {
        self.bit.trailing_zeros() as usize
    }

    /// Returns the numbers of the kinds that conflict with this kind in its machine, and the number of [operations by
    /// hand](Self::by_hand).
    pub fn conflicting(self) -> impl Iterator<Item = usize> {
        let conflicts = self.conflicts | WATCHES;
        (0..Bits::BITS as usize).filter(move |number| conflicts >> number & 1 == 1)
    }

    /// Returns `true` if this kind conflicts with every kind that conflicts with `other`, and may change every guard
    /// that `other` may change.
    #[inline]
    pub fn covers(self, other: Kind) -> bool {
        let turns = |kind: Kind| kind.enables | kind.disables;
        let all_guards = turns(other) & !turns(self) == 0;
        other.bit != WATCHES && other.conflicts & !self.conflicts == 0 && all_guards
    }
}

/// A machine, as the list of its kinds of operations with their names.
#[cfg(any(test, feature = "planted"))]
#[derive(Debug)]
pub struct Machine {
    pub name: &'static str,
    pub kinds: &'static [(&'static str, Kind)],
}

/// Returns all machines.
#[cfg(any(test, feature = "planted"))]
pub fn machines() -> impl Iterator<Item = &'static Machine> {
    let simple = [
        &word::MACHINE,
        &lock::MACHINE,
        &task::MACHINE,
        &clock::MACHINE,
        &cancellation::MACHINE,
        &condvar::MACHINE,
        &net::MACHINE,
        &net::link::MACHINE,
        &count::MACHINE,
        &once::MACHINE,
        &parking::MACHINE,
        &fs::MACHINE,
        &fs::inode::MACHINE,
        &fs::contents::MACHINE,
        &net::window::MACHINE,
        &node::MACHINE,
        &node::table::MACHINE,
    ];
    simple.into_iter().chain(of_tokio::MACHINES.iter().copied())
}

/// Faults planted in declarations, to test the tests.
#[cfg(any(test, feature = "planted"))]
pub mod faults {
    use super::{Kind, Span};

    thread_local! {
        static FORGOTTEN: std::cell::Cell<Option<(Kind, Kind)>> = const { std::cell::Cell::new(None) };
        static MORE: std::cell::Cell<(u32, u32)> = const { std::cell::Cell::new((0, 0)) };
        static NUMBERLESS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    pub(super) fn widened(span: Span) -> Span {
        if NUMBERLESS.get() {
            return Span::NONE;
        }
        let (before, after) = MORE.get();
        Span { from: span.from.saturating_sub(before), to: span.to.saturating_add(after) }
    }

    /// Runs `act` while messages have no numbers.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub fn without_numbers<T>(act: impl FnOnce() -> T) -> T {
        NUMBERLESS.set(true);
        let done = act();
        NUMBERLESS.set(false);
        done
    }

    /// Runs `act` with wider spans: an operation that sends a message also commutes with the receipt of `more`
    /// messages, before and after the messages in its own span.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub fn with_more<T>(more: (u32, u32), act: impl FnOnce() -> T) -> T {
        MORE.set(more);
        let done = act();
        MORE.set((0, 0));
        done
    }

    pub(super) fn are_forgotten(a: Kind, b: Kind) -> bool {
        FORGOTTEN.get().is_some_and(|pair| pair == (a, b) || pair == (b, a))
    }

    /// Runs `act` while the two kinds have no relation.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub fn without<T>(pair: (Kind, Kind), act: impl FnOnce() -> T) -> T {
        FORGOTTEN.set(Some(pair));
        let done = act();
        FORGOTTEN.set(None);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_a_machine_have_a_bit_each_and_know_no_other() {
        for machine in machines() {
            let mut all = WATCHES;
            for (name, kind) in machine.kinds {
                assert_eq!(kind.bit.count_ones(), 1, "{} {name}", machine.name);
                assert_eq!(all & kind.bit, 0, "{} {name}: the bit of another kind", machine.name);
                all |= kind.bit;
            }
            for (name, kind) in machine.kinds {
                let known = kind.conflicts | kind.enables | kind.disables;
                assert_eq!(known & !all, 0, "{} {name} relates to no kind", machine.name);
            }
        }
    }

    /// The observer of a search compares kinds without their machines, so these kinds must be unique.
    #[test]
    fn kinds_that_searches_know_are_unlike_those_of_other_machines() {
        let raises = [net::link::LOSE, net::CUT, net::WAIT_BEHIND];
        let known = [net::link::COUNT, node::table::ADD].into_iter().chain(raises);
        for known in known {
            let all = machines().flat_map(|machine| machine.kinds);
            let alike: Vec<&str> =
                all.filter(|(_, kind)| *kind == known).map(|(name, _)| *name).collect();
            assert_eq!(alike.len(), 1, "{alike:?}");
        }
    }

    #[test]
    fn conflicts_are_declared_by_both() {
        for machine in machines() {
            for (name, kind) in machine.kinds {
                for (other_name, other) in machine.kinds {
                    let (one, two) = (kind.conflicts & other.bit, other.conflicts & kind.bit);
                    assert_eq!(one != 0, two != 0, "{}: {name}, {other_name}", machine.name);
                }
            }
        }
    }

    /// If you add a fault, add a program to `sim-tests/src/moments.rs`, which measures the fault's moment.
    #[test]
    fn these_are_the_faults() {
        let named = |machine: &'static Machine| {
            let faults = machine.kinds.iter().filter(|(_, kind)| kind.is_fault());
            faults.map(|(name, _)| format!("{}: {name}", machine.name))
        };
        let found: Vec<String> = machines().flat_map(named).collect();
        let known = [
            "task: abort",
            "task: stall",
            "task: kill",
            "cancellation: cancel",
            "cancellation: come late",
            "inbox: cut",
            "link: cut",
        ];
        assert_eq!(found, known);
    }

    #[test]
    fn what_turns_a_guard_conflicts_with_what_is_then_done() {
        for machine in machines() {
            for (name, kind) in machine.kinds {
                for (other_name, other) in machine.kinds {
                    // A step itself declares if the step must not be swapped with the death.
                    let is_death = (*kind, *other) == (task::KILL, task::LIVE);
                    let is_ordered = (*kind, *other) == net::ORDERED_BY_MESSAGE || is_death;
                    if !is_ordered && (kind.may_enable(*other) || kind.may_disable(*other)) {
                        assert!(kind.conflicts(*other), "{}: {name}, {other_name}", machine.name);
                    }
                }
            }
        }
    }
}
