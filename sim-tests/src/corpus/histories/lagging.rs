//! A register with a copy that lags behind: a client reads the new value, then the old value.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Register, RegisterOp, RegisterRet};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "lagging_copy",
    seeds: 200,
    buggy: |spawning| boxed(lagging(spawning, false)),
    fixed: |spawning| boxed(lagging(spawning, true)),
}];

/// Fixed: clients do not read the copy.
async fn lagging(spawning: Spawning, fixed: bool) {
    let history = History::new(Register::new(0u64));
    let copies = Arc::new([0u64, 0].map(Atomic::new));
    let (other, calls, reads) = (copies.clone(), history.clone(), history.clone());
    let tasks = vec![
        boxed(async move {
            let write = async {
                for copy in &*other {
                    copy.store(1, SeqCst).await;
                }
                RegisterRet::Done
            };
            calls.call(RegisterOp::Write(1), write).await;
        }),
        boxed(async move {
            for copy in [0, usize::from(!fixed)] {
                let read = async { RegisterRet::Value(copies[copy].load(SeqCst).await) };
                reads.call(RegisterOp::Read, read).await;
            }
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
