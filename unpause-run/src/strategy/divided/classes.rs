//! The classes of the runs of a search, for look-ups of the classes of other runs.
//!
//! The memory for classes is bounded. If there are too many classes, only the classes below some value are kept, and
//! slices return only these classes.

use super::SearchTree;

/// The maximum number of classes in memory (32 MiB). If there are more, only classes below some value are kept.
const KEPT_MAX: usize = if cfg!(test) { 1 << 18 } else { 1 << 22 };

/// The maximum number of recorded classes of a search. If there are more, the bound is halved.
const WRITTEN_MAX: u64 = 1 << 16;

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

impl SearchTree {
    /// Returns the bound below which classes are recorded.
    pub fn class_bound(&self) -> u64 {
        self.written.map_or(0, |(bound, _)| bound)
    }

    /// Returns the end of the classes that are still kept.
    pub(super) fn class_end(&self) -> u64 {
        let written = self.written.map_or(u64::MAX, |(bound, _)| bound);
        written.min(self.classes.end)
    }

    pub(super) fn add_classes(&mut self, classes: &[u64]) {
        let Some((mut bound, mut count)) = self.written else {
            classes.iter().for_each(|class| self.classes.add(*class));
            return;
        };
        for class in classes.iter().filter(|class| **class < bound) {
            self.classes.add(*class);
            count += 1;
        }
        while count > WRITTEN_MAX {
            (bound, count) = (bound / 2, count / 2);
        }
        self.written = Some((bound, count));
    }

    /// Returns `true` if this class is among the classes that are kept, so that a run of the search can be looked up.
    pub fn keeps_class(&self, class: u64) -> bool {
        class < self.class_end()
    }

    /// Sorts the classes of the runs, for [`has_class`](Self::has_class).
    pub fn sort_classes(&mut self) {
        self.classes.sort();
    }

    /// Returns `true` if a run had this class. `None` if this is unknown, because another share may contain the class
    /// or the class is not recorded.
    pub fn has_class(&self, class: u64) -> Option<bool> {
        if self.is_share { None } else { self.has_own_class(class) }
    }

    /// Like [`has_class`](Self::has_class), but ignores the other shares.
    pub fn has_own_class(&self, class: u64) -> Option<bool> {
        let is_written = self.written.is_none_or(|(bound, _)| class < bound);
        if is_written { self.classes.has(class) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Rest, Sizes, Slice};
    use super::*;
    use crate::run::rng::Rng;
    use crate::strategy::search::Apart;

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

    #[test]
    fn slices_need_not_return_classes_that_are_not_kept() {
        let mut rng = Rng::new(1);
        for is_recorded in [false, true] {
            let tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
            let mut tree = if is_recorded { tree.recorded() } else { tree };
            let end_of = |tree: &mut SearchTree| tree.part(0).known.class_end;
            assert_eq!(end_of(&mut tree), Some(u64::MAX));
            let classes = (0..2 * KEPT_MAX).map(|_| rng.below(u64::MAX)).collect();
            let part = tree.part(0);
            let rest = Some(Rest { draws: Vec::new(), stack: part.stack });
            tree.merge(vec![Slice { classes, rest, ..Slice::default() }]);
            let end = end_of(&mut tree).expect("a part has an end");
            assert!(end <= u64::MAX / 2, "{end}");
            tree.sort_classes();
            assert_eq!((tree.has_class(end), tree.has_class(0)), (None, Some(false)));
            assert_eq!((tree.keeps_class(end), tree.keeps_class(0)), (false, true));
            // The classes of a search that restarts are all kept.
            tree.begin_again(Apart::ORDERS);
            assert_eq!(end_of(&mut tree), Some(u64::MAX));
        }
    }
}
