//! The net: links between nodes, and inboxes, which messages arrive in.
//!
//! Messages of a stream arrive in the order of their sending, messages to other inboxes in any
//! order. A message that is sent conflicts with no arrival: it is a task of its own, which arrives
//! later.
//!
//! An inbox has two ends. The arrival of a message at one end and the taking of another message at
//! the other end do not conflict. The arrival of a message and its taking conflict, because the
//! message is an object of its own: `PUT`, `GET`.

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

    /// A message went over it.
    pub const PASS: Kind = Kind::of(PASSES).conflicts_with(CUTS).looks();

    /// A message was lost because it is cut.
    pub const LOSE: Kind = Kind::of(LOSES).conflicts_with(CUTS).looks();

    /// It was cut or healed.
    pub const CUT: Kind =
        Kind::of(CUTS).conflicts_with(PASSES | LOSES | CUTS | SETS | OPENS).fault();

    /// Its settings changed, with effect on messages sent from then on.
    pub const SET: Kind = Kind::of(SETS).conflicts_with(CUTS | SETS | JOINS | QUEUES | OPENS);

    /// A stream or a socket uses it from now on, or a request goes over it.
    pub const JOIN: Kind = Kind::of(JOINS).conflicts_with(SETS).looks();

    /// A stream uses it from now on. A cut has an operation on each stream that uses the link, so it is another step
    /// before.
    pub const OPEN: Kind = Kind::of(OPENS).conflicts_with(CUTS | SETS).looks();

    /// A message waits behind earlier messages.
    pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(QUEUES | SETS);

    /// Read how many messages cuts have met, or clogs have delayed. Searches learn from it that these numbers matter,
    /// and derive what it conflicts with.
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

/// The kinds of operations on the sending end of a connection: a window of bytes that are sent and not yet taken.
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

    /// Wrote bytes that the window has room for although nobody takes any, or the end.
    pub const WRITE: Kind = Kind::of(WRITES).conflicts_with(ALL_WRITES | LOOKS);

    /// Wrote as many bytes as there is room for, looked for room, or found none.
    pub const WRITE_TIGHT: Kind = Kind::of(TIGHT).conflicts_with(ALL_WRITES | MAKES_ROOM | LOOKS);

    /// The same after a wait. Guard: it was woken.
    pub const GO_ON: Kind = Kind::of(GOES_ON).conflicts_with(ALL_WRITES | MAKES_ROOM | LOOKS);

    /// The other side took bytes.
    pub const MAKE_ROOM: Kind =
        Kind::of(MAKES_ROOM).conflicts_with(TIGHT | GOES_ON).enables(GOES_ON);

    /// Writes fail from now on, or an error was reported.
    pub const BREAK: Kind =
        Kind::of(BREAKS).conflicts_with(ALL_WRITES | SEES | LOOKS).enables(GOES_ON);

    /// The kernel looked if writes fail.
    pub const SEE: Kind = Kind::of(SEES).conflicts_with(BREAKS).looks();

    /// The kernel looked if something was written.
    pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ALL_WRITES).looks();

    /// The settings of its link changed.
    pub const SET: Kind = Kind::of(SETS).conflicts_with(ALL_WRITES | LOOKS);

    /// Read an option of the socket, which writes do not see.
    pub const OPTION: Kind = Kind::of(OPTIONS).conflicts_with(SETS_OPTION).looks();

    /// Set an option of the socket.
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

/// Sent a message of a stream: the order counts.
pub const SEND: Kind = Kind::of(SENDS).conflicts_with(SENDS | CLOSES | SETS);

/// Sent a datagram.
pub const SEND_DATAGRAM: Kind = Kind::of(SENDS_ANY).conflicts_with(SETS);

/// A message arrived. Guard, of a stream: the earlier messages have arrived, and the link is not
/// cut.
pub const ARRIVE: Kind = Kind::of(ARRIVES)
    .conflicts_with(ARRIVES | TAKES_ALL | LOOKS | CLOSES | CUTS | HEALS | SETS_BACK | WAITS)
    .enables(ARRIVES | TAKES);

/// The earliest arrival time of a message of a stream has come, and the message waits: for earlier
/// messages, or because the link is cut.
pub const WAIT_BEHIND: Kind = Kind::of(WAITS).conflicts_with(ARRIVES | CUTS | HEALS).looks();

/// The operations that take.
const TAKE_ANY: Bits = TAKES | TAKES_NOW | TAKES_ALL;

/// Took a message or the end, or as many bytes as were asked for. Guard: there is one.
pub const TAKE: Kind =
    Kind::of(TAKES).conflicts_with(TAKE_ANY | LOOKS | CLOSES | SETS_BACK).disables(TAKES);

/// Took a message, without a point.
pub const TAKE_NOW: Kind =
    Kind::of(TAKES_NOW).conflicts_with(TAKE_ANY | LOOKS | CLOSES | SETS_BACK).disables(TAKES);

/// Took all bytes that were there, which are fewer than were asked for.
pub const TAKE_ALL: Kind = Kind::of(TAKES_ALL)
    .conflicts_with(ARRIVES | TAKE_ANY | LOOKS | CLOSES | SETS_BACK)
    .disables(TAKES);

/// Looked at the messages, or for one and found none.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ARRIVES | TAKE_ANY | CLOSES).looks();

/// Read the address that its socket is connected to: a connection is as the end of what others send.
pub const PEER: Kind = Kind::of(PEERS).conflicts_with(CLOSES).looks();

/// Closed it: nothing arrives any more.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with(SENDS | ARRIVES | TAKE_ANY | PEERS | LOOKS | CLOSES | SETS | SETS_BACK)
    .enables(ARRIVES | TAKES);

/// Its link was cut: the messages of a stream wait.
pub const CUT: Kind =
    Kind::of(CUTS).conflicts_with(ARRIVES | CUTS | HEALS | WAITS).disables(ARRIVES).fault();

/// Its link was healed.
pub const HEAL: Kind =
    Kind::of(HEALS).conflicts_with(ARRIVES | CUTS | HEALS | WAITS | COUNTED).enables(ARRIVES);

/// A message of a stream was sent, in a program that reads how many messages cuts have met. The cut
/// meets a message sent before its end, but no later one. Beside [`SEND`], and recorded nowhere:
/// searches derive it.
pub const SEND_COUNTED: Kind = Kind::of(COUNTED).conflicts_with(HEALS);

/// The settings of the link to it changed. Also: the answer came that nobody receives, and sends fail.
pub const SET: Kind = Kind::of(SETS).conflicts_with(SENDS | SENDS_ANY | CLOSES | SETS);

/// The settings of the link back changed. An arrival may be answered over this link, and reads have
/// its faults.
pub const SET_BACK: Kind =
    Kind::of(SETS_BACK).conflicts_with(ARRIVES | TAKE_ANY | CLOSES | SETS_BACK);

/// An arrival enables the taking of its message. They do not conflict here: the message orders them.
#[cfg(test)]
pub(super) const ORDERED_BY_MESSAGE: (Kind, Kind) = (ARRIVE, TAKE);

/// The message itself: put in by its arrival, got by its taking.
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
