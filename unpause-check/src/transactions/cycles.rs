//! Cycles in the dependency graph: their classes, and a short cycle of each class.
//!
//! Strongly connected components decide, exactly and in linear time, if a class has a cycle. The search for a short
//! cycle to show is breadth-first from each transaction of a component. In a large component it ends after a fixed
//! amount of work and returns the shortest cycle found by then.

use super::anomalies::Level;
use super::graph::{EdgeKind, EdgeKinds, Graph, NONE};
use crate::limits::Meter;

/// An edge between transactions: one link, or several links through helpers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CycleEdge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// A class of cycles. The search starts from an edge of the kinds `first`; all other edges have the kinds `rest`.
struct Class {
    name: &'static str,
    first: EdgeKinds,
    rest: EdgeKinds,
    /// True if two consecutive `rw` edges are allowed.
    adjacent: bool,
    level: Level,
}

const DATA: EdgeKinds = EdgeKinds::WW.and(EdgeKinds::WR);
const ALL: EdgeKinds = DATA.and(EdgeKinds::RW);

const fn class(name: &'static str, first: EdgeKinds, rest: EdgeKinds, level: Level) -> Class {
    Class { name, first, rest, adjacent: true, level }
}

/// The classes, from the worst to the mildest (Adya 1999; Elle 2020, section 4).
const CLASSES: &[Class] = &[
    class("G0", EdgeKinds::WW, EdgeKinds::WW, Level::ReadUncommitted),
    class("G1c", EdgeKinds::WR, DATA, Level::ReadCommitted),
    class("G-single", EdgeKinds::RW, DATA, Level::SnapshotIsolation),
    Class {
        adjacent: false,
        ..class("G-nonadjacent", EdgeKinds::RW, ALL, Level::SnapshotIsolation)
    },
    class("G2-item", EdgeKinds::RW, ALL, Level::Serializable),
];

/// The classes with an edge of time; the condition on the other edges becomes milder from row to row.
const TIMED: &[(EdgeKinds, EdgeKinds)] = &[
    (EdgeKinds::WW, EdgeKinds::WW),
    (EdgeKinds::WW.and(EdgeKinds::WR), DATA),
    (EdgeKinds::RW, DATA),
    (EdgeKinds::RW, ALL),
];

/// Returns the kinds of edges that must not form a cycle at a level. For snapshot isolation, [`Graph::points`] decides.
pub(super) fn kinds(level: Level) -> EdgeKinds {
    match level {
        Level::ReadUncommitted => EdgeKinds::WW,
        Level::ReadCommitted => DATA,
        Level::SnapshotIsolation | Level::Serializable => ALL,
        Level::StrongSessionSerializable => ALL.and(EdgeKinds::PROCESS),
        Level::StrictSerializable => ALL.and(EdgeKinds::PROCESS).and(EdgeKinds::REAL_TIME),
    }
}

/// Returns `true` if the graph has a cycle that `level` does not allow.
pub(super) fn tangled(graph: &Graph, level: Level) -> bool {
    match level {
        Level::SnapshotIsolation => {
            !graph.points().components(ALL.and(EdgeKinds::PROCESS)).knots.is_empty()
        }
        _ => !graph.components(kinds(level)).knots.is_empty(),
    }
}

/// Returns a short cycle of each class in each component, with its name and the weakest level that it rules out, up to
/// `level`. Returns at least one cycle if the graph has a cycle that `level` does not allow, unless the meter is over.
pub(super) fn find(
    graph: &Graph,
    level: Level,
    meter: &mut Meter<'_>,
) -> Vec<(String, Level, Vec<CycleEdge>)> {
    let mut found = Vec::new();
    if !tangled(graph, level) {
        return found;
    }
    let mut finder = Finder::new(graph, meter);
    for class in CLASSES.iter().filter(|class| class.level <= level) {
        finder.class(class, &mut found);
    }
    for (kind, timed) in [
        (EdgeKinds::PROCESS, Level::StrongSessionSerializable),
        (EdgeKinds::REAL_TIME, Level::StrictSerializable),
    ] {
        if timed > level {
            continue;
        }
        for (first, rest) in TIMED {
            let with = rest.and(kind);
            // If `rw` edges are allowed, the search starts from an `rw` edge and finds the edge of time.
            let first = if first.has(EdgeKind::Rw) { *first } else { kind };
            finder.class(&class("", first, with, timed), &mut found);
        }
        // Each remaining cycle has an edge of time.
        if !found.iter().any(|(_, rules_out, _)| *rules_out <= timed) {
            finder.class(&class("", kind, ALL.and(kind), timed), &mut found);
        }
    }
    if found.is_empty() {
        // All bounded searches failed, so search from any edge of a cycle.
        finder.class(&class("", kinds(level), kinds(level), level), &mut found);
    }
    found
}

