//! The readers of histories: all formats give the same recording, written values are read back, and no cut
//! or changed file makes a reader panic.

#![forbid(unsafe_code)]

use proptest::prelude::*;
use unpause_check::datum::Datum;
use unpause_histories::{
    Answer, CONDITIONS, FORMATS, Keys, Question, Recording, edn_value, format_named, format_of,
    read,
};

const EDN: &str = include_str!("../../examples/histories/stale.edn");
const JSON: &str = r#"{"process": 0, "type": "invoke", "f": "write", "value": 1, "time": 12.5e3}
{"process": 0, "type": "ok", "f": "write", "value": 1}
{"index": 2, "process": 1, "type": "invoke", "f": "cas", "value": [1, 2]}
{"process": 2, "type": "invoke", "f": "read", "value": null, "error": ["\u00e4\ud83d\ude00", {"a": -0.5}]}
{"process": "nemesis", "type": "info", "f": "kill"}
{"process": 2, "type": "ok", "f": "read", "value": 1}
{"process": 1, "type": "fail", "f": "cas", "value": [1, 2]}
"#;
const ETCD: &str = "INFO  jepsen.util - 0\t:invoke\t:write\t1\nINFO  other - x\n\
                    INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]\n\
                    INFO  jepsen.util - 0\t:ok\t:write\t1\nINFO  jepsen.util - 1\t:fail\t:cas\t[1 2]\n\
                    INFO  jepsen.util - 2\t:invoke\t:read\tnil\nINFO  jepsen.util - 2\t:fail\t:read\t:timed-out\n";
const LIMO: &str = "# @object atomic-stack\n[1] call push(1)\n  [2] call pop\n[1] return\n[2] return 1\n\
                    [1] call add ?<0,1>\n[2] call pop(?<0,1>)\n[2] return\n[3] call remove\n[3] return empty\n";
const FASTLIN: &str = "# stack\npush 1 1 2\npop 1 8 15\npop -1 16 17\n";
const CORPUS: &[&str] = &[EDN, JSON, ETCD, LIMO, FASTLIN];

