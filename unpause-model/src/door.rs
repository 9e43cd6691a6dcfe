//! The door to the engine, which `cargo unpause test --any` links into the program.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The functions of the engine; null if the program has none. The engine's shim has the same layouts.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name of a symbol")]
pub(crate) static unpause_model_door: AtomicPtr<Door> = AtomicPtr::new(null_mut());

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Door {
    model: extern "C" fn(*const Asked),
    fail: unsafe extern "C" fn(),
}

/// A text in the memory of its sender.
#[repr(C)]
#[derive(Debug)]
struct Text {
    at: *const u8,
    length: usize,
}

/// A model, as the engine is asked for it.
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

/// A run of the model.
type Once<'a> = &'a dyn Fn() -> Result<(), Option<String>>;

/// The door, if the program has the engine.
pub(crate) fn open() -> Option<&'static Door> {
    // SAFETY: null or a static of the engine's shim.
    unsafe { unpause_model_door.load(Ordering::Relaxed).as_ref() }
}

/// Returns `true` if the threads of models are stepped by the engine.
pub fn is_stepped() -> bool {
    open().is_some()
}

/// Fails the run by the last panic of the current thread, if the engine steps it. Otherwise nothing happens.
pub fn fail() {
    if let Some(door) = open() {
        // SAFETY: a function of the engine, which any thread of a run may call.
        unsafe { (door.fail)() }
    }
}

impl Door {
    /// Has the engine make the runs. Returns their number, or the message of the failure, if a run fails.
    pub(crate) fn check(
        &self,
        plan: &str,
        has_captured: bool,
        once: Once<'_>,
    ) -> Result<u64, String> {
        let mut ended = Ok(0);
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
    // SAFETY: the data of `check`, which waits; the engine has room for the text.
    let (once, error) = unsafe { (&*data.cast::<Once<'_>>(), &mut *error) };
    match once() {
        Ok(()) => 0,
        Err(None) => 2,
        Err(Some(message)) => {
            // Its memory ends with the run.
            let message = message.leak();
            *error = Text { at: message.as_ptr(), length: message.len() };
            1
        }
    }
}

/// Takes the end of the model.
extern "C" fn end(receiver: *mut c_void, kind: u32, text: Text, runs: u64) {
    // SAFETY: the receiver of `check`, which waits; the text lives during the call and is UTF-8.
    let (ended, text) = unsafe {
        let bytes = std::slice::from_raw_parts(text.at, text.length);
        (&mut *receiver.cast::<Result<u64, String>>(), String::from_utf8_lossy(bytes).into_owned())
    };
    *ended = if kind == 0 { Ok(runs) } else { Err(text) };
}
