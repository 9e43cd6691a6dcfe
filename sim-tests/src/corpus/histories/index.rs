//! An index of two levels, published from the top. A key is found at the top, but later not at the bottom.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Set, SetOp};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "two_level_index",
    seeds: 200,
    buggy: |spawning| boxed(index(spawning, false)),
    fixed: |spawning| boxed(index(spawning, true)),
}];

#[derive(Default)]
struct Index {
    top: Atomic<bool>,
    bottom: Atomic<bool>,
}

/// Fixed: the bottom level is written first, and every search begins at the top.
async fn index(spawning: Spawning, fixed: bool) {
    let history = History::new(Set::from_iter([1u64]));
    let index = Arc::new(Index::default());
    let (other, calls, reads) = (index.clone(), history.clone(), history.clone());
    let tasks = vec![
        boxed(async move {
            let Index { top, bottom } = &*other;
            let (first, second) = if fixed { (bottom, top) } else { (top, bottom) };
            let insert = async {
                first.store(true, SeqCst).await;
                second.store(true, SeqCst).await;
                true
            };
            calls.call(SetOp::Insert(2), insert).await;
        }),
        boxed(async move {
            for from_top in [true, fixed] {
                let contains = async {
                    from_top && index.top.load(SeqCst).await || index.bottom.load(SeqCst).await
                };
                reads.call(SetOp::Contains(2), contains).await;
            }
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
