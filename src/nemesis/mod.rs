//! A nemesis: it injects faults into nodes, links and disks while clients run. The faults are drawn as decisions of the
//! run.
//!
//! A [`Nemesis`] is a list of kinds of faults, each with a [`Victim`]. Its [`run`](Nemesis::run) draws a number of
//! faults, injects them one after the other, and at the end heals all links, resumes all nodes and restarts the nodes
//! that are down. The faults are decisions like all others: a trace contains them, a replay injects them again, and
//! shrinking leaves only the faults that a failure needs.
//!
//! ```
//! use sim::nemesis::{Nemesis, Victim};
//! use sim::{net, time::Duration};
//!
//! # let report = sim::Runner::new().hermetic().run(async || {
//! let nodes = ["a", "b", "c"].map(sim::node);
//! let (sender, mut receiver) = net::link(&nodes[0], &nodes[1]);
//! nodes[0].run(move || {
//!     let sender = sender.clone();
//!     async move { while sender.send("alive").await.is_ok() { sim::time::sleep(Duration::from_millis(9)).await } }
//! });
//! let faults = Nemesis::new().isolate(Victim::one()).pause(Victim::any()).faults(1..=3);
//! faults.run(&nodes).await;
//! assert_eq!(receiver.recv().await, Some("alive"), "it is over, and all is healed");
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # Faults of a generated program
//!
//! [`Parallel::nemesis`](crate::parallel::Parallel::nemesis) gives a generated program an additional branch that
//! contains faults as commands. These faults are drawn, shrunk, written to scripts ([`Fault`]) and shown together with
//! the other commands, but the model does not see them. All faults end before the suffix of the program.
//!
//! # Guided victims
//!
//! [`Victim::guided`] calls a function that chooses the victim when the fault happens, for example the primary or the
//! holder of a lease. Half of the runs use the function; the other half use random victims. So a wrong function costs
//! only a factor of two and does not hide the bug.
//!
//! # Faults that meet nothing
//!
//! A fault that affects no message and no task tests nothing. Reports count all faults, and separately the faults that
//! had an effect ([`Report::faults`](crate::report::Report::faults)). A passing test gets a warning for each kind that
//! never had an effect; with [`Nemesis::must_meet`] the test fails.
//!
//! A clock fault had an effect if the wrong clock was read or moved a timer, and a pace fault if the slow node took a
//! step. A disk fault had an effect if a call suffered it, and a wipe if there were files.
//!
//! Outside of runs and in the real build, faults of clocks, pace, disks and links do nothing, and nodes are not paused.
//! The nemesis waits at most 10 ms at a time and counts nothing.

mod branch;
mod clock_faults;
mod clogs;
mod disks;
mod fault;
mod fault_kinds;
mod liveness;
mod plan;
mod script;
mod series;
mod shapes;
mod tolerance;
mod underway;
mod victim;

use std::future::Future;
use std::ops::RangeInclusive;
use std::panic::Location;
use std::time::Duration;

pub(crate) use self::branch::Branch;
use self::fault::Package;
use self::fault_kinds::FaultKind;
pub use self::liveness::{majority, quiesce_core};
use self::plan::Source;
pub use self::script::Fault;
pub use self::shapes::Partition;
pub use self::tolerance::Tolerance;
use self::underway::Underway;
pub use self::victim::Victim;
use crate::fs::{self, DiskFault};
use crate::net;
use crate::node::Node;
use crate::seam::{Here, here};
use crate::time::sleep;

/// Faults injected into the nodes of a run. See the [module](self).
///
/// ```
/// use sim::nemesis::{Nemesis, Victim};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b", "c"].map(sim::node);
/// Nemesis::new().kill(Victim::any()).pause(Victim::one()).run(&nodes).await;
/// assert!(nodes.iter().all(|node| node.is_up() && !node.is_paused()));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
#[must_use = "a nemesis does nothing before it is run"]
pub struct Nemesis {
    packages: Vec<Package>,
    count: RangeInclusive<u32>,
    gaps: Vec<Duration>,
    lasting: Vec<Duration>,
    down_max: usize,
    tolerance: Option<Tolerance>,
    must_meet: bool,
}

