//! Acts on bells of another library: a task counts the bells that ring while it listens.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use super::act::Act;
use crate::run::rng::Rng;

/// A bell that no search sees.
#[derive(Default)]
pub(super) struct Bell(Mutex<Listeners>);

#[derive(Default)]
struct Listeners {
    rings: u32,
    wakers: Vec<Waker>,
}

impl Bell {
    /// Waits until it rings.
    pub(super) async fn hear(&self) {
        let mut since = None;
        poll_fn(|cx| {
            let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if since.is_some_and(|since| since < listeners.rings) {
                return Poll::Ready(());
            }
            since = Some(listeners.rings);
            listeners.wakers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Wakes the listening tasks.
    pub(super) fn ring(&self) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.rings += 1;
        let wakers = std::mem::take(&mut listeners.wakers);
        drop(listeners);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Act {
    pub(super) fn bell(rng: &mut Rng) -> Act {
        let bell = rng.below(2) as usize;
        if rng.below(2) == 0 { Act::Hear(bell) } else { Act::Ring(bell) }
    }
}
