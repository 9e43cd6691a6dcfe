//! Removes items of a stack from the bottom, as long as some item can lie there.
//!
//! To find the next item fast, the algorithm handles the moments one by one, beginning with the moments that the fewest
//! items cover. A moment that no item covers fits all operations open at that moment. A moment covered by a single item
//! fits the operations of this item, and waits for its removal. A moment that two items cover fits no operation yet.
//! Each moment and each operation is visited a bounded number of times. An item that can be popped as soon as it is
//! pushed obstructs no other item, so it is left out.
//!
//! Terms: an *entry* is an operation of an item, with its moments. The items are renumbered densely, and the entries
//! are sorted by item.

use super::intervals::{Covers, NONE, Stabs};
use super::items::{CollectionItem, Items};
use super::pending::Least;
use unpause_ordered::sort_by_number;

/// The items that are surely inside at some moment, renumbered, with their operations.
pub(super) struct Layout {
    /// The number of each item in the history.
    pub(super) values: Vec<u32>,
    /// The moments at which each item is surely inside: the first moment, and the first moment after.
    inside: Vec<(u32, u32)>,
    /// The index of the first entry of each item, up to the first entry of the next item. The entries of an item are
    /// sorted by first moment.
    starts: Vec<u32>,
    entries: Vec<StackEntry>,
    /// The number of moments.
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct StackEntry {
    first: u32,
    last: u32,
    /// The operation of an observer, which may be left out; `NONE` for adds and takes.
    look: u32,
}

impl Layout {
    /// Creates the layout of a history. O(n).
    pub(super) fn new(items: &Items) -> Layout {
        let size = items.of.iter().filter(|item| item.stays()).count();
        let mut layout = Layout {
            values: Vec::with_capacity(size),
            inside: Vec::with_capacity(size),
            starts: Vec::with_capacity(size + 1),
            entries: Vec::with_capacity(2 * size),
            count: items.moments.count,
        };
        let entry = |operation: u32, look: u32| {
            let (first, last) = items.moments.of[operation as usize];
            StackEntry { first, last, look }
        };
        for (value, item) in (0..).zip(&items.of).filter(|(_, item)| item.stays()) {
            let start = layout.entries.len();
            layout.values.push(value);
            layout.inside.push((item.from, item.to));
            layout.starts.push(start as u32);
            layout.entries.push(entry(item.add, NONE));
            for look in items.observers(value) {
                layout.entries.push(entry(*look, *look));
            }
            if item.take != NONE {
                layout.entries.push(entry(item.take, NONE));
            }
            // Two entries are in order already, because no operation of an item begins before its add.
            if layout.entries.len() > start + 2 {
                sort_by_number(&mut layout.entries[start..], |entry| entry.first.into());
            }
        }
        layout.starts.push(layout.entries.len() as u32);
        layout
    }

    /// Returns the items that remain after as many as possible have been removed. O(n log n).
    pub(super) fn stuck(&self) -> Vec<u32> {
        Removal::new(self).run()
    }

    /// Returns two items that cross, the lower item first, if any. The upper item was pushed while the lower item was
    /// surely inside, and the lower item was popped while the upper item was surely inside. O(n log n).
    pub(super) fn crossing(&self, items: &Items, stuck: &[u32]) -> Option<[u32; 2]> {
        let of = |operation: u32| items.moments.of[operation as usize];
        let item = |number: u32| items.of[self.values[number as usize] as usize];
        let mut above: Vec<u32> = stuck.to_vec();
        sort_by_number(&mut above, |number| of(item(*number).add).0.into());
        let mut below: Vec<u32> = stuck.to_vec();
        below.retain(|number| item(*number).take != NONE);
        sort_by_number(&mut below, |number| item(*number).from.into());
        // For the items pushed after a moment and before another moment: the time at which the last of them leaves.
        let mut leaves = Least::new(self.count);
        while let Some(under) = below.pop() {
            let CollectionItem { from, to, take, .. } = item(under);
            while above.last().is_some_and(|over| of(item(*over).add).0 >= from) {
                let over = item(above.pop().expect("looked at"));
                // `Least` finds the least value from a position on. The two numbers are mirrored, so that `Least` finds
                // the latest value up to a position.
                leaves.put(self.count - over.from, NONE - 1 - over.to);
            }
            let latest = leaves.from(self.count - to);
            if latest != NONE && NONE - 1 - latest > of(take).1 {
                let fits = |over: &&u32| {
                    let over = item(**over);
                    of(over.add).0 >= from && over.from <= to && over.to > of(take).1
                };
                let over = stuck.iter().find(fits).expect("it was put there");
                return Some([under, *over]);
            }
        }
        None
    }

