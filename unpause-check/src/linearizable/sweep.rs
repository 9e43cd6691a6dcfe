//! The breadth-first search, position by position, which never returns to an earlier position.
//!
//! All configurations at one position are visited before any at the next position, as in just-in-time linearization
//! (Lowe 2017). A configuration is reached only from earlier configurations. So the data of a finished position is
//! dropped: its memo, and the orders that led nowhere. Only the waiting configurations and their orders are kept.

use super::furthest::{Furthest, OrderEnd};
use super::ground::{Candidate, Configuration, Ground};
use super::mask::Mask;
use super::memo::{OrderTree, Visited};
use super::timeline::TimelineCursor;
use crate::limits::Meter;
use unpause_ordered::Map;

pub(super) struct Sweep<B> {
    pub(super) orders: OrderTree,
    /// The orders that ended at the current or last position of the sweep.
    pub(super) furthest: Furthest,
    pub(super) longest: u32,
    walk: TimelineCursor,
    /// The positions of waiting configurations, each with the index of its bucket in `buckets`.
    positions: Positions,
    /// The waiting configurations, and empty buckets kept for reuse.
    buckets: Vec<Bucket<B>>,
    states: Vec<u32>,
    /// The bytes of a waiting configuration, in a list with spare capacity.
    each: usize,
    /// The bytes of the waiting and visited configurations.
    held: usize,
    /// The number of nodes in the tree of orders at which unneeded nodes are dropped.
    nodes_max: usize,
}

/// The configurations at one position.
struct Bucket<B> {
    visited: Visited<B>,
    /// The configurations to visit, grouped by the number of pending operations that they use, fewest first. A
    /// configuration is then never visited if another with fewer of the same pending operations exists.
    layers: Vec<Vec<Configuration<B>>>,
}

/// The progress of a sweep.
pub(super) enum Swept {
    /// The sweep reached the end with this order.
    Complete(u32),
    /// No configuration remains.
    Nothing,
    /// The sweep passed its target position.
    Past,
    /// The sweep used up its share of visits.
    Tired,
    OutOfBudget,
}

impl<B: Mask> Sweep<B> {
    const NODES_MAX: usize = 1 << 14;

    pub(super) fn new(
        ground: &mut Ground<'_>,
        start: Configuration<B>,
        meter: &mut Meter<'_>,
    ) -> Self {
        let mut sweep = Sweep {
            each: 2 * (size_of::<Configuration<B>>() + start.ordered.heap() + start.used.heap()),
            held: 0,
            orders: OrderTree::default(),
            furthest: Furthest::default(),
            longest: 0,
            walk: TimelineCursor::default(),
            positions: Positions::default(),
            buckets: Vec::new(),
            states: Vec::new(),
            nodes_max: Self::NODES_MAX,
        };
        sweep.walk.start(ground.timeline);
        let complete = sweep.arrive(ground, start, meter);
        // The probe began at the same configuration, so it would have found this order.
        assert!(complete.is_none(), "the probe came to the end at once");
        sweep
    }

