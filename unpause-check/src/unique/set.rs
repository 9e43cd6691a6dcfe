//! Sets in which no value is added or removed twice.
//!
//! Values do not affect each other, so each value is decided separately. The operations that found the value inside
//! (its insert, its observers, and its remove) must be possible in this order. Between the first return and the last
//! invocation of these operations, the value was surely inside. An operation that did not find the value must extend
//! beyond this interval (arXiv 2410.04581; the rules for operations that never returned are ours). An insert that never
//! returned happened if its value was found or removed. A remove that never returned can then be assumed to have
//! happened, because it rules out nothing.
//!
//! Each operation gets a moment, and the operations sorted by their moments are the linearization. O(n), besides
//! sorting (see `placed.rs`).

use super::placed;
use super::values::{Contradiction, NONE, RETURNED, Rows, START};
use super::{Action, Plain, Ruling, Span};
use unpause_ordered::sort_by_key;

pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    let Some(rows) = Rows::new(plain, spans) else {
        return Ruling::NotMine;
    };
    let set = match SetCheck::new(plain, spans, rows) {
        Ok(set) => set,
        Err(ruling) => return ruling,
    };
    for value in 0..set.inside.len() {
        if let Some(ruling) = set.contradiction(value) {
            return ruling;
        }
    }
    for (index, action) in plain.actions.iter().enumerate() {
        if let Action::Absent(value) = *action {
            let Inside { from, to, .. } = set.inside[value as usize];
            let (call, end) = set.times(index as u32);
            if from.0 < call && end < to.0 {
                return set.overlooked(value as usize, index as u32);
            }
        }
    }
    Ruling::Linearizable(Some(set.order(plain)))
}

/// A set history. Each time is one greater than in the history, so 0 precedes all times.
struct SetCheck<'a> {
    spans: &'a [Span],
    rows: Rows,
    inside: Vec<Inside>,
}

/// The interval in which a value is surely inside: from a return to an invocation, each with its operation. Empty if
/// the return is not earlier.
#[derive(Clone, Copy)]
struct Inside {
    from: (u64, u32),
    to: (u64, u32),
}

/// The interval of a value that was never inside.
const NEVER: Inside = Inside { from: (u64::MAX, NONE), to: (0, NONE) };

impl<'a> SetCheck<'a> {
    fn new(plain: &Plain, spans: &'a [Span], rows: Rows) -> Result<Self, Ruling> {
        let inside = vec![NEVER; rows.add.len()];
        let mut set = SetCheck { spans, rows, inside };
        for &value in &plain.initial {
            set.inside[value as usize].from = (0, START);
        }
        for (index, action) in plain.actions.iter().enumerate() {
            let pending = spans[index].returned == u64::MAX;
            match *action {
                Action::Add(value) | Action::Take(value) if !pending => set.found(value, index),
                Action::Peek(value) if !pending => set.found(value, index),
                Action::Absent(_) if !pending => {}
                Action::Add(_) | Action::Take(_) => {}
                Action::Nothing if pending => {}
                _ => return Err(Ruling::NotMine),
            }
        }
        // An insert that never returned happened if its value was found.
        for value in 0..set.inside.len() {
            if set.inside[value].from.1 == NONE {
                continue;
            }
            // A remove that never returned is included: the assumption that it happened rules out nothing.
            for index in [set.rows.add[value], set.rows.take[value]] {
                if index < START {
                    set.found(value as u32, index as usize);
                }
            }
            if set.rows.take[value] == NONE {
                set.inside[value].to = (u64::MAX, NONE);
            }
        }
        Ok(set)
    }

    fn found(&mut self, value: u32, index: usize) {
        let (call, end) = self.times(index as u32);
        let Inside { from, to } = &mut self.inside[value as usize];
        *from = (*from).min((end, index as u32));
        *to = (*to).max((call, index as u32));
    }

    fn times(&self, index: u32) -> (u64, u64) {
        let Span { invoked, returned } = self.spans[index as usize];
        (invoked + 1, returned.saturating_add(1))
    }

