//! The arguments of a verb: their declarations, and the values of a call.

use serde_json::{Map, Value as Json, json};
use unpause_words::closest;

use crate::Usage;

/// An argument of a verb.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) description: &'static str,
}

/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    /// A whole number, from 0.
    Number,
    Flag,
    /// An object with values that are texts or numbers.
    Settings,
}

impl Argument {
    pub(super) const fn required(
        name: &'static str,
        kind: Kind,
        description: &'static str,
    ) -> Argument {
        Argument { name, kind, is_required: true, description }
    }

    pub(super) const fn optional(
        name: &'static str,
        kind: Kind,
        description: &'static str,
    ) -> Argument {
        Argument { name, kind, is_required: false, description }
    }

    /// Returns the JSON schema of the value.
    fn schema(&self) -> Json {
        let mut schema = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Number => json!({"type": "integer", "minimum": 0}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Settings => {
                json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
            }
        };
        schema["description"] = json!(self.description);
        schema
    }

    fn fits(&self, value: &Json) -> bool {
        match self.kind {
            Kind::Text => value.is_string(),
            Kind::Number => value.is_u64(),
            Kind::Flag => value.is_boolean(),
            Kind::Settings => value.as_object().is_some_and(|settings| {
                settings.values().all(|v| v.is_string() || v.is_number() || v.is_boolean())
            }),
        }
    }

    fn expected(&self) -> &'static str {
        match self.kind {
            Kind::Text => "a text",
            Kind::Number => "a whole number, from 0",
            Kind::Flag => "true or false",
            Kind::Settings => "an object of settings",
        }
    }
}

/// Returns the JSON schema of all arguments of a verb.
pub(super) fn schema(arguments: &[&[Argument]]) -> Json {
    let all = || arguments.iter().copied().flatten();
    let properties: Map<String, Json> =
        all().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
    let required: Vec<&str> =
        all().filter(|argument| argument.is_required).map(|argument| argument.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments of a call. Each argument is declared and has its declared type.
pub(super) struct Arguments(Map<String, Json>);

impl Arguments {
    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// If an argument is unknown or has the wrong type, or if a required argument is missing.
    pub(super) fn read(
        given: Map<String, Json>,
        declared: &[&[Argument]],
    ) -> Result<Arguments, Usage> {
        let all = || declared.iter().copied().flatten();
        for (name, value) in &given {
            let Some(argument) = all().find(|argument| argument.name == name) else {
                let names = all().map(|argument| argument.name);
                let hint = closest(name, names.clone());
                let hint =
                    hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                let names = names.collect::<Vec<_>>().join(", ");
                return Err(Usage(format!(
                    "there is no argument {name:?}{hint} (there is: {names})"
                )));
            };
            if !argument.fits(value) {
                return Err(Usage(format!(
                    "`{name}` is {value}, but should be {}",
                    argument.expected()
                )));
            }
        }
        match all().find(|argument| argument.is_required && !given.contains_key(argument.name)) {
            Some(missing) => {
                Err(Usage(format!("`{}` is missing: {}", missing.name, missing.description)))
            }
            None => Ok(Arguments(given)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Json::as_str)
    }

    /// Returns a required text argument.
    pub(super) fn needed(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Json::as_u64)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Json::as_bool).unwrap_or(false)
    }

    /// Returns the settings as environment variables: `seeds` is `SIM_SEEDS`.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let variable = |name: &str| match name.starts_with("SIM_") {
            true => name.to_owned(),
            false => format!("SIM_{}", name.to_uppercase()),
        };
        let value = |value: &Json| match value {
            Json::String(text) => text.clone(),
            Json::Bool(true) => "1".to_owned(),
            Json::Bool(false) => "0".to_owned(),
            other => other.to_string(),
        };
        let settings = self.0.get("settings").and_then(Json::as_object).into_iter().flatten();
        settings.map(|(name, of)| (variable(name), value(of))).collect()
    }
}
