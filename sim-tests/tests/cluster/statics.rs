//! Statics: each life of a node has its own.

use std::pin::pin;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::run::Failure;
use sim::tokio::sync::{Notify, Semaphore};
use sim::{Atomic, Cell, LazyLock, Once, OnceLock, Runner, node, spawn};

use super::{failure, misuse, passes, proves, runs, screen, search};

/// A node hands out numbers, which it counts in a static. The node is restarted in between. The bug: after a restart,
/// the node forgets the numbers that it has handed out. The static that represents its disk keeps its value over all
/// lives.
async fn numbers(is_stored: bool) {
    static NEXT: Atomic<u64> = Atomic::<u64>::const_new(1).named("next");
    static DISK: Atomic<u64> = Atomic::<u64>::const_new(1).shared();
    static GIVEN: Cell<Vec<u64>> = Cell::const_new(Vec::new()).shared();
    let db = node("db-1");
    db.run(move || async move {
        let number = match is_stored {
            true => DISK.fetch_add(1, SeqCst).await,
            false => NEXT.fetch_add(1, SeqCst).await,
        };
        let mut given = GIVEN.get().await;
        assert!(!given.contains(&number), "{number} was given twice");
        given.push(number);
        GIVEN.set(given).await;
    });
    let killer = spawn(async move {
        db.restart();
        sim::spin_until(async || !GIVEN.get().await.is_empty()).await;
    });
    killer.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn a_counter_in_a_static_does_not_survive_a_restart() {
    let found = search().run(async || numbers(false).await);
    assert!(matches!(failure(&found), Failure::Panic { message, .. } if message.contains("twice")));
    let screen = screen(&found);
    assert!(screen.contains("next of db-1 "), "{screen}");
    assert!(screen.contains("next of db-1 in life 2"), "{screen}");
    proves(&search().run(async || numbers(true).await));
    assert!(!Runner::new().hermetic().run(async || numbers(false).await).passed());
    passes(&Runner::new().hermetic().run(async || numbers(true).await));
}

static COUNT: Atomic<u64> = Atomic::<u64>::const_new(7);
static LIST: Cell<Vec<u64>> = Cell::const_new(Vec::new());
static ID: OnceLock<u64> = OnceLock::const_new();
static ONCE: Once = Once::const_new();
static LAZY: LazyLock<u64> =
    LazyLock::const_new(|| Box::pin(async { COUNT.fetch_add(100, SeqCst).await }));

/// Uses all statics, which no task of the same node has used before.
async fn uses(id: u64) {
    assert_eq!(COUNT.fetch_add(1, SeqCst).await, 7);
    assert_eq!(LIST.replace(vec![id]).await, Vec::<u64>::new());
    assert_eq!(ID.get().await, None);
    assert_eq!(*ID.get_or_init(async || id).await, id);
    assert!(!ONCE.is_completed().await);
    ONCE.call_once(async || assert_eq!(LIST.get().await, [id])).await;
    assert_eq!(*LazyLock::force(&LAZY).await, 8);
    assert_eq!(*LazyLock::force(&LAZY).await, 8);
    assert_eq!((COUNT.peek(), LIST.peek()), (108, vec![id]));
}

/// Two nodes in two lives each, and the test.
async fn apart() {
    let done = Arc::new(Atomic::new(0));
    let nodes = [1, 2].map(|id| {
        let db = node(format!("db-{id}"));
        let done = done.clone();
        db.run(move || {
            let done = done.clone();
            async move {
                uses(id).await;
                done.fetch_add(1, SeqCst).await;
            }
        });
        db
    });
    uses(3).await;
    sim::spin_until(async || done.load(SeqCst).await == 2).await;
    for db in &nodes {
        assert_eq!(db.enter(|| COUNT.peek()), 108);
        db.restart();
        assert_eq!(db.enter(|| (COUNT.peek(), LIST.peek())), (7, vec![]));
    }
    sim::spin_until(async || done.load(SeqCst).await == 4).await;
    assert_eq!((COUNT.peek(), LIST.peek()), (108, vec![3]));
}

#[cfg_attr(feature = "sim", test)]
fn each_life_of_a_node_has_its_own_statics_with_four_jobs_at_once() {
    let report = Runner::new().hermetic().seeds(0..400).jobs(4).run(apart);
    passes(&report);
    // Two tests at once, and each in several workers.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| passes(&Runner::new().hermetic().seeds(0..400).jobs(2).run(apart)));
        }
    });
    assert_eq!(sim::block_on(COUNT.load(SeqCst)), 7);
    assert_eq!(sim::block_on(ID.get()), None);
}

static ROOM: Semaphore = Semaphore::const_new(2);
static READY: Notify = Notify::const_new();

