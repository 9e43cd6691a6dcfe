//! Verbs that run tests.

use serde_json::{Value as Json, json};

use super::arguments::Arguments;
use super::reading::loaded;
use crate::Usage;
use crate::document::{Document, Finding};
use crate::explained::explained;
use crate::invocation::{Invocation, Tests, check_settings};
use crate::replay::{failure_of, invocation_of, is_same_failure};
use crate::rerun::{Ended, Stop, run, tail};

/// The maximum length of the output excerpt in a reply without a report.
const OUTPUT_MAX: usize = 6_000;

/// Returns the command for the tests named by the arguments. `exactly` selects one test by its
/// whole path.
///
/// # Errors
/// If an argument or a setting is invalid.
pub(super) fn command(arguments: &Arguments, exactly: bool) -> Result<Invocation, Usage> {
    let text = |name: &str| arguments.text(name).map(str::to_owned);
    let tests = Tests {
        test: text("test"),
        package: text("package"),
        target: text("target"),
        features: text("features"),
        plain_threads: arguments.flag("plain_threads"),
        any: arguments.flag("any"),
        races: arguments.flag("races"),
    };
    tests.invocation(exactly, arguments.settings())
}

pub(super) fn test(arguments: &Arguments, stop: &Stop) -> Result<Json, Usage> {
    let invocation = command(arguments, false)?;
    Ok(results(&invocation, run(&invocation, stop)?))
}

/// Returns the reply for tests that were run.
fn results(invocation: &Invocation, ended: Ended) -> Json {
    let (failed, mut passed): (Vec<_>, Vec<_>) =
        ended.reports.iter().partition(|report| report.finding.is_some());
    // A test of several searches has a report for each. The test passes only if all searches pass.
    let has_failed = |test: &&Document| {
        failed.iter().any(|other| (&other.test, &other.package) == (&test.test, &test.package))
    };
    passed.retain(|report| !has_failed(report));
    let good = |report: &&Document| {
        json!({
            "test": report.test,
            "filter": filter(report),
            "runs": report.runs,
            "notes": report.notes,
            "warnings": report.warnings,
            "proved": report.searched.as_ref().map(|searched| searched.is_proof),
        })
    };
    let bad = |report: &&Document| failed_test(report);
    // Tests that do not use the library write no report. The failures of such tests are visible only in the output.
    let is_unexplained = ended.code != Some(0) && failed.is_empty();
    json!({
        "command": invocation.text(),
        "exit_code": ended.code,
        "failed": failed.iter().map(bad).collect::<Vec<_>>(),
        "passed": passed.iter().map(good).collect::<Vec<_>>(),
        "hint": ended.reports.is_empty().then_some(
            "no test of unpause has run: the path of a test is without the name of its crate, and a test with plain \
             threads needs `plain_threads` or `any`",
        ),
        "output": (is_unexplained || ended.reports.is_empty()).then(|| tail(&ended.output, OUTPUT_MAX)),
    })
}

/// Returns the test path in the form that Cargo accepts, without the crate name.
fn filter(report: &Document) -> &str {
    report.test.split_once("::").map_or(&report.test, |(_, path)| path)
}

/// Returns a failed test: the explanation, the screen, and the paths of its files.
fn failed_test<'a>(report: &'a Document) -> Json {
    let mut value = explained(report);
    let finding = report.finding.as_ref();
    for long in ["chances", "passing"] {
        let removed = value.as_object_mut().and_then(|fields| fields.remove(long));
        debug_assert!(removed.is_some(), "`why` has them");
    }
    value["filter"] = json!(filter(report));
    value["runs"] = json!(report.runs);
    // A failure from an earlier run was replayed from its trace.
    let of = |finding: &'a Finding| finding.trace_file.as_ref().or(finding.from.file.as_ref());
    let file = finding.and_then(of);
    let file = file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.into()));
    value["file"] = json!(file.map(|file| file.display().to_string()));
    value["replay"] = json!(finding.and_then(|finding| finding.replay.clone()));
    value["screen"] = json!(report.screen.text(false));
    value
}

pub(super) fn replay(arguments: &Arguments, stop: &Stop) -> Result<Json, Usage> {
    let loaded = loaded(arguments)?;
    let invocation = invocation_of(&loaded)?;
    let ended = run(&invocation, stop)?;
    let report = ended.reports.iter().find(|report| report.test == loaded.test());
    let now = report.and_then(failure_of);
    let is_diverged = now.is_some_and(|failure| failure.diverged.0.is_some());
    let is_same = now.is_some_and(|failure| is_same_failure(&loaded, failure));
    Ok(json!({
        "command": invocation.text(),
        "exit_code": ended.code,
        "passed": report.is_some_and(|report| report.finding.is_none()),
        "same_failure": is_same,
        "diverged": is_diverged,
        "result": report.map(failed_test_or_null),
        "output": report.is_none().then(|| tail(&ended.output, OUTPUT_MAX)),
    }))
}

fn failed_test_or_null(report: &Document) -> Json {
    if report.finding.is_some() { failed_test(report) } else { Json::Null }
}

pub(super) fn prove(arguments: &Arguments, stop: &Stop) -> Result<Json, Usage> {
    let mut invocation = command(arguments, false)?;
    let strategy = arguments.text("strategy").unwrap_or("exhaustive");
    invocation.set("SIM_STRATEGY", strategy);
    invocation.set("SIM_MUST_PROVE", "1");
    check_settings(&invocation.variables)?;
    let ended = run(&invocation, stop)?;
    let all = ended.reports.iter().all(|report| {
        report.finding.is_none() && report.searched.as_ref().is_some_and(|search| search.is_proof)
    });
    let proved = ended.code == Some(0) && !ended.reports.is_empty() && all;
    let assumes = ended.reports.iter().filter_map(|report| {
        let assumption = report.searched.as_ref()?.assumption.clone()?;
        Some(json!({"test": report.test, "assumption": assumption}))
    });
    let assumes: Vec<Json> = assumes.collect();
    let mut value = results(&invocation, ended);
    value["proved"] = json!(proved);
    value["assumptions"] = json!(assumes);
    Ok(value)
}
