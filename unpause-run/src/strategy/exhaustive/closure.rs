//! The histories of a class of runs: every order of recorded calls that the happens-before order allows.
//!
//! The result of a checker depends on the order of returns and beginnings of calls, but steps do not depend on this
//! order. Runs of one class may therefore have consistent histories and violating histories. One run of the class is
//! enough to compute all its histories. Earlier returns and later beginnings only add constraints, so it is enough to
//! check the *strongest* histories, in which no call can return earlier or begin later. If a strongest history is
//! violated, some schedule produces it.
//!
//! ```text
//! run:        write x ├──────────┤
//!                read y ├──┤               no step of the one conflicts with one of the other:
//! strongest:  write x ├──────────┤          the same class, and so is the other order
//!                                 ├──┤ read y
//! ```
//!
//! Shapes: a *moment* is a step in which calls begin or return, with a bit set of its predecessors among the moments. A
//! depth-first search enumerates the strongest orders. Moments with only returns come as early as possible. Moments in
//! which a call begins come only when a return needs them. Each possible next return is a branch. For n calls of one
//! step each, k per task, there are at most n! / (k!)^(n/k) orders; conflicts reduce the number.

use std::ops::ControlFlow;

use crate::run::board::CallPoint;
use crate::run::ids::TaskId;
use crate::run::recording::Timed;
use crate::strategy::footprint::StepItem;
use crate::strategy::happens_before::{HappensBefore, Index};

/// The result of the check of all orders of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClosureVerdict {
    /// All orders are consistent.
    Consistent,
    /// One order is violated. Steps of these tasks in this sequence produce it.
    Violated(Vec<TaskId>),
    /// The result is unknown: there are too many orders, or they cannot be computed.
    Unknown,
}

/// A step in which calls of the history begin or return.
struct CallMoment {
    step: Index,
    points: Vec<CallPoint>,
    /// The moments that precede this moment in every order.
    before: u128,
}

impl CallMoment {
    fn returns(&self) -> bool {
        self.points.iter().any(|point| matches!(point, CallPoint::Returned(_)))
    }

    fn invokes(&self) -> bool {
        self.points.iter().any(|point| matches!(point, CallPoint::Invoked(_)))
    }
}

/// Calls `holds` with the strongest call orders of each history, up to its last check, until `holds` returns `false`.
/// The first argument is the number of the history. Checks at most `orders_max` orders per history.
pub fn check_orders(
    order: &HappensBefore,
    orders_max: u32,
    holds: &mut dyn FnMut(usize, &[Timed]) -> bool,
) -> ClosureVerdict {
    let mut open = false;
    for history in 0..order.histories() {
        match check_history(order, history, orders_max, |times| holds(history, times)) {
            ClosureVerdict::Consistent => {}
            ClosureVerdict::Unknown => open = true,
            violated => return violated,
        }
    }
    if open { ClosureVerdict::Unknown } else { ClosureVerdict::Consistent }
}

/// Checks the orders of one history.
fn check_history(
    order: &HappensBefore,
    history: usize,
    orders_max: u32,
    mut holds: impl FnMut(&[Timed]) -> bool,
) -> ClosureVerdict {
    let Some(moments) = moments(order, history) else { return ClosureVerdict::Unknown };
    if moments.is_empty() {
        return ClosureVerdict::Consistent;
    }
    let mut left = orders_max;
    let mut search = OrderSearch { moments: &moments, sequence: Vec::new() };
    let ended = search.search(0, &mut |sequence: &[usize]| {
        let Some(times) = times(&moments, sequence) else {
            return ControlFlow::Break(ClosureVerdict::Unknown);
        };
        if left == 0 {
            return ControlFlow::Break(ClosureVerdict::Unknown);
        }
        left -= 1;
        if !holds(&times) {
            let steps: Vec<Index> = sequence.iter().map(|at| moments[*at].step).collect();
            return ControlFlow::Break(ClosureVerdict::Violated(schedule(order, &steps)));
        }
        ControlFlow::Continue(())
    });
    match ended {
        ControlFlow::Break(orders) => orders,
        ControlFlow::Continue(()) => ClosureVerdict::Consistent,
    }
}

