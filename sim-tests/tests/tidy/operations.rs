//! The public functions of the modules whose state belongs to a run. Each function is an operation that searches see,
//! or `operations.txt` gives the reason why it is not.
//!
//! If a function reads or changes run state without recording an operation, proofs may be false. A search does not try
//! such a function before and after the steps of other tasks. Therefore the list must contain every public function.
//! Functions that macros generate are in the list under the name of the macro. Trait implementations are not in the
//! list: they call these functions, or concern plain values.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Type, Visibility};

use crate::methods::each_method;
use crate::source::{Sources, is_test};
use crate::tree::{File, Offence};

/// The modules of the library whose state belongs to a run.
pub(crate) const MODULES: [&str; 7] = ["fs", "nemesis", "net", "node", "task", "testing", "time"];

/// The file with the list.
pub(crate) const LIST: &str = "sim-tests/tests/tidy/operations.txt";

/// The folder of the acts that are compared in pairs: see `sim-tests/tests/cluster/pairs/mod.rs`.
pub(crate) const PAIRS: &str = "sim-tests/tests/cluster/pairs/";

/// The heads under which the list has functions: the text before the first colon, and `true` if a reason must follow.
const HEADS: [(&str, bool); 7] = [
    // Records an operation, and is compared with others in pairs.
    ("operation", false),
    // An operation that is compared in the files that are named below it.
    (ELSEWHERE, true),
    // An operation that no test calls beside others.
    ("operation, not compared", true),
    // Records that all steps of other tasks depend on the function.
    ("setting", true),
    // Reads a constant state, or a plain value.
    ("constant", true),
    // Reads and changes only state of its caller.
    ("own", true),
    // Acts on the process, and on no run.
    ("process", true),
];

const ELSEWHERE: &str = "operation, compared in";

/// The folder of the tests that compare searches with brute force.
const BRUTE_FORCE: &str = "src/engine/simulate/exhaust/tests/";

/// A function and its place in the list: the head.
pub(crate) type Listed = BTreeMap<String, String>;

/// Reads the list: heads at the beginning of a line, then indented names such as `node::{find, Node::kill}`.
pub(crate) fn read(list: &File) -> (Listed, Vec<Offence>) {
    let (mut listed, mut offences) = (Listed::new(), Vec::new());
    let mut head = String::new();
    for (number, line) in list.text.lines().enumerate() {
        let mut offend = |message: String| offences.push(Offence::new(list, number + 1, message));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            let known = HEADS.iter().find(|(known, has_reason)| match has_reason {
                true => line.strip_prefix(known).is_some_and(|rest| rest.len() > 8),
                false => line == *known,
            });
            match known {
                Some((known, _)) => head = (*known).to_owned(),
                None => offend(format!("`{line}` is no head, or it has no reason")),
            }
            continue;
        }
        for name in names_of(line.trim()) {
            if listed.insert(name.clone(), head.clone()).is_some() {
                offend(format!("{name} is in the list twice: leave one out"));
            }
        }
    }
    (listed, offences)
}

/// The names of a line: `net::{cut, Sender::{send, show}}` has three.
fn names_of(line: &str) -> Vec<String> {
    let Some(open) = line.find('{') else { return vec![line.to_owned()] };
    let inner = line[open + 1..].strip_suffix('}').unwrap_or(&line[open + 1..]);
    let (mut names, mut depth, mut from) = (Vec::new(), 0, 0);
    let ends = inner.char_indices().chain([(inner.len(), ',')]);
    for (at, char) in ends {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let tails = names_of(inner[from..at].trim());
                names.extend(tails.into_iter().map(|tail| format!("{}{tail}", &line[..open])));
                from = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// The public functions of the modules, as `node::find` and `node::Node::kill`.
pub(crate) fn public_functions(sources: &Sources<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for module in MODULES {
        let own = [format!("src/{module}.rs"), format!("src/{module}/")];
        for (_, syntax) in sources.below(&own.each_ref().map(String::as_str)) {
            let mut functions = Functions { found: &mut found, module };
            functions.visit_file(syntax);
        }
    }
    found
}

struct Functions<'a> {
    found: &'a mut BTreeSet<String>,
    module: &'static str,
}

impl Functions<'_> {
    fn add(&mut self, name: &str) {
        self.found.insert(format!("{}::{name}", self.module));
    }

    /// Adds the public functions that a macro writes.
    fn add_written(&mut self, of: &str, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for at in 0..tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                self.add_written(of, group.stream());
            }
            let is = |at: usize, word: &str| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == word);
            let is_public = is(at, "pub") && (is(at + 1, "fn") || is(at + 2, "fn"));
            if is_public {
                let after = at + 2 + usize::from(!is(at + 1, "fn"));
                let name: String =
                    tokens[after..].iter().take(2).map(ToString::to_string).collect();
                let is_bound = name.starts_with('$');
                let name = if is_bound { name } else { tokens[after].to_string() };
                self.add(&format!("{of}!::{name}"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(function) if is_shown(&function.vis, &function.attrs) => {
                self.add(&function.sig.ident.to_string());
            }
            Item::Impl(block) if block.trait_.is_none() && !is_test(&block.attrs) => {
                let Type::Path(of) = &*block.self_ty else { return };
                let of = of.path.segments.last().expect("a path has a segment").ident.to_string();
                each_method(block, |method| {
                    if is_shown(&method.vis, &method.attrs) {
                        self.add(&format!("{of}::{}", method.sig.ident));
                    }
                });
            }
            Item::Macro(call) if call.mac.path.is_ident("macro_rules") => {
                let name = call.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                self.add_written(&name, call.mac.tokens.clone());
                let is_exported =
                    call.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
                if is_exported && !is_hidden(&call.attrs) {
                    self.add(&format!("{name}!"));
                }
            }
            Item::Mod(module) if !is_test(&module.attrs) => visit::visit_item_mod(self, module),
            _ => {}
        }
    }
}

