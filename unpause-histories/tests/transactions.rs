//! Transactions, sessions and replicas from files. In both formats, each named anomaly must be found at the weakest
//! level that it violates, and its fixed twin must be consistent at every level.

#![forbid(unsafe_code)]

use unpause_check::datum::Datum;
use unpause_check::transactions::Level;
use unpause_check::verdict::Verdict;
use unpause_histories::{
    HistoryFinding, Problem, Question, condition_named, edn_value, format_named, read,
};

/// The levels as conditions, the weakest first.
const LEVELS: [&str; 6] = [
    "read-uncommitted",
    "read-committed",
    "snapshot-isolation",
    "serializable",
    "strong-session-serializable",
    "strict-serializable",
];

/// An event: process, type, value in EDN.
type Event<'a> = (i64, &'a str, &'a str);

fn edn(events: &[Event<'_>]) -> String {
    let line = |(process, kind, value): &Event<'_>| {
        format!("{{:process {process}, :type :{kind}, :f :txn, :value {value}}}\n")
    };
    events.iter().map(line).collect()
}

fn json(events: &[Event<'_>]) -> String {
    let line = |(process, kind, value): &Event<'_>| {
        let value = json_of(&edn_value(value).expect("a value"));
        format!("{{\"process\":{process},\"type\":\"{kind}\",\"f\":\"txn\",\"value\":{value}}}\n")
    };
    events.iter().map(line).collect()
}

