//! The shares of a search as one search, in the form in which a single process reports it. So the remarks on a merged
//! search, and the reasons why it is not a proof, have the words of that report.

use unpause_ordered::Set;

use super::Ledger;
use crate::engine::results::Subject;
use crate::report::{Bound, OrdersTaken, Searched};
use crate::run::clock_mode::ClockMode;
use crate::run::untried::Untried;
use crate::strategy::search::SearchBound;

/// Returns the shares as one search. `is_native` is true for plain threads, and `complete` if all shares are complete.
/// The audit is missing, because its parts are in different shares.
pub fn one_search(
    subject: &Subject,
    shares: &[&Ledger],
    is_native: bool,
    complete: bool,
) -> Searched {
    let has = |part: fn(&Ledger) -> bool| shares.iter().any(|ledger| part(ledger));
    let sum = |part: fn(&Ledger) -> u64| {
        shares.iter().map(|ledger| part(ledger)).fold(0, u64::saturating_add)
    };
    let leaves_out = has(Ledger::leaves_out_early_moves);
    // The user requested this bound, like the bound of `preemptions`.
    let early_moves = subject.early_moves_max().filter(|_| complete && leaves_out);
    let by_step = has(|ledger| ledger.progress().by_step);
    let (mut beyond, mut ignored, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    let untried: Set<&Untried> = shares.iter().flat_map(|ledger| ledger.untried()).collect();
    for part in untried {
        match part {
            Untried::Beyond(part) => beyond.push((*part).to_owned()),
            Untried::Unseen(part) => ignored.push((*part).to_owned()),
            Untried::Function(name) => unseen.push((*name).to_owned()),
            Untried::Orders | Untried::Time => {}
        }
    }
    if leaves_out && early_moves.is_none() {
        beyond.push(ClockMode::BEYOND.to_owned());
    }
    // A share that left out no runs counts as unbounded.
    let within = shares.iter().filter_map(|ledger| ledger.progress().within);
    let within = within.min_by_key(|within| within.through);
    let within = within.map(|SearchBound { what, through }| (what, through));
    // Without another bound, the bound on early time moves is the bound itself.
    let (bound, early_moves) = match (within, early_moves) {
        (None, Some(moves)) => (Some((ClockMode::EARLY_MOVE, Some(moves))), None),
        (within, moves) => (within, moves),
    };
    Searched {
        blocked: sum(|ledger| ledger.progress().blocked),
        repeated: sum(|ledger| ledger.progress().repeated),
        complete,
        part: complete.then_some(1.0),
        blind: has(|ledger| ledger.progress().blind),
        by_step,
        cause: shares.iter().find_map(|ledger| ledger.cause()).filter(|_| by_step),
        // A search with a bound has no classes.
        assumes: !is_native && !by_step && !has(Ledger::is_bounded),
        beyond,
        ignored,
        unseen,
        orders: orders_taken(shares, subject.is_weak()),
        bound: bound.map(|(what, through)| Bound { what: what.to_owned(), through }),
        early_moves,
        waits_for_time: has(Ledger::waits_for_time),
        share: None,
        estimate: None,
        excess: None,
        series: Vec::new(),
        audit: None,
        fallback: None,
    }
}

/// Returns the treatment of the memory orders, like the engine does at the end of a search.
fn orders_taken(shares: &[&Ledger], is_weak: bool) -> OrdersTaken {
    let has = |part: fn(&Ledger) -> bool| shares.iter().any(|ledger| part(ledger));
    match (is_weak, has(Ledger::strengthens_orders)) {
        (false, true) => OrdersTaken::AsSeqCst,
        (false, false) => OrdersTaken::AsAsked,
        (true, true) => OrdersTaken::InPart,
        (true, false) if has(Ledger::has_stores) => OrdersTaken::AsInC11,
        (true, false) => OrdersTaken::AsAsked,
    }
}
