//! The read half and the write half of a [`TcpStream`].

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{Interest, ReadBuf, Ready};
use tokio::net::tcp as real;

use super::end::{Endpoint, Reader, Writer};
use super::tcp_calls;
use super::tcp_stream::{self, TcpStream, reads, writes};
use crate::net::sockets::kinds::{Of, two_kinds};

/// The read half from [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(Of<Reading<&'a Endpoint, &'a mut Reader>, real::ReadHalf<'a>>);

/// The write half from [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(Of<Writing<&'a Endpoint, &'a mut Writer>, real::WriteHalf<'a>>);

/// The read half from [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf(Of<Reading<Arc<Endpoint>, Reader>, real::OwnedReadHalf>);

/// The write half from [`TcpStream::into_split`]. When it is dropped, the other side gets the end of the stream.
#[derive(Debug)]
pub struct OwnedWriteHalf(Of<Writing<Finishing, Writer>, real::OwnedWriteHalf>);

/// A read half of a connection in a run.
struct Reading<E, R> {
    end: E,
    reader: R,
}

/// A write half of a connection in a run.
struct Writing<E, W> {
    end: E,
    writer: W,
}

/// The connection end of an owned write half. When it is dropped, it sends the end of the stream.
struct Finishing {
    end: Arc<Endpoint>,
    is_forgotten: bool,
}

impl Deref for Finishing {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.end
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        if !self.is_forgotten {
            self.end.finish_now();
        }
    }
}

impl<E, R, S> fmt::Debug for Of<Reading<E, R>, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl<E, W, S> fmt::Debug for Of<Writing<E, W>, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").finish_non_exhaustive()
    }
}

pub(super) fn of_run(
    end: Endpoint,
    reader: Reader,
    writer: Writer,
) -> (OwnedReadHalf, OwnedWriteHalf) {
    let end = Arc::new(end);
    let finishing = Finishing { end: end.clone(), is_forgotten: false };
    let writing = Writing { end: finishing, writer };
    (OwnedReadHalf(Of::Run(Reading { end, reader })), OwnedWriteHalf(Of::Run(writing)))
}

impl<'a> ReadHalf<'a> {
    pub(super) fn of_run(end: &'a Endpoint, reader: &'a mut Reader) -> ReadHalf<'a> {
        ReadHalf(Of::Run(Reading { end, reader }))
    }

    pub(super) fn of_system(half: real::ReadHalf<'a>) -> ReadHalf<'a> {
        ReadHalf(Of::Real(half))
    }
}

impl<'a> WriteHalf<'a> {
    pub(super) fn of_run(end: &'a Endpoint, writer: &'a mut Writer) -> WriteHalf<'a> {
        WriteHalf(Of::Run(Writing { end, writer }))
    }

    pub(super) fn of_system(half: real::WriteHalf<'a>) -> WriteHalf<'a> {
        WriteHalf(Of::Real(half))
    }
}

/// Defines the methods that both halves have.
macro_rules! either_half {
    ($type:ty) => {
        impl $type {
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
            }

            two_kinds! {
                check_outside;

                /// Waits until the connection is ready for one of the operations in `interest`: reading or writing.
                /// This call is a point.
                ///
                /// # Errors
                /// If the connection belongs to another run.
                #[track_caller]
                pub fn ready(
                    &self,
                    interest: Interest,
                ) -> impl Future<Output = io::Result<Ready>> + Send {
                    async |run, here| tcp_calls::ready(&run.end, interest, here).await
                }
            }
        }
    };
}

macro_rules! read_half {
    ($type:ty) => {
        either_half!($type);

        impl $type {
            two_kinds! {
                check_outside;

                /// Reads the bytes that have arrived. This call is not a point.
                ///
                /// # Errors
                /// [`WouldBlock`](io::ErrorKind::WouldBlock) if no bytes have arrived.
                #[track_caller]
                pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                    |run, here| run.end.try_read(buf, here)
                }

                /// Like [`try_read`](Self::try_read), but reads into several buffers.
                ///
                /// # Errors
                /// In the same cases as [`try_read`](Self::try_read).
                #[track_caller]
                pub fn try_read_vectored(
                    &self,
                    bufs: &mut [io::IoSliceMut<'_>],
                ) -> io::Result<usize> {
                    |run, here| tcp_calls::try_read_vectored(&run.end, bufs, here)
                }

                /// Waits until a read would not wait. This call is a point.
                ///
                /// # Errors
                /// If the connection belongs to another run.
                #[track_caller]
                pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send {
                    async |run, here| tcp_stream::readable(&run.end, here).await
                }

                /// Like a read, but leaves the bytes unread. This call is a point.
                ///
                /// # Errors
                /// The errors of a read.
                #[track_caller]
                pub fn peek(
                    &mut self,
                    buf: &mut [u8],
                ) -> impl Future<Output = io::Result<usize>> + Send {
                    async |run, here| {
                        let mut reader = Reader::peeking(here);
                        std::future::poll_fn(|cx| reader.poll_peek(&run.end, cx, buf)).await
                    }
                }

                fn poll_read_into(
                    &mut self,
                    cx: &mut Context<'_>,
                    buf: &mut ReadBuf<'_>,
                ) -> Poll<io::Result<()>> {
                    |run, _here| tcp_stream::poll_into(&mut run.reader, &run.end, cx, buf);
                    |real| tokio::io::AsyncRead::poll_read(Pin::new(real), cx, buf)
                }
            }
        }

        reads!($type);
    };
}

