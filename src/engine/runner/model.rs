//! Models: closures that a test passes in, to be run under many schedules. The test was written for another tool, such
//! as loom. Therefore the settings come from a plan in text form.
//!
//! A plan has one phase per line. A phase is a list of variables, as in the environment, separated by blanks. The
//! phases are run in order until one fails. A phase may also contain these words:
//!
//! | word | meaning |
//! |---|---|
//! | `unproved` | the phase is run if the previous phase was not a proof |
//! | `weak` | the phase is run if an earlier search treated weaker orderings as `SeqCst`, or if there was none |
//! | `ends_at_limit` | a run ends at its step limit without a failure |
//! | `fails_at_limit` | a run fails at its step limit, and does not continue beyond it |
//! | `each_order` | a search executes each order of steps as a separate run |
//! | `repeats_each` | each run is repeated, and fails if the repetition differs |
//! | `must_spawn` | the phase fails if none of its runs has spawned a thread |
//!
//! With one of the words about the step limit, and with `each_order`, each `yield_now` is a step of the run. So a loop
//! of yields reaches the limit.
//!
//! A proof or a certificate is required only of the phases that can provide it, which are searches. Each phase has its
//! own results.
//!
//! If the environment chooses seeds, a strategy, a memory model or a replay, only the first phase is run, and the
//! environment takes precedence.

use std::ffi::OsString;

use super::annotation::annotation;
use super::existing::{ExistingTest, site_of};
use super::native::{self, ErrorText};
use super::outcome::FunctionBody;
use super::site::Site;
use super::terminal::style;
use super::told::remarks;
use super::{Runner, TestBody};
use crate::engine::config::{AtLimit, Config, InvalidSetting, Settings, TestKind};
use crate::engine::results::MustFail;
use crate::report::{Report, one_line, text};
use crate::run::{Failure, Outcome, Run};

/// The variables that limit a model to its first phase.
const ONE_PHASE: [&str; 6] =
    ["SIM_SEED", "SIM_SEEDS", "SIM_STRATEGY", "SIM_REPLAY", "SIM_MEMORY", "SIM_SHARD"];

/// The failure of a phase without threads, if it must have some.
const NO_THREAD: &str = "no concurrency: no run has spawned a thread";

/// The outcome of a model.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelEnd {
    /// No run of the model failed.
    Passed,
    /// A thread of a run panicked with this message.
    Panicked(String),
    /// A run failed in another way, described by a line of text.
    Failed(String),
}

/// The result of a model.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelVerdict {
    /// The outcome of the model.
    pub end: ModelEnd,
    /// The number of runs in all phases.
    pub runs: u64,
    /// The text for the captured output of the test.
    pub screen: String,
    /// The text that must be shown even if the harness hides the output of the test.
    pub remarks: String,
}

/// Runs the `number`-th model of a test, counted from 1, according to a plan. `has_captured` is true if the closure
/// captures memory; this memory then outlives the runs.
#[doc(hidden)]
pub fn run_model<B>(
    test: &ExistingTest<'_>,
    number: u32,
    plan: &str,
    has_captured: bool,
    body: B,
) -> ModelVerdict
where
    B: Fn() -> Result<(), String> + Copy + Send + Sync + 'static,
{
    let mut site = site_of(test);
    // The file of a test program may have another name than its crate.
    let of_file = || site.test.split("::").next().map(str::to_owned);
    let crate_name = crate::native::own_crate().map(str::to_owned).or_else(of_file);
    let _only = crate::native::of_closure(Some(test.name), has_captured, crate_name.as_deref());
    let body = FunctionBody::new(async || {
        native::run(None, move || body().map_err(ErrorText::new), false).await
    });
    if number > 1 {
        site.test = format!("{}_{number}", site.test);
    }
    let invalid = |invalid: InvalidSetting| ModelVerdict {
        end: ModelEnd::Failed(invalid.to_string()),
        runs: 0,
        screen: format!("FAILED  {}: {invalid}\n", test.name),
        remarks: String::new(),
    };
    let kind = TestKind { native: true, ..TestKind::default() };
    let is_setting = |name: &OsString| name.as_encoded_bytes().starts_with(b"SIM_");
    let environment = std::env::vars_os().filter(|(name, _)| is_setting(name)).collect();
    let model = Model { site, kind, environment, body: &body, remarks: String::new() };
    model.judge(plan).unwrap_or_else(invalid)
}

