//! The relation of the operations on one object: pairs that may not be swapped, and pairs of which
//! one enables or disables the other.
//!
//! A *machine* is what an object does: a word of memory, a lock, a task. It declares its kinds of operations, a file
//! and a row each. Happens-before and the exhaustive search know kinds only, and no machine.
//!
//! The law of a declaration: two steps that do not conflict give the same state, the same answers and
//! the same footprints in either order, wherever both can be taken; and whatever turns a guard conflicts
//! with what is then done. `simulate/exhaust/tests/diamond.rs` takes pairs of steps in both orders and
//! compares.

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
    /// Kinds that it may not be swapped with. Each of two kinds says so, but for [`WATCH`].
    conflicts: Bits,
    /// Kinds whose guard it may turn to true.
    enables: Bits,
    /// Kinds whose guard it may turn to false.
    disables: Bits,
    /// True if it leaves the object as it was.
    looks: bool,
    side: Side,
    /// True if it is recorded beside an operation that has a point in the same step, and never alone.
    beside: bool,
    /// True if it is a fault: it disturbs tasks at a moment that they do not decide.
    fault: bool,
}

/// A range of the numbers of the messages of a channel: the first one, and the first one after it.
///
/// For an operation that takes messages: these. For an operation that puts a message in, or takes
/// room for a message: the messages whose receipt makes no difference to it, because they neither
/// are its message nor gave its room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub from: u32,
    pub to: u32,
}

impl Span {
    /// The span of an operation without numbers.
    pub const NONE: Span = Span { from: 0, to: 0 };

    /// Returns `true` if there are messages, and all of them are in `other`.
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

/// The side of a kind in conflicts that numbers decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    /// None: conflicts do not depend on numbers.
    Neither,
    /// It puts a message in, or takes room for one.
    Puts,
    /// It takes messages.
    Takes,
}

/// The bit of [`WATCH`].
pub const WATCHES: Bits = 1 << 15;

/// Waits for a change of the object: its guard is that there was one. The same for all machines.
pub const WATCH: Kind = Kind::of(WATCHES);

impl Kind {
    /// Polled by hand, the same for all machines. The object alone knows if that was the begin of a wait, its end or
    /// none of both, so it may not be swapped with any other operation, and may turn any guard.
    //
    // It has the bit of a watch, which is never done, as this is never a guard.
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

    /// A kind that can be swapped with all others.
    pub const fn of(bit: Bits) -> Kind {
        let (looks, side, beside, fault) = (false, Side::Neither, false, false);
        Kind { bit, conflicts: 0, enables: 0, disables: 0, looks, side, beside, fault }
    }

    /// May not be swapped with these.
    pub const fn conflicts_with(self, kinds: Bits) -> Kind {
        Kind { conflicts: kinds, ..self }
    }

    /// May turn the guards of these to true.
    pub const fn enables(self, kinds: Bits) -> Kind {
        Kind { enables: kinds, ..self }
    }

    /// May turn the guards of these to false.
    pub const fn disables(self, kinds: Bits) -> Kind {
        Kind { disables: kinds, ..self }
    }

    /// Leaves the object as it was.
    pub const fn looks(self) -> Kind {
        Kind { looks: true, ..self }
    }

    /// Puts a message in, or takes room for one: numbers decide if it conflicts with a kind that [takes](Self::takes).
    pub const fn puts(self) -> Kind {
        Kind { side: Side::Puts, ..self }
    }

    /// Takes messages.
    pub const fn takes(self) -> Kind {
        Kind { side: Side::Takes, ..self }
    }

    /// Is recorded beside an operation that has a point in the same step, and never alone.
    pub const fn beside_a_point(self) -> Kind {
        Kind { beside: true, ..self }
    }

    /// Is a fault: it disturbs tasks at a moment that they do not decide, without a point. Strategies draw that moment
    /// among the steps of its victims.
    pub const fn fault(self) -> Kind {
        Kind { fault: true, ..self }
    }

    /// Returns `true` for the kind of a fault.
    pub const fn is_fault(self) -> bool {
        self.fault
    }

    /// Returns `true` if an operation with a point is done in the same step.
    pub const fn is_beside_a_point(self) -> bool {
        self.beside
    }

    /// Returns `true` if such an operation leaves the object as it was.
    pub const fn is_look(self) -> bool {
        self.looks
    }

    /// Returns `true` if two operations that took effect conflict, so that they must not be swapped.
    #[inline]
    pub fn conflicts(self, other: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, other) {
            return false;
        }
        self.conflicts & other.bit != 0 || other.conflicts & self.bit != 0
    }

    /// Returns `true` if the numbers of two operations tell that they can be swapped, although their kinds conflict.
    #[inline]
    pub fn are_apart((one, span): (Kind, Span), (other, other_span): (Kind, Span)) -> bool {
        match (one.side, other.side) {
            (Side::Puts, Side::Takes) => other_span.is_within(span.seen()),
            (Side::Takes, Side::Puts) => span.is_within(other_span.seen()),
            _ => false,
        }
    }

    /// Returns `true` if numbers decide some of its conflicts.
    #[inline]
    pub fn is_numbered(self) -> bool {
        self.side != Side::Neither
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of the other one to true.
    #[inline]
    pub fn may_enable(self, asked: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.enables & asked.bit != 0
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of the other one to false.
    #[inline]
    pub fn may_disable(self, asked: Kind) -> bool {
        #[cfg(any(test, feature = "planted"))]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.disables & asked.bit != 0
    }

    /// Returns `true` if this operation may turn guards of others.
    pub fn turns_some(self) -> bool {
        self.enables | self.disables != 0
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of any other one to false.
    #[inline]
    pub fn may_disable_some(self) -> bool {
        self.disables != 0
    }

    /// The declaration as numbers: its own bit, the bits of the kinds that it conflicts with, of those that it may
    /// enable, and of those that it may disable; 1 if it puts messages in, 2 if it takes them, else 0.
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

    /// The number of the kind in its machine.
    pub fn number(self) -> usize {
        self.bit.trailing_zeros() as usize
    }

    /// The numbers of the kinds of its machine that conflict with this kind, and the number of
    /// [operations by hand](Self::by_hand).
    pub fn conflicting(self) -> impl Iterator<Item = usize> {
        let conflicts = self.conflicts | WATCHES;
        (0..Bits::BITS as usize).filter(move |number| conflicts >> number & 1 == 1)
    }

    /// Returns `true` if every kind that conflicts with `other` conflicts with this kind, too.
    #[inline]
    pub fn covers(self, other: Kind) -> bool {
        other.bit != WATCHES && other.conflicts & !self.conflicts == 0
    }
}

/// A machine: its kinds of operations, by name.
#[cfg(any(test, feature = "planted"))]
#[derive(Debug)]
pub struct Machine {
    pub name: &'static str,
    pub kinds: &'static [(&'static str, Kind)],
}

/// All machines.
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

/// Faults planted in declarations.
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

    /// While `act` is on, messages have no numbers.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub fn without_numbers<T>(act: impl FnOnce() -> T) -> T {
        NUMBERLESS.set(true);
        let done = act();
        NUMBERLESS.set(false);
        done
    }

    /// During `act`, operations that put messages in commute with the receipt of so many more
    /// messages, before and after the messages for which this is true anyway.
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

    /// While `act` is on, the two kinds have no relation.
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

    /// The observer of a search compares kinds without their machines.
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

    /// Whoever adds a fault adds a program to `sim-tests/src/moments.rs`, which measures its moment.
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
                    // The step itself says if it may not be swapped with the death.
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
