//! A test that walks over the list of settings. For each setting that changes the meaning of runs, a planted failure
//! must be found if the variable sets it, and if the argument sets it. The failure must be reproduced by the printed
//! command, by the trace file alone, and as a kept trace. Results of runs without the setting must be refused with the
//! setting.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::outcome::FunctionBody;
use super::site::Site;
use super::target::TestTarget;
use super::test::Attributes;
use super::{Runner, TestBody};
use crate::check::models::{Register, RegisterOp, RegisterRet};
use crate::engine::config::{InvalidSetting, SETTINGS, Settings};
use crate::engine::results::MustFail;
use crate::engine::{persistence, results};
use crate::report::{Finding, Origin, Report};
use crate::run::{Outcome, Signature};
use crate::sync::{Atomic, Mutex};
use crate::task::{Builder, yield_now};
use crate::testing::recorder::History;
use crate::time::timeout;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A planted failure that requires one setting.
struct Plant {
    /// The name of the setting.
    name: &'static str,
    /// The value of the setting with which the body fails. The body passes if the setting has its default.
    value: &'static str,
    /// Sets the same value in the attribute arguments.
    argue: fn(&mut Attributes),
    body: fn() -> Box<dyn TestBody>,
}

macro_rules! body {
    ($body:expr) => {
        || Box::new(FunctionBody::new($body))
    };
}

/// One planted failure for each setting that changes the meaning of runs, except the settings in [`ELSEWHERE`].
const PLANTS: &[Plant] = &[
    Plant {
        name: "strategy",
        value: "exhaustive",
        argue: |attributes| attributes.strategy = Some("exhaustive"),
        body: body!(async || assert_ne!(crate::rand::below(20_000), 3)),
    },
    Plant {
        name: "max_steps",
        value: "5",
        argue: |attributes| attributes.max_steps = Some(5),
        body: body!(async || {
            for _ in 0..10 {
                yield_now().await;
            }
        }),
    },
    Plant {
        name: "clock",
        value: "any",
        argue: |attributes| attributes.clock = Some("any"),
        body: body!(async || {
            let work = async {
                yield_now().await;
                yield_now().await;
            };
            assert!(timeout(Duration::from_secs(1), work).await.is_ok(), "late");
        }),
    },
    Plant {
        name: "cancel",
        value: "worker *",
        argue: |attributes| attributes.cancel = Some("worker *"),
        body: body!(async || {
            let count = Arc::new(Atomic::new(0));
            let own = count.clone();
            let task = Builder::new().name("worker 1").spawn(async move {
                own.fetch_add(1, SeqCst).await;
                own.fetch_sub(1, SeqCst).await;
            });
            let _ = task.await;
            assert_eq!(count.load(SeqCst).await, 0);
        }),
    },
    Plant {
        name: "cancel_selects",
        value: "1",
        argue: |attributes| attributes.cancel_selects = true,
        body: body!(async || {
            let open = Atomic::new(0);
            let request = async {
                open.fetch_add(1, SeqCst).await;
                open.fetch_sub(1, SeqCst).await;
            };
            let _ = timeout(Duration::from_secs(30), request).await;
            assert_eq!(open.load(SeqCst).await, 0);
        }),
    },
    Plant {
        name: "buggify",
        value: "1",
        argue: |attributes| attributes.buggify = true,
        body: body!(async || assert!(!crate::buggify!("planted"))),
    },
    Plant {
        name: "progress",
        value: "lock-free",
        argue: |attributes| attributes.progress = Some("lock-free"),
        body: body!(async || {
            let (lock, count) = (Arc::new(Mutex::new(())), Arc::new(Atomic::new(0)));
            let add = |_| {
                let (lock, count) = (lock.clone(), count.clone());
                async move {
                    let _guard = lock.lock().await;
                    count.fetch_add(1, SeqCst).await
                }
            };
            crate::task::map_concurrently(0..2, add).await;
        }),
    },
    Plant {
        name: "chances",
        value: "weak",
        argue: |attributes| attributes.chances = Some("weak"),
        body: body!(async || {
            let word = Atomic::new(0);
            word.compare_exchange_weak(0, 1, SeqCst, SeqCst).await.unwrap();
        }),
    },
    Plant {
        name: "memory",
        value: "c11",
        argue: |attributes| attributes.memory = Some("c11"),
        body: body!(async || {
            let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
            let stored = words.clone();
            let store = crate::spawn(async move {
                stored[0].store(1, Relaxed).await;
                stored[1].store(1, Relaxed).await;
            });
            if words[1].load(Relaxed).await == 1 {
                assert_eq!(words[0].load(Relaxed).await, 1);
            }
            store.await.unwrap();
        }),
    },
    Plant {
        name: "closure",
        value: "1",
        argue: |attributes| attributes.closure = true,
        body: body!(reads_a_copy),
    },
];

