//! The set of tasks. The first task has all other tasks in its set, and joins them in the order in which they end.

use std::future::Future;

use sim::task::{AbortHandle, JoinSet};

use super::lent_end::Slot;
use super::{Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    /// Returns the number of the task. Returns -40 for a task that was aborted.
    Next,
    TryNext,
    Len,
    /// Yields.
    Pause,
}

/// The value of a task that was aborted.
const ABORTED: i64 = -40;

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, _: usize) -> Call {
        match (task, dice.below(6)) {
            (0, 0..=3) => Call::Next,
            (0, 4) => Call::TryNext,
            (0, _) => Call::Len,
            _ => Call::Pause,
        }
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Next | Call::Pause)
    }

    fn is_exclusive(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    len: i64,
    /// The results of tasks that have ended and were not joined, in the order of their ends.
    ended: Vec<i64>,
    /// The planted fault: tasks are joined in the order of their numbers.
    is_faulty: bool,
}

impl State {
    fn next(&mut self) -> Option<i64> {
        if self.len == 0 {
            return Some(NOTHING);
        }
        if self.ended.is_empty() {
            return None;
        }
        self.len -= 1;
        Some(self.ended.remove(0))
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, _: usize) -> State {
        State { len: tasks as i64 - 1, ended: Vec::new(), is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, _: Caller) -> Polled {
        Polled::Done(match call {
            Call::Next => match self.next() {
                Some(got) => got,
                None => return Polled::Waits,
            },
            Call::TryNext => self.next().unwrap_or(WOULD_WAIT),
            Call::Len => self.len,
            Call::Pause => 0,
        })
    }

    fn end(&mut self, task: usize, is_aborted: bool) {
        if task > 0 {
            self.ended.push(if is_aborted { ABORTED } else { task as i64 });
            if self.is_faulty {
                self.ended.sort_unstable();
            }
        }
    }
}

pub(super) struct Ends(Slot<JoinSet<i64>>);

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let ends = |task| Ends(Slot::new((task == 0).then(JoinSet::new)));
    (0..tasks).map(ends).collect()
}

impl Ends {
    /// Spawns the task with this number, counted from 0 after the first task.
    pub(super) fn spawn(
        &self,
        number: usize,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        let work = async move {
            task.await;
            number as i64 + 1
        };
        self.0.lend().expect("the first task has the set").spawn(work)
    }

    async fn of_set(&self, call: Call) -> Option<i64> {
        let mut set = self.0.lend()?;
        let joined = match call {
            Call::Next => set.join_next().await,
            Call::TryNext if set.is_empty() => None,
            Call::TryNext => match set.try_join_next() {
                None => return Some(WOULD_WAIT),
                joined => joined,
            },
            _ => return Some(set.len() as i64),
        };
        Some(joined?.unwrap_or(ABORTED))
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        if call == Call::Pause {
            sim::task::yield_now().await;
            return 0;
        }
        let got = self.of_set(call).await;
        super::or_nothing(got, call).await
    }
}
