//! The state shared by all passes: the smallest failing schedule so far, and functions that try candidates.

// tidy: never iterated: looked up only
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::project::{project, scatter};
use super::{Budget, Replayer};
use crate::run::program::Change;
use crate::run::schedule::{Command, Cost, Schedule, Turn, join};

/// A search for smaller schedules that fail in the same way.
///
/// Accepts a candidate only if the schedule that really ran costs less than the best schedule so far, so the search
/// always ends. The accepted schedule also must not have more steps than the first schedule. A repeated candidate costs
/// no replay.
pub struct Search<'a> {
    replayer: &'a mut dyn Replayer,
    best: Schedule,
    cost: Cost,
    /// The number of steps of the first schedule. No accepted schedule has more steps.
    steps_max: u64,
    /// Hashes of the task paths of `best`.
    names: Vec<u64>,
    /// Hashes of the replayed candidates and of the resulting schedules. There are at most two hashes per replay, so
    /// the budget bounds the set. A schedule that did not cost less than an earlier best schedule does not cost less
    /// than the current one, so it needs no second replay.
    tried: HashSet<u64>,
    budget: Budget,
    replays: u64,
    /// The number of runs used for searches of small programs.
    sought: u64,
    /// Hashes of the drawn values of the searched programs.
    searched: HashSet<u64>,
    /// The approximate maximum number of pieces into which passes cut a schedule.
    pieces: usize,
    /// The numbers of replayed and of accepted candidates since the last `take_counts`.
    counts: (u64, u64),
}

impl<'a> Search<'a> {
    /// The number of pieces that represents pieces of a single turn.
    pub(super) const CLOSE: usize = usize::MAX;

