//! [`TcpSocket`]: a socket with its options, before it listens or connects.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connect;
use super::listener::{self, TcpListener};
use super::tcp_stream::TcpStream;
use crate::net::fabric::Host;
use crate::net::sockets::descriptors::{StandIn, has_descriptor};
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::net::sockets::options::{of_tokio, options};
use crate::net::sockets::ports::{self, Bound, Port, Ports, Protocol};
use crate::net::sockets::{Origin, refuse};
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Here, Wrapped, here};

const OPTION: Op = Op::of_kind("option", Access::Peek, net::window::OPTION).quiet();
const SET_OPTION: Op = Op::of_kind("set_option", Access::Tell, net::window::SET_OPTION).quiet();

/// A socket that does not listen and is not connected yet, like `tokio::net::TcpSocket`. Use it to set options, and to
/// choose the local port of a connection.
///
/// ```
/// use std::net::SocketAddr;
/// use sim::net::TcpSocket;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let listener = db.enter(|| {
///     let socket = TcpSocket::new_v4().unwrap();
///     socket.set_reuseaddr(true).unwrap();
///     socket.bind("0.0.0.0:7000".parse().unwrap()).unwrap();
///     socket.listen(16).unwrap()
/// });
/// let socket = TcpSocket::new_v4().unwrap();
/// socket.set_keepalive(true).unwrap();
/// socket.bind("0.0.0.0:4000".parse().unwrap()).unwrap();
/// let stream = socket.connect(SocketAddr::new(db.addr(), 7000)).await.unwrap();
/// assert_eq!(stream.local_addr().unwrap().port(), 4000);
/// let (_stream, from) = listener.accept().await.unwrap();
/// assert_eq!(from, stream.local_addr().unwrap());
/// # });
/// # assert!(report.passed());
/// ```
pub struct TcpSocket(Of<OfRun, tokio::net::TcpSocket>);

struct OfRun {
    host: Host,
    origin: Origin,
    /// The object of the socket in runs. The object belongs to no node, because the socket is consumed before it has an
    /// address that other tasks know.
    mark: Wrapped,
    state: Mutex<SocketState>,
    stand_in: StandIn,
}

has_descriptor!(TcpSocket);

/// Socket options, which the connections of the socket inherit.
#[derive(Clone, Copy)]
pub(super) struct TcpOptions {
    pub(super) keepalive: bool,
    pub(super) nodelay: bool,
    pub(super) resets: bool,
    reuseaddr: bool,
    send_buffer_size: u32,
    recv_buffer_size: u32,
    tos: u32,
}

impl TcpOptions {
    pub(super) const NONE: TcpOptions = TcpOptions {
        keepalive: false,
        nodelay: false,
        resets: false,
        reuseaddr: false,
        send_buffer_size: super::connection::WINDOW as u32,
        recv_buffer_size: super::connection::WINDOW as u32,
        tos: 0,
    };
}

struct SocketState {
    options: TcpOptions,
    reserved: Option<Reserved>,
}

/// A port that a socket has bound. The port is reserved until the socket listens or its connection is gone.
pub(super) struct Reserved {
    reservation: Arc<Reservation>,
    origin: Origin,
    here: Here,
}

/// The holder of a bound port without a listener. The reservation accepts no connections.
pub(in crate::net::sockets) struct Reservation {
    port: Arc<Port>,
    pub(super) addr: SocketAddr,
}

impl Reserved {
    pub(super) fn addr(&self) -> SocketAddr {
        self.reservation.addr
    }

    /// Binds a port, by [`ports::BIND`] or [`ports::RESERVE`].
    pub(super) fn bind(
        host: Host,
        addr: SocketAddr,
        op: &'static Op,
        here: Here,
    ) -> io::Result<Reserved> {
        let mut reservation = None;
        let make = |port: Arc<Port>, addr| {
            let made = Arc::new(Reservation { port, addr });
            reservation = Some(made.clone());
            Bound::Reserved(made)
        };
        Ports::of_run().bind(host, (Protocol::Tcp, addr), make, (op, here))?;
        let reservation = reservation.expect("it was made");
        Ok(Reserved { reservation, origin: Origin::here(), here })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.origin.tells() {
            let bound = Bound::Reserved(self.reservation.clone());
            self.reservation.port.unbind(&bound, self.here);
        }
    }
}

impl OfRun {
    fn state(&self) -> MutexGuard<'_, SocketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an option or the bound address.
    fn get<T>(&self, here: Here, get: impl FnOnce(&SocketState) -> T) -> io::Result<T> {
        self.origin.check(here)?;
        Ok(self.mark.act(&OPTION, here, || get(&self.state())))
    }

