//! Reads of state that changes without a point of the reader: searches try them before and after the change.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Mutex as StdMutex;

use sim::net::{self, Latency, TcpListener, TcpSocket, TcpStream, UdpSocket};
use sim::report::Origin;
use sim::task::yield_now;
use sim::time::Duration;
use sim::{Node, Runner, node, spawn};

use super::{failure, passes, proves, search};

fn pair() -> [Node; 2] {
    ["a", "b"].map(node)
}

/// Checks that sampled runs of `body` show these results, and that the search itself finds each of them.
#[track_caller]
fn shows_all<T: Ord + Debug + Clone + Send + Sync>(body: impl AsyncFn() -> T + Sync, all: &[T]) {
    let seen = StdMutex::new(BTreeSet::new());
    passes(&Runner::new().hermetic().seeds(0..500).run(async || {
        let result = body().await;
        seen.lock().unwrap().insert(result);
    }));
    let all: BTreeSet<T> = all.iter().cloned().collect();
    assert_eq!(seen.into_inner().unwrap(), all);
    for result in all {
        let report = search().run(async || assert_ne!(body().await, result));
        failure(&report);
        let origin = report.finding.map(|finding| finding.from);
        assert!(matches!(origin, Some(Origin::Seed(_))), "{result:?} is missed: {origin:?}");
    }
    proves(&search().run(async || drop(body().await)));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_the_number_of_lost_datagrams_change() {
    let lost = async || {
        let [a, b] = pair();
        let (sender, _receiver) = net::datagrams(&a, &b);
        net::cut(&a, &b);
        let sends = a.spawn(async move { sender.send(1).await.unwrap() });
        yield_now().await;
        let met = net::met();
        sends.await.unwrap();
        met
    };
    shows_all(lost, &[0, 1]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_the_number_of_held_messages_change() {
    let held = async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        let sends = a.spawn(async move {
            sender.send(1).await.unwrap();
            sender
        });
        yield_now().await;
        net::cut(&a, &b);
        let early = receiver.try_recv();
        let met = net::met();
        yield_now().await;
        let then = net::met();
        let _sender = sends.await.unwrap();
        (early, met, then)
    };
    shows_all(held, &[(None, 0, 0), (None, 0, 1), (None, 1, 1), (Some(1), 0, 0)]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_a_message_that_is_sent_before_the_end_of_a_cut_or_after_it() {
    let healed = async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        net::cut(&a, &b);
        let sends = a.spawn(async move {
            sender.send(1).await.unwrap();
            sender
        });
        yield_now().await;
        net::mend(&a, &b);
        let _sender = sends.await.unwrap();
        assert_eq!(receiver.recv().await, Some(1));
        net::met()
    };
    shows_all(healed, &[0, 1]);
}

#[cfg_attr(feature = "sim", test)]
fn a_message_that_a_second_cut_of_its_link_holds_counts_once() {
    proves(&search().run(async || {
        let [a, b] = pair();
        let (sender, receiver) = net::link(&a, &b);
        net::cut(&a, &b);
        let sends = a.spawn(async move {
            sender.send(1).await.unwrap();
            sender
        });
        yield_now().await;
        net::isolate(&b);
        let sender = sends.await.unwrap();
        assert_eq!(net::met(), 1);
        net::heal();
        // The message is in flight, or has arrived.
        net::cut(&a, &b);
        assert!((1..=2).contains(&net::met()));
        drop((sender, receiver));
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_the_number_of_delayed_messages_change() {
    for make in [net::link, net::datagrams] {
        let delayed = async || {
            let [a, b] = pair();
            let (sender, _receiver) = make(&a, &b);
            net::clog(&a, &b, Latency::exact(Duration::from_secs(1)));
            let sends = a.spawn(async move {
                sender.send(1).await.unwrap();
                sender
            });
            yield_now().await;
            let delayed = net::delayed();
            sends.await.unwrap();
            delayed
        };
        shows_all(delayed, &[0, 1]);
    }
}

/// A connection within one host: both ends.
async fn connection() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    [stream, listener.accept().await.unwrap().0]
}

/// One task sets a value while another task reads it.
async fn beside<S: Send + Sync + 'static, T>(
    socket: S,
    set: impl FnOnce(&S) + Send + 'static,
    get: impl FnOnce(&S) -> T,
) -> T {
    let socket = std::sync::Arc::new(socket);
    let other = socket.clone();
    let sets = spawn(async move { set(&other) });
    yield_now().await;
    let got = get(&socket);
    sets.await.unwrap();
    got
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_an_option_of_a_connection_change() {
    let ttl = async || {
        let [stream, _other] = connection().await;
        beside(stream, |own| own.set_ttl(9).unwrap(), |own| own.ttl().unwrap()).await
    };
    shows_all(ttl, &[9, 64]);
    let nodelay = async || {
        let [stream, _other] = connection().await;
        beside(stream, |own| own.set_nodelay(true).unwrap(), |own| own.nodelay().unwrap()).await
    };
    shows_all(nodelay, &[false, true]);
    let linger = async || {
        let [stream, _other] = connection().await;
        beside(stream, |own| own.set_zero_linger().unwrap(), |own| own.linger().unwrap()).await
    };
    shows_all(linger, &[None, Some(Duration::ZERO)]);
    let both = async || {
        let [stream, _other] = connection().await;
        beside(
            stream,
            |own| own.set_ttl(9).unwrap(),
            |own| {
                own.set_ttl(8).unwrap();
                own.ttl().unwrap()
            },
        )
        .await
    };
    shows_all(both, &[8]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_an_option_of_a_listener_or_a_socket_change() {
    let ttl = async || {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        beside(listener, |own| own.set_ttl(9).unwrap(), |own| own.ttl().unwrap()).await
    };
    shows_all(ttl, &[9, 64]);
    let keepalive = async || {
        let socket = TcpSocket::new_v4().unwrap();
        let set = |own: &TcpSocket| own.set_keepalive(true).unwrap();
        beside(socket, set, |own| own.keepalive().unwrap()).await
    };
    shows_all(keepalive, &[false, true]);
    let linger = async || {
        let socket = TcpSocket::new_v4().unwrap();
        let set = |own: &TcpSocket| own.set_zero_linger().unwrap();
        beside(socket, set, |own| own.linger().unwrap()).await
    };
    shows_all(linger, &[None, Some(Duration::ZERO)]);
    let port = async || {
        let socket = TcpSocket::new_v4().unwrap();
        let bind = |own: &TcpSocket| own.bind("127.0.0.1:700".parse().unwrap()).unwrap();
        beside(socket, bind, |own| own.local_addr().unwrap().port()).await
    };
    shows_all(port, &[0, 700]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_sees_an_option_or_the_peer_of_a_socket_of_datagrams_change() {
    let ttl = async || {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        beside(socket, |own| own.set_ttl(9).unwrap(), |own| own.ttl().unwrap()).await
    };
    shows_all(ttl, &[9, 64]);
    let peer = async || {
        let socket = std::sync::Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let other = socket.clone();
        let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let connects = spawn(async move { other.connect(to).await.unwrap() });
        yield_now().await;
        let peer = socket.peer_addr().ok().map(|addr| addr.port());
        connects.await.unwrap();
        peer
    };
    shows_all(peer, &[None, Some(9)]);
}
