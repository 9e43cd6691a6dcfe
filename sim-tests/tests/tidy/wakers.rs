//! Functions that wake set no atomic by a plain store.
//!
//! A store ends the release sequence of an earlier wake-up. If two threads wake a task before it continues, the task
//! reads the second store, and nothing orders the first wake-up before it. So the task may miss what the first thread
//! has written. A read-modify-write, such as `swap`, continues the release sequence.
//!
//! The check follows calls within a file: from a function that wakes to functions of the file, to methods of the same
//! type, and to methods of the types of its fields. It does not follow calls into other files, so all functions with
//! the [names](NAMES) of wake-ups are checked in the libraries.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{
    Expr, ExprCall, ExprMethodCall, Ident, ImplItem, ImplItemFn, Item, ItemImpl, Member, Type,
};

use crate::tree::{File, Offence};

/// The traits of wakers. Their methods are checked in all files.
const TRAITS: &[&str] = &["Wake", "ArcWake"];

/// The methods of these traits, and other functions that wake a task or a thread.
const NAMES: &[&str] = &[
    "wake",
    "wake_by_ref",
    "unpark",
    "notify",
    "notify_one",
    "notify_last",
    "notify_all",
    "notify_waiters",
];

/// Stores that lose nothing: the file, the stored field, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("src/native/futexes.rs", "woken", "one thread executes a run, and only this thread reads it"),
    ("src/rt/parts/ear.rs", "woken", "one thread executes a run, and only this thread reads it"),
    ("src/rt/parts/ear.rs", "strayed", "the run fails, and only the number of a task is read"),
    ("src/rt/task_waker.rs", "strayed", "the run fails, and only the number of a task is read"),
];

/// Returns plain stores to atomics in functions that wake.
pub(crate) fn check(file: &File) -> Vec<Offence> {
    let begins = TRAITS.iter().chain(&["RawWakerVTable"]);
    let has_waker = begins.into_iter().any(|name| file.text.contains(name));
    let has_name = || is_of_library(&file.path) && file.text.contains("fn ");
    if !file.is_rust() || !file.text.contains(".store(") || !has_waker && !has_name() {
        return Vec::new();
    }
    let Ok(syntax) = syn::parse_file(&file.text) else { return Vec::new() };
    let mut found = Functions::default();
    found.visit_file(&syntax);
    let stores = found.stores(is_of_library(&file.path)).into_iter();
    let excepted =
        |field: &str| EXCEPTIONS.iter().any(|(path, name, _)| *path == file.path && *name == field);
    let stores = stores.filter(|(_, field)| !excepted(field));
    let message = |field: &str| {
        format!(
            "a wake-up stores to `{field}`, which hides an earlier wake-up: use `swap`, or another read-modify-write"
        )
    };
    stores.map(|(line, field)| Offence::new(file, line, message(&field))).collect()
}

/// Returns `true` for the sources of a library of this workspace.
fn is_of_library(path: &str) -> bool {
    path.starts_with("src/") || path.starts_with("unpause-") && path.contains("/src/")
}

/// A function: the name of its type, if it is a method, and its own name.
type Key = (Option<String>, String);

/// A function's plain stores (each with its line and the stored field), and the functions that it calls.
#[derive(Default)]
struct Body {
    stores: Vec<(usize, String)>,
    /// A call of a method has the types that the receiver may have.
    calls: Vec<Key>,
    /// Calls of methods of a field of `self`.
    of_fields: Vec<(String, String)>,
}

/// The functions of a file.
#[derive(Default)]
struct Functions {
    bodies: BTreeMap<Key, Body>,
    /// For each type and field, the names in the type of the field.
    fields: BTreeMap<(String, String), BTreeSet<String>>,
    /// Methods of the traits of wakers, and functions of a table of a waker.
    wakes: BTreeSet<Key>,
    /// The current type, while its methods are visited.
    of: Option<String>,
    /// The current function.
    current: Option<Key>,
}

