//! Helper processes for the runs of a search. They are copies of this process, each with a line to it.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{has_captured, isolation};

/// An end of the line between two processes. Each text on the line ends with a line feed.
pub(crate) struct HelperLine {
    stream: BufReader<UnixStream>,
    /// The beginning of a text that has not arrived completely.
    begun: Vec<u8>,
}

impl HelperLine {
    fn new(stream: UnixStream) -> HelperLine {
        HelperLine { stream: BufReader::new(stream), begun: Vec::new() }
    }

    /// Sends one or more texts. Returns `false` if the other process has ended.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        self.stream.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// Waits for the next text for at most `time`, or without a limit if `time` is `None`. Returns `None` if no text
    /// has arrived in this time.
    ///
    /// # Errors
    /// Returns an error if the other process has ended.
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

/// A helper process for the runs of a search. It ends when this value is dropped.
pub(crate) struct Helper {
    pub(crate) line: HelperLine,
    _process: unpause_native::Helper,
}

impl Helper {
    /// Forks this process with the calling thread only. The copy calls `work` with its end of the line. Must be called
    /// between two runs. Returns `None` if the system refuses to create a process; the search can then continue without
    /// it.
    pub(crate) fn begin(work: impl FnOnce(&mut HelperLine)) -> Option<Helper> {
        let (here, there) = UnixStream::pair().ok()?;
        let process = unpause_native::Helper::begin(|| {
            isolation::quiet();
            work(&mut HelperLine::new(there));
        });
        Some(Helper { line: HelperLine::new(here), _process: process.ok()? })
    }
}

/// Returns `true` if other processes may execute runs of the current test, because its runs change nothing that
/// outlives them.
pub(crate) fn may_have_helpers() -> bool {
    !has_captured() && !isolation::is_process()
}
