//! The halves of a [`TcpStream`]: one reads, one writes.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{Interest, ReadBuf, Ready};
use tokio::net::tcp as real;

use super::calls;
use super::end::{Endpoint, Reader, Writer};
use super::stream::{self, TcpStream, reads, writes};
use crate::net::sockets::check_outside;
use crate::seam::here;

/// The half that reads, of [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(Reading<&'a Endpoint, &'a mut Reader, real::ReadHalf<'a>>);

/// The half that writes, of [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(Writing<&'a Endpoint, &'a mut Writer, real::WriteHalf<'a>>);

/// The half that reads, of [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf(Reading<Arc<Endpoint>, Reader, real::OwnedReadHalf>);

/// The half that writes, of [`TcpStream::into_split`]. When it is dropped the other side reads the end.
#[derive(Debug)]
pub struct OwnedWriteHalf(Writing<Finishing, Writer, real::OwnedWriteHalf>);

enum Reading<E, R, S> {
    Run(E, R),
    Real(S),
}

enum Writing<E, W, S> {
    Run(E, W),
    Real(S),
}

/// The end of a half that writes: sends the end of the stream when it is dropped.
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

impl<E, R, S> fmt::Debug for Reading<E, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl<E, W, S> fmt::Debug for Writing<E, W, S> {
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
    (OwnedReadHalf(Reading::Run(end, reader)), OwnedWriteHalf(Writing::Run(finishing, writer)))
}

impl<'a> ReadHalf<'a> {
    pub(super) fn of_run(end: &'a Endpoint, reader: &'a mut Reader) -> ReadHalf<'a> {
        ReadHalf(Reading::Run(end, reader))
    }

    pub(super) fn of_system(half: real::ReadHalf<'a>) -> ReadHalf<'a> {
        ReadHalf(Reading::Real(half))
    }
}

impl<'a> WriteHalf<'a> {
    pub(super) fn of_run(end: &'a Endpoint, writer: &'a mut Writer) -> WriteHalf<'a> {
        WriteHalf(Writing::Run(end, writer))
    }

    pub(super) fn of_system(half: real::WriteHalf<'a>) -> WriteHalf<'a> {
        WriteHalf(Writing::Real(half))
    }
}

macro_rules! addresses {
    ($type:ty, $run:pat => $end:ident, $real:pat => $half:ident) => {
        impl $type {
            /// The address of this side.
            ///
            /// # Errors
            /// Outside of runs, the errors of the system.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                match &self.0 {
                    $run => Ok($end.local_addr()),
                    $real => $half.local_addr(),
                }
            }

            /// The address of the other side.
            ///
            /// # Errors
            /// Outside of runs, the errors of the system.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                match &self.0 {
                    $run => Ok($end.peer_addr()),
                    $real => $half.peer_addr(),
                }
            }
        }
    };
}

/// The call of a half that waits until it is ready.
macro_rules! ready {
    ($half:ident) => {
        /// Waits until the connection can do one of the things in `interest`: read or write. A
        /// point.
        ///
        /// # Errors
        /// If the connection is of another run.
        #[track_caller]
        pub fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
            let here = here();
            async move {
                match &self.0 {
                    $half::Run(end, _) => calls::ready(end, interest, here).await,
                    $half::Real(half) => {
                        check_outside(here)?;
                        half.ready(interest).await
                    }
                }
            }
        }
    };
}

