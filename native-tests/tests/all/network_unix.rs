//! Unix sockets for packets, and the names of Unix sockets, which are files.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

/// A path in the folder of the run.
fn path(name: &str) -> PathBuf {
    env::temp_dir().join(name)
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.err().expect("it fails").kind()
}

#[sim::test(native, seeds = 300)]
fn packets_of_a_pair_keep_their_order_and_their_ends() {
    let (one, two) = UnixDatagram::pair().unwrap();
    let sender = thread::spawn(move || {
        for size in [3, 1, 2] {
            assert_eq!(one.send(&[size; 3][..usize::from(size)]).unwrap(), usize::from(size));
        }
        one
    });
    let mut buffer = [0; 8];
    for size in [3, 1, 2] {
        assert_eq!((two.recv(&mut buffer).unwrap(), buffer[0]), (usize::from(size), size));
    }
    // Bytes beyond the buffer are lost.
    let one = sender.join().unwrap();
    one.send(&[5; 8]).unwrap();
    one.send(&[6]).unwrap();
    assert_eq!(two.recv(&mut buffer[..2]).unwrap(), 2);
    assert_eq!((two.recv(&mut buffer).unwrap(), buffer[0]), (1, 6));
}

#[sim::test(native, seeds = 300)]
fn packets_come_to_their_name() {
    let server = UnixDatagram::bind(path("server")).unwrap();
    let clients = [1, 2].map(|number| {
        thread::spawn(move || {
            let own = path(&format!("client{number}"));
            let client = UnixDatagram::bind(&own).unwrap();
            client.send_to(&[number], path("server")).unwrap();
            let mut answer = [0; 8];
            let (size, from) = client.recv_from(&mut answer).unwrap();
            assert_eq!(
                (size, answer[0], from.as_pathname()),
                (1, number + 10, Some(&*path("server")))
            );
        })
    });
    for _ in 0..2 {
        let mut packet = [0; 8];
        let (size, from) = server.recv_from(&mut packet).unwrap();
        assert_eq!(size, 1);
        server.send_to(&[packet[0] + 10], from.as_pathname().unwrap()).unwrap();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    let unnamed = UnixDatagram::unbound().unwrap();
    unnamed.send_to(&[9], path("server")).unwrap();
    assert!(server.recv_from(&mut [0; 8]).unwrap().1.is_unnamed());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn packets_of_two_senders_have_no_order() {
    let server = UnixDatagram::bind(path("server")).unwrap();
    let clients = [1, 2].map(|number| {
        thread::spawn(move || UnixDatagram::unbound().unwrap().send_to(&[number], path("server")))
    });
    let mut first = [0];
    server.recv(&mut first).unwrap();
    clients.into_iter().for_each(|client| drop(client.join().unwrap()));
    assert_eq!(first, [1]);
}

/// No packet is lost: a sender waits until the receiver has room.
#[sim::test(native, seeds = 100)]
fn a_sender_waits_for_room() {
    let receiver = UnixDatagram::bind(path("receiver")).unwrap();
    let sender = thread::spawn(|| {
        let sender = UnixDatagram::unbound().unwrap();
        (0..30).for_each(|number| _ = sender.send_to(&[number], path("receiver")).unwrap());
        sender.connect(path("receiver")).unwrap();
        sender.set_nonblocking(true).unwrap();
        let sent = (0..100).take_while(|number| sender.send(&[*number]).is_ok()).count();
        assert!(sent <= 11, "{sent}");
    });
    thread::sleep(Duration::from_secs(1));
    let mut packet = [0];
    for number in 0..30 {
        receiver.recv(&mut packet).unwrap();
        assert_eq!(packet, [number]);
    }
    sender.join().unwrap();
}

#[sim::test(native, seeds = 100)]
fn a_pair_has_more_room() {
    let (one, two) = UnixDatagram::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    let sent = (0..1000).take_while(|_| one.send(&[1]).is_ok()).count();
    assert_eq!(sent, 277);
    assert_eq!(kind(one.send(&[1])), ErrorKind::WouldBlock);
    two.recv(&mut [0]).unwrap();
    assert_eq!(one.send(&[1]).unwrap(), 1);
}

#[sim::test(native, seeds = 100)]
fn a_receiver_waits_until_its_limit() {
    let (one, two) = UnixDatagram::pair().unwrap();
    two.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let begin = Instant::now();
    assert_eq!(kind(two.recv(&mut [0])), ErrorKind::WouldBlock);
    assert!(begin.elapsed() >= Duration::from_millis(20));
    // The other end of packets does not end them.
    drop(one);
    assert_eq!(kind(two.recv(&mut [0])), ErrorKind::WouldBlock);
    assert_eq!(kind(two.send(&[1])), ErrorKind::ConnectionRefused);
    assert_eq!(kind(two.send(&[1])), ErrorKind::NotConnected);
}

/// Checks the errors of calls with names. A test below compares them with the real kernel.
fn errors_of_names(path: &dyn Fn(&str) -> PathBuf) {
    let (at, packets) = (path("listener"), path("packets"));
    assert_eq!(kind(UnixStream::connect(&at)), ErrorKind::NotFound);
    let listener = UnixListener::bind(&at).unwrap();
    assert!(at.exists(), "the name is a file");
    assert_eq!(kind(UnixListener::bind(&at)), ErrorKind::AddrInUse);
    assert_eq!(kind(UnixDatagram::bind(&at)), ErrorKind::AddrInUse);
    let socket = UnixDatagram::unbound().unwrap();
    assert_eq!(socket.send_to(&[1], &at).unwrap_err().raw_os_error(), Some(91), "EPROTOTYPE");
    let mut client = UnixStream::connect(&at).unwrap();
    drop(listener);
    // The connection that was not accepted is reset, and the file of the name still exists.
    assert_eq!(kind(client.read(&mut [0])), ErrorKind::ConnectionReset);
    assert_eq!(kind(client.write(&[1])), ErrorKind::BrokenPipe);
    assert_eq!(kind(UnixStream::connect(&at)), ErrorKind::ConnectionRefused);
    assert_eq!(kind(UnixListener::bind(&at)), ErrorKind::AddrInUse);
    fs::remove_file(&at).unwrap();
    assert_eq!(kind(UnixStream::connect(&at)), ErrorKind::NotFound);
    drop(UnixListener::bind(&at).unwrap());
    fs::write(path("file"), "").unwrap();
    assert_eq!(kind(UnixStream::connect(path("file"))), ErrorKind::ConnectionRefused);
    assert_eq!(kind(UnixListener::bind(path("none").join("at"))), ErrorKind::NotFound);

    let receiver = UnixDatagram::bind(&packets).unwrap();
    let others = [(); 2].map(|()| UnixDatagram::unbound().unwrap());
    assert_eq!(kind(others[0].send(&[1])), ErrorKind::NotConnected);
    others[0].connect(&packets).unwrap();
    let own = path("own");
    let named = UnixDatagram::bind(&own).unwrap();
    receiver.connect(&own).unwrap();
    assert_eq!(kind(others[0].send(&[1])), ErrorKind::PermissionDenied);
    assert_eq!(kind(others[1].connect(&packets)), ErrorKind::PermissionDenied);
    named.connect(&packets).unwrap();
    assert_eq!(named.send(&[1]).unwrap(), 1);
    assert_eq!(named.send(&[0; 300_000]).unwrap_err().raw_os_error(), Some(90), "EMSGSIZE");
    named.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(kind(named.send(&[1])), ErrorKind::BrokenPipe);
    drop(receiver);
    assert_eq!(kind(others[1].send_to(&[1], &packets)), ErrorKind::ConnectionRefused);
    fs::remove_file(&packets).unwrap();
    assert_eq!(kind(others[1].send_to(&[1], &packets)), ErrorKind::NotFound);

    let name = SocketAddr::from_abstract_name(format!("unpause {}", std::process::id())).unwrap();
    assert_eq!(kind(UnixStream::connect_addr(&name)), ErrorKind::ConnectionRefused);
    let listener = UnixListener::bind_addr(&name).unwrap();
    drop(UnixStream::connect_addr(&name).unwrap());
    // The abstract names of datagram sockets are a separate set.
    drop(UnixDatagram::bind_addr(&name).unwrap());
    drop(listener);
    assert_eq!(kind(UnixStream::connect_addr(&name)), ErrorKind::ConnectionRefused);
    drop(UnixListener::bind_addr(&name).unwrap());
}

/// A socket is found by its file, and not by the path to which it was bound.
fn names_are_files(path: &dyn Fn(&str) -> PathBuf) {
    let (at, moved) = (path("moving"), path("moved"));
    let first = UnixListener::bind(&at).unwrap();
    fs::rename(&at, &moved).unwrap();
    assert_eq!(kind(UnixStream::connect(&at)), ErrorKind::NotFound);
    UnixStream::connect(&moved).unwrap().write_all(&[1]).unwrap();
    // The path of an open listener is free, because its file has another path.
    let second = UnixListener::bind(&at).unwrap();
    std::os::unix::fs::symlink(&at, path("link")).unwrap();
    let by_link = path("none").join("..").join("link");
    fs::create_dir(path("none")).unwrap();
    UnixStream::connect(by_link).unwrap().write_all(&[2]).unwrap();
    for (listener, number) in [(&first, 1), (&second, 2)] {
        let mut byte = [0];
        listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [number]);
    }
    fs::remove_file(&moved).unwrap();
    fs::write(&moved, "").unwrap();
    assert_eq!(kind(UnixStream::connect(&moved)), ErrorKind::ConnectionRefused);
}

#[sim::test(native, seeds = 50)]
fn names_are_files_as_in_the_kernel() {
    names_are_files(&path);
}

/// A receiver that waits is woken, although it is not connected.
#[sim::test(native, seeds = 100)]
fn a_receiver_that_is_shut_down_does_not_wait() {
    let receiver = UnixDatagram::bind(path("receiver")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(receiver.recv(&mut [0]).unwrap(), 0));
        receiver.shutdown(std::net::Shutdown::Both).unwrap();
    });
}

