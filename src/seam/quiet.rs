//! The dispatcher of `tracing` under which runs are not heard.

use std::sync::OnceLock;

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

/// A dispatcher that hears nothing, made once in the process.
///
/// It is in the list of `tracing`, so call sites that are first met under it still ask the other subscribers.
/// A new one for each run would let that list grow between runs, and with plain threads the list is put back.
pub(crate) fn silence() -> &'static Dispatch {
    static SILENCE: OnceLock<Dispatch> = OnceLock::new();
    SILENCE.get_or_init(|| Dispatch::new(NoSubscriber::new()))
}
