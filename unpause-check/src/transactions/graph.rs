//! The dependency graph between transactions, and its strongly connected components.
//!
//! Nodes are transactions and helpers. A helper represents many edges at once, such as the edges from all readers of
//! one version, or from all returns before one moment. A helper is entered by a link of some kind and left by links of
//! the kind [`EdgeKind::On`]; together they form one edge, with the kind of the first link. So O(n) links represent a
//! quadratic number of edges.

/// The number for "no write": the initial state of a key, or an edge that is not about writes.
pub(crate) const NONE: u32 = u32::MAX;

/// The reason why one transaction comes before another.
use unpause_ordered::sort;
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EdgeKind {
    /// The second transaction wrote the version that follows a version of the first.
    Ww,
    /// The second transaction read a value that the first wrote.
    Wr,
    /// The first transaction read a version, and the second wrote a later version.
    Rw,
    /// The client of both transactions ran the first before the second.
    Process,
    /// The first transaction returned before the second was invoked.
    RealTime,
    /// The link starts at a helper.
    On,
}

/// A set of [`EdgeKind`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EdgeKinds(u8);

impl EdgeKinds {
    pub(super) const WW: EdgeKinds = EdgeKinds::of(EdgeKind::Ww);
    pub(super) const WR: EdgeKinds = EdgeKinds::of(EdgeKind::Wr);
    pub(super) const RW: EdgeKinds = EdgeKinds::of(EdgeKind::Rw);
    pub(super) const PROCESS: EdgeKinds = EdgeKinds::of(EdgeKind::Process);
    pub(super) const REAL_TIME: EdgeKinds = EdgeKinds::of(EdgeKind::RealTime);

    const fn of(kind: EdgeKind) -> EdgeKinds {
        EdgeKinds(1 << kind as u8)
    }

    pub(super) const fn and(self, other: EdgeKinds) -> EdgeKinds {
        EdgeKinds(self.0 | other.0)
    }

    pub(super) const fn has(self, kind: EdgeKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Returns `true` if a search may follow a link of this kind. A search may always follow a link from a helper,
    /// because the link into the helper has the kind of the edge.
    const fn allows(self, kind: EdgeKind) -> bool {
        matches!(kind, EdgeKind::On) || self.has(kind)
    }
}

/// One link with its writes: `before` is the earlier version or the version read, and `after` is the later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GraphLink {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) kind: EdgeKind,
    pub(super) before: u32,
    pub(super) after: u32,
}

/// A graph under construction.
#[derive(Clone)]
pub(crate) struct GraphDraft {
    transactions: u32,
    nodes: u32,
    links: Vec<GraphLink>,
}

impl GraphDraft {
    pub(crate) fn new(transactions: usize) -> GraphDraft {
        let transactions = u32::try_from(transactions).expect("fewer than 2^32 transactions");
        GraphDraft { transactions, nodes: transactions, links: Vec::new() }
    }

    /// Adds a helper and returns its number.
    pub(crate) fn helper(&mut self) -> u32 {
        self.nodes = self.nodes.checked_add(1).expect("fewer than 2^32 nodes");
        self.nodes - 1
    }

    /// Adds a link. A link from a node to itself is left out, because no transaction comes before itself.
    pub(crate) fn link(&mut self, from: u32, to: u32, kind: EdgeKind, before: u32, after: u32) {
        if from != to {
            self.links.push(GraphLink { from, to, kind, before, after });
        }
    }