    /// Returns a smallest subset of these stuck items that is stuck by itself: no item can be left out (Zeller and
    /// Hildebrandt 2002, `ddmin`). The subset is not the smallest if the search reaches its work limit, about fifty
    /// times the cost of finding these items stuck.
    pub(super) fn minimize(&self, mut stuck: Vec<u32>) -> Vec<u32> {
        let mut work = 64 * self.entries_in(&stuck) + 100_000;
        let mut chunks = 2;
        while chunks <= stuck.len() {
            let size = stuck.len().div_ceil(chunks);
            let mut fewer = None;
            for start in (0..stuck.len()).step_by(size) {
                let end = (start + size).min(stuck.len());
                let rest = [&stuck[..start], &stuck[end..]].concat();
                // Each trial repeats the removal, so trials are limited by a budget. When the budget runs out, the
                // result may not be the smallest.
                let cost = self.entries_in(&rest);
                if work < cost {
                    return stuck;
                }
                work -= cost;
                let left = self.restricted_to(&rest, |_| true).stuck();
                if !left.is_empty() {
                    fewer = Some(left.iter().map(|number| rest[*number as usize]).collect());
                    break;
                }
            }
            (stuck, chunks) = match fewer {
                Some(fewer) => (fewer, 2.max(chunks - 1)),
                None if size == 1 => return stuck,
                None => (stuck, 2 * chunks),
            };
            chunks = chunks.min(stuck.len().max(2));
        }
        stuck
    }

    /// Returns the observers of these stuck items that are needed to keep them stuck.
    pub(super) fn observers_needed(&self, stuck: &[u32]) -> Vec<u32> {
        let mut needed: Vec<u32> = Vec::new();
        for number in stuck {
            let entries = self.entries[self.entries_of(*number)].iter();
            needed.extend(entries.map(|entry| entry.look).filter(|look| *look != NONE));
        }
        needed.sort_unstable();
        let suffices = |looks: &[u32]| {
            let kept = |look: u32| looks.binary_search(&look).is_ok();
            self.restricted_to(stuck, kept).stuck().len() == stuck.len()
        };
        // Halves are tried first, because there may be many observers, but only a few are ever needed.
        let mut size = needed.len();
        let mut work = 64 * self.entries_in(stuck) + 100_000;
        while size > 0 {
            let mut start = 0;
            while start < needed.len() {
                let end = (start + size).min(needed.len());
                let fewer = [&needed[..start], &needed[end..]].concat();
                let cost = 2 * stuck.len() + fewer.len();
                if work < cost {
                    return needed;
                }
                work -= cost;
                if suffices(&fewer) {
                    needed = fewer;
                } else {
                    start = end;
                }
            }
            size /= 2;
        }
        needed
    }

    fn entries_of(&self, number: u32) -> std::ops::Range<usize> {
        let number = number as usize;
        self.starts[number] as usize..self.starts[number + 1] as usize
    }

    fn entries_in(&self, numbers: &[u32]) -> usize {
        numbers.iter().map(|number| self.entries_of(*number).len()).sum()
    }

    /// Returns the layout of these items alone, in this order, without observers that are not kept. The moments are
    /// renumbered, so that the work is proportional to the remaining entries.
    fn restricted_to(&self, numbers: &[u32], kept: impl Fn(u32) -> bool) -> Layout {
        let mut layout = Layout {
            values: Vec::with_capacity(numbers.len()),
            inside: Vec::with_capacity(numbers.len()),
            starts: vec![0],
            entries: Vec::new(),
            count: 0,
        };
        for number in numbers {
            layout.values.push(self.values[*number as usize]);
            layout.inside.push(self.inside[*number as usize]);
            let entries = self.entries[self.entries_of(*number)].iter();
            layout.entries.extend(entries.filter(|e| e.look == NONE || kept(e.look)));
            layout.starts.push(layout.entries.len() as u32);
        }
        // Operations open before a moment and close after a moment. As in `Moments`, one position between an opening
        // and the closing that follows is enough.
        let Layout { inside, entries, count, .. } = &mut layout;
        let opens = |moment: u32| 2 * moment;
        let closes = |moment: u32| 2 * moment + 1;
        let mut edges: Vec<u32> = Vec::with_capacity(2 * (entries.len() + inside.len()));
        for entry in entries.iter() {
            edges.extend([opens(entry.first), closes(entry.last)]);
        }
        // `from` is never 0, because it follows the last moment of the add.
        for (from, to) in inside.iter() {
            edges.extend([closes(from - 1), opens(*to)]);
        }
        edges.sort_unstable();
        edges.dedup();
        // For each position in `edges`: the number of moments before it.
        let mut over = Vec::with_capacity(edges.len());
        let mut opened = false;
        for edge in &edges {
            if edge & 1 == 1 {
                *count += u32::from(opened);
            }
            opened = edge & 1 == 0;
            over.push(*count);
        }
        *count += u32::from(opened);
        let before = |edge: u32| over[edges.binary_search(&edge).expect("collected above")];
        for entry in entries {
            entry.first = before(opens(entry.first));
            entry.last = before(closes(entry.last)) - 1;
        }
        for (from, to) in inside {
            *from = before(closes(*from - 1));
            *to = before(opens(*to));
        }
        layout
    }
}

/// The number of entries of an item above which a tree is used.
const FEW: usize = 4;

/// The state of the removal algorithm.
struct Removal<'a> {
    layout: &'a Layout,
    covers: Covers,
    /// All entries, sorted by first moment, and for each moment the first entry that begins after it.
    by_first: Stabs,
    after: Vec<u32>,
    /// The entry at each position of `by_first`, and the inverse.
    entry_at: Vec<u32>,
    place_of: Vec<u32>,
    /// The number of each entry's item.
    owner: Vec<u32>,
    /// All entries, item by item. Present only if some item has many entries.
    by_item: Option<Stabs>,
    /// True for entries that have no moment yet, and the number of such entries for each item.
    open: Vec<bool>,
    left: Vec<u32>,
    /// The moments that wait for the removal of an item: the last such moment of each item, and for each moment the
    /// previous moment in the list.
    waiting: Vec<u32>,
    earlier: Vec<u32>,
    /// The moments that no item covers, and the items that can be removed.
    free: Vec<u32>,
    ready: Vec<u32>,
}

