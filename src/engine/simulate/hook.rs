//! The panic hook of simulated runs: the panics that it handles, and the conditions for showing a panic.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::panic::PanicHookInfo;

use crate::native;
use crate::report::runtimes;
use crate::rt::in_run;
use crate::run::panics::{self, PanicHandling, Panicked};
use crate::run::place::in_text;
use crate::run::place::is_std;

thread_local! {
    /// True if panics in runs are also passed on to the previous hook.
    static LOUD: Cell<bool> = const { Cell::new(false) };
    /// True if a second panic of the current step has been reported.
    static SECOND: Cell<bool> = const { Cell::new(false) };
    /// The position of the run at the last panic.
    static PANICKED_AT: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
    /// The panics of the current step.
    static OF_STEP: RefCell<Vec<Panicked>> = const { RefCell::new(Vec::new()) };
    /// True if the location of the caller must be captured for a panic in the standard library.
    static TRACES_CALLS: Cell<bool> = const { Cell::new(false) };
    /// The callers of the last panic.
    static CALLERS: RefCell<Callers> = RefCell::default();
}

/// Clears the position of the last panic on this thread. Called when the thread begins or leaves the runs of a worker.
/// Each worker counts its runs from 1, so the positions of two workers may be equal.
pub(super) fn forget_position() {
    PANICKED_AT.set(None);
}

/// Installs the hook at the first call.
pub(super) fn install() {
    panics::install(on_panic);
    native::on_abort(on_abort);
}

/// Handles a call of `abort` by a task. Only instrumented programs report such a call.
fn on_abort() {
    let frames = format!("{:?}", Backtrace::force_capture());
    let place = outside_of(calls(&frames, "process::abort")).unwrap_or_default();
    super::watchdog::die("The task called `abort`, which ends the process.".to_owned(), place);
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
        CALLERS.replace(Callers::of(&panicked));
    }
    let position = super::watchdog::position();
    // A panic that the program caught in an earlier step is irrelevant for this step.
    let same_step = PANICKED_AT.replace(position) == position;
    let of_step = OF_STEP.with_borrow_mut(|of_step| {
        if !same_step {
            of_step.clear();
        }
        of_step.push(panicked.clone());
        panics::aborts(&panicked).then(|| std::mem::take(of_step))
    });
    if let Some(of_step) = of_step {
        let place = of_step.iter().rev().nth(1).map_or("", |panic| &panic.place).to_owned();
        super::watchdog::die(panics::aborted(&of_step), place);
        // This line is reached only if there is no watchdog.
        write(&format!("\nFAILED  {}: abort, {}\n", super::watchdog::title(), panicked.message));
    }
    match panics::note(panicked.clone()) {
        // The information is printed now, because it may be the last chance. Unless the program catches this panic, it
        // happened during the unwinding of the other panic, and the process now aborts. The compiler's own panic, which
        // contains no information about the program, then follows as a third.
        Some(first) if same_step => {
            if !SECOND.replace(true) {
                tell(&first, &panicked);
            }
        }
        _ => SECOND.set(false),
    }
    if LOUD.get() { PanicHandling::Shown } else { PanicHandling::Taken }
}

/// Prints two panics, because one of them happened while the other unwound. The texts are not printed by `eprint!`,
/// because a test harness may capture them and would have no time to show them.
fn tell(first: &Panicked, second: &Panicked) {
    let text = format!(
        "\nsim: a second panic in one step. If the process aborts now, a destructor panicked while a \
         panic unwound.\n\
         first:  {:?} at {}\nsecond: {:?} at {}\n{}\n",
        first.message,
        in_text(&first.place),
        second.message,
        in_text(&second.place),
        super::watchdog::whereabouts(),
    );
    write(&text);
}

/// Writes to standard error directly.
fn write(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Calls `act` and keeps the [callers] of its last panic. To find the callers takes milliseconds for each panic in the
/// standard library or about a missing runtime, and no time for other panics.
pub(super) fn tracing_calls<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            TRACES_CALLS.set(self.0);
        }
    }
    CALLERS.take();
    let _before = Before(TRACES_CALLS.replace(true));
    act()
}

/// The callers below a panic that a report names, if they differ from the functions that panicked.
///
/// std provides a backtrace only as text. The callers are parsed from its `Debug` text, which contains function, file
/// and line of each frame. If this format changes, no callers are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Callers {
    /// The location, as `file:line`, that called the standard library, if the standard library panicked. `None` if the
    /// program has no debug information.
    pub(super) of_std: Option<String>,
    /// The called tokio function, if it panicked because a run has no tokio runtime.
    pub(super) of_runtime: Option<String>,
}

impl Callers {
    #[cold]
    fn of(panicked: &Panicked) -> Callers {
        let (in_std, in_tokio) = (is_std(&panicked.place), runtimes::is_needed(&panicked.message));
        if !in_std && !in_tokio {
            return Callers::default();
        }
        let frames = format!("{:?}", Backtrace::force_capture());
        Callers {
            of_std: if in_std { first_outside(&frames) } else { None },
            of_runtime: if in_tokio { last_of_tokio(&frames) } else { None },
        }
    }
}

/// Returns the callers of the last panic in [`tracing_calls`].
pub(super) fn callers() -> Callers {
    CALLERS.take()
}

/// A frame of a backtrace.
#[derive(Clone, Copy)]
struct Frame<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<&'a str>,
}

