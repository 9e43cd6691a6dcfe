//! System calls by number: `futex`, which std and parking_lot use to wait, `getrandom`, and calls on descriptors.
//!
//! Two kinds of calls fail with `ENOSYS`: the commands of `futex` for locks with priorities, and the calls that replace
//! `futex` on newer kernels. A message reports the former. The latter are missing on older kernels, too.

use std::ffi::{c_int, c_long};

use super::clock::{Readings, fail, is_valid, nanoseconds};
use super::clones;
use super::compiled::note_entered;
use super::entropy;
use super::heap;
use super::net::by_number;
use super::orders;
use super::own_number;
use super::polled;
use super::real::real;
use super::refused::refuse;
use super::request::{Access, Comparison, Operation, Request};
use super::statics;
use super::switch::frame_pointer;
use super::thread::{Thread, current, outside};
use super::threads;

/// The commands of `membarrier` that are a fence for other threads. The other commands only query or register.
const MEMBARRIERS: c_int = libc::MEMBARRIER_CMD_GLOBAL
    | libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED
    | libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;

/// The numbers of the calls that replace `futex`: `futex_wake`, `futex_wait` and `futex_requeue`.
const SYS_FUTEX_WAKE: c_long = 454;
const SYS_FUTEX_WAIT: c_long = 455;
const SYS_FUTEX_REQUEUE: c_long = 456;

type Call = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: the caller guarantees the arguments.
    if unsafe { clones::creates_thread(number, a) }
        && let Some(error) = clones::refused(frame_pointer())
    {
        return fail(error);
    }
    if let Some(thread) = current() {
        match number {
            libc::SYS_futex => {
                // SAFETY: the caller guarantees the arguments.
                return unsafe { futex(thread, frame_pointer(), [a, b, c, d, e, f]) };
            }
            // A program that does not find these calls uses `futex` instead.
            libc::SYS_futex_waitv => {
                note_entered("futex_waitv");
                return fail(libc::ENOSYS);
            }
            SYS_FUTEX_WAKE | SYS_FUTEX_WAIT | SYS_FUTEX_REQUEUE => {
                note_entered("futex_wait, futex_wake or futex_requeue");
                return fail(libc::ENOSYS);
            }
            libc::SYS_getrandom => {
                // SAFETY: the caller guarantees the buffer.
                unsafe { entropy::fill(thread, frame_pointer(), a as *mut u8, b) };
                return b as c_long;
            }
            libc::SYS_gettid => return threads::number(thread).into(),
            libc::SYS_getpid => return own_number::getpid().into(),
            // rustix calls these functions only by number.
            // SAFETY: the caller guarantees the arguments.
            libc::SYS_eventfd2 => return unsafe { by_number::eventfd(a as _, b as _) }.into(),
            libc::SYS_timerfd_create => {
                // SAFETY: the caller guarantees the arguments.
                return unsafe { by_number::timerfd_create(a as _, b as _) }.into();
            }
            libc::SYS_epoll_pwait2 => {
                // SAFETY: the caller guarantees the arguments.
                let found =
                    unsafe { by_number::epoll_pwait2(a as _, b as _, c as _, d as _, e as _) };
                return found.into();
            }
            // A program that does not find io_uring uses epoll instead.
            libc::SYS_io_uring_setup => {
                note_entered("io_uring_setup");
                return fail(libc::ENOSYS);
            }
            // Only the functions of libc are points.
            libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_getdents64
            | libc::SYS_mkdirat
            | libc::SYS_unlinkat
            | libc::SYS_renameat2
            | libc::SYS_pread64
            | libc::SYS_pwrite64
            | libc::SYS_copy_file_range
            | libc::SYS_flock => note_entered("syscall, with a call on files"),
            libc::SYS_mount | libc::SYS_umount2 => note_entered("mount"),
            libc::SYS_signalfd4 => note_entered("signalfd"),
            _ => {}
        }
    }
    // SAFETY: the caller guarantees the buffer.
    if number == libc::SYS_getrandom && unsafe { polled::fill(a as *mut u8, b) } {
        return b as c_long;
    }
    // SAFETY: the caller guarantees the arguments.
    let result = unsafe { real!(c"syscall", Call)(number, a, b, c, d, e, f) };
    if number == libc::SYS_membarrier
        && result == 0
        && a as c_int & MEMBARRIERS != 0
        && let (Some(thread), Some(orders)) = (current(), orders::orders())
    {
        outside(|| orders.fence_of_all(thread.number));
    }
    result
}

