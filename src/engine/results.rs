//! Results of long explorations, as JSON lines. The next run of the test continues from them, and `cargo unpause merge`
//! merges them with the results of other shards.
//!
//! Each test has one file for each shard, `<folder>/<package>/<test>/<k>-of-<n>.jsonl`. The first line of a file
//! identifies the exploration, including the hash of the program. Further lines follow about once per second. These
//! lines contain the positions whose seeds passed, the counts over exactly these runs ([`Tally`]), and the failures.
//! Lines are only appended, and readers ignore incomplete lines. Therefore a file can be resumed after a killed process
//! or a full disk. Several processes may write to one file. Each process continues from a position in the file, and
//! readers select lines that form a contiguous sequence ([`chain`]).
//!
//! Each further phase of a model has its own file, `<k>-of-<n>-phase-<number>.jsonl`. A search with a certificate keeps
//! the decisions of its runs beside its results, in `<k>-of-<n>.decisions`.

use unpause_ordered::{Map, Set};
mod binary;
mod census;
#[allow(dead_code, reason = "the real build has no runs of plain threads")]
mod helped;
mod json;
mod must_fail;
mod part;
#[allow(dead_code, reason = "the real build has no searches")]
mod search;
mod tally;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use self::helped::HelpedLine;
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::json::{Json, list, quoted};
pub use self::must_fail::MustFail;
use self::part::PHASE;
pub use self::part::{
    EndRecord, Failed, ResultsFile, ResultsHeader, SearchCommand, Segment, Subject, Unread, chain,
};
use self::search::OpenedFile;
#[cfg(test)]
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::search::read_back;
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::search::{AuditLine, SearchLog, SeenBySlice, SliceKey, SliceLine, TopLine};
pub use self::search::{Ledger, SearchLines, one_search};
pub use self::tally::Tally;

use crate::engine::config::{Config, InvalidSetting, Shard};
use crate::engine::persistence;
use crate::engine::runner::Site;
use crate::native;
use crate::report::{Finding, Origin, Report, one_line};
use crate::run::{Failure, Outcome};
use crate::seam::SIMULATED;
use crate::strategy::search::Apart;

/// The minimum time between two lines that one process writes to a file.
const INTERVAL: Duration = Duration::from_secs(1);
/// The interval for long lines: coverage and statistics list every class and every history.
const INTERVAL_LONG: Duration = Duration::from_secs(10);

/// The file extension of results.
const RESULTS_ENDING: &str = "jsonl";

/// The result files that tests of this process have written. If a second test opens the same file, it is another run of
/// the same test or another `Runner` of the same name. The file then contains seeds of the first test, so the second
/// test is refused.
static TAKEN: Mutex<Set<PathBuf>> = Mutex::new(Set::new());

