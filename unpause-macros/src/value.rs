//! The values of arguments: integers, strings, durations and paths, with their ranges.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Error, Lit, LitStr, Path};

use crate::form::form;
use crate::suggest::suggest;

/// The units of a duration, in milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// A whole number from `min` to `max`, both included.
pub(crate) fn integer(name: &str, value: &TokenStream, min: u64, max: u64) -> Result<u64, Error> {
    let error = |message: String| Err(Error::new_spanned(value, message));
    let literal = match syn::parse2::<Lit>(value.clone()) {
        Ok(Lit::Int(literal)) => literal,
        Ok(Lit::Str(text)) if text.value().parse::<u64>().is_ok() => {
            return error(format!("`{name}` needs a number without quotes: write {}", form(name)));
        }
        _ => {
            return error(format!("`{name}` needs a whole number: write {}", form(name)));
        }
    };
    let suffix = if max > u32::MAX.into() { "u64" } else { "u32" };
    if !["", suffix].contains(&literal.suffix()) {
        return error(format!("`{name}` is a `{suffix}`, not a `{}`", literal.suffix()));
    }
    match literal.base10_parse::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => error(format!("`{name}` goes from {min} to {max}")),
    }
}

/// A string that is not empty.
pub(crate) fn text(name: &str, value: &TokenStream) -> Result<LitStr, Error> {
    let literal = match syn::parse2::<Lit>(value.clone()) {
        Ok(Lit::Str(literal)) if literal.suffix().is_empty() => literal,
        _ => {
            let message = format!("`{name}` needs a string in quotes: write {}", form(name));
            return Err(Error::new_spanned(value, message));
        }
    };
    if literal.value().trim().is_empty() {
        return Err(Error::new_spanned(value, format!("`{name}` is empty: write {}", form(name))));
    }
    Ok(literal)
}

/// A duration longer than none, such as `"5s"`.
pub(crate) fn milliseconds(name: &str, value: &TokenStream) -> Result<u64, Error> {
    let text = text(name, value)?.value();
    duration(&text).map_err(|message| Error::new_spanned(value, format!("`{name}` {message}")))
}

/// A path to a module or crate.
pub(crate) fn path(name: &str, value: &TokenStream) -> Result<Path, Error> {
    Path::parse_mod_style.parse2(value.clone()).map_err(|_| {
        let message = format!("`{name}` needs a path without quotes: write {}", form(name));
        Error::new_spanned(value, message)
    })
}

