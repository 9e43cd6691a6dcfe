//! Published figures: the mean number of schedules to the first bug over 20 trials, from the artifact of *Selectively
//! Uniform Concurrency Testing* (ASPLOS 2025). The artifact runs the original programs at the granularity of a load or
//! store. The means cover successful trials only, so there is no figure if a trial failed.

/// The algorithms.
pub(super) const COLUMNS: [&str; 4] = ["RW", "PCT-3", "POS", "SURW"];

/// The figures by program; `None` if a trial did not find the bug, or if the paper lacks the program.
const FIGURES: &[(&str, [Option<f64>; 4])] = &[
    ("account", [Some(18.1), Some(4.3), Some(4.1), Some(5.8)]),
    ("bluetooth", [Some(215.0), Some(112.0), Some(36.0), Some(70.0)]),
    ("carter01", [Some(1.0), Some(5.0), Some(1.9), None]),
    ("circular_buffer", [Some(4.2), Some(9.1), Some(2.1), Some(2.8)]),
    ("deadlock01", [Some(3.2), Some(12.9), Some(3.5), Some(1.8)]),
    ("lazy01", [Some(20.6), Some(4.9), Some(4.7), Some(2.0)]),
    ("reorder_3", [None, Some(185.0), Some(86.0), Some(7.3)]),
    ("reorder_4", [None, Some(554.0), Some(533.0), Some(7.3)]),
    ("reorder_5", [None, Some(647.0), Some(2169.0), Some(10.4)]),
    ("reorder_10", [None, None, None, Some(17.2)]),
    ("reorder_20", [None, Some(3005.0), None, Some(6.0)]),
    ("reorder_50", [None, None, None, Some(13.0)]),
    ("stack", [Some(176.0), Some(3.2), Some(1.7), Some(4.6)]),
    ("token_ring", [Some(13.0), Some(8.2), Some(8.6), Some(8.2)]),
    ("twostage", [Some(464.0), Some(12.6), Some(15.1), Some(7.5)]),
    ("twostage_20", [None, Some(159.0), Some(156.0), Some(5.7)]),
    ("twostage_50", [None, Some(1676.0), Some(1637.0), Some(20.5)]),
    ("wronglock", [Some(35.9), Some(51.1), Some(10.2), Some(7.5)]),
    ("wronglock_3", [Some(35.9), Some(58.1), Some(10.8), Some(8.8)]),
    ("stringbuffer", [None, Some(281.0), Some(23.4), Some(8.5)]),
    ("double_checked_init", [Some(364.0), Some(94.7), Some(38.6), Some(14.7)]),
];

/// Returns the published figures of a program.
pub(super) fn of(name: &str) -> [Option<f64>; 4] {
    let row = FIGURES.iter().find(|(known, _)| *known == name);
    row.map_or([None; 4], |(_, figures)| *figures)
}
