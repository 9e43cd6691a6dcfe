//! A recorded history, from the file to the operation that fits nowhere.
//!
//! `cargo run -p unpause-histories --example recorded` checks two files of `examples/histories/`. In one file, a
//! replica answers a read before it has caught up; in the other, it waits. As a test, this is one line:
//! `unpause_histories::assert_consistent!("tests/histories/fresh.edn", "cas-register")`. In the shell, it is
//! `cargo unpause check FILE`.

#![forbid(unsafe_code)]

use std::path::Path;

fn main() -> Result<(), unpause_histories::FileProblem> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/histories");
    for file in ["stale.edn", "fresh.edn"] {
        let checked = unpause_histories::check(folder.join(file), "cas-register")?;
        // Only the file name is shown, so that the output is the same in every folder.
        println!("{}", checked.finding.text(file, &unpause_check::picture::Style::default()));
    }
    unpause_histories::check(folder.join("stale.edn"), "cas-register")?.assert_violated();
    unpause_histories::check(folder.join("fresh.edn"), "cas-register")?.assert_consistent();
    Ok(())
}
