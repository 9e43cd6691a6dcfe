//! The candidates for a remedy: regions of lines that another task may have interrupted.
//!
//! A region is bounded by two points of one task, with a step of another task in between in the failing run. The region
//! that was interrupted first has priority, because later interruptions are often only symptoms. In half of all failing
//! runs, the failure ends the run before the end of the region. Therefore pending operations count as points, and the
//! ends of regions are also taken from other runs.
//!
//! These functions are pure: they execute no runs.

use unpause_ordered::sort_by_key;

use crate::run::Run;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::what_if::{Section, Site};
use crate::strategy::after::PendingOperation;

/// The maximum number of points of a region in the failing run.
const POINTS: usize = 9;
/// The maximum number of points of a region with an end from another run.
const POINTS_ELSEWHERE: usize = 6;
/// The maximum number of points before an interruption at which a region may begin.
const EARLIER: usize = 3;

/// The operation with which a step begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    step: usize,
    /// The event of the operation; `None` if it was pending when the run ended.
    event: Option<usize>,
    site: Site,
    object: Option<ObjectId>,
    role: Role,
}

/// The parts of a region that a point may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Any,
    /// The point may only be within a region. The point releases a lock.
    Inner,
    /// The point may only begin a region, because it ends a wait. No run has the wait and its end in one step.
    Begin,
}

impl Role {
    fn of(access: Access) -> Role {
        match access {
            Access::Unlock | Access::UnlockShared => Role::Inner,
            Access::Resume => Role::Begin,
            _ => Role::Any,
        }
    }
}

/// The points of each task, by task number.
pub(super) type Points = Vec<Vec<Point>>;

/// A region, and the position where the failing run interrupted it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidate {
    pub(super) section: Section,
    pub(super) task: TaskId,
    /// The first step of another task within the region.
    pub(super) interrupted: usize,
    /// The number of points after the first point.
    length: usize,
    /// The events at both ends of the region. The second event is `None` if the run ended before it.
    pub(super) events: (usize, Option<usize>),
    /// The object of the last operation, if known.
    pub(super) to_object: Option<ObjectId>,
    /// True if the region may exclude more than the failure, because it spans a whole round of a loop or the whole
    /// task.
    pub(super) is_strong: bool,
}

/// Returns the points of the tasks of a run. `pending` contains the operations that were pending when it ended.
pub(super) fn points(run: &Run, pending: &[PendingOperation]) -> Points {
    let mut points: Points = vec![Vec::new(); run.tasks.len()];
    let mut last = None;
    for (at, event) in run.events.iter().enumerate() {
        let is_first = last.replace(event.step) != Some(event.step);
        // A region with such an operation could not be a single step.
        let splits =
            matches!(event.op.access, Access::Spawn | Access::Join | Access::Abort | Access::Yield);
        if let (true, false, Some(own)) = (is_first, splits, points.get_mut(event.task.index())) {
            let site = Site { op: event.op.name, place: event.place };
            let (step, object) = (event.step as usize, event.object);
            own.push(Point {
                step,
                event: Some(at),
                site,
                object,
                role: Role::of(event.op.access),
            });
        }
    }
    for PendingOperation { task, site, object, access } in pending {
        if let Some(own) = points.get_mut(task.index()) {
            let (step, event) = (run.steps.len(), None);
            own.push(Point { step, event, site: *site, object: *object, role: Role::of(*access) });
        }
    }
    points
}

/// Returns the candidates in descending order of priority. `seen` contains the points of other runs.
pub(super) fn candidates(run: &Run, own: &Points, seen: &[Points]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (task, points) in own.iter().enumerate() {
        let task = TaskId(task as u32);
        for (i, from) in begins(points) {
            for (j, to) in ends(points, i).take(POINTS - 1) {
                let Some(event) = from.event else { continue };
                let Some(interrupted) = interruption(run, task, from.step, to.step) else {
                    continue;
                };
                add(&mut found, || Candidate {
                    section: Section {
                        from: from.site,
                        to: to.site,
                        known: between(own, seen, from.site, to.site),
                    },
                    task,
                    interrupted,
                    length: length(points, i, j),
                    events: (event, to.event),
                    to_object: to.object,
                    is_strong: from.site == to.site || is_whole(points, i, j),
                });
            }
        }
    }
    for (task, points) in own.iter().enumerate() {
        let task = TaskId(task as u32);
        for (i, point) in points.iter().enumerate() {
            let next = points.get(i + 1).map_or(run.steps.len(), |next| next.step);
            let Some(interrupted) = interruption(run, task, point.step, next) else { continue };
            let ends_wait = |at: usize| points[at + 1..=i].iter().any(|it| it.role == Role::Begin);
            let near = begins(points).skip_while(|(at, _)| at + EARLIER < i);
            for (at, from) in near.take_while(|(at, _)| *at <= i) {
                let Some(event) = from.event.filter(|_| !ends_wait(at)) else { continue };
                for (length, section) in elsewhere(seen, from.site) {
                    add(&mut found, || Candidate {
                        section,
                        task,
                        interrupted,
                        length,
                        events: (event, None),
                        to_object: None,
                        is_strong: false,
                    });
                }
            }
        }
    }
    sort_by_key(&mut found, |region| (region.length > 2, region.interrupted, region.length));
    found
}