/// The settings without a planted failure here, each with a value and the reason. The presence of these settings in
/// headers is tested here, too.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("points", "all", "plain threads: native-tests/tests/all/settings.rs"),
    ("arc", "1", "plain threads: native-tests/tests/all/settings.rs"),
    ("isolate", "process", "plain threads: native-tests/tests/all/settings.rs"),
    ("hang", "1500ms", "a hang ends the process: sim-tests/tests/shell/ends.rs"),
];

/// Reads a copy of the written value. The read is stale if it begins after the write has returned and ends before the
/// copy is updated.
async fn reads_a_copy() {
    let words = Arc::new([Atomic::new(0_u64), Atomic::new(0_u64)]);
    let history = History::new(Register::default());
    let (copied, written) = (words.clone(), words.clone());
    let copy = crate::spawn(async move {
        crate::spin_until(async || copied[0].load(SeqCst).await == 1).await;
        copied[1].store(1, SeqCst).await;
    });
    let writer = history.clone();
    let write = crate::spawn(async move {
        let work = async {
            written[0].store(1, SeqCst).await;
            RegisterRet::Done
        };
        writer.call(RegisterOp::Write(1), work).await;
    });
    let read = async {
        let own = Atomic::new(0);
        for n in 0..12 {
            own.store(n, SeqCst).await;
        }
        RegisterRet::Value(words[1].load(SeqCst).await)
    };
    history.call(RegisterOp::Read, read).await;
    copy.await.unwrap();
    write.await.unwrap();
    history.assert_linearizable();
}

async fn fails_always() {
    panic!("always")
}

/// A test in its own package.
struct Walker {
    name: String,
    folder: PathBuf,
    body: Box<dyn TestBody>,
}

impl Walker {
    fn new(name: &str, body: Box<dyn TestBody>) -> Walker {
        let folder =
            std::env::temp_dir().join(format!("sim-walk-{}", std::process::id())).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Walker { name: format!("walk::{name}"), folder, body }
    }

    fn site(&self) -> Site {
        Site {
            test: self.name.clone(),
            target: TestTarget::running(std::path::Path::new("/walk"), "src/lib.rs", None),
            package: "demo".to_owned(),
            version: "1.0.0".to_owned(),
            manifest_dir: Some(self.folder.clone()),
            place: std::panic::Location::caller(),
            filter: Some(self.name.clone()),
            hermetic: false,
            variables: Vec::new(),
        }
    }

    /// Returns the report of the test with these arguments, in a process with these variables.
    fn run(
        &self,
        arguments: Attributes,
        variables: &[(&str, &str)],
    ) -> Result<Report, InvalidSetting> {
        let settings = Settings {
            out: Some(self.folder.join("out")),
            ..arguments.settings(&self.folder.display().to_string(), false)
        };
        let runner = Runner::of_site(self.site(), settings);
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), value.into()));
        let (config, notes) = runner.config_in(variables)?;
        results::forget_taken();
        Ok(runner.run_config(config, notes, &*self.body, &MustFail::No, true)?.report)
    }

    /// Runs the test, which must fail, and returns its finding.
    #[track_caller]
    fn fails(&self, arguments: Attributes, variables: &[(&str, &str)]) -> Finding {
        let report = self.run(arguments, variables).unwrap();
        let finding = report.finding;
        *finding.unwrap_or_else(|| panic!("{} passes with {arguments:?} {variables:?}", self.name))
    }

    #[track_caller]
    fn passes(&self, arguments: Attributes, variables: &[(&str, &str)]) {
        let report = self.run(arguments, variables).unwrap();
        let what = report.finding.map(|finding| finding.run.outcome);
        assert!(what.is_none(), "{} {arguments:?} {variables:?}: {what:?}", self.name);
    }

    /// Replays a failure by its printed command, by its file alone, and as a kept trace. Each replay is done with the
    /// original test and with a test that has other settings, which must make no difference.
    fn replays(&self, found: &Finding, arguments: Attributes) {
        let line = found.replay.as_deref().expect("a failure has a line");
        let words: Vec<(&str, &str)> =
            line.split(' ').map_while(|word| word.split_once('=')).collect();
        assert_eq!(words[0].0, "SIM_REPLAY", "{line}");
        self.same(found, &self.fails(arguments, &words), "the line");
        let file = &*found.trace_file.clone().expect("a failure has a file");
        for other in
            [Attributes::default(), arguments, Attributes { clock: Some("late:1"), ..arguments }]
        {
            self.same(found, &self.fails(other, &[("SIM_REPLAY", file)]), "the file");
        }
        let kept = self.folder.join("sim-regressions").join(persistence::folder_name(&self.name));
        fs::create_dir_all(&kept).unwrap();
        fs::copy(file, kept.join("one.simtrace")).unwrap();
        for seeds in [("SIM_SEEDS", "1"), ("SIM_STEPS", "100000")] {
            let again = self.fails(Attributes::default(), &[seeds]);
            assert!(matches!(again.from, Origin::File(_)), "{:?}", again.from);
            self.same(found, &again, "the kept trace");
        }
        fs::remove_dir_all(kept).unwrap();
    }

    fn same(&self, found: &Finding, again: &Finding, by: &str) {
        let told = |finding: &Finding| (signature(finding), finding.run.steps.len());
        assert_eq!(told(found), told(again), "{} by {by}: {:?}", self.name, again.run.outcome);
    }
}

