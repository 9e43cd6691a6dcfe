//! Parser for trace files.
//!
//! The file may contain anything. The parser allocates memory only for existing lines, never for a number in the file.
//! The parser uses slices of the file as keys, and has no recursion. Every line costs O(its length · log n).

use std::str::from_utf8;
use unpause_ordered::{Map, Set};

use super::checksum::Checksum;
use super::error::{ErrorKind, TraceError, clip};
use super::field::{BLANK, Field, Fields, is_kind, is_op, number, task_path};
use super::{DEFAULT, NONE, VERSION};
use crate::run::ids::Seed;
use crate::run::program::Part;
use crate::run::trace::{
    Trace, TraceCommand, TraceDraw, TraceObject, TraceOp, TraceStep, TraceTask,
};

/// Parses the text of a trace file; the [module](super) describes the format.
///
/// The memory is proportional to the text, and below 64 times its length.
///
/// # Errors
/// [`TraceError`] with the first faulty line, if the text is not a complete trace of a known version. A missing
/// `checksum` line is not an error, so that a trace can be edited.
///
/// ```
/// use sim::run::trace::format::parse;
/// let text = "simtrace 2\n# by hand\ntask 0\ntask 0.0 writer\nstep 0 0\nstep 1 0.0\nend 2\n";
/// let trace = parse(text.as_bytes())?;
/// assert_eq!(trace.steps[1].task, 1);
/// assert_eq!(trace.tasks[1].name.as_deref(), Some("writer"));
/// # Ok::<(), sim::run::trace::format::TraceError>(())
/// ```
pub fn parse(text: &[u8]) -> Result<Trace, TraceError> {
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut parser = FileParser::new();
    let mut line = 0;
    for bytes in text.split(|&byte| byte == b'\n') {
        line += 1;
        parser.line(bytes).map_err(|kind| TraceError { line, kind })?;
    }
    parser.finish().map_err(|kind| TraceError { line, kind })
}

/// The subject of a line. The order of the variants is the required order of lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Section {
    Start,
    Version,
    Test,
    Package,
    Seed,
    Strategy,
    Settings,
    Cargo,
    Verdict,
    Program,
    Tasks,
    Objects,
    Steps,
    End,
    Checksum,
}

struct FileParser<'a> {
    /// The subject of the last line.
    section: Section,
    trace: Trace,
    // Invariant: maps the text of each path to its index in `trace.tasks`.
    tasks: Map<&'a str, usize>,
    // Invariant: maps the kind and the number of each object to its index in `trace.objects`.
    objects: Map<(&'a str, u64), usize>,
    // Invariant: the number of objects of each kind.
    kinds: Map<&'a str, u64>,
    checksum: Checksum,
}

