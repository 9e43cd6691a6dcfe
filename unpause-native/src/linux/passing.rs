//! Operations in passing: the requesting thread performs such an operation directly, without a switch to the carrier.
//!
//! The owner of the run marks the places at which it needs no request, and the addresses that it watches. A place is a
//! list of return addresses, innermost first, as long as needed to identify the place. An operation at a marked place
//! is performed in passing, unless it accesses a watched address. Neither table is exact: a place may be forgotten, and
//! an unwatched address may be mistaken for a watched address. The operation is then a request, which has the same
//! effect.
//!
//! Beyond the step limit of a run, all operations are performed in passing, whatever their place. After a
//! [turn](run_on) of such operations, the next operation is a request.

use std::cell::UnsafeCell;

use super::frames::add;
use super::orders;
use super::race::races;
use super::request::Access;
use super::thread::{Thread, outside};

/// The number of entries for places; a power of two.
const PLACES: usize = 1 << 12;
/// The number of bits for addresses; a power of two.
const BITS: usize = 1 << 12;

/// The number of operations in a turn of a thread beyond the step limit of a run. The end of a turn costs as much as
/// some dozen operations.
const TURN: u32 = 1_000;
/// The number of consecutive operations without a change after which a turn ends. A thread that waits for another
/// thread in a loop wastes only these operations.
const IN_VAIN: u32 = 64;
/// The number of consecutive turns that may end because they change nothing. After them, turns have their whole length
/// until something changes. So a program that only reads has few turns.
const SHORT_TURNS: u32 = 64;

struct Passing {
    /// Hashes of places, and of the prefixes of places. The index of a hash is given by its bits, or is the adjacent
    /// index. The lowest bit is set in the hash of a complete place. 0 marks a free entry.
    places: [u64; PLACES],
    /// One bit for each remainder of an address hash. It is set if an address with this remainder is watched.
    watched: [u64; BITS / 64],
    /// True if any bit is set.
    is_watching: bool,
    /// The rules by which the owner marks places. They are the start value of hashes.
    rules: u64,
    /// True beyond the step limit of the run.
    runs_on: bool,
    /// The number of remaining operations in this turn, beyond the step limit.
    left: u32,
    /// True if an operation has changed memory since the end of the last turn.
    has_changed: bool,
    /// The number of consecutive operations that changed nothing, in this turn.
    in_vain: u32,
    /// The number of further turns that may end because they change nothing.
    short_turns: u32,
}

struct Shared(UnsafeCell<Passing>);

// SAFETY: only the carrier of a run and the threads of the run use the value. They execute one at a time, on the
// carrier's OS thread.
unsafe impl Sync for Shared {}

static PASSING: Shared = Shared(UnsafeCell::new(Passing {
    places: [0; PLACES],
    watched: [0; BITS / 64],
    is_watching: false,
    rules: 0,
    runs_on: false,
    left: 0,
    has_changed: false,
    in_vain: 0,
    short_turns: 0,
}));

fn passing() -> &'static mut Passing {
    // SAFETY: see `Shared`; no reference outlives the function that has called this.
    unsafe { &mut *PASSING.0.get() }
}

impl Passing {
    /// Returns the entry of a hash, and `true` if the entry contains the hash. Otherwise the hash may replace the
    /// entry.
    #[inline]
    fn entry(&mut self, hash: u64) -> (&mut u64, bool) {
        let index = (hash >> 1) as usize % PLACES;
        let is_it = |entry: u64| entry | 1 == hash | 1;
        if is_it(self.places[index]) {
            return (&mut self.places[index], true);
        }
        let beside = is_it(self.places[index ^ 1]);
        let index = if beside || self.places[index] != 0 { index ^ 1 } else { index };
        (&mut self.places[index], beside)
    }

    fn watch(&mut self, address: usize) {
        let (word, bit) = bit(address);
        self.watched[word] |= bit;
        self.is_watching = true;
    }

