//! Statics that a test changes before its first model. A separate program, because it tests the first model of a
//! program.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

static NUMBER: AtomicUsize = AtomicUsize::new(0);
static LIST: Mutex<Vec<Box<usize>>> = Mutex::new(Vec::new());

/// The list has new memory before each model.
#[test]
fn a_run_begins_with_the_first_values_and_not_with_those_of_the_test() {
    for length in [1, 1000] {
        NUMBER.store(length, SeqCst);
        LIST.lock().unwrap().resize_with(length, || Box::new(1));
        loom::model(|| {
            assert_eq!(NUMBER.fetch_add(1, SeqCst), 0);
            LIST.lock().unwrap().push(Box::new(2));
            assert_eq!(LIST.lock().unwrap().iter().map(|value| **value).sum::<usize>(), 2);
        });
        assert_eq!(NUMBER.load(SeqCst), length);
        assert_eq!(LIST.lock().unwrap().iter().map(|value| **value).sum::<usize>(), length);
    }
}
