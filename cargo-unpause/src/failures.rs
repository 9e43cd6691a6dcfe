//! Failure files: traces, and the reports beside them. The commands that list, show, keep and compare failures use this
//! module.

mod found;
mod loaded;
mod steps;

pub(crate) use self::found::{Found, Project, found_in};
pub(crate) use self::loaded::Loaded;
pub(crate) use self::steps::{
    OperationView, StepView, line_of, object_named, steps_of, task_named,
};

/// The file extension of traces.
pub(crate) const TRACE: &str = "simtrace";
/// The file extension of reports.
pub(crate) const REPORT: &str = "json";
/// The file extension of pages.
pub(crate) const PAGE: &str = "html";
/// The folder of kept traces, beside a package's manifest.
pub(crate) const KEPT: &str = "sim-regressions";
