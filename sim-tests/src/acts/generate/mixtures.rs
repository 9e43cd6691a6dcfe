//! The mixtures: which acts they use, and how often.

use super::acts::*;
use super::{Make, Mixture};
use crate::acts::compare::Judge;
use crate::acts::program::{CELL, STATIC};

/// Every mixture.
pub const MIXTURES: &[Mixture] = &[
    Mixture {
        acts: &[(3, load), (2, store), (1, swap), (2, add), (1, max), (2, exchange)],
        words: &[0, 1, CELL],
        ..PLAIN.named("memory")
    },
    Mixture {
        acts: &[(4, load), (3, store), (2, swap), (1, add), (1, spin)],
        words: &[0, CELL, STATIC],
        most: (3, 4),
        ..PLAIN.named("statics")
    },
    Mixture {
        acts: &[(4, lock), (2, try_lock), (3, unlock), (1, load), (1, add)],
        most: (3, 5),
        ..PLAIN.named("locks")
    },
    Mixture {
        acts: &[(4, spin), (1, spin_try), (1, lock), (1, unlock), (3, store), (2, add), (1, load)],
        most: (3, 4),
        ..PLAIN.named("spin")
    },
    Mixture {
        acts: &[(3, draw), (2, store_drawn), (3, skip), (2, load), (2, store), (1, panic)],
        ..PLAIN.named("draws")
    },
    Mixture {
        acts: &[(3, join), (2, look), (1, detach), (2, add), (2, load), (1, lock), (1, yields)],
        tree: 60,
        moves: 30,
        most: (3, 5),
        ..PLAIN.named("trees")
    },
    Mixture {
        acts: &[
            (4, abort),
            (5, lock),
            (1, try_lock),
            (1, unlock),
            (3, join),
            (1, add),
            (1, yields),
            (1, look),
        ],
        moves: 30,
        most: (3, 5),
        ..PLAIN.named("abort")
    },
    Mixture {
        acts: &[(4, look), (4, join), (2, lock), (2, try_lock), (3, load), (3, store)],
        words: &[0],
        locks: 1,
        most: (3, 5),
        moves: 10,
        ..PLAIN.named("look")
    },
    Mixture {
        acts: &[
            (3, poll),
            (3, poll_join),
            (2, dropped),
            (2, join),
            (2, yields),
            (2, load),
            (1, add),
            (1, lock),
        ],
        moves: 30,
        most: (3, 4),
        ..PLAIN.named("polled")
    },
    Mixture {
        acts: &[
            (5, race),
            (2, both),
            (2, lock),
            (1, unlock),
            (2, add),
            (1, store),
            (1, spin),
            (1, join),
        ],
        most: (2, 3),
        moves: 30,
        ..PLAIN.named("select")
    },
    Mixture {
        acts: &[
            (4, defer),
            (2, abort),
            (1, race),
            (2, lock),
            (2, add),
            (1, join),
            (1, yields),
            (1, look),
        ],
        tree: 30,
        moves: 20,
        most: (3, 5),
        ..PLAIN.named("drops")
    },
    Mixture {
        acts: &[
            (2, panic),
            (2, skip),
            (3, load),
            (2, store),
            (2, lock),
            (1, spin),
            (1, abort),
            (1, defer),
        ],
        most: (3, 5),
        ..PLAIN.named("panics")
    },
    Mixture {
        acts: &[(5, call), (1, store), (1, abort), (1, race), (1, load), (1, draw), (1, skip)],
        most: (2, 3),
        ..PLAIN.named("calls")
    },
    Mixture {
        acts: &[(4, node), (5, find), (1, yields), (1, load), (1, add), (1, abort), (1, race)],
        most: (3, 4),
        ..PLAIN.named("names of nodes")
    },
    Mixture {
        acts: &[
            (4, node),
            (1, find),
            (2, addr),
            (5, life),
            (2, kill),
            (4, restart),
            (1, yields),
            (1, add),
        ],
        most: (2, 5),
        ..PLAIN.named("nodes")
    },
    Mixture {
        acts: EVERYTHING,
        words: &[0, 1, CELL, STATIC],
        tree: 30,
        moves: 30,
        ..PLAIN.named("all")
    },
    Mixture {
        acts: &[
            (4, woken),
            (1, race),
            (2, lock),
            (1, unlock),
            (2, add),
            (1, join),
            (1, poll),
            (1, load),
        ],
        moves: 30,
        judge: Judge::Preemptions,
        most: (2, 2),
        ..PLAIN.named("unordered")
    },
    Mixture {
        acts: EVERYTHING_AND_WOKEN,
        words: &[0, 1, CELL, STATIC],
        most: (2, 3),
        tree: 30,
        moves: 30,
        judge: Judge::Preemptions,
        ..PLAIN.named("all, unordered")
    },
];

/// The defaults of all mixtures.
const PLAIN: Mixture = Mixture {
    name: "",
    acts: &[],
    words: &[0, 1],
    locks: 2,
    most: (3, 3),
    tree: 0,
    moves: 0,
    judge: Judge::Interpreter,
};

#[rustfmt::skip]
const EVERYTHING: &[(u32, Make)] = &[
    (3, load), (3, store), (1, swap), (2, add), (1, max), (1, exchange), (1, store_drawn),
    (4, lock), (2, try_lock), (2, unlock),
    (2, spin), (1, spin_try),
    (1, yields), (1, draw), (1, skip), (1, panic),
    (3, join), (1, poll), (1, poll_join), (2, abort), (2, look), (1, detach), (1, dropped),
    (1, race), (1, both),
    (2, defer), (1, call),
];

#[rustfmt::skip]
const EVERYTHING_AND_WOKEN: &[(u32, Make)] = &[
    (2, load), (2, store), (1, add), (1, store_drawn),
    (3, lock), (1, try_lock), (2, unlock), (1, spin),
    (1, yields), (1, draw), (1, skip),
    (2, join), (1, poll), (1, abort), (1, look), (1, dropped),
    (3, woken), (1, race), (1, both), (1, defer), (1, call),
];
