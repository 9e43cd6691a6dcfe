//! libc functions that create threads and wait for them.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};

use super::bystanders;
use super::compiled::note_entered;
use super::local::Run;
use super::masks;
use super::orders;
use super::polled;
use super::real::real;
use super::refused::refuse;
use super::request::Request;
use super::switch::frame_pointer;
use super::thread::{Own, STACK, Start, Thread, current, outside};

type Handler = Option<extern "C" fn()>;
type RegisterAtFork = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;

/// The function behind `pthread_atfork`. Handlers of a run are not registered: a run does not fork its process, and
/// libc would store its list of handlers in the memory of the run.
#[unsafe(no_mangle)]
unsafe extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    object: *mut c_void,
) -> c_int {
    if current().is_some() {
        return 0;
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"__register_atfork", RegisterAtFork)(prepare, parent, child, object) }
}

type Create = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Start,
    *mut c_void,
) -> c_int;

/// Calls libc's `pthread_create`.
///
/// # Safety
/// The requirements are the same as for `pthread_create`.
pub(crate) unsafe fn real_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_create", Create)(thread, attributes, start, argument) }
}

/// The number of a thread whose creator runs its routine itself. libc gives no thread this number.
const OWN: libc::pthread_t = libc::pthread_t::MAX;

/// Makes the calling thread run the routine of the next thread that it creates. The routine runs when the thread joins
/// the new thread. Does nothing on threads that are not simulated.
pub fn own_next_thread() {
    if let Some(thread) = current() {
        thread.own = Own::Next;
    }
}

/// The same function for the program of `--any`.
#[unsafe(no_mangle)]
extern "C" fn unpause_any_own_thread() {
    own_next_thread();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(parent) = current() else {
        // SAFETY: the caller guarantees the arguments.
        return unsafe { bystanders::create(thread, attributes, start, argument) };
    };
    if matches!(parent.own, Own::Next) {
        parent.own = Own::Routine(start, argument);
        // SAFETY: the caller provides room for the number.
        unsafe { *thread = OWN };
        return 0;
    }
    let mut stack = STACK;
    if !attributes.is_null() {
        // SAFETY: the caller guarantees the attributes.
        unsafe { libc::pthread_attr_getstacksize(attributes, &mut stack) };
    }
    // The caller gets the error that libc would return. std's `Builder::spawn` then returns `Err`.
    let child = match outside(|| Run::spawn(parent, stack, (start, argument))) {
        Ok(child) => child,
        Err(error) => return error,
    };
    // SAFETY: a worker is never freed, and the caller provides room for its number.
    let number = unsafe {
        *thread = (*child.as_ptr()).pthread;
        (*child.as_ptr()).number
    };
    if let Some(orders) = orders::orders() {
        outside(|| orders.spawned(parent.number, number));
    }
    masks::inherit(number);
    parent.stop(Request::Spawn { thread: number }, (0, frame_pointer()));
    0
}

impl Run {
    /// Returns the thread of the run that the system identifies by `pthread`.
    pub(crate) fn find(&mut self, pthread: libc::pthread_t) -> Option<NonNull<Thread>> {
        // SAFETY: workers are never freed.
        let is_it = |thread: &NonNull<Thread>| unsafe { thread.as_ref().pthread == pthread };
        // Threads are usually joined in the order in which they were created.
        let next = self.threads.get(self.found + 1).copied().filter(is_it);
        if next.is_some() {
            self.found += 1;
            return next;
        }
        self.found = self.threads.iter().rposition(is_it)?;
        Some(self.threads[self.found])
    }
}

/// Returns the current simulated thread, and a thread of its run.
fn with_child(thread: libc::pthread_t) -> Option<(&'static mut Thread, NonNull<Thread>)> {
    let parent = current()?;
    let child = parent.run().find(thread)?;
    Some((parent, child))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    if thread == OWN
        && let Some(thread) = current()
        && thread.run_own()
    {
        return 0;
    }
    if let Some((parent, child)) = with_child(thread) {
        // SAFETY: a worker is never freed.
        let number = unsafe { (*child.as_ptr()).number };
        parent.stop(Request::Join { thread: number }, (0, frame_pointer()));
        if let Some(orders) = orders::orders() {
            outside(|| orders.joined(parent.number, number));
        }
        if !result.is_null() {
            // SAFETY: the caller provides room for the result.
            unsafe { *result = (*child.as_ptr()).result };
        }
        outside(|| parent.run().note_joined(number));
        return 0;
    }
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_join", Join)(thread, result) }
}

