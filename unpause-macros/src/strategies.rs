//! The names of the library's strategies. A test compares them with the library's registries.

/// A strategy: its name, and the range of numbers that may follow the name after a colon.
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
