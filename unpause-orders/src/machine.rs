//! Memory orders: the stores that a load may read, the possible places of a store in modification order, and vector
//! clocks.
//!
//! The *modification order* of a word is the order of its stores on which all threads agree. Memory contains the newest
//! store of each word, and [`Orders`] keeps the older stores. An operation on the newest store is performed in memory,
//! as usual. A load of an older store leaves memory unchanged, and so does a store that precedes a newer store. Plain
//! accesses and accesses of the kernel or of uninstrumented code are not recorded here. They see the newest value,
//! which C++20 always allows.
//!
//! Effects that are not recorded count as ordered. If memory contains a value without a recorded store, the value is
//! visible to all threads. A thread that acquires this value is ordered after all earlier events. Such an effect may
//! hide behaviours, but never adds any.
//!
//! # Model
//!
//! The model is C++20, as in the Rust reference, but without consume, and without cycles of program order and
//! reads-from. So a load never reads a store that has not happened yet, although C++20 allows this for relaxed
//! operations ("load buffering"). S, the order of sequentially consistent operations, is the order of execution. So the
//! last operation in S can close a cycle only through its chosen store. C++20's rules about S ([atomics.order] 4)
//! become two lower bounds for that store: see [`Orders::floor`]. This loses some allowed outcomes, but adds no
//! outcomes. A run can have the exact order S instead, at a higher cost: see `seqcst.rs`. The tests compare all
//! schedules and all choices of small programs with the axioms.
//!
//! # Data
//!
//! Each atomic operation and each fence is an event: one *tick* of its thread. It acquires first, then ticks, then
//! releases. A store has a message, which is the clock that it publishes. A [`Clock`] needs one number per thread. A
//! word has at most [`KEPT`] stores, and the oldest store is dropped. This only removes choices.

use crate::by_number::ByNumber;
use crate::clock::Clock;
use crate::fences::Fences;
use crate::manner::{Counted, Manner};
use crate::operation::{Done, Operation, SEQ_CST, acquires, releases};
use crate::rounds::Loads;
use crate::rules::{OrderS, Rule, Rules};
use crate::seqcst::{Access, ExactS, Nodes};
use crate::uncertain::Uncertain;
use crate::word::{Store, Word};

/// The maximum number of stores kept per word.
pub const KEPT: usize = 16;

/// The clocks of a thread.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known {
    /// The events that happen before the next event of the thread.
    pub(crate) clock: Clock,
    /// The clock that an acquire fence joins: the messages of earlier relaxed loads.
    pub(crate) pending: Clock,
    /// The clock that a relaxed store publishes: the clock at the last release fence.
    released: Clock,
    /// `true` if the last event was a sequentially consistent read-modify-write.
    pub(crate) is_strong: bool,
    /// See [`Orders::wait_for`].
    pub(crate) awaited: Option<(usize, u32)>,
    /// The events that count, in a search of plain threads.
    pub(crate) counted: Counted,
    pub(crate) loads: Loads,
}

/// The places last offered to an operation.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Offer {
    /// The number of events before the operation.
    step: u32,
    thread: usize,
    pub(crate) word: usize,
    pub(crate) places: [u8; KEPT],
}

/// The stores and clocks of one run.
#[derive(Clone, Debug)]
pub struct Orders {
    pub(crate) rules: Rules,
    pub(crate) threads: Vec<Known>,
    pub(crate) words: Vec<Word>,
    pub(crate) by_address: ByNumber<u32>,
    /// The words that begin in each page.
    pub(crate) by_page: ByNumber<Vec<u32>>,
    /// Indices of removed words, for reuse.
    pub(crate) unused: Vec<u32>,
    /// Dropped stores, kept for reuse of their allocations.
    pub(crate) spare: Vec<Store>,
    pub(crate) fences: Fences,
    /// The order S, if the run does not take the order of execution.
    pub(crate) exact: ExactS,
    /// The clocks that system calls have published, by object.
    published: ByNumber<Clock>,
    /// The clocks of threads that have freed memory, by address.
    pub(crate) freed: ByNumber<Clock>,
    /// The number of events in S.
    pub(crate) s: u32,
    /// The number of events.
    step: u32,
    /// The stores up to this event are visible to all threads.
    pub(crate) settled: u32,
    /// The offer for the next operation.
    pub(crate) offer: Offer,
    /// See [`lacks_choices`](Self::lacks_choices).
    pub(crate) lacks_choices: bool,
    /// The treatment of the next operation by a search of plain threads.
    pub(crate) manner: Manner,
    /// `true` after the first operation that may choose a store.
    pub(crate) chooses: bool,
    /// See [`has_missed`](Self::has_missed).
    pub(crate) has_missed: bool,
}

