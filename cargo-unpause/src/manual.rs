//! The help pages as data: the source of shell completions and `man` pages.
//!
//! A page is parsed from the help text of a command, so help, completions and `man` pages share one text. The layout of
//! the help text: a summary line, the usage, options with two spaces before their text, and lists below a line that
//! ends with a colon.

use clap::builder::{PossibleValuesParser, ValueHint};
use clap::{Arg, ArgAction, Command};

use crate::{COMMANDS, Subcommand, Terminal};

/// The name of the program.
pub(crate) const PROGRAM: &str = "cargo-unpause";

/// The parsed help of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The lines before the usage lines.
    pub(crate) summary: String,
    /// The usage lines, without `usage:`.
    pub(crate) usage: Vec<String>,
    pub(crate) options: Vec<Choice>,
    /// The remaining text, unchanged.
    pub(crate) rest: String,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) long: Option<String>,
    pub(crate) short: Option<char>,
    /// The placeholder of the option's value, or the possible values separated by bars.
    pub(crate) value: Option<String>,
    pub(crate) text: String,
}

/// Returns the help of a command.
pub(crate) fn help_of(command: &Subcommand) -> String {
    let mut terminal = Terminal::silent();
    let asked = (command.run)(lexopt::Parser::from_args(["--help"]), &mut terminal);
    debug_assert!(asked.is_ok(), "{}: {asked:?}", command.name);
    terminal.output().to_owned()
}

impl Page {
    pub(crate) fn of(help: &str) -> Page {
        let (summary, below) = help.split_once("\nusage:").unwrap_or((help, ""));
        let mut lines = below.lines();
        let usage: Vec<String> = lines
            .by_ref()
            .take_while(|line| !line.trim().is_empty())
            .map(|line| line.trim().to_owned())
            .collect();
        let rest: Vec<&str> = lines.collect();
        let mut options: Vec<Choice> = Vec::new();
        // The text column of the last option, while its text continues on further lines.
        let mut column = None;
        for line in &rest {
            let indent = line.len() - line.trim_start().len();
            if let Some(choice) = Choice::of(line) {
                column = Some(indent);
                options.push(choice);
            } else if column.is_some_and(|column| indent > column + 2) {
                let last = options.last_mut().expect("a line that goes on follows another");
                last.text = format!("{} {}", last.text, line.trim());
            } else {
                column = None;
            }
        }
        for line in &usage {
            for choice in Choice::in_usage(line) {
                if !options.iter().any(|known| known.is(&choice)) {
                    options.push(choice);
                }
            }
        }
        Page { summary: summary.trim().to_owned(), usage, options, rest: rest.join("\n") }
    }

    /// Returns the first word of each line in a list.
    pub(crate) fn list(&self, title: &str) -> Vec<String> {
        let lines = self.rest.lines().skip_while(|line| *line != format!("{title}:")).skip(1);
        let items = lines.take_while(|line| line.starts_with("  "));
        items.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    }

    /// Returns the placeholders in the usage that are not option values: `FILE`, `SHELL`.
    fn places(&self) -> Vec<&str> {
        let words = self.usage.iter().flat_map(|line| line.split(['[', ']', ' ', '|', '@']));
        let (mut places, mut before) = (Vec::new(), "");
        for word in words {
            let of_option = before.starts_with('-');
            if !of_option && word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase()) {
                places.push(word);
            }
            before = word;
        }
        places
    }
}

impl Choice {
    fn is(&self, other: &Choice) -> bool {
        self.long.is_some() && self.long == other.long
            || self.short.is_some() && self.short == other.short
    }

    /// Parses the names of an option, such as `-m, --model MODEL`.
    fn named(names: &str) -> Option<Choice> {
        let (mut long, mut short, mut value) = (None, None, None);
        for word in names.split([' ', ',']).filter(|word| !word.is_empty()) {
            if let Some(name) = word.strip_prefix("--") {
                long = Some(name.to_owned());
            } else if let Some(letter) = word.strip_prefix('-') {
                short = letter.chars().next();
            } else {
                value = Some(word.to_owned());
            }
        }
        (long.is_some() || short.is_some()).then(|| Choice {
            long,
            short,
            value,
            text: String::new(),
        })
    }

    /// Parses an option from a list line.
    fn of(line: &str) -> Option<Choice> {
        let line = line.strip_prefix("  ")?.trim();
        if !line.starts_with('-') {
            return None;
        }
        let (names, text) = line.split_once("  ").unwrap_or((line, ""));
        // After a long name, one space is enough: `--nil nothing|anything what a completed read saw`.
        let words: Vec<&str> = names.split(' ').collect();
        let named = words.iter().take_while(|word| word.starts_with('-')).count();
        let is_value = |word: &&str| word.contains('|') || word.chars().all(|c| c.is_uppercase());
        let names = named + usize::from(words.get(named).is_some_and(is_value));
        let more = words[names..].join(" ");
        let text = format!("{more} {}", text.trim());
        Some(Choice { text: text.trim().to_owned(), ..Choice::named(&words[..names].join(" "))? })
    }

