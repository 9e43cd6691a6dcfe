//! Connecting: a request crosses the link, and is repeated until the other host replies.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::connection::Connection;
use super::end::Endpoint;
use super::listener::Accepted;
use super::socket::{Reserved, TcpOptions};
use crate::net::fabric::{Fabric, Host, Link};
use crate::net::inbox::Inbox;
use crate::net::sockets::ports::{self, Bound, PairTexts, Port, Ports, Protocol};
use crate::net::sockets::{Origin, addresses, outside};
use crate::run::op::{Access, Op, clock, net};
use crate::seam::{self, Arrival, CallOps, Came, Cargo, GuardedCall, Here, Turn};

const CONNECT: CallOps = CallOps::acting(
    ("connect", "connect"),
    [net::SEND_DATAGRAM, net::SEND_DATAGRAM, net::SEND_DATAGRAM, net::SEND_DATAGRAM],
    CallOps::stop_waiting(net::LOOK),
)
.quiet();
const CONNECTED: [Op; 2] = Op::of_kind("connected", Access::Wait, net::TAKE).guarded();
const ARRIVE: Op = Op::of_kind("arrive", Access::Act, net::ARRIVE);
const ANSWER: Op = Op::of_kind("answer", Access::Tell, net::ARRIVE).quiet();
const WANTED: Op = Op::of_kind("is_wanted", Access::Peek, net::PEER).quiet();
const GIVE_UP: Op = Op::of_kind("give_up", Access::Tell, net::CLOSE).quiet();
const LATER: Op = Op::of_kind("send_again", Access::Peek, clock::READ).quiet();

/// The number of times that a request is sent, as in Linux. The waits between the requests are one, two, four and so on
/// seconds.
const TRIES: u32 = 7;

/// The inbox for the only reply to a request.
type ConnectAnswer = Inbox<io::Result<Arc<Connection>>>;

static NAMES: PairTexts<String> = PairTexts::new();

/// Connects a host to an address.
pub(super) async fn connect(
    from: Host,
    to: SocketAddr,
    (options, reserved): (TcpOptions, Option<Reserved>),
    here: Here,
) -> io::Result<Endpoint> {
    let host = addresses::host(from, to, here)?;
    let ports = Ports::of_run();
    // On the loopback device, each side has the address that the other side used.
    let is_local = to.ip().is_loopback() || to.ip().is_unspecified();
    let to = SocketAddr::new(if to.ip().is_unspecified() { LOOPBACK } else { to.ip() }, to.port());
    let ip = if is_local { to.ip() } else { ports::address(from) };
    // No other socket has the port until the connection is dropped.
    let any = SocketAddr::new(ip, 0);
    let reserve = || Reserved::bind(from, any, &ports::RESERVE, here);
    let reserved = reserved.map_or_else(reserve, Ok)?;
    let addr = match reserved.addr() {
        bound if bound.ip().is_unspecified() => SocketAddr::new(ip, bound.port()),
        bound => bound,
    };
    let ends = [(from, addr.port()), (host, to.port())];
    let name = NAMES.of(ends, |[client, server]| format!("{server} from {client}"));
    let asking = Asking {
        answer: Arc::new(Inbox::new("connection", name, here)),
        origin: Origin::here(),
        here,
    };
    let port = ports.port(host, Protocol::Tcp, to.port(), here);
    let request = Request {
        client: (from, addr),
        options,
        life: from.node().map_or(0, |node| node.life()),
        to,
        links: [(from, host), (host, from)].map(|(a, b)| Fabric::of_run().link(a, b, here)),
        port,
        answer: asking.answer.clone(),
        tries: 0,
        here,
    };
    let mut request = Some(request);
    let mut turn = Turn::new(&CONNECT, here);
    poll_fn(|cx| {
        turn.poll(
            &asking.answer.mark,
            cx,
            |_| {
                if let Some(request) = request.take() {
                    request.links[0].join(here);
                    let not_before = request.links[0].draw_delay(0, here);
                    request.send(not_before);
                }
                Poll::Ready(())
            },
            |()| Came::Done,
        )
    })
    .await;
    let mut call = GuardedCall::new(&CONNECTED, here);
    let connection = poll_fn(|cx| {
        let answer = &*asking.answer;
        let take = || answer.try_take().unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()));
        call.poll(answer, cx, |_| outside(), take)
    })
    .await?;
    Ok(Endpoint::new(connection, 0, (options, Some(reserved)), here))
}

const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A pending call that connects. When the call is dropped, the connection is no longer wanted.
struct Asking {
    answer: Arc<ConnectAnswer>,
    origin: Origin,
    here: Here,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.origin.tells() {
            return;
        }
        self.answer.mark.last(&GIVE_UP, self.here);
        if let Some(Ok(connection)) = self.answer.try_take() {
            connection.close(0, true, self.here);
        }
        self.answer.close(true);
    }
}

/// A connection request in flight.
struct Request {
    client: (Host, SocketAddr),
    options: TcpOptions,
    /// The life number of the client's node.
    life: u64,
    to: SocketAddr,
    /// The links to the server and back.
    links: [Arc<Link>; 2],
    port: Arc<Port>,
    answer: Arc<ConnectAnswer>,
    tries: u32,
    here: Here,
}

impl Request {
    fn send(self, not_before: Option<std::time::Instant>) {
        let (at, route, here) = (self.port.mark.clone(), self.links[0].route(), self.here);
        seam::carry(self, Arrival { op: &ARRIVE, at: &at, route, not_before }, here);
    }

    /// Sends the request again, later.
    fn again(mut self) {
        let wait = Duration::from_secs(1 << self.tries);
        self.tries += 1;
        let not_before = seam::true_deadline(&LATER, wait, self.here);
        self.send(Some(not_before));
    }

    fn answer(&self, answer: io::Result<Arc<Connection>>) {
        self.answer.mark.record(&ANSWER, self.here);
        self.answer.put(answer);
    }

    /// Returns `true` if the connecting process is still alive and waiting.
    fn is_wanted(&self) -> bool {
        let lives = |node: crate::node::Node| node.is_up() && node.life() == self.life;
        self.client.0.node().is_none_or(lives) && !self.answer.is_closed()
    }
}

impl Cargo for Request {
    fn describe(&self) -> Option<String> {
        Some("a request to connect".to_owned())
    }

    fn arrive(self) {
        let here = self.here;
        let is_wanted = self.is_wanted();
        self.answer.mark.record(if is_wanted { &WANTED } else { &ANSWER }, here);
        if !is_wanted {
            return;
        }
        if self.tries == TRIES {
            let name = ports::name(self.port.host);
            let at = self.to;
            let text =
                format!("{name} does not answer at {at}: it is switched off, or the link is cut");
            return self.answer(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
        }
        let is_on = self.port.is_on(here);
        if !is_on || !self.links.iter().all(|link| link.passes(here)) {
            return self.again();
        }
        let Some(Bound::Backlog(backlog)) = self.port.at(self.to.ip()) else {
            let name = ports::name(self.port.host);
            let text = format!("nobody listens on {}, port {} of {name}", self.to, self.to.port());
            return self.answer(Err(io::Error::new(io::ErrorKind::ConnectionRefused, text)));
        };
        if backlog.is_full() {
            return self.again();
        }
        let ends = [self.client, (self.port.host, self.to)];
        let options = [self.options, backlog.options];
        let connection = Connection::new(ends, options, here);
        backlog.inbox.put(Accepted(connection.clone()));
        self.answer(Ok(connection));
    }
}
