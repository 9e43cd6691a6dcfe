//! A forgotten `.await`: an error if unused futures are denied.

#![deny(unused_must_use)]

use sim::Ordering::SeqCst;

fn main() {
    let (hits, cell, lock) = (sim::Atomic::new(0), sim::Cell::new(0), sim::Mutex::new(0));
    hits.store(1, SeqCst);
    hits.fetch_add(1, SeqCst);
    cell.set(1);
    lock.lock();
    lock.try_lock();
    sim::task::yield_now();
    sim::spawn(async {});
}
