//! The answers of machines without a receiver: when they come, and over which links.
#![cfg(feature = "sim")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Mutex;

use sim::net::{self, Faults, Latency, Receiver, Sender, TcpListener, TcpStream, UdpSocket};
use sim::time::{Duration, Instant, sleep, timeout};
use sim::{Node, Runner, node, spawn};

use super::{passes, proves, search};

const SECOND: Duration = Duration::from_secs(1);

/// The ways of a receiver to be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gone {
    Dropped,
    Killed,
    SwitchedOff,
}

const WAYS: [Gone; 3] = [Gone::Dropped, Gone::Killed, Gone::SwitchedOff];

impl Gone {
    fn goes(self, of: &Node, receiver: Receiver<u32>) -> Option<Receiver<u32>> {
        match self {
            Gone::Dropped => drop(receiver),
            Gone::Killed => {
                of.kill();
                return Some(receiver);
            }
            Gone::SwitchedOff => {
                of.power_off();
                return Some(receiver);
            }
        }
        None
    }
}

/// Two nodes and a link from the first to the second.
fn linked() -> ([Node; 2], Sender<u32>, Receiver<u32>) {
    let nodes = ["a", "b"].map(node);
    let (sender, receiver) = net::link(&nodes[0], &nodes[1]);
    (nodes, sender, receiver)
}

/// Sends `count` values, one each second. Returns for each send `true` if it failed.
async fn errors(sender: &Sender<u32>, count: u32) -> Vec<bool> {
    let mut errors = Vec::new();
    for n in 0..count {
        errors.push(sender.send(n).await.is_err());
        sleep(SECOND).await;
    }
    errors
}

#[test]
fn a_cut_tells_nothing_of_a_receiver_that_is_gone() {
    for gone in WAYS {
        proves(&search().run(async || {
            let ([a, b], sender, receiver) = linked();
            net::isolate(&b);
            let _kept = gone.goes(&b, receiver);
            let told = a.spawn(async move { errors(&sender, 3).await }).await.unwrap();
            assert_eq!(told, [false; 3], "{gone:?}");
        }));
    }
}

#[test]
fn a_machine_that_is_on_answers_the_first_message_that_arrives() {
    for gone in WAYS {
        proves(&search().run(async || {
            let ([a, b], sender, receiver) = linked();
            let _kept = gone.goes(&b, receiver);
            let told = a.spawn(async move { errors(&sender, 3).await }).await.unwrap();
            assert_eq!(told, [false, gone != Gone::SwitchedOff, gone != Gone::SwitchedOff]);
        }));
    }
}

#[test]
fn the_answer_takes_the_time_of_the_way_back() {
    for gone in [Gone::Dropped, Gone::Killed] {
        passes(&Runner::new().hermetic().seeds(0..20).run(async || {
            let way = |millis| Latency::exact(Duration::from_millis(millis));
            let ([a, b], sender, receiver) = linked();
            net::faults_on(&a, &b, Faults::none().latency(way(5)));
            net::faults_on(&b, &a, Faults::none().latency(way(70)));
            let _kept = gone.goes(&b, receiver);
            let begin = Instant::now();
            while sender.send(0).await.is_ok() {
                sleep(Duration::from_millis(1)).await;
            }
            // The send that fails comes before or after the arrival of the answer, which arrives at the same moment.
            let time = begin.elapsed().as_millis();
            assert!(time == 75 || time == 76, "{gone:?}: {time} ms");
        }));
    }
}

#[test]
fn a_cut_of_the_way_back_holds_the_answer() {
    for gone in [Gone::Dropped, Gone::Killed] {
        proves(&search().run(async || {
            let ([_, b], sender, receiver) = linked();
            let _kept = gone.goes(&b, receiver);
            net::cut(&b, &node::find("a").unwrap());
            assert_eq!(errors(&sender, 2).await, [false; 2]);
            // The machine of the receiver has sent the answer, and is then switched off.
            b.power_off();
            net::heal();
            sleep(SECOND).await;
            assert_eq!(errors(&sender, 1).await, [true]);
        }));
    }
}

#[test]
fn a_machine_that_is_on_again_answers() {
    for kills in [false, true] {
        proves(&search().run(async || {
            let ([_, b], sender, _receiver) = linked();
            b.power_off();
            assert_eq!(errors(&sender, 2).await, [false; 2]);
            b.restart();
            if kills {
                b.kill();
            }
            assert_eq!(errors(&sender, 2).await, [false, true]);
        }));
    }
}

/// All results of two sends beside a death.
fn results(death: fn(&Node), cuts: bool) -> BTreeSet<[bool; 2]> {
    let found = Mutex::new(BTreeSet::new());
    let report = search().run(async || {
        let ([a, b], sender, _receiver) = linked();
        let dies = spawn({
            let b = b.clone();
            async move { death(&b) }
        });
        let cutter = spawn(async move {
            if cuts {
                net::cut(&b, &a);
            }
        });
        let both = [sender.send(1).await.is_ok(), sender.send(2).await.is_ok()];
        found.lock().unwrap().insert(both);
        dies.await.unwrap();
        cutter.await.unwrap();
    });
    proves(&report);
    found.into_inner().unwrap()
}

#[test]
fn a_search_finds_each_moment_of_the_answer() {
    for cuts in [false, true] {
        let told = BTreeSet::from([[true, true], [true, false]]);
        assert_eq!(results(Node::kill, cuts), told);
        assert_eq!(results(Node::restart, cuts), told);
        assert_eq!(results(Node::power_off, cuts), BTreeSet::from([[true, true]]));
    }
}

#[test]
fn a_search_cuts_a_link_before_and_after_it_is_made() {
    let found = Mutex::new(BTreeSet::new());
    let report = search().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let cutter = spawn({
            let [a, b] = [a.clone(), b.clone()];
            async move { net::cut(&a, &b) }
        });
        sim::task::yield_now().await;
        let (sender, mut receiver) = net::link(&a, &b);
        sender.send(1).await.unwrap();
        sleep(SECOND).await;
        found.lock().unwrap().insert(receiver.try_recv());
        cutter.await.unwrap();
    });
    proves(&report);
    assert_eq!(found.into_inner().unwrap(), BTreeSet::from([None, Some(1)]));
}

#[test]
fn a_killed_process_on_a_living_machine_refuses_at_once() {
    passes(&Runner::new().hermetic().seeds(0..20).run(async || {
        let [a, b] = ["a", "b"].map(node);
        let _listener = b.enter(|| TcpListener::bind("0.0.0.0:7")).await.unwrap();
        let socket = a.enter(|| UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        socket.connect("b:9").await.unwrap();
        b.kill();
        let begin = Instant::now();
        let connect = async || a.enter(|| TcpStream::connect("b:7")).await.map(drop);
        assert_eq!(connect().await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        socket.send(b"x").await.unwrap();
        let error = socket.recv(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(begin.elapsed(), Duration::ZERO);
        // The way back is cut, or the machine is off.
        for is_cut in [true, false] {
            if is_cut {
                net::cut(&b, &a)
            } else {
                net::heal();
                b.power_off()
            }
            assert_eq!(connect().await.unwrap_err().kind(), ErrorKind::TimedOut);
            for _ in 0..2 {
                socket.send(b"x").await.unwrap();
                sleep(SECOND).await;
            }
            assert!(timeout(SECOND, socket.recv(&mut [0])).await.is_err(), "{is_cut}");
        }
    }));
}
