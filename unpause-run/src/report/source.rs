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
/// The source compiles in a module with the command type in scope if `Program::source` returns Rust source. The default
/// of this function returns Rust source for enums and structs of numbers with a derived `Debug`.
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
        in_a_comment(initial),
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

/// Returns source on one line for a comment. Text literals keep their blanks, unless they contain line ends.
fn in_a_comment(source: &str) -> String {
    let line = in_one_line(source);
    if line.contains(['\n', '\r']) { on_one_line(&line) } else { line }
}

/// Converts source in the layout of `{:#?}` to one line: `Put(\n    1,\n)` becomes `Put(1)`. Literals stay unchanged. A
/// source with comments keeps its lines, and gets a line end, because a comment ends there.
fn in_one_line(source: &str) -> String {
    let mut line = SourceLine::default();
    let mut rest = source.trim();
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("//") || rest.starts_with("/*") {
            return format!("{}\n", source.trim());
        }
        let length = literal(rest, &line.text).unwrap_or(next.len_utf8());
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 && rest[..blank].contains('\n') {
            rest = &rest[blank..];
            line.join(rest);
            continue;
        }
        line.push(&rest[..length]);
        rest = &rest[length..];
    }
    line.text
}

/// A source while its lines are joined.
#[derive(Default)]
struct SourceLine {
    text: String,
    /// The open parentheses and brackets.
    open: Vec<OpenBracket>,
}

/// An open parenthesis, bracket or brace.
struct OpenBracket {
    /// True if the bracket opens a tuple. If it is false, the bracket follows a name, as in a call, or is not a
    /// parenthesis.
    is_tuple: bool,
    /// The number of commas directly inside.
    commas: u32,
}

impl SourceLine {
    /// Adds a character or a literal.
    fn push(&mut self, part: &str) {
        match part {
            "(" | "[" | "{" => {
                let follows = |c: char| c.is_alphanumeric() || "_>)]!".contains(c);
                let is_tuple = part == "(" && !self.text.ends_with(follows);
                self.open.push(OpenBracket { is_tuple, commas: 0 });
            }
            ")" | "]" | "}" => {
                self.open.pop();
            }
            "," => {
                if let Some(open) = self.open.last_mut() {
                    open.commas += 1;
                }
            }
            _ => {}
        }
        self.text.push_str(part);
    }

    /// Joins the text with the next line, which begins with `rest`. Removes the comma of the last line in brackets,
    /// unless it is the only comma of a tuple: `(1,)` is a tuple, and `(1)` is a number.
    fn join(&mut self, rest: &str) {
        let is_single = self.open.last().is_some_and(|open| open.is_tuple && open.commas == 1);
        let closes = rest.starts_with([')', ']', '}']);
        if closes && !is_single && self.text.ends_with(',') {
            self.text.pop();
        }
        let is_close = self.text.ends_with(['(', '[']) || rest.starts_with([')', ']']);
        self.text.push_str(if is_close { "" } else { " " });
    }
}

/// Returns the length of the text or character literal at the beginning of `rest`, if any. `before` is the source
/// before it.
fn literal(rest: &str, before: &str) -> Option<usize> {
    let word = before.trim_end_matches('#');
    let hashes = before.len() - word.len();
    let is_raw = word.strip_suffix('r').is_some_and(|word| {
        !word.trim_end_matches(['b', 'c']).ends_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    match rest.chars().next()? {
        '"' if is_raw => {
            let end = format!("\"{}", "#".repeat(hashes));
            rest[1..].find(&end).map(|at| 1 + at + end.len())
        }
        quote @ '"' => quoted(rest, quote),
        // A lifetime has no second quote.
        quote @ '\'' => {
            let mut after = rest.chars().skip(1);
            let is_char = after.next() == Some('\\') || after.next() == Some(quote);
            if is_char { quoted(rest, quote) } else { None }
        }
        _ => None,
    }
}

/// Returns the length of a literal that ends with the next unescaped quote.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// Puts a text on one line, because a text in a comment must not leave the comment.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(dead_code, reason = "only `Debug` reads the fields")]
    #[derive(Debug)]
    enum Op {
        Put(i32),
        Pair((char,), Option<(u8, Option<i64>)>),
        Write { key: u64, text: &'static str, shares: [f32; 2] },
        Each([(i8,); 2]),
        Nothing,
    }
    use Op::{Each, Nothing, Pair, Put, Write};

    /// Checks that the `Debug` text of a value becomes the source of the value, as written here.
    macro_rules! is_source_of {
        ($($value:expr),* $(,)?) => {
            $(assert_eq!(in_one_line(&format!("{:#?}", $value)), stringify!($value));)*
        };
    }

    #[test]
    fn the_text_of_a_value_is_its_source() {
        is_source_of!(
            (1,),
            ((1,), 2),
            ((-1, (2,)),),
            (),
            [(1,), (2,)],
            Nothing,
            Put(-3),
            Pair(('\'',), Some((1, Some(-5)))),
            Pair(('"',), None),
            Each([(1,), (-2,)]),
            Write { key: 7, text: "a  \"b\",\n(", shares: [0.5, -1e20] },
        );
    }

    #[test]
    fn source_of_a_user_keeps_its_literals_and_comments() {
        for (source, expected) in [
            ("vec![\n    1,\n    2,\n]", "vec![1, 2]"),
            ("Put(\n    \"a\n  b\",\n)", "Put(\"a\n  b\")"),
            ("Put(\n    r#\"a\",\n  \"#,\n)", "Put(r#\"a\",\n  \"#)"),
            ("Put(\n    f::<'_>('\\n'),\n)", "Put(f::<'_>('\\n'))"),
            ("Put(1) // one", "Put(1) // one\n"),
            ("\"unfinished,\n)", "\"unfinished)"),
        ] {
            assert_eq!(in_one_line(source), expected, "{source}");
        }
        assert_eq!(in_a_comment("Log(\n    \"a  b\",\n)"), "Log(\"a  b\")");
        assert_eq!(in_a_comment("Log(\"a\n b\")"), "Log(\"a b\")");
    }
}
