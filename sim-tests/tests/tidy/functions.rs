//! The length of functions. A function that is longer than a screen does several things.

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, ItemFn, ItemMod, TraitItemFn};

use crate::source::{ROOTS, Sources, is_test};
use crate::tree::Offence;

/// The maximum length of a function, in lines.
const LINES_MAX: usize = 100;

/// Longer functions: the file, the function, and the reason. Each of them is one table with an arm for each variant.
const TABLES: &[(&str, &str, &str)] = &[
    ("unpause-run/src/run/trace/format/error.rs", "fmt", "the text of each error"),
    ("unpause-run/src/report/failure.rs", "facts", "the facts of each failure"),
    ("unpause-run/src/report/json/search.rs", "searched", "the members of an object"),
    ("unpause-run/src/report/json/mod.rs", "finding", "the members of an object"),
    ("unpause-run/src/report/json/failure.rs", "write", "the members of each failure"),
    ("unpause-run/src/report/json/run.rs", "write", "the members of an object"),
];

/// Returns functions of the engine, outside of tests, that are too long.
pub(crate) fn check(sources: &Sources<'_>) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (file, syntax) in sources.below(&ROOTS) {
        if file.path.contains("/tests/") || file.path.ends_with("/tests.rs") {
            continue;
        }
        let mut found = Lengths::default();
        found.visit_file(syntax);
        for Length { name, line, lines } in found.long {
            let is_table =
                TABLES.iter().any(|(path, function, _)| *path == file.path && *function == name);
            if !is_table {
                let message = format!(
                    "`{name}` has {lines} lines, the limit is {LINES_MAX}: give each thing that it does a function"
                );
                offences.push(Offence::new(file, line, message));
            }
        }
    }
    offences
}

struct Length {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions of a file with more than [`LINES_MAX`] lines.
#[derive(Default)]
struct Lengths {
    long: Vec<Length>,
}

impl Lengths {
    fn add(&mut self, name: &syn::Ident, attributes: &[Attribute], block: &syn::Block) {
        let (begin, end) = (name.span().start().line, block.brace_token.span.close().end().line);
        let lines = end.saturating_sub(begin) + 1;
        if lines > LINES_MAX && !is_test(attributes) {
            self.long.push(Length { name: name.to_string(), line: begin, lines });
        }
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig.ident, &function.attrs, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig.ident, &function.attrs, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig.ident, &function.attrs, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

mod tests {
    use super::*;
    use crate::tree::File;

    fn offences(path: &str, text: &str) -> Vec<Offence> {
        check(&Sources::parse(&[File::new(path, text)]))
    }

    /// A function with so many lines.
    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_101_lines_is_too_long() {
        let found = offences("src/a.rs", &function(101));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.starts_with("`f` has 101 lines"), "{found:?}");
        assert_eq!(offences("src/a.rs", &function(100)), []);
        assert_eq!(offences("src/a.rs", &format!("impl A {{\n{}}}\n", function(101))).len(), 1);
        assert_eq!(offences("src/a.rs", &format!("trait A {{\n{}}}\n", function(101))).len(), 1);
    }

    #[test]
    fn a_test_may_be_longer() {
        assert_eq!(offences("src/a.rs", &format!("#[cfg(test)]\n{}", function(101))), []);
        assert_eq!(
            offences("src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(101))),
            []
        );
        assert_eq!(offences("src/a/tests.rs", &function(101)), []);
    }
}
