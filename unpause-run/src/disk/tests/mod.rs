//! Tests of the model against definitions that share no code with it, and against a real file system.

mod access;
mod cases;
mod cost;
mod crashes;
mod errors;
mod maps;
mod media;
mod moods;
mod program;
mod real;
mod reference;
mod wal;

use std::path::Path;

use super::*;

/// Returns all results of `body` with the answers that led to them. Enumerates the answers to its draws depth first.
fn enumerate<T>(mut body: impl FnMut(Draw<'_>) -> T) -> Vec<(T, Vec<u64>)> {
    let mut results = Vec::new();
    let mut script: Vec<u64> = Vec::new();
    loop {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        let result = body(&mut |bound| {
            assert!(bound > 0);
            let answer = script.get(taken.len()).copied().unwrap_or(0);
            taken.push((answer, bound));
            answer
        });
        results.push((result, taken.iter().map(|(answer, _)| *answer).collect()));
        // The last question whose answers are not exhausted gets its next answer.
        let Some(last) = taken.iter().rposition(|(answer, bound)| answer + 1 < *bound) else {
            return results;
        };
        script = taken[..=last].iter().map(|(answer, _)| *answer).collect();
        script[last] += 1;
    }
}

/// The answers of a run without faults.
fn newest(_bound: u64) -> u64 {
    0
}

fn disk(rules: Rules) -> Disk {
    Disk::new(Settings { rules, sector: 2, ..Settings::default() })
}

const READ: OpenOptions = OpenOptions {
    read: true,
    write: false,
    append: false,
    truncate: false,
    create: false,
    create_new: false,
    sync: false,
};
const WRITE: OpenOptions = OpenOptions { read: false, write: true, ..READ };
const MAP: OpenOptions = OpenOptions { read: true, ..WRITE };
const CREATE: OpenOptions = OpenOptions { create: true, ..WRITE };

/// The content of a file, `-` if there is none, `dir` for a directory, `''` for an empty file; zero bytes are `0`.
fn show(disk: &mut Disk, path: &str, draw: Draw<'_>) -> String {
    let mut call = disk.call(draw);
    let path = Path::new(path);
    let Ok(metadata) = call.metadata(path) else { return "-".to_owned() };
    if metadata.kind == Kind::Directory {
        return "dir".to_owned();
    }
    let handle = call.open(path, READ).unwrap();
    let mut bytes = vec![0; metadata.len as usize];
    assert_eq!(call.read(handle, &mut bytes).unwrap(), bytes.len());
    disk.close(handle);
    text(&bytes)
}

fn text(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".to_owned();
    }
    bytes.iter().map(|byte| if *byte == 0 { '0' } else { char::from(*byte) }).collect()
}
