//! `select!`: which branches win in all orders, its grammar, and the number of its decisions.

use std::collections::BTreeSet;
use std::sync::Mutex;

use sim::run::{Failure, Outcome};
use sim::task::yield_now;
use sim::time::{Duration, sleep};
use sim::tokio::select;
use sim::tokio::sync::{Notify, mpsc, oneshot};
use sim::{Runner, spawn};

use crate::{Results, fails, holds};

/// Two channels with a message each, and the message that a `select!` takes.
async fn two_ready(is_biased: bool) -> &'static str {
    let (to_a, mut a) = mpsc::channel(1);
    let (to_b, mut b) = mpsc::channel(1);
    to_a.send(()).await.unwrap();
    to_b.send(()).await.unwrap();
    match is_biased {
        true => select! {
            biased;
            Some(()) = a.recv() => "a",
            Some(()) = b.recv() => "b",
        },
        false => select! {
            Some(()) = a.recv() => "a",
            Some(()) = b.recv() => "b",
        },
    }
}

#[test]
fn each_of_two_ready_branches_wins() {
    let winners = Results::new();
    let report = holds(async || winners.add(two_ready(false).await));
    winners.are(["a", "b"]);
    if sim::SIMULATED {
        // There is one decision. The decision of the first poll is fixed, because the branches only announce their
        // operations there.
        assert_eq!(report.runs, 2);
    }
}

#[test]
fn the_first_of_biased_branches_wins() {
    let winners = Results::new();
    let report = holds(async || winners.add(two_ready(true).await));
    winners.are(["a"]);
    if sim::SIMULATED {
        assert_eq!(report.runs, 1);
    }
}

#[test]
fn branches_that_are_ready_at_once_win_each() {
    let winners = Results::new();
    holds(async || {
        winners.add(select! {
            () = async {} => 0,
            () = std::future::pending() => 1,
            () = async {} => 2,
        })
    });
    winners.are([0, 2]);
}

#[test]
fn branches_of_foreign_futures_win_each() {
    let winners = Results::new();
    holds(async || {
        let (to_a, a) = futures::channel::oneshot::channel();
        let (to_b, b) = futures::channel::oneshot::channel();
        let selecting = spawn(async move {
            select! { _ = a => "a", _ = b => "b" }
        });
        yield_now().await;
        // On real threads, the first message may end the `select!`, and the receivers with it.
        let _ = (to_a.send(()), to_b.send(()));
        winners.add(selecting.await.unwrap());
    });
    winners.are(["a", "b"]);
}

/// A worker that takes jobs until it receives a stop signal. Returns the jobs that it took.
async fn worked(is_biased: bool) -> u32 {
    let (jobs, mut queue) = mpsc::channel(2);
    let (stop, mut stopped) = oneshot::channel::<()>();
    let worker = spawn(async move {
        let mut done = 0;
        loop {
            match is_biased {
                // All jobs in the queue are done before the worker stops.
                true => select! {
                    biased;
                    Some(()) = queue.recv() => done += 1,
                    _ = &mut stopped => return done,
                },
                false => select! {
                    _ = &mut stopped => return done,
                    Some(()) = queue.recv() => done += 1,
                },
            }
        }
    });
    jobs.send(()).await.unwrap();
    jobs.send(()).await.unwrap();
    stop.send(()).unwrap();
    worker.await.unwrap()
}

#[test]
fn a_stop_overtakes_jobs_that_are_there() {
    let done = Results::new();
    let report = holds(async || done.add(worked(false).await));
    done.are([0, 1, 2]);
    let done = Results::new();
    let biased = holds(async || done.add(worked(true).await));
    done.are([2]);
    if sim::SIMULATED {
        assert_eq!((report.runs, biased.runs), (36, 5));
    }
}

/// A receiver that reads two halves of a message, and gives up when the clock ticks.
async fn halves(keeps_what_it_has: bool) {
    let (sender, mut receiver) = mpsc::channel(2);
    let sending = spawn(async move {
        sender.send(1).await.unwrap();
        yield_now().await;
        sender.send(2).await.unwrap();
    });
    let tick = Notify::new();
    tick.notify_one();
    let mut half = None;
    let message = loop {
        let whole = async {
            let mut kept = None;
            let half = if keeps_what_it_has { &mut half } else { &mut kept };
            if half.is_none() {
                *half = receiver.recv().await;
            }
            match keeps_what_it_has {
                true => {
                    let second = receiver.recv().await;
                    (half.take(), second)
                }
                false => (half.take(), receiver.recv().await),
            }
        };
        select! {
            biased;
            message = whole => break message,
            () = tick.notified() => continue,
        }
    };
    assert_eq!(message, (Some(1), Some(2)), "a half was lost");
    sending.await.unwrap();
}

