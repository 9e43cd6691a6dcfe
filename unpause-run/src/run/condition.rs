//! Conditions that some runs of a test must meet.

use crate::run::ids::Spot;

/// A condition that must hold in some run, `sometimes!`, or in a share of the runs, `cover!`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Its name; the same name is the same condition.
    pub name: &'static str,
    /// Its place in the source; the smallest one if there are several.
    pub place: Spot,
    /// The required percentage of runs; 0 if one run is enough.
    pub percent: u32,
    /// In how many runs it held: 0 or 1 in the record of a run.
    pub runs: u64,
}

impl Condition {
    /// Records in `all`, the conditions of a run, that this one was evaluated in that run.
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

    /// Adds to `all`, which is of many runs, what the record of other runs says.
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

    /// Returns `true` if it held in enough of so many runs.
    pub fn is_met(&self, runs: u64) -> bool {
        let wanted = u128::from(self.percent) * u128::from(runs);
        self.runs > 0 && u128::from(self.runs) * 100 >= wanted
    }
}
