//! The methods of an `impl` block, with the methods that `two_kinds!` declares in it: see `src/net/sockets/kinds.rs`.

use syn::parse::{ParseStream, Parser};
use syn::{Expr, ImplItem, ImplItemFn, ItemImpl, Stmt};

/// Calls `see` with each method of a block. If a method of `two_kinds!` has several arms, its body contains the arms as
/// statements, in the order of the macro's expansion. An arm that is a future is left out.
///
/// # Panics
/// If a call of `two_kinds!` contains anything except methods. The build gives a better message in that case.
pub(crate) fn each_method(block: &ItemImpl, mut see: impl FnMut(&ImplItemFn)) {
    for item in &block.items {
        match item {
            ImplItem::Fn(method) => see(method),
            ImplItem::Macro(call) if call.mac.path.is_ident("two_kinds") => {
                let declared = declarations.parse2(call.mac.tokens.clone());
                let declared = declared.unwrap_or_else(|error| panic!("in two_kinds!: {error}"));
                declared.iter().for_each(&mut see);
            }
            _ => {}
        }
    }
}

/// Parses the methods in a call of `two_kinds!`.
fn declarations(input: ParseStream<'_>) -> syn::Result<Vec<ImplItemFn>> {
    if input.peek(syn::Ident) && input.peek2(syn::Token![;]) {
        input.parse::<syn::Ident>()?;
        input.parse::<syn::Token![;]>()?;
    }
    let mut methods = Vec::new();
    while !input.is_empty() {
        let mut method: ImplItemFn = input.parse()?;
        method.block.stmts = method.block.stmts.into_iter().filter_map(arm).collect();
        methods.push(method);
    }
    Ok(methods)
}

/// Returns the body of a closure that represents an arm.
fn arm(statement: Stmt) -> Option<Stmt> {
    match statement {
        Stmt::Expr(Expr::Closure(arm), semicolon) => {
            arm.asyncness.is_none().then_some(Stmt::Expr(*arm.body, semicolon))
        }
        other => Some(other),
    }
}
