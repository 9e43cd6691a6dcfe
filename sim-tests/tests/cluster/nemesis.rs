//! Nemeses: planted bugs that they find, with fixed twins; minimal faults; and faults that have no effect.

use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sim::nemesis::{Nemesis, Partition, Victim};
use sim::net;
use sim::node::Shift;
use sim::time::{Duration, Instant, sleep, timeout};
use sim::{Atomic, Node, Ordering::SeqCst, Runner, node, spawn};

use super::{failure, passes, proves, screen, search};

const MS: Duration = Duration::from_millis(1);

/// A primary, and a backup with the same values. The primary with the bug acknowledges a value before it sends the
/// value to the backup.
async fn replicates(early: bool, nemesis: Nemesis, values: u64) {
    let nodes = ["primary", "backup"].map(node);
    let [primary, backup] = &nodes;
    let (copy, mut copies) = net::link(primary, backup);
    let (ack, mut acks) = net::link(backup, primary);
    let [acknowledged, stored] = [0, 0].map(|n| Arc::new(Atomic::new(n)));
    let known = acknowledged.clone();
    primary
        .spawn(async move {
            for value in 1..=values {
                if early {
                    known.store(value, SeqCst).await;
                }
                if copy.send(value).await.is_err() || acks.recv().await.is_none() {
                    return;
                }
                if !early {
                    known.store(value, SeqCst).await;
                }
            }
        })
        .detach();
    let kept = stored.clone();
    backup
        .spawn(async move {
            while let Some(value) = copies.recv().await {
                kept.store(value, SeqCst).await;
                if ack.send(value).await.is_err() {
                    return;
                }
            }
        })
        .detach();
    nemesis.run(&nodes[..1]).await;
    sleep(Duration::from_secs(9)).await;
    let [acknowledged, stored] = [acknowledged.load(SeqCst).await, stored.load(SeqCst).await];
    assert!(acknowledged <= stored, "{acknowledged} was acknowledged, and {stored} is the last");
}

fn kills() -> Nemesis {
    Nemesis::new().kill(Victim::one()).power_off(Victim::one()).pause(Victim::one())
}

/// Returns the faults of the run that the report shows, each as the node into which it was injected.
fn faults(report: &sim::report::Report) -> Vec<String> {
    let run = &report.finding.as_ref().expect("it passed").run;
    let object = |event: &sim::run::event::Event| &run.objects[event.object.unwrap().index()];
    let is_begin = |name| !["heal", "restart", "resume"].contains(&name);
    let of_nemesis = run.events.iter().filter(|event| {
        let is_fault =
            event.object.is_some_and(|object| run.objects[object.index()].kind == "nodes");
        is_fault && is_begin(event.op.name)
    });
    of_nemesis
        .map(|event| format!("{} {}", event.op.name, object(event).name.unwrap_or_default()))
        .collect()
}

