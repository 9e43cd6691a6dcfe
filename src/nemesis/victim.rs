//! The victims of a fault.

use std::fmt;
use std::sync::Arc;

use crate::node::Node;

/// A function that chooses a victim.
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
    /// Draws one of the nodes that are up.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// Nemesis::new().kill(Victim::one()).faults(1..=1).run(&nodes).await;
    /// assert!(nodes.iter().filter(|node| node.life() > 1).count() <= 1);
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn one() -> Victim {
        Victim(Choice::One)
    }

    /// Draws some of the nodes, at least one.
    pub fn any() -> Victim {
        Victim(Choice::Any)
    }

    /// Selects these nodes.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// Nemesis::new().kill(Victim::these(&nodes[..2])).run(&nodes).await;
    /// assert_eq!(nodes[2].life(), 1);
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn these<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Victim {
        Victim(Choice::These(nodes.into_iter().cloned().collect()))
    }

    /// In half of the runs, the node that `named` returns when the fault happens; in the other runs, a drawn node.
    /// `role` is a name for reports, for example `primary`.
    ///
    /// If there is no such node at the moment, the function returns `None`. The function is then called again a few
    /// times; if it still returns `None`, the fault is skipped. The function reads plain state of the test, such as a
    /// std value that the nodes set, and takes no step. A search does not see that state, so it proves nothing about
    /// guided faults.
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

    /// Returns the role and the function of a guided victim.
    pub(super) fn guide(&self) -> Option<(&'static str, &Guide)> {
        match &self.0 {
            Choice::Guided(role, guide) => Some((role, guide)),
            Choice::One | Choice::Any | Choice::These(_) => None,
        }
    }

    /// Returns the nodes of an explicit victim, which needs no choice.
    pub(super) fn named(&self) -> Option<Vec<Node>> {
        match &self.0 {
            Choice::These(nodes) => Some(nodes.clone()),
            Choice::One | Choice::Any | Choice::Guided(..) => None,
        }
    }

    /// Returns the number of choices among `nodes` nodes.
    pub(super) fn choices(&self, nodes: usize) -> u64 {
        match self.0 {
            Choice::Any => (1 << nodes) - 1,
            Choice::These(_) => 1,
            Choice::One | Choice::Guided(..) => nodes as u64,
        }
    }

    /// Returns the nodes for a drawn number.
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
