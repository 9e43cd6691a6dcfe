//! The lasting faults of a disk, and the draws for each call, from the settings of the run and from the lasting faults.

use std::cell::Cell;
use std::time::Duration;

use super::disk_faults::{Draw, Faults, Rates};
use crate::disk;
use crate::seam;

/// A fault that the disk of a node has for a limited time. See [`NodeDisk::begin`](super::NodeDisk::begin), and
/// [`Nemesis::disk`](crate::nemesis::Nemesis::disk), which draws such faults.
///
/// A draw decides for each affected call whether it suffers the fault. Each task suffers each kind at most 16 times, in
/// a search at most 4 times. Calls of tasks outside the node suffer the fault too. The exception is
/// [`Slow`](Self::Slow), which delays each call of the node and no other call.
///
/// ```
/// use sim::fs::{self, DiskFault};
/// use sim::time::{Duration, Instant};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let db = sim::node("db-1");
/// fs::on(&db).begin(DiskFault::Slow(Duration::from_millis(20)));
/// let begin = Instant::now();
/// db.spawn(fs::create_dir("/data")).await.unwrap().unwrap();
/// assert_eq!(begin.elapsed(), Duration::from_millis(20));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DiskFault {
    /// Reads fail (`EIO`). The bytes are readable again when the fault ends.
    ReadErrors,
    /// Writes fail because the disk is full (`ENOSPC`).
    Full,
    /// Reads and writes are short: they transfer one byte, half of the bytes, or all but one.
    Short,
    /// Syncs fail: see [`Faults::sync_errors`].
    SyncErrors,
    /// Each call takes this additional time to complete. Accesses to maps and locks are not delayed.
    Slow(Duration),
    /// Reads find that a bit has changed, and the change is permanent. Bytes that were written but not synced do not
    /// change.
    Rot,
    /// A write leaves a sector unchanged, and puts the new contents of the sector into another sector of the file. The
    /// write succeeds. Only files of at least two sectors are affected.
    Misdirected,
}

impl DiskFault {
    /// The transient faults, which lose no synced data. `Slow` occurs three times: with 1 ms, 20 ms and 500 ms.
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

    /// Returns `true` if the fault may destroy synced data.
    ///
    /// ```
    /// use sim::fs::DiskFault;
    ///
    /// assert!(DiskFault::Rot.takes_data() && DiskFault::Misdirected.takes_data());
    /// assert!(!DiskFault::PASSING.into_iter().any(DiskFault::takes_data));
    /// ```
    pub fn takes_data(self) -> bool {
        matches!(self, DiskFault::Rot | DiskFault::Misdirected)
    }
}

/// The number of bytes in a sector, the unit of read errors.
pub(super) const SECTOR: u64 = 512;

/// Returns the number of calls of one kind in one task that may suffer lasting faults in this run.
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
    /// The number of calls of each kind in one task that may suffer the lasting faults.
    pub(super) budget: u8,
    /// The number of calls that suffered a lasting fault.
    pub(super) met: Cell<u64>,
}

impl Befalls<'_> {
    fn has(&self, fault: DiskFault) -> bool {
        self.troubles.contains(&fault)
    }

    /// Counts a call that suffered a lasting fault.
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

    /// Draws an outcome of a lasting fault.
    fn suffers(&self, draw: Draw) -> u64 {
        seam::suffers(draw.kind, (draw.outcomes + 1, self.budget), draw.why)
    }

    /// Returns `true` if this read fails although the sector stays readable.
    pub(super) fn refuses_to_read(&self) -> bool {
        self.has(DiskFault::ReadErrors) && self.draw(DiskFault::ReadErrors, Draw::READ_ERROR) == 1
    }

    /// Returns `true` if a sector becomes unreadable from now on.
    pub(super) fn fails_to_read(&self) -> bool {
        self.faults.draw(Draw::READ_ERROR) == 1
    }

    pub(super) fn is_full(&self) -> bool {
        self.draw(DiskFault::Full, Draw::FULL) == 1
    }

    /// Returns the number of bytes that a call transfers if it requested `asked` bytes.
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

    /// Returns `true` if a lasting fault changes a bit in the bytes of this read.
    pub(super) fn rots_now(&self) -> bool {
        self.has(DiskFault::Rot) && self.suffers(Draw::ROT) == 1
    }

    /// Like `rots_now`, but caused by the settings of the run, and only after a power failure.
    pub(super) fn rots(&self) -> bool {
        self.faults.draw(Draw::ROT) == 1
    }

    /// Draws a misdirected write among the sectors `first` to `last` of a file with `sectors` sectors. Returns the
    /// sector that is not written, and the sector that receives its contents.
    pub(super) fn misdirects(&self, first: u64, last: u64, sectors: u64) -> Option<(u64, u64)> {
        if sectors < 2 || self.draw(DiskFault::Misdirected, Draw::MISDIRECTED) == 0 {
            return None;
        }
        let below = |bound: u64, why| if bound > 1 { seam::draw(bound, why) } else { 0 };
        let from = first + below(last - first + 1, "the sector of a fault");
        let to = below(sectors - 1, "the sector that a write hits");
        Some((from, if to < from { to } else { to + 1 }))
    }

    /// Returns `true` if syncs may fail.
    pub(super) fn befall_syncs(&self) -> bool {
        self.faults.befall_syncs() || self.has(DiskFault::SyncErrors)
    }

    /// Returns `true` if reads may suffer a fault.
    pub(super) fn befall_reads(&self) -> bool {
        let reads = [DiskFault::ReadErrors, DiskFault::Short, DiskFault::Rot];
        self.faults.befall_reads() || reads.iter().any(|fault| self.has(*fault))
    }

    /// Returns `true` if writes may be misdirected.
    pub(super) fn may_misdirect(&self) -> bool {
        self.has(DiskFault::Misdirected)
    }
}

/// Returns the delay of a call on a disk with these faults.
pub(super) fn delay(troubles: &[DiskFault]) -> Option<Duration> {
    let delays = troubles.iter().filter_map(|fault| match fault {
        DiskFault::Slow(time) => Some(*time),
        _ => None,
    });
    delays.max()
}
