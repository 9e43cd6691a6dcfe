//! The core of `rt` names no part of a run: see `src/rt/part.rs`.
//!
//! The core consists of all files of `src/rt/` except the files of `parts/`. Its `mod.rs` is left out, because it
//! contains the list of the parts and re-exports their names. A core file must not import from a part, and must not use
//! a name of a part that `mod.rs` re-exports. A core file must not call a function that a part adds to a type of the
//! core.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, ItemImpl, Type};

use crate::source::{Kind, Library, ROOTS, Sources, is_test};
use crate::tree::{File, Offence};

/// The file with the list of parts.
const LIST: &str = "src/rt/mod.rs";

/// Core files that name a part.
pub(crate) fn check(sources: &Sources<'_>, library: &Library<'_>) -> Vec<Offence> {
    let of_parts = |name: &[String]| name.len() > 3 && name[..3] == ["crate", "rt", "parts"];
    let list = library.modules.iter().find(|module| module.file.path == LIST);
    let names = list.into_iter().flat_map(|module| &module.names);
    let re_exported: BTreeSet<&str> = names
        .filter_map(|name| match &name.kind {
            Kind::Import { alias } if of_parts(&name.segments) => Some(alias.as_str()),
            _ => None,
        })
        .collect();
    let mut offences = Vec::new();
    for module in library.modules.iter().filter(|module| is_core(module.file)) {
        for name in module.names.iter().filter(|name| name.imported < 2) {
            let path = &name.segments;
            let is_short = path.len() > 2 && path[..2] == ["crate", "rt"];
            if of_parts(path) || (is_short && re_exported.contains(path[2].as_str())) {
                let named = path[2..].join("::");
                offences.push(Offence::new(module.file, name.line, names_a_part(&named)));
            }
        }
    }
    offences.extend(calls_of_parts(sources));
    offences
}

fn is_core(file: &File) -> bool {
    let path = file.path.as_str();
    path.starts_with("src/rt/") && !path.starts_with("src/rt/parts/") && path != LIST
}

fn names_a_part(what: &str) -> String {
    format!(
        "the core of `rt` names `{what}` of a part: let the part do it at a moment of `Part` (src/rt/part.rs)"
    )
}

/// Calls, in core files, of functions that parts add to types of the core.
fn calls_of_parts(sources: &Sources<'_>) -> Vec<Offence> {
    let of_rt = sources.below(&["src/rt/"]);
    let (core, parts): (Vec<_>, Vec<_>) = of_rt.partition(|(file, _)| is_core(file));
    let parts = parts.into_iter().filter(|(file, _)| file.path != LIST);
    let mut added: BTreeSet<String> = parts.flat_map(|(_, syntax)| methods(syntax)).collect();
    // A name that the core or the data also defines does not identify a function of a part, so such names are ignored.
    let data = sources.below(&ROOTS[1..]).flat_map(|(_, syntax)| all_methods(syntax));
    let own = core.iter().flat_map(|(_, syntax)| all_methods(syntax));
    for name in own.chain(data) {
        added.remove(&name);
    }
    let mut offences = Vec::new();
    for (file, syntax) in &core {
        let mut calls = Calls { added: &added, found: Vec::new() };
        calls.visit_file(syntax);
        let found = calls.found.into_iter();
        offences.extend(found.map(|(line, name)| Offence::new(file, line, names_a_part(&name))));
    }
    offences
}

/// The types of the core that parts extend.
const EXTENDED: [&str; 4] = ["Executor", "RunState", "Worker", "World"];

/// The functions that a file adds to types of the core.
fn methods(file: &syn::File) -> Vec<String> {
    let is_extended = |block: &ItemImpl| {
        let Type::Path(of) = &*block.self_ty else { return false };
        of.path.segments.last().is_some_and(|last| EXTENDED.iter().any(|name| last.ident == name))
    };
    methods_if(file, |block| block.trait_.is_none() && is_extended(block))
}

fn all_methods(file: &syn::File) -> Vec<String> {
    methods_if(file, |_| true)
}

