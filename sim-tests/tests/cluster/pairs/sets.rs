//! Calls on sets of tasks.

use std::future::poll_fn;
use std::sync::Arc;

use futures::future::BoxFuture;
use sim::task::{Builder, JoinSet, yield_now};
use sim::{Atomic, JoinHandle, Ordering::SeqCst};

use super::{Act, World, act, compare};

type Word = Atomic<u64>;

const WORLD: World<Word> = World {
    begin: || Box::pin(async { Atomic::new(0) }),
    look: |word| Box::pin(async move { word.load(SeqCst).await.to_string() }),
};

/// Creates a set of two tasks that add to the word, and executes a call on the set.
fn with_set<R, F>(word: Arc<Word>, call: fn(JoinSet<u64>) -> F) -> BoxFuture<'static, String>
where
    R: std::fmt::Debug,
    F: Future<Output = R> + Send + 'static,
{
    Box::pin(async move {
        let mut set = JoinSet::new();
        for count in [1, 10] {
            let word = word.clone();
            set.spawn(async move { word.fetch_add(count, SeqCst).await });
        }
        format!("{:?}", call(set).await)
    })
}

fn named(word: Arc<Word>) -> JoinHandle<u64> {
    Builder::new().name("named").spawn(async move { word.swap(5, SeqCst).await })
}

fn acts() -> Vec<Act<Word>> {
    vec![
        act("task::JoinSet::spawn + task::JoinSet::join_next", |word| {
            with_set(word, |mut set| async move { set.join_next().await.unwrap().ok() })
        }),
        act("task::JoinSet::join_next_with_id", |word| {
            with_set(word, |mut set| async move {
                set.join_next_with_id().await.unwrap().ok().map(|(_, seen)| seen)
            })
        }),
        act("task::JoinSet::poll_join_next", |word| {
            with_set(word, |mut set| async move {
                poll_fn(|cx| set.poll_join_next(cx)).await.unwrap().ok()
            })
        }),
        act("task::JoinSet::poll_join_next_with_id", |word| {
            with_set(word, |mut set| async move {
                let next = poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
                next.unwrap().ok().map(|(_, seen)| seen)
            })
        }),
        act("task::JoinSet::try_join_next", |word| {
            with_set(word, |mut set| async move {
                yield_now().await;
                let next = set.try_join_next();
                set.detach_all();
                next.map(Result::ok)
            })
        }),
        act("task::JoinSet::try_join_next_with_id", |word| {
            with_set(word, |mut set| async move {
                yield_now().await;
                let next = set.try_join_next_with_id();
                set.detach_all();
                next.map(|next| next.ok().map(|(_, seen)| seen))
            })
        }),
        act("task::JoinSet::join_all", |word| with_set(word, JoinSet::join_all)),
        act("task::JoinSet::abort_all + task::JoinSet::shutdown", |word| {
            with_set(word, |mut set| async move {
                yield_now().await;
                set.abort_all();
                set.shutdown().await;
            })
        }),
        act("task::Builder::spawn + task::JoinHandle::is_finished", |word| {
            Box::pin(async move {
                let task = named(word);
                yield_now().await;
                format!("{} {:?}", task.is_finished(), task.await.ok())
            })
        }),
        act("task::JoinHandle::abort", |word| {
            Box::pin(async move {
                let task = named(word);
                yield_now().await;
                task.abort();
                format!("{:?}", task.await.ok())
            })
        }),
    ]
}

#[test]
fn calls_on_sets_of_tasks_are_searched_in_each_order() {
    compare(&WORLD, &acts());
}
