//! The engine for priority queues.

use sim::check::models::{PriorityQueue, PriorityQueueOp, PriorityQueueRet};

use super::collections::{self, Collection};

impl Collection for PriorityQueue {
    const ENGINE: &'static str = "unique priority queue";
    const LOOKS: bool = true;
    const RANKS: bool = true;

    fn holding(items: &[u64]) -> Self {
        items.iter().copied().collect()
    }
    fn put(item: u64) -> PriorityQueueOp {
        PriorityQueueOp::Insert(item)
    }
    fn done() -> PriorityQueueRet {
        PriorityQueueRet::Done
    }
    fn take() -> PriorityQueueOp {
        PriorityQueueOp::Pop
    }
    fn look() -> PriorityQueueOp {
        PriorityQueueOp::Peek
    }
    fn item(item: Option<u64>) -> PriorityQueueRet {
        PriorityQueueRet::Item(item)
    }
    fn puts(op: &PriorityQueueOp) -> Option<u64> {
        match op {
            PriorityQueueOp::Insert(item) => Some(*item),
            PriorityQueueOp::Pop | PriorityQueueOp::Peek => None,
        }
    }
    fn got(ret: &PriorityQueueRet) -> Option<u64> {
        match ret {
            PriorityQueueRet::Item(item) => *item,
            PriorityQueueRet::Done => None,
        }
    }
}

#[test]
fn all_short_histories_are_judged_right() {
    collections::all_short_histories::<PriorityQueue>();
}

#[test]
fn random_histories_are_judged_right() {
    collections::random_histories::<PriorityQueue>(false);
}

#[test]
fn random_histories_with_operations_that_never_returned_are_judged_right() {
    collections::random_histories::<PriorityQueue>(true);
}

#[test]
fn long_histories_need_no_search() {
    collections::long_histories::<PriorityQueue>();
}
