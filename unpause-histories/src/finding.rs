//! The result of a check, as data and text.

use std::fmt::Write;

use unpause_check::history::{HistoryRecord, Operation};
use unpause_check::picture::screen::{clean, columns, cut, plural};
use unpause_check::picture::{Style, history_text};
use unpause_check::verdict::{Anomaly, Evidence, Verdict};

use crate::recording::{Answer, Call, Callers, Recording};

/// The verdict on a recording, with the data needed to show it.
#[derive(Clone, Debug)]
pub struct HistoryFinding {
    /// The name of the model.
    pub model: &'static str,
    /// The name of the condition.
    pub condition: &'static str,
    /// `true` if there were many objects, each with a key.
    pub by_key: bool,
    /// The verdict; its indices refer to `history` and `lines`.
    pub verdict: Verdict,
    /// The number of configurations searched, if counted.
    pub configurations: Option<u64>,
    /// The operations as texts. Operations that the evidence does not show have no text, unless
    /// [`Question::all_texts`](crate::Question::all_texts) is set.
    pub history: HistoryRecord,
    /// The lines of the file on which each operation was called and returned.
    pub lines: Vec<(u64, Option<u64>)>,
    /// The number of calls, including failed ones.
    pub calls: usize,
    /// The number of calls that failed.
    pub failed: usize,
    /// The number of calls without an answer.
    pub unanswered: usize,
    /// The number of reads of `nil` that may mean any value, and so were not checked.
    pub unchecked: usize,
    /// The number of events that belong to no client.
    pub notes: u64,
    /// The information about processes in the file.
    pub callers: Callers,
    pub(crate) naming: Naming,
}

/// The terms in the text of a finding.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    /// The name of the model.
    pub(crate) model: &'static str,
    /// The model and mode of the check, without an article: `cas-register, by key`.
    pub(crate) what: String,
    /// The property of a history that satisfies the condition: an adjective, or `with` and a noun.
    pub(crate) phrase: &'static str,
    /// The noun for a call.
    pub(crate) unit: &'static str,
    /// The prefix of a call's index, if the evidence names calls by index.
    pub(crate) numbered: Option<&'static str>,
    /// The meaning of a cycle of edges in the evidence, for conditions with cycles.
    pub(crate) round: &'static str,
    /// Returns the meaning of an anomaly name.
    pub(crate) meaning: fn(&str) -> Option<&'static str>,
    /// `true` if all operations get their texts.
    pub(crate) all_texts: bool,
}

impl Default for Naming {
    fn default() -> Naming {
        Naming {
            model: "",
            what: String::new(),
            phrase: "",
            unit: "operation",
            numbered: None,
            round: "",
            meaning: |_| None,
            all_texts: false,
        }
    }
}

/// The number of operations before and after the misfit that get a text. The two numbers are larger than a picture
/// needs.
const AROUND: (usize, usize) = (48, 16);
/// The number of operations at the end of an order that get a text. The number is larger than a sentence needs.
const ORDER_END: usize = 8;
/// The maximum number of operations in the list of lines.
const LINES_MAX: usize = 12;
/// The maximum number of edges listed of a cycle.
const EDGES_MAX: usize = 24;

