//! All tests that need no separate process, in one program, so that the library is linked once.
//!
//! Tests of process-wide state (a spawner, an allocator, the panic hook, the environment, the end
//! of the process) are beside this folder, a program each.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]

mod acts;
mod acts_named;
mod bounded;
mod branches;
mod buggify;
mod closure;
mod corpus;
mod coverage;
mod coverage_interval;
mod detection;
mod determinism;
mod divided;
mod early_deadlines;
mod exhaustive;
mod false_proofs;
mod faults;
mod generated;
mod generated_arguments;
mod generated_checks;
mod generated_limits;
mod generated_minimal;
mod generated_panics;
mod generated_power;
mod generated_safety;
mod generated_search;
mod histories;
mod join_set;
mod litmus;
mod moments;
mod nested;
mod of_std;
mod old_stores;
mod orders;
mod parallel;
mod properties;
mod prove;
mod proved_orders;
mod race_cells;
mod remedies;
mod runners;
mod screens;
mod shrunk;
mod spin_until;
mod statistics;
mod strategies;
mod textbook_orders;
mod time;
mod time_any;
mod weak_bounds;
mod weak_histories;
mod weak_orders;
mod weak_proofs;
mod why;
mod written;
