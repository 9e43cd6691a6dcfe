//! The disk of a node as a test controls it: its settings and its lasting faults.

use super::disk_faults::Faults;
use super::machine::Machines;
use super::trouble::DiskFault;
use crate::node::Node;
use crate::run::op::{Access, Op, word};
use crate::seam::{self, Here, Wrapped, here};

const FAIL: Op = Op::of_kind("fail", Access::Tell, word::WRITE);
const MEND: Op = Op::of_kind("mend", Access::Tell, word::WRITE);

/// Returns the disk of a node, for settings and faults.
pub fn on(node: &Node) -> NodeDisk<'_> {
    NodeDisk(node)
}

/// The disk of a node, for settings and faults.
#[derive(Clone, Copy, Debug)]
pub struct NodeDisk<'a>(&'a Node);

impl NodeDisk<'_> {
    /// Sets the faults of this disk, like [`fs::faults`](super::faults()).
    ///
    /// ```
    /// use sim::fs::{self, Faults};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let [db, other] = ["db", "other"].map(sim::node);
    /// fs::on(&db).faults(Faults::none().capacity(512));
    /// assert!(db.spawn(fs::write("/a", [1; 1024])).await.unwrap().is_err());
    /// assert!(other.spawn(fs::write("/a", [1; 1024])).await.unwrap().is_ok());
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn faults(&self, faults: Faults) {
        let here = here();
        if seam::in_run() {
            Machines::of_run().set_faults(Some(self.0), faults, here);
        }
    }

    /// Starts a fault of the disk. The fault lasts across restarts of the node. This call is not a point. Outside of
    /// runs and in the real build it does nothing.
    ///
    /// ```
    /// use sim::fs::{self, DiskFault};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// fs::on(&db).begin(DiskFault::Full);
    /// let written = db.spawn(fs::write("/a", "bytes")).await.unwrap();
    /// assert!(written.is_ok() || written.unwrap_err().kind() == std::io::ErrorKind::StorageFull);
    /// fs::on(&db).end(DiskFault::Full);
    /// db.spawn(fs::write("/a", "bytes")).await.unwrap().unwrap();
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn begin(&self, fault: DiskFault) {
        set_fault(self.0, (fault, true), here());
    }

    /// Ends a fault. A fault that was [begun](Self::begin) twice lasts until the second end. Changed bits and
    /// misdirected writes remain. This call is not a point.
    ///
    /// ```
    /// use sim::fs::{self, DiskFault};
    /// use sim::time::{Duration, Instant};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let (db, slow) = (sim::node("db-1"), DiskFault::Slow(Duration::from_millis(20)));
    /// fs::on(&db).begin(slow);
    /// fs::on(&db).begin(slow);
    /// fs::on(&db).end(slow);
    /// let begin = Instant::now();
    /// db.spawn(fs::create_dir("/data")).await.unwrap().unwrap();
    /// assert_eq!(begin.elapsed(), Duration::from_millis(20));
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn end(&self, fault: DiskFault) {
        set_fault(self.0, (fault, false), here());
    }
}

/// Starts or ends a fault of a node's disk.
pub(crate) fn set_fault(node: &Node, (fault, begins): (DiskFault, bool), here: Here) {
    if !seam::in_run() {
        return;
    }
    let text = format!("disk of {} ({fault:?})", node.name());
    let op = if begins { &FAIL } else { &MEND };
    Wrapped::outside_named("disks", &text, here).last(op, here);
    Machines::of_run().set_trouble(node, (fault, begins), here);
}

/// Ends all faults of a node's disk.
pub(crate) fn mend(node: &Node, here: Here) {
    let known = if seam::in_run() { Machines::of_run().known(node) } else { None };
    let faults = known.map(|machine| machine.condition().0);
    faults.into_iter().flatten().for_each(|fault| set_fault(node, (fault, false), here));
}

/// Returns the number of calls so far that suffered a lasting fault.
pub(crate) fn met(node: &Node) -> u64 {
    let known = if seam::in_run() { Machines::of_run().known(node) } else { None };
    known.map_or(0, |machine| machine.condition().1)
}

/// Returns `true` if a file or directory other than `/` was created on the disk of a node since the
/// disk was new.
pub(crate) fn has_files(node: &Node) -> bool {
    let known = if seam::in_run() { Machines::of_run().known(node) } else { None };
    known.is_some_and(|machine| machine.condition().2 > 0)
}