fn parse(format: &str, text: &str) -> Recording {
    read(text.as_bytes(), format_named(format).unwrap()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns each call as `client f value → end`.
fn calls(recording: &Recording) -> Vec<String> {
    let end = |answer: &Answer| match answer {
        Answer::Ok(value) => value.to_string(),
        Answer::Fail => "fail".to_owned(),
        Answer::Info => "info".to_owned(),
    };
    let calls = recording.calls.iter().map(|call| {
        let end = call.end.as_ref().map_or("open".to_owned(), |e| end(&e.answer));
        format!("{} {} {} → {end}", recording.processes[call.client as usize], call.f, call.value)
    });
    calls.collect()
}

#[test]
fn every_format_is_read() {
    assert_eq!(
        calls(&parse("edn", EDN))[1..5],
        ["1 cas [1 2] → [1 2]", "2 read nil → 1", "3 write 3 → info", "1 read nil → 2"]
    );
    assert_eq!(
        calls(&parse("json", JSON)),
        ["0 write 1 → 1", "1 cas [1 2] → fail", "2 read nil → 1"]
    );
    assert_eq!(
        calls(&parse("etcd", ETCD)),
        ["0 write 1 → 1", "1 cas [1 2] → fail", "2 read nil → fail"]
    );
    assert_eq!(
        calls(&parse("limo", LIMO)),
        [
            "1 push 1 → nil",
            "2 pop nil → 1",
            "1 push \"?<0,1>\" → open",
            "2 pop nil → \"?<0,1>\"",
            "3 pop nil → nil"
        ]
    );
    assert_eq!(
        calls(&parse("fastlin", FASTLIN)),
        ["0 push 1 → nil", "1 pop nil → 1", "2 pop nil → nil"]
    );
}

#[test]
fn places_are_those_of_the_file() {
    let recording = parse("edn", EDN);
    let call = &recording.calls[1];
    assert_eq!((call.place.line, call.place.column), (5, 1));
    assert_eq!(call.end.as_ref().unwrap().place.line, 8);
}

#[test]
fn jepsens_records_tags_and_vectors_are_read() {
    let records = "#jepsen.history.Op{:index 0, :time 1, :type :invoke, :process 0, :f :read, :value nil}\n\
                   #jepsen.history.Op{:index 1, :time 2, :type :ok, :process 0, :f :read, :value 3}";
    let spread = "^{:doc \"x\"} #_ {:process 9} ; comment\n#:jepsen{:x 1, :process 1}";
    assert!(read(spread.as_bytes(), format_named("edn").unwrap()).is_err());
    let vector = format!("[ {records} #_{{:process 7 :type :ok}} ]");
    let list = format!("; all of it\n( {records} )");
    for text in [records, &vector, &list] {
        assert_eq!(calls(&parse("edn", text)), ["0 read nil → 3"]);
    }
    let odd = "{:process 0 :type :jepsen/invoke :f :kv/read :value #inst \"2020-01-01\" \
               :ratio 1/3 :char \\newline :set #{:a [1 2.5M]} :big -1N :obj #object[a.B 0x1f \"s\"] :x ##Inf}";
    assert_eq!(calls(&parse("edn", odd)), ["0 read #inst \"2020-01-01\" → open"]);
}

#[test]
fn keys_are_found_as_jepsen_writes_them() {
    let event = |process: u32, kind: &str, f: &str, value: &str| {
        format!("{{:process {process}, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    // Each key by itself is consistent. But if all keys are one register, the last read is wrong.
    let text = [
        event(0, "invoke", "write", "[:x 1]"),
        event(0, "ok", "write", "[:x 1]"),
        event(0, "invoke", "write", "[:y 2]"),
        event(0, "ok", "write", "[:y 2]"),
        event(1, "invoke", "read", "[:x nil]"),
        event(1, "ok", "read", "[:x 1]"),
    ]
    .concat();
    let tuples = text.replace(":value [", ":value #jepsen.independent/tuple [");
    for text in [&text, &tuples] {
        let recording = parse("edn", text);
        let finding = CONDITIONS[0].check(&recording, &Question::default()).unwrap();
        assert!(finding.by_key && finding.verdict.is_consistent());
        assert_eq!(finding.model, "register");
        let whole = Question { keys: Keys::No, model: Some("register"), ..Question::default() };
        let finding = CONDITIONS[0].check(&recording, &whole).unwrap();
        assert!(!finding.by_key && finding.verdict.is_violated());
    }
    let stale = text.replacen(
        ":type :ok, :f :read, :value [:x 1]",
        ":type :ok, :f :read, :value [:x 2]",
        1,
    );
    let finding = CONDITIONS[0].check(&parse("edn", &stale), &Question::default()).unwrap();
    assert!(finding.by_key && finding.verdict.is_violated(), "a value of another key");
}

#[test]
fn a_model_is_guessed_only_if_it_is_the_only_one() {
    let check = |text: &str| CONDITIONS[0].check(&parse("json", text), &Question::default());
    let event = |f: &str, value: &str| {
        format!("{{\"process\":0,\"type\":\"invoke\",\"f\":\"{f}\",\"value\":{value}}}")
    };
    assert_eq!(check(&event("write", "1")).unwrap().model, "register");
    assert_eq!(check(&event("cas", "[1,2]")).unwrap().model, "cas-register");
    assert_eq!(check(&event("acquire", "null")).unwrap().model, "lock");
    assert_eq!(check(&event("append", "[\"k\",\"x\"]")).unwrap().model, "text-map");
    let problem = check(&event("get", "[\"k\",null]")).unwrap_err().to_string();
    assert!(problem.contains("several models") && problem.contains("map, text-map"), "{problem}");
    let problem = check(&event("frobnicate", "1")).unwrap_err().to_string();
    assert!(problem.contains("no model has all operations"), "{problem}");
}

#[test]
fn operations_that_the_model_does_not_have_are_refused_with_their_place() {
    let question = Question { model: Some("cas-register"), ..Question::default() };
    let check = |text: &str| CONDITIONS[0].check(&parse("json", text), &question).unwrap_err();
    let problem = check(&JSON.replace("read", "raed")).to_string();
    assert!(
        problem.contains(
            "line 4, column 1: the model cas-register has no \"raed\"; did you mean \"read\"?"
        ),
        "{problem}"
    );
    let seven = JSON.replace("\"cas\", \"value\": [1, 2]", "\"cas\", \"value\": 7");
    let problem = check(&seven.replace("fail", "ok")).to_string();
    assert!(
        problem.contains("line 3, column 1: cas: expected [expected new], found 7"),
        "{problem}"
    );
    let unknown = Question { model: Some("casregister"), ..Question::default() };
    let problem = CONDITIONS[0].check(&parse("json", JSON), &unknown).unwrap_err().to_string();
    assert!(problem.contains("did you mean \"cas-register\"?"), "{problem}");
}

/// Any value, as far as EDN can write it.
fn datum() -> impl Strategy<Value = Datum> {
    let leaf = prop_oneof![
        Just(Datum::Nil),
        any::<bool>().prop_map(Datum::from),
        any::<i64>().prop_map(Datum::from),
        any::<f64>().prop_map(|n| if n.is_nan() { Datum::from(f64::NAN) } else { n.into() }),
        "-?[1-9][0-9]{20,40}".prop_map(|n| Datum::Number(n.into())),
        "[1-9][0-9]?/[1-9]".prop_map(|n| Datum::Number(n.into())),
        any::<String>().prop_map(|text| Datum::text(&text)),
        "[a-z][a-z0-9/*+!_?<>=.-]{0,9}".prop_map(|name| Datum::keyword(&name)),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Datum::list),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Datum::set),
            prop::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(Datum::map),
            ("[a-z][a-z.]{0,6}", inner).prop_map(|(tag, v)| Datum::Tagged(tag.into(), v.into())),
        ]
    })
}

