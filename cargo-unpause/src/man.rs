//! `cargo unpause man`: writes the help as `man` pages.

use std::fs;
use std::path::PathBuf;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use lexopt::prelude::*;

use crate::manual::{PROGRAM, Page, help_of, program};
use crate::{COMMANDS, Exit, Subcommand, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let mut folder = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Value(name) if folder.is_none() => folder = Some(PathBuf::from(name)),
            other => {
                return Err(Usage::unknown_option(&other, &["--help"], "cargo unpause man --help"));
            }
        }
    }
    let Some(folder) = folder else {
        return Err(Usage(
            "into which folder? `cargo unpause man ~/.local/share/man/man1`".to_owned(),
        ));
    };
    let of_all = (PROGRAM.to_owned(), of_program());
    let of_commands =
        COMMANDS.iter().map(|command| (format!("{PROGRAM}-{}", command.name), of_command(command)));
    for (name, page) in std::iter::once(of_all).chain(of_commands) {
        let file = folder.join(format!("{name}.1"));
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, page));
        written.map_err(|error| Usage(format!("{} cannot be written: {error}", file.display())))?;
        terminal.print(&format!("{}\n", file.display()));
    }
    Ok(Exit::Good)
}

/// Returns the page about all commands.
fn of_program() -> Vec<u8> {
    let mut page = Vec::new();
    Man::new(program()).render(&mut page).expect("memory takes what is written");
    page
}

/// Returns the page of a command: its help, with the options in the layout of `man`.
fn of_command(command: &Subcommand) -> Vec<u8> {
    let page = Page::of(&help_of(command));
    let name = format!("{PROGRAM}-{}", command.name);
    let mut roff = Roff::new();
    let version = format!("unpause {}", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [name.as_str(), "1", "", version.as_str(), ""]);
    roff.control("SH", ["NAME"]).text([roman(format!("{name} - {}", command.summary))]);
    roff.control("SH", ["SYNOPSIS"]).control("nf", []);
    page.usage.iter().for_each(|line| _ = roff.text([bold(line.as_str())]));
    roff.control("fi", []).control("SH", ["DESCRIPTION"]);
    roff.text([roman(page.summary.replace('\n', " "))]);
    // Lists and examples have their own columns, so their layout is kept.
    roff.control("nf", []);
    page.rest.lines().for_each(|line| _ = roff.text([roman(line)]));
    roff.control("fi", []);
    roff.to_roff().into_bytes()
}

const HELP: &str = "\
Writes the help as pages of man: one for cargo-unpause, and one for each command.

usage: cargo unpause man FOLDER

example:
  cargo unpause man ~/.local/share/man/man1
  man cargo-unpause-show                        # or: cargo help unpause

exit codes: 0 they were written, 2 the folder cannot be written.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_each_command() {
        let folder = std::env::temp_dir().join(format!("unpause-man-{}", std::process::id()));
        let name = folder.display().to_string();
        let asked = run(lexopt::Parser::from_args([&name]), &mut Terminal::silent());
        assert!(matches!(asked, Ok(Exit::Good)), "{asked:?}");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert!(read("cargo-unpause.1").contains("completions"));
        for command in COMMANDS {
            let page = read(&format!("cargo-unpause-{}.1", command.name));
            assert!(page.contains(".SH SYNOPSIS") && page.contains("cargo unpause"), "{page}");
        }
        fs::remove_dir_all(&folder).unwrap();
        // A file is not a folder, so writing the pages into it fails.
        fs::write(&folder, "").unwrap();
        let asked = run(lexopt::Parser::from_args([&name]), &mut Terminal::silent());
        assert!(asked.unwrap_err().to_string().contains("cannot be written"));
        fs::remove_file(&folder).unwrap();
    }
}
