//! Typed links: order, loss of the dead, cuts, the number of classes.

use std::sync::Arc;
use std::sync::Mutex as StdMutex;

use futures::FutureExt;
use sim::net::{self, Faults, Latency, Receiver, Sender};
use sim::time::{Duration, Instant, sleep};
use sim::{Node, Runner, node, spawn};

use super::{failure, passes, proves, runs, screen, search};

fn pair() -> [Node; 2] {
    ["a", "b"].map(node)
}

async fn send_all(sender: Sender<u32>, count: u32) {
    for n in 0..count {
        let _ = sender.send(n).await;
    }
}

async fn receive_all(mut receiver: Receiver<u32>) -> Vec<u32> {
    let mut all = Vec::new();
    while let Some(n) = receiver.recv().await {
        all.push(n);
    }
    all
}

#[test]
fn values_arrive_once_and_in_order() {
    for faults in [Faults::none(), Faults::none().loss(9).duplicates(9).latency(Latency::lan())] {
        let report = Runner::new().hermetic().run(async || {
            net::faults(faults.clone());
            let [a, b] = pair();
            let (sender, receiver) = net::link(&a, &b);
            a.spawn(send_all(sender, 4)).detach();
            assert_eq!(b.spawn(receive_all(receiver)).await.unwrap(), [0, 1, 2, 3]);
        });
        passes(&report);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_ping_pong_is_one_class() {
    for rounds in 1..4 {
        let count = runs(async || {
            let [a, b] = pair();
            let (ping, mut pinged) = net::link(&a, &b);
            let (pong, mut ponged) = net::link(&b, &a);
            b.spawn(async move {
                while let Some(n) = pinged.recv().await {
                    let _ = pong.send(n).await;
                }
            })
            .detach();
            let first = a.spawn(async move {
                for n in 0..rounds {
                    ping.send(n).await.unwrap();
                    assert_eq!(ponged.recv().await, Some(n));
                }
            });
            first.await.unwrap();
        });
        println!("{rounds} rounds: {count} runs");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_cut_holds_values_until_it_is_healed() {
    let report = search().run(async || {
        let [a, b] = pair();
        let (sender, receiver) = net::link(&a, &b);
        let cutter = spawn({
            let [a, b] = [a.clone(), b.clone()];
            async move {
                net::cut(&a, &b);
                sim::task::yield_now().await;
                net::heal();
            }
        });
        a.spawn(send_all(sender, 2)).detach();
        assert_eq!(b.spawn(receive_all(receiver)).await.unwrap(), [0, 1]);
        cutter.await.unwrap();
    });
    proves(&report);
    // Without the heal, the receiver waits forever.
    let found = Runner::new().hermetic().run(async || {
        let [a, b] = pair();
        let (sender, receiver) = net::link(&a, &b);
        net::cut(&a, &b);
        a.spawn(send_all(sender, 1)).detach();
        b.spawn(receive_all(receiver)).await.unwrap();
    });
    assert!(matches!(failure(&found), sim::run::Failure::Deadlock { .. }), "{}", screen(&found));
}

#[cfg_attr(feature = "sim", test)]
fn a_cut_counts_a_value_that_is_on_its_way() {
    let report = search().run(async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        a.spawn(send_all(sender, 1)).await.unwrap();
        net::cut(&a, &b);
        let is_held = receiver.try_recv().is_none();
        // The end of the stream is also in flight, behind the value.
        assert!(net::met() >= u64::from(is_held));
        sim::sometimes!(is_held, "the value is on its way");
    });
    assert!(report.passed(), "{}", screen(&report));
}

/// If the sender is killed, the receiver gets a prefix and then the end of the stream. If the sender is switched off,
/// the receiver never gets the end.
async fn dies(power: bool) {
    let [a, b] = pair();
    let (sender, receiver) = net::link(&a, &b);
    a.spawn(send_all(sender, 3)).detach();
    let killer = spawn(async move { if power { a.power_off() } else { a.kill() } });
    let all = Arc::new(StdMutex::new(Vec::new()));
    let heard = all.clone();
    let mut receiver = receiver;
    let receiving = b.spawn(async move {
        while let Some(n) = receiver.recv().await {
            heard.lock().unwrap().push(n);
        }
    });
    killer.await.unwrap();
    match power {
        false => receiving.await.unwrap(),
        true => {
            sleep(Duration::from_secs(1)).await;
            receiving.abort();
        }
    }
    let all = all.lock().unwrap().clone();
    assert_eq!(all, [0, 1, 2][..all.len()]);
    assert!(all.len() < 3 || !power || !sim::SIMULATED || all.len() == 3);
}

#[cfg_attr(feature = "sim", test)]
fn a_prefix_of_the_dead_arrives() {
    for power in [false, true] {
        proves(&search().run(async || dies(power).await));
    }
}

#[cfg_attr(feature = "sim", test)]
fn nothing_arrives_in_a_later_life() {
    let report = search().run(async || {
        let [a, b] = pair();
        let (sender, _receiver) = net::link::<u32>(&a, &b);
        let sending = a.spawn(async move {
            let first = sender.send(1).await;
            let second = sender.send(2).await;
            (first.is_ok(), second.is_ok())
        });
        let restarter = spawn({
            let b = b.clone();
            async move { b.restart() }
        });
        let (first, second) = sending.await.unwrap();
        assert!(first || !second, "an error goes away");
        restarter.await.unwrap();
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn exact_latency_is_exact() {
    let report = Runner::new().hermetic().run(async || {
        net::faults(Faults::none().latency(Latency::exact(Duration::from_millis(5))));
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        let begin = Instant::now();
        a.spawn(send_all(sender, 2)).detach();
        receiver.recv().await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(5));
        receiver.recv().await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(5));
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn the_classes_are_those_of_the_rules() {
    // If `count` senders send datagrams to one inbox, each order of arrival is a separate class. The same holds if all
    // datagrams use one link.
    for count in 1..4_u64 {
        let orders: u64 = (1..=count).product();
        for links in [1, count] {
            let found = runs(async || {
                let to = node("to");
                let mut receivers = Vec::new();
                let mut senders = Vec::new();
                for n in 0..links {
                    let (sender, receiver) = net::datagrams(&node(format!("n{n}")), &to);
                    senders.push(sender);
                    receivers.push(receiver);
                }
                for n in 0..count {
                    let sender = senders[(n % links) as usize].clone();
                    sender.send(n).await.unwrap();
                }
                let mut receiver = receivers.swap_remove(0);
                for _ in 0..count / links {
                    receiver.recv().await;
                }
                for receiver in &mut receivers {
                    receiver.recv().await;
                }
            });
            // Here, each link has its own inbox, so messages of different links commute.
            assert_eq!(found, if links == 1 { orders } else { 1 }, "{count} on {links}");
        }
        // Segments of one stream have only one order, so there is one class.
        let found = runs(async || {
            let [a, b] = pair();
            let (sender, mut receiver) = net::link(&a, &b);
            for n in 0..count {
                sender.send(n).await.unwrap();
            }
            for n in 0..count {
                assert_eq!(receiver.recv().await, Some(n));
            }
        });
        println!("{count} segments: {found} runs");
    }
}

#[cfg_attr(feature = "sim", test)]
fn datagrams_are_lost_and_arrive_twice() {
    let counted = async |faults: Faults| {
        net::faults(faults);
        let [a, b] = pair();
        let (sender, mut receiver) = net::datagrams(&a, &b);
        sender.send(()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        std::iter::from_fn(|| receiver.try_recv()).count()
    };
    let search = |faults: Faults, wanted: usize| {
        search().run(async || assert_ne!(counted(faults.clone()).await, wanted))
    };
    proves(&search(Faults::none(), 0));
    proves(&search(Faults::none().duplicates(1), 0));
    proves(&search(Faults::none().loss(1), 2));
    failure(&search(Faults::none().loss(1), 0));
    failure(&search(Faults::none().duplicates(1), 2));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_stops_at_the_limit_of_faults_names_it() {
    let sends = |count: u32| {
        search().run(async || {
            net::faults(Faults::none().loss(1));
            let [a, b] = pair();
            let (sender, _receiver) = net::datagrams(&a, &b);
            for number in 0..count {
                sender.send(number).await.unwrap();
            }
        })
    };
    proves(&sends(1));
    let report = sends(2);
    let (shown, searched) = (screen(&report), report.searched.as_ref().unwrap());
    let limit = "more faults of one kind than one task may cause or suffer";
    assert!(searched.beyond == [limit] && searched.unseen.is_empty() && !searched.is_proof());
    let words: Vec<&str> = shown.split_whitespace().collect();
    let words = words.join(" ");
    let text = format!("NOT A PROOF: not tried: {limit}. All runs with fewer were");
    assert!(words.contains(&text) && !words.contains("instrumented"), "{shown}");
}

/// The program of docs/guide.md.
async fn acknowledges(too_early: bool) {
    let [client, primary, backup] = ["client", "primary", "backup"].map(node);
    let (ask, mut asked) = net::link(&client, &primary);
    let (answer, mut answered) = net::link(&primary, &client);
    let (copy, mut copied) = net::link(&primary, &backup);
    primary
        .spawn(async move {
            while let Some(value) = asked.recv().await {
                if too_early {
                    let _ = answer.send(()).await;
                }
                let _ = copy.send(value).await;
                if !too_early {
                    let _ = answer.send(()).await;
                }
            }
        })
        .detach();
    let stored = backup.spawn(async move {
        let mut last = None;
        while let Some(value) = copied.recv().await {
            last = Some(value);
        }
        last
    });
    let calling = client.spawn(async move {
        let _ = ask.send(7).await;
        answered.recv().await.is_some()
    });
    let killer = spawn(async move { primary.kill() });
    let told = calling.await.unwrap();
    assert!(!told || stored.await.unwrap() == Some(7), "an acknowledged write is lost");
    killer.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn an_acknowledged_write_survives_if_its_copy_was_sent() {
    let sampled = Runner::new().hermetic().run(async || acknowledges(true).await);
    let shown = screen(&sampled);
    assert!(shown.contains("an acknowledged write is lost") && shown.contains("▶"), "{shown}");
    failure(&search().run(async || acknowledges(true).await));
    proves(&search().run(async || acknowledges(false).await));
    println!("{shown}");
}

#[cfg_attr(feature = "sim", test)]
fn a_poll_by_hand_takes_effect_in_it() {
    let report = search().run(async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        assert_eq!(receiver.recv().now_or_never(), None);
        sender.send(1).now_or_never().unwrap().unwrap();
        // If the message has arrived, the poll by hand receives it. If it has not arrived, it is not lost.
        let by_hand = receiver.recv().now_or_never();
        let value = match by_hand {
            Some(value) => value,
            None => receiver.recv().await,
        };
        assert_eq!(value, Some(1));
        sender.send(2).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(receiver.recv().now_or_never(), Some(Some(2)));
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_poll_by_hand_wakes_its_task_when_a_message_arrives() {
    let report = Runner::new().hermetic().run(async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        a.spawn(send_all(sender, 1)).detach();
        let mut recv = std::pin::pin!(receiver.recv());
        let mut by_hand = |cx: &mut std::task::Context<'_>| recv.as_mut().poll(cx);
        let value = std::future::poll_fn(|cx| sim::task::by_hand(|| by_hand(cx))).await;
        assert_eq!(value, Some(0));
    });
    passes(&report);
}

#[test]
fn ends_of_links_in_the_main_function_of_a_node_go_with_the_run() {
    let report = Runner::new().hermetic().seeds(0..5).run(async || {
        let [a, b] = pair();
        let (sender, mut receiver) = net::link(&a, &b);
        a.run(move || {
            let sender = sender.clone();
            async move { sender.send(1).await.unwrap() }
        });
        assert_eq!(b.spawn(async move { receiver.recv().await }).await.unwrap(), Some(1));
    });
    passes(&report);
}
