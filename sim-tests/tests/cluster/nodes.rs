//! Nodes, and the remains of a node after its death.

use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use sim::Ordering::SeqCst;
use sim::run::Failure;
use sim::task::{Id, try_id, yield_now};
use sim::time::{Duration, Instant, sleep};
use sim::{Atomic, Mutex, Runner, node, spawn};

use super::{failure, misuse, passes, proves, screen, search};

/// A node writes twice, and is killed in between or not.
async fn written_by_the_dead(at_once: bool) {
    let values = Arc::new([Atomic::new(0), Atomic::new(0)]);
    values[0].store(0, SeqCst).await;
    values[1].store(0, SeqCst).await;
    let db = node("db-1");
    let written = values.clone();
    db.run(move || {
        let written = written.clone();
        async move {
            written[0].store(1, SeqCst).await;
            if !at_once {
                written[1].store(1, SeqCst).await;
            }
        }
    });
    let killer = spawn(async move { db.kill() });
    killer.await.unwrap();
    let seen = (values[0].load(SeqCst).await, values[1].load(SeqCst).await);
    assert!(seen != (1, 0) || at_once, "half of it is written");
}

#[cfg_attr(feature = "sim", test)]
fn a_search_kills_a_node_at_each_of_its_points() {
    let found = search().run(async || written_by_the_dead(false).await);
    assert!(matches!(failure(&found), Failure::Panic { .. }), "{}", screen(&found));
    proves(&search().run(async || written_by_the_dead(true).await));
    let sampled = Runner::new().hermetic().run(async || written_by_the_dead(false).await);
    assert!(!sampled.passed());
    passes(&Runner::new().hermetic().run(async || written_by_the_dead(true).await));
}

#[cfg_attr(feature = "sim", test)]
fn the_dead_take_no_step() {
    let report = Runner::new().hermetic().run(async || {
        let count = Arc::new(Atomic::new(0_u32));
        count.store(0, SeqCst).await;
        let db = node("db-1");
        for _ in 0..3 {
            let count = count.clone();
            let counting = db.spawn(async move {
                // A child of the task belongs to the node, too.
                let own = count.clone();
                spawn(async move {
                    for _ in 0..50 {
                        own.fetch_add(1, SeqCst).await;
                    }
                })
                .detach();
                for _ in 0..50 {
                    count.fetch_add(1, SeqCst).await;
                }
            });
            drop::<sim::JoinHandle<()>>(counting);
        }
        for _ in 0..5 {
            yield_now().await;
        }
        db.kill();
        assert!(!db.is_up());
        let last = count.load(SeqCst).await;
        for _ in 0..20 {
            yield_now().await;
        }
        assert_eq!(count.load(SeqCst).await, last, "the dead go on");
    });
    passes(&report);
}

struct Told(&'static str, Arc<StdMutex<Vec<&'static str>>>);

