//! `cargo unpause check`: the verdict on recorded histories.

mod as_json;
mod files;
mod page;
mod several;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lexopt::prelude::*;
use sim::check::Budget;
use sim::check::models::NilRead;
use sim::check::verdict::{Limit, Verdict};
use unpause_histories::{
    CONDITIONS, Condition, FORMATS, FileProblem, Format, HistoryFinding, Keys, Problem,
    ProblemKind, Question, Recording, beginning, condition_named, edn_value, format_named,
    format_of, models, read, tree,
};
use unpause_words::closest;
use unpause_words::duration::{GRAMMAR, milliseconds};

use crate::progress::ProgressLine;
use crate::{Exit, Terminal, Usage};

/// The arguments of a command line.
struct CheckArguments {
    /// Files, folders, and `-` for standard input. Not empty.
    paths: Vec<PathBuf>,
    condition: &'static Condition,
    format: Option<&'static Format>,
    model: Option<String>,
    initial: Option<String>,
    keys: Keys,
    nil: Option<NilRead>,
    timeout: Option<Duration>,
    nodes: u64,
    memory: usize,
    threads: usize,
    tree: bool,
    as_json: bool,
    /// The page to write. With `None` inside, it has the name of the history.
    page: Option<Option<PathBuf>>,
}

/// The maximum number of branches in a picture of the tree.
const BRANCHES_MAX: usize = 500;

const OPTIONS: &[&str] = &[
    "--model",
    "--condition",
    "--format",
    "--init",
    "--keys",
    "--nil",
    "--timeout",
    "--nodes",
    "--memory",
    "--threads",
    "--tree",
    "--json",
    "--html",
    "--help",
];

pub(crate) fn run(parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    match parse_arguments(parser)? {
        None => {
            terminal.print(&help());
            Ok(Exit::Good)
        }
        Some(asked) => match &asked.paths[..] {
            [file] if !files::is_folder(file) => check(&asked, file, terminal),
            _ => several::check(&asked, terminal),
        },
    }
}

/// `None` if help is requested.
fn parse_arguments(mut parser: lexopt::Parser) -> Result<Option<CheckArguments>, Usage> {
    let mut asked = CheckArguments {
        paths: Vec::new(),
        condition: &CONDITIONS[0],
        format: None,
        model: None,
        initial: None,
        keys: Keys::Auto,
        nil: None,
        timeout: None,
        nodes: Budget::default().nodes,
        memory: Budget::default().memory,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        tree: false,
        as_json: false,
        page: None,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Short('m') | Long("model") => {
                let name = text(&mut parser)?;
                let names: Vec<&str> = all_models().into_iter().map(|(name, _)| name).collect();
                one_of("--model", &name, &names)?;
                asked.model = Some(name);
            }
            Short('c') | Long("condition") => {
                asked.condition = named(condition_named(&text(&mut parser)?))?;
            }
            Short('f') | Long("format") => {
                asked.format = Some(named(format_named(&text(&mut parser)?))?);
            }
            Long("init") => asked.initial = Some(text(&mut parser)?),
            Long("keys") => {
                let value = text(&mut parser)?;
                asked.keys = match one_of("--keys", &value, &["auto", "yes", "no"])? {
                    0 => Keys::Auto,
                    1 => Keys::Yes,
                    _ => Keys::No,
                };
            }
            Long("nil") => {
                let value = text(&mut parser)?;
                asked.nil = Some(match one_of("--nil", &value, &["nothing", "anything"])? {
                    0 => NilRead::Nothing,
                    _ => NilRead::Anything,
                });
            }
            Short('t') | Long("timeout") => asked.timeout = Some(duration(&text(&mut parser)?)?),
            Long("nodes") => {
                let value = text(&mut parser)?;
                asked.nodes = value.replace('_', "").parse().map_err(|_| {
                    Usage(format!("--nodes takes a whole number such as 2_000_000, not {value:?}"))
                })?;
            }
            Long("memory") => asked.memory = bytes(&text(&mut parser)?)?,
            Long("threads") => {
                let value = text(&mut parser)?;
                let threads = value.parse().ok().filter(|threads| (1..=1024).contains(threads));
                asked.threads = threads.ok_or_else(|| {
                    Usage(format!("--threads takes a number from 1 to 1024, not {value:?}"))
                })?;
            }
            Long("tree") => asked.tree = true,
            Long("json") => asked.as_json = true,
            Long("html") => asked.page = Some(parser.optional_value().map(PathBuf::from)),
            Value(value) => asked.paths.push(value.into()),
            other => {
                return Err(Usage::unknown_option(&other, OPTIONS, "cargo unpause check --help"));
            }
        }
    }
    if asked.tree && asked.as_json {
        return Err(Usage(
            "--tree is a picture, and --json is for programs: choose one".to_owned(),
        ));
    }
    if asked.page.is_some() && asked.as_json {
        return Err(Usage("--html is a page, and --json is for programs: choose one".to_owned()));
    }
    if asked.paths.is_empty() {
        let message = "which file? `cargo unpause check FILE`, or - for the standard input";
        return Err(Usage(message.to_owned()));
    }
    if asked.paths.iter().filter(|path| is_standard_input(path)).count() > 1 {
        return Err(Usage("the standard input can be read once: say - once".to_owned()));
    }
    if let Some(model) = &asked.model {
        named(asked.condition.model_named(model))?;
    }
    if asked.tree && asked.condition.name != CONDITIONS[0].name {
        return Err(Usage(format!(
            "--tree shows the orders that real time allows, which is not the question of {}: leave \
             one of the two away",
            asked.condition.name
        )));
    }
    Ok(Some(asked))
}

