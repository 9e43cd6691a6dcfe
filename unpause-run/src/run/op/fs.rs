//! Files: the disk of a node, and its inodes.
//!
//! Calls on different inodes commute, and so do calls that only read. A power failure conflicts with calls that make
//! something durable: what else a call did may be lost, and is then among the states that the failure leaves. The death
//! of a process conflicts with all calls that change something, because the page cache outlives it.

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

/// A call that reads. It conflicts like the operations recorded with it.
pub const SEE: Kind = Kind::of(SEES).looks();

/// Another call. It conflicts like the operations recorded with it.
pub const ACT: Kind = Kind::of(ACTS);

/// The call has a place in the order of effects on different inodes.
pub const JOURNAL: Kind = Kind::of(JOURNALS).conflicts_with(JOURNALS);

/// The call took or freed room on a disk that has a limit.
pub const ROOM: Kind = Kind::of(ROOMS).conflicts_with(ROOMS);

/// The call decided what an earlier power failure left.
pub const DECIDE: Kind = Kind::of(DECIDES).conflicts_with(DECIDES);

/// The call changed what processes see.
pub const CHANGE: Kind = Kind::of(CHANGES).conflicts_with(KILLS);

/// The call made something durable, or failed to.
pub const SYNC: Kind = Kind::of(SYNCS).conflicts_with(KILLS | POWERS_OFF);

/// The call is of a task that the death of the node does not end.
pub const VISIT: Kind = Kind::of(VISITS).conflicts_with(KILLS | POWERS_OFF | FAILS);

/// A fault of the disk began or ended. All steps of the tasks of the node conflict with that, too.
pub const FAIL: Kind = Kind::of(FAILS).conflicts_with(VISITS | FAILS);

/// The process ended.
pub const KILL: Kind =
    Kind::of(KILLS).conflicts_with(CHANGES | SYNCS | VISITS | KILLS | POWERS_OFF);

/// The machine ended.
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

/// The kinds of operations on the contents of a mapped file, beside the kinds for its inode and its
/// words.
pub mod contents {
    use super::{Bits, Kind};

    const READS: Bits = 1 << 0;
    const STORES: Bits = 1 << 1;

    /// A call of the file read them.
    pub const READ: Kind = Kind::of(READS).conflicts_with(STORES).looks();

    /// A map stored into them. Two stores conflict on words and sectors.
    pub const STORE: Kind = Kind::of(STORES).conflicts_with(READS);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "contents",
        kinds: &[("read", READ), ("store", STORE)],
    };
}

/// The kinds of operations on an inode: its contents or its entries, and its lock.
pub mod inode {
    use super::{Bits, Kind, WATCHES};

    // The bits of calls equal the disk's bits: they are announced on either.
    const SEES: Bits = 1 << 0;
    #[cfg(any(test, feature = "planted"))]
    const ACTS: Bits = 1 << 1;
    const READS: Bits = 1 << 2;
    const WRITES: Bits = 1 << 3;
    const LOCKS: Bits = 1 << 4;
    const SHARES: Bits = 1 << 5;
    const UNLOCKS: Bits = 1 << 6;
    const FAILS: Bits = 1 << 7;

    /// A call that reads, or what it found.
    pub const SEE: Kind = Kind::of(SEES).looks();

    /// Read it.
    pub const READ: Kind = Kind::of(READS).conflicts_with(WRITES).looks();

    /// The same by a word of a map, whose operation has the point.
    pub const READ_BY_WORD: Kind = READ.beside_a_point();

    /// Changed it. A task may wait for a word of its map.
    pub const WRITE: Kind =
        Kind::of(WRITES).conflicts_with(READS | WRITES | WATCHES).enables(WATCHES);

    /// Locked it alone. Guard: no other open file has a lock on it.
    pub const LOCK: Kind =
        Kind::of(LOCKS).conflicts_with(LOCKS | SHARES | UNLOCKS | FAILS).disables(LOCKS | SHARES);

    /// Locked it together with others. Guard: no other open file has locked it alone.
    pub const SHARE: Kind =
        Kind::of(SHARES).conflicts_with(LOCKS | UNLOCKS | FAILS).disables(LOCKS);

    /// Gave a lock up.
    pub const UNLOCK: Kind =
        Kind::of(UNLOCKS).conflicts_with(LOCKS | SHARES | UNLOCKS | FAILS).enables(LOCKS | SHARES);

    /// Tried to lock it while it was locked.
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
