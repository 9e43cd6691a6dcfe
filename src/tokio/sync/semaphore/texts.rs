//! The `Debug` texts of a semaphore and of its permits, which are tokio's.

use std::fmt;

use super::{OwnedSemaphorePermit, Real, Semaphore, SemaphorePermit};
use crate::seam::in_run;

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            // A static has the state of the run. This text does not change the run by its first use of the static.
            Some(first) if in_run() => match self.wrapped.known_value_of_run::<Real>() {
                Some(own) => own.fmt(f),
                None => Real::new(first).fmt(f),
            },
            _ => self.real.fmt(f),
        }
    }
}

/// Writes the texts of permits, with tokio's names of the fields.
macro_rules! texts {
    ($($permit:ident $(<$life:lifetime>)?)*) => {$(
        impl fmt::Debug for $permit $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($permit))
                    .field("sem", &self.semaphore)
                    .field("permits", &self.share.permits)
                    .finish()
            }
        }
    )*};
}

texts! { SemaphorePermit<'_> OwnedSemaphorePermit }
