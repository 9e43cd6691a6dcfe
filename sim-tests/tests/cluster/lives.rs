//! A process and its machine: all orders of the calls that end, start or isolate them, compared with a page of rules.
#![cfg(feature = "sim")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Mutex;

use sim::net::{self, Receiver, Sender, TcpListener, TcpStream, UdpSocket};
use sim::time::{Duration, sleep, timeout};
use sim::{Node, Runner, fs, node};

use super::{passes, proves, search};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Kill,
    PowerOff,
    Restart,
    Pause,
    Resume,
    Wipe,
    Isolate,
    Heal,
}

use Call::*;

const CALLS: [Call; 8] = [Kill, PowerOff, Restart, Pause, Resume, Wipe, Isolate, Heal];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Process {
    Runs,
    Paused,
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Disk {
    /// The file contains everything that was written.
    Whole,
    /// The file may have lost unsynced data.
    Torn,
    Empty,
}

/// The rules.
#[derive(Clone, Copy, Debug)]
struct Page {
    process: Process,
    is_on: bool,
    life: u64,
    disk: Disk,
    is_cut_off: bool,
}

impl Page {
    const BEGIN: Page =
        Page { process: Process::Runs, is_on: true, life: 1, disk: Disk::Whole, is_cut_off: false };

    fn after(mut self, call: Call) -> Page {
        match (call, self.process) {
            (Kill, _) => self.process = Process::Dead,
            (PowerOff, _) => {
                if self.is_on && self.disk == Disk::Whole {
                    self.disk = Disk::Torn;
                }
                (self.process, self.is_on) = (Process::Dead, false);
            }
            (Restart, _) => {
                (self.process, self.is_on) = (Process::Runs, true);
                self.life += 1;
            }
            (Pause, Process::Runs) => self.process = Process::Paused,
            (Resume, Process::Paused) => self.process = Process::Runs,
            (Wipe, Process::Dead) => self.disk = Disk::Empty,
            (Isolate, _) => self.is_cut_off = true,
            (Heal, _) => self.is_cut_off = false,
            (Pause | Resume | Wipe, _) => {}
        }
        self
    }

    /// All possible observations.
    fn expects(&self) -> BTreeSet<String> {
        let Page { process, is_on, life, disk, is_cut_off } = *self;
        let (is_up, is_paused) = (process != Process::Dead, process == Process::Paused);
        let calls = match (is_on && !is_cut_off, process) {
            (false, _) => "connect TimedOut, datagram silent, ping sent, silent, sent",
            (true, Process::Dead) => {
                "connect ConnectionRefused, datagram ConnectionRefused, ping sent, silent, refused"
            }
            (true, Process::Runs) => "connect open, datagram silent, ping sent, pong, sent",
            (true, Process::Paused) => "connect open, datagram silent, ping sent, silent, sent",
        };
        let files: &[&str] = match disk {
            Disk::Whole => &["synced 2, cached 1"],
            Disk::Torn => &[
                "synced 2, cached 1",
                "synced 2, cached 0",
                "synced 2, cached ",
                "synced 2, cached -",
            ],
            Disk::Empty => &["synced -, cached -"],
        };
        let state = format!("up {is_up}, paused {is_paused}, life {life}, {calls}");
        files.iter().map(|files| format!("{state}, {files}")).collect()
    }
}

impl Call {
    fn perform(self, node: &Node) {
        match self {
            Kill => node.kill(),
            PowerOff => node.power_off(),
            Restart => node.restart(),
            Pause => node.pause(),
            Resume => node.resume(),
            // Wiping a living process is the caller's error.
            Wipe if node.is_up() => {}
            Wipe => node.wipe(),
            Isolate => net::isolate(node),
            Heal => net::heal(),
        }
    }
}

/// The ends of the links to a life and back.
type Ends = (Sender<()>, Receiver<()>);

/// A node that listens, receives datagrams, and answers each ping. Returns the ends of its last life.
fn server(client: &Node) -> (Node, std::sync::Arc<Mutex<Vec<Ends>>>) {
    let (server, ends) = (node("server"), std::sync::Arc::<Mutex<Vec<Ends>>>::default());
    let (itself, client, all) = (server.clone(), client.clone(), ends.clone());
    server.run(move || {
        let (ping, mut pinged) = net::link(&client, &itself);
        let (pong, ponged) = net::link(&itself, &client);
        all.lock().unwrap().push((ping, ponged));
        async move {
            let _listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
            let _socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
            while let Some(()) = pinged.recv().await {
                let _ = pong.send(()).await;
            }
        }
    });
    (server, ends)
}

async fn write() {
    fs::write("/synced", "2").await.unwrap();
    for path in ["/synced", "/"] {
        fs::File::open(path).await.unwrap().sync_all().await.unwrap();
    }
    fs::write("/cached", "1").await.unwrap();
}

async fn read(path: &str) -> String {
    match fs::read(path).await {
        Ok(bytes) => String::from_utf8(bytes).unwrap().replace('\0', "0"),
        Err(error) if error.kind() == ErrorKind::NotFound => "-".to_owned(),
        Err(error) => panic!("{error}"),
    }
}

/// The answers to a client.
async fn ask((ping, mut ponged): Ends) -> String {
    let connect = match TcpStream::connect("server:7").await {
        Ok(_) => "open".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    socket.connect("server:9").await.unwrap();
    socket.send(b"x").await.unwrap();
    let datagram = match timeout(SECOND, socket.recv(&mut [0])).await {
        Ok(answer) => format!("{:?}", answer.unwrap_err().kind()),
        Err(_) => "silent".to_owned(),
    };
    let sent = |sent: Result<(), _>| if sent.is_ok() { "sent" } else { "refused" };
    let first = sent(ping.send(()).await);
    let pong = timeout(SECOND, ponged.recv()).await;
    // The end of a dead process may have come at once, before the answer to the ping.
    sleep(SECOND).await;
    let pong = if pong == Ok(Some(())) { "pong" } else { "silent" };
    let second = sent(ping.send(()).await);
    format!("connect {connect}, datagram {datagram}, ping {first}, {pong}, {second}")
}

/// Executes the calls one after the other, and observes their effects.
async fn observe(calls: &[Call]) -> String {
    let client = node("client");
    let (server, ends) = server(&client);
    server.spawn(write()).await.unwrap();
    for call in calls {
        sleep(SECOND).await;
        call.perform(&server);
    }
    sleep(SECOND).await;
    let (is_up, is_paused, life) = (server.is_up(), server.is_paused(), server.life());
    let newest = ends.lock().unwrap().pop().unwrap();
    let asked = client.spawn(ask(newest)).await.unwrap();
    server.restart();
    let files = server.spawn(async { (read("/synced").await, read("/cached").await) });
    let (synced, cached) = files.await.unwrap();
    format!(
        "up {is_up}, paused {is_paused}, life {life}, {asked}, synced {synced}, cached {cached}"
    )
}

/// All sequences of up to `length_max` calls.
fn sequences(length_max: u32) -> impl Iterator<Item = Vec<Call>> {
    (0..=length_max).flat_map(|length| {
        (0..CALLS.len().pow(length)).map(move |number| {
            let digit = |at| number / CALLS.len().pow(at) % CALLS.len();
            (0..length).map(|at| CALLS[digit(at)]).collect()
        })
    })
}

#[test]
fn each_order_of_calls_leaves_what_the_rules_say() {
    let (mut programs, mut runs) = (0, 0);
    // Only a few long sequences are tried. Successive sequences differ in their first call, because the step width has
    // no divisor in common with the number of calls.
    let (of_three, of_four) = if sim_tests::histories::long() { (1, 1) } else { (7, 61) };
    let exactly =
        |length: usize| sequences(length as u32).filter(move |calls| calls.len() == length);
    let long = exactly(3).step_by(of_three).chain(exactly(4).step_by(of_four));
    // All drawn values, in one order of the tasks: between the calls, no task can step.
    let draws = Runner::new().hermetic().strategy("delays:0");
    for calls in sequences(2).chain(long) {
        let found = Mutex::new(BTreeSet::new());
        let report = draws.run(async || {
            let seen = observe(&calls).await;
            found.lock().unwrap().insert(seen);
        });
        passes(&report);
        let page = calls.iter().fold(Page::BEGIN, |page, call| page.after(*call));
        assert_eq!(found.into_inner().unwrap(), page.expects(), "{calls:?}");
        (programs, runs) = (programs + 1, runs + report.runs);
    }
    println!("{programs} programs, {runs} runs");
    assert_eq!(programs, 1 + 8 + 64 + 512_usize.div_ceil(of_three) + 4096_usize.div_ceil(of_four));
}

#[test]
fn a_power_failure_after_a_kill_loses_what_was_not_synced() {
    let left = |calls: &[Call]| {
        let found = Mutex::new(BTreeSet::new());
        let report = search().run(async || {
            let server = node("server");
            server.spawn(write()).await.unwrap();
            calls.iter().for_each(|call| call.perform(&server));
            let cached = server.spawn(async { read("/cached").await }).await.unwrap();
            found.lock().unwrap().insert(cached);
        });
        proves(&report);
        found.into_inner().unwrap()
    };
    let all = ["1", "0", "", "-"].map(str::to_owned);
    for calls in [&[Kill, PowerOff, Restart][..], &[PowerOff, Kill, Restart], &[PowerOff, Restart]]
    {
        assert_eq!(left(calls), all.clone().into(), "{calls:?}");
    }
    for calls in [&[Kill, Restart][..], &[Kill, Kill, Restart], &[Restart]] {
        assert_eq!(left(calls), BTreeSet::from(["1".to_owned()]), "{calls:?}");
    }
}

#[test]
fn the_disk_of_a_process_that_lives_is_not_replaced() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || node("server").wipe());
    let screen = super::screen(&report);
    assert!(!report.passed() && screen.contains("kill it before wipe()"), "{screen}");
    passes(&Runner::new().hermetic().run(async || {
        let server = node("server");
        server.kill();
        server.wipe();
    }));
}
