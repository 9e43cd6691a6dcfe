//! The verdict on a search that several processes ran in shares.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use sim::__private::results::{
    Failed, Ledger, SearchCommand, SearchLines, Subject, Tally, one_search,
};
use sim::check::picture::screen::{percent, plural};
use sim::report::Searched;
use sim::run::clock_mode::ClockMode;
use sim::strategy::SEARCHES;

use super::Part;
use super::shown::grouped;
use crate::Exit;
use crate::invocation::quoted;

/// A search, as described by its files.
pub(super) struct MergedSearch<'a> {
    subject: &'a Subject,
    /// The command that continues the search, if the files contain the command.
    command: Option<SearchCommand>,
    /// The folders that contain the results of the shares, for this command.
    folders: BTreeMap<u64, PathBuf>,
    /// The folder for a share if no file is where its test writes it.
    folder: &'a Path,
    /// The number of shares.
    of: u64,
    /// The shares with a file, by number from 1.
    shares: BTreeMap<u64, Ledger>,
    failures: Vec<Failed>,
    /// True if the test must be proved (`must_prove`).
    must_prove: bool,
    /// True if the test has plain threads.
    plain_threads: bool,
    /// True if the shares explored different searches, so that all of them must run again.
    must_run_again: bool,
    /// True if sampled runs contradict the search.
    is_contradicted: bool,
    /// The reasons why the search is not a proof although it is complete, one sentence each.
    unproved: Vec<String>,
}

/// The maximum number of unfinished shares that are listed.
const SHOWN: usize = 12;

/// Returns `true` if a share is complete. A bounded search is not audited, and neither is a search with weak memory
/// that does not try all behaviors.
fn is_through(ledger: &Ledger, is_weak: bool) -> bool {
    ledger.is_through() && (ledger.sampled().is_some() || ledger.is_bounded() || is_weak)
}

/// Returns the progress of a share as text.
fn progress(ledger: Option<&Ledger>) -> String {
    let Some(ledger) = ledger.filter(|ledger| ledger.is_begun()) else {
        return "not begun".to_owned();
    };
    if ledger.is_through() {
        return "explored, and not audited".to_owned();
    }
    let (round, made, of) = ledger.round();
    let part = ledger.part().map(|part| format!(", about {} % done", percent(part, 2)));
    let slices = plural(of as u64, "slice");
    format!("round {round}, {made} of {slices}{}", part.unwrap_or_default())
}

impl<'a> MergedSearch<'a> {
    /// Returns `true` if the subject is a search.
    pub(super) fn is_search(subject: &Subject) -> bool {
        let strategy = subject.strategy();
        let name = strategy.split(':').next().unwrap_or_default();
        SEARCHES.iter().any(|row| row.name == name)
    }

