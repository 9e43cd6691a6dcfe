//! Orders of two lines that make the failure impossible: the line `late` waits until the line `early` was executed a
//! number of times.
//!
//! An order needs no further runs, because the search of the unmodified program has executed one run of each class. All
//! runs of a class have the same [happens-before order](crate::strategy::happens_before) of steps.
//!
//! An execution of `early` is *free* in a class if no `late` happened before it. Some run of the class has all its free
//! executions before its first `late`: they can come first, together with the steps that happened before them. No run
//! of the class has more executions of `early` before its first `late`. So a class has a run that keeps the order
//! exactly if it does not execute `late`, or has enough free executions. An order is proved if no failing class has
//! such a run.
//!
//! Left out: lines that tasks of several nodes execute, because no wait spans nodes, and lines that a task executes
//! after it has joined another task, because the join already orders them.

#[cfg(test)]
mod tests;

use super::lab::End;
use crate::report::{Change, Order, Remedy, Tested};
use crate::run::Run;
use crate::run::event::Event;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::op::kind::Kind;
use crate::run::what_if::Site;
use crate::strategy::happens_before::HappensBefore;

/// The maximum number of lines, which is the number of bits of a set. Further lines are ignored.
const LINES: usize = Lines::BITS as usize;
/// The maximum number of operations in all classes. If there are more, no order is proved.
const OPERATIONS: usize = 100_000;
/// The minimum fraction of passing interleavings that an order must keep: one part in `KEPT`.
const KEPT: usize = 4;

/// A set of lines, as bits.
type Lines = u64;

/// The classes of the unmodified program.
#[derive(Debug, Default)]
pub(super) struct Classes {
    lines: Vec<Line>,
    all: Vec<Class>,
    /// The number of operations in all classes.
    operations: usize,
}

/// An operation in the source.
#[derive(Debug)]
struct Line {
    site: Site,
    /// The node of the tasks that execute it, if any.
    node: Option<String>,
    /// True if the line cannot be part of an order.
    is_excluded: bool,
    /// The lines with conflicting operations of other tasks.
    rivals: Lines,
}

/// A class of runs.
#[derive(Debug)]
struct Class {
    is_failing: bool,
    /// The lines that its runs execute.
    lines: Lines,
    /// The line of each operation, with the lines that were executed before it in every run of the class.
    operations: Vec<(usize, Lines)>,
}

impl Class {
    fn executes(&self, line: usize) -> bool {
        self.lines >> line & 1 == 1
    }

    /// Returns the number of executions of a line.
    fn times(&self, line: usize) -> usize {
        self.operations.iter().filter(|(own, _)| *own == line).count()
    }

    /// Returns the number of free executions of `early`.
    fn free(&self, early: usize, late: usize) -> usize {
        let is_free = |(line, before): &&(usize, Lines)| *line == early && before >> late & 1 == 0;
        self.operations.iter().filter(is_free).count()
    }

    /// Returns `true` if a run of the class keeps the order.
    fn can_keep(&self, early: usize, late: usize, times: usize) -> bool {
        !self.executes(late) || self.free(early, late) >= times
    }
}

impl Classes {
    /// Removes all classes, because the search restarts.
    pub(super) fn clear(&mut self) {
        (self.all, self.operations) = (Vec::new(), 0);
    }

    /// Adds the class of a run, which ended with `end`.
    pub(super) fn add(&mut self, run: &Run, end: End, order: &HappensBefore) {
        if self.operations > OPERATIONS {
            return;
        }
        let mut class = Class { is_failing: end == End::Failed, lines: 0, operations: Vec::new() };
        // For each task and each of its steps, the lines that were executed before the end of this step.
        let mut executed: Vec<Vec<Lines>> = vec![Vec::new(); order.tasks().max(run.tasks.len())];
        let mut has_joined = vec![false; run.tasks.len()];
        let mut uses: Vec<Use> = Vec::new();
        let mut events = run.events.iter().peekable();
        for step in 0..order.steps() {
            let task = order.task_of(step).index();
            let mut before: Lines = 0;
            for (other, count) in order.clock(step).iter().enumerate() {
                // The clock counts the step itself.
                let earlier = (*count as usize).saturating_sub(usize::from(other == task));
                before |= earlier.checked_sub(1).map_or(0, |last| executed[other][last]);
            }
            while let Some(event) = events.next_if(|event| event.step == step) {
                if let (Access::Join, Some(joined)) =
                    (event.op.access, has_joined.get_mut(event.task.index()))
                {
                    *joined = true;
                }
                let Some(line) = self.line(run, event, &has_joined) else { continue };
                class.operations.push((line, before));
                before |= 1 << line;
                self.note_rivals(&mut uses, line, event);
            }
            class.lines |= before;
            executed[task].push(before);
        }
        self.operations += class.operations.len();
        self.all.push(class);
    }

    /// Returns the number of the line of an event; `None` if the event cannot be part of an order.
    fn line(&mut self, run: &Run, event: &Event, has_joined: &[bool]) -> Option<usize> {
        let task = run.tasks.get(event.task.index())?;
        if !is_of_line(event) || task.from.is_some() {
            return None;
        }
        let site = Site { op: event.op.name, place: event.place };
        let known = self.lines.iter().position(|line| line.site == site);
        let number = known.unwrap_or(self.lines.len());
        if number == LINES {
            return None;
        }
        if known.is_none() {
            let node = task.node.clone();
            self.lines.push(Line { site, node, is_excluded: false, rivals: 0 });
        }
        let line = &mut self.lines[number];
        line.is_excluded |= line.node != task.node || has_joined[event.task.index()];
        Some(number)
    }

