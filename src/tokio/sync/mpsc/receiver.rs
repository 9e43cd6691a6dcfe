//! Receivers: the code common to the bounded and the unbounded receiver.

/// Writes a receiver on top of tokio's receiver.
macro_rules! receiver {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            real: real::$name<T>,
            recv: Turn,
            // This field is declared below tokio's object, so it is dropped after that object.
            end: End,
        }

        impl<T> $name<T> {
            fn new(real: real::$name<T>, channel: &std::sync::Arc<Numbers>, here: Here) -> Self {
                let end = End::new(channel, &DROP_RECEIVER, here);
                $name { real, recv: Turn::new(&RECV, here), end }
            }

            /// Receives the next message. This call is a point.
            ///
            /// Returns `None` if no message can follow: all senders have been dropped, or the channel is closed and
            /// every message with reserved room has been received. Cancel safe: a dropped call loses no message.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc;
            /// # sim::block_on(async {
            /// let (sender, mut receiver) = mpsc::channel(1);
            /// sender.send(7).await.unwrap();
            /// drop(sender);
            /// assert_eq!(receiver.recv().await, Some(7));
            /// assert_eq!(receiver.recv().await, None);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> + use<'_, T> {
                self.recv_at(here())
            }

            async fn recv_at(&mut self, here: Here) -> Option<T> {
                // Renewed only at the first poll, because an unpolled call must not disturb a pending `poll_recv`.
                self.recv.renew(here);
                let receiving = Receiving(self);
                poll_fn(|cx| receiving.0.poll_next(cx)).await
            }

            /// Waits for a message, and appends up to `limit` available messages to `buffer`. This call is a point.
            /// Returns the number of appended messages: 0 if no message can follow, or `limit` is 0. Cancel safe.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc;
            /// # sim::block_on(async {
            /// let (sender, mut receiver) = mpsc::channel(3);
            /// for n in 0..3 {
            ///     sender.send(n).await.unwrap();
            /// }
            /// let mut buffer = Vec::new();
            /// assert_eq!(receiver.recv_many(&mut buffer, 2).await, 2);
            /// assert_eq!(receiver.recv_many(&mut buffer, 2).await, 1);
            /// assert_eq!(buffer, [0, 1, 2]);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv_many<'a>(
                &'a mut self,
                buffer: &'a mut Vec<T>,
                limit: usize,
            ) -> impl Future<Output = usize> + use<'a, T> {
                self.recv_many_at(buffer, limit, here())
            }

            async fn recv_many_at(&mut self, buffer: &mut Vec<T>, limit: usize, here: Here) -> usize {
                self.recv.renew(here);
                let receiving = Receiving(self);
                poll_fn(|cx| receiving.0.poll_many(cx, buffer, limit)).await
            }

            /// Receives the next message if it is available. This call is not a point.
            ///
            /// # Errors
            /// If there is no message yet, or no message can follow.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc::{self, error::TryRecvError};
            ///
            /// let (sender, mut receiver) = mpsc::channel(1);
            /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            /// sender.try_send(7).unwrap();
            /// drop(sender);
            /// assert_eq!(receiver.try_recv(), Ok(7));
            /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
            /// ```
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                let (real, channel) = (&mut self.real, &self.end.channel);
                let op = |received: &Result<T, TryRecvError>| match received {
                    Ok(_) => (&TRY_RECV, channel.received(1, false)),
                    Err(_) => (&TRY_RECV_FAILED, Values::Failed),
                };
                self.end.wrapped().now(here(), || real.try_recv(), op)
            }

            /// Outside of runs, blocks the thread until a message arrives. In a run, this call fails the run: await
            /// [`recv`](Self::recv) instead.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                self.end.wrapped().blocks("blocking_recv", "recv().await", here());
                self.real.blocking_recv()
            }

            /// Like [`blocking_recv`](Self::blocking_recv), for [`recv_many`](Self::recv_many).
            #[track_caller]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                self.end.wrapped().blocks("blocking_recv_many", "recv_many(..).await", here());
                self.real.blocking_recv_many(buffer, limit)
            }

            /// Refuses further messages. Messages already sent can still be received. This call is not a point.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc;
            /// # sim::block_on(async {
            /// let (sender, mut receiver) = mpsc::channel(2);
            /// sender.send(1).await.unwrap();
            /// receiver.close();
            /// assert!(sender.send(2).await.is_err());
            /// assert_eq!(receiver.recv().await, Some(1));
            /// assert_eq!(receiver.recv().await, None);
            /// # });
            /// ```
            #[track_caller]
            pub fn close(&mut self) {
                // Closing would not wake a pending poll. The next poll announces its operation again.
                self.recv.leave(self.end.wrapped());
                let real = &mut self.real;
                self.end.wrapped().act(&CLOSE, here(), || real.close());
            }

            /// Returns `true` if the receiver was closed, or all senders have been dropped. This call is not a point.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.end.wrapped().check(&IS_CLOSED, here(), || self.real.is_closed())
            }

            /// Returns `true` if no message is available. This call is not a point.
            #[track_caller]
            pub fn is_empty(&self) -> bool {
                self.end.wrapped().check(&IS_EMPTY, here(), || self.real.is_empty())
            }

            /// Returns the number of available messages. This call is not a point.
            #[track_caller]
            pub fn len(&self) -> usize {
                self.end.wrapped().count(&LEN, here(), || self.real.len())
            }

            /// Polls for the next message. If the message is pending, the task is woken when a message arrives. The
            /// first poll is a point.
            ///
            /// ```
            /// use sim::tokio::sync::mpsc;
            /// # sim::block_on(async {
            /// let (sender, mut receiver) = mpsc::channel(1);
            /// sender.send(7).await.unwrap();
            /// let received = std::future::poll_fn(|cx| receiver.poll_recv(cx));
            /// assert_eq!(received.await, Some(7));
            /// # });
            /// ```
            #[track_caller]
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                self.begin(here());
                self.poll_next(cx)
            }

            /// Like [`poll_recv`](Self::poll_recv), for [`recv_many`](Self::recv_many).
            #[track_caller]
            pub fn poll_recv_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                self.begin(here());
                self.poll_many(cx, buffer, limit)
            }

            /// Returns the number of senders. This call is not a point.
            #[track_caller]
            pub fn sender_strong_count(&self) -> usize {
                self.end.wrapped().count(&STRONG_COUNT, here(), || self.real.sender_strong_count())
            }

            /// Returns the number of weak senders. This call is not a point.
            #[track_caller]
            pub fn sender_weak_count(&self) -> usize {
                self.end.wrapped().count(&WEAK_COUNT, here(), || self.real.sender_weak_count())
            }

            fn begin(&mut self, here: Here) {
                if !self.recv.is_under_way() {
                    self.recv.renew(here);
                }
            }

            fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                let real = &mut self.real;
                if !in_run() {
                    return real.poll_recv(cx);
                }
                let channel = &self.end.channel;
                let came = |received: &Option<T>| match received {
                    Some(_) => Came::With(channel.received(1, false)),
                    None => Came::ToNothing,
                };
                self.recv.poll(self.end.wrapped(), cx, |cx| real.poll_recv(cx), came)
            }

            fn poll_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                let real = &mut self.real;
                if !in_run() {
                    return real.poll_recv_many(cx, buffer, limit);
                }
                let channel = &self.end.channel;
                let came = |count: &usize| match *count {
                    0 => Came::ToNothing,
                    count => Came::With(channel.received(count as u32, count < limit)),
                };
                let ask = |cx: &mut Context<'_>| real.poll_recv_many(cx, buffer, limit);
                self.recv.poll(self.end.wrapped(), cx, ask, came)
            }
        }

        impl<T> Unpin for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.real.fmt(f)
            }
        }

        /// A receiving call in progress. Dropping it ends its announcement.
        struct Receiving<'a, T>(&'a mut $name<T>);

        impl<T> Drop for Receiving<'_, T> {
            fn drop(&mut self) {
                self.0.recv.leave(self.0.end.wrapped());
            }
        }
    };
}

pub(super) use receiver;