#[test]
fn a_branch_that_is_not_cancel_safe_loses_its_message() {
    match fails(async || halves(false).await) {
        Some((Failure::Panic { message, .. }, _)) => assert!(message.contains("a half was lost")),
        Some((failure, screen)) => panic!("{failure:?}\n{screen}"),
        None => {}
    }
    holds(async || halves(true).await);
}

#[test]
fn the_grammar_is_tokios() {
    let body = async || -> Result<u32, String> {
        let mut log = Vec::new();
        // The test covers three forms: a block without a comma, a refutable pattern that disables a branch, and a
        // condition.
        let mut numbers = vec![Some(3), None, Some(1)];
        for _ in 0..3 {
            let number = async { numbers.pop().unwrap() };
            select! {
                Some(n @ 1..=3) = number => { log.push(n) }
                Ok(()) | Err(()) = std::future::pending::<Result<(), ()>>(), if log.is_empty() => {},
                else => { log.push(0); }
            }
        }
        assert_eq!(log, [1, 0, 3]);
        // Bindings by reference and with `mut`, of values that cannot be copied.
        let text = String::from("text");
        let (mut a, b) = select! {
            (mut a, ref b) = async { (text, 5) } => { a.push('!'); (a, *b) }
        };
        a.push('?');
        assert_eq!((a.as_str(), b), ("text!?", 5));
        struct Pair {
            left: Option<String>,
            right: u8,
        }
        let pair = async { Pair { left: Some("left".into()), right: 2 } };
        let left =
            select! { Pair { left: Some(left), right: 1 | 2 } = pair => left, else => "".into() };
        assert_eq!(left, "left");
        // Temporaries in the expression of a future live as long as it does.
        assert_eq!(select! { n = &mut Box::pin(async { 7 }) => n }, 7);
        // A handler can use `?`, `break`, `.await` and the values that the futures borrowed.
        let mut count = 0;
        let found = loop {
            select! {
                () = async { count += 1 } => {
                    yield_now().await;
                    count += 1;
                    if count > 3 { break Err::<u32, &str>("late") }
                }
            }
        };
        let error = found.map_err(str::to_owned).unwrap_err();
        let answer = select! {
            value = std::future::ready(Ok::<u32, String>(4)) => value?,
            () = std::future::pending() => return Err(error),
        };
        const FOUR: u32 = 4;
        let is_four = select! { FOUR = async { answer } => true, else => false };
        assert!(is_four);
        assert_eq!(select! { else => 1 }, 1);
        let nested =
            select! { n = async { select! { biased; n = async { 1 } => n + 1 } } => n + 1 };
        assert_eq!(nested, 3);
        Ok(answer)
    };
    assert_eq!(sim::block_on(body()), Ok(4));
    holds(async || assert_eq!(body().await, Ok(4)));
}

#[test]
fn there_may_be_sixty_four_branches() {
    use std::future::pending;
    let winner = sim::block_on(async {
        select! {
            0 = async { 1 } => 0, () = pending() => 1, () = pending() => 2, () = pending() => 3,
            () = pending() => 4, () = pending() => 5, () = pending() => 6, () = pending() => 7,
            () = pending() => 8, () = pending() => 9, () = pending() => 10, () = pending() => 11,
            () = pending() => 12, () = pending() => 13, () = pending() => 14, () = pending() => 15,
            () = pending() => 16, () = pending() => 17, () = pending() => 18, () = pending() => 19,
            () = pending() => 20, () = pending() => 21, () = pending() => 22, () = pending() => 23,
            () = pending() => 24, () = pending() => 25, () = pending() => 26, () = pending() => 27,
            () = pending() => 28, () = pending() => 29, () = pending() => 30, () = pending() => 31,
            () = pending() => 32, () = pending() => 33, () = pending() => 34, () = pending() => 35,
            () = pending() => 36, () = pending() => 37, () = pending() => 38, () = pending() => 39,
            () = pending() => 40, () = pending() => 41, () = pending() => 42, () = pending() => 43,
            () = pending() => 44, () = pending() => 45, () = pending() => 46, () = pending() => 47,
            () = pending() => 48, () = pending() => 49, () = pending() => 50, () = pending() => 51,
            () = pending() => 52, () = pending() => 53, () = pending() => 54, () = pending() => 55,
            () = pending() => 56, () = pending() => 57, () = pending() => 58, () = pending() => 59,
            () = pending() => 60, () = pending() => 61, () = pending() => 62, () = async {} => 63,
        }
    });
    assert_eq!(winner, 63);
}

#[test]
fn without_branches_that_are_enabled_and_without_else_it_panics() {
    let panics = std::panic::catch_unwind(|| {
        sim::block_on(async {
            select! { Some(()) = async { None } => {}, () = async {}, if false => {} }
        })
    });
    let payload = panics.unwrap_err();
    let text = payload.downcast_ref::<&str>().unwrap();
    assert_eq!(*text, "all branches are disabled and there is no else branch");
}