    /// Returns the options in a usage line.
    fn in_usage(line: &str) -> Vec<Choice> {
        let groups = line.split(['[', ']', '|']);
        let mut choices = Vec::new();
        for group in groups {
            let words: Vec<&str> = group.split_whitespace().collect();
            for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
                let is_value = |next: &&&str| next.chars().all(|c| c.is_uppercase());
                let value = words.get(at + 1).filter(is_value);
                let names = format!("{word} {}", value.copied().unwrap_or_default());
                choices.extend(
                    Choice::named(&names).filter(|choice| choice.long.as_deref() != Some("")),
                );
            }
        }
        choices
    }

    fn argument(&self, page: &Page) -> Arg {
        let name = self.long.clone().or(self.short.map(String::from)).unwrap_or_default();
        let mut argument = Arg::new(name).help(self.text.clone());
        if let Some(long) = &self.long {
            argument = argument.long(long.clone());
        }
        if let Some(short) = self.short {
            argument = argument.short(short);
        }
        let Some(value) = &self.value else { return argument.action(ArgAction::SetTrue) };
        let known = match value.contains('|') {
            true => value.split('|').map(str::to_owned).collect(),
            false => page.list(&format!("{}s", value.to_lowercase())),
        };
        let argument = argument.value_name(value.clone()).action(ArgAction::Set);
        match known.is_empty() {
            true => argument,
            false => argument.value_parser(PossibleValuesParser::new(known)),
        }
    }
}

/// Returns the description of all commands, for shells and `man`.
pub(crate) fn program() -> Command {
    let commands = COMMANDS.iter().map(described);
    Command::new(PROGRAM)
        .about("The command line of unpause")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(commands)
}

/// Returns the description of one command.
fn described(command: &Subcommand) -> Command {
    let page = Page::of(&help_of(command));
    let is_help = |choice: &&Choice| choice.long.as_deref() == Some("help");
    let options = page.options.iter().filter(|choice| !is_help(choice));
    let mut described = Command::new(command.name)
        .about(command.summary)
        .args(options.map(|choice| choice.argument(&page)));
    let places = page.places();
    let lists = places.iter().map(|place| page.list(&format!("{}s", place.to_lowercase())));
    if let Some(known) = lists.into_iter().find(|known| !known.is_empty()) {
        described = described.arg(Arg::new("WORD").value_parser(PossibleValuesParser::new(known)));
    } else if places.iter().any(|place| ["FILE", "FOLDER"].contains(place)) {
        let files = Arg::new("FILE").num_args(0..).value_hint(ValueHint::AnyPath);
        described = described.arg(files);
    }
    described
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart() {
        let page = Page::of(
            "Does it.\nTwice.\n\nusage: cargo unpause do FILE [--last] [-p PACKAGE]\n       cargo unpause do -\n\n\
             options:\n  -m, --model MODEL  the model,\n                     if any\n      --keys auto|yes how\n  -h, --help\n\n\
             models:\n  queue   first in\n  stack   last in\n",
        );
        assert_eq!(page.summary, "Does it.\nTwice.");
        assert_eq!(
            page.usage,
            ["cargo unpause do FILE [--last] [-p PACKAGE]", "cargo unpause do -"]
        );
        let names: Vec<_> =
            page.options.iter().map(|choice| (choice.long.as_deref(), choice.short)).collect();
        assert_eq!(
            names,
            [
                (Some("model"), Some('m')),
                (Some("keys"), None),
                (Some("help"), Some('h')),
                (Some("last"), None),
                (None, Some('p')),
            ]
        );
        assert_eq!(page.options[0].text, "the model, if any");
        assert_eq!(page.options[1].value.as_deref(), Some("auto|yes"));
        assert_eq!(page.options[4].value.as_deref(), Some("PACKAGE"));
        assert_eq!(page.list("models"), ["queue", "stack"]);
        assert_eq!(page.places(), ["FILE"]);
    }

    /// An option that the page lists but the command does not accept would be completed and then refused.
    #[test]
    fn each_option_of_a_page_is_one_of_its_command() {
        for command in COMMANDS {
            let help = help_of(command);
            let page = Page::of(&help);
            assert!(!page.summary.is_empty() && !page.usage.is_empty(), "{}: {help}", command.name);
            for choice in &page.options {
                let name = match (&choice.long, choice.short) {
                    (Some(long), _) => format!("--{long}"),
                    (None, short) => format!("-{}", short.unwrap_or_default()),
                };
                let known = choice.value.as_ref().map(|value| match value.split_once('|') {
                    Some((first, _)) => first.to_owned(),
                    None => {
                        let list = page.list(&format!("{}s", value.to_lowercase()));
                        list.first().cloned().unwrap_or_else(|| "1".to_owned())
                    }
                });
                let words = [Some(name.clone()), known, Some("--help".to_owned())];
                let parser = lexopt::Parser::from_args(words.into_iter().flatten());
                let asked = (command.run)(parser, &mut Terminal::silent());
                assert!(asked.is_ok(), "{} {name}: {asked:?}", command.name);
            }
        }
        program().debug_assert();
    }

    #[test]
    fn an_option_that_a_page_invents_is_refused() {
        let parser = lexopt::Parser::from_args(["--invented", "--help"]);
        assert!((COMMANDS[0].run)(parser, &mut Terminal::silent()).is_err());
    }
}
