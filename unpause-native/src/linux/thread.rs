//! Simulated threads. Each borrows the stack and the thread-local block of a *worker*: a thread of the system that
//! sleeps for ever. Workers are kept for later runs.

mod past;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use super::arenas::Arena;
use super::clock::Readings;
use super::fault::Fault;
use super::image::image;
use super::local::{FRAMES, Run};
use super::request::{Call, Request};
use super::switch::{self, Context, frame_pointer, switch};
use super::threads;

pub(crate) use self::past::Past;

/// A start routine of `pthread_create`.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// A destructor of a thread-local, with its argument.
pub(crate) type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

/// The room between the frame in which a worker sleeps and the stack of a simulated thread.
const GAP: usize = 256;

/// The number of panics that are kept: a process is ended by the third of three that belong together.
const PANICS: usize = 3;

/// The stack of the first thread of a run.
pub(crate) const STACK: usize = 2 << 20;

thread_local! {
    /// The simulated thread of this thread-local block; null in threads of the system.
    static CURRENT: Cell<*mut Thread> = const { Cell::new(null_mut()) };
}

/// A simulated thread, or the worker that waits to be one.
pub(crate) struct Thread {
    /// Its saved state while it is suspended.
    pub(crate) context: Context,
    /// Its run, whose carrier is suspended while the thread runs.
    pub(super) run: *mut Run,
    /// 1 when the worker sleeps.
    parked: AtomicU32,
    /// The stack pointer of the sleeping worker.
    pub(super) base: usize,
    /// The size of the stack.
    pub(crate) stack: usize,
    /// The lowest address of the stack; below it is a guard page, which cannot be accessed.
    pub(super) lowest: usize,
    pub(crate) pthread: libc::pthread_t,
    /// Its number in the run.
    pub(crate) number: usize,
    start: Option<Start>,
    argument: *mut c_void,
    /// The routine that it runs itself instead of a new thread.
    pub(crate) own: Own,
    pub(crate) result: *mut c_void,
    pub(crate) ended: bool,
    /// Nobody will join it.
    pub(crate) detached: bool,
    /// More than 0 while the thread is in code of this crate or of the carrier's: calls of libc are then real.
    outside: u32,
    pub(crate) destructors: Vec<Destructor>,
    /// The frame of a function of std that starts a process, or 0.
    pub(crate) starts_child: usize,
    /// A hash of its place in the tree of threads.
    pub(crate) path: u64,
    pub(crate) children: u64,
    pub(crate) allocations: u64,
    /// Its part of the heap.
    pub(crate) arena: Arena,
    /// Its readings of the clock.
    pub(crate) readings: Readings,
    /// Its request, while it is suspended.
    pub(crate) request: Request,
    /// A function for the carrier to call, in place of a request.
    pub(crate) call: Option<Call>,
    /// The return address of the function that made the request, and the frame pointer there.
    pub(crate) caller: (usize, usize),
    /// The address of the return address of the function of instrumentation called last.
    pub(crate) called_from: usize,
    /// The lowest of its variables that others have accessed, if data races are searched.
    pub(crate) lent: Cell<usize>,
    /// The answer to its last request.
    pub(crate) reply: u64,
    /// Where its last request returns to, a compare-exchange that fails: see `weak.rs`. 0 is the return address.
    pub(crate) returns: usize,
    /// The texts and the places of its last panics, the last one last.
    pub(crate) panics: Vec<(String, String)>,
    /// The return addresses of its last panic, innermost first.
    pub(crate) panicked_by: Vec<usize>,
}

/// The simulated thread that runs now, if it exists and is not [outside].
#[inline(always)]
pub(crate) fn current() -> Option<&'static mut Thread> {
    let thread = CURRENT.get();
    // SAFETY: not null, it is a worker, which is never freed. One thread of control is in it, and a reference does
    // not outlive the function of this crate that has asked for it.
    let thread = unsafe { thread.as_mut() }?;
    (thread.outside == 0).then_some(thread)
}

/// The simulated thread that runs now, if any. For handlers of signals.
pub(crate) fn any() -> Option<&'static mut Thread> {
    // SAFETY: as in `current`.
    unsafe { CURRENT.get().as_mut() }
}

