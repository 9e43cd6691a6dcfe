//! The first run of a process, which triggers all initialisations of std and libc that happen once.

use super::heap::Memory;
use super::local::{Local, Workers};
use super::request::Request;
use super::statics;
use super::std_state::streams::{self, Streams};

/// Runs a small program on the first call. Afterwards, the data that std reads or creates at first use is the same in
/// all runs.
pub fn warm_up() {
    warm_up_with(|| drop(std::thread::spawn(|| ()).join()), None);
}

/// Like `warm_up`, but with another program, which may use another copy of std with its `streams`. The program must
/// spawn at most one thread at a time, and join it.
///
/// The statics of the tested crates keep their values: a test may have changed them before its first closure.
pub fn warm_up_with(program: impl FnOnce() + Send + 'static, streams: Option<Streams>) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // The carrier allocates and frees the same memory in each run, so libc need not return it to the system in
        // between. Each test has a thread of its own, and with several arenas each of them would keep the memory of
        // another test. Forks would then take longer. Only one thread works at a time, so no thread waits for the
        // arena. SAFETY: the calls only change settings of libc.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
        // The buffers of the standard streams must outlive the runs that use them.
        drop((std::io::stdout().lock(), std::io::stdin()));
        streams::find(streams);
        let statics = statics::save().map(|()| statics::current()).unwrap_or_default();
        let Ok(idle) = Workers::take() else { return };
        let mut execution = Local::begin(idle, Box::new(program), Memory::Plain);
        loop {
            match execution.resume(0, 0) {
                Request::Join { thread } => {
                    while !matches!(execution.resume(thread, 0), Request::End) {}
                }
                Request::End => break,
                _ => {}
            }
        }
        drop(execution);
        statics::give_back(&statics);
    });
}
