//! Texts of the settings on which the meaning of runs and seeds depends. The texts are used in the headers of traces
//! and results, in printed commands, and in replays under the settings of a trace.

use std::sync::OnceLock;
use unpause_ordered::Set;

use super::list::{SETTINGS, Settings};
use super::row::{Meaning, SettingRow};
use super::{Config, InvalidSetting, TestKind};
use crate::engine::runner::SetVariable;

/// Pairs of a setting name and the value as text.
pub(crate) type SettingTexts = Vec<(String, String)>;

/// The texts of a configuration, in the order of [`SETTINGS`]. The text is empty if runs and seeds do not depend on the
/// setting.
pub(super) type Texts = Vec<String>;

/// The entry of a header for a search that executes each order of steps as a separate run.
pub(crate) const EACH_ORDER: &str = "each_order";

impl Config {
    pub(super) fn texts(&self) -> Texts {
        let text = |row: &SettingRow| row.meaning.text(self).unwrap_or_default();
        SETTINGS.iter().map(text).collect()
    }

    /// Returns the settings of the runs of this test that differ from the defaults, for the header of a trace.
    pub(crate) fn in_traces(&self) -> SettingTexts {
        self.changed(Meaning::is_in_traces)
    }

    /// Returns the settings of the seeds of this test that differ from the defaults, for the header of results.
    pub(crate) fn in_results(&self) -> SettingTexts {
        self.changed(Meaning::is_in_results)
    }

