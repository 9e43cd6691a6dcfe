//! Removes the fixed twin from a source: every use of `fixed` is replaced by `false`, and the code that this decides is
//! removed.

use std::collections::HashMap;

use proc_macro2::Span;
use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, File, FnArg, Ident, Lit, Pat, Stmt, Token, parse_quote};

/// The name of the parameter that selects the twin.
const FIXED: &str = "fixed";

/// Removes the fixed twin and all documentation.
pub(crate) fn without_twin(file: &mut File) {
    let mut parameters = Parameters::default();
    parameters.visit_file_mut(file);
    Fold { of_functions: parameters.0, known: HashMap::new(), in_macro: false }
        .visit_file_mut(file);
}

/// Removes the parameter `fixed`, and keeps the position that it had in each function, without `self`.
#[derive(Default)]
struct Parameters(HashMap<String, usize>);

impl VisitMut for Parameters {
    fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
        let is_fixed = |input: &FnArg| match input {
            FnArg::Typed(typed) => {
                matches!(&*typed.pat, Pat::Ident(pat) if pat.ident == FIXED)
            }
            FnArg::Receiver(_) => false,
        };
        let typed = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
        if let Some(at) = typed.into_iter().position(is_fixed) {
            self.0.insert(signature.ident.to_string(), at);
            let inputs = std::mem::take(&mut signature.inputs);
            signature.inputs = inputs.into_iter().filter(|input| !is_fixed(input)).collect();
        }
    }
}

/// A value that is known while the source is folded.
#[derive(Clone, Copy)]
enum Known {
    Is(bool),
    /// `None`, because no other code determines its type any more.
    Nothing,
}

struct Fold {
    of_functions: HashMap<String, usize>,
    /// Variables that are left out.
    known: HashMap<Ident, Known>,
    in_macro: bool,
}

fn literal(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Bool(value) => Some(value.value),
            _ => None,
        },
        Expr::Paren(paren) => literal(&paren.expr),
        _ => None,
    }
}

