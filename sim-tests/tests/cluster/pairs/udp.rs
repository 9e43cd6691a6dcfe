//! Calls on a socket of datagrams.

use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::sync::Arc;

use futures::future::BoxFuture;
use sim::Node;
use sim::net::UdpSocket;
use sim::time::{Duration, sleep, timeout};
use tokio::io::{Interest, ReadBuf};

use super::{Act, World, act, compare, compare_beside};

struct Sockets {
    node: Node,
    /// Connected to the other socket.
    socket: UdpSocket,
    other: UdpSocket,
}

const WORLD: World<Sockets> = World {
    begin: || {
        Box::pin(async {
            let nodes = ["a", "b"].map(sim::node);
            let socket = nodes[0].enter(|| UdpSocket::bind("0.0.0.0:7")).await.unwrap();
            let other = nodes[1].enter(|| UdpSocket::bind("0.0.0.0:7")).await.unwrap();
            socket.connect("b:7").await.unwrap();
            let [node, _] = nodes;
            Sockets { node, socket, other }
        })
    },
    look: |own| {
        Box::pin(async move {
            sleep(Duration::from_secs(1)).await;
            let received = own.other.try_recv(&mut [0; 8]).ok();
            format!("{received:?} {:?}", own.socket.try_recv(&mut [0; 8]).ok())
        })
    },
};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 0, 0, 1);
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// The result of a call that does not wait.
fn at_once<R: std::fmt::Debug + 'static>(
    own: Arc<Sockets>,
    call: fn(&UdpSocket) -> std::io::Result<R>,
) -> BoxFuture<'static, String> {
    Box::pin(async move { format!("{:?}", call(&own.socket).map_err(|error| error.kind())) })
}

/// The result of a call that waits for at most a second.
async fn within<R: std::fmt::Debug>(call: impl Future<Output = std::io::Result<R>>) -> String {
    let ended = timeout(Duration::from_secs(1), call).await;
    format!("{:?}", ended.map(|result| result.map_err(|error| error.kind())))
}

fn sends() -> Vec<Act<Sockets>> {
    vec![
        act("net::UdpSocket::bind", |own| {
            Box::pin(async move {
                let bound = own.node.enter(|| UdpSocket::bind("0.0.0.0:8")).await;
                bound.is_ok().to_string()
            })
        }),
        act("net::UdpSocket::connect", |own| {
            Box::pin(async move { within(own.socket.connect("127.0.0.1:9")).await })
        }),
        act("net::UdpSocket::peer_addr", |own| at_once(own, UdpSocket::peer_addr)),
        act("net::UdpSocket::send", |own| {
            Box::pin(async move { within(own.socket.send(b"a")).await })
        }),
        act("net::UdpSocket::try_send", |own| at_once(own, |socket| socket.try_send(b"bc"))),
        act("net::UdpSocket::send_to", |own| {
            Box::pin(async move { within(own.other.send_to(b"def", "a:7")).await })
        }),
        act("net::UdpSocket::try_send_to", |own| {
            Box::pin(async move {
                let to = (own.node.addr(), 7).into();
                own.other.try_send_to(b"ghij", to).is_ok().to_string()
            })
        }),
        act("net::UdpSocket::take_error", |own| at_once(own, UdpSocket::take_error)),
        act("node::Node::kill", |own| {
            Box::pin(async move {
                own.node.kill();
                String::new()
            })
        }),
    ]
}

fn receives() -> Vec<Act<Sockets>> {
    vec![
        act("net::UdpSocket::send_to", |own| {
            Box::pin(async move { within(own.other.send_to(b"def", "a:7")).await })
        }),
        act("net::UdpSocket::recv", |own| {
            Box::pin(async move { within(own.socket.recv(&mut [0; 8])).await })
        }),
        act("net::UdpSocket::recv_from", |own| {
            Box::pin(async move { within(own.socket.recv_from(&mut [0; 8])).await })
        }),
        act("net::UdpSocket::peek_from", |own| {
            Box::pin(async move { within(own.socket.peek_from(&mut [0; 8])).await })
        }),
        act("net::UdpSocket::readable", |own| {
            Box::pin(async move { within(own.socket.readable()).await })
        }),
        act("net::UdpSocket::try_recv", |own| at_once(own, |own| own.try_recv(&mut [0; 8]))),
        act("net::UdpSocket::try_recv_from", |own| {
            at_once(own, |own| own.try_recv_from(&mut [0; 8]))
        }),
        act("net::UdpSocket::try_peek", |own| at_once(own, |own| own.try_peek(&mut [0; 8]))),
        act("net::UdpSocket::try_peek_from", |own| {
            at_once(own, |own| own.try_peek_from(&mut [0; 8]))
        }),
        act("net::UdpSocket::try_peek_sender", |own| at_once(own, UdpSocket::try_peek_sender)),
    ]
}

