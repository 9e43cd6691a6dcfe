//! The marks that panics leave on the locks of std, in searches.
//!
//! Operations on a mark are not points: a lock call reads the mark while it holds the lock, and a panic sets it. The
//! functions `is_poisoned` and `clear_poison` show the order of the steps with these operations. So a search with such
//! a function begins again with [noted counts](super::references), and is no proof. Each operation on a mark is then an
//! effect of its step.
//!
//! The compiler may merge two of these functions. Their operation then has no function of std. It is recognised by its
//! memory: the memory is a mark if another operation on it is known as one. The same holds for a merged
//! `is_finished`, which reads a count of an `Arc`.

use unpause_native::{Access, Operation};

use super::references::{self, Counted};
use super::sites::{END, POISON, Site};
use super::threads::with;
use crate::rt::WORLD;

/// The number of the memory order `Relaxed`, which std uses for the marks.
const RELAXED: u8 = 0;

/// The number of the memory order `SeqCst`, which `Arc` does not use.
const SEQ_CST: u8 = 5;

/// The uses of an address in a run that notes marks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MarkUse {
    /// True if an operation on a mark has accessed the address.
    is_mark: bool,
    /// True if an operation without a line has accessed the address.
    is_shown: bool,
    /// True if the address was written. Without a write, no order of the operations makes a difference.
    is_written: bool,
    /// True if the end of a thread changes the address.
    is_of_end: bool,
}

/// Notes an operation on a mark, or on memory that may be one. Returns `true` if the operation is an effect of the
/// current step.
#[inline]
pub(super) fn note(thread: usize, access: &Access, site: Site) -> bool {
    (site.is_of_mark || site.is_merged && may_show(access)) && {
        if !site.is_of_mark {
            references::show(thread);
        }
        note_use(access, site)
    }
}

/// Returns `true` if `is_poisoned`, `clear_poison` or a function of `Arc` may have requested this access.
fn may_show(access: &Access) -> bool {
    match usize::from(access.size) {
        1 => {
            let is_simple = matches!(access.operation, Operation::Load | Operation::Store);
            is_simple && access.order == RELAXED
        }
        COUNT => access.order != SEQ_CST,
        _ => false,
    }
}

/// The size of a count of an `Arc`.
const COUNT: usize = size_of::<usize>();

/// Records the count that `is_finished` reads, in a run that notes counts.
pub(super) fn note_end(access: &Access) {
    with(|threads| {
        threads.mark_uses.entry(access.address as u64).or_default().is_of_end = true;
    });
}

/// Like [`note`], for an operation that may be on a mark.
fn note_use(access: &Access, site: Site) -> bool {
    let shows = with(|threads| {
        (threads.counted == Counted::Noted).then(|| {
            let uses = threads.mark_uses.entry(access.address as u64).or_default();
            uses.is_mark |= site.is_of_mark;
            uses.is_shown |= !site.is_of_mark;
            uses.is_written |= access.operation == Operation::Store;
            match () {
                () if uses.is_mark && uses.is_shown && uses.is_written => Some(POISON),
                () if uses.is_of_end && uses.is_shown => Some(END),
                () => None,
            }
        })
    });
    if let Some(Some(part)) = shows {
        WORLD.with(|world| world.note_unseen(part));
    }
    shows.is_some() && site.is_of_mark
}
