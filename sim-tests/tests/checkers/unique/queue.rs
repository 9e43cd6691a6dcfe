//! Queues.

use sim::check::history::Operation;
use sim::check::models::QueueOp::{Dequeue, Enqueue};
use sim::check::models::QueueRet::{self, Done, Item};
use sim::check::models::{Queue, QueueOp};
use sim_tests::histories::{Draw, Recorded, long};

use super::{Tally, anomaly, cases, decided_alone, recorded, trade};

/// Returns a random history of a queue. The first `backlog` operations of the history are enqueues.
fn random(draw: &mut Draw, shape: [usize; 3], backlog: u64) -> Recorded<Queue> {
    let mut fresh = 0;
    recorded(draw, Queue::new(), shape, |draw| {
        if fresh >= backlog && draw.below(2) == 0 {
            return Dequeue;
        }
        fresh += 1;
        Enqueue(fresh)
    })
}

#[test]
fn random_histories_are_judged_right() {
    let (mut draw, mut tally) = (Draw(1), Tally::default());
    for _ in 0..cases() {
        let shape = [1 + draw.below(7), 1 + draw.below(4), 3 + draw.below(12)];
        let backlog = draw.below(3) as u64;
        let mut history = random(&mut draw, shape, backlog);
        for _ in 0..draw.below(3) {
            trade::<Queue>(&mut draw, &mut history, |op| *op == Dequeue);
        }
        if draw.below(8) == 0 {
            forget(&mut draw, &mut history);
        }
        tally.check(&Queue::new(), &history);
    }
    tally.assert_decided(0.95);
}

/// Changes the result of one dequeue: it finds the queue empty.
fn forget(draw: &mut Draw, history: &mut Recorded<Queue>) {
    let place = draw.below(history.len());
    let call = &mut history[place];
    if let (Dequeue, Some((ret, _))) = (&call.op, &mut call.returned) {
        *ret = Item(None);
    }
}

#[test]
fn random_histories_of_a_queue_with_items_are_judged_right() {
    let (mut draw, mut tally) = (Draw(2), Tally::default());
    let initial = Queue::from_iter([8, 9]);
    for _ in 0..cases() {
        let shape = [1 + draw.below(7), 1 + draw.below(4), 3 + draw.below(12)];
        let mut fresh = 9;
        let mut history = recorded(&mut draw, initial.clone(), shape, |draw| {
            fresh += 1;
            if draw.below(3) > 0 { Dequeue } else { Enqueue(fresh) }
        });
        for _ in 0..draw.below(3) {
            trade::<Queue>(&mut draw, &mut history, |op| *op == Dequeue);
        }
        tally.check(&initial, &history);
    }
    tally.assert_decided(0.95);
}

#[test]
fn a_long_history_needs_no_search() {
    let count = if long() { 100_000 } else { 30_000 };
    for (clients, backlog) in [(16, 32), (64, 0)] {
        let mut history = random(&mut Draw(3), [count, clients, usize::MAX / 2], backlog);
        assert!(decided_alone(&Queue::new(), &history, "unique queue").is_consistent());
        let takes = |call: &Operation<QueueOp, QueueRet>| {
            call.op == Dequeue && call.returned.as_ref().is_some_and(|(ret, _)| *ret != Item(None))
        };
        let places: Vec<usize> = (count / 5 * 4..count).filter(|n| takes(&history[*n])).collect();
        let (a, b) = (places[0], places[places.len() / 2]);
        let ret = |n: usize| history[n].returned.as_ref().unwrap().0.clone();
        let (ret_a, ret_b) = (ret(a), ret(b));
        history[a].returned.as_mut().unwrap().0 = ret_b;
        history[b].returned.as_mut().unwrap().0 = ret_a;
        assert!(decided_alone(&Queue::new(), &history, "unique queue").is_violated());
    }
}

fn call(
    op: QueueOp,
    invoked: u64,
    ret: impl Into<Option<QueueRet>>,
    end: u64,
) -> Operation<QueueOp, QueueRet> {
    Operation { client: 0, op, invoked, returned: ret.into().map(|ret| (ret, end)) }
}

#[test]
fn each_contradiction_has_its_name() {
    let named = |history: &[_]| {
        let (name, part, _) = anomaly(&Queue::new(), history);
        (name, part)
    };
    let is = |name: &str, part: &[usize]| (name.to_owned(), part.to_vec());
    let adds = [call(Enqueue(1), 1, Done, 2), call(Enqueue(2), 3, Done, 4)];
    let with = |rest: &[Operation<QueueOp, QueueRet>]| [&adds, rest].concat();
    assert_eq!(
        named(&with(&[call(Dequeue, 5, Item(Some(2)), 6), call(Dequeue, 7, Item(Some(1)), 8)])),
        is("dequeued out of order", &[0, 1, 2, 3])
    );
    assert_eq!(named(&with(&[call(Dequeue, 5, Item(Some(2)), 6)])), is("lost item", &[0, 1, 2]));
    assert_eq!(
        named(&with(&[call(Dequeue, 5, Item(Some(1)), 6), call(Dequeue, 7, Item(None), 8)])),
        is("empty while it held an item", &[1, 3])
    );
    assert_eq!(
        named(&with(&[call(Dequeue, 5, Item(Some(7)), 6)])),
        is("item that was never added", &[2])
    );
    let early = call(Dequeue, 0, Item(Some(2)), 2);
    assert_eq!(
        named(&[call(Enqueue(1), 1, Done, 9), call(Enqueue(2), 3, Done, 4), early]),
        is("taken before it was added", &[2, 1])
    );
}

#[test]
fn one_removal_that_never_returned_takes_one_item() {
    let history = |pending: usize| {
        let mut history: Vec<_> =
            (1..=3).map(|n| call(Enqueue(n), 2 * n, Done, 2 * n + 1)).collect();
        history.push(call(Dequeue, 20, Item(Some(3)), 21));
        history.extend((0..pending as u64).map(|n| call(Dequeue, 10 + n, None, 0)));
        history
    };
    let initial = Queue::new();
    assert!(decided_alone(&initial, &history(2), "unique queue").is_consistent());
    let (name, part, text) = anomaly(&initial, &history(1));
    assert_eq!((name.as_str(), part), ("lost item", vec![0, 1, 2, 4, 3]));
    assert!(text.contains("(1 for 2)"), "{text}");
}

#[test]
fn several_items_can_cover_an_empty_dequeue_together() {
    // 1:  |add|        |take|
    // 2:        |add|           |take|
    //      |----- found nothing ---|  starts after the first is in, ends before the second leaves
    let history = [
        call(Enqueue(1), 1, Done, 2),
        call(Enqueue(2), 4, Done, 5),
        call(Dequeue, 6, Item(Some(1)), 7),
        call(Dequeue, 9, Item(Some(2)), 10),
        call(Dequeue, 3, Item(None), 8),
    ];
    let (name, part, text) = anomaly(&Queue::new(), &history);
    assert_eq!((name.as_str(), part.len()), ("empty while it held an item", 5));
    assert!(text.contains("one of 2 items"), "{text}");
}
