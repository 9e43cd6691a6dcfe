//! The net of a run: its links, and what may happen to messages on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::faults::Faults;
use crate::node::{Cluster, Death, Node};
use crate::run::Failure;
use crate::run::board::Route;
use crate::run::op::net::link;
use crate::run::op::{Access, Op};
use crate::seam::{self, Here, Wrapped};

const CUT: Op = Op::of_kind("cut", Access::Tell, link::CUT);
const HEAL: Op = Op::of_kind("heal", Access::Tell, link::CUT);
const PASS: Op = Op::of_kind("pass", Access::Peek, link::PASS).quiet();
const LOSE: Op = Op::of_kind("lose", Access::Peek, link::PASS);

/// An end of a link: a node, or the outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Host(u32);

impl Host {
    pub(crate) const OUTSIDE: Host = Host(0);

    pub(crate) fn of(node: &Node) -> Host {
        Host(node.number() + 1)
    }

    /// The host of the code that runs.
    pub(crate) fn current() -> Host {
        crate::node::current().map_or(Host::OUTSIDE, |node| Host::of(&node))
    }

    /// Its node; none for the outside.
    pub(crate) fn node(self) -> Option<Node> {
        let number = self.0.checked_sub(1)?;
        seam::kept::<Cluster>().nodes().into_iter().nth(number as usize)
    }

    fn name(self) -> Arc<str> {
        self.node().map_or_else(|| "outside".into(), |node| node.name().into())
    }
}

/// Messages that arrive one after the other, and wait while their link is cut.
pub(crate) trait Flow: Send + Sync {
    /// Its link was cut or healed.
    fn set_cut(&self, is_cut: bool, here: Here);

    /// A node has died, perhaps once more.
    fn died(self: Arc<Self>, host: Host, death: Death, here: Here);
}

/// One direction between two hosts.
pub(crate) struct Link {
    from: Host,
    to: Host,
    route: Arc<Route>,
    mark: Wrapped,
    /// Those of the net: they are set before the first link is made.
    faults: Faults,
    state: Mutex<LinkState>,
}

#[derive(Default)]
struct LinkState {
    is_cut: bool,
    /// The number of messages that a cut has lost or held.
    met: u64,
    /// For the whole run: to forget one would be an effect of who forgets it.
    flows: Vec<Arc<dyn Flow>>,
}

impl Link {
    fn new(from: Host, to: Host, faults: Faults, here: Here) -> Arc<Link> {
        let route = Arc::new(Route { from: from.name(), to: to.name() });
        let name = format!("{}>{}", route.from, route.to);
        let mark = Wrapped::outside_named("link", &name, here);
        Arc::new(Link { from, to, route, mark, faults, state: Mutex::default() })
    }

    pub(crate) fn ends(&self) -> (Host, Host) {
        (self.from, self.to)
    }

    /// The way of its messages, for reports.
    pub(crate) fn route(&self) -> Arc<Route> {
        self.route.clone()
    }

    /// The name of what goes over it, in reports.
    pub(crate) fn name(&self) -> String {
        format!("{}→{}", self.route.from, self.route.to)
    }

    /// The faults that its messages may have.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Adds a stream, whose messages a cut holds.
    pub(crate) fn add_flow(&self, flow: Arc<dyn Flow>) {
        self.state().flows.push(flow);
    }

    /// Counts a message that was on its way when the link was cut.
    pub(crate) fn note_held(&self) {
        self.state().met += 1;
    }

    /// Returns `true` if it is cut, for one that holds its messages. Their operations are recorded by the [`Flow`].
    pub(crate) fn holds(&self) -> bool {
        let mut state = self.state();
        state.met += u64::from(state.is_cut);
        state.is_cut
    }

    /// Counts a message that was on its way already when the link was cut.
    pub(crate) fn meets(&self) {
        self.state().met += 1;
    }

    /// Has a message go over it, in the step in which it arrives. Returns `false` if it is lost.
    pub(crate) fn passes(&self, here: Here) -> bool {
        let is_cut = {
            let mut state = self.state();
            state.met += u64::from(state.is_cut);
            state.is_cut
        };
        let op = if is_cut { &LOSE } else { &PASS };
        self.mark.act(op, here, || ());
        !is_cut
    }

    fn set_cut(&self, is_cut: bool, here: Here) {
        let flows = {
            let mut state = self.state();
            state.is_cut = is_cut;
            state.flows.clone()
        };
        self.mark.act(if is_cut { &CUT } else { &HEAL }, here, || ());
        flows.iter().for_each(|flow| flow.set_cut(is_cut, here));
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The net of a run.
#[derive(Default)]
pub(crate) struct Fabric(Mutex<FabricState>);

#[derive(Default)]
struct FabricState {
    links: HashMap<(Host, Host), Arc<Link>>,
    /// In the order in which they were made: that of a map is not the same in each run.
    order: Vec<Arc<Link>>,
    faults: Faults,
    listens: bool,
}

impl Drop for Fabric {
    /// Streams and links know each other.
    fn drop(&mut self) {
        for link in std::mem::take(&mut self.state().order) {
            let flows = std::mem::take(&mut link.state().flows);
            drop(flows);
        }
    }
}

impl Fabric {
    /// The net of the run.
    pub(crate) fn of_run() -> Arc<Fabric> {
        let fabric = seam::kept::<Fabric>();
        if !std::mem::replace(&mut fabric.state().listens, true) {
            seam::kept::<Cluster>().listen(|node, death, here| {
                let links = Fabric::of_run().state().order.clone();
                for link in links {
                    let flows = link.state().flows.clone();
                    let host = Host::of(node);
                    for flow in flows {
                        flow.died(host, death, here);
                    }
                }
            });
        }
        fabric
    }

    /// The link from one host to another, made when it is first used.
    pub(crate) fn link(&self, from: Host, to: Host, here: Here) -> Arc<Link> {
        if let Some(link) = self.state().links.get(&(from, to)) {
            return link.clone();
        }
        let faults = self.state().faults.clone();
        let link = Link::new(from, to, faults, here);
        let mut state = self.state();
        state.links.insert((from, to), link.clone());
        state.order.push(link.clone());
        link
    }

    /// Cuts or heals one direction.
    pub(crate) fn set_cut(&self, from: Host, to: Host, is_cut: bool, here: Here) {
        self.link(from, to, here).set_cut(is_cut, here);
    }

    /// Heals all links.
    pub(crate) fn heal(&self, here: Here) {
        let links = self.state().order.clone();
        links.iter().for_each(|link| link.set_cut(false, here));
    }

    /// The number of messages that cuts have lost or held so far.
    pub(crate) fn met(&self) -> u64 {
        let links = self.state().order.clone();
        links.iter().map(|link| link.state().met).sum()
    }

    pub(crate) fn set_faults(&self, faults: Faults, here: Here) {
        // Outside of runs the net is that of the process, and has no faults.
        if seam::in_run() && !self.state().order.is_empty() {
            seam::fail(|| Failure::Misuse {
                message: "the faults of the net are set after its first use: call \
                          sim::net::faults(..) at the start of the body"
                    .to_owned(),
                place: seam::place_of(here),
            });
        }
        self.state().faults = faults;
    }

    fn state(&self) -> MutexGuard<'_, FabricState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
