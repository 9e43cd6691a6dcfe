//! A nemesis: faults of nodes, links and disks, drawn from the decisions of the run beside what the clients do.
//!
//! A [`Nemesis`] is a list of kinds of faults, each with a [`Victim`]. Its [`run`](Nemesis::run)
//! draws a number of faults, injects them one after the other, and at the end mends all links,
//! resumes all nodes and restarts the nodes that are down. The faults are decisions like any other:
//! a trace has them, a replay injects them again, and shrinking leaves only the faults that a
//! failure needs.
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
//! [`Parallel::nemesis`](crate::parallel::Parallel::nemesis) gives a generated program one more branch, whose commands
//! are faults. They are drawn with the program, left out and kept with its commands, written down with them
//! ([`Fault`]), and shown beside them; the model does not see them. All is mended before the suffix of the program.
//!
//! # Guided victims
//!
//! [`Victim::guided`] has a function name the victim when the fault happens: the primary, the holder of a lease. Half
//! of the runs do so, the others take random victims, so that a wrong function costs a factor of two and not the bug.
//!
//! # Faults that meet nothing
//!
//! A fault that no message and no task meets tests nothing. Reports count them
//! ([`Report::faults`](crate::report::Report::faults)), a test that passes has a warning for each kind that never met
//! anything, and it fails with [`Nemesis::must_meet`].
//!
//! A fault of a clock has met something if it was read, or moved a timer, while it was wrong; one of a node's pace if
//! the node took a step; one of a disk if a call suffered it; a wipe if there were files.
//!
//! Outside of runs and in the real build, clocks are true, no node is slow, disks are well, links are not cut, nodes
//! are not paused, a pause takes 10 ms at most, and nothing is counted.