impl Default for Orders {
    fn default() -> Orders {
        let (threads, words, unused, spare, fences) = Default::default();
        let (by_address, by_page, published, freed) = Default::default();
        Orders {
            rules: Rules::NEWEST,
            threads,
            words,
            by_address,
            by_page,
            unused,
            spare,
            fences,
            exact: ExactS::default(),
            published,
            freed,
            s: 0,
            step: 0,
            settled: 0,
            offer: Offer::default(),
            lacks_choices: false,
            manner: Manner::default(),
            chooses: false,
            has_missed: false,
        }
    }
}

impl Orders {
    /// Resets the state for the next run, and keeps allocations.
    pub fn reset(&mut self, rules: Rules) {
        self.rules = rules;
        for thread in &mut self.threads {
            let Known { clock, pending, released, is_strong, awaited, counted, loads } = thread;
            counted.clear();
            loads.clear();
            [clock, pending, released].into_iter().for_each(Clock::clear);
            (*is_strong, *awaited) = (false, None);
        }
        let Orders { words, spare, .. } = self;
        words.drain(..).for_each(|word| spare.extend(word.stores));
        spare.truncate(1 << 10);
        self.by_address.clear();
        self.by_page.clear();
        self.unused.clear();
        self.fences.clear();
        self.exact.reset(rules.s != OrderS::Execution, rules.nodes);
        self.published.clear();
        self.freed.clear();
        (self.s, self.step, self.settled, self.offer) = (0, 0, 0, Offer::default());
        (self.lacks_choices, self.has_missed) = (false, false);
        (self.manner, self.chooses) = (Manner::default(), false);
    }

    /// From now on, makes each store follow all earlier executed stores in modification order.
    pub fn forbid_moves(&mut self) {
        self.rules.moves = false;
        // All choices so far were the newest stores, so the order of execution agrees with the exact order.
        self.exact.is_on = self.rules.s == OrderS::Exact;
    }

    /// Returns `true` if a limit, an advance of time or an unrecorded effect may have removed choices in the run.
    pub fn lacks_choices(&self) -> bool {
        self.lacks_choices
    }

    /// Makes the next loads of a thread not read the store again that its last load has read. They wait for a change of
    /// the word with this address. Applies while the thread has this number of events.
    pub fn wait_for(&mut self, thread: usize, awaited: Option<(usize, u32)>) {
        self.known(thread).awaited = awaited;
    }

    /// Returns `true` if a rule applies to the run.
    pub fn has(&self, rule: Rule) -> bool {
        self.rules.left_out != Some(rule)
    }

    /// Returns `true` in a run of a search of plain threads.
    pub fn is_search(&self) -> bool {
        self.rules.is_search
    }

    /// Returns `true` if a load may read a store other than the newest store.
    pub fn is_weak(&self) -> bool {
        self.rules.is_weak()
    }

