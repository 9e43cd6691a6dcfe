//! Transactions that write and read registers. The order of writes is known only in part.
//!
//! Values are unique, so the value of a read identifies its write. The order of writes is known in part. The initial
//! state comes first. A transaction that reads a version and writes the key creates the next version. If the level
//! respects time, a version that was read or written later is not older. Cycles in the resulting graph are violations.
//! A history without a cycle is decided by a search for an order.

use std::fmt::Debug;
use std::hash::Hash;
use unpause_ordered::sort_by_key;

use super::anomalies::{Anomalies, Level, WorkloadTerms, cycle, no_order};
use super::graph::{EdgeKind, GraphDraft, NONE};
use super::ledger::Unusable;
use super::order::{OrderResult, forward, serial, snapshot};
use super::registers::Registers;
use super::{RegisterTransaction, cycles};
use crate::limits::{Budget, Meter};
use crate::verdict::{Exhausted, Verdict, Witness};

/// Checks that a history of transactions on registers satisfies `level`.
///
/// No transaction may read the writes of an aborted transaction. A transaction that never returned counts as committed
/// if one of its writes was read, and is ignored otherwise.
///
/// Consistent: for [`Level::Serializable`] and above, [`Witness::order`] is a serial order of all committed
/// transactions, verified by execution; for weaker levels the order may be absent. Violated: the
/// [`Anomaly`](crate::verdict::Anomaly) that rules out the weakest level, with its cycle if it is a cycle. If a search
/// tried all orders, the evidence is the longest of these orders instead. Unknown: the graph has no anomaly, the first
/// order tried is not valid, and `budget` does not suffice to try all other orders.
///
/// # Errors
/// [`Unusable`] if a value is written to a key twice, or if two events have the same time. Also if a transaction
/// returns no later than its invocation, or has the wrong number of results.
///
/// # Panics
/// If the history has 2^30 transactions or more.
///
/// # Cost
/// O(n log n) for n events and reads at a fixed concurrency, if the graph or the first order decides. The search is
/// exponential in the worst case (the problem is NP-complete, Papadimitriou 1979). Long histories of many clients that
/// write without reading first often remain unknown. To avoid this, let transactions read the keys that they write, or
/// use [`list_append`](super::list_append()).
///
/// ```
/// use unpause_check::{transactions::{rw_register, Level, RegisterCall::*, TransactionOutcome::*}, Budget};
/// use unpause_check::history::Operation;
/// // Both read nothing and wrote: one write is lost.
/// let history = [
///     Operation {
///         client: 0,
///         op: vec![Read("x"), Write("x", 1)],
///         invoked: 1,
///         returned: Some((Committed(vec![None]), 3)),
///     },
///     Operation {
///         client: 1,
///         op: vec![Read("x"), Write("x", 2)],
///         invoked: 2,
///         returned: Some((Committed(vec![None]), 4)),
///     },
/// ];
/// let verdict = |level| rw_register(&history, level, &Budget::default()).unwrap();
/// assert!(verdict(Level::ReadCommitted).is_consistent());
/// let unpause_check::verdict::Verdict::Violated(evidence) = verdict(Level::Serializable) else { panic!() };
/// assert_eq!(evidence.anomaly.unwrap().name, "lost update");
/// ```
pub fn rw_register<K, V>(
    history: &[RegisterTransaction<K, V>],
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Unusable>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    let registers = Registers::new(history)?;
    let mut meter = Meter::new(budget);
    if let Some(finding) = registers.anomalies(level, &mut meter).worst(level) {
        return Ok(Verdict::Violated(Box::new(finding.evidence(ENGINE))));
    }
    let exhausted = |meter: &Meter<'_>, longest| {
        let (nodes, limit) = (meter.nodes, meter.limit());
        Ok(Verdict::Unknown(Exhausted { nodes, longest, operations: history.len(), limit }))
    };
    if meter.is_over() {
        return exhausted(&meter, 0);
    }
    let consistent = |engine: &str, order: Option<Vec<u32>>| {
        let order = order.map(|order| order.into_iter().map(|t| t as usize).collect());
        Ok(Verdict::Consistent(Witness { engine: engine.to_owned(), order }))
    };
    if level <= Level::ReadCommitted {
        // At these levels, the graph is enough: if it has no cycle, an order of all versions that follows the graph
        // adds no cycle.
        return consistent(ENGINE, None);
    }
    let mut problem = registers.problem();
    // Most systems are stronger than their guarantees, so the order of real time is tried first. The knots of this
    // order are short, so corrections are cheap; without real time, a correction may return to the beginning. This
    // attempt costs little compared with the size of the history.
    let mut own = meter.beside(u64::MAX);
    let strict = registers.required_order(Level::StrictSerializable, &mut own).finish();
    // The rank of a transaction is at most the ranks of its successors, so the order takes the earliest deadline first.
    for transaction in strict.order().into_iter().rev() {
        let after = strict.links(transaction).iter().filter(|link| !strict.is_helper(link.to));
        let deadlines = after.map(|link| problem.rank[link.to as usize]);
        let rank = deadlines.min().unwrap_or(u64::MAX);
        let rank_of = &mut problem.rank[transaction as usize];
        *rank_of = rank.min(*rank_of);
    }
    let is_tangled = registers.is_tangled(Level::StrictSerializable, &mut own);
    if !is_tangled && !own.is_over() {
        if let Some(order) = forward(&problem, &strict, 256, &mut own) {
            return consistent(SEARCH, Some(order));
        }
    }
    if level < Level::StrictSerializable {
        let graph = registers.required_order(level, &mut meter).finish();
        if let Some(order) = forward(&problem, &graph, 16, &mut meter) {
            return consistent(SEARCH, Some(order));
        }
    }
    let graph = registers.required_order(level, &mut meter).finish();
    if meter.is_over() {
        return exhausted(&meter, 0);
    }
    let mut search = serial(&problem, &graph, &mut meter);
    if level == Level::SnapshotIsolation && !matches!(search, OrderResult::Found(_)) {
        search = match snapshot(&problem, &graph.points(), &mut meter) {
            OrderResult::Found(_) => return consistent(SEARCH, None),
            other => other,
        };
    }
    match search {
        OrderResult::Found(order) => consistent(SEARCH, Some(order)),
        OrderResult::None(longest, misfit) => {
            Ok(Verdict::Violated(Box::new(no_order(level, SEARCH, longest, misfit))))
        }
        OrderResult::OutOfBudget(longest) => exhausted(&meter, longest),
    }
}

