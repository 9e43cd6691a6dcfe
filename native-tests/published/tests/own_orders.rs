//! Crates with memory orders of their own, run with the memory `c11`: tests of docs/found.md.

use std::sync::Arc;
use std::thread;

use atomic_once_cell::AtomicOnceCell;
use lockfree::channel::spmc;
use omango::queue::spsc;
use omango::wg::WaitGroup;
use swap_arc::SwapArc;

/// A reader leaves while the writer waits for it.
#[sim::test(native, memory = "c11", seeds = 20_000)]
fn flashmap_reader_leaves() {
    let (mut writer, reader) = flashmap::new::<u8, u8>();
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(reader.guard());
            drop(reader.guard());
        });
        for _ in 0..2 {
            writer.guard().publish();
        }
    });
}

/// An initialiser fails while another thread waits for it.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn atomic_once_cell_is_initialised_after_an_error() {
    let cell = AtomicOnceCell::new();
    thread::scope(|scope| {
        scope.spawn(|| _ = cell.get_or_try_init(|| Err::<u8, ()>(())));
        assert_eq!(cell.get_or_init(|| 7), &7);
    });
}

/// Two values are stored beside a reader.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn swap_arc_keeps_the_last_value() {
    let shared = SwapArc::new(Arc::new(1));
    thread::scope(|scope| {
        scope.spawn(|| shared.load_full());
        shared.store(Arc::new(2));
        shared.store(Arc::new(3));
    });
    assert_eq!(**shared.load(), 3);
}

/// A message is received and dropped, and then its queue.
#[sim::test(native, seeds = 10)]
fn omango_message_is_dropped() {
    let (sender, receiver) = spsc::bounded(1);
    sender.send(Box::new(1)).unwrap();
    assert_eq!(*receiver.recv().unwrap(), 1);
}

/// A receiver waits for its only message.
#[sim::test(native, memory = "c11", seeds = 20_000)]
fn omango_receiver_waits() {
    let (sender, receiver) = spsc::bounded(1);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(receiver.recv(), Ok(1)));
        sender.send(1).unwrap();
    });
}

/// Two threads wait for a group.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn omango_two_threads_wait_for_a_group() {
    let group = WaitGroup::new(1);
    thread::scope(|scope| {
        scope.spawn(|| group.wait());
        scope.spawn(|| group.wait());
        group.done();
    });
}

/// Two receivers receive a message each.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn lockfree_spmc_has_two_receivers() {
    let (mut sender, receiver) = spmc::create();
    for i in 0..2 {
        sender.send(i).unwrap();
    }
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| receiver.recv().unwrap());
        }
    });
}
