//! The first page of the manual names each public module and each feature.

use std::collections::BTreeSet;

use syn::{Item, UseTree, Visibility};

use crate::tree::{File, Offence};

/// The first page of the manual.
const MANUAL: &str = "src/lib.rs";

/// Public modules and features that the first page of the manual does not name.
pub(crate) fn check(files: &[File]) -> Vec<Offence> {
    let text = |path: &str| files.iter().find(|file| file.path == path);
    let (Some(root), Some(manifest)) = (text(MANUAL), text("Cargo.toml")) else {
        let message = "missing: the root of the library or its manifest".to_owned();
        return vec![Offence { path: MANUAL.to_owned(), line: 0, message }];
    };
    let lines = root.text.lines().map_while(|line| line.strip_prefix("//!"));
    let manual: String = lines.map(|line| format!("{line}\n")).collect();
    let syntax = syn::parse_file(&root.text).unwrap_or_else(|e| panic!("{MANUAL}: {e}"));
    let is_named = |name: &str| {
        manual.contains(&format!("[`{name}`]")) || manual.contains(&format!("[`mod@{name}`]"))
    };
    let modules = public_modules(&syntax).into_iter().filter(|name| !is_named(name));
    let modules = modules.map(|name| format!("the table of modules has no [`{name}`]"));
    let features = features(&manifest.text).into_iter();
    let features = features.filter(|name| !manual.contains(&format!("| `{name}`")));
    let features = features.map(|name| format!("the table of features has no `{name}`"));
    modules.chain(features).map(|message| Offence::new(root, 0, message)).collect()
}

/// The public modules of a crate: own, re-exported with `self`, and of the crate of data.
fn public_modules(root: &syn::File) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in &root.items {
        match item {
            Item::Mod(module) if matches!(module.vis, Visibility::Public(_)) => {
                names.insert(module.ident.to_string());
            }
            Item::Use(import) if matches!(import.vis, Visibility::Public(_)) => {
                re_exported(&import.tree, "", &mut names);
            }
            _ => {}
        }
    }
    names.retain(|name| !name.starts_with("__"));
    names
}

/// Adds the modules that a `pub use` names. `parent` is the last segment above `tree`.
fn re_exported(tree: &UseTree, parent: &str, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => re_exported(&path.tree, &path.ident.to_string(), names),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| re_exported(tree, parent, names));
        }
        UseTree::Name(name) if name.ident == "self" => drop(names.insert(parent.to_owned())),
        UseTree::Name(name) if parent == "unpause_run" => {
            names.insert(name.ident.to_string());
        }
        // A whole crate under another name.
        UseTree::Rename(rename) if parent.is_empty() => {
            names.insert(rename.rename.to_string());
        }
        _ => {}
    }
}

/// The features of a manifest, except the default.
fn features(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names =
        lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" ="));
    names.map(|(name, _)| name).filter(|name| *name != "default").collect()
}

mod tests {
    use super::*;

    fn messages(offences: Vec<Offence>) -> Vec<String> {
        offences.iter().map(Offence::to_string).collect()
    }

    #[test]
    fn a_module_or_a_feature_that_the_manual_lacks_is_found() {
        let root = |table: &str| {
            let items = "pub mod net;\nmod seam;\n#[doc(hidden)]\npub mod __private {}\n\
                         pub use self::engine::runner::{self, Runner};\npub use self::task::{spawn};\n\
                         pub use unpause_run::{run, shrink};\npub use unpause_check as check;\n";
            File::new(MANUAL, &format!("//! {table}\n{items}"))
        };
        let manifest =
            "[features]\ndefault = [\"sim\"]\n# Real.\nsim = []\n\n[dependencies]\na = \"1\"\n";
        let found =
            |table: &str| messages(check(&[root(table), File::new("Cargo.toml", manifest)]));
        let all = "[`net`] [`runner`] [`run`] [`mod@shrink`] [`check`]\n//! | `sim`, the default |";
        assert_eq!(found(all), [""; 0]);
        assert_eq!(found("").len(), 6);
        let without_one = all.replace("[`runner`] ", "");
        assert_eq!(found(&without_one), ["src/lib.rs: the table of modules has no [`runner`]"]);
        assert_eq!(check(&[]).len(), 1);
    }
}