/// Clears the list of written files, to simulate a new process.
#[cfg(test)]
pub(crate) fn forget_taken() {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The results of one test and shard. The results are discarded unless the settings name a folder.
pub(crate) struct Results {
    log: Option<ResultsLog>,
    /// The result file of a search.
    search: Option<SearchLog>,
    /// The number of seeds, from the first seed of the shard on, that passed in earlier processes.
    begin: u64,
}

struct ResultsLog {
    path: PathBuf,
    /// The path as shown in messages.
    name: String,
    header: ResultsHeader,
    ledger: Mutex<ResultsLedger>,
}

/// Counts over the seeds of a shard, and their result file.
struct ResultsLedger {
    file: File,
    last: Instant,
    /// Counts over the positions `0..written`.
    whole: Tally,
    written: u64,
    /// Counts over the positions `written..through`.
    since: Tally,
    through: u64,
    /// Finished ranges of positions beyond `through`, while earlier positions are still running. Maps the start of a
    /// range to its end and its counts.
    // Invariant: no two ranges are adjacent; `add` merges adjacent ranges.
    islands: Map<u64, (u64, Tally)>,
    /// Lines with counts that are included in `whole`, but not yet written to the file.
    kept_back: String,
    /// True if the file may end within a line.
    torn: bool,
    /// The error of the last write, or `None` if it succeeded.
    lost: Option<io::Error>,
}

impl Results {
    /// Creates results that are discarded.
    pub(crate) fn nowhere() -> Results {
        Results { log: None, search: None, begin: 0 }
    }

    /// Opens the file of this test and shard, and reads which seeds passed.
    pub(crate) fn open(
        config: &Config,
        site: &Site,
        must_fail: &MustFail,
    ) -> Result<Results, InvalidSetting> {
        // Replays and single seeds are for inspection, so their results are not recorded.
        let counts = config.replay.is_none() && !config.one_seed;
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
        let header = header(config, site, must_fail).map_err(|why| {
            invalid(format!("for a program whose file can be read, and this one cannot: {why}"))
        })?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.contains(&path) {
            return Err(invalid(format!(
                "a folder in which this test has a file to itself: this process has already written \
                 {name} for a Runner of the same name. Give each Runner a name of its own, with \
                 Runner::name"
            )));
        }
        let refused =
            |why| invalid(format!("a folder that can be gone on from, and {name} cannot: {why}"));
        let opened = open(&path, &header).map_err(refused)?;
        taken.insert(path.clone());
        drop(taken);
        if config.strategy.is_search() {
            let others = learnt_by_others(&path, &header);
            let about = (name.clone(), header, others);
            let log = SearchLog::new(about, opened, config.certify.is_some()).map_err(refused)?;
            return Ok(Results { log: None, search: Some(log), begin: 0 });
        }
        let OpenedFile { file, is_torn: torn, part, .. } = opened;
        let segments = chain(part.map_or_else(Vec::new, |part| part.segments));
        let mut whole = Tally::default();
        let begin = segments.last().map_or(0, |segment| segment.to);
        segments.into_iter().for_each(|segment| whole.merge(segment.tally));
        let ledger = ResultsLedger::new(file, torn, whole, begin);
        let log = ResultsLog { path, name, header, ledger: Mutex::new(ledger) };
        Ok(Results { log: Some(log), search: None, begin })
    }

    /// Returns the result file of a search, if any.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(crate) fn search(&self) -> Option<&SearchLog> {
        self.search.as_ref()
    }

    /// Returns the position of the first seed to run. All earlier seeds passed in earlier processes.
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    /// Records that the seeds at these positions passed, with the counts over their runs. Drains `tally` if there is a
    /// file; otherwise leaves it to accumulate.
    pub(crate) fn passed(&self, positions: Range<u64>, tally: &mut Tally) {
        let Some(log) = &self.log else { return };
        // The last range is clipped, because a shard without seeds runs a seed of another shard, which does not count.
        let positions = positions.start..positions.end.min(log.header.positions());
        if positions.is_empty() {
            return;
        }
        let mut ledger = log.lock();
        ledger.add(positions, tally.take());
        let long = ledger.since.census.is_some() || ledger.since.statistics.is_some();
        let interval = if long { INTERVAL_LONG } else { INTERVAL };
        if ledger.last.elapsed() >= interval {
            ledger.write("", "");
        }
    }

    /// Returns the counts over all passed seeds before the first unfinished seed, including the seeds of earlier
    /// processes. `None` if there is no file. Must be called at most once, at the end.
    pub(crate) fn counted(&self) -> Option<Tally> {
        let mut ledger = self.log.as_ref()?.lock();
        let line = ledger.line();
        ledger.kept_back.push_str(&line);
        Some(std::mem::take(&mut ledger.whole))
    }

    /// Returns the number of seeds of the shard that the next process must run.
    pub(crate) fn left(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.header.positions() - log.lock().through)
    }

    /// Returns `true` if there is a file.
    pub(crate) fn are_written(&self) -> bool {
        self.log.is_some() || self.search.is_some()
    }

    /// Writes the failure, if any, and the last counts. Adds notes for the user to the report.
    pub(crate) fn end(&self, report: &mut Report) {
        if let Some(log) = &self.search {
            log.end(report);
        }
        let Some(log) = &self.log else { return };
        let mut ledger = log.lock();
        // The failure is written first, so that it is not lost if the write is cut off.
        let text = match report.finding.as_deref() {
            Some(finding) => {
                failed(finding, &log.header).map_or(String::new(), |failed| failed.line())
            }
            None => String::new(),
        };
        let foreign = report.coverage.as_ref().map(|coverage| coverage.foreign);
        let end = EndRecord { rehearsals: report.rehearsals, foreign };
        let at_end = if text.is_empty() { end.line() } else { String::new() };
        ledger.write(&text, &at_end);
        let (name, test) = (&log.name, report.test.clone());
        let mut note = |text: String| report.notes.push(format!("{test}: {text}"));
        if self.begin > 0 {
            note(format!(
                "{} seeds were not run: according to {name} they passed before, in this same program",
                self.begin
            ));
        }
        let left = log.header.positions() - ledger.through;
        if left > 0 && text.is_empty() {
            note(format!("{left} seeds are left to run: run it again to continue from {name}"));
        }
        if let Some(error) = ledger.lost.take() {
            note(format!("{name} could not be written: {error}"));
        } else if !log.path.exists() {
            note(format!("{name} was removed while the test ran, and its results are lost"));
        }
    }
}

