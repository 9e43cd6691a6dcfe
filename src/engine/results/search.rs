//! Results of a search: a line for each slice of its rounds.
//!
//! A slice is a function of the lines before it, so a line is a fact: a process that is killed loses the slices that it
//! was making, and nothing else. [`Ledger`] follows a search from its lines alone, without the program.

mod ledger;
mod line;

pub use self::ledger::Ledger;
pub(super) use self::line::read;
#[cfg(test)]
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::line::read_back;
pub(crate) use self::line::{AuditLine, SeenBySlice, SliceKey, SliceLine, TopLine};

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use unpause_ordered::Map;

use super::failed;
use super::part::{ResultsFile, ResultsHeader};
use crate::report::Report;
use crate::strategy::search::Apart;

/// The file of a search. Lines are only ever added.
pub(crate) struct SearchLog {
    /// The path as messages show it.
    name: String,
    header: ResultsHeader,
    /// The differences that other shares have learnt to distinguish runs.
    others: Apart,
    state: Mutex<LogState>,
}

struct LogState {
    file: File,
    /// The lines of earlier processes, which are taken in place of runs.
    slices: Map<SliceKey, SliceLine>,
    tops: Map<u32, TopLine>,
    /// The number of runs that were taken from lines.
    taken: u64,
    /// The file may end within a line.
    is_torn: bool,
    /// The error of the last write, if it failed.
    lost: Option<io::Error>,
}

/// The lines of a file.
#[derive(Debug, Default)]
pub struct SearchLines {
    pub(super) slices: Map<SliceKey, SliceLine>,
    pub(super) tops: Map<u32, TopLine>,
    pub(super) audits: Map<u32, AuditLine>,
    /// The last estimate of the number of all runs.
    pub(super) estimate: Option<u64>,
}

impl SearchLines {
    /// The differences that the search has learnt to distinguish runs.
    pub(super) fn learnt(&self) -> Apart {
        let of_tops = self.tops.values().map(|line| line.top.apart);
        let of_slices = self.slices.values().filter_map(|line| line.slice.learnt);
        of_tops.chain(of_slices).fold(Apart::NOTHING, Apart::and)
    }

    /// Adds the lines of another file of the same share.
    ///
    /// # Errors
    /// If two lines of one part differ.
    pub fn join(&mut self, other: SearchLines) -> Result<(), String> {
        let SearchLines { slices, tops, audits, estimate } = other;
        self.estimate = estimate.or(self.estimate);
        audits.into_values().try_for_each(|line| self.add(Line::Audit(line)))?;
        tops.into_values().try_for_each(|line| self.add(Line::Top(line)))?;
        slices.into_values().try_for_each(|line| self.add(Line::Slice(Box::new(line))))
    }

    /// Adds a line. Two lines of one part must be equal: two processes may have made it.
    pub(super) fn add(&mut self, line: Line) -> Result<(), String> {
        let is_same = match line {
            Line::Slice(line) => {
                let text = line.text.clone();
                self.slices.entry(line.key).or_insert(*line).text == text
            }
            Line::Top(line) => {
                let text = line.text.clone();
                self.tops.entry(line.generation).or_insert(line).text == text
            }
            Line::Audit(line) => {
                let own = line.clone();
                *self.audits.entry(line.generation).or_insert(line) == own
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

/// A line of a search.
pub(super) enum Line {
    Slice(Box<SliceLine>),
    Top(TopLine),
    Audit(AuditLine),
    Estimate(u64),
}

impl SearchLog {
    pub(super) fn new(
        (name, header, others): (String, ResultsHeader, Apart),
        (file, is_torn): (File, bool),
        part: Option<ResultsFile>,
    ) -> SearchLog {
        let SearchLines { slices, tops, .. } = part.map(|part| part.search).unwrap_or_default();
        let state = LogState { file, slices, tops, taken: 0, is_torn, lost: None };
        SearchLog { name, header, others, state: Mutex::new(state) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The differences that other shares have learnt to distinguish runs, as far as their files are here.
    pub(crate) fn learnt_by_others(&self) -> Apart {
        self.others
    }

    /// The last top of the tree that an earlier process made.
    pub(crate) fn top(&self) -> Option<TopLine> {
        self.state().tops.pop_last().map(|(_, line)| line)
    }

    /// A slice that an earlier process made.
    pub(crate) fn take(&self, key: SliceKey) -> Option<SliceLine> {
        let mut state = self.state();
        let line = state.slices.remove(&key)?;
        state.taken += line.slice.made();
        Some(line)
    }

    /// Writes a line, which ends with a line feed.
    pub(crate) fn write(&self, line: &str) {
        let mut state = self.state();
        // One call, so that lines of several processes do not mix. The line feed ends a line that was cut off.
        let begin = if state.is_torn { "\n" } else { "" };
        let written = state.file.write_all(format!("{begin}{line}").as_bytes());
        state.is_torn = written.is_err();
        if let Err(error) = written {
            state.lost.get_or_insert(error);
        }
    }

    /// Adds notes for the user: what was taken from the file, and what is left.
    pub(super) fn end(&self, report: &mut Report) {
        let failed = report.finding.as_deref().and_then(|finding| failed(finding, &self.header));
        if let Some(failed) = failed {
            self.write(&failed.line());
        }
        let searched = report.searched.as_ref();
        // The estimate of a bounded search is only of its current level.
        let whole = searched.filter(|searched| searched.bound.is_none());
        if let Some(estimate) = whole.and_then(|searched| searched.estimate) {
            self.write(&format!("{{\"estimate\":{}}}\n", estimate.runs));
        }
        let is_left =
            report.finding.is_none() && searched.is_some_and(|searched| !searched.complete);
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