/// Returns `true` for a public function that the documentation shows.
fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !is_test(attributes) && !is_hidden(attributes)
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("doc") => list.tokens.to_string() == "hidden",
        _ => false,
    })
}

/// Returns the names of the acts that are compared in pairs, for example in `act!("net::cut", …)`.
fn compared(files: &[File]) -> BTreeSet<String> {
    let pairs = files.iter().filter(|file| file.path.starts_with(PAIRS));
    let marked = pairs.flat_map(|file| file.text.split("act(\"").skip(1));
    let names = marked.filter_map(|rest| rest.split('"').next());
    names.flat_map(|names| names.split(" + ").map(str::to_owned)).collect()
}

/// Checks the lines that name files. Returns missing files, and functions that none of the named files calls.
fn elsewhere(list: &File, files: &[File]) -> Vec<Offence> {
    let (mut offences, mut named): (_, Vec<&File>) = (Vec::new(), Vec::new());
    for (number, line) in list.text.lines().enumerate() {
        let mut offend = |message: String| offences.push(Offence::new(list, number + 1, message));
        if !line.starts_with(' ') {
            named.clear();
            let Some(rest) = line.strip_prefix(ELSEWHERE) else { continue };
            for path in rest.split(':').next().unwrap_or_default().split(',').map(str::trim) {
                match files.iter().find(|file| file.path == path) {
                    Some(file) if searches(file) => named.push(file),
                    Some(_) => offend(format!("{path} makes no search")),
                    None => offend(format!("{path} is not there: name files from the root")),
                }
            }
        } else if !named.is_empty() {
            for name in names_of(line.trim()) {
                if !named.iter().any(|file| calls(&file.text, &name)) {
                    offend(format!("no file of the head calls {name}: add it there or in a pair"));
                }
            }
        }
    }
    offences
}

fn searches(file: &File) -> bool {
    let makes = ["search()", "\"exhaustive\""];
    file.path.starts_with(BRUTE_FORCE) || makes.iter().any(|makes| file.text.contains(makes))
}

/// Returns `true` if a text has a call of the function that the list has by this name.
fn calls(text: &str, name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    // A macro writes several functions.
    let call = match last {
        "$name" => "fetch_add(".to_owned(),
        last if last.ends_with('!') => last.to_owned(),
        last => format!("{last}("),
    };
    text.match_indices(&call).any(|(at, _)| {
        let before = &text[..at];
        let is_within_a_name = before.ends_with(|char: char| char.is_alphanumeric() || char == '_');
        !is_within_a_name && !before.ends_with("fn ")
    })
}

/// Returns functions that are missing in the list, entries without a function, and operations that no pair compares.
pub(crate) fn check(files: &[File], sources: &Sources<'_>) -> Vec<Offence> {
    let list = files.iter().find(|file| file.path == LIST).expect("the list is there");
    let (listed, mut offences) = read(list);
    offences.extend(elsewhere(list, files));
    let (public, compared) = (public_functions(sources), compared(files));
    let mut offend = |message: String| offences.push(Offence::new(list, 0, message));
    for name in public.iter().filter(|name| !listed.contains_key(*name)) {
        offend(format!(
            "{name} is not in the list: does it read or change state of a run? then it records an operation; put it under a head"
        ));
    }
    for name in listed.keys().filter(|name| !public.contains(*name)) {
        offend(format!("{name} is in the list, and no public function: take it out"));
    }
    for (name, head) in &listed {
        match (head.as_str(), compared.contains(name)) {
            ("operation", false) => offend(format!(
                "{name} is an operation that no pair has: add act(\"{name}\", ..) below {PAIRS}"
            )),
            ("operation" | ELSEWHERE, _) | (_, false) => {}
            (head, true) => {
                offend(format!("{name} is compared in pairs, and the list says `{head}`"));
            }
        }
    }
    for name in compared.iter().filter(|name| !listed.contains_key(*name)) {
        offend(format!("{name} is compared in pairs, and no public function"));
    }
    offences
}

mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [File::new("src/net/some.rs", text)];
        public_functions(&Sources::parse(&files)).into_iter().collect()
    }

    #[test]
    fn functions_and_methods_that_users_call_are_found() {
        let text =
            "pub fn cut() {} fn own() {} pub(crate) fn inner() {} #[doc(hidden)] pub fn hidden() {}
                    impl<T> Sender<T> { pub async fn send(&self) {} fn own(&self) {} }
                    impl Clone for Sender<u8> { fn clone(&self) -> Self { todo!() } }
                    pub mod tcp { pub fn open() {} } #[cfg(test)] mod tests { pub fn not() {} }";
        assert_eq!(found(text), ["net::Sender::send", "net::cut", "net::open"]);
    }

    #[test]
    fn methods_that_two_kinds_declares_are_found() {
        let text = "impl Socket { two_kinds! { check_outside;
                        /// Sends.
                        #[track_caller]
                        pub fn send(&self, buf: &[u8]) -> io::Result<usize> { |run, here| run.send(buf, here) }
                        fn own(&self) -> u8 { |run, here| run.own(here); |real| real.other() } }
                    two_kinds! { pub fn wait<R>(self) -> impl Future<Output = R> + use<'_> {
                        async |run, here| run.wait(here).await } } }";
        assert_eq!(found(text), ["net::Socket::send", "net::Socket::wait"]);
    }

    #[test]
    fn functions_that_a_macro_writes_have_its_name() {
        let text = "macro_rules! options { ($of:ty: $get:ident) => { impl $of {
                        pub fn $get(&self) {} pub async fn set(&self) {} } } }
                    #[macro_export] macro_rules! always { () => {} }";
        assert_eq!(found(text), ["net::always!", "net::options!::$get", "net::options!::set"]);
    }

    /// The messages about a list, for a library with these functions.
    fn offences(list: &str, functions: &str, pairs: &str) -> Vec<String> {
        let files = [
            File::new(LIST, list),
            File::new("src/node/mod.rs", functions),
            File::new(&format!("{PAIRS}nodes.rs"), pairs),
        ];
        check(&files, &Sources::parse(&files))
            .iter()
            .map(|offence| offence.message.clone())
            .collect()
    }

    #[test]
    fn a_function_that_is_not_in_the_list_is_an_offence_and_so_is_one_that_is_gone() {
        let list = "operation\n  node::{node, Node::{kill, gone}}\nconstant: of the task\n  node::current\n";
        let functions = "pub fn node() {} pub fn current() {} pub fn find() {} impl Node { pub fn kill(&self) {} }";
        let pairs = "act(\"node::node\", x), act(\"node::Node::kill + node::Node::gone\", y)";
        let offences = offences(list, functions, pairs);
        assert_eq!(offences.len(), 2, "{offences:?}");
        assert!(offences[0].starts_with("node::find is not in the list"));
        assert!(offences[1].starts_with("node::Node::gone is in the list, and no public function"));
    }

    #[test]
    fn a_function_that_the_named_files_do_not_call_is_an_offence() {
        let list = "operation, compared in src/a.rs, src/gone.rs, src/b.rs: of many calls\n  node::{node, Node::kill, x!}\n";
        let files = [
            File::new("src/a.rs", "search(); fn kill() {} painkill(); node(); x!()"),
            File::new("src/b.rs", "kill()"),
        ];
        let offences = elsewhere(&File::new(LIST, list), &files);
        let messages: Vec<_> = offences.iter().map(|offence| &offence.message[..]).collect();
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(messages[0].starts_with("src/gone.rs is not there"));
        assert!(messages[1].starts_with("src/b.rs makes no search"));
        assert!(messages[2].starts_with("no file of the head calls node::Node::kill"));
    }

    #[test]
    fn an_operation_that_is_in_no_pair_is_an_offence_and_a_head_without_a_reason() {
        let offences = offences("operation\n  node::node\nconstant\n", "pub fn node() {}", "");
        assert!(offences[0].contains("is no head, or it has no reason"), "{offences:?}");
        assert!(offences[1].starts_with("node::node is an operation that no pair has"));
        assert_eq!(offences.len(), 2);
    }
}