/// A call with a buffer, which is a poll.
macro_rules! polls {
    ($call:ident) => {
        |own| {
            Box::pin(async move {
                let mut bytes = [0; 8];
                let mut buffer = ReadBuf::new(&mut bytes);
                within(poll_fn(|cx| own.socket.$call(cx, &mut buffer))).await
            })
        }
    };
}

/// Returns the polls that only one task at a time may call.
fn polls() -> Vec<Act<Sockets>> {
    vec![
        act("net::UdpSocket::poll_send_to", |own| {
            Box::pin(async move {
                let to = (own.node.addr(), 7).into();
                within(poll_fn(|cx| own.other.poll_send_to(cx, b"def", to))).await
            })
        }),
        act("net::UdpSocket::poll_send", |own| {
            Box::pin(async move { within(poll_fn(|cx| own.socket.poll_send(cx, b"gh"))).await })
        }),
        act("net::UdpSocket::poll_recv_from", polls!(poll_recv_from)),
        act("net::UdpSocket::poll_recv", polls!(poll_recv)),
        act("net::UdpSocket::poll_peek_from", polls!(poll_peek_from)),
        act("net::UdpSocket::poll_peek", polls!(poll_peek)),
        act("net::UdpSocket::peek", |own| {
            Box::pin(async move { within(own.socket.peek(&mut [0; 8])).await })
        }),
        act("net::UdpSocket::peek_sender", |own| {
            Box::pin(async move { within(own.socket.peek_sender()).await })
        }),
        act("net::UdpSocket::poll_peek_sender", |own| {
            Box::pin(async move { within(poll_fn(|cx| own.socket.poll_peek_sender(cx))).await })
        }),
        act("net::UdpSocket::ready", |own| {
            Box::pin(async move { within(own.socket.ready(Interest::READABLE)).await })
        }),
        act("net::UdpSocket::poll_recv_ready", |own| {
            Box::pin(async move { within(poll_fn(|cx| own.socket.poll_recv_ready(cx))).await })
        }),
    ]
}

fn options() -> Vec<Act<Sockets>> {
    vec![
        act("net::options!::$get", |own| at_once(own, UdpSocket::ttl)),
        act("net::options!::$set", |own| at_once(own, |own| own.set_ttl(3))),
        act("net::options!::$get", |own| at_once(own, UdpSocket::broadcast)),
        act("net::options!::$set", |own| at_once(own, |own| own.set_broadcast(true))),
        act("net::UdpSocket::send_to", |own| {
            Box::pin(async move { within(own.socket.send_to(b"def", "255.255.255.255:7")).await })
        }),
        act("net::UdpSocket::join_multicast_v4", |own| {
            at_once(own, |own| own.join_multicast_v4(GROUP, ANY))
        }),
        act("net::UdpSocket::leave_multicast_v4", |own| {
            at_once(own, |own| own.leave_multicast_v4(GROUP, ANY))
        }),
        act("net::UdpSocket::send_to", |own| {
            Box::pin(async move { within(own.other.send_to(b"x", "239.0.0.1:7")).await })
        }),
    ]
}

#[test]
fn calls_that_send_datagrams_are_searched_in_each_order() {
    compare(&WORLD, &sends());
}

#[test]
fn calls_that_receive_datagrams_are_searched_in_each_order() {
    compare(&WORLD, &receives());
}

#[test]
fn calls_that_poll_sockets_are_searched_in_each_order() {
    let changes = ["net::UdpSocket::send_to", "net::UdpSocket::connect", "node::Node::kill"];
    let mut others = sends();
    others.retain(|act| changes.contains(&act.name));
    compare_beside(&WORLD, &polls(), &others);
}

#[test]
fn options_and_groups_of_sockets_are_searched_in_each_order() {
    compare(&WORLD, &options());
}
