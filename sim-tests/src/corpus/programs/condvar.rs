//! A condition variable implemented with the other primitives.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Watched;
use crate::tools::Mutex;

/// The waiting tasks. The longest waiting task is notified first.
#[derive(Default)]
pub struct Condvar {
    waiting: Mutex<VecDeque<Arc<Watched>>>,
}

impl Condvar {
    /// Releases a lock and waits, without a gap in which a notification gets lost. The caller must
    /// acquire the lock again.
    pub async fn wait<Guard>(&self, guard: Guard) {
        let told = Arc::new(Watched::default());
        self.waiting.lock().await.push_back(told.clone());
        drop(guard);
        told.wait(|told| told == 1).await;
    }

    /// Notifies one task, if any waits.
    pub async fn notify_one(&self) {
        let first = self.waiting.lock().await.pop_front();
        if let Some(first) = first {
            first.store(1).await;
        }
    }

    /// Notifies all waiting tasks.
    pub async fn notify_all(&self) {
        let all = std::mem::take(&mut *self.waiting.lock().await);
        for told in all {
            told.store(1).await;
        }
    }
}
