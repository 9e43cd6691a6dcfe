//! Connections of a run: two byte streams with windows, stream ends and resets.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::incoming::Incoming;
use super::socket::TcpOptions;
use crate::net::bytes::Bytes;
use crate::net::fabric::{Fabric, Host};
use crate::net::inbox::{Inbox, Visit};
use crate::net::shows;
use crate::net::sockets::ports::PairTexts;
use crate::net::stream::Stream;
use crate::run::op::{Access, Op, net};
use crate::seam::{Came, Here, Wrapped};

pub(super) const READ: [Op; 2] = Op::of_kind("read", Access::Wait, net::TAKE).guarded();
pub(super) const READ_ALL: Op = Op::of_kind("read", Access::Wait, net::TAKE_ALL);
pub(super) const TRY_READ: [&Op; 3] = [
    &Op::of_kind("try_read", Access::Tell, net::TAKE_NOW),
    &Op::of_kind("try_read", Access::Tell, net::TAKE_ALL),
    &Op::of_kind("try_read", Access::Peek, net::LOOK),
];
const WRITE_TIGHT: Op = Op::of_kind("write", Access::Act, net::window::WRITE_TIGHT);
const ROOM: Op = Op::of_kind("make_room", Access::Tell, net::window::MAKE_ROOM).quiet();
const BREAK: Op = Op::of_kind("break", Access::Tell, net::window::BREAK).quiet();
const FINISH: Op = Op::of_kind("finish", Access::Tell, net::window::WRITE).quiet();
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE);
const SEE_OWNER: Op = Op::of_kind("is_in_use", Access::Peek, net::PEER).quiet();
const SEE: Op = Op::of_kind("is_in_use", Access::Peek, net::window::SEE).quiet();
const LOOK: Op = Op::of_kind("look", Access::Peek, net::window::LOOK).quiet();
const NO_ANSWER: Op = Op::of_kind("wait_for_answer", Access::Tell, net::ARRIVE).quiet();

/// The maximum number of bytes that are sent but not yet read.
pub(super) const WINDOW: usize = 64 * 1024;

/// A chunk of a byte stream, or a reset.
#[derive(Debug)]
pub(super) enum Parcel {
    /// Data, of which the bytes from offset `read` on are unread.
    Bytes {
        bytes: Bytes,
        read: usize,
        breaks: bool,
    },
    Reset,
}

impl Parcel {
    /// Returns the parcel as text, for reports.
    fn show(&self) -> String {
        match self {
            Parcel::Bytes { bytes, .. } => shows::bytes(bytes),
            Parcel::Reset => "a reset".to_owned(),
        }
    }
}

/// The owner of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Process,
    /// The process has closed this end or has died, so the kernel replies.
    Kernel,
    /// The machine has lost this end, and does not reply until it is on again.
    Nobody,
}

/// One end of a connection.
pub(super) struct End {
    pub(super) host: Host,
    pub(super) addr: SocketAddr,
    /// The bytes that have arrived from the other end, but are not read yet.
    pub(super) inbox: Inbox<Parcel>,
    /// `true` if this end sends keepalive probes.
    pub(super) keepalive: bool,
    /// The object of the bytes that this end writes.
    pub(super) window: Wrapped,
    out: OnceLock<Arc<Stream<Parcel, Incoming>>>,
    /// An [`Owner`], changed only while `state` is locked.
    owner: AtomicU8,
    state: Mutex<EndState>,
}

#[derive(Default)]
struct EndState {
    /// The total number of bytes written.
    written: u64,
    /// The number of bytes that the other end has not read yet.
    unread: usize,
    /// `true` if the end of the stream was sent.
    is_finished: bool,
    /// `true` if the end of the stream has arrived from the other end.
    has_end: bool,
    /// `true` if this end was reset or gave up. `error` holds the error until a call reports it.
    is_reset: bool,
    /// `true` if this end resends unacknowledged bytes because the machine of the other end is gone.
    sends_again: bool,
    error: Option<io::ErrorKind>,
    waiting: Vec<Waker>,
}

