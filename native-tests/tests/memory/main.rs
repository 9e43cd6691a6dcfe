//! Tests of memory errors and data races, and of primitives without either. `cargo unpause test --races --test memory`
//! runs them and checks each access. Only this command runs the tests of `races` and `stale`.

mod crates;
mod errors;
mod frames;
mod hints;
mod limits;
mod primitives;
mod races;
mod searched;
mod stale;
