//! The compiled part of the standard library. When a program is linked, the std functions that synchronise threads are
//! replaced by instrumented functions.
//!
//! The names come from the toolchain's library ([`names`]). A program that compares the replacements with std's own
//! functions runs once per toolchain. A toolchain with different functions is refused.

mod names;
mod stubs;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use self::names::Names;
pub(super) use self::names::functions;
use self::stubs::stubs;
use super::cache::Cache;
use super::{flags, output, scan};
use crate::usage::Usage;

/// A source file of the replacements: its name and its text.
type Source = (&'static str, &'static str);

/// The source files of the replacements, the crate's root first.
const REPLACEMENTS: &[Source] = &[
    ("lib.rs", include_str!("stdlib/replaced/lib.rs.txt")),
    ("barrier.rs", include_str!("stdlib/replaced/barrier.rs.txt")),
    ("c.rs", include_str!("stdlib/replaced/c.rs.txt")),
    ("c11.rs", include_str!("stdlib/replaced/c11.rs.txt")),
    ("c_barrier.rs", include_str!("stdlib/replaced/c_barrier.rs.txt")),
    ("c_condvar.rs", include_str!("stdlib/replaced/c_condvar.rs.txt")),
    ("c_library.rs", include_str!("stdlib/replaced/c_library.rs.txt")),
    ("c_mutex.rs", include_str!("stdlib/replaced/c_mutex.rs.txt")),
    ("c_once.rs", include_str!("stdlib/replaced/c_once.rs.txt")),
    ("c_rwlock.rs", include_str!("stdlib/replaced/c_rwlock.rs.txt")),
    ("c_semaphore.rs", include_str!("stdlib/replaced/c_semaphore.rs.txt")),
    ("c_spin.rs", include_str!("stdlib/replaced/c_spin.rs.txt")),
    ("condvar.rs", include_str!("stdlib/replaced/condvar.rs.txt")),
    ("futex.rs", include_str!("stdlib/replaced/futex.rs.txt")),
    ("mutex.rs", include_str!("stdlib/replaced/mutex.rs.txt")),
    ("once.rs", include_str!("stdlib/replaced/once.rs.txt")),
    ("rwlock.rs", include_str!("stdlib/replaced/rwlock.rs.txt")),
    ("thread.rs", include_str!("stdlib/replaced/thread.rs.txt")),
];

/// The program that compares the replacements with std's functions.
const CHECK: Source = ("check.rs", include_str!("stdlib/replaced/check.rs.txt"));

/// The compiled files: the replacements, and the functions that record entries.
const OBJECTS: [&str; 2] = ["replaced.o", "noted.o"];

/// The file with linker arguments.
const ARGUMENTS: &str = "arguments";

/// The prefix of the names that the replacements use to call std's functions.
pub(super) const REAL: &str = "unpause_real_";

/// The folder name in the debug information of the replacements. The engine recognises this name.
const SHOWN_FOLDER: &str = "/rustc/unpause/replaced";

/// The time limit of the comparison. The comparison takes a few milliseconds, unless a function waits although it
/// should not.
const TIME: Duration = Duration::from_secs(10);

/// The version of the form of [`stubs()`]. If it changes, the stubs are compiled again.
const FORM: u32 = 3;

const REMEDY: &str = "use another toolchain, for example `cargo +1.95.0 unpause test`, or a newer version of unpause";

/// The compiled replacements, ready for linking.
pub(super) struct Replacements {
    /// A file with linker arguments.
    pub(super) arguments: PathBuf,
    /// The linker arguments without the library of instrumentation functions.
    pub(super) common: String,
    /// The folder of std's libraries.
    pub(super) libraries: PathBuf,
    /// One hash over all inputs of the replacements and the format version of the instruction list (see `scan.rs`) that
    /// is appended to each program.
    pub(super) hash: String,
}

/// Compiles the replacements and checks them, once per toolchain. `fallback` is the library of instrumentation
/// functions.
///
/// # Errors
/// If this version does not support the toolchain's standard library.
pub(super) fn build(
    rustc: &OsString,
    cache: &Cache,
    fallback: &Path,
) -> Result<Replacements, Usage> {
    let version = output(Command::new(rustc).arg("-vV"))?;
    let library = library(rustc, "libstd-")?;
    let mut hasher = DefaultHasher::new();
    let made_of = (&version, &library, REPLACEMENTS, CHECK, fallback, flags::INSTRUMENTATION);
    (made_of, names::LISTS, stubs::TEXTS, scan::END, FORM).hash(&mut hasher);
    let hash = format!("{:016x}", hasher.finish());
    let refuse = |difference: String| {
        let release = version.lines().next().unwrap_or_default();
        Usage(format!(
            "the standard library of {release} is not one that this version of unpause knows: {difference}. {REMEDY}"
        ))
    };
    let entry = cache.entry(&format!("std-{hash}"), |draft, entry| {
        let names = make(rustc, &library, draft, fallback, REPLACEMENTS);
        let written = names.and_then(|names| {
            let text = link_arguments(&names, entry, fallback);
            std::fs::write(draft.join(ARGUMENTS), text).map_err(|error| error.to_string())
        });
        written.map_err(refuse)
    });
    let arguments = entry?.join(ARGUMENTS);
    let unreadable = |error| Usage(format!("{} cannot be read: {error}", arguments.display()));
    let text = std::fs::read_to_string(&arguments).map_err(unreadable)?;
    let common = text.replace(&line(fallback), "");
    let libraries = library.parent().unwrap_or(Path::new(".")).to_owned();
    Ok(Replacements { arguments, common, libraries, hash })
}

