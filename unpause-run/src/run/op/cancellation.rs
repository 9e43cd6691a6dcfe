//! A future that may be dropped at any of its points, and the fault that causes the drop.

use super::kind::{Bits, Kind};

const CANCELS: Bits = 1 << 0;
const HEARS: Bits = 1 << 1;
const ENDS: Bits = 1 << 2;
const COMES_LATE: Bits = 1 << 3;

/// Requests that the future is dropped in the next step of its task.
pub const CANCEL: Kind = Kind::of(CANCELS).conflicts_with(HEARS | ENDS).enables(HEARS).fault();

/// The task dropped the future. Guard: the future was cancelled. Each earlier step of the task announces this
/// operation.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(CANCELS);

/// The future ended by itself.
pub const END: Kind = Kind::of(ENDS).conflicts_with(CANCELS | COMES_LATE);

/// The task tried to cancel the future after it had ended.
pub const COME_LATE: Kind = Kind::of(COMES_LATE).conflicts_with(ENDS).looks().fault();

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "cancellation",
    kinds: &[("cancel", CANCEL), ("hear", HEAR), ("end", END), ("come late", COME_LATE)],
};