impl Default for Nemesis {
    fn default() -> Nemesis {
        Nemesis::new()
    }
}

impl Nemesis {
    /// Creates a nemesis that injects one to four faults, but has no kinds of faults yet. The gap before each fault and
    /// its duration are each some steps of the run, 1 ms, 20 ms or 300 ms.
    pub fn new() -> Nemesis {
        let rungs = || [1, 20, 300].map(Duration::from_millis).to_vec();
        Nemesis {
            packages: Vec::new(),
            count: 1..=4,
            gaps: rungs(),
            lasting: rungs(),
            down_max: usize::MAX,
            tolerance: None,
            must_meet: false,
        }
    }

    /// Cuts the victim off from all other nodes, in both directions.
    pub fn isolate(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Isolate, victim)
    }

    /// Cuts the links from the victim to all other nodes, or the links in the other direction.
    pub fn cut(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Cut, victim)
    }

    /// Partitions the nodes in one of these ways; use [`Partition::ANY`] for all ways.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Partition};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// let (sender, mut receiver) = sim::net::link(&nodes[0], &nodes[1]);
    /// let faults = sim::spawn(Nemesis::new().partition([Partition::One]).run(&nodes));
    /// sender.send(1).await.unwrap();
    /// faults.await.unwrap();
    /// assert_eq!(receiver.recv().await, Some(1));
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn partition(mut self, ways: impl IntoIterator<Item = Partition>) -> Nemesis {
        let ways: Vec<Partition> = ways.into_iter().collect();
        let package = Package::new(FaultKind::Partition, Victim::one());
        self.packages.push(Package { ways, ..package });
        self
    }

    /// [Kills](Node::kill) the victim, and restarts it later.
    pub fn kill(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Kill, victim)
    }

    /// [Switches](Node::power_off) the victim off, and restarts it later.
    pub fn power_off(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::PowerOff, victim)
    }

    /// [Restarts](Node::restart) the victim, in one step.
    pub fn restart(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Restart, victim)
    }

    /// [Pauses](Node::pause) the victim, and resumes it later.
    pub fn pause(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Pause, victim)
    }

    /// Sets the wall clock of the victim off by 10 ms, 500 ms or 1 h, ahead or behind, and corrects it later.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    /// use sim::node::Shift;
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b"].map(sim::node);
    /// Nemesis::new().offset(Victim::one()).run(&nodes).await;
    /// assert!(nodes.iter().all(|node| node.clock().offset() == Shift::NONE));
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn offset(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Offset, victim)
    }

    /// Makes the [clock](Node::clock) of the victim run at a wrong rate, by 1e-5, 1e-3 or 1e-1, and
    /// corrects it later.
    pub fn drift(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Drift, victim)
    }

    /// Makes the wall clock of the victim jump by 10 ms, 500 ms or 1 h, and corrects it later.
    pub fn jump(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Jump, victim)
    }

    /// Makes the wall clock of the victim jump back and forth several times, and corrects it later.
    pub fn strobe(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Strobe, victim)
    }

    /// Makes the victim [slow](Node::slow) for a while.
    pub fn slow(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Slow, victim)
    }

    /// Injects one of these faults into the victim's disk for a while; [`DiskFault::PASSING`] contains the faults that
    /// keep synced data. After the end of the fault, calls work normally again, but changed bits and misdirected writes
    /// remain.
    ///
    /// Faults that [destroy data](DiskFault::takes_data) need a bound, [`Tolerance::disks`], or victims by name.
    ///
    /// ```
    /// use sim::fs::{self, DiskFault};
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let nodes = ["a", "b"].map(sim::node);
    /// for node in &nodes {
    ///     node.spawn(async {
    ///         for n in 0..9_u8 {
    ///             // A full disk is no reason to stop.
    ///             let _ = fs::write("/count", [n]).await;
    ///         }
    ///     })
    ///     .detach();
    /// }
    /// Nemesis::new().disk(Victim::any(), [DiskFault::Full, DiskFault::Short]).run(&nodes).await;
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn disk(mut self, victim: Victim, faults: impl IntoIterator<Item = DiskFault>) -> Nemesis {
        let troubles = faults.into_iter().collect();
        self.packages.push(Package { troubles, ..Package::new(FaultKind::Disk, victim) });
        self
    }

    /// [Switches](Node::power_off) the victim off, [deletes all its files](Node::wipe), and restarts it later. Needs a
    /// bound, [`Tolerance::disks`], or victims by name, because otherwise it would sooner or later destroy all copies
    /// of all data.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Tolerance, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// let wipes = Nemesis::new().wipe(Victim::one()).tolerance(Tolerance::nodes(1).disks(1));
    /// wipes.run(&nodes).await;
    /// assert!(nodes.iter().all(sim::Node::is_up));
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn wipe(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Wipe, victim)
    }

    /// Isolates the victims one after the other, and heals them in another order, with a gap between successive
    /// actions.
    pub fn swizzle(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Swizzle, victim)
    }

    /// Isolates the victim, and a few times moves the isolation to the node that is then the victim. Use it with
    /// [`Victim::guided`], for example to follow each new leader.
    pub fn rolling(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Rolling, victim)
    }

    /// Kills all nodes one after the other in a drawn order, and restarts each node before the next kill, like a
    /// rolling upgrade.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// sim::nemesis::Nemesis::new().churn().faults(0..=1).run(&nodes).await;
    /// let lives = nodes.map(|node| node.life());
    /// assert!(lives == [1, 1, 1] || lives == [2, 2, 2]);
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn churn(self) -> Nemesis {
        self.with(FaultKind::Churn, Victim::one())
    }

    fn with(mut self, kind: FaultKind, victim: Victim) -> Nemesis {
        self.packages.push(Package::new(kind, victim));
        self
    }

    /// Sets the minimum and the maximum number of faults.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b"].map(sim::node);
    /// Nemesis::new().kill(Victim::one()).faults(0..=2).run(&nodes).await;
    /// let kills = nodes.iter().map(|node| node.life() - 1).sum::<u64>();
    /// assert!(kills <= 2);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If the range is empty, or ends above 1000.
    #[track_caller]
    pub fn faults(mut self, count: RangeInclusive<u32>) -> Nemesis {
        assert!(
            !count.is_empty() && *count.end() <= 1000,
            "a nemesis with {count:?} faults: give a range that is not empty, up to 1000"
        );
        self.count = count;
        self
    }

    /// Sets the choices for the time before a fault. An additional choice is always a number of steps of the run.
    pub fn gaps(mut self, gaps: impl IntoIterator<Item = Duration>) -> Nemesis {
        self.gaps = gaps.into_iter().collect();
        self
    }

    /// Sets the choices for the duration of a fault. Additional choices always exist: some steps of the run, or until
    /// the end. In a run from a seed, a fault may also end before the earliest timer of a task, between the earliest
    /// and the latest, or after the latest. So durations are both shorter and longer than failure detection takes.
    pub fn lasting(mut self, times: impl IntoIterator<Item = Duration>) -> Nemesis {
        self.lasting = times.into_iter().collect();
        self
    }

    /// Limits the number of nodes that are down at the same time. Use the number that the system promises to survive.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    /// use sim::time::{Duration, sleep};
    ///
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// let faults = Nemesis::new().kill(Victim::any()).down_at_most(1).run(&nodes);
    /// let faults = sim::spawn(faults);
    /// while !faults.is_finished() {
    ///     let down = nodes.iter().filter(|node| !node.is_up()).count();
    ///     assert!(down <= 1 || !sim::SIMULATED);
    ///     sleep(Duration::from_millis(1)).await;
    /// }
    /// faults.await.unwrap();
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn down_at_most(mut self, nodes: usize) -> Nemesis {
        self.down_max = nodes;
        self
    }

    /// Limits the faults to the losses that the system promises to survive. Faults that would exceed this have fewer
    /// victims or no victims.
    pub fn tolerance(self, tolerance: Tolerance) -> Nemesis {
        Nemesis { tolerance: Some(tolerance), ..self }
    }

    /// Fails the test if some kind of fault had no effect in any run.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    ///     let nodes = ["a", "b"].map(sim::node);
    ///     // The nodes say nothing to each other.
    ///     Nemesis::new().isolate(Victim::one()).must_meet().run(&nodes).await;
    /// });
    /// assert!(!report.passed() || !sim::SIMULATED);
    /// ```
    pub fn must_meet(mut self) -> Nemesis {
        self.must_meet = true;
        self
    }

    /// Injects the faults. Then heals all links, resumes paused nodes and restarts nodes that are down.
    ///
    /// Await it concurrently with the clients: in a task of its own or in a `join!`. The faults are injected into
    /// `nodes`.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b"].map(sim::node);
    /// let faults = sim::spawn(Nemesis::new().pause(Victim::one()).run(&nodes));
    /// let [one, two] = [0, 1].map(|n: usize| nodes[n].spawn(async move { n }));
    /// assert_eq!((one.await.unwrap(), two.await.unwrap()), (0, 1));
    /// faults.await.unwrap();
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If the nemesis has no kind of fault, or the number of nodes is not 1 to 32. Also if it may destroy data on disks
    /// without a bound.
    #[track_caller]
    pub fn run(self, nodes: &[Node]) -> impl Future<Output = ()> + Send + use<> {
        self.check(nodes, 0);
        let underway = Underway::new(self, nodes, (Location::caller(), here()));
        async move {
            let drawn = plan::draw(&underway.nemesis, underway.nodes.len(), Source::Task);
            for command in drawn.commands.iter().flatten() {
                underway.cause(command, drawn.is_guided, None, |_, _| ()).await;
            }
            underway.end();
        }
    }

    /// Panics if the nemesis has nothing to do; `faults` is the number of faults in the script.
    #[track_caller]
    fn check(&self, nodes: &[Node], faults: usize) {
        assert!(
            !self.packages.is_empty() || faults > 0,
            "a nemesis without faults: add one, such as kill(..)"
        );
        assert!(
            (1..=32).contains(&nodes.len()),
            "a nemesis of {} nodes: give it 1 to 32",
            nodes.len()
        );
        let empty =
            |package: &Package| package.kind == FaultKind::Disk && package.troubles.is_empty();
        assert!(!self.packages.iter().any(empty), "disk(..) without faults: DiskFault::PASSING");
        self.check_disks();
    }
}