    fn option<T>(&self, here: Here, get: impl FnOnce(&TcpOptions) -> T) -> io::Result<T> {
        self.get(here, |state| get(&state.options))
    }

    fn set_option(&self, here: Here, set: impl FnOnce(&mut TcpOptions)) -> io::Result<()> {
        self.origin.check(here)?;
        self.mark.act(&SET_OPTION, here, || set(&mut self.state().options));
        Ok(())
    }
}

options! { TcpSocket:
    /// Returns `true` if the connections of this socket send keepalive probes.
    keepalive;
    /// Sets whether connections detect by keepalive probes that the other machine is gone or the link is cut, even if
    /// nothing is written. In a run, the default settings of Linux apply: the kernel sends the first probe after 7200
    /// s, and then one every 75 s. After nine probes without a reply, all calls return
    /// [`TimedOut`](io::ErrorKind::TimedOut); a machine that is on again replies with a reset.
    set_keepalive: bool => keepalive;

    /// Returns `true` if a port can be bound directly after its connections have ended. In a run this is always
    /// possible.
    reuseaddr;
    /// Sets whether a port can be bound directly after its connections have ended. The setting has no effect in a run,
    /// where this is always possible.
    set_reuseaddr: bool => reuseaddr;

    /// Returns `true` if small writes are sent without delay.
    nodelay;
    /// Sets whether small writes are sent without delay. In a run, writes are never delayed.
    set_nodelay: bool => nodelay;

    /// Returns the size of the send buffer. The size has no effect in a run.
    send_buffer_size;
    /// Sets the size of the send buffer. The size has no effect in a run.
    set_send_buffer_size: u32 => send_buffer_size;

    /// Returns the size of the receive buffer. The size has no effect in a run.
    recv_buffer_size;
    /// Sets the size of the receive buffer. The size has no effect in a run.
    set_recv_buffer_size: u32 => recv_buffer_size;

    /// Returns the type of service. The type of service has no effect in a run.
    tos_v4, once tos;
    /// Sets the type of service. The type of service has no effect in a run.
    set_tos_v4, once set_tos: u32 => tos;
}

