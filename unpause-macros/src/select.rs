//! `select!`: parses the branches, and writes a future that polls them.
//!
//! The grammar is tokio's. The futures are dropped in source order before a handler begins.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, Expr, Pat, Result, Token, parenthesized, token};

/// The input: the path of the library, and the branches.
struct Select {
    library: TokenStream,
    biased: bool,
    branches: Vec<Branch>,
    /// The handler of `else`.
    otherwise: Option<Expr>,
}

/// A branch: `pattern = future, if condition => handler`.
struct Branch {
    pattern: Pat,
    future: Expr,
    condition: Option<Expr>,
    handler: Expr,
}

/// Returns the expansion of `select!` with the input `input`.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    match syn::parse2::<Select>(input) {
        Ok(select) => select.expansion(),
        Err(error) => error.to_compile_error(),
    }
}

/// Parses the library path in parentheses.
pub(crate) fn library(input: ParseStream<'_>) -> Result<TokenStream> {
    let library;
    parenthesized!(library in input);
    library.parse()
}

/// Parses `biased;`.
pub(crate) fn biased(input: ParseStream<'_>) -> Result<bool> {
    let ahead = input.fork();
    let is_biased = ahead.call(Ident::parse_any).is_ok_and(|word| word == "biased");
    if !is_biased || !ahead.peek(Token![;]) {
        return Ok(false);
    }
    input.call(Ident::parse_any)?;
    input.parse::<Token![;]>()?;
    Ok(true)
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> Result<Select> {
        let library = library(input)?;
        let biased = biased(input)?;
        let mut select = Select { library, biased, branches: Vec::new(), otherwise: None };
        while !input.is_empty() {
            if input.peek(Token![else]) {
                select.otherwise = Some(otherwise(input)?);
                break;
            }
            select.branches.push(input.parse()?);
        }
        if select.branches.is_empty() && select.otherwise.is_none() {
            let message = "`select!` has no branch: write `pattern = future => handler`";
            return Err(Error::new(Span::call_site(), message));
        }
        Ok(select)
    }
}

/// Parses `else => handler`, which comes last.
fn otherwise(input: ParseStream<'_>) -> Result<Expr> {
    let word: Token![else] = input.parse()?;
    if !input.peek(Token![=>]) {
        return Err(Error::new(word.span, "`else` has no condition: write `else => handler`"));
    }
    input.parse::<Token![=>]>()?;
    let handler = handler(input)?;
    match input.is_empty() {
        true => Ok(handler),
        false => Err(Error::new(word.span, "`else` must be the last branch: move it to the end")),
    }
}

impl Parse for Branch {
    fn parse(input: ParseStream<'_>) -> Result<Branch> {
        let start = input.span();
        let ahead = input.fork();
        if biased(&ahead)? {
            return Err(Error::new(start, "`biased;` must come before the branches"));
        }
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        let is_arrow = input.peek(Token![=>]) || input.peek(Token![==]);
        if is_arrow || !input.peek(Token![=]) {
            let message =
                "a branch begins with `pattern = future`: write `_ = future` to ignore the value";
            return Err(Error::new(start, message));
        }
        input.parse::<Token![=]>()?;
        let future = input.parse()?;
        let condition = condition(input)?;
        if !input.peek(Token![=>]) {
            let message = "a branch needs a handler: write `pattern = future => handler`";
            return Err(Error::new(input.span(), message));
        }
        input.parse::<Token![=>]>()?;
        Ok(Branch { pattern, future, condition, handler: handler(input)? })
    }
}

/// Parses `, if condition`.
fn condition(input: ParseStream<'_>) -> Result<Option<Expr>> {
    if input.peek(Token![if]) {
        return Err(
            input.error("write a comma before `if`: `pattern = future, if condition => handler`")
        );
    }
    if !input.peek(Token![,]) {
        return Ok(None);
    }
    input.parse::<Token![,]>()?;
    if !input.peek(Token![if]) {
        let message = "a future is followed by `=> handler` or by `, if condition => handler`";
        return Err(input.error(message));
    }
    input.parse::<Token![if]>()?;
    input.parse().map(Some)
}

/// Parses a handler and the comma after it. The comma is optional after a block and after the last branch.
fn handler(input: ParseStream<'_>) -> Result<Expr> {
    let (handler, is_block) = match input.peek(token::Brace) {
        true => (Expr::Block(input.parse()?), true),
        false => (input.parse::<Expr>()?, false),
    };
    if input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
    } else if !is_block && !input.is_empty() {
        return Err(input.error("write a comma between two branches, or braces around the handler"));
    }
    Ok(handler)
}

