//! Lessons: several instances of a strategy, each with its own rehearsals, for different blocks of seeds.
//!
//! Rehearsals depend only on the body, and four rehearsals can mislead. For example, if a task returns early in all
//! four because a flag is not set, the strategy draws no order for the task's later accesses. A bug behind that flag
//! then takes ten times as many runs. If all seeds learnt from the same four rehearsals, such a body would stay
//! unlucky. Therefore each [block](BLOCK) of seeds has a *lesson*: a separate strategy instance that has learnt from
//! its own rehearsals.
//!
//! **The lesson of a block** is a function of the block number, so a seed gives the same run alone, in any shard and on
//! any worker. Block 0 has lesson 0. Blocks 1, 3, 7, 15 and so on each begin a new lesson, up to [`LESSONS`] lessons.
//! Every other block draws one of the lessons that earlier blocks began. Drawing distributes the lessons evenly in
//! every shard; a fixed rotation would give each of 16 shards only one lesson.
//!
//! **Cost.** A worker learns a lesson at its first seed of the lesson, and keeps the lesson. The first 100 seeds need 3
//! lessons (12 rehearsals), the first 1000 seeds need 6 (24 rehearsals), and any number of seeds needs at most 16 (64
//! rehearsals). Each lesson occupies the memory of one strategy. Lessons add no cost to a step.

use super::rehearsal::REHEARSALS;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::rng::Rng;

/// The number of consecutive seeds with the same lesson. A misleading first lesson costs this many runs. With smaller
/// blocks, there would be more rehearsals than runs at the beginning.
const BLOCK: u64 = 16;

/// The maximum number of lessons.
const LESSONS: u32 = 16;

/// A strategy that learns, with one lesson for each block of seeds.
#[derive(Debug)]
pub(super) struct Lessons<S> {
    create: fn() -> S,
    /// The lesson of the current seed. The lesson is not in `kept`, so that a step needs no look-up.
    serves: S,
    number: u32,
    /// The other lessons begun so far, by number.
    kept: Vec<Option<S>>,
}

impl<S> Lessons<S> {
    pub(super) fn new(create: fn() -> S) -> Lessons<S> {
        Lessons { create, serves: create(), number: 0, kept: Vec::new() }
    }

    /// Makes the lesson with this number the current lesson.
    #[cold]
    fn change(&mut self, number: u32) {
        let slots = self.number.max(number) as usize + 1;
        if self.kept.len() < slots {
            self.kept.resize_with(slots, || None);
        }
        let next = self.kept[number as usize].take().unwrap_or_else(self.create);
        let last = std::mem::replace(&mut self.serves, next);
        self.kept[self.number as usize] = Some(last);
        self.number = number;
    }
}

/// Returns the lesson number of a seed.
fn lesson_of(seed: Seed) -> u32 {
    let block = seed.0 / BLOCK;
    let newest = (block + 1).ilog2();
    if newest < LESSONS && (block + 1).is_power_of_two() {
        return newest;
    }
    Rng::new(block).below(u64::from(LESSONS.min(newest + 1))) as u32
}

impl<S: Strategy> Strategy for Lessons<S> {
    fn prepare(&mut self, seed: Seed) {
        let number = lesson_of(seed);
        if number != self.number {
            self.change(number);
        }
    }

    fn begin(&mut self, seed: Seed) {
        let seed = match self.serves.rehearsals() {
            0 => seed,
            // A rehearsal: no other lesson uses this seed for a rehearsal.
            left => Seed((self.number * REHEARSALS + REHEARSALS.saturating_sub(left)).into()),
        };
        self.serves.begin(seed);
    }

    fn rehearsals(&self) -> u32 {
        self.serves.rehearsals()
    }

    fn sees_forced_steps(&self) -> bool {
        self.serves.sees_forced_steps()
    }

