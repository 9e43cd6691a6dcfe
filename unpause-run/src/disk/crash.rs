//! A disk after a power failure. A location is decided when it is first read.
//!
//! `kept` is closed downwards, `lost` is closed upwards, and they share nothing. A location with
//! the versions v1 < v2 < … can have any version from its last one in `kept` to its last one
//! outside `lost`: an interval. Version j takes the closure of vj into `kept` and the closure of
//! v(j+1) into `lost`. An effect in both closures, in the first one and `lost`, or in `kept` and
//! the second one would put j outside the interval, so each choice is possible and no later one is
//! cut off: the answers are exactly the states that the readers can tell apart. (The same idea for
//! persistent memory: Gorjiara, Xu, Demsky, *Jaaru*, ASPLOS 2021.)

use super::Draw;
use super::effects::Pending;
use super::location::{Location, Part, Value};
use super::rules::Choosing;
use unpause_ordered::{Map, Set};

/// One life of the disk that a power failure ended.
#[derive(Clone, Debug)]
pub(super) struct Crashed {
    /// The values that a sync made durable in that life.
    durable: Map<Location, Value>,
    pending: Pending,
    kept: Set<u64>,
    lost: Set<u64>,
    decided: Map<Location, Value>,
    choosing: Choosing,
    mood: Option<Mood>,
    /// By call: its sectors, from the first to the last one, and how many of them survive, if that is drawn.
    writes: Map<u64, (u64, u64, Option<Torn>)>,
}

/// How a sampled crash treats all that was pending.
#[derive(Clone, Copy, Debug)]
enum Mood {
    KeepsAll,
    EachLocation,
    LosesAll,
    /// Calls before this one are kept, later calls are lost, and this one is torn.
    Prefix(u64),
}

/// The sectors of a write that survive.
#[derive(Clone, Copy, Debug)]
enum Torn {
    All,
    None,
    First(u64),
    Last(u64),
}

/// A version of a location that a read after a crash gave, although there are newer ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    pub location: Location,
    /// The number of newer versions, which are lost.
    pub newer: usize,
}

impl Crashed {
    pub(super) fn new(
        durable: Map<Location, Value>,
        pending: Pending,
        choosing: Choosing,
    ) -> Crashed {
        let mut writes = Map::new();
        if choosing == Choosing::Moods {
            for effect in pending.effects().filter(|effect| !effect.is_metadata) {
                let indices = effect.sets.iter().filter_map(|(location, _)| match location.part {
                    Part::Sector(index) => Some(index),
                    _ => None,
                });
                for index in indices {
                    let (first, last, _) =
                        writes.entry(effect.call).or_insert((index, index, None));
                    (*first, *last) = (index.min(*first), index.max(*last));
                }
            }
        }
        Crashed {
            durable,
            pending,
            kept: Set::new(),
            lost: Set::new(),
            decided: Map::new(),
            choosing,
            mood: None,
            writes,
        }
    }

    /// The locations within `bounds` that this life may have set.
    pub(super) fn locations(
        &self,
        bounds: std::ops::Range<Location>,
    ) -> impl Iterator<Item = &Location> {
        let durable = self.durable.range(bounds.clone()).map(|(location, _)| location);
        durable.chain(self.pending.locations(bounds))
    }

