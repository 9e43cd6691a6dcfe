//! Errors in the use of memory and data races, and primitives, which must have none. `cargo unpause test --races --test
//! memory` runs them with each access checked, and is the one that runs those of `races` and `stale`.

mod crates;
mod errors;
mod frames;
mod hints;
mod limits;
mod primitives;
mod races;
mod stale;
