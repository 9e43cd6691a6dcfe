//! Verifies that a set of runs contains a run of every class, without using code of the search that computed the set.
//!
//! Two runs belong to the same *class* if they differ only in the order of steps that do not conflict. A certificate
//! contains the decisions of one run per class. The verifier accepts it if it is *closed*:
//!
//! ```text
//! for each run of the certificate, each step e of it, and each other task p:
//!     Q := all steps but e and the steps that come after e in every run of the class
//!     if p can step after Q: the run of Q, then a step of p, then anything, is of a class in the certificate
//!     else: the same with Q without a step that may have disabled p, and without all that comes after it
//! for each step, each value that it drew, and each other value: likewise, with the other value
//! ```
//!
//! A non-empty closed set contains every class. Proof: suppose that the class of a run *F* is missing from the set.
//! Take a run of the set with the longest prefix *P* in common with *F*, in the order of conflicting steps. In *F*, a
//! task *p* steps after *P*. In the run of the set, other steps that conflict with this step, or disable it, precede
//! *p*. In the step of *p*, take the first operation that conflicts with such a step *e*. The earlier operations of *p*
//! are equal in both runs. The set contains the run in which *p* precedes *e*, and *P* is also a prefix of this run. In
//! this run, fewer steps conflict with that operation, or the first conflicting operation is a later operation. Repeat
//! this until no such step precedes *p*: the common prefix is then longer, which is a contradiction.
//!
//! A search within a bound executes each run with a limited number of preemptions or delays. Its certificate contains
//! each of these runs, so the order of all steps counts, and *Q* is the beginning of the run. A question that exceeds
//! the bound is not asked ([`Bound`]). The rest of a further run must cost nothing.
//!
//! So the search need not justify the runs that it left out. The verdict depends on the declared effects of steps, and
//! not on how the search used them. Each further run repeats steps of the certificate in another order. If a step then
//! behaves differently, an effect was not declared.

#![forbid(unsafe_code)]

mod bound;
mod closed;
mod decisions;
mod observed;
mod order;
mod relation;

pub use self::bound::Bound;
pub use self::closed::{Gap, Program, Verified, verify};
pub use self::decisions::Decisions;
pub use self::observed::{Observed, Reader, Run, Step};
pub use self::relation::{Effect, Kind, Operation, conflict, may_disable};
