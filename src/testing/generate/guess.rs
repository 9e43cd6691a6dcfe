//! Guesses: arguments that are known only when a command runs, such as the version that a compare-and-set expects.

use super::Gen;
use unpause_check::Model;

/// A way to guess a version, for a command that must name one; see [`History::guess`](crate::History::guess).
///
/// An argument drawn among all versions is mostly wrong. An argument that the client saw itself
/// never meets the concurrent effects of other clients. Drawn, so that it is replayed and shrinks
/// to the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Guess {
    /// The last version that the client saw.
    #[default]
    Own,
    /// The last version that any client saw.
    Newest,
    /// The last but one version that any client saw.
    Before,
    /// A version of a call that has not returned: its fate is unknown.
    Open,
}

impl Guess {
    /// All ways.
    pub const ALL: [Guess; 4] = [Guess::Own, Guess::Newest, Guess::Before, Guess::Open];

    /// One of them: the client's own in half of the cases, because a wrong guess costs a call.
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
    /// A way to guess an argument, which [`Program::guess`](super::Program::guess) puts in when the command runs.
    /// Shrinks to [`Guess::Own`].
    pub fn guess(&mut self) -> Guess {
        Guess::of(self.below(8))
    }
}