/// The commands of `futex` for locks with priorities.
const OF_PRIORITIES: [(c_int, &str); 6] = [
    (libc::FUTEX_LOCK_PI, "futex, with FUTEX_LOCK_PI"),
    (libc::FUTEX_UNLOCK_PI, "futex, with FUTEX_UNLOCK_PI"),
    (libc::FUTEX_TRYLOCK_PI, "futex, with FUTEX_TRYLOCK_PI"),
    (libc::FUTEX_WAIT_REQUEUE_PI, "futex, with FUTEX_WAIT_REQUEUE_PI"),
    (libc::FUTEX_CMP_REQUEUE_PI, "futex, with FUTEX_CMP_REQUEUE_PI"),
    (LOCK_PI2, "futex, with FUTEX_LOCK_PI2"),
];

/// `FUTEX_LOCK_PI2`.
const LOCK_PI2: c_int = 13;

/// Performs `futex` for a simulated thread.
///
/// # Safety
/// The arguments must be valid for the system call.
unsafe fn futex(thread: &mut Thread, frame: usize, arguments: [usize; 6]) -> c_long {
    let [word, operation, value, fourth, other, sixth] = arguments;
    let operation = operation as c_int;
    let command = operation & libc::FUTEX_CMD_MASK;
    if let Some(&(_, call)) = OF_PRIORITIES.iter().find(|(known, _)| *known == command) {
        let remedy = "Use a lock of std, of parking_lot or of libc";
        return fail(refuse(call, remedy, frame));
    }
    let bits = match command {
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => sixth as u32,
        _ => u32::MAX,
    };
    if !is_word(word) || bits == 0 {
        return fail(libc::EINVAL);
    }
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let time = fourth as *const libc::timespec;
            // SAFETY: the caller guarantees the arguments.
            unsafe { wait(thread, frame, operation, (word, value as u32, bits), time) }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            wake(thread, frame, operation, (word, at_least_one(value), bits))
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            let expected = (command == libc::FUTEX_CMP_REQUEUE).then_some(sixth as u32);
            // SAFETY: the caller guarantees the arguments.
            unsafe { requeue(thread, frame, arguments, (word, other), expected) }
        }
        libc::FUTEX_WAKE_OP => {
            let counts = [value, fourth].map(at_least_one);
            // SAFETY: the caller guarantees the arguments.
            unsafe { wake_op(thread, frame, operation, [word, other], counts, sixth as u32) }
        }
        _ => fail(libc::ENOSYS),
    }
}

/// Returns `true` for an address that a word can have.
fn is_word(address: usize) -> bool {
    address.is_multiple_of(size_of::<u32>())
}

/// Returns the maximum number of threads to wake. The kernel compares it after it has woken a thread.
fn at_least_one(count: usize) -> u32 {
    (count as c_int).max(1) as u32
}

/// Waits for a word, as `(address, expected value, bits)`.
///
/// # Safety
/// The arguments must be valid for the system call.
unsafe fn wait(
    thread: &mut Thread,
    frame: usize,
    operation: c_int,
    (word, expected, bits): (usize, u32, u32),
    time: *const libc::timespec,
) -> c_long {
    // SAFETY: the caller guarantees that the time is null or valid.
    let (is_valid, time) = unsafe { (time.is_null() || is_valid(time), nanoseconds(time)) };
    if !is_valid {
        return fail(libc::EINVAL);
    }
    let of_wall_clock = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let clock = if of_wall_clock { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    // Without the bitset commands, the time is a duration.
    let deadline = match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT => time.map(|time| thread.run().in_nanoseconds(time)),
        _ => time.map(|time| thread.run().at(clock, time)),
    };
    thread.readings = Readings::default();
    note_shared_wait(thread, word);
    // The carrier reads the word, so an invalid address must fail here, as for an atomic operation.
    // SAFETY: the caller guarantees that the word is valid.
    unsafe { std::ptr::read_volatile(word as *const u8) };
    let request = Request::Wait { word, expected, bits, deadline };
    let answer = thread.stop(request, (0, frame));
    if let Some(orders) = orders::orders() {
        // The kernel executes fences here, whatever the memory orders of the program are.
        outside(|| {
            thread.run().moves_from(word).into_iter().for_each(|word| {
                orders.receive(thread.number, word);
            });
        });
    }
    match answer {
        0 => 0,
        error => fail(error as c_int),
    }
}

