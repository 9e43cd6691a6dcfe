//! The recorded logs of etcd, in the folder that the variable `UNPAUSE_HISTORIES` names.

use std::path::PathBuf;

use sim::check::datum::Datum;
use sim::check::models::CasRegister;
use unpause_histories::{format_of, operations, read};

use super::history::History;

const VARIABLE: &str = "UNPAUSE_HISTORIES";
const FAMILY: &str = "etcd-register";

/// Returns the reason if there are no logs.
pub(super) fn missing() -> Option<String> {
    match folder() {
        None => Some(format!("{VARIABLE} is not set")),
        Some(folder) if !folder.is_dir() => Some(format!("{} is no folder", folder.display())),
        Some(_) => None,
    }
}

/// Returns the number of logs.
pub(super) fn count() -> usize {
    table().len()
}

/// Reads all logs, with the published verdicts.
///
/// # Panics
/// If a file is missing or differs from the table of verdicts.
pub(super) fn histories() -> Vec<History<CasRegister<Datum>>> {
    let folder = folder().expect("asked for only if it is there");
    let history = |(file, expected): (String, bool)| {
        let bytes = std::fs::read(folder.join(&file)).expect(&file);
        let format = format_of(&file, &bytes).unwrap_or_else(|problem| panic!("{file}: {problem}"));
        let recording = read(&bytes[..], format).unwrap_or_else(|e| panic!("{file}: {e}"));
        let read = operations::<CasRegister>(&recording, recording.nil);
        let operations = read.unwrap_or_else(|e| panic!("{file}: {e}")).operations;
        History { operations, expected }
    };
    table().into_iter().map(history).collect()
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(|root| PathBuf::from(root).join(FAMILY))
}

/// Returns the files, each with `true` if its history is linearizable.
fn table() -> Vec<(String, bool)> {
    let path = folder().expect("asked for only if it is there").join("verdicts.tsv");
    let table = std::fs::read_to_string(path).expect("verdicts.tsv");
    let row = |row: &str| {
        let columns: Vec<&str> = row.split('\t').collect();
        let [file, _format, _model, initial, verdict, ..] = columns[..] else {
            panic!("{row}");
        };
        assert_eq!(initial, "null", "a log begins with nothing: {row}");
        (file.to_owned(), verdict == "ok")
    };
    table.lines().skip(1).map(row).collect()
}
