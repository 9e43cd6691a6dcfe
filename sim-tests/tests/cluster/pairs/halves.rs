//! Calls on the halves of a connection, including calls that only poll.

use std::future::poll_fn;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use sim::Node;
use sim::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use sim::net::{TcpListener, TcpSocket, TcpStream};
use sim::time::{Duration, sleep};
use tokio::io::{Interest, ReadBuf};

use super::tcp::within;
use super::{Act, World, act, compare, compare_beside};

struct Halves {
    server: Node,
    listener: TcpListener,
    /// The other end of the halves.
    far: TcpStream,
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

const WORLD: World<Halves> = World {
    begin: || {
        Box::pin(async {
            let server = sim::node("server");
            let listener = server.enter(|| TcpListener::bind("0.0.0.0:1")).await.unwrap();
            let (read, write) = TcpStream::connect("server:1").await.unwrap().into_split();
            let (far, _) = listener.accept().await.unwrap();
            Halves { server, listener, far, read, write }
        })
    },
    look: |own| {
        Box::pin(async move {
            sleep(Duration::from_secs(1)).await;
            let there = own.read.try_read(&mut [0; 8]).map_err(|error| error.kind());
            let here = own.far.try_read(&mut [0; 8]).map_err(|error| error.kind());
            format!("{there:?} {here:?}")
        })
    },
};

/// The result of a call that does not wait.
fn at_once<R: std::fmt::Debug + 'static>(
    own: Arc<Halves>,
    call: fn(&Halves) -> std::io::Result<R>,
) -> BoxFuture<'static, String> {
    Box::pin(async move { format!("{:?}", call(&own).map_err(|error| error.kind())) })
}

fn halves() -> Vec<Act<Halves>> {
    vec![
        act("net::TcpStream::try_write", |own| at_once(own, |own| own.far.try_write(b"ab"))),
        act("net::TcpStream::try_read", |own| at_once(own, |own| own.far.try_read(&mut [0; 8]))),
        act("net::read_half!::try_read", |own| at_once(own, |own| own.read.try_read(&mut [0; 8]))),
        act("net::read_half!::try_read_vectored", |own| {
            at_once(own, |own| own.read.try_read_vectored(&mut [IoSliceMut::new(&mut [0; 8])]))
        }),
        act("net::read_half!::readable", |own| {
            Box::pin(async move { within(own.read.readable()).await })
        }),
        act("net::either_half!::ready", |own| {
            Box::pin(async move { within(own.read.ready(Interest::READABLE)).await })
        }),
        act("net::write_half!::try_write", |own| at_once(own, |own| own.write.try_write(b"c"))),
        act("net::write_half!::try_write_vectored", |own| {
            at_once(own, |own| own.write.try_write_vectored(&[IoSlice::new(b"de")]))
        }),
        act("net::write_half!::writable", |own| {
            Box::pin(async move { within(own.write.writable()).await })
        }),
        act("node::Node::kill", |own| {
            Box::pin(async move {
                own.server.kill();
                String::new()
            })
        }),
    ]
}

/// Returns the polls that only one task at a time may call.
fn polls() -> Vec<Act<Halves>> {
    vec![
        act("net::TcpStream::poll_read_ready", |own| {
            Box::pin(async move { within(poll_fn(|cx| own.far.poll_read_ready(cx))).await })
        }),
        act("net::TcpStream::poll_write_ready", |own| {
            Box::pin(async move { within(poll_fn(|cx| own.far.poll_write_ready(cx))).await })
        }),
        act("net::TcpStream::poll_peek", |own| {
            Box::pin(async move {
                let mut bytes = [0; 8];
                let mut buffer = ReadBuf::new(&mut bytes);
                within(poll_fn(|cx| own.far.poll_peek(cx, &mut buffer))).await
            })
        }),
        act("net::TcpListener::poll_accept", |own| {
            Box::pin(async move {
                let accepts = poll_fn(|cx| own.listener.poll_accept(cx));
                within(accepts).await.starts_with("Ok(Ok").to_string()
            })
        }),
    ]
}

fn others() -> Vec<Act<Halves>> {
    vec![
        act("net::write_half!::try_write", |own| at_once(own, |own| own.write.try_write(b"ab"))),
        act("net::TcpStream::set_linger", |own| {
            #[allow(deprecated, reason = "code that is older has it")]
            at_once(own, |own| own.far.set_linger(Some(Duration::ZERO)))
        }),
        act("net::TcpStream::linger", |own| at_once(own, |own| own.far.linger())),
        act("net::TcpSocket::connect", |own| {
            Box::pin(async move {
                let to = SocketAddr::new(own.server.addr(), 1);
                let connected = within(TcpSocket::new_v4().unwrap().connect(to)).await;
                connected.starts_with("Ok(Ok").to_string()
            })
        }),
        act("net::TcpSocket::listen", |own| {
            Box::pin(async move {
                let listens = own.server.enter(|| {
                    let socket = TcpSocket::new_v4().unwrap();
                    socket.bind(([0; 4], 2).into()).and_then(|()| socket.listen(1))
                });
                sleep(Duration::from_secs(1)).await;
                listens.is_ok().to_string()
            })
        }),
        act("net::TcpStream::connect", |_| {
            Box::pin(async {
                within(TcpStream::connect("server:2")).await.starts_with("Ok(Ok").to_string()
            })
        }),
    ]
}

#[test]
fn calls_on_halves_of_connections_are_searched_in_each_order() {
    compare(&WORLD, &halves());
}

#[test]
fn calls_that_poll_connections_are_searched_in_each_order() {
    compare_beside(&WORLD, &polls(), &others());
    compare(&WORLD, &others());
}
