//! Processes that make runs of a search beside this one: copies of it, each with a line to it.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{HAS_CAPTURED, isolation};

/// An end of the line between two processes. Each text on it ends with a line feed.
pub(crate) struct HelperLine {
    stream: BufReader<UnixStream>,
    /// The begin of a text whose end has not come.
    begun: Vec<u8>,
}

impl HelperLine {
    fn new(stream: UnixStream) -> HelperLine {
        HelperLine { stream: BufReader::new(stream), begun: Vec::new() }
    }

    /// Sends one text or several. Returns `false` if the other process has ended.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        self.stream.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// Waits for the next text, not longer than `time`; `None` for any time. Returns `None` if there is none yet.
    ///
    /// # Errors
    /// If the other process has ended.
    pub(crate) fn hear(&mut self, time: Option<Duration>) -> io::Result<Option<String>> {
        self.stream.get_ref().set_read_timeout(time)?;
        match self.stream.read_until(b'\n', &mut self.begun) {
            Ok(_) if self.begun.ends_with(b"\n") => {
                let line = String::from_utf8(std::mem::take(&mut self.begun));
                line.map(Some).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
            }
            Ok(_) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// A process that makes runs beside this one. It is ended when this is dropped.
pub(crate) struct Helper {
    pub(crate) line: HelperLine,
    _process: unpause_native::Helper,
}

impl Helper {
    /// Copies this process, with the calling thread only, which calls `work` with its end of the line. To be called
    /// between two runs. `None` if the system refuses a process, which is no reason to make no runs.
    pub(crate) fn begin(work: impl FnOnce(&mut HelperLine)) -> Option<Helper> {
        let (here, there) = UnixStream::pair().ok()?;
        let process = unpause_native::Helper::begin(|| {
            isolation::quiet();
            work(&mut HelperLine::new(there));
        });
        Some(Helper { line: HelperLine::new(here), _process: process.ok()? })
    }
}

/// Returns `true` if other processes may make runs of the current test: nothing that outlives a run is changed by it.
pub(crate) fn may_have_helpers() -> bool {
    !HAS_CAPTURED.load(Ordering::Relaxed) && !isolation::is_process()
}
