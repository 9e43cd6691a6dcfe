//! Linearizability of the calls of a register, by brute force: every order is tried.

/// A call that was invoked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    /// The task and the number of the act: which call of the program it is.
    pub(super) name: (u8, u8, u8),
    pub(super) write: Option<u8>,
    /// The value that a read returned. None for a call that did not return.
    pub(super) returned: Option<u8>,
    /// The calls that had returned when this one was invoked, by name.
    pub(super) before: Vec<(u8, u8, u8)>,
}

/// Returns `true` if some order of all calls that returned, and of some that did not, is legal for
/// a register that begins as 0.
pub(super) fn is_linearizable(calls: &[Call]) -> bool {
    place(calls, &mut vec![false; calls.len()], 0)
}

fn place(calls: &[Call], placed: &mut Vec<bool>, value: u8) -> bool {
    if calls.iter().zip(&*placed).all(|(call, placed)| *placed || call.returned.is_none()) {
        return true;
    }
    let is_placed = |name: &(u8, u8, u8), placed: &[bool]| {
        calls.iter().zip(placed).any(|(call, placed)| call.name == *name && *placed)
    };
    for at in 0..calls.len() {
        let call = &calls[at];
        if placed[at] || !call.before.iter().all(|name| is_placed(name, placed)) {
            continue;
        }
        let fits = call.write.is_some() || call.returned.is_none_or(|seen| seen == value);
        if !fits {
            continue;
        }
        placed[at] = true;
        let found = place(calls, placed, call.write.unwrap_or(value));
        placed[at] = false;
        if found {
            return true;
        }
    }
    false
}
