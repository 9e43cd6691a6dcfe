//! [`TcpStream`]: one end of a connection, of a run or of the system.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::ReadBuf;

use super::calls::Polls;
use super::connect;
use super::end::{Endpoint, Readable, Reader, Writable, Writer};
use super::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::lent;
use super::socket::Options;
use crate::net::fabric::Host;
use crate::net::sockets::check_outside;
use crate::net::sockets::descriptors::{StandIn, has_descriptor};
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::net::sockets::names::{self, ToSocketAddrs};
use crate::seam::{self, here};

/// A connection. As tokio's type of the name, with the traits of tokio and of futures.
///
/// In a run it belongs to the node of the code that connects or accepts it.
///
/// | what | in a run |
/// |---|---|
/// | `connect` | a point. The request goes over the link, and is repeated after 1, 3, 7, … s while the machine is off, the link is cut or 128 connections wait; after 127 s it is [`TimedOut`]. If nobody listens it is [`ConnectionRefused`] |
/// | write | a point, which waits while 64 KiB are not read. The bytes arrive later, in order, joined with those that are there |
/// | read | a point, which waits while nothing is there. It reads what is there, up to the length of the buffer |
/// | `shutdown`, drop | the other side reads the end, after what was written |
/// | drop with bytes left unread, or with `set_zero_linger` | the other side reads what it has, then finds [`ConnectionReset`] |
/// | write to a side that is gone | succeeds, and a reset comes back; from then on it is [`BrokenPipe`], and reads find the end |
/// | write after a reset | finds [`ConnectionReset`], unless a read has found it; from then on it is [`BrokenPipe`], and reads find the end |
/// | [`kill`](crate::Node::kill) of the other node | its kernel closes the connection, as a drop, and refuses others |
/// | [`power_off`](crate::Node::power_off) | nobody tells. Writes succeed until 64 KiB are on the way, then wait; after 924 s all is [`TimedOut`]. When the node is up again the next write is answered by a reset, and what was written before is sent again after 3, 15, 63 and 247 s |
/// | nothing is written, and the other node is off or the link is cut | nobody finds out, unless [`TcpSocket::set_keepalive`](super::TcpSocket::set_keepalive) has the kernel ask |
/// | [`cut`](crate::net::cut) | what was written waits until [`heal`](crate::net::heal), for 924 s at most |
///
/// [`Faults::partial`](crate::net::Faults::partial) has reads and writes end early, and
/// [`Faults::resets`](crate::net::Faults::resets) resets connections.
///
/// [`TimedOut`]: io::ErrorKind::TimedOut
/// [`ConnectionRefused`]: io::ErrorKind::ConnectionRefused
/// [`ConnectionReset`]: io::ErrorKind::ConnectionReset
/// [`BrokenPipe`]: io::ErrorKind::BrokenPipe
///
/// See [`TcpListener`](super::TcpListener) for an example.
pub struct TcpStream(pub(super) Of<OfRun, tokio::net::TcpStream>);

pub(super) struct OfRun {
    reader: Reader,
    writer: Writer,
    pub(super) end: Endpoint,
    pub(super) polls: Polls,
    stand_in: StandIn,
}

has_descriptor!(TcpStream);

impl TcpStream {
    pub(super) fn of_run(end: Endpoint) -> TcpStream {
        let (reader, writer) = (Reader::new(end.here), Writer::new(end.here));
        TcpStream::together(end, reader, writer)
    }

    pub(super) fn together(end: Endpoint, reader: Reader, writer: Writer) -> TcpStream {
        let (polls, stand_in) = (Polls::new(), StandIn::default());
        TcpStream(Of::Run(OfRun { reader, writer, end, polls, stand_in }))
    }

    pub(super) fn of_system(stream: tokio::net::TcpStream) -> TcpStream {
        TcpStream(Of::Real(stream))
    }