impl<'a> FileParser<'a> {
    fn new() -> FileParser<'a> {
        FileParser {
            section: Section::Start,
            trace: Trace::default(),
            tasks: Map::new(),
            objects: Map::new(),
            kinds: Map::new(),
            checksum: Checksum::new(),
        }
    }

    /// Parses a line, without its line feed.
    fn line(&mut self, bytes: &'a [u8]) -> Result<(), ErrorKind> {
        let line = from_utf8(bytes).map_err(ErrorKind::InvalidUtf8)?;
        let line = line.strip_suffix('\r').unwrap_or(line).trim_matches(BLANK);
        if let Some(c) = line.chars().find(|&c| c.is_control() && c != '\t') {
            return Err(ErrorKind::ControlCharacter(c));
        }
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }

        let mut fields = Fields::new(line);
        if self.section == Section::Start {
            version(&mut fields)?;
            self.section = Section::Version;
        } else {
            let keyword = fields.word("keyword")?;
            self.enter(keyword)?;
            self.entry(keyword, &mut fields)?;
        }
        fields.finish()?;
        self.checksum.line(line);
        Ok(())
    }

    /// Checks that a line with this keyword is allowed here.
    fn enter(&mut self, keyword: &str) -> Result<(), ErrorKind> {
        let (section, keyword) = match keyword {
            "simtrace" => (Section::Version, "simtrace"),
            "test" => (Section::Test, "test"),
            "package" => (Section::Package, "package"),
            "seed" => (Section::Seed, "seed"),
            "strategy" => (Section::Strategy, "strategy"),
            "settings" => (Section::Settings, "settings"),
            "cargo" => (Section::Cargo, "cargo"),
            "verdict" => (Section::Verdict, "verdict"),
            "command" => (Section::Program, "command"),
            "task" => (Section::Tasks, "task"),
            "object" => (Section::Objects, "object"),
            "step" => (Section::Steps, "step"),
            "also" if self.section < Section::Steps => return Err(ErrorKind::StrayAlso),
            "also" => (Section::Steps, "also"),
            "end" => (Section::End, "end"),
            "checksum" if self.section < Section::End => return Err(ErrorKind::Truncated),
            "checksum" => (Section::Checksum, "checksum"),
            _ => return Err(ErrorKind::UnknownKeyword(clip(keyword))),
        };
        let repeats = matches!(
            section,
            Section::Program | Section::Tasks | Section::Objects | Section::Steps
        );
        if section < self.section || (section == self.section && !repeats) {
            return Err(ErrorKind::Misplaced(keyword));
        }
        self.section = section;
        Ok(())
    }

    /// Parses the fields after the keyword.
    fn entry(&mut self, keyword: &str, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        match self.section {
            Section::Start | Section::Version => {}
            Section::Test => self.trace.header.test = fields.text("name of the test")?,
            Section::Package => self.trace.header.package = fields.text("name of the package")?,
            Section::Seed => self.trace.header.seed = Seed(fields.number("seed")?),
            Section::Strategy => self.trace.header.strategy = fields.text("strategy")?,
            Section::Settings => self.trace.header.settings = Some(settings(fields)?),
            Section::Cargo => self.trace.header.cargo = Some(cargo(fields)?),
            Section::Verdict => self.trace.header.verdict = fields.text("verdict")?,
            Section::Program => self.command(fields)?,
            Section::Tasks => self.task(fields)?,
            Section::Objects => self.object(fields)?,
            Section::Steps if keyword == "also" => self.also(fields)?,
            Section::Steps => self.step(fields)?,
            Section::End => self.end(fields)?,
            Section::Checksum => self.compare_checksum(fields)?,
        }
        Ok(())
    }

    fn command(&mut self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let word = fields.word("part")?;
        let part = Part::parse(word).ok_or_else(|| ErrorKind::Part(clip(word)))?;
        let text = fields.text("command")?;
        self.trace.program.push(TraceCommand { part, text });
        Ok(())
    }

    fn task(&mut self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let text = fields.word("task path")?;
        let path = task_path(text).map_err(ErrorKind::TaskPath)?;
        if let Some((parent, _)) = text.rsplit_once('.') {
            if !self.tasks.contains_key(parent) {
                return Err(ErrorKind::MissingParent(clip(text)));
            }
        }
        if self.tasks.insert(text, self.trace.tasks.len()).is_some() {
            return Err(ErrorKind::DuplicateTask(clip(text)));
        }
        let name = fields.field()?.map(Field::into_text);
        self.trace.tasks.push(TraceTask { path, name });
        Ok(())
    }

    fn object(&mut self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let word = fields.word("object")?;
        let (kind, found) = object_name(word).ok_or_else(|| ErrorKind::Object(clip(word)))?;
        let expected = self.kinds.entry(kind).or_default();
        if found != *expected {
            return Err(ErrorKind::ObjectNumber { expected: *expected, found });
        }
        *expected += 1;
        self.objects.insert((kind, found), self.trace.objects.len());
        let place = fields.text("place")?;
        self.trace.objects.push(TraceObject { kind: kind.to_owned(), place });
        Ok(())
    }

    fn step(&mut self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let found = fields.number("step number")?;
        let expected = self.trace.steps.len() as u64;
        if found != expected {
            return Err(ErrorKind::StepNumber { expected, found });
        }
        let path = fields.word("task path")?;
        let task = *self.tasks.get(path).ok_or_else(|| ErrorKind::UnknownTask(clip(path)))?;
        let mut step = TraceStep { task, ..TraceStep::default() };

        let mut word = fields.field()?;
        if let Some(Field::Bare(op)) = word {
            if !op.contains('=') {
                // Most steps have one operation, but a vector would reserve room for four by itself.
                step.operations.reserve_exact(1);
                step.operations.push(self.operation(op, fields)?);
                word = fields.field()?;
            }
        }
        while let Some(field) = word {
            let text = field.into_text();
            step.draws.push(draw(&text).ok_or_else(|| ErrorKind::Draw(clip(&text)))?);
            word = fields.field()?;
        }
        self.trace.steps.push(step);
        Ok(())
    }

    fn also(&mut self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let op = fields.word("operation")?;
        let operation = self.operation(op, fields)?;
        match self.trace.steps.last_mut() {
            Some(step) if !step.operations.is_empty() => step.operations.push(operation),
            _ => return Err(ErrorKind::StrayAlso),
        }
        Ok(())
    }

    fn operation(&self, op: &str, fields: &mut Fields<'a>) -> Result<TraceOp, ErrorKind> {
        if !is_op(op) {
            return Err(ErrorKind::Word { name: "operation", found: clip(op) });
        }
        let object = match fields.word("object")? {
            "-" => None,
            word => {
                let index = object_name(word).and_then(|name| self.objects.get(&name));
                Some(*index.ok_or_else(|| ErrorKind::UnknownObject(clip(word)))?)
            }
        };
        let values = fields.field()?.ok_or(ErrorKind::MissingField("values"))?.into_values();
        let place = fields.text("place")?;
        Ok(TraceOp { op: op.to_owned(), object, place, values })
    }

    fn end(&self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let found = fields.number("number of steps")?;
        let expected = self.trace.steps.len() as u64;
        if found == expected { Ok(()) } else { Err(ErrorKind::StepCount { expected, found }) }
    }

    fn compare_checksum(&self, fields: &mut Fields<'a>) -> Result<(), ErrorKind> {
        let (found, expected) = (fields.word("checksum")?, self.checksum.to_string());
        if found == expected {
            Ok(())
        } else {
            Err(ErrorKind::Checksum { expected, found: clip(found) })
        }
    }

    fn finish(self) -> Result<Trace, ErrorKind> {
        match self.section {
            Section::Start => Err(ErrorKind::NotATrace),
            Section::End | Section::Checksum => Ok(self.trace),
            _ => Err(ErrorKind::Truncated),
        }
    }
}

