//! `cargo unpause verify`: checks the certificate of a search, or the certificates of all its shares, without using any
//! code of the search.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use sim::__private::variable_of;
use sim::check::picture::screen::plural;
use unpause_verify::{Bound, Decisions, Gap, Observed, Program, Reader, Verified, verify};

use crate::invocation::{Invocation, check_settings};
use crate::merge::grouped;
use crate::rerun::{Ended, Folder, Stop, run as rerun, tail};
use crate::{Exit, Terminal, Usage};

/// The version of certificates that this command reads.
const VERSION: u64 = 1;
/// The minimum number of runs for which a further process is started.
const RUNS_MIN: usize = 400;
/// The maximum number of runs that a process may be ahead of the checker.
const READ_AHEAD: usize = 256;
/// The maximum number of bytes shown of the output of a test.
const SHOWN: usize = 2_000;
/// The maximum number of missing shares that are listed.
const SHARES_SHOWN: usize = 12;

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut paths, mut features, mut as_json) = (Vec::new(), None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Long("features") => features = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) => paths.push(PathBuf::from(value)),
            other => {
                let options = ["--features", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause verify --help"));
            }
        }
    }
    let certificates = paths.into_iter().map(Certificate::read).collect::<Result<Vec<_>, _>>()?;
    let Some(one) = certificates.first() else {
        let message = "which certificate? `cargo unpause verify FILE …`, as SIM_CERTIFY named it";
        return Err(Usage(message.to_owned()));
    };
    for other in &certificates[1..] {
        one.belongs_to_search_of(other)?;
    }
    let mut invocation = one.invocation()?;
    if let Some(features) = features {
        invocation.add(["--features".to_owned(), features]);
    }
    terminal.error(&format!("running: {}", invocation.text()));
    let (path, first, folder) = (one.path.clone(), one.first.clone(), Folder::new()?);
    let (test, of, bound) = (one.test.clone(), one.share.1, one.bound());
    let verdict = match incomplete(&certificates) {
        Some(refused) => Err(refused),
        None => {
            let mut program = Test { path, folder, first, invocation, bound, invalid: None };
            let runs: Vec<Decisions> =
                certificates.into_iter().flat_map(|certificate| certificate.runs).collect();
            let verdict = verify(&runs, &mut program);
            if let Some(invalid) = program.invalid {
                return Err(invalid);
            }
            verdict.map_err(Refused::of)
        }
    };
    let text = match as_json {
        true => format!("{}\n", as_report(&test, of, bound, &verdict)),
        false => text(&test, of, bound, &verdict),
    };
    terminal.print(&text);
    Ok(if verdict.is_ok() { Exit::Good } else { Exit::Bad })
}

/// The reason why certificates are refused.
struct Refused {
    because: String,
    /// A run that shows the reason, if any.
    run: Option<Decisions>,
}

impl Refused {
    fn of(gap: Gap) -> Refused {
        let because = gap.to_string();
        let run = match gap {
            Gap::Missing(_, run) | Gap::Differs(_, run) => Some(run),
            _ => None,
        };
        Refused { because, run }
    }
}

/// Returns the reason why certificates cannot contain all runs of their search, if any: runs or shares are missing.
fn incomplete(certificates: &[Certificate]) -> Option<Refused> {
    let is_cut = |own: &&Certificate| own.runs.len() as u64 != own.claimed;
    if let Some(cut) = certificates.iter().find(is_cut) {
        let (runs, claimed) = (cut.runs.len(), cut.claimed);
        let because = format!("it has {runs} runs instead of {claimed}: {}", cut.path.display());
        return Some(Refused { because, run: None });
    }
    let (_, of) = certificates.first()?.share;
    let shares: BTreeSet<u64> =
        certificates.iter().map(|certificate| certificate.share.0).collect();
    let missing = (1..=of).filter(|number| !shares.contains(number)).take(SHARES_SHOWN);
    let missing: Vec<String> = missing.map(|number| number.to_string()).collect();
    let first = missing.first()?;
    let more = of - shares.len() as u64 - missing.len() as u64;
    let because = match (&missing[..], more) {
        ([_], 0) => format!("share {first} of {of} is missing"),
        (_, 0) => format!("shares {} of {of} are missing", missing.join(", ")),
        _ => format!("shares {} and {more} more of {of} are missing", missing.join(", ")),
    };
    let remedy = format!("SIM_SHARD={first}/{of} writes the certificate of share {first}");
    Some(Refused { because: format!("{because}: {remedy}"), run: None })
}

