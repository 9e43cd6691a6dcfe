//! The mutex of the library. When it is released, any waiting task may get it.

use std::sync::Arc;

use sim::{Mutex, MutexGuard};

use super::{Callable, Caller, Dice, Model, Polled};

/// Adds 1 to the value under the lock, and returns its previous value. `TryAdd` returns -2 if the lock is held. `Twice`
/// adds another 1 in a later step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Add,
    TryAdd,
    Twice,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        [Call::Add, Call::TryAdd, Call::Twice][dice.below(3)]
    }

    fn is_point(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    owner: Option<Caller>,
    value: i64,
    /// The planted fault: a dropped owner keeps the lock.
    is_faulty: bool,
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, _: usize) -> State {
        State { owner: None, value: 0, is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        match (call, self.owner) {
            (Call::Twice, Some(owner)) if owner == caller => {
                self.owner = None;
                self.value += 1;
                Polled::Done(self.value - 2)
            }
            (Call::TryAdd, Some(_)) => Polled::Done(super::WOULD_WAIT),
            (_, Some(_)) => Polled::Waits,
            (Call::Add | Call::TryAdd, None) => {
                self.value += 1;
                Polled::Done(self.value - 1)
            }
            (Call::Twice, None) => {
                self.owner = Some(caller);
                self.value += 1;
                Polled::Continues
            }
        }
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        if self.owner == Some(caller) && !self.is_faulty {
            self.owner = None;
        }
    }
}

pub(super) struct Ends(Arc<Mutex<i64>>);

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let lock = Arc::new(Mutex::new(0));
    (0..tasks).map(|_| Ends(lock.clone())).collect()
}

impl Ends {
    pub(super) async fn perform(&self, call: Call) -> i64 {
        let add = |guard: &mut MutexGuard<'_, i64>| {
            **guard += 1;
            **guard - 1
        };
        match call {
            Call::Add => add(&mut self.0.lock().await),
            Call::TryAdd => match self.0.try_lock().await {
                Some(mut guard) => add(&mut guard),
                None => super::WOULD_WAIT,
            },
            Call::Twice => {
                let mut guard = self.0.lock().await;
                let old = add(&mut guard);
                sim::task::yield_now().await;
                add(&mut guard);
                old
            }
        }
    }
}