impl Drop for Told {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
        // A task and a message of a dead node must have no effect.
        let heard = self.1.clone();
        spawn(async move { heard.lock().unwrap().push("a task of the dead") }).detach();
        if self.0 == "older" {
            panic!("a destructor of the dead panics");
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn futures_of_the_dead_are_dropped_the_newest_first_and_have_no_effect() {
    let report = Runner::new().hermetic().run(async || {
        let told = Arc::new(StdMutex::new(Vec::new()));
        let lock = Arc::new(Mutex::new(0));
        let db = node("db-1");
        for name in ["older", "newer"] {
            let (told, lock) = (Told(name, told.clone()), lock.clone());
            db.spawn(async move {
                let _held = lock.lock().await;
                let _told = told;
                std::future::pending::<()>().await;
            })
            .detach();
        }
        for _ in 0..5 {
            yield_now().await;
        }
        db.kill();
        *lock.lock().await += 1;
        for _ in 0..5 {
            yield_now().await;
        }
        assert_eq!(*told.lock().unwrap(), ["newer", "older"]);
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn destructors_of_the_dead_have_the_identities_of_their_tasks() {
    /// Keeps the identity of the task that drops this value.
    struct Tells(Arc<StdMutex<Option<Id>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = try_id();
        }
    }
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        let db = node("db-1");
        let told = Arc::new(StdMutex::new(None));
        let tells = Tells(told.clone());
        let task = db.spawn(async move {
            let _tells = tells;
            std::future::pending::<()>().await;
        });
        db.kill();
        // The future is dropped at the end of the step.
        yield_now().await;
        assert_eq!(*told.lock().unwrap(), Some(task.id()));
        assert!(task.await.unwrap_err().is_cancelled());
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn the_handle_of_a_dead_task_says_so() {
    let report = search().run(async || {
        let db = node("db-1");
        let task = db.spawn(async { yield_now().await });
        let killer = {
            let db = db.clone();
            spawn(async move { db.kill() })
        };
        if let Err(error) = task.await {
            assert!(error.is_cancelled());
        }
        killer.await.unwrap();
        // A node that is down has no tasks. If it is restarted without a main function, it has no tasks either.
        assert!(db.spawn(async {}).await.unwrap_err().is_cancelled());
        db.restart();
        db.spawn(async {}).await.unwrap();
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_node_that_kills_itself_ends_at_its_next_point() {
    let report = search().run(async || {
        let steps = Arc::new(AtomicU32::new(0));
        let db = node("db-1");
        let own = steps.clone();
        let task = db.spawn(async move {
            own.store(1, Relaxed);
            node::current().unwrap().kill();
            own.store(2, Relaxed);
            yield_now().await;
            own.store(3, Relaxed);
        });
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(steps.load(Relaxed), 2);
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_paused_node_takes_no_step_and_goes_on() {
    let report = search().run(async || {
        let value = Arc::new(Atomic::new(0));
        value.store(0, SeqCst).await;
        let db = node("db-1");
        let own = value.clone();
        let task = db.spawn(async move {
            own.fetch_add(1, SeqCst).await;
            own.fetch_add(1, SeqCst).await;
        });
        let pauser = {
            let (db, value) = (db.clone(), value.clone());
            spawn(async move {
                db.pause();
                let before = value.load(SeqCst).await;
                yield_now().await;
                assert_eq!(value.load(SeqCst).await, before);
                db.resume();
            })
        };
        pauser.await.unwrap();
        task.await.unwrap();
        assert_eq!(value.load(SeqCst).await, 2);
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn memory_that_two_nodes_share_is_an_error() {
    let sharing = async |is_lock: bool, allowed: bool| {
        if allowed {
            node::share_memory();
        }
        let (lock, word) = (Arc::new(StdMutex::new(None)), Arc::new(StdMutex::new(None)));
        for name in ["db-1", "db-2"] {
            let (word, lock) = (word.clone(), lock.clone());
            let task = node(name).spawn(async move {
                if is_lock {
                    let lock =
                        lock.lock().unwrap().get_or_insert_with(|| Arc::new(Mutex::new(0))).clone();
                    *lock.lock().await += 1;
                } else {
                    let word = word
                        .lock()
                        .unwrap()
                        .get_or_insert_with(|| Arc::new(Atomic::new(0)))
                        .clone();
                    word.fetch_add(1, SeqCst).await;
                }
            });
            task.await.unwrap();
        }
    };
    for is_lock in [true, false] {
        let found = Runner::new().hermetic().run(async || sharing(is_lock, false).await);
        let message = misuse(&found);
        assert!(message.contains("db-1's, and db-2 used it"), "{message}");
        passes(&Runner::new().hermetic().run(async || sharing(is_lock, true).await));
    }
}

#[cfg_attr(feature = "sim", test)]
fn memory_that_outlives_a_process_is_an_error() {
    let outlives = async |is_fresh: bool| {
        let word = Arc::new(StdMutex::new(None));
        let db = node("db-1");
        db.run(move || {
            let word = word.clone();
            async move {
                let mut kept = word.lock().unwrap().take().filter(|_| !is_fresh);
                let made = kept.get_or_insert_with(|| Arc::new(Atomic::new(0))).clone();
                *word.lock().unwrap() = kept;
                let word = made;
                word.fetch_add(1, SeqCst).await;
            }
        });
        yield_now().await;
        yield_now().await;
        db.restart();
        yield_now().await;
    };
    let found = Runner::new().hermetic().run(async || outlives(false).await);
    assert!(misuse(&found).contains("in one life and again"), "{}", screen(&found));
    passes(&Runner::new().hermetic().run(async || outlives(true).await));
}

#[cfg_attr(feature = "sim", test)]
fn two_nodes_of_one_name_are_an_error() {
    let found = Runner::new().hermetic().run(async || {
        let _one = node("db");
        let _two = node("db");
    });
    assert!(misuse(&found).contains("already"));
}

#[test]
fn outside_of_runs_a_node_is_a_group_of_tasks() {
    sim::block_on(async {
        let db = node("db-real");
        let task = db.spawn(async {
            assert_eq!(node::current().unwrap().name(), "db-real");
            let inner = spawn(std::future::pending::<()>());
            inner.await
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        db.kill();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(!db.is_up());
    });
}

#[cfg_attr(feature = "sim", test)]
fn time_goes_on_beside_a_paused_node() {
    let report = search().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let late = a.spawn(sleep(Duration::from_millis(1)));
        let begin = Instant::now();
        a.pause();
        // The clock is not memory of one node.
        b.spawn(sleep(Duration::from_millis(9))).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(9));
        assert!(!late.is_finished());
        a.resume();
        late.await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(9));
    });
    proves(&report);
}