/// Returns the models of histories, under any condition.
fn all_models() -> Vec<(&'static str, &'static str)> {
    let mut all = models();
    for (name, summary) in CONDITIONS.iter().flat_map(Condition::models) {
        if !all.iter().any(|(other, _)| *other == name) {
            all.push((name, summary));
        }
    }
    all
}

fn text(parser: &mut lexopt::Parser) -> Result<String, Usage> {
    Ok(parser.value()?.string()?)
}

fn named<T>(found: Result<T, Problem>) -> Result<T, Usage> {
    found.map_err(|problem| Usage(problem.to_string()))
}

/// Returns the index of `given` in `names`.
fn one_of(option: &str, given: &str, names: &[&str]) -> Result<usize, Usage> {
    names.iter().position(|name| *name == given).ok_or_else(|| {
        let hint = closest(given, names.iter().copied())
            .map_or_else(String::new, |name| format!("; did you mean {name}?"));
        Usage(format!("{option} takes one of {}, not {given:?}{hint}", names.join(", ")))
    })
}

/// Parses a time, in the syntax of test attributes and variables.
fn duration(text: &str) -> Result<Duration, Usage> {
    let time = milliseconds(text).map(Duration::from_millis);
    time.ok_or_else(|| Usage(format!("--timeout is {text:?}, but should be {GRAMMAR}")))
}

/// Parses a number of bytes: `64MB`, `2GB`; a bare number is bytes.
fn bytes(text: &str) -> Result<usize, Usage> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim_end_matches(['i', 'B', 'b']) {
        "" => Some(0),
        "k" | "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let number = number.replace('_', "").parse::<usize>().ok();
    match number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift)) {
        Some(bytes) => Ok(bytes),
        None => Err(Usage(format!("--memory takes a size such as 500MB or 4GB, not {text:?}"))),
    }
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the name of a file for messages.
fn called(file: &Path) -> Cow<'_, str> {
    if is_standard_input(file) { "the standard input".into() } else { file.to_string_lossy() }
}

/// Checks one file. Returns the finding, and the tree if requested.
fn judge(
    asked: &CheckArguments,
    file: &Path,
    terminal: &Terminal,
) -> Result<(HistoryFinding, Option<String>), Usage> {
    let malformed = |problem| {
        let at = FileProblem { path: called(file).into_owned().into(), problem };
        Usage(at.to_string())
    };
    let began = Instant::now();
    let progress = ProgressLine::new(terminal.is_watched());
    let recording = recording(asked, file, &progress).map_err(malformed)?;

    let initial = match asked.initial.as_deref().map(edn_value).transpose() {
        Ok(initial) => initial,
        Err(problem) => return Err(Usage(format!("--init is a value in EDN: {problem}"))),
    };
    let stop = || asked.timeout.is_some_and(|timeout| began.elapsed() >= timeout);
    let budget = Budget { nodes: asked.nodes, memory: asked.memory, stop: Some(&stop) };
    let question = Question {
        model: asked.model.as_deref(),
        initial,
        keys: asked.keys,
        nil: asked.nil,
        budget,
        threads: asked.threads,
        all_texts: asked.page.is_some(),
    };
    let found = progress.during("checking", || asked.condition.check(&recording, &question));
    let finding = found.map_err(malformed)?;
    // Computed before any output, because an unprintable tree is an error, and no partial result
    // must be printed.
    let tree = asked.tree.then(|| tree(&recording, &question, BRANCHES_MAX)).transpose();
    let tree = tree.map_err(malformed)?;
    Ok((finding, tree.map(|tree| tree.to_string())))
}