/// Heals all links and the disks of these nodes, and resumes and restarts the nodes. Corrects their clocks, and ends
/// late timers and slow steps. Then waits for `time`. During this time the system runs without faults. Afterwards no
/// message is in flight, unless the nodes keep sending, and the node states can be compared.
///
/// ```
/// use sim::{nemesis, net, time::Duration};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::link(&nodes[0], &nodes[1]);
/// net::isolate(&nodes[0]);
/// sender.send(1).await.unwrap();
/// nemesis::quiesce(&nodes, Duration::from_millis(20)).await;
/// assert_eq!(receiver.try_recv(), Some(1));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn quiesce(nodes: &[Node], time: Duration) -> impl Future<Output = ()> + Send + use<> {
    let (here, nodes) = (here(), nodes.to_vec());
    async move {
        calm(&nodes, here);
        nodes.iter().for_each(|node| node.calm(here));
        sleep(time).await;
    }
}

/// Ends all faults, except faults of clocks and pace. A test may give a node a wrong clock for a whole run.
fn calm(nodes: &[Node], here: Here) {
    net::heal_all(here);
    for node in nodes {
        if node.is_paused() {
            node.set_paused(false, here);
        }
        if !node.is_up() {
            node.start_again(here);
        }
        fs::mend(node, here);
    }
}
