//! Issue 70: `try_recv` of 3.1.19 reports that the channel is closed while a message is left.

use std::thread;

use crossfire::TryRecvError;

macro_rules! tests {
    ($($name:ident: $channel:expr;)*) => {
        $(
            #[sim::test(native, seeds = 10_000)]
            fn $name() {
                let (sender, receiver) = $channel;
                let sending = thread::spawn(move || sender.send(1_u32).unwrap());
                let received = loop {
                    match receiver.try_recv() {
                        Err(TryRecvError::Empty) => thread::yield_now(),
                        received => break received,
                    }
                };
                assert_eq!(received.ok(), Some(1));
                sending.join().unwrap();
            }
        )*
    };
}

tests! {
    list: crossfire::mpmc::unbounded_blocking();
    array: crossfire::mpmc::bounded_blocking(2);
}
