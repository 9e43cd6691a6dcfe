//! Network partitions: ways to split the nodes into parts.

use crate::node::Node;

/// A way to split the nodes into parts. The members of each part are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Partition {
    /// One node is isolated.
    One,
    /// Up to a third of the nodes, but at least one, are separated from all other nodes.
    Minority,
    /// A smallest majority of the nodes, apart from all other nodes.
    Majority,
    /// Each node reaches a majority, and no two nodes reach the same majority: a ring in which a node reaches only its
    /// nearest neighbours. With fewer than four nodes, this shape is the same as `Bridge`, because such neighbours
    /// would be all nodes.
    MajoritiesRing,
    /// Two halves, and one node that reaches both halves.
    Bridge,
    /// Two nonempty parts; each node is in either part with the same probability.
    Uniform,
}

impl Partition {
    /// All partitions.
    pub const ANY: [Partition; 6] = [
        Partition::One,
        Partition::Minority,
        Partition::Majority,
        Partition::MajoritiesRing,
        Partition::Bridge,
        Partition::Uniform,
    ];

    /// Returns the links to cut, in both directions, for nodes in this order. For `Uniform`, `coins` determines the
    /// part of each node.
    pub(super) fn cuts(self, nodes: &[Node], coins: u64) -> Vec<(Node, Node)> {
        let (count, mut cuts) = (nodes.len(), Vec::new());
        for (a, one) in nodes.iter().enumerate() {
            for (b, other) in nodes.iter().enumerate().filter(|(b, _)| *b != a) {
                if self.is_between(a, b, count, coins) {
                    cuts.push((one.clone(), other.clone()));
                }
            }
        }
        cuts
    }

    /// Returns `true` if the nodes at positions `a` and `b` of `count` nodes cannot reach each other.
    fn is_between(self, a: usize, b: usize, count: usize, coins: u64) -> bool {
        let apart = |size: usize| (a < size) != (b < size);
        match self {
            Partition::One => apart(1),
            Partition::Uniform => {
                // The first part must contain at least one node, but not all nodes.
                let parts = (1_u64 << count).saturating_sub(2).max(1);
                let part = 1 + coins % parts;
                (part >> a & 1) != (part >> b & 1)
            }
            Partition::Minority => apart(((count - 1) / 3).max(1)),
            Partition::Majority => apart(count / 2 + 1),
            Partition::MajoritiesRing if count > 3 => {
                // If a node reaches this many nodes on each side, it reaches a majority together with itself.
                let reach = (count / 2).div_ceil(2);
                let distance = a.abs_diff(b);
                distance.min(count - distance) > reach
            }
            Partition::MajoritiesRing | Partition::Bridge => {
                let half = (count - 1).div_ceil(2);
                a != 0 && b != 0 && (a <= half) != (b <= half)
            }
        }
    }
}

/// Returns the nodes in permutation `number`; 0 is the given order.
pub(super) fn ordered(nodes: &[Node], mut number: u64) -> Vec<Node> {
    let mut nodes = nodes.to_vec();
    for at in 0..nodes.len() {
        let left = (nodes.len() - at) as u64;
        nodes.swap(at, at + (number % left) as usize);
        number /= left;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::Partition;

    /// Returns the nodes that each of `count` nodes reaches, including itself.
    fn reached(partition: Partition, count: usize) -> Vec<Vec<usize>> {
        let reaches =
            |a| (0..count).filter(move |b| a == *b || !partition.is_between(a, *b, count, 3));
        (0..count).map(|a| reaches(a).collect()).collect()
    }

    #[test]
    fn parts_are_as_said() {
        for count in 2..20 {
            assert_eq!(reached(Partition::One, count)[0], [0]);
            let minority = &reached(Partition::Minority, count)[0];
            assert!(minority.len() <= (count / 3).max(1), "{count}: {minority:?}");
            let parts = reached(Partition::Majority, count);
            assert!(parts[0].len() * 2 > count && parts[0].len() * 2 <= count + 2);
            let bridge = reached(Partition::Bridge, count);
            assert_eq!(bridge[0].len(), count, "the bridge reaches all");
            assert!(count < 3 || bridge[1..].iter().all(|part| part.len() < count));
            let halves = bridge[1].len().abs_diff(bridge[count - 1].len());
            assert!(count < 3 || halves <= 1, "{count}: {bridge:?}");
        }
    }

    #[test]
    fn coins_make_all_parts_and_no_empty_one() {
        for count in 2..7 {
            let mut all = std::collections::BTreeSet::new();
            for coins in 0..(1 << count) - 2 {
                let is_in = |b| !Partition::Uniform.is_between(0, b, count, coins);
                let part: Vec<usize> = (0..count).filter(|b| *b == 0 || is_in(*b)).collect();
                assert!(part.len() < count, "{count}: {part:?}");
                all.insert(part);
            }
            // Each set that contains the first node must occur, except the set of all nodes.
            assert_eq!(all.len(), (1 << (count - 1)) - 1, "{count}");
        }
    }

    #[test]
    fn each_of_a_ring_reaches_another_majority() {
        for count in 4..20 {
            let mut parts = reached(Partition::MajoritiesRing, count);
            assert!(parts.iter().all(|part| part.len() * 2 > count), "{count}: {parts:?}");
            let before = parts.len();
            parts.sort();
            parts.dedup();
            assert!(parts.len() == before || count < 5, "{count}: {parts:?}");
            assert!(parts.iter().all(|part| part.len() < count), "{count}");
        }
    }
}
