//! Conditions on a whole system that hold after every step.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::check::models::{Register, RegisterOp, RegisterRet};
use sim::report::Report;
use sim::run::Failure;
use sim::time::{Duration, Instant, sleep};
use sim::tokio::sync::Semaphore;
use sim::{Atomic, Cell, History, Runner, net, node};

use super::{failure, misuse, passes, proves, screen, search};

/// A token is passed around, and its owner is the leader. The bug: a node passes the token on before it stops being the
/// leader.
async fn token(gives_first: bool) {
    let nodes = ["a", "b", "c"].map(node);
    // Each flag belongs to the memory of its node.
    let flags: Arc<Vec<Atomic<bool>>> =
        Arc::new(nodes.iter().map(|node| node.enter(|| Atomic::new(false))).collect());
    let leads = flags.clone();
    let _one = sim::invariant("one leader", move || {
        leads.iter().filter(|leads| leads.peek()).count() <= 1
    });
    let mut tasks = Vec::new();
    for at in 0..3 {
        let next = (at + 1) % 3;
        let (sender, receiver) = net::link::<u32>(&nodes[at], &nodes[next]);
        let flags = flags.clone();
        tasks.push((nodes[at].clone(), sender, receiver, flags, at));
    }
    let mut inboxes: Vec<_> = Vec::new();
    let mut senders = Vec::new();
    for (node, sender, receiver, flags, at) in tasks {
        senders.push((node, sender, flags, at));
        inboxes.push(receiver);
    }
    inboxes.rotate_right(1);
    let mut running = Vec::new();
    for ((node, sender, flags, at), mut inbox) in senders.into_iter().zip(inboxes) {
        running.push(node.spawn(async move {
            if at > 0 && inbox.recv().await.is_none() {
                return;
            }
            flags[at].store(true, SeqCst).await;
            if gives_first {
                let _ = sender.send(1).await;
                flags[at].store(false, SeqCst).await;
            } else {
                flags[at].store(false, SeqCst).await;
                let _ = sender.send(1).await;
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn two_leaders_are_found_at_the_step_that_makes_the_second_one() {
    let found = Runner::new().hermetic().seeds(0..200).run(async || token(true).await);
    let Failure::Invariant { name, place, .. } = failure(&found) else {
        panic!("{}", screen(&found))
    };
    assert_eq!(name, "one leader");
    assert!(place.contains("cluster/invariants.rs"), "{place}");
    let run = &found.finding.as_ref().unwrap().run;
    let last = run.events.iter().rfind(|event| event.op.name == "store").unwrap();
    assert_eq!(last.step as usize, run.steps.len() - 1, "{}", screen(&found));
    let screen = screen(&found);
    assert!(screen.contains("invariant \"one leader\" does not hold"), "{screen}");
    assert!(screen.contains("broken by") && screen.contains("breaks the invariant"), "{screen}");
    // The values that the invariant saw are shown only for the last step.
    assert_eq!(screen.matches("peek").count(), 3, "{screen}");

    passes(&Runner::new().hermetic().seeds(0..200).run(async || token(false).await));
    let found = search().run(async || token(true).await);
    assert_eq!(failure(&found).kind(), "invariant");
    proves(&search().run(async || token(false).await));
}

/// A task: a list of operations on words, where `None` adds 1 and `Some` stores.
type Task = Vec<(usize, Option<u64>)>;

/// A generator of numbers that uses no library, so the numbers are the same in every build.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const WORDS: usize = 3;

/// Holds unless the words have these values. Reads the next word only if the previous word has its value.
fn holds(bad: [u64; WORDS], read: impl Fn(usize) -> u64) -> bool {
    !(0..WORDS).all(|word| read(word) == bad[word])
}

/// All states of the words after some step.
fn states(tasks: &[Task], at: &mut [usize], words: [u64; WORDS], all: &mut BTreeSet<[u64; WORDS]>) {
    all.insert(words);
    for task in 0..tasks.len() {
        let Some((word, value)) = tasks[task].get(at[task]).copied() else { continue };
        let mut next = words;
        next[word] = value.unwrap_or(words[word] + 1);
        at[task] += 1;
        states(tasks, at, next, all);
        at[task] -= 1;
    }
}

fn program(tasks: &[Task], bad: [u64; WORDS]) -> Report {
    search().run(async || {
        let words: Arc<[Atomic<u64>; WORDS]> = Arc::new(std::array::from_fn(|_| Atomic::new(0)));
        let seen = words.clone();
        let _good = sim::invariant("good", move || holds(bad, |word| seen[word].peek()));
        let run = |task: &Task| {
            let (task, words) = (task.clone(), words.clone());
            sim::spawn(async move {
                for (word, value) in task {
                    match value {
                        Some(value) => words[word].store(value, SeqCst).await,
                        None => drop(words[word].fetch_add(1, SeqCst).await),
                    }
                }
            })
        };
        for task in tasks.iter().map(run).collect::<Vec<_>>() {
            task.await.unwrap();
        }
    })
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_each_state_that_brute_force_does_and_no_other() {
    let mut draw = Draw(7);
    let (mut violated, mut proved) = (0, 0);
    let programs = if sim_tests::histories::long() { 2_000 } else { 25 };
    for _ in 0..programs {
        let (count, length) = if draw.below(2) == 0 { (2, 3) } else { (3, 2) };
        let tasks: Vec<Task> = (0..count)
            .map(|_| {
                let op = |draw: &mut Draw| {
                    let value = draw.below(3);
                    (draw.below(WORDS as u64) as usize, (value > 0).then_some(value))
                };
                (0..length).map(|_| op(&mut draw)).collect()
            })
            .collect();
        let bad: [u64; WORDS] = std::array::from_fn(|_| draw.below(3));
        let mut all = BTreeSet::new();
        states(&tasks, &mut vec![0; tasks.len()], [0; WORDS], &mut all);
        let report = program(&tasks, bad);
        match all.contains(&bad) {
            true => {
                violated += 1;
                assert_eq!(failure(&report).kind(), "invariant", "{tasks:?} {bad:?}");
            }
            false => {
                proved += 1;
                proves(&report);
            }
        }
    }
    assert!(violated >= 10 && proved >= 10, "{violated} {proved}");
}

#[cfg_attr(feature = "sim", test)]
fn it_is_evaluated_again_when_something_that_it_read_has_changed() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
        let (count, seen) = (Arc::new(AtomicU64::new(0)), words.clone());
        let counted = count.clone();
        let held = sim::invariant("small", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            seen[0].peek() < 10
        });
        for _ in 0..50 {
            words[1].fetch_add(1, SeqCst).await;
        }
        for _ in 0..5 {
            words[0].fetch_add(1, SeqCst).await;
        }
        assert_eq!(words[0].load(SeqCst).await, 5);
        assert_eq!(count.load(Ordering::Relaxed), 1 + 5);
        drop(held);
        words[0].store(20, SeqCst).await;
        assert_eq!(count.load(Ordering::Relaxed), 1 + 5);
    });
    passes(&report);
}

/// A task changes a word, before or after the end of the invariant: no object orders the two.
async fn ends_beside(is_bad: bool) {
    let word = Arc::new(Atomic::new(0));
    let (own, seen) = (word.clone(), word.clone());
    let held = sim::invariant("small", move || seen.peek() < 2);
    let task = sim::spawn(async move {
        own.store(if is_bad { 2 } else { 1 }, SeqCst).await;
        own.store(0, SeqCst).await;
    });
    sim::task::yield_now().await;
    drop(held);
    task.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_each_step_before_the_end_of_an_invariant() {
    assert_eq!(failure(&search().run(async || ends_beside(true).await)).kind(), "invariant");
    proves(&search().run(async || ends_beside(false).await));
    // The invariant is evaluated once more when it ends, within the same step.
    let last = Runner::new().hermetic().seeds(0..1).run(async || {
        let word = Arc::new(Atomic::new(0));
        let seen = word.clone();
        let held = sim::invariant("small", move || seen.peek() < 2);
        word.store(2, SeqCst).await;
        drop(held);
    });
    assert_eq!(failure(&last).kind(), "invariant");
}

/// An invariant over memory that is not an object of the run.
async fn unseen(end: u64) {
    let value = Arc::new(AtomicU64::new(0));
    let read = value.clone();
    let _small = sim::invariant("small", move || read.load(Ordering::Relaxed) < 3);
    let word = Atomic::new(0);
    for next in 0..=end {
        value.store(next, Ordering::Relaxed);
        word.store(next, SeqCst).await;
    }
}

#[cfg_attr(feature = "sim", test)]
fn memory_that_no_run_sees_is_read_after_each_step_and_proves_nothing() {
    let found = Runner::new().hermetic().seeds(0..1).run(async || unseen(3).await);
    assert_eq!(failure(&found).kind(), "invariant");
    let report = search().run(async || unseen(2).await);
    let (shown, searched) = (screen(&report), report.searched.as_ref().unwrap());
    assert!(report.passed() && !searched.is_proof(), "{shown}");
    assert!(shown.contains("the search does not see the state that an invariant reads"), "{shown}");
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_that_reads_the_time_is_evaluated_after_each_step() {
    let sleeps = |seconds: u64| {
        search().run(async move || {
            let start = Instant::now();
            let _soon =
                sim::invariant("soon", move || Instant::now() - start < Duration::from_secs(3));
            // The time advances between two steps, and nothing else changes.
            sleep(Duration::from_secs(seconds)).await;
            sim::task::yield_now().await;
        })
    };
    assert_eq!(failure(&sleeps(3)).kind(), "invariant");
    proves(&sleeps(2));
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_that_reads_a_count_of_messages_is_evaluated_after_each_step() {
    let loses = |most: u64| {
        search().run(async move || {
            let [a, b] = ["a", "b"].map(node);
            let (sender, _receiver) = net::datagrams(&a, &b);
            net::cut(&a, &b);
            let _few = sim::invariant("few are lost", move || net::met() <= most);
            // The message is lost in the step of its arrival, by an operation on its link.
            sender.send(1).await.unwrap();
            sleep(Duration::from_secs(1)).await;
        })
    };
    assert_eq!(failure(&loses(0)).kind(), "invariant");
    proves(&loses(1));
}

/// A write returns before its value is stored, and a read sees the old value. In the fixed variant, the value is stored
/// before the write returns.
async fn returns_early(fixed: bool) {
    let start = Instant::now();
    // This invariant reads the time, so it is evaluated after each step.
    let _soon = sim::invariant("soon", move || Instant::now() - start < Duration::from_secs(3));
    let (word, told) = (Arc::new(Atomic::new(0_u64)), Atomic::new(false));
    let history = History::new(Register::new(0_u64));
    let (stored, writes) = (word.clone(), history.clone());
    let writer = sim::spawn(async move {
        let write = async {
            if fixed {
                stored.store(7, SeqCst).await;
            }
            told.store(true, SeqCst).await;
            RegisterRet::Done
        };
        writes.call(RegisterOp::Write(7), write).await;
        stored.store(7, SeqCst).await;
    });
    let read = history.invoke(RegisterOp::Read);
    let value = word.load(SeqCst).await;
    read.ok(RegisterRet::Value(value));
    writer.await.unwrap();
    history.assert_linearizable();
}

#[cfg_attr(feature = "sim", test)]
fn reads_of_a_condition_are_no_accesses_of_a_recorded_call() {
    let found = Runner::new().hermetic().seeds(0..200).run(async || returns_early(false).await);
    assert_eq!(failure(&found).kind(), "history");
    passes(&Runner::new().hermetic().seeds(0..200).run(async || returns_early(true).await));
    let found = search().run(async || returns_early(false).await);
    assert_eq!(failure(&found).kind(), "history");
    proves(&search().run(async || returns_early(true).await));
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_reads_objects_of_all_kinds_of_all_nodes() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let nodes = ["a", "b"].map(node);
        let rooms = nodes.each_ref().map(|node| node.enter(|| Semaphore::new(2)));
        let rooms = Arc::new(rooms);
        let seen = rooms.clone();
        let _room =
            sim::invariant("room", move || seen.iter().all(|room| room.available_permits() > 0));
        let tasks = [0, 1].map(|at| {
            let rooms = rooms.clone();
            nodes[at].spawn(async move { drop(rooms[at].acquire().await.unwrap()) })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_that_does_more_than_look_is_a_misuse() {
    let does_more = |act: fn(&Atomic<u64>)| {
        Runner::new().hermetic().seeds(0..1).run(async || {
            let word = Arc::new(Atomic::new(0));
            let own = word.clone();
            let _held = sim::invariant("looks", move || {
                act(&own);
                true
            });
            word.store(1, SeqCst).await;
        })
    };
    let acts: [fn(&Atomic<u64>); 4] = [
        |word| assert!(word.load(SeqCst).now_or_never().is_some()),
        |word| assert!(word.store(2, SeqCst).now_or_never().is_some()),
        |_| assert!(sim::rand::below(2) < 2),
        |_| sim::spawn(async {}).detach(),
    ];
    for act in acts {
        let report = does_more(act);
        let message = misuse(&report);
        assert!(message.contains("the invariant \"looks\" does more than look"), "{message}");
        assert!(message.contains("`peek()`"), "{message}");
    }
    passes(&does_more(|word| assert!(word.peek() < 2)));
    let panics = does_more(|word| assert!(word.peek() == 0, "it is not 0"));
    let Failure::Panic { message, .. } = failure(&panics) else { panic!("{}", screen(&panics)) };
    assert_eq!(message, "it is not 0");
}

#[cfg_attr(feature = "sim", test)]
fn the_death_of_a_node_is_a_change() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || {
        let db = node("db");
        let watched = db.clone();
        let _up = sim::invariant("it is up", move || watched.is_up());
        let name = Cell::new("a".to_owned());
        name.set("b".to_owned()).await;
        assert_eq!(name.peek(), "b");
        db.kill();
        name.set("c".to_owned()).await;
    });
    assert_eq!(failure(&report).kind(), "invariant");
}

#[test]
fn outside_of_simulated_runs_it_is_never_evaluated() {
    let body = async || {
        if !sim::SIMULATED {
            let _held = sim::invariant("never", || panic!("it is evaluated"));
            sim::task::yield_now().await;
        }
    };
    passes(&Runner::new().hermetic().seeds(0..2).run(body));
    let held = sim::invariant("never", || panic!("it is evaluated"));
    drop(held);
}