    #[inline]
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.serves.pick(view)
    }

    #[inline]
    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.serves.draw(draw)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.serves.given(draw, value)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.serves.end(view)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::strategy::rehearsal::Rehearsal;

    #[test]
    fn the_number_of_lessons_grows_with_the_seeds_and_has_an_end() {
        let lessons = |seeds: u64| (0..seeds).map(|n| lesson_of(Seed(n))).collect::<BTreeSet<_>>();
        for (seeds, count) in [(1, 1), (16, 1), (17, 2), (100, 3), (1000, 6), (10_000, 10)] {
            assert_eq!(lessons(seeds), (0..count).collect(), "{seeds} seeds");
        }
        let late: BTreeSet<_> = (0..10_000).map(|n| lesson_of(Seed(u64::MAX - n))).collect();
        assert_eq!(late, (0..LESSONS).collect());
    }

    #[test]
    fn lessons_get_equal_shares_of_any_shard() {
        for (stride, first) in [(1, 1 << 40), (2, 1), (16, 1 << 20), (16, 3), (64, 7), (256, 0)] {
            let mut seeds = [0u64; LESSONS as usize];
            let count = 1u64 << 16;
            // This position is after all seeds at which lessons are added.
            let from = first + (BLOCK << LESSONS);
            (0..count).for_each(|n| seeds[lesson_of(Seed(from + n * stride)) as usize] += 1);
            let share = count / u64::from(LESSONS);
            let is_even = |n: &u64| n.abs_diff(share) < share / 4;
            assert!(seeds.iter().all(is_even), "{stride} {first}: {seeds:?}");
        }
    }

    /// A run that was begun: the rehearsals that its strategy had executed before, and its seed.
    type Begun = (Vec<u64>, u64);

    /// A strategy that records the runs that it begins. The list outlives the strategy.
    #[derive(Default)]
    struct Notes {
        rehearsal: Rehearsal,
        seen: Vec<u64>,
        begun: Arc<Mutex<Vec<Begun>>>,
    }

    impl Strategy for Notes {
        fn begin(&mut self, seed: Seed) {
            self.rehearsal.begin();
            match self.rehearsal.is_on() {
                true => self.seen.push(seed.0),
                false => self.begun.lock().unwrap().push((self.seen.clone(), seed.0)),
            }
        }

        fn rehearsals(&self) -> u32 {
            self.rehearsal.remaining()
        }

        fn pick(&mut self, _: &View<'_>) -> Result<usize, Mismatch> {
            Ok(0)
        }

        fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
            Ok(0)
        }
    }

    /// Runs seeds as a worker does. Returns the runs that each lesson began, and the number of rehearsals.
    fn begun(seeds: impl Iterator<Item = u64>) -> (Vec<Begun>, u64) {
        let mut lessons = Lessons::new(Notes::default);
        let (mut all, mut rehearsals) = (Vec::new(), 0);
        for seed in seeds {
            lessons.prepare(Seed(seed));
            for n in 0..lessons.rehearsals() {
                lessons.begin(Seed(n.into()));
                rehearsals += 1;
            }
            lessons.begin(Seed(seed));
            all.append(&mut lessons.serves.begun.lock().unwrap());
        }
        (all, rehearsals)
    }

    #[test]
    fn a_seed_alone_has_learnt_what_it_has_among_others() {
        let (all, _) = begun(0..2000);
        assert_eq!(all.len(), 2000);
        for (n, among_others) in (0..).zip(&all) {
            assert_eq!(begun(std::iter::once(n)).0, std::slice::from_ref(among_others));
        }
        // In another order, and in a shard.
        let (backwards, _) = begun((0..2000).rev());
        assert!(backwards.iter().rev().eq(&all));
        let (shard, _) = begun((3..2000).step_by(40));
        assert!(shard.iter().eq(all.iter().skip(3).step_by(40)));
    }

    #[test]
    fn no_two_lessons_have_a_rehearsal_in_common_and_each_is_learnt_once() {
        let (all, rehearsals) = begun(0..1000);
        let lessons: BTreeSet<_> = all.iter().map(|(seen, _)| seen.clone()).collect();
        let seen: Vec<u64> = lessons.into_iter().flatten().collect();
        assert_eq!(seen, (0..6 * u64::from(REHEARSALS)).collect::<Vec<_>>());
        assert_eq!(rehearsals, 24);
    }
}
