//! [`UdpSocket`]: datagrams, which overtake each other and get lost.

use unpause_ordered::Map;
mod groups;
mod line;
mod udp_calls;
mod udp_options;

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use self::groups::{Aim, Group};
use self::line::{Flying, Line, Lines, reached};
use self::udp_calls::Calls;
use self::udp_options::UdpOptions;
use super::addresses::{self, ToSocketAddrs};
use super::descriptors::{StandIn, has_descriptor};
use super::kinds::{Of, two_kinds};
use super::ports::{self, Bound, Port, Ports, Protocol};
use super::{Origin, check_outside, outside};
use crate::net::bytes::Bytes;
use crate::net::fabric::Host;
use crate::net::faults::LARGEST;
use crate::net::inbox::{Inbox, Visit};
use crate::net::ops::{RECV, SEND_DATAGRAM};
use crate::net::slots::Slots;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Arrival, Came, GuardedCall, Here, Turn, Wrapped, here};

const ARRIVE: Op = Op::of_kind("arrive", Access::Act, net::ARRIVE);

/// The error code of a datagram that is too large, `EMSGSIZE`.
const TOO_LARGE: i32 = match () {
    () if cfg!(target_os = "linux") => 90,
    () if cfg!(windows) => 10_040,
    () => 40,
};

/// An arrived datagram; `bytes` is `None` for the notification that the port is unreachable.
struct Datagram {
    from: SocketAddr,
    bytes: Option<Bytes>,
}

/// The receiving side of a UDP socket.
pub(super) struct Mailbox {
    inbox: Inbox<Datagram>,
    port: Arc<Port>,
    addr: SocketAddr,
    /// The peer, if the socket is connected. The socket then sends only to this address, and receives only from it.
    peer: Mutex<Option<SocketAddr>>,
    groups: Mutex<Map<Ipv4Addr, Arc<Group>>>,
    /// The datagrams in flight.
    flying: Mutex<Slots<Flying>>,
}

impl Mailbox {
    pub(super) fn close(self: &Arc<Self>, here: Here) {
        self.leave_all(here);
        self.inbox.close(true);
    }

