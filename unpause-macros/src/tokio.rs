//! `#[tokio::test]`: tokio's arguments are used for tests that run on tokio. All other arguments are arguments of
//! `#[sim::test]`.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::Parser;
use syn::{Error, LitBool, LitInt, LitStr};

use crate::expand;

/// The number of seeds of a test without seeds. The number is small, because a suite written for tokio has many tests,
/// and expects one run of each test.
const SEEDS: u64 = 100;

/// Arguments that select the runs of a test.
const RUNS: [&str; 4] = ["seeds", "seed", "replay", "strategy"];

/// The arguments of tokio's attribute.
const OF_TOKIO: [&str; 6] =
    ["crate", "flavor", "name", "start_paused", "unhandled_panic", "worker_threads"];

/// The flavors of tokio's attribute.
const FLAVORS: [&str; 3] = ["current_thread", THREADED, "local"];

/// The flavor with several threads.
const THREADED: &str = "multi_thread";

/// The arguments that depend on the flavor. `true` if tokio accepts the argument only with several threads, `false` if
/// only with one thread.
const FITS: [(&str, bool); 3] =
    [("worker_threads", true), ("start_paused", false), ("unhandled_panic", false)];

/// Returns the expansion of the attribute with the tokens `attribute` on the item `item`.
pub(crate) fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let mut library = quote!(::tokio);
    let mut ours = TokenStream::new();
    let mut names_runs = false;
    let mut runtime = Runtime::default();
    let mut given = Vec::new();
    for part in parts(attribute) {
        match take(&part, &mut runtime, &mut given) {
            Ok(Taken::Library(path)) => library = path,
            Ok(Taken::Tokio) => {}
            Ok(Taken::Other(name)) => {
                names_runs |= RUNS.contains(&&*name);
                let part = part.iter().cloned().collect::<TokenStream>();
                ours.extend(quote!(#part,));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        errors = misfits(runtime.flavor.as_ref(), &given);
    }
    if !names_runs {
        ours.extend(quote!(seeds = #SEEDS,));
    }
    ours.extend(quote!(crate = #library));
    let Runtime { name, flavor, worker_threads, start_paused } = runtime;
    let name = expand::option(name, quote!(&'static ::core::primitive::str));
    let flavor = expand::option(flavor, quote!(&'static ::core::primitive::str));
    let worker_threads = expand::option(worker_threads, quote!(::core::primitive::usize));
    let added = quote! {
        __sim::Tokio {
            name: #name,
            flavor: #flavor,
            worker_threads: #worker_threads,
            start_paused: #start_paused,
        },
    };
    expand::test_named("#[tokio::test]", ours, item, added, errors)
}

/// The runtime of a test that runs on tokio.
#[derive(Default)]
struct Runtime {
    name: Option<LitStr>,
    flavor: Option<LitStr>,
    worker_threads: Option<LitInt>,
    start_paused: bool,
}

/// The name of an argument of tokio that was given, and its place.
type Given = (String, Span);

/// Returns an error for each argument that tokio rejects together with this flavor.
fn misfits(flavor: Option<&LitStr>, given: &[Given]) -> Vec<Error> {
    let is_threaded = flavor.is_some_and(|flavor| flavor.value() == THREADED);
    let misfit = |(name, span): &Given| {
        let (_, needs_threads) = FITS.iter().find(|(argument, _)| argument == name)?;
        let message = match (needs_threads, is_threaded) {
            (true, false) => format!("`{name}` needs `flavor = {THREADED:?}`, as in tokio"),
            (false, true) => format!("`{name}` needs a flavor with one thread, as in tokio"),
            _ => return None,
        };
        Some(Error::new(*span, message))
    };
    given.iter().filter_map(misfit).collect()
}

/// Returns the non-empty parts between commas.
fn parts(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(Vec::new()),
            _ => parts.last_mut().expect("starts with one and only grows").push(token),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// One argument.
enum Taken {
    /// An argument of tokio.
    Tokio,
    /// The argument `crate`, with this path.
    Library(TokenStream),
    /// An argument of `#[sim::test]`, with this name; empty if the part does not start with a name.
    Other(String),
}

/// Parses an argument. An argument of tokio is stored in `runtime`, and its name in `given`.
fn take(part: &[TokenTree], runtime: &mut Runtime, given: &mut Vec<Given>) -> Result<Taken, Error> {
    let TokenTree::Ident(name) = &part[0] else { return Ok(Taken::Other(String::new())) };
    let text = name.to_string();
    if OF_TOKIO.contains(&&*text) {
        if given.iter().any(|(name, _)| *name == text) {
            return Err(Error::new(name.span(), format!("`{text}` is given twice")));
        }
        given.push((text.clone(), name.span()));
    }
    let value = || match &part[1..] {
        [TokenTree::Punct(equals), value @ ..] if equals.as_char() == '=' && !value.is_empty() => {
            Ok(value.iter().cloned().collect::<TokenStream>())
        }
        _ => Err(Error::new(name.span(), format!("`{text}` needs a value"))),
    };
    match &*text {
        "flavor" => {
            let flavor = parse::<LitStr>(value()?, name.span(), "a text")?;
            if !FLAVORS.contains(&&*flavor.value()) {
                let known = FLAVORS.map(|flavor| format!("`{flavor:?}`")).join(", ");
                return Err(Error::new(
                    flavor.span(),
                    format!("no such flavor: tokio has {known}"),
                ));
            }
            runtime.flavor = Some(flavor);
            Ok(Taken::Tokio)
        }
        "name" => {
            runtime.name = Some(parse(value()?, name.span(), "a text")?);
            Ok(Taken::Tokio)
        }
        // Only unstable builds of tokio support this argument.
        "unhandled_panic" => parse::<LitStr>(value()?, name.span(), "a text").map(|_| Taken::Tokio),
        "worker_threads" => {
            let threads: LitInt = parse(value()?, name.span(), "a number")?;
            if threads.base10_parse::<u64>().is_ok_and(|threads| threads == 0) {
                return Err(Error::new(threads.span(), "`worker_threads` is a number from 1"));
            }
            runtime.worker_threads = Some(threads);
            Ok(Taken::Tokio)
        }
        "start_paused" => {
            let paused = parse::<LitBool>(value()?, name.span(), "`true` or `false`")?;
            runtime.start_paused = paused.value;
            Ok(Taken::Tokio)
        }
        "crate" => {
            let value = value()?;
            // tokio's form is a path in a string.
            match syn::parse2::<LitStr>(value.clone()) {
                Ok(text) => {
                    let path = text.parse::<syn::Path>()?;
                    Ok(Taken::Library(quote!(#path)))
                }
                Err(_) => Ok(Taken::Library(value)),
            }
        }
        _ => Ok(Taken::Other(text)),
    }
}

/// Parses the value of an argument as a literal of this type. Also looks into a group without delimiters, which comes
/// from a macro.
fn parse<T: syn::parse::Parse>(value: TokenStream, name: Span, form: &str) -> Result<T, Error> {
    let mut tokens = value.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            return parse(group.stream(), name, form);
        }
        _ => {}
    }
    let wrong = |_| Error::new(name, format!("the value of this argument is {form}"));
    T::parse.parse2(value).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(attribute: TokenStream) -> String {
        test(
            attribute,
            quote!(
                async fn name() {}
            ),
        )
        .to_string()
    }

    #[test]
    fn tokios_arguments_are_handed_on_and_the_seeds_are_few() {
        let plain = expansion(quote!());
        assert!(
            plain.contains(
                &quote!(
                    use ::tokio::__private as __sim;
                )
                .to_string()
            ),
            "{plain}"
        );
        let seeds = quote!(seeds: ::core::option::Option::Some(100u64)).to_string();
        assert!(plain.contains(&seeds), "{plain}");
        assert!(plain.contains("start_paused : false"), "{plain}");
        let tokios =
            expansion(quote!(flavor = "multi_thread", worker_threads = 2, name = "of the test"));
        let expected = quote! {
            __sim::Tokio {
                name: ::core::option::Option::Some("of the test"),
                flavor: ::core::option::Option::Some("multi_thread"),
                worker_threads: ::core::option::Option::Some(2),
                start_paused: false,
            },
            async || -> () {},
        };
        assert!(tokios.contains(&expected.to_string()), "{tokios}");
        assert!(tokios.contains(&seeds), "{tokios}");
        let paused = expansion(quote!(start_paused = true, unhandled_panic = "ignore",));
        assert!(paused.contains("start_paused : true"), "{paused}");
    }

    #[test]
    fn the_other_arguments_are_those_of_the_library() {
        let search =
            expansion(quote!(flavor = "current_thread", strategy = "exhaustive", must_prove));
        assert!(search.contains("must_prove : true"), "{search}");
        assert!(!search.contains("100u64"), "{search}");
        assert!(expansion(quote!(seeds = 7)).contains("7u64"));
    }

    #[test]
    fn the_library_is_named_as_a_text_or_a_path() {
        let expected = quote!(
            use crate::renamed::__private as __sim;
        )
        .to_string();
        assert!(expansion(quote!(crate = "crate::renamed")).contains(&expected));
        assert!(expansion(quote!(crate = crate::renamed)).contains(&expected));
    }

    #[test]
    fn an_argument_that_is_given_twice_is_an_error() {
        for twice in [
            quote!(flavor = "local", flavor = "local"),
            quote!(flavor = "multi_thread", worker_threads = 1, worker_threads = 2),
            quote!(start_paused = true, start_paused = true),
            quote!(unhandled_panic = "ignore", unhandled_panic = "ignore"),
            quote!(name = "a", name = "b"),
            quote!(crate = "a", crate = "b"),
            quote!(seeds = 1, seeds = 2),
        ] {
            let found = expansion(twice);
            assert_eq!(found.matches("compile_error").count(), 1, "{found}");
            assert!(found.contains("is given twice"), "{found}");
        }
    }

    #[test]
    fn arguments_that_tokio_rejects_for_a_flavor_are_errors() {
        for (attribute, part) in [
            (quote!(worker_threads = 2), "needs `flavor ="),
            (quote!(flavor = "local", worker_threads = 2), "needs `flavor ="),
            (quote!(flavor = "multi_thread", start_paused = true), "with one thread"),
            (quote!(flavor = "multi_thread", unhandled_panic = "ignore"), "with one thread"),
        ] {
            let found = expansion(attribute);
            assert_eq!(found.matches("compile_error").count(), 1, "{found}");
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn wrong_arguments_are_errors() {
        let errors = |attribute| expansion(attribute).matches("compile_error").count();
        assert_eq!(errors(quote!(flavor = "multi_threads")), 1);
        assert_eq!(errors(quote!(flavor = 1)), 1);
        assert_eq!(errors(quote!(worker_threads = "2", start_paused)), 2);
        assert_eq!(errors(quote!(crate = "a b")), 1);
        assert_eq!(errors(quote!(sedes = 1)), 1);
        assert_eq!(errors(quote!(flavor = "multi_thread", worker_threads = 0)), 1);
        let refused = test(
            quote!(),
            quote!(
                fn name() {}
            ),
        )
        .to_string();
        assert!(refused.contains("`#[tokio::test]` needs an `async fn`"), "{refused}");
    }
}
