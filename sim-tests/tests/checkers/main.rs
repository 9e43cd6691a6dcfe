//! All tests of the checkers on given histories: written, drawn, enumerated, or read from files.
//!
//! Needs the feature `sim`, although no test here uses it. The checkers are one crate without features, so the
//! build with real threads would run the same code again. Checked recordings of runs are in `together`.

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
