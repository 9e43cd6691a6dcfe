//! Calls on a connection and its listener.

use std::sync::Arc;

use futures::future::BoxFuture;
use sim::Node;
use sim::net::{TcpListener, TcpSocket, TcpStream};
use sim::time::{Duration, sleep, timeout};

use super::{Act, World, act, compare};

struct Connection {
    server: Node,
    client: Node,
    listener: TcpListener,
    stream: TcpStream,
    peer: TcpStream,
    /// Not connected.
    socket: TcpSocket,
}

const WORLD: World<Connection> = World {
    begin: || {
        Box::pin(async {
            let [server, client] = ["server", "client"].map(sim::node);
            let listener = server.enter(|| TcpListener::bind("0.0.0.0:1")).await.unwrap();
            let stream = TcpStream::connect("server:1").await.unwrap();
            let (peer, _) = listener.accept().await.unwrap();
            let socket = TcpSocket::new_v4().unwrap();
            Connection { server, client, listener, stream, peer, socket }
        })
    },
    look: |own| {
        Box::pin(async move {
            sleep(Duration::from_secs(1)).await;
            let arrived = [&own.stream, &own.peer].map(|end| end.try_read(&mut [0; 8]));
            let arrived = arrived.map(|read| read.map_err(|error| error.kind()));
            format!("{arrived:?}")
        })
    },
};

/// The result of a call that does not wait.
fn at_once<R: std::fmt::Debug + 'static>(
    own: Arc<Connection>,
    call: fn(&Connection) -> std::io::Result<R>,
) -> BoxFuture<'static, String> {
    Box::pin(async move { format!("{:?}", call(&own).map_err(|error| error.kind())) })
}

/// The result of a call that waits for at most a second.
pub(super) async fn within<R: std::fmt::Debug>(
    call: impl Future<Output = std::io::Result<R>>,
) -> String {
    let ended = timeout(Duration::from_secs(1), call).await;
    format!("{:?}", ended.map(|result| result.map_err(|error| error.kind())))
}

fn streams() -> Vec<Act<Connection>> {
    vec![
        act("net::TcpStream::try_write", |own| at_once(own, |own| own.peer.try_write(b"ab"))),
        act("net::TcpStream::try_write_vectored", |own| {
            at_once(own, |own| own.stream.try_write_vectored(&[std::io::IoSlice::new(b"c")]))
        }),
        act("net::TcpStream::try_read", |own| at_once(own, |own| own.stream.try_read(&mut [0; 8]))),
        act("net::TcpStream::try_read_vectored", |own| {
            at_once(own, |own| {
                let buffer = &mut [0; 8];
                own.stream.try_read_vectored(&mut [std::io::IoSliceMut::new(buffer)])
            })
        }),
        act("net::TcpStream::take_error", |own| {
            at_once(own, |own| own.stream.take_error().map(|error| error.map(|error| error.kind())))
        }),
        act("net::TcpStream::nodelay", |own| at_once(own, |own| own.stream.nodelay())),
        act("net::TcpStream::set_nodelay", |own| at_once(own, |own| own.stream.set_nodelay(true))),
        act("net::TcpStream::ttl", |own| at_once(own, |own| own.stream.ttl())),
        act("net::TcpStream::set_ttl", |own| at_once(own, |own| own.stream.set_ttl(3))),
        act("net::TcpStream::linger", |own| at_once(own, |own| own.stream.linger())),
        act("net::TcpStream::set_zero_linger", |own| {
            at_once(own, |own| own.stream.set_zero_linger())
        }),
        act("net::TcpStream::readable", |own| {
            Box::pin(async move { within(own.stream.readable()).await })
        }),
        act("net::TcpStream::writable", |own| {
            Box::pin(async move { within(own.peer.writable()).await })
        }),
        act("net::TcpStream::peek", |own| {
            Box::pin(async move { within(own.stream.peek(&mut [0; 8])).await })
        }),
        act("net::TcpStream::ready", |own| {
            Box::pin(async move {
                let interest = tokio::io::Interest::READABLE | tokio::io::Interest::WRITABLE;
                within(own.stream.ready(interest)).await
            })
        }),
        act("node::Node::kill", |own| to_server(own, Node::kill)),
    ]
}

