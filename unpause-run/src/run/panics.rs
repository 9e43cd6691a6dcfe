//! Captured panics: their messages and places, which are not printed.
//!
//! `catch_unwind` returns the payload of a panic but not its place. The engine of the build therefore installs one
//! panic hook for the process. The hook records a panic in a run for the code that catches it on the same thread. The
//! hook forwards every other panic to the previous hook.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use crate::run::ids::TaskId;
use crate::run::panic_text;
use crate::run::place::in_text;

/// Message and place of a panic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Panicked {
    pub message: String,
    /// The place as `file:line:column`; empty if unknown.
    pub place: String,
}

/// A panic of a task or a plain thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskPanic {
    /// The task, or the task of the thread.
    pub task: TaskId,
    /// The panic message.
    pub message: String,
    /// The place as `file:line:column`; empty if unknown.
    pub place: String,
}

/// The handling of a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PanicHandling {
    /// The panic belongs to no run: the previous hook prints it.
    Foreign,
    /// The panic belongs to a run and was recorded. The panic must not be printed.
    Taken,
    /// The panic was recorded, but must be printed nevertheless.
    Shown,
}

thread_local! {
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// Installs the hook on the first call. The hook calls `hear` at each panic of the process.
pub fn install(hear: fn(&PanicHookInfo<'_>) -> PanicHandling) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if hear(info) != PanicHandling::Taken {
                before(info);
            }
        }));
    });
}

/// Returns the message and the place of a panic.
pub fn panicked(info: &PanicHookInfo<'_>) -> Panicked {
    let place = info.location().map_or_else(String::new, ToString::to_string);
    Panicked { message: panic_text(info.payload()), place }
}

/// Records a panic when the panic hook is called on this thread. Returns the panic that was recorded since the last
/// [`take`], if any: a second panic within a step may occur during unwinding, and the process then aborts.
pub fn note(panicked: Panicked) -> Option<Panicked> {
    LAST.with(|last| last.replace(Some(panicked)))
}

/// Returns `true` if this is the panic that the Rust runtime raises before an abort. Either a destructor panicked
/// during unwinding, or a panic reached a function that cannot unwind.
pub fn aborts(panicked: &Panicked) -> bool {
    let last = ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];
    last.contains(&&*panicked.message) && panicked.place.contains("core/src/panicking.rs")
}

/// Returns the cause of an abort, from the last panics of the thread. The most recent panic is the last element.
pub fn aborted(panics: &[Panicked]) -> String {
    let Some((own, before)) = panics.split_last().filter(|(own, _)| aborts(own)) else {
        let last = panics.last().map_or("", |panic| &panic.message);
        return format!("The thread panicked in a way that ends the process:\n{last}");
    };
    let mut text = format!("The thread panicked where unwinding is impossible: {}.", own.message);
    // For a panic in a destructor, the panic that caused the unwinding is listed first.
    let most = if own.message.contains("destructor") { 2 } else { 1 };
    for Panicked { message, place } in &before[before.len().saturating_sub(most)..] {
        text += &format!("\npanic at {}:\n{message}", in_text(place));
    }
    text
}

/// Returns the panic that ended the first thread. If this panic only reports that another thread panicked, the panics
/// of the other threads are added. For example, an unwrapped join or the end of a scope reports such a panic. A resumed
/// payload calls no hook, so the last panic of the other threads is returned for it.
#[cfg_attr(not(any(unpause_native, test)), allow(dead_code))]
pub fn with_causes(panicked: Panicked, others: &[Panicked]) -> Panicked {
    let Panicked { message, place } = &panicked;
    if message.is_empty() && place.is_empty() {
        return others.last().cloned().unwrap_or(panicked);
    }
    let of_join = message.ends_with("Any { .. }");
    if !of_join && message != "a scoped thread panicked" {
        return panicked;
    }
    let causes = others.iter().map(|Panicked { message, place }| {
        format!("\n\na thread panicked at {}:\n{message}", in_text(place))
    });
    let message = message.clone() + &causes.collect::<String>();
    Panicked { message, ..panicked }
}

