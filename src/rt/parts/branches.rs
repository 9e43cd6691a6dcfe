//! The branches of a `select!` or `join!`: the pending operations of each branch, and the order in which the branches
//! are polled.
//!
//! One poll of all branches is one step. The order of the branches is a decision of the run, which is drawn only if it
//! can make a difference.

use crate::rt::now::{self, plain_key};
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::choice::Draw;

/// The maximum number of pending operations that are stored for each branch.
const KEYS_MAX: usize = 3;

/// The pending operations of one branch, in the run and task that polled it last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BranchKeys {
    keys: [u32; KEYS_MAX],
    len: usize,
    /// True if the branch has more pending operations.
    more: bool,
}

/// A position of the poll log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogMark {
    keys: usize,
    announced: bool,
    raced_in: u32,
}

/// Counts of each kind of effect of the run so far. If no count changes, nothing happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Effects {
    events: usize,
    contacts: usize,
    calls: usize,
    tasks: usize,
    draws: usize,
}

/// A draw of the current step, which may turn out to make no difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderDraw {
    at: usize,
    before: Effects,
}

impl BranchKeys {
    fn add(&mut self, key: u32) {
        if self.keys[..self.len].contains(&key) {
            return;
        }
        match self.keys.get_mut(self.len) {
            Some(place) => {
                *place = key;
                self.len += 1;
            }
            None => self.more = true,
        }
    }

    fn retain(&mut self, is_open: impl Fn(u32) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            if is_open(self.keys[at]) {
                self.keys[kept] = self.keys[at];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

impl World {
    /// Starts the log of polls for the current step. Returns `true` if a future of another library woke the task for
    /// this step, so that any branch may continue.
    pub(crate) fn log_polls(&self) -> bool {
        let mut state = self.state();
        let step = state.board.step;
        if state.polls.step != step + 1 {
            state.polls.step = step + 1;
            state.polls.keys.clear();
        }
        state.polls.woken_in == step + 1
    }

    /// Sets, for the rest of the current step, if pending operations are announced again when they are polled. Returns
    /// the previous setting.
    ///
    /// The first poll of a `select!` decides nothing: most branches of the `select!` only announce their operations
    /// then. A branch that was announced earlier must not win for that reason.
    pub(crate) fn renew_polled(&self, renews: bool) -> bool {
        let mut state = self.state();
        let step = state.board.step;
        let before = state.polls.renews(step);
        state.polls.renewed_in = if renews { step + 1 } else { 0 };
        drop(state);
        if renews {
            now::forget_turn();
        }
        before
    }

    /// Returns the position of the log before a branch is polled. The branch belongs to a `select!` if `races` is true.
    pub(crate) fn log_mark(&self, races: bool) -> LogMark {
        let mut state = self.state();
        let (step, raced_in) = (state.board.step, state.polls.raced_in);
        if races {
            state.polls.raced_in = step + 1;
        }
        LogMark { keys: state.polls.keys.len(), announced: now::has_announced(), raced_in }
    }

    /// Ends the race of a branch that was polled since `mark`: the branch waits, or its value does not match the
    /// pattern.
    pub(crate) fn end_race(&self, mark: LogMark) {
        self.state().polls.raced_in = mark.raced_in;
    }

    /// Returns `true` while a branch of a `select!` is polled.
    pub(crate) fn is_racing(&self) -> bool {
        let state = self.state();
        state.polls.raced_in == state.board.step + 1
    }

    /// Adds the operations that a branch has announced or checked since `mark`, and removes completed operations.
    pub(crate) fn add_polled(&self, mark: LogMark, branch: &mut BranchKeys) {
        let state = self.state();
        let row = state.board.tasks.at(state.current().index());
        let newest = now::has_announced().then(|| plain_key(state.board.step));
        branch.retain(|key| newest == Some(key) || row.announced.iter().any(|a| a.key == key));
        if !mark.announced {
            newest.into_iter().for_each(|key| branch.add(key));
        }
        // The log may be shorter if an inner combinator of another step has restarted it.
        let polled = state.polls.keys.get(mark.keys..).unwrap_or_default();
        let is_open = |key: &&u32| row.announced.iter().any(|announced| announced.key == **key);
        polled.iter().filter(is_open).for_each(|key| branch.add(*key));
    }

    /// Returns `true` if this step may perform an operation of the branch.
    pub(crate) fn may_go_on(&self, branch: &BranchKeys) -> bool {
        let state = self.state();
        let row = state.board.tasks.at(state.current().index());
        row.announced.iter().any(|announced| {
            let is_of_branch = branch.more || branch.keys[..branch.len].contains(&announced.key);
            let is_enabled = announced.enabled || announced.passed_over;
            is_of_branch && is_enabled && !state.is_of_this_step(announced.key)
        })
    }

    /// Draws which of `bound` branches is polled first. The second value is `None` after the end of the run.
    pub(crate) fn draw_order(&self, bound: u64) -> (u64, Option<OrderDraw>) {
        let at = self.state().record.draws.len();
        let value = self.draw(bound, Draw::BRANCH);
        let state = self.state();
        let drawn = state.record.draws.len() > at;
        (value, drawn.then(|| OrderDraw { at, before: state.effects() }))
    }

    /// Settles a draw after all branches were polled. If they had no effect that the run records, the order makes no
    /// difference to the objects of the run. The order may still make a difference to memory that the run does not see.
    pub(crate) fn settle_order(&self, draw: OrderDraw) {
        let mut state = self.state();
        if state.effects() != draw.before {
            return;
        }
        let step = state.board.step;
        let earlier = &state.record.draws[..draw.at];
        let nth = earlier.iter().rev().take_while(|earlier| earlier.step == step).count();
        state.record.draws[draw.at].given = true;
        state.polls.settled += 1;
        state.settle(nth);
    }
}

impl RunState {
    fn effects(&self) -> Effects {
        Effects {
            events: self.board.events.len(),
            contacts: self.board.contacts.len(),
            calls: self.board.calls.len(),
            tasks: self.board.tasks.len(),
            draws: self.record.draws.len() - self.polls.settled,
        }
    }
}