impl ResultsLog {
    fn lock(&self) -> MutexGuard<'_, ResultsLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResultsLedger {
    fn new(file: File, torn: bool, whole: Tally, begin: u64) -> ResultsLedger {
        ResultsLedger {
            file,
            last: Instant::now(),
            whole,
            written: begin,
            since: Tally::default(),
            through: begin,
            islands: Map::new(),
            kept_back: String::new(),
            torn,
            lost: None,
        }
    }

    /// Adds the counts over these positions. The positions must not overlap positions that were added before.
    fn add(&mut self, positions: Range<u64>, mut tally: Tally) {
        let Range { mut start, mut end } = positions;
        let before = self.islands.range(..start).next_back();
        if let Some((from, _)) = before.filter(|(_, (to, _))| *to == start) {
            let from = *from;
            let (_, known) = self.islands.remove(&from).expect("it was just found");
            (start, tally) = (from, sum(known, tally));
        }
        if let Some((to, known)) = self.islands.remove(&end) {
            (end, tally) = (to, sum(tally, known));
        }
        if start == self.through {
            self.since.merge(tally);
            self.through = end;
        } else {
            self.islands.insert(start, (end, tally));
        }
    }

    /// Moves `since` into `whole` and returns its line. The line is empty if there are no new counts.
    fn line(&mut self) -> String {
        if self.through == self.written {
            return String::new();
        }
        let tally = std::mem::take(&mut self.since);
        let segment = Segment { from: self.written, to: self.through, tally };
        let line = segment.line();
        self.whole.merge(segment.tally);
        self.written = self.through;
        line
    }

    /// Writes `first`, all pending lines including the lines of failed attempts, and `last`. A failed attempt may have
    /// written some of the lines already, but readers ignore duplicates.
    fn write(&mut self, first: &str, last: &str) {
        self.last = Instant::now();
        let line = self.line();
        let lines = format!("{first}{}{line}{last}", std::mem::take(&mut self.kept_back));
        if lines.is_empty() {
            return;
        }
        // Each line is written by a single call, so the lines of several processes are not mixed. The line feed
        // terminates an earlier line that was cut off.
        let begin = if self.torn { "\n" } else { "" };
        match self.file.write_all(format!("{begin}{lines}").as_bytes()) {
            Ok(()) => (self.torn, self.lost) = (false, None),
            Err(error) => {
                (self.torn, self.lost) = (true, Some(error));
                self.kept_back = lines;
            }
        }
    }
}

/// Returns the sum of two tallies.
fn sum(mut one: Tally, other: Tally) -> Tally {
    one.merge(other);
    one
}

fn path(folder: &Path, config: &Config, site: &Site) -> PathBuf {
    let folder = persistence::where_user_is(folder, site);
    let test = persistence::folder_name(&site.key());
    let phase = config.phase().map_or(String::new(), |phase| format!("-phase-{phase}"));
    let Shard { number, of } = config.shard;
    let shard = format!("{number}-of-{of}{phase}.{RESULTS_ENDING}");
    folder.join(persistence::folder_name(&site.package)).join(test).join(shard)
}

/// Opens a file for appending, and reads it.
fn open(path: &Path, header: &ResultsHeader) -> Result<OpenedFile, String> {
    let text = |error: io::Error| error.to_string();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(text)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(text)?;
    let bytes = fs::read(path).map_err(text)?;
    // The file is never truncated, because another process may be appending to it.
    let torn = bytes.last().is_some_and(|last| *last != b'\n');
    let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (read, unended) = (ended as u64, bytes[ended..].to_vec());
    let part = match ResultsFile::read(&bytes) {
        Ok(part) => part,
        Err(Unread::Begun) => {
            let begin = if torn { "\n" } else { "" };
            file.write_all(format!("{begin}{}\n", header.line()).as_bytes()).map_err(text)?;
            return Ok(OpenedFile {
                path: path.to_owned(),
                file,
                is_torn: false,
                read,
                unended,
                part: None,
            });
        }
        Err(Unread::Foreign) => {
            return Err("it is not a file of results. Name another folder".to_owned());
        }
        Err(Unread::Line(line, why)) => {
            return Err(format!("line {line}: {why}. Name another folder, or delete it"));
        }
    };
    let differences = part.header.differences(header);
    if !differences.is_empty() {
        let program = part.header.subject.binary != header.subject.binary;
        let why = match program {
            true => "; results of another program do not apply to this one",
            false => "",
        };
        return Err(format!(
            "it is of another run ({}){why}. Name another folder, one for each state of the code and its \
             settings. Delete it only if the other run is no longer needed",
            differences.join("; "),
        ));
    }
    let part = Some(part);
    Ok(OpenedFile { path: path.to_owned(), file, is_torn: torn, read, unended, part })
}

