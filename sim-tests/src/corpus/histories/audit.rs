//! An audit that reads the accounts one after the other, without the lock that the transfers hold.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Bank, BankOp, BankRet};

use super::{Program, Spawning, together};
use crate::tools::{Cell, Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "bank_audit",
    seeds: 150,
    buggy: |spawning| boxed(audit(spawning, false)),
    fixed: |spawning| boxed(audit(spawning, true)),
}];

struct Shared {
    lock: Mutex<()>,
    a: Cell<i64>,
    b: Cell<i64>,
    history: History<Bank>,
}

async fn audit(spawning: Spawning, fixed: bool) {
    let history = History::new(Bank::from_iter([(0, 10), (1, 0)]));
    let (lock, a, b) = (Mutex::new(()), Cell::new(10), Cell::new(0));
    let shared = Arc::new(Shared { lock, a, b, history: history.clone() });
    let other = shared.clone();
    let tasks = vec![
        boxed(async move {
            let Shared { lock, a, b, history } = &*other;
            let transfer = async {
                let _lock = lock.lock().await;
                a.set(a.get().await - 4).await;
                b.set(b.get().await + 4).await;
                BankRet::Done
            };
            history.call(BankOp::Transfer { from: 0, to: 1, amount: 4 }, transfer).await;
        }),
        boxed(async move {
            let Shared { lock, a, b, history } = &*shared;
            let read = async {
                let _lock = if fixed { Some(lock.lock().await) } else { None };
                let b = b.get().await;
                BankRet::Balances([(0, a.get().await), (1, b)].into())
            };
            history.call(BankOp::Read, read).await;
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
