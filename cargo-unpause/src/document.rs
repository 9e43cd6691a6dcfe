//! The report of a test in its JSON file. Tests write it beside their traces, and the commands that show failures read
//! it. docs/json.md describes the format.
//!
//! [`Document::read`] checks the structure and names the wrong field, if any. It ignores unknown fields, because later
//! versions may add fields without a new version number. The answers that some commands write as JSON have the same
//! form: [`Listed`], [`Kept`], [`Dropped`], [`Replayed`] and [`Initialized`].

mod answers;
mod fields;
mod part;
mod shown;
mod words;

use std::fmt;

use serde_json::{Map, Value, json};

pub use self::answers::*;
pub use self::fields::*;
pub use self::part::{Maybe, Part, Word};
use self::words::FORMATS;

/// The version of the format that this module reads.
const VERSION: u64 = 1;

/// The reason why a file is not a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The file is not JSON. The text describes where.
    Syntax(String),
    /// The file is JSON, but not a report.
    Foreign,
    /// The report has another version of the format.
    Version(u64),
    /// A field is missing or wrong.
    Field {
        /// The path of the field, such as `finding.run.steps[3].task`.
        field: String,
        /// The problem.
        problem: String,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Syntax(error) => {
                write!(f, "it is not JSON: {error}. If it was cut off, run the test again")
            }
            Unreadable::Foreign => write!(
                f,
                "it is no report of unpause: its `format` is neither {:?} nor {:?}",
                FORMATS[0], FORMATS[1]
            ),
            Unreadable::Version(found) => write!(
                f,
                "it has version {found} of the format, and this command reads {VERSION}: use the command of the version \
                 of unpause that wrote it"
            ),
            Unreadable::Field { field, problem } => {
                write!(f, "`{field}` {problem}: the file was changed, or cut off")
            }
        }
    }
}

impl std::error::Error for Unreadable {}

impl Document {
    /// Reads a report.
    ///
    /// # Errors
    /// [`Unreadable`] names the problem and its place.
    pub fn read(text: &str) -> Result<Document, Unreadable> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Unreadable::Syntax(error.to_string()))?;
        let format = value.get("format").and_then(Value::as_str);
        if !format.is_some_and(|format| FORMATS.contains(&format)) {
            return Err(Unreadable::Foreign);
        }
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(other) => return Err(Unreadable::Version(other)),
            None => {
                let (field, problem) = ("version".to_owned(), "is no number".to_owned());
                return Err(Unreadable::Field { field, problem });
            }
        }
        Part::read(Some(&value)).map_err(|wrong| Unreadable::Field {
            field: wrong.path(),
            problem: wrong.problem.to_owned(),
        })
    }

    /// Returns the JSON schema of reports: docs/failure.schema.json.
    pub fn schema() -> Value {
        let mut structs = Map::new();
        let root = <Document as Part>::schema(&mut structs);
        structs["Document"]["properties"]["version"] = json!({"type": "integer", "const": VERSION});
        // A failure has exactly one object with the data of its kind.
        let failure = &mut structs["Failure"];
        let required = failure["required"].as_array().cloned().unwrap_or_default();
        let is_required = |name: &str| required.iter().any(|other| other.as_str() == Some(name));
        let names = failure["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
        let variants = names.filter(|name| !is_required(name.as_str()));
        let variants: Vec<Value> = variants.map(|name| json!({"required": [name]})).collect();
        failure["oneOf"] = variants.into();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A report of unpause, version 1",
            "description": "The fields are described in json.md beside this file.",
            "$ref": root["$ref"],
            "$defs": structs,
        })
    }

    /// Returns the report as JSON.
    pub fn value(&self) -> Value {
        Part::write(self).unwrap_or_default()
    }
}
