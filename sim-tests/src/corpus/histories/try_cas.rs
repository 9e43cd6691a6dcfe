//! A compare-and-set that fails because another compare-and-set is in progress.

use std::sync::Arc;

use sim::History;
use sim::check::models::{CasRegister, CasRegisterOp, CasRegisterRet};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "try_lock_cas",
    seeds: 100,
    buggy: |spawning| boxed(try_cas(spawning, false)),
    fixed: |spawning| boxed(try_cas(spawning, true)),
}];

#[derive(Default)]
struct Shared {
    busy: Atomic<bool>,
    value: Atomic<u64>,
}

impl Shared {
    async fn cas(&self, from: u64, to: u64) -> bool {
        if self.busy.compare_exchange(false, true, SeqCst, SeqCst).await.is_err() {
            return false;
        }
        let same = self.value.load(SeqCst).await == from;
        if same {
            self.value.store(to, SeqCst).await;
        }
        self.busy.store(false, SeqCst).await;
        same
    }
}

/// Fixed: a single compare-exchange.
async fn try_cas(spawning: Spawning, fixed: bool) {
    let history = History::new(CasRegister::new(0u64));
    let shared = Arc::new(Shared::default());
    let task = |from: u64, to: u64| {
        let (shared, calls) = (shared.clone(), history.clone());
        boxed(async move {
            let cas = async {
                CasRegisterRet::Swapped(match fixed {
                    true => shared.value.compare_exchange(from, to, SeqCst, SeqCst).await.is_ok(),
                    false => shared.cas(from, to).await,
                })
            };
            calls.call(CasRegisterOp::Cas(from, to), cas).await;
        })
    };
    together(spawning, vec![task(5, 6), task(0, 1)]).await;
    history.assert_linearizable();
}
