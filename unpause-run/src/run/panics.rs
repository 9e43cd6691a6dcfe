//! Captured panics: their message and place, kept off the screen.
//!
//! `catch_unwind` gives the payload of a panic but not its place. The engine of the build installs one panic hook for
//! the process. A panic in a run is recorded for the code that catches it on the same thread; every other panic goes
//! to the previous hook.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use crate::run::panic_text;

/// Message and place of a panic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Panicked {
    pub message: String,
    /// As `file:line:column`; empty if unknown.
    pub place: String,
}

/// The treatment of a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PanicHandling {
    /// It belongs to no run: the previous hook shows it.
    Foreign,
    /// It belongs to a run and was recorded: do not show it.
    Taken,
    /// It was recorded, and must be shown nevertheless.
    Shown,
}

thread_local! {
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// Installs the hook, the first time it is called. `hear` is called at each panic of the process.
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

/// A panic hook was called on this thread. Gives the panic noted before, if there was one since the
/// last [`take`]: a second one within a step may be a panic while unwinding, after which the
/// process aborts.
pub fn note(panicked: Panicked) -> Option<Panicked> {
    LAST.with(|last| last.replace(Some(panicked)))
}

/// Returns `true` if this is the compiler's own panic before an abort: a destructor panicked while
/// another panic unwound, or a panic reached a function that cannot unwind.
pub fn aborts(panicked: &Panicked) -> bool {
    let last = ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];
    last.contains(&&*panicked.message) && panicked.place.contains("core/src/panicking.rs")
}

/// Returns the reason of an abort that a panic caused, from the last panics of its thread, the last one last.
pub fn aborted(panics: &[Panicked]) -> String {
    let Some((own, before)) = panics.split_last().filter(|(own, _)| aborts(own)) else {
        let last = panics.last().map_or("", |panic| &panic.message);
        return format!("The thread panicked in a way that ends the process:\n{last}");
    };
    let mut text = format!("The thread panicked where unwinding is impossible: {}.", own.message);
    // For a panic in a destructor, the panic that had called the destructor is listed first.
    let most = if own.message.contains("destructor") { 2 } else { 1 };
    for Panicked { message, place } in &before[before.len().saturating_sub(most)..] {
        text += &format!("\npanic at {place}:\n{message}");
    }
    text
}

/// Returns the panic that ended the first thread. If this panic only reports that another thread panicked, because of
/// an unwrapped join or at the end of a scope, the panics of the other threads are added. For a resumed payload, which
/// calls no hook, the last panic of the other threads is returned.
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
    let causes = others
        .iter()
        .map(|Panicked { message, place }| format!("\n\na thread panicked at {place}:\n{message}"));
    let message = message.clone() + &causes.collect::<String>();
    Panicked { message, ..panicked }
}

/// The last panic noted on this thread since the last call; `None` if there was none, or if the
/// program replaced the hook.
pub fn take() -> Option<Panicked> {
    LAST.with(RefCell::take)
}

/// The text that user code makes; if it panics, that it did. For texts of a run that is over: a `Debug` that
/// panics must not lose the report.
pub fn text_of(make: impl FnOnce() -> String) -> String {
    caught(make).unwrap_or_else(|| "(its text cannot be shown: making it panics)".to_owned())
}

/// Returns the result of user code; `None` if it panics.
pub fn caught<T>(make: impl FnOnce() -> T) -> Option<T> {
    let made = catch_unwind(AssertUnwindSafe(make));
    made.map_err(|payload| {
        take();
        // To drop it may panic in turn.
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
