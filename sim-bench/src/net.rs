//! Messages per second beside other simulators of clusters: the program in `sim-bench/net`, which is a workspace of its
//! own, because one of the peers must be compiled with a flag of its own.

use std::path::Path;
use std::process::Command;

/// The grammar.
pub(crate) const USAGE: &str = "\
       sim-bench net [quick | long] [tcp udp typed gossip-10 gossip-100 ...]

  messages per second of nodes that talk to each other, beside turmoil and madsim
";

/// Builds the program and runs it with these words. Returns `false` if it failed.
pub(crate) fn table(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut command = Command::new("cargo");
    // The flag is in the folder's configuration.
    command.args(["run", "--quiet", "--release", "--"]).args(words);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("net"));
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    Ok(status.success())
}