fn version(fields: &mut Fields<'_>) -> Result<(), ErrorKind> {
    match fields.word("keyword") {
        Ok("simtrace") => {}
        _ => return Err(ErrorKind::NotATrace),
    }
    let found = fields.number("version")?;
    if found == VERSION { Ok(()) } else { Err(ErrorKind::UnknownVersion(found)) }
}

/// Parses the settings of `name=value...`, or of `default`.
fn settings(fields: &mut Fields<'_>) -> Result<Vec<(String, String)>, ErrorKind> {
    let first = fields.text("setting")?;
    let (mut settings, mut names) = (Vec::new(), Set::new());
    let mut next = Some(first).filter(|first| first != DEFAULT);
    while let Some(text) = next {
        let setting = text.split_once('=').filter(|(name, _)| is_op(name));
        let (name, value) = setting.ok_or_else(|| ErrorKind::Setting(clip(&text)))?;
        if !names.insert(name.to_owned()) {
            return Err(ErrorKind::Setting(clip(&text)));
        }
        settings.push((name.to_owned(), value.to_owned()));
        next = fields.field()?.map(Field::into_text);
    }
    Ok(settings)
}

/// Parses the arguments of cargo, or `none`.
fn cargo(fields: &mut Fields<'_>) -> Result<Vec<String>, ErrorKind> {
    let mut words = vec![fields.text("argument")?];
    while let Some(word) = fields.field()? {
        words.push(word.into_text());
    }
    if words == [NONE] {
        words.clear();
    }
    Ok(words)
}

/// Parses the kind and the number of `kind:number`.
fn object_name(word: &str) -> Option<(&str, u64)> {
    let (kind, digits) = word.split_once(':')?;
    is_kind(kind).then_some((kind, number(digits)?))
}

/// Parses the draw of `drew=value/bound`.
fn draw(text: &str) -> Option<TraceDraw> {
    let (value, bound) = text.strip_prefix("drew=")?.split_once('/')?;
    let draw = TraceDraw { value: number(value)?, bound: number(bound)? };
    (draw.value < draw.bound).then_some(draw)
}
