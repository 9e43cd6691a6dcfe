//! [`TcpSocket`]: a socket with its options, before it listens or connects.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connect;
use super::listener::{self, TcpListener};
use super::stream::TcpStream;
use crate::net::fabric::Host;
use crate::net::sockets::descriptors::{StandIn, has_descriptor};
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::net::sockets::options::{of_tokio, options};
use crate::net::sockets::ports::{Bound, Port, Ports, Protocol};
use crate::net::sockets::{Origin, refuse};
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Here, Wrapped, here};

const OPTION: Op = Op::of_kind("option", Access::Peek, net::window::OPTION).quiet();
const SET_OPTION: Op = Op::of_kind("set_option", Access::Tell, net::window::SET_OPTION).quiet();

/// A socket that does not listen and is not connected yet, for options and for the port that a connection begins at. As
/// tokio's type of the name.
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
    /// Its object in runs, of no node: the socket is consumed before it has an address that others know.
    mark: Wrapped,
    state: Mutex<State>,
    stand_in: StandIn,
}

has_descriptor!(TcpSocket);

/// The options of a socket, which its connections have, too.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) keepalive: bool,
    pub(super) nodelay: bool,
    pub(super) resets: bool,
    reuseaddr: bool,
    send_buffer_size: u32,
    recv_buffer_size: u32,
    tos: u32,
}

impl Options {
    pub(super) const NONE: Options = Options {
        keepalive: false,
        nodelay: false,
        resets: false,
        reuseaddr: false,
        send_buffer_size: super::connection::WINDOW as u32,
        recv_buffer_size: super::connection::WINDOW as u32,
        tos: 0,
    };
}

struct State {
    options: Options,
    reserved: Option<Reserved>,
}

/// A port that a socket has bound, until it listens or its connection is gone.
pub(super) struct Reserved {
    reservation: Arc<Reservation>,
    origin: Origin,
    here: Here,
}

/// The holder of a port that is bound and not listened on: it accepts nothing.
pub(in crate::net::sockets) struct Reservation {
    port: Arc<Port>,
    pub(super) addr: SocketAddr,
}

impl Reserved {
    pub(super) fn addr(&self) -> SocketAddr {
        self.reservation.addr
    }

    fn bind(host: Host, addr: SocketAddr, here: Here) -> io::Result<Reserved> {
        let mut reservation = None;
        let make = |port: Arc<Port>, addr| {
            let made = Arc::new(Reservation { port, addr });
            reservation = Some(made.clone());
            Bound::Reserved(made)
        };
        Ports::of_run().bind(host, (Protocol::Tcp, addr), make, here)?;
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
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an option or the port.
    fn get<T>(&self, here: Here, get: impl FnOnce(&State) -> T) -> io::Result<T> {
        self.origin.check(here)?;
        Ok(self.mark.act(&OPTION, here, || get(&self.state())))
    }

    fn option<T>(&self, here: Here, get: impl FnOnce(&Options) -> T) -> io::Result<T> {
        self.get(here, |state| get(&state.options))
    }

    fn set_option(&self, here: Here, set: impl FnOnce(&mut Options)) -> io::Result<()> {
        self.origin.check(here)?;
        self.mark.act(&SET_OPTION, here, || set(&mut self.state().options));
        Ok(())
    }
}

options! { TcpSocket:
    /// Returns `true` if its connections find out by themselves that the other machine is gone.
    keepalive;
    /// Sets if its connections find out by themselves that the other machine is gone or the link is cut, also if
    /// nothing is written. In a run as with the settings of Linux: after 7200 s, and then every 75 s, the kernel asks;
    /// after nine questions without an answer all is [`TimedOut`](io::ErrorKind::TimedOut), and a machine that is up
    /// again answers by a reset.
    set_keepalive: bool => keepalive;

    /// Returns `true` if a port can be bound whose connections have just ended. In a run it has no effect: they can.
    reuseaddr;
    /// Sets if a port can be bound whose connections have just ended. In a run it has no effect: they can.
    set_reuseaddr: bool => reuseaddr;

    /// Returns `true` if small writes are not delayed.
    nodelay;
    /// Sets if small writes are not delayed. In a run none is.
    set_nodelay: bool => nodelay;

    /// The size of the buffer of bytes that are sent. In a run it has no effect.
    send_buffer_size;
    /// Sets the size of the buffer of bytes that are sent. In a run it has no effect.
    set_send_buffer_size: u32 => send_buffer_size;

    /// The size of the buffer of bytes that have arrived. In a run it has no effect.
    recv_buffer_size;
    /// Sets the size of the buffer of bytes that have arrived. In a run it has no effect.
    set_recv_buffer_size: u32 => recv_buffer_size;

    /// The type of service. In a run it has no effect.
    tos_v4, once tos;
    /// Sets the type of service. In a run it has no effect.
    set_tos_v4, once set_tos: u32 => tos;
}

impl TcpSocket {
    /// A socket for addresses of IPv4.
    ///
    /// # Errors
    /// Outside of runs, the errors of the system.
    #[track_caller]
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(tokio::net::TcpSocket::new_v4)
    }

