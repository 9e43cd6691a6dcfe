//! What was found in a history, and how it is told.

use std::fmt::Write;

use sim::check::Model;
use sim::history::{HistoryRecord, Operation};
use sim::report::{Style, history_text};
use sim::verdict::{Evidence, Verdict};

use crate::history::Operations;
use crate::recording::{Answer, Recording};

/// The verdict on a recording, with what is needed to tell it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the model.
    pub model: &'static str,
    /// The name of the condition.
    pub condition: &'static str,
    /// Whether there were many objects, told apart by keys.
    pub by_key: bool,
    /// The verdict; it speaks of operations by their index in `history` and `lines`.
    pub verdict: Verdict,
    /// How many configurations were searched.
    pub configurations: u64,
    /// The operations as texts. Those that the evidence does not show have none.
    pub history: HistoryRecord,
    /// The lines of the file on which each operation was called and returned.
    pub lines: Vec<(u64, Option<u64>)>,
    /// How many calls there are, those that failed included.
    pub calls: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How many of them have no answer.
    pub unanswered: usize,
    /// How many events were no client's.
    pub notes: u64,
}

/// How many operations before the misfit, and after, get a text: more than a picture shows.
const AROUND: (usize, usize) = (48, 16);
/// How many operations of an order, from its end, get a text: more than a sentence names.
const ORDER_END: usize = 8;
/// How many operations the list of lines has.
const LINES_MAX: usize = 12;

impl Finding {
    pub(crate) fn new<M: Model>(
        recording: &Recording,
        operations: Operations<M::Op, M::Ret>,
        verdict: Verdict,
        configurations: u64,
    ) -> Finding {
        let Operations { operations, calls } = operations;
        let lines = calls.iter().map(|call| {
            let call = &recording.calls[*call as usize];
            (call.place.line, call.end.as_ref().map(|end| end.place.line))
        });
        let lines = lines.collect();
        let shown = match &verdict {
            Verdict::Violated(evidence) => shown(evidence, &operations),
            Verdict::Consistent(_) | Verdict::Unknown(_) => Vec::new(),
        };
        let text = |(index, operation): (usize, &Operation<M::Op, M::Ret>)| {
            let shown = shown.binary_search(&index).is_ok();
            let returned = operation
                .returned
                .as_ref()
                .map(|(ret, time)| (if shown { M::ret_text(ret) } else { String::new() }, *time));
            let op = if shown { M::op_text(&operation.op) } else { String::new() };
            Operation { client: operation.client, op, invoked: operation.invoked, returned }
        };
        // Without evidence nothing is shown, and the texts of a long history are not small.
        let texts = match &verdict {
            Verdict::Violated(_) => operations.iter().enumerate().map(text).collect(),
            Verdict::Consistent(_) | Verdict::Unknown(_) => Vec::new(),
        };
        let history = HistoryRecord {
            model: M::name().to_owned(),
            clients: recording.processes.iter().map(|n| format!("process {n}")).collect(),
            operations: texts,
            verdict: Some(verdict.clone()),
        };
        Finding {
            model: "",
            condition: "",
            by_key: false,
            verdict,
            configurations,
            history,
            lines,
            calls: recording.calls.len(),
            failed: recording.count(|answer| answer == Some(&Answer::Fail)),
            unanswered: recording.count(|answer| matches!(answer, None | Some(Answer::Info))),
            notes: recording.notes,
        }
    }

