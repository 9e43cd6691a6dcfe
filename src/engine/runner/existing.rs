//! Support for tests that were not written for this library: `cargo unpause test --any`.
//!
//! Each test runs under a few seeds. A run is undecided if it reaches the step limit or differs when it is repeated.
//! Such a run is counted, and the next seed is run. Typical causes are real work of a million operations, and uses of
//! real time, files or sockets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::alone;
use super::annotation::annotation;
use super::native::{self, ErrorText};
use super::outcome::FunctionBody;
use super::site::{self, Site};
use super::target::{TestTarget, without_hash};
use super::terminal::style;
use super::told::{remarks, told, with_assumption};
use super::{Runner, TestBody};
use crate::engine::config::{InvalidSetting, Settings, TestKind};
use crate::engine::persistence::supersede_json;
use crate::engine::results::MustFail;
use crate::native::take_spawned_in_turn;
use crate::report::{Report, one_line, text};
use crate::run::{Failure, Outcome};

/// The default number of seeds. The number is small because a suite has many tests, and each was written for one run.
const SEEDS: u64 = 20;
/// The default time limit for the seeds of one test.
const TIME: Duration = Duration::from_secs(10);
/// The number of undecided seeds after which the remaining seeds are skipped.
const UNDECIDED_MAX: u32 = 3;

/// A note about tests with tasks on a single thread: they were tried in only one order.
const ONE_ORDER: &str = "its tasks on a current-thread runtime of tokio had one order, the order of the runtime's queue. \
    unpause-tokio tries other orders, see docs/tokio.md";

/// A libtest test.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ExistingTest<'a> {
    /// The name of the test in the harness.
    pub name: &'a str,
    /// The file of its `fn` item.
    pub file: &'a str,
    /// The line of its `fn` item.
    pub line: u32,
    /// The column of its `fn` item.
    pub column: u32,
}

/// The result of a test.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// False if a seed failed, or if a setting is invalid.
    pub passed: bool,
    /// The text for the captured output of the test.
    pub screen: String,
    /// The text that must be shown even if the harness hides the output of the test.
    pub remarks: String,
    /// True if a trace was replayed and its failure did not occur again.
    pub differs: bool,
    /// The test name and the reason, if no run of the test was decided.
    pub undecided: Option<String>,
}

