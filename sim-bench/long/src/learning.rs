//! Sampling that learns: some runs continue from the prefix of an earlier run that reached something rare.
//!
//! The archive has a cell for each key that a run has reached. A cell is drawn with a weight that falls with the number
//! of runs that reached it (Ecoffet et al., "First return, then explore", Nature 590, 2021). The run follows the
//! decisions of one of the runs of that cell up to the mark, then a fresh seed decides.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use sim::run::ids::{Seed, TaskId};
use sim::strategy::{Draw, Mismatch, Strategy, View, find};

use crate::marks::SEEN;

/// The decisions of a run up to a mark.
struct Prefix {
    steps: Arc<Vec<TaskId>>,
    draws: Arc<Vec<u64>>,
    kept: (usize, usize),
}

#[derive(Default)]
struct Cell {
    /// Runs that have reached the key.
    hits: u64,
    /// At most [`KEPT`] prefixes.
    prefixes: Vec<Prefix>,
}

/// The number of prefixes of a cell.
const KEPT: usize = 8;

/// One in this number of runs continues another. A bug that no prefix leads to then takes at most 1.2 times the runs.
const EVERY: u64 = 6;

/// The strategy behind the prefix. The others plan the whole run, so they lose most of their strength in the middle.
const THEN: &str = "random";

#[derive(Default)]
struct Archive {
    keys: Vec<u64>,
    cells: HashMap<u64, Cell>,
    runs: u64,
    steps: u64,
}

thread_local! {
    static ARCHIVE: RefCell<Archive> = RefCell::default();
}

/// Forgets everything learnt.
pub(crate) fn forget() {
    ARCHIVE.with_borrow_mut(|archive| *archive = Archive::default());
    SEEN.with_borrow_mut(|seen| *seen = crate::marks::Seen::default());
}

/// The generator SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

impl Archive {
    /// Adds the last run.
    fn add(&mut self, steps: &Arc<Vec<TaskId>>, draws: &Arc<Vec<u64>>, rng: &mut Rng) {
        let marks = SEEN.with_borrow_mut(|seen| std::mem::take(&mut seen.marks));
        self.runs += 1;
        self.steps += steps.len() as u64;
        for mark in marks {
            let cell = self.cells.entry(mark.key).or_insert_with(|| {
                self.keys.push(mark.key);
                Cell::default()
            });
            cell.hits += 1;
            let prefix = || Prefix {
                steps: steps.clone(),
                draws: draws.clone(),
                kept: (mark.steps, mark.draws),
            };
            if cell.prefixes.len() < KEPT {
                cell.prefixes.push(prefix());
            } else {
                let at = rng.below(cell.hits) as usize;
                if at < KEPT {
                    cell.prefixes[at] = prefix();
                }
            }
        }
    }

    /// Returns `true` if a fresh run seldom reaches the cell, and if enough of the run is left behind its mark.
    fn is_rare(&self, cell: &Cell) -> bool {
        let steps = cell.prefixes[0].kept.0 as u64;
        cell.hits * 2 <= self.runs && steps * 4 * self.runs < 3 * self.steps
    }

    /// Draws a prefix of a rare cell.
    fn draw(&self, rng: &mut Rng) -> Option<&Prefix> {
        let rare =
            || self.keys.iter().map(|key| &self.cells[key]).filter(|cell| self.is_rare(cell));
        let weight = |cell: &Cell| (1u64 << 32) / (cell.hits + 1);
        let total: u64 = rare().map(weight).sum();
        if total == 0 {
            return None;
        }
        let mut left = rng.below(total);
        for cell in rare() {
            if left < weight(cell) {
                return Some(&cell.prefixes[rng.below(cell.prefixes.len() as u64) as usize]);
            }
            left -= weight(cell);
        }
        None
    }
}

/// The strategy. It expects that one thread makes all runs.
struct Learning {
    fresh: Box<dyn Strategy>,
    then: Box<dyn Strategy>,
    steps: Vec<TaskId>,
    draws: Vec<u64>,
    /// The prefix of this run, if it continues another run.
    follows: Option<(Arc<Vec<TaskId>>, Arc<Vec<u64>>, (usize, usize))>,
    /// True once `then` decides.
    began: bool,
    rehearses: bool,
    seed: Seed,
}

/// Creates the strategy.
pub(crate) fn create() -> Box<dyn Strategy> {
    let of = |name: &str| (find(name).expect("it is registered").create)();
    Box::new(Learning {
        fresh: of("portfolio"),
        then: of(THEN),
        steps: Vec::new(),
        draws: Vec::new(),
        follows: None,
        began: false,
        rehearses: false,
        seed: Seed(0),
    })
}

impl Learning {
    fn note(&mut self, task: TaskId) {
        self.steps.push(task);
        SEEN.with_borrow_mut(|seen| seen.steps += 1);
    }

    fn then(&mut self) -> &mut dyn Strategy {
        if !self.began {
            self.began = true;
            self.then.begin(self.seed);
        }
        &mut *self.then
    }
}

impl Strategy for Learning {
    fn prepare(&mut self, seed: Seed) {
        self.fresh.prepare(seed);
    }

    fn rehearsals(&self) -> u32 {
        self.fresh.rehearsals()
    }

    fn begin(&mut self, seed: Seed) {
        let mut rng = Rng(seed.0 ^ 0x5eed);
        let (steps, draws) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.draws));
        let (steps, draws) = (Arc::new(steps), Arc::new(draws));
        ARCHIVE.with_borrow_mut(|archive| archive.add(&steps, &draws, &mut rng));
        SEEN.with_borrow_mut(|seen| *seen = crate::marks::Seen::default());
        self.rehearses = self.fresh.rehearsals() > 0;
        self.seed = seed;
        self.began = false;
        let continues = !self.rehearses && seed.0 % EVERY == EVERY - 1;
        let drawn = continues.then(|| {
            ARCHIVE.with_borrow(|archive| {
                let prefix = archive.draw(&mut rng)?;
                Some((prefix.steps.clone(), prefix.draws.clone(), prefix.kept))
            })
        });
        self.follows = drawn.flatten();
        if self.follows.is_none() {
            self.fresh.begin(seed);
        }
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let at = match &self.follows {
            None => self.fresh.pick(view)?,
            Some((steps, _, (kept, _))) if self.steps.len() < *kept => {
                let task = steps[self.steps.len()];
                let at = view.candidates().iter().position(|other| *other == task);
                at.expect("the prefix is repeated")
            }
            Some(_) => self.then().pick(view)?,
        };
        self.note(view.candidates()[at]);
        Ok(at)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let value = match &self.follows {
            None => self.fresh.draw(draw)?,
            Some((_, draws, (_, kept))) if self.draws.len() < *kept => draws[self.draws.len()],
            Some(_) => self.then().draw(draw)?,
        };
        self.draws.push(value);
        SEEN.with_borrow_mut(|seen| seen.draws += 1);
        Ok(value)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        match (&self.follows, self.began) {
            (None, _) => self.fresh.end(view),
            (Some(_), true) => self.then.end(view),
            (Some(_), false) => Ok(()),
        }
    }
}