struct Model<'a> {
    site: Site,
    kind: TestKind,
    /// The variables of the process that may be settings. Each phase reads them several times.
    environment: Vec<(OsString, OsString)>,
    body: &'a dyn TestBody,
    remarks: String,
}

/// A phase of a plan.
struct Phase<'p> {
    condition: &'p str,
    /// The variables and words of the phase, separated by blanks.
    variables: &'p str,
    runner: Runner,
    /// True if the phase is a search whose runs can be a proof.
    can_prove: bool,
    /// True if the phase fails when none of its runs has spawned a thread.
    must_spawn: bool,
}

/// A summary of a phase.
struct Shown {
    is_proof: bool,
    /// True if the search treated orderings weaker than `SeqCst` as `SeqCst`.
    took_orders: bool,
    /// A description of the runs.
    words: String,
}

impl Model<'_> {
    fn judge(mut self, plan: &str) -> Result<ModelVerdict, InvalidSetting> {
        let is_set = |name: &&str| self.environment.iter().any(|(other, _)| other == name);
        let is_one = ONE_PHASE.iter().any(is_set);
        let lines = plan.lines().take(if is_one { 1 } else { usize::MAX });
        let phases = (1..).zip(lines).map(|(number, line)| self.phase(number, line));
        let phases: Vec<Phase<'_>> = phases.collect::<Result<_, _>>()?;
        // If no phase can be a proof, a required proof is an error of the settings.
        let proves = phases.iter().any(|phase| phase.can_prove);
        let mut before: Option<Shown> = None;
        let (mut words, mut runs) = (Vec::new(), 0);
        for phase in phases {
            let is_due = match phase.condition {
                "unproved" => before.as_ref().is_none_or(|before| !before.is_proof),
                "weak" => before.as_ref().is_none_or(|before| before.took_orders),
                _ => true,
            };
            if !is_due {
                continue;
            }
            let report = self.run(&phase, phase.can_prove || !proves)?;
            runs += report.runs;
            if phase.must_spawn && report.finding.is_none() && crate::native::spawns_nothing() {
                let end = ModelEnd::Failed(NO_THREAD.to_owned());
                let screen = format!("FAILED  {}: {NO_THREAD}\n", self.site.test);
                return Ok(ModelVerdict { end, runs, screen, remarks: self.remarks });
            }
            if let Some(end) = end(&report) {
                let found = report.finding.as_deref();
                let annotation = found.map(|finding| annotation(finding, &self.site, true));
                let screen = text(&report, &style()) + &annotation.unwrap_or_default();
                return Ok(ModelVerdict { end, runs, screen, remarks: self.remarks });
            }
            let memory = if phase.variables.contains("SIM_MEMORY=c11") { " with c11" } else { "" };
            let shown = shown(&report, memory);
            words.push(shown.words.clone());
            before = Some(match before {
                Some(first) => Shown { took_orders: first.took_orders, ..shown },
                None => shown,
            });
        }
        let remarks = format!("{}note: {}: {}\n", self.remarks, self.site.test, words.join("; "));
        Ok(ModelVerdict { end: ModelEnd::Passed, runs, screen: String::new(), remarks })
    }

    /// Parses the phase with this number, counted from 1.
    fn phase<'p>(&self, number: u32, line: &'p str) -> Result<Phase<'p>, InvalidSetting> {
        let (mut condition, mut at_limit) = ("", None);
        let (mut must_spawn, mut each_order, mut repeats_each) = (false, false, false);
        for word in line.split(' ').filter(|word| !word.is_empty() && !word.contains('=')) {
            match word {
                "ends_at_limit" => at_limit = Some(AtLimit::Ends),
                "fails_at_limit" => at_limit = Some(AtLimit::Fails),
                "must_spawn" => must_spawn = true,
                "each_order" => each_order = true,
                "repeats_each" => repeats_each = true,
                _ => condition = word,
            }
        }
        let pairs = line.split(' ').filter_map(|pair| pair.split_once('='));
        let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let (settings, _) = Settings::from_environment(pairs)?;
        let phase = (number > 1).then_some(number);
        let kind = TestKind { phase, at_limit, each_order, repeats_each, ..self.kind.clone() };
        let runner = Runner::of_site(self.site.clone(), Settings { kind, ..settings });
        let (config, _) = self.without_proof(&runner)?;
        let can_prove = config.strategy.is_search();
        Ok(Phase { condition, variables: line, runner, can_prove, must_spawn })
    }

    /// Returns the configuration of a phase that need not be a proof, and notes about its settings.
    fn without_proof(&self, runner: &Runner) -> Result<(Config, Vec<String>), InvalidSetting> {
        let settings = Settings { must_prove: Some(false), ..runner.settings.clone() };
        let variables = self.environment.iter().filter(|(name, _)| name != "SIM_MUST_PROVE");
        let runner = Runner::of_site(runner.site.clone(), settings);
        let (mut config, notes) = runner.config_in(variables.cloned())?;
        config.certify = None;
        Ok((config, notes))
    }

    /// Executes the runs of a phase. `must_prove` is false if another phase provides the proof, if one is required.
    fn run(&mut self, phase: &Phase<'_>, must_prove: bool) -> Result<Report, InvalidSetting> {
        let runner = &phase.runner;
        let (config, notes) = match must_prove {
            true => runner.config_in(self.environment.iter().cloned())?,
            false => self.without_proof(runner)?,
        };
        let report = runner.run_config(config, notes, self.body, &MustFail::No, true)?.report;
        // The reason why a search is not a proof is already in the description of the phase.
        self.remarks += &remarks(&Report { searched: None, ..report.clone() });
        Ok(report)
    }
}

