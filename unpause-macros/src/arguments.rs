//! The arguments of the attribute: their grammar, their valid combinations, and an error at each invalid argument.
//!
//! Parsing continues after an error, so that all errors are shown at once.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Error, LitStr, Path};

use crate::form::form;
use crate::strategies::SEARCHES;
use crate::suggest::suggest;
use crate::value;

/// The names of all arguments, in the order in which messages list them.
pub(crate) const NAMES: [&str; 29] = [
    "seeds",
    "seed",
    "strategy",
    "max_steps",
    "time",
    "hang",
    "limit",
    "clock",
    "cancel",
    "cancel_selects",
    "buggify",
    "progress",
    "replay",
    "must_fail",
    "coverage",
    "closure",
    "prove",
    "why",
    "must_prove",
    "statistics",
    "native",
    "leaks",
    "races",
    "points",
    "arc",
    "chances",
    "isolate",
    "memory",
    "crate",
];

/// Arguments that only tests with plain threads accept.
const OF_NATIVE: [&str; 6] = ["leaks", "races", "points", "arc", "chances", "isolate"];

/// Arguments that exclude each other, with the reason.
const CONFLICTS: [(&str, &str, &str); 6] = [
    ("seed", "seeds", "`seed` is the only one tried, `seeds` is how many are"),
    ("replay", "seed", "a trace needs no seed"),
    ("replay", "seeds", "a trace needs no seeds"),
    ("must_prove", "must_fail", "a test that fails proves nothing"),
    ("must_prove", "replay", "one run proves nothing"),
    ("must_prove", "seed", "one run proves nothing"),
];

/// The arguments of the attribute; `None` for omitted arguments.
#[derive(Default)]
pub(crate) struct Arguments {
    /// A number from 1.
    pub(crate) seeds: Option<u64>,
    /// Any number.
    pub(crate) seed: Option<u64>,
    /// A strategy of the library.
    pub(crate) strategy: Option<LitStr>,
    /// A number from 1.
    pub(crate) max_steps: Option<u32>,
    /// A time in milliseconds.
    pub(crate) time_ms: Option<u64>,
    /// A time in milliseconds.
    pub(crate) hang_ms: Option<u64>,
    /// A time in milliseconds.
    pub(crate) limit_ms: Option<u64>,
    /// A non-empty text.
    pub(crate) replay: Option<LitStr>,
    /// `true` if the flag is present without a value.
    pub(crate) must_fail: bool,
    /// A non-empty text.
    pub(crate) must_fail_with: Option<LitStr>,
    /// `true` if the flag is present.
    pub(crate) coverage: bool,
    /// `true` if the flag is present.
    pub(crate) closure: bool,
    /// `true` if the flag is present.
    pub(crate) cancel_selects: bool,
    /// `true` if the flag is present.
    pub(crate) buggify: bool,
    /// Any number.
    pub(crate) prove: Option<u64>,
    /// Any number.
    pub(crate) why: Option<u64>,
    /// `true` if the flag is present. The strategy must then be in [`SEARCHES`].
    pub(crate) must_prove: bool,
    /// `true` if the flag is present.
    pub(crate) statistics: bool,
    /// `true` if the flag is present: the function is not `async`, and its threads are stepped.
    pub(crate) native: bool,
    /// `true` if the flag is present: a run fails if it leaks memory. Only with `native`.
    pub(crate) leaks: bool,
    /// `true` if the flag is present: the test needs a build that detects data races. Only with `native`.
    pub(crate) races: bool,
    /// `last`, `any` or `late:K`.
    pub(crate) clock: Option<LitStr>,
    pub(crate) cancel: Option<LitStr>,
    pub(crate) progress: Option<LitStr>,
    /// `all` or `default`. Only with `native`.
    pub(crate) points: Option<LitStr>,
    /// `true` if the flag is present. Only with `native`.
    pub(crate) arc: bool,
    /// Some of `timers`, `spurious` and `weak`, or `none`. `timers` only with `native`.
    pub(crate) chances: Option<LitStr>,
    /// `run` or `process`. Only with `native`.
    pub(crate) isolate: Option<LitStr>,
    /// `sc` or `c11`.
    pub(crate) memory: Option<LitStr>,
    /// The path of the library.
    pub(crate) library: Option<Path>,
}

impl Arguments {
    /// Sets a flag. Returns `false` if there is no flag with this name.
    fn set_flag(&mut self, name: &str) -> bool {
        let flag = match name {
            "must_fail" => &mut self.must_fail,
            "coverage" => &mut self.coverage,
            "closure" => &mut self.closure,
            "cancel_selects" => &mut self.cancel_selects,
            "buggify" => &mut self.buggify,
            "must_prove" => &mut self.must_prove,
            "statistics" => &mut self.statistics,
            "arc" => &mut self.arc,
            "native" => &mut self.native,
            "leaks" => &mut self.leaks,
            "races" => &mut self.races,
            _ => return false,
        };
        *flag = true;
        true
    }
}

