//! A command that runs tests: copied from a screen, or built from the options of a request.

use std::ffi::OsString;
use std::process::Command;

use sim::__private::{invalid_setting, unknown_setting};

use crate::Usage;

/// The cargo arguments that commands on screens contain. The arguments in the second list take a
/// value.
const FLAGS: [&str; 10] = [
    "--any",
    "--races",
    "--lib",
    "--doc",
    "--release",
    "--no-default-features",
    "--exact",
    "--include-ignored",
    "--",
    "--nocapture",
];
const OPTIONS: [&str; 7] =
    ["-p", "--test", "--bin", "--bench", "--example", "--profile", "--features"];

/// The requested tests.
#[derive(Default)]
pub(crate) struct Tests {
    /// A part of the test paths, or the whole path of one test.
    pub(crate) test: Option<String>,
    pub(crate) package: Option<String>,
    /// `lib`, or a kind and a name: `test:queues`.
    pub(crate) target: Option<String>,
    pub(crate) features: Option<String>,
    /// `true` for programs that `cargo unpause test` builds.
    pub(crate) plain_threads: bool,
    pub(crate) any: bool,
    pub(crate) races: bool,
}

impl Tests {
    /// The options that [`Tests::option`] accepts.
    pub(crate) const OPTIONS: [&str; 7] =
        ["-p", "--package", "--lib", "--test", "--features", "--any", "--plain-threads"];

