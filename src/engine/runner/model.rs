//! Models: closures that a test passes in, to be run under many schedules. The test was written for another tool, such
//! as loom. Therefore the settings come from a plan in text form.
//!
//! A plan has one phase per line. A phase is a list of variables, as in the environment, separated by blanks. The
//! phases are run in order until one fails. The first word of a phase may be a condition:
//!
//! | word | the phase is run |
//! |---|---|
//! | `unproved` | if the previous phase was not a proof |
//! | `weak` | if an earlier search treated weaker orderings as `SeqCst`, or if there was no earlier search |
//!
//! If the environment chooses seeds, a strategy, a memory model or a replay, only the first phase is run, and the
//! environment takes precedence.

use std::ffi::OsString;

use super::annotation::annotation;
use super::existing::{ExistingTest, site_of};
use super::native::{self, ErrorText};
use super::outcome::FunctionBody;
use super::site::Site;
use super::terminal::style;
use super::told::remarks;
use super::{Runner, TestBody};
use crate::engine::config::{InvalidSetting, Settings, TestKind};
use crate::engine::results::MustFail;
use crate::report::{Report, one_line, text};
use crate::run::{Failure, Outcome};

/// The variables that limit a model to its first phase.
const ONE_PHASE: [&str; 6] =
    ["SIM_SEED", "SIM_SEEDS", "SIM_STRATEGY", "SIM_REPLAY", "SIM_MEMORY", "SIM_SHARD"];

/// The outcome of a model.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelEnd {
    /// No run failed.
    Passed,
    /// A thread of a run panicked with this message.
    Panicked(String),
    /// A run failed in another way, described by a line of text.
    Failed(String),
}

/// The result of a model.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelVerdict {
    /// The outcome of the model.
    pub end: ModelEnd,
    /// The number of runs in all phases.
    pub runs: u64,
    /// The text for the captured output of the test.
    pub screen: String,
    /// The text that must be shown even if the harness hides the output of the test.
    pub remarks: String,
}

/// Runs the `number`-th model of a test, counted from 1, according to a plan. `has_captured` is true if the closure
/// captures memory; this memory then outlives the runs.
#[doc(hidden)]
pub fn run_model<B>(
    test: &ExistingTest<'_>,
    number: u32,
    plan: &str,
    has_captured: bool,
    body: B,
) -> ModelVerdict
where
    B: Fn() -> Result<(), String> + Copy + Send + Sync + 'static,
{
    let _only = crate::native::of_closure(has_captured);
    let body = FunctionBody::new(async || {
        native::run(None, move || body().map_err(ErrorText::new), false).await
    });
    let mut site = site_of(test);
    if number > 1 {
        site.test = format!("{}_{number}", site.test);
    }
    let invalid = |invalid: InvalidSetting| ModelVerdict {
        end: ModelEnd::Failed(invalid.to_string()),
        runs: 0,
        screen: format!("FAILED  {}: {invalid}\n", test.name),
        remarks: String::new(),
    };
    Model { site, body: &body, remarks: String::new() }.judge(plan).unwrap_or_else(invalid)
}

struct Model<'a> {
    site: Site,
    body: &'a dyn TestBody,
    remarks: String,
}

/// A summary of a phase.
struct Shown {
    is_proof: bool,
    /// True if the search treated orderings weaker than `SeqCst` as `SeqCst`.
    took_orders: bool,
    /// A description of the runs.
    words: String,
}

impl Model<'_> {
    fn judge(mut self, plan: &str) -> Result<ModelVerdict, InvalidSetting> {
        let is_one = ONE_PHASE.iter().any(|name| std::env::var_os(name).is_some());
        let mut before: Option<Shown> = None;
        let (mut words, mut runs) = (Vec::new(), 0);
        for line in plan.lines().take(if is_one { 1 } else { usize::MAX }) {
            let (condition, variables) = match line.split_once(' ') {
                Some((condition, rest)) if !condition.contains('=') => (condition, rest),
                _ => ("", line),
            };
            let is_due = match condition {
                "unproved" => before.as_ref().is_none_or(|before| !before.is_proof),
                "weak" => before.as_ref().is_none_or(|before| before.took_orders),
                _ => true,
            };
            if !is_due {
                continue;
            }
            let report = self.phase(variables)?;
            runs += report.runs;
            if let Some(end) = end(&report) {
                let found = report.finding.as_deref();
                let annotation = found.map(|finding| annotation(finding, &self.site));
                let screen = text(&report, &style()) + &annotation.unwrap_or_default();
                return Ok(ModelVerdict { end, runs, screen, remarks: self.remarks });
            }
            let memory = if variables.contains("SIM_MEMORY=c11") { " with c11" } else { "" };
            let shown = shown(&report, memory);
            words.push(shown.words.clone());
            before = Some(match before {
                Some(first) => Shown { took_orders: first.took_orders, ..shown },
                None => shown,
            });
        }
        let remarks = format!("{}note: {}: {}\n", self.remarks, self.site.test, words.join("; "));
        Ok(ModelVerdict { end: ModelEnd::Passed, runs, screen: String::new(), remarks })
    }

    /// Executes the runs of a phase with these variables.
    fn phase(&mut self, variables: &str) -> Result<Report, InvalidSetting> {
        let pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
        let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let (settings, _) = Settings::from_environment(pairs)?;
        let kind = TestKind { native: true, ..TestKind::default() };
        let runner = Runner::of_site(self.site.clone(), Settings { kind, ..settings });
        let (config, notes) = runner.config()?;
        let report = runner.run_config(config, notes, self.body, &MustFail::No, true)?.report;
        // The reason why a search is not a proof is already in the description of the phase.
        self.remarks += &remarks(&Report { searched: None, ..report.clone() });
        Ok(report)
    }
}

/// Returns the summary of a passed phase. `memory` is empty, or describes the memory model.
fn shown(report: &Report, memory: &str) -> Shown {
    let runs = report.runs;
    let all = match runs {
        1 => "explored the one interleaving".to_owned(),
        _ => format!("explored all {runs} interleavings"),
    };
    match &report.searched {
        Some(searched) => {
            let is_proof = searched.is_proof();
            let words = match (is_proof, searched.fell_short()) {
                (false, Some(why)) => format!("searched {runs} interleavings, no proof: {why}"),
                _ => match searched.assumption() {
                    Some(assumption) => {
                        format!("{all} (assumes that {assumption})")
                    }
                    None => all,
                },
            };
            let took_orders = !is_proof
                || searched.assumption().is_some_and(|assumption| assumption.contains("SeqCst"));
            Shown { is_proof, took_orders, words }
        }
        None => {
            let words = format!("{runs} runs{memory} passed");
            Shown { is_proof: false, took_orders: true, words }
        }
    }
}

/// Returns the outcome of the model if a run has failed.
fn end(report: &Report) -> Option<ModelEnd> {
    let finding = report.finding.as_deref()?;
    let Outcome::Failed(failure) = &finding.run.outcome else { return None };
    Some(match failure {
        Failure::Panic { message, .. } => ModelEnd::Panicked(message.clone()),
        other => ModelEnd::Failed(one_line(other, &finding.run)),
    })
}
