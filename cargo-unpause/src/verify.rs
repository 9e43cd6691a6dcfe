//! `cargo unpause verify`: checks the certificate of a search, without using any code of the
//! search.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use sim::__private::variable_of;
use unpause_verify::{Decisions, Gap, Observed, Program, Reader, Verified, verify};

use crate::invocation::{Invocation, check_settings};
use crate::merge::grouped;
use crate::rerun::{Ended, Folder, Stop, run as rerun, tail};
use crate::{Exit, Terminal, Usage};

/// The version of certificates that this command reads.
const VERSION: u64 = 1;
/// The maximum number of bytes shown of the output of a test.
const SHOWN: usize = 2_000;

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut features, mut as_json) = (None, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Long("features") => features = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one certificate at a time: what is {value:?}?")));
            }
            other => {
                let options = ["--features", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause verify --help"));
            }
        }
    }
    let path = path.ok_or_else(|| {
        Usage("which certificate? `cargo unpause verify FILE`, as SIM_CERTIFY named it".to_owned())
    })?;
    let certificate = Certificate::read(&path)?;
    let mut invocation = certificate.invocation(&path)?;
    if let Some(features) = features {
        invocation.add(["--features".to_owned(), features]);
    }
    terminal.error(&format!("running: {}", invocation.text()));
    let (folder, first) = (Folder::new()?, certificate.first.clone());
    let mut test = Test { path, folder, first, invocation, invalid: None };
    let verdict = match certificate.runs.len() as u64 {
        all if all == certificate.claimed => verify(&certificate.runs, &mut test),
        all => Err(Gap::Incomplete(all, certificate.claimed)),
    };
    if let Some(invalid) = test.invalid {
        return Err(invalid);
    }
    let text = match as_json {
        true => format!("{}\n", as_report(&certificate.test, &verdict)),
        false => text(&certificate.test, &verdict),
    };
    terminal.print(&text);
    Ok(if verdict.is_ok() { Exit::Good } else { Exit::Bad })
}

/// A certificate, as read from its file.
struct Certificate {
    /// The first line of the file.
    first: String,
    test: String,
    /// The command that ran the search.
    command: String,
    /// The settings that differ from the defaults.
    settings: Vec<(String, String)>,
    /// The number of runs that the certificate claims.
    claimed: u64,
    runs: Vec<Decisions>,
}

impl Certificate {
    fn read(path: &Path) -> Result<Certificate, Usage> {
        let called = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| Usage(format!("{called} cannot be read: {error}")))?;
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        let header: Json = serde_json::from_str(&first).unwrap_or_default();
        match header["certificate"].as_u64() {
            Some(VERSION) => {}
            Some(other) => {
                return Err(Usage(format!(
                    "{called} has version {other}, and this cargo-unpause reads {VERSION}"
                )));
            }
            None => {
                return Err(Usage(format!("{called} is no certificate (SIM_CERTIFY writes one)")));
            }
        }
        let text = |name: &str| {
            let text = header[name].as_str().map(str::to_owned);
            text.ok_or_else(|| Usage(format!("{called}: line 1: `{name}` is not text")))
        };
        let settings = header["settings"].as_object().into_iter().flatten();
        let settings = settings.filter_map(|(name, value)| {
            Some((variable_of(name)?.to_owned(), value.as_str()?.to_owned()))
        });
        let runs = lines.zip(2..).map(|(line, number)| {
            Decisions::read(line).map_err(|why| Usage(format!("{called}: line {number}: {why}")))
        });
        let claimed = header["runs"].as_u64();
        Ok(Certificate {
            test: text("test")?,
            command: text("command")?,
            settings: settings.collect(),
            claimed: claimed
                .ok_or_else(|| Usage(format!("{called}: line 1: `runs` is not a whole number")))?,
            runs: runs.collect::<Result<_, _>>()?,
            first,
        })
    }

    /// Returns the command that runs the test.
    fn invocation(&self, path: &Path) -> Result<Invocation, Usage> {
        let mut invocation = Invocation::parse(&self.command).map_err(|why| {
            Usage(format!(
                "the command in {} is not run, because {why}: {}",
                path.display(),
                self.command
            ))
        })?;
        check_settings(&self.settings)?;
        self.settings.iter().for_each(|(name, value)| invocation.set(name, value));
        Ok(invocation)
    }
}