    /// # Errors
    /// If the numbers of shares differ, or a line of a file does not belong to a search.
    pub(super) fn of(
        subject: &'a Subject,
        parts: Vec<Part>,
        folder: &'a Path,
    ) -> Result<MergedSearch<'a>, String> {
        let test = &subject.test;
        let mut counts: Vec<u64> = parts.iter().map(|part| part.results.header.of).collect();
        counts.sort_unstable();
        counts.dedup();
        let [of] = counts[..] else {
            return Err(format!(
                "{test}: a search that is divided into {counts:?} shares is another search for each number: merge the \
                 files of one number"
            ));
        };
        let (mut failures, mut command, mut folders) = (Vec::new(), None, BTreeMap::new());
        let must_prove = parts.iter().any(|part| part.results.header.must_prove);
        let plain_threads = parts.iter().any(|part| part.results.header.plain_threads);
        let mut lines: BTreeMap<u64, SearchLines> = BTreeMap::new();
        for part in parts {
            let folder = folder_of_results(&part);
            let results = part.results;
            let share = results.header.shard;
            failures.extend(results.failures);
            command = command.or(results.header.search);
            folders.extend(folder.map(|folder| (share, folder)));
            let own = lines.entry(share).or_default();
            own.join(results.search).map_err(|why| format!("{test}: {why}"))?;
        }
        let bound = bound(subject);
        let mut shares = BTreeMap::new();
        for (number, lines) in lines {
            let each_order = subject.searches_each_order();
            let ledger = Ledger::follow(lines, (number, of), bound, each_order);
            let ledger = ledger.map_err(|why| format!("{test}: share {number} of {of}: {why}"))?;
            shares.insert(number, ledger);
        }
        let failures = different(failures);
        let mut merged = MergedSearch {
            subject,
            command,
            folders,
            folder,
            of,
            shares,
            failures,
            must_prove,
            plain_threads,
            must_run_again: false,
            is_contradicted: false,
            unproved: Vec::new(),
        };
        merged.judge();
        Ok(merged)
    }

    /// Returns the reason why a search with weak memory that tries all behaviors is not a proof, if any: no sampled
    /// runs have checked a share.
    fn unaudited(&self) -> Option<&'static str> {
        let mut ledgers = self.shares.values();
        let is_exempt = |ledger: &Ledger| {
            ledger.is_bounded() || ledger.strengthens_orders() || ledger.sampled().is_some()
        };
        (self.subject.is_weak() && !ledgers.all(is_exempt))
            .then_some("no sampled runs have checked a share: run it again")
    }

    /// Returns `true` if all shares are complete.
    fn is_through(&self) -> bool {
        self.shares.len() as u64 == self.of
            && self.shares.values().all(|ledger| is_through(ledger, self.subject.is_weak()))
    }

    /// Returns the numbers of unfinished shares (the first few), and their count.
    fn left(&self) -> (Vec<u64>, u64) {
        let is_weak = self.subject.is_weak();
        let through = self.shares.values().filter(|ledger| is_through(ledger, is_weak)).count();
        let is_left = |number: &u64| {
            !self.shares.get(number).is_some_and(|ledger| is_through(ledger, is_weak))
        };
        let shown = (1..=self.of).filter(is_left).take(SHOWN).collect();
        (shown, self.of - through as u64)
    }

    /// Finds the reasons why the search is not a proof.
    fn judge(&mut self) {
        if !self.is_through() {
            return;
        }
        let mut tally = Tally::default();
        self.shares.values_mut().for_each(|ledger| tally.merge(ledger.take_tally()));
        if self.failures.is_empty() {
            self.failures.extend(tally.too_seldom());
        }
        let ledgers: Vec<&Ledger> = self.shares.values().collect();
        let mut say = Vec::new();
        let names = |ledger: &&Ledger| ledger.apart().names().join(", ");
        let other = ledgers.iter().find(|ledger| ledger.apart() != ledgers[0].apart());
        let must_run_again = other.is_some();
        if let Some(other) = other {
            say.push(format!(
                "the shares distinguish runs by other differences ({:?} and {:?}): run all shares again with these \
                 files in their folder, so that each knows what the others have learnt",
                names(&ledgers[0]),
                names(other)
            ));
        }
        if ledgers.iter().any(|ledger| ledger.sampled().is_some_and(|(_, agrees)| !agrees)) {
            say.push(
                "sampled runs do not agree with the search: run a share again for the reason"
                    .to_owned(),
            );
        }
        let is_missed =
            |class: &&u64| ledgers.iter().all(|ledger| ledger.has_class(**class) == Some(false));
        let mut sampled = ledgers.iter().filter_map(|ledger| ledger.sampled());
        if say.is_empty()
            && sampled.any(|(classes, _)| classes.iter().any(|class| is_missed(&class)))
        {
            say.push(
                "a sampled run belongs to a class that no share has. This is a bug of unpause, unless tasks share \
                 something outside sim, or values that a closure captured changed between runs"
                    .to_owned(),
            );
        }
        let is_contradicted = !say.is_empty();
        say.extend(self.searched().untried());
        if say.is_empty() {
            say.extend(self.unaudited().map(str::to_owned));
        }
        self.is_contradicted = is_contradicted;
        self.must_run_again = must_run_again;
        self.unproved = say;
    }

    /// Returns the merged search, like a single process would report it.
    fn searched(&self) -> Searched {
        let shares: Vec<&Ledger> = self.shares.values().collect();
        one_search(self.subject, &shares, self.plain_threads, self.is_through())
    }

    /// Returns `true` if the search proves that all runs pass, up to its bound.
    fn is_proof(&self) -> bool {
        self.failures.is_empty() && self.unproved.is_empty() && self.is_through()
    }

    /// Returns `true` if the test must fail (`must_fail`) and failed.
    fn failed_as_it_must(&self) -> bool {
        let must_fail = &self.subject.must_fail;
        let refused = |failed: &Failed| must_fail.refuses(&failed.kind, &failed.what).is_some();
        !self.failures.is_empty() && must_fail.is_wanted() && !self.failures.iter().any(refused)
    }

    /// Returns the reason why a test that must be proved is not proved, if no part of its search is left.
    fn lacks_proof(&self) -> Option<String> {
        let is_over = self.is_through() && self.failures.is_empty() && !self.must_run_again;
        let bound = self.bound();
        let is_proved = self.is_proof() && bound.is_none();
        (self.must_prove && is_over && !is_proved).then(|| match bound {
            Some(bound) => format!("the search explored only the runs with {bound}"),
            None => "the search is no proof".to_owned(),
        })
    }

    pub(super) fn exit(&self) -> Exit {
        match () {
            () if self.failed_as_it_must() => Exit::Good,
            () if !self.failures.is_empty() => Exit::Bad,
            () if self.is_proof() && self.subject.must_fail.is_wanted() => Exit::Bad,
            () if self.lacks_proof().is_some() => Exit::Bad,
            () if self.is_proof() => Exit::Good,
            () => Exit::Undecided,
        }
    }

    pub(super) fn has_left(&self) -> bool {
        self.failures.is_empty() && !self.is_through()
    }

    /// Returns the bounds of the search as text, if the search left out runs beyond them.
    fn bound(&self) -> Option<String> {
        let at_most = |most: u32, what: &str| format!("at most {}", plural(most, what));
        let Searched { bound, early_moves, .. } = self.searched();
        let own = bound.map(|bound| at_most(bound.through.unwrap_or_default(), &bound.what));
        let early = early_moves.map(|moves| at_most(moves, ClockMode::EARLY_MOVE));
        let bounds: Vec<String> = own.into_iter().chain(early).collect();
        (!bounds.is_empty()).then(|| bounds.join(" and "))
    }

    /// Returns the number of runs of all shares, and the number of abandoned runs.
    fn runs(&self) -> (u64, u64) {
        let progress = self.shares.values().map(Ledger::progress);
        progress.fold((0, 0), |(runs, blocked), own| (runs + own.runs, blocked + own.blocked))
    }

    /// Returns the command that continues a share; `None` if the files do not contain the command.
    fn command(&self, number: u64) -> Option<String> {
        let SearchCommand { command, runs } = self.command.as_ref()?;
        let folder = self.folders.get(&number).or_else(|| self.folders.values().next());
        let folder = folder.map_or(self.folder, PathBuf::as_path).display().to_string();
        let of = self.of;
        let shard = if of > 1 { format!("SIM_SHARD={number}/{of} ") } else { String::new() };
        // A limit that the share has reached would stop it again at once.
        let (mut runs, made) = ((*runs).max(1), self.shares.get(&number).map_or(0, Ledger::made));
        while runs <= made && runs < u64::MAX {
            runs = runs.saturating_mul(10);
        }
        Some(format!("{shard}SIM_RESULTS={} SIM_SEEDS={runs} {command}", quoted(&folder)))
    }

    pub(super) fn text(&self) -> String {
        let Subject { package, target, test, .. } = self.subject;
        let mut out = format!("{test}  ({package}, {target}, {})\n", self.subject.strategy());
        let (runs, blocked) = self.runs();
        let (runs, shares) = (grouped(runs.into()), self.of);
        let given_up = match blocked {
            0 => String::new(),
            _ => format!(", and {} abandoned as redundant", plural(blocked, "run")),
        };
        let of = if shares == 1 { String::new() } else { format!(" in {shares} shares") };
        let (label, what) = match (self.is_proof(), self.bound()) {
            (true, None) => ("proved", format!("all {runs} interleavings pass{of}{given_up}")),
            (true, Some(bound)) => ("passed", format!("all {runs} runs with {bound}{of}")),
            (false, _) => ("passed", format!("{runs} interleavings{of}{given_up}")),
        };
        let _ = writeln!(out, "  {label:<8} {what}");
        if self.is_proof() && self.subject.must_fail.is_wanted() {
            let _ = writeln!(out, "  failed   the test must fail (must_fail), and no run did");
        }
        if let Some(why) = self.lacks_proof() {
            let _ = writeln!(out, "  failed   the test requires a proof (must_prove), and {why}");
        }
        let wanted = if self.failed_as_it_must() { ", as it must (must_fail)" } else { "" };
        for Failed { kind, place, what, replay, .. } in &self.failures {
            let _ = writeln!(out, "  failed   {kind}  {place}{wanted}\n           {what}");
            if let Some(replay) = replay {
                let _ = writeln!(out, "           {replay}");
            }
        }
        let (left, count) = self.left();
        for number in &left {
            let name =
                if shares == 1 { String::new() } else { format!("share {number} of {shares}: ") };
            let _ = writeln!(out, "  left     {name}{}", progress(self.shares.get(number)));
            if let Some(command) = self.command(*number) {
                let _ = writeln!(out, "           {command}");
            }
        }
        if let Some(more) = count.checked_sub(left.len() as u64).filter(|more| *more > 0) {
            let _ = writeln!(out, "  left     and {}", plural(more, "share"));
        }
        self.write_remarks(&mut out);
        for why in &self.unproved {
            let _ = writeln!(out, "  unproved {why}");
        }
        out + "\n"
    }

    /// Writes the remarks on the search and the messages about its runs, like a single process would report them.
    fn write_remarks(&self, out: &mut String) {
        let searched = self.searched();
        let assumption = searched.assumption().filter(|_| !self.is_contradicted);
        let is_sampled = self.shares.values().all(|ledger| ledger.sampled().is_some());
        let [repeated, by_step, _, orders] = searched.remarks(is_sampled);
        if let Some(assumption) = assumption {
            let _ = writeln!(out, "  assumes  that {assumption}");
        }
        for remark in [repeated, by_step, orders].into_iter().flatten() {
            let _ = writeln!(out, "  {:<8} {remark}", "");
        }
        let messages: BTreeSet<&String> = self.shares.values().flat_map(Ledger::messages).collect();
        // A process shows one such warning.
        let stuck = self.shares.values().find_map(Ledger::stuck);
        for message in messages.into_iter().chain(&stuck) {
            let _ = writeln!(out, "  note     {message}");
        }
    }

    pub(super) fn json(&self) -> Json {
        let Subject { package, target, test, .. } = self.subject;
        let (runs, blocked) = self.runs();
        let (left, count) = self.left();
        let left = left.into_iter().map(|number| {
            let part = self.shares.get(&number).and_then(Ledger::part);
            json!({ "share": number, "part": part, "command": self.command(number) })
        });
        let failures = self.failures.iter().map(|Failed { kind, place, what, trace, replay, .. }| {
            json!({"kind": kind, "place": place, "what": what, "trace": trace, "replay": replay})
        });
        json!({
            "package": package, "target": target, "test": test, "strategy": self.subject.strategy(),
            "is_proof": self.is_proof() && self.bound().is_none(), "bound": self.bound(), "runs": runs, "blocked": blocked,
            "shares": self.of, "shares_left": count, "left": left.collect::<Vec<_>>(), "failures": failures.collect::<Vec<_>>(),
            "unproved": self.unproved, "must_prove": self.must_prove,
        })
    }
}

