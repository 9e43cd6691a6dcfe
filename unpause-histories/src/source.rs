//! The bytes of a file, one at a time, with their place and with limits on sizes.
//!
//! The reader has its own buffer of one block, so it never keeps a whole file in memory, even without line ends or from
//! a pipe. UTF-8 is verified when bytes are converted to text.

use std::io::{ErrorKind, Read};

use crate::problem::{FilePlace, Problem, ProblemKind};

/// The maximum depth of nested values. Real histories contain no deeper values, and each level needs stack space.
pub(crate) const DEPTH_MAX: usize = 100;
/// The maximum number of values in one event, including nested ones.
pub(crate) const ITEMS_MAX: usize = 1 << 20;
/// The maximum number of bytes of text in one event.
pub(crate) const EVENT_BYTES_MAX: u64 = 16 << 20;
/// The maximum number of characters in a number.
pub(crate) const NUMBER_MAX: usize = 1000;

const BLOCK: usize = 64 << 10;

/// A file being read.
pub(crate) struct FileReader<'a> {
    input: &'a mut dyn Read,
    block: Vec<u8>,
    /// The number of bytes in the block, and the number of consumed bytes.
    filled: usize,
    next: usize,
    at: FilePlace,
    /// The number of bytes read in total, and the number at the beginning of the current event.
    bytes: u64,
    event_began: u64,
    items: usize,
}

impl<'a> FileReader<'a> {
    pub(crate) fn new(input: &'a mut dyn Read) -> FileReader<'a> {
        FileReader::in_blocks(input, BLOCK)
    }

    /// Creates a reader for a text of about one line, with a smaller block than for a file.
    pub(crate) fn short(input: &'a mut &[u8]) -> FileReader<'a> {
        let size = input.len().clamp(1, BLOCK);
        FileReader::in_blocks(input, size)
    }

    fn in_blocks(input: &'a mut dyn Read, size: usize) -> FileReader<'a> {
        let at = FilePlace { line: 1, column: 1 };
        let block = vec![0; size];
        FileReader { input, block, filled: 0, next: 0, at, bytes: 0, event_began: 0, items: 0 }
    }

    /// Returns the place of the next byte.
    pub(crate) fn at(&self) -> FilePlace {
        self.at
    }

    /// Returns an error at the next byte.
    pub(crate) fn syntax<T>(&self, message: impl Into<String>) -> Result<T, Problem> {
        Err(Problem::at(self.at, ProblemKind::Syntax, message))
    }

    /// Marks the beginning of an event, whose size is limited.
    pub(crate) fn begin_event(&mut self) {
        self.event_began = self.bytes;
        self.items = 0;
    }

    /// Counts a value of the event.
    ///
    /// # Errors
    /// If the event has too many values.
    pub(crate) fn count_item(&mut self) -> Result<(), Problem> {
        self.items += 1;
        if self.items <= ITEMS_MAX {
            return Ok(());
        }
        let message = format!("one event holds more than {ITEMS_MAX} values; split the history");
        Err(Problem::at(self.at, ProblemKind::Limit, message))
    }

    /// Returns the next byte without consuming it.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, Problem> {
        if self.next == self.filled {
            self.fill()?;
        }
        Ok(self.block[..self.filled].get(self.next).copied())
    }

    fn fill(&mut self) -> Result<(), Problem> {
        (self.next, self.filled) = (0, 0);
        loop {
            match self.input.read(&mut self.block) {
                Ok(count) => {
                    self.filled = count;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("cannot read on: {error}");
                    return Err(Problem::at(self.at, ProblemKind::Io, message));
                }
            }
        }
    }

    /// Consumes and returns the next byte.
    pub(crate) fn next(&mut self) -> Result<Option<u8>, Problem> {
        let Some(byte) = self.peek()? else {
            return Ok(None);
        };
        self.next += 1;
        self.bytes += 1;
        if byte == b'\n' {
            self.at = FilePlace::line(self.at.line + 1);
        } else if byte & 0xc0 != 0x80 {
            // A character is counted at its first byte.
            self.at.column += 1;
        }
        if self.bytes - self.event_began > EVENT_BYTES_MAX {
            let message = format!(
                "one event has more than {} MiB of text; is something left open above?",
                EVENT_BYTES_MAX >> 20
            );
            return Err(Problem::at(self.at, ProblemKind::Limit, message));
        }
        Ok(Some(byte))
    }

    /// Consumes the next byte if it is `wanted`.
    pub(crate) fn take(&mut self, wanted: u8) -> Result<bool, Problem> {
        let is_wanted = self.peek()? == Some(wanted);
        if is_wanted {
            self.next()?;
        }
        Ok(is_wanted)
    }

    /// Consumes bytes while they are wanted, and appends them to `out`.
    pub(crate) fn take_while(
        &mut self,
        out: &mut Vec<u8>,
        wanted: impl Fn(u8) -> bool,
    ) -> Result<(), Problem> {
        while let Some(byte) = self.peek()?.filter(|byte| wanted(*byte)) {
            out.push(byte);
            self.next()?;
        }
        Ok(())
    }

    /// Consumes the rest of the line, without its end; `None` at the end of the file.
    pub(crate) fn line(&mut self) -> Result<Option<(FilePlace, String)>, Problem> {
        self.begin_event();
        let at = self.at;
        if self.peek()?.is_none() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.take_while(&mut bytes, |byte| byte != b'\n')?;
        self.next()?;
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        utf8(at, bytes).map(|text| Some((at, text)))
    }

    /// Skips the byte order mark that some editors write before UTF-8. Other files that begin with its first byte have
    /// no supported format.
    pub(crate) fn skip_mark(&mut self) -> Result<(), Problem> {
        if self.peek()? != Some(0xef) {
            return Ok(());
        }
        for wanted in [0xef, 0xbb, 0xbf] {
            if !self.take(wanted)? {
                return self.syntax("not UTF-8; convert the file, for example with iconv -t UTF-8");
            }
        }
        self.at = FilePlace::line(1);
        Ok(())
    }

    /// Returns the next byte in the form for error messages.
    pub(crate) fn found(&mut self) -> Result<String, Problem> {
        Ok(match self.peek()? {
            None => "the end of the file".to_owned(),
            Some(b'\n') => "the end of the line".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(b' ') => "a blank".to_owned(),
            Some(byte) => format!("the byte {byte:#04x}"),
        })
    }
}

/// Converts bytes that began at `at` to text.
pub(crate) fn utf8(at: FilePlace, bytes: Vec<u8>) -> Result<String, Problem> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let mut at = at;
        for letter in before.chars() {
            at.column += 1;
            if letter == '\n' {
                at = FilePlace::line(at.line + 1);
            }
        }
        let message = "not UTF-8; convert the file, for example with iconv -t UTF-8";
        Problem::at(at, ProblemKind::Syntax, message)
    })
}
