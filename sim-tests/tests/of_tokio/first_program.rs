//! The program of `docs/tokio.md` and its screens: the bug is found, and the fixed twin is proved.

use std::sync::Arc;

use sim::Runner;
use sim::run::{Failure, Outcome};
use sim::tokio::sync::{Mutex, Notify};
use sim_tests::page::Page;

use crate::pool;

const PAGE: Page = Page {
    path: "docs/tokio.md",
    file: "sim-tests/tests/of_tokio/pool.rs",
    shown_as: "tests/pool.rs",
};

/// The pool with `notify_one`, whose permit is kept if no task waits.
#[derive(Default)]
struct FixedPool {
    idle: Mutex<Vec<u32>>,
    returned: Notify,
}

impl FixedPool {
    async fn get(&self) -> u32 {
        loop {
            if let Some(connection) = self.idle.lock().await.pop() {
                return connection;
            }
            self.returned.notified().await;
        }
    }

    async fn put(&self, connection: u32) {
        self.idle.lock().await.push(connection);
        self.returned.notify_one();
    }
}

async fn fixed() {
    let pool = Arc::new(FixedPool::default());
    let user = sim::tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await }
    });
    pool.put(7).await;
    assert_eq!(user.await.unwrap(), 7);
}

/// A runner with the seeds of `#[tokio::test]`.
fn runner() -> Runner {
    Runner::new().hermetic().seeds(0..100).name("pool::a_returned_connection_is_found")
}

#[test]
fn the_page_shows_the_program() {
    PAGE.shows_program();
}

#[cfg_attr(feature = "sim", test)]
fn the_page_shows_the_screens_of_the_bug_and_of_the_fix() {
    let found = runner().run(pool::a_returned_connection_is_found);
    let outcome = found.finding.as_ref().map(|finding| &finding.run.outcome);
    assert!(matches!(outcome, Some(Outcome::Failed(Failure::Deadlock { .. }))), "{outcome:?}");
    PAGE.shows_screen(0, &found);
    let proof = runner().strategy("exhaustive").run(fixed);
    assert!(proof.passed() && proof.searched.as_ref().unwrap().is_proof());
    PAGE.shows_screen(1, &proof);
}
