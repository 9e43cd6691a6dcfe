//! Transactions that append to lists and read them. In this workload, reads reveal the order of all versions.
//!
//! The version order of a key is its longest list that was read; every other list read must be a prefix of it. Appends
//! that were never read come after all appends that were read, in any order.

use std::fmt::Debug;
use std::hash::Hash;
use unpause_ordered::sort_by_key;

use super::ListTransaction;
use super::anomalies::{Anomalies, Level, WorkloadTerms, cycle, no_order};
use super::cycles::{self, CycleEdge};
use super::graph::{EdgeKind, GraphDraft, NONE};
use super::ledger::{TransactionFate, TransactionItem, Unusable};
use super::lists::Lists;
use super::order::{OrderProblem, OrderResult, snapshot};
use crate::limits::{Budget, Meter};
use crate::verdict::{Exhausted, Verdict, Witness};

/// Checks that a history of transactions on lists satisfies `level`.
///
/// No transaction may read the appends of an aborted transaction. A transaction that never returned counts as committed
/// if one of its appends was read, and is ignored otherwise.
///
/// Consistent: for [`Level::Serializable`] and above, [`Witness::order`] is a serial order of all committed
/// transactions, verified by execution. For weaker levels, the order is present only if the history happens to be
/// serializable. Violated: the [`Anomaly`](crate::verdict::Anomaly) that rules out the weakest level, with its cycle if
/// it is a cycle; [`list_append_anomalies`] returns all anomalies. Unknown: only at [`Level::SnapshotIsolation`], if
/// the history is not serializable, several appends to one key were never read, and `budget` does not suffice to try
/// their orders.
///
/// # Errors
/// [`Unusable`] if a value is appended to a key twice, or if two events have the same time. Also if a transaction
/// returns no later than its invocation, or has the wrong number of results.
///
/// # Panics
/// If the history has 2^30 transactions or more.
///
/// # Cost
/// O(n log n) to sort n events, and O(r) for r list elements read; everything else is linear. 10^5 transactions take a
/// few tenths of a second.
///
/// ```
/// use unpause_check::{transactions::{list_append, Level, ListCall::*, TransactionOutcome::*}, Budget};
/// use unpause_check::history::Operation;
/// // Both read what the other appends to, and see nothing of it: write skew.
/// let history = [
///     Operation {
///         client: 0,
///         op: vec![Read("x"), Append("y", 1)],
///         invoked: 1,
///         returned: Some((Committed(vec![vec![]]), 3)),
///     },
///     Operation {
///         client: 1,
///         op: vec![Read("y"), Append("x", 2)],
///         invoked: 2,
///         returned: Some((Committed(vec![vec![]]), 4)),
///     },
/// ];
/// let verdict = |level| list_append(&history, level, &Budget::default()).unwrap();
/// assert!(verdict(Level::SnapshotIsolation).is_consistent());
/// let unpause_check::verdict::Verdict::Violated(evidence) = verdict(Level::Serializable) else { panic!() };
/// let anomaly = evidence.anomaly.unwrap();
/// assert_eq!(anomaly.name, "G2-item");
/// assert_eq!(anomaly.edges[0].why, "T0 read key \"x\" before T1 appended 2 to it (rw)");
/// ```
pub fn list_append<K, V>(
    history: &[ListTransaction<K, V>],
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Unusable>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    let lists = Lists::new(history)?;
    let graph = lists.draft(level, false).finish();
    let components = graph.components(cycles::kinds(level.max(Level::Serializable)));
    // A graph without any cycle has no cycle of a class, so the classes need no search.
    let mut meter = Meter::new(budget);
    let found = match components.knots.is_empty() {
        true => lists.with_other_anomalies(Vec::new()),
        false => lists.anomalies(level, &mut meter),
    };
    if let Some(finding) = found.worst(level) {
        return Ok(Verdict::Violated(Box::new(finding.evidence(ENGINE))));
    }
    let exhausted = |meter: &Meter<'_>, longest| {
        let (nodes, limit) = (meter.nodes, meter.limit());
        Ok(Verdict::Unknown(Exhausted { nodes, longest, operations: history.len(), limit }))
    };
    if meter.is_over() {
        return exhausted(&meter, 0);
    }
    let mut engine = ENGINE;
    if components.knots.is_empty() {
        let counts = |t: &u32| lists.ledger.fate[*t as usize].counts();
        let order: Vec<u32> = components.order.into_iter().filter(counts).collect();
        if lists.executes(&order) {
            let order = Some(order.into_iter().map(|t| t as usize).collect());
            return Ok(Verdict::Consistent(Witness { engine: engine.to_owned(), order }));
        }
        // This point is reached only for weaker levels: an anomaly that the level allows prevents the execution of the
        // order.
        assert!(level < Level::Serializable, "no cycle and no anomaly, and yet no order");
    }
    if level == Level::SnapshotIsolation {
        engine = "list-append cycles + snapshot search";
        let problem = lists.problem();
        let points = graph.points();
        match snapshot(&problem, &points, &mut meter) {
            OrderResult::Found(_) => {}
            OrderResult::None(longest, misfit) => {
                let evidence = no_order(level, engine, longest, misfit);
                return Ok(Verdict::Violated(Box::new(evidence)));
            }
            OrderResult::OutOfBudget(longest) => return exhausted(&meter, longest),
        }
    }
    Ok(Verdict::Consistent(Witness { engine: engine.to_owned(), order: None }))
}