/// A certificate, as read from its file.
struct Certificate {
    path: PathBuf,
    /// The first line of the file.
    first: String,
    /// The entries of the first line that the certificates of all shares have in common.
    common: Json,
    test: String,
    /// The number of the share, from 1, and the number of all shares.
    share: (u64, u64),
    /// The command that ran the search.
    command: String,
    /// The settings that differ from the defaults.
    settings: Vec<(String, String)>,
    /// The number of runs that the certificate claims.
    claimed: u64,
    runs: Vec<Decisions>,
}

impl Certificate {
    fn read(path: PathBuf) -> Result<Certificate, Usage> {
        let called = path.display();
        let text = fs::read_to_string(&path)
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
        let wrong = |what: &str| Usage(format!("{called}: line 1: {what}"));
        let share = match &header["share"] {
            Json::Null => Some((1, 1)),
            share => share[0].as_u64().zip(share[1].as_u64()),
        };
        let share = share.filter(|(number, of)| (1..=*of).contains(number));
        let mut common = header.clone();
        for own in ["share", "runs", "command"] {
            common[own].take();
        }
        Ok(Certificate {
            common,
            test: text("test")?,
            share: share.ok_or_else(|| wrong("`share` is not a number and a larger number"))?,
            command: text("command")?,
            settings: settings.collect(),
            claimed: header["runs"]
                .as_u64()
                .ok_or_else(|| wrong("`runs` is not a whole number"))?,
            runs: runs.collect::<Result<_, _>>()?,
            first,
            path,
        })
    }

    /// # Errors
    /// If the certificates do not belong to shares of the same search.
    fn belongs_to_search_of(&self, other: &Certificate) -> Result<(), Usage> {
        let [own, its] = [self, other].map(|one| one.path.display());
        let mut common = other.common.clone();
        common["apart"] = self.common["apart"].clone();
        let why = match () {
            () if self.share.1 == 1 => format!("{own} is of a whole search, so verify it alone"),
            () if common != self.common || other.share.1 != self.share.1 => {
                format!("{its} is not of the same search as {own}")
            }
            () if other.common != self.common => format!(
                "{own} and {its} distinguish runs by different criteria: write the certificate of the undivided search"
            ),
            () => return Ok(()),
        };
        Err(Usage(why))
    }

    /// Returns the bound of the search, if its strategy has one.
    fn bound(&self) -> Option<Bound> {
        let (_, strategy) = self.settings.iter().find(|(name, _)| name == "SIM_STRATEGY")?;
        let (name, most) = strategy.split_once(':')?;
        let counts_delays = match name {
            "preemptions" => false,
            "delays" => true,
            _ => return None,
        };
        Some(Bound { counts_delays, most: most.parse().ok()? })
    }

