//! The histories of a class of runs: every order of recorded calls that its happens-before allows.
//!
//! Whether one call returned before another began is what a checker looks at, and no step sees it: runs
//! that are the same for every task may have histories that are consistent and histories that are not.
//! One run of the class is enough to know them all. A call that returns earlier or begins later only
//! has more to keep to, so it is enough to look at the *strongest* histories, in which nothing of that
//! kind can be done; if one of them is violated, there is a schedule that makes it.
//!
//! ```text
//! run:        write x ├──────────┤
//!                read y ├──┤               no step of the one conflicts with one of the other:
//! strongest:  write x ├──────────┤          the same class, and so is the other order
//!                                 ├──┤ read y
//! ```
//!
//! Shapes: a *moment* is a step in which calls begin or return, with what it has to come after as a
//! set of bits. The strongest orders are gone through depth first: moments in which calls only return
//! come as soon as they can; those in which one begins come when a return needs them, and which return
//! is next is tried in every way. At most n! / (k!)^(n/k) orders for n calls of one step, k of each
//! task; the more they conflict, the fewer.

use std::ops::ControlFlow;

use crate::run::board::CallPoint;
use crate::run::ids::TaskId;
use crate::run::recording::Timed;
use crate::strategy::footprint::Item;
use crate::strategy::happens_before::{HappensBefore, Index};

/// What became of looking at the orders of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Orders {
    /// Each was as it should be.
    Hold,
    /// One was not. It comes about if the tasks step like this.
    Violated(Vec<TaskId>),
    /// There are too many, or they cannot be known.
    Open,
}

/// A step in which calls of the history begin or return.
struct Moment {
    step: Index,
    points: Vec<CallPoint>,
    /// The moments before it in any order.
    before: u128,
}

impl Moment {
    fn returns(&self) -> bool {
        self.points.iter().any(|point| matches!(point, CallPoint::Returned(_)))
    }

    fn invokes(&self) -> bool {
        self.points.iter().any(|point| matches!(point, CallPoint::Invoked(_)))
    }
}

/// Asks `holds` about the strongest orders of the calls of each history, by number, as it was when it
/// was last checked, until one does not hold: about at most `orders_max` of each.
pub(crate) fn look(
    order: &HappensBefore,
    orders_max: u32,
    holds: &mut dyn FnMut(usize, &[Timed]) -> bool,
) -> Orders {
    let mut open = false;
    for history in 0..order.histories() {
        match orders(order, history, orders_max, |times| holds(history, times)) {
            Orders::Hold => {}
            Orders::Open => open = true,
            violated => return violated,
        }
    }
    if open { Orders::Open } else { Orders::Hold }
}

/// Those of one history.
fn orders(
    order: &HappensBefore,
    history: usize,
    orders_max: u32,
    mut holds: impl FnMut(&[Timed]) -> bool,
) -> Orders {
    let Some(moments) = moments(order, history) else { return Orders::Open };
    if moments.is_empty() {
        return Orders::Hold;
    }
    let mut left = orders_max;
    let mut walk = Walk { moments: &moments, sequence: Vec::new() };
    let gone = walk.go(0, &mut |sequence: &[usize]| {
        let Some(times) = times(&moments, sequence) else {
            return ControlFlow::Break(Orders::Open);
        };
        if left == 0 {
            return ControlFlow::Break(Orders::Open);
        }
        left -= 1;
        if !holds(&times) {
            let steps: Vec<Index> = sequence.iter().map(|at| moments[*at].step).collect();
            return ControlFlow::Break(Orders::Violated(schedule(order, &steps)));
        }
        ControlFlow::Continue(())
    });
    match gone {
        ControlFlow::Break(orders) => orders,
        ControlFlow::Continue(()) => Orders::Hold,
    }
}

/// The moments before the history was last checked; none if there are more than there are bits.
fn moments(order: &HappensBefore, history: usize) -> Option<Vec<Moment>> {
    let points = |step: Index| {
        let point = move |item: &Item| match item {
            Item::Called { history: of, point, .. } if *of == history => Some(*point),
            _ => None,
        };
        order.items_of(step).iter().filter_map(point)
    };
    let mut moments: Vec<Moment> = Vec::new();
    // How much of them there was at the last check: moments, and points of the last.
    let mut checked = (0, 0);
    for step in 0..order.len() {
        let mut own = Vec::new();
        for point in points(step) {
            match point {
                CallPoint::Checked => checked = (moments.len(), own.len()),
                point => own.push(point),
            }
        }
        if !own.is_empty() {
            let clock = order.clock(step);
            let known = |moment: &Moment| order.knows(clock, moment.step);
            let bit = |at: usize| 1u128.checked_shl(at as u32);
            let mut before = 0;
            for (at, _) in moments.iter().enumerate().filter(|(_, moment)| known(moment)) {
                before |= bit(at)?;
            }
            moments.push(Moment { step, points: own, before });
        }
    }
    moments.truncate(checked.0 + usize::from(checked.1 > 0));
    if let (Some(last), true) = (moments.last_mut(), checked.1 > 0) {
        last.points.truncate(checked.1);
    }
    (moments.len() <= u128::BITS as usize).then_some(moments)
}

/// Goes through the strongest orders.
struct Walk<'a> {
    moments: &'a [Moment],
    sequence: Vec<usize>,
}

impl Walk<'_> {
    fn go(
        &mut self,
        mut done: u128,
        visit: &mut impl FnMut(&[usize]) -> ControlFlow<Orders>,
    ) -> ControlFlow<Orders> {
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
            self.go(done | needs | 1 << at, visit)?;
            self.sequence.truncate(length);
        }
        // Whoever is left never returned, and nobody saw it begin.
        if last { visit(&self.sequence) } else { ControlFlow::Continue(()) }
    }
}

/// The calls in this order of moments; none if one returned that nobody saw begin.
fn times(moments: &[Moment], sequence: &[usize]) -> Option<Vec<Timed>> {
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

/// The tasks in the order of their steps, if moments come in this order and all else when it is needed.
fn schedule(order: &HappensBefore, moments: &[Index]) -> Vec<TaskId> {
    let mut done = vec![false; order.len() as usize];
    let mut turns = Vec::new();
    for wanted in moments.iter().copied().chain(0..order.len()) {
        for step in 0..=wanted {
            if order.is_before(step, wanted) && !std::mem::replace(&mut done[step as usize], true) {
                turns.push(order.task_of(step));
            }
        }
    }
    turns
}