/// Returns the moments before the last check of the history; `None` if there are more moments than bits in a bit set.
fn moments(order: &HappensBefore, history: usize) -> Option<Vec<CallMoment>> {
    let points = |step: Index| {
        let point = move |item: &StepItem| match item {
            StepItem::Called { history: of, point, .. } if *of == history => Some(*point),
            _ => None,
        };
        order.items_of(step).iter().filter_map(point)
    };
    let mut moments: Vec<CallMoment> = Vec::new();
    // The position of the last check: the number of complete moments before it, and the number of points of its own
    // moment before it.
    let mut checked = (0, 0);
    for step in 0..order.steps() {
        let mut own = Vec::new();
        for point in points(step) {
            match point {
                CallPoint::Checked => checked = (moments.len(), own.len()),
                point => own.push(point),
            }
        }
        if !own.is_empty() {
            let clock = order.clock(step);
            let known = |moment: &CallMoment| order.knows(clock, moment.step);
            let bit = |at: usize| 1u128.checked_shl(at as u32);
            let mut before = 0;
            for (at, _) in moments.iter().enumerate().filter(|(_, moment)| known(moment)) {
                before |= bit(at)?;
            }
            moments.push(CallMoment { step, points: own, before });
        }
    }
    moments.truncate(checked.0 + usize::from(checked.1 > 0));
    if let (Some(last), true) = (moments.last_mut(), checked.1 > 0) {
        last.points.truncate(checked.1);
    }
    (moments.len() <= u128::BITS as usize).then_some(moments)
}

/// The depth-first search over the strongest orders.
struct OrderSearch<'a> {
    moments: &'a [CallMoment],
    sequence: Vec<usize>,
}

impl OrderSearch<'_> {
    fn search(
        &mut self,
        mut done: u128,
        visit: &mut impl FnMut(&[usize]) -> ControlFlow<ClosureVerdict>,
    ) -> ControlFlow<ClosureVerdict> {
        let moments = self.moments;
        let open = |done: u128| move |at: &usize| done & 1 << at == 0;
        let free = |done: u128| {
            let mut all = (0..moments.len()).filter(open(done));
            all.find(|at| !moments[*at].invokes() && moments[*at].before & !done == 0)
        };
        while let Some(at) = free(done) {
            self.sequence.push(at);
            done |= 1 << at;
        }
        let mut last = true;
        for at in (0..moments.len()).filter(open(done)).filter(|at| moments[*at].returns()) {
            let needs = moments[at].before & !done;
            let needed = || (0..moments.len()).filter(move |other| needs & 1 << other != 0);
            if needed().any(|other| moments[other].returns()) {
                continue;
            }
            last = false;
            let length = self.sequence.len();
            self.sequence.extend(needed());
            self.sequence.push(at);
            self.search(done | needs | 1 << at, visit)?;
            self.sequence.truncate(length);
        }
        // The remaining calls never returned, and no other call depends on their beginning.
        if last { visit(&self.sequence) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the times of the calls in this order of moments; `None` if the beginning of a returned call is not recorded.
fn times(moments: &[CallMoment], sequence: &[usize]) -> Option<Vec<Timed>> {
    let mut times: Vec<Timed> = Vec::new();
    let points = sequence.iter().flat_map(|at| &moments[*at].points);
    for (time, point) in (0..).zip(points) {
        match point {
            CallPoint::Invoked(call) => {
                times.push(Timed { call: *call, invoked: time, returned: None });
            }
            CallPoint::Returned(call) => {
                let timed = times.iter_mut().find(|timed| timed.call == *call)?;
                timed.returned = Some(time);
            }
            CallPoint::Announced(_) | CallPoint::Checked | CallPoint::Shown => {}
        }
    }
    Some(times)
}

/// Returns a schedule with this order of moments: the task of each step. The schedule contains each other step when a
/// moment needs it.
fn schedule(order: &HappensBefore, moments: &[Index]) -> Vec<TaskId> {
    let (mut done, mut dead) = (vec![false; order.steps() as usize], Vec::new());
    let mut turns = Vec::new();
    for wanted in moments.iter().copied().chain(0..order.steps()) {
        for step in 0..=wanted {
            if order.is_before(step, wanted) && !std::mem::replace(&mut done[step as usize], true) {
                // If the task has already died in this schedule, its steps make no difference, so the schedule omits
                // them.
                if !dead.contains(&order.task_of(step)) {
                    turns.push(order.task_of(step));
                }
                dead.extend(order.killed_by(step));
            }
        }
    }
    turns
}
