//! Keys of libc for the values of threads: `pthread_key_create` and related functions.
//!
//! libc stores the values in the thread-local block of a worker, where the next thread of the worker would find them.
//! So the values of a simulated thread are stored in its [`Thread`].
//!
//! A key that Rust code of the program creates in a run ends with the run, like the static that contains it. libc does
//! not know its number. All other keys are libc's: the keys from outside of runs, the keys of std, and the keys of C
//! code, whose statics keep their values.
//!
//! The destructors run at the end of a thread, except the destructor of std, which drops the thread's handle. The
//! functions of C11 (`tss_set`) are linked with the replacements of std's functions, and call the functions below.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use libc::pthread_key_t;

use super::image;
use super::local::Run;
use super::places::{self, Frame};
use super::real::real;
use super::switch::frame_pointer;
use super::thread::{Thread, current, on_carrier, outside};

/// The destructor of the values of a key.
pub(crate) type OfKey = unsafe extern "C" fn(*mut c_void);

/// A key that ends with the run.
pub(crate) struct Key {
    destructor: Option<OfKey>,
    /// True until the key is deleted.
    is_live: bool,
}

/// The maximum number of keys, as in libc (`PTHREAD_KEYS_MAX`).
const KEYS: usize = 1024;

/// The number of the first key that ends with the run.
const FIRST: pthread_key_t = 1 << 16;

/// The number of times that destructors may set values again, as in libc (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: u32 = 4;

/// The destructors of libc's keys, by number; 0 for a key without a destructor.
static DESTRUCTORS: [AtomicUsize; KEYS] = [const { AtomicUsize::new(0) }; KEYS];

/// Returns the key with a number, if it ends with the run.
fn of_run(run: &mut Run, key: pthread_key_t) -> Option<&mut Key> {
    run.keys.get_mut(key.wrapping_sub(FIRST) as usize)
}

/// The folder of the functions of C11, in debug information.
const REPLACEMENTS: &str = "/rustc/unpause/replaced/";

