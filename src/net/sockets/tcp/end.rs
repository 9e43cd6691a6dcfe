//! One end of a connection of a run, as the process uses it: calls that read, write and shut down.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use super::connection::{Connection, READ, READ_ALL, TRY_READ, Written};
use super::socket::{Reserved, TcpOptions};
use crate::net::sockets::{Origin, outside};
use crate::run::event::Values;
use crate::run::op::{Access, Op, net};
use crate::seam::{CallOps, Came, GuardedCall, Here, Turn};

const WRITE: CallOps = CallOps::acting(
    ("write", "wait_for_room"),
    [net::window::WRITE, net::window::BREAK, net::window::WRITE_TIGHT, net::window::GO_ON],
    CallOps::stop_waiting(net::window::WRITE_TIGHT),
)
.quiet();
const SHUTDOWN: CallOps = CallOps::acting(
    ("shutdown", "shutdown"),
    [net::window::WRITE, net::window::BREAK, net::window::WRITE, net::window::GO_ON],
    CallOps::stop_waiting(net::window::WRITE_TIGHT),
)
.quiet();
const WRITABLE: CallOps = CallOps::acting(
    ("writable", "wait_for_room"),
    [
        net::window::WRITE_TIGHT,
        net::window::WRITE_TIGHT,
        net::window::WRITE_TIGHT,
        net::window::GO_ON,
    ],
    CallOps::stop_waiting(net::window::WRITE_TIGHT),
);
const READABLE: [Op; 2] = Op::of_kind("readable", Access::Wait, net::TAKE).guarded();
const PEEK: [Op; 2] = Op::of_kind("peek", Access::Wait, net::TAKE).guarded();
const PEEK_ALL: Op = Op::of_kind("peek", Access::Wait, net::TAKE_ALL);
const TRY_WRITE: Op = Op::of_kind("try_write", Access::Tell, net::window::WRITE_TIGHT);
const OPTION: Op = Op::of_kind("option", Access::Peek, net::window::OPTION).quiet();
const SET_OPTION: Op = Op::of_kind("set_option", Access::Tell, net::window::SET_OPTION).quiet();
const FINISH: Op = Op::of_kind("shutdown", Access::Tell, net::window::WRITE).quiet();

/// One end of a connection. Dropping it closes this end.
pub(super) struct Endpoint {
    connection: Arc<Connection>,
    at: usize,
    origin: Origin,
    no_delay: AtomicBool,
    resets: AtomicBool,
    ttl: AtomicU32,
    /// The reservation of the local port. `None` for an accepted connection, which has the port of the listener.
    _reserved: Option<Reserved>,
    pub(super) here: Here,
}

impl Endpoint {
    pub(super) fn new(
        connection: Arc<Connection>,
        at: usize,
        (options, _reserved): (TcpOptions, Option<Reserved>),
        here: Here,
    ) -> Endpoint {
        let [no_delay, resets] = [options.nodelay, options.resets].map(AtomicBool::new);
        let (origin, ttl) = (Origin::here(), AtomicU32::new(64));
        Endpoint { connection, at, origin, no_delay, resets, ttl, _reserved, here }
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.connection.ends[self.at].addr
    }

    pub(super) fn peer_addr(&self) -> SocketAddr {
        self.connection.ends[1 - self.at].addr
    }

    fn option<T>(&self, here: Here, get: impl FnOnce() -> T) -> io::Result<T> {
        self.origin.check(here)?;
        Ok(self.connection.ends[self.at].window.act(&OPTION, here, get))
    }

    fn set_option(&self, here: Here, set: impl FnOnce()) -> io::Result<()> {
        self.origin.check(here)?;
        self.connection.ends[self.at].window.act(&SET_OPTION, here, set);
        Ok(())
    }

    pub(super) fn no_delay(&self, here: Here) -> io::Result<bool> {
        self.option(here, || self.no_delay.load(Relaxed))
    }

    pub(super) fn set_no_delay(&self, is_on: bool, here: Here) -> io::Result<()> {
        self.set_option(here, || self.no_delay.store(is_on, Relaxed))
    }

    pub(super) fn resets(&self, here: Here) -> io::Result<bool> {
        self.option(here, || self.resets.load(Relaxed))
    }

    pub(super) fn set_resets(&self, is_on: bool, here: Here) -> io::Result<()> {
        self.set_option(here, || self.resets.store(is_on, Relaxed))
    }

    pub(super) fn ttl(&self, here: Here) -> io::Result<u32> {
        self.option(here, || self.ttl.load(Relaxed))
    }

    pub(super) fn set_ttl(&self, ttl: u32, here: Here) -> io::Result<()> {
        self.set_option(here, || self.ttl.store(ttl, Relaxed))
    }

    pub(super) fn take_error(&self, here: Here) -> io::Result<Option<io::Error>> {
        self.origin.check(here)?;
        Ok(self.connection.take_error(self.at, here))
    }

    /// Reads without a point.
    pub(super) fn try_read(&self, buffer: &mut [u8], here: Here) -> io::Result<usize> {
        self.origin.check(here)?;
        let inbox = &self.connection.ends[self.at].inbox;
        let read = || self.connection.read(self.at, buffer, true, here);
        let read = inbox.mark.now(here, read, |read| {
            let op = match read {
                Some((_, false)) => TRY_READ[0],
                Some((_, true)) => TRY_READ[1],
                None => TRY_READ[2],
            };
            (op, Values::None)
        });
        read.map_or(Err(io::ErrorKind::WouldBlock.into()), |(read, _)| read)
    }