    /// Replays `start` and begins the search with the schedule that really ran. `None` if the replay does not fail.
    pub(super) fn begin(
        start: &Schedule,
        replayer: &'a mut dyn Replayer,
        budget: Budget,
    ) -> Option<Search<'a>> {
        let best = replayer.replay(start)?.into_canonical();
        let mut search = Search {
            replayer,
            cost: best.cost(),
            steps_max: best.steps(),
            names: names(&best),
            best,
            tried: HashSet::new(),
            budget,
            replays: 1,
            sought: 0,
            searched: HashSet::new(),
            pieces: Search::CLOSE,
            counts: (0, 0),
        };
        search.tried.insert(hash(&search.names, &search.best));
        Some(search)
    }

    /// Returns the smallest schedule so far, as it ran, with tasks sorted by path and a list of draws for each task.
    pub fn best(&self) -> &Schedule {
        &self.best
    }

    /// Returns the cost of the best schedule; see [`Cost`].
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Returns `true` if the budget is exhausted. From then on, no candidate is replayed, so a pass checks this only to
    /// end earlier.
    pub fn spent(&self) -> bool {
        let Budget { replays, sought } = self.budget;
        self.replays >= replays
            || self.sought > 0 && self.sought >= sought
            || self.replayer.is_spent()
    }

    /// Tries these turns with the draws of the best schedule. If the result is better, it becomes the best schedule and
    /// the function returns `true`.
    pub fn attempt_turns(&mut self, turns: impl IntoIterator<Item = Turn>) -> bool {
        let candidate = Schedule {
            tasks: self.best.tasks.clone(),
            turns: join(turns),
            draws: self.best.draws.clone(),
            ..Schedule::default()
        };
        self.attempt(candidate)
    }

    /// Tries the turns of the best schedule with these draws. The result has the same meaning as for
    /// [`attempt_turns`](Search::attempt_turns).
    ///
    /// Omitted or simplified commands of a generated program remain unchanged, because their draws are not changed.
    pub fn attempt_draws(&mut self, mut draws: Vec<Vec<u64>>) -> bool {
        for command in &self.best.commands {
            let ((task, nth), (from, to)) = (command.change, command.simpler);
            if draws[task].len() < to.max(nth + 1) {
                draws[task].resize(to.max(nth + 1), 0);
            }
            draws[task][nth] = self.best.draws[task][nth];
            draws[task][from..to].copy_from_slice(&self.best.draws[task][from..to]);
        }
        let (tasks, turns) = (self.best.tasks.clone(), self.best.turns.clone());
        self.attempt(Schedule { tasks, turns, draws, ..Schedule::default() })
    }

    /// Divides the turns of the best schedule into pieces, big pieces first, and tries each `edit` on each piece. The
    /// turns that an edit returns replace the turns of the whole schedule. Pieces overlap by half. Costs O(turns) per
    /// candidate, with about 4 candidates for each edit and piece of the finest size.
    pub fn sweep(&mut self, smallest: usize, edits: &[Edit]) {
        let smallest = smallest.max(1);
        let mut size = self.best.turns.len();
        while size >= smallest {
            let stride = size.div_ceil(2);
            let mut end = self.best.turns.len();
            while end > 0 && !self.spent() {
                let piece = end.saturating_sub(size)..end;
                let better = edits.iter().any(|edit| {
                    let turns = edit(&self.best.turns, piece.clone());
                    turns.is_some_and(|turns| self.attempt_turns(turns))
                });
                end = match better {
                    true => end.min(self.best.turns.len()),
                    false => end.saturating_sub(stride),
                };
            }
            if size <= self.finest(self.best.turns.len()) || self.spent() {
                break;
            }
            // Never skips the smallest size.
            size = match size > smallest {
                true => (size / 2).max(smallest).min(self.best.turns.len()),
                false => break,
            };
        }
    }

    /// Returns the current minimum piece size for a list with `len` parts, at least 1.
    ///
    /// All passes begin with few big pieces, and use smaller pieces only when the big pieces find nothing more. With
    /// small pieces from the start, one pass on a long schedule would exhaust the budget of all passes.
    pub fn finest(&self, len: usize) -> usize {
        (len / self.pieces).max(1)
    }

    /// Returns the number of replays for a pass that enumerates candidates of the best schedule: at least 1, at most
    /// `most`. A long run gets few replays, because they could cover only a small part of its candidates.
    ///
    /// Depends only on the schedule, not on the remaining budget, so that shrinking a result again changes nothing.
    pub fn worth(&self, most: u64) -> u64 {
        /// The number of steps that such a pass may replay.
        const STEPS: u64 = 2_000_000;
        most.min(STEPS / self.cost.steps.max(1)).max(1)
    }

    pub(super) fn set_pieces(&mut self, pieces: usize) {
        self.pieces = pieces;
    }

    /// Returns `true` if the pieces have the smallest size.
    pub(super) fn is_close(&self) -> bool {
        self.pieces == Search::CLOSE
    }

    /// Returns the number of replays, including the runs of searches.
    pub(super) fn replays(&self) -> u64 {
        self.replays + self.sought
    }

    /// Returns the numbers of candidates that were replayed and accepted since the last call.
    pub(super) fn take_counts(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.counts)
    }

    pub(super) fn into_best(self) -> Schedule {
        self.best
    }

    /// Tries a smaller program, in which the commands at these positions of [`Schedule::commands`] have these changes.
    /// First tries the schedule projected on the remaining commands. If this loses the failure, tries up to `fresh`
    /// other schedules. The result has the same meaning as for [`attempt_turns`](Search::attempt_turns).
    pub fn attempt_program(&mut self, changes: &[(usize, Change)], fresh: u64) -> bool {
        let projected = project(&self.best, changes);
        self.attempt_or_fresh(projected, fresh)
    }

    /// Tries the `nth` simpler command, counted from 1, in place of the command at this position of
    /// [`Schedule::commands`]. In other respects, this function is like [`attempt_program`](Search::attempt_program).
    pub fn attempt_simpler(&mut self, at: usize, nth: u64, fresh: u64) -> bool {
        let Command { change: (task, _), simpler: (from, to), .. } = self.best.commands[at];
        if from == to {
            return false;
        }
        let mut candidate = self.best.clone();
        candidate.commands.clear();
        candidate.draws[task][to - 1] = nth;
        // The next level, at which the command stays unchanged.
        candidate.draws[task].insert(to, 0);
        self.attempt_or_fresh(candidate, fresh)
    }

    fn attempt_or_fresh(&mut self, projected: Schedule, fresh: u64) -> bool {
        // `attempt` immediately returns `false` for schedules that were already tried.
        if self.attempt(projected.clone()) {
            return true;
        }
        let began = self.replays;
        (0..fresh).any(|nth| {
            let other = scatter(&projected, nth);
            self.replays - began < fresh && self.attempt(other)
        })
    }

    /// Searches the schedules of a smaller program in up to `runs` runs. If the search was not complete, tries up to
    /// `scattered` random schedules. In other respects, this function is like
    /// [`attempt_program`](Search::attempt_program).
    pub fn seek_program(&mut self, changes: &[(usize, Change)], runs: u64, scattered: u64) -> bool {
        let candidate = project(&self.best, changes);
        let blank = Schedule { turns: Vec::new(), ..candidate.clone() };
        if self.spent() || !self.searched.insert(hash(&names(&blank), &blank)) {
            return false;
        }
        let (cost, steps_max) = (self.cost, self.steps_max);
        let smaller = |ran: &Schedule| ran.cost() < cost && ran.steps() <= steps_max;
        let runs = runs.min(self.budget.sought.saturating_sub(self.sought));
        let sought = self.replayer.seek(&blank, runs, &smaller);
        self.sought += sought.runs;
        self.counts.0 += sought.runs;
        match sought.found {
            Some(ran) => self.take(ran.into_canonical()),
            None if sought.through => false,
            None => (0..scattered).any(|nth| self.attempt(scatter(&candidate, nth))),
        }
    }

    fn attempt(&mut self, candidate: Schedule) -> bool {
        let names = match candidate.tasks == self.best.tasks {
            true => None,
            false => Some(names(&candidate)),
        };
        let hash = hash(names.as_ref().unwrap_or(&self.names), &candidate);
        if self.spent() || !self.tried.insert(hash) {
            return false;
        }
        self.replays += 1;
        self.counts.0 += 1;
        let Some(ran) = self.replayer.replay(&candidate) else {
            return false;
        };
        self.take(ran.into_canonical())
    }

    /// Makes a failing run the best schedule if it is smaller.
    fn take(&mut self, ran: Schedule) -> bool {
        let names = names(&ran);
        self.tried.insert(hash(&names, &ran));
        let cost = ran.cost();
        if cost >= self.cost || cost.steps > self.steps_max {
            return false;
        }
        self.counts.1 += 1;
        self.best = ran;
        self.cost = cost;
        self.names = names;
        true
    }
}

/// A function that changes a piece of the turns of a schedule and returns all turns. `None` if there is nothing to
/// change.
pub type Edit = fn(&[Turn], Range<usize>) -> Option<Vec<Turn>>;

fn names(schedule: &Schedule) -> Vec<u64> {
    let hash = |path| {
        let mut hasher = DefaultHasher::new();
        Hash::hash(path, &mut hasher);
        hasher.finish()
    };
    schedule.tasks.iter().map(hash).collect()
}

/// Returns a hash that is equal for equivalent schedules. The length of the last turn does not matter, because its task
/// continues by default. `names[t]` is the hash of the path of task `t`, so that schedules with different task tables
/// can be compared.
fn hash(names: &[u64], schedule: &Schedule) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (i, turn) in schedule.turns.iter().enumerate() {
        let last = i + 1 == schedule.turns.len();
        (names[turn.task], if last { Turn::OPEN } else { turn.steps }).hash(&mut hasher);
    }
    for (task, draws) in schedule.draws.iter().enumerate() {
        let used = draws.iter().rposition(|draw| *draw != 0).map_or(0, |last| last + 1);
        if used > 0 {
            (names[task], &draws[..used]).hash(&mut hasher);
        }
    }
    hasher.finish()
}
