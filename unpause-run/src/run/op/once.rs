//! A value that is initialized once: one task initializes it, and other tasks wait for it.
//!
//! The state is empty, in progress or initialized. An abandoned initialization leaves the state
//! empty. Any waiting or later task may then begin the next initialization. Once initialized, the
//! value stays.

use super::kind::{Bits, Kind, WATCHES};

const BEGINS: Bits = 1 << 0;
const QUEUES: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const LOOKS: Bits = 1 << 3;
const SEES: Bits = 1 << 4;
const SETTLES: Bits = 1 << 5;
const GIVES_UP: Bits = 1 << 6;

/// The operations with an order that decides which task initializes the value.
const TURNS: Bits = BEGINS | QUEUES | HEARS | SETTLES | GIVES_UP;

/// The task found no value, and began to initialize it.
pub const BEGIN: Kind = Kind::of(BEGINS).conflicts_with(TURNS);

/// The task found that an initialization is in progress, and began to wait for its end. The waiting tasks have no
/// order.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(TURNS & !QUEUES);

/// The task continued after a wait for an initialization. Guard: an initialization has ended since the wait began. The
/// operation is recorded as the operation that the task then does.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(TURNS);

/// The task checked if there is a value, or found the value.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(SETTLES).looks();

/// The task continued after a wait for the value itself. Guard: there is a value. The operation is recorded as a look.
pub const SEE: Kind = Kind::of(SEES).conflicts_with(SETTLES).looks();

/// The task initialized the value.
pub const SETTLE: Kind = Kind::of(SETTLES)
    .conflicts_with(TURNS | LOOKS | SEES | WATCHES)
    .enables(HEARS | SEES | WATCHES);

/// The task abandoned the initialization.
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
