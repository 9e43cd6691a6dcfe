//! A search followed from its lines alone.

use unpause_ordered::Set;

use super::{AuditLine, SearchLines, SliceLine};
use crate::engine::results::Tally;
use crate::run::untried::Untried;
use crate::strategy::divided::{Division, SearchTree, Sizes, Slice};
use crate::strategy::search::{Apart, SearchProgress};

/// The state of a search, or of one share of it, according to its lines.
#[derive(Debug)]
pub struct Ledger {
    tree: SearchTree,
    tally: Tally,
    untried: Set<Untried>,
    /// The slices of the current round that have a line, and all of them.
    round: (usize, usize),
    /// True if the top of a share is not made.
    is_begun: bool,
    audit: Option<AuditLine>,
    estimate: Option<u64>,
}

impl Ledger {
    /// Follows a search with this bound, if it has one, from the lines of one share.
    ///
    /// # Errors
    /// If a line contradicts those before it.
    pub fn follow(
        lines: SearchLines,
        (number, of): (u64, u64),
        bound: Option<(&'static str, u32)>,
    ) -> Result<Ledger, String> {
        let SearchLines { mut slices, mut tops, audits, estimate } = lines;
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING).recorded();
        if let Some((what, most)) = bound {
            tree = tree.within(what, most);
        }
        let division = Division::of(number, of);
        let mut ledger = Ledger {
            tree,
            tally: Tally::default(),
            untried: Set::new(),
            round: (0, 0),
            is_begun: division.of == 1,
            audit: None,
            estimate,
        };
        loop {
            if ledger.tree.is_through() {
                ledger.audit = audits.get(&ledger.tree.generation()).cloned();
                if !ledger.audit.as_ref().is_some_and(|audit| audit.begins_again) {
                    break;
                }
                ledger.tree.begin_again(Apart::STEPS);
            }
            if division.of > 1 && ledger.tree.needs_top() {
                // Of several generations the last one counts.
                let Some((_, line)) = tops.pop_last() else { return Ok(ledger) };
                ledger.tree.take_top(line.generation, line.top)?;
                ledger.is_begun = true;
                continue;
            }
            let budgets = ledger.tree.budgets(u64::MAX);
            let key = |job| (ledger.tree.generation(), ledger.tree.round(), job);
            let known = (0..budgets.len()).map(|job| slices.remove(&key(job)));
            let known: Vec<Option<SliceLine>> = known.collect();
            let made = known.iter().flatten().count();
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
                round.push(ledger.add(line));
            }
            ledger.tree.check(&round)?;
            ledger.tree.merge(round);
        }
        ledger.tree.sort_classes();
        Ok(ledger)
    }

    fn add(&mut self, line: SliceLine) -> Slice {
        self.untried.extend(line.untried);
        self.tally.merge(line.tally);
        line.slice
    }

    /// True if a process has begun the share.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// True if no run is left.
    pub fn is_through(&self) -> bool {
        self.tree.is_through()
    }

    /// True if the search goes from level to level. It makes every run, so it has no classes and is not audited.
    pub fn is_bounded(&self) -> bool {
        self.tree.is_bounded()
    }

    /// The progress of the share.
    pub fn progress(&self) -> SearchProgress {
        self.tree.progress()
    }

    /// The part of the search that is done, from 0 to 1. `None` if no process has estimated the number of all runs.
    pub fn part(&self) -> Option<f64> {
        let runs = self.progress().runs as f64;
        self.estimate.map(|all| (runs / all.max(1) as f64).min(1.0))
    }

    /// The current round, the number of its slices that are made, and the number of its slices.
    pub fn round(&self) -> (u64, usize, usize) {
        (self.tree.round(), self.round.0, self.round.1)
    }

    /// Takes the counts over the runs.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// The differences that distinguish runs.
    pub fn apart(&self) -> Apart {
        self.tree.apart()
    }

    /// The parts of the program's behaviour that no run tried, in words.
    pub fn untried(&self) -> Vec<String> {
        let text = |untried: &Untried| match untried {
            Untried::Beyond(part) => Some(format!("not tried: {part}")),
            Untried::Unseen(part) => Some(format!("not seen: {part}")),
            Untried::Function(name) => Some(format!("operations of {name} are not explored")),
            Untried::Orders => None,
        };
        self.untried.iter().filter_map(text).collect()
    }

    /// True if memory orders weaker than `SeqCst` were taken for `SeqCst`.
    pub fn strengthens_orders(&self) -> bool {
        self.untried.contains(&Untried::Orders)
    }

    /// The classes of the runs that were sampled when the share was through, and whether these agree with the search.
    pub fn sampled(&self) -> Option<(&[u64], bool)> {
        self.audit.as_ref().map(|audit| (&audit.classes[..], audit.agrees))
    }

    /// Returns `true` if a run was of this class, `None` if that is not known.
    pub fn has_class(&self, class: u64) -> Option<bool> {
        self.tree.has_own_class(class)
    }
}