fn to_server(own: Arc<Connection>, call: fn(&Node)) -> BoxFuture<'static, String> {
    Box::pin(async move {
        call(&own.server);
        String::new()
    })
}

fn to_client(own: Arc<Connection>, call: fn(&Node)) -> BoxFuture<'static, String> {
    Box::pin(async move {
        call(&own.client);
        String::new()
    })
}

/// Connects to the server, and returns `true` if it exists.
async fn connect(to: &'static str) -> String {
    within(TcpStream::connect(to)).await.contains("Ok(Ok").to_string()
}

fn deaths() -> Vec<Act<Connection>> {
    vec![
        act("net::TcpStream::connect", |_| Box::pin(connect("server:1"))),
        act("net::TcpStream::connect", |own| {
            Box::pin(async move {
                let connected = own.client.spawn(connect("server:1")).await;
                connected.unwrap_or_else(|_| "aborted".to_owned())
            })
        }),
        act("node::Node::kill", |own| to_client(own, Node::kill)),
        act("node::Node::power_off", |own| to_client(own, Node::power_off)),
        act("net::TcpListener::accept", |own| {
            Box::pin(
                async move { within(own.listener.accept()).await.contains("Ok(Ok").to_string() },
            )
        }),
        act("net::TcpStream::readable", |own| {
            Box::pin(async move { within(own.stream.readable()).await })
        }),
        act("net::TcpStream::try_write", |own| at_once(own, |own| own.stream.try_write(b"ab"))),
        act("node::Node::kill", |own| to_server(own, Node::kill)),
        act("node::Node::power_off", |own| to_server(own, Node::power_off)),
        act("node::Node::restart", |own| to_server(own, Node::restart)),
        act("node::Node::pause", |own| to_server(own, Node::pause)),
        act("net::isolate", |own| to_server(own, sim::net::isolate)),
    ]
}

fn sockets() -> Vec<Act<Connection>> {
    vec![
        act("net::TcpListener::ttl", |own| at_once(own, |own| own.listener.ttl())),
        act("net::TcpListener::set_ttl", |own| at_once(own, |own| own.listener.set_ttl(3))),
        act("net::TcpListener::bind", |own| {
            Box::pin(async move {
                let bound = own.server.enter(|| TcpListener::bind("0.0.0.0:2")).await;
                sleep(Duration::from_secs(1)).await;
                bound.is_ok().to_string()
            })
        }),
        act("net::TcpStream::connect", |_| Box::pin(connect("server:2"))),
        act("net::TcpStream::connect", |_| Box::pin(connect("server:1"))),
        act("net::TcpListener::accept", |own| {
            Box::pin(
                async move { within(own.listener.accept()).await.contains("Ok(Ok").to_string() },
            )
        }),
        act("net::options!::$get", |own| at_once(own, |own| own.socket.keepalive())),
        act("net::options!::$set", |own| at_once(own, |own| own.socket.set_keepalive(true))),
        act("net::TcpSocket::linger", |own| at_once(own, |own| own.socket.linger())),
        act("net::TcpSocket::set_zero_linger", |own| {
            at_once(own, |own| own.socket.set_zero_linger())
        }),
        act("net::TcpSocket::bind", |own| at_once(own, |own| own.socket.bind(([0; 4], 5).into()))),
        act("net::TcpSocket::local_addr", |own| at_once(own, |own| own.socket.local_addr())),
    ]
}

#[test]
fn calls_on_connections_are_searched_in_each_order() {
    compare(&WORLD, &streams());
}

#[test]
fn calls_on_connections_are_searched_before_and_after_a_death_of_the_server() {
    compare(&WORLD, &deaths());
}

#[test]
fn calls_on_listeners_and_sockets_are_searched_in_each_order() {
    compare(&WORLD, &sockets());
}
