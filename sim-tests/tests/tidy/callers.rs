//! A panic of misuse names the line of the caller. A public function that panics has `#[track_caller]`, and also each
//! function that panics on its behalf.
//!
//! A function panics if its documentation has a section `# Panics`, or if its body calls `panic!`, `assert!`,
//! `assert_eq!` or `assert_ne!`. The attribute does nothing in a closure, so a closure of such a function must not
//! panic. Futures are left out, because they panic in a poll and the caller of a poll is the executor.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, Macro, Signature, Visibility};

use crate::methods::each_method;
use crate::source::{ROOTS, Sources};
use crate::tree::{File, Offence};

/// Functions whose panics have no caller that could be named, with the reason.
const EXEMPT: [(&str, &str, &str); 5] = [
    ("src/sync/once.rs", "call_once", "the state is known when the future is polled"),
    ("src/fs/map.rs", "poll", "of a future, whose failure has the place of the access"),
    ("src/fs/map.rs", "dead", "of a future, whose failure has the place of the access"),
    (
        "src/testing/parallel/blocking.rs",
        "run",
        "the program's own panics; a misuse has the place of the call",
    ),
    ("src/testing/recorder.rs", "not_linearizable", "the failure has the place of the call"),
];

/// The panics that a caller causes.
const PANICS: [&str; 4] = ["panic", "assert", "assert_eq", "assert_ne"];

/// The maximum number of calls between a function whose documentation mentions the panic, and the panic itself.
const DEPTH: usize = 3;

/// Returns the functions of the library that panic at a line of the library.
pub(crate) fn check(sources: &Sources<'_>) -> Vec<Offence> {
    let mut functions = Vec::new();
    let mut offences = Vec::new();
    for (file, syntax) in sources.below(&ROOTS) {
        let mut found = Functions::default();
        found.visit_file(syntax);
        functions.extend(found.0.into_iter().map(|function| (file, function)));
    }
    let mut by_name = ByName::new();
    for function in &functions {
        by_name.entry(&function.1.name).or_default().push(function);
    }
    for located @ (file, function) in &functions {
        let Function { name, line, body, .. } = function;
        if is_exempt(located) || !function.must_track() {
            continue;
        }
        if !function.tracks {
            let message = format!("`{name}` panics at its own line: give it #[track_caller]");
            offences.push(Offence::new(file, *line, message));
        }
        if let Some(line) = body.panics_in_closure {
            let message = format!("`{name}` panics in a closure, which has no caller: take it out");
            offences.push(Offence::new(file, line, message));
        }
        // If the function panics itself, its documentation need not name another function.
        if !body.panics {
            let lost = helpers(located, &by_name, DEPTH);
            offences.extend(lost.into_iter().map(|(file, helper)| {
                let text = format!(
                    "`{}` panics for `{name}`, or calls a function that does, at a line of the library: give it \
                     #[track_caller]",
                    helper.name
                );
                Offence::new(file, helper.line, text)
            }));
        }
    }
    offences.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    offences.dedup_by(|a, b| (&a.path, a.line) == (&b.path, b.line));
    offences
}

/// A function and its file.
type Located<'a> = (&'a File, Function);

fn is_exempt((file, function): &Located<'_>) -> bool {
    EXEMPT.iter().any(|(path, name, _)| file.path == *path && function.name == *name)
}

/// Functions by their names.
type ByName<'a> = BTreeMap<&'a str, Vec<&'a Located<'a>>>;

/// Returns the helpers that a function calls: for each name the function of its file, or else the only one of this name.
fn called<'a>(
    (file, function): &'a Located<'a>,
    by_name: &ByName<'a>,
) -> impl Iterator<Item = &'a Located<'a>> {
    function.body.calls.iter().filter_map(move |call| {
        let named = by_name.get(&**call)?;
        let own: Vec<_> = named.iter().filter(|(other, _)| other.path == file.path).collect();
        let helper = match (&own[..], &named[..]) {
            ([one], _) => *one,
            ([], [one]) => one,
            _ => return None,
        };
        let is_helper =
            !helper.1.must_track() && helper.1.name != function.name && !is_exempt(helper);
        is_helper.then_some(*helper)
    })
}

/// Returns the functions without the attribute on the call paths from a function to the panics of its callees.
fn helpers<'a>(
    function: &'a Located<'a>,
    by_name: &ByName<'a>,
    depth: usize,
) -> Vec<(&'a File, &'a Function)> {
    if depth == 0 {
        return Vec::new();
    }
    let mut lost = Vec::new();
    for helper in called(function, by_name) {
        if !helper.1.tracks && panics_below(helper, by_name, depth) {
            lost.push((helper.0, &helper.1));
        }
        if !helper.1.body.panics {
            lost.extend(helpers(helper, by_name, depth - 1));
        }
    }
    lost
}

/// Returns `true` if a function panics, or calls a function that panics.
fn panics_below<'a>(function: &'a Located<'a>, by_name: &ByName<'a>, depth: usize) -> bool {
    let deeper =
        || called(function, by_name).any(|helper| panics_below(helper, by_name, depth - 1));
    function.1.body.panics || depth > 0 && deeper()
}

struct Function {
    name: String,
    line: usize,
    /// True if users of the library can call it.
    public: bool,
    tracks: bool,
    /// True if the function's documentation says that it panics.
    says_so: bool,
    body: Body,
}

