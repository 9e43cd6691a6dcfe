//! The state of a run with plain threads: the execution, the shared memory of the threads, and their waits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use unpause_native::{Access, Death, Ended, Execution, Operation, Request};

use super::beyond::Beyond;
use super::by_number::ByNumber;
use super::channels::Short;
use super::detail::Detail;
use super::families::Family;
use super::notes;
use super::ops;
use super::orders;
use super::panic_marks::MarkUse;
use super::references::Counted;
use super::sites::{KeptSites, Site};
use super::spin::Looks;
use super::waiter::Waiter;
use crate::rt::WORLD;
use crate::run::memory_model::{CELL, Raise};
use crate::run::op::Op;
use crate::run::panics::{Panicked, TaskPanic, with_causes};
use crate::run::points::Points;
use crate::seam::{ForeignLock, ForeignWord, Handle};

thread_local! {
    static THREADS: RefCell<Threads> = RefCell::new(Threads::default());
    static SITES: RefCell<KeptSites> = RefCell::default();
}

/// The use of a condition variable in a run.
#[derive(Default)]
struct CondvarUse {
    /// The first thread that waits, if any.
    waiter: Option<usize>,
    /// True if another thread waits, too.
    has_several: bool,
    /// True if a notification is for one waiter.
    notifies_one: bool,
}

/// The plain threads of one run. The collections are reused by the next run.
#[derive(Default)]
pub(super) struct Threads {
    /// The execution; `None` between two runs.
    pub(super) execution: Option<Execution>,
    /// The objects of the run, by address.
    words: ByNumber<Arc<ForeignWord>>,
    /// The locks of the run whose calls are single operations, by address.
    locks: ByNumber<(Arc<ForeignLock>, Family)>,
    /// The condition variables of the run whose calls are single operations, by address.
    condvars: ByNumber<CondvarUse>,
    /// The detail in which the locks of the run are stepped.
    pub(super) detail: Detail,
    /// The operations that take few steps.
    pub(super) short: Short,
    /// The points of the run.
    pub(super) points: Points,
    /// The treatment of the counts of `Arc`.
    pub(super) counted: Counted,
    /// The memory that is a mark of a panic, or may be one, in a run that notes it.
    pub(super) mark_uses: ByNumber<MarkUse>,
    /// True if the run belongs to a search.
    pub(super) is_search: bool,
    /// The part of the run beyond its step limit.
    pub(super) beyond: Beyond,
    /// The memory orders that are strengthened.
    pub(super) raised: Vec<Raise>,
    /// The memory awaited by held threads and by threads that wait for a lock: a change of it lets
    /// them continue.
    pub(super) awaited: Vec<usize>,
    /// The waits for each word, in order of arrival.
    queues: ByNumber<VecDeque<Arc<Waiter>>>,
    /// True if threads execute operations that are not points directly. Otherwise the calls of requests are recorded.
    lets_pass: bool,
    /// The empty lists of threads that have ended. New threads reuse their allocations.
    looks: Vec<Looks>,
    /// The tasks of the threads, by number; `None` for the first thread, and for joined threads.
    pub(super) handles: Vec<Option<Handle<()>>>,
    /// The last step in which the first thread has spawned a thread.
    pub(super) last_spawn: Option<u32>,
    /// True if the first thread waits for all other threads.
    pub(super) awaits_others: bool,
}

/// A guard that ends the threads of the run when it is dropped.
pub(super) struct Begun(());

impl Begun {
    /// Ends the threads. Returns how the first thread ended.
    pub(super) fn end(self) -> Option<Ended> {
        with(|threads| {
            // Threads that were not joined end with the process, as outside of runs.
            threads.handles.drain(..).flatten().for_each(Handle::detach);
            let execution = threads.execution();
            match execution.ended()? {
                Ended::Panicked(message, place) => {
                    let others = execution.panics().into_iter().filter(|(thread, ..)| *thread > 0);
                    let others = others.map(|(_, message, place)| Panicked { message, place });
                    let panicked = Panicked { message, place };
                    let panicked = with_causes(panicked, &others.collect::<Vec<_>>());
                    Some(Ended::Panicked(panicked.message, panicked.place))
                }
                ended => Some(ended),
            }
        })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let (is_child, panics) = with(|threads| match threads.execution.as_ref() {
            Some(execution) => (execution.is_child(), execution.panics()),
            None => (false, Vec::new()),
        });
        if !panics.is_empty() && crate::seam::in_run() {
            let of_task =
                |(thread, message, place)| TaskPanic { task: notes::task(thread), message, place };
            let panics = panics.into_iter().map(of_task).collect();
            WORLD.with(|world| world.note_panics(panics));
        }
        let left = if is_child && crate::seam::in_run() { notes::leave() } else { Vec::new() };
        let mut handles = with(|threads| {
            // The end of the execution completes the output. A process that was created for the run ends here.
            if let Some(execution) = threads.execution.take() {
                execution.end_with(left);
            }
            threads.words.clear();
            threads.locks.clear();
            threads.condvars.clear();
            threads.queues.clear();
            std::mem::take(&mut threads.handles)
        });
        let entered = unpause_native::take_entered();
        if crate::seam::in_run() {
            WORLD.with(|world| entered.into_iter().for_each(|name| world.note_unseen(name)));
        }
        let output = unpause_native::take_output();
        if !output.is_empty() && crate::seam::in_run() {
            WORLD.with(|world| world.note_output(output));
        }
        // This call is outside of the borrow, because a handle detaches its task.
        handles.clear();
        with(|threads| threads.handles = handles);
    }
}

