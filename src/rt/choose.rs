//! The only source of nondeterminism: the strategy answers every choice of a run here.

use super::state::RunState;
use super::world::World;
use crate::run::Failure;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;

/// A question with a bounded answer.
pub(super) enum Choice<'a> {
    /// The task of the next step. The answer is a position in `Board::ready`.
    Task,
    /// The value of a draw.
    Value(&'a Draw),
    /// A drawn value that is not explored: the value is given, unless a trace is replayed.
    Given(&'a Draw, u64),
}

/// A strategy, with its constant properties.
pub(crate) struct Chooser {
    strategy: Box<dyn Strategy>,
    /// True if the strategy also answers choices with only one candidate.
    sees_forced_steps: bool,
}

impl Chooser {
    pub(super) fn new(strategy: Box<dyn Strategy>) -> Chooser {
        Chooser { sees_forced_steps: strategy.sees_forced_steps(), strategy }
    }
}

impl World {
    /// Answers a choice. All nondeterminism of a run is decided here.
    //
    // This function is inlined, so that the compiler knows the kind of the choice.
    #[inline(always)]
    pub(super) fn choose(state: &mut RunState, choice: Choice<'_>) -> Result<u64, Box<Failure>> {
        let RunState { board, chooser, .. } = state;
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

    /// Replaces the strategy, from the next run on. Returns the previous strategy.
    pub(super) fn set_strategy(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        let chooser = Chooser::new(strategy);
        std::mem::replace(&mut self.state().chooser, chooser).strategy
    }

    /// Passes a seed to the strategy: the seed of the next run that is not a rehearsal.
    pub(super) fn prepare(&self, seed: Seed) {
        self.state().chooser.strategy.prepare(seed);
    }

    /// Returns the number of rehearsals that the strategy still needs before it can serve a seed.
    pub(super) fn rehearsals(&self) -> u32 {
        self.state().chooser.strategy.rehearsals()
    }
}

impl RunState {
    /// Begins a run with this seed.
    pub(super) fn begin_choices(&mut self, seed: Seed) {
        self.chooser.strategy.begin(seed);
    }

    /// Notifies the strategy that the `nth` value of the current step made no difference.
    pub(super) fn settle(&mut self, nth: usize) {
        self.chooser.strategy.settle(nth);
    }

    /// Ends the run. Fails if a replayed trace has decisions left.
    pub(super) fn end_choices(&mut self) -> Result<(), Mismatch> {
        self.chooser.strategy.end(&View::of(&self.board))
    }
}

/// Returns the failure of a run whose strategy gave no valid answer to a choice of `bound`.
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