/// Returns the file of a toolchain library with a name that begins with `begin`.
pub(super) fn library(rustc: &OsString, begin: &str) -> Result<PathBuf, Usage> {
    let folder = PathBuf::from(output(Command::new(rustc).args(["--print", "target-libdir"]))?);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(begin) && name.ends_with(".rlib")
    };
    let missing = || Usage(format!("{} has no {begin}*.rlib: {REMEDY}", folder.display()));
    entries.map(|entry| entry.path()).find(is_it).ok_or_else(missing)
}

/// Compiles and checks the replacements in `folder`. Returns the symbols of the standard library.
///
/// # Errors
/// Returns a difference from the supported standard libraries.
fn make(
    rustc: &OsString,
    library: &Path,
    folder: &Path,
    fallback: &Path,
    sources: &[Source],
) -> Result<Names, String> {
    let names = names::find(library)?;
    let write = |(name, text): Source| {
        std::fs::write(folder.join(name), text).map_err(|error| error.to_string())
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let stubs = stubs(&names);
    for source in sources.iter().chain([&CHECK]) {
        write(*source)?;
    }
    std::fs::write(folder.join("noted.rs"), stubs).map_err(|error| error.to_string())?;

    let compile = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(rustc);
        // The compiler puts intermediate files into the current folder.
        command.current_dir(folder);
        let mut shown = folder.as_os_str().to_owned();
        shown.push(format!("={SHOWN_FOLDER}"));
        command.args(["--edition=2021", "-Copt-level=2", "-Ccodegen-units=1", "--cap-lints=allow"]);
        command.args(["-Cdebuginfo=line-tables-only", flags::FRAMES, "--remap-path-prefix"]);
        command.arg(shown).args(arguments).arg(folder.join(name));
        output(&mut command).map_err(|Usage(message)| format!("{name} does not compile: {message}"))
    };
    let [object, noted] = OBJECTS.map(|name| folder.join(name));
    let emit = |file: &Path| format!("--emit=obj={}", file.display());
    let mut flags = flags::INSTRUMENTATION.to_vec();
    let emitted = emit(&object);
    flags.extend(["--crate-type=lib", "--crate-name=unpause_std", &emitted]);
    compile("lib.rs", &flags)?;
    compile("noted.rs", &["--crate-type=lib", "--crate-name=unpause_noted", &emit(&noted)])?;

    let trial = folder.join("check.arguments");
    std::fs::write(&trial, link_arguments(&names, folder, fallback))
        .map_err(|error| error.to_string())?;
    let program = folder.join("check");
    let (link, to) = (format!("-Clink-arg=@{}", trial.display()), program.display().to_string());
    compile("check.rs", &[&link, "-o", &to])?;
    check(&program)?;
    Ok(names)
}

