//! Enumerates schedules with fewer preemptions, independently of the best schedule so far.
//!
//! The other passes try one change at a time and can get stuck. For example, another task could cause the failure with
//! one preemption less, or a preemption can be removed only if another preemption moves. This pass enumerates lists of
//! turns, short lists first. In each list, some turns are cut after a number of steps, and all other turns are open.
//! The number of cuts is lower than the number of preemptions of the best schedule. This search is iterative context
//! bounding (Musuvathi and Qadeer, PLDI 2007, section 3), over lenient schedules. For a small run, the enumeration is
//! nearly complete; for a large run, it stops after [`CANDIDATES`].

use crate::run::schedule::{Cost, Turn};

use super::Search;

/// The number of candidates in each part, including candidates tried before. The pass therefore depends only on the
/// best schedule, and shrinking a result again changes nothing.
const CANDIDATES: u64 = 600;

/// The number of candidates with one more preemption. The number is small, because such candidates must be far shorter
/// for a gain, and rarely are.
const CANDIDATES_MORE: u64 = 150;

/// The maximum number of places at which a task is cut.
const PLACES: usize = 24;

pub(super) fn run(search: &mut Search<'_>) {
    let preemptions = search.cost().preemptions as usize;
    let turns = search.best().turns.len();
    let places = places(search);
    let waits = waits(search);
    // First, candidates with fewer preemptions; then candidates with equally many preemptions, but fewer turns or
    // steps. Last, candidates with one more preemption, but only if it can save more steps than it costs.
    let fewer = (0..preemptions, turns + 1, CANDIDATES);
    let equal = (preemptions..preemptions + 1, turns, CANDIDATES);
    let dear = search.cost().steps > Cost::PREEMPTION + 1;
    let more = (preemptions + 1..preemptions + 1 + usize::from(dear), turns + 1, CANDIDATES_MORE);
    for (cuts, turns, most) in [fewer, equal, more] {
        let left = search.worth(most);
        let mut lists = TurnLists { places: &places, waits: &waits, turns: Vec::new(), left };
        for length in 1..=turns {
            for cuts in cuts.clone().take_while(|cuts| *cuts < length) {
                if lists.extend(search, length, cuts) {
                    return;
                }
            }
            if lists.left == 0 || search.spent() {
                break;
            }
        }
    }
}

struct TurnLists<'a> {
    /// For each task, the possible numbers of steps between two of its cuts.
    places: &'a [Vec<u32>],
    /// For each task, true if it may have another turn after an open turn, because it waited in the best run.
    waits: &'a [bool],
    turns: Vec<Turn>,
    left: u64,
}

impl TurnLists<'_> {
    /// Tries all lists that begin with `self.turns` and continue with `length` turns, of which `cuts` are cut. Returns
    /// `true` if a list was better. The last turn is never cut, because no turn follows it.
    fn extend(&mut self, search: &mut Search<'_>, length: usize, cuts: usize) -> bool {
        if length == 0 {
            self.left = self.left.saturating_sub(1);
            return search.attempt_turns(self.turns.iter().copied());
        }
        let tasks: Vec<usize> = (0..self.places.len()).filter(|t| self.can_follow(*t)).collect();
        if tasks.is_empty() {
            // Dead ends count as well, because there may be more of them than lists.
            self.left = self.left.saturating_sub(1);
        }
        for task in tasks {
            let places: &[u32] = if cuts > 0 { &self.places[task] } else { &[] };
            for steps in [Turn::OPEN].into_iter().chain(places.iter().copied()) {
                let cuts = cuts - usize::from(steps != Turn::OPEN);
                // All following turns except the last turn can be cut.
                if cuts > length.saturating_sub(2) || self.left == 0 || search.spent() {
                    continue;
                }
                self.turns.push(Turn { task, steps, preempts: false });
                let better = self.extend(search, length - 1, cuts);
                self.turns.pop();
                if better {
                    return true;
                }
            }
        }
        false
    }

    fn can_follow(&self, task: usize) -> bool {
        let ended =
            |turn: &Turn| turn.task == task && turn.steps == Turn::OPEN && !self.waits[task];
        self.turns.last().is_none_or(|last| last.task != task) && !self.turns.iter().any(ended)
    }
}

/// Returns, for each task, `true` if it waited in the best run, that is, continued after a turn that was not cut.
fn waits(search: &Search<'_>) -> Vec<bool> {
    let best = search.best();
    let mut waits = vec![false; best.tasks.len()];
    let mut stopped = vec![false; best.tasks.len()];
    for (i, turn) in best.turns.iter().enumerate() {
        waits[turn.task] |= stopped[turn.task];
        stopped[turn.task] = best.turns.get(i + 1).is_some_and(|next| !next.preempts);
    }
    waits
}

/// Returns, for each task, the places where it may be cut. These are all places if the task is short, else the places
/// of its current cuts and their neighbours.
fn places(search: &Search<'_>) -> Vec<Vec<u32>> {
    let best = search.best();
    let mut taken = vec![0u32; best.tasks.len()];
    let mut near = vec![Vec::new(); best.tasks.len()];
    for turn in &best.turns {
        taken[turn.task] += turn.steps;
        for at in [taken[turn.task], turn.steps].into_iter() {
            if near[turn.task].len() < PLACES {
                near[turn.task].extend([at, at.saturating_sub(1).max(1), at + 1]);
            }
        }
    }
    let places = |(taken, mut near): (u32, Vec<u32>)| match taken as usize <= PLACES {
        // A task with few steps may have more steps than the best run shows.
        true => (1..=taken.max(3)).collect(),
        false => {
            near.sort_unstable();
            near.dedup();
            near
        }
    };
    taken.into_iter().zip(near).map(places).collect()
}
