//! The isolation levels, and the anomalies that rule them out.

use std::fmt;

use super::cycles::CycleEdge;
use super::graph::{EdgeKind, NONE};
use crate::verdict::{Anomaly, Edge, Evidence};

/// An isolation level. Each level allows fewer anomalies than the previous level.
///
/// The definitions follow Elle (Kingsbury and Alvaro 2020), which interprets the levels of Adya (1999): a level is the
/// absence of its anomalies. From snapshot isolation on, this is equivalent to the existence of a transaction order
/// that explains all results.
///
/// ```
/// use unpause_check::transactions::Level;
/// assert!(Level::SnapshotIsolation < Level::Serializable);
/// assert_eq!(Level::ALL.len(), 6);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// PL-1: the writes of two transactions are not interleaved. The history has no `G0`, no garbage, and no
    /// duplicates.
    ReadUncommitted,
    /// PL-2: in addition, transactions read only committed and final states. The history has no `G1a`, `G1b`, `G1c`,
    /// `dirty update` or `incompatible order`.
    ReadCommitted,
    /// Generalized snapshot isolation (Elnikety et al. 2005; Cerone and Gotsman 2016). A transaction reads from a
    /// snapshot, which is the state at some moment before its commit. Between the snapshot and the commit, no other
    /// transaction commits a write to a key that this transaction writes. The history has no `internal`, `lost update`,
    /// `G-single` or `G-nonadjacent`. The snapshot may be arbitrarily old: real time and sessions do not matter.
    SnapshotIsolation,
    /// PL-3: some serial order explains all results. The history has no `G2-item`. These workloads have no reads by
    /// predicate, so PL-2.99 (repeatable read) is the same level.
    Serializable,
    /// Serializable in an order that keeps the transaction order of each client.
    StrongSessionSerializable,
    /// Serializable in an order that respects real time, which is linearizability with transactions as operations.
    StrictSerializable,
}

impl Level {
    /// All levels, from weakest to strongest.
    pub const ALL: [Level; 6] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::SnapshotIsolation,
        Level::Serializable,
        Level::StrongSessionSerializable,
        Level::StrictSerializable,
    ];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::ReadUncommitted => "read uncommitted",
            Level::ReadCommitted => "read committed",
            Level::SnapshotIsolation => "snapshot isolation",
            Level::Serializable => "serializable",
            Level::StrongSessionSerializable => "strong session serializable",
            Level::StrictSerializable => "strict serializable",
        })
    }
}

/// An anomaly, and the levels that it rules out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsolationAnomaly {
    /// The weakest level that the anomaly rules out; it also rules out all stronger levels.
    pub rules_out: Level,
    /// The name of the anomaly, its explanation, and the edges of the cycle, if it is a cycle.
    pub anomaly: Anomaly,
    /// The transactions of the anomaly, by index.
    pub part: Vec<usize>,
    /// The transaction that completes the anomaly.
    pub misfit: usize,
}

impl IsolationAnomaly {
    /// Returns the evidence of a violated verdict for this anomaly.
    pub(super) fn evidence(self, engine: &str) -> Evidence {
        Evidence {
            engine: engine.to_owned(),
            anomaly: Some(self.anomaly),
            partial: Vec::new(),
            misfit: self.misfit,
            expected: Vec::new(),
            state: String::new(),
            part: self.part,
        }
    }
}

/// The anomalies of a history: see [`list_append_anomalies`](super::list_append_anomalies) and
/// [`rw_register_anomalies`](super::rw_register_anomalies).
///
/// ```
/// use unpause_check::transactions::{Level, ListCall::*, TransactionOutcome::*, list_append_anomalies};
/// use unpause_check::Operation;
/// // The second transaction reads an append of the first, which aborted.
/// let history = [
///     Operation { client: 0, op: vec![Append("x", 1)], invoked: 0, returned: Some((Aborted, 1)) },
///     Operation { client: 1, op: vec![Read("x")], invoked: 2, returned: Some((Committed(vec![vec![1]]), 3)) },
/// ];
/// let anomalies = list_append_anomalies(&history).unwrap();
/// assert_eq!(anomalies.findings[0].anomaly.name, "G1a");
/// assert_eq!(anomalies.weakest(), Some(Level::ReadCommitted));
/// assert_eq!(anomalies.ruled_out(), &Level::ALL[1..]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anomalies {
    /// The anomalies, sorted by the level that they rule out, weakest first. For each class and each strongly connected
    /// component, they contain a shortest cycle (in a very large component, the shortest cycle found). The findings
    /// also contain one other anomaly for each transaction and key, up to a few hundred.
    pub findings: Vec<IsolationAnomaly>,
}

