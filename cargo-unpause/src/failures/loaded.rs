//! A failure read from files: its trace, its report, or both.

use std::fs;
use std::path::{Path, PathBuf};

use sim::run::trace::Trace;
use sim::run::trace::format;

use super::{REPORT, TRACE};
use crate::Usage;
use crate::document::Document;

/// A failure read from a file. It has a report, a trace, or both.
pub(crate) struct Loaded {
    /// The file named by the user.
    pub(crate) path: PathBuf,
    pub(crate) report: Option<Document>,
    pub(crate) trace: Option<Trace>,
    /// The reason why the report beside the trace is not used.
    pub(crate) remark: Option<String>,
}

impl Loaded {
    /// Reads a trace, with the report beside it, or a report.
    ///
    /// # Errors
    /// If there is no such file, or it is neither a trace nor a report.
    pub(crate) fn read(path: &Path) -> Result<Loaded, Usage> {
        let name = path.display();
        if path.is_dir() {
            return Err(Usage(format!(
                "{name} is a folder: name a trace or a report in it. `cargo unpause ls {name}` lists them"
            )));
        }
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Usage(format!("there is no file {name}. `cargo unpause ls` lists the failures"))
            }
            _ => Usage(format!("{name} cannot be read: {error}")),
        })?;
        let loaded =
            |report, trace, remark| Loaded { path: path.to_owned(), report, trace, remark };
        // A report is a JSON object; a trace begins with the name of its format.
        if bytes.trim_ascii_start().starts_with(b"{") {
            let text = String::from_utf8_lossy(&bytes);
            let report = Document::read(&text).map_err(|why| Usage(format!("{name}: {why}")))?;
            return Ok(loaded(Some(report), None, None));
        }
        let trace = format::parse(&bytes).map_err(|error| {
            Usage(format!("{name} is neither a trace nor a report of unpause: {error}"))
        })?;
        let beside = path.with_extension(REPORT);
        let Ok(text) = fs::read_to_string(&beside) else {
            let remark = format!(
                "there is no {} beside it, so only the steps are known. Run the test again, or replay the trace",
                beside.display()
            );
            return Ok(loaded(None, Some(trace), Some(remark)));
        };
        let beside = beside.display();
        match Document::read(&text) {
            Err(why) => Ok(loaded(None, Some(trace), Some(format!("{beside}: {why}")))),
            Ok(report) if is_of(&report, &trace) => Ok(loaded(Some(report), Some(trace), None)),
            Ok(_) => {
                let remark = format!("{beside} is the report of another run than the trace");
                Ok(loaded(None, Some(trace), Some(remark)))
            }
        }
    }

    /// Returns this failure without its report; `None` if the failure has no trace of the same run.
    pub(crate) fn without_report(&self) -> Option<Loaded> {
        let trace = match &self.trace {
            Some(trace) => trace.clone(),
            None => format::parse(&fs::read(self.trace_file()?).ok()?).ok()?,
        };
        let is_same = self.report.as_ref().is_none_or(|report| is_of(report, &trace));
        let (path, trace) = (self.path.clone(), Some(trace));
        is_same.then_some(Loaded { path, report: None, trace, remark: None })
    }

    /// Returns the path of the test, as `module::name`.
    pub(crate) fn test(&self) -> &str {
        match (&self.report, &self.trace) {
            (Some(report), _) => &report.test,
            (None, Some(trace)) => without_target(&trace.header.test),
            (None, None) => "",
        }
    }

    /// Returns the name of the package.
    pub(crate) fn package(&self) -> &str {
        match (&self.report, &self.trace) {
            (Some(report), _) => &report.package,
            (None, Some(trace)) => trace.header.package.split(' ').next().unwrap_or_default(),
            (None, None) => "",
        }
    }

    /// Returns the seed of the run, if a run failed. `None` for a failure that concerns all runs.
    pub(crate) fn seed(&self) -> Option<u64> {
        if ["too seldom", "unproven"].contains(&&*self.kind()) {
            return None;
        }
        let of_report = self.report.as_ref().and_then(|report| report.finding.as_ref());
        let of_trace = self.trace.as_ref().map(|trace| trace.header.seed.0);
        of_report.map(|finding| finding.run.seed.0).or(of_trace)
    }

    /// Returns the failure in a word or two, or `passed` for a test that passed.
    pub(crate) fn kind(&self) -> String {
        match (&self.report, &self.trace) {
            (Some(report), _) => match report.finding.as_ref().and_then(|f| f.failure.as_ref()) {
                Some(failure) => failure.kind.clone(),
                None => "passed".to_owned(),
            },
            (None, Some(trace)) => kind_of(&trace.header.verdict),
            (None, None) => String::new(),
        }
    }

    /// Returns the failure as one line.
    pub(crate) fn text(&self) -> String {
        match (&self.report, &self.trace) {
            (Some(report), _) => match report.finding.as_ref().and_then(|f| f.failure.as_ref()) {
                Some(failure) => failure.text.clone(),
                None => "passed".to_owned(),
            },
            (None, Some(trace)) => trace.header.verdict.clone(),
            (None, None) => String::new(),
        }
    }

    /// Returns the number of steps of the run.
    pub(crate) fn step_count(&self) -> u64 {
        let finding = self.report.as_ref().and_then(|report| report.finding.as_ref());
        let of_trace = self.trace.as_ref().map_or(0, |trace| trace.steps.len() as u64);
        finding.map_or(of_trace, |finding| finding.run.step_count)
    }

    /// Returns the settings that differ from the defaults.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        match (&self.report, &self.trace) {
            (Some(report), _) => {
                report.settings.iter().map(|s| (s.name.clone(), s.value.clone())).collect()
            }
            (None, Some(trace)) => trace.header.settings.clone().unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the trace file of the failure, if any.
    pub(crate) fn trace_file(&self) -> Option<PathBuf> {
        let beside = self.path.with_extension(TRACE);
        match self.trace.is_some() {
            true => Some(self.path.clone()),
            false => beside.exists().then_some(beside),
        }
    }
}

/// Returns the path of a test, without the target that follows the path in a trace: `queue::pops (test queues)`.
fn without_target(title: &str) -> &str {
    let title_and_target = title.strip_suffix(')').and_then(|title| title.split_once(" ("));
    title_and_target.map_or(title, |(path, _)| path)
}

/// Returns `true` if a report describes the run of a trace.
fn is_of(report: &Document, trace: &Trace) -> bool {
    report.finding.as_ref().is_some_and(|finding| {
        let run = &finding.run;
        run.seed.0 == trace.header.seed.0
            && run.step_count == trace.steps.len() as u64
            && finding.failure.as_ref().is_some_and(|failure| failure.text == trace.header.verdict)
    })
}

/// Returns the kind of a failure, derived from its one-line text.
fn kind_of(verdict: &str) -> String {
    let kinds =
        ["panic", "deadlock", "invariant", "step limit", "diverged", "non-determinism", "hang"];
    let known = kinds.into_iter().find(|kind| verdict.starts_with(kind));
    known
        .unwrap_or(if verdict.contains(" violated, checked at ") { "history" } else { "failure" })
        .to_owned()
}
