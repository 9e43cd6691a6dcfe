//! madsim: one executor, which chooses tasks at random, and a timer for each message.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use madsim::net::Endpoint;
use madsim::runtime::{NodeHandle, Runtime};
use madsim::task::JoinHandle;

use super::Peer;
use crate::workload::{Body, HERE, PORT, Workload};

pub(crate) const PEER: Peer = Peer { name: "madsim", can: |_| true, run };

mod tools {
    use std::net::SocketAddr;
    use std::time::Duration;

    pub(super) use madsim::net::{TcpListener, TcpStream, UdpSocket};
    pub(super) use madsim::time::sleep;

    pub(super) async fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
        socket.send_to(to, bytes).await.unwrap();
    }

    pub(super) fn spawn(
        task: impl Future<Output = ()> + Send + 'static,
    ) -> madsim::task::JoinHandle<()> {
        madsim::task::spawn(task)
    }

    pub(super) fn stop(task: madsim::task::JoinHandle<()>) {
        task.abort();
    }

    /// A bind takes some microseconds.
    pub(super) async fn others_started() {
        sleep(Duration::from_millis(1)).await;
    }
}

#[path = "../bodies.rs"]
mod bodies;

fn run(workload: Workload, runs: u64) {
    for seed in 0..runs {
        cluster(workload, seed);
    }
}

fn cluster(workload: Workload, seed: u64) {
    let mut config = madsim::Config::default();
    if let Some(latency) = workload.latency {
        config.net.send_latency = latency..latency + Duration::from_nanos(1);
    }
    let runtime = Runtime::with_seed_and_config(seed, config);
    let all: Arc<[SocketAddr]> = (0..workload.nodes).map(address).collect();
    let count = Arc::new(AtomicU64::new(0));
    let node = |(nth, at): (usize, &SocketAddr)| {
        runtime.create_node().name(format!("n{nth}")).ip(at.ip()).build()
    };
    let nodes: Vec<NodeHandle> = all.iter().enumerate().map(node).collect();
    let task = |(nth, node): (usize, &NodeHandle)| start(workload.body, nth, node, &all, &count);
    let tasks: Vec<_> = nodes.iter().enumerate().map(task).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    workload.check(count.load(Relaxed));
}

/// The socket of the `nth` node, which is counted from 0.
fn address(nth: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 0, nth as u8 + 1)), PORT)
}

fn start(
    body: Body,
    nth: usize,
    node: &NodeHandle,
    all: &Arc<[SocketAddr]>,
    count: &Arc<AtomicU64>,
) -> JoinHandle<()> {
    match (body, nth) {
        (Body::Tcp(messages), 0) => node.spawn(bodies::tcp_server(messages)),
        (Body::Tcp(messages), 1) => node.spawn(bodies::tcp_client(all[0], messages)),
        (Body::Udp(messages), 0) => node.spawn(bodies::udp_server(messages)),
        (Body::Udp(messages), 1) => node.spawn(bodies::udp_client(all[0], messages)),
        (Body::Typed(messages), 0) => node.spawn(typed_server(messages)),
        (Body::Typed(messages), 1) => node.spawn(typed_client(all[0], messages)),
        (Body::Gossip(rounds), _) => {
            node.spawn(bodies::gossip(nth, all.clone(), rounds, count.clone()))
        }
        _ => node.spawn(bodies::idle()),
    }
}

async fn typed_server(messages: u64) {
    let endpoint = Endpoint::bind(HERE).await.unwrap();
    let (sender, mut receiver, _) = endpoint.accept1().await.unwrap();
    for _ in 0..messages {
        let value = receiver.recv().await.unwrap();
        sender.send(value).await.unwrap();
    }
}

async fn typed_client(server: SocketAddr, messages: u64) {
    tools::others_started().await;
    let endpoint = Endpoint::bind(HERE).await.unwrap();
    let (sender, mut receiver) = endpoint.connect1(server).await.unwrap();
    for number in 0..messages {
        sender.send(Box::new(number)).await.unwrap();
        let answer = receiver.recv().await.unwrap();
        assert_eq!(answer.downcast_ref(), Some(&number));
    }
}
