//! Runs threads of unmodified programs as coroutines of one thread.
//!
//! A program compiled with `-Cpasses=tsan` calls a function of this crate for each atomic operation. This crate also
//! replaces libc functions that create threads, wait, sleep, read a clock, get random bytes or allocate. Inside an
//! [`Execution`], a thread stops at each such call with a [`Request`], and the caller of [`Execution::resume`], the
//! *carrier*, decides which thread runs next. Outside of an execution, the real functions are called.
//!
//! The crate contains mechanism only. `unpause` contains the schedules, traces and reports; it depends on this crate if
//! it is compiled by `cargo unpause test`. All `unsafe` code of the project is here.
//!
//! | file | subject |
//! |---|---|
//! | `execution.rs` | one run: begins, resumes threads, ends |
//! | `local.rs` | a run in this process |
//! | `warm_up.rs` | the first run of a process |
//! | `apart/` | a run in a process of its own: the fork, and the child's replies; process copies for many runs |
//! | `request.rs` | the reason why a thread has stopped |
//! | `thread.rs` | simulated threads: stacks and thread-locals borrowed from parked OS threads |
//! | `switch.rs` | the switch from one stack and thread-local block to another |
//! | `arch/` | code for one processor architecture: x86-64, and aarch64, which has not been tested |
//! | `frames.rs` | the functions on the stack of a thread, found by its frames |
//! | `atomics.rs`, `passing.rs` | the functions that instrumented code calls; operations without a request |
//! | `weak.rs` | spurious failures of `compare_exchange_weak` |
//! | `threads.rs`, `keys.rs`, `futex.rs`, `clock.rs`, `entropy.rs` | replaced functions of libc |
//! | `refused.rs` | calls that a run does not support |
//! | `environment.rs` | the environment and the working directory, restored after each run |
//! | `net/` | sockets, pipes, events and epoll, in the memory of the run; calls on real files |
//! | `children.rs`, `handlers.rs`, `masks.rs` | other processes; signal handlers that a run installs; blocked signals |
//! | `processors.rs` | the number of processors |
//! | `compiled.rs` | the compiled part of std: its replacements, and the entries of functions without replacements |
//! | `std_calls.rs` | the compiled functions that a thread is in, until they return: `print!` is one step |
//! | `unseen.rs` | assembly and C instructions that synchronise threads or call the system |
//! | `loaded.rs`, `imports.rs` | the program and its shared libraries in memory; functions of shared libraries |
//! | `death.rs`, `signals.rs` | threads that would end the process, or never return |
//! | `output.rs` | the output of a run on the standard streams |
//! | `std_state.rs`, `std_state/` | the statics of std: the hook, thread ids, locks that a run leaves behind |
//! | `heap.rs` | `malloc` and related functions: a heap that is empty when a run begins |
//! | `origins.rs` | the functions that have allocated the memory of a run |
//! | `blocks.rs`, `leaks.rs`, `fault.rs` | heaps that check memory use, leaks, errors with their places |
//! | `orders/` | memory orders: the stores that a load may see, vector clocks |
//! | `by_number.rs` | tables with numbers as keys |
//! | `race/`, `plain.rs` | data races: vector clocks, and the calls for plain accesses |
//! | `polled.rs` | random bytes, thread-locals and statics of runs whose tasks are futures |
//! | `statics.rs` | statics of the tested crates, restored before each run |
//! | `first_values.rs` | a copy of all statics before `main` |
//! | `second_thread.rs` | a thread for the watchdog of a test, kept from test to test |
//! | `bystanders.rs` | threads of other tests, which wait when they access these statics |
//! | `gates.rs` | the places where threads of other tests wait, and the wait until all of them are there |
//! | `uncontrolled.rs` | threads of plain tests and of async tests, which no run controls |
//! | `places.rs` | the source lines of return addresses |
//!
//! # Limits
//!
//! The crate supports Linux with glibc, on x86-64. The Rust code for aarch64 has never been run (`arch/aarch64.rs`). On
//! other platforms, the crate is empty. Assembly code and C code with its own atomics are not instrumented: their
//! operations are not requests, and [`take_entered`] names the functions. Locks of libc are instrumented.
//! `cargo unpause test` replaces compiled std functions that synchronise threads when it links the program. It does not
//! replace functions that only guard std's own state (output, environment, hooks): see [`take_entered`]. The vector and
//! floating-point control registers are not switched.

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
