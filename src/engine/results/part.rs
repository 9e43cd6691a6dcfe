//! The reader of result files. A file contains the results of one shard of one test. Tests that resume a file and
//! `cargo unpause merge` share this reader, so that both accept the same files.

use super::json::{Json, quoted};
use super::must_fail::MustFail;
use super::search::{self, SearchLines};
use super::tally::Tally;
use crate::engine::config::{EACH_ORDER, differing};
use crate::run::clock_mode::ClockMode;
use crate::run::memory_model::MemoryModel;
use crate::strategy::STRATEGIES;
use unpause_ordered::{Map, sort_by_key};

/// The version of the file format.
const VERSION: u64 = 4;

/// The first bytes of a result file of any version.
const BEGINNING: &[u8] = b"{\"sim\":";

/// The name of the entry for the phase of a model, among the settings.
pub(super) const PHASE: &str = "phase";

/// The test, program and settings of a file. The same seed gives different runs under different subjects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subject {
    /// The path of the test, `module::path::name`.
    pub test: String,
    /// The name and the version of the package.
    pub package: String,
    /// The target of the package, such as `bin tool`.
    pub target: String,
    /// The failure that the test must have in at least one run.
    pub must_fail: MustFail,
    /// The settings that differ from the defaults and affect the runs of its seeds. Each entry has a name and a value.
    /// For a further phase of a model, an entry contains the number of the phase.
    pub settings: Vec<(String, String)>,
    /// The build of the test: `sim` or `threads`.
    pub build: String,
    /// The identity of the program.
    pub binary: String,
    /// The command that runs tests of this build, such as `cargo unpause test`.
    pub command: String,
}

/// The first line of a file: the subject and the seeds of the shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultsHeader {
    /// The subject of the results.
    pub subject: Subject,
    /// The first seed of all shards together.
    pub first: u64,
    /// The number of seeds of all shards together.
    pub count: u64,
    /// The number of this shard, from 1.
    pub shard: u64,
    /// The number of shards.
    pub of: u64,
    /// The command that continues the search. `None` for seeds, and for a test that no variable reaches.
    pub search: Option<SearchCommand>,
    /// True if the search must be a proof.
    pub must_prove: bool,
    /// True if the test has plain threads. A search of plain threads has other assumptions.
    pub plain_threads: bool,
}

/// The command that continues a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchCommand {
    /// The command with the settings of the test, but without `SIM_SHARD`, `SIM_RESULTS` and `SIM_SEEDS`.
    pub command: String,
    /// The maximum number of runs, which is the value of `SIM_SEEDS`.
    pub runs: u64,
}

/// The content of one result file.
#[derive(Debug)]
pub struct ResultsFile {
    /// The content of the first line.
    pub header: ResultsHeader,
    /// Ranges of positions that passed, in the order of the lines. The ranges overlap if several processes wrote the
    /// file.
    pub segments: Vec<Segment>,
    /// The lines of a search; empty if the strategy samples runs.
    pub search: SearchLines,
    /// The failures that processes found.
    pub failures: Vec<Failed>,
    /// A record for each process that reached the end of the test.
    pub ends: Vec<EndRecord>,
    /// The number of incomplete lines. Such lines appear if a process was killed or the disk was full.
    pub damaged: usize,
}

/// A range of consecutive positions that passed, with the counts over their runs.
#[derive(Debug)]
pub struct Segment {
    /// The first position of the range.
    pub from: u64,
    /// The position after the last position of the range.
    pub to: u64,
    /// The counts over the runs of these positions.
    pub tally: Tally,
}

/// A failure that a process found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// The seed that failed. `None` for a kept trace and for a run sampled outside the shard.
    pub seed: Option<u64>,
    /// The kept trace whose replay failed, if any.
    pub file: Option<String>,
    /// The kind of failure, such as `deadlock`.
    pub kind: String,
    /// The source location or locations of the failure.
    pub place: String,
    /// The failure on one line.
    pub what: String,
    /// The trace file, if one was written.
    pub trace: Option<String>,
    /// The replay command, if there is a trace.
    pub replay: Option<String>,
}

/// The results of a process that reached the end of the test without a failing seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndRecord {
    /// The number of rehearsals of the strategy.
    pub rehearsals: u32,
    /// True if tasks share state that coverage cannot observe; `None` if coverage was off.
    pub foreign: Option<bool>,
}

/// The reason why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unread {
    /// The first line is missing or cut off.
    Begun,
    /// The file contains something other than results.
    Foreign,
    /// A line, counted from 1, is invalid. The text is the reason.
    Line(usize, String),
}

impl Subject {
    /// Returns `true` if the search executes each order of steps as a separate run from its beginning.
    pub fn searches_each_order(&self) -> bool {
        self.setting(EACH_ORDER).is_some()
    }

