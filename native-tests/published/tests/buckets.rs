//! Samples that metrics-util loses: tests of docs/found.md.

use std::sync::Arc;
use std::thread;

use metrics_util::storage::AtomicBucket;

/// Counts the samples that are taken out of a bucket, while another sample is added to `samples` samples.
fn cleared(samples: usize) -> usize {
    let bucket = Arc::new(AtomicBucket::new());
    (0..samples).for_each(|sample| bucket.push(sample));
    let other = bucket.clone();
    let pushing = thread::spawn(move || other.push(samples));
    let mut cleared = 0;
    bucket.clear_with(|block| cleared += block.len());
    pushing.join().unwrap();
    bucket.clear_with(|block| cleared += block.len());
    cleared
}

#[sim::test(native, seeds = 10_000)]
fn metrics_sample_is_pushed_while_others_are_taken() {
    assert_eq!(cleared(1), 2);
}

/// A block has 64 samples.
#[sim::test(native, seeds = 10_000)]
fn metrics_block_is_added_while_others_are_taken() {
    let cleared = cleared(64);
    assert!(cleared >= 64, "{} samples of a full block are lost", 65 - cleared);
}

#[sim::test(native, seeds = 10_000)]
fn metrics_block_is_added_while_others_are_read() {
    let bucket = Arc::new(AtomicBucket::new());
    (0..64).for_each(|sample| bucket.push(sample));
    let other = bucket.clone();
    let pushing = thread::spawn(move || other.push(64));
    let seen = bucket.data().len();
    assert!(seen >= 64, "{seen} samples of 64 are seen");
    pushing.join().unwrap();
}
