//! JSON format for the lines of a search.

use std::fmt::Write as _;

use super::super::json::{Json, list, quoted};
use super::super::tally::{Tally, interned, numbers};
use super::{Line, clash_line};
use crate::report::Clash;
use crate::run::ids::TaskId;
use crate::run::untried::Untried;
use crate::strategy::divided::{Entry, Noticed, PathStep, Rest, Sibling, Slice, Top, Wish};
use crate::strategy::search::{Apart, Drawn};

/// The position of a slice: the generation of the search, the round, and the job number.
pub(crate) type SliceKey = (u32, u64, usize);

/// A slice, with all data about its runs that a report needs.
#[derive(Debug)]
pub(crate) struct SliceLine {
    pub(crate) key: SliceKey,
    pub(crate) slice: Slice,
    pub(crate) tally: Tally,
    pub(crate) untried: Vec<Untried>,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// The first run of the slice that left tasks waiting, with the warning about it.
    pub(crate) stuck: Option<(u64, String)>,
    pub(super) text: String,
}

/// The top of the search tree, computed by one process.
#[derive(Clone, Debug)]
pub(crate) struct TopLine {
    pub(crate) generation: u32,
    pub(crate) top: Top,
    pub(super) text: String,
}

/// The audit of a search, or of a share, after it was completed in this generation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AuditLine {
    pub(crate) generation: u32,
    /// The classes of the sampled runs.
    pub(crate) classes: Vec<u64>,
    /// True if the sampled runs agree with the search.
    pub(crate) agrees: bool,
    /// True if the search starts again and treats each order of steps as a separate run.
    pub(crate) begins_again: bool,
    /// The two steps that are the reason, if they were found.
    pub(crate) clash: Option<Clash>,
}

impl AuditLine {
    /// Returns the line, with its line feed.
    pub(crate) fn write(&self) -> String {
        let AuditLine { generation, classes, agrees, begins_again, clash } = self;
        let clash = clash.as_ref().map_or_else(String::new, clash_line::entry);
        let classes = classes_text(classes.iter().copied());
        format!(
            "{{\"audit\":{generation},\"sampled\":{classes},\"agrees\":{agrees}{clash},\"begins_again\":{begins_again}}}\n"
        )
    }

    fn read(line: &Json) -> Result<AuditLine, String> {
        Ok(AuditLine {
            generation: small(line.number("audit")?, "audit")?,
            classes: line
                .get("sampled")
                .and_then(classes)
                .ok_or("`sampled` is no list of classes")?,
            agrees: line.flag("agrees")?,
            begins_again: line.flag("begins_again")?,
            clash: clash_line::read(line)?,
        })
    }
}

/// A limit above the number of runs that a search can execute. Sums of numbers up to this limit do
/// not overflow.
const RUNS_MAX: u64 = 1 << 40;

/// Converts a number to 32 bits. The error names the field.
fn small(number: u64, name: &str) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("`{name}` is too large"))
}

impl SliceLine {
    /// Returns the line of a slice, with its line feed. Only classes below `bound` are written.
    pub(crate) fn write(
        (generation, round, job): SliceKey,
        slice: &Slice,
        bound: u64,
        seen: &SeenBySlice<'_>,
    ) -> String {
        // Probes are left out, because another process can make them again.
        let Slice { runs, blocked, repeated, classes, wishes, rest, learnt, noticed, .. } = slice;
        let mut out = format!(
            "{{\"slice\":[{generation},{round},{job}],\"runs\":[{runs},{blocked},{repeated}],\"rest\":{}",
            rest.as_ref().map_or("null".to_owned(), rest_text)
        );
        if !wishes.is_empty() {
            out += &format!(",\"wishes\":{}", list(wishes.iter().map(wish_text)));
        }
        if let Some(learnt) = learnt {
            out += &format!(",\"learnt\":{}", apart_text(*learnt));
        }
        if *noticed != Noticed::default() {
            out += &format!(",\"noticed\":{}", noticed_text(noticed));
        }
        let kept = classes_text(classes.iter().copied().filter(|class| *class < bound));
        out += &format!(",\"classes\":{kept},{}", seen.tally.entries());
        let texts = |name: &str, texts: &[String]| match texts {
            [] => String::new(),
            _ => format!(",\"{name}\":{}", list(texts.iter().map(|text| quoted(text)))),
        };
        let untried: Vec<String> = seen.untried.iter().map(untried_text).collect();
        if !untried.is_empty() {
            out += &format!(",\"untried\":{}", list(untried));
        }
        out += &texts("warnings", seen.warnings);
        out += &texts("notes", seen.notes);
        if let Some((nth, text)) = &seen.stuck {
            out += &format!(",\"stuck\":[{nth},{}]", quoted(text));
        }
        out + "}\n"
    }

