//! A file of results: what one shard of one test has done.

use serde_json::Value;

use super::seeds::Every;

/// What was explored. Seeds of different subjects are different runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Subject {
    pub(super) test: String,
    pub(super) package: String,
    /// Such as `bin tool`; empty in old files, which do not say.
    pub(super) target: String,
    pub(super) strategy: String,
    /// Steps that a run may take.
    pub(super) steps: u64,
    /// `sim` or `threads`.
    pub(super) build: String,
}

/// What one file says.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) subject: Subject,
    /// The seeds of all shards together.
    pub(super) asked: Every,
    /// Those of this one that passed.
    pub(super) passed: Every,
    pub(super) failures: Vec<Failure>,
}

/// A failure that was found.
#[derive(Debug)]
pub(super) struct Failure {
    /// None if it was not found by running seeds.
    pub(super) seed: Option<u64>,
    /// The trace that was kept and failed again, if it was one.
    pub(super) file: Option<String>,
    pub(super) kind: String,
    pub(super) place: String,
    pub(super) what: String,
    pub(super) trace: Option<String>,
    pub(super) replay: Option<String>,
}

impl Part {
    /// Reads a file; none if nothing was written to it yet. Says whether it ends within a line. An
    /// error says where: `:3: …`.
    pub(super) fn read(bytes: &[u8]) -> Result<(Option<Part>, bool), String> {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Ok((None, !bytes.is_empty()));
        };
        let cut_off = end + 1 < bytes.len();
        let mut lines = bytes[..end].split(|byte| *byte == b'\n').zip(1..);
        let (first, _) = lines.next().unwrap_or_default();
        let at = |line: usize, why: String| format!(":{line}: {why}");
        let mut part = value(first).and_then(|header| head(&header)).map_err(|why| at(1, why))?;
        let positions = part.passed.count;
        part.passed.count = 0;
        for (text, line) in lines {
            part.take(text, positions).map_err(|why| at(line, why))?;
        }
        Ok((Some(part), cut_off))
    }

    fn take(&mut self, text: &[u8], positions: u64) -> Result<(), String> {
        let line = value(text)?;
        if line.get("done").is_some() {
            let done = number(&line, "done")?;
            if done > positions {
                return Err(format!("{done} seeds passed of a shard that has {positions}"));
            }
            self.passed.count = self.passed.count.max(done);
            return Ok(());
        }
        let Some(seed) = line.get("failed") else {
            return Err("neither `done` nor `failed`".to_owned());
        };
        self.failures.push(Failure {
            seed: if seed.is_null() { None } else { Some(number(&line, "failed")?) },
            file: optional(&line, "file")?,
            kind: string(&line, "kind")?,
            place: string(&line, "place")?,
            what: string(&line, "what")?,
            trace: optional(&line, "trace")?,
            replay: optional(&line, "replay")?,
        });
        Ok(())
    }
}

/// What the first line says; `passed` are all seeds of the shard.
fn head(header: &Value) -> Result<Part, String> {
    if header.get("sim") != Some(&Value::from(1)) {
        return Err("no results of unpause: the first line has no \"sim\":1".to_owned());
    }
    let (first, count) = (number(header, "first")?, number(header, "count")?);
    let (shard, of) = (number(header, "shard")?, number(header, "of")?);
    if !(1..=of).contains(&shard) {
        return Err(format!("there is no shard {shard} of {of}"));
    }
    if first.checked_add(count).is_none() {
        return Err(format!("there are not {count} seeds from {first} on"));
    }
    let positions = count.checked_sub(shard).map_or(0, |left| left / of + 1);
    // The first seed of a shard without seeds does not matter.
    let from = first.saturating_add(shard - 1);
    Ok(Part {
        subject: Subject {
            test: string(header, "test")?,
            package: string(header, "package")?,
            target: optional(header, "target")?.unwrap_or_default(),
            strategy: string(header, "strategy")?,
            steps: number(header, "steps")?,
            build: string(header, "build")?,
        },
        asked: Every { from: first, of: 1, count },
        passed: Every { from, of, count: positions },
        failures: Vec::new(),
    })
}

fn value(line: &[u8]) -> Result<Value, String> {
    // The line and column that it names are those within this line.
    serde_json::from_slice(line).map_err(|error| format!("column {}: no JSON", error.column()))
}

fn number(of: &Value, name: &str) -> Result<u64, String> {
    let found = of.get(name).and_then(Value::as_u64);
    found.ok_or_else(|| format!("`{name}` is not a whole number"))
}

fn string(of: &Value, name: &str) -> Result<String, String> {
    let found = of.get(name).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| format!("`{name}` is not text"))
}

fn optional(of: &Value, name: &str) -> Result<Option<String>, String> {
    match of.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => string(of, name).map(Some),
    }
}
