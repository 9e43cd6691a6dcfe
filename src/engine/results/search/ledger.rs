//! Reconstruction of a search from its lines alone.

use unpause_ordered::Set;

use super::{AuditLine, SearchLines, SliceLine};
use crate::engine::results::Tally;
use crate::report::{Cause, Clash};
use crate::run::clock_mode::ClockMode;
use crate::run::untried::Untried;
use crate::strategy::divided::{Division, SearchTree, Sizes, Slice};
use crate::strategy::search::{Apart, SearchProgress};

/// The state of a search, or of one share of it, according to its lines.
#[derive(Debug)]
pub struct Ledger {
    tree: SearchTree,
    tally: Tally,
    /// The number of runs in completed rounds, counted or not. The limit of the search applies to this number.
    made: u64,
    untried: Set<Untried>,
    /// The number of slices of the current round that have a line, and the number of all its slices.
    round: (usize, usize),
    /// True if the share has begun: the top of the tree is computed, or the search is not divided.
    is_begun: bool,
    audit: Option<AuditLine>,
    estimate: Option<u64>,
    /// The warnings and notes of the slices, without repetitions.
    messages: Vec<String>,
    /// Two steps whose order made a difference that the search did not see at first.
    clash: Option<Clash>,
    /// The warning about tasks that a run left waiting, with the number of the run. In a share, runs have other numbers
    /// than in the whole search, so the number is missing.
    stuck: Option<(Option<u64>, String)>,
    is_divided: bool,
}

impl Ledger {
    /// Reconstructs a search from the lines of one share. `bound` is the bound of the search, if any. `each_order` is
    /// true for a search that executes each order of steps as a separate run from its beginning.
    ///
    /// # Errors
    /// If a line contradicts earlier lines.
    pub fn follow(
        lines: SearchLines,
        (number, of): (u64, u64),
        bound: Option<(&'static str, u32)>,
        each_order: bool,
    ) -> Result<Ledger, String> {
        let SearchLines { mut slices, mut tops, audits, estimate } = lines;
        // The engine begins with the same sizes, so both divide the search into the same slices.
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING).recorded();
        if let Some((what, most)) = bound {
            tree = tree.within(what, most);
        }
        if each_order {
            tree.begin_again(Apart::STEPS);
        }
        let division = Division::of(number, of);
        let mut ledger = Ledger {
            tree,
            tally: Tally::default(),
            made: 0,
            untried: Set::new(),
            round: (0, 0),
            is_begun: division.of == 1,
            audit: None,
            estimate,
            messages: Vec::new(),
            clash: None,
            stuck: None,
            is_divided: division.of > 1,
        };
        loop {
            if ledger.tree.is_through() {
                ledger.audit = audits.get(&ledger.tree.generation()).cloned();
                if !ledger.audit.as_ref().is_some_and(|audit| audit.begins_again) {
                    break;
                }
                ledger.clash = ledger.audit.take().and_then(|audit| audit.clash);
                // The engine restarts in the same way after this audit, see `WholeSearch::audited`.
                ledger.tree.begin_again(Apart::STEPS);
                ledger.tally = Tally::default();
            }
            // A search that is not divided begins at the root, so it has no top.
            if division.of > 1 && ledger.tree.needs_top() {
                // If tops of several generations exist, only the last one is used.
                let Some((_, line)) = tops.pop_last() else { return Ok(ledger) };
                ledger.tree.take_top(line.generation, line.top)?;
                ledger.is_begun = true;
                continue;
            }
            // A recorded search does not limit its rounds by the remaining runs, see `State::allot`.
            let budgets = ledger.tree.budgets(u64::MAX);
            let key = |job| (ledger.tree.generation(), ledger.tree.round(), job);
            let known = (0..budgets.len()).map(|job| slices.remove(&key(job)));
            let known: Vec<Option<Box<SliceLine>>> = known.collect();
            let made = known.iter().flatten().count();
            // The slice that learned a criterion is the last slice that counts. Other threads may have executed later
            // slices before, so later slices may have lines, too.
            let learnt = known
                .iter()
                .position(|line| line.as_ref().is_some_and(|line| line.slice.learnt.is_some()));
            let wanted = learnt.map_or(budgets.len(), |at| at + 1);
            if known[..wanted].iter().any(Option::is_none) {
                ledger.round = (made, budgets.len());
                return Ok(ledger);
            }
            let mut round = Vec::new();
            for line in known.into_iter().take(wanted).flatten() {
                round.push(ledger.add(*line));
            }
            // `merge` relies on the slices of this round, but a file may contain anything.
            ledger.tree.check(&round)?;
            let restarts = ledger.tree.restarts();
            ledger.tree.merge(round);
            if ledger.tree.restarts() != restarts {
                // The runs before a restart do not count.
                ledger.tally = Tally::default();
            }
        }
        // Classes are looked up only in a completed share.
        ledger.tree.sort_classes();
        Ok(ledger)
    }