    fn forget_watched(&mut self) {
        if std::mem::take(&mut self.is_watching) {
            self.watched.fill(0);
        }
    }

    #[inline]
    fn is_watched(&self, address: usize) -> bool {
        let (word, bit) = bit(address);
        self.watched[word] & bit != 0
    }
}

/// Returns the word and the bit of an address.
#[inline]
fn bit(address: usize) -> (usize, u64) {
    let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    (hash as usize / 64 % (BITS / 64), 1 << (hash % 64))
}

/// Removes the watched addresses. Marked places remain valid for runs with the same rules, because the runs of a test
/// alternate between a few rules. Called by the owner when a run begins.
pub(crate) fn begin(rules: u64) {
    let passing = passing();
    // The rotation moves the rules out of the address bits, so that other rules have other hashes.
    passing.rules = rules.rotate_right(16);
    passing.runs_on = false;
    passing.forget_watched();
}

/// Makes threads perform all operations in passing, a turn of operations at a time, except operations on these
/// addresses. Also ends weak memory, so that an operation costs as much as in a run without weak memory.
pub(crate) fn run_on(watched: &[usize]) {
    orders::end_weak();
    let passing = passing();
    passing.forget_watched();
    watched.iter().for_each(|address| passing.watch(*address));
    (passing.runs_on, passing.left, passing.has_changed) = (true, TURN, false);
    (passing.in_vain, passing.short_turns) = (0, SHORT_TURNS);
}

/// Makes all operations requests until the next call of [`run_on`].
pub(crate) fn stop_all() {
    (passing().left, passing().has_changed) = (0, false);
}

/// Returns `true` if a thread has changed memory by an atomic operation since the last call. Called at the end of a
/// turn, also if the thread has given up the rest of its turn.
pub(crate) fn take_changed() -> bool {
    let passing = passing();
    passing.in_vain = 0;
    std::mem::take(&mut passing.has_changed)
}

/// Begins another turn if this turn is over. Returns `false` if it is not.
pub(crate) fn next_turn() -> bool {
    let passing = passing();
    let is_over = passing.left == 0;
    if is_over {
        let was_in_vain = passing.in_vain >= IN_VAIN;
        passing.short_turns = passing.short_turns.saturating_sub(u32::from(was_in_vain));
        (passing.left, passing.in_vain) = (TURN, 0);
    }
    is_over
}

/// Records that an operation has found and left these values. Ends the turn if too many operations changed nothing.
#[inline(always)]
pub(crate) fn note_values(old: u64, new: u64) {
    let passing = passing();
    if old != new {
        passing.has_changed = true;
        (passing.in_vain, passing.short_turns) = (0, SHORT_TURNS);
        return;
    }
    passing.in_vain = passing.in_vain.saturating_add(1);
    if passing.in_vain == IN_VAIN && passing.short_turns > 0 {
        passing.left = 0;
    }
}

/// Makes threads perform operations at a place in passing. The place is given by its return addresses, innermost first.
pub(crate) fn mark(place: &[usize]) {
    let mut hash = passing().rules;
    for (at, address) in place.iter().enumerate() {
        hash = add(hash, *address);
        let is_last = at + 1 == place.len();
        *passing().entry(hash).0 = hash & !1 | u64::from(is_last);
    }
}

/// Makes each operation on an address a request.
pub(crate) fn watch(address: usize) {
    // Beyond the step limit, changes are not recorded, except for threads that are held.
    if !passing().runs_on {
        passing().watch(address);
    }
}

