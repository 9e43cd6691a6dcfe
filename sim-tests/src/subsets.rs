//! All histories of a shape over the alphabet of a model, each with its verdict.
//!
//! The verdict comes from dynamic programming over sets of operations. For each set that may come first in an order,
//! the check computes the possible states of the object. If a history differs from the previous history only in its
//! last operations, the check reuses the results for the other operations. So a verdict costs less than a call of a
//! checker. This code and the checkers share only the model.

use std::collections::HashMap;

use sim::check::Model;
use sim::check::models::RegisteredModel;

use crate::shapes::{NEVER, Shape};

/// A call and its result; `None` if it never returned.
type Letter<M> = (<M as Model>::Op, Option<<M as Model>::Ret>);

/// The possible operations of a history, and their effects on the states of the object.
pub struct Letters<M: Model> {
    /// The returned operations, then the pending operations.
    pub letters: Vec<Letter<M>>,
    completed: usize,
    /// `next[letter][state]`: the states after the operation, one bit for each state.
    next: Vec<Vec<u128>>,
}

impl<M: RegisteredModel> Letters<M> {
    /// Creates the letters of the model's alphabet, for histories of at most `steps` operations.
    ///
    /// # Panics
    /// If the object has more than 128 states.
    pub fn new(steps: usize) -> Self {
        let alphabet = M::alphabet();
        let returned = alphabet.iter().flat_map(|(op, rets)| {
            rets.iter().map(|ret| (op.clone(), Some(ret.clone()))).collect::<Vec<_>>()
        });
        let mut letters: Vec<Letter<M>> = returned.collect();
        let completed = letters.len();
        letters.extend(alphabet.into_iter().map(|(op, _)| (op, None)));
        let mut states = vec![M::initial()];
        let mut numbers = HashMap::from([(M::initial(), 0)]);
        let mut next: Vec<Vec<u128>> = vec![Vec::new(); letters.len()];
        for _ in 0..steps {
            for number in next[0].len()..states.len() {
                for ((op, ret), next) in letters.iter().zip(&mut next) {
                    let mut after = Vec::new();
                    states[number].successors(op, ret.as_ref(), &mut after);
                    let mut set = 0;
                    for state in after {
                        let fresh = states.len();
                        let number = *numbers.entry(state.clone()).or_insert(fresh);
                        assert!(number < 128, "{} has too many states", M::NAME);
                        if number == fresh {
                            states.push(state);
                        }
                        set |= 1u128 << number;
                    }
                    next.push(set);
                }
            }
        }
        Letters { letters, completed, next }
    }

    /// Calls `found` with every history of the shape. The arguments are the letter of each operation, the number of
    /// leading letters that are unchanged since the last call, and true if some order explains the history. If
    /// operations differ only in their letters, only one order of these letters is visited.
    pub fn every(&self, shape: &Shape, found: &mut impl FnMut(&[usize], usize, bool)) {
        let count = shape.len();
        let precedes = |i: usize, j: usize| shape[i].1 != NEVER && shape[i].1 < shape[j].0;
        let all = 0..count;
        let set =
            |of: &dyn Fn(usize) -> bool| all.clone().filter(|i| of(*i)).fold(0, |s, i| s | 1 << i);
        let earlier: Vec<usize> = all.clone().map(|j| set(&|i| precedes(i, j))).collect();
        let returned = set(&|i| shape[i].1 != NEVER);
        // The sets that contain all predecessors of their operations, each with the operations that may be last in the
        // set.
        let is_first = |s: usize| all.clone().all(|i| s & 1 << i == 0 || earlier[i] & !s == 0);
        let mut by_highest = vec![Vec::new(); count];
        for s in (1usize..1 << count).filter(|s| is_first(*s)) {
            let last = all.clone().filter(|i| s & 1 << i != 0 && is_first(s & !(1 << i)));
            by_highest[s.ilog2() as usize].push((s, last.collect()));
        }
        let mut reach = vec![0; 1 << count];
        reach[0] = 1;
        let mut walk = Walk {
            letters: self,
            shape,
            by_highest,
            ends: (0..1usize << count).filter(|s| s & returned == returned).collect(),
            reach,
            word: vec![0; count],
            same: 0,
        };
        walk.go(0, found);
    }
}

struct Walk<'a, M: Model> {
    letters: &'a Letters<M>,
    shape: &'a Shape,
    /// For each highest operation, the sets that may come first, with the operations that may be last in the set.
    by_highest: Vec<Vec<(usize, Vec<usize>)>>,
    /// The sets that contain all returned operations.
    ends: Vec<usize>,
    /// The possible states after each set.
    reach: Vec<u128>,
    word: Vec<usize>,
    same: usize,
}

impl<M: Model> Walk<'_, M> {
    fn go(&mut self, at: usize, found: &mut impl FnMut(&[usize], usize, bool)) {
        if at == self.shape.len() {
            let is_explicable = self.ends.iter().any(|set| self.reach[*set] != 0);
            found(&self.word, self.same, is_explicable);
            self.same = at;
            return;
        }
        let Letters { letters, completed, .. } = self.letters;
        let range =
            if self.shape[at].1 == NEVER { *completed..letters.len() } else { 0..*completed };
        let is_twin = at > 0 && self.shape[at - 1] == self.shape[at];
        let start = if is_twin { self.word[at - 1] } else { range.start };
        for letter in start..range.end {
            self.word[at] = letter;
            self.same = self.same.min(at);
            for (set, last) in &self.by_highest[at] {
                let mut states = 0;
                for i in last {
                    let next = &self.letters.next[self.word[*i]];
                    let mut before = self.reach[set & !(1 << i)];
                    while before != 0 {
                        states |= next[before.trailing_zeros() as usize];
                        before &= before - 1;
                    }
                }
                self.reach[*set] = states;
            }
            self.go(at + 1, found);
        }
    }
}