impl Anomalies {
    /// Returns the weakest level that was ruled out.
    pub fn weakest(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.rules_out).min()
    }

    /// Returns all levels that were ruled out: the weakest such level and all stronger levels.
    pub fn ruled_out(&self) -> &'static [Level] {
        let from = self.weakest().map_or(Level::ALL.len(), |level| level as usize);
        const ALL: &[Level] = &Level::ALL;
        &ALL[from..]
    }

    /// Returns the worst anomaly that rules out `level`, if any. The returned anomaly rules out the weakest level;
    /// among several, it has the fewest transactions.
    pub(super) fn worst(self, level: Level) -> Option<IsolationAnomaly> {
        let findings = self.findings.into_iter();
        let ruling = findings.filter(|finding| finding.rules_out <= level);
        ruling.min_by_key(|finding| (finding.rules_out, finding.part.len()))
    }
}

/// The names of keys, values and clients in the texts of evidence.
pub(super) trait OperationNames {
    fn key_of(&self, write: u32) -> String;
    fn value_of(&self, write: u32) -> String;
    fn client_of(&self, transaction: u32) -> u32;
}

/// The terms that a workload uses for its operations.
#[derive(Clone, Copy)]
pub(super) struct WorkloadTerms<'a> {
    pub(super) names: &'a dyn OperationNames,
    /// The verb for a write: `appended` or `wrote`.
    pub(super) wrote: &'static str,
    /// True if a read shows all versions up to the version read, so that the version order is observed and not
    /// inferred.
    pub(super) shows_all: bool,
}

/// Returns the reason for an edge of the graph.
pub(super) fn why(words: WorkloadTerms<'_>, step: &CycleEdge) -> String {
    let (from, to, wrote) = (step.from, step.to, words.wrote);
    let key = || words.names.key_of(if step.after == NONE { step.before } else { step.after });
    let (before, after) =
        (|| words.names.value_of(step.before), || words.names.value_of(step.after));
    match step.kind {
        EdgeKind::Ww if step.before == NONE => {
            format!("T{to} {wrote} {} to key {} after T{from} did (ww)", after(), key())
        }
        EdgeKind::Ww if words.shows_all => {
            format!("T{to} {wrote} {} to key {} after T{from}'s {} (ww)", after(), key(), before())
        }
        EdgeKind::Ww => format!(
            "T{to} {wrote} {} to key {} after T{from}'s {}, since somebody met the second before \
             somebody met the first (ww)",
            after(),
            key(),
            before()
        ),
        EdgeKind::Wr => {
            format!("T{to} read {} of key {}, which T{from} {wrote} (wr)", before(), key())
        }
        EdgeKind::Rw if step.before == NONE => {
            format!("T{from} read key {} before T{to} {wrote} {} to it (rw)", key(), after())
        }
        EdgeKind::Rw if !words.shows_all => {
            format!(
                "T{from} read {} of key {}, before T{to} {wrote} {} to it (rw)",
                before(),
                key(),
                after()
            )
        }
        EdgeKind::Rw => format!(
            "T{from} read key {} up to {}, before T{to} {wrote} {} to it (rw)",
            key(),
            before(),
            after()
        ),
        EdgeKind::Process => {
            format!("client {} ran T{from} before T{to} (process)", words.names.client_of(from))
        }
        EdgeKind::RealTime | EdgeKind::On => {
            format!("T{from} returned before T{to} was invoked (realtime)")
        }
    }
}

