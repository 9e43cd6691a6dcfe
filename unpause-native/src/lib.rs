//! Threads of unmodified programs as coroutines of one thread.
//!
//! A program compiled with `-Cpasses=tsan` calls a function of this crate for each atomic
//! operation. This crate also replaces functions of libc that make threads, wait, sleep, read a
//! clock, ask for random bytes or allocate. Inside an [`Execution`] a thread stops at each such
//! call with a [`Request`], and the caller of [`Execution::resume`], the *carrier*, decides which
//! thread runs next. Outside, the functions are the real ones.
//!
//! The crate has mechanism only. `unpause` has the schedules, traces and reports; it depends on
//! this crate if it is compiled by `cargo unpause test`. Every `unsafe` of the project is here.
//!
//! | file | subject |
//! |---|---|
//! | `execution.rs` | one run: begins, resumes threads, ends |
//! | `local.rs` | a run in this process |
//! | `warm_up.rs` | the first run of a process |
//! | `apart/` | a run in a process of its own: the fork, and the answers that it sends; copies of the process for many runs |
//! | `request.rs` | the reason why a thread has stopped |
//! | `thread.rs` | simulated threads: stacks and thread-locals borrowed from parked threads of the system |
//! | `switch.rs` | the change from one stack and thread-local block to another |
//! | `arch/` | code for one processor: x86-64, and aarch64, which was not run |
//! | `frames.rs` | the functions that a thread is in, by the frames on its stack |
//! | `atomics.rs`, `passing.rs` | the functions that instrumented code calls; operations that are done without a request |
//! | `weak.rs` | failures of `compare_exchange_weak` that see the expected value |
//! | `threads.rs`, `futex.rs`, `clock.rs`, `entropy.rs` | functions of libc |
//! | `environment.rs` | the environment and the working directory, put back after each run |
//! | `net/` | sockets, pipes, events and epoll, in the memory of the run |
//! | `children.rs`, `handlers.rs` | other processes; handlers of signals that a run installs |
//! | `processors.rs` | the number of processors |
//! | `compiled.rs` | the compiled part of std: its replacements, and entries of functions that have none |
//! | `unseen.rs` | instructions of assembly and of C that synchronise threads or call the system |
//! | `death.rs`, `signals.rs` | threads that would end the process, or never come back |
//! | `output.rs` | what a run writes to the standard streams |
//! | `std_state.rs`, `std_state/` | the statics of std: hook, ids of threads, locks that a run leaves behind |
//! | `heap.rs` | `malloc` and its kin: a heap that is empty when a run begins |
//! | `origins.rs` | the functions that have allocated the memory of a run |
//! | `blocks.rs`, `leaks.rs`, `fault.rs` | heaps that check the use of memory, leaks, errors with their places |
//! | `orders/` | memory orders: the stores that a load may see, vector clocks |
//! | `by_number.rs` | tables by number |
//! | `race/`, `plain.rs` | data races: vector clocks, and the calls for plain accesses |
//! | `polled.rs` | random bytes, thread-locals and statics of runs whose tasks are futures |
//! | `statics.rs` | statics of the tested crates, put back before each run |
//! | `places.rs` | return addresses to lines of source |
//!
//! # Limits
//!
//! Linux with glibc, on x86-64; for aarch64 it is written and was not run (`arch/aarch64.rs`). The crate is empty
//! elsewhere. Assembly code and C code with its own atomics are not instrumented: their operations are not requests,
//! and [`take_entered`] names the functions. Locks of libc are instrumented. Compiled functions of std that synchronise
//! threads are replaced when `cargo unpause test` links the program; functions that only guard std's own state (output,
//! environment, hooks) are not: see [`take_entered`]. Values of thread-local keys (`pthread_key_create`) are not fresh
//! in each run. The vector and floating-point control registers are not switched.

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux;

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use self::linux::*;

/// True if threads can be simulated on this platform.
pub const SUPPORTED: bool = cfg!(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
));
