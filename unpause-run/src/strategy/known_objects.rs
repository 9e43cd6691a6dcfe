//! Matches the objects of a run with the objects of the rehearsals.
//!
//! The number of an object in a run depends on the order of first uses, and memory of plain threads
//! is met when a thread first accesses it. So an object is known by its [key](View::key_of), which
//! is the same in every run. Objects with one key, such as the statics of one array, are
//! distinguished by their order.

use crate::run::choice::View;
use crate::run::ids::ObjectId;
use unpause_ordered::Map;

/// An object of the rehearsals, by a number from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct KnownObject(u32);

/// Objects of the rehearsals. Each object of a run costs one look-up.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    /// By key: a position in `alike`.
    keys: Map<u64, usize>,
    /// The objects with one key, in order.
    alike: Vec<Vec<KnownObject>>,
    /// By position in `alike`: how many of these objects the run has met.
    met: Vec<usize>,
    count: u32,
    /// By object of the current run. `None` for an object that was in no rehearsal.
    of_run: Vec<Option<KnownObject>>,
}

impl KnownObject {
    /// Its number.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl KnownObjects {
    /// Begins a run.
    pub(super) fn restart(&mut self) {
        self.of_run.clear();
        self.met.fill(0);
    }

    /// Matches the objects that the run has met since the last call. If `learning` is true, new ones are added.
    #[inline]
    pub(super) fn meet(&mut self, view: &View<'_>, learning: bool) {
        if self.of_run.len() < view.objects() {
            self.meet_new(view, learning);
        }
    }

    #[cold]
    fn meet_new(&mut self, view: &View<'_>, learning: bool) {
        for number in self.of_run.len()..view.objects() {
            let key = view.key_of(ObjectId::new(number as u32));
            let known = self.known(key, learning);
            self.of_run.push(known);
        }
    }

    fn known(&mut self, key: u64, learning: bool) -> Option<KnownObject> {
        let at = match self.keys.get(&key) {
            Some(at) => *at,
            None if learning => {
                self.keys.insert(key, self.alike.len());
                self.alike.push(Vec::new());
                self.met.push(0);
                self.alike.len() - 1
            }
            None => return None,
        };
        let nth = self.met[at];
        self.met[at] += 1;
        if nth == self.alike[at].len() && learning {
            self.alike[at].push(KnownObject(self.count));
            self.count += 1;
        }
        self.alike[at].get(nth).copied()
    }

    /// The object of the rehearsals that an object of the run is, if it was [met](Self::meet).
    #[inline]
    pub(super) fn of(&self, object: ObjectId) -> Option<KnownObject> {
        *self.of_run.get(object.index())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::board::Board;

    /// The objects of a run that meets objects with these keys.
    fn run(known: &mut KnownObjects, keys: &[u64], learning: bool) -> Vec<Option<u32>> {
        known.restart();
        let board = Board { object_keys: keys.to_vec(), ..Board::default() };
        known.meet(&View::of(&board), learning);
        let ids = (0..keys.len() as u32).map(ObjectId::new);
        ids.map(|id| known.of(id).map(|known| known.0)).collect()
    }

    #[test]
    fn objects_are_known_by_their_keys_in_any_order() {
        let mut known = KnownObjects::default();
        assert_eq!(run(&mut known, &[7, 8], true), [Some(0), Some(1)]);
        assert_eq!(run(&mut known, &[9, 8, 7], true), [Some(2), Some(1), Some(0)]);
        assert_eq!(run(&mut known, &[8, 3, 9], false), [Some(1), None, Some(2)]);
    }

    #[test]
    fn objects_with_one_key_are_told_apart_by_their_order() {
        let mut known = KnownObjects::default();
        assert_eq!(run(&mut known, &[5, 6, 5], true), [Some(0), Some(1), Some(2)]);
        assert_eq!(run(&mut known, &[5, 5, 6, 5], false), [Some(0), Some(2), Some(1), None]);
    }
}