macro_rules! read_half {
    ($type:ty) => {
        addresses!($type, Reading::Run(end, _) => end, Reading::Real(half) => half);

        impl $type {
            /// Reads what is there. Not a point.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if that is nothing.
            #[track_caller]
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                match &self.0 {
                    Reading::Run(end, _) => end.try_read(buf, here()),
                    Reading::Real(half) => {
                        check_outside(here())?;
                        half.try_read(buf)
                    }
                }
            }

            /// Like [`try_read`](Self::try_read), into several buffers.
            ///
            /// # Errors
            /// The same as for [`try_read`](Self::try_read).
            #[track_caller]
            pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
                match &self.0 {
                    Reading::Run(end, _) => calls::try_read_vectored(end, bufs, here()),
                    Reading::Real(half) => {
                        check_outside(here())?;
                        half.try_read_vectored(bufs)
                    }
                }
            }

            ready!(Reading);

            /// Waits until a read would not wait. A point.
            ///
            /// # Errors
            /// If the connection is of another run.
            #[track_caller]
            pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send {
                let here = here();
                async move {
                    match &self.0 {
                        Reading::Run(end, _) => stream::readable(end, here).await,
                        Reading::Real(half) => {
                            check_outside(here)?;
                            half.readable().await
                        }
                    }
                }
            }

            /// Like a read, but the bytes stay. A point.
            ///
            /// # Errors
            /// The errors of a read.
            #[track_caller]
            pub fn peek(
                &mut self,
                buf: &mut [u8],
            ) -> impl Future<Output = io::Result<usize>> + Send {
                let here = here();
                async move {
                    match &mut self.0 {
                        Reading::Run(end, _) => {
                            let mut reader = Reader::peeking(here);
                            std::future::poll_fn(|cx| reader.poll_peek(end, cx, buf)).await
                        }
                        Reading::Real(half) => {
                            check_outside(here)?;
                            half.peek(buf).await
                        }
                    }
                }
            }

            fn poll_read_into(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                match &mut self.0 {
                    Reading::Run(end, reader) => stream::poll_into(reader, end, cx, buf),
                    Reading::Real(half) => {
                        check_outside(here())?;
                        tokio::io::AsyncRead::poll_read(Pin::new(half), cx, buf)
                    }
                }
            }
        }

        reads!($type);
    };
}

macro_rules! write_half {
    ($type:ty) => {
        addresses!($type, Writing::Run(end, _) => end, Writing::Real(half) => half);

        impl $type {
            /// Writes as much as there is room for. Not a point.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if that is nothing.
            #[track_caller]
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                match &self.0 {
                    Writing::Run(end, _) => end.try_write(buf, here()),
                    Writing::Real(half) => {
                        check_outside(here())?;
                        half.try_write(buf)
                    }
                }
            }

            /// Like [`try_write`](Self::try_write), from several buffers.
            ///
            /// # Errors
            /// The same as for [`try_write`](Self::try_write).
            #[track_caller]
            pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
                match &self.0 {
                    Writing::Run(end, _) => calls::try_write_vectored(end, bufs, here()),
                    Writing::Real(half) => {
                        check_outside(here())?;
                        half.try_write_vectored(bufs)
                    }
                }
            }

            ready!(Writing);

            /// Waits until a write would not wait. A point.
            ///
            /// # Errors
            /// If the connection is of another run.
            #[track_caller]
            pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
                let here = here();
                async move {
                    match &self.0 {
                        Writing::Run(end, _) => stream::writable(end, here).await,
                        Writing::Real(half) => {
                            check_outside(here)?;
                            half.writable().await
                        }
                    }
                }
            }

            fn poll_write_from(
                &mut self,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                match &mut self.0 {
                    Writing::Run(end, writer) => writer.poll(end, cx, buf),
                    Writing::Real(half) => {
                        check_outside(here())?;
                        tokio::io::AsyncWrite::poll_write(Pin::new(half), cx, buf)
                    }
                }
            }

            fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                match &mut self.0 {
                    Writing::Run(end, writer) => writer.poll_finish(end, cx),
                    Writing::Real(half) => {
                        check_outside(here())?;
                        tokio::io::AsyncWrite::poll_shutdown(Pin::new(half), cx)
                    }
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
        OwnedReadHalf(Reading::Real(half))
    }

    /// Puts the halves together again.
    ///
    /// # Errors
    /// If they are not of one connection: both are in the error.
    #[allow(clippy::result_large_err, reason = "both halves are in the error, as in tokio")]
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        match (self.0, other.0) {
            (Reading::Run(end, reader), Writing::Run(mut finishing, writer))
                if Arc::ptr_eq(&end, &finishing.end) =>
            {
                finishing.is_forgotten = true;
                drop(finishing);
                let end = Arc::into_inner(end).expect("two halves have it");
                Ok(TcpStream::together(end, reader, writer))
            }
            (Reading::Real(read), Writing::Real(write)) => match read.reunite(write) {
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
        OwnedWriteHalf(Writing::Real(half))
    }

    /// Puts the halves together again.
    ///
    /// # Errors
    /// If they are not of one connection: both are in the error.
    #[allow(clippy::result_large_err, reason = "both halves are in the error, as in tokio")]
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops the half without the end being sent.
    pub fn forget(self) {
        match self.0 {
            Writing::Run(mut finishing, _) => finishing.is_forgotten = true,
            Writing::Real(half) => half.forget(),
        }
    }
}

/// The error of halves that are not of one connection.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these are halves of two connections: put those of one together")
    }
}

impl std::error::Error for ReuniteError {}
