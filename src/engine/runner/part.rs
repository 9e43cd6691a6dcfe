//! Runs of a part of the seeds. Conditions over all runs are not judged by such a run, only noted.

use crate::engine::config::Config;
use crate::engine::results::Results;
use crate::report::Report;

/// A report, and the part of the seeds that it is about; `None` if it is about all of them.
pub(super) struct TestRun {
    pub(super) report: Report,
    /// True if its runs shared the process, because nothing says that each has one.
    pub(super) shared: bool,
    pub(super) part: Option<SeedPart>,
}

/// A part of the seeds.
#[derive(Clone, Copy)]
pub(crate) struct SeedPart {
    /// `true` if results are written, so that `cargo unpause merge` can judge all seeds.
    written: bool,
}

impl SeedPart {
    /// `None` if all seeds were run, now or before. A search that is not through continues only if it has results.
    pub(crate) fn of(config: &Config, results: &Results, report: &Report) -> Option<SeedPart> {
        let continues = results.are_written()
            && report.searched.as_ref().is_some_and(|searched| !searched.complete);
        let all = config.shard.of == 1 && results.left() == 0 && !continues;
        (!all).then(|| SeedPart { written: results.are_written() })
    }

    /// Turns a finding about conditions that held in too few runs into a note.
    pub(crate) fn spare_conditions(self, report: &mut Report) {
        if let Some(what) = report.spare_conditions() {
            self.note(report, &what);
        }
    }

    /// Notes that the test would fail for this reason if the part were all seeds.
    pub(super) fn note(self, report: &mut Report, what: &str) {
        let judge = match self.written {
            true => "cargo unpause merge judges all of them",
            false => "to judge all of them, set SIM_RESULTS and run cargo unpause merge",
        };
        let note = format!("{}: {what} (in this part of the seeds; {judge})", report.test);
        report.notes.push(note);
    }
}
