//! The engine for test programs that do not depend on it: its sources, and its compilation to a static library.
//!
//! The sources are the sources of this command: a registry version, or the folder of a checkout.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::cache::{Cache, SHORT_LIVED};
use super::super::tools::Tools;
use super::super::{host, output};
use super::{unreadable, unwritable};
use crate::usage::Usage;

const RUNTIME: &str = include_str!("runtime.rs.txt");

/// The name of the runtime crate.
pub(super) const CRATE: &str = "unpause_runtime";

/// Compiler flags.
const FLAGS: &str = "--cfg unpause_native --cfg unpause_linked -Cforce-frame-pointers=yes -Cdebuginfo=0 --cap-lints=allow";

/// The profile of the build. Environment variables set it, because they take precedence over the user's configuration.
const PROFILE: &[(&str, &str)] = &[
    ("OPT_LEVEL", "3"),
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "false"),
    ("DEBUG_ASSERTIONS", "false"),
    ("INCREMENTAL", "false"),
    ("LTO", "off"),
    ("OVERFLOW_CHECKS", "false"),
    ("PANIC", "unwind"),
    ("STRIP", "none"),
];

/// The prefix of environment variables that change the profile. Tests of this command set them, because they do not
/// need a fast engine.
const PROFILE_VARIABLE: &str = "UNPAUSE_PROFILE_";

/// The files and folders of a checkout that are needed to compile the engine.
const OF_CHECKOUT: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "unpause-check/Cargo.toml",
    "unpause-check/src",
    "unpause-macros/Cargo.toml",
    "unpause-macros/src",
    "unpause-native/Cargo.toml",
    "unpause-native/src",
    "unpause-ordered/Cargo.toml",
    "unpause-ordered/src",
    "unpause-orders/Cargo.toml",
    "unpause-orders/src",
    "unpause-run/Cargo.toml",
    "unpause-run/src",
    "unpause-words/Cargo.toml",
    "unpause-words/src",
];

/// The inputs of a compilation of the engine.
#[derive(Hash)]
pub(super) struct Engine {
    /// The version of the compiler.
    compiler: String,
    /// The manifest, which contains the version or the folder of the sources.
    manifest: String,
    runtime: &'static str,
    profile: Vec<(&'static str, String)>,
    /// The checkout, and a hash of its sources.
    checkout: Option<(PathBuf, u64)>,
}

impl Engine {
    /// Returns the engine in the version of this command.
    pub(super) fn of_this_command(tools: &Tools) -> Result<Engine, Usage> {
        let folder = checkout();
        let source = |package: &str, below: &str| match folder {
            Some(folder) => format!("{package} = {{ path = {:?} }}\n", folder.join(below)),
            None => format!("{package} = \"={}\"\n", env!("CARGO_PKG_VERSION")),
        };
        let manifest = format!(
            "[workspace]\n\n[package]\nname = {CRATE:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"lib.rs\"\ncrate-type = [\"staticlib\"]\n\n[dependencies]\n{}{}",
            source("unpause", ""),
            source("unpause-native", "unpause-native"),
        );
        let hashed = |folder: &Path| {
            let hash = hash_of(folder).map_err(|error| unreadable(folder, &error))?;
            Ok::<_, Usage>((folder.to_owned(), hash))
        };
        Ok(Engine {
            compiler: output(Command::new(&tools.rustc).arg("-vV"))?,
            manifest,
            runtime: RUNTIME,
            profile: PROFILE.iter().map(|(name, value)| (*name, setting(name, value))).collect(),
            checkout: folder.map(hashed).transpose()?,
        })
    }

    /// Returns the name of the engine's entry in the cache.
    pub(super) fn entry(&self, hash: &str) -> String {
        match self.checkout {
            Some(_) => format!("engine-{hash}{SHORT_LIVED}"),
            None => format!("engine-{hash}"),
        }
    }

