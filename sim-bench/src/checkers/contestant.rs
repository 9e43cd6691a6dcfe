//! The registry of checkers, one row each.

use std::time::Duration;

use cpu_time::ProcessTime;

use super::case::Case;
use super::history::{Histories, History, Subject};
use super::{child, online, ours, porcupine_rs, stateright};

/// The verdict of a checker.
pub(super) enum Answer {
    /// True if linearizable; with the name of the engine that decided.
    Decided(bool, String),
    /// The checker gave up.
    Unknown,
}

/// A checker.
pub(super) struct Contestant {
    /// Its name as an argument of the measuring process.
    pub(super) name: &'static str,
    /// The title of its column.
    pub(super) title: &'static str,
    /// Returns `true` if the checker is measured on a case.
    pub(super) takes: fn(&Case) -> bool,
    /// Checks all histories of a case.
    pub(super) check: fn(&Case, &mut Turns),
}

/// All checkers; ours is the first.
pub(super) const CONTESTANTS: &[Contestant] =
    &[ours::ALONE, ours::PARALLEL, online::ONLINE, porcupine_rs::PEER, stateright::PEER];

/// The measurement of one checker, turn by turn.
pub(super) struct Turns {
    left: u32,
    /// The minimum so far, in seconds.
    least: f64,
    spent: f64,
}

impl Turns {
    pub(super) fn new(turns: u32) -> Turns {
        Turns { left: turns, least: f64::INFINITY, spent: 0.0 }
    }

    /// Checks these histories as often as time permits. `check` gets one prepared history and
    /// returns its verdict, with the number of visited configurations (0 if it does not count
    /// them).
    pub(super) fn measure<P>(
        &mut self,
        prepared: &[(P, bool)],
        on_the_wall: bool,
        check: impl Fn(&P) -> (Answer, u64),
    ) {
        const ENOUGH: f64 = 4.0;
        let before = child::memory_now();
        while self.left > 0 && self.spent < ENOUGH {
            self.left -= 1;
            let (processor, wall) = (ProcessTime::now(), std::time::Instant::now());
            let answers: Vec<(Answer, u64)> =
                prepared.iter().map(|(history, _)| check(history)).collect();
            let took: Duration = if on_the_wall { wall.elapsed() } else { processor.elapsed() };
            self.spent += processor.elapsed().as_secs_f64();
            self.least = self.least.min(took.as_secs_f64());
            let mut engine = String::new();
            let (mut visited, mut state) = (0, "right");
            for ((answer, nodes), (_, expected)) in answers.into_iter().zip(prepared) {
                visited += nodes;
                match answer {
                    Answer::Decided(said, by) if said == *expected => engine = by,
                    Answer::Decided(..) => state = "wrong",
                    Answer::Unknown if state == "right" => state = "unknown",
                    Answer::Unknown => {}
                }
            }
            child::say(state, self.least * 1e3, visited, before, &engine);
        }
    }
}

/// A function over the histories of a case, generic in the model.
pub(super) trait Check {
    /// Calls the function.
    fn check<M: Subject>(&mut self, histories: &[History<M>]);
}

/// Builds the histories of a case and passes them to `check`.
pub(super) fn with_histories(case: &Case, check: &mut impl Check) {
    let histories: Histories = case.histories();
    match histories {
        Histories::Register(histories) => check.check(&histories),
        Histories::CasRegister(histories) => check.check(&histories),
        Histories::Recorded(histories) => check.check(&histories),
        Histories::Map(histories) => check.check(&histories),
        Histories::Queue(histories) => check.check(&histories),
        Histories::Stack(histories) => check.check(&histories),
        Histories::Set(histories) => check.check(&histories),
        Histories::PriorityQueue(histories) => check.check(&histories),
    }
}