    /// Connects to an address or a name with a port: see [`ToSocketAddrs`]. A point.
    ///
    /// # Errors
    /// If nobody listens, nobody answers, or there is no such name.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addr: A) -> impl Future<Output = io::Result<TcpStream>> {
        let (destination, here, host) = (addr.destination(), here(), Host::current());
        names::each((destination, here), move |addr| async move {
            match seam::in_run() {
                true => {
                    let options = (Options::NONE, None);
                    connect::connect(host, addr, options, here).await.map(TcpStream::of_run)
                }
                false => tokio::net::TcpStream::connect(addr).await.map(TcpStream::of_system),
            }
        })
    }

    /// The connection of the system, outside of runs. In a run: the connection of a stand-in socket
    /// from [`into_std`](Self::into_std).
    ///
    /// # Errors
    /// In a run, if it is another one.
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        if let Some(of_run) = lent::take_back(&stream) {
            return Ok(of_run);
        }
        check_outside(here())?;
        tokio::net::TcpStream::from_std(stream).map(TcpStream::of_system)
    }

    two_kinds! {
        /// The address of this side.
        ///
        /// # Errors
        /// Outside of runs, the errors of the system.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.end.local_addr())
        }

        /// The address of the other side.
        ///
        /// # Errors
        /// Outside of runs, the errors of the system.
        pub fn peer_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.end.peer_addr())
        }

        /// The error of the connection that no call has reported yet.
        ///
        /// # Errors
        /// If it is of another run.
        #[track_caller]
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            |run, here| run.end.take_error(here)
        }
    }

    two_kinds! {
        check_outside;

        /// Waits until a read would not wait. A point.
        ///
        /// # Errors
        /// If the connection is of another run.
        #[track_caller]
        pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| readable(&run.end, here).await
        }

        /// Waits until a write would not wait. A point.
        ///
        /// # Errors
        /// If the connection is of another run.
        #[track_caller]
        pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| writable(&run.end, here).await
        }

        /// Reads what is there. Not a point.
        ///
        /// # Errors
        /// [`WouldBlock`](io::ErrorKind::WouldBlock) if that is nothing.
        #[track_caller]
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            |run, here| run.end.try_read(buf, here)
        }

        /// Writes as much as there is room for. Not a point.
        ///
        /// # Errors
        /// [`WouldBlock`](io::ErrorKind::WouldBlock) if that is nothing.
        #[track_caller]
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            |run, here| run.end.try_write(buf, here)
        }

        /// Like a read, but the bytes stay. A point.
        ///
        /// # Errors
        /// The errors of a read.
        #[track_caller]
        pub fn peek(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
            async |run, here| {
                let mut reader = Reader::peeking(here);
                poll_fn(|cx| reader.poll_peek(&run.end, cx, buf)).await
            }
        }
    }

    two_kinds! {
        /// Returns `true` if small writes are not delayed. In a run none is.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn nodelay(&self) -> io::Result<bool> {
            |run, here| run.end.no_delay(here)
        }

        /// Sets if small writes are not delayed.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
            |run, here| run.end.set_no_delay(nodelay, here)
        }

        /// Makes the drop of the connection reset it.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn set_zero_linger(&self) -> io::Result<()> {
            |run, here| run.end.set_resets(true, here)
        }

        /// Returns `Some(Duration::ZERO)` if the drop of the connection resets it.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[allow(deprecated, reason = "it is what the caller of this one wants")]
        #[track_caller]
        pub fn linger(&self) -> io::Result<Option<Duration>> {
            |run, here| Ok(run.end.resets(here)?.then_some(Duration::ZERO))
        }
    }

    /// Its halves, which borrow it.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        match &mut self.0 {
            Of::Run(OfRun { reader, writer, end, .. }) => {
                (ReadHalf::of_run(end, reader), WriteHalf::of_run(end, writer))
            }
            Of::Real(stream) => {
                let (read, write) = stream.split();
                (ReadHalf::of_system(read), WriteHalf::of_system(write))
            }
        }
    }

    /// Its halves. When the writing half is dropped, the other side reads the end.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        match self.0 {
            Of::Run(OfRun { reader, writer, end, .. }) => {
                super::halves::of_run(end, reader, writer)
            }
            Of::Real(stream) => {
                let (read, write) = stream.into_split();
                (OwnedReadHalf::of_system(read), OwnedWriteHalf::of_system(write))
            }
        }
    }

    two_kinds! {
        check_outside;

        pub(super) fn poll_read_into(
            &mut self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            |run, _here| poll_into(&mut run.reader, &run.end, cx, buf);
            |real| tokio::io::AsyncRead::poll_read(Pin::new(real), cx, buf)
        }

        pub(super) fn poll_write_from(
            &mut self,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            |run, _here| run.writer.poll(&run.end, cx, buf);
            |real| tokio::io::AsyncWrite::poll_write(Pin::new(real), cx, buf)
        }

        pub(super) fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            |run, _here| run.writer.poll_finish(&run.end, cx);
            |real| tokio::io::AsyncWrite::poll_shutdown(Pin::new(real), cx)
        }
    }
}

pub(super) async fn readable(end: &Endpoint, here: seam::Here) -> io::Result<()> {
    let mut call = Readable::new(end, here);
    poll_fn(|cx| call.poll(cx)).await
}

pub(super) async fn writable(end: &Endpoint, here: seam::Here) -> io::Result<()> {
    let mut call = Writable::new(end, here);
    poll_fn(|cx| call.poll(cx)).await
}

/// Reads into a buffer of tokio's.
pub(super) fn poll_into(
    reader: &mut Reader,
    end: &Endpoint,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    reader.poll(end, cx, buf.initialize_unfilled()).map_ok(|count| buf.advance(count))
}

/// The traits of tokio and futures, over the polls of a type.
macro_rules! reads {
    ($type:ty) => {
        impl tokio::io::AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.get_mut().poll_read_into(cx, buf)
            }
        }

        impl futures::io::AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let mut buf = ReadBuf::new(buf);
                let polled = self.get_mut().poll_read_into(cx, &mut buf);
                polled.map_ok(|()| buf.filled().len())
            }
        }
    };
}

macro_rules! writes {
    ($type:ty) => {
        impl tokio::io::AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.get_mut().poll_write_from(cx, buf)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().poll_finish(cx)
            }
        }

        impl futures::io::AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.get_mut().poll_write_from(cx, buf)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().poll_finish(cx)
            }
        }
    };
}

pub(super) use {reads, writes};

reads!(TcpStream);
writes!(TcpStream);

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (local, peer) = (self.local_addr().ok(), self.peer_addr().ok());
        f.debug_struct("TcpStream").field("local", &local).field("peer", &peer).finish()
    }
}
