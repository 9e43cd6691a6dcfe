//! The net: links between nodes, and inboxes where messages arrive.
//!
//! Messages of a stream arrive in the order in which they were sent, but messages to other inboxes arrive in any order.
//! Sending a message conflicts with no arrival, because the message is a task of its own that arrives later.
//!
//! An inbox has two ends. The arrival of a message at one end does not conflict with taking another message at the
//! other end. The arrival of a message conflicts with taking the same message, because the message is an object of its
//! own: `PUT`, `GET`.

use super::kind::{Bits, Kind};

/// The kinds of operations on a link from one node to another.
pub mod link {
    use super::{Bits, Kind};

    const PASSES: Bits = 1 << 0;
    const CUTS: Bits = 1 << 1;
    const SETS: Bits = 1 << 2;
    const JOINS: Bits = 1 << 3;
    const QUEUES: Bits = 1 << 4;
    const LOSES: Bits = 1 << 5;
    const COUNTS: Bits = 1 << 6;
    const OPENS: Bits = 1 << 7;

    /// A message passed over the link.
    pub const PASS: Kind = Kind::of(PASSES).conflicts_with(CUTS).looks();

    /// A message was lost because the link is cut.
    pub const LOSE: Kind = Kind::of(LOSES).conflicts_with(CUTS).looks();

    /// The link was cut or healed.
    pub const CUT: Kind =
        Kind::of(CUTS).conflicts_with(PASSES | LOSES | CUTS | SETS | OPENS).fault();

    /// The settings of the link changed, with effect on messages that are sent later.
    pub const SET: Kind = Kind::of(SETS).conflicts_with(CUTS | SETS | JOINS | QUEUES | OPENS);

    /// A stream or a socket begins to use the link, or a request passes over it.
    pub const JOIN: Kind = Kind::of(JOINS).conflicts_with(SETS).looks();

    /// A stream begins to use the link. A cut has an operation on each stream that uses the link, so a cut before this
    /// operation is a different step than a cut after it.
    pub const OPEN: Kind = Kind::of(OPENS).conflicts_with(CUTS | SETS).looks();

    /// A message waits behind earlier messages of the link.
    pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(QUEUES | SETS);

    /// The task read the number of messages that cuts have affected, or that clogs have delayed. From this operation,
    /// searches learn that these numbers matter, and derive its conflicts.
    pub const COUNT: Kind = Kind::of(COUNTS).looks();

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "link",
        kinds: &[
            ("pass", PASS),
            ("lose", LOSE),
            ("cut", CUT),
            ("set", SET),
            ("join", JOIN),
            ("open", OPEN),
            ("queue", QUEUE),
            ("count", COUNT),
        ],
    };
}

/// The kinds of operations on the sending end of a connection: a window of bytes that are sent and not yet received.
pub mod window {
    use super::{Bits, Kind};

    const WRITES: Bits = 1 << 0;
    const TIGHT: Bits = 1 << 1;
    const GOES_ON: Bits = 1 << 2;
    const MAKES_ROOM: Bits = 1 << 3;
    const BREAKS: Bits = 1 << 4;
    const SETS: Bits = 1 << 5;
    const OPTIONS: Bits = 1 << 6;
    const SETS_OPTION: Bits = 1 << 7;
    const SEES: Bits = 1 << 8;
    const LOOKS: Bits = 1 << 9;
    const ALL_WRITES: Bits = WRITES | TIGHT | GOES_ON | BREAKS | SETS;

    /// The task wrote the end of the stream, or bytes that fit into the window even if the receiver takes none.
    pub const WRITE: Kind = Kind::of(WRITES).conflicts_with(ALL_WRITES | LOOKS);

    /// The task wrote as many bytes as fit into the window, checked for room, or found no room.
    pub const WRITE_TIGHT: Kind = Kind::of(TIGHT).conflicts_with(ALL_WRITES | MAKES_ROOM | LOOKS);

    /// The task wrote or checked for room in the same way, but after a wait. Guard: the writer was woken.
    pub const GO_ON: Kind = Kind::of(GOES_ON).conflicts_with(ALL_WRITES | MAKES_ROOM | LOOKS);

    /// The receiver took bytes out of the window.
    pub const MAKE_ROOM: Kind =
        Kind::of(MAKES_ROOM).conflicts_with(TIGHT | GOES_ON).enables(GOES_ON);

    /// Made all later writes fail, or reported an error.
    pub const BREAK: Kind =
        Kind::of(BREAKS).conflicts_with(ALL_WRITES | SEES | LOOKS).enables(GOES_ON);

    /// The kernel checked if writes fail.
    pub const SEE: Kind = Kind::of(SEES).conflicts_with(BREAKS).looks();

    /// The kernel checked if something was written.
    pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ALL_WRITES).looks();

    /// The settings of the connection's link changed.
    pub const SET: Kind = Kind::of(SETS).conflicts_with(ALL_WRITES | LOOKS);

    /// The task read an option of the socket that does not affect writes.
    pub const OPTION: Kind = Kind::of(OPTIONS).conflicts_with(SETS_OPTION).looks();

    /// The task set an option of the socket.
    pub const SET_OPTION: Kind = Kind::of(SETS_OPTION).conflicts_with(OPTIONS | SETS_OPTION);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "window",
        kinds: &[
            ("write", WRITE),
            ("write tight", WRITE_TIGHT),
            ("go on", GO_ON),
            ("make room", MAKE_ROOM),
            ("break", BREAK),
            ("see", SEE),
            ("look", LOOK),
            ("set", SET),
            ("option", OPTION),
            ("set option", SET_OPTION),
        ],
    };
}