impl End {
    fn new(
        (host, addr): (Host, SocketAddr),
        peer: (Host, u16),
        options: TcpOptions,
        here: Here,
    ) -> End {
        static NAMES: PairTexts<[String; 2]> = PairTexts::new();
        let names = |[own, peer]: [String; 2]| [format!("{own}←{peer}"), format!("{own}→{peer}")];
        let [stream, window] = NAMES.of([(host, addr.port()), peer], names);
        End {
            host,
            addr,
            inbox: Inbox::new("stream", stream, here),
            keepalive: options.keepalive,
            window: Wrapped::outside_known("window", window, None, here),
            out: OnceLock::new(),
            owner: AtomicU8::new(Owner::Process as u8),
            state: Mutex::default(),
        }
    }

    pub(super) fn owner(&self) -> Owner {
        match self.owner.load(Relaxed) {
            owner if owner == Owner::Process as u8 => Owner::Process,
            owner if owner == Owner::Kernel as u8 => Owner::Kernel,
            _ => Owner::Nobody,
        }
    }

    fn state(&self) -> MutexGuard<'_, EndState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if a process owns this end and it is not broken. The kernel checks this in a step of another
    /// task.
    pub(super) fn is_in_use(&self, here: Here) -> bool {
        self.inbox.mark.record(&SEE_OWNER, here);
        self.window.record(&SEE, here);
        self.is_used()
    }

    /// Like [`is_in_use`](Self::is_in_use), in a step with another operation on the window.
    pub(super) fn is_used(&self) -> bool {
        self.owner() == Owner::Process && !self.state().is_reset
    }

    pub(super) fn out(&self) -> &Arc<Stream<Parcel, Incoming>> {
        self.out.get().expect("a connection has two streams")
    }

    /// Breaks this end because of an error that its kernel detects.
    pub(super) fn fails(&self, error: io::ErrorKind, here: Here) {
        self.inbox.close(false);
        self.break_it(error, here);
    }

    /// Handles the arrival of the stream end from the other side.
    pub(super) fn end_arrives(&self) {
        {
            let mut state = self.state();
            state.has_end = !state.is_reset;
        }
        self.inbox.put_end();
    }

