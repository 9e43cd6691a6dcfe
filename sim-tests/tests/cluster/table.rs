//! The table of nodes. Some tasks add nodes while other tasks look nodes up. Searches must try both orders of each
//! pair, and no further runs.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex as StdMutex;

use sim::net::{self, TcpListener, TcpStream, UdpSocket, lookup_host};
use sim::report::Origin;
use sim::task::yield_now;
use sim::{JoinHandle, Node, Runner, node, spawn};

use super::{failure, misuse, passes, proves, runs, search};

/// Checks that sampled runs of `body` show these results, that the search itself finds each of them, and that a proof
/// takes at most `most` runs.
#[track_caller]
fn shows_all<T>(body: impl AsyncFn() -> T + Sync, all: &[T], most: u64)
where
    T: Ord + Debug + Clone + Send + Sync,
{
    let seen = StdMutex::new(BTreeSet::new());
    passes(&Runner::new().hermetic().seeds(0..300).run(async || {
        let result = body().await;
        seen.lock().unwrap().insert(result);
    }));
    let all: BTreeSet<T> = all.iter().cloned().collect();
    assert_eq!(seen.into_inner().unwrap(), all);
    for result in all {
        let report = search().run(async || assert_ne!(body().await, result));
        failure(&report);
        let origin = report.finding.map(|finding| finding.from);
        assert!(matches!(origin, Some(Origin::Seed(_))), "{result:?} is missed: {origin:?}");
    }
    let made = runs(async || drop(body().await));
    assert!(made <= most, "{made} runs");
}

/// Adds a node with this name in a separate task.
fn late(name: &'static str) -> JoinHandle<Node> {
    spawn(async move { node(name) })
}

