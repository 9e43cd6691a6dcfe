//! The parts of a divided search. A job is a part of the tree of runs, and a slice is the work of one worker on a job
//! in one round.

use std::sync::Arc;

use super::division_rules::DivisionRules;
use crate::run::ids::TaskId;
use crate::strategy::footprint::{Footprint, StepItem};
use crate::strategy::search::{Apart, Drawn};

/// The number of a shared frame. Frames are numbered in the order of their creation.
pub type FrameId = u64;

/// The maximum number of tuples of drawn values for a step that can sleep. A step with more tuples sleeps only for the
/// worker that explored it.
pub const WAYS_MAX: u32 = 16;

/// A task that precedes another task in the backtrack set of a frame, with the footprint of its step over all values
/// that it may draw.
#[derive(Clone, Debug)]
pub struct Sibling {
    pub task: TaskId,
    /// The footprint of the step; `None` if it is unknown, so that a probe must find it.
    pub footprint: Option<Arc<Footprint>>,
}

impl Sibling {
    pub fn unknown(task: TaskId) -> Sibling {
        Sibling { task, footprint: None }
    }
}

/// Footprints found by probes, each with the position of its frame in the path and its task.
pub type Probed = Vec<(usize, TaskId, Arc<Footprint>)>;

/// Returns the footprint of a step that never sleeps, because the footprint conflicts with every other step.
pub fn never_sleeps(task: TaskId) -> Footprint {
    Footprint { task, items: vec![StepItem::Over], ..Footprint::default() }
}

/// A step of the path from the root of the search to a job: a shared frame and the choices at this frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathStep {
    pub frame: FrameId,
    pub task: TaskId,
    pub draws: Vec<Drawn>,
}

/// A frame of a job's stack, represented by its choices.
#[derive(Clone, Debug)]
pub struct Entry {
    pub task: TaskId,
    pub draws: Vec<Drawn>,
    /// The tasks with explored subtrees.
    pub done: Vec<Sibling>,
    /// The tasks of the backtrack set with unexplored subtrees.
    pub untaken: Vec<TaskId>,
    /// The footprint of the step over the values that it has drawn so far; `None` if it is unknown.
    pub partial: Option<Arc<Footprint>>,
    /// The footprint of the step, if no other values are left.
    pub whole: Option<Arc<Footprint>>,
}

/// A part of the search: all remaining runs below a path of shared frames.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The number of the job. Jobs are numbered in the order of their creation.
    pub number: u64,
    pub path: Vec<PathStep>,
    /// The position from which the job varies the draws of the last step of the path.
    pub fixed: usize,
    /// The frames below the path.
    pub stack: Vec<Entry>,
    /// True if no frame is below the path, because the path is a complete run.
    pub is_seen: bool,
}

/// A frame of the path, in the form that a worker needs.
#[derive(Clone, Debug)]
pub struct PathFrame {
    pub task: TaskId,
    pub draws: Vec<Drawn>,
    /// The backtrack set.
    pub order: Vec<TaskId>,
    /// The tasks before `task` in the backtrack set.
    pub before: Vec<Sibling>,
}

/// A job in the form that a worker receives for a slice.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub path: Vec<PathFrame>,
    pub fixed: usize,
    pub stack: Vec<Entry>,
    pub known: Known,
    /// `Some` if the look is a sampled run instead.
    pub sample: Option<SampledRun>,
}

/// A run below a path that takes random steps, to find the items of its steps.
#[derive(Clone, Copy, Debug)]
pub struct SampledRun {
    pub seed: u64,
    /// The maximum number of steps.
    pub steps_max: usize,
}

impl Part {
    /// Returns this part with its own copies of footprints that other parts also contain. Each frame of a run clones
    /// references to footprints, so the workers would otherwise write to the same reference counts.
    pub fn unshared(mut self) -> Part {
        for sibling in self.path.iter_mut().flat_map(|frame| &mut frame.before) {
            if let Some(footprint) = &mut sibling.footprint {
                *footprint = Arc::new(Footprint::clone(footprint));
            }
        }
        self
    }
}

/// The common initial knowledge of all jobs of a round.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The differences that distinguish runs.
    pub apart: Apart,
    /// The rules of the division.
    pub rules: DivisionRules,
    /// The bound of the search, if any.
    pub level: u32,
    pub noticed: Noticed,
    /// The end of the classes that slices return; `None` for all classes.
    pub class_end: Option<u64>,
}

/// Facts about the program that its runs have shown. The facts hold for the whole search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Noticed {
    /// The first task that added a node in some run.
    pub adder: Option<TaskId>,
    /// True if another task also added a node in some run.
    pub adders: bool,
    /// True if the program observed the order in which nodes were added in some run.
    pub sees_order_of_nodes: bool,
    /// True if time advanced in a way that the search does not see.
    pub blind: bool,
    /// The first sign that tasks depend on something outside this library, described in words.
    pub contact: Option<String>,
    /// True if a bound left out runs.
    pub left_out: bool,
    /// True if operations could choose among stores in a run of a search without classes. A search with classes counts
    /// each store instead: see [`Apart::stores`].
    pub has_stores: bool,
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
        self.has_stores |= later.has_stores;
        if self.contact.is_none() {
            self.contact.clone_from(&later.contact);
        }
    }

    /// Returns the differences that must distinguish runs because of these facts.
    pub fn apart(&self) -> Apart {
        match self.sees_order_of_nodes && self.adders {
            true => Apart::NODES,
            false => Apart::NOTHING,
        }
    }
}

/// A request of a run to add a task to the backtrack set of a shared frame above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// The position of the frame in the path of the job.
    pub depth: usize,
    /// The initials: adding any one of these tasks satisfies the request.
    pub initials: Vec<TaskId>,
    /// The preferred task, if it is among the initials.
    pub prefer: TaskId,
}

impl Wish {
    /// Returns the task to add.
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

/// The results of the runs that a worker executed for a job in one round.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The number of complete runs.
    pub runs: u64,
    /// The number of runs that were given up.
    pub blocked: u64,
    /// The number of complete runs that repeat runs of a lower level.
    pub repeated: u64,
    /// The classes of the complete runs, below the end in [`Known`].
    pub classes: Vec<u64>,
    pub wishes: Vec<Wish>,
    /// The rest of the job; `None` if the job is complete.
    pub rest: Option<Rest>,
    /// Newly learnt differences that must distinguish runs. If `Some`, the search must restart.
    pub learnt: Option<Apart>,
    pub noticed: Noticed,
    pub probed: Probed,
}

/// The place of a worker in the tree: the frames that it shares with other workers, and its progress. The default is
/// the place of a search that is not divided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// The number of frames that are shared with other workers.
    pub root: usize,
    /// The position from which the worker varies the draws of the last shared frame.
    pub fixed: usize,
    /// The number of initial frames for which only the choices are known before the first run of a slice.
    pub bare: usize,
    /// True if the slice has explored all of its part.
    pub is_through: bool,
}

impl Seat {
    /// Returns the position of the first draw that varies in the last of `depth` frames.
    pub fn varies_from(&self, depth: usize) -> usize {
        if depth == self.root { self.fixed } else { 0 }
    }

    /// Returns `true` if no rest must be returned: the part is complete, or the slice had no complete run.
    pub fn has_no_rest(&self) -> bool {
        self.is_through || self.bare > 0
    }
}

impl Slice {
    /// Returns the number of runs, counted or not.
    pub fn made(&self) -> u64 {
        self.runs + self.blocked + self.repeated
    }
}