    /// Returns `true` if loads may return old values.
    pub fn is_weak(&self) -> bool {
        let model = self.setting("memory").and_then(MemoryModel::parse);
        model == Some(MemoryModel::C11)
    }

    /// Returns the maximum number of early time moves in a run, if the setting `clock` bounds it.
    pub fn early_moves_max(&self) -> Option<u32> {
        match ClockMode::parse(self.setting("clock")?)? {
            ClockMode::Late(moves) => Some(moves),
            ClockMode::Last | ClockMode::Any => None,
        }
    }

    /// Returns the name of the strategy.
    pub fn strategy(&self) -> String {
        self.setting("strategy").unwrap_or(STRATEGIES[0].name).to_owned()
    }

    /// Returns the number of the phase, if the test is a further phase of a model.
    pub fn phase(&self) -> Option<&str> {
        self.setting(PHASE)
    }

    /// Returns the entries of the subject for a JSON object, without the required failure of the test.
    pub(crate) fn entries(&self) -> String {
        let Subject { test, package, target, must_fail: _, settings, build, binary, command } =
            self;
        let setting =
            |(name, value): &(String, String)| format!("{}:{}", quoted(name), quoted(value));
        let settings = settings.iter().map(setting).collect::<Vec<_>>().join(",");
        let texts = [
            ("package", package),
            ("target", target),
            ("test", test),
            ("build", build),
            ("binary", binary),
            ("command", command),
        ];
        let texts = texts.map(|(name, text)| format!("\"{name}\":{}", quoted(text)));
        format!("{},\"settings\":{{{settings}}}", texts.join(","))
    }

    /// Reads a subject from the entries of a JSON object.
    pub(crate) fn read(line: &Json) -> Result<Subject, String> {
        Ok(Subject {
            test: line.text("test")?,
            package: line.text("package")?,
            target: line.text("target")?,
            // Only the first line of a result file has this entry, and `ResultsHeader::read` reads it.
            must_fail: MustFail::No,
            settings: line.texts("settings")?,
            build: line.text("build")?,
            binary: line.text("binary")?,
            command: line.optional_text("command")?.unwrap_or_else(|| "cargo test".to_owned()),
        })
    }

    /// Returns the value of a setting; `None` if it has its default.
    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// Returns the settings in which two subjects differ, each with both values.
    pub fn differing_settings(&self, other: &Subject) -> Vec<(String, [String; 2])> {
        differing(&self.settings, &other.settings)
    }
}

impl ResultsHeader {
    /// Returns the number of seeds of the shard.
    pub fn positions(&self) -> u64 {
        // Shard `k` has the offsets `k - 1`, `k - 1 + of` and so on, below `count`.
        self.count.checked_sub(self.shard).map_or(0, |left| left / self.of + 1)
    }

    /// Returns `true` if both headers belong to the same shard of the same exploration. The limits and the requirements
    /// of two processes may differ, because they do not affect the runs.
    fn is_of_same_shard(&self, other: ResultsHeader) -> bool {
        let (search, must_prove) = (self.search.clone(), self.must_prove);
        ResultsHeader { search, must_prove, ..other } == *self
    }

    /// Returns `true` if the seed belongs to the shard.
    pub(super) fn has(&self, seed: u64) -> bool {
        let offset = seed.checked_sub(self.first).filter(|offset| *offset < self.count);
        offset.is_some_and(|offset| offset % self.of == self.shard - 1)
    }

    /// Returns the line without its line feed.
    pub(super) fn line(&self) -> String {
        let ResultsHeader { subject, first, count, shard, of, search, must_prove, plain_threads } =
            self;
        format!(
            "{{\"sim\":{VERSION},\"must_fail\":{},\"first\":{first},\"count\":{count},\"shard\":{shard},\
             \"of\":{of},{}{}{}{}}}",
            must_fail_text(&subject.must_fail),
            subject.entries(),
            search.as_ref().map_or_else(String::new, SearchCommand::entry),
            if *must_prove { ",\"must_prove\":true" } else { "" },
            if *plain_threads { ",\"plain_threads\":true" } else { "" },
        )
    }