    /// Parses the line of a slice, with its line feed.
    ///
    /// # Errors
    /// If the text is not the line of a slice.
    pub(crate) fn parse(text: &str) -> Result<SliceLine, String> {
        SliceLine::read(&Json::parse(text.trim_end().as_bytes())?, text.to_owned())
    }

    fn read(line: &Json, text: String) -> Result<SliceLine, String> {
        let [generation, round, job] = three(line, "slice")?;
        let runs = three(line, "runs")?;
        if runs.iter().any(|number| *number > RUNS_MAX) {
            return Err("`runs` is too large".to_owned());
        }
        let [runs, blocked, repeated] = runs;
        let wrong = |name: &str| format!("`{name}` is not what a slice has");
        // An entry with the value `null` has the same meaning as an absent entry.
        let some = |name: &str| line.get(name).filter(|value| **value != Json::Null);
        let all = |name: &str| match some(name) {
            None => Ok(&[][..]),
            Some(Json::List(values)) => Ok(&values[..]),
            Some(_) => Err(wrong(name)),
        };
        let read_all = |name: &str| -> Result<Vec<String>, String> {
            let texts = all(name)?.iter().map(|value| match value {
                Json::Text(text) => Some(text.clone()),
                _ => None,
            });
            texts.collect::<Option<_>>().ok_or_else(|| wrong(name))
        };
        let read_classes = |value| classes(value).ok_or_else(|| wrong("classes"));
        let wishes = all("wishes")?.iter().map(wish).collect::<Option<_>>();
        let untried = all("untried")?.iter().map(untried).collect::<Option<_>>();
        let stuck = match all("stuck")? {
            [Json::Number(nth), Json::Text(text)] => Some((*nth, text.clone())),
            [] => None,
            _ => return Err(wrong("stuck")),
        };
        let read_rest = |value| rest(value).ok_or_else(|| wrong("rest"));
        let read_apart = |value| apart(value).ok_or_else(|| wrong("learnt"));
        let read_noticed = |value| noticed(value).ok_or_else(|| wrong("noticed"));
        let slice = Slice {
            runs,
            blocked,
            repeated,
            classes: some("classes").map(read_classes).transpose()?.unwrap_or_default(),
            wishes: wishes.ok_or_else(|| wrong("wishes"))?,
            // A slice without the entry `rest` is the end of its part.
            rest: some("rest").map(read_rest).transpose()?,
            learnt: some("learnt").map(read_apart).transpose()?,
            noticed: some("noticed").map(read_noticed).transpose()?.unwrap_or_default(),
            probed: Vec::new(),
        };
        Ok(SliceLine {
            key: (small(generation, "slice")?, round, small(job, "slice")? as usize),
            tally: Tally::read(line, 0, runs)?,
            untried: untried.ok_or_else(|| wrong("untried"))?,
            warnings: read_all("warnings")?,
            notes: read_all("notes")?,
            slice,
            stuck,
            text,
        })
    }
}