impl Functions {
    /// Returns the stores of all functions that wake, and of the functions that these call. With `by_name`, the
    /// functions with the [names](NAMES) of wake-ups also wake.
    fn stores(&self, by_name: bool) -> BTreeSet<(usize, String)> {
        let is_named = |(_, name): &&Key| by_name && NAMES.contains(&name.as_str());
        let mut left: Vec<Key> = self.wakes.iter().cloned().collect();
        left.extend(self.bodies.keys().filter(is_named).cloned());
        let (mut seen, mut stores) = (BTreeSet::new(), BTreeSet::new());
        while let Some(key) = left.pop() {
            let Some(body) = self.bodies.get(&key).filter(|_| seen.insert(key.clone())) else {
                continue;
            };
            stores.extend(body.stores.iter().cloned());
            left.extend(body.calls.iter().cloned());
            for (field, method) in &body.of_fields {
                let of = key.0.clone().unwrap_or_default();
                let types = self.fields.get(&(of, field.clone())).into_iter().flatten();
                left.extend(types.map(|name| (Some(name.clone()), method.clone())));
            }
        }
        stores
    }

    fn body(&mut self) -> Option<&mut Body> {
        let key = self.current.clone()?;
        Some(self.bodies.entry(key).or_default())
    }

    /// Visits a function.
    fn enter(&mut self, name: &syn::Ident, block: &syn::Block) {
        let key = (self.of.clone(), name.to_string());
        let outer = self.current.replace(key);
        self.body();
        self.visit_block(block);
        self.current = outer;
    }