#[cfg_attr(feature = "sim", test)]
fn a_value_acknowledged_too_early_is_lost_by_a_kill() {
    let found = Runner::new()
        .hermetic()
        .seeds(0..500)
        .run(async || replicates(true, kills().faults(1..=5), 3).await);
    assert!(failure(&found).kind() == "panic", "{}", screen(&found));
    let faults = faults(&found);
    assert!(faults.len() == 1, "{faults:?}\n{}", screen(&found));
    assert!(
        ["kill node primary", "power_off node primary"].contains(&faults[0].as_str()),
        "{faults:?}"
    );
    let fixed = Runner::new()
        .hermetic()
        .seeds(0..300)
        .run(async || replicates(false, kills().faults(1..=5), 3).await);
    passes(&fixed);
    let met: Vec<_> = fixed.faults.iter().map(|count| (count.kind, count.met > 0)).collect();
    assert_eq!(met, [("kill", true), ("pause", true), ("power_off", true)]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_all_faults() {
    let kill = || Nemesis::new().kill(Victim::one()).faults(0..=1).gaps([]).lasting([]);
    let found = search().run(async || replicates(true, kill(), 1).await);
    assert!(failure(&found).kind() == "panic", "{}", screen(&found));
    proves(&search().run(async || replicates(false, kill(), 1).await));
}

/// A primary with a lease, which it renews at a monitor. If the monitor hears nothing for 300 ms, another node takes
/// over. The primary with the bug answers although its lease has ended. Returns `true` if both nodes answered as
/// primary.
async fn leases(checks: bool, victim: impl Fn(Node) -> Victim) -> bool {
    let mut nodes: Vec<Node> = (0..6).map(|n| node(format!("n{n}"))).collect();
    let primary = nodes[sim::rand::below(6) as usize].clone();
    nodes.push(node("monitor"));
    let monitor = &nodes[6];
    let (beat, mut beats) = net::link(&primary, monitor);
    let (renew, mut renewed) = net::link(monitor, &primary);
    let [answers, replaced] = [false, false].map(|is| Arc::new(Atomic::new(is)));
    let is_primary = answers.clone();
    primary
        .spawn(async move {
            loop {
                let is_sent = beat.send(()).await.is_ok();
                if is_sent && matches!(timeout(100 * MS, renewed.recv()).await, Ok(Some(()))) {
                    is_primary.store(true, SeqCst).await;
                } else if checks {
                    return is_primary.store(false, SeqCst).await;
                }
                sleep(20 * MS).await;
            }
        })
        .detach();
    let takes_over = replaced.clone();
    monitor
        .spawn(async move {
            while let Ok(Some(())) = timeout(300 * MS, beats.recv()).await {
                let _ = renew.send(()).await;
            }
            takes_over.store(true, SeqCst).await;
        })
        .detach();
    let faults = Nemesis::new().isolate(victim(primary)).faults(1..=2);
    let faults = spawn(faults.gaps([20 * MS]).lasting([20 * MS, 1000 * MS]).run(&nodes));
    let mut both = false;
    for _ in 0..20 {
        sleep(60 * MS).await;
        both |= replaced.load(SeqCst).await && answers.load(SeqCst).await;
    }
    faults.await.unwrap();
    both
}

fn primary(node: Node) -> Victim {
    Victim::guided("primary", move || Some(node.clone()))
}

/// The number of runs, out of 1000, in which two primaries answer.
fn found(victim: fn(Node) -> Victim) -> usize {
    let found = AtomicUsize::new(0);
    passes(&Runner::new().hermetic().seeds(0..1000).run(async || {
        if leases(false, victim).await {
            found.fetch_add(1, Relaxed);
        }
    }));
    found.into_inner()
}

#[cfg_attr(feature = "sim", test)]
fn a_guided_victim_finds_what_a_random_one_finds_seldom() {
    let (guided, random) = (found(primary), found(|_| Victim::one()));
    println!("of 1000 runs {guided} find it with a guided victim, {random} with a random one");
    assert!(random > 0 && 2 * guided > 3 * random, "{guided} guided, {random} random");
}

#[cfg_attr(feature = "sim", test)]
fn the_old_primary_that_still_answers_is_found() {
    let found = Runner::new()
        .hermetic()
        .seeds(0..200)
        .run(async || assert!(!leases(false, primary).await, "two primaries answer"));
    let faults = faults(&found);
    // A second cut that begins at the end of the first cut is like one longer cut: shrinking may leave both.
    let is_few = (1..=2).contains(&faults.len());
    assert!(failure(&found).kind() == "panic" && is_few, "{}", screen(&found));
    let all_cut = faults.iter().all(|fault| fault.starts_with("isolate n"));
    assert!(all_cut, "{faults:?}\n{}", screen(&found));
    passes(
        &Runner::new().hermetic().seeds(0..200).run(async || assert!(!leases(true, primary).await)),
    );
}

/// Faults of all kinds.
fn all() -> Nemesis {
    Nemesis::new()
        .isolate(Victim::one())
        .cut(Victim::any())
        .partition(Partition::ANY)
        .kill(Victim::any())
        .power_off(Victim::one())
        .restart(Victim::one())
        .pause(Victim::any())
        .faults(0..=9)
}

#[cfg_attr(feature = "sim", test)]
fn all_is_well_in_the_end() {
    let report = Runner::new().hermetic().seeds(0..300).run(async || {
        let nodes: Vec<Node> = (0..5).map(|n| node(format!("n{n}"))).collect();
        let beats = Arc::new(Atomic::new(0));
        for node in &nodes {
            let beats = beats.clone();
            node.run(move || {
                let beats = beats.clone();
                async move {
                    loop {
                        sleep(10 * MS).await;
                        beats.fetch_add(1, SeqCst).await;
                    }
                }
            });
        }
        all().run(&nodes).await;
        assert!(nodes.iter().all(|node| node.is_up() && !node.is_paused()));
        for (from, to) in nodes.iter().flat_map(|from| nodes.iter().map(move |to| (from, to))) {
            if from != to {
                let (sender, mut receiver) = net::datagrams(from, to);
                sender.send(1).await.unwrap();
                assert_eq!(timeout(MS, receiver.recv()).await.unwrap(), Some(1));
            }
        }
        let before = beats.load(SeqCst).await;
        sleep(15 * MS).await;
        assert!(beats.load(SeqCst).await >= before + 5, "all nodes go on");
    });
    passes(&report);
    let kinds: Vec<_> = report.faults.iter().map(|count| count.kind).collect();
    assert_eq!(kinds, ["cut", "isolate", "kill", "partition", "pause", "power_off", "restart"]);
}

#[test]
fn no_more_nodes_are_down_than_permitted() {
    let most = |nemesis: fn(Nemesis) -> Nemesis| {
        let most = AtomicUsize::new(0);
        let report = Runner::new().hermetic().seeds(0..100).run(async || {
            let nodes: Vec<Node> = (0..4).map(|n| node(format!("n{n}"))).collect();
            let all = Nemesis::new().kill(Victim::any()).power_off(Victim::one()).faults(5..=9);
            let over = Arc::new(StdMutex::new(false));
            let faults = spawn({
                let (run, over) = (nemesis(all).run(&nodes), over.clone());
                async move {
                    run.await;
                    *over.lock().unwrap() = true;
                }
            });
            while !*over.lock().unwrap() {
                let down = nodes.iter().filter(|node| !node.is_up()).count();
                most.fetch_max(down, Relaxed);
                sleep(MS / 2).await;
            }
            faults.await.unwrap();
        });
        passes(&report);
        most.into_inner()
    };
    assert!(most(|nemesis| nemesis.down_at_most(2)) <= 2);
    assert!(!sim::SIMULATED || most(|nemesis| nemesis) == 4);
}

/// Two nodes that send nothing, or send all the time.
async fn says(something: bool, nemesis: Nemesis) {
    let nodes = ["a", "b"].map(node);
    if something {
        let (sender, mut receiver) = net::link(&nodes[0], &nodes[1]);
        nodes[0]
            .spawn(async move {
                while sender.send(()).await.is_ok() {
                    sleep(5 * MS).await;
                }
            })
            .detach();
        nodes[1].spawn(async move { while receiver.recv().await.is_some() {} }).detach();
    }
    nemesis.run(&nodes).await;
}

#[cfg_attr(feature = "sim", test)]
fn faults_that_meet_nothing_are_counted() {
    let cuts = || Nemesis::new().isolate(Victim::one()).cut(Victim::one());
    let runner = || Runner::new().hermetic().seeds(0..50);
    let silent = runner().run(async || says(false, cuts()).await);
    passes(&silent);
    assert!(silent.faults.iter().all(|count| count.met == 0 && count.times > 9));
    let warned = |kind: &str| {
        let warns = |text: &&String| text.contains(&format!("`{kind}` met a message"));
        silent.warnings.iter().filter(warns).count()
    };
    assert_eq!((warned("isolate"), warned("cut"), silent.warnings.len()), (1, 1, 2));
    let failed = runner().run(async || says(false, cuts().must_meet()).await);
    let sim::run::Failure::TooSeldom { conditions, .. } = failure(&failed) else {
        panic!("{}", screen(&failed));
    };
    let names: Vec<_> = conditions.iter().map(|condition| condition.name).collect();
    assert_eq!(names, ["nemesis: cut meets a message", "nemesis: isolate meets a message"]);
    let busy = runner().run(async || says(true, cuts().must_meet()).await);
    passes(&busy);
    let [cut, isolate] = busy.faults[..] else { panic!("{:?}", busy.faults) };
    assert!(cut.met > 9 && isolate.met > 9 && cut.met < cut.times, "{cut:?}, {isolate:?}");
    let line = format!("cut: {} of {} met a message; isolate: ", cut.met, cut.times);
    assert!(screen(&busy).contains(&line), "{}", screen(&busy));
}

#[test]
fn a_nemesis_runs_on_real_tasks() {
    let report = Runner::new().hermetic().seeds(0..4).run(async || {
        let nodes = ["a", "b"].map(node);
        let starts = Arc::new(Atomic::new(0));
        for node in &nodes {
            let starts = starts.clone();
            node.run(move || {
                let starts = starts.clone();
                async move {
                    starts.fetch_add(1, SeqCst).await;
                }
            });
        }
        Nemesis::new().restart(Victim::any()).kill(Victim::one()).faults(2..=3).run(&nodes).await;
        assert!(nodes.iter().all(Node::is_up));
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_quiet_cluster_has_nothing_on_its_way() {
    let report = Runner::new().hermetic().seeds(0..100).run(async || {
        let nodes = ["a", "b", "c"].map(node);
        let (sender, mut receiver) = net::link(&nodes[0], &nodes[1]);
        net::isolate(&nodes[0]);
        nodes[1].pause();
        nodes[2].power_off();
        sender.send(1).await.unwrap();
        sleep(MS).await;
        assert_eq!(receiver.try_recv(), None);
        sim::nemesis::quiesce(&nodes, MS).await;
        assert_eq!(receiver.try_recv(), Some(1));
        assert!(nodes.iter().all(|node| node.is_up() && !node.is_paused()));
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_quiet_cluster_has_true_clocks_and_full_speed() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let nodes = ["a", "b"].map(node);
        for core in [2, 1] {
            for node in &nodes[..core] {
                node.clock().set_drift(0.25);
                node.clock().set_offset(Shift::Behind(500 * MS));
                node.clock().late_timers(9);
                node.slow(3);
            }
            if core == 2 {
                sim::nemesis::quiesce(&nodes, MS).await;
            } else {
                sim::nemesis::quiesce_core(&nodes, &nodes[..core], MS).await;
            }
            for node in &nodes[..core] {
                assert_eq!((node.clock().offset(), node.clock().drift()), (Shift::NONE, 0.0));
                let begin = Instant::now();
                let sleeps = node.spawn(async {
                    for _ in 0..9 {
                        sleep(MS).await;
                    }
                });
                sleeps.await.unwrap();
                assert_eq!(begin.elapsed(), 9 * MS);
            }
        }
    });
    passes(&report);
}

/// A nemesis ends its own deaths, and no later death.
#[cfg_attr(feature = "sim", test)]
fn the_end_of_a_kill_starts_no_later_life() {
    let report = Runner::new().hermetic().seeds(0..50).run(async || {
        let nodes = ["a", "b"].map(node);
        let [a, b] = &nodes;
        let faults = Nemesis::new().kill(Victim::these([a])).pause(Victim::these([b]));
        let faults = spawn(faults.faults(4..=6).gaps([MS]).lasting([40 * MS]).run(&nodes));
        while a.is_up() && !faults.is_finished() {
            sleep(MS).await;
        }
        if faults.is_finished() {
            return;
        }
        a.restart();
        a.power_off();
        while !faults.is_finished() {
            assert!(!a.is_up(), "the end of the kill has started another life");
            sleep(MS).await;
        }
        assert!(a.is_up());
    });
    passes(&report);
}
