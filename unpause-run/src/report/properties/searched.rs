//! The search in a random report.

use super::super::*;

/// Returns a search with these numbers. The search has a text in each field that can contain one.
pub(super) fn searched(test: &str, runs: u64, real: bool, preemptions: u32) -> Searched {
    let text = || test.to_owned();
    let step = StepText { task: text(), operations: text(), place: text() };
    let clash = Clash { steps: [step.clone(), step], shows: text(), is_death: !real };
    let fits = FittingBound { preemptions, runs };
    let searched = Searched {
        blocked: runs,
        complete: real,
        part: real.then_some(runs as f64),
        blind: !real,
        by_step: real,
        assumes: !real,
        cause: real.then(|| Cause::Clash(Box::new(clash.clone()))),
        beyond: vec![text()],
        ignored: vec![text()],
        unseen: vec![text()],
        orders: if real { OrdersTaken::AsSeqCst } else { OrdersTaken::InPart },
        repeated: runs,
        audit: Some(Audit {
            runs,
            missed: real.then(text),
            failed: real,
            unseen: real,
            clash: Some(clash),
            captured: real,
        }),
        bound: Some(Bound { what: text(), through: (!real).then_some(3) }),
        early_moves: real.then_some(2),
        waits_for_time: real,
        share: Some(Share { number: runs, of: 3 }).filter(|_| real),
        estimate: Some(RunsEstimate { runs, low: 0, high: runs }).filter(|_| !real),
        excess: Some(Excess { limit: runs, fits: Some(fits).filter(|_| real) }),
        series: vec![point(runs, real); 3],
        fallback: None,
    };
    let fallback = Some(Box::new(Fallback { runs: runs / 2, searched: searched.clone() }));
    Searched { bound: None, fallback, ..searched }
}

fn point(runs: u64, is_known: bool) -> ProgressPoint {
    let (total, interval) = (Some(runs), Some((runs / 2, u64::MAX)).filter(|_| is_known));
    let part = is_known.then_some(0.25);
    ProgressPoint { runs, part, total, interval, milliseconds: runs }
}
