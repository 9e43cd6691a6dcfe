//! Loops over lock calls that are single operations. Only a search holds a thread in such a loop.

use super::{Looks, ROUND, ROUNDS, ROUNDS_ALIKE, SHORT};
use crate::native::looks::{Look, Round};
use crate::native::sites::Site;

impl Looks {
    /// Records a lock call that is a single operation, before its step. Returns the call and its round if the thread
    /// must wait until another thread changes an object of the round: the thread is in a loop over lock calls, and its
    /// last rounds began in the same state. Only a search holds such a loop.
    pub(in crate::native) fn calls_again(
        &mut self,
        thread: usize,
        address: usize,
        site: &Site,
    ) -> Option<(Look, Round)> {
        if !self.is_search {
            return None;
        }
        let mut call = Look::at(address, site);
        if self.calls.iter().rev().take(ROUND).any(|earlier| earlier.is_here(&call)) {
            self.hash(thread, &mut call, site);
        }
        let period = (1..=ROUND).find(|period| self.is_alike(&call, *period));
        if self.calls.len() == ROUND * ROUNDS {
            self.calls.drain(..ROUND * ROUNDS / 2);
        }
        self.calls.push(call);
        let Some(period) = period else {
            if self.looks.is_empty() {
                (self.again, self.times) = (0, 0);
            }
            return None;
        };
        let free = if self.times == 0 { 0 } else { SHORT << self.times };
        self.again += 1;
        if self.again <= free * period as u32 {
            return None;
        }
        let round = &self.calls[self.calls.len() - 1 - period..];
        let since = round[0].seen;
        let reads = self.looks.iter().rev().take_while(|look| look.seen >= since);
        let addresses = reads.chain(round).map(|look| look.address);
        let mut addresses: Vec<usize> = addresses.filter(|address| *address != 0).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let round = Round {
            looked: (addresses, since),
            accesses: self.looks_since(since),
            is_new: self.times == 0,
            release: self.release(),
        };
        Some((call, round))
    }

    /// Returns `true` if the last rounds of this number of lock calls began in the same state as `call`.
    fn is_alike(&self, call: &Look, period: usize) -> bool {
        // The first of the rounds has begun at a place that was not known.
        call.state != 0
            && (1..=ROUNDS_ALIKE).all(|nth| {
                let head = self.calls.len().checked_sub(nth * period).map(|at| &self.calls[at]);
                let same = |head: &Look| (head.state, head.memory) == (call.state, call.memory);
                head.is_some_and(|head| head.is_here(call) && (nth == ROUNDS_ALIKE || same(head)))
            })
    }

    /// Returns the number of accesses since the run had this number of events, at most those of a round.
    fn looks_since(&self, events: usize) -> usize {
        self.looks.iter().rev().take(ROUND).take_while(|look| look.seen >= events).count()
    }
}
