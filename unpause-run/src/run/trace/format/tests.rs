//! Both text forms: their appearance, and the name of each fault.

use expect_test::expect;

use super::*;
use crate::run::ids::{InvalidTaskPath, Seed, TaskPath};
use crate::run::trace::{Header, Trace, TraceDraw, TraceObject, TraceOp, TraceStep, TraceTask};

/// The trace of the example in the module's documentation.
fn sample() -> Trace {
    let task = |path: TaskPath, name: Option<&str>| TraceTask { path, name: name.map(Into::into) };
    let object = |kind: &str, place: &str| TraceObject { kind: kind.into(), place: place.into() };
    let operation = |op: &str, object, values: &str, place: &str| TraceOp {
        op: op.into(),
        object,
        place: place.into(),
        values: values.into(),
    };
    let step = |task, operations: &[TraceOp], draws: &[(u64, u64)]| TraceStep {
        task,
        operations: operations.to_vec(),
        draws: draws.iter().map(|&(value, bound)| TraceDraw { value, bound }).collect(),
    };
    let main = TaskPath::main();
    let spawn = operation("spawn", None, "", "tests/counter.rs:14:9");
    let load = operation("load", Some(0), "0", "tests/my counter.rs:22:17");
    let store = operation("store", Some(0), "1", "tests/my counter.rs:23:17");
    let lock = operation("lock", Some(1), "", "tests/counter.rs:18:15");
    let check = operation("load", Some(0), "1", "tests/counter.rs:19:5");
    let unlock = operation("unlock", Some(1), "", "tests/counter.rs:18:5");
    Trace {
        header: Header {
            test: "counter::increments_are_not_lost".into(),
            package: "counter 0.1.0".into(),
            seed: Seed(17),
            strategy: "pct".into(),
            settings: Some(vec![
                ("clock".into(), "any".into()),
                ("cancel".into(), "worker *".into()),
            ]),
            cargo: None,
            verdict: "panic in task 0: assertion `left == right` failed\n  left: 1\n right: 2"
                .into(),
        },
        program: vec![],
        tasks: vec![
            task(main.clone(), None),
            task(main.child(0), Some("writer")),
            task(main.child(1), Some("the \"other\" writer")),
        ],
        objects: vec![
            object("atomic", "tests/counter.rs:10:28"),
            object("mutex", "tests/counter.rs:11:25"),
        ],
        steps: vec![
            step(0, &[spawn.clone(), spawn], &[]),
            step(1, &[], &[]),
            step(2, std::slice::from_ref(&load), &[]),
            step(1, &[load], &[]),
            step(1, std::slice::from_ref(&store), &[]),
            step(2, &[], &[(3, 10), (0, 2)]),
            step(2, &[store], &[]),
            step(0, &[lock, check, unlock], &[(1, 2)]),
        ],
    }
}

/// Removes the lines without meaning, so that damage is done to meaningful lines.
pub(super) fn compact(text: &str) -> String {
    let counts = |line: &&str| !line.starts_with('#') && !line.is_empty();
    text.lines().filter(counts).map(|line| format!("{line}\n")).collect()
}

/// The decisions that a replay needs, in terms that do not depend on the order of the tasks.
pub(super) fn decisions(trace: &Trace) -> Vec<(TaskPath, Vec<TraceDraw>)> {
    let step = |step: &TraceStep| (trace.tasks[step.task].path.clone(), step.draws.clone());
    trace.steps.iter().map(step).collect()
}

#[test]
fn the_documentation_shows_the_sample() {
    let documentation = include_str!("mod.rs");
    let example =
        documentation.split("//! ```text\n").nth(1).and_then(|rest| rest.split("//! ```").next());
    let example: String = example
        .expect("the documentation has an example")
        .lines()
        .map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start_matches(' ')))
        .collect();
    assert_eq!(write(&sample()), example);
}

