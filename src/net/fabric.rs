//! The network of a run: its links, and the faults of messages on them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::by_host::ByHost;
use super::faults::Faults;
use super::keys;
use super::queue::Queue;
use super::settings::Settings;
use crate::node::{Cluster, Death, Node};
use crate::run::Failure;
use crate::run::board::Route;
use crate::run::op::net::link;
use crate::run::op::{Access, Op};
use crate::seam::{self, Deed, Here, Wrapped};

const CUT: Op = Op::of_kind("cut", Access::Tell, link::CUT);
const HEAL: Op = Op::of_kind("heal", Access::Tell, link::CUT);
const HEAL_ALL: Op = Op::of_kind("heal", Access::Tell, link::CUT).quiet();
const CHANGE: Op = Op::of_kind("change", Access::Peek, link::PASS).quiet();
const PASS: Op = Op::of_kind("pass", Access::Peek, link::PASS).quiet();
const OPEN: Op = Op::of_kind("open", Access::Peek, link::OPEN).quiet();
const LOSE: Op = Op::of_kind("lose", Access::Peek, link::LOSE);
const COUNT: Op = Op::of_kind("count", Access::Peek, link::COUNT).quiet();

/// An end of a link: a node, or the outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Host(u32);

impl Host {
    pub(crate) const OUTSIDE: Host = Host(0);

    /// Returns the number of the host in keys.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn of(node: &Node) -> Host {
        Host(node.number() + 1)
    }

    /// Returns the host of the current code.
    pub(crate) fn current() -> Host {
        crate::node::current().map_or(Host::OUTSIDE, |node| Host::of(&node))
    }

    /// Returns the node; `None` for the outside.
    pub(crate) fn node(self) -> Option<Node> {
        self.node_of(&seam::kept::<Cluster>())
    }

    fn node_of(self, cluster: &Cluster) -> Option<Node> {
        cluster.known(self.0.checked_sub(1)?)
    }
}

/// The two ends of a link, each with its node; `None` for the outside.
pub(crate) type Ends<'a> = [(Host, Option<&'a Node>); 2];

/// A stream or socket that sends messages over a link. The link notifies it of cuts, changed settings and deaths.
pub(crate) trait Flow: Send + Sync {
    /// Handles a cut or the healing of the link.
    fn set_cut(&self, is_cut: bool, here: Here);

    /// Records a change of the link settings, on an object that senders use.
    fn was_set(&self, here: Here);

    /// Handles the death of a node. May be called again for the same node.
    fn died(self: Arc<Self>, host: Host, death: Death, here: Here);
}

/// The link in one direction between two hosts.
pub(crate) struct Link {
    from: Host,
    to: Host,
    names: &'static Names,
    pub(super) mark: Wrapped,
    pub(super) settings: Settings,
    is_cut: AtomicBool,
    /// The number of messages that cuts have lost or held.
    met: AtomicU64,
    /// Kept for the whole run, because removing a flow would be an effect of the removing task.
    flows: Mutex<Queue<Arc<dyn Flow>>>,
}

/// The names of a link.
struct Names {
    route: Route,
    link: String,
    /// The name of the messages on the link, in reports.
    way: String,
}

impl Names {
    /// Returns the names of the link between two hosts. The names are cached for the whole process, because there are
    /// few.
    fn of(from: Option<&Node>, to: Option<&Node>) -> &'static Names {
        // Keyed by the numbers of the node names.
        static KNOWN: Mutex<ByHost<u32, &'static Names>> = Mutex::new(ByHost::new());
        let [from, to] = [from, to].map(|node| node.map(Node::known));
        let [row, column] = [from, to].map(|name| name.map_or(0, |name| name.number + 1));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(row as usize, &column) {
            return names;
        }
        let [from, to] = [from, to].map(|name| name.map_or("outside", |name| name.text));
        let (link, way) = (format!("{from}>{to}"), format!("{from}→{to}"));
        let names: &Names = Box::leak(Box::new(Names { route: Route { from, to }, link, way }));
        known.insert(row as usize, column, names);
        names
    }
}

