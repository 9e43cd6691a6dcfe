//! Property tests of both text forms with random input: every trace reads back, and nothing panics.

use proptest::prelude::*;

use super::tests::{compact, decisions};
use super::*;
use crate::run::ids::{Seed, TaskPath};
use crate::run::program::Part;
use crate::run::trace::{
    Header, Trace, TraceCommand, TraceDraw, TraceObject, TraceOp, TraceStep, TraceTask,
};

prop_compose! {
    /// Any text, which may contain control characters, quotes, backslashes, and spaces at the ends.
    fn any_text()(chars in prop::collection::vec(any_char(), 0..8)) -> String {
        chars.into_iter().collect()
    }
}

fn any_char() -> impl Strategy<Value = char> {
    prop_oneof![any::<char>(), prop::sample::select("\"\\ #-\n{u".chars().collect::<Vec<_>>())]
}

prop_compose! {
    /// Tasks, generated from pairs. A pair is the parent of a task, and the number of child numbers
    /// to skip before the task.
    fn any_tasks()(
        shape in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u32), 0..8),
        names in prop::collection::vec(prop::option::of(any_text()), 9),
    ) -> Vec<TraceTask> {
        let mut paths = vec![TaskPath::main()];
        let mut next = [0; 9];
        for (parent, skipped) in shape {
            let parent = parent.index(paths.len());
            next[parent] += skipped;
            paths.push(paths[parent].child(next[parent]));
            next[parent] += 1;
        }
        paths.into_iter().zip(names).map(|(path, name)| TraceTask { path, name }).collect()
    }
}

fn any_step(tasks: usize, objects: usize) -> impl Strategy<Value = TraceStep> {
    let object = prop::option::of(any::<prop::sample::Index>());
    let operation = ("[a-zA-Z0-9_-]{1,16}", object, any_text(), any_text());
    let draw = (any::<u64>(), any::<u64>()).prop_filter("an answer must exist", |&(_, b)| b > 0);
    (0..tasks, prop::collection::vec(operation, 0..3), prop::collection::vec(draw, 0..3)).prop_map(
        move |(task, operations, draws)| TraceStep {
            task,
            operations: operations
                .into_iter()
                .map(|(op, object, place, values)| {
                    let object = object.filter(|_| objects > 0).map(|index| index.index(objects));
                    TraceOp { op, object, place, values }
                })
                .collect(),
            draws: draws
                .into_iter()
                .map(|(value, bound)| TraceDraw { value: value % bound, bound })
                .collect(),
        },
    )
}

fn any_trace() -> impl Strategy<Value = Trace> {
    let settings = prop::collection::btree_map("[a-z_]{1,9}", any_text(), 0..3);
    let settings = prop::option::of(settings.prop_map(|settings| settings.into_iter().collect()));
    let cargo = prop::collection::vec(any_text(), 0..4)
        .prop_filter("a single `none` means no command", |words| words != &["none"]);
    let cargo = prop::option::of(cargo);
    let texts = (any_text(), any_text(), any_text(), any_text());
    let header = (texts, any::<u64>(), settings, cargo).prop_map(
        |((test, package, strategy, verdict), seed, settings, cargo)| Header {
            test,
            package,
            seed: Seed(seed),
            strategy,
            settings,
            cargo,
            verdict,
        },
    );
    let object = ("[ab-]|[a-zA-Z0-9-]{1,16}", any_text())
        .prop_map(|(kind, place)| TraceObject { kind, place });
    let part = prop_oneof![
        Just(Part::Prefix),
        Just(Part::Suffix),
        (0..u32::MAX).prop_map(|stage| Part::Nemesis { stage }),
        (0..u32::MAX, any::<u32>()).prop_map(|(stage, branch)| Part::Branch { stage, branch }),
    ];
    let command = (part, any_text()).prop_map(|(part, text)| TraceCommand { part, text });
    let commands = prop::collection::vec(command, 0..4);
    (header, commands, any_tasks(), prop::collection::vec(object, 0..6)).prop_flat_map(
        |(header, program, tasks, objects)| {
            prop::collection::vec(any_step(tasks.len(), objects.len()), 0..12).prop_map(
                move |steps| Trace {
                    header: header.clone(),
                    program: program.clone(),
                    tasks: tasks.clone(),
                    objects: objects.clone(),
                    steps,
                },
            )
        },
    )
}

