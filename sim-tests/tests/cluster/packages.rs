//! Packages of faults: series, durations around timers, and the number of nodes that a nemesis may take.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex as StdMutex};

use sim::nemesis::{Nemesis, Partition, Tolerance, Victim};
use sim::report::Report;
use sim::time::{Duration, sleep, timeout};
use sim::{Node, Runner, net, node, spawn};

use super::passes;

const MS: Duration = Duration::from_millis(1);

/// Nodes that send to each other every few milliseconds, or send nothing.
fn cluster(count: usize, talks: bool) -> Vec<Node> {
    let nodes: Vec<Node> = (0..count).map(|n| node(format!("n{n}"))).collect();
    for (n, from) in nodes.iter().enumerate().filter(|_| talks) {
        let others = nodes.clone();
        let own = from.clone();
        from.run(move || {
            let (others, own) = (others.clone(), own.clone());
            async move {
                loop {
                    for other in others.iter().filter(|other| **other != own) {
                        let (sender, _) = net::datagrams(&own, other);
                        let _ = sender.send(n).await;
                    }
                    sleep(5 * MS).await;
                }
            }
        });
    }
    nodes
}

fn series() -> Nemesis {
    Nemesis::new()
        .swizzle(Victim::any())
        .rolling(Victim::one())
        .churn()
        .partition([Partition::Uniform])
        .gaps([MS])
        .lasting([7 * MS])
}

#[cfg_attr(feature = "sim", test)]
fn each_package_meets_something_and_tells_if_not() {
    let run = |talks, nemesis: fn() -> Nemesis| {
        Runner::new().hermetic().seeds(0..40).run(async || {
            let nodes = cluster(3, talks);
            nemesis().run(&nodes).await;
            nodes.iter().for_each(Node::kill);
        })
    };
    let busy = run(true, series);
    passes(&busy);
    let met: Vec<_> = busy.faults.iter().map(|count| (count.kind, count.met > 5)).collect();
    assert_eq!(met, ["churn", "partition", "rolling", "swizzle"].map(|kind| (kind, true)));
    let silent = run(false, series);
    passes(&silent);
    assert!(silent.faults.iter().all(|count| count.met == 0 && count.times > 9));
    let warned = silent.warnings.iter().filter(|text| text.contains("met a ")).count();
    assert_eq!(warned, 4, "{:?}", silent.warnings);
    assert!(!run(false, || series().must_meet()).passed());
}

/// The starts and ends of faults in the run of a seed, in order.
fn acts(seed: u64, nodes: usize, nemesis: impl Fn(&[Node]) -> Nemesis + Sync) -> Vec<String> {
    let report = Runner::new().hermetic().shrink(false).seeds(seed..seed + 1).run(async || {
        let nodes = cluster(nodes, true);
        nemesis(&nodes).run(&nodes).await;
        assert!(nodes.is_empty(), "to be looked at");
    });
    told(&report)
}

fn told(report: &Report) -> Vec<String> {
    let run = &report.finding.as_ref().expect("it failed").run;
    let of_nemesis = run.events.iter().filter_map(|event| {
        let object = &run.objects[event.object?.index()];
        let name = object.name.unwrap_or_default().trim_start_matches("node ");
        (object.kind == "nodes").then(|| format!("{} {name}", event.op.name))
    });
    of_nemesis.collect()
}

#[cfg_attr(feature = "sim", test)]
fn a_swizzle_cuts_one_by_one_and_mends_in_another_order() {
    let swizzle = |nodes: &[Node]| {
        Nemesis::new().swizzle(Victim::these(nodes)).faults(1..=1).lasting([MS]).gaps([MS])
    };
    let mut orders = BTreeSet::new();
    for seed in 0..60 {
        let acts = acts(seed, 3, swizzle);
        let (cuts, heals) = acts.split_at(acts.len() / 2);
        assert!(cuts.iter().all(|act| act.starts_with("isolate")), "{acts:?}");
        assert!(heals.iter().all(|act| act.starts_with("heal")), "{acts:?}");
        if acts.len() == 6 {
            let node = |act: &String| act[act.len() - 1..].to_owned();
            orders.insert(heals.iter().map(node).collect::<String>());
        }
    }
    assert!(orders.len() >= 3, "{orders:?}");
}

#[test]
fn a_churn_restarts_each_node_in_turn() {
    let report = Runner::new().hermetic().seeds(0..30).run(async || {
        let nodes = cluster(3, sim::SIMULATED);
        let churns = Nemesis::new().churn().faults(2..=2).lasting([MS]).gaps([MS]);
        let over = Arc::new(StdMutex::new(false));
        let faults = spawn({
            let (run, over) = (churns.run(&nodes), over.clone());
            async move {
                run.await;
                *over.lock().unwrap() = true;
            }
        });
        while !*over.lock().unwrap() {
            assert!(nodes.iter().filter(|node| !node.is_up()).count() <= 1);
            sleep(MS / 2).await;
        }
        faults.await.unwrap();
        let lives: BTreeSet<u64> = nodes.iter().map(Node::life).collect();
        assert!(lives.len() == 1, "all are restarted, or none: {lives:?}");
        nodes.iter().for_each(Node::kill);
    });
    passes(&report);
}

