//! Simulated threads. Each thread borrows the stack and the thread-local block of a *worker*: an OS thread that sleeps
//! for ever. Workers are reused in later runs, and in copies of the process.

mod exit;
mod hired;
mod own;
mod past;

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU32;

use super::arenas::Arena;
use super::clock::Readings;
use super::fault::Fault;
use super::image::image;
use super::keys::Ending;
use super::local::{FRAMES, Run};
use super::masks;
use super::request::{Call, Request};
use super::std_calls::StdCalls;
use super::switch::{self, Context, frame_pointer, switch};

pub(crate) use self::hired::hire;
pub use self::own::as_program;
pub(crate) use self::own::{Own, Program};
pub(crate) use self::past::Past;

/// A start routine of `pthread_create`.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// A destructor of a thread-local, with its argument.
pub(crate) type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

/// The distance between the frame in which a worker sleeps and the stack of a simulated thread.
const GAP: usize = 256;

/// The maximum number of panics that are stored. Of three related panics, the third one ends the process.
const PANICS: usize = 3;

/// The stack size of the first thread of a run.
pub(crate) const STACK: usize = 2 << 20;

thread_local! {
    /// The simulated thread of this thread-local block; null in OS threads.
    static CURRENT: Cell<*mut Thread> = const { Cell::new(null_mut()) };
}

/// A simulated thread, or the worker for a future one.
pub(crate) struct Thread {
    /// The saved state of the thread while it is suspended.
    pub(crate) context: Context,
    /// The run of the thread. Its carrier is suspended while the thread runs.
    pub(super) run: *mut Run,
    /// 1 if the worker sleeps.
    parked: AtomicU32,
    /// The stack pointer of the sleeping worker.
    pub(super) base: usize,
    /// The limits of the program on its stack.
    pub(super) program: Program,
    /// The size of the stack.
    pub(crate) stack: usize,
    /// The lowest address of the stack. Below it is a guard page, which cannot be accessed.
    pub(super) lowest: usize,
    pub(crate) pthread: libc::pthread_t,
    /// The number of the thread in the run.
    pub(crate) number: usize,
    start: Option<Start>,
    argument: *mut c_void,
    /// The routine that the thread runs itself instead of a new thread.
    pub(crate) own: Own,
    pub(crate) result: *mut c_void,
    pub(crate) ended: bool,
    /// True if no thread will join this thread.
    pub(crate) detached: bool,
    /// Greater than 0 while the thread executes code of this crate or of the carrier. Calls of libc are then real.
    outside: u32,
    pub(crate) destructors: Vec<Destructor>,
    /// The values of the thread for keys of libc: see `keys.rs`.
    pub(crate) specific: Vec<(libc::pthread_key_t, *mut c_void)>,
    /// The std functions that the thread is in.
    pub(crate) std_calls: StdCalls,
    /// A hash of the thread's position in the thread tree.
    pub(crate) path: u64,
    pub(crate) children: u64,
    pub(crate) allocations: u64,
    /// The part of the heap that the thread uses.
    pub(crate) arena: Arena,
    /// The clock readings of the thread.
    pub(crate) readings: Readings,
    /// The request of the thread while it is suspended.
    pub(crate) request: Request,
    /// A function for the carrier to call, instead of a request.
    pub(crate) call: Option<Call>,
    /// The return address of the function that made the request, and the frame pointer at that point.
    pub(crate) caller: (usize, usize),
    /// The address of the return address of the function of instrumentation that was called last.
    pub(crate) called_from: usize,
    /// The lowest variable of the thread that other threads have accessed, if the test searches for data races.
    pub(crate) lent: Cell<usize>,
    /// The reply to the last request of the thread.
    pub(crate) reply: u64,
    /// The return address for the last request of the thread, if the request is a compare-exchange that fails: see
    /// `weak.rs`. 0 means the normal return address.
    pub(crate) returns: usize,
    /// The texts and the places of its last panics, in their order.
    pub(crate) panics: Vec<(String, String)>,
    /// The return addresses of the last panic of the thread, innermost first.
    pub(crate) panicked_by: Vec<usize>,
    /// The references that its thread-locals have left, if another thread has taken over its worker.
    left: Vec<usize>,
}

/// Returns the simulated thread that runs now, if any, unless it is [outside].
#[inline(always)]
pub(crate) fn current() -> Option<&'static mut Thread> {
    let thread = CURRENT.get();
    // SAFETY: if the pointer is not null, it is a worker, which is never freed. Only one thread of control executes in
    // it, and the reference does not outlive the function of this crate that has called this.
    let thread = unsafe { thread.as_mut() }?;
    (thread.outside == 0).then_some(thread)
}

