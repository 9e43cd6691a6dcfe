//! Sockets of std: TCP, UDP, Unix sockets, on the loopback of the run.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(ANY_PORT).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[sim::test(native, seeds = 500)]
fn an_echo_server_answers_two_clients() {
    let (listener, address) = listener();
    let clients = [b'a', b'b'].map(|letter| {
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address);
            stream.write_all(&[letter; 3]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, [letter; 3]);
        })
    });
    for _ in 0..2 {
        let (mut stream, from) = listener.accept().unwrap();
        assert_eq!(stream.peer_addr().unwrap(), from);
        let mut request = Vec::new();
        stream.read_to_end(&mut request).unwrap();
        stream.write_all(&request).unwrap();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
}

/// A server that reads a request and answers with two lines, and closes.
fn last_line(reads_all: bool) {
    let (listener, address) = listener();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 5];
        stream.read_exact(&mut request).unwrap();
        if reads_all {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
        }
        stream.write_all(b"bye").unwrap();
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"hello").unwrap();
    // The server may not wait for it, and close before it has come: the connection is then reset.
    let _ = stream.write_all(b" more");
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"bye");
    server.join().unwrap();
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_server_that_closes_with_input_left_resets_the_connection() {
    last_line(false);
}

#[sim::test(native, seeds = 1000)]
fn a_server_that_reads_all_does_not() {
    last_line(true);
}

/// A reader of messages of two bytes, which the writer sends one by one.
fn message_in_parts(read: fn(&mut TcpStream, &mut [u8])) {
    let (listener, address) = listener();
    let writer = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[1]).unwrap();
        stream.write_all(&[2]).unwrap();
    });
    let (mut stream, _) = listener.accept().unwrap();
    let mut message = [0; 2];
    read(&mut stream, &mut message);
    assert_eq!(message, [1, 2]);
    writer.join().unwrap();
}

#[sim::test(native, seeds = 1000, must_fail)]
fn one_read_need_not_be_a_whole_message() {
    message_in_parts(|stream, message| _ = stream.read(message).unwrap());
}

#[sim::test(native, strategy = "exhaustive", must_fail)]
fn the_search_finds_the_part_of_a_message() {
    message_in_parts(|stream, message| _ = stream.read(message).unwrap());
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn the_search_proves_that_read_exact_waits_for_the_rest() {
    message_in_parts(|stream, message| stream.read_exact(message).unwrap());
}

#[sim::test(native, seeds = 500)]
fn a_writer_waits_for_room() {
    let (mut one, mut two) = UnixStream::pair().unwrap();
    let thread = thread::spawn(move || {
        let mut all = Vec::new();
        two.read_to_end(&mut all).unwrap();
        all.len()
    });
    assert_eq!(one.write(&[7; 200_000]).unwrap(), 200_000);
    drop(one);
    assert_eq!(thread.join().unwrap(), 200_000);
}

/// Outside of runs, std copies from a pipe and to a pipe within the kernel.
#[sim::test(native, seeds = 20)]
fn bytes_are_copied_from_a_pipe_and_to_a_pipe() {
    let (mut source, mut feeds) = io::pipe().unwrap();
    let (mut takes, mut sink) = io::pipe().unwrap();
    let (mut one, mut two) = UnixStream::pair().unwrap();
    let threads = [
        thread::spawn(move || feeds.write_all(b"through two pipes").unwrap()),
        thread::spawn(move || assert_eq!(io::copy(&mut source, &mut one).unwrap(), 17)),
        thread::spawn(move || assert_eq!(io::copy(&mut two, &mut sink).unwrap(), 17)),
    ];
    let mut text = String::new();
    takes.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through two pipes");
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[sim::test(native, seeds = 100)]
fn a_read_with_a_limit_ends_in_virtual_time() {
    let (one, mut two) = UnixStream::pair().unwrap();
    two.set_read_timeout(Some(Duration::from_secs(3600))).unwrap();
    let begun = Instant::now();
    let error = two.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(begun.elapsed() >= Duration::from_secs(3600));
    drop(one);
    assert_eq!(two.read(&mut [0]).unwrap(), 0);
}

/// The limit counts from the beginning of the write, although parts of the bytes are read.
#[sim::test(native, seeds = 100)]
fn a_write_with_a_limit_ends_in_virtual_time() {
    let (listener, address) = listener();
    let reader = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(800));
            stream.read_exact(&mut [0; 40_000]).unwrap();
        }
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let begun = Instant::now();
    let written = stream.write(&[7; 400_000]).unwrap();
    let passed = begun.elapsed();
    assert!(written < 400_000 && passed >= Duration::from_secs(1), "{written}");
    assert!(passed < Duration::from_millis(1100), "{passed:?}");
    drop(stream);
    reader.join().unwrap();
}