/// Nodes with a leader, which is replaced when it is silent for 25 ms. Returns the number of leaders.
async fn leaders(nemesis: fn(Victim) -> Nemesis) -> usize {
    let nodes: Vec<Node> = (0..4).map(|n| node(format!("n{n}"))).collect();
    let (monitor, leader) = (node("monitor"), Arc::new(StdMutex::new(0)));
    let mut beats = Vec::new();
    for node in &nodes {
        let (sender, receiver) = net::datagrams(node, &monitor);
        beats.push(receiver);
        let beat = async move {
            while sender.send(()).await.is_ok() {
                sleep(5 * MS).await;
            }
        };
        node.spawn(beat).detach();
    }
    let leads = leader.clone();
    let watch = async move {
        for mut of_leader in beats {
            while let Ok(Some(())) = timeout(25 * MS, of_leader.recv()).await {}
            *leads.lock().unwrap() += 1;
        }
    };
    monitor.spawn(watch).detach();
    let (all, leads) = (nodes.clone(), leader.clone());
    let victim = Victim::guided("leader", move || all.get(*leads.lock().unwrap()).cloned());
    let mut cut_off = nodes.clone();
    cut_off.push(monitor.clone());
    let nemesis = nemesis(victim).faults(1..=1).gaps([MS]).lasting([40 * MS]);
    nemesis.run(&cut_off).await;
    sleep(30 * MS).await;
    cut_off.iter().for_each(Node::kill);
    *leader.lock().unwrap()
}

#[cfg_attr(feature = "sim", test)]
fn a_rolling_cut_follows_the_leader() {
    let most = |nemesis: fn(Victim) -> Nemesis| {
        let most = AtomicUsize::new(0);
        passes(&Runner::new().hermetic().seeds(0..60).run(async || {
            most.fetch_max(leaders(nemesis).await, Relaxed);
        }));
        most.into_inner()
    };
    let (rolling, once) = (
        most(|victim| Nemesis::new().rolling(victim)),
        most(|victim| Nemesis::new().isolate(victim)),
    );
    assert!(once <= 2 && rolling >= 3, "{once} leaders by one cut, {rolling} by one that rolls");
}

#[cfg_attr(feature = "sim", test)]
fn a_duration_is_shorter_or_longer_than_the_detection_of_a_failure() {
    let detected = AtomicUsize::new(0);
    let report = Runner::new().hermetic().seeds(0..100).run(async || {
        let [a, b] = ["a", "b"].map(node);
        let (sender, mut receiver) = net::datagrams(&a, &b);
        a.run(move || {
            let sender = sender.clone();
            async move {
                while sender.send(()).await.is_ok() {
                    sleep(100 * MS).await;
                }
            }
        });
        let detects =
            b.spawn(
                async move { while let Ok(Some(())) = timeout(777 * MS, receiver.recv()).await {} },
            );
        // No time can be drawn here. The fault occurs at a step, or at a moment near a timer.
        let kill = Nemesis::new().kill(Victim::these([&a])).faults(1..=1).gaps([]).lasting([]);
        kill.run(std::slice::from_ref(&a)).await;
        sleep(50 * MS).await;
        detected.fetch_add(usize::from(detects.is_finished()), Relaxed);
        a.kill();
        b.kill();
    });
    passes(&report);
    let detected = detected.into_inner();
    assert!((5..60).contains(&detected), "{detected} of 100");
}

#[cfg_attr(feature = "sim", test)]
fn no_more_nodes_are_taken_than_tolerated() {
    let all = || {
        let any = Victim::any;
        Nemesis::new().kill(any()).power_off(any()).pause(any()).isolate(any()).cut(Victim::one())
    };
    // The maximum number of nodes lost at once, of all nodes and of the first two.
    let most = |tolerance: fn(&[Node]) -> Option<Tolerance>| {
        let (most, of_two) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for seed in 0..40 {
            let report =
                Runner::new().hermetic().shrink(false).seeds(seed..seed + 1).run(async || {
                    let nodes = cluster(4, false);
                    let nemesis = all().faults(6..=6);
                    let nemesis = match tolerance(&nodes) {
                        Some(tolerance) => nemesis.tolerance(tolerance),
                        None => nemesis,
                    };
                    nemesis.run(&nodes).await;
                    assert!(nodes.is_empty(), "to be looked at");
                });
            // The names of the nodes, and `true` for a cut.
            let mut lost: Vec<(String, bool)> = Vec::new();
            for act in told(&report) {
                let (act, nodes) = act.split_once(' ').unwrap();
                let is_cut = ["heal", "isolate", "cut"].contains(&act);
                let mut nodes = nodes.split(' ').map(|node| (node.to_owned(), is_cut));
                match act {
                    // A new life is not paused.
                    "restart" => nodes.for_each(|node| lost.retain(|other| *other != node)),
                    "heal" | "resume" => nodes.for_each(|node| {
                        let at = lost.iter().position(|other| *other == node);
                        at.into_iter().for_each(|at| drop(lost.remove(at)));
                    }),
                    _ => lost.extend(nodes.by_ref()),
                }
                let lost: BTreeSet<&String> = lost.iter().map(|(node, _)| node).collect();
                most.fetch_max(lost.len(), Relaxed);
                let first = lost.iter().filter(|node| ["n0", "n1"].contains(&node.as_str()));
                of_two.fetch_max(first.count(), Relaxed);
            }
        }
        (most.into_inner(), of_two.into_inner())
    };
    assert_eq!(most(|_| None), (4, 2));
    assert_eq!(most(|_| Some(Tolerance::nodes(1))).0, 1);
    let halves = |nodes: &[Node]| Some(Tolerance::nodes(1).per([&nodes[..2], &nodes[2..]]));
    assert_eq!(most(halves), (2, 1));
}
