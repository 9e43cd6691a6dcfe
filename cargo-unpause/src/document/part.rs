//! The JSON of each type of a report: reading and writing.

use serde_json::{Map, Value, json};

/// A value of a report.
pub trait Part: Sized {
    /// Reads the value of a field; `value` is `None` if the object has no such field.
    ///
    /// # Errors
    /// Returns the problem and its place.
    fn read(value: Option<&Value>) -> Result<Self, Wrong>;

    /// Returns the value as JSON, or `None` if its object must not have the field.
    fn write(&self) -> Option<Value>;

    /// Returns the JSON schema of the type. The schemas of structs are added to `structs`, by name.
    fn schema(structs: &mut Map<String, Value>) -> Value;

    /// Returns `true` if the object must have the field.
    fn is_required() -> bool {
        true
    }
}

/// A wrong or missing field.
#[derive(Debug)]
pub struct Wrong {
    pub(super) problem: &'static str,
    /// The names and indices of the path to the field, innermost first.
    steps: Vec<String>,
}

impl Wrong {
    fn new(value: Option<&Value>, problem: &'static str) -> Wrong {
        Wrong { problem: if value.is_some() { problem } else { "is missing" }, steps: Vec::new() }
    }

    /// Returns this problem, located inside the field with this name or index.
    pub(super) fn within(mut self, step: String) -> Wrong {
        self.steps.push(step);
        self
    }

    /// Returns the path of the field.
    pub(super) fn path(&self) -> String {
        let path: String = self.steps.iter().rev().map(String::as_str).collect();
        path.trim_start_matches('.').to_owned()
    }
}

impl Part for String {
    fn read(value: Option<&Value>) -> Result<String, Wrong> {
        let text = value.and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| Wrong::new(value, "is no text"))
    }

    fn write(&self) -> Option<Value> {
        Some(self.clone().into())
    }

    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({"type": "string"})
    }
}

impl Part for bool {
    fn read(value: Option<&Value>) -> Result<bool, Wrong> {
        let flag = value.and_then(Value::as_bool);
        flag.ok_or_else(|| Wrong::new(value, "is neither true nor false"))
    }

    fn write(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({"type": "boolean"})
    }
}

impl Part for u64 {
    fn read(value: Option<&Value>) -> Result<u64, Wrong> {
        let number = value.and_then(Value::as_u64);
        number.ok_or_else(|| Wrong::new(value, "is no whole number"))
    }

    fn write(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({"type": "integer", "minimum": 0})
    }
}

impl Part for f64 {
    fn read(value: Option<&Value>) -> Result<f64, Wrong> {
        value.and_then(Value::as_f64).ok_or_else(|| Wrong::new(value, "is no number"))
    }

    fn write(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({"type": "number"})
    }
}

/// A number of 64 bits, as decimal text in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub u64);

impl Part for Word {
    fn read(value: Option<&Value>) -> Result<Word, Wrong> {
        let number = value.and_then(Value::as_str).and_then(|text| text.parse().ok());
        number.map(Word).ok_or_else(|| Wrong::new(value, "is no whole number in a text"))
    }

    fn write(&self) -> Option<Value> {
        Some(self.0.to_string().into())
    }

    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({"type": "string", "pattern": "^[0-9]+$"})
    }
}

/// JSON `null` is `None`.
impl<T: Part> Part for Option<T> {
    fn read(value: Option<&Value>) -> Result<Option<T>, Wrong> {
        match value {
            Some(Value::Null) => Ok(None),
            value => T::read(value).map(Some),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(self.as_ref().and_then(T::write).unwrap_or_default())
    }

    fn schema(structs: &mut Map<String, Value>) -> Value {
        json!({"anyOf": [T::schema(structs), {"type": "null"}]})
    }
}

/// A field that some objects do not have.
#[derive(Clone, PartialEq, Debug)]
pub struct Maybe<T>(pub Option<T>);

impl<T: Part> Part for Maybe<T> {
    fn read(value: Option<&Value>) -> Result<Maybe<T>, Wrong> {
        match value {
            None => Ok(Maybe(None)),
            value => T::read(value).map(|value| Maybe(Some(value))),
        }
    }

    fn write(&self) -> Option<Value> {
        self.0.as_ref().and_then(T::write)
    }

    fn schema(structs: &mut Map<String, Value>) -> Value {
        T::schema(structs)
    }

