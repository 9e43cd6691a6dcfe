//! Nodes: parts of a run that share no memory and can die independently.
//!
//! A node models a process on its own machine. Its tasks, sockets and files belong to it, and it can be
//! [killed](Node::kill), [switched off](Node::power_off), [restarted](Node::restart) and [paused](Node::pause). The
//! body of the test, its clients and its faults belong to no node: they are *outside*.
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
//! Nodes share no memory. If a node uses an atomic, a lock or a channel that was created in another node or in an
//! earlier life, the run fails at its end. The report shows both source places. Objects that were created [`outside`]
//! may be used by all nodes. They belong to the test, like objects created before the run. [`share_memory`] permits all
//! sharing.
//!
//! A `static` made with `const_new` has a separate instance in each life of each node. Each instance starts with the
//! initial value. The tasks outside of nodes have an instance of their own, which no node can access. The library
//! identifies statics by `const_new`, because a `const` constructor cannot detect what it initializes. So a value made
//! with `const_new` elsewhere, for example in an `Arc`, is also separate for each node; use `new` for such values.
//! [`shared`](crate::Atomic::shared) makes a static common to all nodes, for example for counters of the test. In the
//! real build all nodes share each static.
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
//! Each node has a [`Clock`], which shows true time unless the test changes it. Timers of a node run at the rate of its
//! clock.
//!
//! # The dead
//!
//! The step that kills a node is the last step of its tasks. The futures of the tasks are dropped in this step:
//! children before their parents, and the newest child of a task first. The destructors of the futures have no effect
//! on nodes: they send, write and spawn nothing. Memory and locks of the test are released normally.
//!
//! Outside of runs and in the real build, a node is a group of tasks, which are aborted when the node is killed.

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
/// A clone refers to the same node.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let same = db.clone();
/// same.kill();
/// assert!(same == db && !db.is_up());
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    known: Name,
    /// The number of the node, from 0 in creation order.
    number: u32,
    /// `true` if the program has obtained the number.
    shows_order: AtomicBool,
    /// The object that represents the node state in searches.
    mark: Wrapped,
    clock: NodeClock,
    state: Mutex<State>,
}

type Main = Box<dyn FnMut() -> BoxFuture<'static, ()> + Send>;

struct State {
    /// The task group of the process. `None` while the process is dead.
    group: Option<Group>,
    /// `true` if the machine has power. The kernel of the machine then replies, even without the process.
    is_on: bool,
    is_paused: bool,
    /// `true` if data on the disk was destroyed.
    has_lost_data: bool,
    life: u64,
    main: Option<Main>,
}

/// Adds a node with this name to the run. The node is up, and has no task yet.
///
/// Other nodes connect to the node by this name. A run fails if two nodes have the same name.
///
/// ```
/// let report = sim::Runner::new().hermetic().run(async || {
///     let _one = sim::node("db-1");
///     let _two = sim::node("db-1");
/// });
/// assert!(!report.passed() || !sim::SIMULATED);
/// ```
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

/// Returns the node of the current code; `None` outside of nodes.
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

/// Returns the node with this name, if any. This call is not a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// assert_eq!(sim::node::find("db-1"), Some(db));
/// assert_eq!(sim::node::find("db-2"), None);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn find(name: &str) -> Option<Node> {
    find_at(name, here())
}

/// Like [`find`], on behalf of the caller at `here`.
pub(crate) fn find_at(name: &str, here: Here) -> Option<Node> {
    seam::kept::<Cluster>().find(name, here)
}

/// Calls `act` as code outside all nodes. Tasks that it spawns survive the node, and all nodes may use the objects that
/// it creates.
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

/// Permits nodes of the current run to share memory, and to use memory of earlier lives. Call it at the start of the
/// body. This call is not a point.
#[track_caller]
pub fn share_memory() {
    Group::share_objects(here());
}

