//! A user's work in the shell around a test: variables, screens, traces, replays, exit codes.
//!
//! The tests of `shell/fixture.rs` are the tests of a user. The tests of the other files run them in child processes,
//! as a test harness does, and check the output. Without `UNPAUSE_FIXTURE` in the environment the user's tests do
//! nothing. The real build has no replays; `real_threads.rs` tests the remaining features.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]
// An await forgotten in the fixture would make an empty test.
#![deny(unused_must_use)]

#[path = "shell/fixture.rs"]
mod fixture;

#[path = "shell/child.rs"]
mod child;

#[path = "shell/variables.rs"]
mod variables;

#[path = "shell/defaults.rs"]
mod defaults;

#[path = "shell/failures.rs"]
mod failures;

#[path = "shell/replays.rs"]
mod replays;

#[path = "shell/kept.rs"]
mod kept;

#[path = "shell/forms.rs"]
mod forms;

#[path = "shell/ends.rs"]
mod ends;

#[path = "shell/proofs.rs"]
mod proofs;

#[path = "shell/shards.rs"]
mod shards;

#[path = "shell/searches.rs"]
mod searches;

#[path = "shell/stated.rs"]
mod stated;

#[path = "shell/certificates.rs"]
mod certificates;

#[path = "shell/file_paths.rs"]
mod file_paths;

#[path = "shell/recipes.rs"]
mod recipes;

#[path = "shell/sums.rs"]
mod sums;

#[path = "shell/search_sums.rs"]
mod search_sums;

#[path = "shell/programs.rs"]
mod programs;

#[path = "shell/reports.rs"]
mod reports;

#[path = "shell/commands.rs"]
mod commands;

#[path = "shell/served.rs"]
mod served;
