//! The order in which effects reach the disk: "this one only if that one".
//!
//! Sources: the freedom that POSIX leaves, with atomic sectors (Pillai et al., *All File Systems Are Not Created
//! Equal*, OSDI 2014); ext4 with `data=ordered` and `auto_da_alloc`. Real file systems differ from both in detail.

/// A set of rules. Versions of one location are in the order of their calls under all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Entries and lengths are in the order of their calls among each other: one journal.
    pub metadata_in_order: bool,
    /// A length is on disk only with the data that was written before it.
    pub data_before_size: bool,
    /// A sync of anything also makes all earlier entries and lengths durable.
    pub sync_covers_journal: bool,
    /// A rename over a file first makes the data of the renamed file durable.
    pub rename_flushes: bool,
    /// A rename is one effect. If not, the new name comes first, and the old one goes later.
    pub rename_is_atomic: bool,
    /// All effects are in the order of their calls: a crash leaves a prefix.
    pub everything_in_order: bool,
}

impl Rules {
    /// The minimum that code may rely on. The default.
    pub const POSIX: Rules = Rules {
        metadata_in_order: false,
        data_before_size: false,
        sync_covers_journal: false,
        rename_flushes: false,
        rename_is_atomic: true,
        everything_in_order: false,
    };

    /// One journal of metadata, data written before the lengths above it.
    pub const EXT4: Rules = Rules {
        metadata_in_order: true,
        data_before_size: true,
        sync_covers_journal: true,
        rename_flushes: true,
        ..Rules::POSIX
    };

    /// Nothing is reordered.
    pub const PREFIX: Rules = Rules { everything_in_order: true, ..Rules::POSIX };

    /// POSIX, on a file system without a journal: a crash in a rename may leave both names.
    pub const UNJOURNALED: Rules = Rules { rename_is_atomic: false, ..Rules::POSIX };

    /// True if the order of calls on different inodes can show after a crash.
    pub fn has_journal(&self) -> bool {
        self.metadata_in_order || self.everything_in_order
    }
}

/// How the first reads after a crash choose among the versions of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choosing {
    /// Each location by its own draw: complete, for searches.
    EachLocation,
    /// One of four moods for the whole disk, and the sectors of one write as a run: for samples.
    /// Independent draws for each location nearly always give a disk with everything half written,
    /// the state that finds least.
    Moods,
}
