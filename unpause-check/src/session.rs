//! Session guarantees (Terry et al. 1994): the guarantees for a client that switches between replicas.
//!
//! Keys are replicated registers. Each value is written to a key once, so the value of a read identifies its write. The
//! guarantees relate the calls of one client on one key to the order of that key's versions, which all clients share.
//! The caller provides this version order completely, in part, or not at all; the check decides if some order satisfies
//! the guarantees.
//!
//! Not supported: data with more than one current version, and guarantees across *different* keys (they need the set of
//! writes of each server, which clients cannot observe).

use std::error::Error;
use std::fmt::{self, Debug};
use std::hash::Hash;
use unpause_ordered::sort_by_key;

use super::hash::Table;
use super::transactions::{CycleEdge, EdgeKind, Graph, GraphDraft, NONE, shortest_cycle};
use crate::history::Operation;
use crate::verdict::{Anomaly, Edge, Evidence, Verdict, Witness};

/// A call of a client on one key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SessionCall<K, V> {
    /// Writes a new version.
    Write(K, V),
    /// Reads a version, or nothing if no write is visible.
    Read(K),
}

/// The result of a [`SessionCall`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SessionRet<V> {
    /// The write was accepted.
    Written,
    /// The value that the read returned.
    Value(Option<V>),
}

/// A call of a client. All calls with the same [`Operation::client`] form a session.
pub type SessionOperation<K, V> = Operation<SessionCall<K, V>, SessionRet<V>>;

/// A guarantee of each session. "Later" means that the same client invoked the call on the same key after the other
/// call returned. A read of nothing comes before every version.
///
/// ```
/// use unpause_check::Operation;
/// use unpause_check::session::{Guarantee, SessionCall::*, SessionRet::*, session};
/// // The client reads the second version and then the first.
/// let read = |value, invoked| Operation {
///     client: 1,
///     op: Read("x"),
///     invoked,
///     returned: Some((Value(Some(value)), invoked + 1)),
/// };
/// let write = |value, invoked| Operation {
///     client: 0,
///     op: Write("x", value),
///     invoked,
///     returned: Some((Written, invoked + 1)),
/// };
/// let history = [write(1, 0), write(2, 2), read(2, 4), read(1, 6)];
/// let order = [("x", vec![1, 2])];
/// assert!(session(&history, &[Guarantee::MonotonicReads], &order).unwrap().is_violated());
/// assert!(session(&history, &[Guarantee::ReadYourWrites], &order).unwrap().is_consistent());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Guarantee {
    /// After a write, a later read returns that version or a later one.
    ReadYourWrites,
    /// After a read, a later read returns that version or a later one.
    MonotonicReads,
    /// After a write, a later write creates a later version.
    MonotonicWrites,
    /// After a read, a later write creates a later version.
    WritesFollowReads,
}

impl Guarantee {
    /// All four guarantees.
    pub const ALL: [Guarantee; 4] = [
        Guarantee::ReadYourWrites,
        Guarantee::MonotonicReads,
        Guarantee::MonotonicWrites,
        Guarantee::WritesFollowReads,
    ];

    /// Returns the guarantee for a call and a later call. The arguments say which of them are writes.
    fn about(first_writes: bool, then_writes: bool) -> Guarantee {
        match (first_writes, then_writes) {
            (true, false) => Guarantee::ReadYourWrites,
            (false, false) => Guarantee::MonotonicReads,
            (true, true) => Guarantee::MonotonicWrites,
            (false, true) => Guarantee::WritesFollowReads,
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Guarantee::ReadYourWrites => "read your writes",
            Guarantee::MonotonicReads => "monotonic reads",
            Guarantee::MonotonicWrites => "monotonic writes",
            Guarantee::WritesFollowReads => "writes follow reads",
        })
    }
}

