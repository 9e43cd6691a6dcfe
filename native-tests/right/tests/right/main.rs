//! Small programs over correct crates, in which `cargo unpause test --races` must report nothing: 60 seeds each.

mod channels;
mod locks;
mod maps;
mod once;
mod queues;
mod wakes;