/// Uses the statics of tokio's names, which no task of the same node has used before.
async fn uses_tokio() {
    assert_eq!(ROOM.available_permits(), 2);
    let permit = ROOM.acquire().await.unwrap();
    assert_eq!(ROOM.available_permits(), 1);
    assert!(ROOM.try_acquire_many(2).is_err());
    drop(permit);
    ROOM.acquire_many(2).await.unwrap().forget();
    assert_eq!(ROOM.available_permits(), 0);
    ROOM.add_permits(1);
    ROOM.close();
    assert!(ROOM.is_closed() && ROOM.acquire().await.is_err());
    // At most one notification without a waiter is kept.
    READY.notify_one();
    READY.notified().await;
    assert!(!pin!(READY.notified()).enable());
    let told = READY.notified();
    READY.notify_waiters();
    told.await;
}

#[cfg_attr(feature = "sim", test)]
fn each_life_of_a_node_and_each_run_has_its_own_semaphore_and_notification() {
    let apart = async || {
        let done = Arc::new(Atomic::new(0));
        let db = node("db-1");
        let count = done.clone();
        db.run(move || {
            let done = count.clone();
            async move {
                uses_tokio().await;
                done.fetch_add(1, SeqCst).await;
            }
        });
        uses_tokio().await;
        sim::spin_until(async || done.load(SeqCst).await == 1).await;
        assert!(db.enter(|| ROOM.is_closed()));
        db.restart();
        assert!(!db.enter(|| ROOM.is_closed()));
        sim::spin_until(async || done.load(SeqCst).await == 2).await;
        assert!(ROOM.is_closed());
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| passes(&Runner::new().hermetic().seeds(0..100).jobs(2).run(apart)));
        }
    });
    // The search makes many runs on one thread.
    assert!(search().seeds(0..100_000).run(async || uses_tokio().await).passed());
    // Outside of runs, these objects belong to the process.
    assert!(!ROOM.is_closed() && ROOM.available_permits() == 2);
}

/// The nodes of a cluster must execute an action once. A restarted node with a new semaphore executes the action again.
/// The static that represents the disk keeps its value over all lives.
async fn once(is_stored: bool) {
    static FIRST: Semaphore = Semaphore::const_new(1);
    static DISK: Atomic<bool> = Atomic::<bool>::const_new(false).shared();
    static DONE: Atomic<u64> = Atomic::<u64>::const_new(0).shared();
    let db = node("db-1");
    db.run(move || async move {
        let is_first = match is_stored {
            true => !DISK.swap(true, SeqCst).await,
            false => FIRST.acquire().await.map(|permit| permit.forget()).is_ok(),
        };
        if is_first {
            let before = DONE.fetch_add(1, SeqCst).await;
            assert_eq!(before, 0, "done twice");
        }
    });
    spawn(async move { db.restart() }).await.unwrap();
    sim::task::yield_now().await;
    let db = sim::node("db-2");
    db.spawn(async {
        // If a task is dropped with a permit, the permit returns to the semaphore of its own node.
        let _permit = FIRST.acquire().await;
        sim::task::yield_now().await;
    })
    .detach();
    db.kill();
    db.enter(|| assert_eq!(FIRST.available_permits(), 1));
}

#[cfg_attr(feature = "sim", test)]
fn a_permit_of_a_static_does_not_survive_a_restart() {
    let found = search().run(async || once(false).await);
    assert!(matches!(failure(&found), Failure::Panic { message, .. } if message.contains("twice")));
    let screen = screen(&found);
    assert!(screen.contains("semaphore of db-1 in life 2"), "{screen}");
    proves(&search().run(async || once(true).await));
}