impl Frame<'_> {
    fn is_std(&self) -> bool {
        match self.file {
            Some(file) => is_std(file),
            None => {
                ["core::", "alloc::", "std::", "<"].iter().any(|of| self.function.starts_with(of))
            }
        }
    }
}

impl Frame<'_> {
    /// Returns the path of a tokio function; `None` for other functions. The name of an inlined function has no path,
    /// so its file is used.
    fn in_tokio(&self) -> Option<String> {
        let function = self.function.trim_start_matches('<').trim_end_matches("::{{closure}}");
        if function.starts_with("tokio::") {
            return Some(function.to_owned());
        }
        let file = self.file?.replace('\\', "/");
        let (folder, path) = file.rsplit_once("/src/")?;
        let folder = folder.rsplit('/').next()?;
        let version = folder.strip_prefix("tokio").map(|rest| rest.trim_start_matches('-'))?;
        if !version.is_empty() && !version.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let module = path.strip_suffix(".rs")?.trim_end_matches("/mod").replace('/', "::");
        let name = function.split('<').next().unwrap_or_default().rsplit("::").next()?;
        Some(format!("tokio::{module}::{name}"))
    }
}

/// Returns the frames below a panic, beginning with the innermost.
fn below_the_panic(frames: &str) -> impl Iterator<Item = Frame<'_>> {
    calls(frames, "panicking::panic_fmt")
}

/// Returns the frames that have called a function, beginning with the innermost.
fn calls<'a>(frames: &'a str, function: &'a str) -> impl Iterator<Item = Frame<'a>> {
    let frames = frames.split("{ fn: \"").skip(1).map(|frame| {
        let function = frame.split('"').next().unwrap_or_default();
        let file =
            frame.split_once(", file: \"").and_then(|(_, rest)| rest.split_once("\", line: "));
        let line =
            file.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
        Frame { function, file: file.map(|(file, _)| file), line }
    });
    // Skips the hook itself and its callers, up to the function.
    frames.skip_while(move |frame| !frame.function.contains(function)).skip(1)
}

/// Returns the location of the first frame below the panic that is outside the standard library.
fn first_outside(frames: &str) -> Option<String> {
    outside_of(below_the_panic(frames))
}

/// Returns the location of the first of these frames that is outside the standard library.
fn outside_of<'a>(mut frames: impl Iterator<Item = Frame<'a>>) -> Option<String> {
    // Without debug information, the frame has no location. The next frame must not be used, because it did not call
    // std.
    let outside = frames.find(|frame| !frame.is_std())?;
    let file = outside.file.filter(|file| file.ends_with(".rs"))?.trim_start_matches("./");
    Some(format!("{file}:{}", outside.line?))
}

/// Returns the tokio function below the panic that other code called.
fn last_of_tokio(frames: &str) -> Option<String> {
    let frames = below_the_panic(frames).map(|frame| (frame.is_std(), frame.in_tokio()));
    let inner = frames.take_while(|(is_std, in_tokio)| *is_std || in_tokio.is_some());
    inner.filter_map(|(_, in_tokio)| in_tokio).last()
}

/// Calls `act` and passes its panics on: the previous hook prints message and backtrace.
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
        // The program has no debug information, but the C library does.
        let bare = frames.replace(", file: \"./src/grow.rs\", line: 12", "");
        assert_eq!(first_outside(&bare.replace("main.rs", "pthread_create.c")), None);
        assert_eq!(first_outside(&frames.replace("panic_fmt", "other")), None);
    }

    #[test]
    fn the_called_function_of_tokio_is_the_outermost() {
        let frames = "Backtrace [{ fn: \"core::panicking::panic_fmt\" }, \
             { fn: \"tokio::runtime::scheduler::Handle::current\", file: \"/t/src/runtime/scheduler/mod.rs\", line: 92 }, \
             { fn: \"std::thread::local::LocalKey<T>::try_with\" }, \
             { fn: \"tokio::net::tcp::listener::TcpListener::bind::{{closure}}\", file: \"/t/src/net.rs\", line: 9 }, \
             { fn: \"app::serve::{{closure}}\", file: \"./src/lib.rs\", line: 12 }, \
             { fn: \"tokio::later\", file: \"/t/src/lib.rs\", line: 1 }]";
        let found = last_of_tokio(frames);
        assert_eq!(found.as_deref(), Some("tokio::net::tcp::listener::TcpListener::bind"));
        let other = frames.replace("tokio::", "other::");
        assert_eq!(last_of_tokio(&other), None);
        // The function is inlined, so its name has no path.
        let of = |file: &str| {
            let frame = format!("{{ fn: \"spawn_local<app::Task>\", file: \"{file}\", line: 9 }}");
            last_of_tokio(&format!("Backtrace [{{ fn: \"core::panicking::panic_fmt\" }}, {frame}]"))
        };
        let inlined = of("/u/registry/src/index/tokio-1.54.1/src/task/local.rs");
        assert_eq!(inlined.as_deref(), Some("tokio::task::local::spawn_local"));
        assert_eq!(
            of("/u/checkouts/tokio-0123/abc/tokio/src/time/mod.rs").as_deref(),
            Some("tokio::time::spawn_local")
        );
        assert_eq!(of("/u/registry/src/index/tokio-util-0.7.1/src/task/local.rs"), None);
    }
}
