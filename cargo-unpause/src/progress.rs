//! The progress of a command on long files: a line on the terminal that is overwritten again and
//! again.

use std::cell::Cell;
use std::io::{Read, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use sim::check::picture::screen::columns;

/// The delay before the first output and between outputs.
const EVERY: Duration = Duration::from_millis(250);

/// The progress line. Dropping this value erases the line.
pub(crate) struct ProgressLine {
    watched: bool,
    since: Instant,
    last: Cell<Instant>,
    written: Cell<usize>,
}

impl ProgressLine {
    pub(crate) fn new(watched: bool) -> ProgressLine {
        let now = Instant::now();
        ProgressLine { watched, since: now, last: Cell::new(now), written: Cell::new(0) }
    }

    /// Shows `text` if enough time has passed since the last output.
    pub(crate) fn say(&self, text: impl FnOnce(Duration) -> String) {
        if !self.watched || self.last.get().elapsed() < EVERY {
            return;
        }
        self.last.set(Instant::now());
        self.write(&text(self.since.elapsed()));
    }

    /// Runs `work`, which reports no progress, and shows the elapsed time while it runs.
    pub(crate) fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if !self.watched {
            return work();
        }
        let (done, over) = channel::<()>();
        let (since, mut written) = (Instant::now(), self.written.get());
        std::thread::scope(|scope| {
            let clock = scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(EVERY) {
                    written =
                        over_write(&format!("{what}: {} s", since.elapsed().as_secs()), written);
                }
                written
            });
            // Dropped at the end of the work, even after a panic.
            let done = done;
            let out = work();
            drop(done);
            self.written.set(clock.join().unwrap_or(0));
            out
        })
    }

    fn write(&self, text: &str) {
        self.written.set(over_write(text, self.written.get()));
    }
}

/// Overwrites a line of `written` characters. Returns the new length of the line.
fn over_write(text: &str, written: usize) -> usize {
    let width = columns(text);
    let mut stream = stderr();
    let _ = write!(stream, "\r{text}{}", " ".repeat(written.saturating_sub(width)));
    let _ = stream.flush();
    width
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.written.get() > 0 {
            self.write("");
            let _ = write!(stderr(), "\r");
        }
    }
}

/// A reader that counts and shows the bytes read.
pub(crate) struct CountingReader<'a, R> {
    pub(crate) input: R,
    pub(crate) bytes: u64,
    /// The size of the file, if known.
    pub(crate) of: Option<u64>,
    pub(crate) progress: &'a ProgressLine,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes += count as u64;
        let (bytes, of) = (self.bytes >> 20, self.of);
        self.progress.say(|_| match of.filter(|of| *of > 0) {
            Some(of) => format!("reading: {bytes} MiB, {} %", self.bytes.min(of) * 100 / of),
            None => format!("reading: {bytes} MiB"),
        });
        Ok(count)
    }
}
