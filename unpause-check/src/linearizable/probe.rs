//! The depth-first search, which finds an order soon if one exists.
//!
//! The probe keeps a memo of the visited configurations (Lowe 2017). The memo is emptied from time to time while the
//! probe progresses, because configurations far behind are almost never reached again. Visiting a configuration again
//! costs time but does not change the verdict. So memory stays a small multiple of the history.

use super::furthest::{Furthest, OrderEnd};
use super::ground::{Candidate, Configuration, Ground};
use super::mask::Mask;
use super::memo::{OrderTree, Visited};
use super::timeline::TimelineCursor;
use crate::limits::{ENTRIES_KEPT, Meter, vec_bytes};

pub(super) struct Probe<B> {
    pub(super) orders: OrderTree,
    pub(super) furthest: Furthest,
    /// The furthest position that any configuration reached.
    pub(super) deepest: usize,
    pub(super) longest: u32,
    /// The number of configurations visited. `in_vain` is the number since `deepest` last changed.
    pub(super) visits: u64,
    in_vain: u64,
    visited: Visited<B>,
    /// The configurations on the path from the start to the current configuration, and waiting siblings. The cursor is
    /// at the top configuration.
    stack: Vec<ProbeFrame<B>>,
    /// The moves listed from the configurations on the stack. The moves of the top configuration are last.
    moves: Vec<Move>,
}

impl<B: Mask> Default for Probe<B> {
    fn default() -> Self {
        Probe {
            orders: OrderTree::default(),
            furthest: Furthest::default(),
            deepest: 0,
            longest: 0,
            visits: 0,
            in_vain: 0,
            visited: Visited::new(),
            stack: Vec::new(),
            moves: Vec::new(),
        }
    }
}

struct ProbeFrame<B> {
    here: Configuration<B>,
    at: u32,
    /// The number of order nodes that existed before the move to this configuration.
    nodes_before: u32,
    /// The index in `moves` of the first move from this configuration. `next` is the next move to try.
    moves: u32,
    next: u32,
    listed: Listed,
}

/// The moves that were already listed from a configuration.
enum Listed {
    Nothing,
    /// The moves of the required operation, which returns first.
    First,
    All,
}

/// A move that orders `op` next and leads to `state`.
#[derive(Clone, Copy)]
struct Move {
    op: Candidate,
    state: u32,
    rank: Rank,
}

/// The rank of a move, lowest first. Moves that make the required operation possible next come first. Among these and
/// among the other moves, operations that returned come before pending operations, which are optional.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Helps,
    PendingHelps,
    Other,
    PendingOther,
}

fn best_first(moves: &mut [Move]) {
    // The sort is stable: returning operations remain sorted by return, and pending operations by invocation.
    unpause_ordered::sort_by_key(moves, |way| way.rank);
}

/// The result of a probe.
pub(super) enum Probed {
    /// The search can continue from a new configuration.
    New,
    /// This order reached the end of the part.
    Complete(u32),
    /// The probe is exhausted: no order exists from its start.
    Nothing,
    /// The probe made no progress for too long.
    Impatient,
    OutOfBudget,
}

enum Entered {
    New,
    Known,
    Complete(u32),
    OutOfBudget,
}

impl<B: Mask> Probe<B> {
    /// The maximum number of configurations in the memo while the probe progresses.
    const MEMO_MAX: usize = 1 << 14;

    /// Starts at the beginning of a part, and forgets the previous part.
    pub(super) fn start(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &mut TimelineCursor,
        start: Configuration<B>,
        meter: &mut Meter<'_>,
    ) -> Probed {
        self.orders.clear();
        self.stack.clear();
        self.stack.shrink_to(ENTRIES_KEPT / 2);
        self.moves.clear();
        self.moves.shrink_to(ENTRIES_KEPT / 2);
        self.visited.clear();
        self.furthest = Furthest::default();
        (self.deepest, self.longest, self.visits, self.in_vain) = (0, 0, 0, 0);
        match self.enter(ground, walk, meter, start, 0) {
            Entered::New | Entered::Known => Probed::New,
            Entered::Complete(order) => Probed::Complete(order),
            Entered::OutOfBudget => Probed::OutOfBudget,
        }
    }