/// Returns all anomalies of a transaction history on lists, and thus all levels that they rule out.
///
/// The history may still violate a level that is not ruled out: check that level with [`list_append`].
///
/// # Errors
/// The errors of [`list_append`].
///
/// ```
/// use unpause_check::transactions::{list_append_anomalies, Level, ListCall::*, TransactionOutcome::*};
/// use unpause_check::history::Operation;
/// // A read that does not see what its client appended before.
/// let history = [
///     Operation {
///         client: 0,
///         op: vec![Append("x", 1)],
///         invoked: 1,
///         returned: Some((Committed(vec![]), 2)),
///     },
///     Operation {
///         client: 0,
///         op: vec![Read("x")],
///         invoked: 3,
///         returned: Some((Committed(vec![vec![]]), 4)),
///     },
/// ];
/// let anomalies = list_append_anomalies(&history).unwrap();
/// assert_eq!(
///     anomalies.ruled_out(),
///     [Level::StrongSessionSerializable, Level::StrictSerializable]
/// );
/// assert_eq!(anomalies.findings[0].anomaly.name, "G-single-process");
/// ```
pub fn list_append_anomalies<K, V>(history: &[ListTransaction<K, V>]) -> Result<Anomalies, Unusable>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    Ok(Lists::new(history)?.anomalies(Level::StrictSerializable, &mut Meter::unlimited()))
}

const ENGINE: &str = "list-append cycles";

