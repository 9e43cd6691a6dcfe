//! The types of channel ends: their use by threads, and blocking calls.

use sim::run::Failure;
use sim::tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::{fails, holds};

fn is_shared<T: Send + Sync>() {}

#[test]
fn ends_can_be_sent_and_shared_as_those_of_tokio() {
    is_shared::<mpsc::Sender<u8>>();
    is_shared::<mpsc::WeakSender<u8>>();
    is_shared::<mpsc::Receiver<u8>>();
    is_shared::<mpsc::Permit<'static, u8>>();
    is_shared::<mpsc::PermitIterator<'static, u8>>();
    is_shared::<mpsc::OwnedPermit<u8>>();
    is_shared::<mpsc::UnboundedSender<u8>>();
    is_shared::<mpsc::WeakUnboundedSender<u8>>();
    is_shared::<mpsc::UnboundedReceiver<u8>>();
    is_shared::<broadcast::Sender<u8>>();
    is_shared::<broadcast::WeakSender<u8>>();
    is_shared::<broadcast::Receiver<u8>>();
    is_shared::<watch::Sender<u8>>();
    is_shared::<watch::Receiver<u8>>();
}

#[test]
fn a_call_that_blocks_fails_the_run_and_names_another() {
    let bodies: [(&str, fn()); 5] = [
        ("recv().await", || {
            mpsc::channel::<u8>(1).1.blocking_recv();
        }),
        ("send(value).await", || {
            mpsc::channel(1).0.blocking_send(1).unwrap();
        }),
        ("recv().await", || {
            mpsc::unbounded_channel::<u8>().1.blocking_recv();
        }),
        ("recv().await", || drop(broadcast::channel::<u8>(1).1.blocking_recv())),
        ("recv_many(..).await", || {
            mpsc::channel::<u8>(1).1.blocking_recv_many(&mut Vec::new(), 1);
        }),
    ];
    for (instead, body) in bodies {
        match fails(async || body()) {
            Some((Failure::Misuse { message, .. }, _)) => {
                assert!(message.contains(instead), "{message}");
            }
            Some((_, screen)) => panic!("{screen}"),
            None => {}
        }
    }
}

/// An earlier version waited for ever, because the poll before the close was never woken.
#[test]
fn a_oneshot_that_was_polled_finds_its_end_after_a_close() {
    holds(async || {
        let (sender, mut receiver) = oneshot::channel::<u8>();
        let mut polls = 0;
        let got = std::future::poll_fn(|cx| {
            let polled = std::pin::Pin::new(&mut receiver).poll(cx);
            polls += 1;
            // The first poll of a run is its point.
            if polled.is_pending() && polls >= 2 {
                receiver.close();
                return std::pin::Pin::new(&mut receiver).poll(cx);
            }
            if polled.is_pending() {
                cx.waker().wake_by_ref();
            }
            polled
        })
        .await;
        assert!(got.is_err());
        drop(sender);
    });
}

#[test]
fn ends_work_outside_of_runs() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.blocking_send(1).unwrap();
    assert_eq!(receiver.blocking_recv(), Some(1));
    let (sender, mut receiver) = broadcast::channel(1);
    sender.send(1).unwrap();
    assert_eq!(receiver.blocking_recv(), Ok(1));
    let (sender, mut receiver) = watch::channel(1);
    sender.send(2).unwrap();
    futures::executor::block_on(async {
        receiver.changed().await.unwrap();
        assert_eq!(*receiver.wait_for(|seen| *seen == 2).await.unwrap(), 2);
    });
}
