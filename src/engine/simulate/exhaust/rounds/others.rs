//! Other processes that execute slices of the same rounds, because they have the same result file.
//!
//! The line of a slice is a function of the search, so any process may write it, and a slice that two processes execute
//! costs only time. Each process reads the lines of the others while it searches. To avoid equal work, each process
//! begins a round at its own position. A slice after a slice of another process comes last, because the other process
//! probably executes it at the moment.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::Rounds;
use super::state::{Round, State};

/// The minimum time between two looks into the file: beside other processes, and alone.
const EVERY: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// The minimum and the maximum time of a wait for a slice of another process.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(10));

/// The time between two looks into the file while this process waits.
const NAP: Duration = Duration::from_millis(5);

/// The other processes, according to the lines of the file.
pub(super) struct Others {
    /// A random number of this process, which affects only who executes a slice.
    own: u64,
    /// True if another process has written a slice since this search began.
    are_there: bool,
    looked: Option<Instant>,
    /// The end of the wait since the last line of another process, if this process has begun to wait.
    until: Option<Instant>,
    /// The mean time of a slice of this process, if known.
    slice: Option<Duration>,
}

impl Others {
    pub(super) fn new() -> Others {
        // Processes on several machines may have the same process number.
        let own = RandomState::new().hash_one(0);
        Others { own, are_there: false, looked: None, until: None, slice: None }
    }

    /// Returns the position at which this process begins a round with `count` slices.
    pub(super) fn start(&self, round: u64, count: usize) -> usize {
        if self.are_there { position(self.own, round, count) } else { 0 }
    }

    /// Adds the time of a slice that this process has executed.
    pub(super) fn took(&mut self, time: Duration) {
        self.slice = Some(self.slice.map_or(time, |mean| (mean * 7 + time) / 8));
    }

    /// Returns the time to wait for slices of another process before this process executes its next slice, if any. The
    /// wait ends at the time limit of the test, if any.
    pub(super) fn patience(
        &mut self,
        round: &Round,
        next: usize,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        let now = Instant::now();
        let is_late = deadline.is_some_and(|deadline| now >= deadline);
        if !self.are_there || !round.is_expected(next) || is_late {
            return None;
        }
        let (least, most) = PATIENCE;
        let wanted = (self.slice.unwrap_or(least) * 2).clamp(least, most);
        // The wait is not repeated without a new line: the other process may have ended.
        let left = self.until.get_or_insert(now + wanted).saturating_duration_since(now);
        (!left.is_zero()).then_some(left.min(NAP))
    }
}

/// Returns a position below `count`. Two processes may have the same position in one round, but not in all rounds.
fn position(own: u64, round: u64, count: usize) -> usize {
    let number = own.wrapping_mul(2 * round + 1);
    ((u128::from(number) * count as u128) >> 64) as usize
}

impl State<'_> {
    /// Reads the lines that other processes have written. Returns `true` if they contain slices of this round.
    pub(super) fn follow_others(&mut self, rounds: &Rounds<'_, '_>) -> bool {
        let Some(log) = rounds.log else { return false };
        let every = EVERY[usize::from(!self.others.are_there)];
        if self.others.looked.is_some_and(|looked| looked.elapsed() < every) {
            return false;
        }
        let has_lines = log.follow();
        self.others.looked = Some(Instant::now());
        if !has_lines {
            return false;
        }
        self.others.until = None;
        if !std::mem::replace(&mut self.others.are_there, true) {
            self.round.start = self.others.start(self.tree.round(), self.round.budgets.len());
        }
        self.take_made(log, rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::slice::MadeSlice;
    use super::*;

    #[test]
    fn processes_begin_at_different_positions_of_a_round() {
        let others = [Others::new(), Others::new()].map(|own| Others { are_there: true, ..own });
        let starts = |round| others.each_ref().map(|own| own.start(round, 128));
        let differ = (0..100).filter(|round| starts(*round)[0] != starts(*round)[1]).count();
        assert!(differ > 80, "{differ}");
        assert!((0..100).all(|round| starts(round).iter().all(|start| *start < 128)));
        assert_eq!((others[0].start(7, 1), others[0].start(7, 0)), (0, 0));
        assert_eq!(Others::new().start(7, 128), 0);
    }

    #[test]
    fn a_slice_that_another_process_probably_executes_comes_last_and_is_awaited_once() {
        let is_read = |at: usize| {
            let (slice, explored) = Default::default();
            (at == 1).then_some(MadeSlice { slice, explored, is_cut: false, is_read: true })
        };
        let mut round = Round {
            budgets: vec![1; 4],
            taken: vec![false; 4],
            start: 1,
            made: (0..4).map(is_read).collect(),
            ..Round::default()
        };
        let mut order = Vec::new();
        while let Some(at) = round.next(usize::MAX) {
            order.push(at);
            round.taken[at] = true;
        }
        assert_eq!(order, [3, 0, 2]);
        round.taken = vec![false; 4];
        assert_eq!(round.next(0), Some(0));

        let mut others = Others { are_there: true, ..Others::new() };
        assert_eq!(others.patience(&round, 3, None), None);
        assert!(others.patience(&round, 2, None).is_some());
        std::thread::sleep(4 * PATIENCE.0);
        assert_eq!(others.patience(&round, 2, None), None);
        assert_eq!(Others::new().patience(&round, 2, None), None);

        // The wait for a long slice ends at the time limit.
        let took = Some(Duration::from_secs(3));
        let mut others = Others { are_there: true, slice: took, ..Others::new() };
        let now = Instant::now();
        assert!(others.patience(&round, 2, Some(now + Duration::from_secs(60))).is_some());
        assert_eq!(others.patience(&round, 2, Some(now)), None);
    }
}
