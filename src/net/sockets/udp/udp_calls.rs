//! Additional calls of a UDP socket: non-blocking calls, poll methods, and peeks.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{Interest, ReadBuf, Ready};

use super::{OfRun, ReceivingDatagram, UdpSocket, report};
use crate::net::ops::{RECV, SEND_DATAGRAM, TRY_RECV};
use crate::net::sockets::kinds::two_kinds;
use crate::net::sockets::{OF_RUN, outside, refuse};
use crate::run::op::{Access, Op, net};
use crate::seam::{Came, GuardedCall, Here, Turn};

const READABLE: [Op; 2] = Op::of_kind("readable", Access::Wait, net::TAKE).guarded();
const TRY_SEND: Op = Op::of_kind("try_send", Access::Tell, net::SEND_DATAGRAM);
const PEER: Op = Op::of_kind("peer", Access::Peek, net::PEER).quiet();
const TRY_PEEK: [&Op; 2] = [
    &Op::of_kind("try_peek", Access::Tell, net::TAKE_NOW),
    &Op::of_kind("try_peek", Access::Peek, net::LOOK),
];
const TAKE_ERROR: [&Op; 2] = [
    &Op::of_kind("take_error", Access::Tell, net::TAKE_NOW),
    &Op::of_kind("take_error", Access::Peek, net::LOOK),
];

/// The pending calls of the poll methods.
pub(super) struct Calls {
    recv: Mutex<GuardedCall>,
    ready: Mutex<GuardedCall>,
    send: Mutex<Turn>,
}

impl Calls {
    pub(super) fn new(here: Here) -> Calls {
        Calls {
            recv: Mutex::new(GuardedCall::new(&RECV, here)),
            ready: Mutex::new(GuardedCall::new(&READABLE, here)),
            send: Mutex::new(Turn::new(&SEND_DATAGRAM, here)),
        }
    }
}