    pub(crate) fn finish(&self) -> Graph {
        let nodes = self.nodes as usize;
        let mut start = vec![0u32; nodes + 1];
        for link in &self.links {
            start[link.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let blank = GraphLink { from: 0, to: 0, kind: EdgeKind::On, before: NONE, after: NONE };
        let mut links = vec![blank; self.links.len()];
        for link in &self.links {
            let place = &mut next[link.from as usize];
            links[*place as usize] = *link;
            *place += 1;
        }
        Graph { transactions: self.transactions, start, links }
    }
}

/// The links, grouped by their start.
pub(crate) struct Graph {
    transactions: u32,
    // `links[start[node]..start[node + 1]]` start at `node`.
    start: Vec<u32>,
    links: Vec<GraphLink>,
}

/// The strongly connected components for some kinds of edges.
pub(super) struct Components {
    /// The number of the component of each node.
    pub(super) of: Vec<u32>,
    /// The transactions of each component that has more than one transaction.
    pub(super) knots: Vec<Vec<u32>>,
    /// All transactions, each after its predecessors in other components.
    pub(super) order: Vec<u32>,
}

impl Graph {
    pub(super) fn nodes(&self) -> usize {
        self.start.len() - 1
    }

    /// Returns the transactions in an order that agrees with all edges, if the graph has no cycle.
    pub(crate) fn order(&self) -> Vec<u32> {
        self.components(EdgeKinds(u8::MAX)).order
    }

    pub(super) fn is_helper(&self, node: u32) -> bool {
        node >= self.transactions
    }

    pub(super) fn links(&self, node: u32) -> &[GraphLink] {
        let node = node as usize;
        &self.links[self.start[node] as usize..self.start[node + 1] as usize]
    }

    pub(super) fn all_links(&self) -> &[GraphLink] {
        &self.links
    }

    /// Computes the components with Tarjan's algorithm (1972) without recursion, in O(nodes + links).
    ///
    /// A helper may lead back to the transaction from which it was entered. Such a step is not an edge. If these steps
    /// are removed from a closed walk, the rest is still a closed walk. So a component is a knot exactly if it has at
    /// least two transactions.
    pub(super) fn components(&self, kinds: EdgeKinds) -> Components {
        let nodes = self.nodes();
        let mut of = vec![NONE; nodes];
        // The number of a node in the order of first visits, from 1; 0 means unvisited. `low` has the meaning of the
        // paper.
        let (mut number, mut low) = (vec![0u32; nodes], vec![0u32; nodes]);
        let (mut stack, mut path): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        let (mut count, mut components) = (0, 0);
        let (mut knots, mut order) = (Vec::new(), Vec::new());
        for root in 0..nodes as u32 {
            if number[root as usize] != 0 {
                continue;
            }
            path.push((root, self.start[root as usize]));
            while let Some((node, next)) = path.last_mut() {
                let (at, node_index) = (*node, *node as usize);
                if number[node_index] == 0 {
                    count += 1;
                    (number[node_index], low[node_index]) = (count, count);
                    stack.push(at);
                }
                let end = self.start[node_index + 1];
                let mut child = None;
                while *next < end {
                    let link = &self.links[*next as usize];
                    *next += 1;
                    let to = link.to as usize;
                    if !kinds.allows(link.kind) || of[to] != NONE {
                        continue;
                    }
                    if number[to] == 0 {
                        child = Some(link.to);
                        break;
                    }
                    low[node_index] = low[node_index].min(number[to]);
                }
                if let Some(child) = child {
                    path.push((child, self.start[child as usize]));
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    let parent = *parent as usize;
                    low[parent] = low[parent].min(low[node_index]);
                }
                if low[node_index] == number[node_index] {
                    let first = order.len();
                    loop {
                        let member = stack.pop().expect("the node itself is on the stack");
                        of[member as usize] = components;
                        if !self.is_helper(member) {
                            order.push(member);
                        }
                        if member == at {
                            break;
                        }
                    }
                    if order.len() - first > 1 {
                        let mut knot = order[first..].to_vec();
                        knot.sort_unstable();
                        knots.push(knot);
                    }
                    components += 1;
                }
            }
        }
        order.reverse();
        sort(&mut knots);
        Components { of, knots, order }
    }

    /// Returns the graph of snapshots and commits for snapshot isolation (Cerone and Gotsman 2016). A transaction `t`
    /// becomes two nodes: its snapshot `2t` and its commit `2t + 1`. The snapshot of a reader or overwriter of a
    /// version comes after the commit of the version's writer. The commit of an overwriter comes after the snapshots of
    /// the readers. The result has a cycle exactly if this graph has a cycle without two consecutive `rw` edges.
    ///
    /// Must be called only for graphs whose helpers are entered by `rw` links and left to transactions.
    pub(super) fn points(&self) -> Graph {
        let mut draft = GraphDraft::new(2 * self.transactions as usize);
        draft.nodes += self.nodes() as u32 - self.transactions;
        for transaction in 0..self.transactions {
            draft.link(2 * transaction, 2 * transaction + 1, EdgeKind::Process, NONE, NONE);
        }
        for link in &self.links {
            let is_rw = matches!(link.kind, EdgeKind::Rw | EdgeKind::On);
            if !is_rw && !matches!(link.kind, EdgeKind::Ww | EdgeKind::Wr) {
                continue;
            }
            let place = |node: u32, commit: bool| match self.is_helper(node) {
                true => node + self.transactions,
                false => 2 * node + u32::from(commit),
            };
            let (from, to) = (place(link.from, !is_rw), place(link.to, is_rw));
            draft.link(from, to, link.kind, link.before, link.after);
        }
        draft.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(transactions: usize, links: &[(u32, u32, EdgeKind)]) -> Graph {
        let mut draft = GraphDraft::new(transactions);
        for &(from, to, kind) in links {
            draft.nodes = draft.nodes.max(from.max(to) + 1);
            draft.link(from, to, kind, NONE, NONE);
        }
        draft.finish()
    }

    #[test]
    fn a_knot_is_found_and_the_rest_is_in_order() {
        let links = [
            (3, 1, EdgeKind::Ww),
            (1, 2, EdgeKind::Ww),
            (2, 1, EdgeKind::Wr),
            (2, 0, EdgeKind::Rw),
        ];
        let all = graph(4, &links).components(EdgeKinds::WW.and(EdgeKinds::WR).and(EdgeKinds::RW));
        assert_eq!(all.knots, [[1, 2]]);
        assert_eq!((all.order[0], all.order[3]), (3, 0));
        assert!(graph(4, &links).components(EdgeKinds::WW.and(EdgeKinds::RW)).knots.is_empty());
    }

    #[test]
    fn a_helper_that_leads_back_is_no_cycle() {
        let back = graph(2, &[(0, 2, EdgeKind::Rw), (2, 0, EdgeKind::On)]);
        assert!(back.components(EdgeKinds::RW).knots.is_empty());
        let both = [
            (0, 2, EdgeKind::Rw),
            (1, 2, EdgeKind::Rw),
            (2, 0, EdgeKind::On),
            (2, 1, EdgeKind::On),
        ];
        assert_eq!(graph(2, &both).components(EdgeKinds::RW).knots, [[0, 1]]);
    }

    #[test]
    fn components_agree_with_reachability() {
        let mut word = 1u64;
        let mut below = |bound: u64| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (word >> 33) % bound
        };
        for _ in 0..2000 {
            let size = 2 + below(6) as usize;
            let links: Vec<_> = (0..below(14))
                .map(|_| (below(size as u64) as u32, below(size as u64) as u32, EdgeKind::Ww))
                .collect();
            let at = |from: usize, to: usize| from * size + to;
            let mut reach = vec![false; size * size];
            links.iter().for_each(|(from, to, _)| reach[at(*from as usize, *to as usize)] = true);
            for via in 0..size {
                for from in 0..size {
                    for to in 0..size {
                        reach[at(from, to)] |= reach[at(from, via)] && reach[at(via, to)];
                    }
                }
            }
            let found = graph(size, &links).components(EdgeKinds::WW);
            for from in 0..size {
                for to in 0..size {
                    let tied = from == to || (reach[at(from, to)] && reach[at(to, from)]);
                    assert_eq!(found.of[from] == found.of[to], tied, "{links:?}");
                    if reach[at(from, to)] && !tied {
                        let place = |node| found.order.iter().position(|o| *o as usize == node);
                        assert!(place(from) < place(to), "{links:?}");
                    }
                }
            }
        }
    }
}
