//! The lives of a node: the calls that end, start and pause them.
//!
//! The process and the machine each have a state. The process runs, is paused, or is dead. The machine is on or off; it
//! is off only if the process is dead. The disk and the links of the machine do not belong to any life.
//!
//! | call | process | machine |
//! |---|---|---|
//! | `kill` | dead | |
//! | `power_off` | dead | off |
//! | `restart` | runs, in the next life | on |
//! | `pause`, `resume` | paused, runs; a dead process stays dead | |

use super::{Cluster, Death, Node};
use crate::run::op::{Access, Op, node as kinds};
use crate::seam::{self, Group, Here, here};

const KILL: Op = Op::of_kind("kill", Access::Tell, kinds::CHANGE);
const POWER_OFF: Op = Op::of_kind("power_off", Access::Tell, kinds::CHANGE);
const RESTART: Op = Op::of_kind("restart", Access::Tell, kinds::CHANGE);
const PAUSE: Op = Op::of_kind("pause", Access::Tell, kinds::CHANGE);
const RESUME: Op = Op::of_kind("resume", Access::Tell, kinds::CHANGE);
const WIPE: Op = Op::of_kind("wipe", Access::Tell, kinds::CHANGE);

impl Node {
    /// Ends the process, like `kill -9`. The tasks of the process take no more steps. The kernel closes the sockets of
    /// the process, and written file contents remain. The machine stays on: it refuses connections, and replies with a
    /// reset to messages for the dead process. Does nothing if the node is already down.
    ///
    /// This call is not a point. To make it a step of its own in a search, call it in a task that does nothing else. A
    /// node that kills itself ends at its next point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// let task = db.spawn(std::future::pending::<()>());
    /// db.kill();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// assert!(!db.is_up());
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn kill(&self) {
        self.end(Death::Killed, here());
    }

    /// Ends the machine by a power failure. The tasks of the machine take no more steps, and its peers are not
    /// notified. Written but unsynced data may be lost, even if the process was [killed](Self::kill) before. Does
    /// nothing if the machine is already off.
    ///
    /// This call is not a point. Outside of runs and in the real build, it does the same as [`kill`](Self::kill).
    ///
    /// ```
    /// use sim::fs;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// db.spawn(async { fs::write("/cached", "a").await.unwrap() }).await.unwrap();
    /// db.kill();
    /// db.power_off();
    /// db.restart();
    /// // The file may be gone, empty, or have a zero in place of its byte.
    /// let found = db.spawn(async { fs::read("/cached").await.ok() }).await.unwrap();
    /// assert!([None, Some(vec![]), Some(vec![0]), Some(b"a".to_vec())].contains(&found));
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn power_off(&self) {
        self.end(Death::PoweredOff, here());
    }

    /// Starts the process again, in the next life of the node. Also starts the machine if it is off. A running process
    /// is [killed](Self::kill) first. The new process is not paused. This call is not a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// let task = db.spawn(std::future::pending::<()>());
    /// db.restart();
    /// assert_eq!((db.is_up(), db.life()), (true, 2));
    /// assert!(task.await.is_err());
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn restart(&self) {
        self.start_again(here());
    }

    /// Like [`restart`](Self::restart), on behalf of the caller at `here`. Returns the number of ended tasks.
    pub(crate) fn start_again(&self, here: Here) -> u32 {
        let ended = self.die(Death::Killed, &RESTART, here);
        let group = Group::begin(self.0.name.clone(), &self.0.clock);
        {
            let mut state = self.state();
            (state.group, state.is_on) = (Some(group), true);
            state.life += 1;
        }
        seam::kept::<Cluster>().know(group, self);
        self.start(here);
        ended
    }

    /// Like [`kill`](Self::kill) or [`power_off`](Self::power_off), on behalf of the caller at `here`. Returns the
    /// number of ended tasks.
    pub(crate) fn end(&self, death: Death, here: Here) -> u32 {
        self.die(death, if death == Death::PoweredOff { &POWER_OFF } else { &KILL }, here)
    }

    /// Stops the tasks of the node until [`resume`](Self::resume), like a long garbage collection. The tasks take no
    /// steps, but time advances and messages arrive. Does nothing if the node is down. A restart ends the pause. This
    /// call is not a point. Outside of runs and in the real build it does nothing.
    ///
    /// ```
    /// use sim::time::{Duration, sleep};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// let task = db.spawn(async { sleep(Duration::from_millis(1)).await });
    /// db.pause();
    /// sleep(Duration::from_millis(9)).await;
    /// assert!(db.is_paused() && !task.is_finished());
    /// db.resume();
    /// task.await.unwrap();
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn pause(&self) {
        self.set_paused(true, here());
    }

    /// Lets the tasks of the node continue after [`pause`](Self::pause). This call is not a point.
    #[track_caller]
    pub fn resume(&self) {
        self.set_paused(false, here());
    }

    /// Removes all files of the node, like a replaced disk. The process must be dead. The machine stays on or off. This
    /// call is not a point. Outside of runs and in the real build there are no files to remove.
    ///
    /// ```
    /// use sim::fs;
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// db.spawn(fs::write("/a", "bytes")).await.unwrap().unwrap();
    /// db.kill();
    /// db.wipe();
    /// db.restart();
    /// assert!(!db.spawn(fs::try_exists("/a")).await.unwrap().unwrap());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If the node is up.
    #[track_caller]
    pub fn wipe(&self) {
        assert!(!self.is_up(), "the files of {} are in use: kill it before wipe()", self.name());
        self.wipe_at(here());
    }

    /// Like [`wipe`](Self::wipe), on behalf of the caller at `here`. The node must be down.
    pub(crate) fn wipe_at(&self, here: Here) {
        self.0.mark.last(&WIPE, here);
        self.state().has_lost_data = true;
        seam::kept::<Cluster>().tell(self, Death::Wiped, here);
    }

    /// Like [`pause`](Self::pause) or [`resume`](Self::resume), on behalf of the caller at `here`. Returns the number
    /// of tasks in the node.
    pub(crate) fn set_paused(&self, is_paused: bool, here: Here) -> u32 {
        self.0.mark.last(if is_paused { &PAUSE } else { &RESUME }, here);
        let group = {
            let mut state = self.state();
            let group = state.group;
            state.is_paused = is_paused && group.is_some();
            group
        };
        group.map_or(0, |group| group.set_paused(is_paused, here))
    }

    /// Ends the process and, for [`Death::PoweredOff`], the machine. Does nothing for parts that have already ended.
    /// Returns the number of ended tasks.
    fn die(&self, death: Death, op: &'static Op, here: Here) -> u32 {
        self.0.mark.last(op, here);
        let (group, ends_machine) = {
            let mut state = self.state();
            let ends_machine = death == Death::PoweredOff && state.is_on;
            state.is_on &= !ends_machine;
            state.is_paused = false;
            (state.group.take(), ends_machine)
        };
        if group.is_none() && !ends_machine {
            return 0;
        }
        let ended = group.map_or(0, |group| group.end(here));
        seam::kept::<Cluster>().tell(self, death, here);
        ended
    }
}
