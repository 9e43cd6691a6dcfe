//! Malformed files: each gets an error with its place and a remedy.

#![forbid(unsafe_code)]

use unpause_histories::ProblemKind::{Event, Limit, Order, Syntax};
use unpause_histories::{FORMATS, Problem, ProblemKind, format_named, format_of, read};

/// The error in a text: the place as `line:column`, the kind, the message.
#[track_caller]
fn problem(format: &str, text: impl AsRef<[u8]>) -> (String, ProblemKind, String) {
    let Problem { place, kind, message } =
        read(text.as_ref(), format_named(format).unwrap()).expect_err("not refused");
    let place = place.map_or("whole".to_owned(), |at| format!("{}:{}", at.line, at.column));
    (place, kind, message)
}

#[track_caller]
fn refused(format: &str, text: impl AsRef<[u8]>, place: &str, kind: ProblemKind, words: &str) {
    let (found_place, found_kind, message) = problem(format, text);
    assert_eq!((found_place.as_str(), found_kind), (place, kind), "{message}");
    assert!(message.contains(words), "{message}");
}

const INVOKE: &str = r#"{"process": 0, "type": "invoke", "f": "read", "value": null}"#;
const OK: &str = r#"{"process": 0, "type": "ok", "f": "read", "value": 1}"#;

#[test]
fn a_file_without_events_is_no_history() {
    for format in FORMATS {
        for text in ["", " \n\n "] {
            let (_, kind, message) = problem(format.name, text);
            assert_eq!(kind, Event, "{}: {message}", format.name);
        }
    }
    problem("json", "[]");
    problem("edn", "; nothing\n()");
}

#[test]
fn a_history_in_which_no_client_calls_is_refused() {
    let stranger = INVOKE.replace("0,", "\"a\",");
    refused("json", stranger, "whole", Event, "no whole numbers");
    let nemesis = "{:process :nemesis, :type :info, :f :kill}";
    refused("edn", nemesis, "whole", Event, "nothing was tested: its one event is by the nemesis");
    // If a client has only an interruption, its call is unknown, too.
    refused("edn", "{:process 0, :type :info, :f :kill}", "whole", Event, "nothing was tested");
    refused("etcd", "INFO  jepsen.util - :nemesis :info :start nil", "whole", Event, "no call");
    let both = format!("{nemesis}\n{{:process 0, :type :invoke, :f :read}}");
    assert_eq!(read(both.as_bytes(), format_named("edn").unwrap()).unwrap().notes, 1);
}

#[test]
fn deep_nesting_is_refused_before_it_costs_the_stack() {
    for open in ["[", "{", "(", "#{", "#_", "#a ", "#:a ", "^"] {
        let (_, kind, message) = problem("edn", format!("{{{}", open.repeat(300_000)));
        assert_eq!((kind, message.contains("deeper than 100")), (Limit, true), "{message}");
    }
    for open in ["[", "{\"a\":"] {
        let (_, kind, message) = problem("json", format!("{{\"a\": {}", open.repeat(300_000)));
        assert_eq!((kind, message.contains("deeper than 100")), (Limit, true), "{message}");
    }
}

#[test]
fn endless_numbers_and_events_are_refused() {
    for (format, field, comma) in [("json", "{\"value\": ", ","), ("edn", "{:value   ", " ")] {
        let digits = "1".repeat(5000);
        refused(format, format!("{field}{digits}}}"), "1:11", Limit, "more than 1000 digits");
        let items = format!("{field}[{}", format!("0{comma}").repeat(2 << 20));
        let (_, kind, message) = problem(format, items);
        assert_eq!((kind, message.contains("1048576 values")), (Limit, true), "{message}");
        let text = format!("{field}\"{}", "x".repeat(17 << 20));
        let (_, kind, message) = problem(format, text);
        assert_eq!((kind, message.contains("16 MiB")), (Limit, true), "{message}");
    }
}

#[test]
fn a_big_number_is_kept_exactly() {
    let number = "123456789012345678901234567890";
    let json = INVOKE.replace("null", number);
    let edn = format!("{{:process 0 :type :invoke :f :write :value {number}N}}");
    for (format, text) in [("json", json), ("edn", edn)] {
        let recording = read(text.as_bytes(), format_named(format).unwrap()).unwrap();
        assert_eq!(recording.calls[0].value.to_string(), number);
    }
}

