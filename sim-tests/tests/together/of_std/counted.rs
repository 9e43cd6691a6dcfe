//! Values whose owners are counted, like `Arc`.

use std::sync::Arc as Shared;
use std::sync::atomic::AtomicU32;

use sim::Ordering::SeqCst;
use sim::counted::Arc;
use sim::{Mutex, map_concurrently, spawn};

use super::{holds, panics};

/// Changes a value that only it owns, according to the count or to `get_mut`.
async fn changed(by_count: bool) {
    let mut own = Arc::new(1);
    let weak = Arc::downgrade(&own);
    let task = spawn(async move { weak.upgrade().await.map_or(0, |value| *value) });
    if by_count {
        if Arc::strong_count(&own).await == 1 {
            *Arc::get_mut(&mut own).await.expect("another owner") += 1;
        }
    } else if let Some(value) = Arc::get_mut(&mut own).await {
        *value += 1;
    }
    assert!([1, 2].contains(&task.await.unwrap()));
}

#[test]
fn a_count_of_one_is_no_proof_of_a_single_owner() {
    panics("another owner", async || changed(true).await, async || changed(false).await);
}

/// The last of two owners sends the value on.
async fn sent(by_trying: bool) {
    let sent = Shared::new(AtomicU32::new(0));
    let value = Arc::new(7);
    map_concurrently([value.clone(), value], |value| {
        let sent = sent.clone();
        async move {
            let last = match by_trying {
                true => Arc::try_unwrap(value).await.ok(),
                false => Arc::into_inner(value).await,
            };
            sent.fetch_add(last.unwrap_or(0), SeqCst);
        }
    })
    .await;
    assert_eq!(sent.load(SeqCst), 7, "the value is lost");
}

#[test]
fn two_failed_attempts_lose_the_value() {
    panics("the value is lost", async || sent(true).await, async || sent(false).await);
}

/// A cache whose entry is removed by the last user of the entry.
async fn cached(under_lock: bool) {
    let cache = Shared::new(Mutex::new(Some(Arc::new(7))));
    let users = [(); 2].map(|()| {
        let cache = cache.clone();
        spawn(async move {
            let entry = cache.lock().await.clone();
            let Some(entry) = entry else { return };
            let mut guard = under_lock.then_some(cache.lock().await);
            // One of the two references belongs to the cache.
            if Arc::strong_count(&entry).await == 2 {
                let mut late;
                let slot = match &mut guard {
                    Some(guard) => &mut **guard,
                    None => {
                        late = cache.lock().await;
                        &mut *late
                    }
                };
                let removed = slot.take().expect("removed twice");
                assert_eq!(Arc::strong_count(&removed).await, 2, "it is in use");
            }
            drop(entry);
        })
    });
    for user in users {
        user.await.unwrap();
    }
}

#[test]
fn an_entry_in_use_is_removed() {
    panics("", async || cached(false).await, async || cached(true).await);
}

#[test]
fn counts_are_those_of_std() {
    let body = async || {
        let mut one = Arc::new(vec![1]);
        let weak = Arc::downgrade(&one);
        assert_eq!((Arc::strong_count(&one).await, Arc::weak_count(&one).await), (1, 1));
        assert!(Arc::get_mut(&mut one).await.is_none(), "a weak reference");
        let two = weak.upgrade().await.unwrap();
        assert!(Arc::ptr_eq(&one, &two));
        let one = Arc::try_unwrap(one).await.unwrap_err();
        assert_eq!(Arc::into_inner(one).await, None);
        let weaker = weak.clone();
        drop(weak);
        assert_eq!(weaker.strong_count().await, 1);
        assert_eq!(Arc::try_unwrap(two).await, Ok(vec![1]));
        assert_eq!(weaker.strong_count().await, 0);
        assert!(weaker.upgrade().await.is_none());
    };
    holds(body);
    sim::block_on(body());
}