/// Tasks that add `nodes` nodes. Returns for each node if one look at all names finds it.
async fn found(nodes: usize) -> Vec<bool> {
    let name = |nth| format!("n{nth}");
    let adding: Vec<_> =
        (0..nodes).map(|nth| spawn(async move { drop(node(name(nth))) })).collect();
    yield_now().await;
    let found = (0..nodes).map(|nth| node::find(&name(nth)).is_some()).collect();
    for task in adding {
        task.await.unwrap();
    }
    found
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_each_set_of_nodes_that_a_look_can_find() {
    let every_second: Vec<bool> = (0..8).map(|nth| nth % 2 == 1).collect();
    let report = search().run(async || assert_ne!(found(8).await, every_second));
    failure(&report);
    let origin = report.finding.map(|finding| finding.from);
    assert!(matches!(origin, Some(Origin::Seed(_))), "{origin:?}");
    // Each node exists or does not exist. The order in which nodes are added makes no difference.
    assert_eq!(runs(async || drop(found(3).await)), 8);
    assert_eq!(runs(async || drop(found(6).await)), 64);
}

#[cfg_attr(feature = "sim", test)]
fn a_new_node_is_there_or_not_when_its_name_is_looked_up() {
    let finds = async || {
        let adding = late("late");
        yield_now().await;
        let found = node::find("late").is_some();
        adding.await.unwrap();
        found
    };
    shows_all(finds, &[false, true], 2);
    let looks = async || {
        let adding = late("late");
        yield_now().await;
        let found = lookup_host("late:1").await.is_ok();
        adding.await.unwrap();
        found
    };
    shows_all(looks, &[false, true], 2);
    let others = async || {
        let adding = late("late");
        yield_now().await;
        let _known = node::find("other");
        adding.await.unwrap();
    };
    assert_eq!(runs(others), 1);
}

#[cfg_attr(feature = "sim", test)]
fn a_datagram_and_a_connection_to_the_name_of_a_new_node_reach_it_or_not() {
    let sends = async || {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let adding = late("late");
        yield_now().await;
        let sent = socket.send_to(b"x", "late:1").await.is_ok();
        adding.await.unwrap();
        sent
    };
    // The arrival of a datagram is a step, too.
    shows_all(sends, &[false, true], 3);
    let connects = async || {
        let adding = late("late");
        yield_now().await;
        let error = TcpStream::connect("late:1").await.unwrap_err().kind();
        adding.await.unwrap();
        error
    };
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    shows_all(connects, &[ConnectionRefused, NotFound], 4);
}

#[cfg_attr(feature = "sim", test)]
fn a_datagram_to_an_address_reaches_a_node_that_is_added_before_it() {
    let sends = async || {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let adding = late("late");
        yield_now().await;
        let sent = socket.send_to(b"x", "10.0.0.1:1").await.is_ok();
        adding.await.unwrap();
        sent
    };
    // The arrival of a datagram is a step, too.
    shows_all(sends, &[false, true], 3);
}

#[cfg_attr(feature = "sim", test)]
fn a_datagram_to_all_hosts_reaches_the_nodes_that_are_there() {
    let sends = async || {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.set_broadcast(true).unwrap();
        let adding = spawn(async {
            let late = node("late");
            let receiver = late.enter(|| UdpSocket::bind("0.0.0.0:7"));
            (receiver.await.unwrap(), late)
        });
        yield_now().await;
        socket.send_to(b"x", "255.255.255.255:7").await.unwrap();
        let (receiver, _late) = adding.await.unwrap();
        sim::time::sleep(sim::time::Duration::from_secs(1)).await;
        receiver.try_recv(&mut [0]).is_ok()
    };
    let seen = StdMutex::new(BTreeSet::new());
    proves(&search().run(async || {
        let reached = sends().await;
        seen.lock().unwrap().insert(reached);
    }));
    assert_eq!(seen.into_inner().unwrap(), [false, true].into());
}

#[cfg_attr(feature = "sim", test)]
fn a_node_that_is_added_after_an_isolation_is_not_cut_off() {
    let isolates = async || {
        let a = node("a");
        let adding = late("late");
        yield_now().await;
        net::isolate(&a);
        let late = adding.await.unwrap();
        let (sender, mut receiver) = net::link(&a, &late);
        sender.send(1).await.unwrap();
        sim::time::sleep(sim::time::Duration::from_secs(1)).await;
        receiver.try_recv()
    };
    shows_all(isolates, &[None, Some(1)], 2);
}

#[cfg_attr(feature = "sim", test)]
fn the_order_of_additions_counts_if_an_address_is_seen() {
    let address = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
    let addresses = async || {
        let [a, b] = ["a", "b"].map(late);
        let (a, b) = (a.await.unwrap(), b.await.unwrap());
        (a.addr(), b.addr())
    };
    let all = [(address(1), address(2)), (address(2), address(1))];
    shows_all(addresses, &all, 2);
    // Without addresses, no task knows which node was added first.
    let names = async || {
        let [a, b, c] = ["a", "b", "c"].map(late);
        let (a, b, _c) = (a.await.unwrap(), b.await.unwrap(), c.await.unwrap());
        let (sender, mut receiver) = net::link(&a, &b);
        sender.send(1).await.unwrap();
        assert_eq!(receiver.recv().await, Some(1));
        a.spawn(async { sim::fs::write("/f", b"1").await.unwrap() }).await.unwrap();
        b.kill();
    };
    assert_eq!(runs(names), 1);
    // One task adds both nodes, so their order is fixed.
    let one = async || {
        let first = node("first");
        let adding = spawn(async { ["a", "b"].map(node).map(|node| node.addr()) });
        assert_eq!(first.addr(), address(1));
        assert_eq!(adding.await.unwrap(), [2, 3].map(address));
    };
    assert_eq!(runs(one), 1);
}

#[cfg_attr(feature = "sim", test)]
fn an_address_is_seen_through_a_socket() {
    let peers = async || {
        let adding = ["a", "b"].map(late);
        let server = node("server");
        let listener = server.enter(|| TcpListener::bind("0.0.0.0:1")).await.unwrap();
        let mut nodes = Vec::new();
        for task in adding {
            nodes.push(task.await.unwrap());
        }
        let stream = nodes[0].spawn(async { TcpStream::connect("server:1").await.unwrap() });
        let (_end, from) = listener.accept().await.unwrap();
        let _stream = stream.await.unwrap();
        from.ip().to_string()
    };
    // The body adds the server before they step.
    let all = ["10.0.0.2", "10.0.0.3"].map(str::to_owned);
    let seen = StdMutex::new(BTreeSet::new());
    proves(&search().run(async || {
        let from = peers().await;
        seen.lock().unwrap().insert(from);
    }));
    assert_eq!(seen.into_inner().unwrap(), all.into());
}

#[cfg_attr(feature = "sim", test)]
fn a_wait_for_a_node_ends_when_it_is_added() {
    let waits = async || {
        let adding = late("late");
        while node::find("late").is_none() {
            yield_now().await;
        }
        adding.await.unwrap();
    };
    passes(&Runner::new().hermetic().seeds(0..50).run(waits));
}

#[cfg_attr(feature = "sim", test)]
fn two_nodes_of_one_name_are_an_error_in_each_order() {
    let report = search().run(async || {
        let [one, other] = ["twin", "twin"].map(late);
        let _both = (one.await, other.await);
    });
    assert!(misuse(&report).contains("there is a node \"twin\" already"));
}