    /// Returns the properties of the test that change its runs and may differ between two processes of one program.
    /// The header of results contains them, too.
    pub(crate) fn kind_in_results(&self) -> SettingTexts {
        // All fields are named, so a new field needs a decision. A strategy has its own row in the list of settings,
        // and a phase has its own file. Two other fields change no run that passes.
        let TestKind {
            own_strategy: _,
            native: _,
            long_is_undecided: _,
            phase: _,
            at_limit,
            each_order,
            repeats_each,
        } = &self.source.kind;
        let at_limit =
            at_limit.map(|end| ("at_limit".to_owned(), format!("{end:?}").to_lowercase()));
        let flags = [(EACH_ORDER, *each_order), ("repeats_each", *repeats_each)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        let flags = flags.map(|(name, _)| (name.to_owned(), "1".to_owned()));
        at_limit.into_iter().chain(flags).collect()
    }

    fn changed(&self, wanted: fn(Meaning) -> bool) -> SettingTexts {
        let rows = SETTINGS.iter().zip(defaults()).zip(self.texts());
        let rows = rows.filter(|((row, default), text)| wanted(row.meaning) && text != *default);
        rows.map(|((row, _), text)| (row.name.to_owned(), text)).collect()
    }

    /// Returns the rows whose values differ from the test's values without environment variables, each with the value
    /// of this configuration. If the test is not valid without environment variables, returns the rows that differ from
    /// the defaults.
    fn overridden(&self) -> impl Iterator<Item = (&'static SettingRow, String)> {
        let own = (*self.own).clone().resolve().map(|own| own.texts());
        let own = own.unwrap_or_else(|_| defaults().clone());
        let rows = SETTINGS.iter().zip(own).zip(self.texts());
        rows.filter(|((_, own), text)| own != text).map(|((row, _), text)| (row, text))
    }

    /// Returns the environment variables that give the runs of the test the same meaning as this configuration.
    pub(crate) fn variables(&self) -> Vec<SetVariable> {
        // A variable can set a setting, but not remove it.
        let rows = self.overridden().filter(|(_, text)| !text.is_empty());
        let variable = |(row, value): (&SettingRow, String)| SetVariable {
            name: row.variable,
            value,
            is_in_traces: row.meaning.is_in_traces(),
        };
        rows.map(variable).collect()
    }

    /// Returns `true` if a trace must contain the settings, because its replay without them would be a different run.
    pub(crate) fn must_be_in_traces(&self) -> bool {
        self.overridden().any(|(row, _)| row.meaning.is_in_traces())
    }

    /// Returns this configuration for the replay of a trace that was written under `settings`. All other settings on
    /// which runs depend have their defaults. A step time limit set in the environment overrides the trace, because a
    /// debugger needs more time.
    ///
    /// # Errors
    /// If a setting of the trace is unknown, or its value does not match the grammar.
    pub(crate) fn replaying(&self, settings: &SettingTexts) -> Result<Config, InvalidSetting> {
        let mut source = (*self.source).clone();
        let limits =
            self.overridden().filter(|(row, _)| matches!(row.meaning, Meaning::Machine(_)));
        let limits: Vec<&str> = limits.map(|(row, _)| row.name).collect();
        for row in SETTINGS.iter().filter(|row| row.meaning.is_in_traces()) {
            if !limits.contains(&row.name) {
                (row.clear)(&mut source);
            }
        }
        for (name, value) in settings {
            let invalid = |grammar: String| InvalidSetting {
                name: format!("the setting {name} of the trace"),
                value: value.clone(),
                grammar,
            };
            let row = SETTINGS.iter().find(|row| row.name == name && row.meaning.is_in_traces());
            let unknown =
                || invalid("one of a trace that this version of unpause can replay".to_owned());
            let row = row.ok_or_else(unknown)?;
            if !limits.contains(&row.name) && !(row.read)(&mut source, value) {
                return Err(invalid((row.grammar)().into_owned()));
            }
        }
        Ok(Config { own: self.own.clone(), ..source.resolve()? })
    }

    /// Returns a sentence for each variable that has no effect on a replay under `trace`. With `of_test`, also returns
    /// a sentence for each setting whose value in the test differs from the trace.
    pub(crate) fn contradictions(&self, trace: &Config, of_test: bool) -> Vec<String> {
        let (here, there) = (self.texts(), trace.texts());
        let overridden: Vec<&str> = self.overridden().map(|(row, _)| row.name).collect();
        let rows = SETTINGS.iter().zip(here.iter().zip(&there));
        let rows = rows.filter(|(row, (here, there))| row.meaning.is_in_traces() && here != there);
        let sentence = |(row, (here, there)): (&SettingRow, (&String, &String))| {
            let (name, written) = (row.name, with(row.name, there));
            match overridden.contains(&name) {
                true => Some(format!(
                    "{}={here} has no effect on this replay: the trace was written {written}",
                    row.variable
                )),
                false => of_test.then(|| {
                    let now = with(name, here);
                    format!(
                        "the trace was written {written} and is replayed so; the test is {now} now"
                    )
                }),
            }
        };
        rows.filter_map(sentence).collect()
    }
}

/// Returns the text `with cancel = t1`, or `without cancel` if the value is empty.
fn with(name: &str, text: &str) -> String {
    if text.is_empty() { format!("without {name}") } else { format!("with {name} = {text}") }
}

/// Compares two lists of non-default settings. Returns each difference: the name and both values in their display form.
pub(crate) fn differing(one: &SettingTexts, other: &SettingTexts) -> Vec<(String, [String; 2])> {
    let names: Set<&String> = one.iter().chain(other).map(|(name, _)| name).collect();
    let values =
        names.into_iter().map(|name| (name.clone(), [shown(name, one), shown(name, other)]));
    values.filter(|(_, [one, other])| one != other).collect()
}

/// Returns the display form of a setting's value. A setting that is missing in `texts` has its default value. An empty
/// value is shown as `unset`.
fn shown(name: &str, texts: &SettingTexts) -> String {
    let text = texts.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone());
    let default = || {
        let mut rows = SETTINGS.iter().zip(defaults());
        rows.find(|(row, _)| row.name == name).map(|(_, default)| default.clone())
    };
    text.or_else(default).filter(|text| !text.is_empty()).unwrap_or_else(|| "unset".to_owned())
}

/// Returns the texts of the default settings.
fn defaults() -> &'static Texts {
    static DEFAULTS: OnceLock<Texts> = OnceLock::new();
    DEFAULTS.get_or_init(|| {
        let config = Settings::default().resolve().expect("the defaults are valid");
        config.texts()
    })
}
