//! The parts of a divided search: a job is a part of the tree of runs, and a slice is what one worker made of it.

use std::sync::Arc;

use super::rules::DivisionRules;
use crate::run::ids::TaskId;
use crate::strategy::footprint::{Footprint, StepItem};
use crate::strategy::search::{Apart, Drawn};

/// The number of a shared frame, in the order of their creation.
pub type FrameId = u64;

/// A step with more tuples of drawn values than this never sleeps behind its siblings, unless the worker that explored
/// it goes on there.
pub const WAYS_MAX: u32 = 16;

/// A task that comes before another one in the backtrack set of a frame, with the footprint of its step over all
/// values that it may draw.
#[derive(Clone, Debug)]
pub struct Sibling {
    pub task: TaskId,
    /// `None` if it is not known here: a probe finds it.
    pub footprint: Option<Arc<Footprint>>,
}

impl Sibling {
    pub fn unknown(task: TaskId) -> Sibling {
        Sibling { task, footprint: None }
    }
}

/// Footprints that probes have found, each by the position of its frame in the path, and its task.
pub type Probed = Vec<(usize, TaskId, Arc<Footprint>)>;

/// The footprint of a step that never sleeps, because it conflicts with every other one.
pub fn never_sleeps(task: TaskId) -> Footprint {
    Footprint { task, items: vec![StepItem::Over], ..Footprint::default() }
}

/// A step of the path from the root of the search to a job: a shared frame, and the choices there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathStep {
    pub frame: FrameId,
    pub task: TaskId,
    pub draws: Vec<Drawn>,
}

/// A frame of the stack of a job, as its choices.
#[derive(Clone, Debug)]
pub struct Entry {
    pub task: TaskId,
    pub draws: Vec<Drawn>,
    /// The tasks whose subtrees are explored.
    pub done: Vec<Sibling>,
    /// The tasks of the backtrack set whose subtrees are not explored.
    pub untaken: Vec<TaskId>,
    /// The footprint of the step over the values that it has drawn so far. `None` if it is not known here.
    pub partial: Option<Arc<Footprint>>,
    /// The footprint of the step, if no other values are left.
    pub whole: Option<Arc<Footprint>>,
}

/// A part of the search: all runs below a path of shared frames that are left.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Jobs are numbered in the order of their birth.
    pub number: u64,
    pub path: Vec<PathStep>,
    /// The last step of the path varies its draws from this position on.
    pub fixed: usize,
    /// The frames below the path.
    pub stack: Vec<Entry>,
    /// True if nothing is to be seen below it: its path is a whole run.
    pub is_seen: bool,
}

/// A frame of the path, as a worker needs it.
#[derive(Clone, Debug)]
pub struct PathFrame {
    pub task: TaskId,
    pub draws: Vec<Drawn>,
    /// The backtrack set.
    pub order: Vec<TaskId>,
    /// The tasks before this one in the backtrack set.
    pub before: Vec<Sibling>,
}

/// A job as a worker gets it for a slice.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub path: Vec<PathFrame>,
    pub fixed: usize,
    pub stack: Vec<Entry>,
    pub known: Known,
}

/// The knowledge that all jobs of a round begin with.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The differences that distinguish runs.
    pub apart: Apart,
    /// The rules of the division.
    pub rules: DivisionRules,
    /// The bound of the search, if it has one.
    pub level: u32,
    pub noticed: Noticed,
}

/// Facts about the program, shown by its runs. They count for the whole search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Noticed {
    /// The first task that was seen to add a node.
    pub adder: Option<TaskId>,
    /// True if another task was seen to add a node, too.
    pub adders: bool,
    /// True if the program was seen to look at the order in which nodes were added.
    pub sees_order_of_nodes: bool,
    /// True if time moved on by a way that is not seen.
    pub blind: bool,
    /// The first sign that tasks depend on something that is not of this library, in words.
    pub contact: Option<String>,
    /// True if a bound left out runs.
    pub left_out: bool,
}

impl Noticed {
    /// Adds the facts of a later slice.
    pub fn add(&mut self, later: &Noticed) {
        self.adders |= later.adders;
        if let Some(adder) = later.adder {
            self.adders |= *self.adder.get_or_insert(adder) != adder;
        }
        self.sees_order_of_nodes |= later.sees_order_of_nodes;
        self.blind |= later.blind;
        self.left_out |= later.left_out;
        if self.contact.is_none() {
            self.contact.clone_from(&later.contact);
        }
    }

    /// The differences that these facts distinguish runs by.
    pub fn apart(&self) -> Apart {
        match self.sees_order_of_nodes && self.adders {
            true => Apart::NODES,
            false => Apart::NOTHING,
        }
    }
}

/// A request for the backtrack set of a shared frame, which a run below it made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// The position of the frame in the path of the job.
    pub depth: usize,
    /// Tasks, each of which would do.
    pub initials: Vec<TaskId>,
    /// The one of them that is best, if it is one of them.
    pub prefer: TaskId,
}

impl Wish {
    /// The task that is added.
    pub fn chosen(&self) -> Option<TaskId> {
        let preferred = self.initials.iter().find(|task| **task == self.prefer);
        preferred.or(self.initials.first()).copied()
    }
}

/// The rest of a job after a slice.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The draws of the last step of the path.
    pub draws: Vec<Drawn>,
    pub stack: Vec<Entry>,
}

/// The runs that a worker made of a job in one round.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The number of complete runs.
    pub runs: u64,
    /// The number of runs that were given up.
    pub blocked: u64,
    /// The number of complete runs that repeat runs of a lower bound.
    pub repeated: u64,
    /// The classes of the complete runs.
    pub classes: Vec<u64>,
    pub wishes: Vec<Wish>,
    /// `None` if the job is through.
    pub rest: Option<Rest>,
    /// Differences that were learnt to distinguish runs: the search begins again.
    pub learnt: Option<Apart>,
    pub noticed: Noticed,
    pub probed: Probed,
}

/// The place of a worker in the tree: the frames that it shares with others, and how far it is. The default is the
/// place of a search that is not divided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// The number of frames that are shared with other workers.
    pub root: usize,
    /// The last shared frame varies its draws from this position on.
    pub fixed: usize,
    /// The first frames, of which only the choices are known before the first run of a slice.
    pub bare: usize,
    /// True if the slice has explored all of its part.
    pub is_through: bool,
}

impl Seat {
    /// The first draw that varies of the last of `depth` frames.
    pub fn varies_from(&self, depth: usize) -> usize {
        if depth == self.root { self.fixed } else { 0 }
    }

    /// Returns `true` if nothing is left to describe: the part is through, or no run of the slice was whole.
    pub fn has_no_rest(&self) -> bool {
        self.is_through || self.bare > 0
    }
}

impl Slice {
    /// The number of runs, counted or not.
    pub fn made(&self) -> u64 {
        self.runs + self.blocked + self.repeated
    }
}
