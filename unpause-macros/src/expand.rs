//! Writes the test: a call of the library with the place, the arguments and the body. If there are errors, writes the
//! errors and a function that only type-checks the body.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, FnArg, ReturnType};

use crate::arguments::{self, Arguments};
use crate::function::Function;

/// Returns the expansion of the attribute with the tokens `attribute` on the item `item`.
pub(crate) fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    test_named(OURS, attribute, item, TokenStream::new(), Vec::new())
}

/// Like [`test()`], for an attribute that users write as `name`. `added` contains further arguments of the library
/// call, each followed by a comma. `errors` contains earlier errors.
pub(crate) fn test_named(
    name: &str,
    attribute: TokenStream,
    item: TokenStream,
    added: TokenStream,
    mut errors: Vec<Error>,
) -> TokenStream {
    let (arguments, more) = arguments::parse(attribute);
    errors.extend(more);
    let function = match Function::parse(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            errors.push(error);
            let errors = errors.iter().map(|error| renamed(error, name));
            return quote!(#(#errors)* #item);
        }
    };
    errors.extend(function.check(arguments.native));
    if errors.is_empty() {
        accepted(&arguments, &function, &added)
    } else {
        refused(function, &errors, arguments.native, name)
    }
}

/// The name of the attribute in its errors.
const OURS: &str = "#[sim::test]";

/// Returns the error with `name` as the attribute name.
fn renamed(error: &Error, name: &str) -> TokenStream {
    match name {
        // The original error has the span of all of its tokens, which a new error would lose.
        OURS => error.to_compile_error(),
        _ => Error::new(error.span(), error.to_string().replace(OURS, name)).to_compile_error(),
    }
}