impl TcpSocket {
    /// Creates a socket for IPv4 addresses.
    ///
    /// # Errors
    /// Outside of runs, the errors of the operating system.
    #[track_caller]
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(tokio::net::TcpSocket::new_v4)
    }

    /// Creates a socket for IPv6 addresses. In a run it behaves like an IPv4 socket, and nodes have IPv4 addresses.
    ///
    /// # Errors
    /// Outside of runs, the errors of the operating system.
    #[track_caller]
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(tokio::net::TcpSocket::new_v6)
    }

    #[track_caller]
    fn new(real: fn() -> io::Result<tokio::net::TcpSocket>) -> io::Result<TcpSocket> {
        if !seam::in_run() {
            return Ok(TcpSocket(Of::Real(real()?)));
        }
        Ok(TcpSocket::of_run(TcpOptions::NONE))
    }

    two_kinds! {
        /// Makes dropped connections of this socket reset.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn set_zero_linger(&self) -> io::Result<()> {
            |run, here| run.set_option(here, |options| options.resets = true)
        }

        /// Sets the treatment of unsent bytes when a connection of this socket is dropped: with `Some(Duration::ZERO)`,
        /// the drop resets the connection. Other values have no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[allow(deprecated, reason = "it is what the caller of this one wants")]
        #[deprecated = "a drop that waits for what is sent blocks the thread"]
        #[track_caller]
        pub fn set_linger(&self, time: Option<Duration>) -> io::Result<()> {
            |run, here| {
                run.set_option(here, |options| options.resets = time == Some(Duration::ZERO))
            }
        }

        /// Returns `Some(Duration::ZERO)` if dropping a connection of this socket resets it.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn linger(&self) -> io::Result<Option<Duration>> {
            |run, here| {
                let resets = run.option(here, |options| options.resets)?;
                Ok(resets.then_some(Duration::ZERO))
            }
        }

        /// Returns the local address; with port 0 if the socket is not bound.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating system.
        #[track_caller]
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, here| {
                let addr = run.get(here, |own| own.reserved.as_ref().map(Reserved::addr))?;
                Ok(addr.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))))
            }
        }

        /// Returns the unreported error of the socket, if any. In a run, an unconnected socket has no error.
        ///
        /// # Errors
        /// Outside of runs, the errors of the operating system.
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            |_run, _here| Ok(None)
        }
    }

    two_kinds! {
        check_outside;

        /// Binds the socket to an address. The address becomes the local address of the connection, or the address of
        /// the listener. This call is not a point in a run.
        ///
        /// ```
        /// use sim::net::{TcpSocket, TcpStream};
        /// use std::io::ErrorKind;
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let socket = TcpSocket::new_v4().unwrap();
        /// socket.bind("127.0.0.1:7000".parse().unwrap()).unwrap();
        /// // The port is in use, but the socket does not listen yet.
        /// let error = TcpStream::connect("127.0.0.1:7000").await.unwrap_err();
        /// assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        /// let listener = socket.listen(16).unwrap();
        /// assert!(TcpStream::connect("127.0.0.1:7000").await.is_ok());
        /// # drop(listener);
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the port is in use at this address, the address belongs to another host, or the socket is already bound.
        #[track_caller]
        pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
            |run, here| {
                run.origin.check(here)?;
                run.mark.record(&SET_OPTION, here);
                if run.state().reserved.is_some() {
                    let text = "the socket is bound: make another one";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                }
                let reserved = Reserved::bind(run.host, addr, &ports::BIND, here)?;
                run.state().reserved = Some(reserved);
                Ok(())
            }
        }

        /// Connects to an address. This call is a point.
        ///
        /// # Errors
        /// If there is no listener at the address, or the host does not reply.
        #[track_caller]
        pub fn connect(
            self,
            addr: SocketAddr,
        ) -> impl Future<Output = io::Result<TcpStream>> + Send {
            async |run, here| {
                run.origin.check(here)?;
                let host = run.host;
                let SocketState { options, reserved } = run.into_state();
                let end = connect::connect(host, addr, (options, reserved), here).await?;
                Ok(TcpStream::of_run(end))
            };
            async |real| real.connect(addr).await.map(TcpStream::of_system)
        }

        /// Starts to listen. At most `backlog` connections wait to be accepted. This call is not a point in a run.
        ///
        /// ```
        /// use sim::net::{TcpSocket, TcpStream};
        /// use sim::time::{Duration, timeout};
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let socket = TcpSocket::new_v4().unwrap();
        /// socket.bind("127.0.0.1:7000".parse().unwrap()).unwrap();
        /// let listener = socket.listen(1).unwrap();
        /// let _first = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let second = TcpStream::connect("127.0.0.1:7000");
        /// let waited = timeout(Duration::from_millis(500), second).await;
        /// assert!(waited.is_err(), "the first connection is not accepted yet");
        /// listener.accept().await.unwrap();
        /// assert!(TcpStream::connect("127.0.0.1:7000").await.is_ok());
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If another socket has bound the port in the meantime.
        #[track_caller]
        pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
            |run, here| {
                run.origin.check(here)?;
                let host = run.host;
                let SocketState { options, reserved } = run.into_state();
                let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
                let addr = reserved.as_ref().map_or(any, Reserved::addr);
                // The port is bound again in the same step.
                drop(reserved);
                listener::bind(host, addr, (options, backlog as usize), here)
            };
            |real| real.listen(backlog).map(TcpListener::of_system)
        }
    }

    /// Creates a socket from a socket of std. In a run, the result is a socket of the run with the same options,
    /// because HTTP clients set options on a std socket before they connect. A run fails if the std socket is already
    /// bound or connected.
    #[track_caller]
    pub fn from_std_stream(stream: std::net::TcpStream) -> TcpSocket {
        if !seam::in_run() {
            return TcpSocket(Of::Real(tokio::net::TcpSocket::from_std_stream(stream)));
        }
        let is_new = stream.peer_addr().is_err()
            && stream.local_addr().is_ok_and(|addr| addr.port() == 0 && addr.ip().is_unspecified());
        let real = tokio::net::TcpSocket::from_std_stream(stream);
        if !is_new {
            let text = "a socket of the system that is bound or connected is used in a run: make each socket in the body \
                        of the test";
            drop(refuse(text, here()));
            return TcpSocket(Of::Real(real));
        }
        let options = TcpOptions {
            keepalive: real.keepalive().unwrap_or(false),
            nodelay: real.nodelay().unwrap_or(false),
            resets: real.linger().is_ok_and(|linger| linger == Some(Duration::ZERO)),
            ..TcpOptions::NONE
        };
        TcpSocket::of_run(options)
    }

    #[track_caller]
    fn of_run(options: TcpOptions) -> TcpSocket {
        let state = Mutex::new(SocketState { options, reserved: None });
        let (host, origin, stand_in) = (Host::current(), Origin::here(), StandIn::default());
        let mark = Wrapped::outside("socket", here());
        TcpSocket(Of::Run(OfRun { host, origin, mark, state, stand_in }))
    }
}

impl OfRun {
    fn into_state(self) -> SocketState {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = match &self.0 {
            Of::Run(socket) => socket.state().reserved.as_ref().map(Reserved::addr),
            Of::Real(socket) => socket.local_addr().ok(),
        };
        f.debug_struct("TcpSocket").field("addr", &addr).finish()
    }
}