fn lock<T>(call: &Mutex<T>) -> MutexGuard<'_, T> {
    call.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OfRun {
    fn try_take(&self, buf: &mut [u8], takes: bool, here: Here) -> io::Result<(usize, SocketAddr)> {
        self.origin.check(here)?;
        let ops = if takes { TRY_RECV } else { TRY_PEEK };
        let taken = self.mark().attempt(ops, here, || self.take(buf, takes).ok_or(()));
        taken.unwrap_or_else(|()| Err(io::ErrorKind::WouldBlock.into()))
    }

    fn try_send(&self, buf: &[u8], to: SocketAddr, here: Here) -> io::Result<usize> {
        self.origin.check(here)?;
        self.mark().act(&TRY_SEND, here, || self.send(buf, to, here))
    }

    fn poll_readable(&self, call: &mut GuardedCall, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.origin.check(self.here)?;
        let inbox = &self.mailbox.inbox;
        let see = || {
            inbox.look_at_first();
            Ok(())
        };
        call.poll(inbox, cx, |_| outside(), see)
    }

    fn poll_take(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        takes: bool,
    ) -> Poll<io::Result<SocketAddr>> {
        let mut call = lock(&self.calls.recv);
        let polled = self.poll_recv(&mut call, cx, buf.initialize_unfilled(), takes);
        polled.map_ok(|(count, from)| {
            buf.advance(count);
            from
        })
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.origin.check(self.here)?;
        let mut turn = lock(&self.calls.send);
        let came =
            |sent: &io::Result<usize>| if sent.is_ok() { Came::Done } else { Came::ToNothing };
        let send = || self.send(buf, to, self.here);
        let polled = turn.poll_at_once(self.mark(), cx, send, came);
        if polled.is_ready() {
            turn.renew(self.here);
        }
        polled
    }

    /// Returns the address of the peer.
    pub(super) fn peer_or_error(&self, here: Here) -> io::Result<SocketAddr> {
        let peer = self.mark().act(&PEER, here, || self.mailbox.peer());
        peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Takes the refusal at the front of the inbox, if any.
    fn take_error(&self, here: Here) -> io::Result<Option<io::Error>> {
        self.origin.check(here)?;
        let take = || {
            if !self.take_refusal() {
                return Err(());
            }
            report(self.mark(), here);
            Ok(())
        };
        let taken = self.mark().attempt(TAKE_ERROR, here, take);
        Ok(taken.ok().map(|()| io::ErrorKind::ConnectionRefused.into()))
    }
}

impl UdpSocket {
    two_kinds! {
        check_outside;

        /// Sends a datagram to the peer. This call is not a point.
        ///
        /// # Errors
        /// If the socket is not connected, or the datagram is too large.
        #[track_caller]
        pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
            |run, here| run.try_send(buf, run.peer_or_error(here)?, here)
        }

        /// Sends a datagram to an address. This call is not a point.
        ///
        /// # Errors
        /// If the datagram is too large.
        #[track_caller]
        pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
            |run, here| run.try_send(buf, target, here)
        }

        /// Like [`send`](Self::send), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            |run, here| run.poll_send(cx, buf, run.peer_or_error(here)?)
        }

        /// Like [`send_to`](Self::send_to), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_send_to(
            &self,
            cx: &mut Context<'_>,
            buf: &[u8],
            target: SocketAddr,
        ) -> Poll<io::Result<usize>> {
            |run, _here| run.poll_send(cx, buf, target)
        }

        /// Receives a datagram if one has arrived. This call is not a point.
        ///
        /// ```
        /// use sim::net::UdpSocket;
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let server = UdpSocket::bind("127.0.0.1:7000").await.unwrap();
        /// let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        /// let nothing = server.try_recv_from(&mut [0; 8]).unwrap_err();
        /// assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        /// client.send_to(b"hello", "127.0.0.1:7000").await.unwrap();
        /// server.readable().await.unwrap();
        /// assert_eq!(server.try_recv_from(&mut [0; 8]).unwrap().0, 5);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// [`WouldBlock`](io::ErrorKind::WouldBlock) if no datagram has arrived.
        #[track_caller]
        pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
            |run, here| run.try_take(buf, true, here)
        }
    }

    /// Like [`try_recv_from`](Self::try_recv_from), but does not return the address of the sender.
    ///
    /// # Errors
    /// In the same cases as [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(buf).map(|(count, _)| count)
    }

    two_kinds! {
        check_outside;

        /// Like [`try_recv_from`](Self::try_recv_from), but leaves the datagram in the buffer of the socket.
        ///
        /// # Errors
        /// In the same cases as [`try_recv_from`](Self::try_recv_from).
        #[track_caller]
        pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
            |run, here| run.try_take(buf, false, here)
        }
    }

    /// Like [`try_peek_from`](Self::try_peek_from), but does not return the address of the sender.
    ///
    /// # Errors
    /// In the same cases as [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_peek_from(buf).map(|(count, _)| count)
    }

    /// Returns the sender's address of the next datagram, and leaves the datagram in the buffer. This call is not a
    /// point.
    ///
    /// # Errors
    /// In the same cases as [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.try_peek_from(&mut []).map(|(_, from)| from)
    }

    /// Like [`recv`](Self::recv), but leaves the datagram in the buffer of the socket.
    ///
    /// # Errors
    /// In the same cases as [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
        let peek = self.peek_from(buf);
        async move { peek.await.map(|(count, _)| count) }
    }

    /// Returns the sender's address of the next datagram, and leaves the datagram in the buffer. This call is a point.
    /// Waits until a datagram has arrived.
    ///
    /// ```
    /// use sim::net::UdpSocket;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let server = UdpSocket::bind("127.0.0.1:7000").await.unwrap();
    /// let client = UdpSocket::bind("127.0.0.1:7001").await.unwrap();
    /// client.send_to(b"hello", "127.0.0.1:7000").await.unwrap();
    /// assert_eq!(server.peek_sender().await.unwrap(), client.local_addr().unwrap());
    /// assert_eq!(server.try_recv(&mut [0; 8]).unwrap(), 5, "the datagram is still there");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// In the same cases as [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek_sender(&self) -> impl Future<Output = io::Result<SocketAddr>> + Send + use<'_> {
        let receive = self.receive(&mut [], false);
        async move { receive.await.map(|(_, from)| from) }
    }

    two_kinds! {
        check_outside;

        /// Like [`recv_from`](Self::recv_from), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_recv_from(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<SocketAddr>> {
            |run, _here| run.poll_take(cx, buf, true)
        }
    }

    /// Like [`recv`](Self::recv), but only one task at a time may wait.
    #[track_caller]
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_from(cx, buf).map_ok(drop)
    }

    two_kinds! {
        check_outside;

        /// Like [`peek_from`](Self::peek_from), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_peek_from(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<SocketAddr>> {
            |run, _here| run.poll_take(cx, buf, false)
        }
    }

    /// Like [`peek`](Self::peek), but only one task at a time may wait.
    #[track_caller]
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_peek_from(cx, buf).map_ok(drop)
    }

    /// Like [`peek_sender`](Self::peek_sender), but only one task at a time may wait.
    #[track_caller]
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_peek_from(cx, &mut ReadBuf::new(&mut []))
    }

    two_kinds! {
        check_outside;

        /// Waits until a datagram has arrived. This call is a point.
        ///
        /// # Errors
        /// If the socket belongs to another run.
        #[track_caller]
        pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| {
                let call = GuardedCall::new(&READABLE, here);
                let mut waiting = ReceivingDatagram { socket: run, call };
                poll_fn(|cx| run.poll_readable(&mut waiting.call, cx)).await
            }
        }

        /// Waits until a datagram can be sent. In a run this is always possible.
        ///
        /// # Errors
        /// If the socket belongs to another run.
        #[track_caller]
        pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
            async |run, here| run.origin.check(here)
        }

        /// Waits until the socket is ready for one of the operations in `interest`: receiving or sending. A point only
        /// if `interest` does not include sending.
        ///
        /// # Errors
        /// If the socket belongs to another run.
        #[track_caller]
        pub fn ready(
            &self,
            interest: Interest,
        ) -> impl Future<Output = io::Result<Ready>> + Send + use<'_> {
            async |run, here| {
                if !interest.is_writable() {
                    return self.readable().await.map(|()| Ready::READABLE);
                }
                run.origin.check(here)?;
                let is_there = interest.is_readable() && run.try_take(&mut [], false, here).is_ok();
                let readable = if is_there { Ready::READABLE } else { Ready::EMPTY };
                Ok(Ready::WRITABLE | readable)
            }
        }

        /// Like [`readable`](Self::readable), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            |run, _here| run.poll_readable(&mut lock(&run.calls.ready), cx)
        }

        /// Like [`writable`](Self::writable), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            |run, here| Poll::Ready(run.origin.check(here))
        }

        /// Calls `f`, which performs an operation that the socket is ready for. In a run, `f` is called immediately.
        ///
        /// # Errors
        /// The errors of `f`.
        #[track_caller]
        pub fn try_io<R>(
            &self,
            interest: Interest,
            f: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            |run, here| run.origin.check(here).and_then(|()| f())
        }

        /// Calls `f` when the socket is ready. Waits and calls `f` again while it returns
        /// [`WouldBlock`](io::ErrorKind::WouldBlock).
        ///
        /// # Errors
        /// The errors of `f`.
        #[track_caller]
        pub fn async_io<R>(
            &self,
            interest: Interest,
            f: impl FnMut() -> io::Result<R>,
        ) -> impl Future<Output = io::Result<R>> {
            async |_run, _here| {
                let mut f = f;
                loop {
                    self.ready(interest).await?;
                    match f() {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            // The socket is always ready to send, so `f` must be waiting for a datagram.
                            self.readable().await?;
                        }
                        result => return result,
                    }
                }
            }
        }
    }

    two_kinds! {
        /// Returns and clears the unreported error of the socket, if any.
        ///
        /// ```
        /// use sim::net::UdpSocket;
        /// use sim::time::{Duration, sleep};
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let client = UdpSocket::bind("127.0.0.1:7001").await.unwrap();
        /// // No socket has bound port 7000.
        /// client.connect("127.0.0.1:7000").await.unwrap();
        /// client.send(b"hello").await.unwrap();
        /// sleep(Duration::from_millis(50)).await;
        /// let error = client.take_error().unwrap().unwrap();
        /// assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        /// assert!(client.take_error().unwrap().is_none());
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the socket belongs to another run.
        #[track_caller]
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            |run, here| run.take_error(here)
        }

        /// Converts the socket to a socket of std. Only outside of runs.
        ///
        /// # Errors
        /// Always fails in a run.
        #[track_caller]
        pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
            |_run, here| Err(refuse(OF_RUN, here))
        }
    }
}

impl TryFrom<std::net::UdpSocket> for UdpSocket {
    type Error = io::Error;

    #[track_caller]
    fn try_from(of_std: std::net::UdpSocket) -> io::Result<UdpSocket> {
        UdpSocket::from_std(of_std)
    }
}
