//! Listeners, and the connections in their backlog.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use super::connection::Connection;
use super::end::Endpoint;
use super::socket::TcpOptions;
use super::tcp_stream::TcpStream;
use crate::net::fabric::Host;
use crate::net::inbox::Inbox;
use crate::net::sockets::addresses::{self, ToSocketAddrs};
use crate::net::sockets::descriptors::{StandIn, has_descriptor};
use crate::net::sockets::kinds::{Of, two_kinds};
use crate::net::sockets::ports::{self, Bound, Port, Ports, Protocol};
use crate::net::sockets::{OF_RUN, Origin, outside, refuse};
use crate::run::op::{Access, Op, net};
use crate::seam::{self, GuardedCall, Here, here};

const ACCEPT: [Op; 2] = Op::of_kind("accept", Access::Wait, net::TAKE).guarded();
const OPTION: Op = Op::of_kind("option", Access::Tell, net::SET).quiet();

/// The default maximum number of connections in a backlog.
const ROOM: usize = 128;

/// A connection that is not accepted yet.
pub(in crate::net::sockets) struct Accepted(pub(super) Arc<Connection>);

/// The backlog of a listener: connections that are not accepted yet.
pub(in crate::net::sockets) struct Backlog {
    pub(super) inbox: Inbox<Accepted>,
    /// The options of the connections.
    pub(super) options: TcpOptions,
    room: usize,
    port: Arc<Port>,
    addr: SocketAddr,
}

impl Backlog {
    pub(super) fn is_full(&self) -> bool {
        self.inbox.is_full(self.room)
    }

    /// Closes the backlog, because the listener is gone. Resets the connections, unless the kernel
    /// is also gone and cannot send resets.
    pub(in crate::net::sockets) fn close(&self, tells: bool, here: Here) {
        while let Some(Accepted(connection)) = self.inbox.try_take() {
            if tells {
                connection.close(1, true, here);
            }
        }
        self.inbox.close(true);
    }
}

/// A socket that listens for connections, like `tokio::net::TcpListener`.
///
/// In a run it belongs to the node of the code that binds it. For the client, a connection is established
/// before it is accepted. At most 128 connections wait to be accepted. When the listener is dropped, waiting
/// connections are reset.
///
/// ```
/// use sim::net::{TcpListener, TcpStream};
/// use futures::{AsyncReadExt, AsyncWriteExt};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let server = db.spawn(async {
///     let listener = TcpListener::bind("0.0.0.0:7000").await.unwrap();
///     let (mut stream, _) = listener.accept().await.unwrap();
///     stream.write_all(b"welcome").await.unwrap();
/// });
/// sim::time::sleep(sim::time::Duration::from_secs(1)).await;
/// let mut stream = TcpStream::connect("db-1:7000").await.unwrap();
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "welcome");
/// server.await.unwrap();
/// # });
/// # assert!(report.passed());
/// ```
pub struct TcpListener(Of<Listener, tokio::net::TcpListener>);

struct Listener {
    backlog: Arc<Backlog>,
    origin: Origin,
    /// The pending call of [`TcpListener::poll_accept`].
    call: Mutex<GuardedCall>,
    ttl: AtomicU32,
    stand_in: StandIn,
    here: Here,
}

has_descriptor!(TcpListener);

impl Drop for Listener {
    fn drop(&mut self) {
        if self.origin.tells() {
            self.backlog.port.unbind(&Bound::Backlog(self.backlog.clone()), self.here);
            self.backlog.close(true, self.here);
        }
    }
}

impl Listener {
    /// Reads or sets an option.
    fn option<T>(&self, does: impl FnOnce(&AtomicU32) -> T, here: Here) -> io::Result<T> {
        self.origin.check(here)?;
        Ok(self.backlog.port.mark.act(&OPTION, here, || does(&self.ttl)))
    }

    fn poll(&self, call: &mut GuardedCall, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        self.origin.check(self.here)?;
        let inbox = &self.backlog.inbox;
        call.poll(
            inbox,
            cx,
            |_| outside(),
            || match inbox.try_take() {
                Some(Accepted(connection)) => {
                    let options = (self.backlog.options, None);
                    Ok(TcpStream::of_run(Endpoint::new(connection, 1, options, self.here)))
                }
                // The node is dead; otherwise this call would have been dropped.
                None => Err(io::ErrorKind::NotConnected.into()),
            },
        )
    }
}

/// A pending call that accepts.
struct Accepting<'a> {
    listener: &'a Listener,
    call: GuardedCall,
}

impl Drop for Accepting<'_> {
    fn drop(&mut self) {
        let Accepting { listener, call } = self;
        call.leave(&listener.backlog.inbox, listener.here);
    }
}

