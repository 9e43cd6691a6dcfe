//! The names of the strategies, which the library has: a test compares them with its registries.

/// A strategy: its name, and the numbers that may follow it after a colon.
type Known = (&'static str, Option<(u32, u32)>);

/// The strategies that sample runs.
pub(crate) const STRATEGIES: [Known; 7] = [
    ("portfolio", None),
    ("random", None),
    ("pct", Some((1, 8))),
    ("pos", None),
    ("urw", None),
    ("surw", None),
    ("orders", None),
];

/// The strategies that can prove that no run fails.
pub(crate) const SEARCHES: [Known; 3] =
    [("exhaustive", None), ("preemptions", Some((0, 8))), ("delays", Some((0, 8)))];
