//! The classes of the runs of a search, for look-ups of the classes of other runs.

/// The maximum number of classes in memory (32 MiB). If there are more, only classes below some value are kept.
const KEPT_MAX: usize = if cfg!(test) { 1 << 18 } else { 1 << 22 };

/// A set of class numbers. Classes from `end` on are not kept.
#[derive(Debug)]
pub struct Classes {
    known: Vec<u64>,
    is_sorted: bool,
    end: u64,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes { known: Vec::new(), is_sorted: true, end: u64::MAX }
    }
}

impl Classes {
    /// Adds the class of a run.
    pub fn add(&mut self, class: u64) {
        if class >= self.end {
            return;
        }
        self.known.push(class);
        self.is_sorted = false;
        if self.known.len() >= KEPT_MAX {
            self.known.sort_unstable();
            self.known.dedup();
            // Classes are uniformly distributed hashes, so this drops about half of them.
            self.end /= 2;
            let end = self.known.partition_point(|known| *known < self.end);
            self.known.truncate(end);
        }
    }

    /// Sorts the classes, for [`has`](Self::has).
    pub fn sort(&mut self) {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.known.sort_unstable();
        }
    }

    /// Returns `true` if a run had this class, and `None` if this is unknown.
    pub fn has(&self, class: u64) -> Option<bool> {
        debug_assert!(self.is_sorted);
        (class < self.end).then(|| self.known.binary_search(&class).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    #[test]
    fn of_many_classes_those_below_a_value_are_known() {
        let (mut classes, mut rng) = (Classes::default(), Rng::new(1));
        let added: Vec<u64> = (0..3 * KEPT_MAX).map(|_| rng.below(u64::MAX)).collect();
        added.iter().for_each(|class| classes.add(*class));
        assert!(classes.known.len() < KEPT_MAX);
        classes.sort();
        let asked = added.iter().step_by(16);
        let known = asked.clone().filter(|class| classes.has(**class) == Some(true)).count();
        assert!(known > KEPT_MAX / 64, "{known} known");
        assert!(asked.clone().all(|class| classes.has(*class) != Some(false)));
        assert_eq!(classes.has(7), Some(false));
    }
}
