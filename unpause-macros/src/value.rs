//! The values of arguments: integers, strings, durations and paths, with their ranges.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Error, Lit, LitStr, Path};
use unpause_words::{closest, duration};

use crate::form::form;
use crate::strategies::{SEARCHES, STRATEGIES};
use crate::suggest::suggest;

/// Parses an integer from `min` to `max`, inclusive.
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

/// Parses a string.
fn string(name: &str, value: &TokenStream) -> Result<LitStr, Error> {
    match syn::parse2::<Lit>(value.clone()) {
        Ok(Lit::Str(literal)) if literal.suffix().is_empty() => Ok(literal),
        _ => {
            let message = format!("`{name}` needs a string in quotes: write {}", form(name));
            Err(Error::new_spanned(value, message))
        }
    }
}

/// Parses a non-empty string.
pub(crate) fn text(name: &str, value: &TokenStream) -> Result<LitStr, Error> {
    let literal = string(name, value)?;
    if literal.value().trim().is_empty() {
        return Err(Error::new_spanned(value, format!("`{name}` is empty: write {}", form(name))));
    }
    Ok(literal)
}

/// Parses a duration, such as `"5s"`, and returns milliseconds.
pub(crate) fn milliseconds(name: &str, value: &TokenStream) -> Result<u64, Error> {
    let text = string(name, value)?.value();
    duration::milliseconds(&text).ok_or_else(|| {
        let grammar = duration::GRAMMAR;
        Error::new_spanned(value, format!("`{name}` is {text:?}, but should be {grammar}"))
    })
}

/// Parses the name of a strategy of the library.
pub(crate) fn strategy(name: &str, value: &TokenStream) -> Result<LitStr, Error> {
    let found = text(name, value)?;
    match unknown_strategy(&found.value()) {
        None => Ok(found),
        Some(message) => Err(Error::new(found.span(), message)),
    }
}

/// Returns the error text for an unknown strategy; `None` if the strategy exists.
fn unknown_strategy(text: &str) -> Option<String> {
    let known = || STRATEGIES.iter().chain(&SEARCHES);
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    };
    let Some((_, numbers)) = known().find(|(known, _)| *known == name) else {
        let names = Vec::from_iter(known().map(|(name, _)| *name));
        return Some(match closest(name, names.iter().copied()) {
            Some(meant) => format!("unknown strategy `{text}`; did you mean `{meant}`?"),
            None => format!("unknown strategy `{text}`; there are `{}`", names.join("`, `")),
        });
    };
    match (number, numbers) {
        (None, _) => None,
        (Some(_), None) => Some(format!("`{name}` takes no number: write `strategy = \"{name}\"`")),
        (Some(number), Some((least, most))) => {
            let is_one = (*least..=*most).any(|known| known.to_string() == number);
            (!is_one).then(|| {
                format!("`{text}`: after `{name}:` there is a number from {least} to {most}")
            })
        }
    }
}

/// Parses a path to a module or crate.
pub(crate) fn path(name: &str, value: &TokenStream) -> Result<Path, Error> {
    Path::parse_mod_style.parse2(value.clone()).map_err(|_| {
        let message = format!("`{name}` needs a path without quotes: write {}", form(name));
        Error::new_spanned(value, message)
    })
}

/// Parses a string that must be in `known`.
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

/// Parses a string that must be in `known`, or have the form `<counted>:<number from 1>`.
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

/// The words of `chances`, which the library interprets.
const CHANCES: [&str; 3] = ["timers", "spurious", "weak"];

/// Parses a string of comma-separated words from [`CHANCES`], or `none`.
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
    fn each_argument_with_a_time_takes_the_durations_of_the_grammar() {
        use crate::arguments::{Arguments, NAMES, parse};
        use duration::{GRAMMAR, RIGHT, WRONG};
        let of = |name: &str, text: &str| {
            let name = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
            parse(quote::quote!(#name = #text))
        };
        let is_time = |name: &str| {
            let (_, errors) = of(name, "no time");
            errors.iter().any(|error| error.to_string().ends_with(GRAMMAR))
        };
        let names: Vec<&str> = NAMES.into_iter().filter(|name| is_time(name)).collect();
        assert_eq!(names, ["time", "hang", "limit"]);
        for name in names {
            for (text, milliseconds) in RIGHT {
                let (Arguments { time_ms, hang_ms, limit_ms, .. }, errors) = of(name, text);
                assert_eq!(errors.len(), 0, "{name} {text}");
                assert_eq!(time_ms.or(hang_ms).or(limit_ms), Some(*milliseconds), "{name} {text}");
            }
            for text in WRONG {
                let errors: Vec<String> =
                    of(name, text).1.iter().map(ToString::to_string).collect();
                assert_eq!(errors, [format!("`{name}` is {text:?}, but should be {GRAMMAR}")]);
            }
        }
    }

    #[test]
    fn a_strategy_is_one_of_the_library() {
        let read = |text: &str| strategy("strategy", &quote::quote!(#text)).map(|_| ());
        for right in ["portfolio", "pct", "pct:1", "pct:8", "exhaustive", "delays:0"] {
            assert!(read(right).is_ok(), "{right}");
        }
        for (wrong, expected) in [
            ("exhaustve", "unknown strategy `exhaustve`; did you mean `exhaustive`?"),
            ("ptc:3", "unknown strategy `ptc:3`; did you mean `pct`?"),
            ("fifo", "unknown strategy `fifo`; there are `portfolio`, `random`, `pct`"),
            ("pct:9", "`pct:9`: after `pct:` there is a number from 1 to 8"),
            ("pct:01", "`pct:01`: after `pct:` there is a number from 1 to 8"),
            ("pos:3", "`pos` takes no number: write `strategy = \"pos\"`"),
            (" ", "`strategy` is empty"),
        ] {
            let message = read(wrong).expect_err(wrong).to_string();
            assert!(message.starts_with(expected), "{message}");
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
}