impl<K, V> Lists<'_, K, V>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    /// Creates the graph. With `strict`, only appends of transactions that are known to have committed count.
    fn draft(&self, level: Level, strict: bool) -> GraphDraft {
        let ledger = &self.ledger;
        let mut draft = GraphDraft::new(ledger.len());
        let counts = |write: u32| {
            let fate = ledger.fate[ledger.writer(write) as usize];
            fate == TransactionFate::Committed || (!strict && fate.counts())
        };
        let mut ends = vec![NONE; self.keys.len()];
        for (key, versions) in self.keys.iter().enumerate() {
            let mut last = NONE;
            for write in versions.writes.iter().copied().filter(|w| *w != NONE && counts(*w)) {
                if last != NONE {
                    draft.link(
                        ledger.writer(last),
                        ledger.writer(write),
                        EdgeKind::Ww,
                        last,
                        write,
                    );
                }
                last = write;
            }
            // The order of appends that were never read is free, so they have no edges between them. A helper
            // represents all of them as successors of the reads of the whole list.
            let unseen: Vec<u32> = versions.unseen.iter().copied().filter(|w| counts(*w)).collect();
            if !unseen.is_empty() {
                ends[key] = draft.helper();
            }
            for write in unseen {
                if last != NONE {
                    draft.link(
                        ledger.writer(last),
                        ledger.writer(write),
                        EdgeKind::Ww,
                        last,
                        write,
                    );
                }
                draft.link(ends[key], ledger.writer(write), EdgeKind::On, NONE, write);
            }
        }
        for &(transaction, key, count) in &self.reads {
            let versions = &self.keys[key as usize];
            let base = self.base(transaction, key, count as usize);
            if base != NONE {
                draft.link(ledger.writer(base), transaction, EdgeKind::Wr, base, NONE);
            }
            let last = versions.last[count as usize];
            match versions.next[count as usize] {
                NONE if ends[key as usize] != NONE => {
                    draft.link(transaction, ends[key as usize], EdgeKind::Rw, last, NONE);
                }
                NONE => {}
                next => draft.link(transaction, ledger.writer(next), EdgeKind::Rw, last, next),
            }
        }
        if level >= Level::StrongSessionSerializable {
            ledger
                .link_time(&mut draft, EdgeKind::Process, |transaction| ledger.client(transaction));
        }
        if level == Level::StrictSerializable {
            ledger.link_time(&mut draft, EdgeKind::RealTime, |_| 0);
        }
        draft
    }

    /// Returns the anomalies. If the meter is over, returns only some of them.
    fn anomalies(&self, level: Level, meter: &mut Meter<'_>) -> Anomalies {
        let mut cycles = Vec::new();
        if level > Level::ReadUncommitted {
            cycles = cycles::find(&self.draft(level, false).finish(), level, meter);
        }
        let found = self.with_other_anomalies(cycles);
        if found.weakest() == Some(Level::ReadUncommitted) {
            return found;
        }
        let strict = self.draft(Level::ReadUncommitted, true).finish();
        let mut findings = found.findings;
        for (name, rules_out, steps) in cycles::find(&strict, Level::ReadUncommitted, meter) {
            findings.insert(0, cycle(self.words(), &name, rules_out, &steps));
        }
        Anomalies { findings }
    }

    /// Returns these cycles together with the other anomalies.
    ///
    /// A read shows that a transaction without a return committed only if reads return committed data. So anomalies
    /// that use such a transaction's appends cannot rule out weaker levels than read committed.
    fn with_other_anomalies(&self, cycles: Vec<(String, Level, Vec<CycleEdge>)>) -> Anomalies {
        let mut findings = self.direct.all();
        for (name, rules_out, steps) in cycles {
            findings.push(cycle(self.words(), &name, rules_out, &steps));
        }
        for finding in &mut findings {
            let fate = |t: &usize| self.ledger.fate[*t];
            if finding.part.iter().any(|t| fate(t) == TransactionFate::Seen) {
                finding.rules_out = finding.rules_out.max(Level::ReadCommitted);
            }
        }
        sort_by_key(&mut findings, |finding| (finding.rules_out, finding.part.len()));
        Anomalies { findings }
    }

    /// Runs the transactions one after another. Returns `true` if every read returns the current list. A current list
    /// is a prefix of the longest list read, followed by appends that were never read.
    fn executes(&self, order: &[u32]) -> bool {
        let mut lists = vec![(0, true); self.keys.len()];
        order.iter().all(|transaction| {
            self.ledger.items(*transaction).iter().all(|item| match item {
                TransactionItem::Write(write) => {
                    let (length, known) = &mut lists[self.write(*write).key as usize];
                    *known &= self.place[*write as usize] == *length;
                    *length += 1;
                    true
                }
                TransactionItem::Read(key, list) => {
                    let (length, known) = lists[*key as usize];
                    known
                        && list.len() == length as usize
                        && self.keys[*key as usize].longest.starts_with(list)
                }
            })
        })
    }

    /// Returns the input of the search for snapshots.
    fn problem(&self) -> OrderProblem {
        let (ledger, count) = (&self.ledger, self.ledger.len());
        let writes = ledger.writes.len() as u32;
        let version = |key: u32, write: u32| if write == NONE { writes + key } else { write };
        let mut key: Vec<u32> = ledger.writes.iter().map(|write| write.key).collect();
        key.extend(0..self.keys.len() as u32);
        let mut problem = OrderProblem {
            key,
            initial: (0..self.keys.len() as u32).map(|key| writes + key).collect(),
            reads: vec![Vec::new(); count],
            writes: vec![Vec::new(); count],
            counts: ledger.fate.iter().map(|fate| fate.counts()).collect(),
            rank: (0..count as u32).map(|t| ledger.end(t)).collect(),
        };
        for &(transaction, key, length) in &self.reads {
            let base = version(key, self.base(transaction, key, length as usize));
            let reads = &mut problem.reads[transaction as usize];
            if !reads.contains(&base) {
                reads.push(base);
            }
        }
        for write in 0..writes {
            let transaction = ledger.writer(write);
            if ledger.fate[transaction as usize].counts() && self.later_append(write).is_none() {
                problem.writes[transaction as usize].push(write);
            }
        }
        problem
    }

    fn words(&self) -> WorkloadTerms<'_> {
        WorkloadTerms { names: &self.ledger, wrote: "appended", shows_all: true }
    }
}
