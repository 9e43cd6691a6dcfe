//! The macros of unpause: the attribute of a test, and the branches of `select!`, `join!` and `try_join!` (`select`,
//! `join`).
//!
//! The attribute reads the arguments (`arguments`), checks the function (`function`) and writes the test (`expand`).
//! The library defines the behaviour of a test; this crate checks only what is known at compile time. It knows the
//! names of the strategies (`strategies`), but not replayed files: the run reports errors in these.

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

/// Makes a test of an `async fn` whose interleavings are explored under a scheduler.
///
/// The body runs once per seed, from the start; nothing is kept between two runs. It is an ordinary
/// `async` body: `return`, `?` and a return type `Result<(), E>` work.
///
/// # Arguments
///
/// All are optional; the library's documentation has the defaults, and the `SIM_*` variables of the
/// environment override them.
///
/// | argument | means | values |
/// |---|---|---|
/// | `seeds = 1000` | how many seeds to try | from 1 |
/// | `seed = 7` | try this seed only | any `u64` |
/// | `strategy = "pct"` | who decides which task steps | the name of a strategy |
/// | `max_steps = 5000` | a longer run fails | from 1 to `u32::MAX` |
/// | `time = "5s"` | stop looking after this long | a whole number and `ms`, `s`, `m` or `h`, as everywhere; without a unit it is seconds |
/// | `hang = "30s"` | a longer step, or on real threads a longer time in which no task moves, ends the process | as `time` |
/// | `limit = "5m"` | on real threads, a longer run ends the process | as `time` |
/// | `replay = "x.simtrace"` | run this trace only | a file, not empty; neither `seed` nor `seeds` beside it |
/// | `must_fail`, `must_fail = "deadlock"` | the test passes if a run fails, with this kind of failure or this text in it; without one, in a way that is a failure of the program: not at a limit, by a misuse or with a trace that does not fit | a flag, or the name of a kind or a part of a text, not empty |
/// | `coverage` | if the test passes, a line says how many classes of interleavings it saw | a flag |
/// | `closure` | the recorded calls of each run are checked in all orders that its steps allow | a flag |
/// | `prove = 100000` | a failing run is proven to have the fewest preemptions, by at most so many runs | any `u64`, 0 for no proof |
/// | `why = 1000` | a failing run is explained by at most so many runs | any `u64`, 0 for no explanation; 3000 without it |
/// | `must_prove` | the test fails if its search proves nothing | a flag; needs a `strategy` that is a search |
/// | `statistics` | if the test passes, a table says what its generated programs were made of | a flag |
/// | `native` | the function is plain, not `async`, and its `std::thread`s are stepped; needs `cargo unpause test` | a flag |
/// | `leaks` | with `native`: an allocation of the run that nothing refers to at its end is a failure | a flag |
/// | `races` | with `native`: the test is ignored unless `cargo unpause test --races` searches data races | a flag |
/// | `clock = "any"` | when the time of `sim::time` moves in a run: when no task can step, besides at most twice at any moment (`"late:2"`), or at any moment | `"last"`, `"late:K"` or `"any"`; default `"last"` |
/// | `points = "all"` | the operations of plain threads that are points | `"all"` or `"default"`; needs `native` |
/// | `isolate = "process"` | what the runs of plain threads share; `process` gives each run a process of its own | `"process"` or `"run"`; needs `native` |
/// | `memory = "c11"` | the values that loads of atomics may see: with `c11` each value that C++20 allows for the memory orders in the program | `"c11"` or `"sc"`; default `"sc"` |
/// | `cancel = "worker-*"` | tasks of these names may be aborted at any point, by choice | the name of a task, in which `*` stands for any text |
/// | `cancel_selects` | the deadlines of time-outs, and of timers in branches of `select!`, may pass at any moment, by choice | a flag |
/// | `buggify` | code that is marked with `sim::buggify!` may be executed, by choice | a flag |
/// | `progress = "lock-free"` | spawned tasks may stall for good at any point, and the others must end; `"wait-free:N"`: each operation within N steps of its own | `"lock-free"`, `"obstruction-free"`, `"wait-free"` (100 steps) or `"wait-free:N"` |
/// | `chances = "timers, spurious, weak"` | events that may happen to plain threads at any moment; without `native`, `weak` is about `compare_exchange_weak` of `sim::Atomic` and `spurious` about `sim::Condvar` | some of these words with commas between them, or `"none"`; `timers` needs `native` |
/// | `arc` | the counts of `Arc` are points of all runs of plain threads | a flag; needs `native` |
/// | `crate = path` | where the library lives | a path; default `::sim` |
///
/// # Beside other attributes
///
/// `#[should_panic]`, `#[ignore]`, `#[cfg]`, documentation and attributes it does not know go to
/// the test as they are. Write `#[rstest]` and `#[test_case]` *above* `#[sim::test]`: they make the
/// functions without arguments that this attribute takes.
///
/// # Errors
///
/// A wrong argument is a compile error at the argument, and a function that cannot be a test (not
/// `async`, generic, with arguments or `self`, `const`, `unsafe`, `extern`, a test already) is one
/// at the word that makes it so. All errors of one test are shown at once, and its body is still
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

/// The expansion of `sim::select!`, which passes the path of the library in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input.into()).into()
}

/// The expansion of `sim::join!`, which passes the path of the library in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Kind::Join).into()
}

/// The expansion of `sim::try_join!`, which passes the path of the library in parentheses before its input.
#[doc(hidden)]
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Kind::TryJoin).into()
}

/// The same for code that is written for tokio: `#[tokio::test]` of the crate `unpause-tokio`.
///
/// Takes the arguments of tokio's attribute and of [`macro@test`]. The library is `::tokio`. A test
/// that names neither seeds nor a trace nor a strategy tries 100 seeds.
///
/// | argument of tokio | in a run |
/// |---|---|
/// | `flavor`, `worker_threads` | nothing: all tasks of a run are on one thread, and the scheduler decides the next step |
/// | `start_paused` | nothing: the time of a run is always virtual |
/// | `unhandled_panic` | nothing: a run fails if a task panics |
/// | `crate = "path"` | where the library lives |
///
/// A test that the environment has run on tokio, once, gets the runtime that these describe.
#[proc_macro_attribute]
pub fn tokio_test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tokio::test(attribute.into(), item.into()).into()
}
