//! The decisions of a trace as one word for a command line.

use std::fmt::Write;
use unpause_ordered::{Map, Set};

use super::VERSION;
use super::error::{InlineError, InlineErrorKind};
use super::field::{is_op, number, task_path};
use crate::run::trace::{Trace, TraceDraw, TraceStep, TraceTask};

/// The maximum number of steps of an inline trace. A short word can mean many steps because of run lengths, so the
/// length of the word does not limit the steps.
pub const INLINE_STEPS_MAX: usize = 1_000_000;

/// The maximum number of path segments that [`parse_inline`] keeps. The limit is necessary because a path of n segments
/// adds n ancestors, and so n²/2 segments.
const INLINE_SEGMENTS_MAX: usize = 1_000_000;

/// Returns the decisions of a trace as one word: the task of each step, and the drawn values. If the trace has
/// settings, they precede the decisions.
///
/// The word consists of ASCII letters, digits and `.` `,` `:` `=` `/` `+` `%` `-` `_`, which no POSIX shell changes.
/// Consecutive steps of one task are written once with their number, but a step with draws is written separately.
/// [`parse_inline`] reads the word back if the trace has at most [`INLINE_STEPS_MAX`] steps. A longer trace does not
/// fit into a command line anyway, and belongs in a file.
///
/// # Panics
/// Panics if a step names a task that the trace does not have, if a drawn value is not below its bound, or if a setting
/// name is not one word.
///
/// ```
/// use sim::run::trace::format::{inline, parse_inline};
/// let trace = parse_inline("sim2:0,0,0,0.1,0.0=3/10")?;
/// assert_eq!(inline(&trace), "sim2:0x3,0.1,0.0=3/10");
/// # Ok::<(), sim::run::trace::format::InlineError>(())
/// ```
#[track_caller]
pub fn inline(trace: &Trace) -> String {
    let same_run =
        |a: &TraceStep, b: &TraceStep| a.task == b.task && a.draws.is_empty() && b.draws.is_empty();
    let mut out = format!("sim{VERSION}:");
    if let Some(settings) = &trace.header.settings {
        out.push_str(&settings.iter().map(encoded).collect::<Vec<_>>().join("+"));
        out.push(':');
    }
    for (n, run) in trace.steps.chunk_by(same_run).enumerate() {
        assert!(run[0].task < trace.tasks.len(), "a step of a task that is not in the trace");
        let comma = if n == 0 { "" } else { "," };
        // Writing into a `String` cannot fail.
        let _ = write!(out, "{comma}{}", trace.tasks[run[0].task].path);
        if run.len() > 1 {
            let _ = write!(out, "x{}", run.len());
        }
        for draw in &run[0].draws {
            assert!(draw.value < draw.bound, "a drawn value that is not below its bound");
            let _ = write!(out, "={}/{}", draw.value, draw.bound);
        }
    }
    out
}

/// Returns `true` if `text` is an inline trace of any version, as opposed to a file name.
///
/// ```
/// use sim::run::trace::format::is_inline;
/// assert!(is_inline("sim2:0x3,0.1"));
/// assert!(!is_inline("sim-regressions/counter/7.simtrace"));
/// ```
pub fn is_inline(text: &str) -> bool {
    split_version(text).is_some()
}

/// Returns the version, and the text after the colon.
fn split_version(text: &str) -> Option<(&str, &str)> {
    let (version, steps) = text.strip_prefix("sim")?.split_once(':')?;
    let digits = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
    digits.then_some((version, steps))
}

/// Parses an inline trace: settings, steps and draws, without operations, names or the rest of the header.
///
/// The tasks of the result are the body of the test, then the tasks that step and their ancestors. The tasks are in the
/// order of the word, with a parent before its children. The indices of tasks may therefore differ from the indices in
/// the written trace, but the paths are the same.
///
/// # Errors
/// [`InlineError`] with the first faulty column. A trace of more than [`INLINE_STEPS_MAX`] steps is also an error; it
/// is detected before memory is allocated for the steps.
///
/// ```
/// use sim::run::trace::format::parse_inline;
/// let trace = parse_inline("sim2:0x2,0.1.0")?;
/// let paths: Vec<_> = trace.tasks.iter().map(|task| task.path.to_string()).collect();
/// assert_eq!(paths, ["0", "0.1", "0.1.0"]);
/// assert_eq!(trace.steps.iter().map(|step| step.task).collect::<Vec<_>>(), [0, 0, 2]);
/// # Ok::<(), sim::run::trace::format::InlineError>(())
/// ```
pub fn parse_inline(text: &str) -> Result<Trace, InlineError> {
    let error = |column, kind| InlineError { column, kind };
    let (version, steps) =
        split_version(text).ok_or_else(|| error(1, InlineErrorKind::NotInline))?;
    match number(version) {
        Some(VERSION) => {}
        Some(other) => return Err(error(4, InlineErrorKind::UnknownVersion(other))),
        None => return Err(error(4, InlineErrorKind::NotInline)),
    }

    let mut parser = InlineParser::new();
    // Everything before the first fault is ASCII, so columns in bytes and in characters are the same.
    let mut column = text.len() - steps.len() + 1;
    let steps = match steps.split_once(':') {
        None => steps,
        Some((settings, steps)) => {
            let decoded = decoded(settings);
            let settings = decoded.ok_or_else(|| error(column, InlineErrorKind::Settings))?;
            parser.trace.header.settings = Some(settings);
            column = text.len() - steps.len() + 1;
            steps
        }
    };
    if !steps.is_empty() {
        for item in steps.split(',') {
            parser.item(item).map_err(|(at, kind)| error(column + at, kind))?;
            column += item.len() + 1;
        }
    }
    Ok(parser.trace)
}

