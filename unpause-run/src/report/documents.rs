//! Tests that reports of every kind can be written as JSON and read back by the command without loss.

use std::sync::LazyLock;

use cargo_unpause::document::{Document, Unreadable};
use expect_test::expect_file;
use jsonschema::{Validator, draft202012};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use unpause_ordered::{Map, Set};

use super::kinds::unfinished_search;
use super::properties::{failure, report};
use super::sample::*;
use super::*;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::TaskPath;
use crate::run::{DrawRecord, Failure};

/// Checks a value against a schema. Supports only some keywords, but also refuses unknown fields, because the writer
/// and the schema have the same version.
fn check(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {value} by {schema}"));
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.strip_prefix("#/$defs/").ok_or("a reference of another form")?;
        return check(value, &root["$defs"][name], root);
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        return match any.iter().any(|schema| check(value, schema, root).is_ok()) {
            true => Ok(()),
            false => wrong("none fits"),
        };
    }
    let is_of_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => return wrong("no type"),
    };
    if !is_of_type {
        return wrong("another type");
    }
    if schema.get("pattern").is_some()
        && value.as_str().is_none_or(|text| text.parse::<u64>().is_err())
    {
        return wrong("no number");
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        match schema.get("prefixItems") {
            Some(items) => check(item, items.get(at).ok_or("too many items")?, root)?,
            None => check(item, &schema["items"], root)?,
        }
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for required in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(required.as_str().unwrap_or_default()) {
            return wrong("a field is missing");
        }
    }
    for (name, field) in object {
        let schema = schema["properties"].get(name).ok_or(format!("`{name}` is not known"))?;
        check(field, schema, root)?;
    }
    Ok(())
}

/// Checks that the report reads back unchanged, satisfies the schema, and has the same screen.
pub(super) fn round_trips(
    report: &Report,
    style: &Style,
    schema: &Value,
) -> Result<Document, String> {
    let written = json(report, style);
    let value: Value = serde_json::from_str(&written).map_err(|error| error.to_string())?;
    check(&value, schema, schema)?;
    if let Some(error) = FOREIGN.iter_errors(&value).next() {
        return Err(error.to_string());
    }
    let document = Document::read(&written).map_err(|error| error.to_string())?;
    if document.value() != value {
        return Err(format!("read as {}, and not as {value}", document.value()));
    }
    for color in [false, true] {
        let (shown, screen) =
            (document.screen.text(color), text(report, &Style { color, ..*style }));
        if shown != screen {
            return Err(format!("the screen is\n{screen}\nand was read as\n{shown}"));
        }
    }
    Ok(document)
}

static SCHEMA: LazyLock<Value> = LazyLock::new(Document::schema);

/// A validator of the schema that shares no code with this project.
static FOREIGN: LazyLock<Validator> = LazyLock::new(|| draft202012::new(&SCHEMA).unwrap());

proptest! {
    #![proptest_config(super::properties::config())]

    #[test]
    fn a_report_is_read_as_it_was_written(report in report(), width in 0..160usize, color: bool) {
        let read = round_trips(&report, &Style { color, width }, &SCHEMA);
        prop_assert!(read.is_ok(), "{}", read.err().unwrap_or_default());
    }
}

#[test]
fn each_kind_of_failure_is_read_as_it_was_written() {
    let (mut runner, schema) = (TestRunner::deterministic(), Document::schema());
    // The maximum number of failures of each kind that are written and read. The rarest kinds occur only a few times
    // among 400.
    let most = if crate::long() { 400 } else { 5 };
    let mut seen: Map<&str, u32> = Map::new();
    let failures = failure();
    for _ in 0..400 {
        let failure = failures.new_tree(&mut runner).unwrap().current();
        let variant = failure.variant();
        assert!(Failure::KINDS.contains(&failure.kind()), "{variant}");
        let count = seen.entry(variant).or_default();
        *count += 1;
        if *count > most {
            continue;
        }
        let report = lost_update_that(failure);
        let document = round_trips(&report, &Style::default(), &schema).unwrap();
        let failure = document.value()["finding"]["failure"].clone();
        let names = failure.as_object().unwrap().keys();
        let own: Vec<&String> =
            names.filter(|name| Failure::VARIANTS.contains(&name.as_str())).collect();
        assert_eq!(own, [variant]);
    }
    let all: Set<&str> = Failure::VARIANTS.iter().copied().collect();
    assert_eq!(seen.keys().copied().collect::<Set<&str>>(), all);
    // The schema must contain exactly these fields.
    let fields = schema["$defs"]["Failure"]["properties"].as_object().unwrap();
    let common = ["kind", "text", "signature"];
    let fields = fields.keys().map(String::as_str).filter(|name| !common.contains(name));
    assert_eq!(fields.collect::<Set<&str>>(), all);
}