impl Threads {
    /// Begins the run of this OS thread.
    pub(super) fn begin(
        execution: Execution,
        (detail, short): (Detail, Short),
        (points, counted): (Points, Counted),
        is_search: bool,
    ) -> Begun {
        super::calls::begin();
        with(|threads| {
            (threads.detail, threads.points, threads.counted) = (detail, points, counted);
            (threads.is_search, threads.short) = (is_search, short);
            threads.beyond = Beyond::default();
            threads.awaited.clear();
            threads.mark_uses.clear();
            threads.lets_pass = !super::calls::are_noted();
            let execution = threads.execution.insert(execution);
            execution.begin_passing(rules(threads.lets_pass, points, counted));
            if !threads.lets_pass {
                execution.keep_origins();
            }
            threads.handles.push(None);
            threads.last_spawn = None;
            threads.awaits_others = false;
        });
        Begun(())
    }

    /// Returns the execution of the run.
    ///
    /// # Panics
    /// Panics if no run has begun.
    pub(super) fn execution(&mut self) -> &mut Execution {
        self.execution.as_mut().expect("a run of plain threads is on")
    }

    /// Continues a thread until its next request. Returns the request, its place, and whether its call is recorded.
    #[inline]
    pub(super) fn resume(&mut self, thread: usize, reply: u64) -> (Request, Site, bool) {
        let execution = self.execution();
        let mut request = loop {
            match execution.resume(thread, reply) {
                Request::Noted => notes::repeat(&execution.take_note()),
                request => break request,
            }
        };
        let site = match request {
            Request::End | Request::Key | Request::Fault => Site::NOWHERE,
            _ => SITES.with_borrow_mut(|sites| sites.get().find(execution, thread)),
        };
        if !self.raised.is_empty()
            && let Request::Access(access) = &mut request
        {
            let (raised, fence) = orders::raise(&self.raised, *access, site);
            *access = raised;
            let execution = self.execution();
            execution.set_orders(thread, (raised.order, raised.failure));
            if let Some(order) = fence {
                execution.fence_before(thread, order);
            }
        }
        (request, site, !self.lets_pass)
    }

    /// Performs the access that a thread has requested, on its candidate `nth`; 0 is the newest store. Returns the
    /// previous value and the new value.
    ///
    /// If the compiler turned an operation into a loop, the operation has read the memory before its turn. If it now
    /// sees another value, the thread computes again from that value, as if its compare-exchange had failed. `access`
    /// is then the next access of the thread, in the same turn.
    pub(super) fn perform(
        &mut self,
        thread: usize,
        access: &mut Access,
        site: Site,
        nth: u32,
    ) -> (u64, u64) {
        if site.looped.is_some() {
            let seen = self.execution().value_of_candidate(thread, nth);
            if let Some(seen) = seen.filter(|seen| *seen != access.operand) {
                match self.resume(thread, seen).0 {
                    Request::Access(next) if next.address == access.address => *access = next,
                    // The process of the run has ended. The thread does not continue, so its next request is this
                    // request again.
                    Request::Fault | Request::Died(Death::Process(_)) => return (seen, seen),
                    other => unreachable!("the loop of {site:?} has requested {other:?}"),
                }
            }
        }
        match nth {
            0 => self.execution().perform(thread),
            nth => self.execution().perform_seeing(thread, nth),
        }
    }

    /// Returns the place of the last request of a thread.
    pub(super) fn site(execution: &Execution, thread: usize) -> Site {
        SITES.with_borrow_mut(|sites| sites.get().find(execution, thread))
    }

    /// Returns an empty list of reads for a thread, with the allocation of an ended thread, if any.
    pub(super) fn take_looks(&mut self) -> Looks {
        self.looks.pop().unwrap_or_default().of_run(self.is_search)
    }

