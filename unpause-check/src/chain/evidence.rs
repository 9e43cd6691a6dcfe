//! The evidence of a violation: its name, its operations, and the known part of the chain.

use super::Id;
use super::links::{ChainFault, ChainLink, KEPT, Links};
use crate::verdict::{Anomaly, Edge, Evidence};

/// The maximum number of versions to list; the rest are only counted.
const SPELLED: usize = 6;

/// The explanation of a fault.
struct Explanation {
    name: &'static str,
    text: String,
    edges: Vec<Edge>,
    /// The results that the operation could have had; `None` means the newest version only.
    expected: Option<Vec<String>>,
}

/// Creates the evidence that `operation`, which was invoked when the chain ended at `head`, cannot have its result.
pub(super) fn violation<I: Id>(
    links: &Links<I>,
    operation: u64,
    head: u64,
    fault: &ChainFault<I>,
) -> Evidence {
    let explanation = match fault {
        ChainFault::Stale { place, head } => stale_read(links, operation, *place, *head),
        ChainFault::Aborted { place } => aborted_read(links, operation, *place),
        ChainFault::Unknown { id, after: None } => unknown_version(links, operation, head, id),
        ChainFault::Unknown { id, after: Some(after) } => unknown_predecessor(operation, id, after),
        ChainFault::Fork { place, id, operation: writer } => {
            lost_update(links, operation, *place, id, *writer)
        }
        ChainFault::Circle { id } => circular_updates(operation, id),
    };
    let Explanation { name, text, edges, expected } = explanation;
    let mut part = vec![operation as usize];
    part.extend(edges.iter().flat_map(|edge| [edge.from, edge.to]));
    if let ChainFault::Fork { place, .. } = fault {
        // The operation that read the rival version has no edge, but proves that the rival update happened.
        let rival = links.at(place + 1).and_then(|link| link.by);
        part.extend(rival.map(|(_, shown)| shown as usize));
    }
    part.sort_unstable();
    part.dedup();
    let state = format!("{:?}", links.head().id);
    Evidence {
        engine: super::ENGINE.to_owned(),
        anomaly: Some(Anomaly { name: name.to_owned(), text, edges }),
        partial: Vec::new(),
        misfit: operation as usize,
        expected: expected.unwrap_or_else(|| vec![state.clone()]),
        state,
        part,
    }
}

/// Explains a read of the version at `place` by an operation that was invoked when the chain ended at `head`.
fn stale_read<I: Id>(links: &Links<I>, operation: u64, place: u64, head: u64) -> Explanation {
    let mut edges = Vec::new();
    if let Some((writer, shown)) = links.at(place + 1).and_then(|link| link.by) {
        edges.push(edge(operation, writer, "read the version that it replaced"));
        if writer != shown {
            edges.push(edge(writer, shown, "was seen by it"));
        }
        // The chain had this version when `operation` was invoked, so `shown` had returned by then.
        edges.push(edge(shown, operation, "returned before it was invoked"));
    }
    // A read is stale only if its version is before `head`, so the difference is at least 1.
    let newer = match head - place {
        1 => "1 version".to_owned(),
        many => format!("{many} versions"),
    };
    let shown = links.at(head).and_then(|link| link.by);
    let shown = shown.map_or_else(String::new, |(_, shown)| format!(" by operation {shown}"));
    let text = format!(
        "Operation {operation} read version {}. When it was invoked, the chain {} was known already{shown}, \
         {newer} newer.",
        texts(links, place, place).concat(),
        spelled(links, place, head),
    );
    let expected = Some(texts(links, head, links.last()));
    Explanation { name: "stale read", text, edges, expected }
}

/// Explains the read of a version whose update failed.
fn aborted_read<I: Id>(links: &Links<I>, operation: u64, place: u64) -> Explanation {
    let shown = links.at(place).and_then(|link| link.by).map_or(operation, |(_, by)| by);
    let text = format!(
        "Operation {operation}, which was to write version {}, failed, but the result of operation \
         {shown} shows that it happened.",
        texts(links, place, place).concat(),
    );
    let edges = vec![edge(operation, shown, "was seen by it")];
    Explanation { name: "aborted read", text, edges, expected: Some(Vec::new()) }
}