/// Checks that all `guarantees` hold at once, for some order of the versions of each key.
///
/// `versions` is the known part of that order: for each key, values in version order. `versions` is empty if no order
/// is known. A write that never returned may have taken effect, but it does not constrain the later calls of its
/// client.
///
/// Consistent: [`Witness::order`] has all writes, with the writes of each key in a possible version order. Violated: a
/// cycle, named after the guarantees in it, with the two calls of one client for each edge, or a read of a value that
/// was never written. The verdict is never unknown.
///
/// # Errors
/// [`BadSession`] if a value is written to a key twice, a result has the wrong kind, a call returned no later than its
/// invocation, or `versions` has an unwritten value.
///
/// # Cost
/// O(n log n) for n operations.
///
/// ```
/// use unpause_check::session::{Guarantee, SessionCall::*, SessionRet::*, session};
/// use unpause_check::history::Operation;
/// // A client writes at one replica and reads at another.
/// let history = [
///     Operation { client: 0, op: Write("x", 1), invoked: 1, returned: Some((Written, 2)) },
///     Operation { client: 0, op: Read("x"), invoked: 3, returned: Some((Value(None), 4)) },
/// ];
/// let verdict = session(&history, &[Guarantee::ReadYourWrites], &[]).unwrap();
/// let unpause_check::verdict::Verdict::Violated(evidence) = verdict else { panic!() };
/// let anomaly = evidence.anomaly.unwrap();
/// assert_eq!(anomaly.name, "read your writes");
/// assert_eq!(
///     anomaly.edges[0].why,
///     "client 0 wrote 1 to \"x\" (operation 0) and then read nothing (operation 1)"
/// );
/// assert!(session(&history, &[Guarantee::MonotonicReads], &[]).unwrap().is_consistent());
/// ```
pub fn session<K, V>(
    history: &[SessionOperation<K, V>],
    guarantees: &[Guarantee],
    versions: &[(K, Vec<V>)],
) -> Result<Verdict, BadSession>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    let mut sessions = Sessions::new(history)?;
    if let Some(evidence) = sessions.garbage() {
        return Ok(Verdict::Violated(Box::new(evidence)));
    }
    sessions.know(versions)?;
    if let Some(evidence) = sessions.promise(guarantees) {
        return Ok(Verdict::Violated(Box::new(evidence)));
    }
    let graph = sessions.draft.finish();
    if let Some(steps) = shortest_cycle(&graph) {
        return Ok(Verdict::Violated(Box::new(sessions.evidence(&steps))));
    }
    let order = Some(sessions.order(&graph));
    Ok(Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order }))
}

const ENGINE: &str = "session marks";

/// A history of sessions, and the required version order.
struct Sessions<'h, K, V> {
    history: &'h [SessionOperation<K, V>],
    keys: Table<&'h K, u32>,
    /// The operation that wrote each version. These versions come first; one initial version per key follows, without
    /// an operation.
    writes: Vec<u32>,
    by_value: Table<(u32, &'h V), u32>,
    /// The version that each operation wrote or read, if known.
    version: Vec<u32>,
    key: Vec<u32>,
    draft: GraphDraft,
}