#[sim::test(native, seeds = 10)]
fn options_are_returned_as_the_kernel_stores_them() {
    let socket = UdpSocket::bind(ANY_PORT).unwrap();
    assert_eq!((socket.ttl().unwrap(), socket.read_timeout().unwrap()), (64, None));
    socket.set_read_timeout(Some(Duration::from_micros(1500))).unwrap();
    assert_eq!(socket.read_timeout().unwrap(), Some(Duration::from_millis(2)));
    assert_eq!(socket.write_timeout().unwrap(), None);
    assert_eq!(socket.set_ttl(0).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[sim::test(native, seeds = 300, must_fail)]
fn two_ends_that_wait_for_each_other_deadlock() {
    let (listener, address) = listener();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(&[1]).unwrap();
    });
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0]).unwrap();
    client.join().unwrap();
}

#[sim::test(native, seeds = 300)]
fn packets_come_to_their_address() {
    let server = UdpSocket::bind(ANY_PORT).unwrap();
    let address = server.local_addr().unwrap();
    let clients = [1, 2].map(|number| {
        thread::spawn(move || {
            let client = UdpSocket::bind(ANY_PORT).unwrap();
            client.connect(address).unwrap();
            client.send(&[number]).unwrap();
            let mut answer = [0; 8];
            assert_eq!(client.recv(&mut answer).unwrap(), 1);
            assert_eq!(answer[0], number + 10);
        })
    });
    for _ in 0..2 {
        let mut packet = [0; 8];
        let (size, from) = server.recv_from(&mut packet).unwrap();
        assert_eq!(size, 1);
        server.send_to(&[packet[0] + 10], from).unwrap();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn packets_of_two_senders_have_no_order() {
    let server = UdpSocket::bind(ANY_PORT).unwrap();
    let address = server.local_addr().unwrap();
    let clients = [1, 2].map(|number| {
        thread::spawn(move || UdpSocket::bind(ANY_PORT).unwrap().send_to(&[number], address))
    });
    let mut first = [0];
    server.recv(&mut first).unwrap();
    clients.into_iter().for_each(|client| drop(client.join().unwrap()));
    assert_eq!(first, [1]);
}

/// For other senders, a socket that is connected to an address does not exist.
#[sim::test(native, seeds = 50)]
fn a_packet_to_a_socket_that_is_connected_to_another_address_is_refused() {
    let sockets = [(); 3].map(|()| UdpSocket::bind(ANY_PORT).unwrap());
    let [sender, receiver, other] = &sockets;
    receiver.connect(other.local_addr().unwrap()).unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    assert_eq!(sender.send(&[1]).unwrap(), 1);
    assert_eq!(sender.send(&[1]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[sim::test(native, seeds = 200)]
fn errors_are_those_of_the_kernel() {
    let (listener, address) = listener();
    assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(listener);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let limit = Duration::from_secs(1);
    let refused = TcpStream::connect_timeout(&address, limit).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut stream = TcpStream::connect_timeout(&address, limit).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    drop(accepted);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    stream.write_all(&[1]).unwrap();
    assert_eq!(stream.write_all(&[1]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    let other = (Ipv4Addr::new(192, 0, 2, 1), 80);
    assert_eq!(TcpStream::connect(other).unwrap_err().kind(), ErrorKind::NetworkUnreachable);
}

#[sim::test(native, seeds = 200)]
fn a_clone_reads_what_another_thread_writes() {
    let (listener, address) = listener();
    let client = thread::spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        let mut clone = stream.try_clone().unwrap();
        let writer = thread::spawn(move || clone.write_all(b"one\ntwo\n").unwrap());
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "1");
        writer.join().unwrap();
    });
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(&stream).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    (&stream).write_all(b"1\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    client.join().unwrap();
}

#[sim::test(native, seeds = 10)]
fn a_name_is_looked_up() {
    let listener = TcpListener::bind("localhost:0").unwrap();
    assert!(listener.local_addr().unwrap().ip().is_loopback());
}

#[sim::test(native, seeds = 10)]
fn what_a_run_opens_ends_with_it() {
    use std::os::fd::AsRawFd;
    let (listener, address) = listener();
    let stream = TcpStream::connect(address).unwrap();
    assert_eq!((listener.as_raw_fd(), stream.as_raw_fd()), (1 << 20, (1 << 20) + 1));
    std::mem::forget((listener, stream));
}

#[sim::test(native, seeds = 10)]
fn a_run_has_four_processors() {
    assert_eq!(thread::available_parallelism().unwrap().get(), 4);
}
