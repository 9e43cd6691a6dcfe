//! Names of moving services, failing lookups, and lookups with an old result.

use std::io::ErrorKind;
use std::net::IpAddr;

use sim::net::{self, Faults, TcpListener, TcpStream, lookup_host};
use sim::time::{Duration, sleep};
use sim::{Node, Runner, node, spawn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{failure, passes, proves, search};

fn nodes() -> [Node; 2] {
    ["a", "b"].map(node)
}

async fn look_up(name: &str) -> std::io::Result<IpAddr> {
    Ok(lookup_host((name, 7)).await?.next().expect("a name has an address").ip())
}

#[test]
fn a_name_stands_for_one_node_after_the_other() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        net::faults(Faults::none().lookups(0));
        let [a, b] = nodes();
        net::alias("primary", &a);
        assert_eq!(look_up("primary").await.unwrap(), a.addr());
        net::alias("primary", &b);
        assert_eq!(look_up("primary").await.unwrap(), b.addr());
        // A node has its name.
        net::alias("a", &b);
        assert_eq!(look_up("a").await.unwrap(), a.addr());
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn lookups_fail_and_are_old_within_their_budget() {
    let looks = |name: &'static str, excluded: fn(std::io::Result<IpAddr>, [IpAddr; 2]) -> bool| {
        search().run(async || {
            net::faults(Faults::none().lookups(1));
            let [a, b] = nodes();
            net::alias("primary", &a);
            net::alias("primary", &b);
            let addresses = [a.addr(), b.addr()];
            let first = look_up(name).await;
            let was_right = first.as_ref().is_ok_and(|ip| *ip == addresses[1]);
            assert!(!excluded(first, addresses));
            assert!(
                was_right || look_up(name).await.unwrap() == b.addr(),
                "one of a task is wrong"
            );
        })
    };
    failure(&looks("primary", |found, _| found.is_err()));
    failure(&looks("primary", |found, [old, _]| found.is_ok_and(|ip| ip == old)));
    failure(&looks("primary", |found, [_, now]| found.is_ok_and(|ip| ip == now)));
    // The name of a node was never the name of another node.
    passes(&looks("b", |found, [other, _]| found.is_ok_and(|ip| ip == other)));
    // A name that there is not is no fault.
    passes(&search().run(async || {
        net::faults(Faults::none().lookups(9));
        assert_eq!(look_up("nobody").await.unwrap_err().kind(), ErrorKind::NotFound);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_lookup_that_is_right_leaves_the_budget_of_its_task() {
    passes(&Runner::new().hermetic().strategy("random").seeds(0..20).run(async || {
        net::faults(Faults::none().lookups(1));
        let _nodes = nodes();
        let mut failed = 0;
        // Each lookup fails with a probability of one in eight, but at most one failure is allowed here. The name was
        // never given to another node.
        for _ in 0..100 {
            failed += usize::from(look_up("a").await.is_err());
        }
        assert_eq!(failed, 1);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_moves_a_name_before_and_after_each_lookup() {
    let looks = |wanted: usize| {
        search().run(async || {
            let nodes = nodes();
            let addresses = [nodes[0].addr(), nodes[1].addr()];
            net::alias("primary", &nodes[0]);
            let moving = spawn(async move { net::alias("primary", &nodes[1]) });
            let found = spawn(async { look_up("primary").await.unwrap() }).await.unwrap();
            assert_ne!(addresses.get(wanted), Some(&found));
            moving.await.unwrap();
        })
    };
    failure(&looks(0));
    failure(&looks(1));
    proves(&looks(2));
}

/// A service that has moved to a new primary. If `checks` is set, the old primary answers that it is no longer the
/// primary. A client connects by name.
async fn asks(checks: bool) -> Option<u8> {
    net::faults(Faults::none().lookups(2));
    let [old, new] = nodes();
    for (node, answer) in [(&old, if checks { 0 } else { 1 }), (&new, 2)] {
        let listener = node.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        node.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(&[answer]).await;
            }
        })
        .detach();
    }
    net::alias("primary", &old);
    net::alias("primary", &new);
    for _ in 0..9 {
        if let Ok(mut stream) = TcpStream::connect("primary:7").await {
            let mut answer = [0];
            // 0 is the answer of a node that is not the primary.
            if stream.read_exact(&mut answer).await.is_ok() && answer != [0] {
                return Some(answer[0]);
            }
        }
        sleep(Duration::from_millis(10)).await;
    }
    None
}

#[cfg_attr(feature = "sim", test)]
fn an_old_primary_that_answers_is_found_by_an_old_lookup() {
    let found = Runner::new().hermetic().seeds(0..200).run(async || {
        assert_eq!(asks(false).await, Some(2), "the old primary answers");
    });
    assert_eq!(failure(&found).kind(), "panic");
    passes(&Runner::new().hermetic().seeds(0..200).run(async || {
        assert_eq!(asks(true).await, Some(2));
    }));
}