    fn read(line: &Json) -> Result<ResultsHeader, String> {
        let (first, count) = (line.number("first")?, line.number("count")?);
        let (shard, of) = (line.number("shard")?, line.number("of")?);
        // This also refuses 0 shards, by which `positions` would divide.
        if !(1..=of).contains(&shard) {
            return Err(format!("there is no shard {shard} of {of}"));
        }
        if first.checked_add(count).is_none() {
            return Err(format!("there are not {count} seeds from {first} on"));
        }
        let must_fail = match line.flag("must_fail") {
            Ok(false) => MustFail::No,
            Ok(true) => MustFail::Somehow,
            Err(_) => MustFail::With(line.text("must_fail")?),
        };
        let subject = Subject { must_fail, ..Subject::read(line)? };
        let search = SearchCommand::read(line)?;
        let flag = |name: &str| line.get(name).map_or(Ok(false), |_| line.flag(name));
        let (must_prove, plain_threads) = (flag("must_prove")?, flag("plain_threads")?);
        Ok(ResultsHeader { subject, first, count, shard, of, search, must_prove, plain_threads })
    }

    /// Returns a text for each field that differs; empty if the headers are equal.
    pub(super) fn differences(&self, other: &ResultsHeader) -> Vec<String> {
        let (own, its) = (&self.subject, &other.subject);
        let seeds = |header: &ResultsHeader| format!("{} from {} on", header.count, header.first);
        let shard = |header: &ResultsHeader| format!("{}/{}", header.shard, header.of);
        let fails = |subject: &Subject| must_fail_text(&subject.must_fail);
        let rows = [
            ("test", own.test.clone(), its.test.clone()),
            ("package", own.package.clone(), its.package.clone()),
            ("target", own.target.clone(), its.target.clone()),
            ("must_fail", fails(own), fails(its)),
            ("seeds", seeds(self), seeds(other)),
            ("shard", shard(self), shard(other)),
            ("build", own.build.clone(), its.build.clone()),
            ("program", own.binary.clone(), its.binary.clone()),
        ];
        let rows = rows.into_iter().filter(|(_, own, its)| own != its);
        let rows = rows.map(|(what, own, its)| (what.to_owned(), [own, its]));
        let settings = differing(&own.settings, &its.settings);
        let told = rows.chain(settings);
        told.map(|(what, [own, its])| format!("{what}: {own} there, {its} here")).collect()
    }
}

impl SearchCommand {
    /// Returns the entry of the first line, with the comma before it.
    fn entry(&self) -> String {
        let SearchCommand { command, runs } = self;
        format!(",\"search\":{{\"command\":{},\"runs\":{runs}}}", quoted(command))
    }

    /// Reads the entry of the first line, if any.
    fn read(line: &Json) -> Result<Option<SearchCommand>, String> {
        let Some(entry) = line.get("search") else { return Ok(None) };
        Ok(Some(SearchCommand { command: entry.text("command")?, runs: entry.number("runs")? }))
    }
}

impl ResultsFile {
    /// Reads a file. Incomplete lines are counted and skipped, so their seeds are treated as not run.
    ///
    /// # Errors
    /// [`Unread`] if the first line is missing or another line contradicts it.
    pub fn read(bytes: &[u8]) -> Result<ResultsFile, Unread> {
        // Some editors add a byte-order mark at the beginning.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (mut part, mut damaged) = (None::<ResultsFile>, 0);
        // `begun` stays true as long as all lines may be first lines that were cut off.
        let mut begun = true;
        for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let Ok(json) = Json::parse(line) else {
                damaged += 1;
                // A truncated first line shows that the file is a result file, not a file of another program.
                begun &= BEGINNING.starts_with(&line[..line.len().min(BEGINNING.len())]);
                continue;
            };
            let taken = match &mut part {
                Some(part) => part.take(&json, line),
                // Without the first line, further lines cannot be checked against the shard.
                None if json.get("sim").is_none() => return Err(Unread::Foreign),
                None => head(&json).map(|header| {
                    let (segments, search, failures, ends) = Default::default();
                    part =
                        Some(ResultsFile { header, segments, search, failures, ends, damaged: 0 });
                }),
            };
            taken.map_err(|why| Unread::Line(number, why))?;
        }
        let why = if begun { Unread::Begun } else { Unread::Foreign };
        part.map(|part| ResultsFile { damaged, ..part }).ok_or(why)
    }

    /// Adds a line after the first one.
    fn take(&mut self, line: &Json, text: &[u8]) -> Result<(), String> {
        let has = |name: &str| line.get(name).is_some();
        match () {
            () if has("slice") || has("top") || has("audit") || has("estimate") => {
                self.search.add(search::read(line, text)?)
            }
            () if has("done") => self.take_segment(line),
            () if has("failed") => self.take_failure(line),
            () if has("ended") => self.take_end(line),
            // If two processes create the file at the same time, both write the first line.
            () if has("sim") && self.header.is_of_same_shard(head(line)?) => Ok(()),
            () if has("sim") => Err("it begins again, as results of another run".to_owned()),
            () => Err("neither `done` nor `failed`".to_owned()),
        }
    }

    /// Adds a line about a range of seeds that passed.
    fn take_segment(&mut self, line: &Json) -> Result<(), String> {
        let (from, to) = (line.number("from")?, line.number("done")?);
        let positions = self.header.positions();
        if from >= to || to > positions {
            return Err(format!(
                "seeds {from} to {to} cannot have passed of a shard that has {positions}"
            ));
        }
        // The number of runs in the counts must match the number of positions in the segment.
        let tally = Tally::read(line, from, to - from)?;
        self.segments.push(Segment { from, to, tally });
        Ok(())
    }

    /// Adds a line about a seed or a kept trace that failed.
    fn take_failure(&mut self, line: &Json) -> Result<(), String> {
        // The failure of a kept trace has no seed.
        let is_of_trace = line.get("failed").is_none_or(|seed| *seed == Json::Null);
        let seed = if is_of_trace { None } else { Some(line.number("failed")?) };
        if let Some(other) = seed.filter(|seed| !self.header.has(*seed)) {
            return Err(format!("seed {other} does not belong to this shard"));
        }
        self.failures.push(Failed {
            seed,
            file: line.optional_text("file")?,
            kind: line.text("kind")?,
            place: line.text("place")?,
            what: line.text("what")?,
            trace: line.optional_text("trace")?,
            replay: line.optional_text("replay")?,
        });
        Ok(())
    }

    /// Adds a line about the end of a process.
    fn take_end(&mut self, line: &Json) -> Result<(), String> {
        let rehearsals = u32::try_from(line.number("rehearsals")?).unwrap_or(u32::MAX);
        let asked = line.get("foreign").is_some_and(|foreign| *foreign != Json::Null);
        let foreign = asked.then(|| line.flag("foreign")).transpose()?;
        self.ends.push(EndRecord { rehearsals, foreign });
        Ok(())
    }
}