    /// The verdict in words, with the evidence and the history around it. `file` is how the file is
    /// called in them.
    pub fn text(&self, file: &str, style: &Style) -> String {
        let Finding { model, condition, .. } = self;
        let by_key = if self.by_key { ", by key" } else { "" };
        let mut out = String::new();
        // Writing to a text cannot fail.
        let _ = match &self.verdict {
            Verdict::Consistent(witness) => {
                let engine = &witness.engine;
                writeln!(out, "consistent  {file}: {condition}, as a {model}{by_key} ({engine})")
            }
            Verdict::Violated(evidence) => {
                let engine = &evidence.engine;
                writeln!(out, "VIOLATED  {file}: not {condition}, as a {model}{by_key} ({engine})")
            }
            Verdict::Unknown(exhausted) => {
                writeln!(out, "UNDECIDED  {file}: {condition}, as a {model}{by_key}? {exhausted}")
            }
        };
        let _ = write!(out, "  {}", plural(self.calls, "operation"));
        let _ = write!(out, " by {}", plural(self.history.clients.len(), "process"));
        for (count, what) in [(self.failed, "failed"), (self.unanswered, "without an answer")] {
            if count > 0 {
                let _ = write!(out, ", {count} {what}");
            }
        }
        if self.notes > 0 {
            let _ = write!(out, ", {} left out", plural(self.notes as usize, "note"));
        }
        let _ = writeln!(out, "; {}", plural(self.configurations as usize, "configuration"));
        if let Verdict::Violated(evidence) = &self.verdict {
            out.push('\n');
            out += &history_text(&self.history, style);
            out.push('\n');
            self.places(file, evidence, &mut out);
        }
        out
    }

    /// Where in the file the operations stand that the evidence speaks of.
    fn places(&self, file: &str, evidence: &Evidence, out: &mut String) {
        let order = evidence.partial.first().map_or(&[][..], |order| order);
        let edges = evidence.anomaly.iter().flat_map(|anomaly| &anomaly.edges);
        let named =
            edges.flat_map(|edge| [edge.from, edge.to]).chain(order.iter().rev().take(3).copied());
        let mut listed = vec![evidence.misfit];
        for index in named {
            if !listed.contains(&index) && listed.len() < LINES_MAX {
                listed.push(index);
            }
        }
        listed[1..].sort_unstable();
        for index in listed {
            let (Some(operation), Some((call, back))) =
                (self.history.operations.get(index), self.lines.get(index))
            else {
                continue;
            };
            let lines = match back {
                Some(back) if back != call => format!("{call} to {back}"),
                Some(_) => call.to_string(),
                None => format!("{call}, no answer"),
            };
            let client = &self.history.clients[operation.client as usize];
            let op = one_line(&operation.op);
            let told = operation.returned.as_ref().map_or("?", |(told, _)| told);
            let mark = if index == evidence.misfit { "  <- fits nowhere" } else { "" };
            let told = one_line(told);
            let _ = writeln!(out, "  {file}, line {lines}: {op} → {told} by {client}{mark}");
        }
    }
}

/// The operations that a picture and a sentence of the evidence may show, sorted.
fn shown<O, R>(evidence: &Evidence, operations: &[Operation<O, R>]) -> Vec<usize> {
    let mut around: Vec<usize> = match &evidence.part[..] {
        [] => (0..operations.len()).collect(),
        part => part.iter().copied().chain([evidence.misfit]).collect(),
    };
    around.sort_by_key(|index| (operations[*index].invoked, *index));
    around.dedup();
    let misfit = around.iter().position(|index| *index == evidence.misfit).unwrap_or(0);
    let end = around.len().min((misfit + 1 + AROUND.1).max(AROUND.0 + AROUND.1));
    let start = misfit.saturating_sub(AROUND.0);
    let mut shown = around[start..end.max(start)].to_vec();
    for order in &evidence.partial {
        shown.extend(order.iter().rev().take(ORDER_END));
    }
    let edges = evidence.anomaly.iter().flat_map(|anomaly| &anomaly.edges);
    shown.extend(edges.flat_map(|edge| [edge.from, edge.to]));
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// A text that cannot move the cursor and is not endless.
fn one_line(text: &str) -> String {
    const TEXT_MAX: usize = 60;
    let is_plain = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    let letters = text.chars().map(|c| if is_plain(c) { c } else { '\u{fffd}' });
    let mut out: String = letters.take(TEXT_MAX).collect();
    if text.chars().count() > TEXT_MAX {
        out.push('…');
    }
    out
}

fn plural(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "process") => format!("{count} processes"),
        _ => format!("{count} {what}s"),
    }
}