/// A test that computes runs from given decisions.
struct Test {
    path: PathBuf,
    folder: Folder,
    first: String,
    invocation: Invocation,
    /// The reason why the test computed no runs, if it failed to do so.
    invalid: Option<Usage>,
}

impl Test {
    fn observed(
        &mut self,
        runs: &[Decisions],
        show: &mut dyn FnMut(Observed),
    ) -> Result<(), Usage> {
        let file = self.folder.path().join("runs.certificate");
        let answers = file.with_extension("observed");
        let lines = runs.iter().map(Decisions::line);
        let text: String =
            [self.first.clone()].into_iter().chain(lines).map(|line| line + "\n").collect();
        let cannot = |error: std::io::Error| Usage(format!("{}: {error}", file.display()));
        let _ = fs::remove_file(&answers);
        fs::write(&file, text).map_err(cannot)?;
        self.invocation.set("SIM_OBSERVE", &file.display().to_string());
        let ended = rerun(&self.invocation, &Stop::default())?;
        let Ok(answers) = File::open(&answers) else { return Err(self.no_answer(&ended, &file)) };
        let wrong = |why: String| Usage(format!("the test wrote something else: {why}"));
        let mut reader = Reader::default();
        for line in BufReader::new(answers).lines() {
            let line = line.map_err(cannot)?;
            if let Some(observed) = reader.read(&line).map_err(wrong)? {
                show(observed);
            }
        }
        Ok(())
    }

    /// Returns the reason why the test computed no runs from this file.
    fn no_answer(&self, ended: &Ended, file: &Path) -> Usage {
        let said = ended.reports.iter().find_map(|report| {
            let failure = report.finding.as_ref()?.failure.as_ref()?;
            let prefix = format!("{}: ", file.display());
            Some(failure.text.replace(&prefix, ""))
        });
        let text = said.unwrap_or_else(|| {
            format!(
                "the test did not read them. A hermetic Runner reads no variables. Its output ends with:\n{}",
                tail(&ended.output, SHOWN)
            )
        });
        Usage(format!("the runs of {} were not made: {text}", self.path.display()))
    }
}

impl Program for Test {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        self.observed(runs, show).map_err(|invalid| {
            let text = invalid.to_string();
            self.invalid = Some(invalid);
            text
        })
    }
}

fn text(test: &str, verdict: &Result<Verified, Gap>) -> String {
    match verdict {
        Ok(Verified { runs, classes, asked, disabled }) => {
            let [runs, classes, others, known, disabled] =
                [*runs, *classes, *asked, asked - disabled, *disabled]
                    .map(|number| grouped(number.into()));
            format!(
                "verified {test}\n  runs     {runs}, of {classes} classes: each passes again\n  \
                 closed   {others} others put a task before a step that it came after, or draw another value:\n           \
                 {known} are of these classes, and in {disabled} the task cannot step\n  \
                 rests on the effects that the program declares for its steps\n",
            )
        }
        Err(gap) => {
            let steps = match gap {
                Gap::Missing(_, question) | Gap::Differs(_, question) => {
                    let Decisions { tasks, steps, .. } = &question.decisions;
                    let steps: Vec<&str> = steps.iter().map(|task| &*tasks[*task]).collect();
                    format!("  steps    {}\n", steps.join(" "))
                }
                _ => String::new(),
            };
            format!("refused  {test}\n  because  {gap}\n{steps}")
        }
    }
}

fn as_report(test: &str, verdict: &Result<Verified, Gap>) -> Json {
    match verdict {
        Ok(Verified { runs, classes, asked, disabled }) => json!({
            "test": test, "verified": true, "runs": runs, "classes": classes, "asked": asked, "disabled": disabled,
        }),
        Err(gap) => json!({ "test": test, "verified": false, "gap": gap.to_string() }),
    }
}

const HELP: &str = "\
Verifies the certificate of a search that proved a test (SIM_CERTIFY). The test makes each run of it
again. In each of them, each task is put before each step that it could have gone before, and each
drawn value is replaced by each other one: every such run must be of a class in the certificate. A
set of runs with this property has every class. No code of the search is used.

usage: cargo unpause verify FILE [--features F] [--json]

  --features F   features of the package that the test needs
  --json         the verdict as JSON

example:
  SIM_CERTIFY=queue.certificate SIM_STRATEGY=exhaustive cargo test --lib -- --exact tests::queue
  cargo unpause verify queue.certificate

exit codes: 0 verified, 1 refused, 2 the file is invalid, or the program is another one.
";
