//! Bounded search: all runs of cost 0, then all runs of cost 1, and so on.
//!
//! The cost of a run is its number of deviations from a simple schedule, because most bugs need few deviations. The
//! search ends at a bound, or when no run is left. A [`Measure`] defines the cost. Each measure has its own file:
//! [`preemptions`] and [`delays`].
//!
//! The search is depth-first over the decisions of a run, and stateless. Each run repeats a prefix of the previous run,
//! takes the next candidate there, and continues by the schedule of the measure at no cost. The search counts exactly
//! the runs within the bound, each once. This promise holds for any state that the tasks share, seen or unseen. The
//! search does not use partial-order reduction, which could skip a run because of an equivalent run outside the bound
//! (Coons, Musuvathi, McKinley: Bounded Partial-Order Reduction, OOPSLA 2013). Therefore equivalent runs are counted
//! separately.
//!
//! Each round starts from scratch and repeats the runs of lower cost, which do not count again. These repetitions are a
//! small part of the last round. The search keeps only one path in memory: O(steps of a run * tasks).
//!
//! Drawn values are branches without cost. The search does not vary given values. It also varies draws that made no
//! difference to the objects of the run. For example, the order in which `select!` polls its branches may decide what
//! the branches do to memory that the run does not see.

mod bounded_part;
mod delays;
mod preemptions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::delays::DELAYS;
pub use self::preemptions::PREEMPTIONS;

use self::bounded_part::BoundedPlace;
use super::divided::{Look, Part, SearchTree, Sizes, Slice};
use super::search::{Apart, Drawn, Search, SearchBound, SearchProgress};
use crate::run::board::Status;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;
use crate::run::{DrawRecord, StepRecord};

/// A measure of cost.
pub struct Measure {
    /// The name of the counted quantity, in the singular.
    pub what: &'static str,
    /// The cost of a step of the candidate at this place. Candidates are in round-robin order of their numbers, which
    /// is the order of their creation. The first candidate is the task of the last step if it [can
    /// continue](BoundedFrame::goes_on), else the task after it. The first candidate has cost 0, and costs never
    /// decrease along the order.
    pub cost: fn(place: usize, goes_on: bool) -> u32,
}

/// A bounded search, shared by its driver and the strategy of its worker.
#[derive(Clone)]
pub struct Bounded(Arc<Mutex<BoundedStack>>);

impl Bounded {
    /// Creates a search with this measure, up to cost `most`, or without a bound if `None`.
    pub fn new(measure: &'static Measure, most: Option<u32>) -> Bounded {
        Bounded(Arc::new(Mutex::new(BoundedStack {
            measure,
            most: most.unwrap_or(u32::MAX),
            within: 0,
            left_out: false,
            through: None,
            frames: Vec::new(),
            depth: 0,
            kept: 0,
            place: BoundedPlace::default(),
            ended: false,
            has_stores: false,
            runs: 0,
            repeated: 0,
        })))
    }

    fn stack(&self) -> MutexGuard<'_, BoundedStack> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Search for Bounded {
    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(BoundedStrategy { search: self.clone(), step: 0, drawn: 0 })
    }

    fn advance(&self, _: bool) -> bool {
        let mut stack = self.stack();
        stack.count_run();
        stack.next_run()
    }

    fn is_blocked(&self) -> bool {
        self.stack().is_repeated()
    }

    fn tell_apart(&self, differences: Apart) {
        self.stack().has_stores |= differences.stores;
    }

    fn progress(&self) -> SearchProgress {
        self.stack().progress()
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        self.stack().decisions()
    }

    fn another(&self) -> Arc<dyn Search> {
        let stack = self.stack();
        let most = (stack.most != u32::MAX).then_some(stack.most);
        Arc::new(Bounded::new(stack.measure, most))
    }

    fn tree(&self) -> SearchTree {
        let stack = self.stack();
        SearchTree::new(Sizes::USUAL, Apart::NOTHING).within(stack.measure.what, stack.most)
    }

    fn adopt(&self, part: Part) {
        self.stack().adopt(part);
    }

    fn begin_look(&self) {
        self.stack().begin_look();
    }

    fn end_look(&self, _: bool) -> Look {
        self.stack().end_look()
    }

    fn leave(&self) -> Slice {
        self.stack().leave()
    }
}