/// Returns `true` on a simulated thread.
#[inline]
pub fn inside() -> bool {
    current().is_some()
}

/// Calls `act` with the functions of libc as they are: memory that it allocates outlives the run, and it is not a part
/// of the execution.
pub fn outside<R>(act: impl FnOnce() -> R) -> R {
    /// Ends it, even in a panic.
    struct End(*mut Thread);
    impl Drop for End {
        fn drop(&mut self) {
            // SAFETY: as in `current`.
            unsafe { (*self.0).outside -= 1 };
        }
    }
    let thread = CURRENT.get();
    let _end = (!thread.is_null()).then(|| {
        // SAFETY: as in `current`.
        unsafe { (*thread).outside += 1 };
        End(thread)
    });
    act()
}

/// Calls `act` on the carrier, with its stack and its thread-locals, while the current simulated thread waits. Not a
/// point: no other thread runs before it returns. Calls `act` at once on any other thread. Panics as `act` does.
pub fn on_carrier<R>(act: impl FnOnce() -> R) -> R {
    /// The function, and then its result.
    struct Slot<F, R>(Option<F>, Option<std::thread::Result<R>>);
    unsafe fn call<F: FnOnce() -> R, R>(slot: *mut ()) {
        // SAFETY: the slot of the thread that waits below.
        let slot = unsafe { &mut *slot.cast::<Slot<F, R>>() };
        if let Some(act) = slot.0.take() {
            slot.1 = Some(catch_unwind(AssertUnwindSafe(act)));
        }
    }
    let thread = CURRENT.get();
    if thread.is_null() {
        return act();
    }
    fn typed<F: FnOnce() -> R, R>(_: &Slot<F, R>) -> unsafe fn(*mut ()) {
        call::<F, R>
    }
    let mut slot = Slot(Some(act), None);
    let function = typed(&slot);
    let call = Call::new(function, (&raw mut slot).cast());
    // SAFETY: as in `current`. The slot lives until the carrier resumes the thread.
    unsafe { stop_with(thread, call) };
    match slot.1 {
        Some(Ok(result)) => result,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("the carrier resumes the thread after the call"),
    }
}

/// Stops the thread, which is the current one, until the carrier has made the call.
///
/// Compiled with this crate: in a caller of the generic function above, which is instrumented, the switch would be an
/// operation of the program.
///
/// # Safety
/// The thread is the caller's thread, and the data of the call lives until this returns.
#[inline(never)]
unsafe fn stop_with(thread: *mut Thread, call: Call) {
    // SAFETY: the caller's.
    unsafe {
        (*thread).call = Some(call);
        (*thread).stop((*thread).request, (0, 0));
    }
}

/// Records the text and the place of a panic of the current simulated thread. For a panic hook.
pub fn note_panic(message: String, place: String) {
    if let Some(thread) = current() {
        outside(|| {
            if thread.panics.len() == PANICS {
                thread.panics.remove(0);
            }
            thread.panics.push((message, place));
            thread.panicked_by = thread.frames_from(frame_pointer()).take(FRAMES).collect();
        });
    }
}

/// The text and the place of the last panic of the current simulated thread.
pub fn last_panic() -> Option<(String, String)> {
    let thread = current()?;
    outside(|| thread.panics.last().cloned())
}

/// Stops the current simulated thread, so that others may run. Does nothing on any other thread.
#[inline(never)]
pub fn point() {
    if let Some(thread) = current() {
        thread.stop(Request::Point, (0, frame_pointer()));
    }
}

impl Thread {
    /// Stops with `request` until the carrier resumes the thread. Returns the answer.
    #[inline]
    pub(crate) fn stop(&mut self, request: Request, caller: (usize, usize)) -> u64 {
        self.request = request;
        self.caller = caller;
        if self.lent.get() != usize::MAX {
            self.note_return();
        }
        // SAFETY: the carrier is suspended in `resume`, and this context is valid until it resumes the thread.
        unsafe { switch(&mut self.context, &raw const (*self.run).carrier) };
        self.reply
    }

