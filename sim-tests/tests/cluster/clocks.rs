//! Clocks of nodes and slow nodes: their rules, a lease that trusts them with its fixed twin, and the faults of a nemesis.

use std::sync::Arc;

use sim::nemesis::{Nemesis, Victim};
use sim::net;
use sim::node::Shift::{self, Ahead, Behind};
use sim::time::{Duration, Instant, SystemTime, interval, sleep, timeout, truth};
use sim::{Atomic, Node, Ordering::SeqCst, Runner, node};

use super::{failure, misuse, passes, proves, screen, search};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn runner(seeds: u64) -> Runner {
    Runner::new().hermetic().seeds(0..seeds)
}

/// The true time that `work` takes in a task of the node.
async fn took(node: &Node, work: impl Future<Output = ()> + Send + 'static) -> Duration {
    let begin = truth();
    node.spawn(work).await.unwrap();
    truth() - begin
}

#[cfg_attr(feature = "sim", test)]
fn timers_of_a_node_go_at_the_rate_of_its_clock() {
    passes(&runner(9).run(async || {
        let [fast, slow] = ["fast", "slow"].map(node);
        fast.clock().set_drift(0.25);
        slow.clock().set_drift(-0.2);
        let sleeps = || sleep(10 * SECOND);
        assert_eq!(took(&fast, async move { sleeps().await }).await, 8 * SECOND);
        assert_eq!(took(&slow, async move { sleeps().await }).await, 12 * SECOND + 500 * MS);
        let waits = async || drop(timeout(SECOND, std::future::pending::<()>()).await);
        assert_eq!(took(&fast, async move { waits().await }).await, 800 * MS);
        let ticks = async {
            let mut ticks = interval(SECOND);
            for _ in 0..3 {
                ticks.tick().await;
            }
        };
        assert_eq!(took(&fast, ticks).await, 1600 * MS);
        let begin = Instant::now();
        sleep(SECOND).await;
        assert_eq!(begin.elapsed(), SECOND, "the clock outside of nodes is true");
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_change_of_the_rate_is_for_timers_that_wait_already() {
    passes(&runner(9).run(async || {
        let db = node("db-1");
        let waits = db.spawn(async {
            let (begin, there) = (truth(), Instant::now());
            sleep(10 * SECOND).await;
            assert_eq!(there.elapsed(), 10 * SECOND);
            truth() - begin
        });
        sleep(5 * SECOND).await;
        db.clock().set_drift(-0.5);
        assert_eq!(waits.await.unwrap(), 15 * SECOND);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_jump_moves_the_wall_clock_and_no_timer() {
    passes(&runner(9).run(async || {
        let db = node("db-1");
        let clock = db.clock();
        let waits = db.spawn(async {
            let (wall, there) = (SystemTime::now(), Instant::now());
            sleep(SECOND).await;
            assert_eq!(there.elapsed(), SECOND);
            assert_eq!(SystemTime::now().duration_since(wall).unwrap(), 3601 * SECOND);
        });
        sim::task::yield_now().await;
        sleep(MS).await;
        clock.jump(Ahead(3600 * SECOND));
        assert_eq!(clock.offset(), Ahead(3600 * SECOND));
        waits.await.unwrap();
        clock.jump(Behind(7200 * SECOND));
        let back = SystemTime::now().duration_since(db.enter(SystemTime::now));
        assert_eq!(back.unwrap(), 3600 * SECOND);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn the_wall_clock_outlives_the_power() {
    passes(&runner(9).run(async || {
        let db = node("db-1");
        db.clock().set_offset(Behind(500 * MS));
        db.clock().set_drift(0.1);
        sleep(SECOND).await;
        db.power_off();
        sleep(9 * SECOND).await;
        db.restart();
        assert_eq!(db.clock().offset(), Ahead(500 * MS));
        let wall = db.enter(SystemTime::now);
        assert_eq!(wall.duration_since(SystemTime::now()).unwrap(), 500 * MS);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn instants_of_two_nodes_are_not_compared() {
    let differ = |compare: fn(Instant, Instant) -> bool| {
        runner(1).run(async || {
            let [a, b] = ["a", "b"].map(node);
            assert!(compare(a.enter(Instant::now), b.enter(Instant::now)));
        })
    };
    let compares: [fn(Instant, Instant) -> bool; 4] = [
        |a, b| a - b > SECOND,
        |a, b| a < b,
        |a, b| a.cmp(&b).is_lt(),
        |a, b| a.checked_duration_since(b).is_some(),
    ];
    for compare in compares {
        let report = differ(compare);
        let message = misuse(&report);
        assert!(
            message.starts_with("an instant of a is compared with an instant of b"),
            "{message}"
        );
        assert!(message.contains("sim::time::truth()"), "{message}");
    }
    let lives = runner(1).run(async || {
        let db = node("db-1");
        let before = db.enter(Instant::now);
        db.restart();
        assert_ne!(before, db.enter(Instant::now));
        let _ = db.enter(Instant::now) - before;
    });
    let message = misuse(&lives);
    assert!(
        message.contains("of db-1 in life 2 is compared with an instant of db-1:"),
        "{message}"
    );
    let outside = runner(1).run(async || {
        let begin = Instant::now();
        node("db-1").enter(|| begin.elapsed());
    });
    assert!(misuse(&outside).contains("the test outside of nodes"), "{}", misuse(&outside));
}

#[cfg_attr(feature = "sim", test)]
fn drawn_clocks_take_all_rungs() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    passes(&runner(3000).run(async || {
        let clock = node("db-1").clock();
        clock.draw();
        let key = (format!("{}", clock.offset()), format!("{}", clock.drift()));
        seen.lock().unwrap().insert(key);
    }));
    assert_eq!(seen.into_inner().unwrap().len(), 49);
}

#[cfg_attr(feature = "sim", test)]
fn timers_are_late_as_often_as_permitted() {
    let all = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let late = |budget: u8| {
        let report = search().run(async || {
            let db = node("db-1");
            db.clock().late_timers(budget);
            let took = took(&db, async {
                sleep(MS).await;
                sleep(MS).await;
            });
            let took = took.await.as_millis();
            all.lock().unwrap().insert((budget, took));
        });
        passes(&report);
    };
    late(0);
    late(1);
    let all: Vec<_> = all.into_inner().unwrap().into_iter().collect();
    let one = [2, 3, 22, 502].map(|took| (1, took));
    assert_eq!(all, [(0, 2)].into_iter().chain(one).collect::<Vec<_>>());
}

#[cfg_attr(feature = "sim", test)]
fn a_timer_that_is_reset_while_it_waits_may_be_late() {
    let all = std::sync::Mutex::new(std::collections::BTreeSet::new());
    passes(&search().run(async || {
        let db = node("db-1");
        db.clock().late_timers(1);
        let took = took(&db, async {
            let mut timer = std::pin::pin!(sleep(SECOND));
            sim::select! {
                () = timer.as_mut() => {}
                () = sim::task::yield_now() => {}
            }
            timer.as_mut().reset(Instant::now() + MS);
            timer.await;
        });
        let took = took.await.as_millis();
        all.lock().unwrap().insert(took);
    }));
    let all: Vec<_> = all.into_inner().unwrap().into_iter().collect();
    assert_eq!(all, [1, 2, 21, 501]);
}

#[cfg_attr(feature = "sim", test)]
fn a_slow_node_takes_time_for_each_step() {
    proves(&search().run(async || {
        let db = node("db-1");
        let value = Arc::new(Atomic::new(0));
        db.slow(3);
        let own = value.clone();
        let work = async move {
            for _ in 0..3 {
                own.fetch_add(1, SeqCst).await;
            }
        };
        assert_eq!(took(&db, work).await, 1500 * MS);
        db.slow(0);
        let own = value.clone();
        let work = async move {
            own.fetch_add(1, SeqCst).await;
        };
        assert_eq!(took(&db, work).await, Duration::ZERO);
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_is_slow_for_good_gets_on() {
    passes(&runner(3).run(async || {
        let db = node("db-1");
        db.slow(1);
        let work = async {
            for _ in 0..1500 {
                sim::task::yield_now().await;
            }
        };
        assert_eq!(took(&db, work).await, 1000 * MS);
    }));
}

/// The duration of a lease.
const LEASE: Duration = Duration::from_secs(10);

/// A server gives a lease to one client after the other, for ten seconds of its clock. On its own clock, a client holds
/// the lease for `margin` less. Messages take no time here.
async fn leases(margin: Duration) {
    let server = node("server");
    let holders = Arc::new(Atomic::new(0));
    let mut clients = Vec::new();
    let mut tasks = Vec::new();
    for name in ["a", "b"] {
        let client = node(name);
        let (ask, asked) = net::link(&client, &server);
        let (give, mut given) = net::link(&server, &client);
        clients.push((asked, give));
        let holders = holders.clone();
        client.clock().draw();
        tasks.push(client.spawn(async move {
            let _ = ask.send(()).await;
            if given.recv().await.is_none() {
                return;
            }
            let until = Instant::now() + LEASE - margin;
            let before = holders.fetch_add(1, SeqCst).await;
            assert_eq!(before, 0, "two hold the lease");
            sim::time::sleep_until(until).await;
            holders.fetch_sub(1, SeqCst).await;
        }));
    }
    server.clock().draw();
    tasks.push(server.spawn(async move {
        for (mut asked, give) in clients {
            if asked.recv().await.is_some() && give.send(()).await.is_ok() {
                sleep(LEASE).await;
            }
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
}

/// This margin is enough for a clock with an error of 0.1 %, but not for a clock with an error of 10 %.
const SMALL: Duration = Duration::from_millis(100);

/// This margin is enough for two clocks with an error of 10 % each. 8 s of a clock with the rate 0.9 end before 10 s of
/// a clock with the rate 1.1.
const LARGE: Duration = Duration::from_secs(2);

/// Returns the changes of clocks and paces in the run that the report shows.
fn changes(report: &sim::report::Report) -> Vec<String> {
    let run = &report.finding.as_ref().expect("it passed").run;
    let name = |event: &sim::run::event::Event| {
        let object = &run.objects[event.object?.index()];
        let is_change = object.kind == "clocks";
        is_change.then(|| format!("{} {}", event.op.name, object.name.unwrap_or_default()))
    };
    run.events.iter().filter_map(name).collect()
}

#[cfg_attr(feature = "sim", test)]
fn a_lease_that_trusts_clocks_has_two_holders() {
    let found = runner(1000).run(async || leases(SMALL).await);
    assert_eq!(failure(&found).kind(), "panic", "{}", screen(&found));
    println!("{}", screen(&found));
    let changes = changes(&found);
    let smallest = ["drift clock of a, 10% slow", "drift clock of server, 10% fast"];
    assert!(changes.len() == 1 && smallest.contains(&changes[0].as_str()), "{changes:?}");
    assert!(screen(&found).contains(&changes[0]), "{}", screen(&found));
}

#[cfg_attr(feature = "sim", test)]
fn a_lease_with_a_margin_for_the_drift_has_one_holder() {
    passes(&runner(10_000).run(async || leases(LARGE).await));
}

/// The same two nodes, for searches: a drawn value decides which of the two clocks is wrong.
async fn small_leases(margin: Duration) {
    let [server, client] = ["server", "client"].map(node);
    let holds = Arc::new(Atomic::new(false));
    if sim::rand::below(2) == 0 {
        client.clock().set_drift(-0.1);
    } else {
        server.clock().set_drift(0.1);
    }
    let own = holds.clone();
    let (give, mut given) = net::link(&server, &client);
    let until = client.enter(|| Instant::now() + LEASE - margin);
    client
        .spawn(async move {
            if given.recv().await.is_some() {
                own.store(true, SeqCst).await;
                sim::time::sleep_until(until).await;
                own.store(false, SeqCst).await;
            }
        })
        .detach();
    let over = server.spawn(async move {
        if give.send(()).await.is_ok() {
            sleep(LEASE).await;
        }
    });
    over.await.unwrap();
    assert!(!holds.load(SeqCst).await, "the lease is over and held");
}

#[cfg_attr(feature = "sim", test)]
fn a_search_over_clocks_is_a_proof() {
    let found = search().run(async || small_leases(SMALL).await);
    assert_eq!(failure(&found).kind(), "panic", "{}", screen(&found));
    proves(&search().run(async || small_leases(LARGE).await));
    // Time may move although tasks can step.
    let late = search().clock("late:1").run(async || {
        let db = node("db-1");
        let task = db.spawn(async {
            let there = Instant::now();
            sleep(SECOND).await;
            assert!(there.elapsed() >= SECOND);
        });
        db.clock().set_drift(-0.5);
        sleep(SECOND).await;
        db.clock().correct();
        task.await.unwrap();
    });
    passes(&late);
}

fn all_faults() -> Nemesis {
    Nemesis::new()
        .offset(Victim::one())
        .drift(Victim::one())
        .jump(Victim::any())
        .strobe(Victim::one())
        .slow(Victim::one())
        .faults(1..=6)
}

/// A node that reads its wall clock every 5 ms, or a node that does nothing.
async fn looks(something: bool, nemesis: Nemesis) {
    let nodes = ["a", "b"].map(node);
    let tasks: Vec<_> = nodes
        .iter()
        .filter(|_| something)
        .map(|node| {
            node.spawn(async {
                loop {
                    sleep(5 * MS).await;
                    let _ = SystemTime::now();
                }
            })
        })
        .collect();
    nemesis.run(&nodes).await;
    for node in &nodes {
        assert_eq!((node.clock().offset(), node.clock().drift()), (Shift::NONE, 0.0));
    }
    tasks.iter().for_each(|task| task.abort());
}

#[cfg_attr(feature = "sim", test)]
fn faults_of_clocks_are_counted_by_what_they_met() {
    let busy = runner(300).run(async || looks(true, all_faults().must_meet()).await);
    passes(&busy);
    let met: Vec<_> = busy.faults.iter().map(|count| (count.kind, count.met > 5)).collect();
    let kinds = ["drift", "jump", "offset", "slow", "strobe"];
    assert_eq!(met, kinds.map(|kind| (kind, true)), "{:?}", busy.faults);
    assert!(busy.faults.iter().any(|count| count.met < count.times), "{:?}", busy.faults);
    let silent = runner(100).run(async || looks(false, all_faults()).await);
    passes(&silent);
    assert!(silent.faults.iter().all(|count| count.met == 0 && count.times > 5));
    assert_eq!(silent.warnings.len(), 5, "{:?}", silent.warnings);
    let warns = |text: &str| silent.warnings.iter().any(|warning| warning.contains(text));
    assert!(warns("`drift` met a timer") && warns("`slow` met a step"), "{:?}", silent.warnings);
}

/// This test runs the faulty lease. The clocks of the test are true unless the nemesis changes them.
#[cfg_attr(feature = "sim", test)]
fn a_nemesis_finds_the_lease_that_trusts_clocks() {
    let drifts = || Nemesis::new().drift(Victim::one()).lasting([20 * SECOND]).gaps([]);
    let report = |margin: Duration, seeds| {
        runner(seeds).run(async || {
            let [server, client] = ["server", "client"].map(node);
            let holds = Arc::new(Atomic::new(false));
            let (own, until) = (holds.clone(), client.enter(|| Instant::now() + LEASE - margin));
            client
                .spawn(async move {
                    own.store(true, SeqCst).await;
                    sim::time::sleep_until(until).await;
                    own.store(false, SeqCst).await;
                })
                .detach();
            let over = server.spawn(sleep_long());
            let nodes = [server, client];
            let faults = sim::spawn(drifts().run(&nodes));
            over.await.unwrap();
            assert!(!holds.load(SeqCst).await, "the lease is over and held");
            faults.await.unwrap();
        })
    };
    let found = report(SMALL, 1000);
    assert_eq!(failure(&found).kind(), "panic", "{}", screen(&found));
    assert_eq!(changes(&found).len(), 1, "{}", screen(&found));
    passes(&report(LARGE, 300));
}

async fn sleep_long() {
    sleep(LEASE).await;
}

#[test]
fn clocks_are_true_outside_of_runs() {
    let db = node("of no run");
    let clock = db.clock();
    clock.set_drift(0.5);
    clock.jump(Ahead(3600 * SECOND));
    clock.late_timers(3);
    clock.draw();
    db.slow(3);
    assert_eq!((clock.offset(), clock.drift()), (Shift::NONE, 0.0));
    let there = db.enter(SystemTime::now).duration_since(SystemTime::now());
    assert!(there.unwrap_or_default() < 60 * SECOND);
    assert!(db.enter(Instant::now) <= Instant::now() && truth() <= Instant::now());
    clock.correct();
}