fn json_of(value: &Datum) -> String {
    match value {
        Datum::Nil => "null".to_owned(),
        Datum::Keyword(name) => format!("{name:?}"),
        Datum::List(items) => {
            format!("[{}]", items.iter().map(json_of).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn check(text: &str, format: &str, condition: &str) -> Result<HistoryFinding, Problem> {
    let recording = read(text.as_bytes(), format_named(format).unwrap())?;
    condition_named(condition).unwrap().check(&recording, &Question::default())
}

/// Asserts that an anomaly with this name is found from `level` on, and at no weaker level.
#[track_caller]
fn is_ruled_out(events: &[Event<'_>], level: Level, name: &str) {
    for (format, text) in [("edn", edn(events)), ("json", json(events))] {
        for (condition, at) in LEVELS.iter().zip(Level::ALL) {
            let finding = check(&text, format, condition).expect("a history");
            if at < level {
                assert!(finding.verdict.is_consistent(), "{name}: {condition}\n{text}");
                continue;
            }
            let Verdict::Violated(evidence) = &finding.verdict else {
                panic!("{name} at {condition}: {:?}\n{text}", finding.verdict);
            };
            assert_eq!(evidence.anomaly.as_ref().unwrap().name, name, "{condition}\n{text}");
            let screen = finding.text("it", &unpause_check::picture::Style::default());
            assert!(screen.contains("VIOLATED") && screen.contains("line "), "{screen}");
            assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
        }
    }
}

#[track_caller]
fn is_fine(events: &[Event<'_>]) {
    for (format, text) in [("edn", edn(events)), ("json", json(events))] {
        for condition in LEVELS {
            let finding = check(&text, format, condition).expect("a history");
            assert!(finding.verdict.is_consistent(), "{condition}\n{text}");
        }
    }
}

#[test]
fn g0_writes_are_mixed() {
    let read = |y: &'static str| {
        [
            (0, "invoke", "[[:append :x 1] [:append :y 1]]"),
            (1, "invoke", "[[:append :x 2] [:append :y 2]]"),
            (0, "ok", "[[:append :x 1] [:append :y 1]]"),
            (1, "ok", "[[:append :x 2] [:append :y 2]]"),
            (0, "invoke", "[[:r :x nil] [:r :y nil]]"),
            (0, "ok", y),
        ]
    };
    is_ruled_out(&read("[[:r :x [1 2]] [:r :y [2 1]]]"), Level::ReadUncommitted, "G0");
    is_fine(&read("[[:r :x [1 2]] [:r :y [1 2]]]"));
}

#[test]
fn g1a_an_aborted_write_is_read() {
    for (write, nothing, saw) in [("append", "[]", "[1]"), ("w", "nil", "1")] {
        let call = format!("[[:{write} :x 1]]");
        let read = |saw: &str, end| {
            let told = format!("[[:r :x {saw}]]");
            let events = [
                (0, "invoke", &*call),
                (0, end, &*call),
                (1, "invoke", "[[:r :x nil]]"),
                (1, "ok", &*told),
            ];
            match saw == nothing || end != "fail" {
                true => is_fine(&events),
                false => is_ruled_out(&events, Level::ReadCommitted, "G1a"),
            }
        };
        read(saw, "fail");
        read(nothing, "fail");
        // It is unknown whether the transaction committed, so it may have committed.
        read(saw, "info");
        read(nothing, "info");
        read(saw, "ok");
    }
}

#[test]
fn g1b_an_intermediate_write_is_read() {
    let registers = |saw: &'static str| {
        [
            (0, "invoke", "[[:w :x 1] [:w :x 2]]"),
            (1, "invoke", "[[:r :x nil]]"),
            (0, "ok", "[[:w :x 1] [:w :x 2]]"),
            (1, "ok", saw),
        ]
    };
    is_ruled_out(&registers("[[:r :x 1]]"), Level::ReadCommitted, "G1b");
    is_fine(&registers("[[:r :x 2]]"));
    is_fine(&registers("[[:r :x nil]]"));
    let lists = |saw: &'static str| {
        [
            (0, "invoke", "[[:append :x 1] [:append :x 2]]"),
            (1, "invoke", "[[:r :x nil]]"),
            (0, "ok", "[[:append :x 1] [:append :x 2]]"),
            (1, "ok", saw),
        ]
    };
    is_ruled_out(&lists("[[:r :x [1]]]"), Level::ReadCommitted, "G1b");
    is_fine(&lists("[[:r :x [1 2]]]"));
}

#[test]
fn g1c_information_flows_in_a_circle() {
    let registers = |saw: &'static str| {
        [
            (0, "invoke", "[[:w :x 1] [:r :y nil]]"),
            (1, "invoke", "[[:w :y 2] [:r :x nil]]"),
            (0, "ok", "[[:w :x 1] [:r :y 2]]"),
            (1, "ok", saw),
        ]
    };
    is_ruled_out(&registers("[[:w :y 2] [:r :x 1]]"), Level::ReadCommitted, "G1c");
    is_fine(&registers("[[:w :y 2] [:r :x nil]]"));
}

#[test]
fn g_single_a_transaction_is_seen_in_part() {
    let registers = |saw: &'static str| {
        [
            (0, "invoke", "[[:w :x 1] [:w :y 1]]"),
            (1, "invoke", "[[:r :x nil] [:r :y nil]]"),
            (0, "ok", "[[:w :x 1] [:w :y 1]]"),
            (1, "ok", saw),
        ]
    };
    is_ruled_out(&registers("[[:r :x nil] [:r :y 1]]"), Level::SnapshotIsolation, "G-single");
    is_fine(&registers("[[:r :x 1] [:r :y 1]]"));
    is_fine(&registers("[[:r :x nil] [:r :y nil]]"));
}

#[test]
fn an_update_is_lost() {
    let registers = |first: &'static str, second: &'static str| {
        [
            (0, "invoke", "[[:r :x nil] [:w :x 1]]"),
            (1, "invoke", "[[:r :x nil] [:w :x 2]]"),
            (0, "ok", first),
            (1, "ok", second),
        ]
    };
    let both = registers("[[:r :x nil] [:w :x 1]]", "[[:r :x nil] [:w :x 2]]");
    is_ruled_out(&both, Level::SnapshotIsolation, "lost update");
    is_fine(&registers("[[:r :x nil] [:w :x 1]]", "[[:r :x 1] [:w :x 2]]"));
}

#[test]
fn a_long_fork_shows_two_writes_in_different_orders() {
    let registers = |last: &'static str| {
        [
            (0, "invoke", "[[:w :x 1]]"),
            (1, "invoke", "[[:w :y 1]]"),
            (2, "invoke", "[[:r :x nil] [:r :y nil]]"),
            (3, "invoke", "[[:r :y nil] [:r :x nil]]"),
            (2, "ok", "[[:r :x 1] [:r :y nil]]"),
            (3, "ok", last),
            (0, "ok", "[[:w :x 1]]"),
            (1, "ok", "[[:w :y 1]]"),
        ]
    };
    let forked = registers("[[:r :y 1] [:r :x nil]]");
    is_ruled_out(&forked, Level::SnapshotIsolation, "G-nonadjacent");
    is_fine(&registers("[[:r :y 1] [:r :x 1]]"));
}

