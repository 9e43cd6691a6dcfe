//! The expansion of `#[sim::test]`: runs the body, shows the report, and fails the test if necessary.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::alone;
use super::annotation::annotation;
use super::outcome::{FunctionBody, TestBody};
use super::seed_part::TestRun;
use super::site::{self, Site};
use super::target::TestTarget;
use super::terminal::style;
use super::{Runner, TestResult, native, told};
use crate::engine::config::{ProofRuns, Settings, TestKind, WhyRuns};
use crate::engine::results::MustFail;
use crate::report::{one_line, text};
use crate::run::Outcome;
use crate::run::trace::format::is_inline;

/// The location of a test, as the macro provides it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TestSite {
    /// The path of the test, `module::path::name`.
    pub test: &'static str,
    /// The name of the test's package.
    pub package: &'static str,
    /// The version of the test's package.
    pub version: &'static str,
    /// The folder of the package's `Cargo.toml`.
    pub manifest_dir: &'static str,
    /// The file of the test.
    pub file: &'static str,
    /// The line of its `fn` item.
    pub line: u32,
    /// `CARGO_BIN_NAME` at compile time: the target name, if the target is a binary or an example.
    pub binary: Option<&'static str>,
    /// True if `CARGO_TARGET_TMPDIR` was set at compile time: the target is an integration test or a benchmark.
    pub integration: bool,
}

/// The arguments of the attribute. The macro has checked them as far as it can.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes {
    /// The number of seeds.
    pub seeds: Option<u64>,
    /// The only seed to run.
    pub seed: Option<u64>,
    /// The name of the strategy.
    pub strategy: Option<&'static str>,
    /// The step limit of a run.
    pub max_steps: Option<u32>,
    /// The time limit of the test, in milliseconds.
    pub time_ms: Option<u64>,
    /// The trace to replay.
    pub replay: Option<&'static str>,
    /// The time limit of a step, or on real threads the time limit without progress of any task, in milliseconds.
    pub hang_ms: Option<u64>,
    /// The time limit of a run on real threads, in milliseconds.
    pub limit_ms: Option<u64>,
    /// True if the test must fail under some seed.
    pub must_fail: bool,
    /// The kind of the required failure, or a part of its text.
    pub must_fail_with: Option<&'static str>,
    /// True if a passing test reports its coverage.
    pub coverage: bool,
    /// True if the recorded calls of each run are checked in all orders that its steps allow.
    pub closure: bool,
    /// The maximum number of runs for a proof that no failing run has fewer preemptions.
    pub prove: Option<u64>,
    /// The maximum number of runs for the explanation of a failing run.
    pub why: Option<u64>,
    /// True if the test fails when its search proves nothing.
    pub must_prove: bool,
    /// True if a passing test reports the statistics of its programs.
    pub statistics: bool,
    /// True if a run of plain threads fails when it leaks memory.
    pub leaks: bool,
    /// The mode of the virtual clock: when the time of `sim::time` advances.
    pub clock: Option<&'static str>,
    /// A pattern for the names of the tasks that may be aborted.
    pub cancel: Option<&'static str>,
    /// True if the deadlines of timeouts, and of timers in branches of `select!`, may pass at any moment.
    pub cancel_selects: bool,
    /// True if runs may execute code that is marked with `buggify!`.
    pub buggify: bool,
    /// The progress guarantee to test.
    pub progress: Option<&'static str>,
    /// The operations of plain threads that are points.
    pub points: Option<&'static str>,
    /// True if reference-count operations of `Arc` are points of plain threads.
    pub arc: bool,
    /// The chances of plain threads: events that may happen at any moment.
    pub chances: Option<&'static str>,
    /// The isolation of the runs of plain threads.
    pub isolate: Option<&'static str>,
    /// The memory model of plain threads.
    pub memory: Option<&'static str>,
}

