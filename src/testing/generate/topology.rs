//! The clients of a cluster: each client's node, key and role (writer or reader).

/// The clients of a generated program; see [`Shape::clients`](super::Shape::clients).
///
/// ```
/// use sim::Topology;
///
/// // A writer and a reader at each of three nodes, for each of two keys.
/// let topology = Topology::sticky(3, 2);
/// assert_eq!(topology.clients().len(), 2 * (1 + 3));
/// let writer = topology.client(4);
/// assert_eq!((writer.key, writer.writes, writer.node), (1, true, Some(1)));
/// assert_eq!(topology.roaming().client(4).node, None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topology {
    clients: Vec<Client>,
}

/// A client of a [`Topology`].
///
/// ```
/// use sim::{Topology, generate::Client};
///
/// // One writer, and a reader that always contacts node 1.
/// let writer = Client { key: 0, writes: true, node: None };
/// let reader = Client { writes: false, node: Some(1), ..writer };
/// let topology = Topology::of([writer, reader]);
/// assert_eq!(topology.client(1), reader);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The number of the client's key.
    pub key: usize,
    /// `true` if the client writes, `false` if it reads.
    pub writes: bool,
    /// The number of the node that the client contacts; `None` if it may contact any node.
    pub node: Option<usize>,
}

/// The maximum number of clients.
const CLIENTS_MAX: usize = 64;

impl Topology {
    /// Creates, for each key, a writer at one node and a reader at every node. The writers of successive keys are at
    /// successive nodes. So an isolated node has readers of all keys, and each key has readers on both sides of a
    /// partition.
    ///
    /// # Panics
    /// If there are no nodes, no keys, or more than 64 clients.
    ///
    /// ```
    /// let topology = sim::Topology::sticky(3, 2);
    /// let writers = topology.clients().iter().filter(|client| client.writes);
    /// let nodes: Vec<_> = writers.map(|client| client.node).collect();
    /// assert_eq!(nodes, [Some(0), Some(1)], "the writers of the two keys");
    /// ```
    #[track_caller]
    pub fn sticky(nodes: usize, keys: usize) -> Topology {
        assert!(
            nodes > 0 && keys > 0,
            "a topology without nodes or keys: give at least one of each"
        );
        let of_key = |key: usize| {
            let client = move |writes, node| Client { key, writes, node: Some(node) };
            let readers = (0..nodes).map(move |node| client(false, node));
            std::iter::once(client(true, key % nodes)).chain(readers)
        };
        Topology::of((0..keys).flat_map(of_key))
    }

    /// Creates a topology of custom clients.
    ///
    /// # Panics
    /// If there are no clients, or more than 64.
    #[track_caller]
    pub fn of(clients: impl IntoIterator<Item = Client>) -> Topology {
        let clients: Vec<Client> = clients.into_iter().collect();
        assert!(
            (1..=CLIENTS_MAX).contains(&clients.len()),
            "a topology of {} clients: give it 1 to {CLIENTS_MAX}",
            clients.len()
        );
        Topology { clients }
    }

    /// Returns the same clients, without fixed nodes.
    #[must_use]
    pub fn roaming(mut self) -> Topology {
        self.clients.iter_mut().for_each(|client| client.node = None);
        self
    }

    /// Returns all clients. The position of a client is its branch number.
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// Returns the client with this number.
    ///
    /// # Panics
    /// If there is no such client.
    #[track_caller]
    pub fn client(&self, number: u32) -> Client {
        self.clients[number as usize]
    }

    /// Returns the maximum number of clients per key.
    pub(super) fn of_one_key(&self) -> usize {
        let same = |key| self.clients.iter().filter(|client| client.key == key).count();
        self.clients.iter().map(|client| same(client.key)).max().unwrap_or(0)
    }
}
