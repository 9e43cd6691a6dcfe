//! The faults of a generated program. The faults form an additional branch, and its commands are not operations of the
//! history.
//!
//! The commands are drawn after the program's commands and are part of its record, so shrinking
//! removes them like other commands.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Nemesis;
use super::plan::{self, Command, Drawn, Pause, Source};
use super::script::{self, Fault};
use super::underway::{Struck, Underway};
use crate::node::Node;
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::program::{Change, CommandLayout, CommandRecord, Fate, Faults, Part, Pin};
use crate::seam::{self, Here, YieldPoint};

/// A point in place of a fault.
const POINT: Op = Op::new("yield", Access::Yield);

/// The program branch that contains the faults as its commands.
#[derive(Debug)]
pub(crate) struct Branch {
    underway: Underway,
    /// The number of program stages. The faults are distributed over the stages.
    stages: usize,
    drawn: Drawn,
    records: Mutex<Vec<Record>>,
}

/// The outcome of a command.
#[derive(Clone, Default, Debug)]
struct Record {
    ran: Option<(TaskId, u32, u32)>,
    drawn: (usize, usize),
    struck: Option<Struck>,
    /// The duration of the fault, as known when it was injected.
    lasts: Option<Pause>,
}

impl Branch {
    /// Draws the faults for a program with `stages` stages. If the program has a script with faults, uses these faults
    /// instead.
    #[track_caller]
    pub(crate) fn draw(
        mut nemesis: Nemesis,
        nodes: &[Node],
        (stages, script): (usize, &[Fault]),
        from: (Place, Here),
    ) -> Branch {
        nemesis.check(nodes, script.len());
        let source = match script {
            [] => Source::Program,
            faults => {
                Source::Script(faults.iter().map(|it| it.add_to(&mut nemesis, nodes)).collect())
            }
        };
        let drawn = plan::draw(&nemesis, nodes.len(), source);
        let records = Mutex::new(vec![Record::default(); drawn.commands.len()]);
        Branch {
            underway: Underway::new(nemesis, nodes, from),
            stages: stages.max(1),
            drawn,
            records,
        }
    }

    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self, nth: usize) -> usize {
        nth % self.stages
    }

    fn fate(&self, nth: usize) -> Fate {
        match (self.drawn.commands[nth], self.drawn.changes[nth]) {
            (None, _) | (_, Change::Drop) => Fate::Absent,
            (_, Change::Tombstone(points)) => Fate::Tombstone(points),
            // A fault is never moved to the prefix or suffix, so it still runs beside its stage.
            (_, Change::Keep | Change::ToPrefix | Change::ToSuffix) => Fate::Runs,
        }
    }

    /// Returns the faults that run beside this stage.
    fn of_stage(&self, stage: usize) -> impl Iterator<Item = usize> {
        let is_there =
            move |nth: &usize| self.stage(*nth) == stage && self.fate(*nth) != Fate::Absent;
        (0..self.drawn.commands.len()).filter(is_there)
    }

    /// Returns `true` if any faults run beside this stage. Stages are counted from 0.
    pub(crate) fn is_busy(&self, stage: usize) -> bool {
        self.of_stage(stage).next().is_some()
    }

    /// Injects the faults that run beside this stage.
    pub(crate) async fn run(&self, stage: usize) {
        for nth in self.of_stage(stage) {
            let (drawn, step) = seam::position();
            {
                let record = &mut self.records()[nth];
                record.ran = Some((TaskId(seam::client() as u32), step, step));
                record.drawn = (drawn, drawn);
            }
            self.command(nth).await;
            let (drawn, step) = seam::position();
            let record = &mut self.records()[nth];
            record.drawn.1 = drawn;
            if let Some((.., ended)) = &mut record.ran {
                *ended = step;
            }
        }
    }

    async fn command(&self, nth: usize) {
        if let Fate::Tombstone(points) = self.fate(nth) {
            for _ in 0..points {
                YieldPoint::new(&POINT, self.underway.here()).await;
            }
        } else if let Some(command) = &self.drawn.commands[nth] {
            let told = |struck: &Struck, lasts| {
                let record = &mut self.records()[nth];
                (record.struck, record.lasts) = (Some(struck.clone()), lasts);
            };
            let pin = self.drawn.pins.get(nth).and_then(|pin| (*pin as usize).checked_sub(1));
            self.underway.cause(command, self.drawn.is_guided, pin, told).await;
        }
    }

    /// Returns the time for which lasting faults stay active while clients wait; `None` if no fault lasts until the
    /// end.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.underway.patience()
    }

    /// Ends all faults, if any.
    pub(crate) fn end(&self) {
        if (0..self.stages).any(|stage| self.is_busy(stage)) {
            self.underway.end();
        }
    }

    /// Returns the layouts of the fault commands. `drawn` is the number of values drawn for the program.
    pub(crate) fn layout(&self, drawn: usize) -> Vec<CommandLayout> {
        let records = self.records();
        let layout = |nth: usize| CommandLayout {
            part: Part::Nemesis { stage: self.stage(nth) as u32 },
            fate: self.fate(nth),
            change: self.drawn.first_change + nth,
            simpler: (drawn, drawn),
            candidates: 0,
            ran: records[nth].ran,
            drawn: records[nth].drawn,
        };
        (0..records.len()).map(layout).collect()
    }

    /// Returns pins for the guided faults that are not pinned yet. A pin fixes the chosen victim.
    pub(crate) fn pins(&self) -> Vec<Pin> {
        let records = self.records();
        let pin = |nth: usize| {
            let struck = records[nth].struck.as_ref().filter(|struck| struck.role.is_some())?;
            let is_free = self.drawn.pins.get(nth) == Some(&0);
            let answer = self.underway.nodes.iter().position(|node| *node == struck.nodes[0])?;
            is_free.then_some(Pin { draw: self.drawn.first_pin + nth, value: answer as u64 + 1 })
        };
        (0..records.len()).filter_map(pin).collect()
    }

    /// Returns the fault commands as text.
    pub(crate) fn record(&self, drawn: usize) -> Vec<CommandRecord> {
        let layouts = self.layout(drawn);
        let records = self.records();
        let commands = layouts.into_iter().zip(&*records).zip(&self.drawn.commands);
        commands.map(|((layout, record), command)| self.tell(layout, record, command)).collect()
    }

    fn tell(
        &self,
        layout: CommandLayout,
        record: &Record,
        command: &Option<Command>,
    ) -> CommandRecord {
        let faults = Faults::default();
        let Some(command) = command else {
            let (text, label, source) = Default::default();
            return CommandRecord { layout, text, label, source, faults };
        };
        let package = &self.underway.nemesis.packages[command.package];
        let lasts = if record.struck.is_some() { record.lasts } else { command.lasts };
        let mut text = match &record.struck {
            Some(struck) => package.tell(struck, command.parameter),
            None => format!("{} {:?}", package.kind.name(), package.victim),
        };
        if !package.is_instant() {
            text.push_str(&lasts.map_or(String::new(), |lasts| format!(" for {lasts}")));
        }
        let victims = record.struck.as_ref().map_or(&[][..], |struck| &struck.nodes);
        let source = script::source(package, victims, &Command { lasts, ..*command });
        CommandRecord { layout, text, label: package.kind.name().to_owned(), source, faults }
    }
}
