//! Connections of nodes that die, over links that are cut, with drawn faults. These tests need simulated runs.
#![cfg(feature = "sim")]

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::Mutex;

use sim::net::{self, Faults, TcpListener, TcpStream};
use sim::time::{Duration, Instant, sleep, timeout};
use sim::{Node, Runner, node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{failure, passes, proves, search};

const SECOND: Duration = Duration::from_secs(1);

/// Returns a node that listens on port 7, its stream, and the stream of the client, which is outside of nodes.
async fn connected(name: &str) -> (Node, TcpListener, TcpStream, TcpStream) {
    let server = node(name);
    let listener = server.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
    let client = TcpStream::connect((name, 7)).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    (server, listener, stream, client)
}

/// The sockets belong to a task of the node.
fn give(server: &Node, sockets: (TcpListener, TcpStream)) {
    server
        .spawn(async move {
            let _sockets = sockets;
            std::future::pending::<()>().await;
        })
        .detach();
}

#[test]
fn the_kernel_of_a_killed_node_closes_its_connections() {
    let report = Runner::new().hermetic().run(async || {
        let (server, listener, mut stream, mut client) = connected("server").await;
        stream.write_all(b"last words").await.unwrap();
        give(&server, (listener, stream));
        sim::task::yield_now().await;
        server.kill();
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"last words");
        client.write_all(b"x").await.unwrap();
        sleep(SECOND).await;
        assert_eq!(client.write(b"y").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        let error = TcpStream::connect("server:7").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        server.power_off();
        let connect = TcpStream::connect("server:7");
        assert!(timeout(SECOND, connect).await.is_err(), "a machine that is off does not answer");
    });
    passes(&report);
}

#[test]
fn a_killed_node_with_bytes_left_unread_resets() {
    let report = Runner::new().hermetic().run(async || {
        let (server, listener, stream, mut client) = connected("server").await;
        client.write_all(b"unread").await.unwrap();
        give(&server, (listener, stream));
        sleep(SECOND).await;
        server.kill();
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
    passes(&report);
}

/// The test must pass with and without a use of the network before the first socket.
#[test]
fn a_killed_node_resets_connections_that_it_has_not_accepted() {
    for is_used_before in [false, true] {
        let report = Runner::new().hermetic().seeds(0..5).run(async || {
            if is_used_before {
                net::faults(Faults::none());
            }
            let server = node("server");
            let _listener = server.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
            let mut client = TcpStream::connect("server:7").await.unwrap();
            server.kill();
            let error = client.read(&mut [0; 8]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        });
        passes(&report);
    }
}

#[test]
fn nobody_tells_of_a_node_that_is_switched_off() {
    let report = Runner::new().hermetic().run(async || {
        let (server, listener, stream, mut client) = connected("server").await;
        give(&server, (listener, stream));
        sleep(SECOND).await;
        server.power_off();
        client.write_all(&[0; 1000]).await.unwrap();
        let mut buffer = [0; 8];
        assert!(timeout(60 * SECOND, client.read(&mut buffer)).await.is_err());
        // The window is full, and no task reads.
        client.write_all(&[0; (1 << 16) - 1000]).await.unwrap();
        assert!(timeout(60 * SECOND, client.write(b"x")).await.is_err());
    });
    passes(&report);
}

#[test]
fn a_node_that_is_up_again_knows_nothing_of_its_connections() {
    let report = Runner::new().hermetic().run(async || {
        let (server, listener, stream, mut client) = connected("server").await;
        give(&server, (listener, stream));
        sleep(SECOND).await;
        server.power_off();
        client.write_all(b"into the void").await.unwrap();
        sleep(SECOND).await;
        server.restart();
        client.write_all(b"hello").await.unwrap();
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        // The server must bind its port again.
        let error = TcpStream::connect("server:7").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let _listener = server.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        TcpStream::connect("server:7").await.unwrap();
    });
    passes(&report);
}

#[test]
fn a_cut_holds_what_was_written() {
    let report = Runner::new().hermetic().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        net::cut(&a, &b);
        client.write_all(b"late").await.unwrap();
        // The other direction is not cut.
        stream.write_all(b"back").await.unwrap();
        let mut four = [0; 4];
        client.read_exact(&mut four).await.unwrap();
        assert!(timeout(60 * SECOND, stream.read(&mut four)).await.is_err());
        net::heal();
        stream.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"late");
    });
    passes(&report);
}

#[test]
fn an_end_that_gets_no_answer_gives_up() {
    for is_cut in [false, true] {
        let report = Runner::new().hermetic().run(async || {
            let [a, b] = ["a", "b"].map(node);
            let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
            let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            give(&b, (listener, stream));
            sleep(SECOND).await;
            let begin = Instant::now();
            if is_cut {
                net::cut(&a, &b)
            } else {
                b.power_off()
            }
            client.write_all(b"hello").await.unwrap();
            let error = client.read(&mut [0; 8]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(begin.elapsed(), 924 * SECOND);
            assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
        passes(&report);
    }
    // A shorter cut is not noticed. A cut is not noticed either if no data is in flight.
    let report = Runner::new().hermetic().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        for (time, writes) in [(900, true), (2000, false)] {
            net::cut(&a, &b);
            if writes {
                client.write_all(b"x").await.unwrap();
            }
            sleep(time * SECOND).await;
            net::heal();
            if !writes {
                client.write_all(b"x").await.unwrap();
            }
            stream.read_exact(&mut [0]).await.unwrap();
        }
    });
    passes(&report);
}

#[test]
fn an_end_counts_from_the_first_bytes_without_an_answer() {
    // The seconds from the cut to the first write.
    for idle in [0, 900, 2000] {
        let report = Runner::new().hermetic().seeds(0..5).run(async || {
            let [a, b] = ["a", "b"].map(node);
            let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
            let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            give(&b, (listener, stream));
            net::cut(&a, &b);
            sleep(idle * SECOND).await;
            let begin = Instant::now();
            client.write_all(b"first").await.unwrap();
            sleep(900 * SECOND).await;
            client.write_all(b"second").await.unwrap();
            let error = client.read(&mut [0; 8]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(begin.elapsed(), 924 * SECOND);
        });
        passes(&report);
    }
    // Another cut starts a new count, from the bytes that it holds.
    let report = Runner::new().hermetic().seeds(0..5).run(async || {
        let [a, b] = ["a", "b"].map(node);
        let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        net::cut(&a, &b);
        client.write_all(b"x").await.unwrap();
        sleep(900 * SECOND).await;
        net::heal();
        stream.read_exact(&mut [0]).await.unwrap();
        net::cut(&a, &b);
        sleep(100 * SECOND).await;
        let begin = Instant::now();
        client.shutdown().await.unwrap();
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!((error.kind(), begin.elapsed()), (ErrorKind::TimedOut, 924 * SECOND));
    });
    passes(&report);
}

/// The time that a connect takes.
async fn connect_takes(addr: &str, from: &Node) -> (io::Result<TcpStream>, Duration) {
    let begin = Instant::now();
    let connected = from.enter(|| TcpStream::connect(addr)).await;
    (connected, begin.elapsed())
}

#[test]
fn a_connect_that_nobody_answers_times_out() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let [a, b] = ["a", "b"].map(node);
        let _listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        for is_cut in [true, false] {
            if is_cut {
                net::cut(&b, &a)
            } else {
                b.power_off()
            }
            let (connected, time) = connect_takes("b:7", &a).await;
            assert_eq!(connected.unwrap_err().kind(), ErrorKind::TimedOut);
            assert_eq!(time, 127 * SECOND);
            net::heal();
        }
    });
    passes(&report);
}

