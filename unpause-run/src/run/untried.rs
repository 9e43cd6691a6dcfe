//! The parts of a program's behaviour that no run of a search tries, so that the search is not a proof.

/// Such a part, in words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Untried {
    /// More of something than a limit allows: `more than two faults of one kind`. All runs within the limit are tried.
    Beyond(&'static str),
    /// Something that steps depend on and that is no object of this library.
    Unseen(&'static str),
    /// A function that a plain thread entered, or a part of one: its operations are no steps.
    Function(&'static str),
    /// The behaviours of memory orders weaker than `SeqCst`.
    Orders,
}
