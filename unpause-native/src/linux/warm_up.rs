//! The first run of a process, which makes what std and libc make at their first use.

use super::heap::Memory;
use super::local::{Local, Workers};
use super::request::Request;
use super::std_state::streams::{self, Streams};

/// Runs a small program once, the first time that it is called: what std reads or makes at first use is then the same
/// in all runs.
pub fn warm_up() {
    warm_up_with(|| drop(std::thread::spawn(|| ()).join()), None);
}

/// The same with another program, which may use another copy of std, with its `streams`: it spawns at most one thread
/// at a time, and joins it.
pub fn warm_up_with(program: impl FnOnce() + Send + 'static, streams: Option<Streams>) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // The carrier allocates and frees the same in each run: libc need not give the memory back in between.
        // SAFETY: a setting of libc.
        unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20) };
        // The buffers of the standard streams outlive the runs that use them.
        drop((std::io::stdout().lock(), std::io::stdin()));
        streams::find(streams);
        let Ok(idle) = Workers::take() else { return };
        let mut execution = Local::begin(idle, Box::new(program), Memory::Plain);
        loop {
            match execution.resume(0, 0) {
                Request::Join { thread } => {
                    while !matches!(execution.resume(thread, 0), Request::End) {}
                }
                Request::End => return,
                _ => {}
            }
        }
    });
}