/// Returns the criteria that other shares of the search have learned for distinguishing runs, as far as their files are
/// present.
fn learnt_by_others(path: &Path, header: &ResultsHeader) -> Apart {
    let files = path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let is_other = |other: &PathBuf| {
        *other != path && other.extension().is_some_and(|ending| ending == RESULTS_ENDING)
    };
    let files = files.flatten().map(|entry| entry.path()).filter(is_other);
    let read = |file: PathBuf| ResultsFile::read(&fs::read(file).ok()?).ok();
    let same =
        |file: &ResultsFile| file.header.subject == header.subject && file.header.of == header.of;
    files
        .filter_map(read)
        .filter(same)
        .fold(Apart::NOTHING, |all, file| all.and(file.search.learnt()))
}

/// Returns the test, the program and the settings, without the required failure of the test.
///
/// # Errors
/// If the identity of this program cannot be determined.
pub(crate) fn subject(config: &Config, site: &Site) -> Result<Subject, String> {
    Ok(Subject {
        test: site.test.clone(),
        package: site.package_and_version(),
        target: site.target.label(),
        must_fail: MustFail::No,
        settings: config.in_results(),
        build: if SIMULATED { "sim" } else { "threads" }.to_owned(),
        binary: binary::binary()?.to_owned(),
        command: native::test_command().to_owned(),
    })
}

/// Creates the first line for these settings. A file with a different first line cannot be resumed.
fn header(config: &Config, site: &Site, must_fail: &MustFail) -> Result<ResultsHeader, String> {
    // A search does not use seeds.
    let is_search = config.strategy.is_search();
    let (first, count) = if is_search { (0, 0) } else { config.seeds() };
    let mut subject = Subject { must_fail: must_fail.clone(), ..subject(config, site)? };
    // The results of two phases are not added up, although both phases may have the same settings.
    subject.settings.extend(config.phase().map(|phase| (PHASE.to_owned(), phase.to_string())));
    subject.settings.extend(config.kind_in_results());
    // With `SIM_SEEDS`, a model has only its first phase, so the command would not continue a further phase.
    let search = (is_search && !site.hermetic && config.phase().is_none())
        .then(|| SearchCommand { command: site.search_command(), runs: config.runs });
    let (shard, of) = (config.shard.number, config.shard.of);
    let must_prove = is_search && config.must_prove;
    let plain_threads = config.is_native();
    Ok(ResultsHeader { subject, first, count, shard, of, search, must_prove, plain_threads })
}

/// Converts the failure of a report to a line. Two kinds of failures are not written, because later processes may
/// change them. Conditions that held in too few runs are judged from the counts, and a required proof from the whole
/// search.
fn failed(finding: &Finding, header: &ResultsHeader) -> Option<Failed> {
    let Outcome::Failed(failure) = &finding.run.outcome else { return None };
    if matches!(failure, Failure::TooSeldom { .. } | Failure::Unproven { .. }) {
        return None;
    }
    let (seed, file) = match &finding.from {
        Origin::Seed(seed) | Origin::Reordered(seed) => {
            (Some(seed.0).filter(|seed| header.has(*seed)), None)
        }
        Origin::File(file) => (None, Some(file.clone())),
        Origin::Inline | Origin::Sampled(_) => (None, None),
    };
    let signature = failure.signature();
    Some(Failed {
        seed,
        file,
        kind: signature.kind.to_owned(),
        place: signature.place,
        what: one_line(failure, &finding.run),
        trace: finding.trace_file.clone(),
        replay: finding.replay.clone(),
    })
}

#[cfg(test)]
mod tests;
