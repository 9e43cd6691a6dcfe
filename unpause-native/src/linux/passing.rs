//! Operations that are done in passing: the thread that requests one does it by itself, without a change to the
//! carrier.
//!
//! The owner of the run says at which places it wants no request, and which addresses it watches. A place is a number
//! of return addresses, the innermost first: as many as it takes to tell. An operation at such a place is done in
//! passing, unless it accesses a watched address. Neither table is exact: a place may be forgotten, and an unwatched
//! address may be taken for a watched one. The operation is then a request, whose effect is the same.
//!
//! Beyond the step limit of a run all operations are done in passing, whatever their place: a [turn](run_on) of them,
//! before the next one is a request.

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

/// The number of operations in a turn of a thread beyond the step limit of a run. A thread that waits for another one
/// in a loop does so many in vain, so it must be small; the end of a turn costs as much as some dozen operations.
const TURN: u32 = 1_000;

struct Passing {
    /// Hashes of places, and of the addresses that places begin with, each at an index of its own bits or beside it.
    /// The lowest bit is set in the hash of a place. 0 for none.
    places: [u64; PLACES],
    /// A bit for each remainder of a hash of an address: set if such an address is watched.
    watched: [u64; BITS / 64],
    /// True if a bit is set.
    is_watching: bool,
    /// The rules by which the owner marks places: hashes begin with it.
    rules: u64,
    /// True beyond the step limit of the run.
    runs_on: bool,
    /// The operations of this turn that are left, beyond the step limit.
    left: u32,
    /// True if an operation has changed memory since the last turn ended.
    has_changed: bool,
}

struct Shared(UnsafeCell<Passing>);

// SAFETY: read and written by the only carrier of a run and by its threads, which run one at a time, on the carrier's
// thread of the system.
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
    // SAFETY: see `Shared`; no reference outlives the function that has asked for it.
    unsafe { &mut *PASSING.0.get() }
}

impl Passing {
    /// The entry of a hash, and whether it has the hash. If not, the hash may replace the entry.
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

/// The word and the bit of an address.
#[inline]
fn bit(address: usize) -> (usize, u64) {
    let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    (hash as usize / 64 % (BITS / 64), 1 << (hash % 64))
}

/// Forgets the watched addresses. Places count if they were marked by the same rules: runs of a test alternate between
/// a few rules. For the owner, when a run begins.
pub(crate) fn begin(rules: u64) {
    let passing = passing();
    // No bits of addresses, so that other rules have other hashes.
    passing.rules = rules.rotate_right(16);
    passing.runs_on = false;
    passing.forget_watched();
}

/// Makes threads do all operations in passing, a turn of them at a time, except operations on these addresses.
pub(crate) fn run_on(watched: &[usize]) {
    let passing = passing();
    passing.forget_watched();
    watched.iter().for_each(|address| passing.watch(*address));
    (passing.runs_on, passing.left, passing.has_changed) = (true, TURN, false);
}

/// Makes all operations requests until the next [`run_on`].
pub(crate) fn stop_all() {
    (passing().left, passing().has_changed) = (0, false);
}

/// Returns `true` if a thread has changed memory by an atomic operation since the last call.
pub(crate) fn take_changed() -> bool {
    std::mem::take(&mut passing().has_changed)
}

/// Begins another turn if this one is over. Returns `false` if it is not.
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

/// Has operations at a place done in passing: at these return addresses, the innermost first.
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
    // Beyond the step limit no change is recorded, except for threads that are held.
    if !passing().runs_on {
        passing().watch(address);
    }
}

/// Does the operation of a thread, if its place is marked and the memory may be accessed. Returns
/// the previous value.
#[inline(always)]
pub(crate) fn perform(thread: &mut Thread, access: &Access, caller: (usize, usize)) -> Option<u64> {
    let may_pass = if passing().runs_on { has_turn() } else { is_marked(thread, caller) };
    // The detector of data races is the carrier's.
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

/// Counts an operation beyond the step limit. Returns `false` if its turn is over.
#[inline(always)]
fn has_turn() -> bool {
    let left = &mut passing().left;
    let has_turn = *left > 0;
    *left -= u32::from(has_turn);
    has_turn
}

/// Returns `true` if a function of a thread with this return address and this frame pointer is at a marked place.
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
        // A run of another test would use the same tables.
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
