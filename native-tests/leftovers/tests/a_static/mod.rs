//! The test of each program with the name of a crate of the toolchain: the static is restored all the same.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[test]
fn begins_each_run_with_its_first_value() {
    assert_eq!(COUNT.load(SeqCst), 0);
    let threads = [(); 2].map(|()| thread::spawn(|| COUNT.fetch_add(1, SeqCst)));
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 2));
    assert_eq!(COUNT.load(SeqCst), 2);
}
