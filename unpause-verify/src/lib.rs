//! Verifies that a set of runs has one of each class, without any code of the search that made it.
//!
//! Two runs are of one *class* if they differ only in the order of steps that do not conflict. A certificate has the
//! decisions of a run of each class. It is accepted if it is *closed*:
//!
//! ```text
//! for each run of the certificate, each step e of it, and each other task p:
//!     Q := all steps but e and the steps that come after e in every run of the class
//!     if p can step after Q: the run of Q, then a step of p, then anything, is of a class in the certificate
//!     else: the same with Q without a step that may have disabled p, and without all that comes after it
//! for each step, each value that it drew, and each other value: likewise, with the other value
//! ```
//!
//! A closed set that is not empty has every class. Suppose a run *F* is of no class in it. Take a run of the set that
//! has the longest beginning *P* in common with *F*, in the order of conflicting steps. In *F*, a task *p* steps
//! next. In the run of the set, other steps come before *p* that conflict with that step, or prevent it. Take the
//! first operation of the step of *p* that such a step *e* conflicts with. The operations before it are the same in
//! both runs. The set has the run in which *p* goes before *e*, and *P* is at its beginning. There, fewer steps
//! conflict with that operation, or the first operation with a conflict is a later one. In the end nothing is left
//! before *p*: a longer beginning.
//!
//! So the runs that a search left out need no reasons. The verdict rests on the effects that the program declares for
//! its steps, and not on the use that the search made of them. Each run repeats steps of the certificate in another
//! order. An effect that is not declared shows if a step does or sees something else there.

#![forbid(unsafe_code)]

mod closed;
mod decisions;
mod observed;
mod order;
mod relation;

pub use self::closed::{Gap, Program, Verified, verify};
pub use self::decisions::Decisions;
pub use self::observed::{Observed, Reader, Run, Step};
pub use self::relation::{Effect, Kind, Operation, conflict, may_disable};