/// Joins a thread if it has ended. The call is not an operation, so a search that executes the call is not a proof.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_tryjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
) -> c_int {
    if let Some((parent, child)) = with_child(thread) {
        note_entered("pthread_tryjoin_np");
        parent.stop(Request::Yield, (0, frame_pointer()));
        // SAFETY: a worker is never freed, and the caller guarantees the arguments.
        return unsafe {
            if (*child.as_ptr()).ended { pthread_join(thread, result) } else { libc::EBUSY }
        };
    }
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_tryjoin_np", Join)(thread, result) }
}

/// Refuses to wait for a simulated thread with a time limit: libc would wait for the OS thread of the worker.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_timedjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    limit: *const libc::timespec,
) -> c_int {
    if with_child(thread).is_some() {
        return refuse("pthread_timedjoin_np", "Use `pthread_join`", frame_pointer());
    }
    type Join =
        unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void, *const libc::timespec) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_timedjoin_np", Join)(thread, result, limit) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: libc::pthread_t) -> c_int {
    if let Some((parent, child)) = with_child(thread) {
        let child = child.as_ptr();
        // SAFETY: a worker is never freed. It may be the worker of the caller.
        let (number, has_ended) = unsafe {
            (*child).detached = true;
            ((*child).number, (*child).ended)
        };
        if has_ended {
            outside(|| parent.run().note_done(number));
        }
        return 0;
    }
    type Detach = unsafe extern "C" fn(libc::pthread_t) -> c_int;
    // SAFETY: the caller guarantees the argument.
    unsafe { real!(c"pthread_detach", Detach)(thread) }
}

/// Refuses to cancel a simulated thread: libc would end the OS thread that carries the run.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    if with_child(thread).is_some() {
        let remedy = "Let the thread check a flag";
        return refuse("pthread_cancel", remedy, frame_pointer());
    }
    type Cancel = unsafe extern "C" fn(libc::pthread_t) -> c_int;
    // SAFETY: the caller guarantees the argument.
    unsafe { real!(c"pthread_cancel", Cancel)(thread) }
}

/// Returns the kernel's number of a simulated thread, as the program sees it. The kernel gives no thread such a large
/// number, so a signal to it fails.
pub(crate) fn number(thread: &Thread) -> libc::pid_t {
    const FIRST: libc::pid_t = 1 << 22;
    FIRST + thread.number as libc::pid_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> libc::pid_t {
    if let Some(thread) = current() {
        return number(thread);
    }
    // SAFETY: the function has no arguments.
    unsafe { real!(c"gettid", unsafe extern "C" fn() -> libc::pid_t)() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if let Some(thread) = current() {
        thread.stop(Request::Yield, (0, frame_pointer()));
    }
    // Outside of a run, the system decides if another OS thread runs first.
    0
}

/// The number that stands for all other threads in [`Request::Join`].
pub const OTHERS: usize = usize::MAX;

/// Waits until all other threads of the run have ended. Must be called by the first thread. No effect on OS threads.
pub fn await_others() {
    if let Some(thread) = current() {
        thread.stop(Request::Join { thread: OTHERS }, (0, frame_pointer()));
    }
}

/// Drops the thread-locals of the current simulated thread now, in the order of its end. No effect on OS threads.
///
/// The thread must not use thread-locals with destructors afterwards.
pub fn end_locals() {
    // A destructor may register others. No reference to the thread is live while it runs.
    while let Some((destructor, argument)) = current().and_then(|thread| thread.destructors.pop()) {
        // SAFETY: the thread has registered the destructor with this argument, and it runs once.
        unsafe { destructor(argument) };
    }
}

/// Registers a destructor. The destructors for thread-locals of a simulated thread run at its end, in reverse order.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: unsafe extern "C" fn(*mut u8),
    argument: *mut u8,
    object: *mut u8,
) -> c_int {
    if let Some(thread) = current() {
        outside(|| thread.destructors.push((destructor, argument)));
        return 0;
    }
    if polled::keeps_destructor((destructor, argument)) {
        return 0;
    }
    type AtExit = unsafe extern "C" fn(unsafe extern "C" fn(*mut u8), *mut u8, *mut u8) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"__cxa_thread_atexit_impl", AtExit)(destructor, argument, object) }
}

/// std queries the signal stack at the start of each thread, and maps a stack if there is none. A simulated thread
/// claims to have a signal stack, because handlers run on the signal stack of the interrupted OS thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if current().is_some() {
        if !old.is_null() {
            let claimed = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
            // SAFETY: the caller provides room for it.
            unsafe { *old = claimed };
        }
        return 0;
    }
    type SignalStack = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sigaltstack", SignalStack)(new, old) }
}

/// std queries the guard page at the start of each thread, in order to report stack overflows.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(
    thread: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    if current().is_some() {
        return libc::EINVAL;
    }
    type Attributes = unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_getattr_np", Attributes)(thread, attributes) }
}
