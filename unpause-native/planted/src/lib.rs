//! Unsafe code with planted bugs: programs that crash under some interleavings. Beside each, a function without the
//! bug.

pub mod c11;
pub mod c_locks;
pub mod futexes;
pub mod orders;
mod plain;
pub mod process;
pub mod statics;
pub mod threads;
pub mod unseen;

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

pub use plain::{Lent, Plain};

/// A value that threads publish and withdraw through a pointer.
pub struct Published {
    value: AtomicPtr<u64>,
}

impl Published {
    /// A published value.
    pub fn new(value: u64) -> Published {
        Published { value: AtomicPtr::new(Box::into_raw(Box::new(value))) }
    }

    /// Withdraws the value, whose memory is leaked.
    pub fn withdraw(&self) {
        self.value.store(null_mut(), SeqCst);
    }

    /// Reads the value if it is published. The bug: it may be withdrawn between the two loads.
    pub fn read(&self) -> Option<u64> {
        match self.value.load(SeqCst).is_null() {
            true => None,
            // SAFETY: there is none.
            false => Some(unsafe { self.value.load(SeqCst).read_volatile() }),
        }
    }

    /// The same without the bug.
    pub fn read_once(&self) -> Option<u64> {
        let value = self.value.load(SeqCst);
        // SAFETY: the value is never freed.
        (!value.is_null()).then(|| unsafe { value.read_volatile() })
    }
}

/// Loads an atomic at an invalid address.
pub fn load_atomic_at(address: usize) -> u64 {
    // SAFETY: there is none.
    unsafe { (*(address as *const std::sync::atomic::AtomicU64)).load(SeqCst) }
}

/// Writes to a constant.
pub fn write_to_constant() {
    static CONSTANT: [u64; 4] = [1; 4];
    // SAFETY: there is none.
    unsafe { CONSTANT.as_ptr().cast_mut().write_volatile(2) };
}

/// Executes an instruction that does not exist.
pub fn illegal_instruction() {
    // SAFETY: there is none.
    unsafe { std::arch::asm!("ud2") };
}

/// Waits for ever for a signal.
pub fn wait_for_a_signal() {
    unsafe extern "C" {
        fn pause() -> i32;
    }
    loop {
        // SAFETY: it has no arguments.
        unsafe { pause() };
    }
}