    fn peer(&self) -> Option<SocketAddr> {
        *self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket for datagrams, like `tokio::net::UdpSocket`.
///
/// In a run it belongs to the node of the code that binds it. A datagram arrives at any moment after it was sent. The
/// datagram is lost while the link is [cut](crate::net::cut), and may be lost, delayed or duplicated as
/// [`faults`](crate::net::faults()) set. A socket buffers 64 datagrams and drops further ones. At a port without a
/// socket the datagram is lost and the kernel replies: the next send or receive of a connected sender fails with
/// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused). A host that is switched off does not reply. A datagram to a
/// [group](Self::join_multicast_v4) arrives at all its members, and a datagram to 255.255.255.255 arrives at all hosts.
///
/// ```
/// use sim::net::UdpSocket;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let server = db.enter(|| UdpSocket::bind("0.0.0.0:53")).await.unwrap();
/// let client = UdpSocket::bind("0.0.0.0:0").await.unwrap();
/// client.send_to(b"ping", "db-1:53").await.unwrap();
/// let mut buffer = [0; 16];
/// let (count, from) = server.recv_from(&mut buffer).await.unwrap();
/// assert_eq!(&buffer[..count], b"ping");
/// assert_eq!(from.port(), client.local_addr().unwrap().port());
/// # });
/// # assert!(report.passed());
/// ```
pub struct UdpSocket(Of<OfRun, tokio::net::UdpSocket>);

struct OfRun {
    mailbox: Arc<Mailbox>,
    origin: Origin,
    /// The routes to the destinations used so far, by address.
    lines: Mutex<Lines>,
    ports: Arc<Ports>,
    calls: Calls,
    options: UdpOptions,
    stand_in: StandIn,
    here: Here,
}

has_descriptor!(UdpSocket);

impl Drop for OfRun {
    fn drop(&mut self) {
        if self.origin.tells() {
            let bound = Bound::Mailbox(self.mailbox.clone());
            self.mailbox.port.unbind(&bound, self.here);
            self.mailbox.close(self.here);
        }
    }
}

impl OfRun {
    fn mark(&self) -> &Wrapped {
        &self.mailbox.port.mark
    }

    /// Sends in the current step. If an earlier datagram was refused, returns `ConnectionRefused` instead.
    fn send(&self, bytes: &[u8], to: SocketAddr, here: Here) -> io::Result<usize> {
        if self.take_refusal() {
            report(self.mark(), here);
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        if !groups::is_of_several(to.ip()) {
            let line = self.line(to, here)?;
            self.send_on(&line, (line.to, Aim::One), bytes, here)?;
            return Ok(bytes.len());
        }
        for (line, aim) in self.ways(to, here)? {
            self.send_on(&line, (to, aim), bytes, here)?;
        }
        Ok(bytes.len())
    }

    fn send_on(
        &self,
        line: &Arc<Line>,
        (to, aim): (SocketAddr, Aim),
        bytes: &[u8],
        here: Here,
    ) -> io::Result<()> {
        let link = &line.link;
        if bytes.len() > link.faults().map_or(LARGEST, |faults| faults.largest()) {
            return Err(io::Error::from_raw_os_error(TOO_LARGE));
        }
        for _ in 0..link.draw_copies() {
            let not_before = link.draw_delay(bytes.len(), here);
            let (at, route) = (&line.port.mark, link.route());
            let arrival = Arrival { op: &ARRIVE, at, route, not_before };
            let (line, aim) = (line.clone(), aim.clone());
            let flying = Flying { line, to, aim, bytes: bytes.into(), here };
            seam::send(&self.mailbox, flying, arrival, here);
        }
        Ok(())
    }

    /// Takes the refusal at the front of the inbox, if any.
    fn take_refusal(&self) -> bool {
        let mut is_there = false;
        self.mailbox.inbox.look().visit(|datagram| match datagram.bytes {
            None if !is_there => {
                is_there = true;
                Visit::Take
            }
            _ => Visit::Stop,
        });
        is_there
    }

    fn take(&self, buffer: &mut [u8], takes: bool) -> Option<io::Result<(usize, SocketAddr)>> {
        if self.take_refusal() {
            // A peek also takes the refusal.
            report(self.mark(), self.here);
            return Some(Err(io::ErrorKind::ConnectionRefused.into()));
        }
        let mut found = None;
        self.mailbox.inbox.look().visit(|datagram| {
            if found.is_some() {
                return Visit::Stop;
            }
            let bytes = datagram.bytes.as_deref().unwrap_or_default();
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            found = Some(Ok((count, datagram.from)));
            if takes { Visit::Take } else { Visit::Look }
        });
        found
    }

    fn poll_recv(
        &self,
        call: &mut GuardedCall,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        takes: bool,
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.origin.check(self.here)?;
        let closed = || Err(io::ErrorKind::NotConnected.into());
        let take = || self.take(buffer, takes).unwrap_or_else(closed);
        call.poll(&self.mailbox.inbox, cx, |_| outside(), take)
    }
}

/// A pending call that receives.
struct ReceivingDatagram<'a> {
    socket: &'a OfRun,
    call: GuardedCall,
}

impl Drop for ReceivingDatagram<'_> {
    fn drop(&mut self) {
        let ReceivingDatagram { socket, call } = self;
        call.leave(&socket.mailbox.inbox, socket.here);
    }
}

impl UdpSocket {
    /// Binds an address: `0.0.0.0:53`, or a host name with a port. Port 0 selects a free port. This call is not a point
    /// in a run.
    ///
    /// # Errors
    /// If the port is in use at this address, or the address belongs to another host.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(addr: A) -> impl Future<Output = io::Result<UdpSocket>> {
        let (destination, here) = (addr.destination(), here());
        let host = Host::current();
        addresses::each((destination, here), move |addr| async move {
            match seam::in_run() {
                true => bind(host, addr, here),
                false => Ok(UdpSocket(Of::Real(tokio::net::UdpSocket::bind(addr).await?))),
            }
        })
    }

