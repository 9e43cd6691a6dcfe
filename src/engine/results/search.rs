//! Results of a search: one line for each slice of its rounds.
//!
//! The content of a slice is determined by the lines before it, so a written line stays valid. A killed process loses
//! only the slices that it was computing. [`Ledger`] reconstructs a search from its lines alone, without the program.

mod clash_line;
mod decisions;
mod following;
mod ledger;
mod line;
mod one_search;

pub use self::ledger::Ledger;
pub(super) use self::line::read;
#[cfg(test)]
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::line::read_back;
pub(crate) use self::line::{AuditLine, SeenBySlice, SliceKey, SliceLine, TopLine};
pub use self::one_search::one_search;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use unpause_ordered::Map;

use self::decisions::DecisionLog;
use self::following::Follower;
use super::failed;
use super::json::Json;
use super::part::{ResultsFile, ResultsHeader};
use crate::report::Report;
use crate::strategy::search::Apart;

/// The result file of a search. Lines are only appended.
pub(crate) struct SearchLog {
    /// The path as shown in messages.
    name: String,
    header: ResultsHeader,
    /// The criteria that other shares have learned for distinguishing runs.
    others: Apart,
    state: Mutex<LogState>,
}

struct LogState {
    file: File,
    follower: Follower,
    /// The decisions of the runs, if they are wanted for a certificate.
    decisions: Option<DecisionLog>,
    /// The lines of other processes. A slice with a line is read from it and not computed again.
    slices: Map<SliceKey, Box<SliceLine>>,
    tops: Map<u32, TopLine>,
    /// The number of runs that were read from lines instead of being executed.
    taken: u64,
    /// True if the file may end within a line.
    is_torn: bool,
    /// The first write error, if any.
    lost: Option<io::Error>,
}

/// The lines of a search file.
#[derive(Debug, Default)]
pub struct SearchLines {
    /// Boxed, because a map moves its entries.
    pub(super) slices: Map<SliceKey, Box<SliceLine>>,
    pub(super) tops: Map<u32, TopLine>,
    pub(super) audits: Map<u32, AuditLine>,
    /// The last estimate of the total number of runs.
    pub(super) estimate: Option<u64>,
}

impl SearchLines {
    /// Returns the criteria that the search has learned for distinguishing runs.
    pub(super) fn learnt(&self) -> Apart {
        let of_tops = self.tops.values().map(|line| line.top.apart);
        let of_slices = self.slices.values().filter_map(|line| line.slice.learnt);
        of_tops.chain(of_slices).fold(Apart::NOTHING, Apart::and)
    }

    /// Adds the lines of another file for the same share.
    ///
    /// # Errors
    /// If two lines for the same part of the search differ.
    pub fn join(&mut self, other: SearchLines) -> Result<(), String> {
        let SearchLines { slices, tops, audits, estimate } = other;
        self.estimate = estimate.or(self.estimate);
        audits.into_values().try_for_each(|line| self.add(Line::Audit(line)))?;
        tops.into_values().try_for_each(|line| self.add(Line::Top(line)))?;
        slices.into_values().try_for_each(|line| self.add(Line::Slice(line)))
    }

    /// Adds a line. Two processes may have computed the same part of the search, and their lines must then be equal.
    pub(super) fn add(&mut self, line: Line) -> Result<(), String> {
        let is_same = match line {
            Line::Slice(line) => {
                let known = self.slices.get(&line.key);
                let is_same = known.is_none_or(|known| known.text == line.text);
                // An equal line changes nothing.
                self.slices.insert(line.key, line);
                is_same
            }
            Line::Top(line) => {
                let same = |known: &TopLine| known.text == line.text;
                let is_same = self.tops.get(&line.generation).is_none_or(same);
                self.tops.insert(line.generation, line);
                is_same
            }
            Line::Audit(line) => {
                let is_same = self.audits.get(&line.generation).is_none_or(|known| *known == line);
                self.audits.insert(line.generation, line);
                is_same
            }
            Line::Estimate(runs) => {
                self.estimate = Some(runs);
                true
            }
        };
        match is_same {
            true => Ok(()),
            false => Err("the same part of the search had other runs before: the program is not a function of its \
                          decisions"
                .to_owned()),
        }
    }
}

/// A line of a search file.
pub(super) enum Line {
    Slice(Box<SliceLine>),
    Top(TopLine),
    Audit(AuditLine),
    Estimate(u64),
}

/// A file to which a search appends lines.
pub(super) struct OpenedFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// True if the file ends within a line.
    pub(super) is_torn: bool,
    /// The number of bytes up to the end of the last line with a line feed.
    pub(super) read: u64,
    /// The bytes after the last line feed.
    pub(super) unended: Vec<u8>,
    /// The content of the file, unless it is new.
    pub(super) part: Option<ResultsFile>,
}