    /// Compiles the engine. Returns the static library.
    ///
    /// # Errors
    /// If the engine cannot be compiled, or if the sources changed during the compilation.
    pub(super) fn compile(&self, tools: &Tools, cache: &Cache) -> Result<PathBuf, Usage> {
        // All versions of the sources share one folder, so that a changed source does not compile dependencies again.
        // Cargo locks the folder.
        let mut hasher = DefaultHasher::new();
        (&self.compiler, &self.manifest, self.runtime, FLAGS, &self.profile).hash(&mut hasher);
        let home = cache.scratch(&format!("build-{:016x}", hasher.finish()))?;
        let lock = self.checkout.as_ref().map(|(folder, _)| folder.join("Cargo.lock"));
        if let Some(text) = lock.and_then(|lock| std::fs::read_to_string(lock).ok()) {
            if !home.join("Cargo.lock").exists() {
                write(&home, "Cargo.lock", &text)?;
            }
        }
        write(&home, "Cargo.toml", &self.manifest)?;
        write(&home, "lib.rs", self.runtime)?;
        let (host, target) = (host(&tools.rustc)?, home.join("target"));
        let mut command = Command::new(&tools.cargo);
        // The user's build settings do not apply here.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
                command.env_remove(&name);
            }
        }
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_MANIFEST_DIR");
        command.current_dir(&home).args(["build", "--release", "--quiet", "--target", &host]);
        command.env("CARGO_TARGET_DIR", &target).env("CARGO_BUILD_BUILD_DIR", &target);
        // Empty values turn all wrappers off, including wrappers in the user's configuration.
        command.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
        // A file `rust-toolchain.toml` of the project has no effect in this folder.
        command.env("RUSTC", compiler(tools)?).env("RUSTFLAGS", FLAGS);
        for (name, value) in &self.profile {
            command.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
        }
        output(&mut command).map_err(|Usage(text)| {
            Usage(format!("the runtime for --any cannot be built: {text}"))
        })?;
        if let Some((folder, before)) = &self.checkout {
            if hash_of(folder).ok() != Some(*before) {
                let folder = folder.display();
                return Err(Usage(format!(
                    "the sources of unpause in {folder} have changed while they were compiled: run the command again"
                )));
            }
        }
        Ok(target.join(host).join("release").join(format!("lib{CRATE}.a")))
    }
}

/// Returns the value of a profile setting.
fn setting(name: &str, value: &str) -> String {
    std::env::var(format!("{PROFILE_VARIABLE}{name}")).unwrap_or_else(|_| value.to_owned())
}

/// Returns the path of the compiler itself, because `rustc` may be a proxy that chooses a toolchain for each folder.
fn compiler(tools: &Tools) -> Result<PathBuf, Usage> {
    let root = output(Command::new(&tools.rustc).args(["--print", "sysroot"]))?;
    let path = Path::new(&root).join("bin/rustc");
    Ok(if path.is_file() { path } else { PathBuf::from(&tools.rustc) })
}

/// Writes a file only if its text differs, because Cargo compares modification times.
fn write(home: &Path, name: &str, text: &str) -> Result<(), Usage> {
    let path = home.join(name);
    if std::fs::read_to_string(&path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    // The file is renamed once it is complete, because another process may build the runtime at the same time.
    let draft = home.join(format!("{name}.{}", std::process::id()));
    let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, &path));
    written.map_err(|error| unwritable(&path, &error))
}

/// Returns the checkout from which this command was built, or `None` for a registry version.
pub(crate) fn checkout() -> Option<&'static Path> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    folder.join("unpause-native/Cargo.toml").is_file().then_some(folder)
}

/// Returns a hash of the sources in a checkout.
fn hash_of(checkout: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for name in OF_CHECKOUT {
        let path = checkout.join(name);
        if path.exists() {
            hash_path(&path, &mut hasher)?;
        }
    }
    Ok(hasher.finish())
}

fn hash_path(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    path.hash(hasher);
    if path.is_dir() {
        let entries = std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
        paths.sort_unstable();
        return paths.iter().try_for_each(|path| hash_path(path, hasher));
    }
    std::fs::read(path)?.hash(hasher);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_checkout_has_each_file_that_is_compiled() {
        let folder = std::env::temp_dir().join(format!("unpause-engine-{}", std::process::id()));
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("src/lib.rs", "mod a;");
        let mut hashes = vec![hash_of(&folder).unwrap()];
        for (name, text) in [
            ("src/a/b.rs", "1"),
            ("src/a/b.rs", "2"),
            ("unpause-check/src/lib.rs", ""),
            ("Cargo.lock", "x"),
        ] {
            file(name, text);
            hashes.push(hash_of(&folder).unwrap());
        }
        file("docs/native.md", "is not compiled");
        assert_eq!(hash_of(&folder).unwrap(), *hashes.last().unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 5);
    }

    #[test]
    fn the_packages_of_the_engine_are_those_of_its_hash() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut folders = vec![String::new()];
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            let text = std::fs::read_to_string(root.join(&folder).join("Cargo.toml")).unwrap();
            let dependencies = text.split("[dev-dependencies]").next().unwrap();
            for path in dependencies.split("path = \"").skip(1) {
                let path = path.split('"').next().unwrap();
                if path.starts_with("unpause") && !folders.iter().any(|known| known == path) {
                    folders.push(path.to_owned());
                }
            }
        }
        assert!(folders.len() > 3, "{folders:?}");
        for folder in &folders {
            for part in ["Cargo.toml", "src"] {
                let path =
                    if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
                assert!(OF_CHECKOUT.contains(&&*path), "{path}");
            }
        }
    }
}
