//! A pool of connections with a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore};

/// The server. The server counts the open connections.
#[derive(Debug, Default)]
pub struct Server {
    open: AtomicUsize,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    server: Arc<Server>,
}

impl Server {
    async fn connect(self: &Arc<Self>) -> Connection {
        tokio::task::yield_now().await;
        self.open.fetch_add(1, Ordering::SeqCst);
        Connection { server: self.clone() }
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Hands out at most `max` connections at the same time.
#[derive(Debug)]
pub struct Pool {
    server: Arc<Server>,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Pool {
    pub fn new(server: Arc<Server>, max: usize) -> Pool {
        Pool { server, idle: Mutex::default(), places: Arc::new(Semaphore::new(max)) }
    }

    /// Calls `work` with a connection.
    pub async fn with<R>(&self, work: impl AsyncFnOnce(&Connection) -> R) -> R {
        let place: OwnedSemaphorePermit = self.places.clone().acquire_owned().await.unwrap();
        let idle = self.idle.lock().await.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.server.connect().await,
        };
        let result = work(&connection).await;
        self.idle.lock().await.push(connection);
        drop(place);
        result
    }
}

/// A pool with a bug: it reads the number of connections before it creates a connection, and increments the number
/// afterwards.
#[derive(Debug)]
pub struct LeakyPool {
    server: Arc<Server>,
    idle: Mutex<Vec<Connection>>,
    returned: Notify,
    max: usize,
}

impl LeakyPool {
    pub fn new(server: Arc<Server>, max: usize) -> LeakyPool {
        LeakyPool { server, idle: Mutex::default(), returned: Notify::new(), max }
    }

    /// Calls `work` with a connection.
    pub async fn with<R>(&self, work: impl AsyncFnOnce(&Connection) -> R) -> R {
        let connection = loop {
            if let Some(connection) = self.idle.lock().await.pop() {
                break connection;
            }
            if self.server.open() < self.max {
                break self.server.connect().await;
            }
            self.returned.notified().await;
        };
        let result = work(&connection).await;
        self.idle.lock().await.push(connection);
        self.returned.notify_one();
        result
    }
}