    /// Returns the waiting configurations, by position.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (usize, &Configuration<B>)> {
        let positions = self.positions.all().into_iter();
        positions.flat_map(|(at, bucket)| {
            self.buckets[bucket].layers.iter().flatten().map(move |here| (at, here))
        })
    }

    /// Continues until every configuration up to the position `past` has been visited, or until `visits` more
    /// configurations have been visited.
    pub(super) fn run(
        &mut self,
        ground: &mut Ground<'_>,
        meter: &mut Meter<'_>,
        past: usize,
        mut visits: u64,
    ) -> Swept {
        loop {
            if meter.is_over() {
                return Swept::OutOfBudget;
            }
            let Some((at, bucket)) = self.positions.first() else { return Swept::Nothing };
            if at > past {
                return Swept::Past;
            }
            let Bucket { visited, layers } = &mut self.buckets[bucket];
            let Some(here) = layers.iter_mut().find_map(Vec::pop) else {
                self.held = self.held.saturating_sub(visited.bytes());
                // The table may stay allocated for another position, so the bytes that remain still count.
                visited.clear();
                self.held += visited.bytes();
                self.positions.leave_first();
                continue;
            };
            self.held = self.held.saturating_sub(self.each);
            // A configuration that uses fewer pending operations may have replaced this configuration while it waited.
            if !visited.has(at, here.state, &here.ordered, &here.used) {
                continue;
            }
            // Put the configuration back, because the next turn of the sweep must visit it.
            if visits == 0 {
                self.held += self.each;
                self.buckets[bucket].wait(here);
                return Swept::Tired;
            }
            visits -= 1;
            ground.held[1] = self.held + self.orders.bytes();
            if !meter.hold(ground.bytes()) || !meter.visit(1) {
                return Swept::OutOfBudget;
            }
            if let Some(order) = self.visit(ground, at, here, meter) {
                return Swept::Complete(order);
            }
            if !meter.work(self.walk.pending) {
                return Swept::OutOfBudget;
            }
            if self.orders.len() > self.nodes_max {
                self.tidy();
            }
        }
    }

    /// Makes every move from a configuration. Returns the order if a move leads to the end.
    fn visit(
        &mut self,
        ground: &mut Ground<'_>,
        at: usize,
        here: Configuration<B>,
        meter: &mut Meter<'_>,
    ) -> Option<u32> {
        self.walk.to(ground.timeline, at);
        let Configuration { order, state, length, .. } = here;
        self.furthest.reached(at, OrderEnd { order, state, length });
        let mut candidate = self.walk.first();
        while let Some(op) = candidate {
            if let Some(order) = self.take(ground, &here, Candidate::Returning(op), meter) {
                return Some(order);
            }
            candidate = self.walk.following(op);
        }
        (0..self.walk.pending)
            .find_map(|number| self.take(ground, &here, Candidate::Pending(number), meter))
    }

    fn take(
        &mut self,
        ground: &mut Ground<'_>,
        here: &Configuration<B>,
        candidate: Candidate,
        meter: &mut Meter<'_>,
    ) -> Option<u32> {
        let mut states = std::mem::take(&mut self.states);
        ground.moves(here, candidate, meter, &mut |state| states.push(state));
        let complete = states.drain(..).find_map(|state| {
            let next = ground.after(here, candidate, state, &mut self.orders);
            self.arrive(ground, next, meter)
        });
        self.states = states;
        complete
    }

    /// Settles a configuration and adds it to its bucket if it is new. Returns the order of the configuration if it
    /// reached the end.
    fn arrive(
        &mut self,
        ground: &mut Ground<'_>,
        mut here: Configuration<B>,
        meter: &mut Meter<'_>,
    ) -> Option<u32> {
        let start = self.walk.at;
        // The caller has added one node for its move; only the start has none.
        let nodes_before = self.orders.len() - usize::from(here.length > 0);
        ground.settle(&mut here, &mut self.walk, &mut self.orders, meter);
        self.longest = self.longest.max(here.length);
        let at = self.walk.at;
        // The caller has further moves from its own position.
        self.walk.back(ground.timeline, start);
        if at == ground.timeline.events.len() {
            return Some(here.order);
        }
        let bucket = self.positions.bucket(at);
        if bucket == self.buckets.len() {
            self.buckets.push(Bucket { visited: Visited::new(), layers: Vec::new() });
        }
        let bucket = &mut self.buckets[bucket];
        let before = bucket.visited.bytes();
        let is_new = bucket.visited.add(at, here.state, &here.ordered, &here.used);
        self.held = (self.held + bucket.visited.bytes()).saturating_sub(before);
        let work = bucket.visited.take_work();
        if is_new {
            bucket.wait(here);
            self.held += self.each;
        } else {
            self.orders.truncate(nodes_before);
        }
        // The caller checks the meter.
        ground.held[1] = self.held + self.orders.bytes();
        let _ = meter.work(work) && meter.hold(ground.bytes());
        None
    }

    /// Drops the orders that lead nowhere.
    pub(super) fn tidy(&mut self) {
        let mut ends = Vec::new();
        for layer in self.buckets.iter_mut().flat_map(|bucket| &mut bucket.layers) {
            ends.extend(layer.iter_mut().map(|here| &mut here.order));
        }
        ends.extend(self.furthest.ends.iter_mut().map(|end| &mut end.order));
        self.orders.keep(ends);
        self.nodes_max = (2 * self.orders.len()).max(Self::NODES_MAX);
    }
}

impl<B: Mask> Bucket<B> {
    fn wait(&mut self, here: Configuration<B>) {
        let used = here.used.count() as usize;
        if self.layers.len() <= used {
            self.layers.resize_with(used + 1, Vec::new);
        }
        self.layers[used].push(here);
    }
}

/// The number of the bucket for each position that has one. This type is not generic over masks, so that the code of
/// its tree is compiled only once.
#[derive(Default)]
struct Positions {
    buckets: Map<usize, usize>,
    /// Bucket numbers free for reuse.
    spare: Vec<usize>,
}

impl Positions {
    fn first(&self) -> Option<(usize, usize)> {
        self.buckets.first().map(|(at, bucket)| (*at, *bucket))
    }

    /// Removes the first position; its bucket must be empty.
    fn leave_first(&mut self) {
        self.spare.extend(self.buckets.pop_first().map(|(_, bucket)| bucket));
    }

    /// Returns the bucket at a position. A position without a bucket gets a free number, or a new number.
    fn bucket(&mut self, at: usize) -> usize {
        // Every number given so far is in use or spare, so their count is the next number.
        let new = self.buckets.len() + self.spare.len();
        *self.buckets.entry(at).or_insert_with(|| self.spare.pop().unwrap_or(new))
    }

    /// Returns the positions and their buckets, in order.
    fn all(&self) -> Vec<(usize, usize)> {
        self.buckets.iter().map(|(at, bucket)| (*at, *bucket)).collect()
    }
}
