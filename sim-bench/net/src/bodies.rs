//! The programs of the nodes. Each peer includes this file over its own primitives, which its module `tools` names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::tools::{TcpListener, TcpStream, UdpSocket, others_started, send, sleep, spawn, stop};
use crate::workload::{GOSSIP_DATAGRAMS, GOSSIP_LAST, GOSSIP_PAUSE, HERE};

/// The size of a message.
const SIZE: usize = 8;

/// Answers `messages` messages of one connection.
pub(crate) async fn tcp_server(messages: u64) {
    let listener = TcpListener::bind(HERE).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = [0; SIZE];
    for _ in 0..messages {
        stream.read_exact(&mut bytes).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.flush().await.unwrap();
    }
}

/// Sends `messages` messages, each after the answer to the previous message.
pub(crate) async fn tcp_client(server: SocketAddr, messages: u64) {
    others_started().await;
    let mut stream = TcpStream::connect(server).await.unwrap();
    let mut bytes = [0; SIZE];
    for number in 0..messages {
        stream.write_all(&number.to_le_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(u64::from_le_bytes(bytes), number);
    }
}

/// Answers `messages` datagrams.
pub(crate) async fn udp_server(messages: u64) {
    let socket = UdpSocket::bind(HERE).await.unwrap();
    let mut bytes = [0; SIZE];
    for _ in 0..messages {
        let (count, from) = socket.recv_from(&mut bytes).await.unwrap();
        send(&socket, &bytes[..count], from).await;
    }
}

/// Sends `messages` datagrams, each after the answer to the previous datagram.
pub(crate) async fn udp_client(server: SocketAddr, messages: u64) {
    let socket = UdpSocket::bind(HERE).await.unwrap();
    others_started().await;
    let mut bytes = [0; SIZE];
    for number in 0..messages {
        send(&socket, &number.to_le_bytes(), server).await;
        socket.recv_from(&mut bytes).await.unwrap();
        assert_eq!(u64::from_le_bytes(bytes), number);
    }
}

/// Binds a socket and ends.
pub(crate) async fn idle() {
    drop(UdpSocket::bind(HERE).await.unwrap());
}

/// The `nth` of the nodes at `all`, which send each other datagrams. Counts those that arrive.
pub(crate) async fn gossip(nth: usize, all: Arc<[SocketAddr]>, rounds: u64, count: Arc<AtomicU64>) {
    let socket = Arc::new(UdpSocket::bind(HERE).await.unwrap());
    let receiver = {
        let socket = socket.clone();
        spawn(async move {
            let mut bytes = [0; SIZE];
            loop {
                socket.recv_from(&mut bytes).await.unwrap();
                count.fetch_add(1, Relaxed);
            }
        })
    };
    others_started().await;
    for round in 0..rounds {
        for datagram in 0..GOSSIP_DATAGRAMS {
            // Three others, different ones in each round.
            let far = 1 + (round + 3 * datagram) as usize % (all.len() - 1);
            let to = all[(nth + far) % all.len()];
            send(&socket, &round.to_le_bytes(), to).await;
        }
        sleep(GOSSIP_PAUSE).await;
    }
    sleep(GOSSIP_LAST).await;
    stop(receiver);
}