macro_rules! write_half {
    ($type:ty) => {
        either_half!($type);

        impl $type {
            two_kinds! {
                check_outside;

                /// Writes as many bytes as fit into the send window. This call is not a point.
                ///
                /// # Errors
                /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the window has no room.
                #[track_caller]
                pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                    |run, here| run.end.try_write(buf, here)
                }

                /// Like [`try_write`](Self::try_write), but writes from several buffers.
                ///
                /// # Errors
                /// In the same cases as [`try_write`](Self::try_write).
                #[track_caller]
                pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
                    |run, here| tcp_calls::try_write_vectored(&run.end, bufs, here)
                }

                /// Waits until a write would not wait. This call is a point.
                ///
                /// # Errors
                /// If the connection belongs to another run.
                #[track_caller]
                pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
                    async |run, here| tcp_stream::writable(&run.end, here).await
                }

                fn poll_write_from(
                    &mut self,
                    cx: &mut Context<'_>,
                    buf: &[u8],
                ) -> Poll<io::Result<usize>> {
                    |run, _here| run.writer.poll(&run.end, cx, buf);
                    |real| tokio::io::AsyncWrite::poll_write(Pin::new(real), cx, buf)
                }

                fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                    |run, _here| run.writer.poll_finish(&run.end, cx);
                    |real| tokio::io::AsyncWrite::poll_shutdown(Pin::new(real), cx)
                }
            }
        }

        writes!($type);
    };
}

read_half!(ReadHalf<'_>);
read_half!(OwnedReadHalf);
write_half!(WriteHalf<'_>);
write_half!(OwnedWriteHalf);

impl OwnedReadHalf {
    pub(super) fn of_system(half: real::OwnedReadHalf) -> OwnedReadHalf {
        OwnedReadHalf(Of::Real(half))
    }

    /// Reunites the two halves.
    ///
    /// ```
    /// use sim::net::{TcpListener, TcpStream};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
    /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
    /// let (server, _) = listener.accept().await.unwrap();
    /// let (read, write) = client.into_split();
    /// let client = read.reunite(write).unwrap();
    /// client.try_write(b"hello").unwrap();
    /// assert_eq!(server.peek(&mut [0; 8]).await.unwrap(), 5);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the halves belong to different connections. The error contains both halves.
    #[allow(clippy::result_large_err, reason = "both halves are in the error, as in tokio")]
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        match (self.0, other.0) {
            (Of::Run(Reading { end, reader }), Of::Run(Writing { end: mut finishing, writer }))
                if Arc::ptr_eq(&end, &finishing.end) =>
            {
                finishing.is_forgotten = true;
                drop(finishing);
                let end = Arc::into_inner(end).expect("two halves have it");
                Ok(TcpStream::together(end, reader, writer))
            }
            (Of::Real(read), Of::Real(write)) => match read.reunite(write) {
                Ok(stream) => Ok(TcpStream::of_system(stream)),
                Err(real::ReuniteError(read, write)) => Err(ReuniteError(
                    OwnedReadHalf::of_system(read),
                    OwnedWriteHalf::of_system(write),
                )),
            },
            (read, write) => Err(ReuniteError(OwnedReadHalf(read), OwnedWriteHalf(write))),
        }
    }
}

impl OwnedWriteHalf {
    pub(super) fn of_system(half: real::OwnedWriteHalf) -> OwnedWriteHalf {
        OwnedWriteHalf(Of::Real(half))
    }

    /// Reunites the two halves.
    ///
    /// # Errors
    /// If the halves belong to different connections. The error contains both halves.
    #[allow(clippy::result_large_err, reason = "both halves are in the error, as in tokio")]
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops the half without sending the end of the stream.
    ///
    /// ```
    /// use sim::net::{TcpListener, TcpStream};
    /// use sim::time::{Duration, timeout};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
    /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
    /// let (server, _) = listener.accept().await.unwrap();
    /// let (_read, write) = client.into_split();
    /// write.forget();
    /// let end = timeout(Duration::from_secs(1), server.readable()).await;
    /// assert!(end.is_err(), "the stream has not ended");
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn forget(self) {
        match self.0 {
            Of::Run(mut run) => run.end.is_forgotten = true,
            Of::Real(half) => half.forget(),
        }
    }
}

/// The error for halves of different connections.
///
/// ```
/// use sim::net::tcp::ReuniteError;
/// use sim::net::{TcpListener, TcpStream};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
/// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
/// let (server, _) = listener.accept().await.unwrap();
/// let (read, _client) = client.into_split();
/// let (_server, write) = server.into_split();
/// // The halves belong to different ends.
/// let ReuniteError(read, write) = read.reunite(write).unwrap_err();
/// assert_eq!(read.peer_addr().unwrap(), write.local_addr().unwrap());
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these are halves of two connections: put those of one together")
    }
}

impl std::error::Error for ReuniteError {}