impl TcpListener {
    /// Binds an address: `0.0.0.0:7000`, or a host name with a port. Port 0 selects a free port. This call is not a
    /// point in a run.
    ///
    /// ```
    /// use sim::net::TcpListener;
    /// use std::io::ErrorKind;
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
    /// let error = TcpListener::bind("127.0.0.1:7000").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AddrInUse);
    /// drop(listener);
    /// assert!(TcpListener::bind("127.0.0.1:7000").await.is_ok());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the port is in use at this address, or the address belongs to another host.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(addr: A) -> impl Future<Output = io::Result<TcpListener>> {
        let (destination, here, host) = (addr.destination(), here(), Host::current());
        addresses::each((destination, here), move |addr| async move {
            match seam::in_run() {
                true => bind(host, addr, (TcpOptions::NONE, ROOM), here),
                false => Ok(TcpListener(Of::Real(tokio::net::TcpListener::bind(addr).await?))),
            }
        })
    }

    two_kinds! {
        check_outside;

        /// Accepts the next connection. This call is a point. Waits if no connection is available. Cancel safe.
        ///
        /// ```
        /// use sim::net::{TcpListener, TcpStream};
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:7000").await.unwrap();
        /// // For the client, the connection is established before the server accepts it.
        /// let client = TcpStream::connect("127.0.0.1:7000").await.unwrap();
        /// let (_server, from) = listener.accept().await.unwrap();
        /// assert_eq!(from, client.local_addr().unwrap());
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// If the listener belongs to another run.
        #[track_caller]
        pub fn accept(
            &self,
        ) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send + use<'_> {
            async |run, here| {
                let call = GuardedCall::new(&ACCEPT, here);
                let mut accepting = Accepting { listener: run, call };
                with_peer(poll_fn(|cx| run.poll(&mut accepting.call, cx)).await?)
            };
            async |real| with_peer(TcpStream::of_system(real.accept().await?.0))
        }

        /// Like [`accept`](Self::accept), but only one task at a time may wait.
        #[track_caller]
        pub fn poll_accept(
            &self,
            cx: &mut Context<'_>,
        ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
            |run, _here| {
                let mut call = run.call.lock().unwrap_or_else(PoisonError::into_inner);
                run.poll(&mut call, cx).map(|stream| with_peer(stream?))
            };
            |real| real.poll_accept(cx).map(|accepted| with_peer(TcpStream::of_system(accepted?.0)))
        }
    }

    two_kinds! {
        /// Returns the local address.
        ///
        /// ```
        /// use sim::net::{TcpListener, TcpStream};
        ///
        /// # if !sim::SIMULATED { return }
        /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        /// let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        /// let addr = listener.local_addr().unwrap();
        /// assert!(addr.port() >= 49_152);
        /// assert!(TcpStream::connect(addr).await.is_ok());
        /// # });
        /// # assert!(report.passed());
        /// ```
        ///
        /// # Errors
        /// Outside of runs, the errors of the operating system.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            |run, _here| Ok(run.backlog.addr)
        }

        /// Returns the hop limit of sent packets. The limit has no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating
        /// system.
        #[track_caller]
        pub fn ttl(&self) -> io::Result<u32> {
            |run, here| run.option(|ttl| ttl.load(Relaxed), here)
        }

        /// Sets the hop limit of sent packets. The limit has no effect in a run.
        ///
        /// # Errors
        /// If the socket belongs to another run; outside of runs, the errors of the operating
        /// system.
        #[track_caller]
        pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
            |run, here| run.option(|own| own.store(ttl, Relaxed), here)
        }

        /// Converts the listener to a listener of std. Only outside of runs.
        ///
        /// # Errors
        /// Always fails in a run.
        #[track_caller]
        pub fn into_std(self) -> io::Result<std::net::TcpListener> {
            |_run, here| Err(refuse(OF_RUN, here))
        }
    }

    pub(super) fn of_system(listener: tokio::net::TcpListener) -> TcpListener {
        TcpListener(Of::Real(listener))
    }

    /// Creates a listener from a listener of std. Only outside of runs.
    ///
    /// # Errors
    /// Always fails in a run.
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        if seam::in_run() {
            return Err(refuse(LISTENER_OF_SYSTEM, here()));
        }
        tokio::net::TcpListener::from_std(listener).map(|real| TcpListener(Of::Real(real)))
    }
}

fn with_peer(stream: TcpStream) -> io::Result<(TcpStream, SocketAddr)> {
    let peer = stream.peer_addr()?;
    Ok((stream, peer))
}

/// The error message for a std listener that is used in a run.
const LISTENER_OF_SYSTEM: &str = "a listener of the system is used in a run: bind it by sim::net::TcpListener::bind \
                                  (that of tokio::net, over unpause-tokio), and hand that on (in tonic by \
                                  serve_with_incoming)";

pub(super) fn bind(
    host: Host,
    addr: SocketAddr,
    (options, room): (TcpOptions, usize),
    here: Here,
) -> io::Result<TcpListener> {
    let mut bound = None;
    let make = |port: Arc<Port>, addr| {
        let inbox = Inbox::at(port.mark.clone(), here);
        let backlog = Arc::new(Backlog { inbox, options, room: room.max(1), port, addr });
        bound = Some(backlog.clone());
        Bound::Backlog(backlog)
    };
    Ports::of_run().bind(host, (Protocol::Tcp, addr), make, (&ports::BIND, here))?;
    let backlog = bound.expect("it was made");
    let call = Mutex::new(GuardedCall::new(&ACCEPT, here));
    let (origin, ttl, stand_in) = (Origin::here(), AtomicU32::new(64), StandIn::default());
    Ok(TcpListener(Of::Run(Listener { backlog, origin, call, ttl, stand_in, here })))
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("addr", &self.local_addr().ok()).finish()
    }
}

impl TryFrom<std::net::TcpListener> for TcpListener {
    type Error = io::Error;

    #[track_caller]
    fn try_from(of_std: std::net::TcpListener) -> io::Result<TcpListener> {
        TcpListener::from_std(of_std)
    }
}