impl Select {
    fn expansion(self) -> TokenStream {
        let Select { library, biased, branches, otherwise } = self;
        // This span is hygienic, so the names below cannot clash with names in handlers.
        let ours = Span::mixed_site();
        if branches.is_empty() {
            return otherwise.to_token_stream();
        }
        let count = branches.len();
        let at: Vec<usize> = (0..count).collect();
        let futures: Vec<Ident> = named("future", count);
        // Items have no hygiene, so this is a name that no handler uses.
        let selected = Ident::new("__SimSelected", ours);
        let variants: Vec<Ident> = named("Branch", count);
        let types: Vec<Ident> = named("Output", count);
        let otherwise = match otherwise {
            Some(handler) => handler.to_token_stream(),
            None => quote_spanned! {ours=>
                ::core::panic!("all branches are disabled and there is no else branch")
            },
        };
        let disable = at.iter().zip(&branches).filter_map(|(at, branch)| {
            let condition = branch.condition.as_ref()?;
            Some(quote_spanned! {ours=>
                let is_enabled: ::core::primitive::bool = #condition;
                if !is_enabled {
                    branches.disable(#at);
                }
            })
        });
        let made = branches.iter().map(|branch| &branch.future);
        // In reverse order, so that the first future is dropped first.
        let pinned = futures.iter().rev().map(|future| {
            quote_spanned! {ours=>
                let mut #future = ::core::pin::pin!(::core::future::IntoFuture::into_future(#future));
            }
        });
        let polled = branches.iter().enumerate().map(|(at, branch)| {
            let (future, variant) = (&futures[at], &variants[at]);
            let shape = shape(&branch.pattern);
            quote_spanned! {ours=>
                #at => match ::core::future::Future::poll(#future.as_mut(), context) {
                    ::core::task::Poll::Pending => branches.waits(),
                    ::core::task::Poll::Ready(output) => {
                        branches.ended();
                        match output {
                            #shape => {
                                return ::core::task::Poll::Ready(#selected::#variant(output));
                            }
                            _ => {}
                        }
                    }
                },
            }
        });
        let patterns = branches.iter().map(|branch| &branch.pattern);
        let handlers = branches.iter().map(|branch| &branch.handler);
        quote_spanned! {ours=> {
            #[doc(hidden)]
            enum #selected<#(#types,)*> {
                #(#variants(#types),)*
                Disabled,
            }
            let mut branches = #library::__private::Branches::<#count>::select(#biased);
            #(#disable)*
            let output = {
                let (#(#futures,)*) = (#(#made,)*);
                #(#pinned)*
                let output = ::core::future::poll_fn(|context| {
                    branches.begin();
                    while let ::core::option::Option::Some(branch) = branches.next() {
                        match branch {
                            #(#polled)*
                            _ => ::core::unreachable!("there are fewer branches"),
                        }
                    }
                    match branches.finish() {
                        ::core::task::Poll::Pending => ::core::task::Poll::Pending,
                        ::core::task::Poll::Ready(()) => {
                            ::core::task::Poll::Ready(#selected::Disabled)
                        }
                    }
                })
                .await;
                output
            };
            match output {
                #(#selected::#variants(#patterns) => #handlers,)*
                #selected::Disabled => #otherwise,
                _ => ::core::unreachable!("a constant in a pattern has a name in lower case"),
            }
        }}
    }
}

/// Returns identifiers with numbers.
pub(crate) fn named(name: &str, count: usize) -> Vec<Ident> {
    (0..count).map(|at| format_ident!("{name}{at}", span = Span::mixed_site())).collect()
}

/// Returns a pattern of the same shape without bindings, so that a match does not move the value.
fn shape(pattern: &Pat) -> Pat {
    let copy = pattern.to_token_stream();
    let mut shape = Pat::parse_multi_with_leading_vert.parse2(copy).expect("it is a pattern");
    forget_bindings(&mut shape);
    shape
}

/// Replaces the bindings of a pattern by wildcards.
///
/// An identifier may be a binding or a constant, such as `None`. The first letter decides, according to the naming
/// rules of the compiler's lints.
fn forget_bindings(pattern: &mut Pat) {
    match pattern {
        Pat::Ident(binding) if is_constant(binding) => {}
        Pat::Ident(binding) => {
            let mut inner = binding.subpat.take().map_or_else(wildcard, |(_, inner)| *inner);
            forget_bindings(&mut inner);
            *pattern = inner;
        }
        Pat::Or(or) => or.cases.iter_mut().for_each(forget_bindings),
        Pat::Paren(paren) => forget_bindings(&mut paren.pat),
        Pat::Reference(reference) => forget_bindings(&mut reference.pat),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(forget_bindings),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(forget_bindings),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(forget_bindings),
        Pat::Type(typed) => forget_bindings(&mut typed.pat),
        Pat::Struct(fields) => {
            for field in &mut fields.fields {
                field.colon_token.get_or_insert_with(Default::default);
                forget_bindings(&mut field.pat);
            }
        }
        _ => {}
    }
}

fn is_constant(binding: &syn::PatIdent) -> bool {
    let is_plain =
        binding.by_ref.is_none() && binding.mutability.is_none() && binding.subpat.is_none();
    let name = binding.ident.unraw().to_string();
    is_plain && name.starts_with(|first: char| first.is_uppercase())
}

fn wildcard() -> Pat {
    let underscore = TokenTree::Ident(Ident::new("_", Span::mixed_site()));
    Pat::Verbatim(TokenStream::from(underscore))
}
