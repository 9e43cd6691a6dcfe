//! Identities of tasks.

use std::collections::BTreeSet;

use sim::spawn;
use sim::task::yield_now;
use sim::tokio::task::{self, Id, JoinSet};

use crate::{Results, holds};

#[test]
fn a_task_and_its_handles_have_one_identity() {
    let body = async || {
        assert!(task::try_id().is_none());
        let task = spawn(async {
            let child = spawn(async { task::id() });
            let id: Id = child.id();
            yield_now().await;
            assert_eq!(child.await.unwrap(), id);
            (task::id(), id)
        });
        let ids = [task.id(), task.abort_handle().id()];
        let (id, child) = task.await.unwrap();
        assert_eq!(ids, [id, id]);
        assert_ne!(id, child);
        let aborted = spawn(std::future::pending::<()>());
        let id = aborted.id();
        aborted.abort();
        assert_eq!(aborted.await.unwrap_err().id(), id);
        assert!(task::try_id().is_none());
    };
    sim::block_on(body());
    crate::all(body);
}

#[test]
fn destructors_of_a_task_have_its_identity() {
    struct Tells(futures::channel::oneshot::Sender<Id>);
    impl Tells {
        fn tells(self) -> impl Drop {
            struct Armed(Option<futures::channel::oneshot::Sender<Id>>);
            impl Drop for Armed {
                fn drop(&mut self) {
                    let _ = self.0.take().unwrap().send(task::id());
                }
            }
            Armed(Some(self.0))
        }
    }
    let body = async || {
        let (told, tell) = futures::channel::oneshot::channel();
        let armed = Tells(told).tells();
        let task = spawn(async move {
            let _armed = armed;
            std::future::pending::<()>().await;
        });
        let id = task.id();
        yield_now().await;
        task.abort();
        assert!(task.await.is_err());
        assert_eq!(tell.await.unwrap(), id);
    };
    sim::block_on(body());
    assert!(crate::all(body).passed());
}

#[test]
fn a_result_that_no_handle_returns_is_dropped_with_the_identity_of_its_task() {
    /// Sends the identity of the task that drops this value.
    struct Tells(Option<futures::channel::oneshot::Sender<Option<Id>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(task::try_id());
        }
    }
    let body = async || {
        let (told, tell) = futures::channel::oneshot::channel();
        let tells = Tells(Some(told));
        let task = spawn(async move { tells });
        let id = task.id();
        while !task.is_finished() {
            yield_now().await;
        }
        drop(task);
        assert_eq!(tell.await.unwrap(), Some(id));
        let mut tasks = JoinSet::new();
        let (told, tell) = futures::channel::oneshot::channel();
        let tells = Tells(Some(told));
        let task = tasks.spawn(async move { tells });
        while !task.is_finished() {
            yield_now().await;
        }
        drop(tasks);
        assert_eq!(tell.await.unwrap(), Some(task.id()));
    };
    sim::block_on(body());
    assert!(sim::Runner::new().hermetic().seeds(0..20).run(body).passed());
}

#[test]
fn a_set_tells_whose_results_it_gives() {
    let body = async || {
        let mut tasks = JoinSet::new();
        let ids = [1, 2, 3].map(|n| tasks.spawn(async move { n }).id());
        let (id, n) = tasks.join_next_with_id().await.unwrap().unwrap();
        assert_eq!(ids[n - 1], id);
        let mut left = vec![n];
        while !tasks.is_empty() {
            match tasks.try_join_next_with_id() {
                Some(joined) => left.push(joined.unwrap().1),
                None => yield_now().await,
            }
        }
        left.sort_unstable();
        assert_eq!(left, [1, 2, 3]);
        let aborted = tasks.spawn(std::future::pending());
        aborted.abort();
        let error = tasks.join_next_with_id().await.unwrap().unwrap_err();
        assert_eq!(error.id(), aborted.id());
    };
    sim::block_on(body());
    let random = sim::Runner::new().hermetic().seeds(0..50).run(body);
    assert!(random.passed());
}

#[test]
fn in_a_run_they_are_those_of_the_paths() {
    let all = Results::new();
    holds(async || {
        let tasks = [0, 1].map(|_| {
            spawn(async {
                yield_now().await;
                let child = spawn(async {}).id();
                (task::id().to_string(), child.to_string())
            })
        });
        let mut ids = BTreeSet::new();
        for task in tasks {
            ids.insert(task.await.unwrap());
        }
        assert_eq!(ids.len(), 2);
        if sim::SIMULATED {
            all.add(ids);
        }
    });
    let pair = |task: &str, child: &str| (task.to_owned(), child.to_owned());
    all.are([BTreeSet::from([pair("1", "1001"), pair("2", "2001")])]);
}
