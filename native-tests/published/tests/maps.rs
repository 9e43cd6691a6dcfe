//! Maps and caches of current releases: tests of docs/found.md.

use std::hash::{BuildHasher, Hasher};
use std::thread;

use arc_interner::ArcIntern;
use leapfrog::LeapMap;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

/// Two threads insert the same key into a cache of one entry, which is used afterwards.
#[sim::test(native, seeds = 10_000)]
fn moka_keeps_an_entry_afterwards() {
    let cache = Cache::builder().max_capacity(1).eviction_policy(EvictionPolicy::lru()).build();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| cache.insert(1, ()));
        }
    });
    cache.run_pending_tasks();
    cache.insert(2, ());
    cache.run_pending_tasks();
    assert!(cache.contains_key(&2), "the only entry is not kept");
}

#[derive(Clone)]
struct Same;

impl Hasher for Same {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

impl BuildHasher for Same {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self
    }
}

/// 32 keys have the same hash.
#[sim::test(native, seeds = 1, max_steps = 10_000)]
fn papaya_has_keys_with_the_same_hash() {
    let map = papaya::HashMap::builder().hasher(Same);
    let map = map.resize_mode(papaya::ResizeMode::Blocking).build();
    for key in 0..32 {
        map.pin().insert(key, ());
    }
}

/// Two threads insert the same key.
#[sim::test(native, seeds = 10_000)]
fn leapfrog_inserts_twice() {
    let map = LeapMap::<u8, u8>::new();
    let before = thread::scope(|scope| {
        let map = &map;
        let inserts = [10, 20].map(|value| scope.spawn(move || map.insert(1, value)));
        inserts.map(|insert| insert.join().unwrap())
    });
    assert_ne!(before, [None, None], "both are the first");
    assert_eq!(map.len(), 1);
}

/// Two threads insert keys while the map grows.
#[sim::test(native, seeds = 10_000)]
fn leapfrog_grows() {
    let map = LeapMap::<u64, u64>::with_capacity(8);
    thread::scope(|scope| {
        for first in [0, 10] {
            let map = &map;
            scope.spawn(move || {
                for key in first..first + 10 {
                    map.insert(key, key);
                }
            });
        }
    });
}

/// Two threads drop the last two references to a value.
#[sim::test(native, seeds = 10_000)]
fn arc_interner_keeps_a_value() {
    let values = [(); 2].map(|()| ArcIntern::new(3_u8));
    thread::scope(|scope| {
        for value in values {
            scope.spawn(|| drop(value));
        }
    });
    assert_eq!(ArcIntern::<u8>::num_objects_interned(), 0, "nobody has the value");
}
