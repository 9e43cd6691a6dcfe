//! The order in which the branches of a combinator are polled. The order is a decision of the run, if it can make a
//! difference.
//!
//! The order can make a difference in three cases. The pending operations of two branches are enabled, a future of
//! another library woke the task, or a `select!` is polled for the first time. In the last two cases, the run knows
//! only after the poll that no branch had an effect that it records. The draw is then settled. An exhaustive search
//! does not vary it, unless tasks share memory that the run does not see. A bounded search varies it.

use crate::real::jitter;
use crate::rt::{BranchKeys, LogMark, OrderDraw, WORLD, World, in_run};

/// The polling order of `N` branches.
#[derive(Debug)]
pub(crate) struct Turns<const N: usize> {
    biased: bool,
    /// True for `join!`: in the first poll, its branches are polled in source order.
    joins: bool,
    /// True after the first poll.
    polled: bool,
    keys: [BranchKeys; N],
    drawn: Option<OrderDraw>,
}

/// The position of the run before a branch is polled; `None` outside of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before(Option<RunBefore>);

#[derive(Clone, Copy, Debug)]
struct RunBefore {
    log: LogMark,
    /// In the first poll of a `select!`, the previous [setting](World::renew_polled).
    renews: Option<bool>,
}

impl<const N: usize> Turns<N> {
    /// Returns the order for the branches of `select!`.
    pub(crate) fn select(biased: bool) -> Turns<N> {
        let keys = [BranchKeys::default(); N];
        Turns { biased, joins: false, polled: false, keys, drawn: None }
    }

    /// Returns the order for the branches of `join!`.
    pub(crate) fn join(biased: bool) -> Turns<N> {
        Turns { joins: true, ..Turns::select(biased) }
    }

    /// Returns the branch to poll first. The later branches follow in source order, and then the earlier branches.
    /// `open` marks the branches that are polled at all.
    pub(crate) fn start(&mut self, open: &[bool; N]) -> usize {
        self.drawn = None;
        if self.biased || self.joins && !self.polled && !in_run() {
            0
        } else if in_run() {
            WORLD.with(|world| self.draw(world, open))
        } else {
            if N < 2 { 0 } else { jitter::turn(N as u64) as usize }
        }
    }

    fn draw(&mut self, world: &World, open: &[bool; N]) -> usize {
        let any = world.log_polls() || !self.polled;
        if self.joins && !self.polled {
            return 0;
        }
        let may_go_on =
            |branch: &usize| open[*branch] && (any || world.may_go_on(&self.keys[*branch]));
        let bound = (0..N).filter(may_go_on).count();
        if bound < 2 {
            return 0;
        }
        // A branch that cannot continue is not a choice: starting with it has the same effect as starting with the next
        // branch.
        let (nth, drawn) = world.draw_order(bound as u64);
        let start = (0..N).filter(may_go_on).nth(nth as usize).unwrap_or(0);
        self.drawn = drawn;
        start
    }

    pub(crate) fn before_branch(&mut self) -> Before {
        let before = |world: &World| RunBefore {
            log: world.log_mark(!self.joins),
            renews: (!self.joins && !self.polled).then(|| world.renew_polled(true)),
        };
        Before(in_run().then(|| WORLD.with(before)))
    }

    /// Processes the poll of a branch. `waiting` is the number of the branch, if it waits.
    pub(crate) fn after_branch(&mut self, before: Before, waiting: Option<usize>) {
        let Some(RunBefore { log, renews }) = before.0.filter(|_| in_run()) else { return };
        WORLD.with(|world| {
            if let Some(renews) = renews {
                world.renew_polled(renews);
            }
            world.end_race(log);
            if let (Some(branch), false) = (waiting, self.biased) {
                world.add_polled(log, &mut self.keys[branch]);
            }
        });
    }

    /// Processes a poll of all branches.
    pub(crate) fn all_polled(&mut self) {
        self.polled = true;
        if let Some(drawn) = self.drawn.take() {
            WORLD.with(|world| world.settle_order(drawn));
        }
    }
}
