//! The macros of unpause: the attribute of a test, and the branches of `select!`, `join!` and `try_join!` (`select`,
//! `join`).
//!
//! The attribute parses the arguments (`arguments`), checks the function (`function`) and writes the test (`expand`).
//! The library defines the behaviour of a test; this crate only checks facts that are known at compile time. For
//! example, it checks the names of strategies (`strategies`), but not replayed files: the run reports errors in files.

#![forbid(unsafe_code)]

mod arguments;
mod expand;
mod form;
mod function;
mod join;
mod select;
mod strategies;
mod suggest;
mod tokio;
mod value;

use proc_macro::TokenStream;

/// Turns an `async fn` into a test. The test explores interleavings of the function under a scheduler.
///
/// The body runs once per seed, from the start, and no state is kept between runs. The body is an ordinary `async`
/// body: `return`, `?` and a return type `Result<(), E>` work.
///
/// # Arguments
///
/// All arguments are optional. The library's documentation lists the defaults, and the `SIM_*` environment variables
/// override the arguments.
///
/// | argument | means | values |
/// |---|---|---|
/// | `seeds = 1000` | the number of seeds to try | from 1 |
/// | `seed = 7` | try this seed only | any `u64` |
/// | `strategy = "pct"` | the strategy that chooses the next task | the name of a strategy |
/// | `max_steps = 5000` | a longer run fails | from 1 to `u32::MAX` |
/// | `time = "5s"` | stop looking after this long | a whole number and `ms`, `s`, `m` or `h`, as in all settings; a number without a unit is in seconds |
/// | `hang = "30s"` | a longer step, or on real threads a longer time in which no task moves, ends the process | as `time` |
/// | `limit = "5m"` | on real threads, a longer run ends the process | as `time` |
/// | `replay = "x.simtrace"` | run this trace only | a file name; not together with `seed` or `seeds` |
/// | `must_fail`, `must_fail = "deadlock"` | the test passes if a run fails with this kind of failure, or with this text in it. Without a value, any failure of the program counts, but no limit, misuse or diverging trace | a flag, or the name of a kind, or a part of a text |
/// | `coverage` | if the test passes, a line shows the number of explored interleaving classes | a flag |
/// | `closure` | the recorded calls of each run are checked in all orders that its steps allow | a flag |
/// | `prove = 100000` | at most this many runs try to prove that a failing run has the fewest possible preemptions | any `u64`, 0 for no proof |
/// | `why = 1000` | at most this many runs are used to explain a failing run | any `u64`, 0 for no explanation; default 3000 |
/// | `must_prove` | the test fails if its search proves nothing | a flag; needs a `strategy` that is a search |
/// | `statistics` | if the test passes, a table shows the composition of its generated programs | a flag |
/// | `native` | the function is plain, not `async`, and its `std::thread`s are stepped; needs `cargo unpause test` | a flag |
/// | `leaks` | with `native`: a run fails if it leaks an allocation, which means that no reference to it exists at the end | a flag |
/// | `races` | with `native`: the test is ignored unless it runs under `cargo unpause test --races`, which detects data races | a flag |
/// | `clock = "any"` | the moments at which the time of `sim::time` advances: `"last"` only when no task can step, `"late:2"` also at most twice at any other moment, `"any"` at any moment | `"last"`, `"late:K"` or `"any"`; default `"last"` |
/// | `points = "all"` | which operations of plain threads are points | `"all"` or `"default"`; needs `native` |
/// | `isolate = "process"` | with `"process"`, each run of plain threads has its own process; with `"run"`, runs share one process | `"process"` or `"run"`; needs `native` |
/// | `memory = "c11"` | the values that atomic loads may return: with `"c11"`, all values that C++20 allows for the memory orders in the program | `"c11"` or `"sc"`; default `"sc"` |
/// | `cancel = "worker-*"` | tasks with a matching name may be aborted at any point; the run decides | the name of a task, in which `*` matches any text |
/// | `cancel_selects` | the deadlines of timeouts, and of timers in branches of `select!`, may pass at any moment; the run decides | a flag |
/// | `buggify` | code marked with `sim::buggify!` may be executed; the run decides | a flag |
/// | `progress = "lock-free"` | spawned tasks may stall forever at any point, and the other tasks must still end; with `"wait-free:N"`, each operation must end within N of its own steps | `"lock-free"`, `"obstruction-free"`, `"wait-free"` (100 steps) or `"wait-free:N"` |
/// | `chances = "timers, spurious, weak"` | events that may happen to plain threads at any moment; without `native`, `weak` applies to `compare_exchange_weak` of `sim::Atomic`, and `spurious` to `sim::Condvar` | some of these words, separated by commas, or `"none"`; `timers` needs `native` |
/// | `arc` | operations on the counts of `Arc` are points in all runs of plain threads | a flag; needs `native` |
/// | `crate = path` | the path of the library | a path; default `::sim` |
///
/// # Beside other attributes
///
/// `#[should_panic]`, `#[ignore]`, `#[cfg]`, documentation and unknown attributes are passed to the test unchanged.
/// Write `#[rstest]` and `#[test_case]` *above* `#[sim::test]`, because they generate the functions without arguments
/// that this attribute accepts.
///
/// # Errors
///
/// A wrong argument is a compile error at the argument. A function cannot be a test if it is not `async`, if it is
/// generic, `const`, `unsafe`, `extern` or already a test, or if it has arguments or `self`. Such a function causes a
/// compile error at the word that makes it unsuitable. All errors of one test are shown at once, and its body is still
/// type-checked.
///
/// # Examples
///
/// ```
/// # extern crate unpause_macros as sim;
/// #[sim::test(seeds = 100, strategy = "random", time = "5s")]
/// async fn one_and_one_is_two() -> Result<(), String> {
///     let two: u32 = "2".parse().map_err(|_| "not a number")?;
///     assert_eq!(1 + 1, two);
///     Ok(())
/// }
/// # fn main() {}
/// ```
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::test(attribute.into(), item.into()).into()
}

/// Expands `sim::select!`, which passes the library path in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input.into()).into()
}

/// Expands `sim::join!`, which passes the library path in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Kind::Join).into()
}

/// Expands `sim::try_join!`, which passes the library path in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Kind::TryJoin).into()
}

/// The test attribute for code written for tokio: `#[tokio::test]` of the crate `unpause-tokio`.
///
/// Accepts the arguments of tokio's attribute and of [`macro@test`]. The library path is `::tokio`. A test without
/// seeds, a trace or a strategy tries 100 seeds.
///
/// | argument of tokio | in a run |
/// |---|---|
/// | `flavor`, `worker_threads`, `name` | no effect: all tasks of a run share one thread, and the scheduler decides the next step |
/// | `start_paused` | no effect: the time of a run is always virtual |
/// | `unhandled_panic` | no effect: a run fails if a task panics |
/// | `crate = "path"` | the path of the library |
///
/// If an environment variable selects the test to run once on tokio, these arguments describe its runtime.
#[proc_macro_attribute]
pub fn tokio_test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tokio::test(attribute.into(), item.into()).into()
}
