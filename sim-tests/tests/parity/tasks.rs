//! Tasks, and how they wait.

use super::*;

#[test]
fn tasks() {
    sim::block_on(async {
        let task: JoinHandle<u8> = sim::spawn(async { 1 });
        is_static(&task);
        let _: &dyn Debug = &task;
        let result: Result<u8, JoinError> = of(task).await;
        assert_eq!(result.unwrap(), 1);
        let builder: sim::task::Builder = sim::task::Builder::new().name("a").name(String::new());
        let task: sim::task::JoinHandle<()> = builder.clone().spawn(std::future::pending());
        assert!(!task.is_finished());
        task.abort();
        let error: sim::task::JoinError = task.await.unwrap_err();
        is_static(&error);
        let _: &dyn std::error::Error = &error;
        assert!(error.is_cancelled() && !error.is_panic());
        assert!(error.try_into_panic().is_err());
        sim::task::spawn(async {}).detach();
        of::<()>(sim::task::yield_now()).await;
        let doubled = sim::map_concurrently([1, 2], |n: u8| async move { 2 * n });
        let doubled: Vec<u8> = doubled.await;
        assert_eq!(doubled, [2, 4]);
        let again: Vec<u8> = sim::task::map_concurrently(0..1, |n| async move { n }).await;
        assert_eq!(again, [0]);
    });
    let one: u8 = sim::task::block_on(async { 1 });
    assert_eq!(one, 1);
    // No test sets a spawner, because it would remain set for other tests.
    type Task = futures::future::BoxFuture<'static, ()>;
    type Set = Result<(), sim::task::SpawnerSet>;
    let _: fn(fn(Task)) -> Set = sim::task::set_spawner;
    let _: &dyn std::error::Error = &sim::task::SpawnerSet;
}

#[test]
fn a_wait() {
    let flag = Atomic::new(true);
    sim::block_on(of::<()>(sim::spin_until(|| flag.load(SeqCst))));
    sim::block_on(of::<()>(sim::sync::spin_until(async || flag.load(SeqCst).await)));
    let _: fn(&sim::run::Run) -> Vec<sim::run::Spin> = sim::run::Run::spins;
}
