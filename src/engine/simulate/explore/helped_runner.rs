//! Seeds of plain threads, in this process and in [helpers](helper).
//!
//! The request to a helper contains a range of positions, `<from> <to>`, and the reply is a [`HelpedLine`].

use std::ops::Range;

use super::SeedRunner;
use crate::engine::results::{HelpedLine, Tally};
use crate::engine::seeds::{Explored, Found, SeedHelper, SeedMaker, SeedTurn};
use crate::engine::simulate::confirm;
use crate::engine::simulate::helper::{self, GoesOn};
use crate::engine::simulate::session::Session;
use crate::native::{self, Helper, HelperLine};
use crate::run::ids::Seed;

/// A worker that runs seeds and starts helpers.
pub(super) struct HelpedRunner<'a, 'b> {
    pub(super) runner: SeedRunner<'a, 'b>,
    /// The number of processes.
    pub(super) jobs: usize,
}

impl<'a, 'b> SeedMaker for HelpedRunner<'a, 'b> {
    type Helper = AskedHelper<'a, 'b>;

    fn run(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>> {
        self.runner.run_long(turn, own)
    }

    fn begin_helpers(&mut self) -> Vec<AskedHelper<'a, 'b>> {
        let session = self.runner.session;
        let begin = |_| {
            let helper = Helper::begin(|line| help(&mut self.runner, line))?;
            Some(AskedHelper { session, helper })
        };
        (1..self.jobs).filter_map(begin).collect()
    }

    fn wait(&self, wait: &mut dyn FnMut()) {
        self.runner.watched.watched.paused(wait);
    }

    fn differs(&mut self, SeedTurn { position, seed, .. }: SeedTurn, failed: &str) -> Box<Found> {
        confirm::differs_from_helper(self.runner.extract(seed), position, failed.to_owned())
    }
}

/// A helper that receives requests for seeds.
pub(super) struct AskedHelper<'a, 'b> {
    session: &'a Session<'b>,
    helper: Helper,
}

impl SeedHelper for AskedHelper<'_, '_> {
    fn run(&mut self, positions: Range<u64>, goes_on: GoesOn<'_>) -> Option<HelpedLine> {
        let question = format!("{} {}\n", positions.start, positions.end);
        let answer = helper::ask(self.session, &mut self.helper, &question, goes_on)?;
        let line = HelpedLine::parse(&answer).ok()?;
        if line.has_turns {
            native::set_spawned_in_turn();
        }
        Some(line)
    }
}

/// Runs seeds as a helper.
fn help(runner: &mut SeedRunner<'_, '_>, line: &mut HelperLine) {
    helper::serve(line, &mut |text, goes_on| {
        let (from, to) = text.trim_end().split_once(' ')?;
        Some(seeds(runner, from.parse().ok()?..to.parse().ok()?, goes_on).write())
    });
}

/// Runs the seeds at these positions, as long as `goes_on` returns `true`, until a seed fails.
fn seeds(
    runner: &mut SeedRunner<'_, '_>,
    positions: Range<u64>,
    goes_on: GoesOn<'_>,
) -> HelpedLine {
    let config = runner.session.config;
    let mut own = Explored { tally: Tally::new(false, false, false), ..Explored::default() };
    let mut failed = None;
    for position in positions {
        let Some(seed) = config.seed(position).filter(|_| goes_on()) else { break };
        let turn = SeedTurn { position, seed: Seed(seed), first: false };
        if let Some(found) = runner.run_long(turn, &mut own) {
            failed = Some(found.in_a_line());
            break;
        }
    }
    // All fields are listed, so that a new field cannot be forgotten. Warnings and notes come from the first seed, and
    // the other ignored fields from searches.
    let Explored {
        tally,
        stuck,
        found: _,
        warnings: _,
        notes: _,
        untried: _,
        searched: _,
        decided: _,
    } = own;
    let stuck = stuck.map(|stuck| (stuck.position, stuck.text));
    HelpedLine { tally, stuck, has_turns: native::take_spawned_in_turn(), failed }
}