/// Returns the simulated thread that runs now, if any. Called by signal handlers.
pub(crate) fn any() -> Option<&'static mut Thread> {
    // SAFETY: like in `current`.
    unsafe { CURRENT.get().as_mut() }
}

/// Returns `true` on a simulated thread.
#[inline]
pub fn inside() -> bool {
    current().is_some()
}

/// Calls `act` with the real libc functions. Memory that `act` allocates outlives the run, and `act` is not a part of
/// the execution.
pub fn outside<R>(act: impl FnOnce() -> R) -> R {
    /// A guard that ends the real calls when it is dropped, also by a panic.
    struct End(*mut Thread);
    impl Drop for End {
        fn drop(&mut self) {
            // SAFETY: like in `current`.
            unsafe { (*self.0).outside -= 1 };
        }
    }
    let thread = CURRENT.get();
    let _end = (!thread.is_null()).then(|| {
        // SAFETY: like in `current`.
        unsafe { (*thread).outside += 1 };
        End(thread)
    });
    act()
}

/// Calls `act` on the carrier, with its stack and its thread-locals, while the current simulated thread waits. Not a
/// point, because no other thread runs before it returns. On any other thread, calls `act` at once. Propagates panics
/// of `act`.
pub fn on_carrier<R>(act: impl FnOnce() -> R) -> R {
    /// The function, and later its result.
    struct Slot<F, R>(Option<F>, Option<std::thread::Result<R>>);
    unsafe fn call<F: FnOnce() -> R, R>(slot: *mut ()) {
        // SAFETY: the slot belongs to the thread that waits below.
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
    // SAFETY: like in `current`. The slot lives until the carrier resumes the thread.
    unsafe { stop_with(thread, call) };
    match slot.1 {
        Some(Ok(result)) => result,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("the carrier resumes the thread after the call"),
    }
}

/// Stops the current thread until the carrier has executed the call.
///
/// This function is compiled with this crate. If it were inlined into an instrumented caller of the generic function
/// above, the switch would be an operation of the program.
///
/// # Safety
/// `thread` must be the current thread, and the data of the call must live until this function returns.
#[inline(never)]
unsafe fn stop_with(thread: *mut Thread, call: Call) {
    // SAFETY: the caller guarantees these requirements.
    unsafe {
        (*thread).call = Some(call);
        (*thread).stop((*thread).request, (0, 0));
    }
}

/// Records the text and the place of a panic of the current simulated thread. Called by a panic hook.
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

/// Returns the text and the place of the last panic of the current simulated thread.
pub fn last_panic() -> Option<(String, String)> {
    let thread = current()?;
    outside(|| thread.panics.last().cloned())
}

/// Stops the current simulated thread, so that other threads may run. Does nothing on any other thread.
#[inline(never)]
pub fn point() {
    if let Some(thread) = current() {
        thread.stop(Request::Point, (0, frame_pointer()));
    }
}

impl Thread {
    /// Stops with `request` until the carrier resumes the thread. Returns the reply.
    #[inline]
    pub(crate) fn stop(&mut self, request: Request, caller: (usize, usize)) -> u64 {
        self.request = request;
        self.caller = caller;
        if self.lent.get() != usize::MAX || self.std_calls.may_print() {
            self.note_stop();
        }
        // SAFETY: the carrier is suspended in `resume`, and its context is valid until it resumes the thread.
        unsafe { switch(&mut self.context, &raw const (*self.run).carrier) };
        self.reply
    }

    /// Continues the suspended thread until its next request.
    pub(crate) fn resume(thread: NonNull<Thread>) {
        let thread = thread.as_ptr();
        // SAFETY: the thread is suspended: `begin` has prepared it, or it has stopped with a request. Only the carrier
        // of its run uses it.
        unsafe {
            masks::enter((*thread).number);
            let carrier = &raw mut (*(*thread).run).carrier;
            (*carrier).thread_pointer = switch::thread_pointer();
            switch(carrier, &raw const (*thread).context);
        }
    }

    /// Returns the run of the thread.
    pub(crate) fn run(&mut self) -> &mut Run {
        // SAFETY: the run is boxed and outlives its threads. Its carrier is suspended while a thread runs, so this is
        // the only reference.
        unsafe { &mut *self.run }
    }

    /// Returns `true` if calls of libc are currently real.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside != 0
    }

    /// Makes calls of libc real on this thread from now on, in a process that is not part of the run.
    pub(crate) fn leave_for_ever(&mut self) {
        self.outside += 1;
    }

    /// Returns `true` if a function that needs more stack than available accesses this address.
    pub(crate) fn is_below_stack(&self, address: usize) -> bool {
        /// The range below the stack: the guard page, and the frame of a C function that skips it.
        const BELOW: usize = 64 << 10;
        address.wrapping_add(BELOW).wrapping_sub(self.lowest) < BELOW + 4096
    }

    /// Ends the run with an error. The thread is not resumed.
    #[cold]
    pub(crate) fn fail(&mut self, fault: Fault) {
        // The caller has built the error in memory of the run, which is not reused while the carrier reads it.
        let run = self.run();
        if run.fault.is_none() {
            outside(|| run.fault = Some(fault.clone()));
        }
        std::mem::forget(fault);
        self.stop(Request::Fault, (0, 0));
        unreachable!("a thread with an error is not resumed")
    }

    /// Returns the memory to which the thread refers while it is suspended: its stack and its argument.
    pub(crate) fn in_use(&self) -> Vec<(usize, usize)> {
        if self.ended {
            let left = (self.left.as_ptr() as usize, 8 * self.left.len());
            return vec![((&raw const self.result) as usize, 8), left];
        }
        let stack = self.context.stack_pointer;
        let destructors = self.destructors.iter().map(|held| ((&raw const held.1) as usize, 8));
        let specific = self.specific.iter().map(|held| ((&raw const held.1) as usize, 8));
        [(stack, self.base - stack), ((&raw const self.argument) as usize, 8)]
            .into_iter()
            .chain(destructors)
            .chain(specific)
            .collect()
    }

    /// Returns a hash of the registers that its function preserves during the call of the function of instrumentation
    /// in which it has stopped. `None` if it has never called a function of instrumentation.
    pub(crate) fn registers(&self) -> Option<u64> {
        // The functions of this crate and the switch have saved the registers below the return address. No other thread
        // writes there, and the rest of this memory is equal for equal calls.
        let words = (self.context.stack_pointer..self.called_from).step_by(8);
        (self.called_from != 0).then(|| {
            words.fold(0, |hash: u64, address| {
                // SAFETY: this is the used part of the stack of a suspended thread.
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

    /// Returns the distance of an address below the upper end of its stack. The result is a large number for an address
    /// above it.
    #[inline]
    pub(crate) fn depth(&self, address: usize) -> usize {
        self.base.wrapping_sub(address)
    }

    /// Returns the address and the size of the program's thread-local variables in its block.
    pub(crate) fn thread_locals(&self) -> (usize, usize) {
        let image = image();
        (self.context.thread_pointer.wrapping_add_signed(image.offset), image.size)
    }

    /// Turns a worker into a new thread: fresh thread-locals, an empty stack, and `start` as its function.
    pub(crate) fn begin(
        worker: NonNull<Thread>,
        number: usize,
        (start, argument): (Start, *mut c_void),
        path: u64,
        run: *mut Run,
    ) {
        let image = image();
        // SAFETY: the worker sleeps. Its last simulated thread has ended or was abandoned, so nothing uses its stack or
        // its thread-locals. The image belongs to the program, and each block has room for it.
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
            thread.program = Program { end: thread.base, data: 0 };
            thread.start = Some(start);
            thread.argument = argument;
            thread.own = Own::None;
            thread.result = null_mut();
            thread.ended = false;
            thread.detached = false;
            thread.outside = 0;
            thread.destructors.clear();
            thread.specific.clear();
            thread.std_calls = StdCalls::default();
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

/// The first function on the stack of each simulated thread.
extern "C" fn entry() -> ! {
    let thread = CURRENT.get();
    // SAFETY: like in `current`. `begin` has set the thread and its start routine. No reference to the thread is live
    // while the routine runs.
    unsafe {
        let (start, argument) = ((*thread).start, (*thread).argument);
        let start = start.expect("`begin` has set the routine");
        finish(thread, start(argument))
    }
}

/// Ends a thread: runs the destructors of its thread-locals and of its values for keys.
///
/// # Safety
/// `thread` must be the running thread.
unsafe fn finish(thread: *mut Thread, result: *mut c_void) -> ! {
    // SAFETY: the caller guarantees that the pointer is valid. No reference to the thread is live while a destructor
    // runs.
    unsafe {
        (*thread).result = result;
        while let Some((destructor, argument)) = (*thread).destructors.pop() {
            destructor(argument);
        }
        let mut ending = Ending::default();
        while let Some((destructor, value)) = (*thread).next_destructor(&mut ending) {
            destructor(value);
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