#[cfg_attr(feature = "sim", test)]
fn unseen_effects_of_the_first_poll_are_ordered_if_tasks_share_them() {
    let orders = Results::new();
    holds(async || {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let log = std::sync::Arc::new(Mutex::new(Vec::new()));
        let tells = async |n: u8| {
            log.lock().unwrap().push(n);
            std::future::pending::<()>().await;
        };
        let sending = spawn(async move { sender.send(()).unwrap() });
        yield_now().await;
        select! {
            () = tells(1) => {}
            () = tells(2) => {}
            _ = receiver => {}
        }
        sending.await.unwrap();
        orders.add(log.lock().unwrap().clone());
    });
    // The third branch may be ready and begin, may follow the second branch, or may come last.
    orders.are([vec![], vec![2], vec![1, 2], vec![2, 1]]);
}

#[test]
fn outside_of_runs_the_first_branch_is_a_random_one() {
    let winners: BTreeSet<u8> = (0..1000)
        .map(|_| {
            sim::block_on(async {
                select! { () = async {} => 0, () = async {} => 1 }
            })
        })
        .collect();
    assert_eq!(winners, BTreeSet::from([0, 1]));
}

#[test]
fn futures_are_dropped_in_their_order_before_the_handler() {
    struct Tells<'a>(&'a Mutex<Vec<u8>>, u8);
    impl Drop for Tells<'_> {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let log = Mutex::new(Vec::new());
    let told = |n, is_ready: bool| {
        let tells = Tells(&log, n);
        async move {
            if !is_ready {
                std::future::pending::<()>().await;
            }
            drop(tells);
        }
    };
    sim::block_on(async {
        select! {
            () = told(1, false) => {}
            () = told(3, true) => log.lock().unwrap().push(9),
            () = told(2, false) => {}
        }
    });
    assert_eq!(*log.lock().unwrap(), [3, 1, 2, 9]);
}

#[cfg_attr(feature = "sim", test)]
fn decisions_are_drawn_only_if_they_matter() {
    let drawn = |body: &(dyn Fn() -> futures::future::BoxFuture<'static, ()> + Sync)| {
        let run = Runner::new().hermetic().run_seed(0, async || body().await);
        assert_eq!(run.outcome, Outcome::Passed);
        run.draws.iter().filter(|draw| !draw.given).count()
    };
    // The time-out never passes, so only one of the two branches is ever enabled.
    let timed = drawn(&|| {
        Box::pin(async {
            let (sender, mut receiver) = mpsc::channel(1);
            let sending = spawn(async move {
                for n in 0..5 {
                    sender.send(n).await.unwrap();
                }
            });
            let mut timeout = std::pin::pin!(sleep(Duration::from_secs(1)));
            for n in 0..5 {
                select! {
                    got = receiver.recv() => assert_eq!(got, Some(n)),
                    () = &mut timeout => panic!("no message"),
                }
            }
            sending.await.unwrap();
        })
    });
    assert_eq!(timed, 0);
    // Two ready branches in one of two selects of one task.
    let nested = drawn(&|| {
        Box::pin(async {
            let tell = Notify::new();
            tell.notify_one();
            let one = async {
                select! { () = tell.notified() => 1, () = yield_now() => 2 }
            };
            let other = async {
                select! { () = yield_now() => 1, () = std::future::pending() => 2 }
            };
            sim::join!(one, other);
        })
    });
    // The decision of the first select, and the decision of the join.
    assert_eq!(nested, 2);
}

/// Runs three tasks: the first selects and joins, the second sends, and the third notifies.
async fn mixed(nested: bool) -> Vec<u32> {
    let (sender, mut receiver) = mpsc::channel(2);
    let told = std::sync::Arc::new(Notify::new());
    let sending = spawn(async move {
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
    });
    let telling = {
        let told = told.clone();
        spawn(async move {
            yield_now().await;
            told.notify_one();
        })
    };
    let mut seen = Vec::new();
    let mut is_told = std::pin::pin!(told.notified());
    let mut heard = false;
    loop {
        select! {
            message = receiver.recv() => match message {
                Some(message) => seen.push(message),
                None => break,
            },
            () = &mut is_told, if !heard => {
                heard = true;
                seen.push(10);
            }
            joined = async { sim::join!(yield_now(), yield_now()) }, if nested && !heard => {
                let ((), ()) = joined;
                seen.push(20);
                if seen.len() > 1 { break }
            }
        }
    }
    drop(receiver);
    let _ = sim::join!(sending, telling);
    seen
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_that_random_runs_find() {
    let missing = sim_tests::unfound::unfound(300, true, async || mixed(false).await);
    assert!(missing.is_empty(), "{missing:?}");
    let orders = Results::new();
    let random = Runner::new().hermetic().seeds(0..200).strategy("random");
    assert!(random.run(async || orders.add(mixed(false).await)).passed());
    orders.are([vec![1, 2], vec![1, 2, 10], vec![1, 10, 2], vec![10, 1, 2]]);
}
