//! The formats of histories, one file and one row of [`FORMATS`] per format.

mod edn;
mod etcd;
mod fastlin;
mod json;
mod limo;
mod names;
mod value;

use std::io::{BufRead, Read};

use unpause_check::datum::Datum;
use unpause_check::models::NilRead;

use self::value::FileValues;
use crate::event::{self, FileItem};
use crate::problem::{Problem, ProblemKind, not_among};
use crate::recording::{Pairing, Recording};
use crate::source::FileReader;

/// A format of histories.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name of the format.
    pub name: &'static str,
    /// The appearance of the format, in one line.
    pub summary: &'static str,
    /// The typical file name extensions, without the dot; empty if no extension is typical.
    pub endings: &'static [&'static str],
    /// Returns `true` if a file with this beginning is in the format. The argument contains the first bytes without
    /// leading whitespace: at least one line, if the file has a line.
    begins: fn(&str) -> bool,
    read: fn(FileReader<'_>) -> Result<Recording, Problem>,
}

/// All formats. To add a format, write its file and add its row; if the beginning of a file fits several formats, the
/// first format is used.
///
/// ```
/// let names: Vec<&str> = unpause_histories::FORMATS.iter().map(|format| format.name).collect();
/// assert_eq!(names, ["json", "edn", "etcd", "limo", "fastlin"]);
/// ```
// A static for the same reason as `CONDITIONS`.
pub static FORMATS: &[Format] = &[
    Format {
        name: "json",
        summary: r#"{"process": 0, "type": "invoke", "f": "read", "value": null}, one a line or in an array"#,
        endings: &["json", "jsonl", "ndjson"],
        begins: |text| {
            let inside = text.strip_prefix('[').unwrap_or(text).trim_start();
            inside.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
        },
        read: json,
    },
    Format {
        name: "edn",
        summary: "{:process 0, :type :invoke, :f :read, :value nil}, Jepsen's: one a line or in a vector",
        endings: &["edn"],
        begins: |text| {
            let is_list = text.starts_with('[') && !limo::begins(text);
            is_list || text.starts_with(['{', '(', ';', '^']) || is_tagged(text)
        },
        read: edn,
    },
    Format {
        name: "etcd",
        summary: "INFO  jepsen.util - 0 :invoke :read nil, a log of Jepsen's first years",
        endings: &[],
        begins: etcd::begins,
        read: etcd::read,
    },
    Format {
        name: "limo",
        summary: "[1] call push(3), and [1] return, under # @object atomic-stack",
        endings: &["hist"],
        begins: limo::begins,
        read: limo::read,
    },
    Format {
        name: "fastlin",
        summary: "push 3 1 2: method, value, start and end, under # stack",
        endings: &[],
        begins: fastlin::begins,
        read: fastlin::read,
    },
];

/// Returns the format with this name.
///
/// # Errors
/// If there is no such format; the problem lists the existing formats.
pub fn format_named(name: &str) -> Result<&'static Format, Problem> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let message = format!("there is no format {}", not_among(name, "there are", &names));
        Problem::whole(ProblemKind::Question, message)
    })
}

/// Reads the beginning of a file, as much as [`format_of`] looks at. One read of a pipe may return less.
///
/// # Errors
/// If the file cannot be read.
///
/// ```
/// let file = b"[{\"process\": 0}]";
/// assert_eq!(unpause_histories::beginning(&mut &file[..]).unwrap(), file);
/// ```
pub fn beginning(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    input.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// The number of bytes that show the format of a file.
const BEGINNING: usize = 4096;

/// Returns the format of a file, determined by its beginning, or else by its name.
///
/// `beginning` should be a few lines of the file; `name` may be any text.
///
/// # Errors
/// If neither the beginning nor the name determines the format.
///
/// ```
/// use unpause_histories::format_of;
/// assert_eq!(format_of("x.log", b"{:process 0, :type").unwrap().name, "edn");
/// assert_eq!(format_of("x.log", b"[{\"process\": 0}]").unwrap().name, "json");
/// assert!(format_of("x.log", b"hello").is_err());
/// ```
pub fn format_of(name: &str, beginning: &[u8]) -> Result<&'static Format, Problem> {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(BEGINNING)]);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = || FORMATS.iter().find(|format| format.endings.contains(&ending));
    let found = FORMATS.iter().find(|format| (format.begins)(text)).or_else(by_name);
    found.ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let message =
            format!("cannot tell the format of the file; say it: one of {}", names.join(", "));
        Problem::whole(ProblemKind::Question, message)
    })
}

/// Reads a history in this format. The input is streamed, not kept in memory as a whole.
///
/// # Errors
/// At the first error in the input, with its place.
///
/// ```
/// use unpause_histories::{format_named, read};
/// let lines = r#"{"process": 0, "type": "invoke", "f": "write", "value": 1}
///                {"process": 0, "type": "ok", "f": "write", "value": 1}"#;
/// let recording = read(lines.as_bytes(), format_named("json").unwrap()).unwrap();
/// assert_eq!(recording.calls.len(), 1);
/// ```
pub fn read(mut input: impl BufRead, format: &Format) -> Result<Recording, Problem> {
    read_dyn(&mut input, format)
}

fn read_dyn(input: &mut dyn Read, format: &Format) -> Result<Recording, Problem> {
    let mut source = FileReader::new(input);
    source.skip_mark()?;
    (format.read)(source)
}

fn json(source: FileReader<'_>) -> Result<Recording, Problem> {
    events(json::Json::new(source), Recording::new("json"))
}

fn edn(source: FileReader<'_>) -> Result<Recording, Problem> {
    let mut recording = Recording::new("edn");
    recording.nil = NilRead::Anything;
    events(edn::Edn::new(source), recording)
}

fn events(mut values: impl FileValues, recording: Recording) -> Result<Recording, Problem> {
    let mut pairing = Pairing::new(recording);
    while let Some((place, value)) = values.next()? {
        match event::event(place, &value)? {
            FileItem::Event(event) => pairing.event(event)?,
            FileItem::Note { is_nemesis } => pairing.note(is_nemesis),
        }
    }
    pairing.finish()
}

/// Reads one value in EDN, such as the initial state of a model on a command line.
///
/// # Errors
/// If the text is not a value, or if something follows it.
///
/// ```
/// use unpause_check::datum::Datum;
/// assert_eq!(unpause_histories::edn_value("{:x 0}").unwrap().get("x"), Some(&Datum::from(0)));
/// assert!(unpause_histories::edn_value("1 2").is_err());
/// ```
pub fn edn_value(text: &str) -> Result<Datum, Problem> {
    let mut input = text.as_bytes();
    edn::Edn::new(FileReader::short(&mut input)).single()
}

/// Returns `true` for `#jepsen.history.Op{` or `#_`, but not for a comment of another format, such as `# a comment`.
fn is_tagged(text: &str) -> bool {
    let rest = text.strip_prefix('#');
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':'))
}
