//! Further calls of a UDP socket: calls without a wait, polls, and peeks.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{Interest, ReadBuf, Ready};

use super::{Inner, OfRun, Receiving, UdpSocket, report};
use crate::net::ops::{RECV, SEND_DATAGRAM, TRY_RECV};
use crate::net::sockets::{OF_RUN, check_outside, outside, refuse};
use crate::run::op::{Access, Op, net};
use crate::seam::{Came, GuardedCall, Here, Turn, here};

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

/// The calls of the methods that poll, one of each.
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

    /// The address that it is connected to.
    pub(super) fn peer_or_error(&self, here: Here) -> io::Result<SocketAddr> {
        let peer = self.mark().act(&PEER, here, || self.mailbox.peer());
        peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Takes the refusal, if any.
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
    /// Sends a datagram to the address that it is connected to. Not a point.
    ///
    /// # Errors
    /// If it is not connected, or the datagram is too large.
    #[track_caller]
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Inner::Run(socket) => socket.try_send(buf, socket.peer_or_error(here())?, here()),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.try_send(buf)
            }
        }
    }

    /// Sends a datagram to an address. Not a point.
    ///
    /// # Errors
    /// If it is too large.
    #[track_caller]
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        match &self.0 {
            Inner::Run(socket) => socket.try_send(buf, target, here()),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.try_send_to(buf, target)
            }
        }
    }

    /// Like [`send`](Self::send), for one task at a time.
    #[track_caller]
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &self.0 {
            Inner::Run(socket) => socket.poll_send(cx, buf, socket.peer_or_error(here())?),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_send(cx, buf)
            }
        }
    }

    /// Like [`send_to`](Self::send_to), for one task at a time.
    #[track_caller]
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        match &self.0 {
            Inner::Run(socket) => socket.poll_send(cx, buf, target),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_send_to(cx, buf, target)
            }
        }
    }

    /// Receives a datagram if one has arrived. Not a point.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    #[track_caller]
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.0 {
            Inner::Run(socket) => socket.try_take(buf, true, here()),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.try_recv_from(buf)
            }
        }
    }

    /// Like [`try_recv_from`](Self::try_recv_from), without the address of the sender.
    ///
    /// # Errors
    /// The same as for [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(buf).map(|(count, _)| count)
    }

    /// Like [`try_recv_from`](Self::try_recv_from), but the datagram stays.
    ///
    /// # Errors
    /// The same as for [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.0 {
            Inner::Run(socket) => socket.try_take(buf, false, here()),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.try_peek_from(buf)
            }
        }
    }

    /// Like [`try_peek_from`](Self::try_peek_from), without the address of the sender.
    ///
    /// # Errors
    /// The same as for [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_peek_from(buf).map(|(count, _)| count)
    }

    /// The address of the sender of the next datagram, which stays. Not a point.
    ///
    /// # Errors
    /// The same as for [`try_recv_from`](Self::try_recv_from).
    #[track_caller]
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.try_peek_from(&mut []).map(|(_, from)| from)
    }

    /// Like [`recv`](Self::recv), but the datagram stays.
    ///
    /// # Errors
    /// The same as for [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
        let peek = self.peek_from(buf);
        async move { peek.await.map(|(count, _)| count) }
    }

    /// The address of the sender of the next datagram, which stays. A point, which waits while there is none.
    ///
    /// # Errors
    /// The same as for [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek_sender(&self) -> impl Future<Output = io::Result<SocketAddr>> + Send + use<'_> {
        let here = here();
        async move { self.receive(&mut [], false, here).await.map(|(_, from)| from) }
    }

    /// Like [`recv_from`](Self::recv_from), for one task at a time.
    #[track_caller]
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        match &self.0 {
            Inner::Run(socket) => socket.poll_take(cx, buf, true),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_recv_from(cx, buf)
            }
        }
    }

    /// Like [`recv`](Self::recv), for one task at a time.
    #[track_caller]
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_from(cx, buf).map_ok(drop)
    }

    /// Like [`peek_from`](Self::peek_from), for one task at a time.
    #[track_caller]
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        match &self.0 {
            Inner::Run(socket) => socket.poll_take(cx, buf, false),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_peek_from(cx, buf)
            }
        }
    }

    /// Like [`peek`](Self::peek), for one task at a time.
    #[track_caller]
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_peek_from(cx, buf).map_ok(drop)
    }

    /// Like [`peek_sender`](Self::peek_sender), for one task at a time.
    #[track_caller]
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_peek_from(cx, &mut ReadBuf::new(&mut []))
    }

    /// Waits until a datagram is there. A point.
    ///
    /// # Errors
    /// If the socket is of another run.
    #[track_caller]
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        let here = here();
        async move {
            match &self.0 {
                Inner::Run(socket) => {
                    let call = GuardedCall::new(&READABLE, here);
                    let mut waiting = Receiving { socket, call };
                    poll_fn(|cx| socket.poll_readable(&mut waiting.call, cx)).await
                }
                Inner::Real(socket) => {
                    check_outside(here)?;
                    socket.readable().await
                }
            }
        }
    }

    /// Waits until a datagram can be sent: in a run always.
    ///
    /// # Errors
    /// If the socket is of another run.
    #[track_caller]
    pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        let here = here();
        async move {
            match &self.0 {
                Inner::Run(socket) => socket.origin.check(here),
                Inner::Real(socket) => {
                    check_outside(here)?;
                    socket.writable().await
                }
            }
        }
    }

    /// Waits until the socket can do one of the things in `interest`: receive a datagram or send
    /// one. A point if that is to receive alone.
    ///
    /// # Errors
    /// If the socket is of another run.
    #[track_caller]
    pub fn ready(
        &self,
        interest: Interest,
    ) -> impl Future<Output = io::Result<Ready>> + Send + use<'_> {
        let here = here();
        async move {
            match &self.0 {
                Inner::Run(socket) if interest.is_writable() => {
                    socket.origin.check(here)?;
                    let is_there =
                        interest.is_readable() && socket.try_take(&mut [], false, here).is_ok();
                    let readable = if is_there { Ready::READABLE } else { Ready::EMPTY };
                    Ok(Ready::WRITABLE | readable)
                }
                Inner::Run(_) => self.readable().await.map(|()| Ready::READABLE),
                Inner::Real(socket) => {
                    check_outside(here)?;
                    socket.ready(interest).await
                }
            }
        }
    }

    /// Like [`readable`](Self::readable), for one task at a time.
    #[track_caller]
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.0 {
            Inner::Run(socket) => socket.poll_readable(&mut lock(&socket.calls.ready), cx),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_recv_ready(cx)
            }
        }
    }

    /// Like [`writable`](Self::writable), for one task at a time.
    #[track_caller]
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.0 {
            Inner::Run(socket) => Poll::Ready(socket.origin.check(here())),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.poll_send_ready(cx)
            }
        }
    }

    /// Calls `f`, which does what the socket is ready for. In a run it is called at once.
    ///
    /// # Errors
    /// The errors of `f`.
    #[track_caller]
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        match &self.0 {
            Inner::Run(socket) => socket.origin.check(here()).and_then(|()| f()),
            Inner::Real(socket) => {
                check_outside(here())?;
                socket.try_io(interest, f)
            }
        }
    }

    /// Calls `f` when the socket is ready, again while it returns [`WouldBlock`](io::ErrorKind::WouldBlock).
    ///
    /// # Errors
    /// The errors of `f`.
    #[track_caller]
    pub fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        let here = here();
        async move {
            if let Inner::Real(socket) = &self.0 {
                check_outside(here)?;
                return socket.async_io(interest, f).await;
            }
            loop {
                self.ready(interest).await?;
                match f() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        // It could send, and that is not what it wants.
                        self.readable().await?;
                    }
                    result => return result,
                }
            }
        }
    }

    /// The error that no call has reported yet.
    ///
    /// # Errors
    /// If the socket is of another run.
    #[track_caller]
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match &self.0 {
            Inner::Run(socket) => socket.take_error(here()),
            Inner::Real(socket) => socket.take_error(),
        }
    }

    /// The socket as one of std, outside of runs.
    ///
    /// # Errors
    /// In a run.
    #[track_caller]
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        match self.0 {
            Inner::Run(_) => Err(refuse(OF_RUN, here())),
            Inner::Real(socket) => socket.into_std(),
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
