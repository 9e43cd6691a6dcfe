//! Calls on nodes, their clocks, and the table of nodes.

use std::sync::Arc;

use sim::node::{self, Shift};
use sim::time::{Duration, SystemTime, sleep};
use sim::{Atomic, Node, Ordering::SeqCst, net};

use super::{Act, World, act, compare};

struct Nodes {
    nodes: [Node; 2],
    word: Arc<Atomic<u64>>,
}

const WORLD: World<Nodes> = World {
    begin: || {
        Box::pin(async {
            let word = Arc::new(Atomic::new(0));
            let nodes = ["a", "b"].map(sim::node);
            let count = word.clone();
            nodes[0].run(move || {
                let count = count.clone();
                async move {
                    count.fetch_add(1, SeqCst).await;
                    sleep(Duration::from_secs(3600)).await;
                }
            });
            Nodes { nodes, word }
        })
    },
    look: |own| {
        Box::pin(async move {
            let node = &own.nodes[0];
            let state = (node.is_up(), node.is_paused(), node.life());
            node.resume();
            if !node.is_up() {
                node.restart();
            }
            sleep(Duration::from_secs(1)).await;
            let clock = node.clock();
            let seen = (own.word.load(SeqCst).await, clock.offset(), clock.drift().to_string());
            let late = node::find("late").map(|late| late.addr());
            format!("{state:?} {seen:?} {late:?}")
        })
    },
};

fn acts() -> Vec<Act<Nodes>> {
    vec![
        act("node::node", |_| {
            Box::pin(async {
                if node::find("late").is_none() {
                    sim::node("late");
                }
                String::new()
            })
        }),
        act("node::Node::addr", |_| {
            Box::pin(async {
                node::find("late").map(|late| late.addr().to_string()).unwrap_or_default()
            })
        }),
        act("node::find", |_| Box::pin(async { node::find("late").is_some().to_string() })),
        act("net::isolate", |own| {
            Box::pin(async move {
                net::isolate(&own.nodes[0]);
                String::new()
            })
        }),
        act("node::Node::life", |own| Box::pin(async move { own.nodes[0].life().to_string() })),
        act("node::Node::is_up", |own| Box::pin(async move { own.nodes[0].is_up().to_string() })),
        act("node::Node::is_paused", |own| {
            Box::pin(async move { own.nodes[0].is_paused().to_string() })
        }),
        act("node::Node::run", |own| {
            Box::pin(async move {
                let word = own.word.clone();
                own.nodes[0].run(move || {
                    let word = word.clone();
                    async move { word.store(9, SeqCst).await }
                });
                String::new()
            })
        }),
        act("node::Node::spawn", |own| {
            Box::pin(async move {
                let word = own.word.clone();
                let task = own.nodes[0].spawn(async move { word.store(7, SeqCst).await });
                task.detach();
                String::new()
            })
        }),
        act("node::Node::enter", |own| {
            Box::pin(async move { own.nodes[0].enter(|| node::current().is_some()).to_string() })
        }),
        act("node::Node::kill", |own| done(own, |own| own.nodes[0].kill())),
        act("node::Node::power_off", |own| done(own, |own| own.nodes[0].power_off())),
        act("node::Node::restart", |own| done(own, |own| own.nodes[0].restart())),
        act("node::Node::pause", |own| done(own, |own| own.nodes[0].pause())),
        act("node::Node::resume", |own| done(own, |own| own.nodes[0].resume())),
        act("node::Node::wipe", |own| {
            done(own, |own| {
                if !own.nodes[0].is_up() {
                    own.nodes[0].wipe();
                }
            })
        }),
        act("node::Node::slow", |own| done(own, |own| own.nodes[0].slow(1))),
    ]
}

fn done(own: Arc<Nodes>, call: fn(&Nodes)) -> futures::future::BoxFuture<'static, String> {
    Box::pin(async move {
        call(&own);
        String::new()
    })
}

fn clocks() -> Vec<Act<Nodes>> {
    vec![
        act("node::Clock::offset", |own| {
            Box::pin(async move { own.nodes[0].clock().offset().to_string() })
        }),
        act("node::Clock::drift", |own| {
            Box::pin(async move { own.nodes[0].clock().drift().to_string() })
        }),
        act("node::Clock::set_offset", |own| {
            done(own, |own| own.nodes[0].clock().set_offset(Shift::Ahead(Duration::from_secs(2))))
        }),
        act("node::Clock::jump", |own| {
            done(own, |own| own.nodes[0].clock().jump(Shift::Ahead(Duration::from_secs(1))))
        }),
        act("node::Clock::set_drift", |own| done(own, |own| own.nodes[0].clock().set_drift(0.5))),
        act("node::Clock::correct", |own| done(own, |own| own.nodes[0].clock().correct())),
        act("time::SystemTime::now", |own| {
            Box::pin(async move {
                let there = own.nodes[0].enter(SystemTime::now);
                format!("{:?}", there.duration_since(SystemTime::now()))
            })
        }),
        act("node::Node::kill", |own| done(own, |own| own.nodes[0].kill())),
    ]
}

#[test]
fn calls_on_nodes_are_searched_in_each_order() {
    compare(&WORLD, &acts());
}

#[test]
fn calls_on_clocks_are_searched_in_each_order() {
    compare(&WORLD, &clocks());
}
