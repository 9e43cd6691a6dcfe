//! The screens of `cargo unpause` in the README are up to date.
//!
//! `UPDATE_EXPECT=1 cargo test -p cargo-unpause --test readme` rewrites them.

#![forbid(unsafe_code)]

use std::path::Path;

/// The beginning of a command in the README.
const COMMAND: &str = "cargo run -p cargo-unpause -- ";

#[test]
fn the_readme_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // The files are named from there, and no other test is in this process.
    std::env::set_current_dir(root).unwrap();
    let readme = std::fs::read_to_string("README.md").unwrap();
    let (mut written, mut rest, mut screens) = (String::new(), &*readme, 0);
    while let Some(at) = rest.find(COMMAND) {
        let (before, after) = rest.split_at(at + COMMAND.len());
        let (command, screen) = after.split_once("```text\n").expect("a screen after the command");
        let (line, between) = command.split_once('\n').unwrap();
        assert_eq!(between.trim(), "```", "a screen that belongs to another command");
        let (_, after) = screen.split_once("```").unwrap();
        let mut terminal = cargo_unpause::Terminal::silent();
        let (arguments, exit) = line.split_once('#').unwrap_or((line, "exit code 1"));
        let arguments = arguments.split_whitespace().map(Into::into).collect();
        let code = cargo_unpause::run(arguments, &mut terminal);
        assert!(exit.contains(&format!("exit code {code}")), "{line}: {code}");
        written += &format!("{before}{command}```text\n{}```", terminal.output());
        (rest, screens) = (after, screens + 1);
    }
    written += rest;
    assert!(screens >= 1, "no screen in the README");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write("README.md", written).unwrap();
    } else if let Some((old, new)) = readme.lines().zip(written.lines()).find(|(a, b)| a != b) {
        panic!("README.md has\n{old}\nand printed is\n{new}\nUPDATE_EXPECT=1 writes it anew");
    }
}
