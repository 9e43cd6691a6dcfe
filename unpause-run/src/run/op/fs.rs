//! Files: the disk of a node, and its inodes.
//!
//! Calls on different inodes commute, and calls that only read commute, too. A power failure conflicts with calls that
//! make something durable. All other effects of a call may be lost, and a state without them is among the possible
//! states after the failure. The death of a process conflicts with all calls that change something, because the page
//! cache survives it.

use super::kind::{Bits, Kind, WATCHES};

const SEES: Bits = 1 << 0;
const ACTS: Bits = 1 << 1;
const JOURNALS: Bits = 1 << 2;
const ROOMS: Bits = 1 << 3;
const DECIDES: Bits = 1 << 4;
const CHANGES: Bits = 1 << 5;
const SYNCS: Bits = 1 << 6;
const VISITS: Bits = 1 << 7;
const KILLS: Bits = 1 << 8;
const POWERS_OFF: Bits = 1 << 9;
const FAILS: Bits = 1 << 10;

/// A call that reads. The call conflicts like the operations recorded with it.
pub const SEE: Kind = Kind::of(SEES).looks();

/// A call that changes something. The call conflicts like the operations recorded with it.
pub const ACT: Kind = Kind::of(ACTS);

/// The call has a position in the order of effects on different inodes.
pub const JOURNAL: Kind = Kind::of(JOURNALS).conflicts_with(JOURNALS);

/// The call allocated or freed space on a disk with a limit.
pub const ROOM: Kind = Kind::of(ROOMS).conflicts_with(ROOMS);

/// The call decided which effects an earlier power failure had preserved.
pub const DECIDE: Kind = Kind::of(DECIDES).conflicts_with(DECIDES);

/// The call changed data that processes can read.
pub const CHANGE: Kind = Kind::of(CHANGES).conflicts_with(KILLS);

/// The call made something durable, or failed to do so.
pub const SYNC: Kind = Kind::of(SYNCS).conflicts_with(KILLS | POWERS_OFF);

/// The call belongs to a task that survives the death of the node.
pub const VISIT: Kind = Kind::of(VISITS).conflicts_with(KILLS | POWERS_OFF | FAILS);

/// A fault of the disk began or ended. All steps of the node's tasks conflict with this operation, too.
pub const FAIL: Kind = Kind::of(FAILS).conflicts_with(VISITS | FAILS);

/// The process of the node ended.
pub const KILL: Kind =
    Kind::of(KILLS).conflicts_with(CHANGES | SYNCS | VISITS | KILLS | POWERS_OFF);

/// The machine of the node lost power.
pub const POWER_OFF: Kind =
    Kind::of(POWERS_OFF).conflicts_with(SYNCS | VISITS | KILLS | POWERS_OFF);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "disk",
    kinds: &[
        ("see", SEE),
        ("act", ACT),
        ("journal", JOURNAL),
        ("room", ROOM),
        ("decide", DECIDE),
        ("change", CHANGE),
        ("sync", SYNC),
        ("visit", VISIT),
        ("kill", KILL),
        ("power off", POWER_OFF),
        ("fail", FAIL),
    ],
};

/// The kinds of operations on the contents of a mapped file. The inode of the file and the words of the map have other
/// kinds.
pub mod contents {
    use super::{Bits, Kind};

    const READS: Bits = 1 << 0;
    const STORES: Bits = 1 << 1;

    /// A call on the file read the contents.
    pub const READ: Kind = Kind::of(READS).conflicts_with(STORES).looks();

    /// A store through a map changed the contents. Two stores conflict on words and sectors instead.
    pub const STORE: Kind = Kind::of(STORES).conflicts_with(READS);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "contents",
        kinds: &[("read", READ), ("store", STORE)],
    };
}

/// The kinds of operations on an inode: on its contents or its entries, and on its lock.
pub mod inode {
    use super::{Bits, Kind, WATCHES};

    // The bits for calls equal the bits of the disk, because calls are announced on the disk or on an inode.
    const SEES: Bits = 1 << 0;
    #[cfg(any(test, feature = "planted"))]
    const ACTS: Bits = 1 << 1;
    const READS: Bits = 1 << 2;
    const WRITES: Bits = 1 << 3;
    const LOCKS: Bits = 1 << 4;
    const SHARES: Bits = 1 << 5;
    const UNLOCKS: Bits = 1 << 6;
    const FAILS: Bits = 1 << 7;

    /// A call that reads the inode, or its result.
    pub const SEE: Kind = Kind::of(SEES).looks();

    /// The task read the inode.
    pub const READ: Kind = Kind::of(READS).conflicts_with(WRITES).looks();

    /// The task read the inode through a word of a map. The operation on the word has the point.
    pub const READ_BY_WORD: Kind = READ.beside_a_point();

    /// The task changed the inode. A task may wait for a word of its map.
    pub const WRITE: Kind =
        Kind::of(WRITES).conflicts_with(READS | WRITES | WATCHES).enables(WATCHES);

    /// The task locked the inode exclusively. Guard: no other open file has a lock on it, or this open file has a
    /// shared lock, which the step then releases instead.
    pub const LOCK: Kind =
        Kind::of(LOCKS).conflicts_with(LOCKS | SHARES | UNLOCKS | FAILS).disables(LOCKS | SHARES);

    /// The task locked the inode in shared mode. Guard: no other open file holds its exclusive lock. May enable a
    /// conversion to an exclusive lock.
    pub const SHARE: Kind =
        Kind::of(SHARES).conflicts_with(LOCKS | UNLOCKS | FAILS).enables(LOCKS).disables(LOCKS);

    /// The task released a lock on the inode. The release may disable a conversion to an exclusive lock.
    pub const UNLOCK: Kind = Kind::of(UNLOCKS)
        .conflicts_with(LOCKS | SHARES | UNLOCKS | FAILS)
        .enables(LOCKS | SHARES)
        .disables(LOCKS);

    /// The task tried to lock the inode while it was locked.
    pub const FAIL: Kind = Kind::of(FAILS).conflicts_with(LOCKS | SHARES | UNLOCKS);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "inode",
        kinds: &[
            ("see", SEE),
            ("act", Kind::of(ACTS)),
            ("read", READ),
            ("write", WRITE),
            ("lock", LOCK),
            ("share", SHARE),
            ("unlock", UNLOCK),
            ("fail", FAIL),
        ],
    };
}
