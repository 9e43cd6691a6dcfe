//! TCP and UDP of tokio.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use tokio::time;

use super::{on_one_thread, on_workers};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Sends the data of each of `count` clients back.
async fn echo(listener: TcpListener, count: u32) {
    for _ in 0..count {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let (mut reads, mut writes) = stream.split();
            tokio::io::copy(&mut reads, &mut writes).await.unwrap();
        });
    }
}

async fn ask(address: SocketAddr, text: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, text);
}

/// Two clients of an echo server, and a client whose answer is late.
async fn two_clients() {
    let listener = TcpListener::bind(ANY_PORT).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(echo(listener, 3));
    let clients = [&b"one"[..], b"two"].map(|text| tokio::spawn(ask(address, text)));
    for client in clients {
        client.await.unwrap();
    }
    let mut silent = TcpStream::connect(address).await.unwrap();
    let limit = Duration::from_secs(30);
    assert!(time::timeout(limit, silent.read_u8()).await.is_err());
    server.await.unwrap();
}

#[sim::test(native, seeds = 30)]
fn two_clients_on_one_thread() {
    on_one_thread(two_clients());
}

#[sim::test(native, seeds = 30)]
fn two_clients_on_workers() {
    on_workers(two_clients());
}

/// More bytes than a connection keeps.
async fn many_bytes() {
    let (mut one, mut two) = UnixStream::pair().unwrap();
    let reader = tokio::spawn(async move {
        let mut all = Vec::new();
        two.read_to_end(&mut all).await.unwrap();
        all.len()
    });
    one.write_all(&[1; 150_000]).await.unwrap();
    drop(one);
    assert_eq!(reader.await.unwrap(), 150_000);
}

#[sim::test(native, seeds = 30)]
fn a_writer_waits_for_room() {
    on_one_thread(many_bytes());
    on_workers(many_bytes());
}

#[sim::test(native, seeds = 30)]
fn packets_are_answered() {
    on_workers(async {
        let server = UdpSocket::bind(ANY_PORT).await.unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(async move {
            let mut packet = [0; 16];
            loop {
                let (size, from) = server.recv_from(&mut packet).await.unwrap();
                server.send_to(&packet[..size], from).await.unwrap();
            }
        });
        let client = UdpSocket::bind(ANY_PORT).await.unwrap();
        client.connect(address).await.unwrap();
        client.send(b"hello").await.unwrap();
        let mut answer = [0; 16];
        assert_eq!(client.recv(&mut answer).await.unwrap(), 5);
    });
}

#[sim::test(native, seeds = 30)]
fn a_refused_connection_is_an_error() {
    on_one_thread(async {
        let listener = TcpListener::bind(ANY_PORT).await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    });
}

/// A server that is stopped when the client has sent its last bytes.
async fn stopped(waits: bool) {
    let listener = TcpListener::bind(ANY_PORT).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(echo_whole(listener));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"last").await.unwrap();
    stream.shutdown().await.unwrap();
    if waits {
        server.await.unwrap();
    } else {
        tokio::task::yield_now().await;
        server.abort();
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"last");
}

async fn echo_whole(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    stream.read_to_end(&mut request).await.unwrap();
    stream.write_all(&request).await.unwrap();
}

#[sim::test(native, seeds = 300, must_fail)]
fn a_server_stopped_too_early_loses_the_last_bytes() {
    on_workers(stopped(false));
}

#[sim::test(native, seeds = 30)]
fn a_server_that_is_awaited_does_not() {
    on_workers(stopped(true));
}
