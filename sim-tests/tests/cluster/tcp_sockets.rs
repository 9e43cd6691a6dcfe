//! Sockets before they listen or connect, calls that poll, keep-alive, and retransmission.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::SocketAddr;

use sim::net::{self, TcpListener, TcpSocket, TcpStream};
use sim::run::Failure;
use sim::time::{Duration, Instant, sleep};
use sim::{Node, Runner, node};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, ReadBuf};

use super::tcp::pair;
use super::{both, failure, misuse, passes, proves, search};

const SECOND: Duration = Duration::from_secs(1);

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn a_socket_is_bound_before_it_listens_or_connects() {
    both(async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(local()).unwrap();
        let addr = socket.local_addr().unwrap();
        assert_ne!(addr.port(), 0);
        // The socket does not listen yet.
        let error = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let listener = socket.listen(16).unwrap();
        assert_eq!(listener.local_addr().unwrap(), addr);
        let client = TcpSocket::new_v4().unwrap();
        client.bind(local()).unwrap();
        let own = client.local_addr().unwrap();
        let stream = client.connect(addr).await.unwrap();
        let (_server, from) = listener.accept().await.unwrap();
        assert_eq!((stream.local_addr().unwrap(), from), (own, own));
        let in_use = TcpSocket::new_v4().unwrap().bind(addr).unwrap_err();
        assert_eq!(in_use.kind(), ErrorKind::AddrInUse);
    });
}