/// Returns all anomalies in the graph of a transaction history on registers, with the levels that they rule out.
///
/// The history may still violate a level that is not ruled out: check that level with [`rw_register`].
///
/// # Errors
/// The errors of [`rw_register`].
///
/// ```
/// use unpause_check::transactions::{rw_register_anomalies, Level, RegisterCall::*, TransactionOutcome::*};
/// use unpause_check::history::Operation;
/// // Each read what the other wrote.
/// let history = [
///     Operation {
///         client: 0,
///         op: vec![Read("x"), Write("y", 1)],
///         invoked: 1,
///         returned: Some((Committed(vec![Some(2)]), 3)),
///     },
///     Operation {
///         client: 1,
///         op: vec![Read("y"), Write("x", 2)],
///         invoked: 2,
///         returned: Some((Committed(vec![Some(1)]), 4)),
///     },
/// ];
/// let anomalies = rw_register_anomalies(&history).unwrap();
/// assert_eq!(anomalies.weakest(), Some(Level::ReadCommitted));
/// assert_eq!(anomalies.findings[0].anomaly.name, "G1c");
/// ```
pub fn rw_register_anomalies<K, V>(
    history: &[RegisterTransaction<K, V>],
) -> Result<Anomalies, Unusable>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    Ok(Registers::new(history)?.anomalies(Level::StrictSerializable, &mut Meter::unlimited()))
}