/// Two nodes that write a static twice each.
async fn writes(counter: &'static Atomic<u64>) {
    let nodes = ["db-1", "db-2"].map(node);
    let tasks = nodes.map(|node| {
        node.spawn(async move {
            counter.fetch_add(1, SeqCst).await;
            counter.fetch_add(2, SeqCst).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn operations_of_different_nodes_on_a_static_do_not_conflict() {
    static OWN: Atomic<u64> = Atomic::<u64>::const_new(0);
    static SHARED: Atomic<u64> = Atomic::<u64>::const_new(0).shared();
    assert_eq!(runs(async || writes(&OWN).await), 1);
    assert_eq!(runs(async || writes(&SHARED).await), 6);
    // The class of a run does not depend on the node that comes first.
    let class = |seed| {
        let run = Runner::new().hermetic().run_seed(seed, async || writes(&OWN).await);
        sim::census::class_of(&run)
    };
    assert!((1..30).all(|seed| class(seed) == class(0)));
}

#[cfg_attr(feature = "sim", test)]
fn what_the_test_has_made_is_shared() {
    static COUNT: Atomic<u64> = Atomic::<u64>::const_new(0);
    // These objects are shared: the test body creates them before the run, or they are a static that is shared on
    // purpose.
    let before = Arc::new((Atomic::new(0), Cell::new(0)));
    passes(&Runner::new().hermetic().run(async || {
        node::share_memory();
        writes(&COUNT).await;
        assert_eq!(COUNT.load(SeqCst).await, 6);
    }));
    let report = search().run(async || {
        let inside = Arc::new(Atomic::new(0));
        let tasks = ["db-1", "db-2"].map(|name| {
            let (before, inside) = (before.clone(), inside.clone());
            node(name).spawn(async move {
                before.0.fetch_add(1, SeqCst).await;
                before.1.set(1).await;
                inside.fetch_add(1, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!((before.0.peek(), before.1.peek(), inside.peek()), (2, 1, 2));
    });
    proves(&report);
    assert_eq!(before.0.peek(), 0);
}

#[cfg_attr(feature = "sim", test)]
fn a_static_that_is_not_by_node_fails_the_run() {
    static ID: OnceLock<u64> = OnceLock::new();
    let report = Runner::new().hermetic().run(async || {
        for name in ["db-1", "db-2"] {
            node(name).spawn(async { *ID.get_or_init(async || 1).await }).await.unwrap();
        }
    });
    let message = misuse(&report);
    assert!(message.contains("is shared across nodes"), "{message}");
    assert!(message.contains("make it with const_new"), "{message}");
}

#[cfg_attr(feature = "sim", test)]
fn an_atomic_that_a_node_makes_may_be_shared_on_purpose() {
    let run = async |is_shared: bool| {
        let [one, other] = ["db-1", "db-2"].map(node);
        let word = one.enter(|| Atomic::new(0).named("word"));
        let word = Arc::new(if is_shared { word.shared() } else { word });
        let tasks = [one, other].map(|node| {
            let word = word.clone();
            node.spawn(async move { word.fetch_add(1, SeqCst).await })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(word.load(SeqCst).await, 2);
    };
    passes(&Runner::new().hermetic().run(async || run(true).await));
    let found = Runner::new().hermetic().run(async || run(false).await);
    assert!(misuse(&found).contains("is shared across nodes"));
}

/// A node may die while it creates a static's value. Then its next life creates it.
#[cfg_attr(feature = "sim", test)]
fn an_initialisation_dies_with_its_node() {
    static VALUE: OnceLock<u64> = OnceLock::const_new();
    static MADE: Atomic<u64> = Atomic::<u64>::const_new(0);
    let report = search().run(async || {
        let make = async || {
            let value = async || MADE.fetch_add(1, SeqCst).await;
            assert_eq!(*VALUE.get_or_init(value).await, 0);
        };
        let db = node("db-1");
        db.run(make);
        let other = node("db-2").spawn(make());
        let killer = {
            let db = db.clone();
            spawn(async move { db.kill() })
        };
        killer.await.unwrap();
        db.restart();
        db.spawn(async { assert_eq!(*VALUE.wait().await, 0) }).await.unwrap();
        other.await.unwrap();
        assert_eq!(VALUE.get().await, None);
    });
    proves(&report);
}

/// A condition reads the static of the test, and, within nodes, their statics.
#[cfg_attr(feature = "sim", test)]
fn invariants_read_the_statics_of_each_node() {
    static LEADS: Atomic<bool> = Atomic::<bool>::const_new(false);
    let leaders = async |is_given_first: bool| {
        let nodes = ["a", "b"].map(node);
        let all = nodes.clone();
        let _one = sim::invariant("one leader", move || {
            assert!(!LEADS.peek(), "the test leads");
            all.iter().filter(|node| node.enter(|| LEADS.peek())).count() <= 1
        });
        let (given, mut taken) = sim::net::link::<()>(&nodes[0], &nodes[1]);
        let [a, b] = nodes;
        let first = a.spawn(async move {
            LEADS.store(true, SeqCst).await;
            if !is_given_first {
                LEADS.store(false, SeqCst).await;
            }
            let _ = given.send(()).await;
            LEADS.store(false, SeqCst).await;
        });
        let second = b.spawn(async move {
            taken.recv().await;
            LEADS.store(true, SeqCst).await;
        });
        first.await.unwrap();
        second.await.unwrap();
    };
    let found = search().run(async || leaders(true).await);
    assert!(matches!(failure(&found), Failure::Invariant { .. }), "{}", screen(&found));
    proves(&search().run(async || leaders(false).await));
}
