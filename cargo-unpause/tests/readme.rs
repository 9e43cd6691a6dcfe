//! The screens of `cargo unpause` in the README and in the pages are up to date.
//!
//! `UPDATE_EXPECT=1 cargo test -p cargo-unpause --test readme` rewrites the screens.

#![forbid(unsafe_code)]

use std::path::Path;

/// The beginning of a command whose screen follows.
const COMMAND: &str = "cargo run -p cargo-unpause -- ";

#[test]
fn pages_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // File names are relative to this folder, and no other test is in this process.
    std::env::set_current_dir(root).unwrap();
    let folder = std::fs::read_dir("docs").unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> =
        folder.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.push("README.md".into());
    let screens: usize = pages.iter().map(|page| screens(page)).sum();
    assert!(screens >= 1, "no screen in the pages");
}

/// Checks the screens of a page, and returns their number.
fn screens(page: &Path) -> usize {
    let text = std::fs::read_to_string(page).unwrap();
    let (mut written, mut rest, mut screens) = (String::new(), &*text, 0);
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
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(page, written).unwrap();
    } else if let Some((old, new)) = text.lines().zip(written.lines()).find(|(a, b)| a != b) {
        let page = page.display();
        panic!("{page} has\n{old}\nand printed is\n{new}\nUPDATE_EXPECT=1 writes it anew");
    }
    screens
}