    /// Adds the use of an object, and records the lines of other tasks with which it conflicts.
    fn note_rivals(&mut self, uses: &mut Vec<Use>, line: usize, event: &Event) {
        let kind = event.op.kind.or_else(|| event.op.access.kind(event.is_look()));
        let (Some(object), Some(kind)) = (event.object, kind) else { return };
        let own = Use { line, task: event.task, object, kind };
        if uses.contains(&own) {
            return;
        }
        let is_rival = |other: &&Use| {
            other.task != own.task && other.object == object && other.kind.conflicts(kind)
        };
        for other in uses.iter().filter(is_rival) {
            self.lines[line].rivals |= 1 << other.line;
            self.lines[other.line].rivals |= 1 << line;
        }
        uses.push(own);
    }

    /// Returns the order that keeps most interleavings, as a remedy. `failing` contains the lines of sampled failing
    /// runs. These lines check the assumption that tasks share only objects of this library.
    pub(super) fn remedy(&self, failing: &[Vec<Site>]) -> Option<Remedy> {
        let mut best: Option<Proved> = None;
        for proved in self.proved() {
            let is_better = best.as_ref().is_none_or(|best| proved.kept > best.kept);
            if is_better && !failing.iter().any(|run| keeps(run, &proved.order)) {
                best = Some(proved);
            }
        }
        let Proved { order, kept } = best?;
        let of = Some(self.passing().count() as u64);
        let tested = Tested::All { interleavings: kept as u64, of, left_out: 0 };
        Some(Remedy { change: Change::Order(order), tested })
    }

    /// Returns all orders with which no interleaving fails.
    fn proved(&self) -> Vec<Proved> {
        if self.operations > OPERATIONS {
            return Vec::new();
        }
        let count = self.lines.len();
        let mut proved = Vec::new();
        for late in 0..count {
            proved.extend((0..count).filter_map(|early| self.judge(early, late)));
        }
        proved
    }

    /// Returns the weakest useful order of two lines with which no interleaving fails, if any.
    fn judge(&self, early: usize, late: usize) -> Option<Proved> {
        let (first, second) = (&self.lines[early], &self.lines[late]);
        let may_matter = first.rivals >> late & 1 == 1 && first.site.place != second.site.place;
        let is_excluded = first.is_excluded || second.is_excluded || first.node != second.node;
        if !may_matter || is_excluded {
            return None;
        }
        let mut most = None;
        for class in self.all.iter().filter(|class| class.is_failing) {
            if !class.executes(late) {
                return None;
            }
            most = most.max(Some(class.free(early, late)));
        }
        // A wait for more executions than every passing run has would never end in some runs.
        let with_late = || self.passing().filter(move |class| class.executes(late));
        let least = with_late().map(|class| class.times(early)).min()?;
        // The number is 1, or the number of executions in passing runs. Other numbers would be coincidences.
        let most = most?;
        let times = if most == 0 { 1 } else { least };
        let is_kept = with_late().any(|class| class.free(early, late) >= times);
        if times <= most || least < times || !is_kept {
            return None;
        }
        let kept = self.passing().filter(|class| class.can_keep(early, late, times)).count();
        let order = Order {
            early: first.site,
            late: second.site,
            times: u32::try_from(times).unwrap_or(u32::MAX),
        };
        (kept * KEPT >= self.passing().count()).then_some(Proved { order, kept })
    }

    fn passing(&self) -> impl Iterator<Item = &Class> {
        self.all.iter().filter(|class| !class.is_failing)
    }
}

/// An order with which no interleaving fails.
#[derive(Debug)]
struct Proved {
    order: Order,
    /// The number of passing interleavings that keep the order.
    kept: usize,
}

/// A use of an object by an operation of a line.
#[derive(PartialEq)]
struct Use {
    line: usize,
    task: TaskId,
    object: ObjectId,
    kind: Kind,
}

/// Returns `true` for the event of an operation that a task announced at a point in the source. Spawns and joins are
/// left out, because they already order tasks.
fn is_of_line(event: &Event) -> bool {
    use Access::{Abort, Join, Peek, Spawn, Start, Tell, Unlock, UnlockShared, Yield};
    let access = event.op.access;
    let has_point = !matches!(
        access,
        Start | Yield | Spawn | Join | Abort | Unlock | UnlockShared | Tell | Peek
    );
    has_point && !event.op.quiet && !event.op.is_fault()
}

/// Returns the lines that a run executed, in order.
pub(super) fn lines(run: &Run) -> Vec<Site> {
    let events = run.events.iter().filter(|event| is_of_line(event));
    events.map(|event| Site { op: event.op.name, place: event.place }).collect()
}

/// Returns `true` if a run that executed these lines kept an order.
fn keeps(lines: &[Site], order: &Order) -> bool {
    let Some(first) = lines.iter().position(|line| *line == order.late) else { return true };
    let before = lines[..first].iter().filter(|line| **line == order.early).count();
    before as u64 >= u64::from(order.times)
}
