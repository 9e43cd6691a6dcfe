//! Searches over programs with sockets: an exhaustive search sees the same outcomes as all interleavings.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// The folder with the outcomes of runs: their memory ends with them.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/network_search");

fn record(program: &str, outcome: impl Debug) {
    let path = format!("{FOLDER}/{program}");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{outcome:?}\n").as_bytes()).unwrap();
}

/// The outcomes of the runs under a strategy.
fn outcomes(program: &str, strategy: &str, body: fn()) -> (BTreeSet<String>, u64) {
    fs::create_dir_all(FOLDER).unwrap();
    let path = format!("{FOLDER}/{program}");
    let _ = fs::remove_file(&path);
    let runner = sim::Runner::new().hermetic().strategy(strategy).seeds(0..MOST);
    let report = runner.run_native(body);
    assert!(report.finding.is_none(), "{program}: {:?}", report.finding);
    let searched = report.searched.unwrap();
    let is_proof = searched.is_proof();
    assert!(is_proof || strategy != "exhaustive", "{program}: {searched:?}");
    let text = fs::read_to_string(&path).unwrap();
    (text.lines().map(str::to_owned).collect(), report.runs)
}

/// The runs by which a search is checked, with the fewest preemptions first.
const MOST: u64 = 20_000;

/// A test that compares the outcomes of a program, and checks that their number is this number.
macro_rules! programs {
    ($($name:ident $count:literal $body:block)*) => {$(
        #[test]
        fn $name() {
            fn body() {
                record(stringify!($name), $body);
            }
            let (by_search, classes) = outcomes(stringify!($name), "exhaustive", body);
            let (by_force, runs) = outcomes(stringify!($name), "preemptions", body);
            eprintln!("{}: {classes} classes, {runs} runs, {by_search:?}", stringify!($name));
            assert_eq!(by_search, by_force);
            assert_eq!(by_search.len(), $count);
        }
    )*};
}

const HERE: (&str, u16) = ("127.0.0.1", 4000);

