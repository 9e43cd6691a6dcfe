//! Results of long explorations: JSON lines that are resumed by the next run and merged with those of
//! other shards by `cargo sim merge`.
//!
//! Each test has a file of its own for each shard, `<folder>/<package>/<test>/<k>-of-<n>.jsonl`. Its
//! first line says what is explored. After it come how many seeds of the shard have passed, from the
//! first on, about once a second, and what failed. Lines are only ever added, so whatever ends the
//! process leaves a file that can be gone on from: what is cut off in the middle of a line is taken
//! off. Two processes that write the same file tell the truth both.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Config, InvalidSetting};
use crate::persistence;
use crate::report::{Finding, Origin, Report, one_line};
use crate::run::Outcome;
use crate::runner::Site;
use crate::seam::SIMULATED;

/// How often it is written down how far an exploration is.
const INTERVAL: Duration = Duration::from_secs(1);

/// The files that tests of this process have written. One of these is the business of another test, which has
/// the same name, or of another run of the same one: what it says passed was not this.
static TAKEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Where the results of one test go. Nowhere, unless a folder was asked for.
pub(crate) struct Results {
    log: Option<Log>,
    /// How many seeds, from the first of the shard on, had passed before.
    begin: u64,
    /// How many have passed by now.
    passed: AtomicU64,
}

struct Log {
    /// As the user is to see it.
    name: String,
    lines: Mutex<Lines>,
}

struct Lines {
    file: File,
    last: Instant,
    /// The first line that could not be written.
    lost: Option<io::Error>,
}

impl Results {
    /// Those that are not written down.
    pub(crate) fn nowhere() -> Results {
        Results { log: None, begin: 0, passed: AtomicU64::new(0) }
    }

    /// Opens the file of this test and shard, and reads how far it is.
    pub(crate) fn open(config: &Config, site: &Site) -> Result<Results, InvalidSetting> {
        // A search makes its runs from those before, and cannot go on from any.
        let counts = config.replay.is_none() && config.strategy.search().is_none();
        let Some(folder) = config.results.as_deref().filter(|_| counts) else {
            return Ok(Results::nowhere());
        };
        let invalid = |grammar: String| InvalidSetting {
            name: "results".to_owned(),
            value: folder.display().to_string(),
            grammar,
        };
        let path = path(folder, config, site);
        let name = persistence::shorter(path.clone(), site).display().to_string();
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.contains(&path) {
            return Err(invalid(format!(
                "a folder in which this test has a file to itself: this process has already written \
                 {name} for a Runner of the same name. Give each Runner a name of its own, with \
                 Runner::name"
            )));
        }
        let opened = open(&path, &header(config, site));
        let (file, begin) = opened.map_err(|why| {
            invalid(format!("a folder that can be gone on from, and {name} cannot: {why}"))
        })?;
        taken.insert(path);
        drop(taken);
        let lines = Mutex::new(Lines { file, last: Instant::now(), lost: None });
        let log = Some(Log { name, lines });
        Ok(Results { log, begin, passed: AtomicU64::new(begin) })
    }

    /// The position of the first seed to run: those before it passed.
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    /// So many seeds, from the first of the shard on, have passed. Not asked if nobody wants to know.
    pub(crate) fn passed(&self, count: impl FnOnce() -> u64) {
        let Some(log) = &self.log else { return };
        self.passed.fetch_max(count(), Ordering::Relaxed);
        // Who does not get it leaves it to who has it.
        let Ok(mut lines) = log.lines.try_lock() else { return };
        if lines.last.elapsed() >= INTERVAL {
            lines.write(&self.done());
        }
    }

    /// Writes down how it ended, and tells the reader of the report what he has to know.
    pub(crate) fn end(&self, report: &mut Report) {
        let Some(log) = &self.log else { return };
        let mut lines = log.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.write(&self.done());
        if let Some(finding) = &report.finding {
            lines.write(&failed(finding));
        }
        if self.begin > 0 {
            report.warnings.push(format!(
                "{} seeds were not run: {} says that they passed before. Delete it if the code has \
                 changed since",
                self.begin, log.name
            ));
        }
        if let Some(error) = lines.lost.take() {
            report.warnings.push(format!("{} could not be written: {error}", log.name));
        }
    }

    fn done(&self) -> String {
        format!("{{\"done\":{}}}\n", self.passed.load(Ordering::Relaxed))
    }
}

impl Lines {
    /// In one call, so that lines of several processes do not mix.
    fn write(&mut self, line: &str) {
        self.last = Instant::now();
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            self.lost.get_or_insert(error);
        }
    }
}

fn path(folder: &Path, config: &Config, site: &Site) -> PathBuf {
    let folder = persistence::where_user_is(folder, site);
    let test = persistence::folder_name(&site.key());
    let shard = format!("{}-of-{}.jsonl", config.shard.number, config.shard.of);
    folder.join(persistence::folder_name(&site.package)).join(test).join(shard)
}