/// A step of the current run, with its candidates for other runs.
#[derive(Debug, Default)]
struct BoundedFrame {
    /// The candidates, in the order of [`Measure::cost`].
    order: Vec<TaskId>,
    /// True if the task of the last step can continue and did not yield.
    goes_on: bool,
    /// The place of the chosen task in `order`.
    at: usize,
    /// The cost of the earlier steps.
    spent: u32,
    draws: Vec<Drawn>,
    /// The number of events before the step.
    events: usize,
}

impl BoundedFrame {
    /// Returns the number of its candidates that the bound allows.
    fn tasks_within(&self, measure: &Measure, within: u32) -> usize {
        let cost = |place| self.spent.saturating_add((measure.cost)(place, self.goes_on));
        (0..self.order.len()).take_while(|place| cost(*place) <= within).count()
    }
}

/// The current path of the search, in the tree of all runs.
struct BoundedStack {
    measure: &'static Measure,
    /// The bound: the maximum cost of a run.
    most: u32,
    /// The cost of the current round, which counts only runs of exactly this cost.
    within: u32,
    /// True if the round has left out runs of a higher cost.
    left_out: bool,
    /// All runs up to this cost are explored; `None` if not even all runs of cost 0 are explored.
    through: Option<u32>,
    frames: Vec<BoundedFrame>,
    /// The number of frames in use. Further frames are kept for their allocations.
    depth: usize,
    /// The length of the common prefix of the current run and the previous run.
    kept: usize,
    /// The part of a divided search that this search explores.
    place: BoundedPlace,
    /// True if the run reached its end.
    ended: bool,
    /// True if operations could choose among stores in some run.
    has_stores: bool,
    runs: u64,
    repeated: u64,
}

impl BoundedStack {
    fn begin(&mut self) {
        self.ended = false;
        self.kept = self.depth;
    }

    /// Chooses the task of the next step.
    fn pick(&mut self, view: &View<'_>) -> Result<TaskId, Mismatch> {
        let step = view.step() as usize;
        if step < self.place.seat.bare {
            return self.see_frame(step, view);
        }
        if step < self.kept {
            let frame = &self.frames[step];
            let same = frame.order.len() == view.candidates().len()
                && view.candidates().contains(&frame.order[frame.at])
                && frame.events == view.events().len();
            if !same {
                return Err(differs(frame, view));
            }
            return Ok(frame.order[frame.at]);
        }
        if self.frames.len() == step {
            self.frames.push(BoundedFrame::default());
        }
        self.fill(step, view);
        self.end_at_path(step, view)?;
        self.depth = step + 1;
        let frame = &mut self.frames[step];
        frame.at = 0;
        frame.draws.clear();
        Ok(frame.order[0])
    }

    /// Fills in all fields of a frame except its choices.
    fn fill(&mut self, step: usize, view: &View<'_>) {
        let spent = self.cost_of(step);
        let frame = &mut self.frames[step];
        frame.goes_on = view.last().is_some_and(|last| goes_on(view, last));
        frame.order.clear();
        frame.order.extend_from_slice(view.candidates());
        frame.order.sort_unstable();
        let first = match view.last() {
            Some(last) if frame.goes_on => frame.order.partition_point(|task| *task < last),
            Some(last) => frame.order.partition_point(|task| *task <= last),
            None => 0,
        };
        frame.order.rotate_left(first);
        frame.spent = spent;
        frame.events = view.events().len();
        let dearest = (self.measure.cost)(frame.order.len().saturating_sub(1), frame.goes_on);
        // Siblings along the path belong to other parts, except siblings beyond the bound, which belong to none.
        let limit = if step >= self.place.seat.root { self.within } else { self.most };
        self.left_out |= spent.saturating_add(dearest) > limit;
    }

    /// Returns the `nth` value that the step draws. The search does not vary a given value.
    fn draw(
        &mut self,
        step: usize,
        nth: usize,
        draw: &Draw,
        given: Option<u64>,
    ) -> Result<u64, Mismatch> {
        let draws = &mut self.frames[step].draws;
        match draws.get(nth) {
            None => {
                let value = given.unwrap_or(0);
                draws.push(Drawn { value, bound: draw.bound, given: given.is_some() });
                Ok(value)
            }
            Some(drawn) if drawn.bound == draw.bound => Ok(drawn.value),
            Some(drawn) => Err(Mismatch::new(
                step as u32,
                format!("a draw of a value below {}", drawn.bound),
                format!("a draw of a value below {}", draw.bound),
            )),
        }
    }

