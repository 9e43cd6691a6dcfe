//! `cargo unpause completions`: prints a script with which a shell completes commands, options and
//! values.

use clap_complete::Shell;
use lexopt::prelude::*;

use crate::manual::{PROGRAM, program};
use crate::{Exit, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let mut shell = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Value(name) if shell.is_none() => {
                let name = name.to_string_lossy().into_owned();
                let known: Result<Shell, _> = name.parse();
                shell = Some(known.map_err(|_| {
                    let names = "bash, elvish, fish, powershell, zsh";
                    Usage(format!("there are no completions for {name:?} (there are: {names})"))
                })?);
            }
            other => {
                let help = "cargo unpause completions --help";
                return Err(Usage::unknown_option(&other, &["--help"], help));
            }
        }
    }
    let Some(shell) = shell else {
        return Err(Usage("for which shell? `cargo unpause completions bash`".to_owned()));
    };
    let mut script = Vec::new();
    // The bash script confuses the hyphen in a name with the hyphen before a command.
    let name = if shell == Shell::Bash { "unpause" } else { PROGRAM };
    clap_complete::generate(shell, &mut program(), name, &mut script);
    terminal.print(&String::from_utf8_lossy(&script));
    if shell == Shell::Bash {
        terminal.print(OF_CARGO);
    }
    Ok(Exit::Good)
}

/// Completes `cargo unpause …` in bash like `cargo-unpause …`, and everything else of cargo as
/// before.
const OF_CARGO: &str = r#"
_cargo_before_unpause=$(complete -p cargo 2>/dev/null | sed -n 's/.*-F \([^ ]*\).*/\1/p')
_cargo_and_unpause() {
    if [[ ${COMP_WORDS[1]} == unpause && $COMP_CWORD -gt 1 ]]; then
        COMP_WORDS=(cargo-unpause "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _unpause cargo-unpause "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    elif [[ -n $_cargo_before_unpause ]]; then
        "$_cargo_before_unpause" "$@"
    fi
}
complete -F _unpause -o bashdefault -o default cargo-unpause
complete -F _cargo_and_unpause -o bashdefault -o default cargo
"#;

const HELP: &str = "\
Writes a script with which a shell completes commands, options and values of cargo unpause.

usage: cargo unpause completions SHELL

shells:
  bash        also completes the words behind `cargo unpause`, as those behind `cargo-unpause`
  elvish
  fish
  powershell
  zsh

examples:
  source <(cargo unpause completions bash)      # in ~/.bashrc
  cargo unpause completions zsh > ~/.zfunc/_cargo-unpause
  cargo unpause completions fish > ~/.config/fish/completions/cargo-unpause.fish

exit codes: 0 the script was written, 2 there is none for this shell.
";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the words that bash offers as completions of the last word.
    fn completed(words: &str) -> String {
        let mut terminal = Terminal::silent();
        let asked = run(lexopt::Parser::from_args(["bash"]), &mut terminal);
        assert!(matches!(asked, Ok(Exit::Good)), "{asked:?}");
        let script = format!(
            "_before() {{ COMPREPLY=(as before); }}\ncomplete -F _before cargo\n{}\n\
             COMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             of=$(complete -p \"${{COMP_WORDS[0]}}\" | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p')\n\
             $of \"${{COMP_WORDS[0]}}\" \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             echo \"${{COMPREPLY[*]}}\"",
            terminal.output()
        );
        let ended = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    }

    #[test]
    #[cfg(unix)]
    fn bash_completes_commands_options_and_values() {
        for (words, expected) in [
            ("cargo-unpause sh", "show"),
            ("cargo unpause me", "merge"),
            ("cargo unpause diff --", "--json"),
            ("cargo unpause check --model pri", "priority-queue"),
            ("cargo unpause check --keys ''", "auto yes no"),
            ("cargo unpause completions f", "fish"),
            ("cargo build", "as before"),
        ] {
            assert_eq!(completed(words), expected, "{words}");
        }
    }

    #[test]
    fn each_shell_has_a_script_and_others_are_refused() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let mut terminal = Terminal::silent();
            let asked = run(lexopt::Parser::from_args([shell]), &mut terminal);
            assert!(matches!(asked, Ok(Exit::Good)), "{shell}: {asked:?}");
            assert!(terminal.output().contains("verify"), "{shell}");
        }
        for (words, expected) in
            [(&["tcsh"][..], "there are: bash"), (&[], "which shell?"), (&["--all"], "no option")]
        {
            let asked = run(lexopt::Parser::from_args(words), &mut Terminal::silent());
            let error = asked.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