impl Function {
    fn must_track(&self) -> bool {
        self.public && (self.says_so || self.body.panics)
    }
}

#[derive(Default)]
struct Body {
    panics: bool,
    /// The line of the first panic in a closure.
    panics_in_closure: Option<usize>,
    /// The names of the functions and methods that it calls.
    calls: BTreeSet<String>,
    /// The number of closures around the current expression.
    depth: usize,
}

impl<'ast> Visit<'ast> for Body {
    fn visit_macro(&mut self, call: &'ast Macro) {
        let Some(name) = call.path.segments.last() else { return };
        if PANICS.iter().any(|panics| name.ident == panics) {
            match self.depth {
                0 => self.panics = true,
                _ => _ = self.panics_in_closure.get_or_insert(name.ident.span().start().line),
            }
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        if closure.asyncness.is_none() {
            self.depth += 1;
            visit::visit_expr_closure(self, closure);
            self.depth -= 1;
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func {
            let name = path.path.segments.last().map(|segment| segment.ident.to_string());
            self.calls.extend(name);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.calls.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    // Code that runs later, and code of another function.
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, attributes: &[Attribute], public: bool, signature: &Signature, body: &Block) {
        if signature.asyncness.is_some() {
            return;
        }
        let mut seen = Body::default();
        seen.visit_block(body);
        self.0.push(Function {
            name: signature.ident.to_string(),
            line: signature.ident.span().start().line,
            public,
            tracks: attributes.iter().any(|attribute| attribute.path().is_ident("track_caller")),
            says_so: attributes.iter().filter_map(doc).any(|line| line.trim() == "# Panics"),
            body: seen,
        });
    }
}

/// The text of a doc comment.
fn doc(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(literal) = &pair.value else { return None };
    match &literal.lit {
        syn::Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_cfg_test = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(is_cfg_test)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_test(&function.attrs) {
            let public = is_public(&function.vis);
            self.add(&function.attrs, public, &function.sig, &function.block);
        }
    }

    fn visit_item_impl(&mut self, implementation: &'ast syn::ItemImpl) {
        // A method of a trait documents its own panic, if users call it.
        let is_of_trait = implementation.trait_.is_some();
        each_method(implementation, |method| {
            let ImplItemFn { attrs, vis, sig, block, .. } = method;
            let says_so = attrs.iter().filter_map(doc).any(|line| line.trim() == "# Panics");
            let public = if is_of_trait { says_so } else { is_public(vis) };
            self.add(attrs, public, sig, block);
        });
    }
}

#[test]
fn a_panic_at_a_line_of_the_library_is_an_offence() {
    let found = |texts: [&str; 2]| {
        let files = [File::new("src/x.rs", texts[0]), File::new("src/y.rs", texts[1])];
        let found = check(&Sources::parse(&files));
        found.iter().map(|offence| (offence.path.clone(), offence.line)).collect::<Vec<_>>()
    };
    let planted = [
        "/// # Panics\n/// If so.\npub fn a() { b() }\nfn b() { panic!() }\n\
         pub fn c() { assert!(true) }\n#[track_caller]\npub fn d() {\nx.unwrap_or_else(|| panic!());\nassert!(true); }\n\
         /// # Panics\n#[track_caller]\npub fn far() { between() }\nfn between() { y::deep() }\n",
        "pub(crate) fn deep() { assert!(true) }\n",
    ];
    let expected = [3, 4, 5, 8, 13].map(|line| ("src/x.rs".to_owned(), line));
    let expected = expected.into_iter().chain([("src/y.rs".to_owned(), 1)]).collect::<Vec<_>>();
    assert_eq!(found(planted), expected);
    let mended = [
        "/// # Panics\n/// If so.\n#[track_caller]\npub fn a() { b() }\n#[track_caller]\nfn b() { panic!() }\n\
         #[track_caller]\npub fn c() { assert!(true) }\n#[track_caller]\npub fn d() { if x { panic!() } }\n\
         /// # Panics\n#[track_caller]\npub fn far() { between() }\n#[track_caller]\nfn between() { y::deep() }\n\
         pub(crate) fn e() { panic!() }\npub async fn f() { panic!() }\npub fn g() { async { panic!() }; }\n\
         #[cfg(test)]\nmod tests { pub fn h() { panic!() } }\n",
        "#[track_caller]\npub(crate) fn deep() { assert!(true) }\n",
    ];
    assert_eq!(found(mended), Vec::new());
}

#[test]
fn a_panic_in_a_method_of_two_kinds_is_an_offence() {
    let found = |text: &str| {
        let files = [File::new("src/x.rs", text)];
        check(&Sources::parse(&files)).len()
    };
    let of = |attribute: &str| {
        format!(
            "impl Socket {{ two_kinds! {{ check_outside;\n{attribute}\n\
             pub fn first(&self) -> u8 {{ |run, here| {{ assert!(true); 1 }}; |real| real.other() }}\n{attribute}\n\
             pub fn second(&self) -> u8 {{ |run, here| 1; |real| panic!() }}\n\
             pub fn later(&self) -> impl Future {{ async |run, here| panic!() }} }} }}"
        )
    };
    assert_eq!((found(&of("")), found(&of("#[track_caller]"))), (2, 0));
}
