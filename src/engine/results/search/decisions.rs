//! Decisions of the runs of a recorded search, for its certificate.
//!
//! The lines of slices do not contain the decisions of their runs, because only a certificate needs them. So they are
//! in a file beside the results, with the ending `decisions`. The first line identifies the search. Each further line
//! begins with the generation, the round and the job number of a slice, and the number of its runs. The decisions of
//! each run follow, after a tab.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use unpause_ordered::{Map, Set};

use super::SliceKey;
use super::following::read_on;
use crate::engine::results::ResultsHeader;

/// The file extension of decisions.
const ENDING: &str = "decisions";

/// The decisions of the runs of a search.
pub(super) struct DecisionLog {
    path: PathBuf,
    file: File,
    /// The number of bytes that were read.
    read: u64,
    /// The decisions of slices that other processes have executed.
    known: Map<SliceKey, Vec<String>>,
    /// The slices that this process has executed. The search of this process already has their decisions.
    own: Set<SliceKey>,
    /// True if the file may end within a line.
    is_torn: bool,
}

impl DecisionLog {
    /// Opens the file beside the result file of a search.
    ///
    /// # Errors
    /// If the file cannot be used, or belongs to another search. The error is the reason as text.
    pub(super) fn open(results: &Path, header: &ResultsHeader) -> Result<DecisionLog, String> {
        let path = results.with_extension(ENDING);
        let text = |error: io::Error| format!("{}: {error}", path.display());
        let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(text)?;
        // The limits of two processes may differ, because they do not affect the runs.
        let first = ResultsHeader { search: None, must_prove: false, ..header.clone() }.line();
        let mut read = 0;
        let lines = read_on(&path, &mut read).map_err(text)?;
        let length = file.metadata().map_err(text)?.len();
        let mut is_torn = length > read;
        let is_own = |line: &str| line == first;
        if !String::from_utf8_lossy(&lines).lines().any(is_own) {
            if !lines.is_empty() {
                let name = path.display();
                return Err(format!(
                    "{name} is of another search. Delete it, or name another folder"
                ));
            }
            let begin = if is_torn { "\n" } else { "" };
            file.write_all(format!("{begin}{first}\n").as_bytes()).map_err(text)?;
            is_torn = false;
        }
        Ok(DecisionLog { path, file, read: 0, known: Map::new(), own: Set::new(), is_torn })
    }

    /// Returns the decisions of the runs of a slice, if a process has written them.
    pub(super) fn take(&mut self, key: SliceKey) -> Option<Vec<String>> {
        if let Some(known) = self.known.remove(&key) {
            return Some(known);
        }
        let lines = read_on(&self.path, &mut self.read).ok()?;
        let lines = lines.split(|byte| *byte == b'\n').filter_map(slice);
        self.known.extend(lines.filter(|(key, _)| !self.own.contains(key)));
        self.known.remove(&key)
    }

    /// Appends the decisions of the runs of a slice.
    pub(super) fn write(&mut self, key: SliceKey, runs: &[String]) -> io::Result<()> {
        self.own.insert(key);
        let begin = if self.is_torn { "\n" } else { "" };
        let written = self.file.write_all(format!("{begin}{}\n", line(key, runs)).as_bytes());
        self.is_torn = written.is_err();
        written
    }
}

fn line((generation, round, job): SliceKey, runs: &[String]) -> String {
    let first = format!("{generation} {round} {job} {}", runs.len());
    runs.iter().fold(first, |line, run| line + "\t" + run)
}

/// Parses the line of a slice. `None` if the line is damaged or is the first line.
fn slice(line: &[u8]) -> Option<(SliceKey, Vec<String>)> {
    let mut parts = std::str::from_utf8(line).ok()?.split('\t');
    let mut numbers = parts.next()?.split(' ').map(str::parse::<u64>);
    let mut number = || numbers.next()?.ok();
    let (generation, round, job, count) = (number()?, number()?, number()?, number()?);
    let runs: Vec<String> = parts.map(str::to_owned).collect();
    let is_whole = |run: &String| run.starts_with('{') && run.ends_with('}');
    let is_all = runs.len() as u64 == count && runs.iter().all(is_whole);
    let key = (u32::try_from(generation).ok()?, round, usize::try_from(job).ok()?);
    is_all.then_some((key, runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decisions_of_a_slice_are_read_back_unless_the_line_is_damaged() {
        let runs = ["{\"steps\":[0]}", "{\"steps\":[0,1]}"].map(str::to_owned);
        for runs in [&runs[..], &[]] {
            let text = line((1, 20, 3), runs);
            assert_eq!(slice(text.as_bytes()), Some(((1, 20, 3), runs.to_vec())));
        }
        let text = line((1, 20, 3), &runs);
        for end in 0..text.len() {
            assert_eq!(slice(&text.as_bytes()[..end]), None, "{end}");
        }
        let glued = format!("{}{text}", &text[..20]);
        assert_eq!(slice(glued.as_bytes()), None);
        assert_eq!(slice(b"{\"sim\":4}"), None);
    }

    #[test]
    fn only_decisions_of_other_processes_are_kept() {
        let path = std::env::temp_dir().join(format!("sim-decisions-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let open = || OpenOptions::new().append(true).open(&path).unwrap();
        let log = || {
            let (known, own) = Default::default();
            DecisionLog { path: path.clone(), file: open(), read: 0, known, own, is_torn: false }
        };
        let runs = ["{\"steps\":[0]}".to_owned()];
        let (mut one, mut other) = (log(), log());
        one.write((0, 0, 0), &runs).unwrap();
        other.write((0, 0, 1), &runs).unwrap();
        assert_eq!(one.take((0, 0, 2)), None);
        assert_eq!(Vec::from_iter(one.known.keys().copied()), [(0, 0, 1)]);
        assert_eq!(one.take((0, 0, 1)), Some(runs.to_vec()));
        assert_eq!(other.take((0, 0, 0)), Some(runs.to_vec()));
        std::fs::remove_file(path).unwrap();
    }
}
