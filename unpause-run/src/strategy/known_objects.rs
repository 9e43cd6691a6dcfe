//! Matches the objects of a run with the objects of the rehearsals.
//!
//! The number of an object in a run depends on the order of first uses; memory of plain threads is numbered at its
//! first access by a thread. Objects are therefore matched by their [key](View::key_of), which is the same in every
//! run. Objects with the same key, for example the statics of one array, are distinguished by their order.

use crate::run::choice::View;
use crate::run::ids::ObjectId;
use unpause_ordered::Map;

/// An object of the rehearsals, identified by a number starting at 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct KnownObject(u32);

/// Objects of the rehearsals. Each object of a run costs one look-up.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    /// The position in `alike`, by key.
    keys: Map<u64, usize>,
    /// For each key, the objects with this key, in order.
    alike: Vec<Vec<KnownObject>>,
    /// For each position in `alike`, the number of these objects that the current run has used so far.
    met: Vec<usize>,
    count: u32,
    /// For each object of the current run, the matching object of the rehearsals. `None` for an object that was in no
    /// rehearsal.
    of_run: Vec<Option<KnownObject>>,
}

impl KnownObject {
    /// Returns its number.
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

    /// Matches the objects that the run has first used since the last call. If `learning` is true, adds new objects.
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

    /// Returns the object of the rehearsals that matches an object of the run, if the object was [matched](Self::meet).
    #[inline]
    pub(super) fn of(&self, object: ObjectId) -> Option<KnownObject> {
        *self.of_run.get(object.index())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::board::Board;

    /// Simulates a run with one object for each key. Returns for each object the matching known object, if any.
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