    /// Decides `location`. `None`: this life left no value of it, so the life before decides.
    ///
    /// The answer of a draw is 0 if nothing more is lost than is already decided.
    pub(super) fn read(
        &mut self,
        location: &Location,
        draw: Draw<'_>,
        losses: &mut Vec<Loss>,
    ) -> Option<Value> {
        if let Some(value) = self.decided.get(location) {
            return Some(value.clone());
        }
        let Some(chain) = self.pending.chain(location) else {
            return self.durable.get(location).cloned();
        };
        let chain: Vec<u64> = chain.iter().copied().collect();
        // Both sets cut a chain in one place, because later versions are ordered after earlier ones.
        let low = chain.partition_point(|id| self.kept.contains(id));
        let high = chain.partition_point(|id| !self.lost.contains(id));
        debug_assert!(low <= high);
        let version =
            if low < high { self.choose(location, &chain, low, high, draw) } else { high };
        if let Some(last) = version.checked_sub(1) {
            let added = self.pending.close_down([chain[last]], &mut self.kept);
            debug_assert!(!added.iter().any(|id| self.lost.contains(id)));
        }
        if let Some(first) = chain.get(version) {
            let added = self.pending.close_up(*first, &mut self.lost);
            debug_assert!(!added.iter().any(|id| self.kept.contains(id)));
            losses.push(Loss { location: location.clone(), newer: chain.len() - version });
        }
        let value = match version.checked_sub(1) {
            Some(last) => self.pending.value(chain[last], location),
            None => self.durable.get(location)?.clone(),
        };
        self.decided.insert(location.clone(), value.clone());
        Some(value)
    }

    /// Records the value of `location` that the life before decided.
    pub(super) fn settle(&mut self, location: &Location, value: Value) {
        self.decided.insert(location.clone(), value);
    }

    /// A version from `low` to `high`.
    fn choose(
        &mut self,
        location: &Location,
        chain: &[u64],
        mut low: usize,
        mut high: usize,
        draw: Draw<'_>,
    ) -> usize {
        if self.choosing == Choosing::EachLocation {
            return high - draw((high - low + 1) as u64) as usize;
        }
        match self.mood(draw) {
            Mood::KeepsAll => return high,
            Mood::LosesAll => return low,
            Mood::EachLocation => {}
            Mood::Prefix(torn) => {
                // All earlier choices kept calls before the torn one and lost later calls, so at
                // least one version of the interval is left.
                let call = |id: &u64| self.pending.effect(*id).call;
                low = low.max(chain.partition_point(|id| call(id) < torn));
                high = high.min(chain.partition_point(|id| call(id) <= torn));
                if low >= high {
                    return high;
                }
            }
        }
        let Part::Sector(index) = location.part else {
            return high - draw((high - low + 1) as u64) as usize;
        };
        while high > low && !self.survives(chain[high - 1], index, draw) {
            high -= 1;
        }
        high
    }

    fn mood(&mut self, draw: Draw<'_>) -> Mood {
        if let Some(mood) = self.mood {
            return mood;
        }
        let mood = match draw(4) {
            0 => Mood::KeepsAll,
            1 => Mood::EachLocation,
            2 => Mood::LosesAll,
            _ => {
                let calls: Set<u64> = self.pending.effects().map(|e| e.call).collect();
                // The last call first: answer 0 loses the least.
                let nth = one_below(calls.len() as u64, draw) as usize;
                Mood::Prefix(*calls.iter().rev().nth(nth).expect("below the number of calls"))
            }
        };
        self.mood = Some(mood);
        mood
    }

    /// True if sector `index` of the write with the effect `id` survives. The sectors of one write are drawn together.
    fn survives(&mut self, id: u64, index: u64, draw: Draw<'_>) -> bool {
        let call = self.pending.effect(id).call;
        let Some((first, last, torn)) = self.writes.get_mut(&call) else {
            // A truncation, which is one effect.
            return draw(2) == 0;
        };
        let count = *last - *first + 1;
        let torn = torn.get_or_insert_with(|| match draw(if count > 1 { 4 } else { 2 }) {
            0 => Torn::All,
            1 => Torn::None,
            2 => Torn::First(count - 1 - one_below(count - 1, draw)),
            _ => Torn::Last(count - 1 - one_below(count - 1, draw)),
        });
        match *torn {
            Torn::All => true,
            Torn::None => false,
            Torn::First(survive) => index - *first < survive,
            Torn::Last(survive) => *last - index < survive,
        }
    }
}

/// An answer below `bound`, without a draw if only one answer exists.
fn one_below(bound: u64, draw: Draw<'_>) -> u64 {
    if bound == 1 { 0 } else { draw(bound) }
}
