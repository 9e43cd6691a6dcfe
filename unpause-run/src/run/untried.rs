//! Parts of a program's behavior that no run of a search tries. Because of them, the search is not a proof, or has an
//! assumption.

/// A part of the behavior that no run tries, with its description.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Untried {
    /// More of something than a limit allows, for example `more than two faults of one kind`. All runs within the limit
    /// are tried.
    Beyond(&'static str),
    /// Something outside this library on which steps depend.
    Unseen(&'static str),
    /// A function that a plain thread entered, or a part of such a function. The operations of the function are not
    /// steps.
    Function(&'static str),
    /// The behaviors of memory orders weaker than `SeqCst`.
    Orders,
    /// The expiry of a time limit while a task can step.
    Time,
}

impl Untried {
    /// Returns `true` if a proof without this part has an assumption. Otherwise the search is no proof.
    pub fn is_assumption(&self) -> bool {
        matches!(self, Untried::Orders | Untried::Time)
    }
}
