//! Settings of a run that a task changes beside other tasks. Searches try the change before and after each step of the
//! other tasks.

use sim::net::{self, Faults};
use sim::task::yield_now;
use sim::{Atomic, Ordering::SeqCst, fs, node, spawn};

use super::{failure, misuse, runs, search};

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_that_a_setting_comes_after_the_first_use() {
    let report = search().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let uses = spawn(async move { drop(net::link::<u8>(&a, &b)) });
        yield_now().await;
        net::faults(Faults::none());
        uses.await.unwrap();
    });
    assert!(misuse(&report).contains("after its first use"));
    let report = search().run(async || {
        let a = node("a");
        let uses = a.spawn(async { fs::write("/f", b"1").await.unwrap() });
        yield_now().await;
        fs::faults(fs::Faults::none());
        uses.await.unwrap();
    });
    assert!(misuse(&report).contains("after its first use"));
}

static SERVED: Atomic<u64> = Atomic::<u64>::const_new(0);

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_that_memory_is_shared_before_its_use_and_after_it() {
    for seen in [0, 1] {
        let report = search().run(async || {
            let a = node("a");
            let adds = a.spawn(async { SERVED.fetch_add(1, SeqCst).await });
            yield_now().await;
            node::share_memory();
            adds.await.unwrap();
            assert_ne!(SERVED.load(SeqCst).await, seen);
        });
        failure(&report);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_setting_at_the_begin_of_the_body_costs_no_run() {
    let body = async |sets: bool| {
        if sets {
            net::faults(Faults::none());
            fs::faults(fs::Faults::none());
            node::share_memory();
        }
        let [a, b] = ["a", "b"].map(node);
        let (sender, mut receiver) = net::link(&a, &b);
        let sends = a.spawn(async move { sender.send(SERVED.fetch_add(1, SeqCst).await).await });
        receiver.recv().await;
        sends.await.unwrap().unwrap();
    };
    assert_eq!(runs(async || body(true).await), runs(async || body(false).await));
}