fn head(line: &Json) -> Result<ResultsHeader, String> {
    match line.number("sim") {
        Ok(VERSION) => ResultsHeader::read(line),
        _ => Err("it was written by another version of unpause".to_owned()),
    }
}

impl Failed {
    /// Returns the line with its line feed.
    pub(super) fn line(&self) -> String {
        let optional = |text: &Option<String>| text.as_deref().map_or("null".to_owned(), quoted);
        format!(
            "{{\"failed\":{},\"file\":{},\"kind\":{},\"place\":{},\"what\":{},\"trace\":{},\
             \"replay\":{}}}\n",
            self.seed.map_or("null".to_owned(), |seed| seed.to_string()),
            optional(&self.file),
            quoted(&self.kind),
            quoted(&self.place),
            quoted(&self.what),
            optional(&self.trace),
            optional(&self.replay),
        )
    }
}

impl Segment {
    /// Returns the line with its line feed.
    pub(super) fn line(&self) -> String {
        format!("{{\"from\":{},\"done\":{},{}}}\n", self.from, self.to, self.tally.entries())
    }
}

impl EndRecord {
    /// Returns the line with its line feed.
    pub(super) fn line(self) -> String {
        let foreign = self.foreign.map_or("null".to_owned(), |foreign| foreign.to_string());
        format!("{{\"ended\":true,\"rehearsals\":{},\"foreign\":{foreign}}}\n", self.rehearsals)
    }
}

/// Returns the longest chain of adjacent segments that begins at position 0. Every process starts at the end of such a
/// chain. Therefore the chain covers all positions in the file, even if several processes wrote it. O(n log n).
pub fn chain(mut segments: Vec<Segment>) -> Vec<Segment> {
    sort_by_key(&mut segments, |segment| (segment.from, segment.to));
    // Maps each position at which a chain ends to the last segment of this chain.
    let mut last: Map<u64, usize> = Map::new();
    for (index, segment) in segments.iter().enumerate() {
        // Segments are sorted, so all chains that end at this position are already known. One chain is enough, because
        // all of them cover the same positions.
        if segment.from == 0 || last.contains_key(&segment.from) {
            last.entry(segment.to).or_insert(index);
        }
    }
    let mut wanted = vec![false; segments.len()];
    // Follow the chain from its farthest position back to 0.
    let mut at = last.last().map(|(_, index)| *index);
    while let Some(index) = at {
        wanted[index] = true;
        at = last.get(&segments[index].from).copied();
    }
    let mut wanted = wanted.into_iter();
    segments.retain(|_| wanted.next() == Some(true));
    segments
}

/// Returns the value of `must_fail` in a file: a flag, or the text of the required failure.
fn must_fail_text(must_fail: &MustFail) -> String {
    match must_fail {
        MustFail::No => "false".to_owned(),
        MustFail::Somehow => "true".to_owned(),
        MustFail::With(text) => quoted(text),
    }
}
