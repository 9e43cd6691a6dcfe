//! The faults of files that last as long as a run: settings, and their draws. 0 is nothing bad in each.

use crate::disk;
use crate::seam;

const READ_ERROR: usize = 8;
const FULL: usize = 9;
const SHORT: usize = 10;
const SYNC_ERROR: usize = 11;
const ROT: usize = 12;
const FULL_AT_SYNC: usize = 13;
const MISDIRECTED: usize = 14;

/// The draw of a fault: its kind, the number of its outcomes, of how many calls one suffers it, and its name in traces.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    pub(super) kind: usize,
    pub(super) outcomes: u64,
    rate: u64,
    pub(super) why: &'static str,
}

impl Draw {
    pub(super) const READ_ERROR: Draw = Draw::of(READ_ERROR, (1, 8), "an error of a read");
    pub(super) const FULL: Draw = Draw::of(FULL, (1, 8), "a full disk");
    pub(super) const SHORT: Draw = Draw::of(SHORT, (3, 4), "a short read or write");
    pub(super) const FULL_AT_SYNC: Draw = Draw::of(FULL_AT_SYNC, (1, 4), "a sync of a full disk");
    pub(super) const SYNC_ERROR: Draw = Draw::of(SYNC_ERROR, (2, 4), "an error of a sync");
    pub(super) const ROT: Draw = Draw::of(ROT, (1, 8), "a bit that changed by itself");
    pub(super) const MISDIRECTED: Draw =
        Draw::of(MISDIRECTED, (1, 8), "a write in the place of another sector");

    const fn of(kind: usize, (outcomes, rate): (u64, u64), why: &'static str) -> Draw {
        Draw { kind, outcomes, rate, why }
    }
}

/// The order in which changes reach the disk: what a power failure may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules(disk::Rules);

impl Rules {
    /// The minimum that code may rely on, and the default. Nothing is ordered but versions of one sector, of one length
    /// and of one name; a rename happens whole or not at all.
    pub const POSIX: Rules = Rules(disk::Rules::POSIX);

    /// ext4 with its defaults: names and lengths have one journal, data is written before the length above it, and a
    /// rename over a file first writes the data of the renamed one. Code that passes under these rules alone relies on
    /// them.
    pub const EXT4: Rules = Rules(disk::Rules::EXT4);

    /// Nothing is reordered: a power failure leaves a prefix of all changes.
    pub const PREFIX: Rules = Rules(disk::Rules::PREFIX);

    /// Like [`POSIX`](Self::POSIX), but a power failure in a rename may leave both names.
    pub const UNJOURNALED: Rules = Rules(disk::Rules::UNJOURNALED);

    /// Its name in reports; none for the default.
    fn name(self) -> &'static str {
        match self {
            Rules::EXT4 => "EXT4",
            Rules::PREFIX => "PREFIX",
            Rules::UNJOURNALED => "UNJOURNALED",
            _ => "",
        }
    }
}

/// The faults that the files of a run may have, besides the loss of what was not synced when a node is
/// [switched off](crate::Node::power_off).
///
/// Nothing does by default. Each fault is drawn in the call that suffers it, so shrinking removes
/// the faults that a failure does not need. A task suffers each kind as often as the setting says,
/// at most. In searches each call of a kind may fail; in sampled runs a few do.
///
/// ```
/// use sim::fs::{self, Faults, Rules};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// fs::faults(Faults::none().rules(Rules::EXT4).sync_errors(1).capacity(1 << 20));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults {
    rules: Rules,
    capacity: Option<u64>,
    read_errors: u8,
    full: u8,
    short: u8,
    sync_errors: u8,
    full_at_sync: u8,
    rot: u8,
    rates: Rates,
}

/// The rates of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rates {
    /// Each call may fail: for searches.
    Each,
    /// A few of them.
    Rare,
}

