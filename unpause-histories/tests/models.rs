//! Each shipped model reads its operations from a file: a history that it allows, and the twin that
//! it does not.

#![forbid(unsafe_code)]

use unpause_histories::{
    CONDITIONS, HistoryFinding, Problem, Question, edn_value, format_named, models, read,
};

/// Calls one after the other, each as `f value → result`, by process 0.
fn check(
    model: &str,
    initial: Option<&str>,
    calls: &[(&str, &str, &str)],
) -> Result<HistoryFinding, Problem> {
    let event = |kind: &str, f: &str, value: &str| {
        format!("{{:process 0, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    let lines =
        calls.iter().map(|(f, value, result)| event("invoke", f, value) + &event("ok", f, result));
    let text: String = lines.collect();
    let recording = read(text.as_bytes(), format_named("edn").unwrap()).expect("a history");
    let initial = initial.map(|initial| edn_value(initial).expect("a value"));
    CONDITIONS[0]
        .check(&recording, &Question { model: Some(model), initial, ..Question::default() })
}

type Call<'a> = (&'a str, &'a str, &'a str);

/// Model, initial state, what comes before, the last call as it should be and as it should not.
type Case<'a> = (&'a str, Option<&'a str>, &'a [Call<'a>], [Call<'a>; 2]);

const CASES: &[Case<'_>] = &[
    ("register", None, &[("write", "3", "3")], [("read", "nil", "3"), ("read", "nil", "4")]),
    ("register", Some(":a"), &[], [("read", "nil", ":a"), ("read", "nil", ":b")]),
    ("register", None, &[("write", "3", "3")], [("read", "nil", "nil"), ("read", "nil", "2")]),
    (
        "cas-register",
        Some("0"),
        &[("cas", "[0 1]", "[0 1]")],
        [("cas", "[1 2]", "nil"), ("cas", "[0 2]", "nil")],
    ),
    (
        "counter",
        None,
        &[("add", "3", "3"), ("increment", "nil", "nil")],
        [("read", "nil", "4"), ("read", "nil", "3")],
    ),
    ("counter", Some("7"), &[], [("fetch-add", "1", "7"), ("fetch-add", "1", "8")]),
    (
        "queue",
        Some("[1]"),
        &[("enqueue", "2", "2")],
        [("dequeue", "nil", "1"), ("dequeue", "nil", "2")],
    ),
    ("queue", None, &[], [("deq", "nil", "nil"), ("deq", "nil", "1")]),
    ("stack", Some("[1]"), &[("push", "2", "2")], [("pop", "nil", "2"), ("pop", "nil", "1")]),
    (
        "map",
        None,
        &[("put", "[:k 1]", "[:k 1]")],
        [("get", "[:k nil]", "[:k 1]"), ("get", "[:k nil]", "[:k nil]")],
    ),
    ("map", Some("{:k 1}"), &[("delete", ":k", "nil")], [("len", "nil", "0"), ("len", "nil", "1")]),
    ("map", Some("{:k 1}"), &[], [("get", ":k", "1"), ("get", ":k", "2")]),
    (
        "text-map",
        None,
        &[("append", "[:k \"a\"]", "nil"), ("append", "[:k \"b\"]", "nil")],
        [("get", "[:k nil]", "[:k \"ab\"]"), ("get", "[:k nil]", "[:k \"ba\"]")],
    ),
    (
        "text-map",
        None,
        &[("put", "[:k \"a\"]", "nil")],
        [("get", ":j", "nil"), ("get", ":k", "nil")],
    ),
    (
        "grow-set",
        None,
        &[("add", "1", "1"), ("add", "2", "2")],
        [("read", "nil", "#{2 1}"), ("read", "nil", "[2]")],
    ),
    (
        "lock",
        None,
        &[("acquire", "nil", "nil")],
        [("release", "nil", "nil"), ("acquire", "nil", "nil")],
    ),
    ("lock", Some(":held"), &[], [("release", "nil", "nil"), ("acquire", "nil", "nil")]),
    (
        "multi-register",
        Some("{:x 0}"),
        &[("txn", "[[:w :x 1] [:w :y 2]]", "[[:w :x 1] [:w :y 2]]")],
        [
            ("txn", "[[:r :x nil] [:r :y nil]]", "[[:r :x 1] [:r :y nil]]"),
            ("txn", "[[:r :x nil] [:r :y nil]]", "[[:r :x 0] [:r :y 2]]"),
        ],
    ),
    (
        "bank",
        Some("{:a 5, :b 0}"),
        &[("transfer", "{:from :a, :to :b, :amount 2}", "nil")],
        [("read", "nil", "{:a 3, :b 2}"), ("read", "nil", "{:a 5, :b 2}")],
    ),
    (
        "bank",
        None,
        &[("read", "nil", "{\"0\" 5, 1 5}"), ("transfer", "{:from 0, :to 1, :amount 5}", "nil")],
        [("read", "nil", "{0 0, 1 10}"), ("read", "nil", "{0 5, 1 5}")],
    ),
    (
        "priority-queue",
        None,
        &[("insert", "3", "3"), ("insert", "2", "2")],
        [("pop", "nil", "2"), ("pop", "nil", "3")],
    ),
    (
        "set",
        None,
        &[("insert", "1", "true")],
        [("contains", "1", "true"), ("contains", "1", "false")],
    ),
    (
        "versioned-register",
        Some(":a"),
        &[("update", "[:a :b]", "[:a :b]")],
        [("read", "nil", ":b"), ("read", "nil", ":a")],
    ),
];