fn of(value: bool) -> Expr {
    let value = syn::LitBool::new(value, Span::call_site());
    parse_quote!(#value)
}

fn name(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

impl Fold {
    /// Removes the argument for `fixed` of a call.
    fn without_argument(&self, function: &Ident, arguments: &mut Punctuated<Expr, Token![,]>) {
        let Some(&at) = self.of_functions.get(&function.to_string()) else { return };
        if at < arguments.len() {
            let kept = std::mem::take(arguments).into_iter().enumerate();
            *arguments = kept.filter(|(n, _)| *n != at).map(|(_, argument)| argument).collect();
        }
    }

    /// The value of an expression in its place, if the twin decides it.
    fn folded(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::Path(_) => match self.known.get(name(expr)?)? {
                Known::Is(value) => Some(of(*value)),
                // An assertion compares it, which gives it a type.
                Known::Nothing if self.in_macro => Some(parse_quote!(None)),
                Known::Nothing => Some(parse_quote!(())),
            },
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_)) => {
                literal(&unary.expr).map(|value| of(!value))
            }
            Expr::Binary(binary) => {
                let decisive = match binary.op {
                    syn::BinOp::And(_) => false,
                    syn::BinOp::Or(_) => true,
                    _ => return None,
                };
                match (literal(&binary.left), literal(&binary.right)) {
                    (Some(value), _) if value == decisive => Some(of(decisive)),
                    (Some(_), _) => Some((*binary.right).clone()),
                    (_, Some(value)) if value != decisive => Some((*binary.left).clone()),
                    _ => None,
                }
            }
            Expr::If(branch) => match (literal(&branch.cond)?, &branch.else_branch) {
                (true, _) => Some(of_block(&branch.then_branch)),
                (false, Some((_, other))) => match &**other {
                    Expr::Block(block) => Some(of_block(&block.block)),
                    other => Some(other.clone()),
                },
                (false, None) => Some(parse_quote!({})),
            },
            Expr::Match(choice) => {
                let value = literal(&choice.expr)?;
                let of_value = |arm: &&syn::Arm| match &arm.pat {
                    Pat::Lit(pat) => matches!(&pat.lit, Lit::Bool(lit) if lit.value == value),
                    _ => false,
                };
                choice.arms.iter().find(of_value).map(|arm| (*arm.body).clone())
            }
            // `usize::from(fixed)`
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else { return None };
                let is_from = function.path.segments.last()?.ident == "from";
                match (is_from, literal(call.args.first()?)?) {
                    (true, value) => {
                        let value =
                            syn::LitInt::new(if value { "1" } else { "0" }, Span::call_site());
                        Some(parse_quote!(#value))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A block as an expression; its only expression, if it has nothing else.
fn of_block(block: &Block) -> Expr {
    match &block.stmts[..] {
        [Stmt::Expr(expr, None)] => expr.clone(),
        _ => parse_quote!(#block),
    }
}

impl VisitMut for Fold {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // `vec![…]` has code of tasks, which is not parsed in a macro.
        if let Expr::Macro(call) = expr {
            if call.mac.path.is_ident("vec") {
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                if let Ok(items) = parser.parse2(call.mac.tokens.clone()) {
                    *expr = parse_quote!(Vec::from([#items]));
                }
            }
        }
        // The arm for `None`.
        if let Expr::Match(choice) = expr {
            let known = name(&choice.expr).and_then(|name| self.known.get(name));
            if let Some(Known::Nothing) = known {
                let arm = choice
                    .arms
                    .iter()
                    .find(|arm| matches!(&arm.pat, Pat::Ident(pat) if pat.ident == "None"));
                if let Some(arm) = arm {
                    *expr = (*arm.body).clone();
                }
            }
        }
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Call(call) => {
                if let Some(function) = name(&call.func).cloned() {
                    self.without_argument(&function, &mut call.args);
                }
            }
            Expr::MethodCall(call) => {
                let method = call.method.clone();
                self.without_argument(&method, &mut call.args);
            }
            _ => {}
        }
        if let Some(folded) = self.folded(expr) {
            *expr = folded;
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let Ok(mut arguments) = parser.parse2(call.tokens.clone()) else { return };
        self.in_macro = true;
        arguments.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
        self.in_macro = false;
        call.tokens = arguments.into_token_stream();
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let mut kept = Vec::new();
        for mut stmt in std::mem::take(&mut block.stmts) {
            self.visit_stmt_mut(&mut stmt);
            match &stmt {
                // A variable with a known value is left out.
                Stmt::Local(local) => {
                    let known = local.init.as_ref().and_then(|init| match &*init.expr {
                        value if name(value).is_some_and(|name| name == "None") => {
                            Some(Known::Nothing)
                        }
                        value => literal(value).map(Known::Is),
                    });
                    if let (Some(known), Pat::Ident(pat)) = (known, &local.pat) {
                        if pat.mutability.is_none() {
                            self.known.insert(pat.ident.clone(), known);
                            continue;
                        }
                    }
                    kept.push(stmt);
                }
                // The statements of a branch that is always taken.
                Stmt::Expr(Expr::Block(inner), _) if inner.label.is_none() => {
                    kept.extend(inner.block.stmts.iter().cloned());
                }
                Stmt::Expr(Expr::Call(call), _)
                    if name(&call.func).is_some_and(|name| name == "drop")
                        && call.args.iter().all(is_unit) => {}
                _ => kept.push(stmt),
            }
        }
        block.stmts = kept;
    }

    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        self.known = HashMap::from([(Ident::new(FIXED, Span::call_site()), Known::Is(false))]);
        visit_mut::visit_item_fn_mut(self, function);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.known = HashMap::from([(Ident::new(FIXED, Span::call_site()), Known::Is(false))]);
        visit_mut::visit_impl_item_fn_mut(self, function);
    }
}

fn is_unit(expr: &Expr) -> bool {
    matches!(expr, Expr::Tuple(tuple) if tuple.elems.iter().all(is_unit))
}