    /// Returns `true` if the ended run repeats a run of an earlier round, or is only part of a run of a later round.
    fn is_repeated(&self) -> bool {
        self.place.is_beyond || self.ended && self.cost() < self.within
    }

    fn count_run(&mut self) {
        self.place.seat.bare = 0;
        match self.is_repeated() {
            true => self.repeated += 1,
            false => self.runs += 1,
        }
    }

    /// Backtracks to the next run, in this round or the next round. Returns `false` if no run is left.
    fn next_run(&mut self) -> bool {
        if self.place.is_beyond {
            // The drawn values of the last step have no cost, so no other values can reduce the cost of the path.
            self.place.seat.is_through = true;
            return false;
        }
        while let Some(at) = self.depth.checked_sub(1) {
            let (seat, is_root) = (self.place.seat, self.depth == self.place.seat.root);
            let (measure, within) = (self.measure, self.within);
            let frame = &mut self.frames[at];
            if Drawn::advance(&mut frame.draws, seat.varies_from(self.depth)) {
                return true;
            }
            if is_root {
                break;
            }
            if frame.tasks_within(measure, within) > frame.at + 1 {
                frame.at += 1;
                return true;
            }
            self.depth = at;
        }
        if self.place.is_part {
            self.place.seat.is_through = true;
            return false;
        }
        self.through = Some(self.within);
        if !self.left_out || self.within >= self.most {
            return false;
        }
        // The next round starts from scratch, with one more unit of cost.
        self.within += 1;
        self.left_out = false;
        true
    }

    fn progress(&self) -> SearchProgress {
        // `left_out` is final at the end of a round.
        let all = self.depth == 0 && self.through == Some(self.within) && !self.left_out;
        let within = SearchBound { what: self.measure.what, through: self.through };
        SearchProgress {
            runs: self.runs,
            repeated: self.repeated,
            within: (!all).then_some(within),
            ..SearchProgress::default()
        }
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        let (mut steps, mut draws) = (Vec::new(), Vec::new());
        for (step, frame) in self.frames[..self.depth].iter().enumerate() {
            let (task, candidates) = (frame.order[frame.at], frame.order.len() as u32);
            steps.push(StepRecord { task, candidates, preempts: frame.goes_on && frame.at > 0 });
            draws.extend(frame.draws.iter().map(|drawn| DrawRecord {
                step: step as u32,
                value: drawn.value,
                bound: drawn.bound,
                given: drawn.given,
                why: "",
            }));
        }
        (steps, draws)
    }
}

/// Returns `true` if the task of the last step can continue and does not yield, as in
/// `StepRecord::preempts`.
pub(super) fn goes_on(view: &View<'_>, last: TaskId) -> bool {
    let row = view.task(last);
    let yields = row.announced.iter().all(|announced| announced.op.access == Access::Yield);
    row.status == Status::Ready && !yields
}

/// Returns the mismatch of a run that differs from the repeated prefix.
fn differs(frame: &BoundedFrame, view: &View<'_>) -> Mismatch {
    let tell = |tasks: usize, events: usize| {
        format!("{tasks} tasks that can step, after {events} operations")
    };
    Mismatch::new(
        view.step(),
        tell(frame.order.len(), frame.events),
        tell(view.candidates().len(), view.events().len()),
    )
}

/// The strategy of the search, which answers the choices of one run after the other.
struct BoundedStrategy {
    search: Bounded,
    /// The current step, and the number of values that it has drawn.
    step: usize,
    drawn: usize,
}

impl BoundedStrategy {
    fn answer(&mut self, draw: &Draw, given: Option<u64>) -> Result<u64, Mismatch> {
        let nth = self.drawn;
        self.drawn += 1;
        self.search.stack().draw(self.step, nth, draw, given)
    }
}

impl Strategy for BoundedStrategy {
    fn begin(&mut self, _: Seed) {
        self.search.stack().begin();
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        (self.step, self.drawn) = (view.step() as usize, 0);
        let task = self.search.stack().pick(view)?;
        Ok(view.task(task).candidate())
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.answer(draw, Some(value))
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.answer(draw, None)
    }

    fn end(&mut self, _: &View<'_>) -> Result<(), Mismatch> {
        let mut stack = self.search.stack();
        stack.ended = true;
        if stack.depth <= stack.place.seat.root {
            stack.see_path();
        }
        Ok(())
    }
}
