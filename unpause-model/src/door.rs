//! The interface to the engine, which `cargo unpause test --any` links into the program.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

/// The functions of the engine; null if the program contains no engine. The engine's shim declares the types here with
/// the same layouts.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name of a symbol")]
pub(crate) static unpause_model_door: AtomicPtr<Door> = AtomicPtr::new(null_mut());

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Door {
    model: extern "C" fn(*const Asked),
    fail: unsafe extern "C" fn(),
    may_be_old: unsafe extern "C" fn() -> bool,
    end_locals: unsafe extern "C" fn(),
    await_others: unsafe extern "C" fn(),
    outside: unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void) -> bool,
    between_tests: unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void),
}

/// A text in the memory of the side that created it.
#[repr(C)]
#[derive(Debug)]
struct Text {
    at: *const u8,
    length: usize,
}

/// A request to the engine to run a model.
#[repr(C)]
#[derive(Debug)]
struct Asked {
    plan: Text,
    has_captured: bool,
    data: *const c_void,
    body: extern "C" fn(*const c_void, *mut Text) -> u32,
    end: extern "C" fn(*mut c_void, u32, Text, u64),
    receiver: *mut c_void,
}

/// The number of runs, and the failure message if a run has failed.
pub(crate) type Ended = (u64, Option<String>);

/// A function that executes one run of the model.
type Once<'a> = &'a dyn Fn() -> Result<(), Option<String>>;

/// Returns the interface, if the program contains the engine.
pub(crate) fn open() -> Option<&'static Door> {
    // SAFETY: the pointer is null or points to a static of the engine's shim.
    unsafe { unpause_model_door.load(Ordering::Relaxed).as_ref() }
}

/// Returns `true` if the engine steps the threads of models.
pub fn is_stepped() -> bool {
    open().is_some()
}

/// Fails the run with the last panic of the current thread, if the engine steps this thread. On other threads, does
/// nothing.
pub fn fail() {
    if let Some(door) = open() {
        // SAFETY: this is a function of the engine that any thread of a run may call.
        unsafe { (door.fail)() }
    }
}

/// Returns `true` if loads of atomics may return older stores in the current run. The engine then runs the model with
/// the memory `c11`.
pub fn may_be_old() -> bool {
    // SAFETY: this is a function of the engine that any thread may call.
    open().is_some_and(|door| unsafe { (door.may_be_old)() })
}

/// Drops the thread-locals of the current thread now, if the engine steps this thread. On other threads, the
/// thread-locals are dropped at the end of the thread.
pub fn end_locals() {
    if let Some(door) = open() {
        // SAFETY: this is a function of the engine that any thread of a run may call.
        unsafe { (door.end_locals)() }
    }
}

/// Waits on the first thread of a run until all other threads have ended, if the engine steps this thread. The wait is
/// a step that has no other order, unlike a join of each thread.
#[inline(never)]
pub fn await_others() {
    if let Some(door) = open() {
        // SAFETY: this is a function of the engine that the first thread of a run may call.
        unsafe { (door.await_others)() }
    }
}

/// A function for [`outside`], and later its result.
type Slot<F, R> = (Option<F>, Option<thread::Result<R>>);

/// Calls `act` outside of the run, on the thread that executes the runs, while the current thread waits. The call is
/// not a step. Memory that `act` allocates outlives the run. Returns `None`, without a call, on a thread that the
/// engine does not step.
///
/// # Errors
/// Returns the payload if `act` panics.
pub fn outside<F: FnOnce() -> R, R>(act: F) -> Option<thread::Result<R>> {
    let door = open()?;
    let mut slot: Slot<F, R> = (Some(act), None);
    // SAFETY: `call_slot` takes this slot, which lives until the function returns.
    let has_called = unsafe { (door.outside)(call_slot::<F, R>, (&raw mut slot).cast()) };
    if has_called { slot.1 } else { None }
}

/// Calls `act` while no other test executes runs. A run that begins gives statics their first values, although another
/// thread may be changing them under a lock. So code outside of runs must change such statics here. If the program
/// contains no engine, just calls `act`.
///
/// # Panics
/// Panics if `act` panics.
pub fn between_tests<F: FnOnce() -> R, R>(act: F) -> R {
    let Some(door) = open() else { return act() };
    let mut slot: Slot<F, R> = (Some(act), None);
    // SAFETY: `call_slot` takes this slot, which lives until the function returns.
    unsafe { (door.between_tests)(call_slot::<F, R>, (&raw mut slot).cast()) };
    match slot.1.expect("the engine calls the function") {
        Ok(result) => result,
        Err(payload) => resume_unwind(payload),
    }
}

/// Calls the function in a slot, and stores its result there.
extern "C" fn call_slot<F: FnOnce() -> R, R>(slot: *mut c_void) {
    // SAFETY: the callers pass their slots, and wait.
    let (act, result) = unsafe { &mut *slot.cast::<Slot<F, R>>() };
    *result = act.take().map(|act| catch_unwind(AssertUnwindSafe(act)));
}

impl Door {
    /// Makes the engine execute the runs. Returns their number, and the failure message if a run fails.
    pub(crate) fn check(&self, plan: &str, has_captured: bool, once: Once<'_>) -> Ended {
        let mut ended = (0, None);
        (self.model)(&Asked {
            plan: Text { at: plan.as_ptr(), length: plan.len() },
            has_captured,
            data: (&raw const once).cast(),
            body,
            end,
            receiver: (&raw mut ended).cast(),
        });
        ended
    }
}

/// Runs the model once, on a simulated thread. Returns 0 for success, 1 with an error, 2 for a panic.
extern "C" fn body(data: *const c_void, error: *mut Text) -> u32 {
    // SAFETY: `data` points to a local of `check`, which waits for the end of the runs. The engine provides memory for
    // the text.
    let (once, error) = unsafe { (&*data.cast::<Once<'_>>(), &mut *error) };
    match once() {
        Ok(()) => 0,
        Err(None) => 2,
        Err(Some(message)) => {
            // Leaked, because the engine frees the memory of the run at its end.
            let message = message.leak();
            *error = Text { at: message.as_ptr(), length: message.len() };
            1
        }
    }
}

/// Receives the result of the model.
extern "C" fn end(receiver: *mut c_void, kind: u32, text: Text, runs: u64) {
    // SAFETY: `receiver` points to a local of `check`, which waits for the end of the runs. The text is valid during
    // the call.
    let (ended, text) = unsafe {
        let bytes = std::slice::from_raw_parts(text.at, text.length);
        (&mut *receiver.cast::<Ended>(), String::from_utf8_lossy(bytes).into_owned())
    };
    *ended = (runs, (kind != 0).then_some(text));
}
