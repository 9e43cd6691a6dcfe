//! The dispatcher of `tracing` that silences a run.

use std::sync::OnceLock;

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

/// Returns a dispatcher that ignores everything. The dispatcher is created once in the process.
///
/// `tracing` lists this dispatcher. So call sites that are registered while it is active still ask the other
/// subscribers. A new dispatcher for each run would make the list grow between runs, and runs with plain threads
/// restore the list.
pub(crate) fn silence() -> &'static Dispatch {
    static SILENCE: OnceLock<Dispatch> = OnceLock::new();
    SILENCE.get_or_init(|| Dispatch::new(NoSubscriber::new()))
}
