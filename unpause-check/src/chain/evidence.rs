//! The evidence of a violation: its name, its operations, and the known chain.

use super::Id;
use super::links::{ChainFault, ChainLink, KEPT, Links};
use crate::verdict::{Anomaly, Edge, Evidence};

/// Versions of a chain that are listed; more are counted.
const SPELLED: usize = 6;

/// The evidence that `operation`, invoked when the chain reached to `head`, cannot have its result.
pub(super) fn violation<I: Id>(
    links: &Links<I>,
    operation: u64,
    head: u64,
    fault: &ChainFault<I>,
) -> Evidence {
    let state = format!("{:?}", links.head().id);
    let mut expected = vec![state.clone()];
    let mut part = vec![operation];
    let mut edges = Vec::new();
    let mut edge = |from: u64, to: u64, why: &str| {
        edges.push(Edge { from: from as usize, to: to as usize, why: why.to_owned() });
        part.extend([from, to]);
    };
    let forgotten = format!(
        "it was never written, or its update failed, or it is older than the last {KEPT} versions \
         known when the oldest open call was invoked"
    );
    let (name, text) = match fault {
        ChainFault::Stale { place, head } => {
            if let Some((writer, shown)) = links.at(place + 1).and_then(|link| link.by) {
                edge(operation, writer, "read the version that it replaced");
                if writer != shown {
                    edge(writer, shown, "was seen by it");
                }
                edge(shown, operation, "returned before it was invoked");
            }
            expected = texts(links, *head, links.last());
            let text = format!(
                "Operation {operation} read version {}. When it was invoked, the chain {} was known \
                 already, {} newer.",
                texts(links, *place, *place).concat(),
                spelled(links, *place, *head),
                match head - place {
                    1 => "1 version".to_owned(),
                    many => format!("{many} versions"),
                },
            );
            ("stale read", text)
        }
        ChainFault::Aborted { place } => {
            let shown = links.at(*place).and_then(|link| link.by).map_or(operation, |(_, by)| by);
            edge(operation, shown, "was seen by it");
            expected.clear();
            let id = texts(links, *place, *place).concat();
            let text = format!(
                "Operation {operation}, which was to write version {id}, failed, but what operation \
                 {shown} was told shows that it happened."
            );
            ("aborted read", text)
        }
        ChainFault::Unheard { id, after: None } => {
            let text = format!(
                "Operation {operation} read version {id:?}, which no update that may have happened \
                 writes: {forgotten}."
            );
            expected = texts(links, head, links.last());
            ("unknown version", text)
        }
        ChainFault::Unheard { id, after: Some(after) } => {
            let text = format!(
                "Operation {operation} shows that version {after:?} replaced version {id:?}, which \
                 no update that may have happened writes: {forgotten}."
            );
            ("unknown predecessor", text)
        }
        ChainFault::Fork { place, id, operation: writer } => {
            let rival = links.at(place + 1);
            if let Some((other, shown)) = rival.and_then(|link| link.by) {
                edge(*writer, other, "needs the version that it replaced");
                edge(other, *writer, "needs the version that it replaced");
                part.push(shown);
            }
            let text = format!(
                "Operation {operation} shows that version {} was replaced by {id:?}. Operation {} had \
                 replaced it by {}: one of the updates is lost. The chain {} was known.",
                texts(links, *place, *place).concat(),
                rival.and_then(|link| link.by).map_or(0, |(other, _)| other),
                rival.map_or_else(String::new, |link| format!("{:?}", link.id)),
                spelled(links, *place, links.last()),
            );
            ("lost update", text)
        }
        ChainFault::Circle { id } => {
            let text = format!(
                "Operation {operation} shows that version {id:?} happened, but the updates it builds \
                 on build on it: none of them can be the first."
            );
            ("circular updates", text)
        }
    };
    part.sort_unstable();
    part.dedup();
    Evidence {
        engine: super::ENGINE.to_owned(),
        anomaly: Some(Anomaly { name: name.to_owned(), text, edges }),
        partial: Vec::new(),
        misfit: operation as usize,
        expected,
        state,
        part: part.into_iter().map(|operation| operation as usize).collect(),
    }
}

/// Adds that the update of the unknown version was invoked only later.
pub(super) fn from_the_future<I: Id>(evidence: &mut Evidence, id: &I, writer: u64) {
    let (operation, writer) = (evidence.misfit, writer as usize);
    let edge = |from, to, why: &str| Edge { from, to, why: why.to_owned() };
    evidence.part.push(writer);
    evidence.anomaly = Some(Anomaly {
        name: "future read".to_owned(),
        text: format!(
            "Operation {operation} returned what shows version {id:?} before operation {writer}, \
             which writes it, was invoked."
        ),
        edges: vec![
            edge(operation, writer, "returned before it was invoked"),
            edge(writer, operation, "was seen by it"),
        ],
    });
}

/// The ids at these places; only the last few if there are many.
fn texts<I: Id>(links: &Links<I>, from: u64, to: u64) -> Vec<String> {
    let from = from.max((to + 1).saturating_sub(SPELLED as u64));
    let links = (from..=to).filter_map(|place| links.at(place));
    links.map(|ChainLink { id, .. }| format!("{id:?}")).collect()
}

/// The chain between these places: its first version, and its last few.
fn spelled<I: Id>(links: &Links<I>, from: u64, to: u64) -> String {
    let mut spelled = texts(links, from, to);
    let hidden = (to + 1 - from) as usize - spelled.len();
    if hidden > 0 {
        let first = texts(links, from, from);
        let between = if hidden > 1 { format!("({} more)", hidden - 1) } else { String::new() };
        let start = first.into_iter().chain((!between.is_empty()).then_some(between));
        spelled = start.chain(spelled).collect();
    }
    spelled.join(" → ")
}