/// Returns the code of the test.
fn accepted(arguments: &Arguments, function: &Function, added: &TokenStream) -> TokenStream {
    let Function { attributes, visibility, signature, body } = function;
    let (fn_token, name) = (&signature.fn_token, &signature.ident);

    let library = match &arguments.library {
        Some(path) => path.to_token_stream(),
        None => quote!(::sim),
    };
    let text = name.unraw().to_string();
    // These tokens have exactly the span of the name, because `line!()` returns the line of its outermost macro call.
    // With a span of this expansion, that would be the line of the attribute.
    let file = quote_spanned!(name.span()=> ::core::file!());
    let line = quote_spanned!(name.span()=> ::core::line!());

    // The call has the span of the return type, so that an unsupported type is reported there. The compiler does so
    // only if the whole call has a span of user code. All other tokens have the hygiene of the expansion, so that lints
    // recognize generated code.
    let place = match &signature.output {
        ReturnType::Default => name.span(),
        ReturnType::Type(_, output) => output.span(),
    };
    let ours = Span::call_site().located_at(place);
    let output = match &signature.output {
        // The type is written out, because for a body that only panics, it would be inferred as `!`.
        ReturnType::Default => quote_spanned!(ours=> -> ()),
        written => written.to_token_stream(),
    };
    let closure = match arguments.native {
        false => quote_spanned!(ours=> async || #output #body),
        true => quote_spanned!(ours=> || #output #body),
    };
    let entry = match arguments.native {
        false => quote_spanned!(place=> __sim::test),
        true => quote_spanned!(place=> __sim::test_native),
    };
    // A build without instrumentation cannot step threads, so the harness lists the test as ignored, with the command.
    // If the user ignores the test, it has this attribute already.
    let ignored = if attributes.iter().any(|attribute| attribute.path().is_ident("ignore")) {
        None
    } else if arguments.races && !searches_races() {
        Some(quote!(#[ignore = "searches data races: run it with `cargo unpause test --races`"]))
    } else if arguments.native && !is_instrumented() {
        Some(quote!(#[ignore = "steps plain threads: run it with `cargo unpause test`"]))
    } else {
        None
    };

    let seeds = option(arguments.seeds, quote!(::core::primitive::u64));
    let seed = option(arguments.seed, quote!(::core::primitive::u64));
    let strategy = option(arguments.strategy.as_ref(), quote!(&'static ::core::primitive::str));
    let max_steps = option(arguments.max_steps, quote!(::core::primitive::u32));
    let time_ms = option(arguments.time_ms, quote!(::core::primitive::u64));
    let hang_ms = option(arguments.hang_ms, quote!(::core::primitive::u64));
    let limit_ms = option(arguments.limit_ms, quote!(::core::primitive::u64));
    let replay = option(arguments.replay.as_ref(), quote!(&'static ::core::primitive::str));
    let must_fail = arguments.must_fail || arguments.must_fail_with.is_some();
    let must_fail_with =
        option(arguments.must_fail_with.as_ref(), quote!(&'static ::core::primitive::str));
    let coverage = arguments.coverage;
    let history_closure = arguments.closure;
    let cancel_selects = arguments.cancel_selects;
    let buggify = arguments.buggify;
    let prove = option(arguments.prove, quote!(::core::primitive::u64));
    let why = option(arguments.why, quote!(::core::primitive::u64));
    let must_prove = arguments.must_prove;
    let statistics = arguments.statistics;
    let leaks = arguments.leaks;
    let points = option(arguments.points.as_ref(), quote!(&'static ::core::primitive::str));
    let clock = option(arguments.clock.as_ref(), quote!(&'static ::core::primitive::str));
    let cancel = option(arguments.cancel.as_ref(), quote!(&'static ::core::primitive::str));
    let progress = option(arguments.progress.as_ref(), quote!(&'static ::core::primitive::str));
    let arc = arguments.arc;
    let chances = option(arguments.chances.as_ref(), quote!(&'static ::core::primitive::str));
    let isolate = option(arguments.isolate.as_ref(), quote!(&'static ::core::primitive::str));
    let memory = option(arguments.memory.as_ref(), quote!(&'static ::core::primitive::str));

    let handed = quote! {
        __sim::Site {
            test: ::core::concat!(::core::module_path!(), "::", #text),
            package: ::core::env!("CARGO_PKG_NAME"),
            version: ::core::env!("CARGO_PKG_VERSION"),
            manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
            file: #file,
            line: #line,
            // Cargo sets these variables for the compiler, depending on the target.
            binary: ::core::option_env!("CARGO_BIN_NAME"),
            integration: ::core::option::Option::is_some(
                &::core::option_env!("CARGO_TARGET_TMPDIR")
            ),
        },
        __sim::Attributes {
            seeds: #seeds,
            seed: #seed,
            strategy: #strategy,
            max_steps: #max_steps,
            time_ms: #time_ms,
            hang_ms: #hang_ms,
            limit_ms: #limit_ms,
            replay: #replay,
            must_fail: #must_fail,
            must_fail_with: #must_fail_with,
            coverage: #coverage,
            closure: #history_closure,
            prove: #prove,
            why: #why,
            must_prove: #must_prove,
            statistics: #statistics,
            leaks: #leaks,
            clock: #clock,
            cancel: #cancel,
            cancel_selects: #cancel_selects,
            buggify: #buggify,
            progress: #progress,
            points: #points,
            arc: #arc,
            chances: #chances,
            isolate: #isolate,
            memory: #memory,
        },
        #added
        #closure,
    };
    let call = quote_spanned!(place=> #entry(#handed));

    quote! {
        #[::core::prelude::v1::test]
        #ignored
        #(#attributes)*
        #visibility #fn_token #name() {
            // The library is imported once, so that a missing library causes one error and not three.
            use #library::__private as __sim;
            #call
        }
    }
}

/// Returns `true` if `cargo unpause test` compiles the program. The command sets this variable for the compiler.
fn is_instrumented() -> bool {
    std::env::var_os("UNPAUSE_NATIVE").is_some()
}

/// Returns `true` if `cargo unpause test --races` compiles the program.
fn searches_races() -> bool {
    std::env::var_os("UNPAUSE_RACES").is_some()
}

/// Returns an `Option` as an expression.
pub(crate) fn option(value: Option<impl ToTokens>, of: TokenStream) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None::<#of>),
    }
}

/// Returns the errors, and the function as an ordinary `async fn` without the rejected parts. So the compiler also
/// reports errors in the body, but no further errors.
///
/// The errors are placed in the body. There they disappear together with a function that `#[cfg]` removes, and they are
/// also allowed in a method of an `impl`.
fn refused(function: Function, errors: &[Error], native: bool, name: &str) -> TokenStream {
    let errors = errors.iter().map(|error| renamed(error, name));
    let uses_self = function.uses_self();
    let Function { mut attributes, visibility, mut signature, body } = function;

    attributes.retain(|attribute| {
        !Function::makes_a_test(attribute) && !Function::makes_arguments(attribute)
    });
    signature.constness = None;
    if !native {
        signature.asyncness = signature.asyncness.or(Some(Default::default()));
    }
    signature.safety = syn::Safety::Default;
    signature.abi = None;
    signature.inputs = signature
        .inputs
        .into_iter()
        .filter(|input| match input {
            // Outside of an `impl`, a receiver would be a further error. Inside an `impl`, a body that uses `self`
            // needs it.
            FnArg::Receiver(_) => uses_self,
            FnArg::Typed(_) => true,
        })
        .map(|mut input| {
            // Removes attributes such as `#[case]`, which only `#[rstest]` accepts.
            match &mut input {
                FnArg::Receiver(receiver) => receiver.attrs.clear(),
                FnArg::Typed(typed) => typed.attrs.clear(),
            }
            input
        })
        .collect();

    quote! {
        #(#attributes)*
        #[allow(dead_code)]
        #visibility #signature {
            #(#errors)*
            #body
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the expansion as text, with the spaces of the token printer.
    fn expansion(attribute: TokenStream, item: TokenStream) -> String {
        test(attribute, item).to_string()
    }

    #[test]
    fn the_expansion_is_the_contract_with_the_library() {
        let found = expansion(
            quote!(
                seeds = 100,
                strategy = "random",
                max_steps = 9,
                time = "2m",
                hang = "30s",
                must_fail,
                coverage,
                closure,
                prove = 5,
                why = 7,
                statistics,
                crate = crate::stub
            ),
            quote! {
                /// The expected expansion.
                #[should_panic]
                pub(crate) async fn name() -> Result<(), E> { work().await? }
            },
        );
        let expected = quote! {
            #[::core::prelude::v1::test]
            /// The expected expansion.
            #[should_panic]
            pub(crate) fn name() {
                use crate::stub::__private as __sim;
                __sim::test(
                    __sim::Site {
                        test: ::core::concat!(::core::module_path!(), "::", "name"),
                        package: ::core::env!("CARGO_PKG_NAME"),
                        version: ::core::env!("CARGO_PKG_VERSION"),
                        manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                        file: ::core::file!(),
                        line: ::core::line!(),
                        binary: ::core::option_env!("CARGO_BIN_NAME"),
                        integration: ::core::option::Option::is_some(
                            &::core::option_env!("CARGO_TARGET_TMPDIR")
                        ),
                    },
                    __sim::Attributes {
                        seeds: ::core::option::Option::Some(100u64),
                        seed: ::core::option::Option::None::<::core::primitive::u64>,
                        strategy: ::core::option::Option::Some("random"),
                        max_steps: ::core::option::Option::Some(9u32),
                        time_ms: ::core::option::Option::Some(120000u64),
                        hang_ms: ::core::option::Option::Some(30000u64),
                        limit_ms: ::core::option::Option::None::<::core::primitive::u64>,
                        replay: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        must_fail: true,
                        must_fail_with: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        coverage: true,
                        closure: true,
                        prove: ::core::option::Option::Some(5u64),
                        why: ::core::option::Option::Some(7u64),
                        must_prove: false,
                        statistics: true,
                        leaks: false,
                        clock: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        cancel: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        cancel_selects: false,
                        buggify: false,
                        progress: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        points: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        arc: false,
                        chances: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        isolate: ::core::option::Option::None::<&'static ::core::primitive::str>,
                        memory: ::core::option::Option::None::<&'static ::core::primitive::str>,
                    },
                    async || -> Result<(), E> { work().await? },
                )
            }
        };
        assert_eq!(found, expected.to_string());
    }

    #[test]
    fn the_library_is_sim_and_the_body_returns_unit_unless_told_otherwise() {
        let found = expansion(
            quote!(),
            quote!(
                async fn r#loop() {
                    work().await
                }
            ),
        );
        assert!(
            found.contains(
                &quote!(
                    use ::sim::__private as __sim;
                )
                .to_string()
            )
        );
        assert!(found.contains(&quote!("::", "loop").to_string()));
        assert!(found.contains(&quote!(async || -> () { work().await }).to_string()));
    }

    #[test]
    fn a_test_of_plain_threads_is_ignored_by_one_attribute() {
        let ignored = |item: TokenStream| expansion(quote!(native), item).matches("ignore").count();
        let own = ignored(quote!(
            #[ignore = "slow"]
            fn f() {}
        ));
        assert_eq!(own, 1);
        let none = ignored(quote!(
            fn f() {}
        ));
        assert_eq!(none, usize::from(!is_instrumented()));
    }

    #[test]
    fn attributes_inside_the_body_move_to_the_function() {
        let found = expansion(
            quote!(),
            quote!(
                async fn f() {
                    #![allow(unused)]
                    let x = 1;
                }
            ),
        );
        assert!(found.contains(&quote!(#[allow(unused)] fn f()).to_string()));
        assert!(
            found.contains(
                &quote!(async || -> () {
                    let x = 1;
                })
                .to_string()
            )
        );
    }

    #[test]
    fn a_refused_test_keeps_its_body_and_loses_what_was_refused() {
        let found = expansion(
            quote!(sedes = 1),
            quote!(
                #[rstest]
                #[test]
                unsafe extern "C" fn f(#[case] x: u32) -> u32 {
                    x
                }
            ),
        );
        let errors = found.matches("compile_error").count();
        assert_eq!(errors, 6);
        let start = quote!(#[allow(dead_code)] async fn f(x: u32) -> u32).to_string();
        assert!(found.starts_with(&start), "{found}");
        assert!(found.ends_with("{ x } }"), "{found}");
    }

    #[test]
    fn an_item_that_is_no_function_is_left_as_it_is() {
        let found = expansion(
            quote!(),
            quote!(
                pub struct S;
            ),
        );
        assert!(
            found.ends_with(
                &quote!(
                    pub struct S;
                )
                .to_string()
            )
        );
        assert_eq!(found.matches("compile_error").count(), 1);
    }
}