/// Checks the only file, and prints its complete result.
fn check(asked: &CheckArguments, file: &Path, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let page = asked.page.as_ref().map(|wanted| page::file_of(file, wanted.as_deref()));
    let page = page.transpose()?;
    let (finding, tree) = judge(asked, file, terminal)?;
    let shown = match asked.as_json {
        true => format!("{}\n", as_json::finding(&called(file), &finding)),
        false => finding.text(&called(file), terminal.style()),
    };
    terminal.print(&shown);
    if let Some(tree) = tree {
        terminal.print(&format!(
            "\nall orders that real time allows, from the state at the start; ✗ ends one, ✓ explains all:\n\n{tree}"
        ));
    }
    if let Some(page) = page {
        page::write(&page, file, &finding)?;
        terminal.print(&format!("\npage:  {}\n", page.display()));
    }
    let exit = exit_of(&finding.verdict);
    if let Verdict::Unknown(exhausted) = &finding.verdict {
        let remedy = match exhausted.limit {
            _ if finding.is_silent() => "read the replicas when all is done",
            Limit::Nodes => "search longer with --nodes",
            Limit::Memory => "let it take more with --memory",
            Limit::Stop => "search longer with --timeout",
        };
        terminal.error(&format!("undecided is not a pass: {remedy}"));
    }
    Ok(exit)
}

fn exit_of(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Consistent(_) => Exit::Good,
        Verdict::Violated(_) => Exit::Bad,
        Verdict::Unknown(_) => Exit::Undecided,
    }
}

fn recording(
    asked: &CheckArguments,
    file: &Path,
    progress: &ProgressLine,
) -> Result<Recording, Problem> {
    let problem = |error: std::io::Error| Problem {
        place: None,
        kind: ProblemKind::Io,
        message: format!("cannot read it: {error}"),
    };
    let (input, of): (Box<dyn Read>, Option<u64>) = if is_standard_input(file) {
        (Box::new(stdin().lock()), None)
    } else {
        File::open(file).and_then(files::as_it_is_now).map_err(problem)?
    };
    let mut input = BufReader::with_capacity(1 << 16, progress.reading(input, of));
    let head = beginning(&mut input).map_err(problem)?;
    let format = match asked.format {
        Some(format) => format,
        None => format_of(&file.to_string_lossy(), &head)?,
    };
    read(head.chain(input), format)
}

fn help() -> String {
    let mut help = "\
Says whether a recorded history is linearizable, or what else is asked for, and if not, why.

usage: cargo unpause check [options] FILE
       cargo unpause check [options] -          reads the standard input
       cargo unpause check [options] FILE|FOLDER …   a line for each history, and a summary

options:
  -m, --model MODEL          what was used; found out from the operations if only one fits
  -c, --condition CONDITION  what to check for; linearizable if not said
  -f, --format FORMAT        how the file is written; found out from its beginning
      --init VALUE           the state before the first operation, in EDN: 0, nil, {:x 0 :y 0}
      --keys auto|yes|no     whether values are [key value] on objects of their own; found out
      --nil nothing|anything what a completed read of nil saw; in EDN anything, else nothing
      --json                 an object on a line for each history (docs/json.md describes it)
      --html                 also write a page for a browser beside FILE; --html=PAGE names it
      --tree                 show all orders that real time allows, for about eight operations
      --threads NUMBER       how many threads search, to the same result; else one a core
  -t, --timeout TIME         give up after this, for each file: 500ms, 5s, 2m, 1h; 10 is 10s
      --nodes NUMBER         give up after this many configurations; 2_000_000 if not said
      --memory SIZE          give up when the search takes more: 500MB, 4GB; 1GB if not said
  -h, --help

exit codes:
  0  consistent
  1  violated
  2  the command line or the file makes no sense; the message says where
  3  undecided within the limits
Of several files the worst counts: 2 before 1 before 3 before 0. Of a folder, all files below it are
checked that begin like a history or are named like one; the others are listed.

"
    .to_owned();
    let mut list = |title: &str, width: usize, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        help += &format!("{title}:\n");
        for (name, summary) in rows {
            help += &format!("  {name:<width$}  {summary}\n");
        }
        help.push('\n');
    };
    let conditions = CONDITIONS.iter().map(|row| (row.name, row.summary));
    list("conditions", 27, &mut conditions.clone());
    list("models", 18, &mut models().into_iter());
    let others = all_models().into_iter().skip(models().len());
    list("models of transactions, for the conditions of transactions", 18, &mut others.into_iter());
    list("formats", 8, &mut FORMATS.iter().map(|row| (row.name, row.summary)));
    help.trim_end().to_owned() + "\n"
}
