//! Explains the contradictions of registers, each with the few operations that it needs.
//!
//! Each contradiction includes the operations that prove the effect of an operation without a return, and the swaps
//! that led to a value if there are only a few. This file decides nothing.

use super::{Block, First, Last, RegisterCheck};
use crate::unique::values::{Contradiction, NONE, RETURNED, START};
use crate::unique::{Action, Ruling};

/// The maximum length of a chain of swaps that is shown from its beginning.
const CHAIN_SHOWN_MAX: usize = 8;

impl RegisterCheck<'_> {
    pub(super) fn unwritten(&self, value: u32) -> Ruling {
        let mut story = Contradiction::default();
        let it = story.name(self.seen[value as usize]);
        self.with_proof(&mut story, self.seen[value as usize]);
        let text = format!("{it} found a value that no operation of the history writes.");
        story.ruling("read of a value never written", text)
    }

    pub(super) fn read_before_write(&self, value: u32) -> Ruling {
        let (intro, read) =
            (self.intro[value as usize], self.clusters[value as usize].first.operation);
        let mut story = Contradiction::default();
        let (it, writer) = (story.name(read), story.name(intro));
        story.edge(read, intro, RETURNED);
        story.edge(intro, read, "writes the value that it read");
        self.with_past(&mut story, value);
        let text = format!("{it} returned the value before {writer}, which wrote it, was invoked.");
        story.ruling("read before write", text)
    }

    pub(super) fn swapped_twice(&self, old: u32, one: u32, other: u32) -> Ruling {
        let mut story = Contradiction::default();
        let swaps = [self.intro[one as usize], self.intro[other as usize]];
        let names = swaps.map(|swap| story.name(swap));
        for swap in swaps {
            self.with_proof(&mut story, swap);
        }
        let text = match self.intro[old as usize] {
            START => format!("{} and {} both replaced the initial value.", names[0], names[1]),
            intro => {
                let writer = story.name(intro);
                self.with_past(&mut story, old);
                format!(
                    "{} and {} both replaced the value of {writer}, which was written only once.",
                    names[0], names[1]
                )
            }
        };
        story.ruling("lost update", text)
    }

    /// Explains that `first` returned before an operation on an earlier value of its block was invoked.
    pub(super) fn out_of_line(&self, first: First) -> Ruling {
        let mut earlier = self.before[first.value as usize];
        // `blocks` found a later invocation on some earlier value, so the walk stays within the block.
        while self.clusters[earlier as usize].last.call < first.end {
            earlier = self.before[earlier as usize];
        }
        let last = self.clusters[earlier as usize].last;
        let mut story = Contradiction::default();
        let (late, early) = (story.name(last.operation), story.name(first.operation));
        story.edge(first.operation, last.operation, RETURNED);
        story.edge(last.operation, first.operation, "its value was replaced by the other's");
        self.with_path(&mut story, earlier, first.value);
        let text = format!(
            "{late} found a value that had been replaced: it was invoked after {early} had \
             returned, which found what it was replaced by."
        );
        story.ruling(self.stale(last.operation), text)
    }

    /// Explains a circle of swaps: no block contains these values, because each was swapped for the next.
    pub(super) fn circle(&self, blocks: &[Block]) -> Ruling {
        let mut reached = vec![false; self.intro.len()];
        for block in blocks {
            let mut value = block.root;
            while value != NONE {
                reached[value as usize] = true;
                value = self.after[value as usize];
            }
        }
        let left = |value: &usize| self.intro[*value] != NONE && !reached[*value];
        let start = (0..self.intro.len()).find(left).expect("not all were reached") as u32;
        let mut story = Contradiction::default();
        let it = story.name(self.intro[start as usize]);
        let mut value = start;
        // Two swaps never replace the same value here (see `find_links`), so each remaining value is in a cycle.
        loop {
            let next = self.after[value as usize];
            let (from, to) = (self.intro[value as usize], self.intro[next as usize]);
            story.edge(from, to, "writes the value that it replaced");
            story.with(from);
            self.with_proof(&mut story, from);
            value = next;
            if value == start {
                break;
            }
        }
        let text = format!(
            "{it} replaced a value that was only written after it, by swaps that lead in a circle \
             back to its own value."
        );
        story.ruling("circle of swaps", text)
    }

    /// Explains that two blocks must each come before the other.
    pub(super) fn crossed(&self, one: &Block, other: &Block) -> Ruling {
        // The text describes `late`, which found the value of `p` after the value of `q`.
        let rank = |block: &Block| {
            let looks = match self.plain.actions.get(block.last.operation as usize) {
                Some(Action::Peek(_)) => 2,
                Some(Action::Swap(..)) => 1,
                _ => 0,
            };
            (block.first.operation == START, looks, block.last.call)
        };
        let (p, q) = if rank(one) < rank(other) { (other, one) } else { (one, other) };
        let late = p.last;
        let overtaken = self.finished(q, late.call);
        // Prefer fewer operations: the overtaken operation may itself come after some operations of `p`.
        let call = self.times(overtaken.operation).0;
        let next = if p.first.end < call {
            Last { call, operation: overtaken.operation, value: overtaken.value }
        } else {
            q.last
        };
        let before = self.finished(p, next.call);
        let mut story = Contradiction::default();
        let (late_name, overtaken_name) =
            (story.name(late.operation), story.name(overtaken.operation));
        story.edge(overtaken.operation, late.operation, RETURNED);
        story.edge(late.operation, overtaken.operation, "its value was there before the other's");
        let why = if before.operation == START {
            self.with_past(&mut story, overtaken.value);
            "the initial one".to_owned()
        } else {
            let (before, later) = (story.name(before.operation), story.name(next.operation));
            self.with_path_between(&mut story, next.value, overtaken.value);
            format!("the earlier one, since {before} had returned before {later} was invoked")
        };
        self.with_path_between(&mut story, late.value, before.value);
        let text = format!(
            "{late_name} was invoked after {overtaken_name} had returned, so it cannot find a value \
             from before that; but the value it found is {why}."
        );
        story.ruling(self.stale(late.operation), text)
    }

    /// Returns an operation of the block that returned before `time`. Prefers the writer of the last operation's value,
    /// then the last operation itself, because fewer operations must then be shown; otherwise the first operation.
    fn finished(&self, block: &Block, time: u64) -> First {
        let value = block.last.value;
        let preferred = [self.intro[value as usize], block.last.operation];
        let ends = preferred.map(|operation| (self.times(operation).1, operation));
        let mut early = ends.into_iter().filter(|(end, _)| *end < time);
        early.next().map_or(block.first, |(end, operation)| First { end, operation, value })
    }

    fn stale(&self, operation: u32) -> &'static str {
        match self.plain.actions[operation as usize] {
            Action::Peek(_) => "stale read",
            Action::Swap(..) => "stale swap",
            _ => "late write",
        }
    }

    /// Adds the operations that prove that an operation without a return happened.
    fn with_proof(&self, story: &mut Contradiction, mut operation: u32) {
        while self.pending(operation) {
            let (Action::Add(value) | Action::Swap(_, value)) =
                self.plain.actions[operation as usize]
            else {
                return;
            };
            let shows = |&known: &u32| self.plain.actions[known as usize] == Action::Peek(value);
            if story.named().iter().any(shows) {
                return;
            }
            // The proof can be another swap without a return. That swap needs a proof, too.
            operation = self.seen[value as usize];
            story.with(operation);
        }
    }

    /// Adds the writer of the value and, if the writer is a swap, the swaps before it.
    fn with_past(&self, story: &mut Contradiction, value: u32) {
        let intro = self.intro[value as usize];
        story.with(intro);
        self.with_proof(story, intro);
        let mut past = Vec::new();
        let mut old = self.before[value as usize];
        while old != NONE && past.len() < CHAIN_SHOWN_MAX {
            past.push(self.intro[old as usize]);
            old = self.before[old as usize];
        }
        if old == NONE {
            past.into_iter().for_each(|operation| story.with(operation));
        }
    }

    fn with_path_between(&self, story: &mut Contradiction, one: u32, other: u32) {
        let mut value = one;
        while value != NONE && value != other {
            value = self.before[value as usize];
        }
        if value == other {
            self.with_path(story, other, one);
        } else {
            self.with_path(story, one, other);
        }
    }

    /// Adds the swaps that lead from one value to a later value, and the history of the first value.
    fn with_path(&self, story: &mut Contradiction, from: u32, to: u32) {
        let mut value = to;
        while value != from {
            let intro = self.intro[value as usize];
            story.with(intro);
            self.with_proof(story, intro);
            value = self.before[value as usize];
        }
        self.with_past(story, from);
    }
}
