//! A brute-force check of linearizability for the calls of a register, which tries every order.

/// An invoked call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    /// The task, and the number of the act. The two numbers identify the call in the program.
    pub(super) name: (u8, u8, u8),
    pub(super) write: Option<u8>,
    /// The value that a read returned; `None` for a call that did not return.
    pub(super) returned: Option<u8>,
    /// The calls that had returned before the invocation of this call, by name.
    pub(super) before: Vec<(u8, u8, u8)>,
}

/// Returns `true` if some order of all returned calls and some pending calls is legal for a
/// register with the initial value 0.
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