/// Returns the last panic recorded on this thread since the previous call; `None` if there was no panic, or if the
/// program replaced the hook.
pub fn take() -> Option<Panicked> {
    LAST.with(RefCell::take)
}

/// Returns a text created by user code, or a placeholder if that code panics. Used for texts of a finished run, because
/// a panic in `Debug` must not lose the report.
pub fn text_of(make: impl FnOnce() -> String) -> String {
    caught(make).unwrap_or_else(|| "(its text cannot be shown: making it panics)".to_owned())
}

/// Returns the result of user code; `None` if it panics.
pub fn caught<T>(make: impl FnOnce() -> T) -> Option<T> {
    let made = catch_unwind(AssertUnwindSafe(make));
    made.map_err(|payload| {
        take();
        // Dropping the payload may panic in turn.
        std::mem::forget(payload);
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_after_two_panics_names_both() {
        let panic = |message: &str, place: &str| Panicked {
            message: message.to_owned(),
            place: place.to_owned(),
        };
        let last = panic(
            "panic in a destructor during cleanup",
            "/rustc/0/library/core/src/panicking.rs:2:5",
        );
        let panics = [panic("one", "src/a.rs:1:1"), panic("two", "src/b.rs:2:2"), last];
        let text = aborted(&panics);
        assert!(
            text.contains("panic at src/a.rs:1:1:\none\npanic at src/b.rs:2:2:\ntwo"),
            "{text}"
        );
        assert!(aborted(&panics[..2]).ends_with("ends the process:\ntwo"));
    }

    #[test]
    fn a_place_in_a_message_has_the_crate_and_the_path_in_it() {
        for (place, expected) in [
            (
                "/u/.cargo/registry/src/index.example-19/pool-1.2.0/src/a.rs:3:5",
                "pool-1.2.0/src/a.rs:3:5",
            ),
            ("/rustc/0/library/alloc/src/raw_vec/mod.rs:28:5", "alloc/src/raw_vec/mod.rs:28:5"),
            ("src/pool.rs:9:5", "src/pool.rs:9:5"),
        ] {
            let of = |message: &str, place: &str| Panicked {
                message: message.to_owned(),
                place: place.to_owned(),
            };
            let shown = with_causes(of("a scoped thread panicked", ""), &[of("one", place)]);
            assert!(shown.message.contains(&format!(" at {expected}:")), "{}", shown.message);
            let last = of(
                "panic in a function that cannot unwind",
                "/rustc/0/library/core/src/panicking.rs:2:5",
            );
            let text = aborted(&[of("one", place), last]);
            assert!(text.contains(&format!(" at {expected}:")), "{text}");
        }
    }

    #[test]
    fn a_panic_that_passes_on_the_panic_of_a_thread_has_its_message() {
        let of = |message: &str, place: &str| Panicked {
            message: message.to_owned(),
            place: place.to_owned(),
        };
        let others = [of("index 3 is out of bounds", "src/pool.rs:9:5")];
        for message in [
            "called `Result::unwrap()` on an `Err` value: Any { .. }",
            "the worker ends: Any { .. }",
            "a scoped thread panicked",
        ] {
            let shown = with_causes(of(message, "src/lib.rs:3:1"), &others);
            assert_eq!(shown.place, "src/lib.rs:3:1");
            let cause = "a thread panicked at src/pool.rs:9:5:\nindex 3 is out of bounds";
            assert_eq!(shown.message, format!("{message}\n\n{cause}"));
        }
        assert_eq!(with_causes(of("", ""), &others), others[0], "of `resume_unwind`");
        let own = of("no more memory", "src/lib.rs:3:1");
        assert_eq!(with_causes(own.clone(), &others), own);
        assert_eq!(with_causes(own.clone(), &[]), own);
    }
}