    #[inline]
    pub(crate) fn known(&mut self, thread: usize) -> &mut Known {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Known::default);
        }
        &mut self.threads[thread]
    }

    /// Returns the clock of a thread. An access that is not an event happens before the next event of its thread.
    pub fn clock(&mut self, thread: usize) -> &Clock {
        &self.known(thread).clock
    }

    /// Records that a thread spawned a child thread.
    pub fn spawned(&mut self, parent: usize, child: usize) {
        self.known(parent);
        self.confirm(parent);
        let clock = &mut self.known(parent).clock;
        clock.tick(parent);
        let clock = clock.clone();
        let Known { clock: of_child, pending, released, .. } = self.known(child);
        of_child.set(&clock);
        pending.clear();
        released.clear();
    }

    /// Records that a thread has waited for the end of another thread.
    pub fn joined(&mut self, thread: usize, other: usize) {
        let clock = &mut self.known(other).clock;
        clock.tick(other);
        let clock = clock.clone();
        self.known(thread).clock.join(&clock);
    }

    /// Records that a thread publishes its clock by a system call on the object with this key. Only in runs with weak
    /// memory, because the race detector does not count such calls.
    pub fn publish(&mut self, thread: usize, key: usize) {
        if self.is_weak() && self.has(Rule::Calls) {
            self.known(thread);
            let clock = &mut self.threads[thread].clock;
            clock.tick(thread);
            self.published.entry(key).or_default().join(clock);
        }
    }

    /// Records that a thread acquires the clocks that other threads have published on the object with this key.
    pub fn receive(&mut self, thread: usize, key: usize) {
        self.known(thread);
        if let Some(published) = self.published.get_mut(&key).map(std::mem::take) {
            self.acquire(thread, &published, Uncertain::Call);
            self.published.insert(key, published);
        }
    }

    /// Makes all stores visible to all threads, because time passes. This adds no other order.
    pub fn settle(&mut self) {
        if self.has(Rule::Time) {
            self.settled = self.step;
            self.lacks_choices = true;
        }
    }

    /// Returns the clock of all past events. Each thread that has begun gets another event, which publishes its clock:
    /// the order of the last event in S depends on such an event (see `strongly_before` of `seqcst.rs`).
    pub(crate) fn everything(&mut self) -> Clock {
        let mut everything = Clock::default();
        for (thread, Known { clock, .. }) in self.threads.iter_mut().enumerate() {
            if !clock.is_empty() {
                clock.tick(thread);
                everything.join(clock);
            }
        }
        everything
    }

    /// Executes a fence of a thread.
    pub fn fence(&mut self, thread: usize, order: u8) {
        self.step += 1;
        self.known(thread);
        let is_exact = self.exact.is_on && order == SEQ_CST;
        let strongly = match is_exact {
            true => self.exact.strongly_before(thread, &self.threads[thread].clock),
            false => Nodes::default(),
        };
        let Known { clock, pending, is_strong, .. } = &mut self.threads[thread];
        *is_strong = false;
        if acquires(order) {
            clock.join(pending);
        }
        let tick = clock.tick(thread);
        if releases(order) {
            self.confirm(thread);
        }
        if order == SEQ_CST && self.rules.is_search {
            self.threads[thread].counted.add(tick);
            // Later operations depend on each event that the fence knows, even if the event does not count.
            self.lacks_choices |= !self.threads[thread].clock.is_sure();
        }
        if order == SEQ_CST && self.is_weak() {
            self.s += 1;
            let clock = &mut self.threads[thread].clock;
            clock.fence = self.fences.add(self.s, clock);
        }
        if is_exact {
            let clock = &self.threads[thread].clock;
            self.exact.add_fence(thread, (tick, clock), strongly, &self.words);
            self.restart_if_full();
        }
        if releases(order) {
            let Known { clock, released, .. } = &mut self.threads[thread];
            released.set(clock);
        }
    }

    /// Returns the index of the word of an operation that finds `memory` in memory.
    #[inline]
    pub(crate) fn word(&mut self, operation: &impl Operation, memory: u64) -> usize {
        if let Some(at) = self.by_address.get(&operation.address()) {
            let word = &mut self.words[*at as usize];
            if word.size == operation.size() && word.stores[word.newest()].value == memory {
                word.is_written = false;
                return *at as usize;
            }
        }
        let (address, size) = (operation.address(), operation.size());
        let before = (self.lacks_choices, self.exact.restarts);
        let at = self.renew(address, size, memory);
        self.take_renewal(operation, at, before);
        at
    }

    /// Starts or restarts a word with a value that does not come from a recorded store.
    #[cold]
    pub(crate) fn renew(&mut self, address: usize, size: u8, memory: u64) -> usize {
        let mut store = Store::known_to_all(memory, self.step);
        let known = self.by_address.get(&address).map(|at| &self.words[*at as usize]);
        let written = known.filter(|word| word.size == size && word.is_written);
        if let Some(word) = written {
            // A plain write publishes no clock of its own, so the previous message remains.
            store.message.set(&word.stores[word.newest()].message);
        }
        let is_written = written.is_some();
        if self.forget(address, size.into()) && !is_written && self.has(Rule::Unseen) {
            store.message = self.message_of_unknown();
        }
        self.add(Word::new(address, size, store))
    }

    /// Restarts the exact order S if it has reached a limit.
    fn restart_if_full(&mut self) {
        if self.exact.is_full() {
            self.restart_exact();
        }
    }

    /// Makes all events so far precede all later events in the exact order S, if the run has it.
    pub(crate) fn restart_exact(&mut self) {
        if self.exact.is_on {
            self.lacks_choices = true;
            self.exact.restart((self.s, self.fences.number()));
        }
    }

    /// Returns the number of stores that an operation may choose if it finds `memory` in memory.
    pub fn candidates(&mut self, thread: usize, operation: &impl Operation, memory: u64) -> usize {
        if operation.size() == 0 {
            return 1;
        }
        self.known(thread);
        (self.chooses, self.manner) = (true, Manner::Chosen);
        let word = self.word(operation, memory);
        let (places, number, is_limited) = self.places(thread, operation, &self.words[word]);
        self.lacks_choices |= is_limited;
        if number > 1 {
            self.offer = Offer { step: self.step, thread, word, places };
        }
        number
    }

    /// Performs an operation that finds `memory` in memory, on one of its [candidates](Self::candidates). Candidate 0
    /// is the newest store, which every operation may choose. A fence, with size 0, only orders.
    #[inline]
    pub fn perform(
        &mut self,
        thread: usize,
        operation: &impl Operation,
        memory: u64,
        nth: usize,
    ) -> Done {
        if operation.size() == 0 {
            self.fence(thread, operation.order_if(false));
            return Done { old: 0, new: 0, in_memory: true };
        }
        self.known(thread);
        let at = self.word(operation, memory);
        let Offer { step, thread: to, word: of, places } = self.offer;
        let place = match nth {
            0 => self.words[at].newest(),
            _ if (step, to, of) == (self.step, thread, at) => places[nth].into(),
            _ => self.places(thread, operation, &self.words[at]).0[nth].into(),
        };
        self.step += 1;
        let taken = self.take_manner(thread, operation, (at, place));
        let Orders { threads, words, spare, s, step, rules, exact, lacks_choices, .. } = self;
        let Known { clock, pending, released, is_strong, counted, loads, .. } =
            &mut threads[thread];
        let word = &mut words[at];
        let in_memory = place == word.newest();
        let store = &mut word.stores[place];
        let old = store.value;
        let written = operation.written_over(old);
        let (reads, writes) = (operation.reads(), written.is_some());
        let order = operation.order_if(writes);
        *is_strong = order == SEQ_CST && reads && writes;
        *s += u32::from(order == SEQ_CST);
        let strongly = match exact.is_on && order == SEQ_CST {
            true => exact.strongly_before(thread, clock),
            false => Nodes::default(),
        };
        if reads {
            let acquiring = if acquires(order) { &mut *clock } else { pending };
            if taken.edge == Some(Uncertain::SharedLock) {
                acquiring.join(&word.exclusive);
            }
            acquiring.join_by(&store.message, taken.edge);
        }
        let tick = clock.tick(thread);
        if taken.counts {
            counted.add(tick);
        }
        if reads {
            store.seen_by(thread, tick);
            if rules.records_loads {
                loads.add(tick, operation.address(), store.name());
            }
            if order == SEQ_CST {
                store.first = store.first.min(*s);
            }
        }
        if let Some(new) = written {
            let mut made = spare.pop().unwrap_or_else(|| Store::known_to_all(0, 0));
            made.begin((thread, tick), new, *step);
            made.message.set(if releases(order) { clock } else { released });
            if taken.ends_exclusive || !reads && rules.is_search {
                word.exclusive.set(&made.message);
            }
            if reads {
                // A read-modify-write continues the release sequences of the store that it reads.
                made.message.join(&store.message);
                store.is_taken = true;
            }
            if order == SEQ_CST {
                made.first = *s;
            }
            word.stores.insert(place + 1, made);
        }
        let is_exact = exact.is_on;
        if is_exact {
            let access = Access { thread, place, reads, writes, order };
            exact.add(access, (tick, clock), strongly, (at, word));
        }
        if word.stores.len() > rules.kept {
            let oldest = word.stores.remove(0);
            if is_exact {
                exact.removed(&oldest, &mut word.stores[0]);
            }
            if word.is_passed {
                word.note_removed(&oldest);
            }
            spare.push(oldest);
            // A thread without events has not begun, and will know what its parent knows.
            let knows = |known: &Known| {
                let is_known = |store: &Store| store.is_known(&known.clock);
                known.clock.is_empty() || word.stores.iter().any(is_known)
            };
            *lacks_choices = *lacks_choices || !threads.iter().all(knows);
        }
        if is_exact {
            self.restart_if_full();
        }
        if taken.confirms {
            self.confirm(thread);
        }
        Done { old, new: written.unwrap_or(old), in_memory }
    }
}
