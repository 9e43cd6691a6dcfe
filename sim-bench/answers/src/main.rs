//! Gives a bug and the answer of the verb `test` to a developer, and checks that the answer alone contains the lines of
//! the fix.
//!
//! ```sh
//! cargo build --release -p cargo-unpause          # in the root of the checkout
//! cargo run -- ../../target/release/cargo-unpause  # here; then see target/bugs
//! ```
//!
//! Each program of the bug corpus becomes a crate of its own in `target/bugs`: without its fixed twin, without
//! comments, without its name. `answer.json` beside its manifest is the reply of the server.

#![forbid(unsafe_code)]

mod client;
mod crates;
mod fixes;
mod fold;

use std::path::Path;
use std::process::ExitCode;

use crates::Bug;

fn main() -> ExitCode {
    let Some(command) = std::env::args_os().nth(1) else {
        eprintln!("error: give the path of cargo-unpause");
        return ExitCode::from(2);
    };
    match answers(Path::new(&command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the crates, requests an answer for each, and prints the table.
fn answers(command: &Path) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/bugs");
    let bugs = crates::write(&root.join("../.."), &folder)?;
    fixes::check(&bugs)?;
    let command = std::path::absolute(command).map_err(|error| error.to_string())?;
    let mut server = client::Server::start(&command, &folder)?;
    println!("| bug | program | lines of the fix | in cause and remedy | in the answer | bytes |");
    println!("|---|---|---|---|---|--:|");
    let (mut found, mut explained) = (0, 0);
    for bug in &bugs {
        let answer = server.test(&bug.package)?;
        std::fs::write(folder.join(&bug.package).join("answer.json"), format!("{answer:#}\n"))
            .map_err(|error| error.to_string())?;
        let lines = fixes::lines(bug)?;
        let failed = &answer["failed"][0];
        if failed.is_null() {
            return Err(format!("{}: the bug was not found: {answer:#}", bug.package));
        }
        let why = [&failed["cause"], &failed["remedy"]].map(|part| part.to_string()).concat();
        let in_why = count(&lines, &why);
        let in_answer = count(&lines, &answer.to_string());
        found += usize::from(in_answer == lines.len());
        explained += usize::from(in_why == lines.len());
        let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
        println!(
            "| {} | {} | {} | {in_why} of {} | {in_answer} of {} | {} |",
            bug.package,
            bug.program,
            numbers.join(", "),
            lines.len(),
            lines.len(),
            answer.to_string().len(),
        );
    }
    println!();
    println!(
        "{found} of {} answers have all lines of the fix; for {explained}, cause and remedy have them.",
        bugs.len()
    );
    Ok(())
}

/// Counts the lines that a text names, as `program.rs:12`.
fn count(lines: &[usize], text: &str) -> usize {
    let is_named = |line: &&usize| {
        let place = format!("{}:{line}", Bug::FILE);
        let mut rest = text;
        while let Some(at) = rest.find(&place) {
            rest = &rest[at + place.len()..];
            if !rest.starts_with(|next: char| next.is_ascii_digit()) {
                return true;
            }
        }
        false
    };
    lines.iter().filter(is_named).count()
}
