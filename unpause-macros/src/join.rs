//! `join!` and `try_join!`: parses the futures, and writes a future that polls them.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Result, Token};

use crate::select::{biased, library, named};

/// The macro that is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `join!`, which returns all outputs.
    Join,
    /// `try_join!`, which returns all values, or the first error.
    TryJoin,
}

/// The input: the path of the library, and the futures.
struct Join {
    library: TokenStream,
    biased: bool,
    futures: Punctuated<Expr, Token![,]>,
}

impl Parse for Join {
    fn parse(input: ParseStream<'_>) -> Result<Join> {
        let library = library(input)?;
        let biased = biased(input)?;
        let mut futures = Punctuated::new();
        while !input.is_empty() {
            futures.push_value(input.parse()?);
            if input.is_empty() {
                break;
            }
            if !input.peek(Token![,]) {
                return Err(input.error("write a comma between two futures"));
            }
            futures.push_punct(input.parse()?);
        }
        Ok(Join { library, biased, futures })
    }
}

/// Returns the expansion of the macro with the input `input`.
pub(crate) fn expand(input: TokenStream, kind: Kind) -> TokenStream {
    match syn::parse2::<Join>(input) {
        Ok(join) => join.expansion(kind),
        Err(error) => error.to_compile_error(),
    }
}

impl Join {
    fn expansion(self, kind: Kind) -> TokenStream {
        let Join { library, biased, futures } = self;
        let ours = Span::mixed_site();
        let count = futures.len();
        let names = named("future", count);
        let made = futures.iter();
        // These spans report an expression that is not a future, or has no `Result`, at its own
        // position.
        let places: Vec<Span> = futures.iter().map(|made| ours.located_at(made.span())).collect();
        // In reverse order, so that the first future is dropped first.
        let pinned = names.iter().zip(&places).rev().map(|(name, place)| {
            let later = match kind {
                Kind::Join => quote_spanned!(*place=> join_later),
                Kind::TryJoin => quote_spanned!(*place=> try_join_later),
            };
            quote_spanned! {*place=>
                let mut #name = ::core::pin::pin!(#library::__private::#later(#name));
            }
        });
        let polled = names.iter().enumerate().map(|(at, name)| match kind {
            Kind::Join => {
                quote_spanned! {ours=> #at => #library::__private::poll(#name.as_mut(), context), }
            }
            Kind::TryJoin => quote_spanned! {ours=>
                #at => match #library::__private::try_poll(#name.as_mut(), context) {
                    ::core::task::Poll::Pending => ::core::task::Poll::Pending,
                    ::core::task::Poll::Ready(::core::result::Result::Ok(())) => {
                        ::core::task::Poll::Ready(())
                    }
                    ::core::task::Poll::Ready(::core::result::Result::Err(error)) => {
                        return ::core::task::Poll::Ready(::core::result::Result::Err(error));
                    }
                },
            },
        });
        let all = match kind {
            Kind::Join => {
                quote_spanned! {ours=> (#(#library::__private::take(#names.as_mut()),)*) }
            }
            Kind::TryJoin => quote_spanned! {ours=>
                ::core::result::Result::Ok((#(#library::__private::take_value(#names.as_mut()),)*))
            },
        };
        quote_spanned! {ours=> {
            let (#(#names,)*) = (#(#made,)*);
            #(#pinned)*
            let mut branches = #library::__private::Branches::<#count>::join(#biased);
            let output = ::core::future::poll_fn(|context| {
                branches.begin();
                while let ::core::option::Option::Some(branch) = branches.next() {
                    let polled: ::core::task::Poll<()> = match branch {
                        #(#polled)*
                        _ => ::core::unreachable!("there are fewer branches"),
                    };
                    match polled {
                        ::core::task::Poll::Pending => branches.waits(),
                        ::core::task::Poll::Ready(()) => branches.ended(),
                    }
                }
                match branches.finish() {
                    ::core::task::Poll::Pending => ::core::task::Poll::Pending,
                    ::core::task::Poll::Ready(()) => ::core::task::Poll::Ready(#all),
                }
            })
            .await;
            output
        }}
    }
}