/// Records that a thread of the run may wait for a word, if the run shares the word with OS threads.
fn note_shared_wait(thread: &mut Thread, word: usize) {
    outside(|| {
        let waits = &mut thread.run().shared_waits;
        if statics::is_shared(word) && !waits.contains(&word) {
            waits.push(word);
        }
    });
}

/// Wakes OS threads that wait for a word. Returns their number. `operation` is the operation of the program.
fn wake_system(operation: c_int, word: usize, count: u32) -> c_long {
    let wake = libc::FUTEX_WAKE | operation & libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a wake has no effect on memory.
    outside(|| unsafe {
        let (wake, count) = (wake as usize, count as usize);
        real!(c"syscall", Call)(libc::SYS_futex, word, wake, count, 0, 0, 0)
    })
}

/// Wakes waiters of a word, as `(address, maximum number, bits)`.
fn wake(
    thread: &mut Thread,
    frame: usize,
    operation: c_int,
    (word, count, bits): (usize, u32, u32),
) -> c_long {
    // An OS thread may wait here for a lock that the run shares with it, for example the lock that std takes when a
    // thread begins. The run must not depend on that thread, so this wake is not a request. It precedes the request,
    // because the run may end with a request.
    let is_shared = outside(|| statics::is_shared(word));
    if is_shared {
        let woken = wake_system(operation, word, count);
        if !thread.run().shared_waits.contains(&word) {
            return woken;
        }
    }
    publish(thread, word);
    let woken = thread.stop(Request::Wake { word, count, bits }, (0, frame)) as c_long;
    if woken == 0 && !is_shared && !heap::has(word) {
        wake_system(operation, word, count);
    }
    woken
}

/// Makes all effects of a thread so far visible to the threads that it wakes from waits for a word.
fn publish(thread: &mut Thread, word: usize) {
    if let Some(orders) = orders::orders() {
        outside(|| orders.publish(thread.number, word));
    }
}

/// Wakes waiters of a word, and makes others wait for another word. Like the kernel, returns the number of both, also
/// for `FUTEX_REQUEUE`.
///
/// # Safety
/// The arguments must be valid for the system call.
unsafe fn requeue(
    thread: &mut Thread,
    frame: usize,
    arguments: [usize; 6],
    (word, to): (usize, usize),
    expected: Option<u32>,
) -> c_long {
    let [_, operation, wakes, moves, _, last] = arguments;
    let [wakes, moves] = [wakes, moves].map(|count| u32::try_from(count as c_int));
    let (Ok(wakes), Ok(moves), true) = (wakes, moves, is_word(to)) else {
        return fail(libc::EINVAL);
    };
    if expected.is_some() {
        // SAFETY: as in `wait`.
        unsafe { std::ptr::read_volatile(word as *const u8) };
    }
    note_shared_wait(thread, to);
    publish(thread, word);
    outside(|| thread.run().note_move(word, to));
    let request = Request::Requeue { word, to, wakes, moves, expected };
    let answer = thread.stop(request, (0, frame));
    if answer == u64::MAX {
        return fail(libc::EAGAIN);
    }
    if answer == 0 && !heap::has(word) {
        // OS threads may wait here.
        // SAFETY: the call has no effect on memory.
        outside(|| unsafe {
            let [.., wakes, moves, _, _] = arguments;
            real!(c"syscall", Call)(libc::SYS_futex, word, operation, wakes, moves, to, last)
        });
    }
    answer as c_long
}

