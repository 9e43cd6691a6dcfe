//! Connections: the effects of their calls, in runs and on the sockets of the system.

use std::io::ErrorKind;
use std::net::SocketAddr;

use sim::net::{TcpListener, TcpStream};
use sim::{Runner, node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{both, misuse, on_the_system, passes, proves, runs, search};

/// Returns both ends of a connection, the end of the client first.
pub(crate) async fn pair() -> (TcpStream, TcpStream) {
    let (listener, addr) = listener().await;
    // The connection exists before the listener accepts it.
    let client = TcpStream::connect(addr).await.unwrap();
    let (server, from) = listener.accept().await.unwrap();
    assert_eq!(from, client.local_addr().unwrap());
    assert_eq!(server.local_addr().unwrap(), client.peer_addr().unwrap());
    (client, server)
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    all
}

#[test]
fn bytes_arrive_in_order_and_joined() {
    both(async || {
        let (mut client, mut server) = pair().await;
        client.write_all(b"one").await.unwrap();
        client.write_all(b"two").await.unwrap();
        let mut six = [0; 6];
        server.read_exact(&mut six).await.unwrap();
        assert_eq!(&six, b"onetwo");
        server.write_all(b"back").await.unwrap();
        drop(server);
        assert_eq!(read_to_end(&mut client).await, b"back");
    });
}

#[test]
fn the_traits_of_futures_are_there() {
    both(async || {
        let (mut client, mut server) = pair().await;
        futures::AsyncWriteExt::write_all(&mut client, b"hello").await.unwrap();
        futures::AsyncWriteExt::close(&mut client).await.unwrap();
        let mut all = Vec::new();
        futures::AsyncReadExt::read_to_end(&mut server, &mut all).await.unwrap();
        assert_eq!(all, b"hello");
    });
}

#[test]
fn a_connection_that_is_shut_down_still_reads() {
    both(async || {
        let (mut client, mut server) = pair().await;
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(client.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(read_to_end(&mut server).await, b"question");
        server.write_all(b"answer").await.unwrap();
        drop(server);
        assert_eq!(read_to_end(&mut client).await, b"answer");
    });
}

#[test]
fn both_close() {
    both(async || {
        let (mut client, mut server) = pair().await;
        client.shutdown().await.unwrap();
        server.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"");
        assert_eq!(read_to_end(&mut server).await, b"");
    });
}

#[test]
fn a_drop_with_bytes_left_unread_resets() {
    both(async || {
        let (mut client, mut server) = pair().await;
        server.write_all(b"early").await.unwrap();
        client.write_all(b"unread").await.unwrap();
        server.readable().await.unwrap();
        drop(server);
        let mut all = Vec::new();
        let error = client.read_to_end(&mut all).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        // The error is reported once.
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn zero_linger_resets() {
    both(async || {
        let (mut client, server) = pair().await;
        server.set_zero_linger().unwrap();
        drop(server);
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn the_first_write_to_one_that_is_gone_succeeds() {
    both(async || {
        let (mut client, server) = pair().await;
        drop(server);
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
        client.write_all(b"first").await.unwrap();
        // The reset arrives.
        sim::time::sleep(sim::time::Duration::from_millis(50)).await;
        assert_eq!(client.write(b"next").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(client.write(b"last").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_write_waits_while_nobody_reads() {
    both(async || {
        let (client, mut server) = pair().await;
        let mut sent = 0;
        client.writable().await.unwrap();
        loop {
            match client.try_write(&[7; 1 << 16]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
            assert!(sent < 1 << 26, "there is no window");
        }
        assert!(sent >= 1 << 16);
        let mut read = 0;
        let mut buffer = vec![0; 1 << 16];
        while read < sent {
            let count = server.read(&mut buffer).await.unwrap();
            assert_eq!((buffer[0], buffer[count - 1]), (7, 7));
            read += count;
        }
        client.writable().await.unwrap();
        client.try_write(b"x").unwrap();
        server.read_exact(&mut [0]).await.unwrap();
    });
}

#[test]
fn calls_without_a_wait() {
    both(async || {
        let (mut client, server) = pair().await;
        let mut buffer = [0; 4];
        assert_eq!(server.try_read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        client.write_all(b"ab").await.unwrap();
        server.readable().await.unwrap();
        assert_eq!(server.peek(&mut buffer).await.unwrap(), 2);
        assert_eq!(server.try_read(&mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"ab");
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        assert!(client.take_error().unwrap().is_none());
    });
}

#[test]
fn halves_of_a_connection() {
    both(async || {
        let (mut client, server) = pair().await;
        let (mut read, mut write) = client.split();
        write.write_all(b"one").await.unwrap();
        let (mut its_read, mut its_write) = server.into_split();
        let mut three = [0; 3];
        its_read.read_exact(&mut three).await.unwrap();
        its_write.write_all(&three).await.unwrap();
        read.read_exact(&mut three).await.unwrap();
        assert_eq!(&three, b"one");
        // The stream ends when the writing half is dropped, and not before.
        let server = its_read.reunite(its_write).unwrap();
        let (its_read, its_write) = server.into_split();
        drop(its_write);
        assert_eq!(client.read(&mut three).await.unwrap(), 0);
        drop(its_read);
        let (_, other) = pair().await;
        let (one, _keep) = client.into_split();
        let (_keep, two) = other.into_split();
        assert!(one.reunite(two).is_err());
    });
}

#[test]
fn a_connection_that_nobody_listens_for_is_refused() {
    both(async || {
        let (listener, addr) = listener().await;
        drop(listener);
        let error = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_listener_that_is_dropped_resets_those_who_wait() {
    both(async || {
        let (listener, addr) = listener().await;
        let mut client = TcpStream::connect(addr).await.unwrap();
        drop(listener);
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_port_in_use_is_an_error() {
    both(async || {
        let (listener, addr) = listener().await;
        let error = TcpListener::bind(addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(listener);
        TcpListener::bind(addr).await.unwrap();
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_port_is_in_use_only_at_its_address() {
    passes(&Runner::new().hermetic().run(async || {
        let a = node("a");
        let own = SocketAddr::new(a.addr(), 80);
        let work = a.spawn(async move {
            let local = TcpListener::bind("127.0.0.1:80").await.unwrap();
            let listener = TcpListener::bind(own).await.unwrap();
            for taken in ["127.0.0.1:80", "0.0.0.0:80"] {
                let error = TcpListener::bind(taken).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::AddrInUse);
            }
            for listener in [&listener, &local] {
                let addr = listener.local_addr().unwrap();
                let _client = TcpStream::connect(addr).await.unwrap();
                let (server, _) = listener.accept().await.unwrap();
                assert_eq!(server.local_addr().unwrap(), addr);
            }
            drop(local);
            let error = TcpStream::connect("127.0.0.1:80").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            TcpStream::connect(own).await.unwrap();
        });
        work.await.unwrap();
    }));
}

#[cfg_attr(feature = "sim", test)]
fn bad_names_are_errors_with_a_remedy() {
    let report = Runner::new().hermetic().run(async || {
        let [a, _b] = ["a", "b"].map(node);
        let unknown = TcpStream::connect("c:1").await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
        assert!(unknown.to_string().contains("sim::node(\"c\")"), "{unknown}");
        let foreign = a.enter(|| TcpListener::bind("b:1")).await.unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::AddrNotAvailable);
        assert!(foreign.to_string().contains("bind 0.0.0.0"), "{foreign}");
        let nowhere = TcpStream::connect("192.0.2.1:1").await.unwrap_err();
        assert_eq!(nowhere.kind(), ErrorKind::HostUnreachable);
        let refused = TcpStream::connect("a:1").await.unwrap_err();
        assert!(refused.to_string().contains("nobody listens"), "{refused}");
        let _listener = a.enter(|| TcpListener::bind("0.0.0.0:1")).await.unwrap();
        let in_use = a.enter(|| TcpListener::bind("a:1")).await.unwrap_err();
        assert!(in_use.to_string().contains("port 0"), "{in_use}");
        // Each node has its own ports, and other nodes cannot reach a port of its loopback device.
        let _other = TcpListener::bind("127.0.0.1:1").await.unwrap();
        let local = a.enter(|| TcpListener::bind("127.0.0.1:2")).await.unwrap();
        assert_eq!(local.local_addr().unwrap().port(), 2);
        assert_eq!(
            TcpStream::connect("a:2").await.unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_socket_of_the_system_is_refused_in_a_run() {
    let kept = std::sync::Mutex::new(None);
    on_the_system(async || *kept.lock().unwrap() = Some(pair().await));
    let report = Runner::new().hermetic().run(async || {
        let kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = kept.as_ref().unwrap().0.try_write(b"x");
    });
    assert!(misuse(&report).contains("a socket of the system"), "{}", misuse(&report));
}

#[cfg_attr(feature = "sim", test)]
fn a_socket_of_another_run_is_refused() {
    let kept = std::sync::Mutex::new(None);
    let one = Runner::new().hermetic().seeds(0..1);
    passes(&one.run(async || *kept.lock().unwrap() = Some(pair().await)));
    let report = Runner::new().hermetic().run(async || {
        let kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = kept.as_ref().unwrap().0.try_write(b"x");
    });
    assert!(misuse(&report).contains("of another run"), "{}", misuse(&report));
}

#[cfg_attr(feature = "sim", test)]
fn a_ping_pong_is_one_class() {
    for rounds in 1..4 {
        let count = runs(async || {
            let b = node("b");
            let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
            let server = b.spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut one = [0];
                while stream.read(&mut one).await.unwrap() > 0 {
                    stream.write_all(&one).await.unwrap();
                }
                (stream, listener)
            });
            let mut stream = TcpStream::connect("b:7").await.unwrap();
            for n in 0..rounds {
                stream.write_all(&[n]).await.unwrap();
                let mut one = [9];
                stream.read_exact(&mut one).await.unwrap();
                assert_eq!(one, [n]);
            }
            stream.shutdown().await.unwrap();
            server.await.unwrap();
        });
        assert_eq!(count, 1, "{rounds} rounds");
    }
}

#[cfg_attr(feature = "sim", test)]
fn streams_with_a_reader_each_are_one_class() {
    for clients in 1..4_u16 {
        let count = runs(async || {
            let server = node("server");
            let mut readers = Vec::new();
            let mut streams = Vec::new();
            for n in 0..clients {
                let bind = server.enter(|| TcpListener::bind(("0.0.0.0", n + 1)));
                let listener = bind.await.unwrap();
                streams.push(TcpStream::connect(("server", n + 1)).await.unwrap());
                let (mut stream, _) = listener.accept().await.unwrap();
                readers.push(server.spawn(async move {
                    let mut two = [0; 2];
                    stream.read_exact(&mut two).await.unwrap();
                    (stream, listener)
                }));
            }
            for stream in &mut streams {
                stream.write_all(b"ab").await.unwrap();
            }
            let mut kept = Vec::new();
            for reader in readers {
                kept.push(reader.await.unwrap());
            }
        });
        assert_eq!(count, 1, "{clients} clients");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_read_sees_each_part_that_may_have_arrived() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let report = search().run(async || {
        let (mut client, mut server) = pair().await;
        let writer = sim::spawn(async move {
            client.write_all(b"ab").await.unwrap();
            client.write_all(b"c").await.unwrap();
            client
        });
        let mut buffer = [0; 8];
        let first = server.read(&mut buffer).await.unwrap();
        seen.lock().unwrap().insert(first);
        writer.await.unwrap();
    });
    proves(&report);
    assert_eq!(seen.into_inner().unwrap().into_iter().collect::<Vec<_>>(), [2, 3]);
}

#[cfg_attr(feature = "sim", test)]
fn connections_are_accepted_in_each_order() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let report = search().run(async || {
        let (listener, addr) = listener().await;
        let clients = [0, 1].map(|n: u8| {
            sim::spawn(async move {
                let mut stream = TcpStream::connect(addr).await.unwrap();
                stream.write_all(&[n]).await.unwrap();
                stream
            })
        });
        let (mut first, _) = listener.accept().await.unwrap();
        let mut one = [9];
        first.read_exact(&mut one).await.unwrap();
        seen.lock().unwrap().insert(one);
        for client in clients {
            client.await.unwrap();
        }
    });
    proves(&report);
    assert_eq!(seen.into_inner().unwrap().into_iter().collect::<Vec<_>>(), [[0], [1]]);
}
