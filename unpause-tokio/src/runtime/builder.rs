//! The settings of a runtime.

use std::io;
use std::time::Duration;

use real::runtime::LocalOptions;
use sim::__private::in_run;

use super::{LocalRuntime, Runtime};

/// Creates a runtime: tokio's [`Builder`](real::runtime::Builder), with its settings.
///
/// ```
/// let runtime = tokio::runtime::Builder::new_current_thread().thread_name("worker").build().unwrap();
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// ```
#[derive(Debug)]
pub struct Builder(real::runtime::Builder);

/// Writes the functions that forward settings to tokio's builder.
macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("See [tokio's](real::runtime::Builder::", stringify!($name), ").")]
        $(#[$attribute])*
        pub fn $name(&mut self, $($argument: $type),*) -> &mut Builder {
            self.0.$name($($argument),*);
            self
        }
    )*};
}

impl Builder {
    /// Creates a builder of a runtime that runs all tasks on the thread of `block_on`.
    pub fn new_current_thread() -> Builder {
        Builder(real::runtime::Builder::new_current_thread())
    }

    /// Creates a builder of a runtime with several threads.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new_multi_thread() -> Builder {
        Builder(real::runtime::Builder::new_multi_thread())
    }

    settings! {
        enable_all();
        #[cfg(any(feature = "net", all(unix, any(feature = "process", feature = "signal"))))]
        enable_io();
        #[cfg(feature = "time")]
        enable_time();
        #[cfg(any(feature = "net", all(unix, any(feature = "process", feature = "signal"))))]
        max_io_events_per_tick(capacity: usize);
        #[cfg(feature = "test-util")]
        start_paused(start_paused: bool);
        worker_threads(threads: usize);
        max_blocking_threads(threads: usize);
        thread_name(name: impl Into<String>);
        thread_name_fn(name: impl Fn() -> String + Send + Sync + 'static);
        name(name: impl Into<String>);
        thread_stack_size(bytes: usize);
        thread_keep_alive(duration: Duration);
        global_queue_interval(ticks: u32);
        event_interval(ticks: u32);
        on_thread_start(f: impl Fn() + Send + Sync + 'static);
        on_thread_stop(f: impl Fn() + Send + Sync + 'static);
        on_thread_park(f: impl Fn() + Send + Sync + 'static);
        on_thread_unpark(f: impl Fn() + Send + Sync + 'static);
    }

    /// Creates the runtime.
    ///
    /// # Errors
    /// In a run, which is a runtime itself, or if the system cannot create threads.
    pub fn build(&mut self) -> io::Result<Runtime> {
        refused()?;
        self.0.build().map(Runtime::of)
    }

    /// Creates a runtime for tasks that need not be `Send`.
    ///
    /// # Errors
    /// In the same cases as [`build`](Self::build).
    pub fn build_local(&mut self, options: LocalOptions) -> io::Result<LocalRuntime> {
        refused()?;
        self.0.build_local(options).map(LocalRuntime::of)
    }
}

fn refused() -> io::Result<()> {
    let message = "a runtime in a run of unpause: its threads would be no part of the run; spawn on the run, by \
        tokio::spawn or Handle::current(), or make the runtime outside of the test";
    if in_run() { Err(io::Error::new(io::ErrorKind::Unsupported, message)) } else { Ok(()) }
}
