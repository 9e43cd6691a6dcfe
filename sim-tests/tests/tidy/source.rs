//! The library's own sources, parsed: which paths a file names, and where.
//!
//! Paths come from the syntax tree (`use` trees with their groups, renames and globs; types; expressions) and from the
//! tokens of macro calls and attributes, which the tree does not resolve. Names brought in by `use` are followed within
//! a file, so `use std::time;` and then `time::Instant` is `std::time::Instant`. Scopes are not followed: a local name
//! that equals an imported name counts as the imported name. Code under `#[cfg(test)]` and comments are left out.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree};

use crate::tree::File;

/// Files of the engine with their syntax trees, which all checks share: parsing them takes most of the time.
pub(crate) struct Sources<'a> {
    files: Vec<(&'a File, syn::File)>,
}

impl<'a> Sources<'a> {
    /// Parses the Rust files below [`ROOTS`] and [`CHECKERS`].
    ///
    /// # Panics
    /// If a file is not Rust; the build reports this case better.
    pub(crate) fn parse(files: &'a [File]) -> Sources<'a> {
        let is_ours = |file: &&File| {
            let mut roots = ROOTS.iter().chain([&CHECKERS]);
            file.is_rust() && roots.any(|root| file.path.starts_with(root))
        };
        let parsed = files.iter().filter(is_ours).map(|file| match syn::parse_file(&file.text) {
            Ok(syntax) => (file, syntax),
            Err(error) => panic!("{}: {error}", file.path),
        });
        Sources { files: parsed.collect() }
    }

    /// Returns the files below one of the folders `roots`.
    pub(crate) fn below<'s>(
        &'s self,
        roots: &'s [&str],
    ) -> impl Iterator<Item = (&'a File, &'s syn::File)> {
        let files = self.files.iter().map(|(file, syntax)| (*file, syntax));
        files.filter(|(file, _)| roots.iter().any(|root| file.path.starts_with(root)))
    }
}

/// The sources of the library that a user's build compiles.
pub(crate) struct Library<'a> {
    pub(crate) modules: Vec<Module<'a>>,
}

/// One file of the library, with its module path.
pub(crate) struct Module<'a> {
    pub(crate) file: &'a File,
    /// The module it is, from the root: `["shrink", "linear"]`, empty for `lib.rs`.
    pub(crate) path: Vec<String>,
    /// All paths it names outside its tests.
    pub(crate) names: Vec<Name>,
}

/// A path that a file names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    /// The full path: from `crate`, from `std` (also for `core` and `alloc`), from another crate, or from something
    /// local to the file.
    pub(crate) segments: Vec<String>,
    /// The number of leading segments that were added because of a `use` elsewhere in the file.
    pub(crate) imported: usize,
    /// The line of the last segment.
    pub(crate) line: usize,
    /// The line on which the `use` begins, or `line` if the path is not in a `use`.
    pub(crate) item_line: usize,
    pub(crate) kind: Kind,
}

/// The way in which a path is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// In a type, an expression, a pattern.
    Plain,
    /// A `use` names the path, and gives it the name `alias` in this file.
    Import { alias: String },
    /// The path is named by a `use` that ends in `*`. The segments are the part before the `*`.
    Glob,
    /// The path is a macro that is called.
    Macro,
}

/// The roots of the library and of its crate of data.
pub(crate) const ROOTS: [&str; 2] = ["src/", "unpause-run/src/"];

/// The folder of the crate of checkers, all of which is below the seam.
pub(crate) const CHECKERS: &str = "unpause-check/src/";

impl<'a> Library<'a> {
    /// Returns the library among `sources`, with its crate of data: their modules are one tree.
    pub(crate) fn of(sources: &Sources<'a>) -> Library<'a> {
        Library::below(&ROOTS, sources)
    }

    /// Returns the modules below the folders `roots`, which are the roots of crates.
    pub(crate) fn below(roots: &[&str], sources: &Sources<'a>) -> Library<'a> {
        let parsed: Vec<(&File, Vec<String>, &syn::File)> = sources
            .below(roots)
            .filter_map(|(file, syntax)| {
                let path = roots.iter().find_map(|root| file.path.strip_prefix(root))?;
                Some((file, module_path(path), syntax))
            })
            .collect();
        let mut only_tests = Vec::new();
        for (_, path, syntax) in &parsed {
            only_tests.extend(test_modules(path, &syntax.items));
        }
        let modules = parsed
            .iter()
            .filter(|(_, path, _)| !only_tests.iter().any(|test| path.starts_with(test)))
            .map(|(file, path, syntax)| Module {
                file,
                path: path.clone(),
                names: names(path, syntax),
            })
            .collect();
        Library { modules }
    }
}

/// `strategy/pct.rs` and `strategy/pct/mod.rs`, below the folder of the crate's root, are both `["strategy", "pct"]`.
fn module_path(file: &str) -> Vec<String> {
    let inner = file.trim_end_matches(".rs");
    let mut path: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib")) {
        path.pop();
    }
    path
}

/// Returns the modules with `#[cfg(test)]` that have their own files.
fn test_modules(path: &[String], items: &[Item]) -> Vec<Vec<String>> {
    let declared = items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => {
            Some([path, &[module.ident.to_string()]].concat())
        }
        _ => None,
    });
    declared.collect()
}