/// A string that is one of `known`.
pub(crate) fn one_of(
    name: &str,
    tokens: &TokenStream,
    known: &[&'static str],
) -> Result<LitStr, Error> {
    let found = text(name, tokens)?;
    let value = found.value();
    if known.contains(&value.as_str()) {
        return Ok(found);
    }
    let list: Vec<_> = known.iter().map(|known| format!("{known:?}")).collect();
    let meant = suggest(&value, known).map(|known| format!("; did you mean {known:?}?"));
    let message =
        format!("`{name}` is {}, not {value:?}{}", list.join(" or "), meant.unwrap_or_default());
    Err(Error::new(found.span(), message))
}

/// A string that is one of `known`, or `<counted>:<number from 1>`.
pub(crate) fn one_of_or_counted(
    name: &str,
    tokens: &TokenStream,
    known: &[&'static str],
    counted: &'static str,
) -> Result<LitStr, Error> {
    let found = text(name, tokens)?;
    let value = found.value();
    let Some((word, number)) = value.split_once(':').filter(|(word, _)| *word == counted) else {
        return one_of(name, tokens, known).map_err(|error| {
            Error::new(error.span(), format!("{error}, nor `{counted}:` and a number"))
        });
    };
    match number.parse::<u32>() {
        Ok(1..) => Ok(found),
        _ => {
            let message =
                format!("`{name}` needs a number from 1 after `{word}:`, such as \"{word}:2\"");
            Err(Error::new(found.span(), message))
        }
    }
}

/// The words of `chances`, which the library reads.
const CHANCES: [&str; 3] = ["timers", "spurious", "weak"];

/// A string of words of [`CHANCES`] with commas between them, or `none`.
pub(crate) fn some_of(name: &str, tokens: &TokenStream) -> Result<LitStr, Error> {
    let known = &CHANCES;
    let found = text(name, tokens)?;
    let value = found.value();
    let unknown = value.split(',').map(str::trim).find(|word| !known.contains(word));
    let Some(word) = unknown.filter(|_| value != "none") else { return Ok(found) };
    let list: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
    let meant = suggest(word, known).map(|known| format!("; did you mean `{known}`?"));
    let list = list.join(", ");
    let meant = meant.unwrap_or_default();
    let message = format!(
        "`{name}` is `none`, or some of {list} with commas between them, not `{word}`{meant}"
    );
    Err(Error::new(found.span(), message))
}

/// Milliseconds of `<digits><unit>`.
fn duration(text: &str) -> Result<u64, String> {
    let units = "`ms`, `s`, `m` or `h`";
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    if digits.is_empty() || unit.starts_with('.') {
        return Err(format!("is a whole number and {units}, such as \"5s\" or \"500ms\""));
    }
    if unit.is_empty() {
        return Err(format!("needs a unit, {units}: write \"{digits}s\""));
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("has no unit `{}`: use {units}", unit.trim()));
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)) {
        Some(0) => Err("must be longer than zero".into()),
        Some(milliseconds) => Ok(milliseconds),
        None => Err(format!("is too long: at most {} milliseconds", u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_word_has_a_number_from_one() {
        let read = |text: &str| {
            one_of_or_counted("clock", &quote::quote!(#text), &["last", "any"], "late")
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        for right in ["last", "any", "late:1", "late:12"] {
            assert_eq!(read(right), Ok(()), "{right}");
        }
        for wrong in ["late:", "late:0", "late:x", "late:-1"] {
            let message = read(wrong).expect_err(wrong);
            assert!(message.contains("a number from 1"), "{message}");
        }
        for wrong in ["late", "often", "late2"] {
            let message = read(wrong).expect_err(wrong);
            assert!(message.contains("`late:` and a number"), "{message}");
        }
    }

    #[test]
    fn chances_are_words_with_commas_between_them() {
        let read = |text: &str| some_of("chances", &quote::quote!(#text)).map(|_| ());
        for right in ["timers", "weak, timers", "timers,spurious,weak", "none"] {
            assert!(read(right).is_ok(), "{right}");
        }
        let wrong = |text: &str| read(text).unwrap_err().to_string();
        let grammar =
            "`chances` is `none`, or some of `timers`, `spurious`, `weak` with commas between them";
        assert_eq!(wrong("weak, timer"), format!("{grammar}, not `timer`; did you mean `timers`?"));
        assert_eq!(wrong("none, weak"), format!("{grammar}, not `none`"));
        assert!(wrong(" ").contains("is empty"));
    }

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        let max = u64::MAX.to_string();
        let right = [
            ("1ms", 1),
            ("500ms", 500),
            ("5s", 5_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("007s", 7_000),
            (&format!("{max}ms"), u64::MAX),
        ];
        for (text, expected) in right {
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        let wrong = [
            ("s", "is a whole number"),
            ("-5s", "is a whole number"),
            (" 5s", "is a whole number"),
            ("1.5s", "is a whole number"),
            ("٥s", "is a whole number"),
            ("5", "needs a unit"),
            ("5 s", "has no unit `s`"),
            ("5sec", "has no unit `sec`"),
            ("5S", "has no unit `S`"),
            ("1m30s", "has no unit `m30s`"),
            ("0s", "must be longer"),
            (&format!("{max}s"), "is too long"),
            (&format!("{max}0ms"), "is too long"),
        ];
        for (text, expected) in wrong {
            let message = duration(text).expect_err(text);
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }
}