#[sim::test(native, seeds = 50)]
fn errors_of_names_are_those_of_the_kernel() {
    errors_of_names(&path);
}

/// The same calls on the kernel's sockets.
#[test]
fn the_kernel_has_these_errors() {
    let folder = env::temp_dir().join(format!("unpause-names-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    errors_of_names(&|name| folder.join(name));
    names_are_files(&|name| folder.join(name));
    fs::remove_dir_all(folder).unwrap();
}

/// A file that a run leaves is removed with it, in any folder.
#[test]
fn names_end_with_their_run() {
    let report = sim::Runner::new().hermetic().seeds(0..5).run_native(|| {
        let name = concat!(env!("CARGO_TARGET_TMPDIR"), "/name-of-a-run");
        std::mem::forget(UnixListener::bind(name).unwrap());
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    assert!(!PathBuf::from(concat!(env!("CARGO_TARGET_TMPDIR"), "/name-of-a-run")).exists());
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn every_order_of_packets_of_a_pair_is_searched() {
    let (one, two) = UnixDatagram::pair().unwrap();
    let sender = thread::spawn(move || (one.send(&[1]).unwrap(), one.send(&[2, 2]).unwrap()));
    let mut buffer = [0; 4];
    assert_eq!(two.recv(&mut buffer).unwrap(), 1);
    assert_eq!(two.recv(&mut buffer).unwrap(), 2);
    assert_eq!(sender.join().unwrap(), (1, 2));
}
