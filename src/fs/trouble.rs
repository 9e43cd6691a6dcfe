//! The faults that a disk has for a while, and the draws of each call: from the settings of the run, and from these.

use std::cell::Cell;
use std::time::Duration;

use super::faults::{Draw, Faults, Rates};
use crate::disk;
use crate::seam;

/// A fault that the disk of a node has for a while: see [`NodeDisk::begin`](super::NodeDisk::begin), and
/// [`Nemesis::disk`](crate::nemesis::Nemesis::disk), which draws them.
///
/// Each call that it concerns suffers it or not, as is drawn: of each task 16 of each kind at most, in a search 4.
/// Calls of tasks that are not of the node suffer it, too, but for [`Slow`](Self::Slow).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DiskFault {
    /// Reads fail (`EIO`). The bytes are there when the fault is over.
    ReadErrors,
    /// Writes fail because the disk is full (`ENOSPC`).
    Full,
    /// Reads and writes are short: one byte, half of them, all but one.
    Short,
    /// Syncs fail: see [`Faults::sync_errors`].
    SyncErrors,
    /// Each call takes so much time before it is done. Accesses to maps and locks take none.
    Slow(Duration),
    /// Reads find that a bit has changed by itself, and it stays so. Bytes that were written and not synced do not rot.
    Rot,
    /// Writes leave a sector as it was, and put its new contents in the place of another sector of the file. They
    /// succeed. Only files of at least two sectors suffer it.
    Misdirected,
}

impl DiskFault {
    /// The transient faults, which lose no synced data. `Slow` is there three times: with 1 ms, 20
    /// ms and 500 ms.
    pub const PASSING: [DiskFault; 7] = {
        let [errors, full, short, syncs, fast, slow, slowest, ..] = DiskFault::ALL;
        [errors, full, short, syncs, fast, slow, slowest]
    };

    /// All faults: [`PASSING`](Self::PASSING), then `Rot` and `Misdirected`.
    pub const ALL: [DiskFault; 9] = [
        DiskFault::ReadErrors,
        DiskFault::Full,
        DiskFault::Short,
        DiskFault::SyncErrors,
        DiskFault::Slow(Duration::from_millis(1)),
        DiskFault::Slow(Duration::from_millis(20)),
        DiskFault::Slow(Duration::from_millis(500)),
        DiskFault::Rot,
        DiskFault::Misdirected,
    ];

    /// Returns `true` if it may take data that was synced.
    pub fn takes_data(self) -> bool {
        matches!(self, DiskFault::Rot | DiskFault::Misdirected)
    }
}

/// Bytes of the sectors in which a read may fail.
pub(super) const SECTOR: u64 = 512;

/// The number of calls of one kind that suffer such faults in one task of this run.
pub(super) fn budget() -> u8 {
    match Rates::of_run() {
        Rates::Each => 4,
        Rates::Rare => 16,
    }
}

/// The faults that may be injected into a call.
pub(super) struct Befalls<'a> {
    pub(super) faults: &'a Faults,
    /// The lasting faults.
    pub(super) troubles: &'a [DiskFault],
    /// The number of calls of each kind that suffer them in one task.
    pub(super) budget: u8,
    /// The number of calls that suffered one of these.
    pub(super) met: Cell<u64>,
}

impl Befalls<'_> {
    fn has(&self, fault: DiskFault) -> bool {
        self.troubles.contains(&fault)
    }

    /// Counts a call that suffered a fault that lasts.
    pub(super) fn count(&self) {
        self.met.set(self.met.get() + 1);
    }

    /// Draws an outcome of a lasting fault, or of a fault in the settings.
    fn draw(&self, fault: DiskFault, draw: Draw) -> u64 {
        if !self.has(fault) {
            return self.faults.draw(draw);
        }
        let drawn = self.suffers(draw);
        if drawn > 0 {
            self.count();
        }
        drawn
    }

    /// One of the outcomes of a fault that lasts.
    fn suffers(&self, draw: Draw) -> u64 {
        seam::suffers(draw.kind, (draw.outcomes + 1, self.budget), draw.why)
    }

    /// Returns `true` if a read fails for now.
    pub(super) fn refuses_to_read(&self) -> bool {
        self.has(DiskFault::ReadErrors) && self.draw(DiskFault::ReadErrors, Draw::READ_ERROR) == 1
    }

    /// Returns `true` if a sector is unreadable from now on.
    pub(super) fn fails_to_read(&self) -> bool {
        self.faults.draw(Draw::READ_ERROR) == 1
    }

    pub(super) fn is_full(&self) -> bool {
        self.draw(DiskFault::Full, Draw::FULL) == 1
    }

    /// The number of bytes that a call moves, of `asked`.
    pub(super) fn shorten(&self, asked: usize) -> usize {
        if asked < 2 {
            return asked;
        }
        match self.draw(DiskFault::Short, Draw::SHORT) {
            0 => asked,
            1 => 1,
            2 => asked / 2,
            _ => asked - 1,
        }
    }

    pub(super) fn sync_fate(&self) -> disk::SyncFate {
        if self.faults.draw(Draw::FULL_AT_SYNC) == 1 {
            return disk::SyncFate::FindsNoRoom;
        }
        match self.draw(DiskFault::SyncErrors, Draw::SYNC_ERROR) {
            0 => disk::SyncFate::Succeeds,
            1 => disk::SyncFate::FailsAndKeeps,
            _ => disk::SyncFate::FailsAndReverts,
        }
    }

    /// Returns `true` if a bit of what is read has changed, by a fault that lasts.
    pub(super) fn rots_now(&self) -> bool {
        self.has(DiskFault::Rot) && self.suffers(Draw::ROT) == 1
    }

    /// The same, after a power failure, by a fault that the settings have.
    pub(super) fn rots(&self) -> bool {
        self.faults.draw(Draw::ROT) == 1
    }

    /// Draws a misdirected write among the sectors `first` to `last` of a file with `sectors`
    /// sectors: the sector that is not written, and the sector that receives its contents.
    pub(super) fn misdirects(&self, first: u64, last: u64, sectors: u64) -> Option<(u64, u64)> {
        if sectors < 2 || self.draw(DiskFault::Misdirected, Draw::MISDIRECTED) == 0 {
            return None;
        }
        let below = |bound: u64, why| if bound > 1 { seam::draw(bound, why) } else { 0 };
        let from = first + below(last - first + 1, "the sector of a fault");
        let to = below(sectors - 1, "the sector that a write hits");
        Some((from, if to < from { to } else { to + 1 }))
    }

    /// Returns `true` if a read may suffer something.
    pub(super) fn befall_reads(&self) -> bool {
        let reads = [DiskFault::ReadErrors, DiskFault::Short, DiskFault::Rot];
        self.faults.befall_reads() || reads.iter().any(|fault| self.has(*fault))
    }

    /// Returns `true` if writes may land elsewhere.
    pub(super) fn may_misdirect(&self) -> bool {
        self.has(DiskFault::Misdirected)
    }
}

/// The time that a call takes on a disk with these faults.
pub(super) fn delay(troubles: &[DiskFault]) -> Option<Duration> {
    let delays = troubles.iter().filter_map(|fault| match fault {
        DiskFault::Slow(time) => Some(*time),
        _ => None,
    });
    delays.max()
}
