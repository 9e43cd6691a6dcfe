//! Messages per second, compared with other cluster simulators. The program is in `sim-bench/net`, a separate
//! workspace, because one of the peers must be compiled with a special flag.

use std::path::Path;
use std::process::Command;

/// The usage text.
pub(crate) const USAGE: &str = "\
       sim-bench net [quick | long] [tcp udp typed gossip-10 gossip-100 ...]

  messages per second of nodes that talk to each other, beside turmoil and madsim
";

/// Builds the program and runs it with these arguments. Returns `false` if it failed.
pub(crate) fn table(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut command = Command::new("cargo");
    // The flag is in the folder's configuration.
    command.args(["run", "--quiet", "--release", "--"]).args(words);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("net"));
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    Ok(status.success())
}
