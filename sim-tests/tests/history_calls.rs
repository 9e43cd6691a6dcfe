//! Calls without a plain end: dropped, explicit, answered by another task; and histories that every
//! checker must get right.

use std::sync::Arc;

use futures::channel::{mpsc, oneshot};
use futures::{FutureExt, StreamExt};
use sim::Ordering::SeqCst;
use sim::check::history::Operation;
use sim::check::models::*;
use sim::check::{Budget, Model, linearizable};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Runner, SIMULATED};
use sim_tests::seeds::{failure, finding, passes};

fn call<O, R>(client: u32, op: O, invoked: u64, returned: Option<(R, u64)>) -> Operation<O, R> {
    Operation { client, op, invoked, returned }
}

#[track_caller]
fn legal<M: Model>(initial: M, history: &[Operation<M::Op, M::Ret>]) -> bool {
    linearizable(&initial, history, &Budget::default()).unwrap().is_consistent()
}

#[test]
fn a_queue_gives_items_in_the_order_of_calls_that_do_not_overlap() {
    use QueueOp::{Dequeue, Enqueue};
    use QueueRet::{Done, Item};
    let pop = |item, at| call(0, Dequeue, at, Some((Item(Some(item)), at + 1)));
    let put = |client, item, from, to| call(client, Enqueue(item), from, Some((Done, to)));
    assert!(!legal(Queue::new(), &[put(0, 1, 0, 1), put(0, 2, 2, 3), pop(2, 4)]));
    assert!(legal(Queue::new(), &[put(0, 1, 0, 2), put(1, 2, 1, 3), pop(2, 4), pop(1, 6)]));
}

#[test]
fn a_write_that_was_seen_cannot_be_unseen_though_it_never_returned() {
    use RegisterOp::{Read, Write};
    let read = |value, at| call(1, Read, at, Some((RegisterRet::Value(value), at + 1)));
    let open = call(0, Write(1u64), 0, None);
    assert!(!legal(Register::new(0), &[open.clone(), read(1, 2), read(0, 4)]));
    assert!(legal(Register::new(0), &[open, read(0, 2), read(1, 4)]));
}

#[test]
fn a_cas_that_never_returned_may_or_may_not_have_happened() {
    use CasRegisterOp::{Cas, Read};
    for seen in [0u64, 1] {
        let read = call(1, Read, 2, Some((CasRegisterRet::Value(seen), 3)));
        assert!(legal(CasRegister::new(0), &[call(0, Cas(0, 1), 0, None), read]));
    }
}

#[test]
fn a_stack_gives_the_lower_item_only_while_the_upper_is_being_pushed() {
    use StackOp::{Pop, Push};
    let push = |client, item, from, to| call(client, Push(item), from, Some((StackRet::Done, to)));
    let pop = |from, to| call(2, Pop, from, Some((StackRet::Item(Some(1u64)), to)));
    assert!(legal(Stack::new(), &[push(0, 1, 0, 1), push(1, 2, 2, 5), pop(3, 4)]));
    assert!(!legal(Stack::new(), &[push(0, 1, 0, 1), push(1, 2, 2, 3), pop(4, 5)]));
}

#[test]
fn the_size_of_a_map_during_a_put_is_either_and_then_stays() {
    use MapOp::{Len, Put};
    let put = call(0, Put(1u64, 1u64), 0, None);
    let len = |size, at| call(1, Len, at, Some((MapRet::Len(size), at + 1)));
    for (first, second, expected) in [(0, 0, true), (0, 1, true), (1, 1, true), (1, 0, false)] {
        let history = [put.clone(), len(first, 1), len(second, 3)];
        assert_eq!(legal(Map::new(), &history), expected, "{first} then {second}");
    }
}

/// Runs a write that is cancelled after its store, beside a reader.
async fn given_up(reads: [fn(u64) -> u64; 2]) {
    let (history, word) = (History::new(Register::new(0u64)), Arc::new(Atomic::new(0u64)));
    let (writer, target) = (history.clone(), word.clone());
    let task = sim::spawn(async move {
        let work = async {
            target.store(1, SeqCst).await;
            sim::task::yield_now().await;
            sim::task::yield_now().await;
            RegisterRet::Done
        };
        writer.call(RegisterOp::Write(1), work).await;
    });
    sim::task::yield_now().await;
    task.abort();
    let ended = task.await.is_ok();
    for change in reads {
        let work = word.load(SeqCst).map(|value| RegisterRet::Value(change(value)));
        history.call(RegisterOp::Read, work).await;
    }
    let calls = history.operations();
    let writes: Vec<_> = calls.iter().filter(|call| call.op != RegisterOp::Read).collect();
    assert!(writes.iter().all(|call| call.returned.is_some() == ended));
    history.assert_linearizable();
}

