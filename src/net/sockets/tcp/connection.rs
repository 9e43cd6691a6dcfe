//! Connections of a run: two streams of bytes with windows, ends and resets.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::incoming::Incoming;
use super::socket::Options;
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

/// The number of bytes that are sent and not yet read, at most.
pub(super) const WINDOW: usize = 64 * 1024;

/// A part of a stream.
#[derive(Debug)]
pub(super) enum Parcel {
    /// The bytes from `read` on are unread.
    Bytes {
        bytes: Bytes,
        read: usize,
        breaks: bool,
    },
    Reset,
}

impl Parcel {
    /// The parcel in words, for reports.
    fn show(&self) -> String {
        match self {
            Parcel::Bytes { bytes, .. } => shows::bytes(bytes),
            Parcel::Reset => "a reset".to_owned(),
        }
    }
}

/// The owner of an end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Process,
    /// The process has closed it, or is dead: the kernel answers.
    Kernel,
    /// The machine has lost it: nobody answers before it is on.
    Nobody,
}

/// One end of a connection.
pub(super) struct End {
    pub(super) host: Host,
    pub(super) addr: SocketAddr,
    /// The bytes that have arrived from the other end.
    pub(super) inbox: Inbox<Parcel>,
    /// It asks if the other one is there.
    pub(super) keepalive: bool,
    /// The bytes that this end writes.
    pub(super) window: Wrapped,
    out: OnceLock<Arc<Stream<Parcel, Incoming>>>,
    /// An [`Owner`]. Changed within the lock of the state.
    owner: AtomicU8,
    state: Mutex<EndState>,
}

#[derive(Default)]
struct EndState {
    /// All bytes written.
    written: u64,
    /// The number of bytes that the other end has not read.
    unread: usize,
    /// The end was sent.
    is_finished: bool,
    /// The end of the other side has arrived.
    has_end: bool,
    /// It was reset, or gave up; the error is there until a call has reported it.
    is_reset: bool,
    /// It sends what has no answer again, since the machine of the other end is gone.
    sends_again: bool,
    error: Option<io::ErrorKind>,
    waiting: Vec<Waker>,
}

impl End {
    fn new(
        (host, addr): (Host, SocketAddr),
        peer: (Host, u16),
        options: Options,
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

    /// Returns `true` if a process has it, and it is not broken: the kernel looks, in a step of others.
    pub(super) fn is_in_use(&self, here: Here) -> bool {
        self.inbox.mark.record(&SEE_OWNER, here);
        self.window.record(&SEE, here);
        self.owner() == Owner::Process && !self.state().is_reset
    }

    pub(super) fn out(&self) -> &Arc<Stream<Parcel, Incoming>> {
        self.out.get().expect("a connection has two streams")
    }

    /// It fails by something that its kernel finds out.
    pub(super) fn fails(&self, error: io::ErrorKind, here: Here) {
        self.inbox.close(false);
        self.break_it(error, here);
    }

    /// The end of the other side arrives.
    pub(super) fn end_arrives(&self) {
        {
            let mut state = self.state();
            state.has_end = !state.is_reset;
        }
        self.inbox.put_end();
    }

    /// Writes fail from now on, and reads after what is buffered.
    pub(super) fn break_it(&self, error: io::ErrorKind, here: Here) {
        self.window.record(&BREAK, here);
        let waiting = {
            let mut state = self.state();
            if !std::mem::replace(&mut state.is_reset, true) {
                // As Linux has it (`tcp_reset`): in CLOSE_WAIT a reset answers a write to a side that reads no more.
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

/// A connection.
pub(super) struct Connection {
    pub(super) ends: [End; 2],
}

impl Connection {
    /// A connection between two hosts. The addresses are the client's and the server's.
    pub(super) fn new(
        [client, server]: [(Host, SocketAddr); 2],
        options: [Options; 2],
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

    /// Writes as many bytes as there is room for, in a turn of the window.
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
                (count, faults.draw_reset())
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

    /// Sends the end, after which nothing can be written.
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

    /// Registers a call that waits for room, to be woken.
    pub(super) fn wait_for_room(&self, at: usize, waker: &Waker) {
        let mut state = self.ends[at].state();
        state.waiting.retain(|other| !other.will_wake(waker));
        state.waiting.push(waker.clone());
    }

    /// Reads what is there into `buffer`, in the turn of a read. The flag is `true` if that was all, and less than
    /// wanted. `None` if there is nothing yet.
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

    /// Reads where no byte is.
    fn read_end(&self, at: usize, takes: bool, here: Here) -> Option<(io::Result<usize>, bool)> {
        let end = &self.ends[at];
        if !end.inbox.is_closed() {
            return None;
        }
        end.inbox.look_at_end();
        let error = {
            let mut state = end.state();
            // Reads ignore a failure after the end. Later writes return it.
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

    /// Records that a call finds something to read: the first bytes, the end, or a failure.
    pub(super) fn see_readable(&self, at: usize, here: Here) {
        let end = &self.ends[at];
        if !end.inbox.look_at_first() {
            end.window.record(&SEE, here);
        }
    }

    /// Takes the error of the end that no call has reported yet, if any.
    pub(super) fn take_error(&self, at: usize, here: Here) -> Option<io::Error> {
        let end = &self.ends[at];
        end.window.record(&BREAK, here);
        end.state().error.take().map(io::Error::from)
    }

    /// The process closes an end: the other one finds the end of the stream, or a reset if bytes are left unread here.
    pub(super) fn close(&self, at: usize, resets: bool, here: Here) {
        self.leave(at, Owner::Kernel, resets, here);
    }

    /// Returns `true` the first time: an end begins to send what has no answer again.
    pub(super) fn begins_again(&self, at: usize, here: Here) -> bool {
        let end = &self.ends[at];
        end.is_in_use(here) && !std::mem::replace(&mut end.state().sends_again, true)
    }

    /// An end has waited for too long for an answer to what it wrote: since its link was cut, as the change of this
    /// number, or since the machine of the other end is gone.
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

    /// The kernel of an end asks the other one for a sign of life, which goes over both links.
    pub(super) fn ask(&self, at: usize, here: Here) -> Answer {
        let (end, other) = (&self.ends[at], &self.ends[1 - at]);
        other.inbox.mark.record(&NO_ANSWER, here);
        if !end.is_in_use(here) {
            return Answer::Alive;
        }
        let reaches = [end, other].into_iter().all(|end| end.out().passes(here));
        match other.owner() {
            _ if !reaches => Answer::None,
            Owner::Process | Owner::Kernel => Answer::Alive,
            Owner::Nobody if other.host.node().is_some_and(|node| node.is_on(here)) => {
                Answer::Reset
            }
            Owner::Nobody => Answer::None,
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
pub(super) enum Answer {
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
