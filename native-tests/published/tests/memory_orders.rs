//! Orders of current releases that are too weak, found by `cargo unpause test --races`: tests of docs/found.md.

use std::thread;

use async_once_cell::OnceCell;
use magnetic::buffer::dynamic::DynamicBuffer;
use magnetic::{Consumer, Producer};
use published::block_on;

/// Two threads initialise a cell.
#[sim::test(native, seeds = 20_000, races)]
fn async_once_cell_is_initialised_twice() {
    let cell = OnceCell::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(block_on(cell.get_or_init(async { 1 })), &1));
        }
    });
}

/// Two producers push one message each.
#[sim::test(native, seeds = 10_000, races)]
fn magnetic_mpsc_has_two_producers() {
    let (producer, consumer) = magnetic::mpsc::mpsc_queue(DynamicBuffer::new(2).unwrap());
    let pushing = [producer.clone(), producer.clone()]
        .map(|producer| thread::spawn(move || producer.push(Box::new(1_u8)).unwrap()));
    for _ in 0..2 {
        assert_eq!(*consumer.pop().unwrap(), 1);
    }
    pushing.into_iter().for_each(|pushing| pushing.join().unwrap());
    drop(producer);
}
