//! The only door for nondeterminism: every choice of a run is put to its strategy here.

use super::state::State;
use super::world::World;
use crate::run::Failure;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;

/// A question with a bounded answer.
pub(super) enum Choice<'a> {
    /// Which of the candidates steps: the answer is a position in `Board::ready`.
    Task,
    /// Which value a draw gives.
    Value(&'a Draw),
    /// Which value a draw gives that is not explored: this one, unless a trace is replayed.
    Given(&'a Draw, u64),
}

/// A strategy, with what it says of itself.
pub(crate) struct Chooser {
    strategy: Box<dyn Strategy>,
    /// Whether it is asked for steps that only one task can take.
    sees_forced_steps: bool,
}

impl Chooser {
    pub(super) fn new(strategy: Box<dyn Strategy>) -> Chooser {
        Chooser { sees_forced_steps: strategy.sees_forced_steps(), strategy }
    }
}

impl World {
    /// Answers a choice. Every bit of nondeterminism of a run passes here.
    //
    // Inlined, so that the kind of the choice is known.
    #[inline(always)]
    pub(super) fn choose(state: &mut State, choice: Choice<'_>) -> Result<u64, Box<Failure>> {
        let State { board, chooser, .. } = state;
        let bound = match &choice {
            Choice::Task => board.ready.len() as u64,
            Choice::Value(draw) | Choice::Given(draw, _) => draw.bound,
        };
        if bound == 1 && matches!(choice, Choice::Task) && !chooser.sees_forced_steps {
            return Ok(0);
        }
        let strategy = &mut chooser.strategy;
        let answer = match choice {
            Choice::Task => strategy.pick(&View::of(board)).map(|index| index as u64),
            Choice::Value(draw) => strategy.draw(draw),
            Choice::Given(draw, value) => strategy.given(draw, value),
        };
        match answer {
            Ok(answer) if answer < bound => Ok(answer),
            answer => Err(no_answer(answer, bound)),
        }
    }

    /// Another strategy answers from the next run on. Returns the one before.
    pub(super) fn set_strategy(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        let chooser = Chooser::new(strategy);
        std::mem::replace(&mut self.state().chooser, chooser).strategy
    }

    /// Tells the strategy the seed of the next run that is no rehearsal.
    pub(super) fn prepare(&self, seed: Seed) {
        self.state().chooser.strategy.prepare(seed);
    }

    /// How many runs the strategy has still to see before it serves.
    pub(super) fn rehearsals(&self) -> u32 {
        self.state().chooser.strategy.rehearsals()
    }
}

impl State {
    /// A run with this seed begins.
    pub(super) fn begin_choices(&mut self, seed: Seed) {
        self.chooser.strategy.begin(seed);
    }

    /// The run has ended: whether the strategy agrees.
    pub(super) fn end_choices(&mut self) -> Result<(), Mismatch> {
        self.chooser.strategy.end(&View::of(&self.board))
    }
}

/// Why the strategy's answer to a choice of `bound` is none.
#[cold]
fn no_answer(answer: Result<u64, Mismatch>, bound: u64) -> Box<Failure> {
    Box::new(match answer {
        Ok(answer) => Failure::Misuse {
            message: format!("the strategy answered {answer} to a choice of {bound}"),
            place: String::new(),
        },
        Err(mismatch) => mismatch.failure(),
    })
}