/// Returns the arguments in `tokens`, and their errors in the order of their positions.
pub(crate) fn parse(tokens: TokenStream) -> (Arguments, Vec<Error>) {
    let mut arguments = Arguments::default();
    let mut errors = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut must_prove = None;
    let mut of_native = Vec::new();
    for part in split(tokens, &mut errors) {
        let result = Argument::parse(part).and_then(|part| {
            part.check(&seen)?;
            seen.push(part.name.clone());
            if OF_NATIVE.contains(&part.name.as_str()) {
                of_native.push((part.span, part.name.clone()));
            }
            if part.name == "must_prove" {
                must_prove = Some(part.span);
            }
            part.store(&mut arguments)
        });
        errors.extend(result.err());
    }
    // `weak` and `spurious` also apply to this library's atomics and condition variables, so they do not need `native`.
    let is_weak = arguments.chances.as_ref().is_some_and(|words| {
        words.value().split(',').all(|word| ["weak", "spurious"].contains(&word.trim()))
    });
    if !arguments.native {
        of_native.retain(|(_, name)| name != "chances" || !is_weak);
        errors.extend(of_native.into_iter().map(|(span, name)| {
            let write = form(&name);
            Error::new(
                span,
                format!("`{name}` is about plain threads: write {write}, or leave it out"),
            )
        }));
    }
    // Errors of the strategy itself were already reported.
    let strategy_is_wrong =
        seen.iter().any(|name| name == "strategy") && arguments.strategy.is_none();
    if let (Some(span), false) = (must_prove, strategy_is_wrong) {
        errors.extend(cannot_prove(arguments.strategy.as_ref()).map(|why| Error::new(span, why)));
    }
    (arguments, errors)
}

/// Returns the reason why a test with this strategy can prove nothing; `None` if it can.
fn cannot_prove(strategy: Option<&LitStr>) -> Option<String> {
    let write = "write `strategy = \"exhaustive\"`";
    let Some(strategy) = strategy else {
        return Some(format!("`must_prove` needs a strategy that can prove something: {write}"));
    };
    let strategy = strategy.value();
    let name = strategy.split_once(':').map_or(&*strategy, |(name, _)| name);
    let is_search = SEARCHES.iter().any(|(search, _)| *search == name);
    (!is_search).then(|| {
        let searches = SEARCHES.map(|(name, _)| format!("`{name}`")).join(", ");
        format!("`must_prove` together with the strategy `{strategy}`: only searches prove something, {searches}; {write}")
    })
}

/// Splits at the commas; a trailing comma is allowed.
fn split(tokens: TokenStream, errors: &mut Vec<Error>) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                if parts.last().is_some_and(Vec::is_empty) {
                    errors.push(Error::new(punct.span(), "expected an argument before this comma"));
                } else {
                    parts.push(Vec::new());
                }
            }
            _ => parts.last_mut().expect("starts with one and only grows").push(token),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// An argument: a name, alone or with `= value`.
struct Argument {
    name: String,
    span: Span,
    /// The tokens after `=`; `None` without `=`.
    value: Option<TokenStream>,
}

impl Argument {
    fn parse(tokens: Vec<TokenTree>) -> Result<Argument, Error> {
        let whole = || tokens.iter().cloned().collect::<TokenStream>();
        let name = match &tokens[0] {
            TokenTree::Ident(name) => name,
            token => return Err(Error::new_spanned(whole(), nameless(token))),
        };
        let text = name.unraw().to_string();
        let value = match &tokens[1..] {
            [] => None,
            [TokenTree::Punct(equals), value @ ..] if equals.as_char() == '=' => {
                let next = value.windows(2).find_map(|pair| match pair {
                    [TokenTree::Ident(name), TokenTree::Punct(p)] if p.as_char() == '=' => {
                        Some(name)
                    }
                    _ => None,
                });
                if let Some(next) = next {
                    return Err(Error::new(next.span(), format!("expected `,` before `{next}`")));
                }
                Some(value.iter().cloned().collect())
            }
            // Checked before the value, because a wrong name is the first error.
            _ if !NAMES.contains(&text.as_str()) => return Err(unknown(name, &text)),
            [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
                return Err(Error::new_spanned(whole(), format!("write {}", form(&text))));
            }
            [after, ..] => {
                let message = format!("expected `,` or `=` after `{text}`: write {}", form(&text));
                return Err(Error::new(after.span(), message));
            }
        };
        if !NAMES.contains(&text.as_str()) {
            return Err(unknown(name, &text));
        }
        Ok(Argument { name: text, span: name.span(), value })
    }

