//! The public names of tokio, read from its sources: modules, types, variants, functions, methods, constants and macros.
//!
//! Reads the items that a build for Linux with all features compiles, without tokio's unstable settings. For modules
//! that are not in [`MODULES`], only the name counts. Methods of traits, fields and implementations of traits are left
//! out.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, ImplItem, Item, Meta, Type, UseTree, Visibility};

/// The modules whose names are listed.
const MODULES: &[&str] = &["fs", "net", "sync", "task", "time"];

/// A module, by its path from the root of the crate.
type ModulePath = Vec<String>;

/// The sources of tokio.
pub(super) struct Source {
    /// The folder with `lib.rs`.
    root: PathBuf,
    /// The conditions of tokio's macros that leave items out, such as `cfg_rt`, by name.
    conditions: BTreeMap<String, bool>,
    /// The items of the modules that were read.
    read: RefCell<BTreeMap<ModulePath, Rc<Vec<Item>>>>,
    /// The items of modules inside the file of another module, until they are requested.
    within: RefCell<BTreeMap<ModulePath, Vec<Item>>>,
    names: BTreeSet<String>,
}

impl Source {
    /// Returns the names below `root`, the folder with `lib.rs`, each as a kind and a path: `fn sync::Mutex::lock`.
    pub(super) fn names(root: &Path) -> BTreeSet<String> {
        let mut source = Source {
            root: root.to_owned(),
            conditions: BTreeMap::new(),
            read: RefCell::default(),
            within: RefCell::default(),
            names: BTreeSet::new(),
        };
        source.read_conditions();
        source.add_module(&[], &[]);
        source.add_macros();
        source.names
    }

