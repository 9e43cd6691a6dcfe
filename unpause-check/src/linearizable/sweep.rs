//! Position by position: the search that never comes back.
//!
//! All configurations at one position are visited before any at the next, as in just-in-time
//! linearization (Lowe 2017). A configuration is reached only from earlier ones, so a finished position is
//! dropped: its memo, and the orders that led nowhere. Only the waiting configurations and their orders are
//! kept.

use super::furthest::{Furthest, OrderEnd};
use super::ground::{Candidate, Configuration, Ground};
use super::mask::Mask;
use super::memo::{OrderTree, Visited};
use super::timeline::TimelineCursor;
use crate::limits::Meter;
use unpause_ordered::Map;

pub(super) struct Sweep<B> {
    pub(super) orders: OrderTree,
    /// The orders that ended at the position being swept, or the last one.
    pub(super) furthest: Furthest,
    pub(super) longest: u32,
    walk: TimelineCursor,
    /// The positions of waiting configurations, with the index of each in `buckets`.
    positions: Positions,
    /// The waiting configurations, and empty buckets, kept for reuse.
    buckets: Vec<Bucket<B>>,
    states: Vec<u32>,
    /// The bytes of a waiting configuration, in a list with room for more.
    each: usize,
    /// The bytes of the waiting and visited configurations.
    held: usize,
    /// When there are this many nodes of orders, the nodes without a future are dropped.
    nodes_max: usize,
}

/// The configurations at one position.
struct Bucket<B> {
    visited: Visited<B>,
    /// Configurations to visit, by the number of pending operations that they use. Fewest first: a
    /// configuration with more of the same is then never visited.
    layers: Vec<Vec<Configuration<B>>>,
}

/// The progress of a sweep.
pub(super) enum Swept {
    /// It reached the end, by this order.
    Complete(u32),
    /// No configuration is left.
    Nothing,
    /// It passed its target position.
    Past,
    /// It used up its share of visits.
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
        assert!(complete.is_none(), "the probe came to the end at once");
        sweep
    }

    /// The waiting configurations, by position.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (usize, &Configuration<B>)> {
        let positions = self.positions.all().into_iter();
        positions.flat_map(|(at, bucket)| {
            self.buckets[bucket].layers.iter().flatten().map(move |here| (at, here))
        })
    }

    /// Continues until every configuration up to a position has been visited, or `visits` more.
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
                visited.clear();
                self.held += visited.bytes();
                self.positions.leave_first();
                continue;
            };
            self.held = self.held.saturating_sub(self.each);
            // A configuration that uses fewer pending operations may have replaced it while it
            // waited.
            if !visited.has(at, here.state, &here.ordered, &here.used) {
                continue;
            }
            // Put back, because the next turn of the sweep must visit it.
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

    /// Takes every move from a configuration. Returns the order if a move leads to the end.
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

    /// Settles a configuration and adds it to its bucket if it is new. Returns its order if it is at the end.
    fn arrive(
        &mut self,
        ground: &mut Ground<'_>,
        mut here: Configuration<B>,
        meter: &mut Meter<'_>,
    ) -> Option<u32> {
        let start = self.walk.at;
        let nodes_before = self.orders.len() - usize::from(here.length > 0);
        ground.settle(&mut here, &mut self.walk, &mut self.orders, meter);
        self.longest = self.longest.max(here.length);
        let at = self.walk.at;
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

/// The number of a bucket for each position that has one. Not generic over masks, so that the code of its tree
/// is compiled only once.
#[derive(Default)]
struct Positions {
    buckets: Map<usize, usize>,
    /// Numbers free for reuse.
    spare: Vec<usize>,
}

impl Positions {
    fn first(&self) -> Option<(usize, usize)> {
        self.buckets.first().map(|(at, bucket)| (*at, *bucket))
    }

    /// Removes the first position, whose bucket is empty.
    fn leave_first(&mut self) {
        self.spare.extend(self.buckets.pop_first().map(|(_, bucket)| bucket));
    }

    /// The bucket at a position; a free number, or the next new one, if it had none.
    fn bucket(&mut self, at: usize) -> usize {
        let new = self.buckets.len() + self.spare.len();
        *self.buckets.entry(at).or_insert_with(|| self.spare.pop().unwrap_or(new))
    }

    /// Positions and their buckets, in order.
    fn all(&self) -> Vec<(usize, usize)> {
        self.buckets.iter().map(|(at, bucket)| (*at, *bucket)).collect()
    }
}
