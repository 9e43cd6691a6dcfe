//! The table of `TcpStream`. Each line is tried in runs, and also on the sockets of the system if they can show it.

use std::io::ErrorKind;

use sim::net::{TcpListener, TcpStream};
use sim::time::{Duration, sleep, timeout};
use sim::{Runner, SIMULATED, net, node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::tcp::pair;
use super::{on_the_system, passes};

/// A line of the table.
struct Line {
    /// The beginning of its first column.
    what: &'static str,
    /// True if the line needs nodes that die or links that are cut. Dying nodes and cut links exist only in runs.
    is_of_runs: bool,
    /// The results of successive calls.
    seen: &'static [&'static str],
}

const fn both(what: &'static str, seen: &'static [&'static str]) -> Line {
    Line { what, is_of_runs: false, seen }
}

const fn in_runs(what: &'static str, seen: &'static [&'static str]) -> Line {
    Line { what, is_of_runs: true, seen }
}

/// The lines, in the order of the table.
const LINES: &[Line] = &[
    both("`connect`", &["open", "ConnectionRefused"]),
    both("write", &["64 KiB", "waits", "room", "ok"]),
    both("read", &["waits", "2", "1"]),
    both("`shutdown`, drop", &["BrokenPipe", "1", "0", "ok", "1", "0"]),
    both("drop with unread bytes", &["5", "ConnectionReset", "0", "BrokenPipe", "0"]),
    both("write to a side that is gone", &["ok", "BrokenPipe", "BrokenPipe", "0", "0"]),
    both("write after a reset", &["ConnectionReset", "BrokenPipe", "0"]),
    in_runs("[`kill`]", &["4", "0", "ok", "BrokenPipe", "ConnectionRefused"]),
    in_runs("[`power_off`]", &["ok", "waits", "TimedOut", "BrokenPipe", "ok", "ConnectionReset"]),
    in_runs("no writes while", &["waits", "TimedOut"]),
    in_runs("[`cut`]", &["waits", "4", "TimedOut"]),
];

/// Longer than an answer takes on the loopback device.
const MOMENT: Duration = Duration::from_millis(50);

fn told<T>(result: std::io::Result<T>, ok: impl Fn(T) -> String) -> String {
    result.map_or_else(|error| format!("{:?}", error.kind()), ok)
}

async fn read(stream: &mut TcpStream, room: usize) -> String {
    told(stream.read(&mut vec![0; room]).await, |count| count.to_string())
}

async fn write(stream: &mut TcpStream) -> String {
    let written = told(stream.write(b"x").await, |_| "ok".to_owned());
    // The answer comes back.
    sleep(MOMENT).await;
    written
}

async fn within<T>(time: Duration, call: impl Future<Output = T>) -> String {
    match timeout(time, call).await {
        Ok(_) => "ends".to_owned(),
        Err(_) => "waits".to_owned(),
    }
}

/// Writes until there is no more room.
fn fill(stream: &TcpStream) -> (usize, ErrorKind) {
    let mut sent = 0;
    loop {
        match stream.try_write(&[7; 1 << 16]) {
            Ok(count) => sent += count,
            Err(error) => return (sent, error.kind()),
        }
    }
}

/// Tries a line, and returns the results of its calls.
async fn observe(what: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut see = |text: String| seen.push(text);
    match what {
        "`connect`" => {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            see(told(TcpStream::connect(addr).await, |_| "open".to_owned()));
            drop(listener);
            see(told(TcpStream::connect(addr).await, |_| "open".to_owned()));
        }
        "write" => {
            let (mut client, mut server) = pair().await;
            client.writable().await.unwrap();
            let (sent, error) = fill(&client);
            see(if sent >= 1 << 16 { "64 KiB".to_owned() } else { sent.to_string() });
            see(within(MOMENT, client.writable()).await);
            assert_eq!(error, ErrorKind::WouldBlock);
            let mut left = sent;
            while left > 0 {
                left -= server.read(&mut vec![0; 1 << 16]).await.unwrap();
            }
            client.writable().await.unwrap();
            see("room".to_owned());
            see(write(&mut client).await);
        }
        "read" => {
            let (mut client, mut server) = pair().await;
            see(within(MOMENT, server.read(&mut [0])).await);
            client.write_all(b"ab").await.unwrap();
            client.write_all(b"c").await.unwrap();
            sleep(MOMENT).await;
            see(read(&mut server, 2).await);
            see(read(&mut server, 8).await);
        }
        "`shutdown`, drop" => {
            let (mut client, mut server) = pair().await;
            client.write_all(b"x").await.unwrap();
            client.shutdown().await.unwrap();
            see(write(&mut client).await);
            see(read(&mut server, 8).await);
            see(read(&mut server, 8).await);
            // The other direction is open.
            see(write(&mut server).await);
            drop(server);
            see(read(&mut client, 8).await);
            see(read(&mut client, 8).await);
        }
        "drop with unread bytes" => {
            for zero_linger in [false, true] {
                let (mut client, mut server) = pair().await;
                server.write_all(b"early").await.unwrap();
                if zero_linger {
                    server.set_zero_linger().unwrap();
                } else {
                    client.write_all(b"unread").await.unwrap();
                }
                sleep(MOMENT).await;
                drop(server);
                sleep(MOMENT).await;
                let mut found = Vec::new();
                for _ in 0..3 {
                    found.push(read(&mut client, 8).await);
                }
                found.push(write(&mut client).await);
                found.push(read(&mut client, 8).await);
                match zero_linger {
                    true => assert_eq!(found, seen),
                    false => seen = found,
                }
            }
        }
        "write to a side that is gone" => {
            for reads_first in [false, true] {
                let (mut client, server) = pair().await;
                drop(server);
                sleep(MOMENT).await;
                if reads_first {
                    assert_eq!(read(&mut client, 8).await, "0");
                }
                let mut found = Vec::new();
                for _ in 0..3 {
                    found.push(write(&mut client).await);
                }
                for _ in 0..2 {
                    found.push(read(&mut client, 8).await);
                }
                match reads_first {
                    true => assert_eq!(found, seen),
                    false => seen = found,
                }
            }
        }
        "write after a reset" => {
            let (mut client, server) = pair().await;
            server.set_zero_linger().unwrap();
            drop(server);
            sleep(MOMENT).await;
            see(write(&mut client).await);
            see(write(&mut client).await);
            see(read(&mut client, 8).await);
        }
        _ => return observe_in_run(what).await,
    }
    seen
}

/// Tries a line about nodes and links.
async fn observe_in_run(what: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut see = |text: String| seen.push(text);
    let [a, b] = ["a", "b"].map(node);
    let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
    let mut client = a.enter(|| TcpStream::connect("b:7")).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let connect = || a.enter(|| TcpStream::connect("b:7"));
    let begin = sim::time::Instant::now();
    match what {
        "[`kill`]" => {
            server.write_all(b"last").await.unwrap();
            b.kill();
            see(read(&mut client, 8).await);
            see(read(&mut client, 8).await);
            see(write(&mut client).await);
            see(write(&mut client).await);
            see(told(connect().await, |_| "open".to_owned()));
        }
        "[`power_off`]" => {
            b.power_off();
            see(write(&mut client).await);
            fill(&client);
            see(within(60 * Duration::from_secs(1), client.writable()).await);
            see(read(&mut client, 8).await);
            assert_eq!(begin.elapsed().as_secs(), 924);
            see(write(&mut client).await);
            b.restart();
            let listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
            let mut client = connect().await.unwrap();
            let accepted = listener.accept().await.unwrap();
            b.power_off();
            b.restart();
            see(write(&mut client).await);
            see(read(&mut client, 8).await);
            drop(accepted);
        }
        "no writes while" => {
            let socket = a.enter(|| sim::net::TcpSocket::new_v4()).unwrap();
            socket.set_keepalive(true).unwrap();
            let mut asks =
                a.enter(|| socket.connect(std::net::SocketAddr::new(b.addr(), 7))).await.unwrap();
            net::isolate(&b);
            see(within(Duration::from_secs(100_000), client.read(&mut [0])).await);
            see(read(&mut asks, 8).await);
        }
        "[`cut`]" => {
            net::cut(&a, &b);
            client.write_all(b"late").await.unwrap();
            see(within(Duration::from_secs(900), server.read(&mut [0])).await);
            net::heal();
            see(read(&mut server, 8).await);
            net::cut(&a, &b);
            client.write_all(b"lost").await.unwrap();
            see(read(&mut client, 8).await);
        }
        _ => panic!("no test tries the line {what} of the table of TcpStream"),
    }
    seen
}

/// The first column of each line of the table.
fn table() -> Vec<&'static str> {
    let manual = include_str!("../../../src/net/sockets/tcp/tcp_stream.rs");
    let lines = manual.lines().skip_while(|line| *line != "/// | what | in a run |").skip(2);
    let rows = lines.map_while(|line| line.strip_prefix("/// | "));
    rows.map(|row| row.split(" | ").next().unwrap()).collect()
}

#[test]
fn each_line_of_the_table_is_so_in_runs_and_on_the_system() {
    let table = table();
    assert_eq!(table.len(), LINES.len(), "{table:?}");
    for (row, line) in table.iter().zip(LINES) {
        assert!(row.starts_with(line.what), "the table has {row}, the test {}", line.what);
        if SIMULATED {
            let run = async || assert_eq!(observe(line.what).await, line.seen, "{row}");
            passes(&Runner::new().hermetic().seeds(0..20).run(run));
        }
        if cfg!(target_os = "linux") && !line.is_of_runs {
            on_the_system(async || {
                assert_eq!(observe(line.what).await, line.seen, "{row}, on the system");
            });
        }
    }
}
