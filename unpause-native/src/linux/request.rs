//! The reason why a simulated thread has stopped.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use super::death::Death;
use super::net::Transfer;

/// The reason why a thread has stopped: its next action, if the carrier resumes it.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// An operation on memory. The carrier performs it with [`Execution::perform`](crate::Execution::perform), and
    /// resumes the thread with the value that was read.
    Access(Access),
    /// If the word still has the value `expected`, waits until a [`Wake`](Request::Wake) of the word. The thread is
    /// resumed with 0, or with an error number: `EAGAIN` if the value differs, or `ETIMEDOUT`.
    Wait {
        /// The address of the word, which has 32 bits.
        word: usize,
        /// The value that the thread has seen.
        expected: u32,
        /// The bits of the wait. A wake ends the wait only if it has one of these bits.
        bits: u32,
        /// The virtual time, in nanoseconds, at which the wait times out, if any.
        deadline: Option<u64>,
    },
    /// Ends up to `count` waits for a word, in the order of their begins. The thread is resumed with the number of
    /// waits that it has ended.
    Wake {
        /// The address of the word.
        word: usize,
        /// The maximum number of waits to end.
        count: u32,
        /// The bits of the wake. It ends only waits with one of these bits.
        bits: u32,
    },
    /// Ends up to `wakes` waits for a word. Further waits, up to `moves` of them, become waits for another word. The
    /// thread is resumed with the number of these waits, or with -1 if the word does not have the expected value.
    Requeue {
        /// The address of the word.
        word: usize,
        /// The address of the other word.
        to: usize,
        /// The maximum number of waits to end.
        wakes: u32,
        /// The maximum number of waits to move.
        moves: u32,
        /// The value that the word must have, if any.
        expected: Option<u32>,
    },
    /// Changes another word, and ends up to `count` waits for a word. If the previous value of the other word passes a
    /// test, also ends up to `others` waits for the other word. The carrier changes the word with
    /// [`Execution::perform`](crate::Execution::perform). The thread is resumed with the number of ended waits.
    WakeOp {
        /// The address of the word.
        word: usize,
        /// The maximum number of waits for the word to end.
        count: u32,
        /// The change of the other word.
        access: Access,
        /// The maximum number of waits for the other word to end.
        others: u32,
        /// The comparison of the previous value with `operand`.
        comparison: Comparison,
        /// The value with which the previous value is compared.
        operand: i32,
    },
    /// The thread has spawned another thread.
    Spawn {
        /// The number of the new thread.
        thread: usize,
    },
    /// Waits for the end of a thread.
    Join {
        /// The number of the thread.
        thread: usize,
    },
    /// Lets other threads run first.
    Yield,
    /// Stops, and does nothing when it is resumed: [`point`](crate::point).
    Point,
    /// Waits until a virtual time, in nanoseconds.
    Sleep {
        /// The end of the sleep.
        until: u64,
    },
    /// An operation on a socket, a pipe, an event or an epoll file.
    Transfer(Transfer),
    /// Used only for a run in a process of its own. Its carrier has performed an action for the thread. The caller must
    /// perform the same action, which [`Execution::take_note`](crate::Execution::take_note) returns. It then resumes
    /// the thread, with any value.
    Noted,
    /// Requests random bytes for the first time in the run. The thread is resumed with their key.
    Key,
    /// The thread has made an error in memory use: see [`Execution::take_fault`](crate::Execution::take_fault). It must
    /// not be resumed.
    Fault,
    /// The thread has ended, including the destructors of its thread-locals.
    End,
    /// The thread cannot continue, and must not be resumed. [`Execution::stacks`](crate::Execution::stacks) returns its
    /// stack.
    Died(Death),
}

/// A comparison of two numbers with a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Returns the result of the comparison.
    pub fn holds(self, left: i32, right: i32) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// The kind of an operation on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Operation {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Writes and returns the old value.
    Swap,
    /// Adds, wrapping.
    Add,
    /// Subtracts, wrapping.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and, inverted.
    Nand,
    /// Writes if the old value is the expected value.
    CompareExchange,
    /// Orders other operations; touches no memory.
    Fence,
}

/// An operation on memory that a thread is about to perform.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The kind.
    pub operation: Operation,
    /// The number of bytes: 1, 2, 4 or 8; 0 for a fence.
    pub size: u8,
    /// The memory order in the code, by its number in the C ABI: 0 relaxed, 2 acquire, 3 release, 4 acquire-release, 5
    /// sequentially consistent.
    pub order: u8,
    /// The memory order of a failing compare-exchange.
    pub failure: u8,
    /// The address.
    pub address: usize,
    /// The operand: the new value, the number to add, or the expected value of a compare-exchange.
    pub operand: u64,
    /// The new value of a compare-exchange.
    pub replacement: u64,
}