#[test]
fn a_large_estimate_is_a_text() {
    let estimate = Some(RunsEstimate { runs: u64::MAX - 1, low: 1 << 53, high: u64::MAX });
    let searched = Searched { estimate, ..unfinished_search() };
    let report = Report { runs: 3, searched: Some(searched), ..Report::default() };
    let document = round_trips(&report, &Style::default(), &SCHEMA).unwrap();
    let value = document.value();
    // JavaScript reads numbers as doubles.
    assert_eq!(value["searched"]["estimate"]["runs"], (u64::MAX - 1).to_string());
}

#[test]
fn every_sample_is_read_as_it_was_written() {
    let schema = Document::schema();
    let passed = Report { test: "a".to_owned(), runs: 3, ..Report::default() };
    let samples = [
        passed,
        lost_update(),
        deadlock(),
        spin(),
        panic(),
        queue(),
        crowd(),
        undecided_on_real_threads(),
        starved(),
        long(),
        calls(in_core()),
        no_end_on_real_threads(),
        fault_within_a_call(),
    ];
    for report in samples {
        round_trips(&report, &Style::default(), &schema).unwrap();
    }
}

#[test]
fn the_nearest_passing_run_is_read_as_it_was_written() {
    let hostile = "\u{1b}[2J</script>\u{202e}\n\"";
    let place = here();
    let operation =
        |op: &'static str| PassingOperation { op, text: format!("{op} {hostile}"), place };
    let draw = DrawRecord { step: 3, value: u64::MAX - 1, bound: u64::MAX, given: false, why: "" };
    let step = |more, draws| PassingStep {
        task: hostile.to_owned(),
        path: TaskPath::main().child(1),
        preempts: more == 0,
        operations: vec![operation("load"), operation("store")],
        more,
        draws,
    };
    let passing = PassingRun {
        common: 3,
        step_count: 9,
        steps: vec![step(0, vec![draw]), step(7, Vec::new())],
        replay: Some(hostile.to_owned()),
    };
    let mut report = lost_update();
    report.finding.as_mut().unwrap().why = Some(Why { passing: Some(passing), ..Why::default() });
    let document = round_trips(&report, &Style::default(), &Document::schema()).unwrap();
    let why = document.finding.as_ref().unwrap().why.as_ref().unwrap();
    let read = why.passing.0.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((read.common, read.step_count, read.replay.as_deref()), (3, 9, Some(hostile)));
    let numbers: Vec<u64> = read.steps.iter().map(|step| step.step).collect();
    assert_eq!((numbers, &read.steps[0].path[..], read.steps[1].more), (vec![3, 4], "0.1", 7));
    assert_eq!(read.steps[0].draws[0].value.0, u64::MAX - 1);
    let place = document.place(read.steps[0].operations[1].place).unwrap();
    assert!(place.file.ends_with("documents.rs"), "{place:?}");
    // Reports of earlier versions do not have the field.
    let mut earlier = document.value();
    let why = earlier["finding"]["why"].as_object_mut().unwrap();
    assert!(why.remove("passing").is_some());
    assert_eq!(Document::read(&earlier.to_string()).unwrap().value(), earlier);
}

#[test]
fn the_pattern_and_the_quoted_lines_are_read_as_they_were_written() {
    let hostile = "\u{1b}[2J</script>\u{202e}\"";
    let mut report = deadlock();
    report.finding.as_mut().unwrap().quote(&mut |_, _| Some(hostile.to_owned()));
    let document = round_trips(&report, &Style::default(), &Document::schema()).unwrap();
    let finding = document.finding.as_ref().unwrap();
    assert_eq!(finding.pattern.0.as_deref(), Some("lock order"));
    let quoted = finding.quoted.0.as_ref().unwrap();
    assert_eq!((quoted.len(), &quoted[0].text[..]), (3, hostile));
    let place = document.place(quoted[0].place).unwrap();
    assert!(place.file.ends_with("sample.rs"), "{place:?}");
    // Reports of earlier versions do not have these fields.
    let mut earlier = document.value();
    let finding = earlier["finding"].as_object_mut().unwrap();
    for name in ["pattern", "quoted"] {
        assert!(finding.remove(name).is_some());
    }
    assert_eq!(Document::read(&earlier.to_string()).unwrap().value(), earlier);
}

