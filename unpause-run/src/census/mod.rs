//! The census of runs: the classes of their interleavings, and the alternatives that no run tried.
//!
//! A `Census` counts runs one at a time, each with its position among the seeds. The censuses of several workers can be
//! merged. The result does not depend on the distribution of the runs among the workers.

use unpause_ordered::Map;
mod blind;
mod class;

pub use self::class::class_of;

#[doc(hidden)]
pub use self::blind::{Object, Tried, Visit, Visitors};
use crate::run::Run;
use crate::run::coverage::Coverage;

/// The counts over all runs of a census.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Census {
    pub runs: u64,
    pub foreign: bool,
    /// For each class, the number of runs and the position of the first run.
    pub classes: Map<u64, (u64, u64)>,
    pub tried: Tried,
}

impl Census {
    /// Adds a run with its position among all runs. Linear in the number of its events.
    pub fn add(&mut self, position: u64, run: &Run) {
        self.runs += 1;
        self.foreign |= run.foreign;
        let (count, first) = self.classes.entry(class_of(run)).or_insert((0, position));
        *count += 1;
        *first = position.min(*first);
        self.tried.add(run);
    }

    /// Records that tasks share something outside this library.
    pub fn shares_unseen(&mut self) {
        self.foreign = true;
    }

    /// Maps the position of each run to a new position. The mapping must keep the order.
    pub fn move_positions(&mut self, to: impl Fn(u64) -> u64) {
        self.classes.values_mut().for_each(|(_, first)| *first = to(*first));
    }

    /// Adds the counts of another census.
    pub fn merge(&mut self, other: Census) {
        self.runs += other.runs;
        self.foreign |= other.foreign;
        for (class, (count, first)) in other.classes {
            let known = self.classes.entry(class).or_insert((0, first));
            *known = (known.0 + count, known.1.min(first));
        }
        self.tried.merge(other.tried);
    }

    /// Returns the coverage of the runs. Positions count all runs, from 0.
    pub fn coverage(&self) -> Coverage {
        let mut new_per_hundred = vec![0; self.runs.div_ceil(100) as usize];
        for (_, first) in self.classes.values() {
            if let Some(new) = new_per_hundred.get_mut((first / 100) as usize) {
                *new += 1;
            }
        }
        let seen = |times: u64| self.classes.values().filter(|(count, _)| *count == times).count();
        Coverage {
            runs: self.runs,
            classes: self.classes.len() as u64,
            new_per_hundred,
            once: seen(1) as u64,
            twice: seen(2) as u64,
            blind: self.tried.blind(),
            foreign: self.foreign,
        }
    }
}