impl Link {
    fn new(
        [(from, sender), (to, receiver)]: Ends<'_>,
        faults: Arc<Faults>,
        here: Here,
    ) -> Arc<Link> {
        let names = Names::of(sender, receiver);
        let key = keys::link(sender.map(Node::known), receiver.map(Node::known));
        let mark = Wrapped::outside_known("link", &names.link, Some(key), here);
        let (is_cut, met, flows) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::default());
        let settings = Settings::new(faults);
        Arc::new(Link { from, to, names, mark, settings, is_cut, met, flows })
    }

    pub(crate) fn ends(&self) -> (Host, Host) {
        (self.from, self.to)
    }

    /// Returns the route of the messages, for reports.
    pub(crate) fn route(&self) -> &'static Route {
        &self.names.route
    }

    /// Returns the name of the messages on the link, in reports.
    pub(crate) fn name(&self) -> &'static str {
        &self.names.way
    }

    /// Adds a socket that sends datagrams.
    pub(crate) fn add_flow(&self, flow: Arc<dyn Flow>, here: Here) {
        self.join(here);
        self.add(flow);
    }

    /// Adds a stream; a cut of the link holds its messages.
    pub(crate) fn add_stream(&self, stream: Arc<dyn Flow>, here: Here) {
        self.mark.record(&OPEN, here);
        self.add(stream);
    }

    fn add(&self, flow: Arc<dyn Flow>) {
        // Announces the new flow, because the death of the node reads the list.
        seam::tells();
        self.flows().push(flow);
    }

    /// Counts a message that a cut has lost or held.
    pub(crate) fn note_met(&self) {
        self.met.fetch_add(1, Relaxed);
    }

    /// Returns `true` if the link is cut. The caller must hold its messages itself; the [`Flow`] records their
    /// operations.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Relaxed)
    }

    /// Passes a message over the link, in the step of its arrival. Returns `false` if the message is lost.
    pub(crate) fn passes(&self, here: Here) -> bool {
        let (passes, (mark, op)) = self.meet();
        mark.record(op, here);
        passes
    }

    /// Like [`passes`](Self::passes), but returns the operation for the caller to record.
    pub(crate) fn meet(&self) -> (bool, Deed<'_>) {
        let is_cut = self.is_cut();
        if is_cut {
            self.note_met();
        }
        (!is_cut, (&self.mark, if is_cut { &LOSE } else { &PASS }))
    }

    fn set_cut(&self, is_cut: bool, here: Here) {
        self.is_cut.store(is_cut, Relaxed);
        let flows = self.flows().clone();
        self.mark.record(if is_cut { &CUT } else { &HEAL }, here);
        flows.iter().for_each(|flow| flow.set_cut(is_cut, here));
    }

    pub(super) fn flows(&self) -> MutexGuard<'_, Queue<Arc<dyn Flow>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The network of a run.
#[derive(Default)]
pub(crate) struct Fabric(Mutex<FabricState>);

#[derive(Default)]
struct FabricState {
    /// The links from each host, keyed by the host at the other end.
    links: ByHost<Host, Arc<Link>>,
    /// All links, in creation order.
    order: Vec<Arc<Link>>,
    /// The object of all links together. An operation on it also conflicts with links that are not created yet. Created
    /// by the first change of a link.
    all_links: Option<Arc<Wrapped>>,
    faults: Arc<Faults>,
    listens: bool,
}

impl FabricState {
    fn find(&self, from: Host, to: Host) -> Option<&Arc<Link>> {
        self.links.get(from.0 as usize, &to)
    }
}

impl Drop for Fabric {
    /// Breaks the reference cycles between flows and links.
    fn drop(&mut self) {
        for link in std::mem::take(&mut self.state().order) {
            let flows = std::mem::take(&mut *link.flows());
            drop(flows);
        }
    }
}