impl<'h, K, V> Sessions<'h, K, V>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    fn new(history: &'h [SessionOperation<K, V>]) -> Result<Self, BadSession> {
        let mut sessions = Sessions {
            history,
            keys: Table::default(),
            writes: Vec::new(),
            by_value: Table::default(),
            version: vec![NONE; history.len()],
            key: Vec::with_capacity(history.len()),
            draft: GraphDraft::new(0),
        };
        for (operation, call) in history.iter().enumerate() {
            let bad = |text: String| Err(BadSession { operation: Some(operation), text });
            if call.end() <= call.invoked {
                return bad("returned no later than it was invoked".to_owned());
            }
            let (SessionCall::Write(key, _) | SessionCall::Read(key)) = &call.op;
            let fresh = sessions.keys.len() as u32;
            let number = *sessions.keys.entry(key).or_insert(fresh);
            sessions.key.push(number);
            let ret = call.returned.as_ref().map(|(ret, _)| ret);
            match (&call.op, ret) {
                (SessionCall::Write(_, value), Some(SessionRet::Written) | None) => {
                    let version = sessions.writes.len() as u32;
                    sessions.version[operation] = version;
                    sessions.writes.push(operation as u32);
                    if let Some(other) = sessions.by_value.insert((number, value), version) {
                        let other = sessions.writes[other as usize];
                        return bad(format!(
                            "writes {value:?} to {key:?}, as operation {other} does: each value \
                             must be written to a key once"
                        ));
                    }
                }
                (SessionCall::Read(_), Some(SessionRet::Value(_)) | None) => {}
                _ => return bad("has the result of another kind of call".to_owned()),
            }
        }
        for (operation, call) in history.iter().enumerate() {
            // This needs a second pass, because a read may come before its write in `history`. The number of a key's
            // initial version comes after the numbers of all writes.
            if let Some((SessionRet::Value(value), _)) = &call.returned {
                let key = sessions.key[operation];
                sessions.version[operation] = match value {
                    None => sessions.writes.len() as u32 + key,
                    Some(value) => sessions.by_value.get(&(key, value)).copied().unwrap_or(NONE),
                };
            }
        }
        sessions.draft = GraphDraft::new(sessions.writes.len() + sessions.keys.len());
        for (version, operation) in sessions.writes.iter().enumerate() {
            let initial = sessions.writes.len() as u32 + sessions.key[*operation as usize];
            sessions.draft.link(initial, version as u32, EdgeKind::Ww, NONE, NONE);
        }
        Ok(sessions)
    }

    /// Returns the evidence for a read of a value that was never written.
    fn garbage(&self) -> Option<Evidence> {
        let is_garbage = |i: &usize| {
            let returned = self.history[*i].returned.is_some();
            returned && self.version[*i] == NONE
        };
        let misfit = (0..self.history.len()).find(is_garbage)?;
        let text = format!("{} (operation {misfit}), and nobody wrote that", self.did(misfit));
        Some(named("garbage", text, Vec::new(), vec![misfit], misfit))
    }

    fn know(&mut self, versions: &[(K, Vec<V>)]) -> Result<(), BadSession> {
        for (key, values) in versions {
            let mut last = NONE;
            for value in values {
                let number = self.keys.get(key).copied();
                let version = number.and_then(|key| self.by_value.get(&(key, value)).copied());
                let Some(version) = version else {
                    let text = format!("nobody wrote {value:?} to {key:?}, a version of it");
                    return Err(BadSession { operation: None, text });
                };
                if last == version {
                    let text = format!("{value:?} is a version of {key:?} twice");
                    return Err(BadSession { operation: None, text });
                }
                if last != NONE {
                    self.draft.link(last, version, EdgeKind::Ww, NONE, NONE);
                }
                last = version;
            }
        }
        Ok(())
    }

    /// Links each call of a client on a key to its later calls on that key. One chain of helpers represents the
    /// client's writes up to each moment, and a second chain its reads. Each helper follows the previous helper of its
    /// chain. So there are O(n) links instead of O(n²).
    fn promise(&mut self, guarantees: &[Guarantee]) -> Option<Evidence> {
        let mut events = Vec::with_capacity(2 * self.history.len());
        for (operation, call) in self.history.iter().enumerate() {
            events.push((call.invoked, operation, false));
            // A read without a result is ignored. A call that never returned precedes no call.
            if call.returned.is_some() {
                events.push((call.end(), operation, true));
            }
        }
        events.sort_unstable();
        let mut marks: Table<(u32, u32, bool), u32> = Table::default();
        let mut read: Table<(u32, u32), usize> = Table::default();
        for (_, operation, back) in events {
            let call = &self.history[operation];
            let (client, key, version) =
                (call.client, self.key[operation], self.version[operation]);
            if version == NONE {
                continue;
            }
            let writes = matches!(call.op, SessionCall::Write(..));
            if !back {
                for first_writes in [true, false] {
                    let asked = guarantees.contains(&Guarantee::about(first_writes, writes));
                    let mark = marks.get(&(client, key, first_writes)).filter(|_| asked);
                    if let Some(mark) = mark {
                        self.draft.link(*mark, version, EdgeKind::On, NONE, operation as u32);
                    }
                }
                // The client read this version before it wrote the version.
                let early = read.get(&(client, version)).filter(|_| writes);
                if let (Some(early), true) =
                    (early, guarantees.contains(&Guarantee::WritesFollowReads))
                {
                    let why = self.why(*early, operation);
                    let edges = vec![Edge { from: *early, to: operation, why: why.clone() }];
                    let name = Guarantee::WritesFollowReads.to_string();
                    return Some(named(&name, why, edges, vec![*early, operation], operation));
                }
                continue;
            }
            if !writes {
                read.entry((client, version)).or_insert(operation);
            }
            let mark = self.draft.helper();
            self.draft.link(version, mark, EdgeKind::Process, operation as u32, NONE);
            if let Some(before) = marks.insert((client, key, writes), mark) {
                self.draft.link(before, mark, EdgeKind::On, NONE, NONE);
            }
        }
        None
    }

    fn order(&self, graph: &Graph) -> Vec<usize> {
        let versions = graph.order().into_iter().map(|version| version as usize);
        let mut order: Vec<usize> =
            versions.filter_map(|v| self.writes.get(v)).map(|i| *i as usize).collect();
        sort_by_key(&mut order, |operation| self.key[*operation]);
        order
    }

    fn did(&self, operation: usize) -> String {
        let call = &self.history[operation];
        let value = match (&call.op, &call.returned) {
            (SessionCall::Write(key, value), _) => format!("wrote {value:?} to {key:?}"),
            (SessionCall::Read(key), Some((SessionRet::Value(Some(value)), _))) => {
                format!("read {value:?} of {key:?}")
            }
            (SessionCall::Read(_), _) => "read nothing".to_owned(),
        };
        format!("client {} {value}", call.client)
    }

    fn why(&self, first: usize, then: usize) -> String {
        let did = self.did(then);
        let did = did.split_once(' ').and_then(|(_, rest)| rest.split_once(' '));
        let did = did.map_or("", |(_, did)| did);
        format!("{} (operation {first}) and then {did} (operation {then})", self.did(first))
    }

    fn evidence(&self, steps: &[CycleEdge]) -> Evidence {
        let mut names: Vec<Guarantee> = Vec::new();
        let mut part: Vec<usize> = Vec::new();
        let mut edges: Vec<Edge> = Vec::new();
        // A version is shown by its write. An initial version, which has no write, is shown by the read that returned
        // nothing.
        let shown = |version: u32, step: &CycleEdge| {
            let write = self.writes.get(version as usize).copied();
            write.unwrap_or(if step.after == NONE { step.before } else { step.after }) as usize
        };
        for (at, step) in steps.iter().enumerate() {
            let before = &steps[(at + steps.len() - 1) % steps.len()];
            let next = &steps[(at + 1) % steps.len()];
            let (from, to) = (
                shown(step.from, before),
                match step.after {
                    NONE => shown(step.to, next),
                    _ => shown(step.to, step),
                },
            );
            let why = if step.before == NONE {
                match self.writes.get(step.from as usize) {
                    None => "nothing is before every version".to_owned(),
                    Some(_) => "this is the order of versions that was given".to_owned(),
                }
            } else {
                let (first, then) = (step.before as usize, step.after as usize);
                part.extend([first, then]);
                let writes = |i: usize| matches!(self.history[i].op, SessionCall::Write(..));
                names.push(Guarantee::about(writes(first), writes(then)));
                self.why(first, then)
            };
            part.extend([from, to]);
            edges.push(Edge { from, to, why });
        }
        names.sort_unstable();
        names.dedup();
        part.sort_unstable();
        part.dedup();
        let name: Vec<String> = names.iter().map(Guarantee::to_string).collect();
        let name = if name.is_empty() { "version order".to_owned() } else { name.join(" + ") };
        let whys: Vec<&str> = edges.iter().map(|edge| edge.why.as_str()).collect();
        let text = format!(
            "each of these makes one version no later than the next, and the last is the first: {}",
            whys.join("; ")
        );
        let latest = part.iter().copied().max_by_key(|i| self.history[*i].invoked);
        named(&name, text, edges, part, latest.expect("a cycle has operations"))
    }
}

fn named(name: &str, text: String, edges: Vec<Edge>, part: Vec<usize>, misfit: usize) -> Evidence {
    Evidence {
        engine: ENGINE.to_owned(),
        anomaly: Some(Anomaly { name: name.to_owned(), text, edges }),
        misfit,
        part,
        ..Evidence::default()
    }
}

/// The error of a session history, or of a version order, that contradicts itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSession {
    /// The index of the operation at fault; `None` if the version order is at fault.
    pub operation: Option<usize>,
    /// The error.
    text: String,
}

impl fmt::Display for BadSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Some(operation) => write!(f, "operation {operation} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Error for BadSession {}