const ENGINE: &str = "rw-register cycles";
const SEARCH: &str = "rw-register cycles + order search";

impl<K, V> Registers<'_, K, V>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    /// Returns the anomalies. If the meter is over, returns only some of them.
    fn anomalies(&self, level: Level, meter: &mut Meter<'_>) -> Anomalies {
        let mut findings = self.direct.all();
        let base = level.min(Level::Serializable);
        let graph = self.draft(base, meter).finish();
        for (name, rules_out, steps) in cycles::find(&graph, base, meter) {
            findings.push(cycle(self.words(), &name, rules_out, &steps));
        }
        // The order of writes inferred from time has no meaning at weaker levels. So it rules out only the level for
        // which it was inferred, and it is inferred only if no other anomaly was found.
        for timed in [Level::StrongSessionSerializable, Level::StrictSerializable] {
            if timed > level || !findings.is_empty() {
                break;
            }
            let graph = self.draft(timed, meter).finish();
            for (name, _, steps) in cycles::find(&graph, timed, meter) {
                let plain = name.split("-process").next().unwrap_or(&name);
                let plain = plain.split("-realtime").next().unwrap_or(plain);
                let time = match timed {
                    Level::StrictSerializable => "realtime",
                    _ => "process",
                };
                findings.push(cycle(self.words(), &format!("{plain}-{time}"), timed, &steps));
            }
        }
        sort_by_key(&mut findings, |finding| (finding.rules_out, finding.part.len()));
        Anomalies { findings }
    }

    fn is_tangled(&self, level: Level, meter: &mut Meter<'_>) -> bool {
        cycles::tangled(&self.draft(level, meter).finish(), level)
    }

    /// Creates the graph of all known dependencies.
    fn draft(&self, level: Level, meter: &mut Meter<'_>) -> GraphDraft {
        let ledger = &self.ledger;
        let mut draft = self.required_order(level, meter);
        // The helpers for the readers of each version.
        let mut readers = vec![NONE; self.versions()];
        for &(_, version) in &self.reads {
            let replaced = !self.heirs(version).is_empty();
            if replaced && readers[version as usize] == NONE {
                let helper = draft.helper();
                readers[version as usize] = helper;
                for heir in self.heirs(version) {
                    draft.link(helper, ledger.writer(*heir), EdgeKind::On, NONE, *heir);
                }
            }
        }
        for (earlier, later) in self.inferred(level, meter) {
            let helper = &mut readers[earlier as usize];
            if *helper == NONE {
                *helper = draft.helper();
            }
            draft.link(*helper, ledger.writer(later), EdgeKind::On, NONE, later);
        }
        for &(transaction, version) in &self.reads {
            let helper = readers[version as usize];
            if helper != NONE {
                let before = self.write_of(version);
                draft.link(transaction, helper, EdgeKind::Rw, before, NONE);
            }
        }
        draft
    }

    /// Creates the graph of the required transaction order, without the conditions that the search itself checks.
    fn required_order(&self, level: Level, meter: &mut Meter<'_>) -> GraphDraft {
        let ledger = &self.ledger;
        let mut draft = GraphDraft::new(ledger.len());
        for &(transaction, version) in &self.reads {
            let write = self.write_of(version);
            if write != NONE {
                draft.link(ledger.writer(write), transaction, EdgeKind::Wr, write, NONE);
            }
        }
        for (earlier, later) in self.inferred(level, meter) {
            let before = self.write_of(earlier);
            if before != NONE {
                draft.link(
                    ledger.writer(before),
                    ledger.writer(later),
                    EdgeKind::Ww,
                    before,
                    later,
                );
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

    fn words(&self) -> WorkloadTerms<'_> {
        WorkloadTerms { names: &self.ledger, wrote: "wrote", shows_all: false }
    }
}