/// The observations of the engine about the runs of a slice.
pub(crate) struct SeenBySlice<'a> {
    pub(crate) tally: &'a Tally,
    pub(crate) untried: Vec<Untried>,
    pub(crate) warnings: &'a [String],
    pub(crate) notes: &'a [String],
    pub(crate) stuck: Option<(u64, &'a str)>,
}

impl TopLine {
    /// Returns the line of a top, with its line feed.
    pub(crate) fn write(generation: u32, top: &Top) -> String {
        let frames =
            top.frames.iter().map(|(frame, order)| list([frame.to_string(), tasks_text(order)]));
        let jobs = top.jobs.iter().map(|(path, fixed)| {
            let path = path.iter().map(|step| {
                list([step.frame.to_string(), step.task.0.to_string(), draws_text(&step.draws)])
            });
            list([list(path), fixed.to_string()])
        });
        format!(
            "{{\"top\":{generation},\"apart\":{},\"made\":{},\"frames\":{},\"jobs\":{}}}\n",
            apart_text(top.apart),
            top.void,
            list(frames),
            list(jobs)
        )
    }

    fn read(line: &Json, text: String) -> Result<TopLine, String> {
        let wrong = || "`top` is not that of a search".to_owned();
        let frame = |value: &Json| match value {
            Json::List(entries) => match &entries[..] {
                [Json::Number(frame), order] => Some((*frame, tasks(order)?)),
                _ => None,
            },
            _ => None,
        };
        let step = |value: &Json| match value {
            Json::List(entries) => match &entries[..] {
                [Json::Number(frame), task, draws] => {
                    Some(PathStep { frame: *frame, task: task_of(task)?, draws: draws_of(draws)? })
                }
                _ => None,
            },
            _ => None,
        };
        let job = |value: &Json| match value {
            Json::List(entries) => match &entries[..] {
                [Json::List(path), Json::Number(fixed)] => {
                    let path = path.iter().map(step).collect::<Option<_>>()?;
                    Some((path, usize::try_from(*fixed).ok()?))
                }
                _ => None,
            },
            _ => None,
        };
        let frames = line.list("frames")?.iter().map(frame).collect::<Option<_>>();
        let jobs = line.list("jobs")?.iter().map(job).collect::<Option<_>>();
        let top = Top {
            apart: line.get("apart").and_then(apart).ok_or_else(wrong)?,
            void: line.number("made")?,
            frames: frames.ok_or_else(wrong)?,
            jobs: jobs.ok_or_else(wrong)?,
        };
        // New frames get the numbers after the largest number, which must not overflow.
        let is_large = |(frame, _): &(u64, _)| *frame > u64::from(u32::MAX);
        if top.void > RUNS_MAX || top.frames.iter().any(is_large) {
            return Err(wrong());
        }
        Ok(TopLine { generation: small(line.number("top")?, "top")?, top, text })
    }
}

/// Reads a line of a search.
pub(in crate::engine::results) fn read(line: &Json, text: &[u8]) -> Result<Line, String> {
    // The line was parsed, so it is UTF-8, and its text is unchanged.
    let text = String::from_utf8_lossy(text).into_owned();
    match () {
        () if line.get("audit").is_some() => AuditLine::read(line).map(Line::Audit),
        () if line.get("estimate").is_some() => line.number("estimate").map(Line::Estimate),
        () if line.get("top").is_some() => TopLine::read(line, text).map(Line::Top),
        () => SliceLine::read(line, text).map(|line| Line::Slice(Box::new(line))),
    }
}

fn three(line: &Json, name: &str) -> Result<[u64; 3], String> {
    let numbers = numbers(line.list(name)?)?;
    numbers.try_into().map_err(|_| format!("`{name}` is not three numbers"))
}

/// The number of hexadecimal digits of a class.
const CLASS_DIGITS: usize = 16;