/// Returns the points with which a region may begin, with their positions.
fn begins(points: &[Point]) -> impl Iterator<Item = (usize, &Point)> {
    points.iter().enumerate().filter(|(_, point)| point.role != Role::Inner)
}

/// Returns the points with which a region that begins at position `from` may end, with their positions.
fn ends(points: &[Point], from: usize) -> impl Iterator<Item = (usize, &Point)> {
    let later = points.iter().enumerate().skip(from + 1);
    later.take_while(|(_, it)| it.role != Role::Begin).filter(|(_, it)| it.role == Role::Any)
}

/// Returns the number of points after the first point of a region, without releases of locks.
fn length(points: &[Point], from: usize, to: usize) -> usize {
    points[from + 1..=to].iter().filter(|point| point.role != Role::Inner).count()
}

/// Returns `true` if a region contains all points of its task.
fn is_whole(points: &[Point], from: usize, to: usize) -> bool {
    let others = || points[..from].iter().chain(&points[to + 1..]);
    others().all(|point| point.role == Role::Inner)
}

/// Adds a candidate, unless a candidate with the same ends exists.
fn add(found: &mut Vec<Candidate>, make: impl FnOnce() -> Candidate) {
    let new = make();
    let is_same =
        |old: &Candidate| (old.section.from, old.section.to) == (new.section.from, new.section.to);
    if !found.iter().any(is_same) {
        found.push(new);
    }
}

/// Returns the first step of another task between two steps of `task`. Tasks of other nodes do not count, because no
/// lock spans nodes.
fn interruption(run: &Run, task: TaskId, from: usize, to: usize) -> Option<usize> {
    let node = |task: TaskId| run.tasks.get(task.index()).and_then(|task| task.node.as_ref());
    let inside = run.steps.iter().enumerate().take(to).skip(from + 1);
    let mut others = inside.filter(|(_, step)| step.task != task && node(step.task) == node(task));
    others.next().map(|(at, _)| at)
}

/// Returns the sites that tasks reach between two sites, in any run.
fn between(own: &Points, seen: &[Points], from: Site, to: Site) -> Vec<Site> {
    let mut known: Vec<Site> = Vec::new();
    for points in seen.iter().chain([own]).flatten() {
        let mut open = None;
        for (at, point) in points.iter().enumerate() {
            if let Some(begin) = open.filter(|_| point.site == to) {
                let inner = points[begin + 1..at].iter().filter(|it| it.role != Role::Begin);
                for site in inner.map(|point| point.site) {
                    if !known.contains(&site) {
                        known.push(site);
                    }
                }
                open = None;
            }
            if point.site == from {
                open = Some(at);
            }
        }
    }
    known
}

/// Returns the regions of other runs that begin at this site, each with its length.
fn elsewhere(seen: &[Points], from: Site) -> Vec<(usize, Section)> {
    let mut found: Vec<(usize, Section)> = Vec::new();
    for points in seen.iter().flatten() {
        for (i, begin) in begins(points).filter(|(_, point)| point.site == from) {
            for (j, end) in ends(points, i).take(POINTS_ELSEWHERE - 1) {
                let is_known = |(_, section): &(usize, Section)| section.to == end.site;
                if end.site == begin.site || found.iter().any(is_known) {
                    continue;
                }
                let known = points[i + 1..j].iter().map(|point| point.site).collect();
                found.push((length(points, i, j), Section { from, to: end.site, known }));
            }
        }
    }
    found
}
