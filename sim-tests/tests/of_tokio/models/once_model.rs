//! The cell that is initialized once, and the cell that is set once.

use std::sync::Arc;

use sim::tokio::sync::{OnceCell, SetError, SetOnce};

use super::fair_queue::Permits;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    /// Initializes the cell in two steps, unless it has a value. Returns the value.
    Init(i64),
    Set(i64),
    Get,
    SetOnce(i64),
    GetOnce,
    WaitOnce,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        let value = 1 + dice.below(3) as i64;
        match dice.below(9) {
            0..=3 => Call::Init(value),
            4 => Call::Set(value),
            5 => Call::Get,
            6 => Call::SetOnce(value),
            7 => Call::GetOnce,
            _ => Call::WaitOnce,
        }
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Init(_) | Call::WaitOnce)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    permits: Permits,
    initializer: Option<Caller>,
    value: Option<i64>,
    once: Option<i64>,
    /// The planted fault: a dropped initialization blocks later ones.
    is_faulty: bool,
}

impl State {
    fn set(&mut self, value: i64) {
        self.value = Some(value);
        self.permits.close();
    }
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, _: usize) -> State {
        let permits = Permits::new(1);
        State { permits, initializer: None, value: None, once: None, is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        Polled::Done(match call {
            Call::Init(value) => {
                if self.initializer == Some(caller) {
                    self.initializer = None;
                    self.set(value);
                    return Polled::Done(value);
                }
                if let Some(value) = self.value {
                    self.permits.cancel(caller);
                    return Polled::Done(value);
                }
                if self.permits.poll(caller, 1).is_none() {
                    return Polled::Waits;
                }
                self.initializer = Some(caller);
                return Polled::Continues;
            }
            Call::Set(value) => match (self.value, self.permits.take(1)) {
                (Some(_), _) => CLOSED,
                (None, 0) => {
                    self.set(value);
                    0
                }
                (None, _) => WOULD_WAIT,
            },
            Call::Get => self.value.unwrap_or(NOTHING),
            Call::SetOnce(value) => match self.once {
                Some(_) => CLOSED,
                None => {
                    self.once = Some(value);
                    0
                }
            },
            Call::GetOnce => self.once.unwrap_or(NOTHING),
            Call::WaitOnce => match self.once {
                Some(value) => value,
                None => return Polled::Waits,
            },
        })
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        if self.initializer == Some(caller) {
            self.initializer = None;
            self.permits.add(u32::from(!self.is_faulty));
        }
        self.permits.cancel(caller);
    }
}

pub(super) struct Ends {
    cell: Arc<OnceCell<i64>>,
    once: Arc<SetOnce<i64>>,
}

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let (cell, once) = (Arc::new(OnceCell::new()), Arc::new(SetOnce::new()));
    (0..tasks).map(|_| Ends { cell: cell.clone(), once: once.clone() }).collect()
}

impl Ends {
    pub(super) async fn perform(&self, call: Call) -> i64 {
        match call {
            Call::Init(value) => {
                let init = || async {
                    sim::task::yield_now().await;
                    value
                };
                *self.cell.get_or_init(init).await
            }
            Call::Set(value) => match self.cell.set(value) {
                Ok(()) => 0,
                Err(SetError::AlreadyInitializedError(_)) => CLOSED,
                Err(SetError::InitializingError(_)) => WOULD_WAIT,
            },
            Call::Get => self.cell.get().copied().unwrap_or(NOTHING),
            Call::SetOnce(value) => self.once.set(value).map_or(CLOSED, |()| 0),
            Call::GetOnce => self.once.get().copied().unwrap_or(NOTHING),
            Call::WaitOnce => *self.once.wait().await,
        }
    }
}
