//! The OS threads that do not belong to the current test, for example the threads of other tests.
//!
//! Each run gives the statics of the tested crates their first values, and after the last run they get back the values
//! that they had before. So an access of another thread between the two would be lost, for example a lock of a static
//! `Mutex` by another test. Atomic operations of bystanders on statics therefore wait until the test is over. The test
//! waits first until no bystander executes code between two such operations: see `gates`. Memory that is not a static
//! is never restored while a bystander can use it, so it is not affected.
//!
//! A thread belongs to the test if it executes the test, or if such a thread has created it. The main thread of the
//! process never waits, because a test may need its output lock.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::gates::{self, AtGate};
use super::request::Access;
use super::statics;
use super::thread::{self, Start};
use super::threads::real_create;
use super::uncontrolled::{self, Inherited};

/// Held while a test executes runs.
static TEST: Mutex<()> = Mutex::new(());
/// True while a test executes runs.
static EXCLUDES: AtomicBool = AtomicBool::new(false);
/// The number of accesses to statics by OS threads at this moment.
static ACCESSES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True on threads that belong to the test.
    static BELONGS: Cell<bool> = const { Cell::new(false) };
}

/// A guard for a test that executes runs. The thread that has created it belongs to the test until it is dropped.
#[must_use]
pub struct Exclusion {
    // This field is before the next, so that the next test waits until this thread is at another gate.
    _at_gate: AtGate,
    _test: MutexGuard<'static, ()>,
    /// The guard must be dropped on the same thread.
    _thread: PhantomData<*const ()>,
}

/// Makes bystanders wait when they access statics, until the returned guard is dropped. Waits while another test does
/// this, and until each bystander waits for something, but not longer than 0.1 s.
///
/// `test` is the path of the test. The default is the name of the current thread.
pub fn exclude(test: Option<&str>) -> Exclusion {
    uncontrolled::note_controlled(test);
    // From here on, it is known which statics the runs change.
    statics::save_statics();
    let at_gate = gates::at_gate();
    let test = TEST.lock().unwrap_or_else(PoisonError::into_inner);
    BELONGS.set(true);
    EXCLUDES.store(true, Ordering::SeqCst);
    while ACCESSES.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    gates::wait_for_others();
    Exclusion { _at_gate: at_gate, _test: test, _thread: PhantomData }
}

/// Calls `act` while no test executes runs. On a thread of a run, and on a thread that belongs to the test, just calls
/// it.
pub fn between_tests<R>(act: impl FnOnce() -> R) -> R {
    let is_within = thread::current().is_some() || BELONGS.get();
    let _test = (!is_within).then(|| {
        let _at_gate = gates::at_gate();
        TEST.lock().unwrap_or_else(PoisonError::into_inner)
    });
    act()
}

impl Drop for Exclusion {
    fn drop(&mut self) {
        EXCLUDES.store(false, Ordering::SeqCst);
        BELONGS.set(false);
    }
}

/// Performs an operation of a thread that is not simulated. Returns the old value.
#[inline(always)]
pub(crate) fn perform(access: Access) -> u64 {
    match is_in_program(access.address) {
        true => perform_on_static(access),
        false => access.perform().0,
    }
}

/// Returns `true` for an address in the memory of the program, which contains its statics.
#[inline(always)]
fn is_in_program(address: usize) -> bool {
    // The linker defines these two symbols. Locks of std would call this function again.
    unsafe extern "C" {
        static __executable_start: u8;
        static _end: u8;
    }
    let (begin, end) = (&raw const __executable_start as usize, &raw const _end as usize);
    address.wrapping_sub(begin) < end - begin
}

#[inline(never)]
fn perform_on_static(access: Access) -> u64 {
    loop {
        ACCESSES.fetch_add(1, Ordering::SeqCst);
        let waits = EXCLUDES.load(Ordering::SeqCst) && must_wait(access.address);
        let old = (!waits).then(|| access.perform().0);
        ACCESSES.fetch_sub(1, Ordering::SeqCst);
        match old {
            Some(old) => return old,
            None => {
                let _at_gate = gates::at_gate();
                drop(TEST.lock());
            }
        }
    }
}

/// Returns `true` if the current thread does not belong to the test, and the runs change the static at this address.
fn must_wait(address: usize) -> bool {
    // SAFETY: the two system calls have no arguments.
    let is_main = || unsafe { libc::gettid() == libc::getpid() };
    let is_bystander = thread::any().is_none() && !BELONGS.get() && !is_main();
    is_bystander && statics::is_restored(address)
}

/// Forgets the other threads and their accesses, in a process that contains only this thread.
pub(crate) fn forget_others() {
    ACCESSES.store(0, Ordering::SeqCst);
    gates::forget_others();
}

/// Notes that the current thread creates an OS thread without [`create`].
pub(crate) fn note_created() {
    let belongs = BELONGS.try_with(Cell::get).unwrap_or(false);
    let _ = uncontrolled::created(belongs);
}

/// Creates an OS thread. It belongs to the test if the current thread does.
///
/// # Safety
/// The requirements are the same as for `pthread_create`.
pub(crate) unsafe fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // A thread that ends has no thread-locals any more.
    let belongs = BELONGS.try_with(Cell::get).unwrap_or(false);
    let inherited = uncontrolled::created(belongs);
    let routine = Box::into_raw(Box::new(Routine { start, argument, belongs, inherited }));
    // SAFETY: the caller guarantees the other arguments, and the new thread owns the routine.
    let code = unsafe { real_create(thread, attributes, begin, routine.cast()) };
    if code != 0 {
        // SAFETY: there is no new thread, so this thread still owns the routine.
        drop(unsafe { Box::from_raw(routine) });
    }
    code
}

/// The routine of a thread, with its argument and the state that it inherits.
struct Routine {
    start: Start,
    argument: *mut c_void,
    /// True if the thread belongs to the test.
    belongs: bool,
    inherited: Inherited,
}

extern "C" fn begin(routine: *mut c_void) -> *mut c_void {
    // SAFETY: the creator has given this routine to the thread.
    let routine = *unsafe { Box::from_raw(routine.cast::<Routine>()) };
    let Routine { start, argument, belongs, inherited } = routine;
    BELONGS.set(belongs);
    inherited.set();
    if !inherited.is_of_engine() {
        gates::enter();
    }
    start(argument)
}
