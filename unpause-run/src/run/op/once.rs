//! A value that is made once: one task makes it, others wait until it is made.
//!
//! The state is empty, under way or made. An abandoned initialisation leaves it empty. Any waiting
//! or later task may then begin the next one. Once made, the value stays.

use super::kind::{Bits, Kind};

const BEGINS: Bits = 1 << 0;
const QUEUES: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const LOOKS: Bits = 1 << 3;
const SEES: Bits = 1 << 4;
const SETTLES: Bits = 1 << 5;
const GIVES_UP: Bits = 1 << 6;

/// The operations whose order decides who begins.
const TURNS: Bits = BEGINS | QUEUES | HEARS | SETTLES | GIVES_UP;

/// Found no value, and began to make it.
pub const BEGIN: Kind = Kind::of(BEGINS).conflicts_with(TURNS);

/// Found that the value is being made, and waits for the end of that. The waiting tasks have no
/// order.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(TURNS & !QUEUES);

/// Continues after such a wait. Guard: an initialisation has ended since it began to wait. Recorded
/// as what it then does.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(TURNS);

/// Looked whether there is a value, or found it.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(SETTLES).looks();

/// Continues after a wait for the value itself. Guard: there is one. Recorded as a look.
pub const SEE: Kind = Kind::of(SEES).conflicts_with(SETTLES).looks();

/// Made the value.
pub const SETTLE: Kind =
    Kind::of(SETTLES).conflicts_with(TURNS | LOOKS | SEES).enables(HEARS | SEES);

/// Gave up making it.
pub const GIVE_UP: Kind = Kind::of(GIVES_UP).conflicts_with(TURNS).enables(HEARS);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "once",
    kinds: &[
        ("begin", BEGIN),
        ("queue", QUEUE),
        ("hear", HEAR),
        ("look", LOOK),
        ("see", SEE),
        ("settle", SETTLE),
        ("give up", GIVE_UP),
    ],
};
