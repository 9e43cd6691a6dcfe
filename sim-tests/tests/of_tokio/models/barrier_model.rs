//! The barrier for two tasks.

use std::sync::Arc;

use sim::tokio::sync::Barrier;

use super::{Callable, Caller, Dice, Model, Polled};

/// Waits at the barrier. Returns 1 in the task that arrived last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Call;

impl Callable for Call {
    fn draw(_: &mut Dice, _: usize, _: usize) -> Call {
        Call
    }

    fn is_point(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    wanted: usize,
    /// The number of tasks that have arrived. A dropped call still counts.
    arrived: usize,
    waiting: Vec<Caller>,
    released: Vec<Caller>,
    /// The planted fault: a dropped call takes its arrival back.
    is_faulty: bool,
}

fn wanted(variant: usize) -> usize {
    if variant == 0 { 3 } else { 2 }
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, variant: usize) -> State {
        State {
            wanted: wanted(variant),
            arrived: 0,
            waiting: Vec::new(),
            released: Vec::new(),
            is_faulty: false,
        }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, _: Call, caller: Caller) -> Polled {
        if let Some(at) = self.released.iter().position(|of| *of == caller) {
            self.released.remove(at);
            return Polled::Done(0);
        }
        if self.waiting.contains(&caller) {
            return Polled::Waits;
        }
        self.arrived += 1;
        if self.arrived == self.wanted {
            self.arrived = 0;
            self.released.append(&mut self.waiting);
            self.released.sort_unstable();
            return Polled::Done(1);
        }
        self.waiting.push(caller);
        self.waiting.sort_unstable();
        Polled::Waits
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        if self.is_faulty && self.waiting.contains(&caller) {
            self.arrived -= 1;
        }
        self.waiting.retain(|of| *of != caller);
        self.released.retain(|of| *of != caller);
    }
}

pub(super) struct Ends(Arc<Barrier>);

pub(super) fn ends(tasks: usize, variant: usize) -> Vec<Ends> {
    let barrier = Arc::new(Barrier::new(wanted(variant)));
    (0..tasks).map(|_| Ends(barrier.clone())).collect()
}

impl Ends {
    pub(super) async fn perform(&self, _: Call) -> i64 {
        self.0.wait().await.is_leader().into()
    }
}