impl Attributes {
    /// Returns the settings of a test whose package is in this folder.
    pub(super) fn settings(self, manifest_dir: &str, native: bool) -> Settings {
        // Each field is listed by name, so that no argument can be forgotten.
        let Attributes {
            seeds,
            seed,
            strategy,
            max_steps,
            time_ms,
            replay,
            hang_ms,
            limit_ms,
            must_fail: _,
            must_fail_with: _,
            coverage,
            closure,
            prove,
            why,
            must_prove,
            statistics,
            leaks: _,
            clock,
            cancel,
            cancel_selects,
            buggify,
            progress,
            points,
            arc,
            chances,
            isolate,
            memory,
        } = self;
        let (text, time) = (|text: Option<&str>| text.map(str::to_owned), Duration::from_millis);
        let on = |flag: bool| flag.then_some(true);
        Settings {
            seed,
            seeds: seeds.map(|seeds| 0..seeds),
            strategy: text(strategy),
            time: time_ms.map(time),
            hang: hang_ms.map(time),
            limit: limit_ms.map(time),
            max_steps,
            replay: replay.map(|source| beside_manifest(source, manifest_dir)),
            coverage: on(coverage),
            closure: on(closure),
            clock: text(clock),
            cancel: text(cancel),
            cancel_selects: on(cancel_selects),
            buggify: on(buggify),
            progress: text(progress),
            points: text(points),
            arc: on(arc),
            chances: text(chances),
            isolate: text(isolate),
            memory: text(memory),
            prove: prove.map(ProofRuns),
            why: why.map(WhyRuns),
            must_prove: on(must_prove),
            statistics: on(statistics),
            // The attribute has no argument for these settings.
            jobs: None,
            shard: None,
            log: None,
            shrink: None,
            out: None,
            results: None,
            certify: None,
            observe: None,
            html: None,
            json: None,
            kind: TestKind { native, ..TestKind::default() },
        }
    }
}

/// Runs a test and panics if it fails.
#[doc(hidden)]
#[track_caller]
pub fn test<B, R>(site: TestSite, attributes: Attributes, body: B)
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    let _alone = native::alone(&path_in_program(&site));
    test_body(site, attributes, Location::caller(), &FunctionBody::new(body), false);
}

/// Runs a test whose plain threads the scheduler controls, and panics if the test fails.
#[doc(hidden)]
#[track_caller]
pub fn test_native<R: TestResult + 'static>(
    site: TestSite,
    attributes: Attributes,
    body: fn() -> R,
) {
    // libtest gives the thread of a test this name.
    let name = path_in_program(&site);
    let _only = native::exclusive(&name);
    let leaks = attributes.leaks;
    let body = FunctionBody::new(async || native::run(Some(name.clone()), body, leaks).await);
    test_body(site, attributes, Location::caller(), &body, true);
}

/// Returns the path of a test without its crate.
fn path_in_program(site: &TestSite) -> String {
    site::filter(site.test.split_once("::").map_or(site.test, |(_, path)| path))
}

fn test_body(
    site: TestSite,
    attributes: Attributes,
    place: &'static Location<'static>,
    body: &dyn TestBody,
    native: bool,
) {
    let settings = attributes.settings(site.manifest_dir, native);
    // A harness omits the crate name.
    let (crate_name, path) = site.test.split_once("::").unwrap_or((site.test, site.test));
    let target =
        TestTarget::compiled(site.binary, site.integration, site.file, crate_name, site::program());
    let site = Site {
        test: site.test.to_owned(),
        target,
        package: site.package.to_owned(),
        version: site.version.to_owned(),
        manifest_dir: Some(PathBuf::from(site.manifest_dir)),
        place,
        filter: Some(site::filter(path)),
        hermetic: false,
        variables: Vec::new(),
    };
    let test = site.test.clone();
    let must_fail = match (attributes.must_fail, attributes.must_fail_with) {
        (false, _) => MustFail::No,
        (true, None) => MustFail::Somehow,
        (true, Some(wanted)) => MustFail::With(wanted.to_owned()),
    };
    let runner = Runner::of_site(site, settings);
    let ran = runner.try_run_body(body, &must_fail);
    if let Ok(ran) = &ran
        && !must_fail.is_wanted()
    {
        alone::end_like_the_run(&ran.report);
    }
    let again = match &ran {
        Ok(ran) if ran.shared && !must_fail.is_wanted() => alone::again(&runner.site, &ran.report),
        _ => None,
    };
    match ran {
        Ok(ran) => match again {
            Some(again) => judge_again(&again),
            None => judge(ran, must_fail, &runner),
        },
        Err(invalid) => {
            let screen = format!("FAILED  {test}: {invalid}\n");
            eprint!("{screen}");
            super::ended::failed(&screen);
            fail(invalid.to_string())
        }
    }
}

