//! Channels: a send is ordered before its receive, and a drop after both.

use right::{Plain, block_on};
use std::sync::mpsc;
use std::thread::{self, scope};

/// Tests of one channel: its constructor, how it sends (true if the message was taken), and how it receives.
macro_rules! channel {
    ($name:ident, $new:expr, |$s:ident, $v:ident| $send:expr, |$r:ident| $recv:expr) => {
        mod $name {
            use super::*;

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn one_message() {
                let ($s, mut $r) = $new;
                let sending = thread::spawn(move || {
                    let $v = Box::new(1_u64);
                    $send
                });
                let received: Option<Box<u64>> = $recv;
                assert_eq!(received.as_deref(), Some(&1));
                assert!(sending.join().unwrap());
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn two_senders() {
                let (sender, mut $r) = $new;
                let sending = [1, 2].map(|value: u64| {
                    let $s = sender.clone();
                    thread::spawn(move || {
                        let $v = Box::new(value);
                        $send
                    })
                });
                let sum = [0; 2].map(|_| *$recv.unwrap()).iter().sum::<u64>();
                assert_eq!(sum, 3);
                sending.map(|sending| assert!(sending.join().unwrap()));
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn the_receiver_goes() {
                let ($s, mut $r) = $new;
                let sending = thread::spawn(move || {
                    for value in 0..2_u64 {
                        let $v = Box::new(value);
                        if !$send {
                            break;
                        }
                    }
                });
                assert!($recv.is_some());
                drop($r);
                sending.join().unwrap();
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn a_sender_goes() {
                let ($s, mut $r) = $new;
                let sending = thread::spawn(move || {
                    let $v = Box::new(1_u64);
                    $send
                });
                assert!($recv.is_some());
                assert!($recv.is_none());
                sending.join().unwrap();
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn a_message_orders_plain_memory() {
                let plain = Plain::default();
                let ($s, mut $r) = $new;
                scope(|scope| {
                    let plain = &plain;
                    scope.spawn(move || {
                        plain.set(1);
                        let $v = Box::new(1_u64);
                        $send
                    });
                    assert!($recv.is_some());
                    assert_eq!(plain.get(), 1);
                    plain.set(2);
                });
            }
        }
    };
}

channel!(std_unbounded, mpsc::channel(), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(std_bounded, mpsc::sync_channel(1), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(std_rendezvous, mpsc::sync_channel(0), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(crossbeam_unbounded, crossbeam_channel::unbounded(), |s, v| s.send(v).is_ok(), |r| r
    .recv()
    .ok());
channel!(crossbeam_bounded, crossbeam_channel::bounded(1), |s, v| s.send(v).is_ok(), |r| r
    .recv()
    .ok());
channel!(crossbeam_rendezvous, crossbeam_channel::bounded(0), |s, v| s.send(v).is_ok(), |r| r
    .recv()
    .ok());
channel!(async_unbounded, async_channel::unbounded(), |s, v| s.send_blocking(v).is_ok(), |r| r
    .recv_blocking()
    .ok());
channel!(async_bounded, async_channel::bounded(1), |s, v| s.send_blocking(v).is_ok(), |r| r
    .recv_blocking()
    .ok());
channel!(flume_unbounded, flume::unbounded(), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(flume_bounded, flume::bounded(1), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(flume_rendezvous, flume::bounded(0), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(kanal_unbounded, kanal::unbounded(), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(kanal_bounded, kanal::bounded(1), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(kanal_rendezvous, kanal::bounded(0), |s, v| s.send(v).is_ok(), |r| r.recv().ok());
channel!(tokio_unbounded, tokio::sync::mpsc::unbounded_channel(), |s, v| s.send(v).is_ok(), |r| {
    block_on(r.recv())
});
channel!(tokio_bounded, tokio::sync::mpsc::channel(1), |s, v| block_on(s.send(v)).is_ok(), |r| {
    block_on(r.recv())
});