impl<'a> Removal<'a> {
    fn new(layout: &'a Layout) -> Self {
        let Layout { entries, inside, count, .. } = layout;
        let mut after = vec![0; *count as usize + 1];
        for entry in entries {
            after[entry.first as usize + 1] += 1;
        }
        for moment in 0..*count as usize {
            after[moment + 1] += after[moment];
        }
        // This is a counting sort: `after[m]` moves from the first position of `m` to the last.
        let (mut entry_at, mut place_of) = (vec![0; entries.len()], vec![0; entries.len()]);
        for (number, entry) in (0..).zip(entries) {
            let place = &mut after[entry.first as usize];
            entry_at[*place as usize] = number;
            place_of[number as usize] = *place;
            *place += 1;
        }
        let mut owner = Vec::with_capacity(entries.len());
        let mut left = Vec::with_capacity(inside.len());
        for number in 0..inside.len() as u32 {
            let size = layout.entries_of(number).len();
            owner.extend(std::iter::repeat_n(number, size));
            left.push(size as u32);
        }
        let many = left.iter().any(|size| *size as usize > FEW);
        Removal {
            layout,
            covers: Covers::new(inside, *count),
            by_first: Stabs::new(entry_at.iter().map(|entry| entries[*entry as usize].last)),
            after,
            entry_at,
            place_of,
            owner,
            by_item: many.then(|| Stabs::new(entries.iter().map(|entry| entry.last))),
            open: vec![true; entries.len()],
            left,
            waiting: vec![NONE; inside.len()],
            earlier: vec![NONE; *count as usize],
            free: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<u32> {
        loop {
            if let Some(item) = self.ready.pop() {
                self.covers.remove(self.layout.inside[item as usize], item);
                let mut moment = self.waiting[item as usize];
                // This item was the last item that covered these moments, so now they are not covered.
                while moment != NONE {
                    self.free.push(moment);
                    moment = self.earlier[moment as usize];
                }
            } else if let Some(moment) = self.free.pop() {
                let end = self.after[moment as usize] as usize;
                // No item covers the moment, so it fits every operation that is open at this moment.
                while let Some(place) = self.by_first.find(0, end, moment) {
                    self.place(self.entry_at[place] as usize);
                }
            } else {
                match self.covers.pop() {
                    Some((moment, None)) => self.free.push(moment),
                    Some((moment, Some(item))) => {
                        // A single item covers the moment: the moment fits the operations of this item now, and all
                        // other operations once the item is removed.
                        self.earlier[moment as usize] = self.waiting[item as usize];
                        self.waiting[item as usize] = moment;
                        self.place_own(item, moment);
                    }
                    None => break,
                }
            }
        }
        (0..self.left.len() as u32).filter(|item| self.left[*item as usize] > 0).collect()
    }

    /// Places the operations of an item that are open at a moment that no other item covers.
    fn place_own(&mut self, item: u32, moment: u32) {
        let range = self.layout.entries_of(item);
        let entries = &self.layout.entries;
        if range.len() <= FEW {
            for entry in range {
                let StackEntry { first, last, .. } = entries[entry];
                if self.open[entry] && (first..=last).contains(&moment) {
                    self.place(entry);
                }
            }
            return;
        }
        let count = entries[range.clone()].partition_point(|entry| entry.first <= moment);
        let find =
            |tree: &Option<Stabs>| tree.as_ref()?.find(range.start, range.start + count, moment);
        while let Some(entry) = find(&self.by_item) {
            self.place(entry);
        }
    }

    /// Records that an operation has its moment.
    fn place(&mut self, entry: usize) {
        debug_assert!(self.open[entry]);
        self.open[entry] = false;
        self.by_first.remove(self.place_of[entry] as usize);
        if let Some(tree) = &mut self.by_item {
            tree.remove(entry);
        }
        let item = self.owner[entry];
        let left = &mut self.left[item as usize];
        *left -= 1;
        if *left == 0 {
            self.ready.push(item);
        }
    }
}
