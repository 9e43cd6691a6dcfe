//! Additional calls of a connection: poll methods, readiness, vectored reads and writes, and options.

use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{Interest, ReadBuf, Ready};

use super::end::{Endpoint, Readable, Reader, Wait, Writable};
use super::lent;
use super::tcp_stream::TcpStream;
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::seam::Here;

/// The calls of the poll methods, each created on its first poll.
pub(super) struct Polls {
    peek: Mutex<Option<Reader>>,
    wait: Mutex<Option<Wait>>,
}

impl Polls {
    pub(super) fn new() -> Polls {
        Polls { peek: Mutex::new(None), wait: Mutex::new(None) }
    }
}

fn lock<T>(call: &Mutex<T>) -> MutexGuard<'_, T> {
    call.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until an end is ready for one of the operations in `interest`.
pub(super) async fn ready(end: &Endpoint, interest: Interest, here: Here) -> io::Result<Ready> {
    let mut read = interest.is_readable().then(|| Readable::new(end, here));
    let mut write = interest.is_writable().then(|| Writable::new(end, here));
    poll_fn(|cx| {
        if let Some(Poll::Ready(found)) = read.as_mut().map(|read| read.poll(cx)) {
            return Poll::Ready(found.map(|()| Ready::READABLE));
        }
        if let Some(Poll::Ready(found)) = write.as_mut().map(|write| write.poll(cx)) {
            return Poll::Ready(found.map(|()| Ready::WRITABLE));
        }
        Poll::Pending
    })
    .await
}

/// Reads into several buffers in turn.
pub(super) fn try_read_vectored(
    end: &Endpoint,
    bufs: &mut [IoSliceMut<'_>],
    here: Here,
) -> io::Result<usize> {
    let mut bytes = vec![0; bufs.iter().map(|buf| buf.len()).sum()];
    let count = end.try_read(&mut bytes, here)?;
    let mut left = &bytes[..count];
    for buf in bufs {
        let (now, later) = left.split_at(left.len().min(buf.len()));
        buf[..now.len()].copy_from_slice(now);
        left = later;
    }
    Ok(count)
}

/// Writes the bytes of several buffers.
pub(super) fn try_write_vectored(
    end: &Endpoint,
    bufs: &[IoSlice<'_>],
    here: Here,
) -> io::Result<usize> {
    let bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
    end.try_write(&bytes, here)
}

impl TcpStream {
    two_kinds! {
        check_outside;

        /// Waits until the connection is ready for one of the operations in `interest`: reading or writing. This call
        /// is a point.
        ///
        /// # Errors
        /// If the connection belongs to another run.
        #[track_caller]
        pub fn ready(
            &self,
            interest: Interest,
        ) -> impl Future<Output = io::Result<Ready>> + Send + use<'_> {
            async |run, here| ready(&run.end, interest, here).await
        }

        /// Like [`readable`](Self::readable), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            |run, here| {
                let mut wait = lock(&run.polls.wait);
                wait.get_or_insert_with(|| Wait::new(here)).poll_read(&run.end, cx)
            }
        }

        /// Like [`writable`](Self::writable), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            |run, here| {
                let mut wait = lock(&run.polls.wait);
                wait.get_or_insert_with(|| Wait::new(here)).poll_write(&run.end, cx)
            }
        }

        /// Like [`peek`](Self::peek), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_peek(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<usize>> {
            |run, here| {
                let mut peek = lock(&run.polls.peek);
                let peek = peek.get_or_insert_with(|| Reader::peeking(here));
                let polled = peek.poll_peek(&run.end, cx, buf.initialize_unfilled());
                polled.map_ok(|count| {
                    buf.advance(count);
                    count
                })
            }
        }

        /// Like [`try_read`](Self::try_read), but reads into several buffers.
        ///
        /// ```
        /// use sim::net::{TcpListener, TcpStream};
        /// use std::io::IoSliceMut;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
        /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let (server, _) = listener.accept().await.unwrap();
        /// client.try_write(b"\x02hi").unwrap();
        /// server.readable().await.unwrap();
        /// let (mut length, mut text) = ([0; 1], [0; 8]);
        /// let parts = &mut [IoSliceMut::new(&mut length), IoSliceMut::new(&mut text)];
        /// assert_eq!(server.try_read_vectored(parts).unwrap(), 3);
        /// assert_eq!((length[0], &text[..2]), (2, &b"hi"[..]));
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// In the same cases as [`try_read`](Self::try_read).
        #[track_caller]
        pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            |run, here| try_read_vectored(&run.end, bufs, here)
        }

        /// Like [`try_write`](Self::try_write), but writes from several buffers.
        ///
        /// # Errors
        /// In the same cases as [`try_write`](Self::try_write).
        #[track_caller]
        pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            |run, here| try_write_vectored(&run.end, bufs, here)
        }

        /// Calls `f`, which performs an operation that the connection is ready for. In a run, `f` is called
        /// immediately.
        ///
        /// # Errors
        /// The errors of `f`.
        #[track_caller]
        pub fn try_io<R>(
            &self,
            interest: Interest,
            f: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            |_run, _here| f()
        }

        /// Calls `f` when the connection is ready. Waits and calls `f` again while it returns
        /// [`WouldBlock`](io::ErrorKind::WouldBlock).
        ///
        /// ```
        /// use sim::net::{TcpListener, TcpStream};
        /// use tokio::io::Interest;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
        /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let (server, _) = listener.accept().await.unwrap();
        /// client.try_write(b"hello").unwrap();
        /// let mut buffer = [0; 8];
        /// let read = server.async_io(Interest::READABLE, || server.try_read(&mut buffer));
        /// assert_eq!(read.await.unwrap(), 5);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// The errors of `f`.
        #[track_caller]
        pub fn async_io<R>(
            &self,
            interest: Interest,
            f: impl FnMut() -> io::Result<R>,
        ) -> impl Future<Output = io::Result<R>> {
            async |run, here| {
                let mut f = f;
                loop {
                    ready(&run.end, interest, here).await?;
                    match f() {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        result => return result,
                    }
                }
            }
        }
    }

    two_kinds! {
        /// Returns the hop limit of sent packets. The limit has no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn ttl(&self) -> io::Result<u32> {
            |run, here| run.end.ttl(here)
        }

        /// Sets the hop limit of sent packets. The limit has no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
            |run, here| run.end.set_ttl(ttl, here)
        }

        /// Sets the treatment of unsent bytes when the connection is dropped: with `Some(Duration::ZERO)`, the drop
        /// resets the connection. Other values have no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[allow(deprecated, reason = "it is what the caller of this one wants")]
        #[deprecated = "a drop that waits for what is sent blocks the thread"]
        #[track_caller]
        pub fn set_linger(&self, time: Option<Duration>) -> io::Result<()> {
            |run, here| run.end.set_resets(time == Some(Duration::ZERO), here)
        }
    }

    /// Converts the connection to a socket of std. In a run, the returned socket is only a placeholder until
    /// [`from_std`](Self::from_std) takes the connection back. Libraries set options on it in between; these have no
    /// effect. The placeholder cannot read or write.
    ///
    /// # Errors
    /// The errors of the operating system. Always fails in a run on non-Unix systems.
    #[track_caller]
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        match self.0 {
            Of::Run(_) => lent::lend(self),
            Of::Real(stream) => stream.into_std(),
        }
    }
}

impl TryFrom<std::net::TcpStream> for TcpStream {
    type Error = io::Error;

    #[track_caller]
    fn try_from(of_std: std::net::TcpStream) -> io::Result<TcpStream> {
        TcpStream::from_std(of_std)
    }
}
