//! The state of a thread: all memory of the run on which its next instructions can depend.
//!
//! The roots are the registers, the stack, the thread-locals and the values for keys of the thread, and the statics of
//! the program. The search follows all addresses of allocations, and of the stacks and thread-locals of other threads.
//! Two states of one thread are equal if they differ only in the addresses of their allocations. So a loop that
//! allocates memory in each round may have equal rounds.
//!
//! Two parts of memory are left out: the statics of std, and memory that a closure has captured. Runs that depend on
//! captured memory are not repeatable.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::frames::add;
use super::heap;
use super::local::Local;
use super::statics;
use super::thread::Thread;

/// The first page of the address space belongs to no part. Most words are smaller.
const FIRST_ADDRESS: usize = 1 << 12;

/// A part of memory that an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// An allocation, by its start.
    Allocation(usize),
    /// A stack, by the number of its thread.
    Stack(usize),
    /// The thread-locals of a thread.
    Locals(usize),
}

/// A search for the memory that a thread can reach.
struct Reached<'a> {
    threads: Vec<&'a Thread>,
    /// The numbers of the parts, in the order in which they were found.
    numbers: HashMap<Part, usize>,
    /// The parts whose content is not hashed yet.
    left: Vec<Part>,
    hash: u64,
}

impl Local {
    /// Returns a hash of the state of `thread` at its last request.
    pub(crate) fn hash_of_state(&self, thread: usize) -> u64 {
        /// The number of states that are unknown.
        static UNKNOWN: AtomicU64 = AtomicU64::new(0);
        let threads = (0..self.run.threads.len()).map(|number| self.thread(number)).collect();
        let of = self.thread(thread);
        let stack = of.context.stack_pointer;
        if !of.has_on_stack(stack) {
            // The thread runs on another stack, for example in a coroutine. No other state equals this one.
            return UNKNOWN.fetch_add(1, Ordering::Relaxed);
        }
        let numbers = HashMap::from([(Part::Stack(thread), 0)]);
        let mut reached = Reached { threads, numbers, left: Vec::new(), hash: 0 };
        // The registers are saved below the variables. Above them are values of the engine, which differ between runs.
        reached.words(stack..of.program.end.max(stack));
        reached.part(Part::Locals(thread));
        of.specific.iter().for_each(|(_, value)| reached.word(*value as usize));
        // The other statics are equal in all states.
        for range in statics::changed_ranges() {
            reached.hash = add(reached.hash, range.start);
            reached.words(range);
        }
        while let Some(part) = reached.left.pop() {
            reached.content(part);
        }
        // A loop can also end after a number of clock readings, or by a random number.
        let of_run = [Some(self.run.now), self.run.readings, self.run.random];
        let of_run = of_run.map(|part| part.unwrap_or(0) as usize);
        let parts = of_run.into_iter().chain(of.readings.numbers());
        parts.chain([self.run.readings_for_many as usize]).fold(reached.hash, add)
    }
}

impl Reached<'_> {
    /// Adds the content of a range of readable memory.
    fn words(&mut self, range: Range<usize>) {
        let begin = range.start.next_multiple_of(8).min(range.end);
        let end = (range.end & !7).max(begin);
        for address in (begin..end).step_by(8) {
            // SAFETY: the memory belongs to the run. No thread of the run executes.
            self.word(unsafe { (address as *const usize).read_volatile() });
        }
        for address in (range.start..begin).chain(end..range.end) {
            // SAFETY: as above.
            let byte = unsafe { (address as *const u8).read_volatile() };
            self.hash = add(self.hash, byte.into());
        }
    }

    /// Adds a word. An address counts as the number of its part and an offset.
    fn word(&mut self, word: usize) {
        match self.part_of(word) {
            Some((part, offset)) => {
                self.part(part);
                self.hash = add(self.hash, offset);
            }
            // Only runs of equal decisions have the data of the program at the same address.
            None if word == self.threads[0].program.data => self.hash = add(self.hash, 1),
            None => self.hash = add(self.hash, word),
        }
    }

    /// Adds the number of a part, whose content follows later.
    fn part(&mut self, part: Part) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(part).or_insert(next);
        if number == next {
            self.left.push(part);
        }
        self.hash = add(self.hash, number);
    }

    fn part_of(&self, word: usize) -> Option<(Part, usize)> {
        if word < FIRST_ADDRESS {
            return None;
        }
        if heap::has(word) {
            let start = heap::start(word)?;
            return Some((Part::Allocation(start), word - start));
        }
        self.threads.iter().filter(|thread| !thread.is_past()).find_map(|thread| {
            let (block, size) = thread.thread_locals();
            match word.wrapping_sub(block) < size {
                true => Some((Part::Locals(thread.number), word - block)),
                false if thread.has_on_stack(word) => {
                    Some((Part::Stack(thread.number), thread.base - word))
                }
                false => None,
            }
        })
    }

    /// Adds the content of a part.
    fn content(&mut self, part: Part) {
        match part {
            Part::Allocation(start) => self.words(heap::content(start)),
            Part::Stack(number) => {
                let thread = self.threads[number];
                let lowest = thread.lowest_of_program();
                if !thread.ended && thread.has_on_stack(lowest) {
                    self.words(lowest..thread.program.end.max(lowest));
                }
            }
            Part::Locals(number) => {
                let (block, size) = self.threads[number].thread_locals();
                self.words(block..block + size);
            }
        }
    }
}
