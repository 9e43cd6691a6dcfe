//! Explains the contradictions of queues, each with the few operations in it. This file decides
//! nothing.

use super::{NEVER, QueueCheck, QueueItem};
use crate::unique::Ruling;
use crate::unique::values::{Contradiction, NONE, RETURNED, START};

impl QueueCheck {
    /// Explains that fewer removals never returned than items had to leave in time.
    pub(super) fn never_left(&self, deadlines: &[(u64, u32, u32)]) -> Ruling {
        let (deadline, item, second) = deadlines[deadlines.len() - 1];
        let first = QueueItem { take: NEVER, taken: NONE, ..self.items[item as usize] };
        let second = &self.items[second as usize];
        let mut story = Contradiction::default();
        let took = story.name(second.taken);
        let before = match (first.added, second.added) {
            (START, START) => "one of the initial items, which was in front of it".to_owned(),
            (START, _) => "one of the initial items".to_owned(),
            (first, second) => {
                let (first, second) = (story.name(first), story.name(second));
                format!("the item of {first}, which had returned before {second} was invoked")
            }
        };
        story.with(second.added);
        if first.added < START && second.added < START {
            story.edge(first.added, second.added, RETURNED);
            story.edge(second.added, second.taken, "adds what it takes");
        }
        // Each earlier deadline uses up one removal, so the contradiction includes the operations of that deadline.
        for (_, item, second) in &deadlines[..deadlines.len() - 1] {
            let second = &self.items[*second as usize];
            for operation in [self.items[*item as usize].added, second.added, second.taken] {
                story.with(operation);
            }
        }
        // A removal that was invoked after the deadline cannot have taken an item in time.
        let early = |removal: &&u32| self.times[**removal as usize].0 < deadline;
        let removals: Vec<u32> = self.removals.iter().take_while(early).copied().collect();
        let text = if removals.is_empty() {
            format!("{took} took an item past {before} and which nothing ever took.")
        } else {
            removals.iter().for_each(|removal| story.with(*removal));
            format!(
                "{took} took an item past {before} and which was not seen to leave; the removals \
                 that never returned are too few for all the items that had to leave by then \
                 ({} for {}).",
                removals.len(),
                deadlines.len()
            )
        };
        story.ruling("lost item", text)
    }

    /// Explains that items were inside during the whole time that the operation was open.
    pub(super) fn covered(&self, operation: u32) -> Ruling {
        let (call, end) = self.times[operation as usize];
        let mut chain = Vec::new();
        let mut reached = call;
        let mut candidates = self.by_add_end.iter().map(|item| &self.items[*item as usize]);
        let mut furthest: Option<&QueueItem> = None;
        let mut next = candidates.next();
        // Choose the fewest items: among the items added before the previous item left, always the
        // item that stays longest.
        while reached < end {
            while let Some(item) = next.filter(|item| item.add.1 < reached) {
                let stays = |other: &QueueItem| other.take.0 < item.take.0;
                if item.inside().is_some() && furthest.is_none_or(stays) {
                    furthest = Some(item);
                }
                next = candidates.next();
            }
            let item = furthest.filter(|item| reached < item.take.0).expect("it is covered");
            reached = item.take.0;
            chain.push(item);
        }
        let mut story = Contradiction::default();
        let it = story.name(operation);
        let text = if let [item] = chain[..] {
            let since = match item.added {
                START => "which was there from the start".to_owned(),
                added => {
                    story.edge(added, operation, RETURNED);
                    let added = story.name(added);
                    format!("added by {added}, which had returned before that was invoked")
                }
            };
            let until = match item.taken {
                NONE => "nothing took it before that returned".to_owned(),
                taken => {
                    story.edge(operation, taken, RETURNED);
                    let taken = story.name(taken);
                    format!("{taken}, which took it, was invoked after that had returned")
                }
            };
            format!(
                "{it} found nothing, but all the while there was an item inside, {since}; {until}."
            )
        } else {
            format!(
                "{it} found nothing, but at each moment at which it can have looked one of {} items \
                 was inside: each was there before the one before it left.",
                chain.len()
            )
        };
        for item in chain {
            story.with(item.added);
            story.with(item.taken);
        }
        story.ruling("empty while it held an item", text)
    }
}

impl QueueItem {
    pub(super) fn impossible(&self) -> Ruling {
        let mut story = Contradiction::default();
        let took = story.name(self.taken);
        if self.added == NONE {
            let text = format!("{took} took an item that was never added.");
            return story.ruling("item that was never added", text);
        }
        let added = story.name(self.added);
        story.edge(self.taken, self.added, RETURNED);
        story.edge(self.added, self.taken, "adds what it takes");
        let text = format!("{took} took the item before {added}, which added it, was invoked.");
        story.ruling("taken before it was added", text)
    }
}

/// Explains that the first item was added before the second but taken after it.
pub(super) fn out_of_order(first: &QueueItem, second: &QueueItem) -> Ruling {
    let mut story = Contradiction::default();
    let (early, late) = (story.name(second.taken), story.name(first.taken));
    story.edge(second.taken, first.taken, RETURNED);
    story.edge(first.taken, second.taken, "its item was added first");
    let added = match (first.added, second.added) {
        (START, START) => "it was in front from the start".to_owned(),
        (START, second) => format!("it was there before {} was invoked", story.name(second)),
        (first, second) => {
            let (first, second) = (story.name(first), story.name(second));
            format!("{first} had returned before {second} was invoked")
        }
    };
    let text = format!(
        "{early} had returned before {late} was invoked, but what {late} took was added first: {added}."
    );
    story.ruling("dequeued out of order", text)
}
