//! Tests of answers beyond their verdict: the call to which an answer belongs, the value that it repeats, and values
//! that are not checked.

#![forbid(unsafe_code)]

use unpause_check::models::NilRead;
use unpause_histories::ProblemKind::{Event, Order};
use unpause_histories::{
    Callers, HistoryFinding, Problem, Question, Recording, condition_named, format_named, read,
};

fn parse(format: &str, text: &str) -> Recording {
    read(text.as_bytes(), format_named(format).unwrap()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn check(
    condition: &str,
    model: Option<&str>,
    format: &str,
    text: &str,
) -> Result<HistoryFinding, Problem> {
    let question = Question { model, ..Question::default() };
    condition_named(condition).unwrap().check(&parse(format, text), &question)
}

/// A call of process 0 and its answer, as JSON, from line 1 to line 2.
fn answered(f: &str, asked: &str, told: &str) -> String {
    format!(
        "{{\"process\": 0, \"type\": \"invoke\", \"f\": \"{f}\", \"value\": {asked}}}\n\
         {{\"process\": 0, \"type\": \"ok\", \"f\": \"{f}\", \"value\": {told}}}\n"
    )
}

#[test]
fn an_answer_that_repeats_another_value_is_refused_with_both_lines() {
    // Model, operation, value of the call, and the answer to another call.
    let repeating = [
        ("register", "write", "2", "1"),
        ("cas-register", "write", "2", "1"),
        ("cas-register", "cas", "[1, 2]", "[2, 1]"),
        ("counter", "add", "2", "1"),
        ("grow-set", "add", "2", "1"),
        ("queue", "enqueue", "2", "1"),
        ("queue", "enq", "2", "1"),
        ("stack", "push", "2", "1"),
        ("priority-queue", "insert", "2", "1"),
        ("text-map", "append", "[\"k\", \"a\"]", "\"b\""),
        ("text-map", "put", "[\"k\", \"a\"]", "[\"k\", \"b\"]"),
        ("versioned-register", "update", "[1, 2]", "[1, 3]"),
        (
            "bank",
            "transfer",
            "{\"from\": 1, \"to\": 2, \"amount\": 3}",
            "{\"from\": 1, \"to\": 2, \"amount\": 4}",
        ),
    ];
    for (model, f, asked, told) in repeating {
        let wrong = check("linearizable", Some(model), "json", &answered(f, asked, told));
        let problem = wrong.expect_err(model);
        assert_eq!((problem.place.unwrap().line, problem.kind), (2, Order), "{problem}");
        let words = format!("process 0 called {f}");
        assert!(problem.message.contains(&words), "{problem}");
        assert!(problem.message.contains("at line 1 and is answered for"), "{problem}");
        // An answer with the same value and an answer without a value must both be accepted.
        for told in [asked, "null", "true", "\"OK\""] {
            let fine = check("linearizable", Some(model), "json", &answered(f, asked, told));
            if let Err(problem) = fine {
                // Two texts can be distinguished from an answer only by their values.
                assert!(model == "text-map" && told == "\"OK\"", "{model} {told}: {problem}");
            }
        }
    }
    let eventual = answered("add", "2", "1") + &answered("read", "null", "[2]");
    let problem = check("eventual", None, "json", &eventual).unwrap_err();
    assert!(
        problem.message.contains("called add 2 at line 1 and is answered for add 1"),
        "{problem}"
    );
    // The same must hold without a named model: the error must not blame the guessed model.
    let queue = answered("enqueue", "2", "1") + &answered("dequeue", "null", "2");
    let problem = check("linearizable", None, "json", &queue).unwrap_err();
    assert!(problem.message.contains("is answered for enqueue 1"), "{problem}");
}

#[test]
fn answers_that_say_something_new_are_no_repetition() {
    for (model, f, asked, told) in [
        ("register", "read", "null", "1"),
        ("register", "read", "7", "1"),
        ("counter", "fetch-add", "1", "0"),
        ("queue", "dequeue", "2", "null"),
        ("lock", "acquire", "1", "2"),
        ("map", "put", "[1, 2]", "3"),
        ("set", "insert", "1", "true"),
        // The other effects of a transfer.
        (
            "bank",
            "transfer",
            "{\"from\": 1, \"to\": 2, \"amount\": 3}",
            "{\"from\": 1, \"to\": 2, \"amount\": 3, \"left\": 4}",
        ),
    ] {
        let found = check("linearizable", Some(model), "json", &answered(f, asked, told));
        assert!(found.is_ok(), "{model} {f}: {}", found.unwrap_err());
    }
}

#[test]
fn a_multi_register_must_be_answered_for_the_accesses_that_were_called() {
    let asked = "[[\"write\", \"x\", 2], [\"read\", \"y\", null]]";
    for (answer, is_right) in [
        ("[[\"write\", \"x\", 2], [\"read\", \"y\", null]]", true),
        ("[[\"w\", \"x\", 2], [\"r\", \"y\", null]]", true),
        ("[[\"write\", \"x\", 1], [\"read\", \"y\", null]]", false),
        ("[[\"read\", \"x\", 2], [\"read\", \"y\", null]]", false),
        ("[[\"write\", \"x\", 2], [\"write\", \"y\", null]]", false),
        ("[[\"write\", \"x\", 2], [\"read\", \"z\", null]]", false),
    ] {
        let text = answered("txn", asked, answer);
        let found = check("linearizable", Some("multi-register"), "json", &text);
        assert_eq!(found.is_ok(), is_right, "{answer}");
    }
}

#[test]
fn reads_of_nil_that_are_not_checked_are_counted_and_said() {
    let read = "{:process 0 :type :invoke :f :read}\n{:process 0 :type :ok :f :read :value nil}\n";
    let write = "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :ok :f :write :value 1}\n";
    let text = format!("{write}{read}{read}");
    for (condition, word) in [("linearizable", "linearizable"), ("session", "session")] {
        let finding = check(condition, Some("register"), "edn", &text).unwrap();
        assert!(finding.verdict.is_consistent());
        assert_eq!(finding.unchecked, 2, "{word}");
        let text = finding.text("file", &Default::default());
        assert!(text.contains("2 reads of nil not checked"), "{text}");
    }
    let strict =
        Question { model: Some("register"), nil: Some(NilRead::Nothing), ..Question::default() };
    let finding = condition_named("linearizable").unwrap().check(&parse("edn", &text), &strict);
    let finding = finding.unwrap();
    assert!(finding.verdict.is_violated() && finding.unchecked == 0);
    assert!(!finding.text("file", &Default::default()).contains("not checked"));
    // The first transaction has one access, the second has one access with a result.
    let many = "{:process 0 :type :invoke :f :txn :value [[:r :x nil] [:r :y nil]]}\
                {:process 0 :type :ok :f :txn :value [[:r :x nil] [:r :y nil]]}";
    assert_eq!(check("linearizable", Some("multi-register"), "edn", many).unwrap().unchecked, 1);
    // In JSON, nil means no value, and is checked.
    let json = answered("read", "null", "null");
    assert_eq!(check("linearizable", Some("register"), "json", &json).unwrap().unchecked, 0);
}

/// Like in the test of Jepsen's checker for long forks, no event names a process.
const LONG_FORK: &str = "
    {:type :invoke, :f :write, :value [[:w 0 1]]}
    {:type :ok,     :f :write, :value [[:w 0 1]]}
    {:type :invoke, :f :write, :value [[:w 1 1]]}
    {:type :invoke, :f :write, :value [[:w 2 1]]}
    {:type :invoke, :f :read,  :value [[:r 0 nil] [:r 1 nil] [:r 2 nil]]}
    {:type :invoke, :f :read,  :value [[:r 2 nil] [:r 0 nil] [:r 1 nil]]}
    {:type :ok,     :f :read,  :value [[:r 0 1] [:r 1 1] [:r 2 nil]]}
    {:type :ok,     :f :read,  :value [[:r 2 1] [:r 0 1] [:r 1 nil]]}
    {:type :ok,     :f :write, :value [[:w 2 1]]}
    {:type :ok,     :f :write, :value [[:w 1 1]]}
";

#[test]
fn a_long_fork_is_found_without_a_word_about_processes() {
    let recording = parse("edn", LONG_FORK);
    assert_eq!(recording.callers, Callers::Unnamed { ambiguous: None });
    let ends: Vec<u64> =
        recording.calls.iter().map(|call| call.end.as_ref().unwrap().place.line).collect();
    assert_eq!(ends, [3, 11, 10, 8, 9]);
    let verdict = |condition: &str, text: &str| {
        check(condition, None, "edn", text).map(|finding| finding.verdict.is_consistent())
    };
    for condition in ["snapshot-isolation", "serializable", "strict-serializable"] {
        assert_eq!(verdict(condition, LONG_FORK), Ok(false), "{condition}");
    }
    assert_eq!(verdict("read-committed", LONG_FORK), Ok(true));
    let fixed = LONG_FORK.replace(
        "[:r 1 nil]]}\n    {:type :ok,     :f :write",
        "[:r 1 1]]}\n    {:type :ok,     :f :write",
    );
    assert_ne!(fixed, LONG_FORK);
    for condition in ["snapshot-isolation", "serializable", "strict-serializable"] {
        assert_eq!(verdict(condition, &fixed), Ok(true), "{condition}");
    }
    let problem = check("strong-session-serializable", None, "edn", LONG_FORK).unwrap_err();
    assert!(problem.message.contains("the order of each process"), "{problem}");
    let text = check("serializable", None, "edn", LONG_FORK).unwrap();
    assert!(text.text("file", &Default::default()).contains("by unnamed clients"));
}

#[test]
fn what_does_not_say_who_called_is_not_checked_for_what_depends_on_it() {
    // Two open reads read the same keys, so their order of return is unknown.
    let twins =
        "{:type :invoke :f :read :value [[:r 0 nil]]} {:type :invoke :f :read :value [[:r 0 nil]]}
                 {:type :ok :f :read :value [[:r 0 nil]]} {:type :ok :f :read :value [[:r 0 nil]]}";
    let recording = parse("edn", twins);
    let Callers::Unnamed { ambiguous: Some(place) } = recording.callers else { panic!() };
    assert_eq!(place.line, 2);
    assert!(check("serializable", None, "edn", twins).unwrap().verdict.is_consistent());
    let problem = check("strict-serializable", None, "edn", twins).unwrap_err();
    assert!(problem.message.contains("about real time"), "{problem}");
    let fastlin = "# stack\npush 1 1 2\npop 1 3 4\n";
    assert!(check("linearizable", None, "fastlin", fastlin).unwrap().verdict.is_consistent());
    let problem = check("sequential", None, "fastlin", fastlin).unwrap_err();
    assert_eq!(problem.kind, Event);
    // All calls or no calls have it, and every answer has a call.
    let some = |text: &str| read(text.as_bytes(), format_named("edn").unwrap()).unwrap_err();
    let (named, unnamed) =
        ("{:process 0 :type :invoke :f :read}", "{:type :invoke :f :read :value nil}");
    for both in [format!("{named}{unnamed}"), format!("{unnamed}{named}")] {
        assert!(some(&both).message.contains("process"), "{both}");
    }
    let stray = some("{:type :invoke :f :write :value 1} {:type :ok :f :write :value 2}");
    assert!(stray.message.contains("no open call of write asks for this"), "{stray}");
}

#[test]
fn equal_values_are_those_of_one_kind_and_content() {
    let stays = |format: &str, written: &str, seen: &str| {
        let text = match format {
            "json" => answered("write", written, written) + &answered("read", "null", seen),
            _ => format!(
                "{{:process 0 :type :invoke :f :write :value {written}}}\
                 {{:process 0 :type :ok :f :write :value {written}}}\
                 {{:process 0 :type :invoke :f :read}}\
                 {{:process 0 :type :ok :f :read :value {seen}}}"
            ),
        };
        check("linearizable", Some("register"), format, &text).unwrap().verdict.is_consistent()
    };
    for (written, seen, equal) in [
        ("0.1", "0.10", true),
        ("0.1", "1e-1", true),
        ("0.1", "0.10000000000000000001", false),
        ("9007199254740993.0", "9007199254740992.0", false),
        ("9007199254740993.0", "9007199254740993.00", true),
        ("1e-400", "0.0", false),
        ("1e-400", "10e-401", true),
        ("1e400", "1e500", false),
        ("1e400", "10e399", true),
        ("1", "1.0", false),
        ("123456789012345678901", "123456789012345678901", true),
        ("123456789012345678901", "123456789012345678902", false),
    ] {
        assert_eq!(stays("json", written, seen), equal, "{written} {seen}");
        assert_eq!(stays("edn", written, seen), equal, "{written} {seen}");
    }
    for (written, seen, equal) in [
        ("\"a\"", "\\a", false),
        ("\"a\"", ":a", false),
        ("\"a\"", "a", true),
        ("\\a", "\\u0061", true),
        ("1.0M", "1.0", false),
        ("1.0M", "1.00M", true),
        ("1.0M", "1.1M", false),
        ("0x10", "16", true),
        ("-0x0", "0", true),
        ("0x100000000000000000000000000000000", "340282366920938463463374607431768211456", true),
        ("0x100000000000000000000000000000001", "340282366920938463463374607431768211456", false),
        ("[1 2]", "(1 2)", true),
        ("0.0", "-0.0", false),
    ] {
        assert_eq!(stays("edn", written, seen), equal, "{written} {seen}");
    }
}

#[test]
fn a_priority_queue_orders_numbers_of_all_kinds_by_size() {
    let call = |f: &str, asked: &str, told: &str| answered(f, asked, told);
    let text = |first: &str, second: &str| {
        [
            call("insert", "2", "2"),
            call("insert", "1.5", "1.5"),
            call("insert", "1e400", "1e400"),
            call("pop", "null", first),
            call("pop", "null", second),
        ]
        .concat()
    };
    let consistent = |text: &str| {
        check("linearizable", Some("priority-queue"), "json", text).unwrap().verdict.is_consistent()
    };
    assert!(consistent(&text("1.5", "2")));
    assert!(!consistent(&text("2", "1.5")));
    // EDN also supports ratios.
    let ratio_first = |first: &str| {
        let text = format!(
            "{{:process 0 :type :invoke :f :insert :value 1}}\
             {{:process 0 :type :ok :f :insert :value 1}}\
             {{:process 0 :type :invoke :f :insert :value 4/3}}\
             {{:process 0 :type :ok :f :insert :value 4/3}}\
             {{:process 0 :type :invoke :f :insert :value 1/3}}\
             {{:process 0 :type :ok :f :insert :value 1/3}}\
             {{:process 0 :type :invoke :f :pop}}{{:process 0 :type :ok :f :pop :value {first}}}"
        );
        check("linearizable", Some("priority-queue"), "edn", &text).unwrap().verdict.is_consistent()
    };
    assert!(ratio_first("1/3"));
    assert!(!ratio_first("1") && !ratio_first("4/3"));
    // Fastlin's queues give the largest out first; the least number has no opposite of 64 bits.
    let least = |first: &str, second: &str| {
        let text = format!(
            "# priorityqueue\ninsert -9223372036854775808 1 2\ninsert -9223372036854775807 3 4\n\
             poll {first} 5 6\npoll {second} 7 8\n"
        );
        check("linearizable", None, "fastlin", &text).unwrap().verdict.is_consistent()
    };
    assert!(least("-9223372036854775807", "-9223372036854775808"));
    assert!(!least("-9223372036854775808", "-9223372036854775807"));
    assert!(!least("-9223372036854775807", "-9223372036854775807"), "one was inserted once");
}

#[test]
fn a_question_about_no_calls_is_answered_as_one() {
    let mut recording = parse("json", &answered("read", "null", "1"));
    recording.calls.clear();
    let condition = condition_named("linearizable").unwrap();
    let problem = condition.check(&recording, &Question::default()).unwrap_err();
    assert!(problem.message.contains("there is no call"), "{problem}");
}

/// Returns the finding for a write of `value` with this answer, followed by a read of 2.
fn read_after(answer: &str, value: u64) -> HistoryFinding {
    let text = format!(
        "{{:process 0 :type :invoke :f :write :value 1}}\n{{:process 0 :type :ok :f :write :value 1}}\n\
         {{:process 1 :type :invoke :f :write :value {value}}}\n\
         {{:process 1 :type :{answer} :f :write :value {value}}}\n\
         {{:process 2 :type :invoke :f :read :value nil}}\n{{:process 2 :type :ok :f :read :value 2}}\n"
    );
    check("linearizable", Some("register"), "edn", &text).unwrap()
}

#[test]
fn a_read_of_a_value_whose_write_is_recorded_as_failed_names_that_write() {
    let text = |finding: &HistoryFinding| {
        let text = finding.text("h.edn", &Default::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let finding = read_after("fail", 2);
    let remark = "These are explained if `Write(2)` by process 1, on lines 3 and 4, took effect. It is recorded as \
                  :fail, which says that it did not. A call without an answer is :info.";
    assert!(finding.verdict.is_violated());
    assert!(text(&finding).contains(remark), "{}", text(&finding));
    // The text must not deny that a client wrote the value.
    assert!(!text(&finding).contains("nobody"), "{}", text(&finding));
    // Another value explains nothing, and a call without an answer is not a failure.
    let other = read_after("fail", 3);
    assert!(other.verdict.is_violated() && !text(&other).contains(":fail"), "{}", text(&other));
    assert!(read_after("info", 2).verdict.is_consistent());
}