    /// Restarts from these configurations, each with its position. Every order passes through one of these
    /// configurations. The configurations refer to `orders`. The cursor must be moved to `deepest`.
    pub(super) fn start_from<'a>(
        &mut self,
        orders: &OrderTree,
        from: impl Iterator<Item = (usize, &'a Configuration<B>)>,
    ) where
        B: 'a,
    {
        self.orders.clone_from(orders);
        self.stack.clear();
        self.moves.clear();
        self.visited.clear();
        self.furthest = Furthest::default();
        self.in_vain = 0;
        for (at, here) in from {
            // The last configuration is the furthest, so the top of the stack is at `deepest`. So no order may be
            // dropped when the search leaves this configuration.
            self.deepest = at;
            self.push(here.clone(), at, orders.len());
        }
    }

    /// Continues until the probe is exhausted, or has visited `patience` configurations without progress.
    pub(super) fn run(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
        patience: u64,
    ) -> Probed {
        self.in_vain = 0;
        loop {
            if meter.is_over() {
                return Probed::OutOfBudget;
            }
            if self.stack.is_empty() {
                return Probed::Nothing;
            }
            let entered = match self.next_move(ground, walk, meter) {
                // The moves after a move of this rank have the same rank, so all of them use a pending operation.
                Some(way) if way.rank == Rank::PendingOther => self.take_all(ground, walk, meter),
                Some(way) => self.take(ground, walk, meter, self.stack.len() - 1, way),
                None => {
                    self.leave(ground, walk);
                    continue;
                }
            };
            match entered {
                Entered::New if self.in_vain > patience => return Probed::Impatient,
                Entered::New | Entered::Known => {}
                Entered::Complete(order) => return Probed::Complete(order),
                Entered::OutOfBudget => return Probed::OutOfBudget,
            }
        }
    }

    /// Returns the next move from the top configuration. The required operation is tried before the other moves are
    /// listed: it usually fits, so the other moves are never needed.
    fn next_move(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &TimelineCursor,
        meter: &mut Meter<'_>,
    ) -> Option<Move> {
        let first = walk.first()?;
        loop {
            let frame = self.stack.last_mut()?;
            // The moves of the top configuration are last, so an index past the end means that none is left.
            if let Some(way) = self.moves.get(frame.next as usize) {
                frame.next += 1;
                return Some(*way);
            }
            match frame.listed {
                Listed::Nothing => {
                    let end = self.moves.len() as u32;
                    (frame.moves, frame.next) = (end, end);
                    frame.listed = Listed::First;
                    self.list(ground, Candidate::Returning(first), first, meter);
                }
                Listed::First => {
                    frame.listed = Listed::All;
                    let start = frame.next as usize;
                    let mut op = first;
                    while let Some(next) = walk.following(op) {
                        self.list(ground, Candidate::Returning(next), first, meter);
                        op = next;
                    }
                    for number in 0..walk.pending {
                        self.list(ground, Candidate::Pending(number), first, meter);
                    }
                    best_first(&mut self.moves[start..]);
                }
                Listed::All => return None,
            }
        }
    }

    /// Lists the moves of one operation from the top configuration. `first` is the required operation.
    fn list(
        &mut self,
        ground: &mut Ground<'_>,
        candidate: Candidate,
        first: u32,
        meter: &mut Meter<'_>,
    ) {
        let Some(ProbeFrame { here, .. }) = self.stack.last() else { return };
        let start = self.moves.len();
        let moves = &mut self.moves;
        ground.moves(here, candidate, meter, &mut |state| {
            // The rank follows below, because `ground` is in use here.
            moves.push(Move { op: candidate, state, rank: Rank::Helps });
        });
        let is_first = matches!(candidate, Candidate::Returning(op) if op == first);
        let is_pending = matches!(candidate, Candidate::Pending(_));
        for place in start..self.moves.len() {
            let helps = is_first || ground.fits(first, self.moves[place].state, meter);
            self.moves[place].rank = match (helps, is_pending) {
                (true, false) => Rank::Helps,
                (true, true) => Rank::PendingHelps,
                (false, false) => Rank::Other,
                (false, true) => Rank::PendingOther,
            };
        }
    }

