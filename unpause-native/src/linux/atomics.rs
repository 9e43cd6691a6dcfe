//! The functions that instrumented code calls for atomic operations.
//!
//! Each function begins with a few instructions that add two arguments: the address of the return address, and the
//! frame pointer of the caller. See `arch/`.

use super::arch::{entry, entry_of_strong};
use super::bystanders;
use super::captured;
use super::orders;
use super::passing;
use super::request::{Access, Operation, Request};
use super::thread::{current, outside};

/// Performs an operation. Outside of runs, the thread performs it at once. In a run, the carrier performs it, or the
/// thread performs it in passing (`passing.rs`). Returns the old value.
#[inline(always)]
fn operate(access: Access, caller: (usize, usize)) -> u64 {
    match current() {
        None => bystanders::perform(access),
        Some(thread) => {
            if access.size != 0 {
                // The carrier accesses the memory. An invalid address must fail here, on the thread that uses it.
                // SAFETY: instrumented code is about to access these bytes.
                unsafe { std::ptr::read_volatile(access.address as *const u8) };
            }
            orders::fence_as_noted(thread.number);
            thread.called_from = caller.0;
            thread.returns = 0;
            if access.size != 0 && captured::has(thread, access.address) {
                return access.perform().0;
            }
            // SAFETY: this is the address of the return address on the stack of this thread.
            let from = unsafe { *(caller.0 as *const usize) };
            let caller = (from, caller.1);
            match passing::perform(thread, &access, caller) {
                Some(old) => old,
                None => thread.stop(Request::Access(access), caller),
            }
        }
    }
}

/// The result of a compare-exchange, in two registers.
#[repr(C)]
struct Exchanged {
    old: u64,
    /// The return address: see `weak.rs`.
    returns: usize,
}

/// Defines the read-modify-write operations of one size. Values are passed in whole registers, because the compiler
/// leaves arbitrary bits above the value.
macro_rules! changes {
    ($int:ty, $size:literal; $($name:ident $to:ident $operation:ident)*) => {$(
        extern "C" fn $to(address: usize, operand: usize, order: i32, from: usize, frame: usize) -> $int {
            let access = Access {
                operation: Operation::$operation,
                size: $size,
                order: order as u8,
                address,
                failure: 0,
                operand: u64::from(operand as $int),
                replacement: 0,
            };
            operate(access, (from, frame)) as $int
        }
        entry!($name, 3, $to);
    )*};
}

/// Defines all operations of one size.
macro_rules! size {
    ($module:ident, $int:ty, $size:literal, $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident
     $or:ident $xor:ident $nand:ident $strong:ident) => {
        mod $module {
            use super::*;

            extern "C" fn load(address: usize, order: i32, from: usize, frame: usize) -> $int {
                let (operation, order) = (Operation::Load, order as u8);
                let (size, failure, operand, replacement) = ($size, 0, 0, 0);
                let access =
                    Access { operation, size, order, failure, address, operand, replacement };
                operate(access, (from, frame)) as $int
            }
            entry!($load, 2, load);

            changes! { $int, $size;
                $store store Store
                $exchange exchange Swap
                $add add Add
                $sub sub Sub
                $and and And
                $or or Or
                $xor xor Xor
                $nand nand Nand
            }

            // The memory order of a failure, the last argument, is in the second byte of `order`: see
            // `entry_of_strong`.
            extern "C" fn strong(
                address: usize,
                expected: usize,
                new: usize,
                order: i32,
                from: usize,
                frame: usize,
            ) -> Exchanged {
                let access = Access {
                    operation: Operation::CompareExchange,
                    size: $size,
                    order: order as u8,
                    failure: (order >> 8) as u8,
                    address,
                    operand: u64::from(expected as $int),
                    replacement: u64::from(new as $int),
                };
                let old = operate(access, (from, frame));
                let returns = current().map_or(0, |thread| thread.returns);
                Exchanged { old, returns }
            }
            entry_of_strong!($strong, strong);
        }
    };
}

size!(of_8, u8, 1, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
    __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_val);
size!(of_16, u16, 2, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
    __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
    __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_val);
size!(of_32, u32, 4, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
    __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
    __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_val);
size!(of_64, u64, 8, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
    __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
    __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_val);

extern "C" fn fence(order: i32, from: usize, frame: usize) {
    let (operation, order) = (Operation::Fence, order as u8);
    let (size, failure, address, operand, replacement) = (0, 0, 0, 0, 0);
    let access = Access { operation, size, order, failure, address, operand, replacement };
    operate(access, (from, frame));
}
entry!(__tsan_atomic_thread_fence, 1, fence);

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(order: i32) {
    if order as u8 == orders::SEQ_CST
        && let (Some(thread), Some(orders)) = (current(), orders::orders())
    {
        outside(|| orders.signal_fence(thread.number));
    }
}

// The constructor of each instrumented object calls this function.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_caller: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}
