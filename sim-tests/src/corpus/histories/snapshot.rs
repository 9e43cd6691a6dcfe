//! A snapshot that reads cell by cell. It may contain the second update without the first.

use std::sync::Arc;

use sim::History;
use sim::check::models::{
    AccessRet, MultiRegister, MultiRegisterOp, MultiRegisterRet, RegisterAccess,
};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "snapshot",
    seeds: 200,
    buggy: |spawning| boxed(snapshot(spawning, false)),
    fixed: |spawning| boxed(snapshot(spawning, true)),
}];

/// Fixed: the cells are read until two reads are equal. This is correct because the cells only grow.
async fn snapshot(spawning: Spawning, fixed: bool) {
    let history = History::new(MultiRegister::from_iter([(0u64, 0u64), (1, 0)]));
    let cells = Arc::new([0u64, 0].map(Atomic::new));
    let (other, calls, reads) = (cells.clone(), history.clone(), history.clone());
    let tasks = vec![
        boxed(async move {
            for (key, cell) in (0..).zip(&*other) {
                let update = async {
                    cell.store(1, SeqCst).await;
                    MultiRegisterRet(vec![AccessRet::Done])
                };
                calls.call(MultiRegisterOp(vec![RegisterAccess::Write(key, 1)]), update).await;
            }
        }),
        boxed(async move {
            let scan = async {
                let mut last = None;
                loop {
                    let seen = [cells[0].load(SeqCst).await, cells[1].load(SeqCst).await];
                    if !fixed || last == Some(seen) {
                        let told = seen.map(|value| AccessRet::Value(Some(value)));
                        return MultiRegisterRet(told.to_vec());
                    }
                    last = Some(seen);
                }
            };
            let both = vec![RegisterAccess::Read(0), RegisterAccess::Read(1)];
            reads.call(MultiRegisterOp(both), scan).await;
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