impl HistoryFinding {
    /// Creates a finding. `calls` contains the call index of each operation, and `texts` returns the texts of an
    /// operation and its result.
    pub(crate) fn new<O, R>(
        recording: &Recording,
        operations: &[Operation<O, R>],
        calls: &[u32],
        verdict: Verdict,
        naming: Naming,
        texts: impl Fn(usize, &Operation<O, R>) -> (String, Option<String>),
    ) -> HistoryFinding {
        let call = |index: usize| &recording.calls[calls[index] as usize];
        let line = |index: usize| {
            let call = call(index);
            (call.place.line, call.end.as_ref().map(|end| end.place.line))
        };
        let shown = match &verdict {
            Verdict::Violated(evidence) => shown(evidence, operations),
            Verdict::Consistent(_) | Verdict::Unknown(_) => Vec::new(),
        };
        let text = |(index, operation): (usize, &Operation<O, R>)| {
            let shown = naming.all_texts || shown.binary_search(&index).is_ok();
            let (op, told) =
                if shown { texts(index, operation) } else { (String::new(), Some(String::new())) };
            let returned = operation.returned.as_ref().map(|(_, time)| *time);
            let returned = returned.map(|time| (told.unwrap_or_default(), time));
            Operation { client: call(index).client, op, invoked: operation.invoked, returned }
        };
        // Without evidence, no operation is shown. The texts of a long history would need much memory.
        let texts = match &verdict {
            Verdict::Consistent(_) | Verdict::Unknown(_) if !naming.all_texts => Vec::new(),
            _ => operations.iter().enumerate().map(text).collect(),
        };
        let history = HistoryRecord {
            model: naming.model.to_owned(),
            clients: match recording.callers {
                Callers::Named => {
                    recording.processes.iter().map(|n| format!("process {n}")).collect()
                }
                Callers::Unnamed { .. } => {
                    recording.processes.iter().map(|n| format!("caller of call {n}")).collect()
                }
            },
            operations: texts,
            verdict: Some(verdict.clone()),
            ..HistoryRecord::default()
        };
        HistoryFinding {
            model: naming.model,
            condition: "",
            by_key: false,
            verdict,
            configurations: None,
            history,
            lines: (0..operations.len()).map(line).collect(),
            calls: recording.calls.len(),
            failed: recording.count(|answer| answer == Some(&Answer::Fail)),
            unanswered: recording.count(|answer| matches!(answer, None | Some(Answer::Info))),
            unchecked: 0,
            notes: recording.notes,
            callers: recording.callers,
            naming,
        }
    }

    /// Returns the verdict in one line, with `file` as the file name.
    pub fn line(&self, file: &str) -> String {
        let Naming { what, phrase, .. } = &self.naming;
        let article = match what.chars().next() {
            _ if what.ends_with("transactions") => "",
            Some('a' | 'e' | 'i' | 'o' | 'u') => "an ",
            _ => "a ",
        };
        let as_what = format!("as {article}{what}");
        match &self.verdict {
            Verdict::Consistent(witness) => {
                format!("consistent  {file}: {phrase}, {as_what} ({})", witness.engine)
            }
            Verdict::Violated(evidence) => {
                let not = match phrase.strip_prefix("with ") {
                    Some(noun) => format!("without {noun}"),
                    None => format!("not {phrase}"),
                };
                format!("VIOLATED  {file}: {not}, {as_what} ({})", evidence.engine)
            }
            Verdict::Unknown(_) if self.is_silent() => {
                format!("UNDECIDED  {file}: {phrase}, {as_what}? no final read was answered")
            }
            Verdict::Unknown(exhausted) => {
                format!("UNDECIDED  {file}: {phrase}, {as_what}? {exhausted}")
            }
        }
    }

    /// Returns the verdict as text, with the evidence and the history around it, and with `file` as the file name.
    pub fn text(&self, file: &str, style: &Style) -> String {
        let unit = self.naming.unit;
        let mut out = String::new();
        let line = self.line(file);
        let width = style.width.clamp(Style::WIDTH_MIN, Style::WIDTH_MAX);
        paragraph(&mut out, "", "    ", &line, width);
        // Writing to a `String` cannot fail.
        let _ = write!(out, "  {}", plural(self.calls as u64, unit));
        match self.callers {
            Callers::Named => {
                let _ = write!(out, " by {}", plural(self.history.clients.len() as u64, "process"));
            }
            Callers::Unnamed { .. } => out.push_str(" (by unnamed clients)"),
        }
        for (count, what) in [(self.failed, "failed"), (self.unanswered, "without an answer")] {
            if count > 0 {
                let _ = write!(out, ", {count} {what}");
            }
        }
        if self.notes > 0 {
            let _ = write!(out, ", {} left out", plural(self.notes, "note"));
        }
        if let Some(configurations) = self.configurations {
            let _ = write!(out, "; {}", plural(configurations, "configuration"));
        }
        out.push('\n');
        if self.unchecked > 0 {
            let _ = writeln!(
                out,
                "  {} of nil not checked: what was seen is not written down (--nil nothing checks nil)",
                plural(self.unchecked as u64, "read")
            );
        }
        if let Verdict::Violated(evidence) = &self.verdict {
            out.push('\n');
            out += &self.picture(evidence, style);
            out.push('\n');
            match self.naming.numbered {
                None => self.places(file, evidence, &mut out),
                Some(numbered) => self.numbered_places(file, evidence, numbered, style, &mut out),
            }
        }
        out
    }