/// Returns a short cycle of edges of any kind, for other checkers that use a graph.
pub(crate) fn shortest_cycle(graph: &Graph) -> Option<Vec<CycleEdge>> {
    let all = kinds(Level::StrictSerializable);
    let mut found = Vec::new();
    if !graph.components(all).knots.is_empty() {
        Finder::new(graph, &mut Meter::unlimited())
            .class(&class("", all, all, Level::StrictSerializable), &mut found);
    }
    found.into_iter().map(|(_, _, steps)| steps).min_by_key(Vec::len)
}

/// The maximum number of components to show per class. Components without a cycle of the class do not count.
const KNOTS_MAX: usize = 32;

/// The maximum number of links to follow for one component and class. The search then returns the best cycle found.
const WORK_MAX: usize = 2_000_000;

struct Finder<'g, 'm, 'b> {
    graph: &'g Graph,
    meter: &'m mut Meter<'b>,
    // For each node and bit: the last search that visited it, and the step that led there. The bit of a transaction is
    // set if the last edge was `rw` and the class restricts such edges. A helper is entered from at most two
    // transactions: two are needed because a helper may only lead back to the transaction from which it was entered.
    seen: Vec<u32>,
    parent: Vec<(u32, CycleEdge)>,
    origin: Vec<u32>,
    search: u32,
    work: usize,
}

impl<'g, 'm, 'b> Finder<'g, 'm, 'b> {
    fn new(graph: &'g Graph, meter: &'m mut Meter<'b>) -> Self {
        let size = 2 * graph.nodes();
        let blank =
            CycleEdge { from: NONE, to: NONE, kind: EdgeKind::On, before: NONE, after: NONE };
        Finder {
            graph,
            meter,
            seen: vec![0; size],
            parent: vec![(NONE, blank); size],
            origin: vec![NONE; graph.nodes()],
            search: 0,
            work: 0,
        }
    }

    fn class(&mut self, class: &Class, found: &mut Vec<(String, Level, Vec<CycleEdge>)>) {
        let components = self.graph.components(class.first.and(class.rest));
        let mut shown = 0;
        for knot in &components.knots {
            if shown == KNOTS_MAX {
                break;
            }
            self.work = 0;
            let mut best: Option<Vec<CycleEdge>> = None;
            for source in knot {
                let before = self.work;
                if let Some(steps) = self.shortest_from(*source, class, &components.of) {
                    if best.as_ref().is_none_or(|best| steps.len() < best.len()) {
                        best = Some(steps);
                    }
                }
                // Following a link costs a fraction of a model step.
                if !self.meter.work((self.work - before) as u32 / 8 + 1) {
                    break;
                }
                let short = best.as_ref().is_some_and(|best| best.len() == 2);
                if short || (self.work > WORK_MAX && best.is_some()) || self.work > 20 * WORK_MAX {
                    break;
                }
            }
            if let Some(steps) = best {
                shown += 1;
                let (name, rules_out) = name(&steps);
                let known = found.iter().any(|(_, _, other)| same(other, &steps));
                if !known && (class.name.is_empty() || class.name == name) {
                    found.push((name, rules_out, steps));
                }
            }
        }
    }

