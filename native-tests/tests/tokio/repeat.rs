//! Equal seeds give equal runs: in one process, and in two processes.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time;

use super::{on_one_thread, on_workers};

/// The file for the observations of the runs, because their memory ends with them.
const SEEN: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/tokio_repeat");

/// A server with two clients, timers and blocking work. Every value that it sees goes into the file.
async fn program() {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    sender.send(format!("at {address}")).unwrap();
    for letter in [b'a', b'b'] {
        let sender = sender.clone();
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            sender.send(format!("from {}", stream.local_addr().unwrap())).unwrap();
            stream.write_all(&[letter; 2]).await.unwrap();
            sender.send(format!("got {}", stream.read_u8().await.unwrap())).unwrap();
        });
    }
    for _ in 0..2 {
        let sender = sender.clone();
        let (mut stream, from) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut request = [0; 8];
            let size = stream.read(&mut request).await.unwrap();
            sender.send(format!("{from} sent {:?}", &request[..size])).unwrap();
            let number = tokio::task::spawn_blocking(move || request[0]).await.unwrap();
            time::sleep(Duration::from_millis(number.into())).await;
            stream.write_all(&[number]).await.unwrap();
        });
    }
    drop(sender);
    let mut text = String::new();
    while let Some(line) = seen.recv().await {
        text += &line;
        text += "; ";
    }
    text += "\n";
    let mut file = OpenOptions::new().create(true).append(true).open(SEEN).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// The observations of the runs of 20 seeds on each runtime, with the numbers of their steps.
fn seen() -> (Vec<u64>, String) {
    let _ = fs::remove_file(SEEN);
    // Runs of several processes would add their lines in any order.
    let runner = sim::Runner::new().hermetic().seeds(0..20).jobs(1);
    let bodies: [fn(); 2] = [|| on_one_thread(program()), || on_workers(program())];
    let reports = bodies.map(|body| runner.run_native(body));
    reports.iter().for_each(|report| assert!(report.passed(), "{report:?}"));
    (reports.map(|report| report.steps).to_vec(), fs::read_to_string(SEEN).unwrap())
}

#[test]
fn equal_seeds_are_equal_runs() {
    let first = seen();
    assert!(first.1.lines().collect::<BTreeSet<_>>().len() > 10, "the seeds differ");
    assert_eq!(first, seen());
    let program = std::env::current_exe().unwrap();
    let name = concat!(module_path!(), "::prints_what_runs_see");
    let name = name.split_once("::").unwrap().1;
    let mut child = Command::new(program);
    let ended = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    let printed = String::from_utf8(ended.output().unwrap().stdout).unwrap();
    assert!(printed.contains(&format!("{first:?}")), "{printed}\n{first:?}");
    assert!(Path::new(SEEN).exists());
}

const CHILD: &str = "TOKIO_REPEAT_CHILD";

#[test]
fn prints_what_runs_see() {
    if std::env::var_os(CHILD).is_some() {
        println!("{:?}", seen());
    }
}
