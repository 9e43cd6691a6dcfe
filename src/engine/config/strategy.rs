//! The setting `strategy`: converts a name to a strategy, or suggests a known name.

use unpause_words::closest;

use super::grammar::strategy_grammar;
use super::{InvalidSetting, Settings};
use crate::strategy::{Chosen, SEARCHES, STRATEGIES};

impl Settings {
    /// Returns the strategy with this name: a registered strategy or the strategy of the user.
    pub(super) fn chosen(&self, name: &str) -> Result<Chosen, InvalidSetting> {
        let invalid = |grammar| InvalidSetting {
            name: "strategy".to_owned(),
            value: name.to_owned(),
            grammar,
        };
        match &self.kind.own_strategy {
            Some(own) if own.name == name => Chosen::own(*own).ok_or_else(|| {
                invalid("a name of your own for your strategy: this one is taken".to_owned())
            }),
            _ => Chosen::parse(name).ok_or_else(|| invalid(strategy_grammar() + &meant(name))),
        }
    }
}

/// Returns a suggestion for an unknown strategy name. Empty if no known name is similar.
pub(super) fn meant(name: &str) -> String {
    let known = STRATEGIES.iter().map(|row| row.name).chain(SEARCHES.iter().map(|row| row.name));
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let meant = closest(name, known).filter(|meant| *meant != name);
    meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}
