//! The input of an engine, called an assignment, and the code that fills its report.
//!
//! An engine describes its findings in an [`Account`], and [`Assignment::report`] is the only function that fills a
//! [`Report`]. This function judges conditions over all runs and the proof that a test must give. The function also
//! writes the files beside the trace and closes the results. The function does not render the report.

use crate::engine::config::{Config, SettingTexts};
use crate::engine::persistence;
use crate::engine::results::{Results, Tally};
use crate::engine::runner::{SeedPart, Site};
use crate::engine::seeds::Explored;
use crate::report::{Finding, Origin, Report, Searched};
use crate::run::ids::Seed;
use crate::run::{Failure, FaultCount, Run};
use crate::seam::SIMULATED;

/// One test: its settings, its source location, and the destination of its results.
pub(crate) struct Assignment<'a> {
    pub(super) config: &'a Config,
    pub(super) site: &'a Site,
    pub(super) results: &'a Results,
    /// Notes about the settings, for the report.
    pub(super) notes: Vec<String>,
}

/// The findings of an engine for one test.
#[derive(Default)]
pub(super) struct Account {
    pub(super) runs: u64,
    pub(super) steps: u64,
    /// The settings of the runs, if they differ from the test's settings.
    pub(super) settings: Option<SettingTexts>,
    pub(super) rehearsals: u32,
    pub(super) finding: Option<Finding>,
    /// The source of the replayed trace, if this was a replay.
    pub(super) replayed: Option<Origin>,
    pub(super) searched: Option<Searched>,
    /// Counts over the runs. `None` if a run failed, or if conditions over all runs must not be judged.
    pub(super) tally: Option<Tally>,
    pub(super) warnings: Vec<String>,
    /// A warning to show if the test passes.
    pub(super) stuck: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Account {
    /// Creates the account of runs without a failure.
    pub(super) fn passed(explored: Explored) -> Account {
        debug_assert!(explored.found.is_none());
        Account {
            runs: explored.tally.runs,
            steps: explored.tally.steps,
            searched: explored.searched,
            tally: Some(explored.tally),
            warnings: explored.warnings,
            notes: explored.notes,
            stuck: explored.stuck.map(|stuck| format!("seed {}: {}", stuck.seed, stuck.text)),
            ..Account::default()
        }
    }

    /// Returns a copy without the counts over the runs.
    #[allow(dead_code, reason = "the real build explains no failure")]
    pub(super) fn without_tally(&self) -> Account {
        Account {
            runs: self.runs,
            steps: self.steps,
            settings: self.settings.clone(),
            rehearsals: self.rehearsals,
            finding: self.finding.clone(),
            replayed: self.replayed.clone(),
            searched: self.searched.clone(),
            tally: None,
            warnings: self.warnings.clone(),
            stuck: self.stuck.clone(),
            notes: self.notes.clone(),
        }
    }
}

impl<'a> Assignment<'a> {
    /// Creates an assignment with valid settings.
    pub(super) fn new(config: &'a Config, site: &'a Site, results: &'a Results) -> Assignment<'a> {
        Assignment { config, site, results, notes: Vec::new() }
    }

    /// Creates the report and writes its files. Must be called at most once, at the end.
    pub(super) fn report(&self, account: Account) -> Report {
        let mut report = Report {
            test: self.site.test.clone(),
            package: self.site.package.clone(),
            runs: account.runs,
            rehearsals: account.rehearsals,
            seeds: self.seeds().filter(|_| account.replayed.is_none()),
            steps: account.steps,
            settings: match SIMULATED {
                true => account.settings.unwrap_or_else(|| self.config.in_traces()),
                false => Vec::new(),
            },
            finding: account.finding.map(Box::new),
            replayed: account.replayed,
            warnings: account.warnings,
            notes: account.notes,
            searched: account.searched,
            real: !SIMULATED,
            coverage: None,
            closure: None,
            statistics: None,
            faults: Vec::new(),
        };
        if let Some(tally) = account.tally {
            report.notes.extend(self.continued(&tally));
            self.judge(&mut report, tally);
        }
        if report.finding.is_none() {
            report.warnings.extend(account.stuck);
        }
        persistence::write_beside(&mut report, self.site, self.config.out.as_deref());
        if let Some(part) = SeedPart::of(self.config, self.results, &report) {
            part.spare_conditions(&mut report);
        }
        self.results.end(&mut report);
        report.notes.extend(self.time_was_up(&report));
        report.notes.extend_from_slice(&self.notes);
        // The JSON contains the screen, so the lines on the screen are read before.
        persistence::quote(&mut report, self.site, self.config);
        persistence::write_json(&mut report, self.site, self.config);
        report
    }

    /// Returns a note if the time limit ended the test before all seeds had run. Written results have their own note,
    /// and a search reports its own progress. So neither of the two needs this note.
    fn time_was_up(&self, report: &Report) -> Option<String> {
        let samples = report.replayed.is_none() && report.searched.is_none();
        let wanted = self.config.positions();
        let (test, runs) = (&report.test, report.runs);
        let short = self.config.time.is_some() && report.passed() && samples && runs < wanted;
        (short && !self.results.are_written()).then(|| {
            format!(
                "{test}: the time was up after {runs} of {wanted} seeds (SIM_TIME=1m allows more)"
            )
        })
    }

    /// Returns a note if runs continued after their step limit.
    fn continued(&self, tally: &Tally) -> Option<String> {
        let (test, steps) = (&self.site.test, self.config.steps_max);
        let Tally { runs, beyond, .. } = tally;
        (*beyond > 0).then(|| {
            format!(
                "{test}: {beyond} of {runs} runs were explored for {steps} steps and then ran on, with few switches between \
                 threads (SIM_STEPS={} explores more)",
                u64::from(steps) * 10
            )
        })
    }

    /// Returns the first and the last requested seed.
    fn seeds(&self) -> Option<(u64, u64)> {
        let first = self.config.seed(0)?;
        Some((first, self.config.last_seed().unwrap_or(first)))
    }

    /// Adds the counts over all runs to the report. Also adds a failure that no single run shows, for example a missed
    /// condition.
    fn judge(&self, report: &mut Report, tally: Tally) {
        let missed = self.missed(&tally);
        let failure = missed.or_else(|| self.unproven(report.searched.as_ref()));
        report.finding = failure.map(|failure| {
            let seed = match failure {
                Failure::TooSeldom { .. } => self.config.seed(0).unwrap_or_default(),
                _ => 0,
            };
            Box::new(Finding::without_replay(Run::empty(Seed(seed), failure)))
        });
        report.coverage = tally.coverage();
        report.closure = tally.closure();
        report.statistics = tally.statistics;
        if self.config.seed(1).is_some() {
            let idle = tally.faults.iter().filter(|count| count.met == 0);
            report.warnings.extend(idle.map(FaultCount::idle));
        }
        report.faults = tally.faults;
    }

    /// Returns a failure if conditions held in too few runs. A single seed is exempt because it is run for inspection.
    pub(super) fn missed(&self, tally: &Tally) -> Option<Failure> {
        self.config.seed(1)?;
        Failure::too_seldom(tally.conditions.clone(), tally.runs)
    }

    /// Returns a failure if the test must prove something and the search proves nothing.
    fn unproven(&self, searched: Option<&Searched>) -> Option<Failure> {
        let searched = searched.filter(|_| self.config.must_prove)?;
        // A completed share of a divided search leaves the judgement to the merge.
        let why = match searched.share {
            Some(_) => searched.fell_short()?,
            None => searched.shortfall()?,
        };
        Some(Failure::Unproven { why })
    }
}
