//! Conditions that some runs of a test must meet.

use crate::run::ids::Spot;

/// A condition that must hold in some run (`sometimes!`) or in a share of the runs (`cover!`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The name of the condition. Conditions with the same name are the same condition.
    pub name: &'static str,
    /// The place of the condition in the source; the smallest place if there are several.
    pub place: Spot,
    /// The required percentage of runs; 0 if one run is enough.
    pub percent: u32,
    /// The number of runs in which the condition held: 0 or 1 in the record of a run.
    pub runs: u64,
}

impl Condition {
    /// Records in `all`, the conditions of a run, that this condition was evaluated in the run.
    #[doc(hidden)]
    pub fn note(self, all: &mut Vec<Condition>) {
        match all.iter_mut().find(|known| known.name == self.name) {
            Some(known) => {
                known.place = known.place.min(self.place);
                known.percent = known.percent.max(self.percent);
                known.runs = known.runs.max(self.runs);
            }
            None => all.push(self),
        }
    }

    /// Adds the record of other runs to `all`, the conditions of many runs.
    #[doc(hidden)]
    pub fn add(self, all: &mut Vec<Condition>) {
        match all.iter_mut().find(|known| known.name == self.name) {
            Some(known) => {
                known.place = known.place.min(self.place);
                known.percent = known.percent.max(self.percent);
                known.runs += self.runs;
            }
            None => all.push(self),
        }
    }

    /// Returns `true` if the condition held in at least `percent` of `runs` runs.
    pub fn is_met(&self, runs: u64) -> bool {
        let wanted = u128::from(self.percent) * u128::from(runs);
        self.runs > 0 && u128::from(self.runs) * 100 >= wanted
    }
}
