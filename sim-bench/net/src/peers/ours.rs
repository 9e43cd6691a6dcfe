//! unpause: the random walk, one job, and all else as a user has it by default: each message a step that is drawn, with
//! its place in the trace.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sim::net::{Faults, Latency, faults};
use sim::node::Node;

use super::Peer;
use crate::workload::{Body, PORT, Workload};

pub(crate) const PEER: Peer = Peer { name: "ours", can: |_| true, run };

mod tools {
    use std::net::SocketAddr;
    use std::time::Duration;

    pub(super) use sim::net::{TcpListener, TcpStream, UdpSocket};
    pub(super) use sim::time::sleep;

    pub(super) async fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
        socket.send_to(bytes, to).await.unwrap();
    }

    pub(super) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> sim::JoinHandle<()> {
        sim::spawn(task)
    }

    pub(super) fn stop(task: sim::JoinHandle<()>) {
        task.abort();
    }

    /// Time moves when nothing else can.
    pub(super) async fn others_started() {
        sleep(Duration::from_millis(1)).await;
    }
}

#[path = "../bodies.rs"]
mod bodies;

type Main = Pin<Box<dyn Future<Output = ()> + Send>>;

fn run(workload: Workload, runs: u64) {
    let runner = sim::Runner::new().hermetic().jobs(1).strategy("random").seeds(0..runs);
    let report = runner.run(async || cluster(workload).await);
    assert!(report.passed(), "{report:?}");
    assert_eq!(report.runs, runs);
}

async fn cluster(workload: Workload) {
    if let Some(latency) = workload.latency {
        faults(Faults::none().latency(Latency::exact(latency)));
    }
    let nodes: Vec<Node> = (0..workload.nodes).map(|nth| sim::node(format!("n{nth}"))).collect();
    let all: Arc<[SocketAddr]> =
        nodes.iter().map(|node| SocketAddr::new(node.addr(), PORT)).collect();
    let count = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = match workload.body {
        Body::Typed(messages) => typed(&nodes[0], &nodes[1], messages).into(),
        body => {
            let main = |(nth, node): (usize, &Node)| node.spawn(main(body, nth, &all, &count));
            nodes.iter().enumerate().map(main).collect()
        }
    };
    for task in tasks {
        task.await.unwrap();
    }
    workload.check(count.load(Relaxed));
}

fn main(body: Body, nth: usize, all: &Arc<[SocketAddr]>, count: &Arc<AtomicU64>) -> Main {
    match (body, nth) {
        (Body::Tcp(messages), 0) => Box::pin(bodies::tcp_server(messages)),
        (Body::Tcp(messages), 1) => Box::pin(bodies::tcp_client(all[0], messages)),
        (Body::Udp(messages), 0) => Box::pin(bodies::udp_server(messages)),
        (Body::Udp(messages), 1) => Box::pin(bodies::udp_client(all[0], messages)),
        (Body::Gossip(rounds), _) => {
            Box::pin(bodies::gossip(nth, all.clone(), rounds, count.clone()))
        }
        _ => Box::pin(bodies::idle()),
    }
}

/// The tasks of a server and its client, over a typed link each way.
fn typed(server: &Node, client: &Node, messages: u64) -> [sim::JoinHandle<()>; 2] {
    let (ask, mut asked) = sim::net::link::<u64>(client, server);
    let (answer, mut answered) = sim::net::link::<u64>(server, client);
    let server = server.spawn(async move {
        for _ in 0..messages {
            answer.send(asked.recv().await.unwrap()).await.unwrap();
        }
    });
    let client = client.spawn(async move {
        for number in 0..messages {
            ask.send(number).await.unwrap();
            assert_eq!(answered.recv().await, Some(number));
        }
    });
    [server, client]
}
