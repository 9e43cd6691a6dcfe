//! Every model of the registry reads its operations from files: its samples, each with an allowed and a rejected
//! last call.

#![forbid(unsafe_code)]

use unpause_check::models::{FileSample, RegisteredModel, Visitor, registry};
use unpause_histories::{
    CONDITIONS, HistoryFinding, Problem, Question, condition_named, edn_value, format_named, read,
};

/// Checks successive calls of process 0, each given as `f value → result`.
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

/// Checks the samples of every model, and that the samples contain all of its calls.
struct Samples;

impl Visitor for Samples {
    fn visit<M: RegisteredModel>(&mut self) {
        let model = M::NAME;
        for sample in M::SAMPLES {
            for (last, is_consistent) in [(sample.allowed, true), (sample.rejected, false)] {
                let calls = [sample.calls, &[last]].concat();
                let finding =
                    check(model, sample.initial, &calls).unwrap_or_else(|e| panic!("{model}: {e}"));
                assert_eq!(finding.verdict.is_consistent(), is_consistent, "{model}: {calls:?}");
                assert_eq!(finding.verdict.is_violated(), !is_consistent, "{model}: {calls:?}");
            }
        }
        let calls = |sample: &FileSample| {
            let last = [sample.allowed, sample.rejected];
            sample.calls.iter().copied().chain(last).map(|(f, ..)| f).collect::<Vec<_>>()
        };
        let sampled: Vec<&str> = M::SAMPLES.iter().flat_map(calls).collect();
        for call in M::CALLS {
            assert!(sampled.contains(call), "no sample of {model} has the call {call:?}");
        }
    }
}

#[test]
fn every_model_reads_its_files() {
    registry(&mut Samples);
}

#[test]
fn an_operation_that_a_model_does_not_have_is_refused() {
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

#[test]
fn only_what_is_local_is_split() {
    // Each key alone is consistent, but the two keys show opposite orders of the writes.
    let text = "{:process 0 :type :invoke :f :write :key :x :value 1}\
                {:process 0 :type :ok :f :write :key :x :value 1}\
                {:process 1 :type :invoke :f :write :key :y :value 1}\
                {:process 1 :type :ok :f :write :key :y :value 1}\
                {:process 0 :type :invoke :f :read :key :y}\
                {:process 0 :type :ok :f :read :key :y :value 0}\
                {:process 1 :type :invoke :f :read :key :x}\
                {:process 1 :type :ok :f :read :key :x :value 0}";
    let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
    let question =
        Question { model: Some("register"), initial: Some(0.into()), ..Question::default() };
    let sequential = condition_named("sequential").unwrap();
    assert!(sequential.check(&recording, &question).unwrap().verdict.is_violated());
    for key in [":x", ":y"] {
        let mut one = recording.clone();
        let key = edn_value(key).unwrap();
        one.calls.retain(|call| call.key.as_ref() == Some(&key));
        assert!(sequential.check(&one, &question).unwrap().verdict.is_consistent());
    }
}
