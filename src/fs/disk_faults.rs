//! Settings and draws of the file faults that last for a whole run. In each draw, 0 means no fault.

use crate::disk;
use crate::seam;

const READ_ERROR: usize = 8;
const FULL: usize = 9;
const SHORT: usize = 10;
const SYNC_ERROR: usize = 11;
const ROT: usize = 12;
const FULL_AT_SYNC: usize = 13;
const MISDIRECTED: usize = 14;

/// The draw of a fault: its kind, the number of its outcomes, its rate (one call in `rate` suffers it), and its name in
/// traces.
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

/// The order in which changes reach the disk. The order determines the states that a power failure may leave.
///
/// ```
/// use sim::fs::{self, Faults, Rules};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// fs::faults(Faults::none().rules(Rules::PREFIX));
/// let db = sim::node("db-1");
/// let writing = db.spawn(async {
///     fs::write("/first", "1").await.unwrap();
///     fs::write("/second", "2").await.unwrap();
/// });
/// writing.await.unwrap();
/// db.power_off();
/// db.restart();
/// let second = db.spawn(fs::read("/second")).await.unwrap();
/// let first = db.spawn(fs::read("/first")).await.unwrap();
/// assert!(second.is_err() || first.unwrap() == b"1");
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules(disk::Rules);

impl Rules {
    /// The minimum that code may rely on, and the default. Only changes of the same sector, of the same length or of
    /// the same name keep their order. A rename is atomic.
    pub const POSIX: Rules = Rules(disk::Rules::POSIX);

    /// ext4 with its defaults. Names and lengths share one journal, and data is written before the new file length. A
    /// rename over an existing file first writes the data of the renamed file. Code that passes only under these rules
    /// relies on them.
    pub const EXT4: Rules = Rules(disk::Rules::EXT4);

    /// Nothing is reordered: a power failure leaves a prefix of all changes.
    pub const PREFIX: Rules = Rules(disk::Rules::PREFIX);

    /// Like [`POSIX`](Self::POSIX), but a power failure in a rename may leave both names.
    pub const UNJOURNALED: Rules = Rules(disk::Rules::UNJOURNALED);

    /// Returns the name in reports; empty for the default rules.
    fn name(self) -> &'static str {
        match self {
            Rules::EXT4 => "EXT4",
            Rules::PREFIX => "PREFIX",
            Rules::UNJOURNALED => "UNJOURNALED",
            _ => "",
        }
    }
}

/// The faults that the files of a run may have, besides the loss of unsynced data when a node is
/// [switched off](crate::Node::power_off).
///
/// By default there are no faults. Each fault is drawn in the call that suffers it, so shrinking removes the faults
/// that a failure does not need. The setting limits how often each task suffers each kind of fault. In searches every
/// call may fail; in sampled runs only a few calls fail.
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
    /// Each call may fail; this choice is used in searches.
    Each,
    /// A few calls fail.
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
    /// Returns settings without faults.
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

    /// Makes changes reach the disk in the order of these rules.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Faults {
        Faults { rules, ..self }
    }

    /// Limits the contents of files to `bytes` bytes, counted in sectors of 512 bytes. A write to a full disk is short
    /// or fails.
    ///
    /// ```
    /// use sim::fs::{self, Faults};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::faults(Faults::none().capacity(1024));
    /// let mut file = fs::File::create("/a").await.unwrap();
    /// assert_eq!(file.write(&[1; 700]).await.unwrap(), 700);
    /// assert_eq!(file.write(&[1; 700]).await.unwrap(), 324);
    /// let full = file.write(&[1; 700]).await;
    /// assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn capacity(self, bytes: u64) -> Faults {
        Faults { capacity: Some(bytes), ..self }
    }

    /// Makes reads fail (`EIO`), at most `budget` reads of each task. The sector stays unreadable until it is written
    /// whole.
    ///
    /// ```
    /// use sim::fs::{self, Faults};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::faults(Faults::none().read_errors(1));
    /// fs::write("/a", [7; 512]).await.unwrap();
    /// if fs::read("/a").await.is_err() {
    ///     assert!(fs::read("/a").await.is_err());
    ///     fs::write("/a", [7; 512]).await.unwrap();
    ///     assert_eq!(fs::read("/a").await.unwrap(), [7; 512]);
    /// }
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn read_errors(self, budget: u8) -> Faults {
        Faults { read_errors: budget, ..self }
    }

    /// Makes writes fail because the disk is full, at most `budget` writes of each task.
    #[must_use]
    pub fn full(self, budget: u8) -> Faults {
        Faults { full: budget, ..self }
    }

    /// Makes reads and writes short, at most `budget` of each task. A short call transfers one byte, half of the bytes,
    /// or all but one.
    ///
    /// ```
    /// use sim::fs::{self, Faults};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::faults(Faults::none().short(1));
    /// let mut file = fs::File::create("/a").await.unwrap();
    /// let written = file.write(b"four").await.unwrap();
    /// assert!((1..=4).contains(&written));
    /// file.write_all(&b"four"[written..]).await.unwrap();
    /// assert_eq!(file.metadata().await.unwrap().len(), 4);
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn short(self, budget: u8) -> Faults {
        Faults { short: budget, ..self }
    }

    /// Makes syncs fail, at most `budget` syncs of each task. The data that they should have written may be on disk or
    /// not, and *no later sync writes it*: the kernel regards the data as written. Reads show the new data afterwards
    /// (ext4, XFS) or the old (Btrfs). Code must write the data again, or stop and recover.
    ///
    /// ```
    /// use sim::fs::{self, Faults, File};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::faults(Faults::none().sync_errors(1));
    /// let db = sim::node("db-1");
    /// let saving = db.spawn(async {
    ///     let file = File::create("/a").await.unwrap();
    ///     file.write_at(b"new", 0).await.unwrap();
    ///     // No second attempt, because it would write nothing.
    ///     file.sync_all().await.is_ok() && File::open("/").await.unwrap().sync_all().await.is_ok()
    /// });
    /// let is_saved = saving.await.unwrap();
    /// db.power_off();
    /// db.restart();
    /// let found = db.spawn(fs::read("/a")).await.unwrap().unwrap_or_default();
    /// assert!(found == b"new" || !is_saved);
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn sync_errors(self, budget: u8) -> Faults {
        Faults { sync_errors: budget, ..self }
    }

    /// Makes syncs fail because the disk is full, at most `budget` syncs of each task. File systems with delayed
    /// allocation (ext4, XFS, Btrfs) notice a full disk only in the sync. In other respects, this fault is like
    /// [`sync_errors`](Self::sync_errors); reads show the new data.
    #[must_use]
    pub fn full_at_sync(self, budget: u8) -> Faults {
        Faults { full_at_sync: budget, ..self }
    }

    /// Flips bits of files. Reads find the change after a power failure, at most `budget` times per task.
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

    /// Draws an outcome of this fault kind, from 1; 0 means no fault.
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

    /// Returns `true` if a sync may fail.
    pub(super) fn befall_syncs(&self) -> bool {
        self.sync_errors > 0 || self.full_at_sync > 0
    }

    /// Returns `true` if a read may suffer a fault.
    pub(super) fn befall_reads(&self) -> bool {
        self.read_errors > 0 || self.short > 0 || self.rot > 0
    }
}
