//! The generated program of a failing run as Rust source: a function that creates its script, and a test that runs this
//! script.
//!
//! A renderer knows the texts of commands but not the objects on which they operate. The user adds the objects of the
//! failing test, and its closure.

use std::fmt::Write;

use super::{Finding, Origin, Report, one_line, why};
use crate::run::Outcome;
use crate::run::program::{CommandRecord, Fate, Part, ProgramRecord};
use unpause_check::picture::Style;

/// Returns the generated programs of the failing run as Rust source; a comment if there are no such programs.
///
/// The source compiles in a module with the command type in scope if `Program::source` returns Rust source. Its default
/// does so for enums and structs of numbers with a derived `Debug`.
///
/// ```
/// use sim::report::{Report, Style, rust};
/// let report = Report { test: "queue::is_fifo".into(), ..Report::default() };
/// assert_eq!(rust(&report, &Style::default()), "// queue::is_fifo: no generated program failed.\n");
/// ```
pub fn rust(report: &Report, _: &Style) -> String {
    let source = report.finding.as_deref().and_then(|finding| source(report, finding));
    source.unwrap_or_else(|| {
        format!("// {}: no generated program failed.\n", on_one_line(&report.test))
    })
}

/// Returns the source of the programs of a failing run; `None` if no program has remaining commands.
fn source(report: &Report, finding: &Finding) -> Option<String> {
    let Finding { run, from, .. } = finding;
    let programs: Vec<&ProgramRecord> =
        run.programs.iter().filter(|program| program.can_be_written()).collect();
    if programs.is_empty() {
        return None;
    }
    let Outcome::Failed(failure) = &run.outcome else { return None };
    let mut out = String::new();
    let (test, why) = (on_one_line(&report.test), on_one_line(&one_line(failure, run)));
    let real = if report.real { " on real threads" } else { "" };
    let (seed, whence) = match from {
        Origin::Seed(seed) | Origin::Reordered(seed) | Origin::Sampled(seed) => {
            (seed.to_string(), format!("seed {seed}"))
        }
        Origin::File(file) => (run.seed.to_string(), on_one_line(file)),
        Origin::Inline => (run.seed.to_string(), "a given trace".to_owned()),
    };
    let _ = writeln!(out, "// {test}, {whence}{real}: {why}");
    for (label, text) in why::lines(finding) {
        let _ = writeln!(out, "// {label}: {text}");
    }
    for (n, program) in programs.iter().enumerate() {
        let name = match n {
            0 => format!("seed_{seed}"),
            n => format!("seed_{seed}_program_{}", n + 1),
        };
        write_program(&mut out, &name, program);
    }
    Some(out)
}

fn write_program(out: &mut String, name: &str, program: &ProgramRecord) {
    let ProgramRecord { model, initial, op_type, blocks, .. } = program;
    let short = op_type.rsplit("::").next().unwrap_or_default();
    let short = if op_type.contains(['<', '(', '[', '&']) { op_type } else { short };
    let is_fault = |it: &&CommandRecord| matches!(it.layout.part, Part::Nemesis { .. });
    let has_faults = program.left().iter().any(is_fault);
    let (test, declared, made, run) = match blocks {
        false if has_faults => (
            "",
            "async fn",
            "sim::parallel::scripted",
            "async |op| …).nemesis(sim::nemesis::Nemesis::new(), &nodes).await",
        ),
        false => ("", "async fn", "sim::parallel::scripted", "async |op| …).await"),
        true => ("(native)", "fn", "sim::parallel::blocking_scripted", "|op| …).run()"),
    };
    let _ = write!(
        out,
        "//\n\
         // The text of a command is that of `Program::source`: by default its `Debug` text, which is\n\
         // no source if it owns text or lists. Its type is `{}`; have that in scope, with its\n\
         // variants. Then this is the test, with the objects and the closure of the failing one:\n\
         //\n\
         // #[sim::test{test}]\n\
         // {declared} {name}_passes() {{\n\
         //     …\n\
         //     {made}({name}(), {}, {run};\n\
         // }}\n\n\
         /// The failing program of {}.\n\
         fn {name}() -> sim::Script<{}> {{\n    sim::Script::new()\n",
        on_one_line(op_type),
        on_one_line(&in_one_line(initial)),
        on_one_line(model),
        on_one_line(short),
    );
    // A script identifies a command without a name by its position.
    let named = |command: &CommandRecord| {
        program.commands.iter().position(|other| std::ptr::eq(other, command)).unwrap_or_default()
    };
    let mut place = 0;
    for command in program.left() {
        if let Fate::Tombstone(points) = command.layout.fate {
            let text = on_one_line(&command.text);
            let _ = writeln!(out, "        // left out: {points} points in place of {text}");
            continue;
        }
        let source = in_one_line(&command.source);
        let _ = match command.layout.part {
            Part::Prefix => write!(out, "        .prefix({source})"),
            Part::Branch { stage, branch } => {
                write!(out, "        .branch({stage}, {branch}, {source})")
            }
            Part::Suffix => write!(out, "        .suffix({source})"),
            // A fault has no number in the numbering of commands.
            Part::Nemesis { .. } => {
                let _ = writeln!(out, "        .fault({source})");
                continue;
            }
        };
        if named(command) != place {
            let _ = write!(out, ".named(sim::CommandId({}))", named(command));
        }
        let faults = &command.faults;
        if let Some(point) = faults.crash {
            let _ = write!(out, ".crash({point})");
        }
        out.push_str(if faults.again { ".again()" } else { "" });
        out.push_str(if faults.timeout { ".timeout()" } else { "" });
        out.push('\n');
        place += 1;
    }
    out.push_str("}\n");
}

/// Converts source in the layout of `{:#?}` to one line: `Put(\n    1,\n)` becomes `Put(1)`.
fn in_one_line(source: &str) -> String {
    let mut out = String::new();
    for line in source.lines().map(str::trim) {
        let closes = line.starts_with([')', ']', '}']);
        if closes && out.ends_with(',') {
            out.pop();
        }
        let close = out.is_empty() || out.ends_with(['(', '[']) || line.starts_with([')', ']']);
        out.push_str(if close { "" } else { " " });
        out.push_str(line);
    }
    out
}

/// Puts a text on one line, because a text in a comment must not leave the comment.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
