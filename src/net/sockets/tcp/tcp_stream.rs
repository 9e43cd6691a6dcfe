//! [`TcpStream`]: one end of a connection, of a run or of the system.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::ReadBuf;

use super::connect;
use super::end::{Endpoint, Readable, Reader, Writable, Writer};
use super::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::lent;
use super::socket::TcpOptions;
use super::tcp_calls::Polls;
use crate::net::fabric::Host;
use crate::net::sockets::addresses::{self, ToSocketAddrs};
use crate::net::sockets::check_outside;
use crate::net::sockets::descriptors::{StandIn, has_descriptor};
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::seam::{self, here};

/// A TCP connection, like `tokio::net::TcpStream`. The type implements the traits of tokio and of futures.
///
/// In a run, a connection end belongs to the node of the code that connects or accepts it.
///
/// | what | in a run |
/// |---|---|
/// | `connect` | A point. The request crosses the link. It is repeated after 1, 3, 7, … s while the machine is off, the link is cut or 128 connections wait; after 127 s `connect` returns [`TimedOut`]. Without a listener it returns [`ConnectionRefused`] |
/// | write | A point. Waits while 64 KiB are unread. The bytes arrive later, in order, and are joined with unread bytes |
/// | read | A point. Waits until bytes have arrived. Reads the arrived bytes, up to the length of the buffer |
/// | `shutdown`, drop | The other side reads all bytes, then the end of the stream |
/// | drop with unread bytes, or with `set_zero_linger` | The other side reads the arrived bytes, then gets [`ConnectionReset`] |
/// | write to a side that is gone | Succeeds, but the other side replies with a reset. After the reset, writes return [`BrokenPipe`], and reads return the end of the stream |
/// | write after a reset | Returns [`ConnectionReset`], unless a read has returned it before. Later writes return [`BrokenPipe`], and reads return the end of the stream |
/// | [`kill`](crate::Node::kill) of the other node | The kernel of the node closes the connection, like a drop, and refuses new ones |
/// | [`power_off`](crate::Node::power_off) | This side gets no notification. Writes succeed until 64 KiB are unread, then wait; after 924 s all calls return [`TimedOut`]. `shutdown` counts as a write. Earlier writes are resent after 3, 15, 63 and 247 s. Once the node is on again, it replies to the next bytes with a reset |
/// | no writes while the other node is off or the link is cut | Not detected, unless [`TcpSocket::set_keepalive`](super::TcpSocket::set_keepalive) enables probes |
/// | [`cut`](crate::net::cut) | Written bytes wait until [`heal`](crate::net::heal), at most 924 s from the first write without a reply; then all calls return [`TimedOut`] |
///
/// [`Faults::partial`](crate::net::Faults::partial) makes reads and writes partial, and
/// [`Faults::resets`](crate::net::Faults::resets) resets connections.
///
/// [`TimedOut`]: io::ErrorKind::TimedOut
/// [`ConnectionRefused`]: io::ErrorKind::ConnectionRefused
/// [`ConnectionReset`]: io::ErrorKind::ConnectionReset
/// [`BrokenPipe`]: io::ErrorKind::BrokenPipe
///
/// ```
/// use futures::{AsyncReadExt, AsyncWriteExt};
/// use sim::net::{TcpListener, TcpStream};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
/// let mut client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
/// let (mut server, _) = listener.accept().await.unwrap();
/// client.write_all(b"question").await.unwrap();
/// drop(client);
/// // The server reads all bytes, then the end of the stream.
/// let mut text = String::new();
/// server.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "question");
/// # });
/// # assert!(report.passed());
/// ```
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

    /// Connects to an address, or to a host name with a port: see [`ToSocketAddrs`]. This call is a point.
    ///
    /// ```
    /// use sim::net::{TcpListener, TcpStream};
    /// use std::io::ErrorKind;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let db = sim::node("db-1");
    /// let error = TcpStream::connect("db-1:7000").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    /// let _listener = db.enter(|| TcpListener::bind("0.0.0.0:7000")).await.unwrap();
    /// assert!(TcpStream::connect("db-1:7000").await.is_ok());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If there is no listener, the host does not reply, or the name is unknown.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addr: A) -> impl Future<Output = io::Result<TcpStream>> {
        let (destination, here, host) = (addr.destination(), here(), Host::current());
        addresses::each((destination, here), move |addr| async move {
            match seam::in_run() {
                true => {
                    let options = (TcpOptions::NONE, None);
                    connect::connect(host, addr, options, here).await.map(TcpStream::of_run)
                }
                false => tokio::net::TcpStream::connect(addr).await.map(TcpStream::of_system),
            }
        })
    }

    /// Creates a connection from a connection of std. This works only outside of runs. In a run, returns the connection
    /// whose placeholder [`into_std`](Self::into_std) has created.
    ///
    /// # Errors
    /// In a run, if the socket is not such a placeholder.
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        if let Some(of_run) = lent::take_back(&stream) {
            return Ok(of_run);
        }
        check_outside(here())?;
        tokio::net::TcpStream::from_std(stream).map(TcpStream::of_system)
    }

    two_kinds! {
        /// Returns the local address.
        ///
        /// # Errors
        /// Outside of runs, the errors of the operating system.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.end.local_addr())
        }

        /// Returns the address of the peer.
        ///
        /// # Errors
        /// Outside of runs, the errors of the operating system.
        pub fn peer_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.end.peer_addr())
        }

        /// Returns and clears the unreported error of the connection, if any.
        ///
        /// # Errors
        /// If the connection belongs to another run.
        #[track_caller]
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            |run, here| run.end.take_error(here)
        }
    }

    two_kinds! {
        check_outside;

        /// Waits until a read would not wait. This call is a point.
        ///
        /// # Errors
        /// If the connection belongs to another run.
        #[track_caller]
        pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| readable(&run.end, here).await
        }

        /// Waits until a write would not wait. This call is a point.
        ///
        /// # Errors
        /// If the connection belongs to another run.
        #[track_caller]
        pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| writable(&run.end, here).await
        }

        /// Reads the bytes that have arrived. This call is not a point.
        ///
        /// ```
        /// use sim::net::{TcpListener, TcpStream};
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
        /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let (server, _) = listener.accept().await.unwrap();
        /// let mut buffer = [0; 8];
        /// assert_eq!(server.try_read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        /// client.try_write(b"hello").unwrap();
        /// server.readable().await.unwrap();
        /// assert_eq!(server.try_read(&mut buffer).unwrap(), 5);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// [`WouldBlock`](io::ErrorKind::WouldBlock) if no bytes have arrived.
        #[track_caller]
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            |run, here| run.end.try_read(buf, here)
        }

        /// Writes as many bytes as fit into the send window. This call is not a point.
        ///
        /// # Errors
        /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the window has no room.
        #[track_caller]
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            |run, here| run.end.try_write(buf, here)
        }

        /// Like a read, but leaves the bytes unread. This call is a point.
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
        /// Returns `true` if small writes are sent without delay. In a run, writes are never delayed.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn nodelay(&self) -> io::Result<bool> {
            |run, here| run.end.no_delay(here)
        }

        /// Sets whether small writes are sent without delay.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
            |run, here| run.end.set_no_delay(nodelay, here)
        }

        /// Makes dropping the connection reset it.
        ///
        /// ```
        /// use futures::AsyncReadExt;
        /// use sim::net::{TcpListener, TcpStream};
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
        /// let mut client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let (server, _) = listener.accept().await.unwrap();
        /// server.set_zero_linger().unwrap();
        /// drop(server);
        /// let error = client.read(&mut [0; 8]).await.unwrap_err();
        /// assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn set_zero_linger(&self) -> io::Result<()> {
            |run, here| run.end.set_resets(true, here)
        }

        /// Returns `Some(Duration::ZERO)` if dropping the connection resets it.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[allow(deprecated, reason = "it is what the caller of this one wants")]
        #[track_caller]
        pub fn linger(&self) -> io::Result<Option<Duration>> {
            |run, here| Ok(run.end.resets(here)?.then_some(Duration::ZERO))
        }
    }

    /// Splits the connection into two halves that borrow it.
    ///
    /// ```
    /// use futures::{AsyncReadExt, AsyncWriteExt};
    /// use sim::net::{TcpListener, TcpStream};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
    /// let mut client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
    /// let (mut server, _) = listener.accept().await.unwrap();
    /// // Not `client.split()`, which is the method of `AsyncReadExt` here.
    /// let (mut read, mut write) = TcpStream::split(&mut client);
    /// write.write_all(b"ping").await.unwrap();
    /// server.write_all(b"pong").await.unwrap();
    /// read.read_exact(&mut [0; 4]).await.unwrap();
    /// // The halves are gone, and the connection is whole again.
    /// client.write_all(b"more").await.unwrap();
    /// let mut bytes = [0; 8];
    /// server.read_exact(&mut bytes).await.unwrap();
    /// assert_eq!(&bytes, b"pingmore");
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Splits the connection into two owned halves. When the write half is dropped, the other side gets the end of the
    /// stream.
    ///
    /// ```
    /// use futures::{AsyncReadExt, AsyncWriteExt};
    /// use sim::net::{TcpListener, TcpStream};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
    /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
    /// let (mut server, _) = listener.accept().await.unwrap();
    /// let (mut read, write) = client.into_split();
    /// drop(write);
    /// assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0, "the end of the stream");
    /// server.write_all(b"answer").await.unwrap();
    /// let mut answer = [0; 6];
    /// read.read_exact(&mut answer).await.unwrap();
    /// assert_eq!(&answer, b"answer");
    /// # });
    /// # assert!(report.passed());
    /// ```
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

/// Reads into a `ReadBuf` of tokio.
pub(super) fn poll_into(
    reader: &mut Reader,
    end: &Endpoint,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    reader.poll(end, cx, buf.initialize_unfilled()).map_ok(|count| buf.advance(count))
}

/// Implements the traits of tokio and futures with the poll methods of a type.
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
