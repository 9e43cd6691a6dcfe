//! Guesses: arguments that are determined only when a command runs, such as the version that a compare-and-set expects.

use super::Gen;
use unpause_check::Model;

/// A way to guess a version, for a command that must name a version; see [`History::guess`](crate::History::guess).
///
/// A version drawn from all versions is usually wrong. A version that the client itself read never reflects concurrent
/// effects of other clients. The way of guessing is drawn, so it is replayed, and it shrinks to the first variant.
///
/// ```
/// use sim::check::models::{Register, RegisterOp, RegisterRet};
/// use sim::{History, generate::Guess};
///
/// let history = History::new(Register::new(0));
/// for value in [7, 8] {
///     history.invoke(RegisterOp::Write(value)).ok(RegisterRet::Done);
/// }
/// let version = |op: &RegisterOp<u64>, _: Option<&RegisterRet<u64>>| match op {
///     RegisterOp::Write(value) => Some(*value),
///     RegisterOp::Read => None,
/// };
/// assert_eq!(history.guess(Guess::Newest, version), Some(8));
/// assert_eq!(history.guess(Guess::Before, version), Some(7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Guess {
    /// The last version that the client observed.
    #[default]
    Own,
    /// The last version that any client observed.
    Newest,
    /// The version before the last that any client observed.
    Before,
    /// A version of a call that has not returned, so its effect is unknown.
    Open,
}

impl Guess {
    /// All variants.
    pub const ALL: [Guess; 4] = [Guess::Own, Guess::Newest, Guess::Before, Guess::Open];

    /// Returns the variant for a drawn number. Half of the numbers give `Own`, because a wrong guess wastes a call.
    fn of(drawn: u64) -> Guess {
        match drawn {
            0..4 => Guess::Own,
            4 | 5 => Guess::Newest,
            6 => Guess::Before,
            _ => Guess::Open,
        }
    }
}

impl<P: Model> Gen<'_, P> {
    /// Draws a way to guess an argument. [`Program::guess`](super::Program::guess) inserts the argument when the
    /// command runs. Shrinks to [`Guess::Own`].
    pub fn guess(&mut self) -> Guess {
        Guess::of(self.below(8))
    }
}