    /// Executes the move that was just returned and all remaining moves, before the search continues from any of them.
    /// Each of these moves uses one pending operation. If the search continued from the first move at once, it would
    /// use two or more pending operations although one is enough. The search would then reach the same states again
    /// with ever smaller sets.
    fn take_all(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
    ) -> Entered {
        let parent = self.stack.len() - 1;
        let at = walk.at;
        let rest = self.stack[parent].next as usize - 1..self.moves.len();
        self.stack[parent].next = rest.end as u32;
        // Go backwards, so that the first move is on top.
        for place in rest.rev() {
            match self.take(ground, walk, meter, parent, self.moves[place]) {
                Entered::New | Entered::Known => {}
                over => return over,
            }
            // The required operation cannot be next after any of these moves, so the siblings share a position.
            assert!(walk.at == at || meter.is_over(), "a move was ranked wrongly");
        }
        Entered::New
    }

    fn take(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
        parent: usize,
        way: Move,
    ) -> Entered {
        let nodes_before = self.orders.len();
        let here = ground.after(&self.stack[parent].here, way.op, way.state, &mut self.orders);
        self.enter(ground, walk, meter, here, nodes_before)
    }

    /// Continues from a move to the next return that is not ordered yet. Restores the cursor unless the configuration
    /// at that return is new.
    fn enter(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
        mut here: Configuration<B>,
        nodes_before: usize,
    ) -> Entered {
        let start = walk.at;
        // This is done before the memo is checked. Configurations that differ only in fitting observers have the same
        // key afterwards.
        ground.settle(&mut here, walk, &mut self.orders, meter);
        self.longest = self.longest.max(here.length);
        let at = walk.at;
        if at == ground.timeline.events.len() {
            return Entered::Complete(here.order);
        }
        let is_new = self.visited.add(at, here.state, &here.ordered, &here.used);
        let work = (at - start) as u32 + 1 + self.visited.take_work();
        if !is_new {
            walk.back(ground.timeline, start);
            self.orders.truncate(nodes_before);
            return if meter.work(work) { Entered::Known } else { Entered::OutOfBudget };
        }
        ground.held[0] = self.bytes(&here);
        if !meter.hold(ground.bytes()) || !meter.visit(work) {
            return Entered::OutOfBudget;
        }
        self.visits += 1;
        self.in_vain += 1;
        if at > self.deepest {
            (self.deepest, self.in_vain) = (at, 0);
            if self.visited.len() > Self::MEMO_MAX {
                self.visited.clear();
            }
        }
        self.push(here, at, nodes_before);
        Entered::New
    }

    /// Returns the approximate size in bytes. Every configuration is assumed to be as large as `here`.
    fn bytes(&self, here: &Configuration<B>) -> usize {
        let masks = self.stack.len() * (here.ordered.heap() + here.used.heap());
        vec_bytes(&self.stack)
            + masks
            + vec_bytes(&self.moves)
            + self.visited.bytes()
            + self.orders.bytes()
    }

    fn push(&mut self, here: Configuration<B>, at: usize, nodes_before: usize) {
        // `next` is out of range, so the first call lists the moves.
        let (moves, next) = (self.moves.len() as u32, u32::MAX);
        let (at, nodes_before) = (at as u32, nodes_before as u32);
        self.stack.push(ProbeFrame {
            here,
            at,
            nodes_before,
            moves,
            next,
            listed: Listed::Nothing,
        });
    }

    /// Pops the top configuration.
    fn leave(&mut self, ground: &Ground<'_>, walk: &mut TimelineCursor) {
        let Some(ProbeFrame { here, at, nodes_before, moves, .. }) = self.stack.pop() else {
            return;
        };
        let Configuration { order, state, length, .. } = here;
        self.furthest.reached(at as usize, OrderEnd { order, state, length });
        // The longest orders must remain for the evidence.
        self.orders.truncate(self.furthest.nodes().max(nodes_before as usize));
        self.moves.truncate(moves as usize);
        // The next configuration on the stack takes the place of this configuration.
        let at = self.stack.last().map_or(0, |frame| frame.at as usize);
        walk.back(ground.timeline, at);
    }
}