    /// Returns `true` if the verdict is unknown because the history has no evidence, so that a longer search
    /// would not help.
    pub fn is_silent(&self) -> bool {
        matches!(&self.verdict, Verdict::Unknown(exhausted) if exhausted.nodes == 0)
            && self.condition == "eventual"
    }

    /// Returns the history around the evidence, with the contradiction.
    fn picture(&self, evidence: &Evidence, style: &Style) -> String {
        let Some(anomaly) = evidence.anomaly.as_ref().filter(|_| self.naming.numbered.is_some())
        else {
            return history_text(&self.history, style);
        };
        let mut evidence = evidence.clone();
        if evidence.partial.is_empty() {
            // The contradiction concerns all calls, so no call is marked.
            evidence.misfit = usize::MAX;
        }
        // The edges of a cycle are listed below.
        let text = if self.is_round(evidence.anomaly.as_ref()) {
            self.naming.round.to_owned()
        } else {
            anomaly.text.clone()
        };
        let text = match (self.naming.meaning)(&anomaly.name) {
            Some(meaning) => format!("{meaning}. {text}"),
            None => text,
        };
        evidence.anomaly = Some(Anomaly { name: anomaly.name.clone(), text, edges: Vec::new() });
        let verdict = Some(Verdict::Violated(Box::new(evidence)));
        history_text(&HistoryRecord { verdict, ..self.history.clone() }, style)
    }

    /// Returns this finding, with a remark about the failed call that would explain it.
    pub(crate) fn explained_by(mut self, recording: &Recording, call: usize, op: &str) -> Self {
        let Call { client, place, end, .. } = &recording.calls[call];
        let lines = match end {
            Some(end) if end.place.line != place.line => {
                format!("lines {} and {}", place.line, end.place.line)
            }
            _ => format!("line {}", place.line),
        };
        self.history.remark = Some(format!(
            "These are explained if `{op}` by {}, on {lines}, took effect. It is recorded as :fail, which says that it \
             did not. A call without an answer is :info.",
            self.history.clients[*client as usize],
        ));
        self
    }

    fn is_round(&self, anomaly: Option<&Anomaly>) -> bool {
        !self.naming.round.is_empty() && anomaly.is_some_and(|anomaly| anomaly.edges.len() > 1)
    }

