//! Rules for the order in which effects reach the disk. Under a rule, an effect can be on disk only if its predecessors
//! are on disk, too.
//!
//! Sources: the freedom that POSIX permits, with atomic sectors (Pillai et al., *All File Systems Are Not Created
//! Equal*, OSDI 2014), and ext4 with `data=ordered` and `auto_da_alloc`. Real file systems differ in details from both
//! rule sets.

/// A set of rules. Under every set, the versions of one location reach the disk in call order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// True if entries and lengths reach the disk in call order, relative to each other: there is one journal.
    pub metadata_in_order: bool,
    /// True if a length reaches the disk only together with the data that was written before it.
    pub data_before_size: bool,
    /// True if a sync of anything also makes all earlier entries and lengths durable.
    pub sync_covers_journal: bool,
    /// True if a rename that replaces a file first makes the data of the renamed file durable.
    pub rename_flushes: bool,
    /// True if a rename is a single effect. If it is false, adding the new name is an effect, and removing the old name
    /// is a later effect.
    pub rename_is_atomic: bool,
    /// True if all effects reach the disk in call order, so that a crash leaves a prefix.
    pub everything_in_order: bool,
}

impl Rules {
    /// The weakest guarantees, which are the minimum for portable code. The default.
    pub const POSIX: Rules = Rules {
        metadata_in_order: false,
        data_before_size: false,
        sync_covers_journal: false,
        rename_flushes: false,
        rename_is_atomic: true,
        everything_in_order: false,
    };

    /// Rules with a single metadata journal, in which data is written before the length that includes it.
    pub const EXT4: Rules = Rules {
        metadata_in_order: true,
        data_before_size: true,
        sync_covers_journal: true,
        rename_flushes: true,
        ..Rules::POSIX
    };

    /// Rules without any reordering.
    pub const PREFIX: Rules = Rules { everything_in_order: true, ..Rules::POSIX };

    /// POSIX rules on a file system without a journal: a crash during a rename may leave both names.
    pub const UNJOURNALED: Rules = Rules { rename_is_atomic: false, ..Rules::POSIX };

    /// Returns `true` if the order of calls on different inodes can matter after a crash.
    pub fn has_journal(&self) -> bool {
        self.metadata_in_order || self.everything_in_order
    }
}

/// The method by which the first reads after a crash choose among the versions of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choosing {
    /// A separate draw for each location: complete, for searches.
    EachLocation,
    /// One of four moods for the whole disk, and the sectors of a write as a contiguous range: for samples. Independent
    /// draws for each location would nearly always leave everything half written, which is the state that finds the
    /// fewest bugs.
    Moods,
}
