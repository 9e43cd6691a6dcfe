//! tokio as it is: both runtimes, timers, `spawn_blocking`, `sync`, TCP and UDP.

#[path = "tokio/awaits.rs"]
mod awaits;
#[path = "tokio/network.rs"]
mod network;
#[path = "tokio/programs.rs"]
mod programs;
#[path = "tokio/repeat.rs"]
mod repeat;
#[path = "tokio/user.rs"]
mod user;
#[path = "tokio/world.rs"]
mod world;

use std::future::Future;

use tokio::runtime::Builder;

/// Runs a future on the runtime of one thread.
fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs a future on the runtime of two workers.
fn on_workers<T>(future: impl Future<Output = T>) -> T {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}
