//! Messages on screens: in the words of the user, bytes as text, ends as such.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sim::{Runner, net, node};

use super::{passes, screen};

/// The number of texts that were made.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Debug)]
#[allow(dead_code, reason = "it is shown")]
enum Message {
    Vote { term: u64 },
}

fn show(message: &Message) -> String {
    SHOWN.fetch_add(1, Relaxed);
    format!("{message:?}")
}

/// Sends a vote over a link and a datagram, and ends the link.
async fn votes(expected: u64) {
    let [a, b] = ["a", "b"].map(node);
    let (sender, mut receiver) = net::link(&a, &b);
    let (datagrams, mut others) = net::datagrams(&a, &b);
    let (plain, mut numbers) = net::link(&a, &b);
    sender.show(show);
    datagrams.show(show);
    let sends = a.spawn(async move {
        sender.send(Message::Vote { term: 1 }).await.unwrap();
        datagrams.send(Message::Vote { term: 2 }).await.unwrap();
        plain.send(7).await.unwrap();
    });
    let term = b.spawn(async move {
        let Some(Message::Vote { term }) = receiver.recv().await else { return 0 };
        let Some(Message::Vote { term: other }) = others.recv().await else { return 0 };
        assert!(receiver.recv().await.is_none() && numbers.recv().await == Some(7));
        term + other
    });
    sends.await.unwrap();
    assert_eq!(term.await.unwrap(), expected);
}

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
fn a_message_is_shown_in_words() {
    passes(&Runner::new().hermetic().seeds(0..50).run(async || votes(3).await));
    assert_eq!(SHOWN.load(Relaxed), 0, "runs that pass make no texts");
    let found = Runner::new().hermetic().seeds(0..5).run(async || votes(4).await);
    assert!(SHOWN.load(Relaxed) > 0);
    let screen = screen(&found);
    for text in [
        "send Vote { term: 1 } to b",
        "send Vote { term: 2 } to b",
        "send the end to b",
        "send to b",
    ] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
    assert!(screen.contains("▶") && screen.contains("Vote { t"), "{screen}");
}

/// Writes, and closes with a byte unread: the other end is reset.
async fn bytes() {
    use sim::net::{TcpListener, TcpStream, UdpSocket};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let [a, b] = ["a", "b"].map(node);
    let listens = b.spawn(async {
        let listener = TcpListener::bind("b:80").await.unwrap();
        let socket = UdpSocket::bind("b:53").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 4];
        let _ = stream.read(&mut bytes).await;
        drop(stream);
        let mut datagram = [0; 9];
        socket.recv_from(&mut datagram).await.unwrap();
    });
    a.spawn(async {
        let mut stream = loop {
            match TcpStream::connect("b:80").await {
                Ok(stream) => break stream,
                Err(_) => sim::time::sleep(sim::time::Duration::from_millis(1)).await,
            }
        };
        stream.write_all(b"GET /\r\n").await.unwrap();
        let mut byte = [0];
        let _ = stream.read(&mut byte).await;
        let socket = UdpSocket::bind("a:0").await.unwrap();
        socket.send_to(b"\x01ask", "b:53").await.unwrap();
    })
    .await
    .unwrap();
    listens.await.unwrap();
    panic!("to be shown");
}

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
fn bytes_are_shown_as_text() {
    let found = Runner::new().hermetic().seeds(0..5).run(async || bytes().await);
    let screen = screen(&found);
    for text in [r#""GET /\r\n""#, r#""\x01ask""#, "send a reset to a"] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
}
