//! The JSON that `ls`, `keep`, `drop`, `replay` and `init` write with `--json`. docs/json.md describes it, and
//! docs/answers.schema.json is its schema.

use serde_json::{Map, Value, json};

use super::part::{self, Part, Word, Wrong, objects};
use super::words;

/// The version of these formats. The version changes if a reader of the old format would misread the new format.
pub const ANSWERS: u64 = 1;

objects! {
    /// The answer of `cargo unpause ls`: the failures, newest first.
    Listed {
        format: String = words::OF_LS,
        version: u64,
        failures: Vec<ListedFailure>,
    }
    /// A failure in a list. If its file cannot be read, only `path`, `kept`, `modified` and `error` have values.
    ListedFailure {
        path: String,
        kept: bool,
        modified: u64,
        kind: Option<String>,
        test: Option<String>,
        package: Option<String>,
        seed: Option<Word>,
        steps: Option<u64>,
        failure: Option<String>,
        report: Option<bool>,
        error: Option<String>,
    }
    /// The answer of `cargo unpause keep`: the kept trace and its failure.
    Kept {
        format: String = words::OF_KEEP,
        version: u64,
        path: String,
        is_new: bool,
        test: String,
        package: String,
        seed: Option<Word>,
        kind: String,
        failure: String,
    }
    /// The answer of `cargo unpause drop`: the failures, which are removed if `is_removed` is true.
    Dropped {
        format: String = words::OF_DROP,
        version: u64,
        is_removed: bool,
        failures: Vec<DroppedFailure>,
    }
    /// A failure with its files, and the reason why it is stale. Files that the user has named have no reason.
    DroppedFailure { path: String, files: Vec<String>, why: Option<String> }
    /// The answer of `cargo unpause replay`: the command, and the tests that it has run.
    Replayed {
        format: String = words::OF_REPLAY,
        version: u64,
        command: String,
        is_run: bool,
        exit_code: Option<u64>,
        same_failure: Option<bool>,
        tests: Vec<ReplayedTest>,
    }
    /// A test that a replay has run.
    ReplayedTest {
        test: String,
        package: String,
        passed: bool,
        kind: Option<String>,
        failure: Option<String>,
        diverged: bool,
        screen: String,
    }
    /// The answer of `cargo unpause init`: the lines to add, which are in the files if `is_written` is true.
    Initialized {
        format: String = words::OF_INIT,
        version: u64,
        is_written: bool,
        changes: Vec<ManifestChange>,
    }
    /// The lines to add to a manifest.
    ManifestChange { path: String, added: Vec<AddedLine> }
    /// A line of a changed manifest, by its number from 1.
    AddedLine { line: u64, text: String }
}

impl Listed {
    /// The format of this answer.
    pub const FORMAT: &str = words::OF_LS[0];
}

impl Kept {
    /// The format of this answer.
    pub const FORMAT: &str = words::OF_KEEP[0];
}

impl Dropped {
    /// The format of this answer.
    pub const FORMAT: &str = words::OF_DROP[0];
}

impl Replayed {
    /// The format of this answer.
    pub const FORMAT: &str = words::OF_REPLAY[0];
}

impl Initialized {
    /// The format of this answer.
    pub const FORMAT: &str = words::OF_INIT[0];
}

/// Returns the JSON schema of these answers: docs/answers.schema.json.
pub fn answers_schema() -> Value {
    let mut structs = Map::new();
    let answers = [
        Listed::schema(&mut structs),
        Kept::schema(&mut structs),
        Dropped::schema(&mut structs),
        Replayed::schema(&mut structs),
        Initialized::schema(&mut structs),
    ];
    for schema in structs.values_mut() {
        if let Some(version) = schema["properties"].get_mut("version") {
            *version = json!({"type": "integer", "const": ANSWERS});
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An answer of a command of unpause, version 1",
        "description": "The fields are described in json.md beside this file.",
        "oneOf": answers,
        "$defs": structs,
    })
}

/// Returns an answer as a line of JSON.
pub(crate) fn line(answer: &impl Part) -> String {
    format!("{}\n", answer.write().unwrap_or_default())
}