/// Eight tasks that connect to port 7, and close the connection at once.
async fn connect_in_eight_tasks() {
    let connects = |_| sim::spawn(async { drop(TcpStream::connect("127.0.0.1:7").await.unwrap()) });
    let tasks: Vec<_> = (0..8).map(connects).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn each_connection_has_a_port_of_its_own() {
    passes(&Runner::new().hermetic().seeds(0..5).run(async || {
        let listener = TcpListener::bind("127.0.0.1:7").await.unwrap();
        let mut open = Vec::new();
        // Several of the 64 tasks try the same port first. The ends of the server stay open.
        for _ in 0..2 {
            let tasks: Vec<_> = (0..8).map(|_| sim::spawn(connect_in_eight_tasks())).collect();
            for _ in 0..64 {
                open.push(listener.accept().await.unwrap());
            }
            for task in tasks {
                task.await.unwrap();
            }
        }
        let clients: BTreeSet<SocketAddr> = open.iter().map(|(_, client)| *client).collect();
        assert_eq!(clients.len(), 128);
    }));
}

#[test]
fn the_port_of_a_connection_is_in_use() {
    both(async || {
        let listener = TcpListener::bind(local()).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let own = stream.local_addr().unwrap();
        let in_use = TcpSocket::new_v4().unwrap().bind(own).unwrap_err();
        assert_eq!(in_use.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn options_of_a_socket_are_those_of_its_connection() {
    both(async || {
        let socket = TcpSocket::new_v4().unwrap();
        assert!(!socket.keepalive().unwrap() && !socket.nodelay().unwrap());
        assert_eq!(socket.linger().unwrap(), None);
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_zero_linger().unwrap();
        assert!(socket.keepalive().unwrap() && socket.nodelay().unwrap());
        assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
        let listener = TcpListener::bind(local()).await.unwrap();
        listener.set_ttl(9).unwrap();
        assert_eq!(listener.ttl().unwrap(), 9);
        let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
        assert!(client.nodelay().unwrap());
        #[allow(deprecated, reason = "code that is older has it")]
        client.set_linger(Some(Duration::ZERO)).unwrap();
        client.set_ttl(8).unwrap();
        assert_eq!(client.ttl().unwrap(), 8);
        let (mut server, _) = listener.accept().await.unwrap();
        drop(client);
        let error = server.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn calls_that_poll_and_calls_of_several_buffers() {
    both(async || {
        let (client, server) = pair().await;
        poll_fn(|cx| client.poll_write_ready(cx)).await.unwrap();
        let parts = [IoSlice::new(b"he"), IoSlice::new(b"llo")];
        assert_eq!(client.try_write_vectored(&parts).unwrap(), 5);
        poll_fn(|cx| server.poll_read_ready(cx)).await.unwrap();
        let mut bytes = [0; 8];
        let mut buffer = ReadBuf::new(&mut bytes);
        assert_eq!(poll_fn(|cx| server.poll_peek(cx, &mut buffer)).await.unwrap(), 5);
        assert_eq!(buffer.filled(), b"hello");
        let (mut one, mut two) = ([0; 2], [0; 9]);
        let parts = &mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(server.try_read_vectored(parts).unwrap(), 5);
        assert_eq!((&one, &two[..3]), (b"he", &b"llo"[..]));
    });
}

#[test]
fn readiness_and_input_by_functions() {
    both(async || {
        let (client, server) = pair().await;
        let both = Interest::READABLE | Interest::WRITABLE;
        assert!(client.ready(both).await.unwrap().is_writable());
        let read = || server.try_read(&mut [0; 8]);
        let nothing = server.try_io(Interest::READABLE, read).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let (received, sent) = futures::join!(
            server.async_io(Interest::READABLE, || server.try_read(&mut [0; 8])),
            client.async_io(Interest::WRITABLE, || client.try_write(b"hello")),
        );
        assert_eq!((received.unwrap(), sent.unwrap()), (5, 5));
        let (read, write) = server.into_split();
        assert!(write.ready(Interest::WRITABLE).await.unwrap().is_writable());
        write.try_write_vectored(&[IoSlice::new(b"back")]).unwrap();
        client.readable().await.unwrap();
        client.try_write(b"x").unwrap();
        assert!(read.ready(Interest::READABLE).await.unwrap().is_readable());
        read.try_read_vectored(&mut [IoSliceMut::new(&mut [0; 4])]).unwrap();
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_search_waits_for_either_of_two_kinds_of_readiness() {
    let report = search().run(async || {
        let (client, server) = pair().await;
        let writing = sim::spawn(async move {
            client.try_write(b"x").unwrap();
            client
        });
        let ready = server.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        assert!(ready.is_readable() || ready.is_writable());
        sim::sometimes!(ready.is_readable(), "it reads");
        sim::sometimes!(ready.is_writable(), "it writes");
        writing.await.unwrap();
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_listener_has_room_for_as_many_as_it_says() {
    let report = Runner::new().hermetic().run(async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(local()).unwrap();
        let listener = socket.listen(1).unwrap();
        let addr = listener.local_addr().unwrap();
        let _first = TcpStream::connect(addr).await.unwrap();
        let second = sim::spawn(TcpStream::connect(addr));
        sleep(SECOND / 2).await;
        assert!(!second.is_finished());
        let _accepted = listener.accept().await.unwrap();
        let _second = second.await.unwrap().unwrap();
    });
    passes(&report);
}

/// Returns both nodes and a connection between them. The node of the server holds the connection; the client may keep
/// it alive.
async fn kept(is_kept_alive: bool) -> ([Node; 2], TcpStream) {
    let [a, b] = ["a", "b"].map(node);
    let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
    let socket = a.enter(TcpSocket::new_v4).unwrap();
    socket.set_keepalive(is_kept_alive).unwrap();
    let client = socket.connect(SocketAddr::new(b.addr(), 7)).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    b.spawn(async move {
        let _both = (listener, server);
        std::future::pending::<()>().await;
    })
    .detach();
    sleep(SECOND).await;
    ([a, b], client)
}

#[cfg_attr(feature = "sim", test)]
fn keep_alive_finds_out_that_the_other_machine_is_gone() {
    let ends = async |restarts: Option<Duration>, cuts: bool, heals: Option<Duration>| {
        let ([a, b], mut client) = kept(true).await;
        let begin = Instant::now();
        let later = |time: Option<Duration>, act: Box<dyn FnOnce() + Send>| {
            sim::spawn(async move {
                if let Some(time) = time {
                    sleep(time).await;
                    act();
                }
            })
            .detach();
        };
        if cuts {
            net::cut(&b, &a)
        } else {
            b.power_off()
        }
        later(restarts, Box::new(move || b.restart()));
        later(heals, Box::new(net::heal));
        let read = sim::time::timeout(30_000 * SECOND, client.read(&mut [0; 8])).await;
        let kind = read.map(|read| read.unwrap_err().kind());
        (kind.ok(), begin.elapsed().as_secs())
    };
    let all = [
        (None, false, None, (Some(ErrorKind::TimedOut), 7200 + 9 * 75)),
        (Some(9 * SECOND), false, None, (Some(ErrorKind::ConnectionReset), 7200)),
        (Some(7300 * SECOND), false, None, (Some(ErrorKind::ConnectionReset), 7350)),
        (None, true, None, (Some(ErrorKind::TimedOut), 7200 + 9 * 75)),
        (None, true, Some(7300 * SECOND), (None, 30_000)),
    ];
    for (restarts, cuts, heals, expected) in all {
        passes(&Runner::new().hermetic().seeds(0..5).run(async || {
            assert_eq!(ends(restarts, cuts, heals).await, expected);
        }));
    }
    // Without keepalive, the client does not notice the error.
    let waits = Runner::new().hermetic().seeds(0..1).run(async || {
        let ([_a, b], mut client) = kept(false).await;
        b.power_off();
        let _ = client.read(&mut [0; 8]).await;
    });
    assert!(matches!(failure(&waits), Failure::Deadlock { .. }));
}

#[cfg_attr(feature = "sim", test)]
fn what_has_no_answer_is_sent_again_and_meets_a_reset() {
    let ends = async |up: Duration| {
        let ([_a, b], mut client) = kept(false).await;
        b.power_off();
        let begin = Instant::now();
        client.write_all(b"into the void").await.unwrap();
        sleep(up).await;
        b.restart();
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        (error.kind(), begin.elapsed().as_secs())
    };
    for (up, again) in [(1, 3), (4, 15), (100, 247)] {
        passes(&Runner::new().hermetic().seeds(0..5).run(async || {
            assert_eq!(ends(up * SECOND).await, (ErrorKind::ConnectionReset, again));
        }));
    }
    passes(&Runner::new().hermetic().seeds(0..5).run(async || {
        assert_eq!(ends(900 * SECOND).await, (ErrorKind::TimedOut, 924));
    }));
}

/// A call that waits for room in a full window, or for an answer after the end of the stream.
#[cfg_attr(feature = "sim", test)]
fn a_call_that_waits_for_a_machine_that_is_off_ends() {
    let ends = async |fills: bool, up: Option<Duration>| {
        let ([_a, b], mut client) = kept(false).await;
        if fills {
            client.write_all(&[0; 1 << 16]).await.unwrap();
            // All bytes arrive.
            sleep(SECOND).await;
        }
        b.power_off();
        let begin = Instant::now();
        if let Some(up) = up {
            let again = async move {
                sleep(up).await;
                b.restart();
            };
            sim::spawn(again).detach();
        }
        let error = match fills {
            true => client.write(b"x").await.unwrap_err(),
            false => {
                client.shutdown().await.unwrap();
                client.read(&mut [0; 8]).await.unwrap_err()
            }
        };
        (error.kind(), begin.elapsed().as_secs())
    };
    let (reset, timed_out) = ((ErrorKind::ConnectionReset, 3), (ErrorKind::TimedOut, 924));
    for fills in [false, true] {
        for (up, wanted) in [(Some(SECOND), reset), (None, timed_out)] {
            passes(&Runner::new().hermetic().seeds(0..5).run(async || {
                assert_eq!(ends(fills, up).await, wanted, "{fills} {up:?}");
            }));
        }
    }
    // After a restart, the machine does not know the connection that the client ends.
    passes(&Runner::new().hermetic().seeds(0..5).run(async || {
        let ([_a, b], mut client) = kept(false).await;
        b.power_off();
        b.restart();
        client.shutdown().await.unwrap();
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn listeners_of_a_run_are_none_of_the_system() {
    let report = Runner::new().hermetic().run(async || {
        TcpListener::bind(local()).await.unwrap().into_std().unwrap_err();
    });
    assert!(misuse(&report).contains("none of the system"), "{}", misuse(&report));
    let report = Runner::new().hermetic().run(async || {
        let of_std = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        TcpListener::from_std(of_std).unwrap_err();
    });
    assert!(misuse(&report).contains("serve_with_incoming"), "{}", misuse(&report));
}

/// Options are set by socket2, as clients of Redis and servers of gRPC do.
#[cfg(unix)]
#[test]
fn a_connection_goes_on_after_its_options_are_set() {
    both(async || {
        let (mut client, mut server) = pair().await;
        socket2::SockRef::from(&server).set_tcp_nodelay(true).unwrap();
        let of_std = client.into_std().unwrap();
        socket2::SockRef::from(&of_std).set_keepalive(true).unwrap();
        client = TcpStream::from_std(of_std).unwrap();
        let (mut other, mut peer) = pair().await;
        other = TcpStream::from_std(other.into_std().unwrap()).unwrap();
        client.write_all(b"one").await.unwrap();
        other.write_all(b"two").await.unwrap();
        let mut bytes = [0; 3];
        server.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"one");
        peer.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"two");
    });
}

#[cfg(unix)]
#[cfg_attr(feature = "sim", test)]
fn a_connection_of_the_system_is_none_of_the_run() {
    let report = Runner::new().hermetic().run(async || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // A number that stood for a connection of the run.
        drop(pair().await.0.into_std().unwrap());
        let real = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        TcpStream::from_std(real).unwrap_err();
    });
    assert!(misuse(&report).contains("of the system is used"), "{}", misuse(&report));
}

/// A socket of the system, as clients of HTTP make them to set options that tokio has not.
fn of_system(bound_to: Option<SocketAddr>) -> TcpSocket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_keepalive(true).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    bound_to.into_iter().for_each(|addr| socket.bind(&addr.into()).unwrap());
    socket.set_nonblocking(true).unwrap();
    TcpSocket::from_std_stream(socket.into())
}

#[test]
fn a_new_socket_of_the_system_becomes_one_of_the_run() {
    both(async || {
        let listener = TcpListener::bind(local()).await.unwrap();
        let socket = of_system(None);
        assert!(socket.keepalive().unwrap() && socket.nodelay().unwrap());
        assert_eq!(socket.linger().unwrap(), None);
        let mut client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, from) = listener.accept().await.unwrap();
        assert_eq!(from, client.local_addr().unwrap());
        client.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 5];
        server.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hello");
        assert!(client.nodelay().unwrap());
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_bound_socket_of_the_system_is_none_of_the_run() {
    let report = Runner::new().hermetic().run(async || {
        drop(of_system(Some(local())));
    });
    assert!(misuse(&report).contains("bound or connected"), "{}", misuse(&report));
}
