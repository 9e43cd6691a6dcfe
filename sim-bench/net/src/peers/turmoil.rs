//! turmoil: one runtime of tokio for each node; all nodes take turns for a tick of a millisecond each.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::Peer;
use crate::workload::{Body, PORT, Workload};

/// It has no channel of values between nodes.
pub(crate) const PEER: Peer =
    Peer { name: "turmoil", can: |workload| !matches!(workload.body, Body::Typed(_)), run };

mod tools {
    use std::net::SocketAddr;

    pub(super) use tokio::time::sleep;
    pub(super) use turmoil::net::{TcpListener, TcpStream, UdpSocket};

    pub(super) async fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
        socket.send_to(bytes, to).await.unwrap();
    }

    pub(super) fn spawn(
        task: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        tokio::spawn(task)
    }

    pub(super) fn stop(task: tokio::task::JoinHandle<()>) {
        task.abort();
    }

    /// Nodes begin in the order of their creation.
    pub(super) async fn others_started() {}
}

#[path = "../bodies.rs"]
mod bodies;

type Main = Pin<Box<dyn Future<Output = ()>>>;

fn run(workload: Workload, runs: u64) {
    for seed in 0..runs {
        cluster(workload, seed);
    }
}

fn cluster(workload: Workload, seed: u64) {
    let latency = workload.latency.unwrap_or(cheapest_latency(workload.body));
    let mut builder = turmoil::Builder::new();
    builder.rng_seed(seed).simulation_duration(Duration::from_secs(1000));
    builder.min_message_latency(latency).max_message_latency(latency);
    let mut sim = builder.build();
    let names: Vec<String> = (0..workload.nodes).map(|nth| format!("n{nth}")).collect();
    let at = |name: &String| SocketAddr::new(sim.lookup(name.as_str()), PORT);
    let all: Arc<[SocketAddr]> = names.iter().map(at).collect();
    let count = Arc::new(AtomicU64::new(0));
    for (nth, name) in names.iter().enumerate() {
        let main = main(workload.body, nth, &all, &count);
        sim.client(name.as_str(), async {
            main.await;
            Ok(())
        });
    }
    sim.run().unwrap();
    workload.check(count.load(Relaxed));
}

/// A connection can answer within the tick.
fn cheapest_latency(body: Body) -> Duration {
    match body {
        Body::Tcp(_) => Duration::ZERO,
        _ => Duration::from_millis(1),
    }
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