/// Changes the second word, and wakes waiters of the first word. If the previous value passes the test in `encoded`,
/// also wakes waiters of the second word.
///
/// # Safety
/// The arguments must be valid for the system call.
unsafe fn wake_op(
    thread: &mut Thread,
    frame: usize,
    operation: c_int,
    [word, other]: [usize; 2],
    [count, others]: [u32; 2],
    encoded: u32,
) -> c_long {
    if !is_word(other) {
        return fail(libc::EINVAL);
    }
    let Some((access, comparison, operand)) = decoded(other, encoded) else {
        return fail(libc::ENOSYS);
    };
    // The carrier changes the word.
    // SAFETY: as in `wait`.
    unsafe { std::ptr::read_volatile(other as *const u8) };
    publish(thread, word);
    publish(thread, other);
    // All variables of the caller are above this frame.
    thread.called_from = frame;
    let request = Request::WakeOp { word, count, access, others, comparison, operand };
    let woken = thread.stop(request, (0, frame)) as c_long;
    if woken == 0 {
        for (word, count) in [(word, count), (other, others)] {
            if !heap::has(word) {
                wake_system(operation, word, count);
            }
        }
    }
    woken
}

/// Returns the change of a word and the test of its previous value that the last argument of `FUTEX_WAKE_OP` encodes.
/// `None` for a code that the kernel does not know.
fn decoded(address: usize, encoded: u32) -> Option<(Access, Comparison, i32)> {
    /// The argument is the number of a bit.
    const SHIFT: u32 = 1 << 31;
    // The lowest 12 bits are a number with a sign.
    let signed = |bits: u32| (bits << 20) as i32 >> 20;
    let (argument, operand) = (signed(encoded >> 12) as u32, signed(encoded));
    let argument = if encoded & SHIFT != 0 { 1 << (argument & 31) } else { argument };
    let (operation, argument) = match (encoded >> 28 & 7) as c_int {
        libc::FUTEX_OP_SET => (Operation::Swap, argument),
        libc::FUTEX_OP_ADD => (Operation::Add, argument),
        libc::FUTEX_OP_OR => (Operation::Or, argument),
        libc::FUTEX_OP_ANDN => (Operation::And, !argument),
        libc::FUTEX_OP_XOR => (Operation::Xor, argument),
        _ => return None,
    };
    let comparison = match (encoded >> 24 & 15) as c_int {
        libc::FUTEX_OP_CMP_EQ => Comparison::Equal,
        libc::FUTEX_OP_CMP_NE => Comparison::NotEqual,
        libc::FUTEX_OP_CMP_LT => Comparison::Less,
        libc::FUTEX_OP_CMP_LE => Comparison::LessOrEqual,
        libc::FUTEX_OP_CMP_GT => Comparison::Greater,
        libc::FUTEX_OP_CMP_GE => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let access = Access {
        operation,
        size: 4,
        order: orders::SEQ_CST,
        failure: orders::SEQ_CST,
        address,
        operand: u64::from(argument),
        replacement: 0,
    };
    Some((access, comparison, operand))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last argument of `FUTEX_WAKE_OP` for these four parts.
    fn code(operation: c_int, argument: c_int, comparison: c_int, operand: c_int) -> u32 {
        let (argument, operand) = (argument & 0xfff, operand & 0xfff);
        (operation << 28 | comparison << 24 | argument << 12 | operand) as u32
    }

    #[test]
    fn the_parts_of_a_wake_with_a_change_are_decoded() {
        let parts = |code| {
            let (access, comparison, operand) = decoded(8, code)?;
            Some((access.operation, access.operand as u32, comparison, operand))
        };
        let add = code(libc::FUTEX_OP_ADD, -1, libc::FUTEX_OP_CMP_GT, 2047);
        assert_eq!(parts(add), Some((Operation::Add, u32::MAX, Comparison::Greater, 2047)));
        let clear = code(libc::FUTEX_OP_ANDN, 6, libc::FUTEX_OP_CMP_EQ, -2048);
        assert_eq!(parts(clear), Some((Operation::And, !6, Comparison::Equal, -2048)));
        let shifted = code(libc::FUTEX_OP_OR | 8, 31, libc::FUTEX_OP_CMP_LE, 0);
        assert_eq!(parts(shifted), Some((Operation::Or, 1 << 31, Comparison::LessOrEqual, 0)));
        assert_eq!((parts(code(5, 0, 0, 0)), parts(code(0, 0, 6, 0))), (None, None));
        assert!(Comparison::Less.holds(-1, 0) && !Comparison::GreaterOrEqual.holds(-1, 0));
    }
}