impl Node {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the address: `10.0.0.1` for the first node of the run. In the real build, all nodes have the loopback
    /// address.
    ///
    /// If several tasks add nodes, an address reveals the order of the additions. A search then explores all these
    /// orders; otherwise it explores only one order.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let [a, b] = ["a", "b"].map(sim::node);
    /// let addrs = if sim::SIMULATED { ["10.0.0.1", "10.0.0.2"] } else { ["127.0.0.1"; 2] };
    /// assert_eq!([a.addr().to_string(), b.addr().to_string()], addrs);
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Returns the name as a process-wide value.
    pub(crate) fn known(&self) -> Name {
        self.0.known
    }

    /// Returns the number of the node in the run, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// Returns the number of the current life, from 1. Each restart begins a new life.
    #[track_caller]
    pub fn life(&self) -> u64 {
        self.0.mark.last(&LOOK, here());
        self.state().life
    }

    /// Returns `true` if the process is alive: neither killed nor switched off. A paused node is up.
    #[track_caller]
    pub fn is_up(&self) -> bool {
        self.0.mark.last(&LOOK, here());
        self.state().group.is_some()
    }

    /// Returns `true` if the machine is on. The kernel of the machine then replies, even if the process is dead.
    pub(crate) fn is_on(&self, here: Here) -> bool {
        self.0.mark.last(&LOOK, here);
        self.state().is_on
    }

    /// Like [`is_on`](Self::is_on), but returns the operation for the caller to record.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn look(&self) -> (bool, Deed<'_>) {
        (self.state().is_on, (&self.0.mark, &LOOK))
    }

    /// Returns `true` if the node is paused.
    #[track_caller]
    pub fn is_paused(&self) -> bool {
        self.0.mark.last(&LOOK, here());
        self.state().is_paused
    }

    /// Makes the node run `main` in a task with the node's name, now and after each [restart](Self::restart). If the
    /// node is down, `main` runs at the next restart.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    /// use std::sync::Arc;
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let starts = Arc::new(Atomic::new(0));
    /// starts.store(0, SeqCst).await;
    /// let (db, count) = (sim::node("db-1"), starts.clone());
    /// db.kill();
    /// db.run(move || {
    ///     let count = count.clone();
    ///     async move {
    ///         count.fetch_add(1, SeqCst).await;
    ///     }
    /// });
    /// assert_eq!(starts.load(SeqCst).await, 0);
    /// db.restart();
    /// sim::spin_until(async || starts.load(SeqCst).await == 1).await;
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Spawns a task in the node. See [`sim::spawn`](crate::spawn).
    ///
    /// If the node is down, the task does not run, and the handle returns an error that
    /// [is an abort](crate::JoinError).
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// assert_eq!(db.spawn(async { 1 }).await.unwrap(), 1);
    /// db.kill();
    /// let task = db.spawn(std::future::pending::<()>());
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Calls `act` as code of the node. Tasks, sockets and files that it creates belong to the node. If the node is
    /// down, they belong to no node.
    #[track_caller]
    pub fn enter<R>(&self, act: impl FnOnce() -> R) -> R {
        self.0.mark.last(&LOOK, here());
        let group = self.state().group;
        match group {
            Some(group) => group.enter(act),
            None => act(),
        }
    }

    /// Records that data on the disk is being destroyed.
    pub(crate) fn lose_data(&self, here: Here) {
        self.0.mark.last(&PACE, here);
        self.state().has_lost_data = true;
    }

    /// Returns `true` if data on the disk was ever destroyed.
    pub(crate) fn has_lost_data(&self, here: Here) -> bool {
        self.0.mark.last(&LOOK, here);
        self.state().has_lost_data
    }

    /// Records a change of the node. All steps of its tasks, including later steps, depend on this change.
    pub(crate) fn touch(&self, here: Here) {
        self.0.mark.last(&PACE, here);
        let group = self.state().group;
        if let Some(group) = group {
            group.touch(here);
        }
    }

    /// Spawns the main task, if any.
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