/// Returns the summary of a passed phase. `memory` is empty, or describes the memory model.
fn shown(report: &Report, memory: &str) -> Shown {
    let runs = report.runs;
    let all = match runs {
        1 => "explored the one interleaving".to_owned(),
        _ => format!("explored all {runs} interleavings{memory}"),
    };
    match &report.searched {
        Some(searched) => {
            let is_proof = searched.is_proof();
            let words = match (is_proof, searched.fell_short()) {
                (false, Some(why)) => format!("searched {runs} interleavings, no proof: {why}"),
                _ => match searched.assumption() {
                    Some(assumption) => {
                        format!("{all} (assumes that {assumption})")
                    }
                    None => all,
                },
            };
            let took_orders = !is_proof
                || searched.assumption().is_some_and(|assumption| assumption.contains("SeqCst"));
            Shown { is_proof, took_orders, words }
        }
        None => {
            let words = format!("{runs} runs{memory} passed");
            Shown { is_proof: false, took_orders: true, words }
        }
    }
}

/// Returns the outcome of the model if a run has failed.
fn end(report: &Report) -> Option<ModelEnd> {
    let finding = report.finding.as_deref()?;
    let Outcome::Failed(failure) = &finding.run.outcome else { return None };
    Some(match failure {
        Failure::Panic { message, .. } => ModelEnd::Panicked(message.clone()),
        other => {
            let line = one_line(other, &finding.run);
            ModelEnd::Failed(match waits_for_itself(other, &finding.run) {
                Some(text) => line.replacen(": ", &format!(": {text}; "), 1),
                None => line,
            })
        }
    })
}

