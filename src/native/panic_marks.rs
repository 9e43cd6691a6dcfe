//! The marks that panics leave on the locks of std, in searches.
//!
//! Operations on a mark are not points: a lock call reads the mark while it holds the lock, and a panic sets it. The
//! functions `is_poisoned` and `clear_poison` show the order of the steps with these operations. So a search with such
//! a function begins again with [noted counts](super::references), and is no proof. Each operation on a mark is then an
//! effect of its step.
//!
//! The compiler may merge two of these functions. Their operation then has no line, and no function of std. It is
//! recognised by its memory: the memory is a mark if another operation on it is known as one.

use unpause_native::{Access, Operation};

use super::references::{self, Counted};
use super::sites::{POISON, Site};
use super::threads::with;
use crate::rt::WORLD;

/// The number of the memory order `Relaxed`, which std uses for the marks.
const RELAXED: u8 = 0;

/// The uses of an address in a run that notes marks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MarkUse {
    /// True if an operation on a mark has accessed the address.
    is_mark: bool,
    /// True if an operation without a line has accessed the address.
    is_shown: bool,
    /// True if the address was written. Without a write, no order of the operations makes a difference.
    is_written: bool,
}

/// Notes an operation on a mark, or on memory that may be one. Returns `true` if the operation is an effect of the
/// current step.
#[inline]
pub(super) fn note(thread: usize, access: &Access, site: Site) -> bool {
    (site.is_of_mark || site.is_merged && may_be_of_mark(access)) && {
        if !site.is_of_mark {
            references::show(thread);
        }
        note_use(access, site)
    }
}

/// Returns `true` if `is_poisoned` or `clear_poison` may have requested this access.
fn may_be_of_mark(access: &Access) -> bool {
    access.size == 1
        && access.order == RELAXED
        && matches!(access.operation, Operation::Load | Operation::Store)
}

/// Like [`note`], for an operation that may be on a mark.
fn note_use(access: &Access, site: Site) -> bool {
    let shows = with(|threads| {
        (threads.counted == Counted::Noted).then(|| {
            let uses = threads.mark_uses.entry(access.address as u64).or_default();
            uses.is_mark |= site.is_of_mark;
            uses.is_shown |= !site.is_of_mark;
            uses.is_written |= access.operation == Operation::Store;
            uses.is_mark && uses.is_shown && uses.is_written
        })
    });
    if shows == Some(true) {
        WORLD.with(|world| world.note_unseen(POISON));
    }
    shows.is_some() && site.is_of_mark
}
