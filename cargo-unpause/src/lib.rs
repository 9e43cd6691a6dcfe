//! The command line of unpause, `cargo unpause`: each subcommand has one file and one row in [`COMMANDS`].
//!
//! The command line is a library, so that tests can call it. The binary passes the arguments and the streams to it. A
//! subcommand returns an [`Exit`], and the process exits with that code.

#![forbid(unsafe_code)]

pub mod document;

mod terminal;

mod usage;

mod check;

mod completions;

mod man;

mod manual;

mod merge;

mod failures;

mod page;

mod show;

mod ls;

mod junit;

mod explained;

mod init;

mod invocation;

mod play;

mod replace;

mod rerun;

mod serve;

mod replay;

mod verify;

mod keep;

mod discard;

mod diff;

mod progress;

mod test;

use std::ffi::OsString;

use unpause_words::closest;

pub use terminal::Terminal;
use usage::Usage;

/// The outcome of a command. Calling programs rely on its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// 0: success.
    Good,
    /// 1: failure, for example a violated history or a failed seed.
    Bad,
    /// 2: the command line or the file is invalid; an error message gives the reason.
    Usage,
    /// 3: no decision within the limits. Never a pass.
    Undecided,
}

impl Exit {
    /// Returns the exit code of the process.
    ///
    /// ```
    /// assert_eq!(cargo_unpause::Exit::Undecided.code(), 3);
    /// ```
    pub fn code(self) -> u8 {
        match self {
            Exit::Good => 0,
            Exit::Bad => 1,
            Exit::Usage => 2,
            Exit::Undecided => 3,
        }
    }
}

/// A subcommand.
#[derive(Clone, Copy, Debug)]
pub struct Subcommand {
    /// The name of the subcommand.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    run: fn(lexopt::Parser, &mut Terminal) -> Result<Exit, Usage>,
}

/// All subcommands. To add a subcommand, write its file and add its row.
///
/// ```
/// assert_eq!(cargo_unpause::COMMANDS[0].name, "check");
/// ```
pub const COMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "check",
        summary: "checks if a recorded history is linearizable (or serializable, …), and explains a violation",
        run: check::run,
    },
    Subcommand {
        name: "merge",
        summary: "combines the results of shards: passed tests, failed tests, seeds that are left to run",
        run: merge::run,
    },
    Subcommand {
        name: "verify",
        summary: "verifies the certificate of a search, without any code of the search",
        run: verify::run,
    },
    Subcommand {
        name: "show",
        summary: "shows a failure from its files: all of it, a step, a task or an object",
        run: show::run,
    },
    Subcommand {
        name: "replay",
        summary: "runs the test of a failure again, with its trace",
        run: replay::run,
    },
    Subcommand { name: "ls", summary: "lists failures, newest first", run: ls::run },
    Subcommand {
        name: "keep",
        summary: "keeps the trace of a failure, so that its test replays it from now on",
        run: keep::run,
    },
    Subcommand {
        name: "drop",
        summary: "removes failures: named ones, or stale ones",
        run: discard::run,
    },
    Subcommand {
        name: "diff",
        summary: "compares two failing runs: settings, and the first step that differs",
        run: diff::run,
    },
    Subcommand {
        name: "init",
        summary: "adds unpause to a package: shows the lines for its Cargo.toml, and writes them",
        run: init::run,
    },
    Subcommand {
        name: "play",
        summary: "runs a test step by step: you choose the task of each step, and can undo it",
        run: play::run,
    },
    Subcommand {
        name: "serve",
        summary: "serves programs and assistants over the Model Context Protocol",
        run: serve::run,
    },
    Subcommand {
        name: "test",
        summary: "runs tests with plain threads under the scheduler; --any: the existing `#[test]`s of a crate",
        run: test::test,
    },
    Subcommand {
        name: "nextest",
        summary: "the same as `test`, with cargo's `nextest`",
        run: test::nextest,
    },
    Subcommand {
        name: "completions",
        summary: "writes a script that lets a shell complete these commands and their options",
        run: completions::run,
    },
    Subcommand { name: "man", summary: "writes the manual pages of these commands", run: man::run },
];

