//! The panic hook of simulated runs: what it hears, and when it lets a panic be shown.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::panic::PanicHookInfo;

use crate::report::is_std;
use crate::rt::in_run;
use crate::run::panics::{self, PanicHandling, Panicked};
use crate::seam::native;

thread_local! {
    /// True if panics in runs are passed on to the previous hook as well.
    static LOUD: Cell<bool> = const { Cell::new(false) };
    /// True if a second panic of the current step has been reported.
    static SECOND: Cell<bool> = const { Cell::new(false) };
    /// The position of the run at the last panic.
    static PANICKED_AT: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
    /// True if a panic in the standard library captures the place of its caller.
    static TRACES_CALLS: Cell<bool> = const { Cell::new(false) };
    /// The caller of the last function of the standard library that panicked.
    static CALLED_FROM: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs the hook, the first time it is called.
pub(super) fn install() {
    panics::install(on_panic);
}

fn on_panic(info: &PanicHookInfo<'_>) -> PanicHandling {
    if native::takes_panic(info) {
        return PanicHandling::Taken;
    }
    if !in_run() {
        return PanicHandling::Foreign;
    }
    let panicked = panics::panicked(info);
    if TRACES_CALLS.get() {
        let caller = if is_std(&panicked.place) { caller_of_std() } else { None };
        CALLED_FROM.replace(caller);
    }
    let position = super::watchdog::position();
    // A panic that the program caught in an earlier step does not matter for this one.
    let same_step = PANICKED_AT.replace(position) == position;
    match panics::note(panicked.clone()) {
        // Nothing may be lost: unless the program catches this panic, it came while the other unwound,
        // and the process aborts now. The compiler's own panic, with nothing of the program in it,
        // then comes as a third.
        Some(first) if same_step => {
            if !SECOND.replace(true) {
                tell(&first, &panicked);
            }
        }
        _ => SECOND.set(false),
    }
    if LOUD.get() { PanicHandling::Shown } else { PanicHandling::Taken }
}

/// Tells of two panics, one of which came while the other unwound. Not with `eprint!`: a test harness
/// may have taken that, and will have no time to show it.
fn tell(first: &Panicked, second: &Panicked) {
    let text = format!(
        "\nsim: a second panic in one step. If the process aborts now, a destructor panicked while a \
         panic unwound.\n\
         first:  {:?} at {}\nsecond: {:?} at {}\n{}\n",
        first.message,
        first.place,
        second.message,
        second.place,
        super::watchdog::whereabouts(),
    );
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Does `act` and keeps, of the last panic in it, [who called it](called_from). That takes milliseconds for
/// each panic in the standard library, and nothing for all others.
pub(super) fn tracing_calls<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            TRACES_CALLS.set(self.0);
        }
    }
    CALLED_FROM.take();
    let _before = Before(TRACES_CALLS.replace(true));
    act()
}

/// The place, as `file:line`, from which the standard library was called when it panicked last in
/// [`tracing_calls`]; none if it was not the standard library that panicked, or if the program has no
/// information for debuggers.
pub(super) fn called_from() -> Option<String> {
    CALLED_FROM.take()
}

/// The first frame outside of the standard library below the panic.
///
/// Of a backtrace std gives no more than texts. This one reads the `Debug` text, which names file and line
/// of each frame; if it should ever look otherwise, no place is found.
#[cold]
fn caller_of_std() -> Option<String> {
    let frames = format!("{:?}", Backtrace::force_capture());
    first_outside(&frames)
}

fn first_outside(frames: &str) -> Option<String> {
    let frames = frames.split("{ fn: ").skip(1).map(|frame| {
        let file =
            frame.split_once(", file: \"").and_then(|(_, rest)| rest.split_once("\", line: "));
        let line =
            file.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
        (frame, file.map(|(file, _)| file), line)
    });
    // The hook itself, and what called it.
    let below = frames.skip_while(|(frame, ..)| !frame.contains("panicking::panic_fmt"));
    let mut outside = below.skip(1).skip_while(|(frame, file, _)| match file {
        Some(file) => is_std(file),
        None => ["core::", "alloc::", "std::", "<"].iter().any(|of| frame[1..].starts_with(of)),
    });
    // Without information for debuggers it has no place, and what comes behind it did not call std.
    let (_, file, line) = outside.next()?;
    let file = file.filter(|file| file.ends_with(".rs"))?.trim_start_matches("./");
    Some(format!("{file}:{}", line?))
}

/// Does `act` with panics passed on: the hook that was there before prints message and backtrace.
pub(super) fn loudly<T>(act: impl FnOnce() -> T) -> T {
    struct Quiet(bool);
    impl Drop for Quiet {
        fn drop(&mut self) {
            LOUD.set(self.0);
        }
    }
    let _quiet = Quiet(LOUD.replace(true));
    act()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_of_std_is_below_the_panic() {
        let std = "/rustc/5980/library";
        let frames = format!(
            "Backtrace [{{ fn: \"hook::hear\", file: \"./src/engine/simulate/hook.rs\", line: 30 }}, \
             {{ fn: \"core::panicking::panic_fmt\", file: \"{std}/core/src/panicking.rs\", line: 80 }}, \
             {{ fn: \"alloc::raw_vec::capacity_overflow\", file: \"{std}/alloc/src/raw_vec/mod.rs\", line: 28 }}, \
             {{ fn: \"alloc::vec::Vec<T>::grow\" }}, \
             {{ fn: \"bench::grow\", file: \"./src/grow.rs\", line: 12 }}, \
             {{ fn: \"bench::main\", file: \"./src/main.rs\", line: 3 }}]"
        );
        assert_eq!(first_outside(&frames).as_deref(), Some("src/grow.rs:12"));
        assert_eq!(first_outside("something else"), None);
        // Built without information for debuggers, which the C library has.
        let bare = frames.replace(", file: \"./src/grow.rs\", line: 12", "");
        assert_eq!(first_outside(&bare.replace("main.rs", "pthread_create.c")), None);
        assert_eq!(first_outside(&frames.replace("panic_fmt", "other")), None);
    }
}