/// Runs a test whose plain threads the scheduler controls.
#[doc(hidden)]
pub fn test_existing<B>(test: &ExistingTest<'_>, body: B) -> Verdict
where
    B: Fn() -> Result<(), String> + Copy + Send + Sync + 'static,
{
    // Another test of the program may use statics outside of runs, so they must not refer to memory of a run.
    let _only = native::of_closure(Some(test.name), false, None);
    let body = FunctionBody::new(async || {
        native::run(None, move || body().map_err(ErrorText::new), false).await
    });
    let site = site_of(test);
    let settings = Settings {
        kind: TestKind { native: true, long_is_undecided: true, ..TestKind::default() },
        ..Settings::default()
    };
    // A search has its own limits, so the defaults for seeds and time do not apply to it.
    let bare = Runner::of_site(site.clone(), settings.clone()).config();
    let settings = match bare.is_ok_and(|(config, _)| config.strategy.is_search()) {
        true => settings,
        // The file of the package overrides these defaults. An error in the file is reported below.
        false => Settings { seeds: Some(0..SEEDS), time: Some(TIME), ..settings }
            .overridden_by(site.defaults().unwrap_or_default()),
    };
    let verdict = judge(&Runner::of_site(site, settings), &body).unwrap_or_else(|invalid| {
        Verdict { screen: format!("FAILED  {}: {invalid}\n", test.name), ..Verdict::default() }
    });
    alone::leave(verdict.passed || verdict.differs, &verdict.screen);
    verdict
}

/// Runs the seeds until one fails or too many are undecided.
fn judge(runner: &Runner, body: &dyn TestBody) -> Result<Verdict, InvalidSetting> {
    let mut verdict = Verdict::default();
    let (mut decided, mut why, mut undecided) = (0, None, 0);
    let (config, notes) = runner.config()?;
    let begun = Instant::now();
    let left = |time: Option<Duration>| time.map(|time| time.saturating_sub(begun.elapsed()));
    let time = config.time;
    let mut rest = Some(config);
    let mut searched = false;
    take_spawned_in_turn();
    while let Some(config) = rest {
        let first = undecided == 0;
        let ran = runner.run_config(config.clone(), notes.clone(), body, &MustFail::No, first)?;
        alone::end_like_the_run(&ran.report);
        let counts = ran.shared && reason(&ran.report).is_none();
        if let Some(again) = counts.then(|| alone::again(&runner.site, &ran.report)).flatten() {
            verdict.remarks += &format!("note: {}\n", again.note);
            verdict.screen += &again.screen;
            verdict.passed = again.passed;
            return Ok(verdict);
        }
        let mut report = ran.report;
        if let Some(part) = ran.part {
            part.spare_conditions(&mut report);
        }
        verdict.differs = alone::differs(&report);
        searched |= report.searched.is_some();
        let reason = reason(&report);
        show(&mut verdict, &report, &runner.site, reason.is_some());
        let Some(reason) = reason else {
            verdict.passed = report.finding.is_none();
            decided += report.runs;
            break;
        };
        decided += report.runs.saturating_sub(1);
        undecided += 1;
        why.get_or_insert(reason);
        let seed = report.finding.as_ref().map_or(0, |finding| finding.run.seed.0);
        verdict.passed = true;
        let goes_on = undecided < UNDECIDED_MAX && left(time) != Some(Duration::ZERO);
        rest = config.after(seed).filter(|_| goes_on);
        if let Some(next) = &mut rest {
            supersede_json(&report, &runner.site, &config);
            next.time = left(time);
        }
    }
    // A search lists what it has not tried, so it needs no such note.
    if verdict.passed && decided > 0 && !searched && take_spawned_in_turn() {
        let test = &runner.site.test;
        verdict.remarks += &format!("note: {test}: {ONE_ORDER}\n");
    }
    if let Some(why) = why.filter(|_| verdict.passed) {
        note_undecided(&mut verdict, &runner.site.test, (decided, undecided), &why);
    }
    Ok(verdict)
}

/// Writes a report to the texts of the verdict.
fn show(verdict: &mut Verdict, report: &Report, site: &Site, is_undecided: bool) {
    verdict.remarks += &remarks(report);
    let shown = !report.warnings.is_empty() || report.replayed.is_some();
    // A harness hides the captured output of a passing test, so requested output goes to the remarks.
    let requested = match report.finding {
        None => told(report, &style()),
        Some(_) => String::new(),
    };
    verdict.remarks += &with_assumption(&requested, report);
    let fails = report.finding.is_some() && !is_undecided;
    if fails || shown || report.searched.is_some() {
        let screen = text(report, &style());
        verdict.screen += screen.strip_prefix(&*requested).unwrap_or(&screen);
    }
    if let Some(finding) = report.finding.as_ref().filter(|_| !is_undecided) {
        verdict.screen += &annotation(finding, site, true);
    }
}

/// Notes that some runs were undecided, for the reason `why`. If no run was decided, the test is undecided.
fn note_undecided(verdict: &mut Verdict, test: &str, (decided, undecided): (u64, u32), why: &str) {
    let runs = decided + u64::from(undecided);
    let text = format!("{test}: {undecided} of {runs} runs: {why}");
    // If some runs were decided, the result is the same as with fewer seeds: the decided runs have passed.
    if decided > 0 {
        verdict.remarks += &format!("note: {text}\n");
    } else {
        verdict.remarks += &format!("UNDECIDED  {text}\n");
        verdict.undecided = Some(text);
    }
}

/// Returns the reason why the failing run of a report is undecided; `None` if it is a real failure.
fn reason(report: &Report) -> Option<String> {
    let finding = report.finding.as_deref().filter(|_| report.replayed.is_none())?;
    let Outcome::Failed(failure) = &finding.run.outcome else { return None };
    match failure {
        Failure::StepLimit { steps, .. } => Some(format!(
            "a run takes more than {steps} steps and does not end beyond them (SIM_TIME=1m allows more time)"
        )),
        Failure::Diverged { .. } | Failure::NonDeterminism { .. } => Some(format!(
            "its runs are not repeatable, so it uses something that is not controlled: {}",
            one_line(failure, &finding.run)
        )),
        _ => None,
    }
}

/// Returns the site of a test. Cargo and nextest provide its package in environment variables.
pub(super) fn site_of(test: &ExistingTest<'_>) -> Site {
    let program = site::program();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let crate_name = without_hash(&stem).unwrap_or(&stem).replace('-', "_");
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| site::UNKNOWN.to_owned());
    Site {
        test: format!("{crate_name}::{}", test.name),
        target: TestTarget::running(program, test.file, manifest_dir.as_deref()),
        package,
        version: std::env::var("CARGO_PKG_VERSION").unwrap_or_default(),
        manifest_dir,
        place: crate::native::place(test.file, test.line, test.column),
        filter: Some(test.name.to_owned()),
        hermetic: false,
        variables: Vec::new(),
    }
}