#[test]
fn every_model_reads_its_files() {
    for (model, initial, before, [good, bad]) in CASES {
        for (last, is_consistent) in [(good, true), (bad, false)] {
            let calls = [*before, &[*last]].concat();
            let finding = check(model, *initial, &calls).unwrap_or_else(|e| panic!("{model}: {e}"));
            assert_eq!(finding.verdict.is_consistent(), is_consistent, "{model}: {calls:?}");
            assert_eq!(finding.verdict.is_violated(), !is_consistent, "{model}: {calls:?}");
        }
    }
}

#[test]
fn every_model_has_a_case() {
    for (model, _) in models() {
        assert!(CASES.iter().any(|(name, ..)| *name == model), "no case for {model}");
    }
}

#[test]
fn what_a_model_cannot_mean_is_refused() {
    for (model, initial, call, words) in [
        ("cas-register", None, ("cas", "[1 2 3]", "nil"), "expected [expected new]"),
        ("counter", None, ("add", "1.5", "nil"), "a whole number of at most 64 bits, found 1.5"),
        ("counter", None, ("add", "12345678901234567890123", "nil"), "at most 64 bits"),
        ("counter", None, ("read", "nil", ":x"), "a whole number"),
        ("queue", None, ("enqueue", "nil", "nil"), "an item other than nil"),
        ("map", None, ("put", "[:k nil]", "nil"), "a value other than nil"),
        ("map", None, ("len", "nil", "-1"), "a number of keys"),
        ("text-map", None, ("append", "[:k 1]", "nil"), "a text, found 1"),
        ("grow-set", None, ("read", "nil", "3"), "a set or a list"),
        ("multi-register", None, ("txn", "[[:append :x 1]]", "nil"), "[:read key nil] or"),
        (
            "multi-register",
            None,
            ("txn", "[[:r :x nil]]", "[[:r :y 1]]"),
            "the access that was invoked",
        ),
        ("bank", None, ("transfer", "{:from 1}", "nil"), "{:from account, :to account"),
        ("bank", None, ("read", "nil", "{0 :much}"), "{account number"),
        ("stack", Some("3"), ("pop", "nil", "nil"), "a list of the items"),
        ("lock", Some("3"), ("acquire", "nil", "nil"), ":free or :held"),
    ] {
        let problem = check(model, initial, &[call]).expect_err(model).to_string();
        assert!(problem.contains(words), "{problem}");
    }
}