/// Runs the command named by the arguments, and returns the exit code. The arguments do not contain the program name.
/// The arguments may start with the word `sim` or `unpause`, which cargo adds.
///
/// ```
/// let mut terminal = cargo_unpause::Terminal::silent();
/// assert_eq!(cargo_unpause::run(vec!["sim".into(), "--help".into()], &mut terminal), 0);
/// assert_eq!(cargo_unpause::run(vec!["chekc".into()], &mut terminal), 2);
/// assert!(terminal.errors().contains("did you mean `check`?"));
/// ```
pub fn run(arguments: Vec<OsString>, terminal: &mut Terminal) -> u8 {
    let skipped = usize::from(is_by_cargo(&arguments));
    let parser = lexopt::Parser::from_args(arguments.into_iter().skip(skipped));
    let exit = dispatch(parser, terminal).unwrap_or_else(|usage| {
        terminal.error(&format!("error: {usage}"));
        Exit::Usage
    });
    match terminal.finish() {
        Ok(()) => exit.code(),
        Err(error) => {
            terminal.error(&format!("error: the results could not be written: {error}"));
            Exit::Usage.code()
        }
    }
}

/// Runs the command for this process: its arguments, its streams, its exit code.
///
/// If `cargo unpause test` made cargo call this program in place of the compiler, the program calls the compiler.
pub fn main() -> std::process::ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A test in such a build may call the command itself.
    let linked = std::env::var_os(test::wrapper::VARIABLE).filter(|_| !is_by_cargo(&arguments));
    match linked {
        Some(linked) => test::wrapper::compile(arguments, &linked),
        None => run(arguments, &mut Terminal::of_the_process()).into(),
    }
}

/// Returns `true` if cargo called this program as a subcommand.
fn is_by_cargo(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|first| first == "sim" || first == "unpause")
}

fn dispatch(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let name = match parser.next()? {
        None => return Err(Usage(format!("no command given\n\n{}", help().trim_end()))),
        Some(lexopt::Arg::Long("help") | lexopt::Arg::Short('h')) => "help".to_owned(),
        Some(lexopt::Arg::Long("version") | lexopt::Arg::Short('V')) => {
            terminal.print(&format!("cargo-unpause {}\n", env!("CARGO_PKG_VERSION")));
            return Ok(Exit::Good);
        }
        Some(lexopt::Arg::Value(name)) => name.to_string_lossy().into_owned(),
        Some(other) => {
            let options = ["--help", "--version"];
            return Err(Usage::unknown_option(&other, &options, "cargo unpause --help"));
        }
    };
    if name != "help" {
        return (command(&name)?.run)(parser, terminal);
    }
    match parser.next()? {
        Some(lexopt::Arg::Value(name)) => {
            let parser = lexopt::Parser::from_args(["--help"]);
            (command(&name.to_string_lossy())?.run)(parser, terminal)
        }
        _ => {
            terminal.print(&help());
            Ok(Exit::Good)
        }
    }
}

/// Returns the command with this name.
fn command(name: &str) -> Result<&'static Subcommand, Usage> {
    COMMANDS.iter().find(|command| command.name == name).ok_or_else(|| {
        let names = COMMANDS.iter().map(|command| command.name);
        let hint = closest(name, names.clone())
            .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        let all = names.collect::<Vec<_>>().join(", ");
        Usage(format!("there is no command {name:?}{hint} (there is: {all})"))
    })
}

fn help() -> String {
    let mut help = "\
The command line of unpause.

usage: cargo unpause COMMAND …

commands:
"
    .to_owned();
    for command in COMMANDS {
        help += &format!("  {:<11} {}\n", command.name, command.summary);
    }
    help + "\ncargo unpause COMMAND --help has the details, cargo unpause --version the version.\n"
}
