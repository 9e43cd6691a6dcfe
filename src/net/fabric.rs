//! The net of a run: its links, and what may happen to messages on them.

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

    /// Its number in keys.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn of(node: &Node) -> Host {
        Host(node.number() + 1)
    }

    /// The host of the code that runs.
    pub(crate) fn current() -> Host {
        crate::node::current().map_or(Host::OUTSIDE, |node| Host::of(&node))
    }

    /// Its node; none for the outside.
    pub(crate) fn node(self) -> Option<Node> {
        self.node_of(&seam::kept::<Cluster>())
    }

    fn node_of(self, cluster: &Cluster) -> Option<Node> {
        cluster.known(self.0.checked_sub(1)?)
    }
}

/// The ends of a link, each with its node; none for the outside.
pub(crate) type Ends<'a> = [(Host, Option<&'a Node>); 2];

/// Messages that arrive one after the other, and wait while their link is cut.
pub(crate) trait Flow: Send + Sync {
    /// Its link was cut or healed.
    fn set_cut(&self, is_cut: bool, here: Here);

    /// Records a change of its link's settings, on an object that senders operate on.
    fn was_set(&self, here: Here);

    /// A node has died, perhaps once more.
    fn died(self: Arc<Self>, host: Host, death: Death, here: Here);
}

/// One direction between two hosts.
pub(crate) struct Link {
    from: Host,
    to: Host,
    names: &'static Names,
    pub(super) mark: Wrapped,
    pub(super) settings: Settings,
    is_cut: AtomicBool,
    /// The number of messages that a cut has lost or held.
    met: AtomicU64,
    /// For the whole run: to forget one would be an effect of who forgets it.
    flows: Mutex<Queue<Arc<dyn Flow>>>,
}

/// The names of a link.
struct Names {
    route: Route,
    link: String,
    /// The name of the messages that cross it.
    way: String,
}

impl Names {
    /// The names of the link between two hosts: the same for the whole process, since these are few.
    fn of(from: Option<&Node>, to: Option<&Node>) -> &'static Names {
        // By the numbers of their names.
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

    /// The way of its messages, for reports.
    pub(crate) fn route(&self) -> &'static Route {
        &self.names.route
    }

    /// The name of what goes over it, in reports.
    pub(crate) fn name(&self) -> &'static str {
        &self.names.way
    }

    /// Adds a socket that sends datagrams.
    pub(crate) fn add_flow(&self, flow: Arc<dyn Flow>, here: Here) {
        self.join(here);
        self.add(flow);
    }

    /// Adds a stream, whose messages a cut holds.
    pub(crate) fn add_stream(&self, stream: Arc<dyn Flow>, here: Here) {
        self.mark.record(&OPEN, here);
        self.add(stream);
    }

    fn add(&self, flow: Arc<dyn Flow>) {
        // The death of the node finds it.
        seam::tells();
        self.flows().push(flow);
    }

    /// Counts a message that a cut has met.
    pub(crate) fn note_met(&self) {
        self.met.fetch_add(1, Relaxed);
    }

    /// Returns `true` if the link is cut, for a caller that holds its own messages. Their
    /// operations are recorded by the [`Flow`].
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Relaxed)
    }

    /// Moves a message over it, in the step of its arrival. Returns `false` if it is lost.
    pub(crate) fn passes(&self, here: Here) -> bool {
        let (passes, (mark, op)) = self.meet();
        mark.record(op, here);
        passes
    }

    /// Like [`passes`](Self::passes), with the operation for the caller to record.
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

/// The net of a run.
#[derive(Default)]
pub(crate) struct Fabric(Mutex<FabricState>);

#[derive(Default)]
struct FabricState {
    /// The links from each host, by the host at the other end.
    links: ByHost<Host, Arc<Link>>,
    /// In the order of their creation.
    order: Vec<Arc<Link>>,
    /// The object of all links: an operation on it conflicts with links that are not created yet.
    /// Created by the first change of a link. Made by the first change of one.
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
    /// Streams and links know each other.
    fn drop(&mut self) {
        for link in std::mem::take(&mut self.state().order) {
            let flows = std::mem::take(&mut *link.flows());
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

    /// The link from one host to another, made when it is first used.
    pub(crate) fn link(&self, from: Host, to: Host, here: Here) -> Arc<Link> {
        if let Some(link) = self.state().find(from, to) {
            return link.clone();
        }
        let cluster = seam::kept::<Cluster>();
        let [sender, receiver] = [from, to].map(|host| host.node_of(&cluster));
        self.link_of([(from, sender.as_ref()), (to, receiver.as_ref())], here)
    }

    /// Like [`link`](Self::link), between hosts with these nodes.
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

    /// The link from one host to another, to be cut, healed or set.
    pub(super) fn link_to_change(&self, from: Host, to: Host, here: Here) -> Arc<Link> {
        // The link may be new: then an earlier healing of all links has no record on it.
        self.all_links(here).record(&CHANGE, here);
        self.link(from, to, here)
    }

    /// Cuts or heals one direction.
    pub(crate) fn set_cut(&self, from: Host, to: Host, is_cut: bool, here: Here) {
        self.link_to_change(from, to, here).set_cut(is_cut, here);
    }

    /// The object of all links together.
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
            // A link that is not cut has no operation: the links that are made before the end of cuts and after it are
            // alike. The object of all links orders this with each cut.
            if link.is_cut() {
                link.set_cut(false, here);
            }
            link.end_clog(here);
        }
    }

    /// Records that the test reads one of the next two numbers, which cuts, sends and arrivals of other tasks change.
    pub(crate) fn counts(&self, here: Here) {
        self.all_links(here).record(&COUNT, here);
    }

    /// The number of messages that cuts have lost or held so far.
    pub(crate) fn met(&self) -> u64 {
        let links = self.state().order.clone();
        links.iter().map(|link| link.met.load(Relaxed)).sum()
    }

    /// The number of messages that clogs have delayed so far.
    pub(crate) fn delayed(&self) -> u64 {
        let links = self.state().order.clone();
        links.iter().map(|link| link.settings.delayed()).sum()
    }

    /// The faults of all links that have none of their own.
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