fn signature(finding: &Finding) -> Option<Signature> {
    match &finding.run.outcome {
        Outcome::Passed => None,
        Outcome::Failed(failure) => Some(failure.signature()),
    }
}

/// Returns the settings that change the meaning of runs or seeds.
fn with_meaning() -> impl Iterator<Item = &'static crate::engine::config::SettingRow> {
    SETTINGS.iter().filter(|row| row.meaning.is_in_traces() || row.meaning.is_in_results())
}

#[test]
fn each_setting_finds_a_failure_that_replays_by_the_line_and_by_the_file_alone() {
    if !crate::SIMULATED {
        return;
    }
    for row in with_meaning() {
        if ELSEWHERE.iter().any(|(name, ..)| *name == row.name) {
            continue;
        }
        let plant = PLANTS.iter().find(|plant| plant.name == row.name);
        let plant = plant.unwrap_or_else(|| panic!("plant a failure for the setting {}", row.name));
        let walker = Walker::new(row.name, (plant.body)());
        let bare = match row.name {
            // The strategy makes no difference to this test. With few seeds, no run without `closure` finds the failure
            // by chance.
            "closure" => {
                Attributes { seeds: Some(30), strategy: Some("random"), ..Attributes::default() }
            }
            _ => Attributes::default(),
        };
        walker.passes(bare, &[]);
        let by_variable = walker.fails(bare, &[(row.variable, plant.value)]);
        walker.replays(&by_variable, bare);
        let mut arguments = bare;
        (plant.argue)(&mut arguments);
        let by_argument = walker.fails(arguments, &[]);
        walker.replays(&by_argument, arguments);
        assert_eq!(by_argument.run.steps.len(), by_variable.run.steps.len());
        // The command needs no variable for a setting that the test itself has.
        let line = by_argument.replay.unwrap();
        let words = line.split(' ').take_while(|word| word.contains('='));
        let words = words.collect::<Vec<_>>().join(" ");
        assert!(!words.contains(row.name) && !words.contains(row.variable), "{line}");
        let _ = fs::remove_dir_all(&walker.folder);
    }
}

#[test]
fn traces_and_results_have_each_setting_that_they_need() {
    if !crate::SIMULATED {
        return;
    }
    for row in with_meaning() {
        let value = match ELSEWHERE.iter().find(|(name, ..)| *name == row.name) {
            Some((_, value, _)) => *value,
            // A search has no seed results, so this uses a sampling strategy.
            None if row.name == "strategy" => "pct",
            None => PLANTS.iter().find(|plant| plant.name == row.name).unwrap().value,
        };
        let variable = [(row.variable, value)];
        // The body of this test fails with the default settings.
        let fails = Walker::new(&format!("{}-header", row.name), body!(fails_always)());
        let finding = fails.fails(Attributes::default(), &variable);
        let trace = persistence::read(finding.trace_file.as_ref().unwrap().as_ref()).unwrap();
        let settings = trace.header.settings.unwrap();
        let expected = (row.name.to_owned(), value.to_owned());
        assert_eq!(settings.contains(&expected), row.meaning.is_in_traces(), "{settings:?}");
        fails.replays(&finding, Attributes::default());

        let passes = Walker::new(&format!("{}-results", row.name), body!(async || ())());
        let folder = passes.folder.join("results").display().to_string();
        let results = ("SIM_RESULTS", &*folder);
        let few = Attributes { seeds: Some(3), ..Attributes::default() };
        passes.passes(few, &[results]);
        let again = passes.run(few, &[results, (row.variable, value)]);
        if row.meaning.is_in_results() {
            let error = again.unwrap_err().to_string();
            let there = if row.name == "cancel" || row.name == "progress" { "unset" } else { "" };
            assert!(error.contains(&format!("{}: {there}", row.name)), "{error}");
            assert!(error.contains(&format!(" there, {value} here")), "{error}");
        } else {
            assert!(again.unwrap().passed(), "results do not depend on {}", row.name);
        }
        for walker in [fails, passes] {
            let _ = fs::remove_dir_all(&walker.folder);
        }
    }
}