    /// A socket for addresses of IPv6. In a run there is no difference, and addresses of nodes are of IPv4.
    ///
    /// # Errors
    /// Outside of runs, the errors of the system.
    #[track_caller]
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(tokio::net::TcpSocket::new_v6)
    }

    #[track_caller]
    fn new(real: fn() -> io::Result<tokio::net::TcpSocket>) -> io::Result<TcpSocket> {
        if !seam::in_run() {
            return Ok(TcpSocket(Of::Real(real()?)));
        }
        Ok(TcpSocket::of_run(Options::NONE))
    }

    two_kinds! {
        /// Makes the drop of its connections reset them.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn set_zero_linger(&self) -> io::Result<()> {
            |run, here| run.set_option(here, |options| options.resets = true)
        }

        /// Sets what the drop of its connections does with what is not sent yet: for `Some(Duration::ZERO)` it resets
        /// them. In a run other times have no effect.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[allow(deprecated, reason = "it is what the caller of this one wants")]
        #[deprecated = "a drop that waits for what is sent blocks the thread"]
        #[track_caller]
        pub fn set_linger(&self, time: Option<Duration>) -> io::Result<()> {
            |run, here| {
                run.set_option(here, |options| options.resets = time == Some(Duration::ZERO))
            }
        }

        /// Returns `Some(Duration::ZERO)` if the drop of its connections resets them.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn linger(&self) -> io::Result<Option<Duration>> {
            |run, here| {
                let resets = run.option(here, |options| options.resets)?;
                Ok(resets.then_some(Duration::ZERO))
            }
        }

        /// Its address: with port 0 if it is not bound.
        ///
        /// # Errors
        /// If the socket is of another run; outside of runs, the errors of the system.
        #[track_caller]
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, here| {
                let addr = run.get(here, |own| own.reserved.as_ref().map(Reserved::addr))?;
                Ok(addr.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))))
            }
        }

        /// The error that no call has reported yet. In a run there is none before it is connected.
        ///
        /// # Errors
        /// Outside of runs, the errors of the system.
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            |_run, _here| Ok(None)
        }
    }

    two_kinds! {
        check_outside;

        /// Binds an address: the local address of the connection, or the address at which the socket
        /// listens. Not a point in a run.
        ///
        /// # Errors
        /// If the port is in use, the address is of another host, or it is bound.
        #[track_caller]
        pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
            |run, here| {
                run.origin.check(here)?;
                run.mark.record(&SET_OPTION, here);
                if run.state().reserved.is_some() {
                    let text = "the socket is bound: make another one";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                }
                let reserved = Reserved::bind(run.host, addr, here)?;
                run.state().reserved = Some(reserved);
                Ok(())
            }
        }

        /// Connects to an address. A point.
        ///
        /// # Errors
        /// If nobody listens or answers.
        #[track_caller]
        pub fn connect(
            self,
            addr: SocketAddr,
        ) -> impl Future<Output = io::Result<TcpStream>> + Send {
            async |run, here| {
                run.origin.check(here)?;
                let host = run.host;
                let State { options, reserved } = run.into_state();
                let end = connect::connect(host, addr, (options, reserved), here).await?;
                Ok(TcpStream::of_run(end))
            };
            async |real| real.connect(addr).await.map(TcpStream::of_system)
        }

        /// Listens, with room for so many connections that are not accepted yet. Not a point in a run.
        ///
        /// # Errors
        /// If another socket has bound the port meanwhile.
        #[track_caller]
        pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
            |run, here| {
                run.origin.check(here)?;
                let host = run.host;
                let State { options, reserved } = run.into_state();
                let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
                let addr = reserved.as_ref().map_or(any, Reserved::addr);
                // It is bound once more in the same step.
                drop(reserved);
                listener::bind(host, addr, (options, backlog as usize), here)
            };
            |real| real.listen(backlog).map(TcpListener::of_system)
        }
    }

    /// The socket of the system. In a run it becomes a socket of the run, with its options, because
    /// HTTP clients set options of the system's socket before they connect. A run fails if it is
    /// bound or connected already.
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
        let options = Options {
            keepalive: real.keepalive().unwrap_or(false),
            nodelay: real.nodelay().unwrap_or(false),
            resets: real.linger().is_ok_and(|linger| linger == Some(Duration::ZERO)),
            ..Options::NONE
        };
        TcpSocket::of_run(options)
    }

    #[track_caller]
    fn of_run(options: Options) -> TcpSocket {
        let state = Mutex::new(State { options, reserved: None });
        let (host, origin, stand_in) = (Host::current(), Origin::here(), StandIn::default());
        let mark = Wrapped::outside("socket", here());
        TcpSocket(Of::Run(OfRun { host, origin, mark, state, stand_in }))
    }
}

impl OfRun {
    fn into_state(self) -> State {
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