/// Performs the operation of a thread, if its place is marked and access to the memory is allowed. Returns the previous
/// value.
#[inline(always)]
pub(crate) fn perform(thread: &mut Thread, access: &Access, caller: (usize, usize)) -> Option<u64> {
    let may_pass = if passing().runs_on { has_turn() } else { is_marked(thread, caller) };
    // Only the carrier runs the detector of data races.
    if !may_pass || races() {
        return None;
    }
    let is_watched = passing().is_watched(access.address);
    let passes = !is_watched && thread.run_of().may_access(thread, access);
    passes.then(|| {
        let (old, new) = access.perform();
        note_values(old, new);
        thread.readings.has_changed |= access.changes(old);
        if let Some(orders) = orders::orders() {
            outside(|| orders.perform(thread.number, access, old, 0));
        }
        old
    })
}

/// Counts an operation beyond the step limit. Returns `false` if the turn is over.
#[inline(always)]
fn has_turn() -> bool {
    let left = &mut passing().left;
    let has_turn = *left > 0;
    *left -= u32::from(has_turn);
    has_turn
}

/// Returns `true` if a function with this return address and this frame pointer is at a marked place.
#[inline(never)]
fn is_marked(thread: &Thread, (mut address, mut frame): (usize, usize)) -> bool {
    let passing = passing();
    let mut hash = passing.rules;
    loop {
        hash = add(hash, address);
        match passing.entry(hash) {
            (_, false) => return false,
            (entry, true) if *entry & 1 == 1 => return true,
            _ => {}
        }
        let Some((outer, next)) = thread.frame_at(frame) else { return false };
        (frame, address) = (outer, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_while_the_rules_are_the_same_and_addresses_for_a_run() {
        let entry = |place: &[usize]| {
            let hash = place.iter().fold(passing().rules, |hash, address| add(hash, *address));
            let (entry, is_it) = passing().entry(hash);
            is_it.then_some(*entry & 1 == 1)
        };
        let is_watched = |address| passing().is_watched(address);
        // The lock is necessary, because a run of another test would use the same tables.
        let _only = crate::linux::local::Workers::take();
        let (inner, outer) = (0x5555_0000_1234, 0x5555_0000_4321);
        begin(7);
        mark(&[inner, outer]);
        watch(0x2000_0000_0040);
        assert_eq!(
            (entry(&[inner]), entry(&[inner, outer]), entry(&[outer])),
            (Some(false), Some(true), None)
        );
        assert!(is_watched(0x2000_0000_0040) && !is_watched(0x2000_0000_0080));
        begin(7);
        assert!(entry(&[inner, outer]).is_some() && !is_watched(0x2000_0000_0040));
        begin(8);
        assert_eq!(entry(&[inner, outer]), None);
        begin(7);
        assert_eq!(entry(&[inner, outer]), Some(true));
    }

    /// Returns the number of operations in the next turn, if each of them finds `old` and leaves 0.
    fn turn(old: u64) -> u32 {
        let mut operations = 0;
        while has_turn() {
            note_values(old, 0);
            operations += 1;
        }
        assert!(next_turn());
        operations
    }

    #[test]
    fn turns_without_a_change_are_short_while_other_turns_change_something() {
        let _only = crate::linux::local::Workers::take();
        run_on(&[]);
        assert_eq!(turn(1), TURN);
        for _ in 0..SHORT_TURNS {
            assert_eq!((turn(0), turn(0), turn(1)), (IN_VAIN, IN_VAIN, TURN));
        }
        assert!((0..SHORT_TURNS).all(|_| turn(0) == IN_VAIN));
        // Nothing changes, so no thread waits for a turn that changes something.
        assert_eq!((turn(0), turn(0)), (TURN, TURN));
        assert_eq!((turn(1), turn(0)), (TURN, IN_VAIN));
        begin(7);
    }

    #[test]
    fn a_turn_counts_only_its_own_operations_without_a_change() {
        let _only = crate::linux::local::Workers::take();
        run_on(&[]);
        for _ in 0..IN_VAIN - 1 {
            assert!(has_turn());
            note_values(0, 0);
        }
        // The thread yields.
        assert!(!take_changed());
        assert_eq!(turn(0), IN_VAIN);
        begin(7);
    }
}