#[test]
fn a_connect_succeeds_when_the_link_is_healed() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let [a, b] = ["a", "b"].map(node);
        let _listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        net::isolate(&b);
        let healer = sim::spawn(async {
            sleep(5 * SECOND).await;
            net::heal();
        });
        let (connected, time) = connect_takes("b:7", &a).await;
        connected.unwrap();
        assert_eq!(time, 7 * SECOND, "requests are sent after 0, 1, 3 and 7 s");
        healer.await.unwrap();
    });
    passes(&report);
}

#[test]
fn a_full_backlog_makes_others_wait() {
    let report = Runner::new().hermetic().seeds(0..3).run(async || {
        let listener = TcpListener::bind("127.0.0.1:7").await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..128 {
            streams.push(TcpStream::connect("127.0.0.1:7").await.unwrap());
        }
        let begin = Instant::now();
        let last = sim::spawn(TcpStream::connect("127.0.0.1:7"));
        sleep(2 * SECOND).await;
        listener.accept().await.unwrap();
        last.await.unwrap().unwrap();
        assert_eq!(begin.elapsed(), 3 * SECOND);
    });
    passes(&report);
}

#[test]
fn reads_and_writes_are_partial_by_choice() {
    let parts = |faults: Faults| {
        let seen = Mutex::new(BTreeSet::new());
        let report = search().run(async || {
            net::faults(faults.clone());
            let (_server, _listener, mut stream, mut client) = connected("server").await;
            let written = client.write(b"abcd").await.unwrap();
            let mut buffer = [0; 8];
            let read = stream.read(&mut buffer).await.unwrap();
            seen.lock().unwrap().insert((written, read));
        });
        proves(&report);
        seen.into_inner().unwrap()
    };
    assert_eq!(parts(Faults::none()), BTreeSet::from([(4, 4)]));
    let all = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3), (4, 4)];
    assert_eq!(parts(Faults::none().partial(1)), BTreeSet::from(all));
}

