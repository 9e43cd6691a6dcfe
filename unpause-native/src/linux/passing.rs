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

/// The number of operations in a turn of a thread beyond the step limit of a run. A thread that waits for another
/// thread in a loop wastes a whole turn, so the number must be small. But the end of a turn costs as much as some dozen
/// operations.
const TURN: u32 = 1_000;

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
/// addresses.
pub(crate) fn run_on(watched: &[usize]) {
    let passing = passing();
    passing.forget_watched();
    watched.iter().for_each(|address| passing.watch(*address));
    (passing.runs_on, passing.left, passing.has_changed) = (true, TURN, false);
}

/// Makes all operations requests until the next call of [`run_on`].
pub(crate) fn stop_all() {
    (passing().left, passing().has_changed) = (0, false);
}

/// Returns `true` if a thread has changed memory by an atomic operation since the last call.
pub(crate) fn take_changed() -> bool {
    std::mem::take(&mut passing().has_changed)
}

/// Begins another turn if this turn is over. Returns `false` if it is not.
pub(crate) fn next_turn() -> bool {
    let is_over = passing().left == 0;
    if is_over {
        passing().left = TURN;
    }
    is_over
}

/// Records that an operation has found and left these values.
#[inline(always)]
pub(crate) fn note_values(old: u64, new: u64) {
    passing().has_changed |= old != new;
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
}
