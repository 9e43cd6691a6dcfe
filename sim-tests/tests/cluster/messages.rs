//! Messages on screens: values in the words of the user, bytes as text, ends of streams as ends. This file also tests
//! the destructors of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sim::net::{self, Faults, Latency};
use sim::run::Failure;
use sim::time::{Duration, sleep};
use sim::{Runner, node};

use super::{failure, passes, screen};

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

#[cfg_attr(feature = "sim", test)]
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

#[cfg_attr(feature = "sim", test)]
fn bytes_are_shown_as_text() {
    let found = Runner::new().hermetic().seeds(0..5).run(async || bytes().await);
    let screen = screen(&found);
    for text in [r#""GET /\r\n""#, r#""\x01ask""#, "send a reset to a"] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
}

/// A value that counts how often it is created and dropped, and panics on drop if requested.
struct Counted {
    counts: Arc<[AtomicUsize; 2]>,
    panics: bool,
}

impl Counted {
    fn new(counts: &Arc<[AtomicUsize; 2]>, panics: bool) -> Counted {
        counts[0].fetch_add(1, Relaxed);
        Counted { counts: counts.clone(), panics }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(&self.counts, self.panics)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counts[1].fetch_add(1, Relaxed);
        assert!(!self.panics || std::thread::panicking(), "a message was lost");
    }
}

#[cfg_attr(feature = "sim", test)]
fn messages_that_are_left_on_their_way_are_dropped_once() {
    let late = Faults::none().latency(Latency::exact(Duration::from_secs(9)));
    for faults in [Faults::none(), late] {
        let counts: Arc<[AtomicUsize; 2]> = Arc::default();
        let report = Runner::new().hermetic().seeds(0..20).run(async || {
            net::faults(faults.clone());
            let [a, b] = ["a", "b"].map(node);
            let (sender, _receiver) = net::link(&a, &b);
            let (tosser, _catcher) = net::datagrams(&a, &b);
            net::cut(&a, &b);
            for _ in 0..3 {
                assert!(sender.send(Counted::new(&counts, false)).await.is_ok());
                assert!(tosser.send(Counted::new(&counts, false)).await.is_ok());
            }
        });
        passes(&report);
        let [made, dropped] = [0, 1].map(|at| counts[at].load(Relaxed));
        assert!(made >= 20 * 9, "{made}");
        assert_eq!(made, dropped);
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_panic_of_a_message_that_is_lost_fails_the_run() {
    for panics in [true, false] {
        let report = Runner::new().hermetic().seeds(0..20).run(async || {
            let [a, b] = ["a", "b"].map(node);
            let (sender, receiver) = net::link(&a, &b);
            assert!(sender.send(Counted::new(&Arc::default(), panics)).await.is_ok());
            // The receiver is dropped in the step of the send, so the message finds a closed receiver.
            drop(receiver);
            sleep(Duration::from_secs(1)).await;
        });
        match panics {
            true => {
                let lost = |text: &str| text.contains("a message was lost");
                let is_it = |failure: &Failure| match failure {
                    Failure::Panic { message, task, .. } => lost(message) && task.index() > 0,
                    _ => false,
                };
                assert!(is_it(failure(&report)), "{}", screen(&report));
            }
            false => passes(&report),
        }
    }
}