#[test]
fn a_call_whose_task_is_aborted_may_have_happened() {
    passes("aborted_call", async || given_up([|value| value, |value| value]).await);
    if SIMULATED {
        let found = finding("aborted_call_unseen", async || {
            given_up([|value| value, |_| 0]).await;
        });
        assert!(matches!(failure(&found.run), Failure::History { .. }));
    }
}

/// The end of an explicit call.
#[derive(Clone, Copy)]
enum End {
    Ok,
    Info,
    Dropped,
    Kept,
}

async fn explicit(end: End, then: u64) {
    let (history, word) = (History::new(Register::new(0u64)), Arc::new(Atomic::new(0u64)));
    let (reader, read) = (history.clone(), word.clone());
    let task = sim::spawn(async move {
        for _ in 0..2 {
            let work = read.load(SeqCst).map(RegisterRet::Value);
            reader.call(RegisterOp::Read, work).await;
        }
    });
    let invoked = history.invoke(RegisterOp::Write(1));
    word.store(1, SeqCst).await;
    word.store(then, SeqCst).await;
    let mut kept = None;
    match end {
        End::Ok => invoked.ok(RegisterRet::Done),
        End::Info => invoked.info(),
        End::Dropped => drop(invoked),
        End::Kept => kept = Some(invoked),
    }
    task.await.unwrap();
    history.assert_linearizable();
    drop(kept);
}

#[test]
fn an_explicit_call_may_be_seen_from_its_first_access_on_however_it_ends() {
    for (name, end) in
        [("ok", End::Ok), ("info", End::Info), ("dropped", End::Dropped), ("kept", End::Kept)]
    {
        passes(&format!("explicit_{name}"), async || explicit(end, 1).await);
        if SIMULATED {
            let found =
                finding(&format!("explicit_{name}_broken"), async || explicit(end, 0).await);
            assert!(matches!(failure(&found.run), Failure::History { .. }), "{name}");
        }
    }
}

#[test]
fn an_explicit_call_that_failed_is_not_in_the_history() {
    let run = Runner::new().hermetic().run_seed(0, async || {
        let history = History::new(Register::new(0u64));
        history.invoke(RegisterOp::Write(1)).fail();
        history.call(RegisterOp::Read, async { RegisterRet::Value(0) }).await;
        assert_eq!(history.operations().len(), 1);
        history.assert_linearizable();
    });
    assert_eq!(run.outcome, Outcome::Passed);
}

/// A task is a counter, and clients send it messages through a channel of another crate.
async fn served(forgets: bool) {
    let (history, word) = (History::new(Counter::default()), Arc::new(Atomic::new(0i64)));
    let (send, mut receive) = mpsc::unbounded::<oneshot::Sender<()>>();
    let count = word.clone();
    let server = sim::spawn(async move {
        while let Some(reply) = receive.next().await {
            if forgets {
                let _ = reply.send(());
                count.fetch_add(1, SeqCst).await;
            } else {
                count.fetch_add(1, SeqCst).await;
                let _ = reply.send(());
            }
        }
    });
    let mut clients = Vec::new();
    for _ in 0..2 {
        let (history, send, word) = (history.clone(), send.clone(), word.clone());
        clients.push(sim::spawn(async move {
            let work = async {
                let (reply, answer) = oneshot::channel();
                send.unbounded_send(reply).unwrap();
                answer.await.unwrap();
                CounterRet::Done
            };
            history.call(CounterOp::Increment, work).await;
            history.call(CounterOp::Get, word.load(SeqCst).map(CounterRet::Value)).await;
        }));
    }
    drop(send);
    for client in clients {
        client.await.unwrap();
    }
    server.await.unwrap();
    history.assert_linearizable();
}

#[test]
fn what_another_task_does_for_a_call_lies_within_it() {
    passes("served", async || served(false).await);
    if SIMULATED {
        let found = finding("served_too_late", async || served(true).await);
        assert!(matches!(failure(&found.run), Failure::History { .. }));
    }
}

#[test]
fn two_calls_that_a_task_has_open_at_once_are_two_clients() {
    passes("two_at_once", async || {
        let (history, word) = (History::new(Counter::default()), Atomic::new(0i64));
        let add = || {
            let work = word.fetch_add(1, SeqCst).map(|_| CounterRet::Done);
            history.call(CounterOp::Increment, work)
        };
        futures::join!(add(), add());
        history.call(CounterOp::Get, word.load(SeqCst).map(CounterRet::Value)).await;
        let clients: Vec<u32> = history.operations().iter().map(|call| call.client).collect();
        // On threads an operation is done when it is first polled, so that they do not overlap.
        assert_eq!(clients.iter().max(), Some(&u32::from(SIMULATED)));
        history.assert_linearizable();
    });
}