/// Returns `name=value`, in which bytes of the value that a shell may change have the form `%2A`.
fn encoded((name, value): &(String, String)) -> String {
    assert!(is_op(name), "a setting has a name {name:?} that is not one word");
    let mut out = format!("{name}=");
    for byte in value.bytes() {
        // Writing into a `String` cannot fail.
        let _ = match byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            true => write!(out, "{}", char::from(byte)),
            false => write!(out, "%{byte:02X}"),
        };
    }
    out
}

/// Parses the settings before the second colon; `None` if the text is not a list of settings.
fn decoded(text: &str) -> Option<Vec<(String, String)>> {
    let (mut settings, mut names) = (Vec::new(), Set::new());
    for setting in text.split('+').filter(|_| !text.is_empty()) {
        let (name, value) = setting.split_once('=').filter(|(name, _)| is_op(name))?;
        let mut bytes = Vec::new();
        let mut rest = value.as_bytes();
        while let [byte, after @ ..] = rest {
            match (byte, after) {
                (b'%', [high, low, after @ ..]) => {
                    let digits = [*high, *low];
                    let digits = std::str::from_utf8(&digits).ok()?;
                    let is_byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                    bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_byte)?);
                    rest = after;
                }
                (b'%', _) => return None,
                _ => {
                    bytes.push(*byte);
                    rest = after;
                }
            }
        }
        // Columns of errors count bytes, so only ASCII is allowed.
        if !names.insert(name) || !value.is_ascii() {
            return None;
        }
        settings.push((name.to_owned(), String::from_utf8(bytes).ok()?));
    }
    Some(settings)
}

/// A fault, with its offset in characters from the beginning of the item.
type InlineFault = (usize, InlineErrorKind);

struct InlineParser<'a> {
    trace: Trace,
    // Invariant: maps the text of each path to its index in `trace.tasks`.
    tasks: Map<&'a str, usize>,
    // Invariant: the sum of the path lengths, at most INLINE_SEGMENTS_MAX.
    segments: usize,
}

impl<'a> InlineParser<'a> {
    fn new() -> InlineParser<'a> {
        let mut parser = InlineParser { trace: Trace::default(), tasks: Map::new(), segments: 0 };
        parser.task("0").expect("the body of the test is a task path");
        parser
    }

    /// Parses the text between two commas.
    fn item(&mut self, item: &'a str) -> Result<(), InlineFault> {
        let of_path = |c: char| c.is_ascii_digit() || c == '.';
        let (path, rest) = item.split_at(item.find(|c| !of_path(c)).unwrap_or(item.len()));
        let task = self.task(path).map_err(|kind| (0, kind))?;
        let at = path.len();
        match rest.chars().next() {
            None => self.steps(task, 1).map_err(|kind| (at, kind)),
            Some('x') => {
                let count = run_length(&rest[1..]).and_then(|count| self.steps(task, count));
                count.map_err(|kind| (at + 1, kind))
            }
            Some('=') => {
                let draws = draws(rest, at)?;
                self.steps(task, 1).map_err(|kind| (at, kind))?;
                self.trace.steps.last_mut().expect("a step was added").draws = draws;
                Ok(())
            }
            Some(c) => Err((at, InlineErrorKind::Unexpected(c))),
        }
    }

    fn steps(&mut self, task: usize, count: usize) -> Result<(), InlineErrorKind> {
        let steps = &mut self.trace.steps;
        if count > INLINE_STEPS_MAX - steps.len() {
            return Err(InlineErrorKind::TooManySteps);
        }
        steps.resize(steps.len() + count, TraceStep { task, ..TraceStep::default() });
        Ok(())
    }

    /// Returns the index of a task. Adds the task and its ancestors if they are missing.
    fn task(&mut self, text: &'a str) -> Result<usize, InlineErrorKind> {
        if let Some(&index) = self.tasks.get(text) {
            return Ok(index);
        }
        let length = task_path(text).map_err(InlineErrorKind::TaskPath)?.segments().len();
        let mut missing = Vec::new();
        let mut next = Some(text);
        while let Some(path) = next.filter(|path| !self.tasks.contains_key(path)) {
            self.segments += length - missing.len();
            if self.segments > INLINE_SEGMENTS_MAX {
                return Err(InlineErrorKind::TooManyTasks);
            }
            missing.push(path);
            next = path.rsplit_once('.').map(|(parent, _)| parent);
        }
        for text in missing.into_iter().rev() {
            let path = task_path(text).map_err(InlineErrorKind::TaskPath)?;
            self.tasks.insert(text, self.trace.tasks.len());
            self.trace.tasks.push(TraceTask { path, name: None });
        }
        Ok(self.trace.tasks.len() - 1)
    }
}

