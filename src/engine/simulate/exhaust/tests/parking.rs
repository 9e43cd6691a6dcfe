//! Acts on the tokens of tasks.

use std::ops::Range;

use super::act::Act;
use super::diamond::{diamonds_of, from};
use super::program::Program;
use crate::run::op::kind::faults;
use crate::run::op::parking;
use crate::run::rng::Rng;
use crate::task::{Unparker, park};

/// The next act of a task on tokens.
#[derive(Clone, Debug)]
pub(super) enum OnToken {
    Park,
    /// Waits for the token, and may be dropped in between.
    ParkOrNot,
    /// Gives a task its token.
    Unpark(usize),
}

impl OnToken {
    /// Returns `true` if it may be dropped, which is drawn.
    pub(super) fn draws(&self) -> bool {
        matches!(self, OnToken::ParkOrNot)
    }
}

pub(super) async fn perform(tasks: &[Unparker], act: &OnToken) {
    match act {
        OnToken::Park => park().await,
        OnToken::ParkOrNot => drop(crate::cancellable(park()).await),
        OnToken::Unpark(task) => tasks[task % tasks.len()].unpark(),
    }
}

impl Act {
    pub(super) fn token(rng: &mut Rng) -> Act {
        Act::OnToken(match rng.below(5) {
            0 | 1 => OnToken::Park,
            _ => OnToken::Unpark(rng.below(4) as usize),
        })
    }

    pub(super) fn token_or_not(_: &mut Rng) -> Act {
        Act::OnToken(OnToken::ParkOrNot)
    }
}

fn diamonds(programs: Range<u64>) -> super::diamond::Found {
    let acts = [Act::token, Act::token, Act::token_or_not];
    diamonds_of(programs, |rng| Program::generate(rng, &acts, (3, 3)))
}

#[test]
fn steps_on_tokens_that_do_not_conflict_can_be_swapped() {
    let found = diamonds(super::swapped());
    println!("{} pairs", found.pairs);
    assert_eq!(found.broken, None);
    assert!(found.pairs > 200);
}

#[test]
fn a_relation_of_tokens_that_is_not_declared_is_found() {
    let pairs = [
        ("take, tell", (parking::TAKE, parking::TELL), 0),
        ("rest, tell", (parking::REST, parking::TELL), 0),
        ("hear, tell", (parking::HEAR, parking::TELL), 1178),
    ];
    for (name, pair, first) in pairs {
        let found = faults::without(pair, || diamonds(from(first)));
        assert!(found.broken.is_some(), "{name}: not found in {} pairs", found.pairs);
    }
}
