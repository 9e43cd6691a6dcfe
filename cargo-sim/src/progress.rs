//! How far a command is, on one line that is written over: for who watches a long file.

use std::cell::Cell;
use std::io::{Read, Write, stderr};
use std::time::{Duration, Instant};

/// Nothing is shown of what takes less than this, and nothing more often.
const EVERY: Duration = Duration::from_millis(250);

/// The line. Dropping it wipes it off.
pub(crate) struct Progress {
    watched: bool,
    since: Instant,
    last: Cell<Instant>,
    written: Cell<usize>,
}

impl Progress {
    pub(crate) fn new(watched: bool) -> Progress {
        let now = Instant::now();
        Progress { watched, since: now, last: Cell::new(now), written: Cell::new(0) }
    }

    /// Says where we are, if it is time to.
    pub(crate) fn say(&self, text: impl FnOnce(Duration) -> String) {
        if !self.watched || self.last.get().elapsed() < EVERY {
            return;
        }
        self.last.set(Instant::now());
        self.write(&text(self.since.elapsed()));
    }

    fn write(&self, text: &str) {
        let width = text.chars().count();
        let wiped = self.written.replace(width).saturating_sub(width);
        let mut stream = stderr();
        let _ = write!(stream, "\r{text}{}", " ".repeat(wiped));
        let _ = stream.flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.written.get() > 0 {
            self.write("");
            let _ = write!(stderr(), "\r");
        }
    }
}

/// A file that tells how much of it was read.
pub(crate) struct Counted<'a, R> {
    pub(crate) input: R,
    pub(crate) bytes: u64,
    /// The size of the file, if it is known.
    pub(crate) of: Option<u64>,
    pub(crate) progress: &'a Progress,
}

impl<R: Read> Read for Counted<'_, R> {
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
