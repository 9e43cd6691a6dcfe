//! The permits of one permit value.

use std::sync::Arc;

use ::tokio::sync::Semaphore as Real;

use crate::seam::{Here, Wrapped};

/// A number of permits. The task that acquired the permits counts as a holder as long as some of them are left.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) permits: usize,
    /// The number of entries of the share in the list of holders. Invariant: 0 if there are no permits.
    pub(super) holds: u32,
    pub(super) here: Here,
    /// For a static: tokio's semaphore of the current run.
    pub(super) own: Option<Arc<Real>>,
}

impl Share {
    pub(super) fn new(permits: usize, here: Here, own: Option<Arc<Real>>) -> Share {
        Share { permits, holds: u32::from(permits > 0), here, own }
    }

    pub(super) fn merge(&mut self, other: &mut Share) {
        self.permits += std::mem::take(&mut other.permits);
        self.holds += std::mem::take(&mut other.holds);
    }

    /// Splits off `n` permits of the semaphore `wrapped`, if there are so many.
    pub(super) fn split(&mut self, n: usize, wrapped: &Wrapped) -> Option<Share> {
        self.permits = self.permits.checked_sub(n)?;
        let mut other = Share::new(n, self.here, self.own.clone());
        if self.permits == 0 {
            other.holds = std::mem::take(&mut self.holds);
        } else if n > 0 {
            wrapped.hold_one_more(self.here);
        }
        Some(other)
    }
}