#[test]
fn every_value_is_read_back_from_its_text() {
    for row in with_meaning() {
        let plants = PLANTS.iter().map(|plant| (plant.name, plant.value));
        let values = plants.chain(ELSEWHERE.iter().map(|(name, value, _)| (*name, *value)));
        let (_, value) = values.into_iter().find(|(name, _)| *name == row.name).unwrap();
        let config = |value: &str| {
            let variable = (OsString::from(row.variable), OsString::from(value));
            let (settings, _) = Settings::from_environment([variable]).unwrap();
            settings.resolve().unwrap()
        };
        let told = config(value);
        let texts = [told.in_traces(), told.in_results()].concat();
        let (_, text) = texts.iter().find(|(name, _)| name == row.name).unwrap();
        assert_eq!(text, value);
        if row.meaning.is_in_traces() {
            let default = Settings::default();
            let default = default.resolve().unwrap();
            let replaying = default.replaying(&told.in_traces()).unwrap();
            assert_eq!(replaying.in_traces(), told.in_traces());
            // The replay of a trace without the setting must not keep it, unless it is a time limit of this machine.
            let left = told.replaying(&Vec::new()).unwrap().in_traces();
            assert_eq!(left.is_empty(), row.meaning.is_in_results(), "{left:?}");
        }
    }
}

#[test]
fn a_replay_tells_of_settings_that_are_not_those_of_its_trace() {
    if !crate::SIMULATED {
        return;
    }
    let plant = PLANTS.iter().find(|plant| plant.name == "max_steps").unwrap();
    let walker = Walker::new("contradiction", (plant.body)());
    let found = walker.fails(Attributes::default(), &[("SIM_STEPS", "5")]);
    let file = &*found.trace_file.unwrap();
    let warnings = |arguments, variables: &[(&str, &str)]| {
        walker.run(arguments, &[&[("SIM_REPLAY", file)], variables].concat()).unwrap().warnings
    };
    // The user pastes the printed command into a shell where the variable is not set.
    assert_eq!(warnings(Attributes::default(), &[]), Vec::<String>::new());
    assert_eq!(
        warnings(Attributes::default(), &[("SIM_STEPS", "7"), ("SIM_CANCEL", "x")]),
        [
            "SIM_STEPS=7 has no effect on this replay: the trace was written with max_steps = 5",
            "SIM_CANCEL=x has no effect on this replay: the trace was written without cancel",
        ]
    );
    // A kept trace remains when the test changes.
    let kept = walker.folder.join("sim-regressions").join(persistence::folder_name(&walker.name));
    fs::create_dir_all(&kept).unwrap();
    fs::copy(file, kept.join("one.simtrace")).unwrap();
    let more = Attributes { max_steps: Some(9), ..Attributes::default() };
    assert_eq!(
        walker.run(more, &[]).unwrap().warnings,
        [
            "the trace was written with max_steps = 5 and is replayed so; the test is with max_steps = 9 now"
        ]
    );
    fs::remove_dir_all(kept).unwrap();
    // A setting of a future version is an error; the trace must not run without it.
    let text = fs::read_to_string(file).unwrap().replace("max_steps=5", "max_stops=5");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("checksum"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(file, text).unwrap();
    let told = walker.fails(Attributes::default(), &[("SIM_REPLAY", file)]).run.outcome;
    let told = format!("{told:?}");
    assert!(
        told.contains("Unreadable") && told.contains("the setting max_stops of the trace"),
        "{told}"
    );
    let _ = fs::remove_dir_all(&walker.folder);
}