/// Performs an operation on an atomic of one size. Returns the previous value and the new value.
macro_rules! perform {
    ($access:expr, $atomic:ty, $int:ty) => {{
        let access = $access;
        // SAFETY: instrumented code is about to perform an atomic operation of this size at this address. So the
        // address is aligned and valid, and the memory is accessed by atomic operations.
        let atomic = unsafe { &*(access.address as *const $atomic) };
        let (operand, new) = (access.operand as $int, access.replacement as $int);
        let (old, new): ($int, $int) = match access.operation {
            Operation::Load | Operation::Fence => {
                let value = atomic.load(SeqCst);
                (value, value)
            }
            Operation::Store | Operation::Swap => (atomic.swap(operand, SeqCst), operand),
            Operation::Add => {
                let old = atomic.fetch_add(operand, SeqCst);
                (old, old.wrapping_add(operand))
            }
            Operation::Sub => {
                let old = atomic.fetch_sub(operand, SeqCst);
                (old, old.wrapping_sub(operand))
            }
            Operation::And => {
                let old = atomic.fetch_and(operand, SeqCst);
                (old, old & operand)
            }
            Operation::Or => {
                let old = atomic.fetch_or(operand, SeqCst);
                (old, old | operand)
            }
            Operation::Xor => {
                let old = atomic.fetch_xor(operand, SeqCst);
                (old, old ^ operand)
            }
            Operation::Nand => {
                let old = atomic.fetch_nand(operand, SeqCst);
                (old, !(old & operand))
            }
            Operation::CompareExchange => {
                match atomic.compare_exchange(operand, new, SeqCst, SeqCst) {
                    Ok(old) => (old, new),
                    Err(old) => (old, old),
                }
            }
        };
        (u64::from(old), u64::from(new))
    }};
}

impl Operation {
    /// Returns the name of the operation as a method of an atomic.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Load => "load",
            Operation::Store => "store",
            Operation::Swap => "swap",
            Operation::Add => "fetch_add",
            Operation::Sub => "fetch_sub",
            Operation::And => "fetch_and",
            Operation::Or => "fetch_or",
            Operation::Xor => "fetch_xor",
            Operation::Nand => "fetch_nand",
            Operation::CompareExchange => "compare_exchange",
            Operation::Fence => "fence",
        }
    }
}

impl Access {
    /// Returns the value in memory, if the operation would leave it unchanged.
    pub(crate) fn look(&self) -> Option<u64> {
        let (old, _) = Access { operation: Operation::Load, ..*self }.perform();
        let looks = match self.operation {
            Operation::Load => true,
            Operation::CompareExchange => old != self.operand || old == self.replacement,
            Operation::Swap => old == self.operand,
            Operation::Or => old | self.operand == old,
            Operation::And => old & self.operand == old,
            _ => false,
        };
        looks.then_some(old)
    }

    /// Returns `true` if the operation, which has found the value `old`, has written to memory, even if it wrote the
    /// same value.
    #[inline(always)]
    pub fn changes(&self, old: u64) -> bool {
        match self.operation {
            Operation::Load | Operation::Fence => false,
            Operation::CompareExchange => old == self.operand,
            _ => true,
        }
    }

    /// Performs the operation. Returns the previous value and the new value.
    //
    // This is crate-private, because only an access that a thread has requested is valid. When it is inlined into the
    // functions of instrumentation, it is the single instruction that they represent.
    #[inline(always)]
    pub(crate) fn perform(&self) -> (u64, u64) {
        match self.size {
            1 => perform!(self, AtomicU8, u8),
            2 => perform!(self, AtomicU16, u16),
            4 => perform!(self, AtomicU32, u32),
            8 => perform!(self, AtomicU64, u64),
            _ => {
                fence(SeqCst);
                (0, 0)
            }
        }
    }
}

impl unpause_orders::Operation for Access {
    #[inline]
    fn address(&self) -> usize {
        self.address
    }

    #[inline]
    fn size(&self) -> u8 {
        self.size
    }

    #[inline]
    fn reads(&self) -> bool {
        self.operation != Operation::Store
    }

    #[inline]
    fn may_only_read(&self) -> bool {
        matches!(self.operation, Operation::Load | Operation::CompareExchange)
    }

    #[inline]
    fn order_if(&self, writes: bool) -> u8 {
        let fails = self.operation == Operation::CompareExchange && !writes;
        if fails { self.failure } else { self.order }
    }

    #[inline]
    fn written_over(&self, old: u64) -> Option<u64> {
        let operand = self.operand;
        let new = match self.operation {
            Operation::Load | Operation::Fence => return None,
            Operation::Store | Operation::Swap => operand,
            Operation::Add => old.wrapping_add(operand),
            Operation::Sub => old.wrapping_sub(operand),
            Operation::And => old & operand,
            Operation::Or => old | operand,
            Operation::Xor => old ^ operand,
            Operation::Nand => !(old & operand),
            Operation::CompareExchange if old == operand => self.replacement,
            Operation::CompareExchange => return None,
        };
        Some(new & u64::MAX >> (64 - 8 * u32::from(self.size)))
    }
}

/// A function that a thread lets its carrier call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    function: unsafe fn(*mut ()),
    data: *mut (),
}

// SAFETY: the data belongs to a simulated thread, and only the carrier of its run calls the function.
unsafe impl Send for Call {}

impl Call {
    /// Returns a call of `function` with `data`.
    pub(crate) fn new(function: unsafe fn(*mut ()), data: *mut ()) -> Call {
        Call { function, data }
    }

    /// Returns a call without effect.
    pub(crate) fn nothing() -> Call {
        unsafe fn nothing(_: *mut ()) {}
        Call { function: nothing, data: std::ptr::null_mut() }
    }

    /// Calls the function.
    ///
    /// # Safety
    /// The thread that has made this request must be suspended in it.
    pub(crate) unsafe fn call(self) {
        // SAFETY: the function and the data are from the thread that waits for the end of the call.
        unsafe { (self.function)(self.data) }
    }
}
