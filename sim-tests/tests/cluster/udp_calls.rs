//! Datagrams: calls that peek, try or poll, and options, multicast groups and broadcasts.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};

use sim::net::{self, UdpSocket};
use sim::time::{Duration, sleep};
use sim::{Node, Runner, node, spawn};
use tokio::io::{Interest, ReadBuf};

use super::{both, failure, misuse, passes, proves, search};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 0, 0, 7);
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// Returns two sockets that are connected to each other.
async fn pair() -> (UdpSocket, UdpSocket) {
    let one = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    one.connect(other.local_addr().unwrap()).await.unwrap();
    other.connect(one.local_addr().unwrap()).await.unwrap();
    (one, other)
}

#[test]
fn calls_that_look_leave_what_they_see() {
    both(async || {
        let (one, other) = pair().await;
        let (from, mut buffer) = (one.local_addr().unwrap(), [0; 8]);
        assert_eq!(other.try_peek(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(other.try_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        one.send(b"hello").await.unwrap();
        other.readable().await.unwrap();
        assert_eq!(other.peek(&mut buffer).await.unwrap(), 5);
        assert_eq!(other.peek_sender().await.unwrap(), from);
        assert_eq!(other.try_peek_sender().unwrap(), from);
        assert_eq!(other.try_peek_from(&mut buffer[..2]).unwrap(), (2, from));
        assert_eq!(other.recv_from(&mut buffer).await.unwrap(), (5, from));
        assert_eq!(other.try_peek(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn calls_that_poll_and_calls_without_a_wait() {
    both(async || {
        let (one, other) = pair().await;
        let to = other.local_addr().unwrap();
        one.writable().await.unwrap();
        poll_fn(|cx| one.poll_send_ready(cx)).await.unwrap();
        assert_eq!(one.try_send(b"a").unwrap(), 1);
        assert_eq!(poll_fn(|cx| one.poll_send(cx, b"bc")).await.unwrap(), 2);
        assert_eq!(poll_fn(|cx| one.poll_send_to(cx, b"def", to)).await.unwrap(), 3);
        let mut counts = Vec::new();
        for _ in 0..3 {
            poll_fn(|cx| other.poll_recv_ready(cx)).await.unwrap();
            let mut bytes = [0; 8];
            let mut buffer = ReadBuf::new(&mut bytes);
            poll_fn(|cx| other.poll_peek(cx, &mut buffer)).await.unwrap();
            let seen = buffer.filled().len();
            buffer.clear();
            assert_eq!(
                poll_fn(|cx| other.poll_peek_sender(cx)).await.unwrap().port(),
                one.local_addr().unwrap().port()
            );
            poll_fn(|cx| other.poll_recv(cx, &mut buffer)).await.unwrap();
            assert_eq!(buffer.filled().len(), seen);
            counts.push(seen);
        }
        counts.sort();
        assert_eq!(counts, [1, 2, 3]);
        let unconnected = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        unconnected.writable().await.unwrap();
        assert_eq!(unconnected.try_send_to(b"x", to).unwrap(), 1);
        assert!(unconnected.try_send(b"x").is_err());
    });
}

#[test]
fn readiness_and_input_by_functions() {
    both(async || {
        let (one, other) = pair().await;
        let both = Interest::READABLE | Interest::WRITABLE;
        assert!(one.ready(both).await.unwrap().is_writable());
        let read = || other.try_recv(&mut [0; 8]);
        let nothing = other.try_io(Interest::READABLE, read).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let (received, sent) = futures::join!(
            other.async_io(Interest::READABLE, || other.try_recv(&mut [0; 8])),
            one.send(b"hello"),
        );
        assert_eq!((received.unwrap(), sent.unwrap()), (5, 5));
        one.send(b"more").await.unwrap();
        assert!(other.ready(Interest::READABLE).await.unwrap().is_readable());
        assert!(other.take_error().unwrap().is_none());
        drop(other);
        one.send(b"x").await.unwrap();
        sleep(Duration::from_millis(50)).await;
        let error = one.take_error().unwrap().expect("nobody is there");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn options_are_kept() {
    both(async || {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        assert_eq!((socket.broadcast().unwrap(), socket.ttl().unwrap()), (false, 64));
        assert_eq!(
            (socket.multicast_loop_v4().unwrap(), socket.multicast_ttl_v4().unwrap()),
            (true, 1)
        );
        socket.set_broadcast(true).unwrap();
        socket.set_ttl(7).unwrap();
        socket.set_tos_v4(16).unwrap();
        socket.set_multicast_loop_v4(false).unwrap();
        socket.set_multicast_ttl_v4(3).unwrap();
        assert_eq!((socket.broadcast().unwrap(), socket.ttl().unwrap()), (true, 7));
        assert_eq!(
            (socket.multicast_loop_v4().unwrap(), socket.multicast_ttl_v4().unwrap()),
            (false, 3)
        );
        assert_eq!(socket.tos_v4().unwrap(), 16);
    });
}

#[test]
fn groups_are_joined_once_and_left_once() {
    both(async || {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let (local, kind) = (Ipv4Addr::LOCALHOST, |error: std::io::Error| error.kind());
        let no_group = socket.join_multicast_v4([10, 1, 2, 3].into(), local).map_err(kind);
        assert_eq!(no_group, Err(ErrorKind::InvalidInput));
        socket.join_multicast_v4(GROUP, local).unwrap();
        assert_eq!(socket.join_multicast_v4(GROUP, local).map_err(kind), Err(ErrorKind::AddrInUse));
        socket.leave_multicast_v4(GROUP, local).unwrap();
        let left = socket.leave_multicast_v4(GROUP, local).map_err(kind);
        assert_eq!(left, Err(ErrorKind::AddrNotAvailable));
        let all = SocketAddr::from((Ipv4Addr::BROADCAST, 9));
        let denied = socket.send_to(b"x", all).await.map_err(kind);
        assert_eq!(denied, Err(ErrorKind::PermissionDenied));
    });
}

fn nodes() -> [Node; 3] {
    ["a", "b", "c"].map(node)
}

async fn bound(node: &Node) -> UdpSocket {
    node.enter(|| UdpSocket::bind("0.0.0.0:9000")).await.unwrap()
}

fn received(socket: &UdpSocket) -> usize {
    std::iter::from_fn(|| socket.try_recv(&mut [0; 8]).ok()).count()
}

#[cfg_attr(feature = "sim", test)]
fn a_datagram_to_a_group_arrives_at_all_its_members() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let [a, b, c] = nodes();
        let (one, two, three) = (bound(&a).await, bound(&b).await, bound(&c).await);
        one.join_multicast_v4(GROUP, ANY).unwrap();
        two.join_multicast_v4(GROUP, ANY).unwrap();
        let to = SocketAddr::from((GROUP, 9000));
        let send = async || {
            one.send_to(b"x", to).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            [received(&one), received(&two), received(&three)]
        };
        assert_eq!(send().await, [1, 1, 0]);
        one.set_multicast_loop_v4(false).unwrap();
        assert_eq!(send().await, [0, 1, 0], "not at the host of the sender");
        one.set_multicast_ttl_v4(0).unwrap();
        assert_eq!(send().await, [0, 0, 0], "and at no other");
        one.set_multicast_ttl_v4(1).unwrap();
        three.join_multicast_v4(GROUP, ANY).unwrap();
        net::cut(&a, &b);
        assert_eq!(send().await, [0, 0, 1], "each over its link");
        net::heal();
        two.leave_multicast_v4(GROUP, ANY).unwrap();
        c.kill();
        assert_eq!(send().await, [0; 3], "the dead are members of nothing");
        let other = one.send_to(b"x", (GROUP, 9001)).await;
        assert_eq!(other.unwrap(), 1, "of another port, to nobody");
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_joins_before_and_after_each_datagram() {
    let joins = |leaves: bool, wanted: usize| {
        search().run(async || {
            let [a, b, _] = nodes();
            let (one, two) = (bound(&a).await, bound(&b).await);
            if leaves {
                two.join_multicast_v4(GROUP, ANY).unwrap();
            }
            let sending = spawn(async move {
                one.send_to(b"x", (GROUP, 9000)).await.unwrap();
                one
            });
            let joining = spawn(async move {
                match leaves {
                    true => two.leave_multicast_v4(GROUP, ANY).unwrap(),
                    false => two.join_multicast_v4(GROUP, ANY).unwrap(),
                }
                two
            });
            let two = joining.await.unwrap();
            let _one = sending.await.unwrap();
            sleep(Duration::from_secs(1)).await;
            assert_ne!(received(&two), wanted);
        })
    };
    for leaves in [false, true] {
        failure(&joins(leaves, 0));
        failure(&joins(leaves, 1));
        proves(&joins(leaves, 2));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_broadcast_arrives_at_all_hosts() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let [a, b, c] = nodes();
        let (one, two) = (bound(&a).await, bound(&b).await);
        let outside = UdpSocket::bind("0.0.0.0:9000").await.unwrap();
        one.set_broadcast(true).unwrap();
        for to in ["255.255.255.255:9000", "10.255.255.255:9000"] {
            one.send_to(b"x", to).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            assert_eq!([&one, &two, &outside].map(received), [1, 1, 1]);
        }
        // A datagram to a port that never had a socket gets no refusal.
        let three = c.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
        three.set_broadcast(true).unwrap();
        three.connect("255.255.255.255:2").await.unwrap();
        three.send(b"x").await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert!(three.take_error().unwrap().is_none());
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_socket_of_a_run_is_none_of_the_system() {
    let report = Runner::new().hermetic().run(async || {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.into_std().unwrap_err();
    });
    assert!(misuse(&report).contains("none of the system"), "{}", misuse(&report));
}