    /// Reads an option, given by its name without hyphens. Returns `false` if the option is not in
    /// the list.
    ///
    /// # Errors
    /// If the value of the option is missing.
    pub(crate) fn option(
        &mut self,
        name: &str,
        parser: &mut lexopt::Parser,
    ) -> Result<bool, Usage> {
        let mut value = || Ok::<_, Usage>(parser.value()?.to_string_lossy().into_owned());
        match name {
            "any" => self.any = true,
            "plain-threads" => self.plain_threads = true,
            "lib" => self.target = Some("lib".to_owned()),
            "test" => self.target = Some(format!("test:{}", value()?)),
            "features" => self.features = Some(value()?),
            "p" | "package" => self.package = Some(value()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns `true` if anything except features was requested.
    pub(crate) fn names_a_test(&self) -> bool {
        let named = self.test.is_some() || self.package.is_some() || self.target.is_some();
        named || self.plain_threads || self.any || self.races
    }

    /// Returns the command that runs the tests with these settings; `exactly` selects one test by
    /// its whole path.
    ///
    /// # Errors
    /// If a value is not a valid name, or a setting is invalid.
    pub(crate) fn invocation(
        &self,
        exactly: bool,
        variables: Vec<(String, String)>,
    ) -> Result<Invocation, Usage> {
        check_settings(&variables)?;
        // A name that begins with a hyphen would be read as an option.
        let names = [
            ("test", &self.test),
            ("package", &self.package),
            ("target", &self.target),
            ("features", &self.features),
        ];
        for (what, name) in names {
            if let Some(name) =
                name.as_ref().filter(|name| name.starts_with('-') || name.is_empty())
            {
                return Err(Usage(format!("the {what} is {name:?}, which is no name")));
            }
        }
        let mut words: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        let plain = self.plain_threads || self.any || self.races;
        add(if plain { &["unpause", "test"] } else { &["test"] });
        for (given, option) in [(self.any, "--any"), (self.races, "--races")] {
            add(if given { std::slice::from_ref(&option) } else { &[] });
        }
        add(&["--no-fail-fast"]);
        for (option, value) in [("-p", &self.package), ("--features", &self.features)] {
            if let Some(value) = value {
                add(&[option, value]);
            }
        }
        let target = self.target.as_ref();
        match target.map(|target| target.split_once(':').unwrap_or((target, ""))) {
            None => {}
            Some(("lib", "")) => add(&["--lib"]),
            Some((kind @ ("test" | "bin" | "example"), name)) if !name.is_empty() => {
                add(&[&format!("--{kind}"), name]);
            }
            Some((kind, name)) => {
                let colon = if name.is_empty() { "" } else { ":" };
                return Err(Usage(format!(
                    "the target is `{kind}{colon}{name}`, but should be lib, test:NAME, bin:NAME or example:NAME"
                )));
            }
        }
        if let Some(test) = &self.test {
            add(&[test]);
        }
        if exactly {
            add(&["--", "--exact"]);
        }
        Ok(Invocation { variables, arguments: words })
    }
}

/// Returns the name of an option without hyphens.
pub(crate) fn name_of(argument: &lexopt::Arg<'_>) -> String {
    match argument {
        lexopt::Arg::Long(name) => (*name).to_owned(),
        lexopt::Arg::Short(letter) => letter.to_string(),
        lexopt::Arg::Value(_) => String::new(),
    }
}

/// Checks environment variables that are settings.
///
/// # Errors
/// If a setting is unknown, or its value is invalid.
pub(crate) fn check_settings(variables: &[(String, String)]) -> Result<(), Usage> {
    if let Some(unknown) = variables.iter().find_map(|(name, _)| unknown_setting(name)) {
        return Err(Usage(unknown));
    }
    let pairs = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    invalid_setting(pairs).map_or(Ok(()), |invalid| Err(Usage(invalid)))
}

/// A command copied from a screen: environment variables, and cargo arguments.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) arguments: Vec<String>,
}

impl Invocation {
    /// Parses a command.
    ///
    /// # Errors
    /// If the command does not have the form of a command on screens.
    pub(crate) fn parse(text: &str) -> Result<Invocation, String> {
        let mut words = words(text).ok_or("a quote is open")?.into_iter().peekable();
        let mut variables = Vec::new();
        let is_setting = |word: &String| word.starts_with("SIM_") && word.contains('=');
        while let Some(word) = words.next_if(is_setting) {
            let (name, value) = word.split_once('=').unwrap_or_default();
            variables.push((name.to_owned(), value.to_owned()));
        }
        if words.next().as_deref() != Some("cargo") {
            return Err("it does not call cargo".to_owned());
        }
        Invocation::checked(variables, words.collect())
    }

    /// Creates the command of cargo with these arguments, if it has the form of a command on screens.
    ///
    /// # Errors
    /// If it has another form.
    pub(crate) fn checked(
        variables: Vec<(String, String)>,
        arguments: Vec<String>,
    ) -> Result<Invocation, String> {
        // The command is shown on the terminal, and a file from another machine must not control the terminal.
        if arguments.iter().any(|word| word.contains(char::is_control)) {
            return Err("it has a control character".to_owned());
        }
        // An example with a `Runner` in its `main` reads its own arguments, which follow `--`.
        let of_cargo = arguments.split(|word| word == "--").next().unwrap_or_default();
        let is_of_example = of_cargo.iter().any(|word| word == "--example");
        let rest = match &arguments[..] {
            [first, rest @ ..] if first == "test" => rest,
            [first, second, rest @ ..] if first == "unpause" && second == "test" => rest,
            [first, ..] if first == "run" && is_of_example => &of_cargo[1..],
            _ => return Err("it runs neither a test nor an example".to_owned()),
        };
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let is_value = |word: &String| !word.starts_with('-');
            match &word[..] {
                option if OPTIONS.contains(&option) => {
                    rest.next()
                        .filter(|word| is_value(word))
                        .ok_or(format!("{option} has no value"))?;
                }
                flag if FLAGS.contains(&flag) => {}
                flag if flag.starts_with("--test-threads=") => {}
                _ if is_value(word) => {}
                other => return Err(format!("{other} is no argument of such a command")),
            }
        }
        Ok(Invocation { variables, arguments })
    }

    /// Returns the arguments of cargo, without its subcommand and without the arguments of the test program.
    fn of_cargo(&self) -> &[String] {
        let all = self.arguments.split(|word| word == "--").next().unwrap_or_default();
        let subcommand = if all.first().is_some_and(|first| first == "unpause") { 2 } else { 1 };
        all.get(subcommand..).unwrap_or_default()
    }

    /// Returns the kind and the name of the target that contains the test. `None` for the library.
    pub(crate) fn target(&self) -> Option<(&str, &str)> {
        let arguments = self.of_cargo();
        ["test", "bin", "example", "bench"].into_iter().find_map(|kind| {
            let is_kind = |word: &String| word.strip_prefix("--") == Some(kind);
            let at = arguments.iter().position(is_kind)?;
            Some((kind, arguments.get(at + 1)?.as_str()))
        })
    }

    /// Returns the name of the test in its harness, if the command names a test.
    pub(crate) fn test(&self) -> Option<&str> {
        let mut words = self.of_cargo().iter();
        while let Some(word) = words.next() {
            if OPTIONS.contains(&word.as_str()) {
                words.next();
            } else if !word.starts_with('-') {
                return Some(word);
            }
        }
        None
    }

    /// Adds cargo arguments, before the arguments of the test program.
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = String>) {
        let at = self.arguments.iter().position(|word| word == "--");
        let at = at.unwrap_or(self.arguments.len());
        self.arguments.splice(at..at, more);
    }

