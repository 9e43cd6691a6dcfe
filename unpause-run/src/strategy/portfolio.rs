//! The portfolio: the seed determines which of the other strategies runs it.
//!
//! No strategy is good at all bugs, and a strategy that is bad at a bug is often hopeless at it. A mix is never much
//! worse than its best member. A member with a share s of the seeds needs at most 1/s times the runs that it needs
//! alone.
//!
//! **Member of a seed.** The fractional part of the seed times the golden ratio selects the member. This Weyl sequence
//! divides any interval of seeds, and any shard of an interval, in proportion to the shares. A seed gives the same run
//! in the portfolio and under its member alone.
//!
//! **Learning.** All members share the same rehearsals, so the portfolio needs no more rehearsals than one member.

use super::orders::Orders;
use super::pct::Pct;
use super::pos::Pos;
use super::urw::Urw;
use super::{StrategyRow, lessons};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "portfolio",
    summary: "one of the others for each seed, which the seed names",
    good_at: "a bug of which nothing is known",
    promise: "never much worse than the best of `orders`, `urw`, `pos` and `pct`, each of which gets its share of the seeds",
    weak: "a bug that one strategy alone finds, and rarely",
    reaches_all: true,
    create: || lessons(Portfolio::default),
    numbered: &[],
};

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The members, each with its share.
///
/// Measured on the bug corpus (`sim-bench corpus`): `orders` is the fastest strategy on average, and needs at most 2.7
/// times the runs of the best strategy there. The factor 2.7 is not a bound: on programs outside the corpus, `orders`
/// needed up to 10.6 times the runs of the best. The other members reduce the factor on the corpus to 2. POS needs no
/// counts, so it still works if the counts of the rehearsals mislead. URW does not draw an order for each object, which
/// is better if tasks pass through the same objects in different orders. For ring buffers and deques with an ABA
/// problem, URW took 18 runs and the mix took 68 runs. PCT is best for bugs that need few, widely separated orderings;
/// such bugs are rare in small programs. Only PCT always delays a task for long. Every interleaving is possible under
/// the first three members.
///
/// SURW is not a member, because it draws orders for one object only and `orders` does so for all objects. The random
/// walk is not a member either. A random walk is best if a program waits for a condition variable with `if` instead of
/// `while` (22 runs, the mix 44), but elsewhere its advantage is small. Moving one share from `orders` to SURW, the
/// random walk or URW makes the mean over the corpus worse.
const MEMBERS: &[(Create, u64)] = &[
    (|| Box::new(<Orders>::default()), 27),
    (|| Box::new(<Urw>::default()), 4),
    (|| Box::new(<Pos>::default()), 8),
    (|| Box::new(<Pct>::with_depth(None)), 1),
];

/// The members in runs with the memory `c11`.
///
/// A stale read replaces the fine interleaving of two operations. The strategy must then find only a few preemptions in
/// long stretches, and PCT and POS are best at this. The following median numbers of runs to a failure were measured in
/// seven ranges of seeds, first with the usual mix, then with this mix. WRC: 64 and 40. IRIW: 43 and 22.
/// ISA2: 56 and 38. A seqlock without fences: 5 and 11. Chase-Lev without the fence of `steal`: 13 and 34. For a use
/// after free in arc-swap 1.8.2, three ranges took 3017, 2469 and 6058 runs with the usual mix, and 237, 2469 and 2427
/// with this mix.
const MEMBERS_FOR_STALE_READS: &[(Create, u64)] = &[
    (|| Box::new(<Orders>::default()), 18),
    (|| Box::new(<Urw>::default()), 2),
    (|| Box::new(<Pos>::default()), 10),
    (|| Box::new(<Pct>::with_depth(None)), 10),
];

/// A function that creates a member.
type Create = fn() -> Box<dyn Strategy>;

/// The portfolio. A step costs as much as a step of the current member.
pub struct Portfolio {
    members: Vec<Box<dyn Strategy>>,
    /// The members with their shares.
    shares: &'static [(Create, u64)],
    /// The member of the current seed.
    member: usize,
    /// True if the current run is a rehearsal, in which all members take part.
    rehearses: bool,
}

impl Default for Portfolio {
    fn default() -> Portfolio {
        Portfolio::of(MEMBERS)
    }
}

/// Creates the portfolio for runs with the memory `c11`.
pub(super) fn for_stale_reads() -> Box<dyn Strategy> {
    lessons(|| Portfolio::of(MEMBERS_FOR_STALE_READS))
}

impl Portfolio {
    fn of(shares: &'static [(Create, u64)]) -> Portfolio {
        let members = shares.iter().map(|(create, _)| create()).collect();
        Portfolio { members, shares, member: 0, rehearses: false }
    }
}

/// Returns the position of the member that runs this seed.
fn member_of(members: &[(Create, u64)], seed: Seed) -> usize {
    let shares: u64 = members.iter().map(|(_, share)| share).sum();
    let part = seed.0.wrapping_mul(GOLDEN);
    let mut left = ((u128::from(part) * u128::from(shares)) >> 64) as u64;
    for (member, (_, share)) in members.iter().enumerate() {
        if left < *share {
            return member;
        }
        left -= share;
    }
    unreachable!("what is left is less than the shares of all members")
}

impl Strategy for Portfolio {
    fn begin(&mut self, seed: Seed) {
        self.rehearses = self.rehearsals() > 0;
        if self.rehearses {
            self.members.iter_mut().for_each(|member| member.begin(seed));
        } else {
            self.member = member_of(self.shares, seed);
            self.members[self.member].begin(seed);
        }
    }

    fn rehearsals(&self) -> u32 {
        self.members.iter().map(|member| member.rehearsals()).max().unwrap_or(0)
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    #[inline]
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        if self.rehearses {
            // All members pick the same task in a rehearsal, and each updates its counts.
            let picks = self.members.iter_mut().map(|member| member.pick(view));
            return picks.last().unwrap_or(Ok(0));
        }
        self.members[self.member].pick(view)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        if self.rehearses {
            return self.members.iter_mut().map(|member| member.draw(draw)).last().unwrap_or(Ok(0));
        }
        self.members[self.member].draw(draw)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.rehearses {
            return self.members.iter_mut().try_for_each(|member| member.end(view));
        }
        self.members[self.member].end(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_get_their_shares_of_any_shard() {
        for members in [MEMBERS, MEMBERS_FOR_STALE_READS] {
            let shares: u64 = members.iter().map(|(_, share)| share).sum();
            let shards = [(1, 0), (1, 1 << 40), (2, 1), (3, 0), (8, 5), (16, 3), (100, 7)];
            for (stride, first) in shards {
                let mut runs = vec![0u64; members.len()];
                let seeds = 1000 * shares;
                for n in 0..seeds {
                    runs[member_of(members, Seed(first + n * stride))] += 1;
                }
                for ((_, share), runs) in members.iter().zip(runs) {
                    let expected = 1000 * share;
                    assert!(runs.abs_diff(expected) <= expected / 20, "{stride} {first}: {runs}");
                }
            }
        }
    }

    #[test]
    fn each_member_runs_one_of_the_first_seeds() {
        for members in [MEMBERS, MEMBERS_FOR_STALE_READS] {
            let first: Vec<usize> = (0..40).map(|seed| member_of(members, Seed(seed))).collect();
            assert!((0..members.len()).all(|member| first.contains(&member)), "{first:?}");
        }
    }
}
