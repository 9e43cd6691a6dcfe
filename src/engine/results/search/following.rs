//! Reads a file while processes append lines to it.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use unpause_ordered::Set;

/// Returns the complete lines after the first `read` bytes of a file, and advances `read`.
pub(super) fn read_on(path: &Path, read: &mut u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if fs::metadata(path)?.len() <= *read {
        return Ok(bytes);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(*read))?;
    file.read_to_end(&mut bytes)?;
    // A line without a line feed is being written, or its process was killed.
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    *read += end as u64;
    Ok(bytes)
}

/// A position in a file to which this process and others append lines.
pub(super) struct Follower {
    path: PathBuf,
    read: u64,
    /// The hashes of lines that this process has appended and not yet read.
    own: Set<u64>,
}

impl Follower {
    /// Begins after the first `read` bytes of the file. The bytes after them, up to the end of the file, are a line
    /// without a line feed. This process has read the line, so it counts as an own line once it has a line feed.
    pub(super) fn new(path: PathBuf, read: u64, unended: &[u8]) -> Follower {
        Follower { path, read, own: Set::from_iter([number(unended.trim_ascii())]) }
    }

    /// Must be called before this process appends a line.
    pub(super) fn append(&mut self, line: &str) {
        self.own.insert(number(line.trim().as_bytes()));
    }

    /// Passes each new line of other processes to `see`. An unreadable file has no new lines.
    pub(super) fn others(&mut self, see: &mut dyn FnMut(&[u8])) {
        let lines = read_on(&self.path, &mut self.read).unwrap_or_default();
        for line in lines.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if !line.is_empty() && !self.own.remove(&number(line)) {
                see(line);
            }
        }
    }
}

fn number(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn whole_lines_of_others_are_read_once_and_own_lines_never() {
        let path = std::env::temp_dir().join(format!("sim-following-{}", std::process::id()));
        fs::write(&path, "old\ncut").unwrap();
        let mut follower = Follower::new(path.clone(), 4, b"cut");
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let others = |follower: &mut Follower| {
            let mut lines = Vec::new();
            follower.others(&mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap()));
            lines
        };
        assert_eq!(others(&mut follower), [""; 0]);
        follower.append("own\n");
        file.write_all(b"\nown\nother\nbegun").unwrap();
        // The line `cut` was read before.
        assert_eq!(others(&mut follower), ["other"]);
        file.write_all(b" and ended\nown\n").unwrap();
        // Another process has written the same line.
        assert_eq!(others(&mut follower), ["begun and ended", "own"]);
        // Another process ends the line that was cut.
        fs::write(&path, "old\ncut here\n").unwrap();
        assert_eq!(others(&mut Follower::new(path.clone(), 4, b"cut")), ["cut here"]);
        fs::remove_file(path).unwrap();
    }
}