/// Returns a sentence about a task that waits for a lock that it holds itself.
fn waits_for_itself(failure: &Failure, run: &Run) -> Option<String> {
    let Failure::Deadlock { waits } = failure else { return None };
    let own = waits.iter().find(|wait| wait.holder.is_some_and(|held| held.task == wait.task))?;
    let (task, lock) = (run.tasks.get(own.task.index())?, run.objects.get(own.object?.index())?);
    Some(format!("{task} tried to acquire a {} it already holds", lock.kind))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::engine::persistence;
    use crate::engine::results::{self, ResultsFile};
    use crate::engine::runner::target::TestTarget;
    use crate::sync::Atomic;

    const PLAN: &str = "SIM_STRATEGY=exhaustive\nweak SIM_MEMORY=c11 SIM_SEEDS=20\nSIM_SEEDS=30";

    async fn relaxed() {
        let word = Arc::new(Atomic::new(0));
        let stored = word.clone();
        let task = crate::spawn(async move { stored.store(1, Relaxed).await });
        word.load(Relaxed).await;
        task.await.unwrap();
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sim-model-{}", std::process::id()));
        let folder = folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Runs a model in a process with these variables.
    fn judge(
        folder: &Path,
        plan: &str,
        variables: &[(&str, &str)],
    ) -> Result<ModelVerdict, InvalidSetting> {
        results::forget_taken();
        persistence::forget_written();
        let site = Site {
            test: "model::relaxed".to_owned(),
            target: TestTarget::running(Path::new("/model"), "src/lib.rs", None),
            package: "demo".to_owned(),
            version: "1.0.0".to_owned(),
            manifest_dir: Some(folder.to_owned()),
            place: std::panic::Location::caller(),
            filter: None,
            hermetic: false,
            variables: Vec::new(),
        };
        let os = |text: &str| OsString::from(text);
        let environment = variables.iter().map(|(name, value)| (os(name), os(value))).collect();
        let (kind, body) = (TestKind::default(), FunctionBody::new(relaxed));
        Model { site, kind, environment, body: &body, remarks: String::new() }.judge(plan)
    }

    #[test]
    fn each_phase_has_its_own_results() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("results");
        let results = folder.join("results").display().to_string();
        let variables = [("SIM_RESULTS", &*results)];
        let first = judge(&folder, PLAN, &variables).unwrap();
        assert_eq!(first.end, ModelEnd::Passed, "{}", first.screen);
        let phases = "; 20 runs with c11 passed; 30 runs passed\n";
        assert!(first.remarks.contains(phases), "{}", first.remarks);

        let only = |folder: PathBuf| fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        let own = only(only(folder.join("results")));
        for (name, phase) in [
            ("1-of-1.jsonl", None),
            ("1-of-1-phase-2.jsonl", Some("2")),
            ("1-of-1-phase-3.jsonl", Some("3")),
        ] {
            let file = ResultsFile::read(&fs::read(own.join(name)).unwrap()).unwrap();
            assert_eq!(file.header.subject.phase(), phase);
        }

        let second = judge(&folder, PLAN, &variables).unwrap();
        assert_eq!(second.end, ModelEnd::Passed, "{}", second.screen);
        for note in [" runs were not made: ", ": 20 seeds were not run: ", ": 30 seeds were not "] {
            assert!(second.remarks.contains(note), "{}", second.remarks);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn each_phase_has_its_own_report() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("reports");
        let (out, reports) = (folder.join("out"), folder.join("reports"));
        let [written, into] = [&out, &reports].map(|folder| folder.display().to_string());
        for json in ["1", into.as_str()] {
            let variables = [("SIM_OUT", &*written), ("SIM_JSON", json)];
            let end = judge(&folder, PLAN, &variables).unwrap().end;
            assert_eq!(end, ModelEnd::Passed);
        }
        let own = fs::read_dir(out).unwrap().next().unwrap().unwrap().path();
        for (folder, first) in [(own, "passed"), (reports, "model.relaxed")] {
            let files: Vec<PathBuf> =
                fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files.len(), 3, "{files:?}");
            for (phase, expected) in [
                ("", "\"is_proof\":true"),
                ("-phase-2", "\"runs\":20,"),
                ("-phase-3", "\"runs\":30,"),
            ] {
                let is_of_phase = |file: &&PathBuf| {
                    let name = file.file_name().unwrap().to_string_lossy();
                    name.ends_with(&format!("{first}{phase}.json"))
                };
                let file = files.iter().find(is_of_phase).unwrap();
                let report = fs::read_to_string(file).unwrap();
                assert!(report.contains(expected), "{phase}: {report}");
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn runs_may_end_at_their_step_limit() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("limits");
        let ended = |plan: &str| judge(&folder, plan, &[]).unwrap();
        for plan in ["SIM_SEEDS=3 SIM_STEPS=1", "SIM_STRATEGY=exhaustive SIM_STEPS=1"] {
            let verdict = ended(&format!("{plan} ends_at_limit"));
            assert_eq!(verdict.end, ModelEnd::Passed, "{}", verdict.screen);
            let text = "step limit reached after 1 steps".to_owned();
            assert_eq!(ended(plan).end, ModelEnd::Failed(text));
        }
        // A search that ends at the step limit is not a proof, so the next phase is executed.
        let plan = "SIM_STRATEGY=exhaustive SIM_STEPS=1 ends_at_limit\nunproved SIM_SEEDS=20";
        let remarks = ended(plan).remarks;
        assert!(remarks.contains("; 20 runs passed"), "{remarks}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// A run within the limit makes no difference.
    #[test]
    fn a_phase_may_fail_at_its_step_limit_or_execute_each_order() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("orders");
        let ended = |plan: &str| judge(&folder, plan, &[]).unwrap();
        let text = "step limit reached after 1 steps".to_owned();
        let failed = ended("SIM_SEEDS=3 SIM_STEPS=1 fails_at_limit").end;
        assert_eq!(failed, ModelEnd::Failed(text));
        let passed = ended("SIM_SEEDS=3 SIM_STEPS=100 fails_at_limit").end;
        assert_eq!(passed, ModelEnd::Passed);
        let [classes, orders] = ["", " each_order"].map(|word| {
            let verdict = ended(&format!("SIM_STRATEGY=exhaustive{word}"));
            assert_eq!(verdict.end, ModelEnd::Passed, "{}", verdict.screen);
            verdict.runs
        });
        assert!(orders > classes, "{orders} orders of {classes} classes");
        // A folder of results does not mix runs with different words of this kind.
        for word in [" each_order", " ends_at_limit", " fails_at_limit"] {
            let results = folder.join(word.trim()).display().to_string();
            let within = |plan: &str| judge(&folder, plan, &[("SIM_RESULTS", &*results)]);
            within("SIM_STRATEGY=exhaustive").unwrap();
            let refused = within(&format!("SIM_STRATEGY=exhaustive{word}")).unwrap_err();
            assert!(refused.to_string().contains(": unset there, "), "{refused}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_replayed_run_may_end_at_its_step_limit() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("replays");
        let out = folder.join("out").display().to_string();
        let failed = judge(&folder, "SIM_SEEDS=3 SIM_STEPS=1", &[("SIM_OUT", &*out)]).unwrap();
        let (_, after) = failed.screen.split_once("SIM_REPLAY=").unwrap();
        let trace = after.split_whitespace().next().unwrap().trim_matches('\'');
        let variables = [("SIM_OUT", &*out), ("SIM_REPLAY", trace)];
        let replayed = |plan: &str| judge(&folder, plan, &variables).unwrap();
        assert_eq!(replayed("SIM_SEEDS=3 SIM_STEPS=1").end, failed.end);
        let verdict = replayed("SIM_SEEDS=3 SIM_STEPS=1 ends_at_limit");
        assert_eq!(verdict.end, ModelEnd::Passed, "{}", verdict.screen);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_a_search_must_be_a_proof() {
        if !crate::SIMULATED {
            return;
        }
        let folder = folder("proofs");
        let must = [("SIM_MUST_PROVE", "1")];
        assert_eq!(judge(&folder, PLAN, &must).unwrap().end, ModelEnd::Passed);
        let few = PLAN.replacen("exhaustive", "exhaustive SIM_SEEDS=1", 1);
        let end = judge(&folder, &few, &must).unwrap().end;
        assert!(matches!(end, ModelEnd::Failed(_)), "{end:?}");
        // No phase of this plan can be a proof.
        assert_eq!(judge(&folder, "SIM_SEEDS=20", &must).unwrap_err().name, "strategy");

        let file = folder.join("model.certificate").display().to_string();
        let remarks = judge(&folder, PLAN, &[("SIM_CERTIFY", &*file)]).unwrap().remarks;
        let is_written = remarks.contains("certificate in ");
        assert!(is_written && !remarks.contains("no certificate"), "{remarks}");
        fs::remove_dir_all(folder).unwrap();
    }
}