    /// Returns the process to start: this program for its own subcommand, else cargo.
    pub(crate) fn command(&self) -> Command {
        let own = std::env::current_exe().ok().filter(|_| self.arguments[0] == "unpause");
        let program = own.map(OsString::from).or_else(|| std::env::var_os("CARGO"));
        let mut command = Command::new(program.unwrap_or_else(|| "cargo".into()));
        command.args(&self.arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.variables.push((name.to_owned(), value.to_owned())),
        }
    }

    /// Returns the command as text for people, who may paste it into a POSIX shell.
    pub(crate) fn text(&self) -> String {
        let variable = |(name, value): &(String, String)| format!("{name}={} ", quoted(value));
        let variables: String = self.variables.iter().map(variable).collect();
        let arguments: Vec<String> = self.arguments.iter().map(|word| quoted(word)).collect();
        format!("{variables}cargo {}", arguments.join(" "))
    }
}

/// Quotes a word for a POSIX shell, if it must be quoted.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Splits a command into words, some of which may be in single quotes. Returns `None` if a quote is
/// not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            ' ' => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_screen_is_read() {
        let text = r"SIM_REPLAY=sim2:0,0.1x2 SIM_CANCEL='a *' cargo test -p demo --test 'a b' 'x::it'\''s' -- --exact";
        let read = Invocation::parse(text).unwrap();
        assert_eq!(read.text(), text);
        let expected = ["test", "-p", "demo", "--test", "a b", "x::it's", "--", "--exact"];
        assert_eq!(read.arguments, expected);
        assert_eq!(read.variables[1], ("SIM_CANCEL".to_owned(), "a *".to_owned()));
        assert_eq!((read.target(), read.test()), (Some(("test", "a b")), Some("x::it's")));
        let library = "cargo unpause test --any -p a --lib f -- --exact";
        let library = Invocation::parse(library).unwrap();
        assert_eq!((library.target(), library.test()), (None, Some("f")));
        let example = "SIM_REPLAY=sim2:0 cargo run --release -p a --example b -- 7 --x";
        let mut example = Invocation::parse(example).unwrap();
        assert_eq!((example.target(), example.test()), (Some(("example", "b")), None));
        example.add(["--features", "f"].map(str::to_owned));
        assert_eq!(
            example.text(),
            "SIM_REPLAY=sim2:0 cargo run --release -p a --example b --features f -- 7 --x"
        );
    }

    #[test]
    fn a_quoted_word_is_read_back() {
        for word in ["sim2:0,0.1x2", "a b", "it's", "", "re[-_]named"] {
            assert_eq!(words(&quoted(word)), Some(vec![word.to_owned()]));
        }
        assert_eq!(quoted("a/b.c"), "a/b.c");
    }

    #[test]
    fn a_command_that_no_screen_has_is_not_run() {
        for (command, why) in [
            ("rm -rf x", "it does not call cargo"),
            ("LD_PRELOAD=x cargo test", "it does not call cargo"),
            ("SIM_SEED=1 cargo run", "it runs neither a test nor an example"),
            ("cargo run --bin a", "it runs neither a test nor an example"),
            ("cargo run -- --example a", "it runs neither a test nor an example"),
            ("cargo run --example", "--example has no value"),
            ("cargo run -p --example a", "-p has no value"),
            ("cargo run --config a=b --example a", "--config is no argument of such a command"),
            ("cargo test --config a=b", "--config is no argument of such a command"),
            ("cargo test -p --config", "-p has no value"),
            (
                "cargo test --manifest-path=/tmp/x",
                "--manifest-path=/tmp/x is no argument of such a command",
            ),
            ("cargo test 'a", "a quote is open"),
            ("cargo test a\u{1b}[2J", "it has a control character"),
            ("cargo run --example a -- \u{7}", "it has a control character"),
            (
                ".replay(\"sim2:0\") on the Runner of a.rs:3, which is hermetic",
                "it does not call cargo",
            ),
        ] {
            assert_eq!(Invocation::parse(command).unwrap_err(), why, "{command}");
        }
    }
}