/// Parses the number of steps after an `x`.
fn run_length(digits: &str) -> Result<usize, InlineErrorKind> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(InlineErrorKind::RunLength);
    }
    let count = number(digits).ok_or(InlineErrorKind::TooManySteps)?;
    match usize::try_from(count) {
        Ok(0) => Err(InlineErrorKind::RunLength),
        Ok(count) => Ok(count),
        Err(_) => Err(InlineErrorKind::TooManySteps),
    }
}

/// Parses the draws of `=value/bound=value/bound`, a text that begins at offset `at` of its item.
fn draws(text: &str, mut at: usize) -> Result<Vec<TraceDraw>, InlineFault> {
    let mut draws = Vec::new();
    for part in text[1..].split('=') {
        draws.push(draw(part).ok_or((at, InlineErrorKind::Draw))?);
        at += part.len() + 1;
    }
    Ok(draws)
}

fn draw(text: &str) -> Option<TraceDraw> {
    let (value, bound) = text.split_once('/')?;
    let draw = TraceDraw { value: number(value)?, bound: number(bound)? };
    (draw.value < draw.bound).then_some(draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_inline_error(text: &str, column: usize, kind: InlineErrorKind) {
        assert_eq!(parse_inline(text), Err(InlineError { column, kind }));
    }

    #[test]
    fn every_fault_of_an_inline_trace_has_its_column() {
        use InlineErrorKind::*;
        let no_path = TaskPath(crate::run::ids::InvalidTaskPath);
        check_inline_error("", 1, NotInline);
        check_inline_error("sim:0", 1, NotInline);
        check_inline_error("sim1", 1, NotInline);
        check_inline_error("sim3:0", 4, UnknownVersion(3));
        check_inline_error("sim99999999999999999999:0", 4, NotInline);
        check_inline_error("sim2:,", 6, no_path.clone());
        check_inline_error("sim2:0,", 8, no_path.clone());
        check_inline_error("sim2:0,1", 8, no_path.clone());
        check_inline_error("sim2:0,0.01", 8, no_path.clone());
        check_inline_error("sim2:0,0.4294967296", 8, no_path);
        check_inline_error("sim2:0.1 ", 9, Unexpected(' '));
        check_inline_error("sim2:0x2é", 8, RunLength);
        check_inline_error("sim2:0x", 8, RunLength);
        check_inline_error("sim2:0x0", 8, RunLength);
        check_inline_error("sim2:0x+1", 8, RunLength);
        check_inline_error("sim2:0x2=0/1", 8, RunLength);
        check_inline_error("sim2:0=0/1x2", 7, Draw);
        check_inline_error("sim2:0=1", 7, Draw);
        check_inline_error("sim2:0=0/1=1/1", 11, Draw);
    }

    #[test]
    fn a_run_length_is_bounded() {
        let steps = |text| parse_inline(text).map(|trace| trace.steps.len());
        let too_many = |column| Err(InlineError { column, kind: InlineErrorKind::TooManySteps });
        assert_eq!(steps("sim2:0x1000000"), Ok(INLINE_STEPS_MAX));
        assert_eq!(steps("sim2:0x1000001"), too_many(8));
        assert_eq!(steps("sim2:0x999999,0,0"), too_many(18));
        assert_eq!(
            steps("sim2:0x0x4000000000"),
            Err(InlineError { column: 8, kind: InlineErrorKind::RunLength })
        );
        assert_eq!(steps("sim2:0x99999999999999999999999"), too_many(8));
    }

    #[test]
    fn a_deep_path_does_not_bring_a_square_of_ancestors() {
        let path = |depth| format!("sim2:0{}", ".0".repeat(depth));
        let too_many = InlineError { column: 6, kind: InlineErrorKind::TooManyTasks };
        assert_eq!(parse_inline(&path(1000)).map(|trace| trace.tasks.len()), Ok(1001));
        assert_eq!(parse_inline(&path(100_000)), Err(too_many));
    }

    #[test]
    fn an_inline_trace_is_told_from_a_file_name() {
        for text in ["sim2:0", "sim2:", "sim2:whatever"] {
            assert!(is_inline(text), "{text}");
        }
        for text in ["", "sim", "sim:", "sim1", "7.simtrace", "simtrace/1:2", "./sim2:0", "sim1x:0"]
        {
            assert!(!is_inline(text), "{text}");
        }
    }
}
