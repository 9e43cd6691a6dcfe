//! Textbook bugs of memory orders in tasks, their mended twins, and the words of their screens.

use std::sync::Arc;

use sim::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use sim::{Atomic, Cell, Runner, fence, spawn, spin_until};

use super::orders::{Data, Program, Run, runner, screen, sleeps_behind};

/// A flag that does not order two tasks.
async fn message_passing(store: Ordering, load: Ordering) {
    let (data, flag) = (Data::word(), Arc::new(Atomic::new(false)));
    let first = spawn({
        let (data, flag) = (data.clone(), flag.clone());
        async move {
            data.store().await;
            flag.store(true, store).await;
        }
    });
    spin_until(|| flag.load(load)).await;
    data.load().await;
    first.await.unwrap();
}

/// The operation of a task between the stores and the loads of Peterson's lock.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// The task stores the turn.
    Stores,
    /// The task stores the turn, and then executes a fence. The order of the fences need not be the order of the
    /// stores.
    StoresBeforeFence,
    /// The task swaps the turn, so the second task sees the swap of the first.
    Swaps,
}

/// Peterson's lock.
async fn peterson((store, load): (Ordering, Ordering), by: Turn) {
    let shared = Arc::new(([Atomic::new(false), Atomic::new(false)], Atomic::new(0), Cell::new(0)));
    let of_tasks = shared.clone();
    sim::map_concurrently(0..2, move |own| {
        let shared = of_tasks.clone();
        async move {
            let (flags, turn, count) = &*shared;
            flags[own].store(true, store).await;
            match by {
                Turn::Swaps => _ = turn.swap(1 - own, AcqRel).await,
                Turn::Stores | Turn::StoresBeforeFence => turn.store(1 - own, store).await,
            }
            if by == Turn::StoresBeforeFence {
                fence(SeqCst).await;
            }
            spin_until(async || !flags[1 - own].load(load).await || turn.load(load).await == own)
                .await;
            let before = count.get().await;
            count.set(before + 1).await;
            flags[own].store(false, store).await;
        }
    })
    .await;
    assert_eq!(shared.2.get().await, 2);
}

/// Two owners of data. The owner that releases the data last must see the steps of the other owner.
async fn last_owner(order: Ordering) {
    let shared = Arc::new((Data::word(), Atomic::new(2)));
    sim::map_concurrently([true, false], move |stores| {
        let shared = shared.clone();
        async move {
            if stores {
                shared.0.store().await;
            }
            if shared.1.fetch_sub(1, order).await == 1 {
                shared.0.load().await;
            }
        }
    })
    .await;
}

/// A program that fails with `c11` within this number of seeds, and passes with `sc`. The screen has the reason, and
/// the orders and fences that mend it.
struct Weak(&'static str, u64, &'static str, &'static [&'static str], fn() -> Run);

const WEAK: &[Weak] = &[
    Weak(
        "flag relaxed",
        100,
        "is Relaxed and does not release it",
        &["Release for the store", "Acquire for the load"],
        || Box::pin(message_passing(Relaxed, Relaxed)),
    ),
    Weak(
        "store relaxed",
        100,
        "is Relaxed and does not release it",
        &["Release for the store"],
        || Box::pin(message_passing(Relaxed, Acquire)),
    ),
    Weak(
        "load relaxed",
        100,
        "is Relaxed and does not acquire it",
        &["Acquire for the load"],
        || Box::pin(message_passing(Release, Relaxed)),
    ),
    Weak(
        "Peterson, release and acquire",
        100,
        "no operation orders the two",
        &["SeqCst for the fence before the load", "SeqCst for the fence before the store"],
        || Box::pin(peterson((Release, Acquire), Turn::Stores)),
    ),
    Weak(
        "Peterson, with a fence",
        300,
        "no operation orders the two",
        &["SeqCst for the fence before the store"],
        || Box::pin(peterson((Release, Acquire), Turn::StoresBeforeFence)),
    ),
    Weak(
        "owners, relaxed",
        100,
        "is Relaxed and does not release it",
        &["AcqRel for the fetch_sub"],
        || Box::pin(last_owner(Relaxed)),
    ),
    Weak(
        "owners, release",
        100,
        "is Release and does not acquire it",
        &["AcqRel for the fetch_sub"],
        || Box::pin(last_owner(Release)),
    ),
];

/// The same programs with strong enough orderings.
const MENDED: &[Program] = &[
    ("message passing", || Box::pin(message_passing(Release, Acquire))),
    ("Peterson, all SeqCst", || Box::pin(peterson((SeqCst, SeqCst), Turn::Stores))),
    ("Peterson, with a swap", || Box::pin(peterson((Release, Acquire), Turn::Swaps))),
    ("owners", || Box::pin(last_owner(AcqRel))),
];

#[cfg_attr(feature = "sim", test)]
fn weak_orders_are_found_and_the_mended_programs_are_silent() {
    for Weak(name, seeds, why, mends, program) in WEAK {
        let report = runner("sc", 100).run(*program);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let report = runner("c11", *seeds).run(*program);
        assert!(!report.passed(), "{name} is not found");
        let screen = screen(&report);
        // The columns with source locations are removed, because they may separate two words of a line.
        let is_word = |word: &&str| *word != "│" && !word.contains(".rs:");
        let words: Vec<&str> = screen.split_whitespace().filter(is_word).collect();
        let words = words.join(" ");
        assert!(words.contains("stale read") && words.contains(why), "{name}: {screen}");
        let strengthening = report.finding.and_then(|finding| finding.strengthening);
        let links = strengthening.map_or_else(Vec::new, |hint| hint.operations);
        let links = links.iter().map(|link| format!("{:?} for the {}", link.order, link.op));
        let mut links: Vec<String> = links.collect();
        // The order of two changes depends on the failing run.
        links.sort_unstable_by_key(|link| mends.iter().position(|mend| mend == link));
        assert_eq!(links, *mends, "{name}: {screen}");
        let is_judged = words.contains("not found again in") || words.contains("proved, all ");
        assert_eq!(is_judged, !mends.is_empty(), "{name}: {screen}");
    }
    for (name, program) in MENDED {
        let report = runner("c11", 300).run(*program);
        assert!(report.passed(), "{name}: {}", screen(&report));
    }
}

/// A search states its assumption about orders.
#[cfg_attr(feature = "sim", test)]
fn a_proof_says_which_orders_it_has_taken_for_another() {
    let search = |memory: &str, program: fn() -> Run| {
        let search = Runner::new().hermetic().memory(memory).strategy("exhaustive");
        let screen = screen(&search.run(program));
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let assumes = "orders weaker than SeqCst act as SeqCst";
    let strong = search("sc", || Box::pin(message_passing(SeqCst, SeqCst)));
    assert!(strong.contains("explored all 2") && strong.contains(assumes), "{strong}");
    let strong = search("sc", || Box::pin(peterson((SeqCst, SeqCst), Turn::Stores)));
    assert!(!strong.contains(assumes), "{strong}");
    let weak = search("c11", || Box::pin(message_passing(Release, Acquire)));
    assert!(weak.contains("memory orders act as in C11") && !weak.contains("NOT A"), "{weak}");
    let weak = search("c11", || Box::pin(sleeps_behind(Relaxed)));
    assert!(weak.contains("NOT A PROOF: older stores are tried within limits"), "{weak}");
}