/// Code that assumes that one read returns a whole message. The fixed twin reads until the message is complete.
async fn message(reads_all: bool) {
    net::faults(Faults::none().partial(2));
    let (_server, _listener, mut stream, mut client) = connected("server").await;
    client.write_all(b"transfer 100").await.unwrap();
    client.shutdown().await.unwrap();
    let mut text = vec![0; 64];
    let count = match reads_all {
        true => {
            text.clear();
            stream.read_to_end(&mut text).await.unwrap()
        }
        false => stream.read(&mut text).await.unwrap(),
    };
    assert_eq!(&text[..count], b"transfer 100");
}

#[test]
fn code_that_takes_one_read_for_one_message_is_found() {
    failure(&Runner::new().hermetic().run(async || message(false).await));
    passes(&Runner::new().hermetic().run(async || message(true).await));
}

#[test]
fn connections_are_reset_by_choice() {
    let seen = Mutex::new(BTreeSet::new());
    let reset = |faults: Faults| {
        let report = search().run(async || {
            net::faults(faults.clone());
            let (_server, _listener, mut stream, mut client) = connected("server").await;
            client.write_all(b"x").await.unwrap();
            let read = stream.read(&mut [0; 8]).await.map_err(|error| error.kind());
            let after = client.write(b"y").await.map_err(|error| error.kind());
            assert_eq!(read.is_ok(), after.is_ok());
            seen.lock().unwrap().insert(format!("{read:?}"));
        });
        proves(&report);
        std::mem::take(&mut *seen.lock().unwrap()).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(reset(Faults::none()), ["Ok(1)"]);
    assert_eq!(reset(Faults::none().resets(2)), ["Err(ConnectionReset)", "Ok(1)"]);
}

/// A server is killed at each of its points: its client reads a prefix of the written data.
async fn killed_while_it_writes() -> usize {
    let (server, listener, mut stream, mut client) = connected("server").await;
    server
        .spawn(async move {
            let _listener = listener;
            for part in [b"ab", b"cd"] {
                let _ = stream.write_all(part).await;
            }
            std::future::pending::<()>().await;
        })
        .detach();
    let killer = sim::spawn(async move { server.kill() });
    let mut all = Vec::new();
    client.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"abcd"[..all.len()]);
    killer.await.unwrap();
    all.len()
}

#[test]
fn a_search_kills_a_server_at_each_of_its_writes() {
    let seen = Mutex::new(BTreeSet::new());
    let report = search().run(async || {
        let count = killed_while_it_writes().await;
        seen.lock().unwrap().insert(count);
    });
    proves(&report);
    assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([0, 2, 4]));
}

/// Dropped calls lose nothing.
#[test]
fn a_read_that_is_dropped_loses_nothing() {
    let report = search().run(async || {
        let (_server, _listener, mut stream, mut client) = connected("server").await;
        let writer = sim::spawn(async move {
            client.write_all(b"ab").await.unwrap();
            client
        });
        let mut two = [0; 2];
        let polled = futures::FutureExt::now_or_never(stream.read(&mut two));
        match polled {
            Some(count) => assert_eq!(count.unwrap(), 2),
            None => assert_eq!(stream.read_exact(&mut two).await.unwrap(), 2),
        }
        assert_eq!(&two, b"ab");
        writer.await.unwrap();
    });
    proves(&report);
}