    fn add(&mut self, line: SliceLine) -> Slice {
        self.untried.extend(line.untried);
        for message in line.warnings.into_iter().chain(line.notes) {
            if !self.messages.contains(&message) {
                self.messages.push(message);
            }
        }
        // The numbers of the runs of a slice begin at zero.
        let number = |nth: u64| (!self.is_divided).then_some(self.made + nth);
        let stuck = line.stuck.map(|(nth, text)| (number(nth), text));
        self.stuck = self.stuck.take().or(stuck);
        self.tally.merge(line.tally);
        self.made += line.slice.made();
        line.slice
    }

    /// Returns `true` if a process has begun the share.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Returns `true` if no run remains.
    pub fn is_through(&self) -> bool {
        self.tree.is_through()
    }

    /// Returns `true` if the search is bounded and proceeds level by level. Such a search executes every run, so it has
    /// no classes and no audit.
    pub fn is_bounded(&self) -> bool {
        self.tree.is_bounded()
    }

    /// Returns the progress of the share.
    pub fn progress(&self) -> SearchProgress {
        self.tree.progress()
    }

    /// Returns the number of runs in completed rounds, counted or not.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Returns the completed part of the search, from 0 to 1. `None` if no process has estimated the total number of
    /// runs.
    pub fn part(&self) -> Option<f64> {
        let runs = self.progress().runs as f64;
        self.estimate.map(|all| (runs / all.max(1) as f64).min(1.0))
    }

    /// Returns the number of the current round, the number of its completed slices, and the number of all its slices.
    pub fn round(&self) -> (u64, usize, usize) {
        (self.tree.round(), self.round.0, self.round.1)
    }

    /// Returns the counts over the runs, and leaves empty counts.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Returns the criteria that the search uses for distinguishing runs.
    pub fn apart(&self) -> Apart {
        self.tree.apart()
    }

    /// Returns `true` if operations of a run could choose among stores.
    pub fn has_stores(&self) -> bool {
        self.tree.has_stores()
    }

    /// Returns the program's behaviour that no run tried. Further early time moves are not included; see
    /// [`leaves_out_early_moves`](Self::leaves_out_early_moves).
    pub fn untried(&self) -> impl Iterator<Item = &Untried> {
        let is_early = |untried: &&Untried| **untried == Untried::Beyond(ClockMode::BEYOND);
        self.untried.iter().filter(move |untried| !is_early(untried))
    }

    /// Returns the reason why each order of steps is a separate run, if it is known.
    pub fn cause(&self) -> Option<Cause> {
        let clash = self.clash.clone().map(|clash| Cause::Clash(Box::new(clash)));
        clash.or_else(|| self.tree.contact().map(|text| Cause::Contact(text.to_owned())))
    }

    /// Returns the warnings and notes about the runs.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Returns the warning about tasks that a run left waiting, if any.
    pub fn stuck(&self) -> Option<String> {
        let (number, text) = self.stuck.as_ref()?;
        Some(match number {
            Some(number) => format!("seed {number}: {text}"),
            None => text.clone(),
        })
    }

    /// Returns `true` if a run made all early time moves that `clock` allows. Then runs with more early time moves
    /// exist.
    pub fn leaves_out_early_moves(&self) -> bool {
        self.untried.contains(&Untried::Beyond(ClockMode::BEYOND))
    }

    /// Returns `true` if memory orderings weaker than `SeqCst` were treated as `SeqCst`.
    pub fn strengthens_orders(&self) -> bool {
        self.untried.contains(&Untried::Orders)
    }

    /// Returns `true` if a task waited for a time, and time advanced only when no task could step.
    pub fn waits_for_time(&self) -> bool {
        self.untried.contains(&Untried::Time)
    }

    /// Returns the classes of the runs that were sampled after the share was completed, and `true` if they agree with
    /// the search.
    pub fn sampled(&self) -> Option<(&[u64], bool)> {
        self.audit.as_ref().map(|audit| (&audit.classes[..], audit.agrees))
    }

    /// Returns `true` if a run of the search belongs to this class; `None` if the search does not know this.
    pub fn has_class(&self, class: u64) -> Option<bool> {
        self.tree.has_own_class(class)
    }
}
