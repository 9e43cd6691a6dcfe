//! The stores that an operation may choose.

use crate::machine::{KEPT, Known, Orders};
use crate::operation::{Operation, SEQ_CST};
use crate::seqcst::{Access, Nodes};
use crate::word::{NOT_IN_S, Store, Word};

impl Orders {
    /// Returns the places of the stores that an operation may choose, newest first, the number of places, and `true` if
    /// the limit of repeated loads excludes a place.
    ///
    /// A load that waits for a change does not read the store again that it has read before. This loses no outcome.
    pub(crate) fn places(
        &self,
        thread: usize,
        operation: &impl Operation,
        word: &Word,
    ) -> ([u8; KEPT], usize, bool) {
        let last = word.newest();
        let mut places = ([0; KEPT], 1, false);
        places.0[0] = last as u8;
        let chooses = operation.may_only_read() || self.rules.moves;
        if !chooses || last == 0 || word.stores[last].is_known(&self.threads[thread].clock) {
            return places;
        }
        let Known { clock, awaited, .. } = &self.threads[thread];
        let awaits = *awaited == Some((operation.address(), clock.get(thread)));
        let repeats = if awaits { 1 } else { self.rules.repeats };
        let excluded = self.excluded(thread, operation);
        let floor = self.floor(thread, word, false);
        let is_sc = [false, true].map(|writes| operation.order_if(writes)).contains(&SEQ_CST);
        let floor_in_s = if is_sc { self.floor(thread, word, true) } else { 0 };
        let mut ahead = Nodes::default();
        for place in (floor..last).rev() {
            let store = &word.stores[place];
            let writes = operation.written_over(store.value).is_some();
            if !writes && excluded == Some(store.name()) {
                // The older stores are not visible, because the thread has read this one.
                break;
            }
            let may_be = match writes {
                true => self.rules.moves && !store.is_taken,
                false => store.times_seen(thread) < repeats,
            };
            let order = operation.order_if(writes);
            let access = Access { thread, place, reads: operation.reads(), writes, order };
            let is_before_s = order == SEQ_CST && place < floor_in_s;
            let is_allowed = !self.exact.is_on || {
                self.exact.add_ahead(&word.stores[place + 1], &mut ahead);
                self.exact.allows(access, clock, word, &ahead)
            };
            if may_be && !is_before_s && is_allowed {
                places.0[places.1] = place as u8;
                places.1 += 1;
            }
            places.2 |= !may_be && !writes && !awaits && !is_before_s && is_allowed;
        }
        places
    }

    /// Returns the value of a store that the next operation may choose: one of its last [candidates](Self::candidates)
    /// except the first.
    pub fn offered(&self, nth: usize) -> u64 {
        self.words[self.offer.word].stores[usize::from(self.offer.places[nth])].value
    }

    /// Returns the first store in modification order that a thread may see. `in_s` is `true` for an operation that is
    /// now last in S.
    ///
    /// An operation in S sees no store older than a store that is in S itself or was loaded in S. It also sees no store
    /// older than a store that happens before a fence in S. For any other operation, the last fence that happens before
    /// it gives this second bound.
    ///
    /// With the exact order S, these bounds apply only to what was in S at its last restart.
    fn floor(&self, thread: usize, word: &Word, in_s: bool) -> usize {
        let clock = &self.threads[thread].clock;
        let (position, fence) = match (self.exact.is_on, in_s) {
            (true, false) if clock.fence == 0 => (0, None),
            (true, _) => (self.exact.position, self.fences.get(self.exact.fence)),
            (false, true) => (NOT_IN_S - 1, self.fences.last()),
            (false, false) => {
                let fence = self.fences.get(clock.fence);
                (fence.map_or(0, |fence| fence.position), fence)
            }
        };
        let is_bound = |store: &Store| {
            store.step <= self.settled
                || store.is_known(clock)
                || store.first <= position
                || fence.is_some_and(|fence| store.is_known(&fence.known))
        };
        word.stores.iter().rposition(is_bound).unwrap_or(0)
    }
}