/// Explains a read of a version that no known update writes.
fn unknown_version<I: Id>(links: &Links<I>, operation: u64, head: u64, id: &I) -> Explanation {
    let text = format!(
        "Operation {operation} read version {id:?}, which no update that may have happened writes: {}.",
        never_written(),
    );
    let expected = Some(texts(links, head, links.last()));
    Explanation { name: "unknown version", text, edges: Vec::new(), expected }
}

/// Explains an update of a version that no known update writes.
fn unknown_predecessor<I: Id>(operation: u64, id: &I, after: &I) -> Explanation {
    let text = format!(
        "Operation {operation} shows that version {after:?} replaced version {id:?}, which no update \
         that may have happened writes: {}.",
        never_written(),
    );
    Explanation { name: "unknown predecessor", text, edges: Vec::new(), expected: None }
}

/// Explains two updates of the version at `place`.
fn lost_update<I: Id>(
    links: &Links<I>,
    operation: u64,
    place: u64,
    id: &I,
    writer: u64,
) -> Explanation {
    let rival = links.at(place + 1);
    let by = rival.and_then(|link| link.by);
    let why = "needs the version that it replaced";
    let edges = by.map_or_else(Vec::new, |(other, _)| {
        vec![edge(writer, other, why), edge(other, writer, why)]
    });
    let text = format!(
        "Operation {operation} shows that version {} was replaced by {id:?}. Operation {} had replaced \
         it by {}: one of the updates is lost. The chain {} was known.",
        texts(links, place, place).concat(),
        by.map_or(0, |(other, _)| other),
        rival.map_or_else(String::new, |link| format!("{:?}", link.id)),
        spelled(links, place, links.last()),
    );
    Explanation { name: "lost update", text, edges, expected: None }
}

/// Explains updates that build on each other.
fn circular_updates<I: Id>(operation: u64, id: &I) -> Explanation {
    let text = format!(
        "Operation {operation} shows that version {id:?} happened, but the updates it builds on build \
         on it: none of them can be the first."
    );
    Explanation { name: "circular updates", text, edges: Vec::new(), expected: None }
}

/// Returns the possible reasons for a version without an update. The engine cannot distinguish these reasons.
fn never_written() -> String {
    format!(
        "it was never written, or its update failed, or it is older than the last {KEPT} versions \
         known when the oldest open call was invoked"
    )
}

fn edge(from: u64, to: u64, why: &str) -> Edge {
    Edge { from: from as usize, to: to as usize, why: why.to_owned() }
}

/// Adds to the evidence that the update of the unknown version was invoked only after the read.
pub(super) fn from_the_future<I: Id>(evidence: &mut Evidence, id: &I, writer: u64) {
    let operation = evidence.misfit as u64;
    // The writer was invoked after the violation, so its number is the largest and the list stays sorted.
    evidence.part.push(writer as usize);
    evidence.anomaly = Some(Anomaly {
        name: "future read".to_owned(),
        text: format!(
            "Operation {operation} returned a result that shows version {id:?} before operation {writer}, \
             which writes it, was invoked."
        ),
        edges: vec![
            edge(operation, writer, "returned before it was invoked"),
            edge(writer, operation, "was seen by it"),
        ],
    });
}

/// Returns the ids at these positions; only the last few if there are many.
fn texts<I: Id>(links: &Links<I>, from: u64, to: u64) -> Vec<String> {
    let from = from.max((to + 1).saturating_sub(SPELLED as u64));
    let links = (from..=to).filter_map(|place| links.at(place));
    links.map(|ChainLink { id, .. }| format!("{id:?}")).collect()
}

/// Returns the text of the chain between these positions: the first version, and the last few.
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