    /// Makes writes fail from now on, and reads fail after the buffered bytes.
    pub(super) fn break_it(&self, error: io::ErrorKind, here: Here) {
        self.window.record(&BREAK, here);
        let waiting = {
            let mut state = self.state();
            if !std::mem::replace(&mut state.is_reset, true) {
                // Like Linux (`tcp_reset`): in CLOSE_WAIT, a reset is the reply to a write to a side that no longer
                // reads.
                let is_answer = state.has_end && !state.is_finished;
                state.error = Some(match error {
                    io::ErrorKind::ConnectionReset if is_answer => io::ErrorKind::BrokenPipe,
                    error => error,
                });
            }
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// A connection between two ends.
pub(super) struct Connection {
    pub(super) ends: [End; 2],
}

impl Connection {
    /// Creates a connection between two hosts: the client and the server, with their addresses.
    pub(super) fn new(
        [client, server]: [(Host, SocketAddr); 2],
        options: [TcpOptions; 2],
        here: Here,
    ) -> Arc<Connection> {
        let ends = [
            End::new(client, (server.0, server.1.port()), options[0], here),
            End::new(server, (client.0, client.1.port()), options[1], here),
        ];
        let connection = Arc::new(Connection { ends });
        for (from, to) in [(0, 1), (1, 0)] {
            let hosts = (connection.ends[from].host, connection.ends[to].host);
            let link = Fabric::of_run().link(hosts.0, hosts.1, here);
            let incoming = Incoming::new(connection.clone(), to);
            let out = Stream::over(link, incoming, here);
            out.shows.set(Parcel::show);
            let _ = connection.ends[from].out.set(out);
        }
        connection
    }

    /// Writes as many bytes as fit into the window, in a turn of the window.
    pub(super) fn write(
        &self,
        at: usize,
        bytes: &[u8],
        cx: &mut Context<'_>,
        here: Here,
    ) -> Poll<Written> {
        let end = &self.ends[at];
        let mut state = end.state();
        if let Err(error) = writable(&mut state) {
            return Poll::Ready(Written { result: Err(error), is_tight: false });
        }
        let room = WINDOW - state.unread;
        if room == 0 && !bytes.is_empty() {
            state.waiting.retain(|waker| !waker.will_wake(cx.waker()));
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        let fits = room.min(bytes.len());
        let (count, breaks) = match end.out().faults() {
            None => (fits, false),
            Some(faults) => {
                let count = faults.draw_part(crate::net::faults::SHORT_WRITE, fits);
                (count, count > 0 && faults.draw_reset())
            }
        };
        state.written += count as u64;
        state.unread += count;
        let is_tight = fits < bytes.len() || state.written > WINDOW as u64;
        drop(state);
        if count > 0 {
            let bytes = Bytes::from(&bytes[..count]);
            end.out().send_on(Some(Parcel::Bytes { bytes, read: 0, breaks }), here);
        }
        Poll::Ready(Written { result: Ok(count), is_tight })
    }

    /// Sends the end of the stream. Nothing can be written after the end.
    pub(super) fn finish(&self, at: usize, here: Here) -> io::Result<()> {
        let end = &self.ends[at];
        {
            let mut state = end.state();
            if state.is_reset || end.owner() != Owner::Process {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if std::mem::replace(&mut state.is_finished, true) {
                return Ok(());
            }
        }
        end.out().end(here);
        Ok(())
    }

    /// Returns `true` if a write would not wait.
    pub(super) fn has_room(&self, at: usize) -> bool {
        let state = self.ends[at].state();
        state.is_reset || state.is_finished || state.unread < WINDOW
    }

    /// Registers the waker of a call that waits for room in the window.
    pub(super) fn wait_for_room(&self, at: usize, waker: &Waker) {
        let mut state = self.ends[at].state();
        state.waiting.retain(|other| !other.will_wake(waker));
        state.waiting.push(waker.clone());
    }

    /// Reads the arrived bytes into `buffer`, in the turn of a read. The flag is `true` if these were all arrived
    /// bytes, but fewer than requested. Returns `None` if nothing has arrived yet.
    pub(super) fn read(
        &self,
        at: usize,
        buffer: &mut [u8],
        takes: bool,
        here: Here,
    ) -> Option<(io::Result<usize>, bool)> {
        let (end, other) = (&self.ends[at], &self.ends[1 - at]);
        if end.owner() != Owner::Process {
            return Some((Err(io::ErrorKind::NotConnected.into()), false));
        }
        let arrived = end.inbox.look();
        let there = arrived.sum(|parcel| match parcel {
            Parcel::Bytes { bytes, read, .. } => bytes.len() - read,
            Parcel::Reset => 0,
        });
        if there == 0 {
            drop(arrived);
            return self.read_end(at, takes, here);
        }
        let wanted = there.min(buffer.len());
        let faults = if takes { end.out().faults() } else { None };
        let short_read = crate::net::faults::SHORT_READ;
        let count = faults.map_or(wanted, |faults| faults.draw_part(short_read, wanted));
        let mut copied = 0;
        arrived.visit(|parcel| {
            let Parcel::Bytes { bytes, read, .. } = parcel else { return Visit::Stop };
            if copied == count {
                return Visit::Stop;
            }
            let part = (bytes.len() - *read).min(count - copied);
            buffer[copied..copied + part].copy_from_slice(&bytes[*read..*read + part]);
            copied += part;
            if takes {
                *read += part;
            }
            if *read == bytes.len() { Visit::Take } else { Visit::Look }
        });
        if takes {
            other.window.record(&ROOM, here);
            let waiting = {
                let mut state = other.state();
                state.unread -= count;
                std::mem::take(&mut state.waiting)
            };
            waiting.into_iter().for_each(Waker::wake);
        }
        Some((Ok(count), count == there && count < buffer.len()))
    }

    /// Reads when no unread bytes are left: returns the end of the stream or an error, if either has arrived.
    fn read_end(&self, at: usize, takes: bool, here: Here) -> Option<(io::Result<usize>, bool)> {
        let end = &self.ends[at];
        if !end.inbox.is_closed() {
            return None;
        }
        end.inbox.look_at_end();
        let error = {
            let mut state = end.state();
            // Reads ignore a failure that happened after the end of the stream. Later writes return the failure.
            let found = if state.has_end { None } else { state.error };
            if takes && found.is_some() { state.error.take() } else { found }
        };
        Some(match error {
            Some(error) => {
                end.window.record(&BREAK, here);
                (Err(error.into()), false)
            }
            None => (Ok(0), false),
        })
    }

    /// Records the reason why a read would not wait: the first bytes, the end of the stream, or a failure.
    pub(super) fn see_readable(&self, at: usize, here: Here) {
        let end = &self.ends[at];
        if !end.inbox.look_at_first() {
            end.window.record(&SEE, here);
        }
    }

    /// Takes the unreported error of this end, if any.
    pub(super) fn take_error(&self, at: usize, here: Here) -> Option<io::Error> {
        let end = &self.ends[at];
        end.window.record(&BREAK, here);
        end.state().error.take().map(io::Error::from)
    }

    /// Closes an end on behalf of the process. The other end gets the end of the stream, or a reset if unread bytes are
    /// left at this end.
    pub(super) fn close(&self, at: usize, resets: bool, here: Here) {
        self.leave(at, Owner::Kernel, resets, here);
    }

    /// Returns `true` if an end has filled the window, and all its bytes have arrived. The kernel of this end then asks
    /// for room.
    pub(super) fn asks_for_room(&self, at: usize) -> bool {
        let end = &self.ends[at];
        end.state().unread == WINDOW && !end.out().is_in_flight()
    }

    /// Returns `true` on the first call for an end: the end then starts to resend unacknowledged bytes.
    pub(super) fn begins_again(&self, at: usize, here: Here) -> bool {
        let end = &self.ends[at];
        end.is_in_use(here) && !std::mem::replace(&mut end.state().sends_again, true)
    }

    /// Gives up after an end has waited too long for acknowledgements. `since` is the number of the cut that caused the
    /// wait; `None` if the machine of the other end is gone.
    pub(super) fn give_up(&self, at: usize, since: Option<u64>, here: Here) {
        let (end, other) = (&self.ends[at], &self.ends[1 - at]);
        other.inbox.mark.record(&NO_ANSWER, here);
        end.window.record(&LOOK, here);
        let is_silent = match since {
            Some(change) => end.out().is_held_since(change),
            None => other.owner() == Owner::Nobody,
        };
        if is_silent && end.is_in_use(here) {
            end.fails(io::ErrorKind::TimedOut, here);
        }
    }

    /// Sends a keepalive probe to the other end. The probe crosses both links.
    pub(super) fn ask(&self, at: usize, here: Here) -> ProbeAnswer {
        let (end, other) = (&self.ends[at], &self.ends[1 - at]);
        other.inbox.mark.record(&NO_ANSWER, here);
        if !end.is_in_use(here) {
            return ProbeAnswer::Alive;
        }
        let reaches = [end, other].into_iter().all(|end| end.out().passes(here));
        match other.owner() {
            _ if !reaches => ProbeAnswer::None,
            Owner::Process | Owner::Kernel => ProbeAnswer::Alive,
            Owner::Nobody if other.host.node().is_some_and(|node| node.is_on(here)) => {
                ProbeAnswer::Reset
            }
            Owner::Nobody => ProbeAnswer::None,
        }
    }

    pub(super) fn leave(&self, at: usize, to: Owner, resets: bool, here: Here) {
        let end = &self.ends[at];
        end.inbox.mark.last(&CLOSE, here);
        end.window.last(&FINISH, here);
        let was = {
            let mut state = end.state();
            let before = (end.owner(), state.is_finished, state.is_reset);
            if before.0 == Owner::Process || to == Owner::Nobody {
                end.owner.store(to as u8, Relaxed);
            }
            state.is_finished = true;
            before
        };
        let has_unread = end.inbox.len() > 0;
        end.inbox.close(true);
        let (Owner::Process, is_finished, false) = was else { return };
        match to {
            Owner::Nobody => {}
            _ if resets || has_unread => end.out().send_on(Some(Parcel::Reset), here),
            _ if is_finished => {}
            _ => end.out().end(here),
        }
    }
}

/// The reply to a keepalive probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProbeAnswer {
    Alive,
    Reset,
    None,
}

/// The result of a write.
pub(super) struct Written {
    pub(super) result: io::Result<usize>,
    is_tight: bool,
}

impl Written {
    pub(super) fn came(&self) -> Came {
        match (&self.result, self.is_tight) {
            (Ok(_), true) => Came::As(&WRITE_TIGHT),
            (Ok(_), false) => Came::Done,
            (Err(_), _) => Came::ToNothing,
        }
    }
}

fn writable(state: &mut EndState) -> io::Result<()> {
    match state {
        EndState { error: Some(_), .. } => {
            Err(state.error.take().map(io::Error::from).expect("there is one"))
        }
        EndState { is_reset: true, .. } | EndState { is_finished: true, .. } => {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        _ => Ok(()),
    }
}
