//! One run of a program on simulated threads of this process.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::execution::Ended;
use super::fault::Fault;
use super::heap::Memory;
use super::keys::Key;
use super::names::{FIRST_THREAD, STACK_OF_THREAD, THREAD_LOCALS, name_of};
use super::net::{Effect, Net};
use super::request::Request;
use super::std_state::Left;
use super::switch::Context;
use super::thread::{self, Past, STACK, Start, Thread};
use super::{
    blocks, captured, environment, heap, leaks, orders, output, race, signals, statics, std_state,
    unseen,
};

/// The virtual time at which each run begins, in nanoseconds. It is not 0, so that programs can compute earlier times.
pub(crate) const BEGIN: u64 = 1_000_000_000_000;

/// The maximum number of return addresses that are followed.
pub(crate) const FRAMES: usize = 64;

/// The function of the first thread of a run.
pub type Body = Box<dyn FnOnce() + Send>;

/// A worker that is not used by a run.
pub(crate) struct Idle(NonNull<Thread>);

// SAFETY: only the code that takes an idle worker out of the list uses the worker.
unsafe impl Send for Idle {}

/// The workers that are not used by a run. Locked during a run, because statics and the heap serve one run at a time.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// The lock of the idle workers, held by the current run.
pub(crate) struct Workers(MutexGuard<'static, Vec<Idle>>);

impl Workers {
    /// Waits while the process has another run, and restores the statics for the next run.
    ///
    /// # Errors
    /// Returns an error if the statics of the program cannot be found, because it has no symbols.
    pub(crate) fn take() -> Result<Workers, String> {
        statics::save()?;
        let idle = Workers::lock();
        statics::restore();
        unseen::begin();
        Ok(Workers(idle))
    }

    /// Locks the workers between two runs.
    pub(crate) fn lock() -> MutexGuard<'static, Vec<Idle>> {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates workers until this number of threads has one. If the system refuses a worker, the run that needs the
    /// worker reports this.
    pub(crate) fn prepare(&mut self, threads: usize) {
        while self.0.len() < threads
            && let Ok(worker) = thread::hire(STACK)
        {
            self.0.push(Idle(worker));
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        statics::forget_dispatchers();
    }
}

/// The state of a run, which is shared with its threads.
pub(crate) struct Run {
    /// The context of the carrier, which is suspended while a thread runs.
    pub(crate) carrier: Context,
    pub(crate) threads: Vec<NonNull<Thread>>,
    idle: Workers,
    /// The lowest and the highest address of all thread stacks.
    pub(crate) stacks: (usize, usize),
    pub(crate) past: Past,
    /// The function of the first thread. The thread takes it when it begins.
    body: Option<Body>,
    /// The state of the stream of random bytes; `None` before its first use.
    pub(crate) random: Option<u64>,
    /// The virtual time, in nanoseconds.
    pub(crate) now: u64,
    /// The nanoseconds by which the clocks since the boot of the system are ahead of the virtual time.
    pub(crate) uptime: u64,
    /// The number of clock readings; `None` if two readings at the same time are equal.
    pub(crate) readings: Option<u64>,
    /// The number of readings for the allocations of the run: see [`Readings`](super::clock::Readings).
    pub(crate) readings_for_many: u32,
    /// The first error in memory use.
    pub(crate) fault: Option<Fault>,
    /// Sockets, and the files that wait for them.
    pub(crate) net: Net,
    /// The words on which a thread of the run has waited, if OS threads use them too.
    pub(crate) shared_waits: Vec<usize>,
    /// The words from which waits were moved, each with the word to which they were moved.
    moves: Vec<(usize, usize)>,
    /// The keys that end with the run.
    pub(crate) keys: Vec<Key>,
    /// The number of the last thread that was [found](Run::find).
    pub(crate) found: usize,
}

impl Run {
    /// Returns a new thread of the run, with a stack of `stack` bytes.
    ///
    /// # Errors
    /// Returns the error number of the system if it refuses the stack.
    fn add(
        &mut self,
        stack: usize,
        function: (Start, *mut c_void),
        (path, parent): (u64, usize),
    ) -> Result<NonNull<Thread>, c_int> {
        // SAFETY: workers are never freed.
        let fits = |idle: &Idle| unsafe { idle.0.as_ref().stack == stack };
        let worker = match self.take_worker(stack, parent) {
            Some(worker) => worker,
            None => match self.idle.0.iter().rposition(fits) {
                Some(at) => self.idle.0.remove(at).0,
                None => thread::hire(stack)?,
            },
        };
        let number = self.threads.len();
        let run: *mut Run = self;
        Thread::begin(worker, number, function, path, run);
        self.threads.push(worker);
        self.note_stack(worker);
        Ok(worker)
    }

    /// Returns a child of the thread `parent`.
    ///
    /// # Errors
    /// Returns the error number of the system if it refuses the stack.
    pub(crate) fn spawn(
        parent: &mut Thread,
        stack: usize,
        function: (Start, *mut c_void),
    ) -> Result<NonNull<Thread>, c_int> {
        let nth = parent.children + 1;
        let path = name_of(parent.path, nth);
        let number = parent.number;
        let child = parent.run().add(stack, function, (path, number))?;
        parent.children = nth;
        Ok(child)
    }

    /// Records that waits for a word may become waits for another word.
    pub(crate) fn note_move(&mut self, word: usize, to: usize) {
        if !self.moves.contains(&(word, to)) {
            self.moves.push((word, to));
        }
    }

    /// Returns a word, and the words to which waits for it may have been moved.
    pub(crate) fn moves_from(&self, word: usize) -> Vec<usize> {
        let (mut words, mut at) = (vec![word], 0);
        while let Some(word) = words.get(at).copied() {
            for (_, to) in self.moves.iter().filter(|(from, _)| *from == word) {
                if !words.contains(to) {
                    words.push(*to);
                }
            }
            at += 1;
        }
        words
    }

    /// Returns `true` if the run has created no thread besides its first thread.
    pub(crate) fn has_one_thread(&self) -> bool {
        self.threads.len() == 1
    }
}

/// One run of a program on simulated threads. Its owner, the *carrier*, steps the threads.
///
/// If threads have not ended when it is dropped, they are abandoned: their stacks are not unwound, and no destructor
/// runs.
pub(crate) struct Local {
    pub(super) run: Box<Run>,
}

impl Local {
    /// Begins a run whose first thread, number 0, calls `body` when it is resumed. The statics have the values that
    /// [`Workers::take`] has left.
    pub(crate) fn begin(idle: Workers, body: Body, memory: Memory) -> Local {
        drop(super::compiled::take_entered());
        heap::reset(memory, captured::is_on());
        orders::begin();
        race::reset();
        signals::begin();
        output::begin();
        std_state::begin();
        let (carrier, threads, net) = (Context::default(), Vec::new(), Net::default());
        let (body, random, now, fault) = (Some(body), None, BEGIN, None);
        let shared_waits = Vec::new();
        let stacks = (usize::MAX, 0);
        let mut run = Box::new(Run {
            carrier,
            threads,
            idle,
            stacks,
            past: Past::default(),
            body,
            random,
            now,
            uptime: 0,
            readings: None,
            readings_for_many: 0,
            fault,
            net,
            shared_waits,
            moves: Vec::new(),
            keys: Vec::new(),
            found: 0,
        });
        let body = &raw mut run.body;
        let first = run.add(STACK, (call, body.cast()), (FIRST_THREAD, 0));
        if let Err(error) = first {
            panic!("the system refuses a thread for the run: error {error}");
        }
        Local { run }
    }

    /// Continues a thread until its next request, and returns the request. `reply` is the reply to its last request.
    ///
    /// # Panics
    /// Panics if the run has no such thread, or the thread has ended.
    #[inline]
    pub(crate) fn resume(&mut self, thread: usize, reply: u64) -> Request {
        let mut thread = self.run.threads[thread];
        // SAFETY: the thread is suspended while the carrier runs, so this is the only reference.
        unsafe {
            assert!(!thread.as_ref().ended, "a thread that has ended is resumed");
            if self.run.fault.is_some() {
                return Request::Fault;
            }
            thread.as_mut().reply = reply;
            loop {
                Thread::resume(thread);
                match thread.as_mut().call.take() {
                    Some(call) => {
                        CALLED.set(true);
                        call.call();
                        CALLED.set(false);
                    }
                    None => return thread.as_ref().request,
                }
            }
        }
    }

    /// Performs the operation on a file that `thread` has requested last.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not such an operation.
    pub(crate) fn perform_transfer(&mut self, thread: usize) -> Effect {
        match self.thread(thread).request {
            // SAFETY: the thread waits in this request, which is its last one.
            Request::Transfer(transfer) => unsafe { Net::perform(&raw mut self.run.net, transfer) },
            other => panic!("thread {thread} has requested {other:?} and no transfer"),
        }
    }

    /// Returns the number of changes of the object with this key: see [`Transfer`](crate::Transfer).
    pub(crate) fn version(&self, object: u64) -> u64 {
        self.run.net.version(object)
    }

    /// Returns a hash of the registers of `thread` at the access that it has requested. If a loop counts its rounds in
    /// registers, the hash differs in each round.
    pub(crate) fn registers(&self, thread: usize) -> Option<u64> {
        self.thread(thread).registers()
    }

    /// Returns the value of the word for which `thread` has requested to wait, or whose waits it has requested to move.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was neither a wait nor a [`Request::Requeue`].
    pub(crate) fn word(&self, thread: usize) -> u32 {
        match self.thread(thread).request {
            // SAFETY: the thread has read the word at this address before its request.
            Request::Wait { word, .. } | Request::Requeue { word, .. } => unsafe {
                (word as *const u32).read_volatile()
            },
            other => panic!("thread {thread} has requested {other:?} and no wait"),
        }
    }

    /// Takes the first error in memory use.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.run.fault.take()
    }

    /// Searches the heap for memory that was written after its free, or outside of an allocation. Called at the end of
    /// a run.
    pub(crate) fn check_memory(&mut self) -> Option<Fault> {
        self.run.fault.take().or_else(blocks::sweep)
    }

    /// Returns an allocation of the run without references, and the number and the bytes of all such allocations.
    /// `None` if the heap is plain. Called at the end of a run.
    pub(crate) fn leaks(&self) -> Option<(Fault, usize, usize)> {
        // SAFETY: all threads are suspended while the carrier runs.
        let threads: Vec<&Thread> =
            self.run.threads.iter().map(|thread| unsafe { thread.as_ref() }).collect();
        leaks::find(&threads)
    }

    /// Returns how the first thread ended; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<Ended> {
        let thread = self.thread(0);
        let panicked = !thread.result.is_null();
        let (message, place) = thread.panics.last().cloned().unwrap_or_default();
        thread.ended.then_some(match panicked {
            true => Ended::Panicked(message, place),
            false => Ended::Returned,
        })
    }

    /// Returns the last panics of each thread: its number, the message and the place.
    pub(crate) fn panics(&self) -> Vec<(u32, String, String)> {
        let of_thread = |number: usize| {
            let panics = self.panics_of(number).into_iter();
            panics.map(move |(message, place)| (number as u32, message, place))
        };
        (0..self.run.threads.len()).flat_map(of_thread).collect()
    }

    /// Returns the virtual time in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.run.now
    }

    /// Advances the virtual time to `time`. Has no effect if the time is later already.
    pub(crate) fn advance_to(&mut self, time: u64) {
        if time > self.run.now
            && let Some(orders) = orders::orders()
        {
            orders.settle();
        }
        self.run.now = self.run.now.max(time);
    }

    /// Advances the virtual time to the end of a wait, so that each later clock reading is after it.
    pub(crate) fn advance_past(&mut self, deadline: u64) {
        self.advance_to(self.run.past(deadline));
    }

    /// Makes each clock reading later than the previous one.
    pub(crate) fn tell_readings_apart(&mut self) {
        self.run.readings = Some(0);
    }

    /// Returns a hash of the innermost eight return addresses at the last request of `thread`. The hash is the same for
    /// all requests of one source line that was called from the same lines.
    #[inline]
    pub(crate) fn caller(&self, thread: usize) -> u64 {
        let thread = self.thread(thread);
        thread.hash_of_calls(thread.caller)
    }

    /// Returns the return addresses at the last request of a thread, innermost first. Before each address is the stack
    /// position of the function that contains it.
    pub(crate) fn calls(&self, thread: usize) -> Vec<(usize, usize)> {
        self.thread(thread).calls().take(FRAMES).collect()
    }

    /// Returns the return addresses at the last request of `thread`, innermost first.
    pub(crate) fn addresses(&self, thread: usize) -> Vec<usize> {
        self.thread(thread).return_addresses().take(FRAMES).collect()
    }

    /// Returns the messages and the places of the last panics of a thread, in their order.
    pub(crate) fn panics_of(&self, thread: usize) -> Vec<(String, String)> {
        self.thread(thread).panics.clone()
    }

    /// Returns a name of an address that does not depend on the order in which threads run. The name is computed from
    /// the offset of the address in its allocation, or in the stack or thread-local block of its thread.
    pub(crate) fn name(&self, address: usize) -> u64 {
        let within = |whole: u64, offset: usize| name_of(whole, offset as u64);
        if heap::has(address) {
            return heap::name(address).map_or(1, |name| within(name.allocation, name.offset));
        }
        for thread in &self.run.threads {
            // SAFETY: all threads are suspended while the carrier runs.
            let thread = unsafe { thread.as_ref() };
            let (block, size) = thread.thread_locals();
            if address.wrapping_sub(block) < size {
                return within(name_of(thread.path, THREAD_LOCALS), address - block);
            }
            if thread.has_on_stack(address) {
                return within(name_of(thread.path, STACK_OF_THREAD), thread.depth(address));
            }
        }
        within(0, address.wrapping_sub(super::image::load_address()))
    }

    /// Returns a value for reports and traces. An address on a stack, in thread-locals or in the program differs from
    /// process to process, so it is replaced by a number that does not. The same applies to an address on the heap if
    /// the heap keeps memory of earlier runs. Other values are unchanged.
    pub(crate) fn stable_value(&self, value: u64) -> u64 {
        if heap::has(value as usize) {
            let name = captured::is_on().then(|| heap::name(value as usize)).flatten();
            let number = |name: heap::Name| {
                (4 << 60) | (name.allocation >> 36 << 32) | (name.offset as u64 & 0xFFFF_FFFF)
            };
            return name.map_or(value, number);
        }
        let address = value as usize;
        for thread in &self.run.threads {
            // SAFETY: all threads are suspended while the carrier runs.
            let thread = unsafe { thread.as_ref() };
            let (block, size) = thread.thread_locals();
            let of_thread = |part: u64, offset: usize| {
                part << 60 | (thread.number as u64) << 32 | offset as u64
            };
            if address.wrapping_sub(block) < size {
                return of_thread(1, address - block);
            }
            if thread.has_on_stack(address) {
                return of_thread(2, thread.depth(address));
            }
        }
        let offset = address.wrapping_sub(super::image::load_address());
        if offset < super::image::size() { 3 << 60 | offset as u64 } else { value }
    }

    #[inline]
    pub(crate) fn thread(&self, thread: usize) -> &Thread {
        // SAFETY: all threads are suspended while the carrier runs.
        unsafe { self.run.threads[thread].as_ref() }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        signals::end();
        let threads = (0..self.run.threads.len()).map(|thread| self.thread(thread));
        std_state::end(Left::of(threads));
        output::end();
        environment::end();
        let Run { threads, idle, .. } = &mut *self.run;
        // SAFETY: workers are never freed, and the other data belongs to this run.
        threads.retain(|thread| !unsafe { thread.as_ref() }.is_past());
        idle.0.extend(threads.drain(..).map(Idle));
        // The order makes the next run use the workers in the same order.
        idle.0.sort_by_key(|idle| std::cmp::Reverse(idle.0));
    }
}

thread_local! {
    /// True while the carrier executes a call of a simulated thread.
    static CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` while the carrier executes a call of a simulated thread.
pub(crate) fn is_called() -> bool {
    CALLED.get()
}

/// Calls the body of a run. Returns null, or another pointer if the body panicked.
extern "C" fn call(body: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` has passed the address inside the run, whose carrier is suspended.
    let body = unsafe { (*body.cast::<Option<Body>>()).take() };
    let body = body.expect("the body of a run begins once");
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => null_mut(),
        Err(payload) => {
            if let Some(thread) = thread::current().filter(|thread| thread.panics.is_empty()) {
                // The program has set its own panic hook, so the panic is not recorded yet.
                let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                let text = text.unwrap_or_default();
                thread::outside(|| thread.panics.push((text.clone(), String::new())));
            }
            // The payload is on the heap of the run, which ends.
            std::mem::forget(payload);
            std::ptr::dangling_mut()
        }
    }
}
