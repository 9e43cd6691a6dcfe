//! Reused memory, whose words start again.

use std::ops::Range;

use crate::machine::Orders;
use crate::rules::Rule;
use crate::uncertain::Uncertain;
use crate::word::Word;

/// The bits of an address within a page of the word table.
const PAGE: u32 = 12;

/// Returns the pages of the words that may overlap these bytes. A word that begins in the previous page may reach into
/// the first page.
fn pages(address: usize, size: usize) -> Range<usize> {
    address.saturating_sub(7) >> PAGE..(address + size).div_ceil(1 << PAGE)
}

impl Orders {
    /// Adds a word that overlaps no other word, and returns its index.
    pub(crate) fn add(&mut self, word: Word) -> usize {
        let address = word.address;
        let at = match self.unused.pop() {
            Some(at) => {
                self.words[at as usize] = word;
                at
            }
            None => {
                self.words.push(word);
                self.words.len() as u32 - 1
            }
        };
        self.by_address.insert(address, at);
        self.by_page.entry(address >> PAGE).or_default().push(at);
        at as usize
    }

    /// Removes the words that overlap these bytes. Returns `true` if there were any.
    pub(crate) fn forget(&mut self, address: usize, size: usize) -> bool {
        let Orders { words, by_address, by_page, unused, spare, exact, .. } = self;
        let (before, mut removes_marks) = (unused.len(), false);
        let mut forget_in = |page: usize| {
            let Some(of_page) = by_page.get_mut(&page) else { return };
            of_page.retain(|at| {
                let word = &mut words[*at as usize];
                let must_go = word.overlaps(address, size);
                if must_go {
                    removes_marks |= exact.has_marks(word);
                    by_address.remove(&word.address);
                    spare.append(&mut word.stores);
                    word.size = 0;
                    unused.push(*at);
                }
                !must_go
            });
        };
        pages(address, size).for_each(&mut forget_in);
        let removes = unused.len() > before;
        self.lacks_choices |= removes;
        if removes_marks {
            // The edges of the removed accesses are lost, so all nodes so far must precede the later nodes.
            self.exact.restart((self.s, self.fences.number()));
        }
        removes
    }

    /// Records that instrumented code writes these bytes (at most eight) by a plain access. Without this record, the
    /// new value would count as an effect of code that is not instrumented (see `Rule::Unseen`).
    pub fn written(&mut self, address: usize, size: usize) {
        let Orders { words, by_page, .. } = self;
        for page in pages(address, size) {
            for at in by_page.get(&page).into_iter().flatten() {
                let word = &mut words[*at as usize];
                word.is_written |= word.overlaps(address, size);
            }
        }
    }

    /// Records that std's compiled code wrote an atomic before instrumented code first used it. All earlier events
    /// count as happening before that write.
    pub fn begun_unseen(&mut self, address: usize, size: u8, value: u64) {
        if !self.by_address.contains_key(&address) {
            let at = self.renew(address, size, value);
            self.words[at].stores[0].message = self.message_of_unknown();
            self.lacks_choices = true;
        }
    }

    /// Records that a thread frees memory.
    pub fn freed(&mut self, thread: usize, address: usize) {
        if self.is_weak() {
            self.known(thread).clock.tick(thread);
            let clock = &self.threads[thread].clock;
            self.freed.entry(address).or_default().set(clock);
        }
    }

    /// Records that a thread allocates memory. If another thread has freed it, that happens before the allocation.
    pub fn allocated(&mut self, thread: usize, address: usize, size: usize) {
        if !self.has(Rule::Allocations) {
            return;
        }
        if size > 0 {
            self.forget(address, size);
        }
        self.known(thread);
        if let Some(clock) = self.freed.get_mut(&address).map(std::mem::take) {
            self.acquire(thread, &clock, Uncertain::Memory);
            self.freed.insert(address, clock);
        }
    }
}
