//! Maps and caches: a value that is found was written before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::scope;

/// Tests of one map from `u8` to `Arc<u64>`: how it inserts, looks up, and removes.
macro_rules! map {
    ($name:ident, $new:expr, |$m:ident, $k:ident, $v:ident| $insert:expr, $get:expr, $remove:expr) => {
        mod $name {
            use super::*;

            #[sim::test(native, seeds = 60)]
            fn a_value_is_found() {
                let map = $new;
                let $m = &map;
                scope(|scope| {
                    scope.spawn(move || {
                        let ($k, $v) = (1_u8, Arc::new(7_u64));
                        $insert;
                    });
                    let $k = 1_u8;
                    let found: Option<Arc<u64>> = $get;
                    assert!(found.is_none_or(|found| *found == 7));
                });
            }

            #[sim::test(native, seeds = 60)]
            fn a_value_is_replaced() {
                let map = $new;
                let $m = &map;
                scope(|scope| {
                    for value in 1..3_u64 {
                        scope.spawn(move || {
                            let ($k, $v) = (1_u8, Arc::new(value));
                            $insert;
                        });
                    }
                    let $k = 1_u8;
                    let found: Option<Arc<u64>> = $get;
                    assert!(found.is_none_or(|found| *found < 3));
                });
            }

            #[sim::test(native, seeds = 60)]
            fn a_value_is_removed() {
                let map = $new;
                let $m = &map;
                {
                    let ($k, $v) = (1_u8, Arc::new(1_u64));
                    $insert;
                }
                scope(|scope| {
                    scope.spawn(move || {
                        let $k = 1_u8;
                        $remove;
                    });
                    let ($k, $v) = (2_u8, Arc::new(2_u64));
                    $insert;
                    let $k = 1_u8;
                    let found: Option<Arc<u64>> = $get;
                    assert!(found.is_none_or(|found| *found == 1));
                });
            }
        }
    };
}

map!(
    std_mutex,
    Mutex::new(HashMap::new()),
    |m, k, v| m.lock().unwrap().insert(k, v),
    m.lock().unwrap().get(&k).cloned(),
    m.lock().unwrap().remove(&k)
);
map!(
    std_rwlock,
    RwLock::new(BTreeMap::new()),
    |m, k, v| m.write().unwrap().insert(k, v),
    m.read().unwrap().get(&k).cloned(),
    m.write().unwrap().remove(&k)
);
map!(
    dashmap_map,
    dashmap::DashMap::new(),
    |m, k, v| m.insert(k, v),
    m.get(&k).map(|found| found.clone()),
    m.remove(&k)
);
map!(
    papaya_map,
    papaya::HashMap::new(),
    |m, k, v| {
        m.pin().insert(k, v);
    },
    m.pin().get(&k).cloned(),
    {
        m.pin().remove(&k);
    }
);
map!(moka_map, moka::sync::Cache::new(10), |m, k, v| m.insert(k, v), m.get(&k), m.invalidate(&k));
map!(
    mini_moka_map,
    mini_moka::sync::Cache::new(10),
    |m, k, v| m.insert(k, v),
    m.get(&k),
    m.invalidate(&k)
);
map!(quick_cache_map, quick_cache::sync::Cache::new(10), |m, k, v| m.insert(k, v), m.get(&k), {
    m.remove(&k);
});
map!(
    skiplist,
    crossbeam_skiplist::SkipMap::new(),
    |m, k, v| {
        m.insert(k, v);
    },
    m.get(&k).map(|found| found.value().clone()),
    {
        m.remove(&k);
    }
);