    /// Connects the socket to an address: it then sends to and receives from this address only. This call is not a
    /// point in a run.
    ///
    /// ```
    /// use sim::net::UdpSocket;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let socket = UdpSocket::bind("127.0.0.1:7000").await.unwrap();
    /// let peer = UdpSocket::bind("127.0.0.1:7001").await.unwrap();
    /// let other = UdpSocket::bind("127.0.0.1:7002").await.unwrap();
    /// socket.connect("127.0.0.1:7001").await.unwrap();
    /// other.send_to(b"noise", "127.0.0.1:7000").await.unwrap();
    /// peer.send_to(b"hello", "127.0.0.1:7000").await.unwrap();
    /// let (_, from) = socket.recv_from(&mut [0; 8]).await.unwrap();
    /// assert_eq!(from, peer.local_addr().unwrap());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the name is unknown.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> impl Future<Output = io::Result<()>> {
        let (destination, here) = (addr.destination(), here());
        addresses::each((destination, here), move |addr| async move {
            match &self.0 {
                Of::Run(socket) => {
                    socket.origin.check(here)?;
                    if !groups::is_of_several(addr.ip()) {
                        addresses::host(socket.mailbox.port.host, addr, here)?;
                    }
                    socket.mark().act(&CONNECT, here, || {
                        let peer = &socket.mailbox.peer;
                        *peer.lock().unwrap_or_else(PoisonError::into_inner) = Some(reached(addr));
                    });
                    Ok(())
                }
                Of::Real(socket) => {
                    check_outside(here)?;
                    socket.connect(addr).await
                }
            }
        })
    }

    two_kinds! {
        /// Returns the local address.
        ///
        /// # Errors
        /// Outside of runs, the errors of the operating system.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.mailbox.addr)
        }

        /// Returns the address of the peer.
        ///
        /// # Errors
        /// [`NotConnected`](io::ErrorKind::NotConnected) if the socket is not connected.
        #[track_caller]
        pub fn peer_addr(&self) -> io::Result<SocketAddr> {
            |run, here| {
                run.origin.check(here)?;
                run.peer_or_error(here)
            }
        }
    }

    /// Sends a datagram to an address, or to a host name with a port. This call is a point. Does not wait for the
    /// arrival of the datagram.
    ///
    /// # Errors
    /// If the name is unknown, or the datagram is too large.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(
        &self,
        buf: &[u8],
        target: A,
    ) -> impl Future<Output = io::Result<usize>> {
        let (destination, here) = (target.destination(), here());
        async move {
            let to =
                addresses::each((destination, here), |addr| std::future::ready(Ok(addr))).await?;
            match &self.0 {
                Of::Run(socket) => send(socket, buf, to, here).await,
                Of::Real(socket) => {
                    check_outside(here)?;
                    socket.send_to(buf, to).await
                }
            }
        }
    }

    two_kinds! {
        check_outside;

        /// Sends a datagram to the peer. This call is a point.
        ///
        /// ```
        /// use sim::net::UdpSocket;
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        /// let error = socket.send(b"hello").await.unwrap_err();
        /// assert_eq!(error.kind(), ErrorKind::NotConnected);
        /// socket.connect("127.0.0.1:7001").await.unwrap();
        /// assert_eq!(socket.send(b"hello").await.unwrap(), 5);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the socket is not connected, or the datagram is too large.
        #[track_caller]
        pub fn send(&self, buf: &[u8]) -> impl Future<Output = io::Result<usize>> + Send {
            async |run, here| {
                run.origin.check(here)?;
                let to = run.peer_or_error(here)?;
                send(run, buf, to, here).await
            }
        }
    }

    /// Receives a datagram. If `buf` is too short, the rest of the datagram is lost. This call is a point. Waits until
    /// a datagram has arrived. Cancel safe.
    ///
    /// ```
    /// use sim::net::UdpSocket;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let server = UdpSocket::bind("127.0.0.1:7000").await.unwrap();
    /// let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    /// client.send_to(b"question", "127.0.0.1:7000").await.unwrap();
    /// let mut buffer = [0; 4];
    /// let (count, from) = server.recv_from(&mut buffer).await.unwrap();
    /// assert_eq!((&buffer[..count], from), (&b"ques"[..], client.local_addr().unwrap()));
    /// assert!(server.try_recv(&mut buffer).is_err(), "the rest of the datagram is lost");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the socket is connected to a port that no socket has
    /// bound.
    #[track_caller]
    pub fn recv_from(
        &self,
        buf: &mut [u8],
    ) -> impl Future<Output = io::Result<(usize, SocketAddr)>> + Send {
        self.receive(buf, true)
    }

    /// Like [`recv_from`](Self::recv_from), but does not return the address of the sender.
    ///
    /// # Errors
    /// In the same cases as [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn recv(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
        let receive = self.receive(buf, true);
        async move { receive.await.map(|(count, _)| count) }
    }

    /// Like [`recv_from`](Self::recv_from), but leaves the datagram in the buffer of the socket.
    ///
    /// # Errors
    /// In the same cases as [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek_from(
        &self,
        buf: &mut [u8],
    ) -> impl Future<Output = io::Result<(usize, SocketAddr)>> + Send {
        self.receive(buf, false)
    }

    two_kinds! {
        check_outside;

        #[track_caller]
        fn receive(
            &self,
            buf: &mut [u8],
            takes: bool,
        ) -> impl Future<Output = io::Result<(usize, SocketAddr)>> + Send {
            async |run, here| {
                let mut receiving = ReceivingDatagram { socket: run, call: GuardedCall::new(&RECV, here) };
                poll_fn(|cx| run.poll_recv(&mut receiving.call, cx, buf, takes)).await
            };
            async |real| {
                if takes { real.recv_from(buf).await } else { real.peek_from(buf).await }
            }
        }
    }

    /// Creates a socket from a socket of std. Only outside of runs.
    ///
    /// # Errors
    /// Always fails in a run.
    #[track_caller]
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
        check_outside(here())?;
        tokio::net::UdpSocket::from_std(socket).map(|real| UdpSocket(Of::Real(real)))
    }
}