    /// Continues the suspended thread until its next request.
    pub(crate) fn resume(thread: NonNull<Thread>) {
        let thread = thread.as_ptr();
        // SAFETY: the thread is suspended: `begin` has made it ready or it has stopped with a request. Only the
        // carrier of its run knows it.
        unsafe {
            let carrier = &raw mut (*(*thread).run).carrier;
            (*carrier).thread_pointer = switch::thread_pointer();
            switch(carrier, &raw const (*thread).context);
        }
    }

    /// Its run.
    pub(crate) fn run(&mut self) -> &mut Run {
        // SAFETY: the run is boxed and outlives its threads. Its carrier is suspended while a thread runs, so that
        // this is the only reference.
        unsafe { &mut *self.run }
    }

    /// Returns `true` if calls of libc are real for the moment.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside != 0
    }

    /// From now on calls of libc are real on this thread, in a process that is no part of the run.
    pub(crate) fn leave_for_ever(&mut self) {
        self.outside += 1;
    }

    /// Returns `true` if a function that needs more stack than there is accesses this address.
    pub(crate) fn is_below_stack(&self, address: usize) -> bool {
        /// The guard page, and the frame of a function of C that passes it by.
        const BELOW: usize = 64 << 10;
        address.wrapping_add(BELOW).wrapping_sub(self.lowest) < BELOW + 4096
    }

    /// Ends the run: the thread is not resumed.
    #[cold]
    pub(crate) fn fail(&mut self, fault: Fault) {
        // Built by the caller with memory of the run, which is not reused while the carrier reads it.
        let run = self.run();
        if run.fault.is_none() {
            outside(|| run.fault = Some(fault.clone()));
        }
        std::mem::forget(fault);
        self.stop(Request::Fault, (0, 0));
        unreachable!("a thread with an error is not resumed")
    }

    /// The memory that the thread refers to while it is suspended: its stack, its argument.
    pub(crate) fn in_use(&self) -> Vec<(usize, usize)> {
        if self.ended {
            return vec![((&raw const self.result) as usize, 8)];
        }
        let stack = self.context.stack_pointer;
        let destructors = self.destructors.iter().map(|held| ((&raw const held.1) as usize, 8));
        [(stack, self.base - stack), ((&raw const self.argument) as usize, 8)]
            .into_iter()
            .chain(destructors)
            .collect()
    }

    /// A hash of the registers that its function keeps while it calls the function of instrumentation that it has
    /// stopped in. `None` if it has stopped in another one, and has never in one.
    pub(crate) fn registers(&self) -> Option<u64> {
        // Below the return address, the functions of this crate and the switch have saved them. No other thread writes
        // there, and the rest is the same for the same calls.
        let words = (self.context.stack_pointer..self.called_from).step_by(8);
        (self.called_from != 0).then(|| {
            words.fold(0, |hash: u64, address| {
                // SAFETY: the used part of the stack of a suspended thread, word by word.
                let word = unsafe { *(address as *const u64) };
                (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
            })
        })
    }

    /// Returns `true` if `address` is on its stack.
    #[inline]
    pub(crate) fn has_on_stack(&self, address: usize) -> bool {
        self.base.wrapping_sub(address) < self.stack
    }

    /// The distance of an address from the upper end of its stack: a large number above it.
    #[inline]
    pub(crate) fn depth(&self, address: usize) -> usize {
        self.base.wrapping_sub(address)
    }

    /// The thread-local variables of the program in its block: the address and the size.
    pub(crate) fn thread_locals(&self) -> (usize, usize) {
        let image = image();
        (self.context.thread_pointer.wrapping_add_signed(image.offset), image.size)
    }

    /// Makes a new thread of a worker: fresh thread-locals, an empty stack, `start` as its function.
    pub(crate) fn begin(
        worker: NonNull<Thread>,
        number: usize,
        (start, argument): (Start, *mut c_void),
        path: u64,
        run: *mut Run,
    ) {
        let image = image();
        // SAFETY: the worker sleeps and its last simulated thread has ended or was given up, so that nothing uses its
        // stack or its thread-locals. The image is the program's own, and each block has room for it.
        unsafe {
            let thread = &mut *worker.as_ptr();
            let (block, size) = thread.thread_locals();
            let block = block as *mut u8;
            std::ptr::copy_nonoverlapping(image.initial as *const u8, block, image.initialized);
            std::ptr::write_bytes(block.add(image.initialized), 0, size - image.initialized);
            let here = CURRENT.with(|current| (&raw const *current) as usize);
            let offset = here.wrapping_sub(switch::thread_pointer());
            *(thread.context.thread_pointer.wrapping_add(offset) as *mut *mut Thread) =
                worker.as_ptr();
            let top = (thread.base - GAP) & !15;
            thread.context.stack_pointer = switch::begin(top, entry as *const ());
            thread.number = number;
            thread.start = Some(start);
            thread.argument = argument;
            thread.own = Own::None;
            thread.result = null_mut();
            thread.ended = false;
            thread.detached = false;
            thread.outside = 0;
            thread.destructors.clear();
            thread.starts_child = 0;
            thread.path = path;
            thread.children = 0;
            thread.allocations = 0;
            thread.arena = Arena::NONE;
            thread.readings = Readings::default();
            thread.run = run;
            thread.call = None;
            thread.request = Request::Yield;
            thread.caller = (0, 0);
            thread.called_from = 0;
            thread.lent.set(usize::MAX);
            thread.panics.clear();
            thread.panicked_by.clear();
        }
    }
}

