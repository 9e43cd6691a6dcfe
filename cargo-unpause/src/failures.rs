//! Failures in files: traces, and the reports beside them. For the commands that list, show, keep and compare them.

mod found;
mod loaded;
mod steps;

pub(crate) use self::found::{Found, Project, found_in};
pub(crate) use self::loaded::Loaded;
pub(crate) use self::steps::{
    OperationView, StepView, line_of, object_named, steps_of, task_named,
};

/// The ending of trace files.
pub(crate) const TRACE: &str = "simtrace";
/// The ending of reports.
pub(crate) const REPORT: &str = "json";
/// The ending of pages.
pub(crate) const PAGE: &str = "html";
/// The folder of kept traces, beside a package's manifest.
pub(crate) const KEPT: &str = "sim-regressions";
