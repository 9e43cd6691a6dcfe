//! What the tests of this package share.

#![forbid(unsafe_code)]

pub mod fingerprint;
pub mod histories;
pub mod judge;
pub mod odd_models;
pub mod programs;
pub mod real_cost;
pub mod seeds;
pub mod shapes;
pub mod streams;
pub mod subsets;