    /// Appends the edges of a cycle, and then the calls named by the evidence, with their lines.
    fn numbered_places(
        &self,
        file: &str,
        evidence: &Evidence,
        numbered: &str,
        style: &Style,
        out: &mut String,
    ) {
        let name = |index: usize| format!("{numbered}{index}");
        let edges = match &evidence.anomaly {
            Some(anomaly) if self.is_round(Some(anomaly)) => &anomaly.edges[..],
            _ => &[],
        };
        let width = style.width.clamp(Style::WIDTH_MIN, Style::WIDTH_MAX);
        for edge in edges.iter().take(EDGES_MAX) {
            let sides = [edge.from, edge.to]
                .map(|end| format!("{} (line {})", name(end), self.lines_of(end)));
            let text = format!("{} before {}: {}", sides[0], sides[1], clean(&edge.why));
            paragraph(out, "  ", "      ", &text, width);
        }
        if edges.len() > EDGES_MAX {
            let _ = writeln!(out, "  … and {} more", edges.len() - EDGES_MAX);
        }
        if !edges.is_empty() {
            out.push('\n');
        }
        // The calls of the cycle and of the contradiction come first, because a long list is cut. Of each partial order
        // only the last calls matter, because they produced the state in which the misfit is impossible.
        let mut listed: Vec<usize> = edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        listed.extend(&evidence.part);
        listed.push(evidence.misfit);
        listed.extend(evidence.partial.iter().flat_map(|order| order.iter().rev().take(3)));
        let mut seen = std::collections::BTreeSet::new();
        listed.retain(|index| *index < self.lines.len() && seen.insert(*index));
        let more = listed.len().saturating_sub(EDGES_MAX);
        listed.truncate(EDGES_MAX);
        listed.sort_unstable();
        let _ = writeln!(out, "  in {file}:");
        for index in listed {
            let operation = &self.history.operations[index];
            let by = &self.history.clients[operation.client as usize];
            let own = format!("{}: ", name(index));
            let op = operation.op.strip_prefix(&own).unwrap_or(&operation.op);
            let told = match &operation.returned {
                None => " → ?",
                Some((told, _)) if told == "()" => "",
                Some((told, _)) => &format!(" → {told}"),
            };
            let what = cut(&clean(&format!("{op}{told}")), CALL_MAX);
            let text = format!("{}  line {}, {by}: {what}", name(index), self.lines_of(index));
            paragraph(out, "    ", "        ", &text, width);
        }
        if more > 0 {
            let _ = writeln!(out, "    … and {more} more");
        }
    }

    /// Returns the lines on which a call begins and ends.
    fn lines_of(&self, index: usize) -> String {
        match self.lines[index] {
            (call, Some(back)) if back != call => format!("{call} to {back}"),
            (call, Some(_)) => call.to_string(),
            (call, None) => format!("{call}, no answer"),
        }
    }

    /// Appends, for each operation in the evidence, its place in the file.
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
            let Some(operation) = self.history.operations.get(index) else { continue };
            let lines = self.lines_of(index);
            let client = &self.history.clients[operation.client as usize];
            let op = one_line(&operation.op);
            let told = operation.returned.as_ref().map_or("?", |(told, _)| told);
            let mark = if index == evidence.misfit { "  <- fits nowhere" } else { "" };
            let told = one_line(told);
            let _ = writeln!(out, "  {file}, line {lines}: {op} → {told} by {client}{mark}");
        }
    }
}

/// The maximum width of a call's text in the evidence.
const CALL_MAX: usize = 401;

/// Returns the operations that a picture or a sentence about the evidence may show, sorted.
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
    // A picture without a misfit shows the end.
    shown.extend(around.iter().rev().take(AROUND.0));
    for order in &evidence.partial {
        shown.extend(order.iter().rev().take(ORDER_END));
    }
    let edges = evidence.anomaly.iter().flat_map(|anomaly| &anomaly.edges);
    shown.extend(edges.flat_map(|edge| [edge.from, edge.to]));
    shown.extend(evidence.part.iter().take(EDGES_MAX));
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// Appends words, with line breaks at the width. Lines after the first begin with `next`.
fn paragraph(out: &mut String, first: &str, next: &str, text: &str, width: usize) {
    let mut line = first.to_owned();
    let mut used = columns(first);
    let mut is_blank = true;
    for word in text.split(' ') {
        let length = columns(word);
        if !is_blank && used + 1 + length > width {
            out.push_str(line.trim_end());
            out.push('\n');
            (line, used, is_blank) = (next.to_owned(), columns(next), true);
        }
        if !is_blank {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        is_blank = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Returns a text as one line of limited width, without characters that move the cursor.
fn one_line(text: &str) -> String {
    const TEXT_MAX: usize = 61;
    cut(&clean(text), TEXT_MAX)
}