    /// Checks that this argument may follow the arguments in `seen`.
    fn check(&self, seen: &[String]) -> Result<(), Error> {
        if seen.contains(&self.name) {
            return Err(Error::new(self.span, format!("`{}` is given twice", self.name)));
        }
        for (a, b, reason) in CONFLICTS {
            for (this, other) in [(a, b), (b, a)] {
                if self.name == this && seen.iter().any(|name| name == other) {
                    let message = format!("`{this}` together with `{other}`: {reason}");
                    return Err(Error::new(self.span, message));
                }
            }
        }
        Ok(())
    }

    /// Stores the value in its field.
    fn store(self, arguments: &mut Arguments) -> Result<(), Error> {
        let name = self.name.as_str();
        let value = match (self.value, name) {
            (None, name) if arguments.set_flag(name) => return Ok(()),
            (Some(value), name) if name != "must_fail" && Arguments::default().set_flag(name) => {
                let message = format!("`{name}` takes no value: write `{name}`, or leave it out");
                return Err(error_at(&value, self.span, &message));
            }
            (Some(value), _) if !value.is_empty() => value,
            _ => {
                let message = format!("`{name}` needs a value: write {}", form(name));
                return Err(Error::new(self.span, message));
            }
        };
        match name {
            "seeds" => arguments.seeds = Some(value::integer(name, &value, 1, u64::MAX)?),
            "seed" => arguments.seed = Some(value::integer(name, &value, 0, u64::MAX)?),
            "max_steps" => {
                let steps = value::integer(name, &value, 1, u32::MAX.into())?;
                arguments.max_steps = Some(u32::try_from(steps).expect("checked to be in range"));
            }
            "prove" => arguments.prove = Some(value::integer(name, &value, 0, u64::MAX)?),
            "why" => arguments.why = Some(value::integer(name, &value, 0, u64::MAX)?),
            "time" => arguments.time_ms = Some(value::milliseconds(name, &value)?),
            "hang" => arguments.hang_ms = Some(value::milliseconds(name, &value)?),
            "limit" => arguments.limit_ms = Some(value::milliseconds(name, &value)?),
            "strategy" => arguments.strategy = Some(value::strategy(name, &value)?),
            "clock" => {
                let known = ["last", "any"];
                arguments.clock = Some(value::one_of_or_counted(name, &value, &known, "late")?);
            }
            "cancel" => arguments.cancel = Some(value::text(name, &value)?),
            "progress" => {
                let known = ["lock-free", "obstruction-free", "wait-free"];
                let value = value::one_of_or_counted(name, &value, &known, "wait-free")?;
                arguments.progress = Some(value);
            }
            "points" => arguments.points = Some(value::one_of(name, &value, &["all", "default"])?),
            "chances" => arguments.chances = Some(value::some_of(name, &value)?),
            "isolate" => {
                arguments.isolate = Some(value::one_of(name, &value, &["process", "run"])?);
            }
            "memory" => arguments.memory = Some(value::one_of(name, &value, &["c11", "sc"])?),
            "must_fail" => arguments.must_fail_with = Some(value::text(name, &value)?),
            "replay" => arguments.replay = Some(value::text(name, &value)?),
            "crate" => arguments.library = Some(value::path(name, &value)?),
            _ => unreachable!("every name in NAMES has an arm, and no other gets here"),
        }
        Ok(())
    }
}

fn unknown(name: &Ident, text: &str) -> Error {
    let message = match suggest(text, &NAMES) {
        Some(known) => format!("unknown argument `{text}`; did you mean `{known}`?"),
        None => format!("unknown argument `{text}`; there are `{}`", NAMES.join("`, `")),
    };
    Error::new(name.span(), message)
}

/// Returns the error text for an argument that does not start with a name.
fn nameless(token: &TokenTree) -> String {
    let meant = match token {
        TokenTree::Literal(literal) if literal.to_string().starts_with('"') => "strategy",
        _ => "seeds",
    };
    format!("expected the name of an argument, such as {}", form(meant))
}

/// Returns an error at the tokens, or at `span` if there are no tokens.
fn error_at(tokens: &TokenStream, span: Span, message: &str) -> Error {
    if tokens.is_empty() {
        Error::new(span, message)
    } else {
        Error::new_spanned(tokens.to_token_stream(), message)
    }
}

#[cfg(test)]
mod tests;