    /// Reads the conditions of the macros in `macros/cfg.rs`: the first `#[cfg(…)]` of each.
    fn read_conditions(&mut self) {
        let text = fs::read_to_string(self.root.join("macros/cfg.rs")).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let Item::Macro(item) = item else { continue };
            let Some(name) = &item.ident else { continue };
            let condition = first_condition(item.mac.tokens.clone());
            self.conditions.insert(name.to_string(), condition.is_none_or(|meta| holds(&meta)));
        }
    }

    /// Adds the names of the module at `path` in the sources. Users know this module as `public`.
    fn add_module(&mut self, path: &[String], public: &[String]) {
        for item in self.items(path).iter() {
            match item {
                Item::Use(item) if is_public(&item.vis) => {
                    for (target, name) in imports(&item.tree) {
                        self.add_import(path, &target, &name, public);
                    }
                }
                _ if visibility(item).is_some_and(is_public) => {
                    let Some(name) = name(item) else { continue };
                    self.add_item(path, item, &child(public, &name));
                }
                _ => {}
            }
        }
    }

    /// Adds the macros of the root. tokio writes some of them in a call of `doc!`, which adds their documentation.
    fn add_macros(&mut self) {
        for file in
            ["macros/join", "macros/pin", "macros/select", "macros/try_join", "task/task_local"]
        {
            let path: ModulePath = file.split('/').map(str::to_owned).collect();
            for item in self.items(&path).iter() {
                let Item::Macro(item) = item else { continue };
                let exported = item.attrs.iter().any(|made| made.path().is_ident("macro_export"));
                let name = match &item.ident {
                    Some(name) if exported => Some(name.clone()),
                    None if item.mac.path.is_ident("doc") => {
                        let inside = syn::parse2::<syn::ItemMacro>(item.mac.tokens.clone());
                        inside.ok().and_then(|inside| inside.ident)
                    }
                    _ => None,
                };
                self.names.extend(name.map(|name| format!("macro {name}")));
            }
        }
    }

    /// Adds `item` of the module at `path`. Users know this module as `public`.
    fn add_item(&mut self, path: &[String], item: &Item, public: &[String]) {
        let shown = public.join("::");
        let kind = match item {
            Item::Mod(module) => {
                self.names.insert(format!("mod {shown}"));
                if public.len() > 1 || MODULES.contains(&shown.as_str()) {
                    self.add_module(&child(path, &module.ident.to_string()), public);
                }
                return;
            }
            Item::Struct(_) | Item::Enum(_) | Item::Type(_) | Item::Union(_) => "type",
            Item::Trait(_) => "trait",
            Item::Fn(_) => "fn",
            Item::Const(_) | Item::Static(_) => "const",
            _ => return,
        };
        self.names.insert(format!("{kind} {shown}"));
        if let Item::Enum(item) = item {
            for variant in &item.variants {
                self.names.insert(format!("variant {shown}::{}", variant.ident));
            }
        }
        if kind == "type" {
            for (kind, member) in self.members(path, &name(item).unwrap()) {
                self.names.insert(format!("{kind} {shown}::{member}"));
            }
        }
    }

    /// Adds what `target` names in the module at `path`, as `public::name`.
    fn add_import(&mut self, path: &[String], target: &[String], name: &str, public: &[String]) {
        let Some(mut from) = self.absolute(path, &target[..target.len() - 1]) else {
            self.names.insert(format!("use {}", child(public, name).join("::")));
            return;
        };
        let last = &target[target.len() - 1];
        if last == "self" {
            let Some(itself) = from.pop() else { return };
            return self.add_definition(&from, &itself, &child(public, name));
        }
        self.add_definition(&from, last, &child(public, name));
    }

    /// Adds the item `name` of the module at `path`, or what it imports under that name.
    fn add_definition(&mut self, path: &[String], wanted: &str, public: &[String]) {
        let items = self.items(path);
        let is_it = |item: &&Item| {
            let is_private = matches!(item, Item::Mod(module) if !is_public(&module.vis));
            name(item).as_deref() == Some(wanted) && !is_private
        };
        let defined = items.iter().find(is_it);
        if let Some(item) = defined {
            return self.add_item(path, item, public);
        }
        for item in items.iter() {
            let Item::Use(item) = item else { continue };
            for (target, alias) in imports(&item.tree) {
                if alias == wanted {
                    let (last, above) = public.split_last().unwrap();
                    return self.add_import(path, &target, last, above);
                }
            }
        }
        panic!("{}::{wanted} is not found in tokio's sources", path.join("::"));
    }

    /// Returns the module that `segments` name in the module at `path`. `None` if it is in another crate.
    fn absolute(&self, path: &[String], segments: &[String]) -> Option<ModulePath> {
        let (first, rest) = match segments.split_first() {
            None => return Some(path.to_owned()),
            Some(split) => split,
        };
        let begin = match first.as_str() {
            "crate" => Vec::new(),
            "self" => path.to_owned(),
            "super" => path[..path.len() - 1].to_owned(),
            name => {
                let has = |item: &Item| matches!(item, Item::Mod(module) if module.ident == name);
                if !self.items(path).iter().any(has) {
                    return None;
                }
                child(path, name)
            }
        };
        Some(begin.into_iter().chain(rest.iter().cloned()).collect())
    }

    /// Returns the public functions and constants of the type `name`, which is defined in the module at `path`.
    fn members(&self, path: &[String], name: &str) -> Vec<(&'static str, String)> {
        let mut members = Vec::new();
        for item in self.items(path).iter() {
            let Item::Impl(block) = item else { continue };
            let Type::Path(of) = &*block.self_ty else { continue };
            let of_it = of.path.segments.last().is_some_and(|segment| segment.ident == name);
            if block.trait_.is_some() || !of_it {
                continue;
            }
            self.add_members(&block.items, &mut members);
        }
        members
    }

    fn add_members(&self, items: &[ImplItem], members: &mut Vec<(&'static str, String)>) {
        for item in items {
            match item {
                ImplItem::Macro(item) => {
                    let inside = self.inside(&item.mac).map(parse_all::<ImplItem>);
                    self.add_members(&inside.unwrap_or_default(), members);
                }
                ImplItem::Fn(item) if is_public(&item.vis) && is_compiled(&item.attrs) => {
                    members.push(("fn", item.sig.ident.to_string()));
                }
                ImplItem::Const(item) if is_public(&item.vis) && is_compiled(&item.attrs) => {
                    members.push(("const", item.ident.to_string()));
                }
                _ => {}
            }
        }
    }

    /// Returns the items of the module at `path`, with macros such as `cfg_rt!` removed.
    fn items(&self, path: &[String]) -> Rc<Vec<Item>> {
        if let Some(read) = self.read.borrow().get(path) {
            return read.clone();
        }
        let items = Rc::new(self.read_items(path));
        self.read.borrow_mut().insert(path.to_owned(), items.clone());
        items
    }

    fn read_items(&self, path: &[String]) -> Vec<Item> {
        let file = path.iter().fold(self.root.clone(), |folder, name| folder.join(name));
        let files = match path {
            [] => vec![self.root.join("lib.rs")],
            _ => vec![file.with_extension("rs"), file.join("mod.rs")],
        };
        if let Some(file) = files.iter().find(|file| file.exists()) {
            let text = fs::read_to_string(file).unwrap();
            return self.flat_items(path, syn::parse_file(&text).unwrap().items);
        }
        // Within the file of the module above, which is read now or was read before.
        let (_, above) = path.split_last().unwrap();
        self.items(above);
        let within = self.within.borrow_mut().remove(path);
        within.unwrap_or_else(|| panic!("tokio has no module {path:?}"))
    }

    fn flat_items(&self, path: &[String], items: Vec<Item>) -> Vec<Item> {
        let mut flat = Vec::new();
        for item in items.into_iter().filter(|item| is_compiled(attributes(item))) {
            match item {
                Item::Macro(call) if call.ident.is_none() && !call.mac.path.is_ident("doc") => {
                    if let Some(tokens) = self.inside(&call.mac) {
                        flat.extend(self.flat_items(path, parse_all::<Item>(tokens)));
                    }
                }
                Item::Mod(mut module) => {
                    if let Some((_, items)) = module.content.take() {
                        let within = child(path, &module.ident.to_string());
                        let items = self.flat_items(&within, items);
                        self.within.borrow_mut().insert(within, items);
                    }
                    flat.push(Item::Mod(module));
                }
                item => flat.push(item),
            }
        }
        flat
    }

    /// Returns the tokens in a call of a macro that leaves items out. `None` if it leaves them out here, and for
    /// other macros.
    fn inside(&self, call: &syn::Macro) -> Option<TokenStream> {
        let name = call.path.segments.last().unwrap().ident.to_string();
        let tokens = call.tokens.clone();
        if name == "pin_project" {
            return Some(tokens);
        }
        if name == "feature" {
            let (attributes, rest) = inner_attributes(tokens);
            return attributes.iter().all(holds).then_some(rest);
        }
        (self.conditions.get(&name) == Some(&true)).then_some(tokens)
    }
}

