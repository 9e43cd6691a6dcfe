//! The settings that give runs and seeds their meaning, as texts: for the headers of traces and of results, for the
//! commands on screens, and for replays under the settings of a trace.

use std::sync::OnceLock;
use unpause_ordered::Set;

use super::list::{SETTINGS, Settings};
use super::row::{Meaning, SettingRow};
use super::{Config, InvalidSetting};
use crate::engine::runner::SetVariable;

/// Settings by name, each with its value as text.
pub(crate) type SettingTexts = Vec<(String, String)>;

/// The texts of a configuration, in the order of [`SETTINGS`]; empty for a setting without meaning for runs and seeds.
pub(super) type Texts = Vec<String>;

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

    fn changed(&self, wanted: fn(Meaning) -> bool) -> SettingTexts {
        let rows = SETTINGS.iter().zip(defaults()).zip(self.texts());
        let rows = rows.filter(|((row, default), text)| wanted(row.meaning) && text != *default);
        rows.map(|((row, _), text)| (row.name.to_owned(), text)).collect()
    }

    /// Returns the rows whose values differ from the test's values without an environment, with the
    /// values here. If the test is not valid without one, these are all that differ from the
    /// defaults.
    fn overridden(&self) -> impl Iterator<Item = (&'static SettingRow, String)> {
        let own = (*self.own).clone().resolve().map(|own| own.texts());
        let own = own.unwrap_or_else(|_| defaults().clone());
        let rows = SETTINGS.iter().zip(own).zip(self.texts());
        rows.filter(|((_, own), text)| own != text).map(|((row, _), text)| (row, text))
    }

    /// Returns the variables that give the runs of the test the meaning that they have here.
    pub(crate) fn variables(&self) -> Vec<SetVariable> {
        // No variable removes a setting.
        let rows = self.overridden().filter(|(_, text)| !text.is_empty());
        let variable = |(row, value): (&SettingRow, String)| SetVariable {
            name: row.variable,
            value,
            is_in_traces: row.meaning.is_in_traces(),
        };
        rows.map(variable).collect()
    }

    /// Returns `true` if the replay of a trace without settings would not be one of a run under these settings.
    pub(crate) fn must_be_in_traces(&self) -> bool {
        self.overridden().any(|(row, _)| row.meaning.is_in_traces())
    }

    /// Returns this configuration for the replay of a trace that was written under `settings`: others have their
    /// defaults. A time limit of the machine that the environment sets counts more: a debugger needs time.
    ///
    /// # Errors
    /// If one of them is unknown, or its value is not of its grammar.
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

    /// Returns a sentence for each variable that has no effect on a replay under `trace`. With `of_test`, also for each
    /// setting that the test has another value of.
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

/// `with cancel = t1`, or `without cancel` if there is no value.
fn with(name: &str, text: &str) -> String {
    if text.is_empty() { format!("without {name}") } else { format!("with {name} = {text}") }
}

/// Compares two lists of non-default settings. Returns each difference: the name and both values,
/// as messages show them.
pub(crate) fn differing(one: &SettingTexts, other: &SettingTexts) -> Vec<(String, [String; 2])> {
    let names: Set<&String> = one.iter().chain(other).map(|(name, _)| name).collect();
    let values =
        names.into_iter().map(|name| (name.clone(), [shown(name, one), shown(name, other)]));
    values.filter(|(_, [one, other])| one != other).collect()
}

/// The value of a setting as messages show it: `unset` if it has none here, or if these texts leave it out and it has
/// no default.
fn shown(name: &str, texts: &SettingTexts) -> String {
    let text = texts.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone());
    let default = || {
        let mut rows = SETTINGS.iter().zip(defaults());
        rows.find(|(row, _)| row.name == name).map(|(_, default)| default.clone())
    };
    text.or_else(default).filter(|text| !text.is_empty()).unwrap_or_else(|| "unset".to_owned())
}

/// The texts of the defaults.
fn defaults() -> &'static Texts {
    static DEFAULTS: OnceLock<Texts> = OnceLock::new();
    DEFAULTS.get_or_init(|| {
        let config = Settings::default().resolve().expect("the defaults are valid");
        config.texts()
    })
}