#[test]
fn a_file_looks_like_this() {
    let expected = expect![[r#"
        simtrace 2
        test      counter::increments_are_not_lost
        package   "counter 0.1.0"
        seed      17
        strategy  pct
        settings  clock=any "cancel=worker *"
        verdict   "panic in task 0: assertion `left == right` failed\n  left: 1\n right: 2"

        task 0
        task 0.0      writer
        task 0.1      "the \"other\" writer"

        object atomic:0     tests/counter.rs:10:28
        object mutex:0      tests/counter.rs:11:25

        #    step  task     operation      object       values     place
        step 0     0        spawn          -            -          tests/counter.rs:14:9
        also                spawn          -            -          tests/counter.rs:14:9
        step 1     0.0
        step 2     0.1      load           atomic:0     0          "tests/my counter.rs:22:17"
        step 3     0.0      load           atomic:0     0          "tests/my counter.rs:22:17"
        step 4     0.0      store          atomic:0     1          "tests/my counter.rs:23:17"
        step 5     0.1      drew=3/10 drew=0/2
        step 6     0.1      store          atomic:0     1          "tests/my counter.rs:23:17"
        step 7     0        lock           mutex:0      -          tests/counter.rs:18:15 drew=1/2
        also                load           atomic:0     1          tests/counter.rs:19:5
        also                unlock         mutex:0      -          tests/counter.rs:18:5
        end 8
        checksum cfb695a5ede30d19
    "#]];
    expected.assert_eq(&write(&sample()));
}

#[test]
fn an_inline_trace_looks_like_this() {
    let mut trace = sample();
    expect!["sim2:clock=any+cancel=worker%20%2A:0,0.0,0.1,0.0x2,0.1=3/10=0/2,0.1,0=1/2"]
        .assert_eq(&inline(&trace));
    trace.header.settings = Some(Vec::new());
    expect!["sim2::0,0.0,0.1,0.0x2,0.1=3/10=0/2,0.1,0=1/2"].assert_eq(&inline(&trace));
    trace.header.settings = None;
    expect!["sim2:0,0.0,0.1,0.0x2,0.1=3/10=0/2,0.1,0=1/2"].assert_eq(&inline(&trace));
}

#[test]
fn settings_of_a_trace_are_all_there_are_or_unknown() {
    let settings = |line: &str| {
        let text = format!("simtrace 2\nstrategy pct\n{line}verdict v\ntask 0\nend 0\n");
        parse(text.as_bytes()).map(|trace| trace.header.settings)
    };
    // A trace of an earlier version.
    assert_eq!(settings(""), Ok(None));
    assert_eq!(settings("settings default\n"), Ok(Some(Vec::new())));
    let two = vec![("a".into(), String::new()), ("b".into(), "= \"".into())];
    assert_eq!(settings("settings a= \"b== \\\"\"\n"), Ok(Some(two)));
    let setting = |text: &str| Err(TraceError { line: 3, kind: ErrorKind::Setting(text.into()) });
    for (line, expected) in [
        ("settings a=1 default", setting("default")),
        ("settings a=1 b", setting("b")),
        ("settings =1", setting("=1")),
        ("settings a=1 a=2", setting("a=2")),
        ("settings", Err(TraceError { line: 3, kind: ErrorKind::MissingField("setting") })),
    ] {
        assert_eq!(settings(&format!("{line}\n")), expected, "{line}");
    }
    let inline = |text: &str| parse_inline(text).map(|trace| trace.header.settings);
    assert_eq!(inline("sim2:0"), Ok(None));
    assert_eq!(inline("sim2::0"), Ok(Some(Vec::new())));
    assert_eq!(inline("sim2:a=%2a%2A:0"), Ok(Some(vec![("a".into(), "**".into())])));
    for text in ["a", "a=1+", "a=%", "a=%2", "a=%+1", "a=%ff", "a=é", "a=1+a=2"] {
        let error = InlineError { column: 6, kind: InlineErrorKind::Settings };
        assert_eq!(inline(&format!("sim2:{text}:0")), Err(error), "{text}");
    }
    let error = InlineError { column: 10, kind: InlineErrorKind::TaskPath(InvalidTaskPath) };
    assert_eq!(inline("sim2:a=1:x"), Err(error));
}

#[test]
fn the_command_of_a_test_follows_from_its_name_or_is_written() {
    let header = |line: &str| {
        let text = format!("simtrace 2\n{line}verdict v\ntask 0\nend 0\n");
        parse(text.as_bytes()).map(|trace| trace.header)
    };
    let words = |header: Header| header.cargo_arguments().map(|words| words.join(" "));
    // A trace of an earlier version, and of a usual test.
    for (test, expected) in [
        ("\"a::b::c (lib)\"", Some("test -p demo --lib b::c -- --exact")),
        ("\"a::c (test my-test)\"", Some("test -p demo --test my-test c -- --exact")),
        ("\"a::c (example ex)\"", Some("test -p demo --example ex c -- --exact")),
        // A `Runner`, a program without cargo, and a test of an unknown target.
        ("\"queue_12 (example queue)\"", None),
        ("\"a::c (program tool)\"", None),
        ("\"a::c (crate a-0123456789abcdef)\"", None),
        ("a::c", None),
    ] {
        let header = header(&format!("test {test}\npackage \"demo 1.2.3\"\n")).unwrap();
        assert_eq!(header.cargo, None);
        assert_eq!(words(header).as_deref(), expected, "{test}");
    }
    let test = "test \"a::c (lib)\"\npackage demo\n";
    let with = |line: &str| header(&format!("{test}{line}")).map(words);
    let any = "unpause test --any -p demo c -- --exact";
    assert_eq!(with(&format!("cargo {any}\n")), Ok(Some(any.to_owned())));
    assert_eq!(with("cargo none\n"), Ok(None));
    assert_eq!(with("cargo test \"a b\"\n"), Ok(Some("test a b".to_owned())));
    let missing = ErrorKind::MissingField("argument");
    assert_eq!(with("cargo\n"), Err(TraceError { line: 4, kind: missing }));
    let header = header(&format!("{test}cargo none\n")).unwrap();
    let trace = Trace { header, ..Trace::default() };
    assert!(write(&trace).contains("\ncargo     none\n"));
}

#[test]
fn an_empty_trace_reads_back() {
    let trace = Trace::default();
    assert_eq!(parse(write(&trace).as_bytes()), Ok(trace.clone()));
    assert_eq!(inline(&trace), "sim2:");
    assert_eq!(decisions(&parse_inline("sim2:").unwrap()), []);
}

#[test]
fn every_truncation_is_an_error_or_cuts_off_nothing_that_counts() {
    let text = write(&sample());
    let checksum = text.find("checksum").unwrap();
    for end in 0..text.len() {
        let whole = end == text.len() - 1 || end == checksum || end == checksum - 1;
        let expected = if whole { Some(sample()) } else { None };
        assert_eq!(parse(&text.as_bytes()[..end]).ok(), expected, "cut after {end} bytes");
    }
}

#[test]
fn no_single_damaged_byte_gives_another_trace() {
    let text = write(&sample()).into_bytes();
    for position in 0..text.len() {
        let flipped = (0..8).map(|bit| text[position] ^ (1 << bit));
        let bytes = flipped.chain(*b"\n\r\t\0 #\"\\-01\xff").enumerate();
        // By default a quarter of the bytes at each position, and each byte at a quarter of the positions.
        let all = bytes.filter(|(nth, _)| crate::long() || (nth + position) % 16 == 0);
        for (_, byte) in all {
            let mut damaged = text.clone();
            damaged[position] = byte;
            if let Ok(trace) = parse(&damaged) {
                assert_eq!(trace, sample(), "byte {position} as {byte} gives another trace");
            }
        }
    }
}

#[test]
fn a_lost_line_is_noticed() {
    let text = compact(&write(&sample()));
    for lost in 0..text.lines().count() - 1 {
        let damaged: Vec<&str> =
            text.lines().enumerate().filter(|&(n, _)| n != lost).map(|(_, line)| line).collect();
        assert!(parse(damaged.join("\n").as_bytes()).is_err(), "without line {lost}");
    }
}

#[test]
fn what_editors_do_to_a_file_means_nothing() {
    let text = compact(&write(&sample())).replace('\n', " \t\r\n  # a \"comment\n\t\n ");
    assert_eq!(parse(text.as_bytes()), Ok(sample()));
    assert_eq!(parse(format!("\u{feff}{text}").as_bytes()), Ok(sample()));
}

#[test]
fn an_edited_file_is_refused_until_its_checksum_line_is_gone() {
    let text = write(&sample());
    let edited = text.replace("drew=3/10", "drew=4/10");
    let error = parse(edited.as_bytes()).unwrap_err();
    assert_eq!(error.line, text.lines().count());
    expect!["line 29: the checksum is `cfb695a5ede30d19` and the lines above give `b645dc8916b8a036`: the file is damaged, or was edited; if you meant the edit, remove the `checksum` line"].assert_eq(&error.to_string());

    let edited = &edited[..edited.find("checksum").unwrap()];
    let draw = parse(edited.as_bytes()).unwrap().steps[5].draws[0];
    assert_eq!(draw, TraceDraw { value: 4, bound: 10 });
}

#[test]
fn every_fault_of_a_file_has_its_line_and_remedy() {
    let faults = [
        "",
        "simtrace 2\n",
        "simtrace 2\ntask 0\nchecksum 0000000000000000",
        "\n# hello\nhello",
        "simtrace",
        "simtrace one",
        "simtrace 2\nanything",
        "simtrace 2\nsimtrace 2",
        "simtrace 2\nseeds 1",
        "simtrace 2\nseed -1",
        "simtrace 2\nseed 18446744073709551616",
        "simtrace 2\nseed 1\nseed 1",
        "simtrace 2\nseed 1\ntest a",
        "simtrace 2\ntest two words",
        "simtrace 2\ntest two # words",
        "simtrace 2\ntest \"open",
        "simtrace 2\ntest \"two\"words",
        "simtrace 2\ntest wo\"rd",
        "simtrace 2\ntest \"\\q\"",
        "simtrace 2\ntest \"\\u{d800}\"",
        "simtrace 2\ntest \0",
        "simtrace 2\ntask 1",
        "simtrace 2\ntask 0\ntask 0.00",
        "simtrace 2\ntask 0\ntask 0.1.0",
        "simtrace 2\ntask 0\ntask 0",
        "simtrace 2\nobject a_b:0 place",
        "simtrace 2\nobject atomic:0",
        "simtrace 2\nobject atomic:1 place",
        "simtrace 2\ntask 0\nstep 1 0",
        "simtrace 2\ntask 0\nstep 0 0.1",
        "simtrace 2\ntask 0\nstep 0 0 dr\u{f6}p - - place",
        "simtrace 2\ntask 0\nstep 0 0 load",
        "simtrace 2\ntask 0\nstep 0 0 load - -",
        "simtrace 2\ntask 0\nstep 0 0 load atomic:0 0 place",
        "simtrace 2\ntask 0\nstep 0 0 drew=2/2",
        "simtrace 2\ntask 0\nstep 0 0 load - - place drawn",
        "simtrace 2\ntask 0\nalso load - - place",
        "simtrace 2\ntask 0\nstep 0 0\nalso load - - place",
        "simtrace 2\ntask 0\nstep 0 0\nend 2",
        "simtrace 2\nend 0\nstep 0 0",
        "simtrace 2\nend 0\nchecksum 0",
    ];
    let mut messages = String::new();
    for fault in faults {
        let error = parse(fault.as_bytes()).expect_err(fault);
        messages.push_str(&format!("{fault:?}\n    {error}\n"));
    }
    expect![[r#"
        ""
            line 1: not a trace: its first line would be `simtrace 2`
        "simtrace 2\n"
            line 2: truncated: the file ends before its `end` line, take another copy or run the test again
        "simtrace 2\ntask 0\nchecksum 0000000000000000"
            line 3: truncated: the file ends before its `end` line, take another copy or run the test again
        "\n# hello\nhello"
            line 3: not a trace: its first line would be `simtrace 2`
        "simtrace"
            line 1: the version is missing
        "simtrace one"
            line 1: `one` is no version: expected a decimal number below 2^64
        "simtrace 2\nanything"
            line 2: unknown keyword `anything`: expected test, package, seed, strategy, settings, cargo, verdict, task, object, step, also, end or checksum
        "simtrace 2\nsimtrace 2"
            line 2: `simtrace` must not stand here, or not twice: the order is simtrace, test, package, seed, strategy, settings, cargo, verdict, task, object, step and also, end, checksum
        "simtrace 2\nseeds 1"
            line 2: unknown keyword `seeds`: expected test, package, seed, strategy, settings, cargo, verdict, task, object, step, also, end or checksum
        "simtrace 2\nseed -1"
            line 2: `-1` is no seed: expected a decimal number below 2^64
        "simtrace 2\nseed 18446744073709551616"
            line 2: `18446744073709551616` is no seed: expected a decimal number below 2^64
        "simtrace 2\nseed 1\nseed 1"
            line 3: `seed` must not stand here, or not twice: the order is simtrace, test, package, seed, strategy, settings, cargo, verdict, task, object, step and also, end, checksum
        "simtrace 2\nseed 1\ntest a"
            line 3: `test` must not stand here, or not twice: the order is simtrace, test, package, seed, strategy, settings, cargo, verdict, task, object, step and also, end, checksum
        "simtrace 2\ntest two words"
            line 2: `words` is one field too many: put a text with spaces in double quotes
        "simtrace 2\ntest two # words"
            line 2: a field begins with `#`: a comment has a line of its own, and a text that begins so stands in double quotes
        "simtrace 2\ntest \"open"
            line 2: stray or missing `"`: a quoted text ends in one and white space follows; inside it write `\"`
        "simtrace 2\ntest \"two\"words"
            line 2: stray or missing `"`: a quoted text ends in one and white space follows; inside it write `\"`
        "simtrace 2\ntest wo\"rd"
            line 2: stray or missing `"`: a quoted text ends in one and white space follows; inside it write `\"`
        "simtrace 2\ntest \"\\q\""
            line 2: unknown escape `\q`: there are \" \\ \n \r \t and \u{...}
        "simtrace 2\ntest \"\\u{d800}\""
            line 2: unknown escape `\u{d800}`: there are \" \\ \n \r \t and \u{...}
        "simtrace 2\ntest \0"
            line 2: control character U+0000: if it belongs to a text, write `\u{0}` between double quotes
        "simtrace 2\ntask 1"
            line 2: not a task path: expected numbers joined by dots, beginning with 0, like `0.1`
        "simtrace 2\ntask 0\ntask 0.00"
            line 3: not a task path: expected numbers joined by dots, beginning with 0, like `0.1`
        "simtrace 2\ntask 0\ntask 0.1.0"
            line 3: the parent of task `0.1.0` is missing: it needs a `task` line above
        "simtrace 2\ntask 0\ntask 0"
            line 3: task `0` has a line already: remove one of them
        "simtrace 2\nobject a_b:0 place"
            line 2: `a_b:0` is no object: expected a kind of ASCII letters, digits and `-`, and a number, like `atomic:0`
        "simtrace 2\nobject atomic:0"
            line 2: the place is missing
        "simtrace 2\nobject atomic:1 place"
            line 2: object number 1 where 0 is due: the objects of each kind are numbered from 0, without gaps
        "simtrace 2\ntask 0\nstep 1 0"
            line 3: step 1 where step 0 is due: steps are numbered from 0, without gaps
        "simtrace 2\ntask 0\nstep 0 0.1"
            line 3: there is no task `0.1`: each task needs a `task` line above the steps
        "simtrace 2\ntask 0\nstep 0 0 dröp - - place"
            line 3: `dröp` is no operation: expected one bare word of ASCII letters, digits, `_`, `-`
        "simtrace 2\ntask 0\nstep 0 0 load"
            line 3: the object is missing
        "simtrace 2\ntask 0\nstep 0 0 load - -"
            line 3: the place is missing
        "simtrace 2\ntask 0\nstep 0 0 load atomic:0 0 place"
            line 3: there is no object `atomic:0`: each object needs an `object` line above the steps, and `-` means none
        "simtrace 2\ntask 0\nstep 0 0 drew=2/2"
            line 3: `drew=2/2` is no draw: expected `drew=value/bound` with value below bound
        "simtrace 2\ntask 0\nstep 0 0 load - - place drawn"
            line 3: `drawn` is no draw: expected `drew=value/bound` with value below bound
        "simtrace 2\ntask 0\nalso load - - place"
            line 3: `also` follows no operation: put it below a `step` line that has one
        "simtrace 2\ntask 0\nstep 0 0\nalso load - - place"
            line 4: `also` follows no operation: put it below a `step` line that has one
        "simtrace 2\ntask 0\nstep 0 0\nend 2"
            line 4: `end` counts 2 steps and the file has 1: lines are missing, or the number is to be 1
        "simtrace 2\nend 0\nstep 0 0"
            line 3: `step` must not stand here, or not twice: the order is simtrace, test, package, seed, strategy, settings, cargo, verdict, task, object, step and also, end, checksum
        "simtrace 2\nend 0\nchecksum 0"
            line 3: the checksum is `0` and the lines above give `29ac93e0e6e8beca`: the file is damaged, or was edited; if you meant the edit, remove the `checksum` line
    "#]].assert_eq(&messages);
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_with_its_source() {
    let error = parse(b"simtrace 2\n# caf\xe9\n").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn found_text_is_cut_in_errors() {
    let text = format!("simtrace 2\n{}", "é".repeat(100_000));
    let expected = ErrorKind::UnknownKeyword(format!("{}…", "é".repeat(40)));
    assert_eq!(parse(text.as_bytes()), Err(TraceError { line: 2, kind: expected }));
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let operation = |op: &str, object| TraceOp {
        op: op.into(),
        object,
        ..sample().steps[2].operations[0].clone()
    };
    let break_step = |operation: TraceOp| {
        move |trace: &mut Trace| trace.steps[1].operations.push(operation.clone())
    };
    type Damage = Box<dyn Fn(&mut Trace)>;
    let cases: [(&str, Damage); 9] = [
        ("step 1 is of a task", Box::new(|trace| trace.steps[1].task = 3)),
        ("step 1 is on an object", Box::new(break_step(operation("load", Some(2))))),
        ("step 1 has an operation \"\"", Box::new(break_step(operation("", None)))),
        ("step 1 has an operation \"a=b\"", Box::new(break_step(operation("a=b", None)))),
        ("step 5 drew", Box::new(|trace| trace.steps[5].draws[1].value = 2)),
        ("kind \"a_b\"", Box::new(|trace| trace.objects[0].kind = "a_b".into())),
        ("task 0 is in the trace twice", Box::new(|trace| trace.tasks[1].path = TaskPath::main())),
        (
            "task 0.0.0 before",
            Box::new(|trace| trace.tasks[0].path = TaskPath::main().child(0).child(0)),
        ),
        ("task 0.0 before", Box::new(|trace| trace.tasks.swap(0, 1))),
    ];
    for (expected, damage) in cases {
        let mut trace = sample();
        damage(&mut trace);
        let panic = std::panic::catch_unwind(|| write(&trace)).expect_err(expected);
        let message = panic.downcast_ref::<String>().expect("a formatted message");
        assert!(message.contains(expected), "{message}");
    }
}
