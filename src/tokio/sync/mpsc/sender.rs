//! The senders: what the bounded and the unbounded one have in common.

/// Writes a sender and its weak form over those of tokio.
macro_rules! sender {
    ($(#[$doc:meta])* $name:ident, $(#[$weak_doc:meta])* $weak:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            pub(super) real: real::$name<T>,
            // Below tokio's: dropped after it.
            pub(super) end: End,
        }

        $(#[$weak_doc])*
        pub struct $weak<T> {
            real: real::$weak<T>,
            // Below tokio's: dropped after it.
            end: End,
        }

        impl<T> $name<T> {
            fn new(real: real::$name<T>, channel: &Arc<Wrapped>, here: Here) -> Self {
                $name { real, end: End::new(channel, &DROP_SENDER, here) }
            }

            /// Waits until the receiver is closed or dropped. A point. Cancel safe.
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
                Call::new(self.end.wrapped(), &CLOSED, here(), self.real.closed(), |()| Came::Done)
            }

            /// Returns `true` if the receiver is closed or dropped. Not a point.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                let seen = |closed: &bool| (&SENDER_IS_CLOSED, Values::Read(u64::from(*closed)));
                self.end.wrapped().now(here(), || self.real.is_closed(), seen)
            }

            /// Returns `true` if both send to the same receiver.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.real.same_channel(&other.real)
            }

            /// A sender that does not keep the receiver from finding the end. Not a point.
            #[must_use = "the sender is left as it is"]
            #[track_caller]
            pub fn downgrade(&self) -> $weak<T> {
                let here = here();
                let made = || self.real.downgrade();
                let real = self.end.wrapped().now(here, made, |_| (&DOWNGRADE, Values::None));
                $weak { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
            }

            /// The number of senders. Not a point.
            #[track_caller]
            pub fn strong_count(&self) -> usize {
                let seen = |count: &usize| (&STRONG_COUNT, Values::Read(*count as u64));
                self.end.wrapped().now(here(), || self.real.strong_count(), seen)
            }

            /// The number of weak senders. Not a point.
            #[track_caller]
            pub fn weak_count(&self) -> usize {
                let seen = |count: &usize| (&WEAK_COUNT, Values::Read(*count as u64));
                self.end.wrapped().now(here(), || self.real.weak_count(), seen)
            }
        }

        impl<T> Clone for $name<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                let here = here();
                let made = || self.real.clone();
                let real = self.end.wrapped().now(here, made, |_| (&CLONE, Values::None));
                $name { real, end: End::new(&self.end.channel, &DROP_SENDER, here) }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.real.fmt(f)
            }
        }

        impl<T> $weak<T> {
            /// A sender, unless all are gone. Not a point.
            #[track_caller]
            pub fn upgrade(&self) -> Option<$name<T>> {
                let here = here();
                let op = |made: &Option<_>| match made {
                    Some(_) => (&UPGRADE, Values::None),
                    None => (&UPGRADE_FAILED, Values::Failed),
                };
                let real = self.end.wrapped().now(here, || self.real.upgrade(), op)?;
                Some($name { real, end: End::new(&self.end.channel, &DROP_SENDER, here) })
            }

            /// The number of senders. Not a point.
            #[track_caller]
            pub fn strong_count(&self) -> usize {
                let seen = |count: &usize| (&STRONG_COUNT, Values::Read(*count as u64));
                self.end.wrapped().now(here(), || self.real.strong_count(), seen)
            }

            /// The number of weak senders. Not a point.
            #[track_caller]
            pub fn weak_count(&self) -> usize {
                let seen = |count: &usize| (&WEAK_COUNT, Values::Read(*count as u64));
                self.end.wrapped().now(here(), || self.real.weak_count(), seen)
            }
        }

        impl<T> Clone for $weak<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                let here = here();
                let made = || self.real.clone();
                let real = self.end.wrapped().now(here, made, |_| (&DOWNGRADE, Values::None));
                $weak { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.real.fmt(f)
            }
        }
    };
}

pub(super) use sender;