/// The value of each hexadecimal digit; for all other bytes, a number above 15.
const DIGITS: [u8; 256] = {
    let (mut values, mut value) = ([u8::MAX; 256], 0);
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        values[digit as usize] = value;
        values[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    values
};

/// Returns classes as one JSON text with 16 hexadecimal digits for each class. Most bytes of a file are classes, and
/// one text is shorter than a list of numbers, and faster to read.
fn classes_text(classes: impl Iterator<Item = u64>) -> String {
    let mut text = "\"".to_owned();
    for class in classes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{class:016x}");
    }
    text + "\""
}

fn classes(value: &Json) -> Option<Vec<u64>> {
    let Json::Text(text) = value else { return None };
    let chunks = text.as_bytes().chunks_exact(CLASS_DIGITS);
    // A shorter text is the end of a damaged line.
    let is_whole = chunks.remainder().is_empty();
    let (mut classes, mut all) = (Vec::with_capacity(chunks.len()), 0);
    for digits in chunks {
        let mut class = 0;
        for digit in digits {
            let value = DIGITS[usize::from(*digit)];
            all |= value;
            class = class << 4 | u64::from(value & 15);
        }
        classes.push(class);
    }
    (is_whole && all < 16).then_some(classes)
}

fn task_of(value: &Json) -> Option<TaskId> {
    match value {
        Json::Number(number) => u32::try_from(*number).ok().map(TaskId),
        _ => None,
    }
}

fn tasks_text(tasks: &[TaskId]) -> String {
    list(tasks.iter().map(|task| task.0.to_string()))
}

fn tasks(value: &Json) -> Option<Vec<TaskId>> {
    match value {
        Json::List(tasks) => tasks.iter().map(task_of).collect(),
        _ => None,
    }
}

fn draws_text(draws: &[Drawn]) -> String {
    list(draws.iter().map(|Drawn { value, bound, given }| {
        list([value.to_string(), bound.to_string(), u8::from(*given).to_string()])
    }))
}

fn draws_of(value: &Json) -> Option<Vec<Drawn>> {
    let Json::List(draws) = value else { return None };
    let drawn = |value: &Json| match value {
        Json::List(entries) => match entries[..] {
            [Json::Number(value), Json::Number(bound), Json::Number(given @ 0..=1)] => {
                // A drawn value is always below its bound, so another value shows a damaged line.
                (value < bound).then_some(Drawn { value, bound, given: given == 1 })
            }
            _ => None,
        },
        _ => None,
    };
    draws.iter().map(drawn).collect()
}

/// Most frames have only a task, so such a frame is written as the number of its task.
fn entry_text(entry: &Entry) -> String {
    let Entry { task, draws, done, untaken, .. } = entry;
    if draws.is_empty() && done.is_empty() && untaken.is_empty() {
        return task.0.to_string();
    }
    let done: Vec<TaskId> = done.iter().map(|sibling| sibling.task).collect();
    list([task.0.to_string(), draws_text(draws), tasks_text(&done), tasks_text(untaken)])
}

fn entry(value: &Json) -> Option<Entry> {
    let bare = |task| Entry {
        task,
        draws: Vec::new(),
        done: Vec::new(),
        untaken: Vec::new(),
        partial: None,
        whole: None,
    };
    // See `entry_text`: an entry with only a task is written as a number.
    let Json::List(entries) = value else { return task_of(value).map(bare) };
    let [task, draws, done, untaken] = &entries[..] else { return None };
    Some(Entry {
        draws: draws_of(draws)?,
        done: tasks(done)?.into_iter().map(Sibling::unknown).collect(),
        untaken: tasks(untaken)?,
        ..bare(task_of(task)?)
    })
}

fn rest_text(rest: &Rest) -> String {
    list([draws_text(&rest.draws), list(rest.stack.iter().map(entry_text))])
}

fn rest(value: &Json) -> Option<Rest> {
    let Json::List(entries) = value else { return None };
    let [draws, Json::List(stack)] = &entries[..] else { return None };
    Some(Rest { draws: draws_of(draws)?, stack: stack.iter().map(entry).collect::<Option<_>>()? })
}

