//! The values of fields that have only certain values. The schema lists them. Readers accept other values, because
//! later versions may add values.

/// The formats of a report.
pub(super) const FORMATS: &[&str] = &["unpause failure", "unpause pass"];

/// The sources of the decisions of a run.
pub(super) const ORIGINS: &[&str] = &["seed", "reordered", "sampled", "file", "inline"];

/// The kinds of runs that tested a remedy.
pub(super) const REMEDIES: &[&str] = &["all", "within", "counted"];

/// The verdicts of checkers.
pub(super) const VERDICTS: &[&str] = &["consistent", "violated", "unknown"];

/// The limits that end a check without a verdict.
pub(super) const LIMITS: &[&str] = &["nodes", "memory", "stop"];

/// The interpretations of the bits of an object.
pub(super) const INTERPRETATIONS: &[&str] =
    &["opaque", "unsigned", "signed", "bool", "pointer", "time", "word"];

/// The kinds of values of an event.
pub(super) const VALUES: &[&str] =
    &["read", "wrote", "changed", "refused", "failed", "task", "messages"];

/// The fates of a generated command.
pub(super) const FATES: &[&str] = &["runs", "absent", "tombstone"];

/// The treatments of memory orders by a search.
pub(super) const ORDERS: &[&str] = &["as asked", "as SeqCst", "as in C11", "in part"];

/// The formats of the answers of commands, each of one command.
pub(super) const OF_LS: &[&str] = &["unpause ls"];
pub(super) const OF_KEEP: &[&str] = &["unpause keep"];
pub(super) const OF_DROP: &[&str] = &["unpause drop"];
pub(super) const OF_REPLAY: &[&str] = &["unpause replay"];
pub(super) const OF_INIT: &[&str] = &["unpause init"];
