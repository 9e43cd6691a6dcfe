//! A disk after a power failure. The value of a location is decided at its first read.
//!
//! `kept` is closed downwards, `lost` is closed upwards, and the two sets are disjoint. A location with the versions v1
//! < v2 < … can have any version from its last version in `kept` to its last version outside `lost`. These versions are
//! an interval. Choosing version j adds the closure of vj to `kept` and the closure of v(j+1) to `lost`.
//!
//! Suppose that an effect is in both closures, in the first closure and `lost`, or in `kept` and the second closure.
//! Then j would be outside the interval. So each choice is possible and cuts off no later choice. The results are
//! exactly the states that readers can distinguish. (The same idea for persistent memory: Gorjiara, Xu, Demsky,
//! *Jaaru*, ASPLOS 2021.)

use super::Draw;
use super::effects::Pending;
use super::location::{Location, Part, Value};
use super::rules::Choosing;
use unpause_ordered::{Map, Set};

/// A life of the disk that a power failure ended.
#[derive(Clone, Debug)]
pub(super) struct Crashed {
    /// The values that syncs made durable in that life.
    durable: Map<Location, Value>,
    pending: Pending,
    kept: Set<u64>,
    lost: Set<u64>,
    decided: Map<Location, Value>,
    choosing: Choosing,
    mood: Option<Mood>,
    /// The writes by call number: the first and the last sector, and the sectors that survive if they have been drawn.
    writes: Map<u64, (u64, u64, Option<Torn>)>,
}

/// The treatment of pending effects in a sampled crash.
#[derive(Clone, Copy, Debug)]
enum Mood {
    KeepsAll,
    EachLocation,
    LosesAll,
    /// Calls before this call are kept, later calls are lost, and this call is torn.
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

/// A version of a location that a read after a crash returned although there were newer versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    pub location: Location,
    /// The number of newer versions, all of which are lost.
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

    /// Returns the locations within `bounds` that this life may have set.
    pub(super) fn locations(
        &self,
        bounds: std::ops::Range<Location>,
    ) -> impl Iterator<Item = &Location> {
        let durable = self.durable.range(bounds.clone()).map(|(location, _)| location);
        durable.chain(self.pending.locations(bounds))
    }

    /// Decides `location`. Returns `None` if this life left no value there; then the previous life decides.
    ///
    /// The result of a draw is 0 if nothing is lost beyond the effects that are already decided as lost.
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
        let chain = chain.to_vec();
        // Later versions are ordered after earlier versions. So each of the two sets splits the chain at one position.
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

    /// Records the value of `location` that an earlier life decided.
    pub(super) fn settle(&mut self, location: &Location, value: Value) {
        self.decided.insert(location.clone(), value);
    }

    /// Chooses a version from `low` to `high`.
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
                // All earlier choices kept calls before the torn call and lost later calls, so the interval still
                // contains at least one version.
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
                // The last call comes first, because the draw 0 must lose the least.
                let nth = one_below(calls.len() as u64, draw) as usize;
                Mood::Prefix(*calls.iter().rev().nth(nth).expect("below the number of calls"))
            }
        };
        self.mood = Some(mood);
        mood
    }

    /// Returns `true` if sector `index` of the write with the effect `id` survives. All sectors of a write are drawn
    /// together.
    fn survives(&mut self, id: u64, index: u64, draw: Draw<'_>) -> bool {
        let call = self.pending.effect(id).call;
        let Some((first, last, torn)) = self.writes.get_mut(&call) else {
            // The effect is a truncation, which is a single effect.
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

/// Returns a value below `bound`, without a draw if only one value is possible.
fn one_below(bound: u64, draw: Draw<'_>) -> u64 {
    if bound == 1 { 0 } else { draw(bound) }
}