fn methods_if(file: &syn::File, is_wanted: impl Fn(&ItemImpl) -> bool) -> Vec<String> {
    let blocks = file.items.iter().filter_map(|item| match item {
        Item::Impl(block) if is_wanted(block) => Some(block),
        _ => None,
    });
    let items = blocks.flat_map(|block| &block.items);
    let names = items.filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    names.collect()
}

struct Calls<'a> {
    added: &'a BTreeSet<String>,
    found: Vec<(usize, String)>,
}

impl Calls<'_> {
    fn see(&mut self, name: &proc_macro2::Ident) {
        let (text, line) = (name.to_string(), name.span().start().line);
        if self.added.contains(&text) {
            self.found.push((line, text));
        }
    }

    /// Calls in the tokens of a macro.
    fn see_tokens(&mut self, tokens: TokenStream) {
        let mut after_point = false;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if after_point => self.see(name),
                TokenTree::Group(group) => self.see_tokens(group.stream()),
                _ => {}
            }
            after_point = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        }
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.see(&call.method);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names: Vec<_> = path.path.segments.iter().map(|segment| &segment.ident).collect();
        if let [.., of, name] = names[..] {
            if EXTENDED.iter().any(|extended| of == extended) {
                self.see(name);
            }
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.see_tokens(call.tokens.clone());
    }
}

mod tests {
    use super::*;

    /// The offences of a core file with this text, beside a part.
    fn offences(path: &str, text: &str) -> Vec<(usize, String)> {
        let part = "pub(in crate::rt) struct Timers; impl Timers { pub fn next(&self) {} }\n\
                    impl crate::rt::World { pub(crate) fn advance_by(&self) {} fn state(&self) {} }";
        let files = [
            File::new(
                LIST,
                "pub(crate) use self::parts::timers::CLOCK; pub use self::world::World;",
            ),
            File::new("src/rt/parts/timers.rs", part),
            File::new("src/rt/world.rs", "pub struct World; impl World { pub fn state(&self) {} }"),
            File::new(path, text),
        ];
        let sources = Sources::parse(&files);
        let found = check(&sources, &Library::of(&sources)).into_iter();
        found.filter(|it| it.path == path).map(|it| (it.line, it.message)).collect()
    }

    #[track_caller]
    fn assert_forbidden(text: &str, named: &str) {
        for path in ["src/rt/step.rs", "src/rt/memory/near.rs"] {
            let found = offences(path, text);
            assert!(!found.is_empty(), "{path}: {text}");
            assert!(found.iter().all(|(_, message)| message.contains(named)), "{found:?}");
        }
        assert_eq!(offences("src/rt/parts/hand.rs", text), [], "a part may name another part");
        assert_eq!(offences("src/seam/sim/time.rs", text), [], "the seam may name parts");
    }

    #[test]
    fn a_core_file_that_names_a_part_is_found() {
        assert_forbidden("use crate::rt::parts::timers::Timers;", "parts::timers::Timers");
        assert_forbidden("fn f() { let x: crate::rt::parts::timers::Timers; }", "Timers");
        assert_forbidden("use crate::rt::CLOCK;", "`CLOCK`");
        assert_forbidden("use crate::rt::{World, CLOCK};", "`CLOCK`");
        assert!(!offences("src/rt/step.rs", "use super::parts::timers::Timers;").is_empty());
    }

    #[test]
    fn a_core_file_that_calls_a_part_is_found() {
        assert_forbidden("fn f(world: &World) { world.advance_by(); }", "`advance_by`");
        assert_forbidden("fn f(world: &World) { World::advance_by(world); }", "`advance_by`");
        assert_forbidden("fn f(w: &World) { assert!(w.advance_by()); }", "`advance_by`");
    }

    #[test]
    fn a_core_file_may_name_the_core() {
        let text = "use super::Parts; use crate::rt::World;\n\
                    fn f(world: &World, list: &mut Iter) { world.state(); list.next(); Parts::leave(world); }";
        assert_eq!(offences("src/rt/step.rs", text), []);
    }
}
