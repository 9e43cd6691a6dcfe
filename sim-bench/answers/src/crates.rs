//! Writes the programs of the corpus as crates.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use quote::ToTokens;
use syn::{Expr, File, Item};

use crate::fold::without_twin;

/// A bug in a crate of its own.
pub(crate) struct Bug {
    pub(crate) package: String,
    /// The name of the program in the corpus, which its crate does not have.
    pub(crate) program: String,
    /// The source of the program.
    pub(crate) source: String,
}

impl Bug {
    /// The file of the program in its crate.
    pub(crate) const FILE: &str = "program.rs";
}

/// Writes a crate for each program of the corpus, and the workspace of these crates.
pub(crate) fn write(checkout: &Path, folder: &Path) -> Result<Vec<Bug>, String> {
    let corpus = checkout.join("sim-tests/src/corpus");
    let read = |path: &str| {
        let path = corpus.join(path);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let shared = shared(&read("programs/mod.rs")?);
    let tools = read("../tools.rs")?;
    let helpers = ["condvar", "watched"].map(|name| read(&format!("programs/{name}.rs")));
    let [condvar, watched] = helpers;
    let part = |name, mut file| {
        without_twin(&mut file);
        formatted(&file).map(|text| (name, text))
    };
    let parts = [part("tools", tools)?, part("condvar", condvar?)?, part("watched", watched?)?];
    let mut bugs: Vec<Bug> = Vec::new();
    for family in ["programs", "histories"] {
        for name in modules(&read(&format!("{family}/mod.rs"))?) {
            if family == "programs" && parts.iter().any(|(part, _)| *part == name) {
                continue;
            }
            let mut file = read(&format!("{family}/{name}.rs"))?;
            let calls = calls(&mut file);
            without_twin(&mut file);
            let source = formatted(&file)?;
            for (program, call) in calls {
                let package = format!("bug_{:02}", bugs.len() + 1);
                bugs.push(Bug { package, program, source: source.clone() });
                let bug = bugs.last().expect("it was pushed");
                let root = folder.join(&bug.package);
                write_file(&root.join("Cargo.toml"), &manifest(&bug.package))?;
                write_file(&root.join("src").join(Bug::FILE), &bug.source)?;
                write_file(&root.join("src/lib.rs"), &formatted(&library(&shared, &call))?)?;
                for (part, text) in &parts {
                    write_file(&root.join(format!("src/{part}.rs")), text)?;
                }
            }
        }
    }
    let members: Vec<String> = bugs.iter().map(|bug| format!("{:?}", bug.package)).collect();
    let workspace = format!(
        "[workspace]\nmembers = [{}]\nresolver = \"3\"\n\n[workspace.dependencies]\n\
         sim = {{ package = \"unpause\", path = {:?} }}\n\n[profile.dev.package.unpause]\nopt-level = 1\n",
        members.join(", "),
        fs::canonicalize(checkout).map_err(|error| error.to_string())?,
    );
    write_file(&folder.join("Cargo.toml"), &workspace)?;
    Ok(bugs)
}

/// The text of a source. `rustfmt` also formats the arguments of macros.
fn formatted(file: &File) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("rustfmt: {error}");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "use_small_heuristics=Max"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let text = prettyplease::unparse(file);
    let mut input = rustfmt.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).map_err(cannot)?;
    drop(input);
    let output = rustfmt.wait_with_output().map_err(cannot)?;
    if !output.status.success() {
        return Err(format!("rustfmt does not read this source:\n{text}"));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    // An equal file keeps its time, so that nothing is built again.
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(cannot)
}

fn manifest(package: &str) -> String {
    format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\nsim.workspace = true\n"
    )
}

/// The names of the modules that a file declares.
fn modules(file: &File) -> Vec<String> {
    let name = |item: &Item| match item {
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    };
    file.items.iter().filter_map(name).collect()
}

/// The items of the corpus that programs use.
fn shared(file: &File) -> Vec<Item> {
    let is_shared = |item: &&Item| match item {
        Item::Enum(item) => item.ident == "Spawning",
        Item::Fn(item) => item.sig.ident == "together",
        _ => false,
    };
    let mut file =
        File { items: file.items.iter().filter(is_shared).cloned().collect(), ..file.clone() };
    without_twin(&mut file);
    file.items
}

/// Removes the list of the programs from a file. Returns the name of each, and the call of its buggy version.
fn calls(file: &mut File) -> Vec<(String, Expr)> {
    let mut calls = Vec::new();
    file.attrs.clear();
    file.items.retain(|item| match item {
        Item::Const(list) if list.ident == "PROGRAMS" => {
            let Expr::Reference(list) = &*list.expr else { return false };
            let Expr::Array(programs) = &*list.expr else { return false };
            calls.extend(programs.elems.iter().filter_map(program));
            false
        }
        // The crate has these names in its root.
        Item::Use(item) => !item.to_token_stream().to_string().starts_with("use super ::"),
        _ => true,
    });
    // The test of a crate calls its program.
    for item in &mut file.items {
        if let Item::Fn(function) = item {
            function.vis = syn::parse_quote!(pub);
        }
    }
    let imports: Item = syn::parse_quote!(
        use crate::{Condvar, Spawning, Watched, together};
    );
    file.items.insert(0, imports);
    calls
}

/// The name and the call in a row of the list.
fn program(row: &Expr) -> Option<(String, Expr)> {
    let Expr::Struct(row) = row else { return None };
    let field = |name: &str| {
        let is_it = |field: &&syn::FieldValue| matches!(&field.member, syn::Member::Named(member) if member == name);
        row.fields.iter().find(is_it).map(|field| &field.expr)
    };
    let Expr::Lit(name) = field("name")? else { return None };
    let syn::Lit::Str(name) = &name.lit else { return None };
    let Expr::Closure(buggy) = field("buggy")? else { return None };
    let Expr::Call(boxed) = &*buggy.body else { return None };
    Some((name.value(), boxed.args.first()?.clone()))
}

/// The root of a crate, with its test.
fn library(shared: &[Item], call: &Expr) -> File {
    let Expr::Call(mut call) = call.clone() else { unreachable!("a program is a call") };
    // The last argument selects the twin, if it is a constant.
    if matches!(call.args.last(), Some(Expr::Lit(lit)) if matches!(lit.lit, syn::Lit::Bool(_))) {
        call.args.pop();
        call.args.pop_punct();
    }
    if let Some(spawning) = call.args.first_mut() {
        *spawning = syn::parse_quote!(crate::Spawning::Together);
    }
    let function = &call.func;
    call.func = Box::new(syn::parse_quote!(crate::program::#function));
    syn::parse_quote! {
        #![allow(dead_code, unused_imports, unused_variables, unused_mut, unreachable_code)]
        mod condvar;
        mod program;
        mod tools;
        mod watched;
        use crate::tools::{Atomic, Body, SeqCst, spawn};
        pub use self::condvar::Condvar;
        pub use self::watched::Watched;
        #(#shared)*
        #[cfg(test)]
        mod tests {
            #[sim::test(seeds = 2000)]
            async fn test() {
                #call.await;
            }
        }
    }
}
