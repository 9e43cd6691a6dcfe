//! The program of a run, and start routines without a new thread.

use std::ffi::c_void;

use super::{Start, Thread, current};
use crate::linux::arch;

/// A routine that a thread runs itself, so that no new thread is created. The thread then gets the name of the new
/// thread.
#[derive(Clone, Copy)]
pub(crate) enum Own {
    None,
    /// The next routine for which a thread is created.
    Next,
    /// This routine, which runs when the thread that was created for it is joined.
    Routine(Start, *mut c_void),
}

impl Thread {
    /// Runs the start routine of the thread to completion, if the thread has one. Returns `false` if it has none.
    pub(crate) fn run_own(&mut self) -> bool {
        // The reference is not live while the routine runs.
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

/// The limits of a program on the stack of a thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct Program {
    /// The end of the stack of the program. The functions above it belong to this crate or to the engine.
    pub(crate) end: usize,
    /// The address of the program's own data, which may be in registers of the functions below the end.
    pub(crate) data: usize,
}

/// Calls the program of a run. The states of the thread (see `reached.rs`) include only the stack below this function.
/// The values above it belong to the engine, and differ between runs of equal decisions.
pub fn as_program<R>(program: Box<dyn FnOnce() -> R>) -> R {
    /// # Safety
    /// `slot` must be the address of the slot below.
    unsafe extern "C-unwind" fn begin<R>(slot: *mut c_void) {
        // SAFETY: the caller guarantees the address, and uses the slot only after this function.
        let (program, result) = unsafe { &mut *slot.cast::<Slot<R>>() };
        let mut program = program.take().expect("a program begins once");
        let mark = std::hint::black_box(0_u64);
        if let Some(thread) = current() {
            let data = (&raw mut *program).cast::<c_void>() as usize;
            thread.program = Program { end: (&raw const mark) as usize, data };
        }
        *result = Some(program());
    }
    let mut slot: Slot<R> = (Some(program), None);
    // SAFETY: the argument is the address of the slot, as `begin` requires.
    unsafe { arch::call_with_zeros(begin::<R>, (&raw mut slot).cast()) };
    slot.1.expect("the program has returned")
}

/// A program before its call, and its result.
type Slot<R> = (Option<Box<dyn FnOnce() -> R>>, Option<R>);
