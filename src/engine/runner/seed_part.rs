//! Runs over a part of the seeds. A run over a part does not judge conditions over all runs, but only notes them.

use crate::engine::config::Config;
use crate::engine::results::Results;
use crate::report::Report;

/// A report, and the part of the seeds that it covers; `None` if it covers all seeds.
pub(super) struct TestRun {
    pub(super) report: Report,
    /// True if the runs shared one process, because no setting required a process for each run.
    pub(super) shared: bool,
    pub(super) part: Option<SeedPart>,
}

/// A part of the seeds.
#[derive(Clone, Copy)]
pub(crate) struct SeedPart {
    /// True if results are written, so that `cargo unpause merge` can judge all seeds.
    written: bool,
}

impl SeedPart {
    /// Returns `None` if all seeds were run, now or in earlier processes. An incomplete search counts as a part only if
    /// its results are written, because only then can it continue.
    pub(crate) fn of(config: &Config, results: &Results, report: &Report) -> Option<SeedPart> {
        let continues = results.are_written()
            && report.searched.as_ref().is_some_and(|searched| !searched.complete);
        let all = config.shard.of == 1 && results.left() == 0 && !continues;
        (!all).then(|| SeedPart { written: results.are_written() })
    }

    /// Converts a finding about conditions that held in too few runs into a note.
    pub(crate) fn spare_conditions(self, report: &mut Report) {
        if let Some(what) = report.spare_conditions() {
            self.note(report, &what);
        }
    }

    /// Adds a note that the test would fail for this reason if the part contained all seeds.
    pub(super) fn note(self, report: &mut Report, what: &str) {
        let judge = match self.written {
            true => "cargo unpause merge judges all of them",
            false => "to judge all of them, set SIM_RESULTS and run cargo unpause merge",
        };
        let note = format!("{}: {what} (in this part of the seeds; {judge})", report.test);
        report.notes.push(note);
    }
}
