//! The function under the attribute: its parts, and the reasons why it cannot be a test.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{AttrStyle, Attribute, Error, FnArg, Safety, Signature, Visibility};

/// An `async fn`, or a function that should be `async`.
pub(crate) struct Function {
    /// All attributes except the attribute being expanded. Attributes from inside the body come last.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// The body with its braces. The body is not parsed, so that the compiler reports errors in the body, and a large
    /// body costs no time here.
    pub(crate) body: Group,
}

impl Function {
    /// # Errors
    ///
    /// If the item is not a function with a body.
    pub(crate) fn parse(item: TokenStream) -> Result<Function, Error> {
        parts.parse2(item)
    }

    /// Returns all reasons why the function cannot be a test, in source order. A `native` test is not `async`.
    pub(crate) fn check(&self, native: bool) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut refuse = |at: &dyn ToTokens, message: &str| {
            errors.push(Error::new_spanned(at.to_token_stream(), message));
        };
        for attribute in self.attributes.iter().filter(|it| Function::makes_a_test(it)) {
            refuse(attribute, "a second test attribute, the test would run twice: remove it");
        }
        // Reports only the first attribute: once it is moved above, this attribute no longer sees the remaining
        // attributes.
        let misplaced = self.attributes.iter().find(|it| Function::makes_arguments(it));
        if let Some(attribute) = misplaced {
            let name = last_word(attribute).map(|word| word.to_string()).unwrap_or_default();
            let message = format!("`#[{name}]` must come before `#[sim::test]`: move it above");
            refuse(attribute, &message);
        }

        let signature = &self.signature;
        if let Some(constness) = &signature.constness {
            refuse(constness, "a test cannot be `const`");
        }
        if let Safety::Unsafe(unsafety) = &signature.safety {
            refuse(unsafety, "a test cannot be `unsafe`; put an `unsafe` block into its body");
        }
        if let Some(abi) = &signature.abi {
            refuse(abi, "a test cannot be `extern`");
        }
        match &signature.asyncness {
            None if !native => {
                refuse(
                    &signature.fn_token,
                    "`#[sim::test]` needs an `async fn`: write `async fn`, or `native` to step plain threads",
                );
            }
            Some(asyncness) if native => {
                refuse(asyncness, "`native` steps plain threads: remove `async`, or `native`");
            }
            _ => {}
        }
        if !signature.generics.params.is_empty() {
            refuse(&signature.generics, "a test cannot be generic: remove the generic parameters");
        }
        if let Some(where_clause) = &signature.generics.where_clause {
            refuse(where_clause, "a test cannot have a `where` clause");
        }
        if let Some(receiver) = signature.receiver() {
            refuse(receiver, "a test cannot have a `self`: make it a free function");
        }
        let typed: Vec<_> =
            signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).collect();
        if let ([first, ..], None) = (&typed[..], misplaced) {
            let mut all = first.to_token_stream();
            all.extend(typed[1..].iter().map(ToTokens::to_token_stream));
            refuse(
                &all,
                "a test has no arguments\n\
                 to run it for several cases, use `#[rstest]` or `#[test_case]`, which must come \
                 before `#[sim::test]`",
            );
        }
        if let Some(word) = find(signature.output.to_token_stream(), &["impl"]) {
            refuse(&word, "a test cannot return `impl Trait`: name the type");
        }
        errors
    }

    /// Returns `true` if the body contains `self` or `Self`.
    pub(crate) fn uses_self(&self) -> bool {
        find(self.body.stream(), &["self", "Self"]).is_some()
    }

    /// Returns `true` if the attribute turns a function into a test: `#[test]`, `#[tokio::test]` and so on.
    pub(crate) fn makes_a_test(attribute: &Attribute) -> bool {
        last_word(attribute).is_some_and(|word| word == "test")
    }

    /// Returns `true` if the attribute calls the function with arguments.
    pub(crate) fn makes_arguments(attribute: &Attribute) -> bool {
        last_word(attribute).is_some_and(|word| {
            ["rstest", "case", "test_case", "test_matrix"].iter().any(|other| word == other)
        })
    }
}

/// Splits an item into its parts.
fn parts(input: ParseStream) -> Result<Function, Error> {
    let mut attributes = input.call(Attribute::parse_outer)?;
    let visibility: Visibility = input.parse()?;
    let first = input.cursor().token_tree().map_or_else(Span::call_site, |(token, _)| token.span());
    let wrong = |_| Error::new(first, "`#[sim::test]` must be on an `async fn`");
    let signature: Signature = input.parse().map_err(wrong)?;

    let rest: TokenStream = input.parse()?;
    let body = braces(rest).ok_or_else(|| {
        Error::new_spanned(&signature.ident, "a test needs a body: write `{ .. }` after its name")
    })?;
    let (inner, statements) = inner_attributes.parse2(body.stream())?;
    if inner.is_empty() {
        return Ok(Function { attributes, visibility, signature, body });
    }

    // An inner attribute of a function is not allowed in the block of the closure.
    attributes.extend(inner);
    let mut bare = Group::new(Delimiter::Brace, statements);
    bare.set_span(body.span());
    Ok(Function { attributes, visibility, signature, body: bare })
}

/// Returns the braced group if it is the only token. A block from another macro is nested in groups without delimiters.
fn braces(rest: TokenStream) -> Option<Group> {
    let mut tokens = rest.into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) => match group.delimiter() {
            Delimiter::Brace => Some(group),
            Delimiter::None => braces(group.stream()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the attributes at the start of a body, which belong to the function, and the remaining tokens.
fn inner_attributes(input: ParseStream) -> Result<(Vec<Attribute>, TokenStream), Error> {
    let mut attributes = input.call(Attribute::parse_inner)?;
    for attribute in &mut attributes {
        attribute.style = AttrStyle::Outer;
    }
    Ok((attributes, input.parse()?))
}

/// Returns the last word of the attribute's path.
fn last_word(attribute: &Attribute) -> Option<Ident> {
    attribute.path().segments.last().map(|segment| segment.ident.unraw())
}

/// Returns the first occurrence of these words in the tokens, at any depth.
fn find(tokens: TokenStream, words: &[&str]) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if words.iter().any(|word| ident == word) => Some(ident),
        TokenTree::Group(group) => find(group.stream(), words),
        _ => None,
    })
}
