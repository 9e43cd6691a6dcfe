//! The tests that need no process of their own, as one program: each program is compiled and linked with the engine.
//!
//! `tests/memory` has the tests that `cargo unpause test --races` runs, too. The other programs are alone because they
//! look at the resources of their process (`containment`), end or copy it (`isolation`), start themselves (`profiles`,
//! `same_seed`) or need a feature (`tokio`).

mod beyond;
mod bridge;
mod chances;
mod closures;
mod corpus;
mod dispatchers;
mod entered;
mod files;
mod fold;
mod helpers;
mod histories;
mod left_open;
mod locks;
mod many;
mod network;
mod network_search;
mod network_unix;
mod orders;
mod points;
mod programs;
mod random;
mod repeated_calls;
mod screens;
mod searches;
mod settings;
mod several_moments;
mod shares;
mod shrinking;
mod std_search;
mod table;
mod why;
mod why_locks;
mod why_table;
mod widths;
