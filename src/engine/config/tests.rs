//! Settings from the environment and from attributes.

use std::collections::BTreeSet;

use unpause_words::duration::{GRAMMAR, RIGHT, WRONG};

use super::grammar::{parse_time, time_text};
use super::*;

fn environment(pairs: &[(&str, &str)]) -> Result<(Settings, Vec<String>), InvalidSetting> {
    Settings::from_environment(pairs.iter().map(|(n, v)| ((*n).into(), (*v).into())))
}

#[test]
fn a_bad_value_names_variable_value_and_grammar() {
    for (name, value) in [
        ("SIM_SEED", "x"),
        ("SIM_SEEDS", "0"),
        ("SIM_SEEDS", "9..3"),
        ("SIM_STRATEGY", "rnd"),
        ("SIM_TIME", "5 s"),
        ("SIM_TIME", "s"),
        ("SIM_STEPS", "0"),
        ("SIM_REPLAY", ""),
        ("SIM_JOBS", "0"),
        ("SIM_SHARD", "5/4"),
        ("SIM_SHARD", "0/4"),
        ("SIM_ISOLATE", "thread"),
        ("SIM_LOG", "yes"),
        ("SIM_HANG", "-1s"),
        ("SIM_LIMIT", "x"),
        ("SIM_COVERAGE", "yes"),
        ("SIM_CLOSURE", "true"),
        ("SIM_PROVE", "yes"),
        ("SIM_WHY", "no"),
        ("SIM_MUST_PROVE", "yes"),
        ("SIM_SHRINK", "no"),
        ("SIM_STATISTICS", "all"),
        ("SIM_OUT", ""),
        ("SIM_RESULTS", ""),
        ("SIM_JSON", ""),
    ] {
        let error = environment(&[(name, value)]).unwrap_err();
        assert_eq!((error.name.as_str(), error.value.as_str()), (name, value));
        assert!(!error.grammar.is_empty());
    }
}

#[test]
fn each_variable_with_a_time_takes_the_durations_of_the_grammar() {
    let rows = SETTINGS.iter().filter(|row| (row.grammar)() == GRAMMAR);
    let variables: Vec<&str> = rows.map(|row| row.variable).collect();
    assert_eq!(variables, ["SIM_TIME", "SIM_HANG", "SIM_LIMIT"]);
    for variable in variables {
        for (text, milliseconds) in RIGHT {
            let (Settings { time, hang, limit, .. }, _) = environment(&[(variable, text)]).unwrap();
            let expected = Duration::from_millis(*milliseconds);
            assert_eq!(time.or(hang).or(limit), Some(expected), "{variable} {text}");
            assert_eq!(parse_time(&time_text(Some(expected))), Some(expected), "{text}");
        }
        for text in WRONG {
            let error = environment(&[(variable, text)]).unwrap_err().to_string();
            assert_eq!(error, format!("{variable} is {text:?}, but should be {GRAMMAR}"));
        }
    }
}

#[test]
fn an_unknown_variable_is_a_warning_with_a_suggestion() {
    let (_, warnings) = environment(&[("SIM_SEDE", "1"), ("SIMULATE", "1")]).unwrap();
    assert_eq!(warnings, ["unknown environment variable SIM_SEDE: did you mean SIM_SEED?"]);
}

#[test]
fn the_environment_overrides_attributes() {
    let attributes =
        Settings { seeds: Some(0..5), replay: Some("a".into()), ..Settings::default() };
    let (environment, _) = environment(&[("SIM_SEED", "17")]).unwrap();
    let config = attributes.overridden_by(environment).resolve().unwrap();
    assert_eq!((config.seed(0), config.seed(1), config.replay), (Some(17), None, None));
    // A search takes its maximum number of runs from `seeds`, which is 5.
    assert_eq!(config.runs, 5);
}

#[test]
fn a_closure_is_refused_in_processes_of_their_own() {
    let isolate = |name: &str| Some(name.to_owned());
    let native = TestKind { native: true, ..TestKind::default() };
    let apart = Settings { isolate: isolate("process"), kind: native, ..Settings::default() };
    let with_closure = Settings { closure: Some(true), ..apart.clone() };
    let error = with_closure.clone().resolve().unwrap_err();
    assert!(
        error.to_string().starts_with("isolate is \"process\", but should be run in a test with")
    );
    // Tests without plain threads ignore `isolate`.
    assert!(Settings { kind: TestKind::default(), ..with_closure }.resolve().is_ok());
    assert_eq!(apart.resolve().unwrap().isolate, Isolation::Process);
    let unknown = Settings { isolate: isolate("fork"), ..Settings::default() };
    assert_eq!(unknown.resolve().unwrap_err().grammar, "run or process");
}

#[test]
fn the_memory_has_two_names() {
    let memory = |name: &str| Settings { memory: Some(name.to_owned()), ..Settings::default() };
    assert_eq!(memory("c11").resolve().unwrap().memory, MemoryModel::C11);
    assert_eq!(memory("sc").resolve().unwrap().memory, MemoryModel::Sc);
    assert_eq!(memory("tso").resolve().unwrap_err().grammar, "sc or c11");
}

#[test]
fn shards_split_the_seeds() {
    let all: Vec<u64> = (1..=3)
        .flat_map(|number| {
            let shard = Some(Shard { number, of: 3 });
            let settings = Settings { seeds: Some(10..20), shard, ..Settings::default() };
            let config = settings.resolve().unwrap();
            (0..).map_while(move |n| config.seed(n)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(all, [10, 13, 16, 19, 11, 14, 17, 12, 15, 18]);
    let shard = Some(Shard { number: 3, of: 4 });
    let settings = Settings { seeds: Some(10..12), shard, ..Settings::default() };
    let config = settings.resolve().unwrap();
    assert_eq!((config.seed(0), config.seed(1), config.positions()), (Some(10), None, 0));
}

/// A file of the workspace.
fn file(name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn the_tables_of_the_manual_have_every_variable() {
    let listed: Vec<&str> = SETTINGS.iter().map(|row| row.variable).collect();
    for name in ["docs/guide.md", "src/engine/runner/mod.rs"] {
        let text = file(name);
        let lines = text.lines().map(|line| line.trim_start_matches("//! "));
        let rows = lines.filter_map(|line| line.strip_prefix("| `SIM_")?.split_once('`'));
        let rows: Vec<String> = rows.map(|(name, _)| format!("SIM_{name}")).collect();
        assert_eq!(rows, listed, "{name}");
    }
}

#[test]
fn the_attribute_has_every_argument() {
    let text = file("unpause-macros/src/arguments.rs");
    let (_, names) = text.split_once("const NAMES: [&str; ").unwrap();
    let (names, _) = names.split_once("];").unwrap();
    let names: BTreeSet<&str> = names.split('"').skip(1).step_by(2).collect();
    // These settings concern the test and not its runs.
    let others = ["must_fail", "native", "leaks", "races", "crate"];
    let listed = SETTINGS.iter().filter(|row| row.argument).map(|row| row.name);
    assert_eq!(names, listed.chain(others).collect());
}