#[test]
fn what_ends_too_early_is_refused_where_it_ends() {
    let open = &INVOKE[..INVOKE.len() - 1];
    refused("json", open, "1:60", Syntax, "expected `,` or `}`, found the end");
    let array = format!("[{INVOKE},\n{OK}");
    refused("json", array, "2:54", Syntax, "expected `,` or `]`, found the end");
    refused("json", r#"{"process": 0, "type": "inv"#, "1:24", Syntax, "not closed");
    let event = "[{:process 0, :type :invoke, :f :read}";
    refused("edn", event, "1:39", Syntax, "expected `]` for what was opened at line 1, column 1");
    refused("edn", "{:process 0, :type \"inv", "1:20", Syntax, "not closed");
}

#[test]
fn wrong_json_is_refused_at_its_place() {
    refused("json", "{\"process\": 0,\n  process: 1}", "2:3", Syntax, "a name in quotes");
    refused("json", "{\"a\": 01}", "1:7", Syntax, "begin with 0");
    refused("json", "{\"a\": -}", "1:8", Syntax, "a digit");
    refused("json", "{\"a\": tru}", "1:7", Syntax, "`tru`");
    refused("json", "{\"a\": \"\\x\"}", "1:9", Syntax, "after `\\`");
    refused("json", "{\"a\": \"\\ud800\"}", "1:9", Syntax, "surrogate");
    refused("json", "{\"a\": \"\n\"}", "1:8", Syntax, "control characters");
    refused("json", "{\"a\": 1, \"a\": 2}", "1:1", Syntax, "a key twice");
    refused("json", format!("[{INVOKE},\n{OK}] 1"), "2:56", Syntax, "nothing after the array");
}

#[test]
fn wrong_edn_is_refused_at_its_place() {
    refused("edn", "{:process 0 :type}", "1:18", Syntax, "a value for the key");
    refused("edn", "{:process 0]", "1:12", Syntax, "expected `}`");
    refused("edn", "{:a 1x}", "1:5", Syntax, "no number");
    refused("edn", "{:a 1/0}", "1:5", Syntax, "no number");
    refused("edn", "{:a #\"x\"}", "1:6", Syntax, "after `#`");
    refused("edn", "{:a \\newlin}", "1:5", Syntax, "no character");
    refused("edn", "{:a #{1 1}}", "1:5", Syntax, "a member twice");
    refused("edn", "{:a 1 :a 2}", "1:1", Syntax, "a key twice");
    refused("edn", "{: 1}", "1:3", Syntax, "a name after `:`");
    refused("edn", "{:a ##Nan}", "1:5", Syntax, "##NaN");
}

#[test]
fn text_that_is_not_utf_8_is_refused_at_its_place() {
    refused("json", b"{\"a\": \"\xc3\xa4\xff\"}", "1:9", Syntax, "UTF-8");
    refused("json", b"\xef\xbbx", "1:2", Syntax, "UTF-8");
    refused("edn", b"{:a\n \"x\ny\xff\"}", "3:2", Syntax, "UTF-8");
    refused("edn", b"{:\xff 1}", "1:3", Syntax, "UTF-8");
    refused("limo", b"# @object atomic-stack\n[1] call push(\xff)", "2:15", Syntax, "UTF-8");
    refused("etcd", b"\xff", "1:1", Syntax, "UTF-8");
}

#[test]
fn events_of_the_wrong_form_are_refused() {
    refused("json", "1", "1:1", Event, "expected an event");
    refused("json", "[[]]", "1:2", Event, "expected an event");
    refused("json", r#"{"type": "invoke"}"#, "1:1", Event, "no process");
    refused("json", r#"{"process": 1}"#, "1:1", Event, "no type");
    let invok = INVOKE.replace("invoke", "invok");
    refused("json", invok, "1:1", Event, "\"invok\"; did you mean \"invoke\"? There are invoke");
    refused("json", INVOKE.replace("\"read\"", "3"), "1:1", Event, "f is \"3\"");
    refused("edn", "{:process 0 :type 7}", "1:1", Event, "there is no type \"7\"; there are");
}

#[test]
fn events_that_do_not_fit_together_are_refused_at_the_second() {
    refused("json", OK, "1:1", Order, "without having called");
    refused("json", format!("{INVOKE}\n{OK}\n{OK}"), "3:1", Order, "without having called");
    refused("json", format!("{INVOKE}\n{INVOKE}"), "2:1", Order, "its read of line 1 is open");
    let cas = OK.replace("read", "cas");
    refused("json", format!("{INVOKE}\n{cas}"), "2:1", Order, "called read at line 1");
}

#[test]
fn an_info_closes_a_call_and_may_stand_alone() {
    let info = OK.replace("ok", "info");
    let text = format!("{INVOKE}\n{info}\n{INVOKE}\n{OK}\n{info}");
    let recording = read(text.as_bytes(), format_named("json").unwrap()).unwrap();
    assert_eq!((recording.calls.len(), recording.notes), (2, 1));
}

#[test]
fn the_smaller_formats_say_what_they_expect() {
    refused("limo", "[1] call add(1)", "1:1", Event, "which object");
    refused("limo", "[1] cal push(1)", "1:1", Event, "`call` or `return`");
    refused("limo", "[1] call shove(1)", "1:1", Event, "no method");
    refused("limo", "[x] call push(1)", "1:1", Event, "expected `[thread]");
    refused("limo", "[1] return 3", "1:1", Order, "without having called");
    refused("limo", "# @object set", "1:1", Event, "neither");
    refused("fastlin", "push 1 1 2", "1:1", Event, "header");
    refused("fastlin", "# stack\npush 1 1", "2:1", Event, "method value start end");
    refused("fastlin", "# stack\npush 1 2 2", "2:1", Event, "not after its start");
    refused("fastlin", "# stack\npush 1 2 99999999999999999999", "2:1", Event, "64 bits");
    refused("fastlin", "# stack\nenq 1 2 3", "2:1", Event, "there are push, pop, peek");
    refused("etcd", "INFO  jepsen.util - 0\t:invok\t:read\tnil", "1:21", Event, ":invoke");
}

#[test]
fn formats_are_told_apart_by_their_beginning() {
    for (name, text) in [
        ("json", "{\"process\""),
        ("json", " \n[ {\"process\""),
        ("edn", "{:process"),
        ("edn", "[{:process"),
        ("edn", "; [1] call push(1)\n({:process"),
        ("edn", "#jepsen.history.Op{:process"),
        ("edn", "\u{feff}{:process"),
        ("limo", "# @object atomic-queue"),
        ("limo", "# a comment\n\n [1] call push(1)"),
        ("fastlin", "# priorityqueue\ninsert"),
        ("etcd", "INFO  jepsen.util - 0\t:invoke"),
    ] {
        assert_eq!(format_of("x.log", text.as_bytes()).unwrap().name, name, "{text}");
    }
    assert_eq!(format_of("x.jsonl", b"").unwrap().name, "json", "an empty file has a name");
    assert!(format_of("x", b"").is_err());
}
