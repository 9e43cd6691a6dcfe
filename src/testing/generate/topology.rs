//! The clients of a cluster: the node that each is bound to, its key, and its part.

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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The number of its key.
    pub key: usize,
    /// True if it writes, false if it reads.
    pub writes: bool,
    /// The number of the node that it asks; `None` if it may ask any.
    pub node: Option<usize>,
}

/// The greatest number of clients.
const CLIENTS_MAX: usize = 64;

impl Topology {
    /// For each key a writer at one node, another one for each key in turn, and a reader at every node. So a node that
    /// is cut off has readers of all keys, and each key has readers on both sides.
    ///
    /// # Panics
    /// If there are no nodes, no keys, or more than 64 clients.
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

    /// Clients of your own.
    ///
    /// # Panics
    /// If there are none, or more than 64.
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

    /// The same clients, bound to no node.
    #[must_use]
    pub fn roaming(mut self) -> Topology {
        self.clients.iter_mut().for_each(|client| client.node = None);
        self
    }

    /// All clients. They have the numbers of the branches.
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// The client with this number.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn client(&self, number: u32) -> Client {
        self.clients[number as usize]
    }

    /// The greatest number of clients of one key.
    pub(super) fn of_one_key(&self) -> usize {
        let same = |key| self.clients.iter().filter(|client| client.key == key).count();
        self.clients.iter().map(|client| same(client.key)).max().unwrap_or(0)
    }
}
