//! `cargo unpause replay`: runs the test of a failure again, with its trace.
//!
//! The report has the command that its screen showed: package, target, profile and test. Only such a command is run,
//! without a shell, because a report may come from another machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use lexopt::prelude::*;

use crate::failures::Loaded;
use crate::show::which;
use crate::{Exit, Terminal, Usage};

/// The arguments of cargo that commands of screens have. Arguments of the second list have a value.
const FLAGS: [&str; 8] =
    ["--any", "--races", "--lib", "--release", "--exact", "--include-ignored", "--", "--nocapture"];
const OPTIONS: [&str; 7] =
    ["-p", "--test", "--bin", "--bench", "--example", "--profile", "--features"];

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut last, mut dry, mut features) = (None, false, false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("last") => last = true,
            Long("dry-run") => dry = true,
            Long("features") => features = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one failure at a time: what is {value:?}?")));
            }
            other => {
                let options = ["--last", "--dry-run", "--features", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause replay --help"));
            }
        }
    }
    let loaded = Loaded::read(&which(path, last, "replay")?)?;
    let called = loaded.path.display();
    let remark = loaded.remark.as_deref().map_or_else(String::new, |remark| format!(": {remark}"));
    let Some(report) = &loaded.report else {
        return Err(Usage(format!(
            "the report of {called} has the command, and is not known{remark}"
        )));
    };
    let replay = report.finding.as_ref().and_then(|finding| finding.replay.as_ref());
    let Some(replay) = replay else {
        return Err(Usage(format!(
            "{called} cannot be replayed: its report has no command for that"
        )));
    };
    let mut invocation = Invocation::parse(replay).map_err(|why| {
        Usage(format!("the command in the report of {called} is not run, because {why}: {replay}"))
    })?;
    if let Some(trace) = loaded.trace_file() {
        let trace = std::path::absolute(&trace).unwrap_or(trace);
        invocation.set("SIM_REPLAY", &trace.display().to_string());
    }
    if let Some(features) = features {
        // Before the arguments of the test program.
        let at = invocation.arguments.iter().position(|word| word == "--");
        let at = at.unwrap_or(invocation.arguments.len());
        invocation.arguments.splice(at..at, ["--features".to_owned(), features]);
    }
    terminal.error(&format!("running: {}", invocation.text()));
    if dry {
        return Ok(Exit::Good);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.args(&invocation.arguments);
    command.envs(invocation.variables.iter().map(|(name, value)| (name, value)));
    let ended = command.status();
    let ended = ended.map_err(|error| {
        Usage(format!("{} cannot be started: {error}", Path::new(&cargo).display()))
    })?;
    Ok(if ended.success() { Exit::Good } else { Exit::Bad })
}

/// A command of a screen: variables, and arguments of cargo.
#[derive(Debug)]
struct Invocation {
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Invocation {
    /// Reads a command.
    ///
    /// # Errors
    /// If it is not of the form that screens have.
    fn parse(text: &str) -> Result<Invocation, String> {
        let mut words = words(text).ok_or("a quote is open")?.into_iter().peekable();
        let mut variables = Vec::new();
        let is_setting = |word: &String| word.starts_with("SIM_") && word.contains('=');
        while let Some(word) = words.next_if(is_setting) {
            let (name, value) = word.split_once('=').unwrap_or_default();
            variables.push((name.to_owned(), value.to_owned()));
        }
        if words.next().as_deref() != Some("cargo") {
            return Err("it does not call cargo".to_owned());
        }
        let arguments: Vec<String> = words.collect();
        let rest = match &arguments[..] {
            [first, rest @ ..] if first == "test" => rest,
            [first, second, rest @ ..] if first == "unpause" && second == "test" => rest,
            _ => return Err("it runs no test".to_owned()),
        };
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let is_value = |word: &String| !word.starts_with('-');
            match &word[..] {
                option if OPTIONS.contains(&option) => {
                    rest.next()
                        .filter(|word| is_value(word))
                        .ok_or(format!("{option} has no value"))?;
                }
                flag if FLAGS.contains(&flag) => {}
                flag if flag.starts_with("--test-threads=") => {}
                _ if is_value(word) => {}
                other => return Err(format!("{other} is no argument of such a command")),
            }
        }
        Ok(Invocation { variables, arguments })
    }

    fn set(&mut self, name: &str, value: &str) {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.variables.push((name.to_owned(), value.to_owned())),
        }
    }

    /// The command, for people.
    fn text(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={value} "));
        format!("{}cargo {}", variables.collect::<String>(), self.arguments.join(" "))
    }
}

/// The words of a command in which some are in single quotes; `None` if a quote is open.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            ' ' => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

const HELP: &str = "\
Replays a failure: runs its test with its trace, by the command in its report. The trace has the
settings of the run. The exit code is the test's: a failure that comes again is 1.

usage: cargo unpause replay FILE [--features F] [--dry-run]
       cargo unpause replay --last …

FILE is a report, or a trace with the report beside it. Only commands of screens are run: variables that
begin with SIM_, and cargo with one test.

  --last         the newest failure in target/sim
  --features F   features of the package that the test needs
  --dry-run      says what would be run, and runs nothing

examples:
  cargo unpause replay --last
  cargo unpause replay target/sim/demo/bank.transfers/17.simtrace --features extra

exit codes: 0 the test passed, 1 it failed or could not be built, 2 the file or an argument is invalid.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_screen_is_read() {
        let read = Invocation::parse(
            r"SIM_REPLAY=sim2:0,0.1x2 SIM_CANCEL='a *' cargo test -p demo --test 'a b' 'x::it'\''s' -- --exact",
        )
        .unwrap();
        let expected = ["test", "-p", "demo", "--test", "a b", "x::it's", "--", "--exact"];
        assert_eq!(read.arguments, expected);
        assert_eq!(read.variables[1], ("SIM_CANCEL".to_owned(), "a *".to_owned()));
        assert!(Invocation::parse("cargo unpause test --any -p a --lib f -- --exact").is_ok());
    }

    #[test]
    fn a_command_that_no_screen_has_is_not_run() {
        for (command, why) in [
            ("rm -rf x", "it does not call cargo"),
            ("LD_PRELOAD=x cargo test", "it does not call cargo"),
            ("SIM_SEED=1 cargo run", "it runs no test"),
            ("cargo test --config a=b", "--config is no argument of such a command"),
            ("cargo test -p --config", "-p has no value"),
            (
                "cargo test --manifest-path=/tmp/x",
                "--manifest-path=/tmp/x is no argument of such a command",
            ),
            ("cargo test 'a", "a quote is open"),
            (
                ".replay(\"sim2:0\") on the Runner of a.rs:3, which is hermetic",
                "it does not call cargo",
            ),
        ] {
            assert_eq!(Invocation::parse(command).unwrap_err(), why, "{command}");
        }
    }
}