#[test]
fn write_skew_is_allowed_up_to_snapshot_isolation() {
    let registers = |second: &'static str| {
        [
            (0, "invoke", "[[:r :x nil] [:w :y 1]]"),
            (1, "invoke", "[[:r :y nil] [:w :x 2]]"),
            (0, "ok", "[[:r :x nil] [:w :y 1]]"),
            (1, "ok", second),
        ]
    };
    is_ruled_out(&registers("[[:r :y nil] [:w :x 2]]"), Level::Serializable, "G2-item");
    is_fine(&registers("[[:r :y 1] [:w :x 2]]"));
}

#[test]
fn what_is_old_is_refused_where_time_counts() {
    // The client that read an old state is the writer, or another client.
    for (reader, level, name) in [
        (1, Level::StrictSerializable, "G-single-realtime"),
        (0, Level::StrongSessionSerializable, "G-single-process"),
    ] {
        let lists = |saw: &'static str| {
            [
                (0, "invoke", "[[:append :x 1]]"),
                (0, "ok", "[[:append :x 1]]"),
                (reader, "invoke", "[[:r :x nil]]"),
                (reader, "ok", saw),
            ]
        };
        is_ruled_out(&lists("[[:r :x []]]"), level, name);
        let finding = check(&edn(&lists("[[:r :x []]]")), "edn", LEVELS[level as usize]).unwrap();
        let screen = finding.text("it", &unpause_check::picture::Style::default());
        assert!(screen.contains("old state") && !screen.contains("skew"), "{screen}");
        is_fine(&lists("[[:r :x [1]]]"));
    }
}

#[test]
fn what_is_no_transaction_is_refused_where_it_stands() {
    let refused = |events: &[Event<'_>], line: u64, words: &str| {
        for (format, text) in [("edn", edn(events)), ("json", json(events))] {
            let problem = check(&text, format, "serializable").unwrap_err();
            assert_eq!(problem.place.map(|place| place.line), Some(line), "{problem}");
            assert!(problem.message.contains(words), "{problem}");
        }
    };
    let first = (0, "invoke", "[[:w :x 1]]");
    refused(&[first, (0, "ok", "[[:w :x 2]]")], 2, "called at line 1: number 1 was w ");
    refused(&[first, (0, "ok", "[]")], 2, "number 1 was");
    refused(&[first, (0, "ok", "nil")], 2, "expected a transaction");
    refused(&[first, (1, "invoke", "[[:w :x]]")], 2, "expected a transaction");
    refused(&[first, (1, "invoke", "[[:w :x nil]]")], 2, "expected a transaction");
    refused(&[first, (1, "invoke", "[[:cas :x 1]]")], 2, "expected a transaction");
    refused(&[first, (1, "invoke", "[[:append :x 1]]")], 2, "so far the transactions were");
    refused(&[first, (1, "invoke", "[[:w :x 1]]")], 2, "as that of line 1 does");
    refused(&[(1, "invoke", "[[:w :x 1] [:w :x 1]]")], 1, "twice");
    let list =
        [(0, "invoke", "[[:append :x 1] [:r :x nil]]"), (0, "ok", "[[:append :x 1] [:r :x 1]]")];
    refused(&list, 2, "a list was read as");
}