programs! {
    a_read_sees_a_part_or_all 2 {
        let (mut one, mut two) = UnixStream::pair().unwrap();
        let writer = thread::spawn(move || {
            one.write_all(&[1]).unwrap();
            one.write_all(&[2]).unwrap();
            one
        });
        let size = two.read(&mut [0; 4]).unwrap();
        drop(writer.join());
        size
    }
    two_writers_come_in_both_orders 2 {
        let (one, mut two) = UnixStream::pair().unwrap();
        let writer = thread::spawn({
            let mut one = one.try_clone().unwrap();
            move || one.write_all(&[1]).unwrap()
        });
        (&one).write_all(&[2]).unwrap();
        let mut both = [0; 2];
        two.read_exact(&mut both).unwrap();
        writer.join().unwrap();
        both
    }
    two_readers_share_the_bytes 2 {
        let (mut one, two) = UnixStream::pair().unwrap();
        let reader = thread::spawn({
            let mut two = two.try_clone().unwrap();
            move || { let mut byte = [0]; two.read_exact(&mut byte).unwrap(); byte }
        });
        one.write_all(&[1, 2]).unwrap();
        let mut byte = [0];
        (&two).read_exact(&mut byte).unwrap();
        (byte, reader.join().unwrap())
    }
    a_connection_comes_before_or_after_the_listener 2 {
        let client = thread::spawn(|| TcpStream::connect(HERE).map(drop).map_err(|e| e.kind()));
        let listener = TcpListener::bind(HERE).unwrap();
        let connected = client.join().unwrap();
        drop(listener);
        connected
    }
    one_of_two_gets_the_port 2 {
        let other = thread::spawn(|| TcpListener::bind(HERE));
        let own = TcpListener::bind(HERE);
        let other = other.join().unwrap();
        (own.is_ok(), other.is_ok())
    }
    clients_are_accepted_in_both_orders 2 {
        let listener = TcpListener::bind(HERE).unwrap();
        let connect = |letter| {
            thread::spawn(move || TcpStream::connect(HERE).unwrap().write_all(&[letter]).unwrap())
        };
        let clients = [connect(b'a'), connect(b'b')];
        let (mut first, _) = listener.accept().unwrap();
        let mut letter = [0];
        first.read_exact(&mut letter).unwrap();
        clients.into_iter().for_each(|client| client.join().unwrap());
        letter
    }
    packets_come_in_both_orders 2 {
        let socket = UdpSocket::bind(HERE).unwrap();
        let sender = socket.try_clone().unwrap();
        let other = thread::spawn(move || sender.send_to(&[1], HERE).unwrap());
        socket.send_to(&[2], HERE).unwrap();
        let mut packet = [0];
        socket.recv(&mut packet).unwrap();
        other.join().unwrap();
        packet
    }
    a_socket_that_does_not_wait_finds_something_or_nothing 2 {
        let (mut one, mut two) = UnixStream::pair().unwrap();
        two.set_nonblocking(true).unwrap();
        let writer = thread::spawn(move || { one.write_all(&[1]).unwrap(); one });
        let found = two.read(&mut [0]).map_err(|error| error.kind());
        drop(writer.join());
        found
    }
    a_close_with_bytes_left_is_a_reset_or_not 2 {
        let (mut one, two) = UnixStream::pair().unwrap();
        let closer = thread::spawn(move || drop(two));
        let written = one.write(&[1]).map_err(|error| error.kind());
        closer.join().unwrap();
        written
    }
    a_socket_waits_before_it_is_nonblocking 2 {
        let (mut one, mut two) = UnixStream::pair().unwrap();
        let other = two.try_clone().unwrap();
        let writer = thread::spawn(move || {
            other.set_nonblocking(true).unwrap();
            one.write_all(&[1]).unwrap();
            one
        });
        let read = two.read(&mut [0]).map_err(|error| error.kind());
        drop(writer.join());
        read
    }
    a_peer_is_that_of_the_last_connection 2 {
        let socket = UdpSocket::bind(HERE).unwrap();
        socket.connect(("127.0.0.1", 4001)).unwrap();
        let other = socket.try_clone().unwrap();
        let connects = thread::spawn(move || other.connect(("127.0.0.1", 4002)).unwrap());
        let port = socket.peer_addr().unwrap().port();
        connects.join().unwrap();
        port
    }
    a_packet_goes_to_the_address_before_or_after_a_connect 2 {
        let [one, two, socket] =
            [4001, 4002, 4000].map(|port| UdpSocket::bind(("127.0.0.1", port)).unwrap());
        socket.connect(("127.0.0.1", 4001)).unwrap();
        let other = socket.try_clone().unwrap();
        let connects = thread::spawn(move || other.connect(("127.0.0.1", 4002)).unwrap());
        socket.send(&[1]).unwrap();
        connects.join().unwrap();
        [one, two].map(|receiver| {
            receiver.set_nonblocking(true).unwrap();
            receiver.recv(&mut [0]).is_ok()
        })
    }
    an_option_is_set_before_or_after_it_is_read 2 {
        let socket = UdpSocket::bind(HERE).unwrap();
        let other = socket.try_clone().unwrap();
        let sets = thread::spawn(move || other.set_broadcast(true).unwrap());
        let is_set = socket.broadcast().unwrap();
        sets.join().unwrap();
        is_set
    }
    a_limit_is_not_reached_while_a_writer_can_go_on 1 {
        let (mut one, mut two) = UnixStream::pair().unwrap();
        two.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let writer = thread::spawn(move || one.write_all(&[1]).unwrap());
        let read = two.read(&mut [0]).map_err(|error| error.kind());
        writer.join().unwrap();
        read
    }
}

#[test]
fn a_search_with_epoll_is_no_proof() {
    let runner = sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..2);
    let report = runner.run_native(|| {
        let waits = Duration::from_secs(1);
        let listener = TcpListener::bind(HERE).unwrap();
        TcpStream::connect_timeout(&listener.local_addr().unwrap(), waits).unwrap();
    });
    let searched = report.searched.unwrap();
    assert!(!searched.is_proof());
    assert!(searched.unseen.iter().any(|name| name == "poll"), "{searched:?}");
}

/// No search of plain threads is a proof if a time limit ends a wait.
#[test]
fn a_limit_holds_for_reads_that_begin_later() {
    fn body() {
        let read = {
            let (mut one, mut two) = UnixStream::pair().unwrap();
            let other = two.try_clone().unwrap();
            let writer = thread::spawn(move || {
                other.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                thread::sleep(Duration::from_secs(1));
                one.write_all(&[1]).unwrap();
                one
            });
            let read = two.read(&mut [0]).map_err(|error| error.kind());
            drop(writer.join());
            read
        };
        record("a_limit_holds_for_reads_that_begin_later", read);
    }
    let (seen, _) = outcomes("a_limit_holds_for_reads_that_begin_later", "preemptions", body);
    assert_eq!(seen.len(), 2, "{seen:?}");
}
