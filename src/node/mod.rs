//! Nodes: parts of a run that share no memory, and that die one by one.
//!
//! A node models a process on its own machine. Its tasks, sockets and files belong to it, and it
//! can be [killed](Node::kill), [switched off](Node::power_off), [restarted](Node::restart) and
//! [paused](Node::pause). The body of the test, its clients and its faults are in no node: they are
//! *outside*.
//!
//! ```
//! use sim::{Atomic, Ordering::SeqCst};
//! use std::sync::Arc;
//!
//! # let report = sim::Runner::new().hermetic().run(async || {
//! let starts = Arc::new(Atomic::new(0));
//! starts.store(0, SeqCst).await;
//! let db = sim::node("db-1");
//! let count = starts.clone();
//! db.run(move || {
//!     let count = count.clone();
//!     async move {
//!         count.fetch_add(1, SeqCst).await;
//!     }
//! });
//! sim::spin_until(async || starts.load(SeqCst).await == 1).await;
//! db.restart();
//! sim::spin_until(async || starts.load(SeqCst).await == 2).await;
//! assert_eq!((db.name(), db.life()), ("db-1", 2));
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # The memory of a node
//!
//! Nodes share no memory. An atomic, a lock or a channel that was created in one node and is used by another one, or by
//! the same node in a later life, fails the run at its end, with both places. Objects that were created [`outside`] are
//! free to all nodes. They belong to the test, like objects created before the run. [`share_memory`] permits all of it.
//!
//! A `static` made with `const_new` is another one in each node and in each of its lives: it begins with its initial
//! value. The tasks outside of nodes have one of their own, which no node sees. A `const_new` is the mark of a static:
//! a constructor that is `const` cannot know whether it makes one. A value that it makes elsewhere, such as one in an
//! `Arc`, is by node, too; `new` is for these. [`shared`](crate::Atomic::shared) makes a static the same for all nodes,
//! for what the test counts. In the real build a static is one for all nodes.
//!
//! ```
//! use sim::{Atomic, Ordering::SeqCst};
//!
//! static SERVED: Atomic<u64> = Atomic::<u64>::const_new(0);
//!
//! # let report = sim::Runner::new().hermetic().run(async || {
//! # if !sim::SIMULATED { return }
//! let db = sim::node("db-1");
//! db.run(async || {
//!     assert_eq!(SERVED.fetch_add(1, SeqCst).await, 0);
//! });
//! sim::spin_until(async || db.enter(|| SERVED.peek()) == 1).await;
//! db.restart();
//! assert_eq!((SERVED.peek(), db.enter(|| SERVED.peek())), (0, 0));
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # The clock of a node
//!
//! Each node has a [`Clock`], which is true unless the test changes it. Timers of a node go at its rate.
//!
//! # The dead
//!
//! The step that kills a node is the last one of its tasks. Their futures are dropped in it: children before
//! their parents, of one task's children the newest first. Their destructors have no effect on nodes: nothing is sent,
//! written or spawned; memory and locks of the test are given back as always.
//!
//! Outside of runs and in the real build a node is a group of tasks, which are aborted when it is killed.

mod clock;
mod cluster;
mod lives;
mod names;

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

pub use self::clock::{Clock, Shift};
pub(crate) use self::clock::{RUNGS, drawn_drift};
pub(crate) use self::cluster::{Cluster, Death};
pub(crate) use self::names::Name;
#[cfg(feature = "tokio")]
pub(crate) use self::names::Texts;
use crate::run::Failure;
use crate::run::op::{Access, Op, node as kinds, word};
use crate::seam::{self, Deed, Group, Here, NodeClock, Wrapped, here};
use crate::task::JoinHandle;

