//! Notifications.

use std::sync::Arc;

use sim::tokio::sync::Notify;

use super::{Callable, Caller, Dice, Model, Polled};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Notified,
    One,
    Last,
    All,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        match dice.below(8) {
            0..=3 => Call::Notified,
            4..=5 => Call::One,
            6 => Call::Last,
            _ => Call::All,
        }
    }

    fn is_point(self) -> bool {
        self == Call::Notified
    }
}

/// The way in which a task was notified.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum How {
    First,
    Last,
    All,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    has_permit: bool,
    /// Futures that are not polled yet; `true` after a later call of `notify_waiters`.
    made: Vec<(Caller, bool)>,
    queue: Vec<Caller>,
    notified: Vec<(Caller, How)>,
    /// The planted fault: a dropped call does not pass its notification on.
    is_faulty: bool,
}

impl State {
    fn notify(&mut self, how: How) {
        let caller = match how {
            How::First if !self.queue.is_empty() => Some(self.queue.remove(0)),
            _ => self.queue.pop(),
        };
        match caller {
            Some(caller) => {
                self.notified.push((caller, how));
                self.notified.sort_by_key(|(caller, _)| *caller);
            }
            None => self.has_permit = true,
        }
    }
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, _: usize) -> State {
        State {
            has_permit: false,
            made: Vec::new(),
            queue: Vec::new(),
            notified: Vec::new(),
            is_faulty: false,
        }
    }

    fn begin(&mut self, call: Call, caller: Caller) {
        if call == Call::Notified {
            self.made.push((caller, false));
            self.made.sort_unstable();
        }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        match call {
            Call::Notified => {
                if let Some(at) = self.notified.iter().position(|(of, _)| *of == caller) {
                    self.notified.remove(at);
                } else if let Some(at) = self.made.iter().position(|(of, _)| *of == caller) {
                    let (_, is_late) = self.made.remove(at);
                    if !is_late && !std::mem::take(&mut self.has_permit) {
                        self.queue.push(caller);
                        return Polled::Waits;
                    }
                } else {
                    return Polled::Waits;
                }
            }
            Call::One => self.notify(How::First),
            Call::Last => self.notify(How::Last),
            Call::All => {
                self.made.iter_mut().for_each(|(_, is_late)| *is_late = true);
                self.notified.extend(self.queue.drain(..).map(|caller| (caller, How::All)));
                self.notified.sort_by_key(|(caller, _)| *caller);
            }
        }
        Polled::Done(0)
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        self.made.retain(|(of, _)| *of != caller);
        self.queue.retain(|of| *of != caller);
        if let Some(at) = self.notified.iter().position(|(of, _)| *of == caller) {
            // A dropped call passes the notification on, unless all tasks got it.
            let (_, how) = self.notified.remove(at);
            if how != How::All && !self.is_faulty {
                self.notify(how);
            }
        }
    }
}

pub(super) struct Ends(Arc<Notify>);

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let notify = Arc::new(Notify::new());
    (0..tasks).map(|_| Ends(notify.clone())).collect()
}

impl Ends {
    pub(super) async fn perform(&self, call: Call) -> i64 {
        match call {
            Call::Notified => self.0.notified().await,
            Call::One => self.0.notify_one(),
            Call::Last => self.0.notify_last(),
            Call::All => self.0.notify_waiters(),
        }
        0
    }
}