    /// Returns the contradiction between the operations that found the value, if any.
    fn contradiction(&self, value: usize) -> Option<Ruling> {
        let (add, take) = (self.rows.add[value], self.rows.take[value]);
        let Inside { from: (end, first), to: (call, last) } = self.inside[value];
        // If no operation removes an initial value, the value fits every operation that found it.
        if first == NONE || first == START && take == NONE {
            return None;
        }
        let mut story = Contradiction::default();
        if add == NONE {
            let it = story.name(first);
            let text = format!("{it} found a value that was never added.");
            return Some(story.ruling("value that was never added", text));
        }
        if add != START && end < self.times(add).0 {
            let (it, adds) = (story.name(first), story.name(add));
            story.edge(first, add, RETURNED);
            story.edge(add, first, "adds the value that it found");
            let text = format!("{it} found the value before {adds}, which added it, was invoked.");
            return Some(story.ruling("found before it was added", text));
        }
        if take != NONE && self.times(take).1 < call {
            let (it, takes) = (story.name(last), story.name(take));
            story.edge(take, last, RETURNED);
            story.edge(last, take, "found the value that it removes");
            story.with(add);
            let text = format!(
                "{it} found the value after {takes}, which removed it, had returned; it was added \
                 only once."
            );
            return Some(story.ruling("found after it was removed", text));
        }
        None
    }

    fn overlooked(&self, value: usize, index: u32) -> Ruling {
        let (add, take) = (self.rows.add[value], self.rows.take[value]);
        let Inside { from: (_, first), to: (_, last) } = self.inside[value];
        let mut story = Contradiction::default();
        let it = story.name(index);
        let since = if first == START {
            "it was there from the start".to_owned()
        } else {
            let first_name = story.name(first);
            story.edge(first, index, RETURNED);
            format!("{first_name} had returned before that was invoked")
        };
        let until = if last == NONE {
            "nobody removed it".to_owned()
        } else {
            let last_name = story.name(last);
            story.edge(index, last, RETURNED);
            format!("{last_name} was invoked after that had returned")
        };
        story.with(add);
        story.with(take);
        let text = format!(
            "{it} did not find the value, but it was inside all the while: {since}, and {until}."
        );
        story.ruling("absent while it was inside", text)
    }

    /// Returns the operations, sorted by the moments at which they can take effect. A moment `(time, rank)` is just
    /// before the event at `time`; among equal times, the lower rank is first.
    fn order(&self, plain: &Plain) -> Vec<u32> {
        let (mut times, mut rest) = (Vec::new(), Vec::new());
        for (index, action) in plain.actions.iter().enumerate() {
            let (call, end) = self.times(index as u32);
            let (value, rank) = match *action {
                Action::Absent(value) => (value, 0),
                Action::Add(value) => (value, 1),
                Action::Peek(value) => (value, 2),
                Action::Take(value) => (value, 3),
                _ => continue,
            };
            let Inside { from: (from, first), to: (to, _) } = self.inside[value as usize];
            // If a value is never surely inside (`to < from`), its operations share one moment, and the rank orders
            // them.
            let moment = if rank == 0 {
                // The moment is as early as possible. If the value is inside at that time, the moment is as late as
                // possible.
                if from < call && call < to { (end, 4) } else { (call + 1, 0) }
            } else if first == NONE {
                continue;
            } else if to < from || rank == 1 {
                (from, rank)
            } else if rank == 2 {
                (from.max(call + 1), rank)
            } else {
                (to + 1, rank)
            };
            times.push(moment.0);
            rest.push((moment.1, index as u32));
        }
        // The operations are first sorted by time. Few operations share a time; their ranks then decide.
        let mut order = placed::by_key(&times);
        for group in order.chunk_by_mut(|one, other| times[*one as usize] == times[*other as usize])
        {
            sort_by_key(group, |place| rest[*place as usize].0);
        }
        for place in &mut order {
            *place = rest[*place as usize].1;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::PlainObject;
    use crate::unique::trial::{every, random};
    use Action::*;

    #[test]
    fn all_short_histories_are_judged_as_by_trying_everything() {
        let letters = [Add(0), Take(0), Peek(0), Absent(0), Add(1), Peek(1)];
        let pending = [Add(0), Take(0), Nothing];
        every(PlainObject::Set, &[], 4, &letters, &pending).assert_decided(1.0);
    }

    #[test]
    fn so_are_those_of_a_set_with_members() {
        let letters = [Take(0), Peek(0), Absent(0), Add(1), Take(1), Peek(1)];
        every(PlainObject::Set, &[0], 4, &letters, &[Take(0), Add(1)]).assert_decided(1.0);
    }

    #[test]
    fn random_longer_histories_are_judged_as_by_trying_everything() {
        let letters =
            [Add(0), Take(0), Peek(0), Peek(0), Absent(0), Add(1), Take(1), Peek(1), Absent(1)];
        let pending = [Add(0), Take(0), Add(1), Take(1), Nothing];
        random(PlainObject::Set, &[], &letters, &pending).assert_decided(1.0);
    }
}
