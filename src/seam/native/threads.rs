//! The state of a run with plain threads: the execution, the memory that they share, their waits.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Ended, Execution};

use super::sites::{Site, Sites};
use crate::rt::WORLD;
use crate::run::ids::TaskId;
use crate::seam::sim::{ForeignWord, Handle, client};

thread_local! {
    static THREADS: RefCell<Option<Threads>> = const { RefCell::new(None) };
    static SITES: RefCell<Sites> = RefCell::new(Sites::default());
}

/// Addresses as keys: a multiplication spreads them.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl std::hash::Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<AddressHasher>>;

/// A wait of a thread in the queue of a word.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Set by a wake, and not by a timer.
    pub(super) woken: AtomicBool,
    pub(super) task: TaskId,
}

impl Waiter {
    /// A wait of the current task.
    pub(super) fn new() -> Arc<Waiter> {
        let task = TaskId(client() as u32);
        Arc::new(Waiter { woken: AtomicBool::new(false), task })
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }
}

/// The plain threads of one run.
pub(super) struct Threads {
    pub(super) execution: Execution,
    /// The objects of the run, by address.
    words: ByAddress<Arc<ForeignWord>>,
    /// The waits for each word, the first come first.
    queues: ByAddress<VecDeque<Arc<Waiter>>>,
    /// The tasks of the threads, by number; none for the first, and for those that were joined.
    pub(super) handles: Vec<Option<Handle<()>>>,
}

/// Ends the run's threads when it is dropped.
pub(super) struct Begun(());

impl Begun {
    /// Ends the threads. Returns the end of the first one.
    pub(super) fn end(self) -> Option<Ended> {
        with(|threads| {
            // Threads that were not joined end with the process, as threads do.
            threads.handles.drain(..).flatten().for_each(Handle::detach);
            threads.execution.ended()
        })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let entered = unpause_native::take_entered();
        if crate::seam::in_run() {
            WORLD.with(|world| entered.into_iter().for_each(|name| world.note_unseen(name)));
        }
        let ended = THREADS.take();
        drop(ended);
    }
}

impl Threads {
    /// Begins the run of this thread of the system.
    pub(super) fn begin(execution: Execution) -> Begun {
        let (words, queues) = (HashMap::default(), HashMap::default());
        let threads = Threads { execution, words, queues, handles: vec![None] };
        THREADS.replace(Some(threads));
        Begun(())
    }

    /// The place of the last request of a thread.
    pub(super) fn site(&self, thread: usize) -> Site {
        SITES.with_borrow_mut(|sites| sites.find(&self.execution, thread))
    }

    /// The object at an address, which the first access of the run adds.
    pub(super) fn word_at(
        &mut self,
        address: usize,
        kind: &'static str,
        site: Site,
    ) -> Arc<ForeignWord> {
        let execution = &self.execution;
        let add = || {
            Arc::new(ForeignWord::new(
                site.primitive.unwrap_or(kind),
                site.place,
                execution.name(address),
            ))
        };
        self.words.entry(address).or_insert_with(add).clone()
    }

    /// Puts a wait into the queue of a word.
    pub(super) fn enqueue(&mut self, address: usize, waiter: Arc<Waiter>) {
        self.queues.entry(address).or_default().push_back(waiter);
    }

    /// Takes up to `count` waits out of the queue of a word.
    pub(super) fn dequeue(&mut self, address: usize, count: usize) -> Vec<Arc<Waiter>> {
        let Some(queue) = self.queues.get_mut(&address) else { return Vec::new() };
        queue.drain(..queue.len().min(count)).collect()
    }

    /// Takes a wait that has timed out out of the queue of a word.
    pub(super) fn give_up(&mut self, address: usize, waiter: &Arc<Waiter>) {
        if let Some(queue) = self.queues.get_mut(&address) {
            queue.retain(|other| !Arc::ptr_eq(other, waiter));
        }
    }

    /// Keeps the task of a new thread.
    pub(super) fn keep(&mut self, thread: usize, handle: Handle<()>) {
        if self.handles.len() <= thread {
            self.handles.resize_with(thread + 1, || None);
        }
        self.handles[thread] = Some(handle);
    }
}

/// Calls `act` with the threads of the run of this thread of the system.
///
/// # Panics
/// If there is none.
pub(super) fn with<R>(act: impl FnOnce(&mut Threads) -> R) -> R {
    THREADS.with_borrow_mut(|threads| act(threads.as_mut().expect("a run of plain threads is on")))
}
