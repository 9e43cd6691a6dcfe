//! A counter of two stripes, which two readers sum in opposite orders. Each reader sees only one addition, and the two
//! readers see different additions.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Counter, CounterOp, CounterRet};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "striped_counter",
    seeds: 200,
    buggy: |spawning| boxed(striped(spawning, false)),
    fixed: |spawning| boxed(striped(spawning, true)),
}];

/// Fixed: there is only one stripe.
async fn striped(spawning: Spawning, fixed: bool) {
    let history = History::new(Counter::new(0));
    let stripes = Arc::new([0i64, 0].map(Atomic::new));
    let adder = |stripe: usize, more: i64| {
        let (stripes, calls) = (stripes.clone(), history.clone());
        boxed(async move {
            let stripe = &stripes[if fixed { 0 } else { stripe }];
            let add = async {
                stripe.fetch_add(more, SeqCst).await;
                CounterRet::Done
            };
            calls.call(CounterOp::Add(more), add).await;
        })
    };
    let reader = |first: usize| {
        let (stripes, calls) = (stripes.clone(), history.clone());
        boxed(async move {
            let get = async {
                let mut sum = stripes[if fixed { 0 } else { first }].load(SeqCst).await;
                if !fixed {
                    sum += stripes[1 - first].load(SeqCst).await;
                }
                CounterRet::Value(sum)
            };
            calls.call(CounterOp::Get, get).await;
        })
    };
    together(spawning, vec![adder(0, 1), adder(1, 2), reader(0), reader(1)]).await;
    history.assert_linearizable();
}
