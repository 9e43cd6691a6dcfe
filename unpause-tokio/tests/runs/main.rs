//! Tests of the simulating build: names in runs, bugs of an application, tests that stay on tokio.

#![forbid(unsafe_code)]

#[path = "../app/mod.rs"]
mod app;
mod bugs;
mod in_runs;
mod on_tokio;
mod panics;