/// A routine that a thread runs itself, so that no new thread is created. The thread then has the name of the new
/// thread.
#[derive(Clone, Copy)]
pub(crate) enum Own {
    None,
    /// The next routine for which a thread is created.
    Next,
    /// This routine, when the thread that was created for it is joined.
    Routine(Start, *mut c_void),
}

impl Thread {
    /// Runs the start routine of the thread to completion, if the thread has one. Returns `false` if it has none.
    pub(crate) fn run_own(&mut self) -> bool {
        // The reference does not live while the routine runs.
        match std::mem::replace(&mut self.own, Own::None) {
            Own::Routine(start, argument) => {
                start(argument);
                true
            }
            other => {
                self.own = other;
                false
            }
        }
    }
}

/// The first function of each simulated thread.
extern "C" fn entry() -> ! {
    let thread = CURRENT.get();
    // SAFETY: as in `current`; `begin` has set the thread and its start routine. The reference to the thread does not
    // live while the routine or a destructor runs.
    unsafe {
        let (start, argument) = ((*thread).start, (*thread).argument);
        let start = start.expect("`begin` has set the routine");
        let result = start(argument);
        (*thread).result = result;
        while let Some((destructor, argument)) = (*thread).destructors.pop() {
            destructor(argument);
        }
        (*thread).ended = true;
        (*thread).outside = 1;
        if (*thread).detached {
            (*thread).run().note_done((*thread).number);
        }
        (*thread).stop(Request::End, (0, 0));
    }
    unreachable!("a thread that has ended is not resumed")
}

/// Makes a worker with a stack of `stack` bytes, and waits until it sleeps.
///
/// # Errors
/// The error number of the system, if it refuses a thread with such a stack.
pub(crate) fn hire(stack: usize) -> Result<NonNull<Thread>, c_int> {
    let worker = Box::into_raw(Box::new(Thread::without_stack(stack)));
    // SAFETY: the attribute is initialised before it is used; the worker is leaked, so that its address stays valid, or
    // freed if no thread of the system knows it.
    unsafe {
        let mut attribute: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attribute);
        let pthread = &raw mut (*worker).pthread;
        let error = match libc::pthread_attr_setstacksize(&mut attribute, stack) {
            0 => threads::real_create(pthread, &attribute, work, worker.cast()),
            error => error,
        };
        libc::pthread_attr_destroy(&mut attribute);
        if error != 0 {
            drop(Box::from_raw(worker));
            return Err(error);
        }
        while (*worker).parked.load(Ordering::Acquire) == 0 {
            let word = (*worker).parked.as_ptr();
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 0, 0usize);
        }
        Ok(NonNull::new_unchecked(worker))
    }
}

/// The function of each worker.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    let worker = worker.cast::<Thread>();
    // SAFETY: the worker is leaked and `hire` waits. Signals are blocked, because a handler would run on the stack
    // that a simulated thread uses.
    unsafe {
        (*worker).context.thread_pointer = switch::thread_pointer();
        (*worker).lowest = threads::lowest_of_stack();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
        switch::park(&raw mut (*worker).base, &raw const (*worker).parked)
    }
}
