//! The relation of the operations on one object: which of them may not be swapped, and which of them
//! enable or disable which.
//!
//! A *machine* is what an object does: a word of memory, a lock, a task. It declares its kinds of operations, a file
//! and a row each. Happens-before and the exhaustive search know kinds only, and no machine.
//!
//! The law of a declaration: two steps that do not conflict give the same state, the same answers and
//! the same footprints in either order, wherever both can be taken; and whatever turns a guard conflicts
//! with what is then done. `simulate/exhaust/tests/diamond.rs` takes pairs of steps in both orders and
//! compares.

#[cfg(test)]
use super::{
    cancellation, clock, condvar, count, fs, lock, net, of_tokio, once, parking, task, word,
};

/// A set of kinds of one machine.
pub(crate) type Bits = u16;

/// A kind of operation, with its relation to the kinds of the same machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kind {
    bit: Bits,
    /// Kinds that it may not be swapped with. Each of two kinds says so, but for [`WATCH`].
    conflicts: Bits,
    /// Kinds whose guard it may turn to true.
    enables: Bits,
    /// Kinds whose guard it may turn to false.
    disables: Bits,
    /// True if it leaves the object as it was.
    looks: bool,
    /// True if it is recorded beside an operation that has a point in the same step, and never alone.
    beside: bool,
}

/// The bit of [`WATCH`].
pub(crate) const WATCHES: Bits = 1 << 15;

/// Waits for a change of the object: its guard is that there was one. The same for all machines.
pub(crate) const WATCH: Kind = Kind::of(WATCHES);

impl Kind {
    /// Polled by hand, the same for all machines. The object alone knows if that was the begin of a wait, its end or
    /// none of both, so it may not be swapped with any other operation, and may turn any guard.
    //
    // It has the bit of a watch, which is never done, as this is never a guard.
    pub(crate) const fn by_hand(looks: bool) -> Kind {
        let turns = if looks { 0 } else { Bits::MAX };
        let beside = false;
        Kind { bit: WATCHES, conflicts: Bits::MAX, enables: turns, disables: turns, looks, beside }
    }

    /// A kind that can be swapped with all others.
    pub(crate) const fn of(bit: Bits) -> Kind {
        Kind { bit, conflicts: 0, enables: 0, disables: 0, looks: false, beside: false }
    }

    /// May not be swapped with these.
    pub(crate) const fn conflicts_with(self, kinds: Bits) -> Kind {
        Kind { conflicts: kinds, ..self }
    }

    /// May turn the guards of these to true.
    pub(crate) const fn enables(self, kinds: Bits) -> Kind {
        Kind { enables: kinds, ..self }
    }

    /// May turn the guards of these to false.
    pub(crate) const fn disables(self, kinds: Bits) -> Kind {
        Kind { disables: kinds, ..self }
    }

    /// Leaves the object as it was.
    pub(crate) const fn looks(self) -> Kind {
        Kind { looks: true, ..self }
    }

    /// Is recorded beside an operation that has a point in the same step, and never alone.
    pub(crate) const fn beside_a_point(self) -> Kind {
        Kind { beside: true, ..self }
    }

    /// Returns `true` if an operation with a point is done in the same step.
    pub(crate) const fn is_beside_a_point(self) -> bool {
        self.beside
    }

    /// Returns `true` if such an operation leaves the object as it was.
    pub(crate) const fn is_look(self) -> bool {
        self.looks
    }

    /// Returns `true` if two operations that took effect conflict, so that they must not be swapped.
    #[inline]
    pub(crate) fn conflicts(self, other: Kind) -> bool {
        #[cfg(test)]
        if faults::are_forgotten(self, other) {
            return false;
        }
        self.conflicts & other.bit != 0 || other.conflicts & self.bit != 0
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of the other one to true.
    #[inline]
    pub(crate) fn may_enable(self, asked: Kind) -> bool {
        #[cfg(test)]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.enables & asked.bit != 0
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of the other one to false.
    #[inline]
    pub(crate) fn may_disable(self, asked: Kind) -> bool {
        #[cfg(test)]
        if faults::are_forgotten(self, asked) {
            return false;
        }
        self.disables & asked.bit != 0
    }

    /// Returns `true` if this operation, which took effect, may have turned the guard of any other one to false.
    #[inline]
    pub(crate) fn may_disable_some(self) -> bool {
        self.disables != 0
    }

    /// The number of the kind in its machine.
    pub(crate) fn number(self) -> usize {
        self.bit.trailing_zeros() as usize
    }

    /// The numbers of the kinds of its machine that conflict with this one, and that of [those by hand](Self::by_hand).
    pub(crate) fn conflicting(self) -> impl Iterator<Item = usize> {
        let conflicts = self.conflicts | WATCHES;
        (0..Bits::BITS as usize).filter(move |number| conflicts >> number & 1 == 1)
    }

    /// Returns `true` if every kind that conflicts with `other` conflicts with this kind, too.
    #[inline]
    pub(crate) fn covers(self, other: Kind) -> bool {
        other.bit != WATCHES && other.conflicts & !self.conflicts == 0
    }
}

/// A machine: its kinds of operations, by name.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    pub(crate) kinds: &'static [(&'static str, Kind)],
}

/// All machines.
#[cfg(test)]
pub(crate) fn machines() -> impl Iterator<Item = &'static Machine> {
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
    ];
    simple.into_iter().chain(of_tokio::MACHINES.iter().copied())
}

/// Faults planted in declarations.
#[cfg(test)]
pub(crate) mod faults {
    use super::Kind;

    thread_local! {
        static FORGOTTEN: std::cell::Cell<Option<(Kind, Kind)>> = const { std::cell::Cell::new(None) };
    }

    pub(super) fn are_forgotten(a: Kind, b: Kind) -> bool {
        FORGOTTEN.get().is_some_and(|pair| pair == (a, b) || pair == (b, a))
    }

    /// While `act` is on, the two kinds have no relation.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub(crate) fn without<T>(pair: (Kind, Kind), act: impl FnOnce() -> T) -> T {
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

    #[test]
    fn what_turns_a_guard_conflicts_with_what_is_then_done() {
        for machine in machines() {
            for (name, kind) in machine.kinds {
                for (other_name, other) in machine.kinds {
                    let is_ordered = (*kind, *other) == net::ORDERED_BY_MESSAGE;
                    if !is_ordered && (kind.may_enable(*other) || kind.may_disable(*other)) {
                        assert!(kind.conflicts(*other), "{}: {name}, {other_name}", machine.name);
                    }
                }
            }
        }
    }
}
