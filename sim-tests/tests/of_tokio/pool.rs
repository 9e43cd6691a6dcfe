//! The program of `docs/tokio.md`, with its bug.
use std::sync::Arc;

use sim::tokio::sync::{Mutex, Notify};

/// Connections that tasks share.
#[derive(Default)]
struct Pool {
    idle: Mutex<Vec<u32>>,
    returned: Notify,
}

impl Pool {
    /// Waits for an idle connection.
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
        self.returned.notify_waiters();
    }
}

/// On the page: `#[tokio::test]`.
pub(crate) async fn a_returned_connection_is_found() {
    let pool = Arc::new(Pool::default());
    let user = sim::tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await }
    });
    pool.put(7).await;
    assert_eq!(user.await.unwrap(), 7);
}
