//! Pools of threads, connections and objects of current releases: tests of docs/found.md.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use published::{block_on, poll_once};

/// A thread adds a job and joins, while another thread leaves `join`.
#[sim::test(native, seeds = 20_000)]
fn threadpool_join_waits_for_the_job_before() {
    let pool = threadpool::ThreadPool::new(1);
    let other = pool.clone();
    pool.execute(|| {});
    let joining = thread::spawn(move || other.join());
    let done = Arc::new(AtomicBool::new(false));
    let set = done.clone();
    pool.execute(move || set.store(true, Ordering::SeqCst));
    pool.join();
    assert!(done.load(Ordering::SeqCst), "join returned before its thread's job was done");
    joining.join().unwrap();
}

/// A job is added and joined, while the worker ends the job before.
#[sim::test(native, seeds = 20_000)]
fn rusty_pool_join_waits_for_its_job() {
    let pool = rusty_pool::ThreadPool::new(1, 1, Duration::from_secs(60));
    pool.execute(|| {});
    let done = Arc::new(AtomicBool::new(false));
    let set = done.clone();
    pool.execute(move || set.store(true, Ordering::SeqCst));
    pool.join();
    assert!(done.load(Ordering::SeqCst), "join returned before its job was done");
}

/// A task is sent while the only worker gives up waiting for one.
#[sim::test(native, seeds = 10_000)]
fn rusty_pool_worker_times_out_while_a_task_is_sent() {
    let keep_alive = Duration::from_millis(1);
    let pool = rusty_pool::ThreadPool::new(0, 1, keep_alive);
    pool.evaluate(|| ()).await_complete();
    thread::sleep(keep_alive);
    pool.evaluate(|| ()).await_complete();
}

/// A pool is closed while an object is taken from it.
#[sim::test(native, seeds = 10_000)]
fn deadpool_unmanaged_is_closed_while_an_object_is_taken() {
    let pool = deadpool::unmanaged::Pool::from(vec![1]);
    let other = pool.clone();
    let closing = thread::spawn(move || other.close());
    drop(block_on(pool.get()));
    closing.join().unwrap();
}

struct Objects;

impl deadpool::managed::Manager for Objects {
    type Type = ();
    type Error = Infallible;

    async fn create(&self) -> Result<(), Infallible> {
        Ok(())
    }

    async fn recycle(
        &self,
        _: &mut (),
        _: &deadpool::managed::Metrics,
    ) -> deadpool::managed::RecycleResult<Infallible> {
        Ok(())
    }
}

/// A pool shrinks before it is used.
#[sim::test(native)]
fn deadpool_managed_shrinks() {
    let pool: deadpool::managed::Pool<Objects> =
        deadpool::managed::Pool::builder(Objects).max_size(2).build().unwrap();
    pool.resize(1);
    let _first = block_on(pool.get()).unwrap();
    assert!(poll_once(pool.get()).is_none(), "a pool of one object has a second one");
}

struct Connections;

impl r2d2::ManageConnection for Connections {
    type Connection = ();
    type Error = std::fmt::Error;

    fn connect(&self) -> Result<(), std::fmt::Error> {
        Ok(())
    }

    fn is_valid(&self, _: &mut ()) -> Result<(), std::fmt::Error> {
        Ok(())
    }

    fn has_broken(&self, _: &mut ()) -> bool {
        true
    }
}

/// The only connection breaks, and another thread waits for one.
#[sim::test(native, seeds = 1_000)]
fn r2d2_waits_for_a_connection_that_broke() {
    let pool = r2d2::Pool::builder().max_size(1).min_idle(Some(0)).build(Connections).unwrap();
    let connection = pool.get().unwrap();
    let other = pool.clone();
    let waiting = thread::spawn(move || other.get().map(drop));
    drop(connection);
    waiting.join().unwrap().unwrap();
}

impl bb8::ManageConnection for Connections {
    type Connection = ();
    type Error = Infallible;

    async fn connect(&self) -> Result<(), Infallible> {
        Ok(())
    }

    async fn is_valid(&self, _: &mut ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut ()) -> bool {
        false
    }
}

/// Two connections come back, and two threads wait for one each.
#[sim::test(native, seeds = 20_000)]
fn bb8_two_connections_come_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let pool = bb8::Pool::builder().max_size(2).min_idle(2).build(Connections);
    let pool = block_on(pool).unwrap();
    let held = [block_on(pool.get_owned()).unwrap(), block_on(pool.get_owned()).unwrap()];
    let waiting = [pool.clone(), pool].map(|pool| {
        let handle = runtime.handle().clone();
        thread::spawn(move || {
            let _inside = handle.enter();
            block_on(pool.get_owned()).unwrap()
        })
    });
    drop(held);
    _ = waiting.map(|waiting| waiting.join().unwrap());
}