/// Returns `true` if a Rust function outside of std has called a function with this frame pointer, directly or through
/// a function of C11.
fn is_called_by_rust(thread: &Thread, frame: usize) -> bool {
    let mut callers = thread.frames_from(frame);
    let callers = [callers.next(), callers.next()];
    on_carrier(move || {
        let is_of_c11 = |frame: &Frame| frame.file.starts_with(REPLACEMENTS);
        let mut callers = callers
            .into_iter()
            .flatten()
            .map(places::frames)
            .skip_while(|frames| frames.first().is_some_and(is_of_c11));
        let inner = callers.next().and_then(|frames| frames.into_iter().next());
        inner.is_some_and(|inner| inner.file.ends_with(".rs") && !inner.is_of_std())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Option<OfKey>,
) -> c_int {
    if let Some(thread) = current()
        && is_called_by_rust(thread, frame_pointer())
    {
        let keys = &mut thread.run().keys;
        if keys.iter().filter(|key| key.is_live).count() == KEYS {
            return libc::EAGAIN;
        }
        let number = FIRST + keys.len() as pthread_key_t;
        outside(|| keys.push(Key { destructor, is_live: true }));
        // SAFETY: the caller provides room for the number.
        unsafe { *key = number };
        return 0;
    }
    type Create = unsafe extern "C" fn(*mut pthread_key_t, Option<OfKey>) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    let (error, number) = unsafe {
        let error = real!(c"pthread_key_create", Create)(key, destructor);
        (error, if error == 0 { *key as usize } else { KEYS })
    };
    if let Some(known) = DESTRUCTORS.get(number) {
        known.store(destructor.map_or(0, |destructor| destructor as usize), Ordering::Relaxed);
    }
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    if let Some(thread) = current() {
        for other in &thread.run_of().threads {
            // SAFETY: only this thread runs, and no other reference to the values exists.
            let specific = unsafe { &mut (*other.as_ptr()).specific };
            specific.retain(|(known, _)| *known != key);
        }
        if let Some(key) = of_run(thread.run(), key) {
            return if std::mem::replace(&mut key.is_live, false) { 0 } else { libc::EINVAL };
        }
    }
    type Delete = unsafe extern "C" fn(pthread_key_t) -> c_int;
    // SAFETY: the argument is a number.
    let error = unsafe { real!(c"pthread_key_delete", Delete)(key) };
    if let (0, Some(known)) = (error, DESTRUCTORS.get(key as usize)) {
        known.store(0, Ordering::Relaxed);
    }
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    if let Some(thread) = current() {
        let found = thread.specific.iter().find(|(known, _)| *known == key);
        return found.map_or(null_mut(), |(_, value)| *value);
    }
    type Get = unsafe extern "C" fn(pthread_key_t) -> *mut c_void;
    // SAFETY: the argument is a number.
    unsafe { real!(c"pthread_getspecific", Get)(key) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    if let Some(thread) = current() {
        let is_key = match of_run(thread.run(), key) {
            Some(key) => key.is_live,
            None => (key as usize) < KEYS,
        };
        if !is_key {
            return libc::EINVAL;
        }
        let value = value.cast_mut();
        match thread.specific.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => outside(|| thread.specific.push((key, value))),
        }
        return 0;
    }
    type Set = unsafe extern "C" fn(pthread_key_t, *const c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_setspecific", Set)(key, value) }
}

/// The progress of an ending thread through the destructors of its values.
#[derive(Default)]
pub(crate) struct Ending {
    round: u32,
    /// The lowest key that was not reached in this round.
    next: pthread_key_t,
    /// True if a destructor was called in this round.
    has_called: bool,
}

impl Thread {
    /// Removes the next value that has a destructor, in the order of their keys. Returns the destructor and the value.
    /// Destructors may set values, so there are several rounds, as in libc.
    pub(crate) fn next_destructor(&mut self, ending: &mut Ending) -> Option<(OfKey, *mut c_void)> {
        while ending.round < ROUNDS {
            let values = self.specific.iter_mut();
            let left = values.filter(|(key, value)| *key >= ending.next && !value.is_null());
            match left.min_by_key(|(key, _)| *key) {
                Some((key, value)) => {
                    let (key, value) = (*key, std::mem::replace(value, null_mut()));
                    ending.next = key + 1;
                    if let Some(destructor) = destructor_of(self.run(), key) {
                        ending.has_called = true;
                        return Some((destructor, value));
                    }
                }
                None if ending.has_called => {
                    *ending = Ending { round: ending.round + 1, ..Ending::default() };
                }
                None => return None,
            }
        }
        None
    }
}

/// Returns the destructor of a key, if it runs at the end of a simulated thread.
fn destructor_of(run: &mut Run, key: pthread_key_t) -> Option<OfKey> {
    if let Some(key) = of_run(run, key) {
        return key.destructor.filter(|_| key.is_live);
    }
    let address = DESTRUCTORS.get(key as usize)?.load(Ordering::Relaxed);
    if address == 0 || is_of_std(address) {
        return None;
    }
    // SAFETY: this is the function that was passed to `pthread_key_create`.
    Some(unsafe { std::mem::transmute::<usize, OfKey>(address) })
}

/// Returns `true` for a function of std. Called by a simulated thread.
fn is_of_std(function: usize) -> bool {
    /// The functions that were looked up.
    static KNOWN: Mutex<Vec<(usize, bool)>> = Mutex::new(Vec::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let find = || known().iter().find(|(known, _)| *known == function).map(|(_, is)| *is);
    outside(find).unwrap_or_else(|| {
        on_carrier(move || {
            let is_of_program = function.wrapping_sub(image::load_address()) < image::size();
            // The function takes return addresses. Without debug information, the function may be std's.
            let frames = places::frames(function + 1);
            let is_of_std = is_of_program && frames.first().is_none_or(Frame::is_of_std);
            known().push((function, is_of_std));
            is_of_std
        })
    })
}