    /// Stores the allocation of an ending thread for reuse.
    pub(super) fn put_back(&mut self, looks: Looks) {
        self.looks.push(looks.emptied());
    }

    /// From now on, lets threads directly execute the operations at a place that is not a point.
    pub(super) fn let_pass(&mut self, thread: usize, site: Site) {
        // Other code also calls the innermost functions of the place that names the thread.
        if self.lets_pass && !site.names_thread {
            let execution = self.execution();
            SITES.with_borrow_mut(|sites| {
                execution.let_pass(sites.get().passing(execution, thread, site));
            });
        }
    }

    /// Returns the object at an address. The first access of the run creates it.
    pub(super) fn word_at(
        &mut self,
        address: usize,
        kind: &'static str,
        site: Site,
    ) -> Arc<ForeignWord> {
        if let Some(word) = self.words.get(&(address as u64)) {
            return word.clone();
        }
        let name = self.execution().name(address);
        // Changes of this memory are recorded even at places that are not points.
        self.execution().watch(address);
        let of_lock = site.lock.map(|part| part.family.kind());
        let of_cell = site.is_of_cell.then_some(CELL);
        let kind = site.primitive.or(of_lock).or(of_cell).unwrap_or(kind);
        let word = Arc::new(ForeignWord::new(kind, site.place, name));
        self.words.insert(address as u64, word.clone());
        word
    }

    /// Returns the object of a thread's sleeps that are only points.
    pub(super) fn timer_of(&mut self, thread: usize, site: Site) -> Arc<ForeignWord> {
        // No memory of the program has this address.
        let key = u64::MAX - thread as u64;
        let timer = || Arc::new(ForeignWord::without_values("timer", site.place, key));
        self.words.entry(key).or_insert_with(timer).clone()
    }

    /// Returns the lock at an address. The first lock call of the run creates it.
    pub(super) fn lock_at(
        &mut self,
        address: usize,
        family: Family,
        site: Site,
    ) -> Arc<ForeignLock> {
        match self.locks.get(&(address as u64)) {
            Some((lock, known)) if *known == family => return lock.clone(),
            _ => {}
        }
        // The word at the same address is another object.
        let key = self.execution().name(address).rotate_left(17);
        let lock = Arc::new(ForeignLock::new(family.kind(), site.place, key));
        self.locks.insert(address as u64, (lock.clone(), family));
        if self.follows(family) {
            self.words.entry(address as u64).or_insert_with(|| lock.word().clone());
        }
        self.execution().watch(address);
        lock
    }

    /// Returns `true` if the run has made a lock call.
    #[inline]
    pub(super) fn has_locks(&self) -> bool {
        !self.locks.is_empty()
    }

    /// Returns the lock at an address, if the run has used it in a lock call.
    pub(super) fn known_lock(&self, address: usize) -> Option<(Arc<ForeignLock>, Family)> {
        if self.locks.is_empty() {
            return None;
        }
        self.locks.get(&(address as u64)).cloned()
    }

    /// Returns `true` if all operations on the memory of such a lock are operations on the lock. This is so in a
    /// search, for the requeues of a condition variable.
    pub(super) fn follows(&self, family: Family) -> bool {
        self.detail == Detail::Searched && family == Family::RawMutex
    }

    /// Returns the lock at an address, if all operations on its memory are operations on the lock.
    pub(super) fn followed_lock(&self, address: usize) -> Option<Arc<ForeignLock>> {
        if self.detail != Detail::Searched {
            return None;
        }
        self.known_lock(address).filter(|(_, family)| self.follows(*family)).map(|(lock, _)| lock)
    }

    /// Records an operation on the counter of a condition variable. `is_for_one` is true for a notification of one
    /// waiter. Returns `true` if the variable has such a notification, and several threads that wait.
    pub(super) fn counts(&mut self, thread: usize, access: &Access, is_for_one: bool) -> bool {
        let known = self.condvars.entry(access.address as u64).or_default();
        known.notifies_one |= is_for_one;
        if access.operation == Operation::Load {
            known.has_several |= *known.waiter.get_or_insert(thread) != thread;
        }
        known.notifies_one && known.has_several
    }

