//! Acts on tokio's channels.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;

use futures::future::{Either, select};

use crate::tokio::sync::{broadcast, mpsc, watch};

/// An act of a task on one of its ends. If the task does not have the end that the act needs, the act does nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    Send(u64),
    SendOrStop(u64),
    TrySend(u64),
    Reserve,
    ReserveTwo,
    ReserveTwoOrStop,
    TryReserve,
    SendReserved(u64),
    Release,
    Recv,
    RecvMany,
    RecvOrStop,
    TryRecv,
    Close,
    Clone,
    Downgrade,
    Upgrade,
    DropSender,
    DropReceiver,
    Look,
    LookAtCount,
    Closed,
    ClosedOrStop,
    Publish(u64),
    Hear,
    HearOrStop,
    TryHear,
    Subscribe,
    DropPublisher,
    DropSubscriber,
    LookAtLen,
    Silence,
    Write(u64),
    WriteIf(u64),
    See,
    SeeNow,
    Changed,
    ChangedOrStop,
    WaitFor(u64),
    Watch,
    CloneWriter,
    DropWriter,
    DropWatcher,
    Tally,
    Unwatched,
}

impl Act {
    /// Returns the number of the channel that the act uses.
    fn channel(self) -> usize {
        use Act::*;
        match self {
            Publish(_) | Hear | HearOrStop | TryHear | Subscribe | DropPublisher
            | DropSubscriber | LookAtLen | Silence => 1,
            Write(_) | WriteIf(_) | See | SeeNow | Changed | ChangedOrStop | WaitFor(_) | Watch
            | CloneWriter | DropWriter | DropWatcher | Tally | Unwatched => 2,
            _ => 0,
        }
    }
}

impl Act {
    /// Returns `true` if a step of the act may depend on other tasks without an operation. Such a step continues or
    /// ends the wait.
    pub(super) fn tells_more(self) -> bool {
        use Act::*;
        matches!(
            self,
            SendOrStop(_)
                | ReserveTwoOrStop
                | RecvOrStop
                | ClosedOrStop
                | HearOrStop
                | ChangedOrStop
                | WaitFor(_)
                | Silence
                | Unwatched
        )
    }
}