fn child(path: &[String], name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Parses a sequence. Empty if it is not such a macro.
fn parse_all<T: Parse>(tokens: TokenStream) -> Vec<T> {
    let parser = |input: ParseStream<'_>| {
        let mut all = Vec::new();
        while !input.is_empty() {
            all.push(input.parse()?);
        }
        Ok(all)
    };
    parser.parse2(tokens).unwrap_or_default()
}

/// Returns the conditions at the beginning of a call of `feature!`, and the rest.
fn inner_attributes(tokens: TokenStream) -> (Vec<Meta>, TokenStream) {
    let parser = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_inner)?;
        Ok((attributes, input.parse::<TokenStream>()?))
    };
    let (attributes, rest) = parser.parse2(tokens).unwrap();
    // `feature!` is given the condition itself.
    (attributes.into_iter().map(|attribute| attribute.meta).collect(), rest)
}

/// Returns the condition of the first `#[cfg(…)]` in these tokens.
fn first_condition(tokens: TokenStream) -> Option<Meta> {
    let mut after_name = false;
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => after_name = name == "cfg",
            TokenTree::Group(group) => {
                if after_name && group.delimiter() == Delimiter::Parenthesis {
                    return syn::parse2(group.stream()).ok();
                }
                if let Some(found) = first_condition(group.stream()) {
                    return Some(found);
                }
                after_name = false;
            }
            _ => after_name = false,
        }
    }
    None
}

/// Returns `true` if an item with these attributes is compiled, and shown in tokio's documentation.
fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        let Meta::List(list) = &attribute.meta else { return true };
        if list.path.is_ident("cfg") {
            return list.parse_args::<Meta>().is_ok_and(|meta| holds(&meta));
        }
        !list.path.is_ident("doc") || list.tokens.to_string() != "hidden"
    })
}

/// Returns `true` if a condition holds in a build for Linux with all features.
fn holds(condition: &Meta) -> bool {
    let parts = |list: &syn::MetaList| {
        let parser = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
        list.parse_args_with(parser).unwrap_or_default()
    };
    match condition {
        Meta::Path(path) => {
            path.is_ident("unix") || path.is_ident("panic") || path.is_ident("target_thread_local")
        }
        Meta::NameValue(pair) => {
            let syn::Expr::Lit(value) = &pair.value else { return false };
            let syn::Lit::Str(value) = &value.lit else { return false };
            let value = value.value();
            match pair.path.get_ident().map(ToString::to_string).as_deref() {
                Some("feature") => true,
                Some("target_os") => value == "linux",
                Some("target_family") => value == "unix",
                Some("target_pointer_width" | "target_has_atomic") => value == "64",
                Some("target_arch") => value == "x86_64",
                _ => false,
            }
        }
        Meta::List(list) if list.path.is_ident("all") => parts(list).iter().all(holds),
        Meta::List(list) if list.path.is_ident("any") => parts(list).iter().any(holds),
        Meta::List(list) if list.path.is_ident("not") => !parts(list).iter().any(holds),
        // A call of `feature!` has the condition without `cfg`.
        Meta::List(list) => parts(list).iter().all(holds),
    }
}

/// Returns the paths that an import names, each with its local name.
fn imports(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let below = imports(&path.tree).into_iter();
            let from = path.ident.to_string();
            below.map(|(rest, name)| ([vec![from.clone()], rest].concat(), name)).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], name.rename.to_string())],
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
        UseTree::Glob(_) => Vec::new(),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn visibility(item: &Item) -> Option<&Visibility> {
    match item {
        Item::Const(item) => Some(&item.vis),
        Item::Enum(item) => Some(&item.vis),
        Item::Fn(item) => Some(&item.vis),
        Item::Mod(item) => Some(&item.vis),
        Item::Static(item) => Some(&item.vis),
        Item::Struct(item) => Some(&item.vis),
        Item::Trait(item) => Some(&item.vis),
        Item::Type(item) => Some(&item.vis),
        _ => None,
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
