//! Data races: accesses to memory that only other operations can order.
//!
//! The algorithm is FastTrack (Flanagan and Freund 2009), but it keeps the last read of each task. An access is no
//! event of the [machine](super::weak): it happens before the next event of its task. So it has the number of that
//! event, and a task knows the access if its clock contains the number. The clocks follow the memory orders in the
//! source. A load acquires the clock of the store that it has seen, which is not always the newest store.
//!
//! An access is neither a point nor an event of the run. The happens-before order is the same in all runs of an
//! interleaving class, so a search needs no additional runs to find a race.

use unpause_orders::{ByNumber, Clock};

use crate::run::ids::{ObjectId, Place, TaskId};

/// An access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) task: TaskId,
    /// The number of the next event of the task.
    pub(crate) tick: u32,
    pub(crate) writes: bool,
    pub(crate) place: Place,
    /// The number of events in the run before the access.
    pub(crate) events: usize,
}

/// The accesses to one cell that a later access may race with.
#[derive(Clone, Default, Debug)]
struct Touches {
    write: Option<Touch>,
    /// The last read of each task since the write.
    reads: Vec<Touch>,
}

/// The cells of a run.
#[derive(Debug, Default)]
pub(super) struct Races {
    cells: ByNumber<Touches>,
}

impl Races {
    /// Removes the cells of the last run.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Records an access to a cell by a task with this clock. Returns an earlier access that races with it.
    pub(super) fn touch(&mut self, cell: ObjectId, touch: Touch, clock: &Clock) -> Option<Touch> {
        let Touches { write, reads } = self.cells.entry(cell.index()).or_default();
        let is_unordered =
            |other: &&Touch| other.task != touch.task && other.tick > clock.get(other.task.index());
        let earlier = if touch.writes { &reads[..] } else { &[] };
        let race = write.iter().chain(earlier).find(is_unordered).copied();
        if touch.writes {
            reads.clear();
            *write = Some(touch);
        } else {
            match reads.iter_mut().find(|read| read.task == touch.task) {
                Some(read) => *read = touch,
                None => reads.push(touch),
            }
        }
        race
    }
}