/// The paths that `file`, the module at `module`, names outside its tests, in order.
fn names(module: &[String], file: &syn::File) -> Vec<Name> {
    let mut collector = Collector { module: module.to_vec(), names: Vec::new() };
    collector.visit_file(file);
    let mut names = collector.names;
    follow_imports(&mut names);
    names
}

/// Replaces a first segment that a `use` of the same file brought in by its path.
fn follow_imports(names: &mut [Name]) {
    let mut meant: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names.iter() {
        if let Kind::Import { alias } = &name.kind {
            meant.insert(alias.clone(), name.segments.clone());
        }
    }
    for name in names {
        let itself = matches!(&name.kind, Kind::Import { alias } if *alias == name.segments[0]);
        if let Some(path) = meant.get(&name.segments[0]).filter(|_| !itself) {
            name.imported = path.len();
            name.segments.splice(..1, path.iter().cloned());
        }
    }
}

struct Collector {
    /// The module that `self` means here.
    module: Vec<String>,
    names: Vec<Name>,
}

impl Collector {
    fn add(&mut self, segments: Vec<String>, line: usize, item_line: usize, kind: Kind) {
        if !segments.is_empty() {
            let segments = self.absolute(segments);
            self.names.push(Name { segments, imported: 0, line, item_line, kind });
        }
    }

    /// `super::linear` is `crate::check::linear` in a child of `check`, `core::fmt` is `std::fmt`.
    fn absolute(&self, segments: Vec<String>) -> Vec<String> {
        let mut base = match segments[0].as_str() {
            "core" | "alloc" => return [&["std".to_owned()], &segments[1..]].concat(),
            "self" | "super" => self.module.clone(),
            _ => return segments,
        };
        let mut rest = &segments[..];
        while let [first, tail @ ..] = rest {
            match first.as_str() {
                "self" => {}
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = tail;
        }
        [&["crate".to_owned()], &base[..], rest].concat()
    }

    fn add_use(&mut self, prefix: &[String], tree: &UseTree, item_line: usize) {
        match tree {
            UseTree::Path(path) => {
                self.add_use(&joined(prefix, &path.ident), &path.tree, item_line);
            }
            UseTree::Name(leaf) => self.add_leaf(prefix, &leaf.ident, None, item_line),
            UseTree::Rename(leaf) => {
                self.add_leaf(prefix, &leaf.ident, Some(leaf.rename.to_string()), item_line);
            }
            UseTree::Glob(star) => {
                let line = star.star_token.span.start().line;
                self.add(prefix.to_vec(), line, item_line, Kind::Glob);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_use(prefix, tree, item_line));
            }
        }
    }

    fn add_leaf(
        &mut self,
        prefix: &[String],
        leaf: &Ident,
        alias: Option<String>,
        item_line: usize,
    ) {
        let is_prefix = leaf == "self" && !prefix.is_empty();
        let segments = if is_prefix { prefix.to_vec() } else { joined(prefix, leaf) };
        let alias = alias.unwrap_or_else(|| segments[segments.len() - 1].clone());
        self.add(segments, line(leaf), item_line, Kind::Import { alias });
    }

    fn add_path(&mut self, path: &syn::Path, kind: Kind) {
        let line = path.segments.last().map_or(0, |segment| line(&segment.ident));
        let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(segments, line, line, kind);
    }

    /// Adds the paths `a::b` and `a::{b, c}` in loose tokens. Each identifier of an expression, and each field, is
    /// added as a path of one segment. Such a path has no meaning unless a `use` imports it.
    fn add_tokens(&mut self, prefix: &[String], tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(first) => {
                    let mut path = joined(prefix, first);
                    let mut last = first;
                    at += 1;
                    while is_double_colon(&tokens[at..]) {
                        match tokens.get(at + 2) {
                            Some(TokenTree::Ident(next)) => {
                                path.push(next.to_string());
                                last = next;
                                at += 3;
                            }
                            Some(TokenTree::Group(group))
                                if group.delimiter() == Delimiter::Brace =>
                            {
                                self.add_tokens(&path, group.stream());
                                at += 3;
                            }
                            _ => break,
                        }
                    }
                    let kind = if is_macro_call(&tokens[at..]) { Kind::Macro } else { Kind::Plain };
                    self.add(path, line(last), line(last), kind);
                }
                TokenTree::Group(group) => {
                    self.add_tokens(&[], group.stream());
                    at += 1;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&[], &item.tree, item.use_token.span.start().line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path, Kind::Plain);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_path(&call.path, Kind::Macro);
        self.add_tokens(&[], call.tokens.clone());
    }