impl Rates {
    pub(super) fn of_run() -> Rates {
        match seam::given(2, u64::from(seam::seed().is_some()), "the rates of faults") {
            0 => Rates::Each,
            _ => Rates::Rare,
        }
    }
}

impl Default for Faults {
    fn default() -> Faults {
        Faults::none()
    }
}

impl Faults {
    /// No faults.
    pub fn none() -> Faults {
        Faults {
            rules: Rules::POSIX,
            capacity: None,
            read_errors: 0,
            full: 0,
            short: 0,
            sync_errors: 0,
            full_at_sync: 0,
            rot: 0,
            rates: Rates::Rare,
        }
    }

    /// Has changes reach the disk in the order of these rules.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Faults {
        Faults { rules, ..self }
    }

    /// Limits the contents of files to so many bytes, in sectors of 512: a write into a full disk is short, or fails.
    #[must_use]
    pub fn capacity(self, bytes: u64) -> Faults {
        Faults { capacity: Some(bytes), ..self }
    }

    /// Has reads fail (`EIO`), at most `budget` of one task. The sector stays unreadable until it is written whole.
    #[must_use]
    pub fn read_errors(self, budget: u8) -> Faults {
        Faults { read_errors: budget, ..self }
    }

    /// Has writes fail because the disk is full, at most `budget` of one task.
    #[must_use]
    pub fn full(self, budget: u8) -> Faults {
        Faults { full: budget, ..self }
    }

    /// Has reads and writes be short, at most `budget` of one task: one byte, half of them, all but one.
    #[must_use]
    pub fn short(self, budget: u8) -> Faults {
        Faults { short: budget, ..self }
    }

    /// Has syncs fail, at most `budget` of one task. The data that they should have written may be on disk or not, and
    /// *no later sync writes it*: the kernel takes it for written. Reads show the new data afterwards (ext4, XFS) or
    /// the old (Btrfs). The cure is to write again, or to stop and recover.
    #[must_use]
    pub fn sync_errors(self, budget: u8) -> Faults {
        Faults { sync_errors: budget, ..self }
    }

    /// Has syncs fail because the disk is full, at most `budget` of one task: file systems that seek the room for a
    /// write late (delayed allocation: ext4, XFS, Btrfs) find out in the sync. All else is as for
    /// [`sync_errors`](Self::sync_errors); reads show the new data.
    #[must_use]
    pub fn full_at_sync(self, budget: u8) -> Faults {
        Faults { full_at_sync: budget, ..self }
    }

    /// Has bits of files change by themselves, found by reads after a power failure, at most `budget` of one task.
    #[must_use]
    pub fn rot(self, budget: u8) -> Faults {
        Faults { rot: budget, ..self }
    }

    pub(super) fn at(self, rates: Rates) -> Faults {
        Faults { rates, ..self }
    }

    pub(super) fn rules_name(&self) -> &'static str {
        self.rules.name()
    }

    pub(super) fn disk_rules(&self) -> disk::Rules {
        self.rules.0
    }

    pub(super) fn room(&self) -> Option<u64> {
        self.capacity
    }

    /// One of the outcomes of this kind, from 1; 0 is none of them.
    pub(super) fn draw(&self, Draw { kind, outcomes, rate, why }: Draw) -> u64 {
        let budget = match kind {
            READ_ERROR => self.read_errors,
            FULL => self.full,
            SHORT => self.short,
            SYNC_ERROR => self.sync_errors,
            FULL_AT_SYNC => self.full_at_sync,
            ROT => self.rot,
            _ => 0,
        };
        if budget == 0 || (self.rates == Rates::Rare && seam::draw(rate, why) != rate - 1) {
            return 0;
        }
        seam::suffers(kind, (outcomes + 1, budget), why)
    }

    /// Returns `true` if a read may suffer something.
    pub(super) fn befall_reads(&self) -> bool {
        self.read_errors > 0 || self.short > 0 || self.rot > 0
    }
}
