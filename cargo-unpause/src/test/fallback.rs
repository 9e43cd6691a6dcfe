//! The library for instrumented programs that do not contain the runtime, such as the unit tests of a crate without
//! unpause among its dependencies: each call of instrumented code does its operation at once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::output;
use crate::usage::Usage;

/// The source of the library.
const SOURCE: &str = include_str!("fallback/atomics.rs.txt");

/// Compiles the library with `rustc`. Returns its file in `folder`.
pub(super) fn build(rustc: &OsString, folder: &Path) -> Result<PathBuf, Usage> {
    let name = format!("fallback-{}", env!("CARGO_PKG_VERSION"));
    let (source, library) =
        (folder.join(format!("{name}.rs")), folder.join(format!("{name}.rlib")));
    let fail = |error: std::io::Error| {
        Usage(format!("the folder {} cannot be written: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(fail)?;
    // Compiled for each build: a library of another compiler would be a riddle, and it takes a tenth of a second.
    std::fs::write(&source, SOURCE).map_err(fail)?;
    let mut command = Command::new(rustc);
    command.args([
        "--edition=2021",
        "--crate-name=unpause_fallback",
        "--crate-type=rlib",
        "-Copt-level=2",
    ]);
    command.args(["-Cpanic=abort", "-Ccodegen-units=1", "-o"]).arg(&library).arg(&source);
    output(&mut command)?;
    Ok(library)
}
