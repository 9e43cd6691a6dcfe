//! The ends of a channel, for the records of a run.

use std::sync::Arc;

use crate::run::op::Op;
use crate::seam::{Here, Owner, Wrapped};

/// One end of a channel. The end is dropped after tokio's end, in the same step, and records the drop.
///
/// The fields of a struct are dropped in their order, so an `End` must come after tokio's end. The operation is the
/// same for the last end of a side as for the other ends. With different operations, the operation would depend on the
/// order of two drops, but steps that can be swapped must do the same in either order.
#[derive(Debug)]
pub(super) struct End<C: Owner = Wrapped> {
    /// The object of the channel.
    pub(super) channel: Arc<C>,
    drop: &'static Op,
    here: Here,
}

impl<C: Owner> End<C> {
    /// Creates the record of an end created at this place. The drop of the end is the operation `drop`.
    pub(super) fn new(channel: &Arc<C>, drop: &'static Op, here: Here) -> End<C> {
        End { channel: channel.clone(), drop, here }
    }

    /// Returns the object of the channel.
    pub(super) fn wrapped(&self) -> &Wrapped {
        self.channel.wrapped()
    }
}

impl<C: Owner> Drop for End<C> {
    fn drop(&mut self) {
        self.channel.wrapped().last(self.drop, self.here);
    }
}

/// Writes the items common to a sender and its weak form in all channels: clones, counts, conversions between the
/// forms, `Debug` texts.
macro_rules! weak_senders {
    ($sender:ident, $weak:ident) => {
        impl<T> $sender<T> {
            /// Creates a weak sender, which does not keep the channel open. This call is not a point.
            #[must_use = "the sender is left as it is"]
            #[track_caller]
            pub fn downgrade(&self) -> $weak<T> {
                let here = here();
                let real = self.end.wrapped().act(&DOWNGRADE, here, || self.real.downgrade());
                $weak { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
            }
        }

        impl<T> Clone for $sender<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                let here = here();
                let real = self.end.wrapped().act(&CLONE, here, || self.real.clone());
                $sender { real, end: End::new(&self.end.channel, &DROP_SENDER, here) }
            }
        }

        impl<T> $weak<T> {
            /// Returns a sender, unless all senders have been dropped. This call is not a point.
            #[must_use]
            #[track_caller]
            pub fn upgrade(&self) -> Option<$sender<T>> {
                let here = here();
                let made = || self.real.upgrade().ok_or(());
                let real = self.end.wrapped().attempt(UPGRADE, here, made).ok()?;
                Some($sender { real, end: End::new(&self.end.channel, &DROP_SENDER, here) })
            }
        }

        impl<T> Clone for $weak<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                let here = here();
                let real = self.end.wrapped().act(&DOWNGRADE, here, || self.real.clone());
                $weak { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
            }
        }

        crate::tokio::sync::ends::counted!($sender);
        crate::tokio::sync::ends::counted!($weak);
    };
}

/// Writes the methods of a sender that count senders, and its `Debug` text.
macro_rules! counted {
    ($sender:ident) => {
        impl<T> $sender<T> {
            /// Returns the number of senders. This call is not a point.
            #[track_caller]
            pub fn strong_count(&self) -> usize {
                self.end.wrapped().count(&STRONG_COUNT, here(), || self.real.strong_count())
            }

            /// Returns the number of weak senders. This call is not a point.
            #[track_caller]
            pub fn weak_count(&self) -> usize {
                self.end.wrapped().count(&WEAK_COUNT, here(), || self.real.weak_count())
            }
        }

        impl<T> std::fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.real.fmt(f)
            }
        }
    };
}

pub(super) use {counted, weak_senders};