const REPORT: [Op; 2] = [
    Op::of_kind("report", Access::Tell, net::CLOSE).quiet(),
    Op::of_kind("report", Access::Tell, net::SET).quiet(),
];
const CONNECT: Op = Op::of_kind("connect", Access::Tell, net::CLOSE);

/// Records on the port of a socket that a refusal has arrived, or that a call reports it. Only the next call that sends
/// or receives reports the refusal.
fn report(mark: &Wrapped, here: Here) {
    REPORT.iter().for_each(|op| mark.record(op, here));
}

async fn send(socket: &OfRun, bytes: &[u8], to: SocketAddr, here: Here) -> io::Result<usize> {
    let mut turn = Turn::new(&SEND_DATAGRAM, here);
    poll_fn(|cx| {
        socket.origin.check(here)?;
        let came =
            |sent: &io::Result<usize>| if sent.is_ok() { Came::Done } else { Came::ToNothing };
        turn.poll_at_once(socket.mark(), cx, || socket.send(bytes, to, here), came)
    })
    .await
}

fn bind(host: Host, addr: SocketAddr, here: Here) -> io::Result<UdpSocket> {
    let mut bound = None;
    let make = |port: Arc<Port>, addr| {
        let inbox = Inbox::at(port.mark.clone(), here);
        let (peer, groups, flying) = (Mutex::default(), Mutex::default(), Mutex::default());
        let mailbox = Arc::new(Mailbox { inbox, port, addr, peer, groups, flying });
        bound = Some(mailbox.clone());
        Bound::Mailbox(mailbox)
    };
    let ports = Ports::of_run();
    ports.bind(host, (Protocol::Udp, addr), make, (&ports::BIND, here))?;
    let mailbox = bound.expect("it was made");
    let (origin, lines) = (Origin::here(), Mutex::default());
    let (calls, options, stand_in) = (Calls::new(here), UdpOptions::new(), StandIn::default());
    Ok(UdpSocket(Of::Run(OfRun { mailbox, origin, lines, ports, calls, options, stand_in, here })))
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpSocket").field("addr", &self.local_addr().ok()).finish()
    }
}
