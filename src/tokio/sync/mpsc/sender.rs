//! Senders: the code common to the bounded and the unbounded sender.

/// Writes a sender and its weak form on top of tokio's sender.
macro_rules! sender {
    ($(#[$doc:meta])* $name:ident, $(#[$weak_doc:meta])* $weak:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            pub(super) real: real::$name<T>,
            // This field is declared below tokio's object, so it is dropped after that object.
            pub(super) end: End,
        }

        $(#[$weak_doc])*
        pub struct $weak<T> {
            real: real::$weak<T>,
            // This field is declared below tokio's object, so it is dropped after that object.
            end: End,
        }

        impl<T> $name<T> {
            fn new(real: real::$name<T>, channel: &Arc<Numbers>, here: Here) -> Self {
                $name { real, end: End::new(channel, &DROP_SENDER, here) }
            }

            /// Waits until the receiver is closed or dropped. This call is a point. Cancel safe.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc;
            /// # sim::block_on(async {
            /// let (sender, receiver) = mpsc::channel::<u8>(1);
            /// sim::spawn(async move { drop(receiver) }).detach();
            /// sender.closed().await;
            /// assert!(sender.is_closed());
            /// # });
            /// ```
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
                Call::new(self.end.wrapped(), &CLOSED, here(), self.real.closed(), |()| Came::Done)
            }

            /// Returns `true` if the receiver is closed or dropped. This call is not a point.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.end.wrapped().check(&SENDER_IS_CLOSED, here(), || self.real.is_closed())
            }

            /// Returns `true` if both senders send to the same receiver.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.real.same_channel(&other.real)
            }
        }

        crate::tokio::sync::ends::weak_senders!($name, $weak);
    };
}

pub(super) use sender;