    /// Returns the operation of an access at a place.
    pub(super) fn op(&self, access: &Access, site: Site) -> &'static Op {
        match self.followed_lock(access.address) {
            Some(_) => ops::of_lock(access),
            None => ops::op(access, site),
        }
    }

    /// Returns `true` if the run has created a thread besides its first thread.
    pub(super) fn has_many(&self) -> bool {
        self.handles.len() > 1
    }

    /// Returns `true` if this is the first thread and it has joined all other threads, directly or through threads that
    /// have joined them. All their operations then precede the next operation of the thread in every order.
    pub(super) fn is_alone(&self, thread: usize) -> bool {
        // A handle is taken at the start of a join, but the first thread is in no join now.
        thread == 0 && self.handles.iter().all(Option::is_none)
    }

    /// Returns the object with this key for sockets or other files. The first operation of the run creates it.
    pub(super) fn file_at(&mut self, key: u64, kind: &'static str, site: Site) -> Arc<ForeignWord> {
        let new = || Arc::new(ForeignWord::without_values(kind, site.place, key));
        self.words.entry(key).or_insert_with(new).clone()
    }

    /// Returns `true` if the caller must wake the waiters for a change of a file. Returns `false` if no thread waits,
    /// or if the task that made an earlier change wakes the waiters.
    ///
    /// The result depends only on the order of waits and changes, which conflict, and not on the order of wakes.
    pub(super) fn must_wake(&self, key: u64) -> bool {
        let mut must = false;
        for waiter in self.queues.get(&key).into_iter().flatten() {
            must |= !waiter.told.swap(true, Ordering::Relaxed);
        }
        must
    }

    /// Returns the object at an address, if an access of the run to it was a point.
    pub(super) fn known_word(&self, address: usize) -> Option<Arc<ForeignWord>> {
        self.words.get(&(address as u64)).cloned()
    }

    /// Adds a new wait to the queue of a word.
    pub(super) fn enqueue(&mut self, address: usize, waiter: Arc<Waiter>) {
        waiter.home.store(address, Ordering::Relaxed);
        self.append(address, waiter);
    }

    fn append(&mut self, address: usize, waiter: Arc<Waiter>) {
        waiter.queue.store(address, Ordering::Relaxed);
        self.queues.entry(address as u64).or_default().push_back(waiter);
    }

    /// Removes up to `count` waits for one of these bits from the queue of a word, and returns them.
    pub(super) fn dequeue(&mut self, address: usize, count: usize, bits: u32) -> Vec<Arc<Waiter>> {
        let mut removed = Vec::new();
        if let Some(queue) = self.queues.get_mut(&(address as u64)) {
            queue.retain(|waiter| {
                let is_one = removed.len() < count && waiter.bits & bits != 0;
                if is_one {
                    removed.push(waiter.clone());
                }
                !is_one
            });
        }
        removed
    }

    /// Moves up to `count` waits from the queue of a word to the end of another queue. Returns their number. The order
    /// does not change if both are the same queue.
    pub(super) fn requeue(&mut self, address: usize, to: usize, count: usize) -> usize {
        if address == to {
            return self.queues.get(&(to as u64)).map_or(0, VecDeque::len).min(count);
        }
        let moved = self.dequeue(address, count, u32::MAX);
        let number = moved.len();
        moved.into_iter().for_each(|waiter| self.append(to, waiter));
        number
    }

    /// Returns `true` for a virtual time in the past.
    pub(super) fn has_passed(&mut self, time: u64) -> bool {
        self.execution().now() > time
    }

    /// Removes a wait that has timed out from the queue of a word.
    pub(super) fn give_up(&mut self, address: usize, waiter: &Arc<Waiter>) {
        if let Some(queue) = self.queues.get_mut(&(address as u64)) {
            queue.retain(|other| !Arc::ptr_eq(other, waiter));
        }
    }

    /// Stores the task of a new thread.
    pub(super) fn keep(&mut self, thread: usize, handle: Handle<()>) {
        if self.handles.len() <= thread {
            self.handles.resize_with(thread + 1, || None);
        }
        self.handles[thread] = Some(handle);
    }

    /// Returns `true` if a thread that was not joined has not ended, except the thread `which`.
    pub(super) fn has_unfinished(&self, which: Option<usize>) -> bool {
        let others = self.handles.iter().enumerate().filter(|(number, _)| which != Some(*number));
        others.filter_map(|(_, handle)| handle.as_ref()).any(|handle| !handle.is_finished())
    }
}

/// Returns, as a number, the rules for operations that threads execute directly.
fn rules(lets_pass: bool, points: Points, counted: Counted) -> u64 {
    1 + (u64::from(counted == Counted::Noted) << 3
        | u64::from(lets_pass) << 2
        | u64::from(points.all) << 1
        | u64::from(points.arc == Some(true)))
}

/// Calls `act` with the plain threads of this OS thread.
pub(super) fn with<R>(act: impl FnOnce(&mut Threads) -> R) -> R {
    THREADS.with_borrow_mut(act)
}