#[test]
fn the_steps_are_as_the_run_has_them() {
    let report = lost_update();
    let document = round_trips(&report, &Style::default(), &Document::schema()).unwrap();
    let (finding, run) = (report.finding.unwrap(), document.finding.as_ref().unwrap());
    let (own, read) = (&finding.run, &run.run);
    assert_eq!(read.step_count, own.steps.len() as u64);
    let tasks: Vec<u64> = own.steps.iter().map(|step| u64::from(step.task.0)).collect();
    assert_eq!(read.steps.iter().map(|step| step.task).collect::<Vec<_>>(), tasks);
    assert_eq!(read.events.len(), own.events.len());
    let stores = read.events.iter().filter(|event| event.op == "store");
    let texts: Vec<&str> = stores.map(|event| &event.text[..]).collect();
    assert_eq!(texts, ["store atomic := 1"; 2]);
    let place = document.place(read.events[0].place).unwrap();
    assert!(place.file.ends_with("sample.rs") && place.line > Some(1), "{place:?}");
}

#[test]
fn of_a_long_run_the_middle_is_left_out() {
    let mut sample = Sample::of(&["worker"]);
    let counter = Some(sample.object("atomic", ValueKind::Unsigned));
    for n in 0..50_010 {
        sample.step(1).did(&LOAD, counter, Values::Read(n));
    }
    let failure = Failure::Error { message: "too long".to_owned() };
    let report = sample.report("long::it_is_cut", failure);
    let document = Document::read(&json(&report, &Style::default())).unwrap();
    let run = &document.finding.as_ref().unwrap().run;
    let omitted = run.omitted_steps.as_ref().unwrap();
    assert_eq!((omitted.from, omitted.to, run.step_count), (25_000, 25_010, 50_010));
    assert_eq!((run.steps.len(), run.events.len()), (50_000, 50_000));
    assert_eq!((run.steps[24_999].step, run.steps[25_000].step), (24_999, 25_010));
    assert_eq!(run.events[25_000].event, 25_010);
}

#[test]
fn a_file_that_is_cut_off_is_refused_at_every_byte() {
    let written = json(&panic(), &Style::default());
    let written = written.trim_end();
    // By default, test the two ends, where few fields are complete or open, and every seventh byte in between.
    let is_tried = |end: &usize| {
        let is_near = *end < 100 || *end > written.len() - 100;
        crate::long() || is_near || *end % 7 == 0
    };
    let ends = (0..written.len()).filter(is_tried);
    for end in ends.filter(|end| written.is_char_boundary(*end)) {
        let error = Document::read(&written[..end]).unwrap_err();
        assert!(matches!(error, Unreadable::Syntax(_)), "{end}: {error}");
    }
}

#[test]
fn a_field_that_is_wrong_is_named() {
    let written = json(&panic(), &Style::default());
    for (from, to, expected) in [
        ("\"version\":1", "\"version\":7", "it has version 7 of the format"),
        ("unpause failure", "a failure", "it is no report of unpause"),
        ("\"preempts\":", "\"preempt\":", "`finding.run.steps[0].preempts` is missing"),
        ("\"seed\":\"17\"", "\"seed\":17", "`finding.from.seed` is no whole number in a text"),
        ("\"runs\":18", "\"runs\":null", "`runs` is no whole number"),
    ] {
        assert!(written.contains(from), "{from}");
        let error = Document::read(&written.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // Fields of later versions are ignored.
    let more = written.replace("\"version\":1,", "\"version\":1,\"mood\":\"bright\",");
    assert!(Document::read(&more).is_ok());
}

#[test]
fn the_schema_of_the_manual_is_the_schema() {
    let schema = serde_json::to_string_pretty(&Document::schema()).unwrap() + "\n";
    expect_file!["../../../docs/failure.schema.json"].assert_eq(&schema);
}