    /// Writes without a point.
    pub(super) fn try_write(&self, bytes: &[u8], here: Here) -> io::Result<usize> {
        self.origin.check(here)?;
        let end = &self.connection.ends[self.at];
        end.window.act(&TRY_WRITE, here, || {
            let mut nobody = Context::from_waker(std::task::Waker::noop());
            match self.connection.write(self.at, bytes, &mut nobody, here) {
                Poll::Ready(written) => written.result,
                Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
            }
        })
    }

    /// Sends the end of the stream in the current step, when a write half is dropped.
    pub(super) fn finish_now(&self) {
        if self.origin.tells() {
            self.connection.ends[self.at].window.last(&FINISH, self.here);
            let _ = self.connection.finish(self.at, self.here);
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.origin.tells() {
            let resets = self.resets.load(Relaxed);
            self.connection.close(self.at, resets, self.here);
        }
    }
}

/// The read calls, executed one after the other.
pub(super) struct Reader(GuardedCall);

impl Reader {
    pub(super) fn new(here: Here) -> Reader {
        Reader(GuardedCall::new(&READ, here))
    }

    /// Creates a reader whose calls leave the bytes unread.
    pub(super) fn peeking(here: Here) -> Reader {
        Reader(GuardedCall::new(&PEEK, here))
    }

    pub(super) fn poll(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_taking(end, cx, buffer, true)
    }

    pub(super) fn poll_peek(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_taking(end, cx, buffer, false)
    }

    fn poll_taking(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        takes: bool,
    ) -> Poll<io::Result<usize>> {
        end.origin.check(end.here)?;
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let ops = if takes { [&READ[0], &READ_ALL] } else { [&PEEK[0], &PEEK_ALL] };
        let inbox = &end.connection.ends[end.at].inbox;
        self.0.poll_as(
            inbox,
            cx,
            |_| outside(),
            || {
                let read = end.connection.read(end.at, buffer, takes, end.here);
                let (result, is_all) = read.expect("a read has its turn when there is something");
                (result, ops[usize::from(is_all)])
            },
        )
    }
}

/// A call that waits until the end is readable.
pub(super) struct Readable<'a> {
    end: &'a Endpoint,
    call: GuardedCall,
}

impl<'a> Readable<'a> {
    pub(super) fn new(end: &'a Endpoint, here: Here) -> Readable<'a> {
        Readable { end, call: GuardedCall::new(&READABLE, here) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_readable(&mut self.call, self.end, cx)
    }
}

fn poll_readable(
    call: &mut GuardedCall,
    end: &Endpoint,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    end.origin.check(end.here)?;
    let see = || {
        end.connection.see_readable(end.at, end.here);
        Ok(())
    };
    call.poll(&end.connection.ends[end.at].inbox, cx, |_| outside(), see)
}

impl Drop for Readable<'_> {
    fn drop(&mut self) {
        let Readable { end, call } = self;
        call.leave(&end.connection.ends[end.at].inbox, end.here);
    }
}

/// Calls that wait until the end is readable or writable, executed one after the other.
pub(super) struct Wait {
    readable: GuardedCall,
    writable: Turn,
}

impl Wait {
    pub(super) fn new(here: Here) -> Wait {
        let readable = GuardedCall::new(&READABLE, here);
        Wait { readable, writable: Turn::new(&WRITABLE, here) }
    }

    pub(super) fn poll_read(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        poll_readable(&mut self.readable, end, cx)
    }

    pub(super) fn poll_write(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = poll_writable(&mut self.writable, end, cx);
        if polled.is_ready() {
            self.writable.renew(end.here);
        }
        polled
    }
}

fn poll_writable(turn: &mut Turn, end: &Endpoint, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    end.origin.check(end.here)?;
    let window = &end.connection.ends[end.at].window;
    let ask = |cx: &mut Context<'_>| {
        if end.connection.has_room(end.at) {
            return Poll::Ready(Ok(()));
        }
        end.connection.wait_for_room(end.at, cx.waker());
        Poll::Pending
    };
    turn.poll(window, cx, ask, |_| Came::Done)
}

/// The write calls, executed one after the other, and the call that sends the end of the stream.
pub(super) struct Writer {
    write: Turn,
    finish: Turn,
}

impl Writer {
    pub(super) fn new(here: Here) -> Writer {
        Writer { write: Turn::new(&WRITE, here), finish: Turn::new(&SHUTDOWN, here) }
    }

    pub(super) fn poll(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        end.origin.check(end.here)?;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let window = &end.connection.ends[end.at].window;
        let write = |cx: &mut Context<'_>| end.connection.write(end.at, bytes, cx, end.here);
        let polled = self.write.poll(window, cx, write, Written::came);
        if polled.is_ready() {
            self.write.renew(end.here);
        }
        polled.map(|written| written.result)
    }

    pub(super) fn poll_finish(
        &mut self,
        end: &Endpoint,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        end.origin.check(end.here)?;
        let window = &end.connection.ends[end.at].window;
        let finish = |_: &mut Context<'_>| Poll::Ready(end.connection.finish(end.at, end.here));
        let came = |done: &io::Result<()>| if done.is_ok() { Came::Done } else { Came::ToNothing };
        let polled = self.finish.poll(window, cx, finish, came);
        if polled.is_ready() {
            self.finish.renew(end.here);
        }
        polled
    }
}

/// A call that waits for room in the window.
pub(super) struct Writable<'a> {
    end: &'a Endpoint,
    turn: Turn,
}

impl<'a> Writable<'a> {
    pub(super) fn new(end: &'a Endpoint, here: Here) -> Writable<'a> {
        Writable { end, turn: Turn::new(&WRITABLE, here) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_writable(&mut self.turn, self.end, cx)
    }
}

impl Drop for Writable<'_> {
    fn drop(&mut self) {
        self.turn.leave(&self.end.connection.ends[self.end.at].window);
    }
}
