//! The victims of a fault.

use std::fmt;
use std::sync::Arc;

use crate::node::Node;

/// Names a victim.
type Guide = Arc<dyn Fn() -> Option<Node> + Send + Sync>;

/// The nodes into which a fault is injected.
#[derive(Clone)]
pub struct Victim(Choice);

#[derive(Clone)]
enum Choice {
    One,
    Any,
    These(Vec<Node>),
    Guided(&'static str, Guide),
}

impl Victim {
    /// One of the nodes that are up, drawn.
    pub fn one() -> Victim {
        Victim(Choice::One)
    }

    /// Some of the nodes, at least one, drawn.
    pub fn any() -> Victim {
        Victim(Choice::Any)
    }

    /// These nodes.
    pub fn these<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Victim {
        Victim(Choice::These(nodes.into_iter().cloned().collect()))
    }

    /// In half of the runs, the node that `named` returns when the fault happens; in the other
    /// runs, a drawn node. `role` is for reports: `primary`.
    ///
    /// The function returns `None` if there is no such node at the moment: it is called again a few times, and then the
    /// fault does not happen. It reads plain state of the test, such as a value of std that the nodes set, and takes no
    /// step. A search does not see that state, so it proves nothing about guided faults.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b"].map(sim::node);
    /// let primary = Arc::new(Mutex::new(nodes[0].clone()));
    /// let victim = Victim::guided("primary", move || Some(primary.lock().unwrap().clone()));
    /// Nemesis::new().kill(victim).run(&nodes).await;
    /// assert!(nodes.iter().all(sim::Node::is_up));
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn guided(
        role: &'static str,
        named: impl Fn() -> Option<Node> + Send + Sync + 'static,
    ) -> Victim {
        Victim(Choice::Guided(role, Arc::new(named)))
    }

    /// The role and the function of a guided one.
    pub(super) fn guide(&self) -> Option<(&'static str, &Guide)> {
        match &self.0 {
            Choice::Guided(role, guide) => Some((role, guide)),
            Choice::One | Choice::Any | Choice::These(_) => None,
        }
    }

    /// The nodes of a victim that needs no choice.
    pub(super) fn named(&self) -> Option<Vec<Node>> {
        match &self.0 {
            Choice::These(nodes) => Some(nodes.clone()),
            Choice::One | Choice::Any | Choice::Guided(..) => None,
        }
    }

    /// The number of choices among so many nodes.
    pub(super) fn choices(&self, nodes: usize) -> u64 {
        match self.0 {
            Choice::Any => (1 << nodes) - 1,
            Choice::These(_) => 1,
            Choice::One | Choice::Guided(..) => nodes as u64,
        }
    }

    /// The nodes for a drawn number.
    pub(super) fn drawn(&self, nodes: &[Node], number: u64) -> Vec<Node> {
        match &self.0 {
            Choice::These(nodes) => nodes.clone(),
            Choice::Any => {
                let mask = number % self.choices(nodes.len()) + 1;
                let chosen = nodes.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1);
                chosen.map(|(_, node)| node.clone()).collect()
            }
            Choice::One | Choice::Guided(..) => {
                let up: Vec<&Node> = nodes.iter().filter(|node| node.is_up()).collect();
                let chosen = up.get((number % up.len().max(1) as u64) as usize);
                chosen.into_iter().map(|node| (*node).clone()).collect()
            }
        }
    }
}

impl fmt::Debug for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Choice::One => f.write_str("one"),
            Choice::Any => f.write_str("any"),
            Choice::These(nodes) => f.write_str(&super::fault::named(nodes)),
            Choice::Guided(role, _) => f.write_str(role),
        }
    }
}