const LOOK: Op = Op::of_kind("look", Access::Peek, kinds::SEE).quiet();
const RUN: Op = Op::of_kind("run", Access::Tell, kinds::RUN).quiet();
const PACE: Op = Op::of_kind("pace", Access::Tell, kinds::CHANGE).quiet();
const SLOW: Op = Op::of_kind("slow", Access::Tell, word::WRITE);
const SPEED_UP: Op = Op::of_kind("speed_up", Access::Tell, word::WRITE);

/// A node of the current run.
///
/// A clone is the same node.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    known: Name,
    /// From 0, in the order of their creation.
    number: u32,
    /// Its number was given to the program.
    shows_order: AtomicBool,
    /// Its state, as searches see it.
    mark: Wrapped,
    clock: NodeClock,
    state: Mutex<State>,
}

type Main = Box<dyn FnMut() -> BoxFuture<'static, ()> + Send>;

struct State {
    /// The tasks of its process. `None` while the process is dead.
    group: Option<Group>,
    /// The machine has power: its kernel answers, also without the process.
    is_on: bool,
    is_paused: bool,
    /// True if data of its disk were taken.
    has_lost_data: bool,
    life: u64,
    main: Option<Main>,
}

/// Adds a node of this name to the run. It is up, and has no task yet.
///
/// The name is what other nodes connect to. A run that has two nodes of one name fails.
#[track_caller]
pub fn node(name: impl AsRef<str>) -> Node {
    let here = here();
    let name: Arc<str> = name.as_ref().into();
    let known = Name::of(&name);
    let make = |number, mark| {
        let clock = NodeClock::new(known.clock, here);
        let group = Some(Group::begin(name.clone(), &clock));
        let (is_on, is_paused, has_lost_data) = (true, false, false);
        let state = State { group, is_on, is_paused, has_lost_data, life: 1, main: None };
        let (name, state, shows_order) = (name.clone(), Mutex::new(state), AtomicBool::new(false));
        Node(Arc::new(Inner { name, known, number, shows_order, mark, clock, state }))
    };
    let (node, is_new) = seam::kept::<Cluster>().add(known, make, here);
    if seam::in_run() && !is_new {
        refuse(
            format!(
                "there is a node \"{name}\" already: restart it, or give this one another name"
            ),
            here,
        );
    }
    node
}

/// The node of the code that runs; none outside of nodes.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// assert_eq!(db.enter(|| sim::node::current().unwrap().name().to_owned()), "db-1");
/// assert!(sim::node::current().is_none());
/// # });
/// # assert!(report.passed());
/// ```
pub fn current() -> Option<Node> {
    let group = Group::current();
    (group != Group::outside()).then(|| seam::kept::<Cluster>().of_group(group)).flatten()
}

/// The node of this name, if the run has one. Not a point.
#[track_caller]
pub fn find(name: &str) -> Option<Node> {
    find_at(name, here())
}

/// Like [`find`], called at `here`.
pub(crate) fn find_at(name: &str, here: Here) -> Option<Node> {
    seam::kept::<Cluster>().find(name, here)
}

/// Calls `act` as code that is in no node: what it spawns lives on, and objects that it creates are free to all.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// db.enter(|| sim::node::outside(|| assert!(sim::node::current().is_none())));
/// # });
/// # assert!(report.passed());
/// ```
pub fn outside<R>(act: impl FnOnce() -> R) -> R {
    Group::outside().enter(act)
}