impl Fabric {
    /// Returns the network of the current run.
    pub(crate) fn of_run() -> Arc<Fabric> {
        let fabric = seam::kept::<Fabric>();
        if !std::mem::replace(&mut fabric.state().listens, true) {
            seam::kept::<Cluster>().listen(|node, death, here| {
                let links = Fabric::of_run().state().order.clone();
                for link in links {
                    let flows = link.flows().clone();
                    let host = Host::of(node);
                    for flow in flows.iter() {
                        flow.clone().died(host, death, here);
                    }
                }
            });
        }
        fabric
    }

    /// Returns the link from one host to another. Creates it on first use.
    pub(crate) fn link(&self, from: Host, to: Host, here: Here) -> Arc<Link> {
        if let Some(link) = self.state().find(from, to) {
            return link.clone();
        }
        let cluster = seam::kept::<Cluster>();
        let [sender, receiver] = [from, to].map(|host| host.node_of(&cluster));
        self.link_of([(from, sender.as_ref()), (to, receiver.as_ref())], here)
    }

    /// Like [`link`](Self::link), for hosts with known nodes.
    pub(crate) fn link_of(&self, ends: Ends<'_>, here: Here) -> Arc<Link> {
        let [from, to] = ends.map(|(host, _)| host);
        let faults = {
            let state = self.state();
            match state.find(from, to) {
                Some(link) => return link.clone(),
                None => state.faults.clone(),
            }
        };
        let link = Link::new(ends, faults, here);
        let mut state = self.state();
        state.links.insert(from.0 as usize, to, link.clone());
        state.order.push(link.clone());
        link
    }

    /// Returns a link that will be cut, healed or configured in this step.
    pub(super) fn link_to_change(&self, from: Host, to: Host, here: Here) -> Arc<Link> {
        // The link may be new, so an earlier healing of all links may have recorded no operation on it.
        self.all_links(here).record(&CHANGE, here);
        self.link(from, to, here)
    }

    /// Cuts or heals one direction.
    pub(crate) fn set_cut(&self, from: Host, to: Host, is_cut: bool, here: Here) {
        self.link_to_change(from, to, here).set_cut(is_cut, here);
    }

    /// Returns the object of all links together.
    fn all_links(&self, here: Here) -> Arc<Wrapped> {
        let new = || Wrapped::outside_known("net", "all links", Some(keys::ALL_LINKS), here);
        let mut state = self.state();
        state.all_links.get_or_insert_with(|| Arc::new(new())).clone()
    }

    /// Heals all links.
    pub(crate) fn heal(&self, here: Here) {
        self.all_links(here).record(&HEAL_ALL, here);
        let links = self.state().order.clone();
        for link in links {
            // A link that is not cut gets no operation. So it makes no difference if a link is created before or after
            // the healing. The object of all links orders the healing with each cut.
            if link.is_cut() {
                link.set_cut(false, here);
            }
            link.end_clog(here);
        }
    }

    /// Records that the test reads one of the following two counters. Cuts, sends and arrivals of other tasks change
    /// the counters.
    pub(crate) fn counts(&self, here: Here) {
        self.all_links(here).record(&COUNT, here);
    }

    /// Returns the number of messages that cuts have lost or held so far.
    pub(crate) fn met(&self) -> u64 {
        let links = self.state().order.clone();
        links.iter().map(|link| link.met.load(Relaxed)).sum()
    }

    /// Returns the number of messages that clogs have delayed so far.
    pub(crate) fn delayed(&self) -> u64 {
        let links = self.state().order.clone();
        links.iter().map(|link| link.settings.delayed()).sum()
    }

    /// Returns the faults of all links without own faults.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn faults(&self) -> Faults {
        Faults::clone(&self.state().faults)
    }

    pub(crate) fn set_faults(&self, faults: Faults, here: Here) {
        seam::changes_setting(here);
        // Outside of runs the network belongs to the process, and has no faults.
        if seam::in_run() && !self.state().order.is_empty() {
            seam::fail(|| Failure::Misuse {
                message: "the faults of the net are set after its first use: call \
                          sim::net::faults(..) at the start of the body"
                    .to_owned(),
                place: seam::place_of(here),
            });
        }
        self.state().faults = Arc::new(faults);
    }

    fn state(&self) -> MutexGuard<'_, FabricState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
