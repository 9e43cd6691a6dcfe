//! A run as one number. The number covers the decisions and their effects, but no source lines, so
//! that editing a program's file does not change it.

use sim::run::event::Values;
use sim::run::ids::TaskId;
use sim::run::{Outcome, Run};

/// FNV-1a with 64 bits: enough to notice a difference, and equal on all platforms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Returns the fingerprint of one run.
    pub fn of(run: &Run) -> Fingerprint {
        let mut print = Fingerprint::default();
        print.add(run);
        print
    }

    /// Adds a run.
    pub fn add(&mut self, run: &Run) {
        let task = |id: TaskId| run.tasks[id.index()].path.to_string();
        self.number(run.seed.0);
        for row in &run.tasks {
            self.text(&row.to_string());
        }
        for object in &run.objects {
            self.text(object.kind);
            self.text(
                &object.creator.map_or(String::new(), |(id, nth)| format!("{} {nth}", task(id))),
            );
            self.number(object.ordinal.into());
        }
        for step in &run.steps {
            self.text(&task(step.task));
            self.number(u64::from(step.candidates) * 2 + u64::from(step.preempts));
        }
        for draw in &run.draws {
            self.number(draw.step.into());
            self.number(draw.value);
            self.number(draw.bound);
        }
        for event in &run.events {
            self.number(event.step.into());
            self.text(&task(event.task));
            self.number(event.object.map_or(u64::MAX, |object| object.index() as u64));
            self.text(event.op.name);
            match event.values {
                Values::Task(id) => self.text(&task(id)),
                other => self.text(&format!("{other:?}")),
            }
        }
        for history in &run.histories {
            for call in &history.operations {
                self.text(&history.clients[call.client as usize]);
                self.text(&format!("{call:?}"));
            }
        }
        for id in &run.leaked {
            self.text(&task(*id));
        }
        self.text(match &run.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(failure) => failure.kind(),
        });
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        text.bytes().for_each(|byte| self.byte(byte));
    }

    fn number(&mut self, number: u64) {
        number.to_le_bytes().into_iter().for_each(|byte| self.byte(byte));
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