mod branch;
mod clocks;
mod clogs;
mod disks;
mod fault;
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
use self::fault::{Kind, Package};
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
    /// One to four faults, of no kind yet. Between them, and from the begin of each to its end, pass some steps of the
    /// run, 1 ms, 20 ms or 300 ms.
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
        self.with(Kind::Isolate, victim)
    }

    /// Cuts all that the victim sends to other nodes, or all that they send to it.
    pub fn cut(self, victim: Victim) -> Nemesis {
        self.with(Kind::Cut, victim)
    }

    /// Cuts the nodes into parts, in one of these ways: [`Partition::ANY`] for all.
    pub fn partition(mut self, ways: impl IntoIterator<Item = Partition>) -> Nemesis {
        let ways: Vec<Partition> = ways.into_iter().collect();
        let package = Package::new(Kind::Partition, Victim::one());
        self.packages.push(Package { ways, ..package });
        self
    }

    /// [Kills](Node::kill) the victim, and restarts it later.
    pub fn kill(self, victim: Victim) -> Nemesis {
        self.with(Kind::Kill, victim)
    }

    /// [Switches](Node::power_off) the victim off, and restarts it later.
    pub fn power_off(self, victim: Victim) -> Nemesis {
        self.with(Kind::PowerOff, victim)
    }

    /// [Restarts](Node::restart) the victim, in one step.
    pub fn restart(self, victim: Victim) -> Nemesis {
        self.with(Kind::Restart, victim)
    }

    /// [Pauses](Node::pause) the victim, and resumes it later.
    pub fn pause(self, victim: Victim) -> Nemesis {
        self.with(Kind::Pause, victim)
    }

    /// Sets the wall clock of the victim off by 10 ms, 500 ms or 1 h, ahead or behind, and corrects it later.
    pub fn offset(self, victim: Victim) -> Nemesis {
        self.with(Kind::Offset, victim)
    }

    /// Makes the [clock](Node::clock) of the victim run at a wrong rate, by 1e-5, 1e-3 or 1e-1, and
    /// corrects it later.
    pub fn drift(self, victim: Victim) -> Nemesis {
        self.with(Kind::Drift, victim)
    }

    /// Makes the wall clock of the victim jump by 10 ms, 500 ms or 1 h, and corrects it later.
    pub fn jump(self, victim: Victim) -> Nemesis {
        self.with(Kind::Jump, victim)
    }

    /// Makes the wall clock of the victim jump back and forth several times, and corrects it later.
    pub fn strobe(self, victim: Victim) -> Nemesis {
        self.with(Kind::Strobe, victim)
    }

    /// Makes the victim [slow](Node::slow) for a while.
    pub fn slow(self, victim: Victim) -> Nemesis {
        self.with(Kind::Slow, victim)
    }

    /// Delays messages from the victim, messages to it, or both, by 20 ms, 500 ms or 5 s, until the
    /// fault ends. Messages then on their way still arrive late. See [`net::clog`].
    pub fn clog(self, victim: Victim) -> Nemesis {
        self.with(Kind::Clog, victim)
    }

    /// Injects one of these faults into the victim's disk for a while: [`DiskFault::PASSING`] for
    /// all faults that keep synced data. After the end, calls are done as always; what is rotten,
    /// or was written in the place of something else, stays so.
    ///
    /// Faults that [take data](DiskFault::takes_data) need a bound, [`Tolerance::disks`], or victims by name.
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
        self.packages.push(Package { troubles, ..Package::new(Kind::Disk, victim) });
        self
    }

    /// [Switches](Node::power_off) the victim off, [takes all its files](Node::wipe), and restarts it later. Needs a
    /// bound, [`Tolerance::disks`], or victims by name: otherwise it would take all copies of all data in the end.
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
        self.with(Kind::Wipe, victim)
    }

    /// Cuts the victims off one after the other, and mends them in another order, with a gap between each two of these
    /// acts.
    pub fn swizzle(self, victim: Victim) -> Nemesis {
        self.with(Kind::Swizzle, victim)
    }

    /// Cuts the victim off, and a few times moves the cut to the node that is the victim then: for a leader that is
    /// followed by another one. With [`Victim::guided`].
    pub fn rolling(self, victim: Victim) -> Nemesis {
        self.with(Kind::Rolling, victim)
    }

    /// Kills all nodes one after the other, and restarts each before the next one, in an order that is drawn: an
    /// upgrade.
    pub fn churn(self) -> Nemesis {
        self.with(Kind::Churn, Victim::one())
    }

    fn with(mut self, kind: Kind, victim: Victim) -> Nemesis {
        self.packages.push(Package::new(kind, victim));
        self
    }

    /// The least and the greatest number of faults.
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

    /// The choices for the time before a fault. The other choice is always that some steps of the
    /// run pass.
    pub fn gaps(mut self, gaps: impl IntoIterator<Item = Duration>) -> Nemesis {
        self.gaps = gaps.into_iter().collect();
        self
    }

    /// The choices for the duration of a fault. There are always other choices: some steps of the
    /// run, until the end or, in a run of a seed, until a moment before the earliest timer of a
    /// task, between the earliest and the latest, or after the latest. They are shorter and longer
    /// than failure detection takes.
    pub fn lasting(mut self, times: impl IntoIterator<Item = Duration>) -> Nemesis {
        self.lasting = times.into_iter().collect();
        self
    }

    /// Never has more nodes than this down at one moment: as many as the system promises to survive.
    pub fn down_at_most(mut self, nodes: usize) -> Nemesis {
        self.down_max = nodes;
        self
    }

    /// Never takes more nodes at one moment than the system promises to survive. Faults that would take more have fewer
    /// victims or none.
    pub fn tolerance(self, tolerance: Tolerance) -> Nemesis {
        Nemesis { tolerance: Some(tolerance), ..self }
    }

    /// Fails a test in which some kind of fault met nothing in all runs.
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

    /// Injects the faults. Then mends all links, resumes paused nodes and restarts nodes that are
    /// down.
    ///
    /// Await it beside the clients: in a task of its own or in a `join!`. Its faults are injected
    /// into `nodes`.
    ///
    /// # Panics
    /// If it has no kind of fault, or there are no nodes or more than 32; if it takes disks, and nothing bounds their
    /// number.
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

    /// Panics if there is nothing that it could do, with so many faults of a script.
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
        let empty = |package: &Package| package.kind == Kind::Disk && package.troubles.is_empty();
        assert!(!self.packages.iter().any(empty), "disk(..) without faults: DiskFault::PASSING");
        self.check_disks();
    }
}

/// Mends all links and the disks of these nodes, resumes and restarts them, and lets so much time pass: the behaviour
/// of the system by itself after the last fault. Then nothing is on its way, unless the nodes keep sending, and their
/// states can be compared.
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
        sleep(time).await;
    }
}

/// Ends all faults.
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