    fn is_required() -> bool {
        false
    }
}

impl<T: Part> Part for Box<T> {
    fn read(value: Option<&Value>) -> Result<Box<T>, Wrong> {
        T::read(value).map(Box::new)
    }

    fn write(&self) -> Option<Value> {
        T::write(self)
    }

    fn schema(structs: &mut Map<String, Value>) -> Value {
        T::schema(structs)
    }
}

impl<T: Part> Part for Vec<T> {
    fn read(value: Option<&Value>) -> Result<Vec<T>, Wrong> {
        let items = value.and_then(Value::as_array);
        let items = items.ok_or_else(|| Wrong::new(value, "is no list"))?;
        let item =
            |(at, item)| T::read(Some(item)).map_err(|wrong| wrong.within(format!("[{at}]")));
        items.iter().enumerate().map(item).collect()
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Array(self.iter().filter_map(T::write).collect()))
    }

    fn schema(structs: &mut Map<String, Value>) -> Value {
        json!({"type": "array", "items": T::schema(structs)})
    }
}

/// In JSON, a pair is a list of two.
impl<A: Part, B: Part> Part for (A, B) {
    fn read(value: Option<&Value>) -> Result<(A, B), Wrong> {
        match value.and_then(Value::as_array).map(Vec::as_slice) {
            Some([first, second]) => Ok((
                A::read(Some(first)).map_err(|wrong| wrong.within("[0]".to_owned()))?,
                B::read(Some(second)).map_err(|wrong| wrong.within("[1]".to_owned()))?,
            )),
            _ => Err(Wrong::new(value, "is no list of two")),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Array(vec![self.0.write()?, self.1.write()?]))
    }

    fn schema(structs: &mut Map<String, Value>) -> Value {
        let items = [A::schema(structs), B::schema(structs)];
        json!({"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2})
    }
}

/// Returns the object of a value.
pub(super) fn object(value: Option<&Value>) -> Result<&Map<String, Value>, Wrong> {
    value.and_then(Value::as_object).ok_or_else(|| Wrong::new(value, "is no object"))
}

/// Returns the schema of an object with these fields. Each field has a name, a schema, and `true` if the object must
/// have the field.
pub(super) fn schema_of_object(description: &str, fields: &[(&str, Value, bool)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
    let required = fields.iter().filter(|(_, _, required)| *required);
    let required: Vec<&str> = required.map(|(name, _, _)| *name).collect();
    json!({
        "description": description.trim(),
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

/// Restricts the schema of a text to words, if a list of words is given.
pub(super) fn among(mut schema: Value, words: &[&[&str]]) -> Value {
    if let Some(words) = words.first() {
        schema["enum"] = json!(words);
    }
    schema
}

/// Defines structs whose JSON fields have the same names. In the schema, a field has only the values after `=`, if any.
macro_rules! objects {
    ($($(#[doc = $doc:literal])* $name:ident {
        $($field:ident: $type:ty $(= $words:expr)?),* $(,)?
    })*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, PartialEq, Debug)]
            #[allow(missing_docs, reason = "docs/json.md describes the fields")]
            pub struct $name {
                $(pub $field: $type,)*
            }

            impl Part for $name {
                fn read(value: Option<&Value>) -> Result<$name, Wrong> {
                    let object = part::object(value)?;
                    Ok($name {
                        $($field: Part::read(object.get(stringify!($field)))
                            .map_err(|wrong| wrong.within(concat!(".", stringify!($field)).to_owned()))?,)*
                    })
                }

                fn write(&self) -> Option<Value> {
                    let mut object = serde_json::Map::new();
                    $(if let Some(value) = self.$field.write() {
                        object.insert(stringify!($field).to_owned(), value);
                    })*
                    Some(Value::Object(object))
                }

                fn schema(structs: &mut serde_json::Map<String, Value>) -> Value {
                    let name = stringify!($name);
                    if !structs.contains_key(name) {
                        // Inserted first, because a struct may contain itself.
                        structs.insert(name.to_owned(), Value::Null);
                        let fields = [$(
                            (
                                stringify!($field),
                                part::among(<$type>::schema(structs), &[$($words)?]),
                                <$type>::is_required(),
                            ),
                        )*];
                        let description = concat!($($doc),*);
                        structs.insert(name.to_owned(), part::schema_of_object(description, &fields));
                    }
                    serde_json::json!({"$ref": format!("#/$defs/{name}")})
                }
            }
        )*
    };
}
pub(super) use objects;
