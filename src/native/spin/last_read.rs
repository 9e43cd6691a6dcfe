//! The last read of a thread in a search with the memory `c11`: does the thread read the same again?

use unpause_native::Access;

use super::Looks;
use crate::native::looks::Look;
use crate::native::threads::with;

impl Looks {
    /// Returns `true` if the thread is in the same state as before its last read, and `look` is that read again. Then
    /// the thread repeats its round if it reads the same store.
    pub(in crate::native) fn repeats_last(&self, look: &Look) -> bool {
        let parts = |look: &Look| (look.lines, look.address, look.state, look.memory);
        look.state != 0 && self.last.is_some_and(|last| parts(&last) == parts(look))
    }

    /// Returns the last read, if the thread has done nothing else since.
    pub(in crate::native) fn last_read(&self) -> &[Look] {
        self.last.as_slice()
    }

    /// Records an access with this value as the last read in a search, unless it has written memory.
    pub(in crate::native) fn keep_last(&mut self, look: Look, value: u64, access: &Access) {
        let is_read = self.is_search && !access.changes(value);
        self.last = is_read.then_some(Look { value, ..look });
    }

    /// Forgets the last read, because the thread has performed another operation.
    pub(in crate::native) fn forget_last(&mut self) {
        self.last = None;
    }

    /// Records that a round may begin with `look`, in a search.
    pub(in crate::native) fn note_state(&mut self, thread: usize, look: Look) {
        let state = with(|threads| threads.execution().hash_of_state(thread));
        self.began = Some((look, state));
    }

    /// Returns `true` if the last access of the thread in a search was here, too, in another state.
    pub(in crate::native) fn comes_again(&self, look: &Look) -> bool {
        self.is_search
            && self.last.is_some_and(|last| last.is_here(look))
            && !self.repeats_last(look)
    }

    /// Returns the state in which the last round began, if `look` begins the next one, and if no other thread has done
    /// anything since. The round has this number of accesses.
    pub(in crate::native) fn began_in(&self, look: &Look, accesses: usize) -> Option<u64> {
        let (began, state) = self.began?;
        (began.is_here(look) && look.seen <= began.seen + accesses).then_some(state)
    }
}