/// Resolves the file name in an attribute against the folder of the package, so that it does not depend on the working
/// directory.
fn beside_manifest(source: &str, manifest_dir: &str) -> String {
    if is_inline(source) {
        return source.to_owned();
    }
    Path::new(manifest_dir).join(source).display().to_string()
}

/// Shows the result of a repeated test, and fails the test if necessary.
fn judge_again(again: &alone::Again) {
    told::note(&again.note);
    if !again.passed {
        eprint!("{}", again.screen);
        super::ended::failed(&again.screen);
        fail("the test failed in a process of its own".to_owned());
    }
}

/// Shows the report, and fails the test if necessary.
fn judge(ran: TestRun, wanted: MustFail, runner: &Runner) {
    let TestRun { mut report, part, .. } = ran;
    let mut must_fail = wanted.is_wanted();
    let passed = report.finding.is_none() && report.replayed.is_none() && report.runs > 0;
    if let (true, true, Some(part)) = (must_fail && passed, crate::seam::SIMULATED, part) {
        part.note(&mut report, "the test must fail (must_fail), and did not");
        must_fail = false;
    }
    let report = &report;
    let style = style();
    let Some(finding) = report.finding.as_deref() else {
        if must_fail && crate::seam::SIMULATED {
            told::remarks_of(report);
            let what = match &report.replayed {
                Some(_) => "the replay passed".to_owned(),
                None => format!("none of {} runs did", report.runs),
            };
            let text = format!("the test must fail (must_fail), but {what}");
            eprintln!("FAILED  {}: {text}\n{MUST_FAIL}", report.test);
            if !report.warnings.is_empty() {
                eprint!("{}", self::text(report, &style));
            }
            super::ended::failed(&format!("FAILED  {}: {text}\n", report.test));
            fail(text);
        }
        if must_fail {
            eprintln!("note: real threads did not show the failure this test is about");
        }
        alone::leave(true, "");
        return told::passed(report, &style);
    };
    let screen = text(report, &style);
    alone::leave(alone::differs(report), &screen);
    eprint!("{screen}");
    if let (true, Outcome::Failed(failure)) = (must_fail, &finding.run.outcome) {
        match wanted.refuses(failure.kind(), &one_line(failure, &finding.run)) {
            None => {
                return eprintln!("note:    the test must fail (must_fail) and did, so it passes");
            }
            Some(why) => eprintln!("note:    the test must fail (must_fail), but {why}"),
        }
    }
    super::ended::failed(&screen);
    eprint!("{}", annotation(finding, &runner.site, runner.settings.kind.native));
    match &finding.run.outcome {
        Outcome::Failed(failure) => fail(one_line(failure, &finding.run)),
        Outcome::Passed => fail("the test failed".to_owned()),
    }
}

const MUST_FAIL: &str = "
  help    If the bug it shows is fixed, remove must_fail. If not, use more seeds or another
          strategy.
";

/// Fails the test with a text. The panic hook is not called, because the output is complete. The hook would only add
/// the location of this line and a backtrace.
fn fail(text: String) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_attribute_stands_beside_the_manifest() {
        assert_eq!(beside_manifest("a/b.simtrace", "/p"), "/p/a/b.simtrace");
        assert_eq!(beside_manifest("/a/b.simtrace", "/p"), "/a/b.simtrace");
        assert_eq!(beside_manifest("sim2:0", "/p"), "sim2:0");
    }
}