    /// Adds the functions of the table of a waker.
    fn add_table(&mut self, call: &ExprCall) {
        for argument in call.args.iter().skip(1).take(2) {
            match argument {
                Expr::Path(path) => {
                    let name = path.path.segments.last().map(|last| last.ident.to_string());
                    let of = path.path.segments.iter().rev().nth(1).map(|of| of.ident.to_string());
                    let of = if of.as_deref() == Some("Self") { self.of.clone() } else { of };
                    self.wakes.extend(name.clone().map(|name| (of, name)));
                    self.wakes.extend(name.map(|name| (None, name)));
                }
                Expr::Closure(closure) => {
                    let key = (self.of.clone(), format!("closure {}", self.bodies.len()));
                    self.wakes.insert(key.clone());
                    let outer = self.current.replace(key);
                    self.body();
                    self.visit_expr(&closure.body);
                    self.current = outer;
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Struct(item) = item {
            for (number, field) in item.fields.iter().enumerate() {
                let name = field.ident.as_ref().map_or(number.to_string(), ToString::to_string);
                let mut words = Words::default();
                words.visit_type(&field.ty);
                self.fields.insert((item.ident.to_string(), name), words.0);
            }
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let of = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let of_trait = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        let is_waker = of_trait.is_some_and(|last| TRAITS.iter().any(|name| last.ident == name));
        if is_waker {
            let methods = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(method) => Some((of.clone(), method.sig.ident.to_string())),
                _ => None,
            });
            self.wakes.extend(methods);
        }
        let outer = std::mem::replace(&mut self.of, of);
        visit::visit_item_impl(self, item);
        self.of = outer;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.enter(&function.sig.ident, &function.block);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let of = self.of.take();
        self.enter(&function.sig.ident, &function.block);
        self.of = of;
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(path) = &*call.func {
            let mut names =
                path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
            let (name, of) = (names.next().unwrap_or_default(), names.next());
            if of.as_deref() == Some("RawWakerVTable") && name == "new" {
                self.add_table(call);
            }
            let own = self.of.clone();
            let of = if of.as_deref() == Some("Self") { own } else { of };
            if let Some(body) = self.body() {
                body.calls.extend([(of, name.clone()), (None, name)]);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let name = call.method.to_string();
        let (own, at) = (self.of.clone(), call.method.span().start().line);
        if let Some(body) = self.body() {
            if name == "store" && call.args.len() == 2 {
                body.stores.push((at, stored(&call.receiver)));
            }
            match &*call.receiver {
                Expr::Path(path) if path.path.is_ident("self") => body.calls.push((own, name)),
                Expr::Field(field) if is_self(&field.base) => {
                    body.of_fields.push((member(&field.member), name));
                }
                _ => {}
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

fn is_self(expression: &Expr) -> bool {
    matches!(expression, Expr::Path(path) if path.path.is_ident("self"))
}

fn member(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns the name of the atomic in this expression.
fn stored(receiver: &Expr) -> String {
    match receiver {
        Expr::Field(field) => member(&field.member),
        Expr::Path(path) => {
            path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default()
        }
        _ => "an atomic".to_owned(),
    }
}

/// The words in a type.
#[derive(Default)]
struct Words(BTreeSet<String>);

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, word: &'ast Ident) {
        self.0.insert(word.to_string());
    }
}

mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&File::new(path, text)).iter().map(|offence| offence.line).collect()
    }

    /// A waker whose flag is set by this code.
    fn waker(sets: &str) -> String {
        format!(
            "struct Woken {{ is_set: AtomicBool, thread: Thread }}\n\
             impl Wake for Woken {{\n\
             fn wake(self: Arc<Self>) {{ self.wake_by_ref(); }}\n\
             fn wake_by_ref(self: &Arc<Self>) {{\n\
             {sets}\n\
             self.thread.unpark();\n}}\n}}\n"
        )
    }

    #[test]
    fn a_store_of_a_waker_is_found_in_each_file() {
        let planted = waker("self.is_set.store(true, SeqCst);");
        for path in ["unpause-loom/src/future.rs", "native-tests/known/src/lib.rs"] {
            assert_eq!(lines(path, &planted), [5]);
        }
        let message = &check(&File::new("src/real/crew.rs", &planted))[0].message;
        assert!(message.contains("`is_set`") && message.contains("use `swap`"), "{message}");
        assert_eq!(lines("src/real/crew.rs", &waker("self.is_set.swap(true, SeqCst);")), [0; 0]);
        // A waker may store where it does not wake.
        let resets =
            format!("{planted}fn open(woken: &Woken) {{ woken.is_set.store(false, SeqCst) }}");
        assert_eq!(lines("src/real/crew.rs", &resets), [5]);
    }

    #[test]
    fn a_store_of_a_function_that_a_waker_calls_is_found() {
        let set = |of: &str| {
            format!("impl {of} {{\nfn set(&self) {{ self.0.store(true, SeqCst) }}\n}}\n")
        };
        let field = "struct Woken(Arc<Flag>);\nstruct Flag(AtomicBool);\nstruct Other(AtomicBool);\n\
            impl ArcWake for Woken {\nfn wake_by_ref(woken: &Arc<Self>) { woken.wake() }\n}\n\
            impl Woken {\nfn wake(&self) { self.0.set() }\n}\n";
        assert_eq!(lines("src/a.rs", &format!("{field}{}", set("Flag"))), [11]);
        assert_eq!(lines("src/a.rs", &format!("{field}{}", set("Other"))), [0; 0]);
        let own = waker("self.set();") + &set("Woken").replace('0', "is_set");
        assert_eq!(lines("src/a.rs", &own), [10]);
        let free = waker("set(&self.is_set);")
            + "fn set(flag: &AtomicBool) {\nflag.store(true, Release) }";
        assert_eq!(lines("src/a.rs", &free), [10]);
    }

    #[test]
    fn a_store_of_a_table_of_functions_is_found() {
        let table = "static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake_it, |data| {\n\
            flag(data).store(true, Release)\n}, drop_it);\n\
            unsafe fn wake_it(data: *const ()) {\nflag(data).store(true, Release)\n}\n\
            unsafe fn drop_it(data: *const ()) {\nflag(data).store(false, Release)\n}\n";
        assert_eq!(lines("native-tests/known/src/lib.rs", table), [2, 5]);
    }

    #[test]
    fn functions_of_libraries_with_names_of_wake_ups_are_wakers() {
        let token = |sets| {
            format!("impl Parking {{\nfn unpark(&self) {{\nself.0.is_there.{sets};\n}}\n}}\n")
        };
        let stores = token("store(true, SeqCst)");
        assert_eq!(lines("src/real/own.rs", &stores), [3]);
        assert_eq!(lines("src/real/own.rs", &token("swap(true, SeqCst)")), [0; 0]);
        // The programs of tests may have planted bugs.
        assert_eq!(lines("sim-tests/tests/historical/parts.rs", &stores), [0; 0]);
    }

    #[test]
    fn each_exception_is_a_store() {
        let tree = crate::tree::Tree::of_the_repository();
        for (path, field, _) in EXCEPTIONS {
            let store = format!(".{field}.store(");
            assert!(tree.text(path).contains(&store), "{path} stores no `{field}`");
        }
    }
}