/// The file, open at its end, and how many seeds it says have passed.
fn open(path: &Path, header: &str) -> Result<(File, u64), String> {
    let text = |error: io::Error| error.to_string();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(text)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(text)?;
    let bytes = fs::read(path).map_err(text)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < bytes.len() {
        file.set_len(whole as u64).map_err(text)?;
    }
    let lines = std::str::from_utf8(&bytes[..whole]).map_err(|_| "it is not text".to_owned())?;
    let Some(first) = lines.lines().next() else {
        file.write_all(format!("{header}\n").as_bytes()).map_err(text)?;
        return Ok((file, 0));
    };
    if first != header {
        return Err(format!(
            "it is of another run. It begins with\n\n  {first}\n\nand this one with\n\n  {header}\n\n\
             Delete it, or name another folder"
        ));
    }
    let mut passed = 0;
    for (index, line) in lines.lines().enumerate().skip(1) {
        let done = line.strip_prefix("{\"done\":").and_then(|rest| rest.strip_suffix('}'));
        match done.map(str::parse::<u64>) {
            Some(Ok(done)) => passed = done.max(passed),
            None if line.starts_with("{\"failed\":") => {}
            _ => return Err(format!("line {} is no line of results. Delete it", index + 1)),
        }
    }
    Ok((file, passed))
}

/// What is explored. A file is gone on from if this is the same.
fn header(config: &Config, site: &Site) -> String {
    let (first, count) = config.seeds();
    let strategy = config.strategy.name();
    // A seed that passes without it may fail with it.
    let strategy =
        if config.closure { format!("{strategy}, closure") } else { strategy.to_owned() };
    format!(
        "{{\"sim\":1,\"package\":{},\"target\":{},\"test\":{},\"first\":{first},\"count\":{count},\"shard\":{},\
         \"of\":{},\"strategy\":{},\"steps\":{},\"build\":{}}}",
        json(&site.package_and_version()),
        json(&site.target.label()),
        json(&site.test),
        config.shard.number,
        config.shard.of,
        json(&strategy),
        config.steps_max,
        json(if SIMULATED { "sim" } else { "threads" }),
    )
}

fn failed(finding: &Finding) -> String {
    let Outcome::Failed(failure) = &finding.run.outcome else { return String::new() };
    let (seed, file) = match &finding.from {
        Origin::Seed(seed) | Origin::Reordered(seed) | Origin::Sampled(seed) => {
            (seed.to_string(), "null".to_owned())
        }
        Origin::File(file) => ("null".to_owned(), json(file)),
        Origin::Inline => ("null".to_owned(), "null".to_owned()),
    };
    let optional = |text: &Option<String>| text.as_deref().map_or("null".to_owned(), json);
    let signature = failure.signature();
    format!(
        "{{\"failed\":{seed},\"file\":{file},\"kind\":{},\"place\":{},\"what\":{},\"trace\":{},\
         \"replay\":{}}}\n",
        json(signature.kind),
        json(&signature.place),
        json(&one_line(failure, &finding.run)),
        optional(&finding.trace_file),
        optional(&finding.replay),
    )
}

/// Text in JSON (RFC 8259, section 7).
fn json(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "{\"sim\":1}";

    fn opened(name: &str, content: &[u8]) -> (PathBuf, Result<u64, String>) {
        let folder = std::env::temp_dir().join(format!("sim-results-{}", std::process::id()));
        let path = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, content).unwrap();
        let opened = open(&path, HEADER).map(|(_, passed)| passed);
        (path, opened)
    }

    #[test]
    fn a_file_is_gone_on_from_whatever_ended_it() {
        let content = b"{\"sim\":1}\n{\"done\":7}\n{\"failed\":3,\"file\":null}\n{\"done\":12}\n";
        for length in 0..=content.len() {
            let (path, passed) = opened("cut", &content[..length]);
            let lines = content[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(passed, Ok([0, 0, 7, 7, 12][lines]), "{length}");
            let kept = fs::read(&path).unwrap();
            assert!(content.starts_with(&kept[..kept.len().min(length)]));
            assert!(kept.ends_with(b"\n"));
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn what_is_no_results_is_not_gone_on_from() {
        for (name, content, said) in [
            ("other", &b"{\"sim\":1,\"count\":2}\n"[..], "of another run"),
            ("line", b"{\"sim\":1}\n{\"done\":1}\nx\n", "line 3"),
            ("huge", b"{\"sim\":1}\n{\"done\":99999999999999999999}\n", "line 2"),
            ("bytes", b"\xff\xfe\n", "not text"),
        ] {
            let (path, passed) = opened(name, content);
            assert!(passed.as_ref().is_err_and(|why| why.contains(said)), "{name}: {passed:?}");
            assert_eq!(fs::read(&path).unwrap(), content, "it was changed");
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(json("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\nd\\u0001é\"");
    }
}