    /// `pub(crate)` and `pub(in …)` name an ancestor, which is not an arrow.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(&[], list.tokens.clone());
        }
    }
}

fn joined(prefix: &[String], last: &Ident) -> Vec<String> {
    [prefix, &[last.to_string()]].concat()
}

fn line(ident: &Ident) -> usize {
    ident.span().start().line
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_double_colon(tokens: &[TokenTree]) -> bool {
    is_punct(tokens.first(), ':') && is_punct(tokens.get(1), ':')
}

/// Returns `true` if `!` and brackets follow: `a != (b)` has a `=` between them.
fn is_macro_call(tokens: &[TokenTree]) -> bool {
    is_punct(tokens.first(), '!') && matches!(tokens.get(1), Some(TokenTree::Group(_)))
}

/// Returns `true` if an item with these attributes exists in test builds only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => requires_test(&list.tokens),
        _ => false,
    })
}

/// Returns `true` for `test` or `all(…, test, …)`. Returns `false` for `any(test, …)` and `not(test)`, because users
/// build that code, too.
fn requires_test(predicate: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = predicate.clone().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(all), TokenTree::Group(group)] if all == "all" => {
            let parts: Vec<TokenTree> = group.stream().into_iter().collect();
            parts
                .split(|token| is_punct(Some(token), ','))
                .any(|part| matches!(part, [TokenTree::Ident(word)] if word == "test"))
        }
        [TokenTree::Ident(word)] => word == "test",
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        // Other items are rare. Checking them although only tests contain them can only make the check too strict.
        _ => &[],
    }
}

mod tests {
    use super::*;

    /// The paths that a file `src/shrink/linear.rs` with this text names, each with `true` if a
    /// macro names it.
    fn named(text: &str) -> Vec<String> {
        let file = [File::new("src/shrink/linear.rs", text)];
        let library = Library::of(&Sources::parse(&file));
        library.modules[0].names.iter().map(|name| name.segments.join("::")).collect()
    }

    #[track_caller]
    fn assert_names(text: &str, wanted: &str) {
        let named = named(text);
        assert!(named.iter().any(|name| name == wanted), "{wanted} is not in {named:?}");
    }

    #[test]
    fn nested_groups_of_a_use_are_paths() {
        let names = named("use crate::{ids::{self, Seed as S}, rt::*};");
        assert_eq!(names, ["crate::ids", "crate::ids::Seed", "crate::rt"]);
    }

    #[test]
    fn relative_paths_are_made_absolute() {
        assert_names("use super::super::rt::World;", "crate::rt::World");
        assert_names("type T = super::Budget;", "crate::shrink::Budget");
        assert_names("mod inner { fn f() { super::g() } }", "crate::shrink::linear::g");
        assert_names("use core::fmt;", "std::fmt");
    }

    #[test]
    fn imports_are_followed_within_the_file() {
        assert_names("use std::time; fn f() { time::Instant::now(); }", "std::time::Instant::now");
        assert_names("use std::{time as t}; type T = t::Instant;", "std::time::Instant");
    }

    #[test]
    fn paths_in_generics_macros_and_attributes_count() {
        assert_names("type T = Vec<Option<crate::rt::World>>;", "crate::rt::World");
        assert_names("fn f() { assert!(a != (b), \"{}\", crate::rt::X); }", "crate::rt::X");
        assert_names("macro_rules! m { () => { use $crate::{a, b::C}; } }", "crate::b::C");
        assert_names("#[derive(crate::rt::Show)] struct S;", "crate::rt::Show");
    }

    #[test]
    fn comments_and_visibilities_name_nothing() {
        assert!(named("//! [`crate::rt`]\n/// [x](crate::rt)\npub(crate) struct S;").is_empty());
    }

    #[test]
    fn tests_are_left_out_and_their_negation_is_not() {
        assert!(named("#[cfg(test)] mod tests { use crate::rt; }").is_empty());
        assert!(named("#[cfg(all(test, unix))] use crate::rt;").is_empty());
        assert!(named("#[test] fn fact() { crate::rt::f() }").is_empty());
        assert_names("#[cfg(not(test))] use crate::rt;", "crate::rt");
        assert_names("#[cfg(any(test, unix))] use crate::rt;", "crate::rt");
    }

    #[test]
    fn a_file_that_is_a_test_module_is_left_out() {
        let tests = File::new("src/shrink/tests.rs", "use crate::rt;");
        let of = |declaration: &str| {
            let check = File::new("src/shrink/mod.rs", declaration);
            let files = [check, File::new(&tests.path, &tests.text)];
            Library::of(&Sources::parse(&files)).modules.len()
        };
        assert_eq!((of("#[cfg(test)] mod tests;"), of("mod tests;")), (1, 2));
    }
}
