//! The report of a test as JSON, which it leaves beside its trace.

use std::fs;
use std::path::Path;

use cargo_unpause::document::Document;
use sim::run::trace::format;

use crate::child::{Ended, child, folder, names_of_reports, root};

/// The report in a file.
pub(crate) fn read(path: &Path) -> Document {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    Document::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Asserts that a report contains the printed screen.
#[track_caller]
fn has_the_screen(document: &Document, ended: &Ended) {
    let screen = document.screen.text(false);
    assert!(ended.stderr.contains(&screen), "{screen}\nis not in {ended}");
}

#[cfg_attr(feature = "sim", test)]
fn each_failure_leaves_a_report_beside_its_trace() {
    for (test, seed, kind) in [
        ("lost_update", 6, "panic"),
        ("deadlocks", 1, "deadlock"),
        ("never_ends", 0, "step limit"),
        ("returns_an_error", 0, "error"),
        ("generated", 1, ""),
        ("holds_a_real_lock", 0, ""),
    ] {
        let out = folder(&format!("report-{test}"));
        let ended = child(test).env("SIM_OUT", &out).run();
        // The failing seed may depend on the strategy, but the output names the trace.
        let trace = root().join(ended.after("trace:"));
        let document = read(&trace.with_extension("json"));
        let read = format::parse(&fs::read(&trace).unwrap()).unwrap();
        let finding = document.finding.as_ref().unwrap();
        assert_eq!(finding.run.step_count, read.steps.len() as u64, "{test}");
        assert_eq!(finding.run.seed.0, read.header.seed.0);
        let failure = finding.failure.as_ref().unwrap();
        assert_eq!(failure.text, read.header.verdict);
        if !kind.is_empty() {
            assert_eq!(failure.kind, kind, "{test} {seed}");
        }
        has_the_screen(&document, &ended);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_report_has_the_lines_of_the_source() {
    let out = folder("report-sources");
    child("lost_update").env("SIM_OUT", &out).fails();
    let document = read(&out.join("test-shell.fixture.lost_update/6.json"));
    let events = document.finding.iter().flat_map(|finding| &finding.run.events);
    let sources: Vec<String> = events
        .filter(|event| event.op == "store")
        .map(|event| document.place(event.place).unwrap().source.clone().unwrap())
        .collect();
    assert_eq!(sources, ["false => hits.store(seen + 1, SeqCst).await,"; 2]);
}

#[cfg_attr(feature = "sim", test)]
fn a_report_is_written_where_the_setting_says() {
    let out = folder("report-where");
    let run = |test: &str, json: &str| {
        child(test).env("SIM_OUT", out.join("out")).env("SIM_JSON", json).run()
    };
    assert_eq!(run("lost_update", "0").code, Some(101));
    assert_eq!(names_of_reports(&out), [""; 0]);
    // A passing test leaves a report on request.
    assert_eq!(run("lost_update_of_another_test", "1").code, Some(0));
    assert_eq!(
        names_of_reports(&out),
        ["out/test-shell.fixture.lost_update_of_another_test/passed.json"]
    );
    let passed = read(&out.join("out/test-shell.fixture.lost_update_of_another_test/passed.json"));
    assert_eq!((&passed.format[..], passed.finding.is_none()), ("unpause pass", true));
    assert!(
        passed
            .screen
            .text(false)
            .starts_with("passed  shell::fixture::lost_update_of_another_test: ")
    );
    let into = out.join("reports");
    run("lost_update", &into.display().to_string());
    run("lost_update_of_another_test", &into.display().to_string());
    let expected = ["lost_update", "lost_update_of_another_test"];
    let expected = expected.map(|test| format!("test-shell.fixture.{test}.json"));
    assert_eq!(names_of_reports(&into), expected);
    // A report is also written beside the trace.
    let beside = "out/test-shell.fixture.lost_update/6.json";
    assert!(names_of_reports(&out).iter().any(|name| name == beside));
    let text = |path: &str| fs::read_to_string(out.join(path)).unwrap();
    assert_eq!(text(beside), text("reports/test-shell.fixture.lost_update.json"));
    let one = out.join("one/report.json");
    let ended = run("lost_update", &one.display().to_string());
    has_the_screen(&read(&one), &ended);
    // A replay writes no file, unless a report is requested.
    let trace = ended.after("trace:");
    let replay = child("lost_update").env("SIM_REPLAY", &trace);
    let ended = replay.env("SIM_JSON", &one).fails();
    assert_eq!(read(&one).replayed.unwrap().kind, "file");
    has_the_screen(&read(&one), &ended);
    fs::write(out.join("file"), "").unwrap();
    let ended = run("lost_update", &out.join("file/report.json").display().to_string());
    ended.says(&["warning:", "the report could not be written: folder"]);
}

/// The only file that a run on real threads leaves.
#[cfg_attr(not(feature = "sim"), test)]
#[cfg_attr(feature = "sim", allow(dead_code))]
fn a_failure_on_real_threads_leaves_a_report() {
    let out = folder("report-real");
    let ended = child("answers::fails_on_real_threads").env("SIM_OUT", &out).fails();
    let names = names_of_reports(&out);
    assert_eq!(names.len(), 1, "{names:?} {ended}");
    let document = read(&out.join(&names[0]));
    assert!(document.real_threads);
    has_the_screen(&document, &ended);
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_is_written_as_a_page_if_that_is_requested() {
    let out = folder("page");
    child("lost_update").env("SIM_OUT", &out).fails().says_not("page:");
    for json in ["1", "0"] {
        let variables = child("lost_update").env("SIM_OUT", &out).env("SIM_JSON", json);
        let ended = variables.env("SIM_HTML", "1").fails();
        let path = root().join(ended.after("page:"));
        assert_eq!(path, root().join(ended.after("trace:")).with_extension("html"));
        let page = fs::read_to_string(&path).unwrap();
        let (_, after) = page.split_once("id=\"report\">").unwrap();
        // The report in the page has the screen with the path of the page.
        let document = Document::read(after.split_once("</script").unwrap().0).unwrap();
        has_the_screen(&document, &ended);
        let name = document.finding.unwrap().page_file.0.flatten().unwrap();
        assert_eq!(root().join(name), path);
        fs::remove_file(path).unwrap();
    }
    // No file can be below a file.
    let blocked = folder("page-blocked").join("file");
    fs::write(&blocked, "").unwrap();
    let ended = child("lost_update").env("SIM_OUT", &blocked).env("SIM_HTML", "1").fails();
    ended.says_not("page:");
}