/// Files without a checksum, and with a few changed words or lines, like a trace after an edit. Such files exercise the
/// parser more deeply than random bytes.
fn edited_file() -> impl Strategy<Value = String> {
    let words = "simtrace command prefix 1.0 0.1 settings a=b default cargo none task object step also end 0 1 00 2 0.0 0.1  a:0 -:0 load - drew=0/1 \
                 drew=1/1 \"\\u{41}\" \" \\ \u{a0} #";
    let word = prop::sample::select(words.split(' ').collect::<Vec<_>>());
    let place = any::<prop::sample::Index>;
    let edits = prop::collection::vec((place(), place(), word, 0..8), 0..4);
    (any_trace(), edits).prop_map(|(trace, edits)| {
        let text = compact(&write(&trace));
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.pop();
        for (line, at, word, edit) in edits {
            let (line, other) = (line.index(lines.len()), at.index(lines.len()));
            match edit {
                0 => lines.swap(line, other),
                1 => lines[line] = lines[other].clone(),
                _ => {
                    let mut words: Vec<&str> = lines[line].split(' ').collect();
                    let at = at.index(words.len());
                    words[at] = word;
                    lines[line] = words.join(" ");
                }
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_trace_reads_back(trace in any_trace()) {
        let text = write(&trace);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{}", text);
        prop_assert_eq!(parse(text.replace('\n', "\r\n").as_bytes()), Ok(trace.clone()));
        prop_assert_eq!(parse(compact(&text).as_bytes()), Ok(trace));
    }

    #[test]
    fn every_inline_trace_reads_back(trace in any_trace()) {
        let word = inline(&trace);
        let plain = |c: char| c.is_ascii_alphanumeric() || ".,:=/+%-_".contains(c);
        prop_assert!(word.chars().all(plain), "{}", word);
        prop_assert!(is_inline(&word));
        let read = parse_inline(&word).unwrap();
        prop_assert_eq!(decisions(&read), decisions(&trace));
        // The result is a trace like any other: it can be written in both forms.
        prop_assert_eq!(parse(write(&read).as_bytes()), Ok(read.clone()));
        prop_assert_eq!(inline(&read), word);
    }

    #[test]
    fn a_damaged_file_never_gives_another_trace(
        trace in any_trace(), position in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = write(&trace).into_bytes();
        let position = position.index(text.len());
        text[position] = byte;
        if let Ok(read) = parse(&text) {
            prop_assert_eq!(read, trace);
        }
    }

    #[test]
    fn what_is_read_can_be_written(text in edited_file()) {
        if let Ok(trace) = parse(text.as_bytes()) {
            prop_assert_eq!(parse(write(&trace).as_bytes()), Ok(trace.clone()));
            prop_assert_eq!(decisions(&parse_inline(&inline(&trace)).unwrap()), decisions(&trace));
        }
    }

    #[test]
    fn bytes_at_random_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&bytes).is_err());
        let mut file = b"simtrace 2\n".to_vec();
        file.extend(bytes);
        prop_assert!(parse(&file).is_err());
    }

    #[test]
    fn words_at_random_never_panic(text in any_text(), rest in "[0-9.,x=/é]{0,20}") {
        prop_assert!(parse_inline(&text).is_err());
        if let Ok(trace) = parse_inline(&format!("sim2:{rest}")) {
            prop_assert_eq!(decisions(&parse_inline(&inline(&trace)).unwrap()), decisions(&trace));
        }
    }
}