/// Permits nodes of the current run to share memory, and to have it outlive them. Call it at the start of the body. Not
/// a point.
#[track_caller]
pub fn share_memory() {
    Group::share_objects(here());
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its address: `10.0.0.1` for the first node of the run. In the real build all nodes are on the loopback device.
    ///
    /// If several tasks add nodes, an address tells in which order they did. A search then tries all these orders, and
    /// otherwise one.
    pub fn addr(&self) -> IpAddr {
        if !seam::in_run() {
            return IpAddr::V4(Ipv4Addr::LOCALHOST);
        }
        if !self.0.shows_order.swap(true, Relaxed) {
            seam::kept::<Cluster>().show_order();
        }
        let [_, high, middle, low] = (self.0.number + 1).to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(10, high, middle, low))
    }

    /// Its name, as the process keeps it.
    pub(crate) fn known(&self) -> Name {
        self.0.known
    }

    /// Its number in the run, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// Its life, from 1: it counts restarts.
    #[track_caller]
    pub fn life(&self) -> u64 {
        self.0.mark.last(&LOOK, here());
        self.state().life
    }

    /// Returns `true` if its process lives: it is neither killed nor switched off. A paused node is up.
    #[track_caller]
    pub fn is_up(&self) -> bool {
        self.0.mark.last(&LOOK, here());
        self.state().group.is_some()
    }

    /// Returns `true` if its machine is on: its kernel answers, whether the process lives or not.
    pub(crate) fn is_on(&self, here: Here) -> bool {
        self.0.mark.last(&LOOK, here);
        self.state().is_on
    }

    /// Like [`is_on`](Self::is_on), with the operation for the caller to record.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn look(&self) -> (bool, Deed<'_>) {
        (self.state().is_on, (&self.0.mark, &LOOK))
    }

    /// Returns `true` if it is paused.
    #[track_caller]
    pub fn is_paused(&self) -> bool {
        self.0.mark.last(&LOOK, here());
        self.state().is_paused
    }

    /// Makes the node run `main`, in a task of its name, now and again after each
    /// [restart](Self::restart). A node that is down runs it when it is restarted.
    #[track_caller]
    pub fn run<F>(&self, mut main: impl FnMut() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let here = here();
        self.0.mark.last(&RUN, here);
        self.state().main = Some(Box::new(move || Box::pin(main())));
        self.start(here);
    }

    /// Spawns a task of the node. See [`sim::spawn`](crate::spawn).
    ///
    /// A node that is down has no tasks: the handle then gives an error that [is an abort](crate::JoinError).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let here = here();
        let name = Some(self.0.name.clone());
        self.0.mark.last(&LOOK, here);
        let group = self.state().group;
        match group {
            Some(group) => group.enter(|| JoinHandle::spawned(name, future, here)),
            None => {
                let task = JoinHandle::spawned(name, future, here);
                task.abort();
                task
            }
        }
    }

    /// Calls `act` as code of the node: what it spawns, binds, connects and opens is the node's. Nothing is a node's
    /// while it is down.
    #[track_caller]
    pub fn enter<R>(&self, act: impl FnOnce() -> R) -> R {
        self.0.mark.last(&LOOK, here());
        let group = self.state().group;
        match group {
            Some(group) => group.enter(act),
            None => act(),
        }
    }

    /// Records that data of its disk are taken.
    pub(crate) fn lose_data(&self, here: Here) {
        self.0.mark.last(&PACE, here);
        self.state().has_lost_data = true;
    }

    /// Returns `true` if data of its disk were ever taken.
    pub(crate) fn has_lost_data(&self, here: Here) -> bool {
        self.0.mark.last(&LOOK, here);
        self.state().has_lost_data
    }

    /// Records a change of the node. All steps of its tasks depend on it, including later ones.
    pub(crate) fn touch(&self, here: Here) {
        self.0.mark.last(&PACE, here);
        let group = self.state().group;
        if let Some(group) = group {
            group.touch(here);
        }
    }

    /// Spawns its main task, if it has one.
    fn start(&self, here: Here) {
        let (group, main) = {
            let mut state = self.state();
            let group = state.group;
            (group, if group.is_some() { state.main.take() } else { None })
        };
        let (Some(group), Some(mut main)) = (group, main) else { return };
        let name = Some(self.0.name.clone());
        let task = group.enter(|| JoinHandle::spawned(name, main(), here));
        self.state().main = Some(main);
        task.detach();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Node {}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.name())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn refuse(message: String, here: Here) {
    seam::fail(|| Failure::Misuse { message, place: seam::place_of(here) });
}
