//! Calls on links of the net, and on names.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use sim::Node;
use sim::net::{self, Faults, Latency, Receiver, Sender};
use sim::time::{Duration, sleep};

use super::{Act, World, act, compare};

struct Net {
    nodes: [Node; 3],
    sender: Sender<u64>,
    /// This receiver is only for calls that complete in one step.
    receiver: Mutex<Receiver<u64>>,
    datagrams: Sender<u64>,
    received: Mutex<Receiver<u64>>,
}

const WORLD: World<Net> = World {
    begin: || {
        Box::pin(async {
            let nodes = ["a", "b", "c"].map(sim::node);
            let (sender, receiver) = net::link(&nodes[0], &nodes[1]);
            let (datagrams, received) = net::datagrams(&nodes[0], &nodes[1]);
            net::alias("primary", &nodes[0]);
            let (receiver, received) = (Mutex::new(receiver), Mutex::new(received));
            Net { nodes, sender, receiver, datagrams, received }
        })
    },
    look: |net| {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            let received = [taken(&net.receiver), taken(&net.received)];
            format!("{received:?} {} {}", net::met(), net::delayed())
        })
    },
};

fn taken(receiver: &Mutex<Receiver<u64>>) -> Option<u64> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).try_recv()
}

fn done(net: Arc<Net>, call: fn([&Node; 3])) -> BoxFuture<'static, String> {
    Box::pin(async move {
        call(net.nodes.each_ref());
        String::new()
    })
}

fn second() -> Latency {
    Latency::exact(Duration::from_secs(1))
}

fn acts() -> Vec<Act<Net>> {
    vec![
        act("net::Sender::send", |net| {
            Box::pin(async move { format!("{:?}", net.sender.send(1).await) })
        }),
        act("net::Sender::send", |net| {
            Box::pin(async move { format!("{:?}", net.datagrams.send(2).await) })
        }),
        act("net::Receiver::try_recv", |net| {
            Box::pin(
                async move { format!("{:?} {:?}", taken(&net.receiver), taken(&net.received)) },
            )
        }),
        act("net::cut", |net| done(net, |[a, b, _]| net::cut(a, b))),
        act("net::mend", |net| done(net, |[a, b, _]| net::mend(a, b))),
        act("net::clog", |net| done(net, |[a, b, _]| net::clog(a, b, second()))),
        act("net::clog_pair", |net| done(net, |[a, b, _]| net::clog_pair(a, b, second()))),
        act("net::unclog", |net| done(net, |[a, b, _]| net::unclog(a, b))),
        act("net::faults_on", |net| {
            done(net, |[a, b, _]| net::faults_on(a, b, Faults::none().latency(second())))
        }),
        act("net::partition", |net| done(net, |[a, b, c]| net::partition(&[&[a], &[b, c]]))),
        act("net::isolate", |net| done(net, |[_, b, _]| net::isolate(b))),
        act("net::heal", |net| done(net, |_| net::heal())),
        act("net::met", |_| Box::pin(async { net::met().to_string() })),
        act("net::delayed", |_| Box::pin(async { net::delayed().to_string() })),
        act("net::link", |net| {
            Box::pin(async move {
                let (sender, mut receiver) = net::link(&net.nodes[0], &net.nodes[2]);
                let sent = sender.send(3_u64).await;
                sleep(Duration::from_secs(2)).await;
                format!("{sent:?} {:?}", receiver.try_recv())
            })
        }),
        act("net::datagrams", |net| {
            Box::pin(async move {
                let (sender, mut receiver) = net::datagrams(&net.nodes[1], &net.nodes[0]);
                let sent = sender.send(4_u64).await;
                sleep(Duration::from_secs(2)).await;
                format!("{sent:?} {:?}", receiver.try_recv())
            })
        }),
    ]
}

fn names() -> Vec<Act<Net>> {
    vec![
        act("net::alias", |net| done(net, |[_, b, _]| net::alias("primary", b))),
        act("net::alias", |net| done(net, |[.., c]| net::alias("late", c))),
        act("net::lookup_host", |_| Box::pin(looked_up("primary"))),
        act("net::lookup_host", |_| Box::pin(looked_up("late"))),
        act("node::node", |_| {
            Box::pin(async {
                if sim::node::find("late").is_none() {
                    sim::node("late");
                }
                String::new()
            })
        }),
    ]
}

async fn looked_up(name: &'static str) -> String {
    match net::lookup_host((name, 7)).await {
        Ok(found) => format!("{:?}", found.collect::<Vec<_>>()),
        Err(error) => error.kind().to_string(),
    }
}

#[test]
fn calls_on_links_are_searched_in_each_order() {
    compare(&WORLD, &acts());
}

#[test]
fn calls_on_names_are_searched_in_each_order() {
    compare(&WORLD, &names());
}