#[test]
fn histories_in_which_nobody_writes_are_decided_too() {
    is_fine(&[(0, "invoke", "[[:r :x nil]]"), (0, "ok", "[[:r :x nil]]")]);
    is_fine(&[(0, "invoke", "[]"), (0, "ok", "[]")]);
    let garbage = [(0, "invoke", "[[:r :x nil]]"), (0, "ok", "[[:r :x [3]]]")];
    is_ruled_out(&garbage, Level::ReadUncommitted, "garbage");
    let garbage = [(0, "invoke", "[[:r :x nil]]"), (0, "ok", "[[:r :x 3]]")];
    is_ruled_out(&garbage, Level::ReadUncommitted, "garbage");
}

#[test]
fn a_process_that_goes_on_after_no_answer_is_refused_where_that_counts() {
    let text = "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :info :f :write}\n\
                {:process 0 :type :invoke :f :read}\n{:process 0 :type :ok :f :read :value 1}";
    let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
    let question = Question { model: Some("register"), ..Question::default() };
    let check = |name| condition_named(name).unwrap().check(&recording, &question);
    assert!(check("linearizable").unwrap().verdict.is_consistent());
    assert!(check("quiescent").unwrap().verdict.is_consistent());
    let problem = check("sequential").unwrap_err();
    assert_eq!(problem.place.unwrap().line, 3);
    assert!(problem.message.contains("its write of line 1 has no answer"), "{problem}");
}

#[test]
fn sessions_and_replicas_are_told_by_the_numbers_of_the_file() {
    let text = |calls: &[(&str, &str)]| {
        calls.iter().fold(String::new(), |mut text, (call, answer)| {
            for (kind, fields) in [("invoke", call), ("ok", answer)] {
                text += &format!("{{\"type\": \"{kind}\", {fields}}}\n");
            }
            text
        })
    };
    let write = r#""process": 5, "f": "write", "key": "x", "value": 1"#;
    let read = |value: &str| format!(r#""process": 5, "f": "read", "key": "x", "value": {value}"#);
    let screen = |calls: &[(&str, &str)], condition| {
        let finding = check(&text(calls), "json", condition).expect("a history");
        (
            finding.verdict.is_consistent(),
            finding.text("it", &unpause_check::picture::Style::default()),
        )
    };
    let stale = screen(&[(write, write), (&read("null"), &read("null"))], "read-your-writes");
    assert!(
        !stale.0 && stale.1.contains("line 3 to 4, process 5: \"x\" read → nothing"),
        "{}",
        stale.1
    );
    assert!(screen(&[(write, write), (&read("null"), &read("1"))], "session").0);
    let add = r#""process": 5, "f": "add", "value": 7"#;
    let last = |replica, value: &str| {
        format!(r#""process": 9, "f": "final-read", "key": {replica}, "value": {value}"#)
    };
    let lost =
        [(add, add), (&*last(1, "null"), &*last(1, "[7]")), (&last(2, "null"), &last(2, "[]"))];
    let lost = screen(&lost, "eventual");
    assert!(!lost.0 && lost.1.contains("replica 2 does not hold 7"), "{}", lost.1);
    assert!(
        lost.1.contains("operation 2  line 5 to 6, process 9: read replica 2 → []"),
        "{}",
        lost.1
    );
    // A read before all was quiet is not final.
    let early = r#""process": 8, "f": "read", "value": []"#;
    let late = early.replace("[]", "[7]");
    assert!(screen(&[(early, early), (add, add), (&late, &late)], "eventual").0);
    let problem = check(&text(&[(early, early), (add, add)]), "json", "eventual").unwrap_err();
    assert!(problem.message.contains("there is no final read"), "{problem}");
}