/// Creates the anomaly for a cycle.
pub(super) fn cycle(
    words: WorkloadTerms<'_>,
    name: &str,
    rules_out: Level,
    steps: &[CycleEdge],
) -> IsolationAnomaly {
    let edges: Vec<Edge> = steps
        .iter()
        .map(|step| Edge { from: step.from as usize, to: step.to as usize, why: why(words, step) })
        .collect();
    let mut round: Vec<String> = steps.iter().map(|step| format!("T{}", step.from)).collect();
    round.push(format!("T{}", steps[0].from));
    let reasons: Vec<&str> = edges.iter().map(|edge| edge.why.as_str()).collect();
    let text = format!(
        "each of these has to come before the next, and the last is the first: {}: {}",
        round.join(", "),
        reasons.join("; ")
    );
    let mut part: Vec<usize> = edges.iter().map(|edge| edge.from).collect();
    part.sort_unstable();
    // The last step closes the cycle, because it leads back to the start of the first step.
    let misfit = edges.last().expect("a cycle has edges").from;
    IsolationAnomaly {
        rules_out,
        anomaly: Anomaly { name: name.to_owned(), text, edges },
        part,
        misfit,
    }
}

/// Creates an anomaly that is not a cycle. The last of the transactions completes the anomaly.
pub(super) fn direct(
    name: &str,
    rules_out: Level,
    transactions: &[u32],
    text: String,
) -> IsolationAnomaly {
    let misfit = *transactions.last().expect("an anomaly is somebody's") as usize;
    let mut part: Vec<usize> = transactions.iter().map(|t| *t as usize).collect();
    part.sort_unstable();
    part.dedup();
    let anomaly = Anomaly { name: name.to_owned(), text, edges: Vec::new() };
    IsolationAnomaly { rules_out, anomaly, part, misfit }
}

/// The maximum number of anomalies to keep for each level, besides cycles.
const DIRECT_MAX: usize = 256;

/// Anomalies that need no graph.
///
/// The anomalies are limited for each level separately. With a common limit, many anomalies that a level allows, such
/// as lost updates, would leave no room for a later anomaly that the level forbids, and the verdict would be wrong.
#[derive(Default)]
pub(super) struct DirectAnomalies {
    found: Vec<IsolationAnomaly>,
    /// The number of anomalies of each level, in the order of [`Level::ALL`].
    counts: [usize; Level::ALL.len()],
}

impl DirectAnomalies {
    /// Returns `true` if another anomaly of this level is kept.
    pub(super) fn has_room(&self, level: Level) -> bool {
        self.counts[level as usize] < DIRECT_MAX
    }

    /// Adds an anomaly, if its level has room.
    pub(super) fn note(&mut self, anomaly: IsolationAnomaly) {
        if self.has_room(anomaly.rules_out) {
            self.counts[anomaly.rules_out as usize] += 1;
            self.found.push(anomaly);
        }
    }

    /// Returns the kept anomalies, in the order in which they were added.
    pub(super) fn all(&self) -> Vec<IsolationAnomaly> {
        self.found.clone()
    }
}

/// Returns the evidence that no order exists, after a search that tried all orders.
pub(super) fn no_order(level: Level, engine: &str, longest: Vec<u32>, misfit: u32) -> Evidence {
    let (name, what) = match level {
        Level::SnapshotIsolation => ("no snapshot order", "order of snapshots and commits"),
        _ => ("no serial order", "serial order"),
    };
    let explained = match longest.len() {
        0 => "no transaction can be the first, not even".to_owned(),
        1 => "the longest is one transaction and has no place for".to_owned(),
        n => format!("the longest explains {n} transactions and has no place for"),
    };
    let text = format!("no {what} explains all that was read; {explained} T{misfit}");
    Evidence {
        engine: engine.to_owned(),
        anomaly: Some(Anomaly { name: name.to_owned(), text, edges: Vec::new() }),
        partial: vec![longest.into_iter().map(|t| t as usize).collect()],
        misfit: misfit as usize,
        expected: Vec::new(),
        state: String::new(),
        part: Vec::new(),
    }
}
