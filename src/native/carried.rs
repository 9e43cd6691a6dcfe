//! Histories, generated programs and failures as bytes, and their counterparts in the process that
//! reports the run.

use unpause_check::history::{HistoryRecord, Operation};
use unpause_check::verdict::{Anomaly, Edge, Evidence, Exhausted, Limit, Verdict, Witness};
use unpause_native::{Written, location};

use super::notes;
use crate::rt::{WORLD, World};
use crate::run::Failure;
use crate::run::ids::Place;
use crate::run::program::{CommandLayout, ProgramRecord, ProgramSource};
use crate::run::recording::{HistorySource, Timed};

/// A history from a run in another process.
#[derive(Default)]
pub(super) struct Replica(pub(super) HistoryRecord);

impl HistorySource for Replica {
    /// Returns `None`, because the program ran in another process, so its unchecked calls are not known here.
    fn unchecked(&self) -> Option<Place> {
        None
    }

    fn record(&self) -> HistoryRecord {
        self.0.clone()
    }

    /// The model was in the other process, which has ended. A search that needs it is not a proof.
    fn holds_at(&self, _: &[Timed]) -> bool {
        true
    }
}

/// A generated program from a run in another process.
pub(super) struct Carried {
    record: ProgramRecord,
    layout: Vec<CommandLayout>,
}

impl Carried {
    pub(super) fn of((record, layout): (ProgramRecord, Vec<CommandLayout>)) -> Carried {
        Carried { record, layout }
    }
}

impl ProgramSource for Carried {
    fn record(&self) -> ProgramRecord {
        self.record.clone()
    }

    fn layout(&self) -> Vec<CommandLayout> {
        self.layout.clone()
    }

    fn work(&self) -> u64 {
        self.record.work
    }
}

pub(super) fn write_history(history: &HistoryRecord, to: &mut Vec<u8>) {
    let HistoryRecord { model, clients, operations, verdict, lines, remark } = history.clone();
    let operation = |of: Operation<String, String>| (of.client, of.op, of.invoked, of.returned);
    let operations: Vec<_> = operations.into_iter().map(operation).collect();
    (model, clients, operations, (lines, remark)).write(to);
    verdict.is_some().write(to);
    if let Some(verdict) = &verdict {
        write_verdict(verdict, to);
    }
}

pub(super) fn read_history(from: &mut &[u8]) -> Option<HistoryRecord> {
    type Calls = Vec<(u32, String, u64, Option<(String, u64)>)>;
    let (model, clients, calls, (lines, remark)): (_, _, Calls, _) = Written::read(from)?;
    let operation = |(client, op, invoked, returned)| Operation { client, op, invoked, returned };
    let operations = calls.into_iter().map(operation).collect();
    let verdict = if bool::read(from)? { Some(read_verdict(from)?) } else { None };
    Some(HistoryRecord { model, clients, operations, verdict, lines, remark })
}

fn write_verdict(verdict: &Verdict, to: &mut Vec<u8>) {
    match verdict.clone() {
        Verdict::Consistent(Witness { engine, order }) => (0u8, engine, order).write(to),
        Verdict::Violated(evidence) => {
            let Evidence { engine, anomaly, partial, misfit, expected, state, part } = *evidence;
            let edge = |edge: Edge| (edge.from, edge.to, edge.why);
            let anomaly = anomaly.map(|Anomaly { name, text, edges }| {
                (name, text, edges.into_iter().map(edge).collect::<Vec<_>>())
            });
            (1u8, engine, anomaly, partial).write(to);
            (misfit, expected, state, part).write(to);
        }
        Verdict::Unknown(Exhausted { nodes, longest, operations, limit }) => {
            let limit = match limit {
                Limit::Nodes => 0u8,
                Limit::Memory => 1,
                Limit::Stop => 2,
            };
            (2u8, nodes, (longest, operations), limit).write(to);
        }
    }
}

fn read_verdict(from: &mut &[u8]) -> Option<Verdict> {
    Some(match u8::read(from)? {
        0 => {
            let (engine, order) = Written::read(from)?;
            Verdict::Consistent(Witness { engine, order })
        }
        1 => {
            type Named = Option<(String, String, Vec<(usize, usize, String)>)>;
            let (engine, anomaly, partial): (_, Named, _) = Written::read(from)?;
            let (misfit, expected, state, part) = Written::read(from)?;
            let edge = |(from, to, why)| Edge { from, to, why };
            let anomaly = anomaly.map(|(name, text, edges)| Anomaly {
                name,
                text,
                edges: edges.into_iter().map(edge).collect(),
            });
            let evidence = Evidence { engine, anomaly, partial, misfit, expected, state, part };
            Verdict::Violated(Box::new(evidence))
        }
        _ => {
            let (nodes, (longest, operations), limit) = Written::read(from)?;
            let limit = match limit {
                0u8 => Limit::Nodes,
                1 => Limit::Memory,
                _ => Limit::Stop,
            };
            Verdict::Unknown(Exhausted { nodes, longest, operations, limit })
        }
    })
}

/// Writes a failure that a call of this library can report.
pub(super) fn write_failure(failure: Failure, to: &mut Vec<u8>) {
    match failure {
        Failure::Panic { task, message, place } => (0u8, task.0, message, place).write(to),
        Failure::History { history, condition, verdict, place } => {
            (1u8, history, condition).write(to);
            (place.file().to_owned(), place.line(), place.column()).write(to);
            write_verdict(&verdict, to);
        }
        Failure::Misuse { message, place } => (2u8, message, place).write(to),
        other => (2u8, format!("{other:?}"), String::new()).write(to),
    }
}

pub(super) fn read_failure(from: &mut &[u8]) -> Option<Failure> {
    Some(match u8::read(from)? {
        0 => {
            let (task, message, place) = Written::read(from)?;
            Failure::Panic { task: notes::task(task), message, place }
        }
        1 => {
            let (history, condition) = Written::read(from)?;
            let (file, line, column): (String, u32, u32) = Written::read(from)?;
            let verdict = read_verdict(from)?;
            let known = history < WORLD.with(World::histories).len();
            let place = location(&file, line, column);
            known.then_some(Failure::History { history, condition, verdict, place })?
        }
        _ => {
            let (message, place) = Written::read(from)?;
            Failure::Misuse { message, place }
        }
    })
}
