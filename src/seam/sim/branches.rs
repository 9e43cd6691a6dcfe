//! The order of polls of a combinator's branches: a decision of the run, if it can make a
//! difference.
//!
//! It can if the pending operations of two branches are enabled, if a future that is not of this library woke the task,
//! or if a `select!` is polled for the first time. In the last two cases it is known only afterwards that no branch had
//! an effect; the draw is then settled, and a search does not vary it.

use crate::real::jitter;
use crate::rt::{BranchKeys, LogMark, OrderDraw, WORLD, World, in_run};

/// The order of `N` branches.
#[derive(Debug)]
pub(crate) struct Turns<const N: usize> {
    biased: bool,
    /// True for `join!`: its branches are first polled in the order of the source.
    joins: bool,
    /// True if it was polled.
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
    /// In the first poll of a `select!`, the [setting](World::renew_polled) before.
    renews: Option<bool>,
}

impl<const N: usize> Turns<N> {
    /// The branches of `select!`.
    pub(crate) fn select(biased: bool) -> Turns<N> {
        let keys = [BranchKeys::default(); N];
        Turns { biased, joins: false, polled: false, keys, drawn: None }
    }

    /// The branches of `join!`.
    pub(crate) fn join(biased: bool) -> Turns<N> {
        Turns { joins: true, ..Turns::select(biased) }
    }

    /// The branch that is polled first. The later branches follow as they are written, and then the
    /// earlier ones. `open` has the branches that are polled at all.
    pub(crate) fn start(&mut self, open: &[bool; N]) -> usize {
        self.drawn = None;
        if self.biased {
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
        // A branch that cannot continue has no turn: starting with it equals starting with the next
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

    /// A branch was polled. `waiting` is its number, if it waits.
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

    /// All branches were polled.
    pub(crate) fn all_polled(&mut self) {
        self.polled = true;
        if let Some(drawn) = self.drawn.take() {
            WORLD.with(|world| world.settle_order(drawn));
        }
    }
}
