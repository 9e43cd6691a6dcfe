//! Lives of a node: the calls that end, begin and pause them.
//!
//! A process and its machine have a state each. The process runs, is paused or is dead; the machine is on or off, and
//! off only with a dead process. The disk and the links of the machine are in no life.
//!
//! | call | process | machine |
//! |---|---|---|
//! | `kill` | dead | |
//! | `power_off` | dead | off |
//! | `restart` | runs, in the next life | on |
//! | `pause`, `resume` | paused, runs; a dead one stays dead | |

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
    /// Ends the process: `kill -9`. Its tasks take no step any more; its kernel closes the sockets, and what was
    /// written to files is as it was written. The machine stays on: it refuses connections, and answers messages to the
    /// dead by a reset. Nothing happens to a node that is down.
    ///
    /// Not a point; of a search, a step of its own in a task that does nothing else. A node that kills itself ends at
    /// its next point.
    #[track_caller]
    pub fn kill(&self) {
        self.end(Death::Killed, here());
    }

    /// Ends the machine: its power is cut. Its tasks take no step any more, nobody tells its peers, and what was
    /// written to files and not synced may be lost, also by a process that was [killed](Self::kill) before. Nothing
    /// happens to a machine that is off.
    ///
    /// Not a point. Outside of runs and in the real build, as [`kill`](Self::kill).
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

    /// Starts the process again, in the next life of the node, and its machine if that is off. A process that lives is
    /// [killed](Self::kill) before. The new one is not paused. Not a point.
    #[track_caller]
    pub fn restart(&self) {
        self.start_again(here());
    }

    /// Like [`restart`](Self::restart), called at `here`. Returns the number of tasks that it
    /// ended.
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

    /// Like [`kill`](Self::kill) or [`power_off`](Self::power_off), called at `here`. Returns the
    /// number of tasks that it ended.
    pub(crate) fn end(&self, death: Death, here: Here) -> u32 {
        self.die(death, if death == Death::PoweredOff { &POWER_OFF } else { &KILL }, here)
    }

    /// Stops the tasks of the node until [`resume`](Self::resume), like a long garbage collection:
    /// they take no step, but time advances and messages arrive. Nothing happens to a node that is
    /// down, and a restart ends the pause. Not a point. Outside of runs and in the real build it
    /// does nothing.
    #[track_caller]
    pub fn pause(&self) {
        self.set_paused(true, here());
    }

    /// Lets the tasks of the node continue after [`pause`](Self::pause). Not a point.
    #[track_caller]
    pub fn resume(&self) {
        self.set_paused(false, here());
    }

    /// Removes all files of the node, whose process must be dead: a new disk. The machine stays on or off. Not a point.
    /// Outside of runs and in the real build files stay.
    ///
    /// # Panics
    /// If it is up.
    #[track_caller]
    pub fn wipe(&self) {
        assert!(!self.is_up(), "the files of {} are in use: kill it before wipe()", self.name());
        self.wipe_at(here());
    }

    /// Like [`wipe`](Self::wipe), called at `here`, of a node that is down.
    pub(crate) fn wipe_at(&self, here: Here) {
        self.0.mark.last(&WIPE, here);
        self.state().has_lost_data = true;
        seam::kept::<Cluster>().tell(self, Death::Wiped, here);
    }

    /// Like [`pause`](Self::pause) or [`resume`](Self::resume), called at `here`. Returns the
    /// number of its tasks.
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

    /// Ends the process, and for [`Death::PoweredOff`] the machine: what is over already has no second end. Returns the
    /// number of tasks that it ended.
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