/// Returns the first failure of each kind and place. Several shares may have found the same failure.
fn different(mut failures: Vec<Failed>) -> Vec<Failed> {
    let mut known = BTreeSet::new();
    failures.retain(|failure| known.insert((failure.kind.clone(), failure.place.clone())));
    failures
}

/// Returns the folder of results that contains a file; `None` if the file is not where its test writes it.
fn folder_of_results(part: &Part) -> Option<PathBuf> {
    let header = &part.results.header;
    let path = std::path::absolute(&part.path).ok()?;
    let package = path.parent()?.parent()?;
    let name = format!("{}-of-{}.jsonl", header.shard, header.of);
    let package_name = header.subject.package.split(' ').next()?;
    let is_own = path.file_name() == Some(OsStr::new(&name))
        && package.file_name() == Some(OsStr::new(package_name));
    let folder = package.parent().filter(|_| is_own)?;
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok());
    Some(match below {
        Some(below) if below == Path::new("") => PathBuf::from("."),
        Some(below) => below.to_owned(),
        None => folder.to_owned(),
    })
}

/// Returns the bound of a search, as in its search tree.
fn bound(subject: &Subject) -> Option<(&'static str, u32)> {
    let strategy = subject.strategy();
    let (name, most) = strategy.split_once(':').unwrap_or((&*strategy, ""));
    let what = match name {
        "preemptions" => "preemption",
        "delays" => "delay",
        _ => return None,
    };
    Some((what, most.parse().unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_several_shares_is_listed_once() {
        let failed = |(kind, place, what): (&str, &str, &str)| Failed {
            seed: None,
            file: None,
            kind: kind.to_owned(),
            place: place.to_owned(),
            what: what.to_owned(),
            trace: None,
            replay: None,
        };
        // The first share has found two failures. The second share has found the panic, too.
        let all = [("panic", "a:1", "1"), ("deadlock", "a:2", "2"), ("panic", "a:1", "3")];
        let left = different(all.into_iter().map(failed).collect());
        let left: Vec<&str> = left.iter().map(|failure| &failure.what[..]).collect();
        assert_eq!(left, ["1", "2"]);
    }
}
