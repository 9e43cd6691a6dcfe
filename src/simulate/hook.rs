//! The panic hook of simulated runs: what it hears, and when it lets a panic be shown.

use std::cell::Cell;
use std::io::Write;
use std::panic::PanicHookInfo;

use crate::panics::{self, Heard, Panicked};
use crate::rt::in_run;

thread_local! {
    /// Whether panics in runs are passed on as well.
    static LOUD: Cell<bool> = const { Cell::new(false) };
    /// Whether a second panic of the current step has been told of.
    static SECOND: Cell<bool> = const { Cell::new(false) };
    /// Where the run was at the last panic.
    static PANICKED_AT: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
}

/// Installs the hook, the first time it is called.
pub(super) fn install() {
    panics::install(hear);
}

fn hear(info: &PanicHookInfo<'_>) -> Heard {
    if !in_run() {
        return Heard::Foreign;
    }
    let panicked = panics::panicked(info);
    let position = super::watchdog::position();
    // A panic that the program caught in an earlier step is none of this one's business.
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
    if LOUD.get() { Heard::Shown } else { Heard::Taken }
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
