//! `join!` and `try_join!`: their orders, and their grammar.

use sim::Ordering::SeqCst;
use sim::task::yield_now;
use sim::tokio::sync::{mpsc, oneshot};
use sim::tokio::{join, try_join};
use sim::{Atomic, spawn};

use crate::{Results, fails, holds};

/// Two branches that each take the next number, in one step.
async fn numbered(is_biased: bool) -> (u8, u8) {
    let mut next = std::cell::Cell::new(0);
    let number = async || {
        yield_now().await;
        next.replace(next.get() + 1)
    };
    let numbers = match is_biased {
        true => join!(biased; number(), number()),
        false => join!(number(), number()),
    };
    assert_eq!(next.get_mut(), &mut 2);
    numbers
}

#[test]
fn two_branches_go_on_in_both_orders() {
    let numbers = Results::new();
    let report = holds(async || numbers.add(numbered(false).await));
    numbers.are([(0, 1), (1, 0)]);
    if sim::SIMULATED {
        assert_eq!(report.runs, 2);
    }
    let numbers = Results::new();
    holds(async || numbers.add(numbered(true).await));
    numbers.are([(0, 1)]);
}

#[cfg_attr(feature = "sim", test)]
fn the_first_poll_is_in_the_written_order() {
    let log = Results::new();
    let report = holds(async || {
        let order = std::sync::Mutex::new(Vec::new());
        let tells = async |n| {
            order.lock().unwrap().push(n);
            yield_now().await;
        };
        join!(tells(0), tells(1), tells(2));
        log.add(order.into_inner().unwrap());
    });
    log.are([vec![0, 1, 2]]);
    // The three branches continue together: one draw below three.
    assert_eq!(report.runs, 3);
}

/// Two halves of an order. The second may fail after the first was booked.
async fn booked(undoes: bool) {
    let stock = Atomic::new(1);
    let (sender, receiver) = oneshot::channel::<()>();
    let cancelling = spawn(async move { drop(sender) });
    let book = async {
        stock.fetch_sub(1, SeqCst).await;
        // The item is not paid for yet.
        yield_now().await;
        Ok(())
    };
    let pay = async { receiver.await.map_err(|_| "not paid") };
    if try_join!(book, pay).is_err() && undoes {
        let booked = stock.load(SeqCst).await == 0;
        if booked {
            stock.fetch_add(1, SeqCst).await;
        }
    }
    cancelling.await.unwrap();
    assert_eq!(stock.load(SeqCst).await, 1, "booked and not paid for");
}

#[test]
fn an_error_drops_the_other_branches_half_way() {
    if let Some((_, screen)) = fails(async || booked(false).await) {
        assert!(screen.contains("booked and not paid for"), "{screen}");
    }
    holds(async || booked(true).await);
}

/// Sends a request and its answer in one task, over channels with room for one message.
async fn exchanged() -> (u32, u32) {
    let (requests, mut asked) = mpsc::channel(1);
    let (answers, mut answered) = mpsc::channel(1);
    let asks = async {
        let mut sum = 0;
        for n in 0..3 {
            requests.send(n).await.unwrap();
            sum += answered.recv().await.unwrap();
        }
        drop(requests);
        sum
    };
    let answer = async {
        let mut count = 0;
        while let Some(n) = asked.recv().await {
            answers.send(2 * n).await.unwrap();
            count += 1;
        }
        count
    };
    join!(asks, answer)
}

#[test]
fn branches_wait_for_each_other() {
    assert_eq!(sim::block_on(exchanged()), (6, 3));
    holds(async || assert_eq!(exchanged().await, (6, 3)));
}

#[test]
fn the_grammar_is_tokios() {
    let body = async || {
        let () = join!();
        let () = join!(biased;);
        let (one,) = join!(async { 1 });
        let (a, b, c) =
            join!(biased; std::future::ready(one), async { String::from("b") }, async {},);
        assert_eq!((a, b.as_str(), c), (1, "b", ()));
        let nothing: Result<(), ()> = try_join!();
        let same: Result<(), ()> = try_join!(biased;);
        assert_eq!(nothing, same);
        let two = try_join!(async { Ok::<_, String>(1) }, std::future::ready(Ok("x")));
        assert_eq!(two, Ok((1, "x")));
        let never = async { std::future::pending::<Result<u8, String>>().await };
        let error = try_join!(never, async { Err::<(), _>("no".to_owned()) },);
        assert_eq!(error, Err("no".to_owned()));
        // Temporaries live as long as the futures.
        let (n, text) = join!(&mut Box::pin(async { 7 }), async { "t" });
        Ok::<_, String>((n, try_join!(async { Ok::<_, String>(text) })?.0))
    };
    assert_eq!(sim::block_on(body()), Ok((7, "t")));
    holds(async || assert_eq!(body().await, Ok((7, "t"))));
}