fn wish_text(wish: &Wish) -> String {
    list([wish.depth.to_string(), tasks_text(&wish.initials), wish.prefer.0.to_string()])
}

fn wish(value: &Json) -> Option<Wish> {
    let Json::List(entries) = value else { return None };
    let [Json::Number(depth), initials, prefer] = &entries[..] else { return None };
    let depth = usize::try_from(*depth).ok()?;
    Some(Wish { depth, initials: tasks(initials)?, prefer: task_of(prefer)? })
}

/// Returns the names of the criteria as a JSON list.
fn apart_text(apart: Apart) -> String {
    list(apart.names().into_iter().map(quoted))
}

fn apart(value: &Json) -> Option<Apart> {
    let Json::List(names) = value else { return None };
    let one = |value: &Json| match value {
        Json::Text(name) => Apart::named(name),
        _ => None,
    };
    // An unknown criterion must not be ignored: the search would then distinguish fewer runs.
    names.iter().try_fold(Apart::NOTHING, |all, name| Some(all.and(one(name)?)))
}

fn noticed_text(noticed: &Noticed) -> String {
    let Noticed { adder, adders, sees_order_of_nodes, blind, contact, left_out, has_stores } =
        noticed;
    let flags = [adders, sees_order_of_nodes, blind, left_out, has_stores];
    let flags = flags.map(|flag| u8::from(*flag).to_string());
    let adder = adder.map_or("null".to_owned(), |task| task.0.to_string());
    let contact = contact.as_deref().map_or("null".to_owned(), quoted);
    list([adder, contact].into_iter().chain(flags))
}

fn noticed(value: &Json) -> Option<Noticed> {
    let Json::List(entries) = value else { return None };
    let [adder, contact, flags @ ..] = &entries[..] else { return None };
    // The flags have the order in which `noticed_text` writes them.
    let [adders, sees, blind, left_out, has_stores]: [bool; 5] = flags
        .iter()
        .map(|flag| match flag {
            Json::Number(0) => Some(false),
            Json::Number(1) => Some(true),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?
        .try_into()
        .ok()?;
    let adder = if *adder == Json::Null { None } else { Some(task_of(adder)?) };
    let contact = match contact {
        Json::Null => None,
        Json::Text(text) => Some(text.clone()),
        _ => return None,
    };
    let sees_order_of_nodes = sees;
    Some(Noticed { adder, adders, sees_order_of_nodes, blind, contact, left_out, has_stores })
}

fn untried_text(untried: &Untried) -> String {
    let (kind, text) = match untried {
        Untried::Beyond(text) => ("beyond", *text),
        Untried::Unseen(text) => ("unseen", *text),
        Untried::Function(text) => ("function", *text),
        Untried::Orders => ("orders", ""),
        Untried::Time => ("time", ""),
    };
    list([quoted(kind), quoted(text)])
}

fn untried(value: &Json) -> Option<Untried> {
    let Json::List(entries) = value else { return None };
    let [Json::Text(kind), Json::Text(text)] = &entries[..] else { return None };
    match &**kind {
        "beyond" => Some(Untried::Beyond(interned(text))),
        "unseen" => Some(Untried::Unseen(interned(text))),
        "function" => Some(Untried::Function(interned(text))),
        "orders" => Some(Untried::Orders),
        "time" => Some(Untried::Time),
        _ => None,
    }
}

/// Parses the slice in a line, like another process does.
#[cfg(test)]
pub(crate) fn read_back(line: &str) -> Result<Slice, String> {
    let line = line.trim_end().as_bytes();
    match read(&Json::parse(line)?, line)? {
        Line::Slice(line) => Ok(line.slice),
        Line::Top(_) | Line::Audit(_) | Line::Estimate(_) => Err("another line".to_owned()),
    }
}
