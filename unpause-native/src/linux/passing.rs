//! Operations that are done in passing: the thread that requests one does it by itself, without a change to the carrier.
//!
//! The owner of the run says at which places it wants no request, and which addresses it watches. A place is a number of
//! return addresses, the innermost first: as many as it takes to tell. An operation at such a place is done in passing,
//! unless it accesses a watched address. Neither table is exact: a place may be forgotten, and an address that is not
//! watched taken for one that is. The operation is then a request, whose effect is the same.

use std::cell::UnsafeCell;

use super::blocks;
use super::frames::add;
use super::race::RACES;
use super::request::Access;
use super::thread::Thread;

/// The number of entries for places; a power of two.
const PLACES: usize = 1 << 12;
/// The number of bits for addresses; a power of two.
const BITS: usize = 1 << 12;

struct Passing {
    /// Hashes of places, and of the addresses that places begin with, each at an index of its own bits or beside it. The
    /// lowest bit is set in the hash of a place. 0 for none.
    places: [u64; PLACES],
    /// A bit for each remainder of a hash of an address: set if such an address is watched.
    watched: [u64; BITS / 64],
    /// True if a bit is set.
    is_watching: bool,
    /// The rules by which the owner marks places: hashes begin with it.
    rules: u64,
}

struct Shared(UnsafeCell<Passing>);

// SAFETY: read and written by the one carrier of a run and by its threads, which go on one at a time, on the carrier's
// thread of the system.
unsafe impl Sync for Shared {}

static PASSING: Shared = Shared(UnsafeCell::new(Passing {
    places: [0; PLACES],
    watched: [0; BITS / 64],
    is_watching: false,
    rules: 0,
}));

fn passing() -> &'static mut Passing {
    // SAFETY: see `Shared`; no reference outlives the function that has asked for it.
    unsafe { &mut *PASSING.0.get() }
}

impl Passing {
    /// The entry of a hash, and whether it has the hash. If not, it is one that the hash may replace.
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
}

/// The word and the bit of an address.
#[inline]
fn bit(address: usize) -> (usize, u64) {
    let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    (hash as usize / 64 % (BITS / 64), 1 << (hash % 64))
}

/// Forgets the watched addresses. Places count if they were marked by the same rules: runs of a test alternate between a
/// few rules. For the owner, when a run begins.
pub(crate) fn begin(rules: u64) {
    let passing = passing();
    // No bits of addresses, so that other rules have other hashes.
    passing.rules = rules.rotate_right(16);
    if std::mem::take(&mut passing.is_watching) {
        passing.watched.fill(0);
    }
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

/// Has each operation on an address be a request.
pub(crate) fn watch(address: usize) {
    let (word, bit) = bit(address);
    let passing = passing();
    passing.watched[word] |= bit;
    passing.is_watching = true;
}

/// Does the operation of a thread, if its place is marked and the memory may be accessed. Returns the value before.
#[inline(always)]
pub(crate) fn perform(thread: &mut Thread, access: &Access, caller: (usize, usize)) -> Option<u64> {
    // The detector of data races is the carrier's.
    if RACES || !is_marked(thread, caller) {
        return None;
    }
    let (word, bit) = bit(access.address);
    let is_watched = passing().watched[word] & bit != 0;
    let passes = !is_watched && blocks::may_access(access.address, access.size.into());
    passes.then(|| {
        let old = access.perform().0;
        thread.readings.has_changed |= access.changes(old);
        old
    })
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
        let is_watched = |address| {
            let (word, bit) = bit(address);
            passing().watched[word] & bit != 0
        };
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