const SENDS: Bits = 1 << 0;
const ARRIVES: Bits = 1 << 1;
const TAKES: Bits = 1 << 2;
const PEERS: Bits = 1 << 3;
const LOOKS: Bits = 1 << 4;
const CLOSES: Bits = 1 << 5;
const CUTS: Bits = 1 << 6;
const HEALS: Bits = 1 << 7;
const TAKES_NOW: Bits = 1 << 8;
const SENDS_ANY: Bits = 1 << 9;
const TAKES_ALL: Bits = 1 << 10;
const SETS: Bits = 1 << 11;
const SETS_BACK: Bits = 1 << 12;
const WAITS: Bits = 1 << 13;
const COUNTED: Bits = 1 << 14;

/// The task sent a message of a stream. The order of such messages matters.
pub const SEND: Kind = Kind::of(SENDS).conflicts_with(SENDS | CLOSES | SETS);

/// The task sent a datagram.
pub const SEND_DATAGRAM: Kind = Kind::of(SENDS_ANY).conflicts_with(SETS);

/// A message arrived. Guard, for a stream: the earlier messages have arrived, and the link is not cut.
pub const ARRIVE: Kind = Kind::of(ARRIVES)
    .conflicts_with(ARRIVES | TAKES_ALL | LOOKS | CLOSES | CUTS | HEALS | SETS_BACK | WAITS)
    .enables(ARRIVES | TAKES);

/// A message of a stream reached its earliest arrival time but must wait, either for earlier messages or because the
/// link is cut.
pub const WAIT_BEHIND: Kind = Kind::of(WAITS).conflicts_with(ARRIVES | CUTS | HEALS).looks();

/// The operations that take messages.
const TAKE_ANY: Bits = TAKES | TAKES_NOW | TAKES_ALL;

/// The task took a message or the end of a stream, or all requested bytes. Guard: there is something to take.
pub const TAKE: Kind =
    Kind::of(TAKES).conflicts_with(TAKE_ANY | LOOKS | CLOSES | SETS_BACK).disables(TAKES);

/// The task took a message, without a point.
pub const TAKE_NOW: Kind =
    Kind::of(TAKES_NOW).conflicts_with(TAKE_ANY | LOOKS | CLOSES | SETS_BACK).disables(TAKES);

/// The task took all available bytes, which are fewer than requested.
pub const TAKE_ALL: Kind = Kind::of(TAKES_ALL)
    .conflicts_with(ARRIVES | TAKE_ANY | LOOKS | CLOSES | SETS_BACK)
    .disables(TAKES);

/// The task read the list of messages, or looked for a message and found none.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ARRIVES | TAKE_ANY | CLOSES).looks();

/// The task read the peer address of the socket. Connecting a socket counts as a close, because it ends the messages
/// from other senders.
pub const PEER: Kind = Kind::of(PEERS).conflicts_with(CLOSES).looks();

/// The task closed the inbox: no more messages arrive.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with(SENDS | ARRIVES | TAKE_ANY | PEERS | LOOKS | CLOSES | SETS | SETS_BACK)
    .enables(ARRIVES | TAKES);

/// The link to the inbox was cut, so the messages of a stream wait.
pub const CUT: Kind =
    Kind::of(CUTS).conflicts_with(ARRIVES | CUTS | HEALS | WAITS).disables(ARRIVES).fault();

/// The link to the inbox was healed.
pub const HEAL: Kind =
    Kind::of(HEALS).conflicts_with(ARRIVES | CUTS | HEALS | WAITS | COUNTED).enables(ARRIVES);

/// The task sent a message of a stream, in a program that reads the number of messages affected by cuts. A cut affects
/// the messages that are sent before it is healed. This kind accompanies [`SEND`] and is not recorded: searches derive
/// it.
pub const SEND_COUNTED: Kind = Kind::of(COUNTED).conflicts_with(HEALS);

/// The settings of the link to the inbox changed. Also recorded when a reply reports that the port has no
/// receiver, so that sends fail.
pub const SET: Kind = Kind::of(SETS).conflicts_with(SENDS | SENDS_ANY | CLOSES | SETS);

/// The settings of the link in the other direction changed. A reply to an arrival may use this link, and reads have its
/// faults.
pub const SET_BACK: Kind =
    Kind::of(SETS_BACK).conflicts_with(ARRIVES | TAKE_ANY | CLOSES | SETS_BACK);

/// An arrival enables taking its message. The two do not conflict on the inbox, because the message orders them.
#[cfg(test)]
pub(super) const ORDERED_BY_MESSAGE: (Kind, Kind) = (ARRIVE, TAKE);

/// The message itself: its arrival puts it, and its receipt gets it.
pub const PUT: Kind = super::word::WRITE;
pub const GET: Kind = super::word::READ;

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "inbox",
    kinds: &[
        ("send", SEND),
        ("send datagram", SEND_DATAGRAM),
        ("arrive", ARRIVE),
        ("wait behind", WAIT_BEHIND),
        ("take", TAKE),
        ("take now", TAKE_NOW),
        ("take all", TAKE_ALL),
        ("look", LOOK),
        ("peer", PEER),
        ("close", CLOSE),
        ("cut", CUT),
        ("heal", HEAL),
        ("set", SET),
        ("set back", SET_BACK),
        ("send counted", SEND_COUNTED),
    ],
};
