//! All tests of the checkers on histories that nothing recorded: made up, drawn, enumerated, or read from files.
//!
//! Needs the feature `sim` although it concerns none of it: the checkers are one crate without features, so the
//! build with real threads would run the same code once more. Checked recordings of runs are in `together`.

mod agreement;
mod chain;
mod chain_keys;
mod eventual;
mod forest;
mod linearizable;
mod models;
mod online;
mod online_lost;
mod recorded_histories;
mod sequential;
mod session;
mod transactions;
mod unique;
