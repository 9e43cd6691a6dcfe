//! Aliases of nodes, which a test adds and moves. Lookups may fail or return the previous node of
//! an alias.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use crate::net::fabric::Fabric;
use crate::net::faults::Lookup;
use crate::net::keys;
use crate::node::Node;
use crate::run::op::{Access, Op, word};
use crate::seam::{self, Here, Wrapped, here};

const MOVE: Op = Op::of_kind("alias", Access::Tell, word::WRITE);
const LOOK_UP: Op = Op::of_kind("look_up", Access::Peek, word::READ).quiet();

/// The aliases of a run, in addition to the node names.
#[derive(Default)]
struct Aliases(Mutex<AliasesState>);

#[derive(Default)]
struct AliasesState {
    mark: Option<std::sync::Arc<Wrapped>>,
    /// By alias: the node, and the previous node of the alias, if any.
    nodes: Map<String, (Node, Option<Node>)>,
}

impl Aliases {
    fn state(&self) -> MutexGuard<'_, AliasesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an operation on the object of all names.
    fn act(&self, op: &'static Op, here: Here) {
        let mark = {
            let mut state = self.state();
            let make =
                || std::sync::Arc::new(Wrapped::outside_keyed("names", "names", keys::NAMES, here));
            state.mark.get_or_insert_with(make).clone()
        };
        mark.record(op, here);
    }
}

/// Makes a name refer to a node from now on, in addition to the node's own name. Use it for services that move from
/// node to node. Node names take precedence over aliases. This call is not a point.
///
/// [`Faults::lookups`](crate::net::Faults::lookups) makes lookups fail, or return the previous node of the name.
///
/// ```
/// use sim::net::{self, lookup_host};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// for node in [&a, &b] {
///     net::alias("primary", node);
///     let found: Vec<_> = lookup_host("primary:7000").await.unwrap().collect();
///     assert_eq!(found[0].ip(), node.addr());
/// }
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn alias(name: &str, node: &Node) {
    let aliases = seam::kept::<Aliases>();
    aliases.act(&MOVE, here());
    let mut state = aliases.state();
    let before = state.nodes.remove(name);
    let before = match before {
        Some((now, before)) if now == *node => before,
        Some((now, _)) => Some(now),
        None => None,
    };
    state.nodes.insert(name.to_owned(), (node.clone(), before));
}

/// Looks up the node of a name.
pub(super) fn look_up(name: &str, here: Here) -> io::Result<Option<Node>> {
    let own = crate::node::find_at(name, here);
    let (now, before) = match own {
        Some(node) => (Some(node), None),
        None => {
            let aliases = seam::kept::<Aliases>();
            aliases.act(&LOOK_UP, here);
            let known = aliases.state().nodes.get(name).cloned();
            known.map_or((None, None), |(now, before)| (Some(now), before))
        }
    };
    // A lookup of an unknown name draws no fault.
    if now.is_none() || !seam::in_run() {
        return Ok(now);
    }
    match Fabric::of_run().faults().draw_lookup(before.is_some()) {
        Lookup::Right => Ok(now),
        Lookup::Old => Ok(before),
        Lookup::Fails => {
            let text = format!("failed to look up {name:?}: no name server answers");
            Err(io::Error::other(text))
        }
    }
}