thread_local! {
    /// The results of the tasks of the run, in their order.
    static GOT: RefCell<Vec<(usize, String)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the values that the tasks of the last run got.
pub(super) fn take_got() -> Vec<(usize, String)> {
    GOT.take()
}

/// The ends that one task has.
#[derive(Default)]
pub(super) struct Ends {
    owned: Option<mpsc::OwnedPermit<u64>>,
    sender: Option<mpsc::Sender<u64>>,
    spare: Option<mpsc::Sender<u64>>,
    weak: Option<mpsc::WeakSender<u64>>,
    receiver: Option<mpsc::Receiver<u64>>,
    publisher: Option<broadcast::Sender<u64>>,
    subscriber: Option<broadcast::Receiver<u64>>,
    spare_subscriber: Option<broadcast::Receiver<u64>>,
    writer: Option<watch::Sender<u64>>,
    watcher: Option<watch::Receiver<u64>>,
    spare_watcher: Option<watch::Receiver<u64>>,
}

/// The channel ends that the acts of `tasks` tasks use. The first task has the receiver.
pub(super) fn ends(tasks: usize, acts: impl Iterator<Item = Act> + Clone) -> Vec<Ends> {
    // A previous run that was given up may have left values.
    drop(take_got());
    let mut all: Vec<Ends> = (0..tasks).map(|_| Ends::default()).collect();
    let is_about = |channel| acts.clone().any(|act| act.channel() == channel);
    if is_about(0) {
        let (sender, receiver) = mpsc::channel(2);
        for ends in &mut all[1..] {
            ends.sender = Some(sender.clone());
        }
        all[0].receiver = Some(receiver);
        all[0].weak = Some(sender.downgrade());
    }
    if is_about(1) {
        let (sender, receiver) = broadcast::channel(2);
        all[0].subscriber = Some(receiver);
        for ends in &mut all[1..] {
            ends.subscriber = Some(sender.subscribe());
            ends.publisher = Some(sender.clone());
        }
    }
    if is_about(2) {
        let (sender, receiver) = watch::channel(0);
        for ends in &mut all[1..] {
            ends.watcher = Some(receiver.clone());
            ends.writer = Some(sender.clone());
        }
        all[0].watcher = Some(receiver);
    }
    all
}

/// Stops waiting for a future after a step.
async fn or_stop<R>(future: impl Future<Output = R>) -> Option<R> {
    let stop = async {
        crate::task::yield_now().await;
        crate::task::yield_now().await;
    };
    match select(pin!(future), pin!(stop)).await {
        Either::Left((got, _)) => Some(got),
        Either::Right(_) => None,
    }
}

/// Executes an act of a task. Returns what it got.
async fn get(ends: &mut Ends, act: Act) -> Option<String> {
    use Act::*;
    Some(match act {
        Send(value) => format!("{:?}", ends.sender.as_ref()?.send(value).await),
        SendOrStop(value) => format!("{:?}", or_stop(ends.sender.as_ref()?.send(value)).await),
        TrySend(value) => format!("{:?}", ends.sender.as_ref()?.try_send(value)),
        Reserve => {
            let permit = ends.sender.take()?.reserve_owned().await;
            let got = permit.is_ok();
            ends.owned = permit.ok();
            got.to_string()
        }
        ReserveTwo => {
            let permits = ends.sender.as_ref()?.reserve_many(2).await;
            let sent = permits.map(|mut permits| permits.next().map(|permit| permit.send(8)));
            format!("{sent:?}")
        }
        ReserveTwoOrStop => {
            let permits = or_stop(ends.sender.as_ref()?.reserve_many(2)).await;
            format!("{:?}", permits.map(|permits| permits.is_ok()))
        }
        TryReserve => match ends.sender.take()?.try_reserve_owned() {
            Ok(permit) => {
                ends.owned = Some(permit);
                "got".to_owned()
            }
            Err(error) => {
                let why = error.to_string();
                ends.sender = Some(error.into_inner());
                why
            }
        },
        SendReserved(value) => {
            ends.sender = Some(ends.owned.take()?.send(value));
            return None;
        }
        Release => {
            ends.sender = Some(ends.owned.take()?.release());
            return None;
        }
        Recv => format!("{:?}", ends.receiver.as_mut()?.recv().await),
        RecvMany => {
            let mut got = Vec::new();
            ends.receiver.as_mut()?.recv_many(&mut got, 2).await;
            format!("{got:?}")
        }
        RecvOrStop => format!("{:?}", or_stop(ends.receiver.as_mut()?.recv()).await),
        TryRecv => format!("{:?}", ends.receiver.as_mut()?.try_recv()),
        Close => {
            ends.receiver.as_mut()?.close();
            return None;
        }
        Clone => {
            ends.spare = Some(ends.sender.as_ref()?.clone());
            return None;
        }
        Downgrade => {
            ends.weak = Some(ends.sender.as_ref()?.downgrade());
            return None;
        }
        Upgrade => {
            ends.sender = ends.weak.as_ref()?.upgrade();
            ends.sender.is_some().to_string()
        }
        DropSender => {
            drop(ends.spare.take().or(ends.sender.take())?);
            return None;
        }
        DropReceiver => {
            drop(ends.receiver.take()?);
            return None;
        }
        Look => match (&ends.sender, &ends.receiver) {
            (Some(sender), _) => format!("{} {}", sender.capacity(), sender.is_closed()),
            (None, Some(receiver)) => format!("{} {}", receiver.len(), receiver.is_closed()),
            (None, None) => return None,
        },
        LookAtCount => match (&ends.weak, &ends.sender) {
            (Some(weak), _) => format!("{} {}", weak.strong_count(), weak.weak_count()),
            (None, Some(sender)) => format!("{}", sender.strong_count()),
            (None, None) => return None,
        },
        Closed => {
            ends.sender.as_ref()?.closed().await;
            return None;
        }
        ClosedOrStop => or_stop(ends.sender.as_ref()?.closed()).await.is_some().to_string(),
        Publish(value) => format!("{:?}", ends.publisher.as_ref()?.send(value)),
        Hear => format!("{:?}", ends.subscriber.as_mut()?.recv().await),
        HearOrStop => format!("{:?}", or_stop(ends.subscriber.as_mut()?.recv()).await),
        TryHear => format!("{:?}", ends.subscriber.as_mut()?.try_recv()),
        Subscribe => {
            let subscriber = match (&ends.publisher, &ends.subscriber) {
                (Some(publisher), _) => publisher.subscribe(),
                (None, Some(subscriber)) => subscriber.resubscribe(),
                (None, None) => return None,
            };
            ends.spare_subscriber = ends.subscriber.replace(subscriber);
            return None;
        }
        DropPublisher => {
            drop(ends.publisher.take()?);
            return None;
        }
        DropSubscriber => {
            drop(ends.subscriber.take()?);
            return None;
        }
        LookAtLen => match (&ends.publisher, &ends.subscriber) {
            (Some(sender), _) => format!("{} {}", sender.len(), sender.receiver_count()),
            (None, Some(receiver)) => format!("{} {}", receiver.len(), receiver.is_closed()),
            (None, None) => return None,
        },
        Silence => {
            ends.publisher.as_ref()?.closed().await;
            return None;
        }
        Write(value) => format!("{:?}", ends.writer.as_ref()?.send(value)),
        WriteIf(value) => {
            let write = |old: &mut u64| {
                let is_new = *old != value;
                *old = value;
                is_new
            };
            format!("{:?}", ends.writer.as_ref()?.send_if_modified(write))
        }
        See => format!("{:?}", *ends.watcher.as_ref()?.borrow()),
        SeeNow => {
            let seen = ends.watcher.as_mut()?.borrow_and_update();
            format!("{:?} {}", *seen, seen.has_changed())
        }
        Changed => format!("{:?}", ends.watcher.as_mut()?.changed().await),
        ChangedOrStop => format!("{:?}", or_stop(ends.watcher.as_mut()?.changed()).await),
        WaitFor(value) => {
            let mut looks = 0;
            let accept = |seen: &u64| {
                looks += 1;
                *seen == value
            };
            let got = ends.watcher.as_mut()?.wait_for(accept).await.map(|seen| *seen);
            format!("{got:?} {looks}")
        }
        Watch => {
            let watcher = match (&ends.writer, &ends.watcher) {
                (Some(writer), _) => writer.subscribe(),
                (None, Some(watcher)) => watcher.clone(),
                (None, None) => return None,
            };
            ends.spare_watcher = ends.watcher.replace(watcher);
            return None;
        }
        CloneWriter => {
            ends.writer = Some(ends.writer.as_ref()?.clone());
            return None;
        }
        DropWriter => {
            drop(ends.writer.take()?);
            return None;
        }
        DropWatcher => {
            drop(ends.watcher.take()?);
            return None;
        }
        Tally => {
            let writer = ends.writer.as_ref()?;
            format!("{} {}", writer.sender_count(), writer.receiver_count())
        }
        Unwatched => {
            ends.writer.as_ref()?.closed().await;
            return None;
        }
    })
}

/// Executes an act of a task and records the received values.
pub(super) async fn perform(ends: &mut Ends, act: Act, task: usize) {
    if let Some(got) = get(ends, act).await {
        GOT.with_borrow_mut(|all| all.push((task, format!("{act:?} {got}"))));
    }
}