/// A value as JSON can write it.
fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e12..1e12).prop_filter("printers differ", printed_alike).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Returns `true` if serde_json and std print a double in the same way. Two shortest decimals can be equally near to
/// the double, and printers choose differently. The two decimals are different numbers, and only one of them is read as
/// the double.
fn printed_alike(float: &f64) -> bool {
    let (ours, theirs) = (format!("{float:?}"), serde_json::to_string(float).unwrap());
    ours == theirs
}

#[test]
fn a_decimal_is_kept_that_std_prints_otherwise() {
    // The exact value ends in 78125.
    let double = -733_147_344_568.781_3;
    assert!(!printed_alike(&double));
    let read = |text: &str| {
        let event = format!("{{\"process\":0,\"type\":\"invoke\",\"f\":\"x\",\"value\":{text}}}");
        parse("json", &event).calls[0].value.clone()
    };
    let (even, up) = ("-733147344568.7812", "-733147344568.7813");
    assert_eq!(read(up), Datum::from(double));
    assert_eq!(read(even), Datum::Number(even.into()));
}

fn of_json(value: &serde_json::Value) -> Datum {
    use serde_json::Value;
    match value {
        Value::Null => Datum::Nil,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap().into(),
        },
        Value::String(text) => Datum::text(text),
        Value::Array(items) => Datum::list(items.iter().map(of_json)),
        Value::Object(entries) => {
            Datum::map(entries.iter().map(|(key, value)| (Datum::text(key), of_json(value))))
        }
    }
}

/// Reads and checks any bytes, as the command does. The test is that this returns.
fn judge(bytes: &[u8]) {
    let formats = match format_of("", bytes) {
        Ok(format) => vec![*format],
        Err(_) => FORMATS.to_vec(),
    };
    for format in formats {
        let Ok(recording) = read(bytes, &format) else {
            continue;
        };
        for model in [None, Some("cas-register")] {
            let mut question = Question { model, ..Question::default() };
            question.budget.nodes = 1000;
            if let Ok(finding) = CONDITIONS[0].check(&recording, &question) {
                finding.text("file", &unpause_check::picture::Style::default());
            }
        }
    }
}

#[test]
fn every_truncation_gives_an_error_or_a_verdict() {
    for text in CORPUS {
        for end in 0..text.len() {
            judge(&text.as_bytes()[..end]);
        }
    }
}

/// A fuzzer without coverage, for where the target in `fuzz/` cannot be built: under `UNPAUSE_LONG`.
fn cases() -> u32 {
    if std::env::var_os("UNPAUSE_LONG").is_some() { 100_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn edn_is_read_back_as_it_is_printed(value in datum()) {
        prop_assert_eq!(edn_value(&value.to_string()).unwrap(), value);
    }

    #[test]
    fn json_is_read_as_others_read_it(value in json(), pretty in any::<bool>()) {
        let value_text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let text = format!("{{\"process\":0,\"type\":\"invoke\",\"f\":\"x\",\"value\":{value_text}}}");
        prop_assert_eq!(&parse("json", &text).calls[0].value, &of_json(&value));
    }

    #[test]
    fn json_is_refused_where_others_refuse_it(text in "[-\\[\\]{},:\"0-9eE.+ truefalsn\\\\]{0,12}") {
        let event = format!("{{\"process\":0,\"type\":\"invoke\",\"f\":\"x\",\"value\":{text}}}");
        let ours = read(event.as_bytes(), format_named("json").unwrap());
        let others: Result<serde_json::Value, _> = serde_json::from_str(&event);
        // If a key occurs twice, other readers take the last value. Other readers also refuse numbers beyond the range
        // of floats.
        let stricter = |message: &str| message.contains("twice") || message.contains("event");
        match (&ours, &others) {
            (Err(problem), Ok(_)) => prop_assert!(stricter(&problem.message), "{} {}", event, problem),
            (Ok(_), Err(error)) => {
                prop_assert!(error.to_string().contains("out of range"), "{} {}", event, error);
            }
            _ => {}
        }
    }

    #[test]
    fn no_change_of_a_file_makes_it_panic(
        which in 0..CORPUS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..5), 1..6),
        splice in any::<prop::sample::Index>(),
    ) {
        let mut bytes = CORPUS[which].as_bytes().to_vec();
        const TOKENS: &[&str] = &["{", "}", "[", "]", "\"", "\\", "#", "#_", ":", "^", "nil", "-1", "1e999", "\u{e4}"];
        for (index, byte, how) in changes {
            let at = index.index(bytes.len().max(1)).min(bytes.len());
            match how {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                3 => drop(bytes.splice(at..at, TOKENS[byte as usize % TOKENS.len()].bytes())),
                _ => {
                    let from = splice.index(bytes.len().max(1)).min(bytes.len());
                    let piece = bytes[from.min(at)..at.max(from)].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        judge(&bytes);
    }
}