impl SearchLog {
    /// Creates the log of a search. With `is_certified`, it also keeps the decisions of the runs.
    ///
    /// # Errors
    /// If the decisions cannot be kept. The error is the reason as text.
    pub(super) fn new(
        (name, header, others): (String, ResultsHeader, Apart),
        opened: OpenedFile,
        is_certified: bool,
    ) -> Result<SearchLog, String> {
        let OpenedFile { path, file, is_torn, read, unended, part } = opened;
        let decisions = is_certified.then(|| DecisionLog::open(&path, &header)).transpose()?;
        let SearchLines { slices, tops, .. } = part.map(|part| part.search).unwrap_or_default();
        let follower = Follower::new(path, read, &unended);
        let state =
            LogState { file, follower, decisions, slices, tops, taken: 0, is_torn, lost: None };
        Ok(SearchLog { name, header, others, state: Mutex::new(state) })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the criteria that other shares have learned for distinguishing runs, as far as their files are present.
    pub(crate) fn learnt_by_others(&self) -> Apart {
        self.others
    }

    /// Returns the last top of the tree that an earlier process computed.
    pub(crate) fn top(&self) -> Option<TopLine> {
        // A top of an earlier generation is outdated.
        self.state().tops.pop_last().map(|(_, line)| line)
    }

    /// Reads the lines that other processes have appended since the last call. Returns `true` if they contain slices.
    pub(crate) fn follow(&self) -> bool {
        let LogState { follower, slices, .. } = &mut *self.state();
        let before = slices.len();
        follower.others(&mut |text| {
            // A damaged line is missing.
            let line = Json::parse(text).and_then(|json| match json.get("slice") {
                Some(_) => line::read(&json, text),
                None => Err(String::new()),
            });
            if let Ok(Line::Slice(line)) = line {
                slices.insert(line.key, line);
            }
        });
        slices.len() > before
    }

    /// Returns a slice that another process computed, with the decisions of its runs. `None` if a certificate needs the
    /// decisions and no process has written them, so that the slice must be computed again.
    pub(crate) fn take(&self, key: SliceKey) -> Option<(SliceLine, Vec<String>)> {
        let LogState { decisions, slices, taken, .. } = &mut *self.state();
        let decided = match decisions {
            Some(decisions) if slices.contains_key(&key) => decisions.take(key)?,
            _ => Vec::new(),
        };
        // Each slice is merged once, so its line is not needed again.
        let line = slices.remove(&key)?;
        *taken += line.slice.made();
        Some((*line, decided))
    }

    /// Writes the line of a slice, which must end with a line feed, and the decisions of its runs.
    pub(crate) fn write_slice(&self, key: SliceKey, line: &str, decided: &[String]) {
        let mut state = self.state();
        if let Some(Err(error)) =
            state.decisions.as_mut().map(|decisions| decisions.write(key, decided))
        {
            state.lost.get_or_insert(error);
        }
        drop(state);
        self.write(line);
    }

    /// Writes a line, which must end with a line feed.
    pub(crate) fn write(&self, line: &str) {
        let mut state = self.state();
        state.follower.append(line);
        // Each line is written by a single call, so the lines of several processes are not mixed. The line feed
        // terminates an earlier line that was cut off.
        let begin = if state.is_torn { "\n" } else { "" };
        let written = state.file.write_all(format!("{begin}{line}").as_bytes());
        state.is_torn = written.is_err();
        if let Err(error) = written {
            state.lost.get_or_insert(error);
        }
    }

    /// Adds notes for the user: the number of runs read from the file, and whether the search must be continued.
    pub(super) fn end(&self, report: &mut Report) {
        let failed = report.finding.as_deref().and_then(|finding| failed(finding, &self.header));
        if let Some(failed) = &failed {
            self.write(&failed.line());
        }
        let searched = report.searched.as_ref();
        // The estimate of a bounded search covers only its current level.
        let whole = searched.filter(|searched| searched.bound.is_none());
        if let Some(estimate) = whole.and_then(|searched| searched.estimate) {
            self.write(&format!("{{\"estimate\":{}}}\n", estimate.runs));
        }
        // A search without the required proof is a failure of the test, but the search may be continued.
        let is_left = failed.is_none() && searched.is_some_and(|searched| !searched.complete);
        let test = report.test.clone();
        let notes = self.notes(is_left);
        report.notes.extend(notes.into_iter().map(|note| format!("{test}: {note}")));
    }

    fn notes(&self, is_left: bool) -> Vec<String> {
        let mut state = self.state();
        let name = &self.name;
        let mut notes = Vec::new();
        if state.taken > 0 {
            notes.push(format!(
                "{} runs were not made: according to {name} they were made before, by this same program",
                state.taken
            ));
        }
        if is_left {
            notes.push(format!("the search is not through: run it again to continue from {name}"));
        }
        if let Some(error) = state.lost.take() {
            notes.push(format!("{name} could not be written: {error}"));
        }
        notes
    }
}