    /// Returns the command that runs the test.
    fn invocation(&self) -> Result<Invocation, Usage> {
        let mut invocation = Invocation::parse(&self.command).map_err(|why| {
            Usage(format!(
                "the command in {} is not run, because {why}: {}",
                self.path.display(),
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
    bound: Option<Bound>,
    /// The reason why the test computed no runs, if it failed to do so.
    invalid: Option<Usage>,
}

impl Test {
    /// Executes runs in several processes, one for each range of runs, and shows them in order.
    fn observed(&self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), Usage> {
        let processes = thread::available_parallelism().map_or(1, NonZero::get);
        let each = runs.len().div_ceil(processes).max(RUNS_MIN);
        thread::scope(|scope| {
            let begin = |(nth, range)| {
                let (sender, receiver) = mpsc::sync_channel(READ_AHEAD);
                scope.spawn(move || {
                    // If a run is refused, no receiver is left, and the other runs are not needed.
                    let mut send = |observed| sender.send(Ok(observed)).is_ok();
                    if let Err(invalid) = self.range(nth, range, &mut send) {
                        let _ = sender.send(Err(invalid));
                    }
                });
                receiver
            };
            let ranges: Vec<_> = runs.chunks(each).enumerate().map(begin).collect();
            ranges.into_iter().flatten().try_for_each(|observed| {
                show(observed?);
                Ok(())
            })
        })
    }

    /// Executes a range of runs in one process, and passes them to `send` until it returns `false`.
    fn range(
        &self,
        nth: usize,
        runs: &[Decisions],
        send: &mut dyn FnMut(Observed) -> bool,
    ) -> Result<(), Usage> {
        let file = self.folder.path().join(format!("runs-{nth}.certificate"));
        let answers = file.with_extension("observed");
        let lines = runs.iter().map(Decisions::line);
        let text: String =
            [self.first.clone()].into_iter().chain(lines).map(|line| line + "\n").collect();
        let cannot = |error: std::io::Error| Usage(format!("{}: {error}", file.display()));
        let _ = fs::remove_file(&answers);
        fs::write(&file, text).map_err(cannot)?;
        let mut invocation = self.invocation.clone();
        invocation.set("SIM_OBSERVE", &file.display().to_string());
        let ended = rerun(&invocation, &Stop::default())?;
        let Ok(answers) = File::open(&answers) else { return Err(self.no_answer(&ended, &file)) };
        let wrong = |why: String| Usage(format!("the test wrote something else: {why}"));
        let mut reader = Reader::default();
        for line in BufReader::new(answers).lines() {
            let line = line.map_err(cannot)?;
            let observed = reader.read(&line).map_err(wrong)?;
            if observed.is_some_and(|observed| !send(observed)) {
                break;
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

    fn bound(&self) -> Option<Bound> {
        self.bound
    }
}

/// Returns the bound as text.
fn at_most(bound: Bound) -> String {
    let Bound { counts_delays, most } = bound;
    let what = if counts_delays { "delay" } else { "preemption" };
    if most == 0 { format!("no {what}") } else { format!("at most {}", plural(most as u64, what)) }
}

fn text(test: &str, of: u64, bound: Option<Bound>, verdict: &Result<Verified, Refused>) -> String {
    match verdict {
        Ok(Verified { runs, classes, asked, disabled }) => {
            let [runs, classes, others, known, disabled] =
                [*runs, *classes, *asked, asked - disabled, *disabled]
                    .map(|number| grouped(number.into()));
            let shares = if of > 1 { format!(" in {of} shares") } else { String::new() };
            let (of_what, others_are) = match bound {
                Some(bound) => {
                    (format!(" with {}", at_most(bound)), "take another step within the bound")
                }
                None => (
                    format!(", of {classes} classes"),
                    "put a task before a step that it came after",
                ),
            };
            let are_known = if bound.is_some() { "are these runs" } else { "are of these classes" };
            format!(
                "verified {test}\n  runs     {runs}{shares}{of_what}: each passes again\n  \
                 closed   {others} others {others_are}, or draw another value:\n           \
                 {known} {are_known}, and in {disabled} the task cannot step\n  \
                 rests on the effects that the program declares for its steps\n",
            )
        }
        Err(Refused { because, run }) => {
            let steps =
                run.as_ref().map_or_else(String::new, |Decisions { tasks, steps, .. }| {
                    let steps: Vec<&str> = steps.iter().map(|task| &*tasks[*task]).collect();
                    format!("  steps    {}\n", steps.join(" "))
                });
            format!("refused  {test}\n  because  {because}\n{steps}")
        }
    }
}

fn as_report(
    test: &str,
    of: u64,
    bound: Option<Bound>,
    verdict: &Result<Verified, Refused>,
) -> Json {
    match verdict {
        Ok(Verified { runs, classes, asked, disabled }) => json!({
            "test": test, "verified": true, "shares": of, "runs": runs, "classes": classes, "asked": asked,
            "disabled": disabled, "bound": bound.map(at_most),
        }),
        Err(Refused { because, .. }) => json!({ "test": test, "verified": false, "gap": because }),
    }
}

const HELP: &str = "\
Verifies the certificate of a search that proved a test (SIM_CERTIFY). The test makes each run of it
again. In each of them, each task is put before each step that it could have gone before, and each
drawn value is replaced by each other one: every such run must be of a class in the certificate. A
set of runs with this property has every class. If the search has a bound (preemptions:N, delays:N),
the certificate has every run within it. No code of the search is used. All cores make runs, each
with a process of its own. If the search was divided (SIM_SHARD), each share writes a certificate:
name all of them.

usage: cargo unpause verify FILE... [--features F] [--json]

  --features F   features of the package that the test needs
  --json         the verdict as JSON

example:
  SIM_CERTIFY=queue.certificate SIM_STRATEGY=exhaustive cargo test --lib -- --exact tests::queue
  cargo unpause verify queue.certificate

exit codes: 0 verified, 1 refused, 2 the file is invalid, or the program is another one.
";