    /// Returns the shortest cycle of the class that starts at `source` and stays in its component.
    ///
    /// The search is breadth-first over states. A state is a transaction and, if the class restricts `rw` edges, a flag
    /// for `rw` as the last edge.
    fn shortest_from(&mut self, source: u32, class: &Class, of: &[u32]) -> Option<Vec<CycleEdge>> {
        self.search += 1;
        let mut level = vec![2 * source];
        let mut allowed = class.first;
        let mut steps = Vec::new();
        while !level.is_empty() {
            let mut next = Vec::new();
            for state in level {
                self.leave(state, allowed, class, of, &mut steps);
                for step in steps.drain(..) {
                    // The cycle begins with `rw`, so it must not end with `rw`.
                    let closes = class.adjacent || step.kind != EdgeKind::Rw;
                    if step.to == source && step.from != source && closes {
                        return Some(self.path(state, step));
                    }
                    let bit = u32::from(!class.adjacent && step.kind == EdgeKind::Rw);
                    let reached = 2 * step.to + bit;
                    if step.to != source && self.seen[reached as usize] != self.search {
                        self.seen[reached as usize] = self.search;
                        self.parent[reached as usize] = (state, step);
                        next.push(reached);
                    }
                }
            }
            level = next;
            allowed = class.rest;
        }
        None
    }

    /// Collects the edges of the kinds `allowed` from a state to transactions of its component, in link order. A path
    /// through helpers is one edge, with the kind of the link that enters the first helper.
    fn leave(
        &mut self,
        state: u32,
        allowed: EdgeKinds,
        class: &Class,
        of: &[u32],
        steps: &mut Vec<CycleEdge>,
    ) {
        let (from, was_rw) = (state / 2, state % 2 == 1);
        let mut inside: Vec<(u32, EdgeKind, u32)> = vec![(from, EdgeKind::On, NONE)];
        while let Some((at, entered_by, entered_at)) = inside.pop() {
            for link in self.graph.links(at) {
                self.work += 1;
                let (kind, before) =
                    if at == from { (link.kind, link.before) } else { (entered_by, entered_at) };
                let refused = !allowed.has(kind)
                    || of[link.to as usize] != of[from as usize]
                    || (!class.adjacent && was_rw && kind == EdgeKind::Rw);
                if refused {
                    continue;
                }
                if !self.graph.is_helper(link.to) {
                    steps.push(CycleEdge { from, to: link.to, kind, before, after: link.after });
                } else if self.enter(link.to, from) {
                    inside.push((link.to, kind, before));
                }
            }
        }
    }

    /// Returns `true` if the search must enter a helper from this transaction.
    fn enter(&mut self, helper: u32, from: u32) -> bool {
        let state = 2 * helper as usize;
        if self.seen[state] != self.search {
            self.seen[state] = self.search;
            self.origin[helper as usize] = from;
            return true;
        }
        if self.origin[helper as usize] != from && self.seen[state + 1] != self.search {
            self.seen[state + 1] = self.search;
            return true;
        }
        false
    }

    fn path(&self, mut state: u32, last: CycleEdge) -> Vec<CycleEdge> {
        let mut steps = vec![last];
        let source = last.to;
        while state / 2 != source {
            let (parent, step) = self.parent[state as usize];
            steps.push(step);
            state = parent;
        }
        steps.reverse();
        steps
    }
}

/// Returns `true` if two cycles contain the same transactions.
fn same(a: &[CycleEdge], b: &[CycleEdge]) -> bool {
    let nodes = |steps: &[CycleEdge]| {
        let mut nodes: Vec<u32> = steps.iter().map(|step| step.from).collect();
        nodes.sort_unstable();
        nodes
    };
    a.len() == b.len() && nodes(a) == nodes(b)
}

/// Returns the name of a cycle, determined by its edges, and the weakest level that it rules out.
fn name(steps: &[CycleEdge]) -> (String, Level) {
    let has = |kind| steps.iter().any(|step| step.kind == kind);
    let rw = steps.iter().filter(|step| step.kind == EdgeKind::Rw).count();
    let next = steps.iter().cycle().skip(1);
    let adjacent =
        steps.iter().zip(next).any(|(a, b)| a.kind == EdgeKind::Rw && b.kind == EdgeKind::Rw);
    let (name, level) = match rw {
        0 if has(EdgeKind::Wr) => ("G1c", Level::ReadCommitted),
        0 => ("G0", Level::ReadUncommitted),
        1 => ("G-single", Level::SnapshotIsolation),
        _ if !adjacent => ("G-nonadjacent", Level::SnapshotIsolation),
        _ => ("G2-item", Level::Serializable),
    };
    if has(EdgeKind::RealTime) {
        (format!("{name}-realtime"), Level::StrictSerializable)
    } else if has(EdgeKind::Process) {
        (format!("{name}-process"), Level::StrongSessionSerializable)
    } else {
        (name.to_owned(), level)
    }
}