/// Runs the comparison program.
fn check(program: &Path) -> Result<(), String> {
    let start = Command::new(program).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut started = start.map_err(|error| format!("its check cannot be started: {error}"))?;
    let begun = Instant::now();
    while started.try_wait().is_ok_and(|status| status.is_none()) {
        if begun.elapsed() > TIME {
            let _ = started.kill();
            let _ = started.wait();
            return Err("a function waits where it should not".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = started.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
    match ended.status.success() {
        true => Ok(()),
        false if said.is_empty() => Err(format!("its check ended with {}", ended.status)),
        false => Err(said),
    }
}

/// Returns the linker arguments that replace std functions by the functions in `folder`.
fn link_arguments(names: &Names, folder: &Path, fallback: &Path) -> String {
    let mut text = String::new();
    let mut declared = Vec::new();
    for (symbol, replacement) in &names.replaced {
        let _ = writeln!(text, "-Wl,--wrap={symbol}");
        let _ = writeln!(text, "-Wl,--defsym=__wrap_{symbol}=unpause_std_{replacement}");
        // If two symbols have the same replacement, only the first symbol is declared.
        if !declared.contains(replacement) {
            declared.push(replacement);
            let _ = writeln!(text, "-Wl,--defsym={REAL}{replacement}=__real_{symbol}");
        }
    }
    for (symbol, _) in &names.noted {
        let _ = writeln!(text, "-Wl,--wrap={symbol}");
    }
    text += "-Wl,--wrap=dlopen\n";
    let objects = OBJECTS.map(|name| folder.join(name));
    for file in objects.iter().map(PathBuf::as_path).chain([fallback]) {
        text += &line(file);
    }
    text
}

/// Returns the argument that links a file.
fn line(file: &Path) -> String {
    format!("\"{}\"\n", file.display())
}

/// Returns the files among the linker's arguments.
pub(super) fn files(arguments: &str) -> impl Iterator<Item = &str> {
    arguments.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'))
}

#[cfg(test)]
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::test::fallback;

    /// Returns a temporary folder of this process.
    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("unpause-std-{}-{name}", std::process::id()))
    }

    /// Returns the difference that the check finds if `from` in the replacements is replaced by `to`.
    fn difference(fallback: &Path, name: &str, from: &str, to: &str) -> Option<String> {
        let rustc = OsString::from("rustc");
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let folder = folder(&COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        let library = library(&rustc, "libstd-").unwrap_or_else(|Usage(text)| panic!("{text}"));
        let changed = |(file, text): &Source| -> Source {
            assert!(*file != name || from == to || text.contains(from), "{from} is not in {file}");
            (file, if *file == name { text.replace(from, to).leak() } else { text })
        };
        let sources: Vec<Source> = REPLACEMENTS.iter().map(changed).collect();
        let made = make(&rustc, &library, &folder, fallback, &sources);
        std::fs::remove_dir_all(&folder).unwrap();
        made.err()
    }

    #[test]
    fn replacements_that_differ_from_std_are_refused() {
        let scope = "    running: AtomicUsize,\n    a_thread_panicked: AtomicBool,";
        let swapped = "    a_thread_panicked: AtomicBool,\n    running: AtomicUsize,";
        let order = "come: usize,\n    generation";
        let other_order = "generation: usize,\n    come";
        let parker = "the parker of a Thread is at 0x28, the replacement's at 0x20";
        let readers = "READERS_WAIT: u32 = 1 << 30";
        let faults = [
            ("thread.rs", "usize = 0x28", "usize = 0x20", parker),
            ("thread.rs", scope, swapped, "ScopeData"),
            ("barrier.rs", order, other_order, "Barrier::wait"),
            ("once.rs", "POISONED: u32 = 2", "POISONED: u32 = 4", "Once::call"),
            ("rwlock.rs", readers, "READERS_WAIT: u32 = 1 << 29", "RwLock::"),
            ("condvar.rs", "count.fetch_add(1", "count.fetch_add(2", "Condvar::notify"),
        ];
        let rustc = OsString::from("rustc");
        let cache = folder("fallback");
        let fallback = &fallback::build(&rustc, &Cache::at(cache.clone()))
            .unwrap_or_else(|Usage(text)| panic!("{text}"));
        // The checks run in parallel, because some of them wait for the time limit.
        std::thread::scope(|scope| {
            for (file, from, to, found) in faults {
                scope.spawn(move || {
                    let difference = difference(fallback, file, from, to).unwrap();
                    let is_told = difference.contains(found) || difference.contains("waits");
                    assert!(is_told, "{file}: {difference}");
                });
            }
            assert_eq!(difference(fallback, "lib.rs", "", ""), None);
        });
        std::fs::remove_dir_all(cache).unwrap();
    }

    /// Returns the libc file that this process uses.
    fn libc() -> PathBuf {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        paths.map(PathBuf::from).find(|path| path.ends_with("libc.so.6")).unwrap()
    }

    #[test]
    fn each_lock_of_libc_is_an_operation() {
        use object::{Object, ObjectSymbol};
        const KINDS: &[&str] = &[
            "call_once",
            "cnd_",
            "mtx_",
            "thrd_",
            "tss_",
            "pthread_barrier_",
            "pthread_cond_",
            "pthread_mutex_",
            "pthread_once",
            "pthread_rwlock_",
            "pthread_spin_",
            "sem_",
        ];
        /// Suffixes of functions that neither wait nor wake a thread.
        const QUIET: &[&str] = &[
            "_init",
            "_destroy",
            "_current",
            "_equal",
            "_getvalue",
            "_getprioceiling",
            "_setprioceiling",
            "_open",
            "_close",
            "_unlink",
            // Functions for robust mutexes.
            "_consistent",
            "_consistent_np",
        ];
        let bytes = std::fs::read(libc()).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let names = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
        let mut names: Vec<_> = names.filter_map(|symbol| symbol.name().ok()).collect();
        names.sort_unstable();
        names.dedup();
        let is_lock = |name: &&str| KINDS.iter().any(|kind| name.starts_with(kind));
        let is_quiet = |name: &&str| QUIET.iter().any(|end| name.ends_with(end));
        let waits = names.into_iter().filter(is_lock).filter(|name| !is_quiet(name));
        let (replaced, missing): (Vec<_>, Vec<_>) = waits.partition(|name| {
            REPLACEMENTS.iter().any(|(_, text)| text.contains(&format!("    {name}(")))
        });
        assert_eq!(missing, Vec::<&str>::new());
        assert!(replaced.len() >= 48, "{replaced:?}");
    }
}
