//! The source lines of return addresses, from the program's debug information.

use std::cell::{OnceCell, UnsafeCell};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

use super::image::load_address;
use super::program::program;
use super::thread::inside;

/// A function call in the source. A return address has several such calls if functions were inlined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The path of the function, without a hash.
    pub function: String,
    /// The file, with the path that was passed to the compiler.
    pub file: String,
    /// The line, starting at 1; 0 if the debug information contains no line.
    pub line: u32,
    /// The column, starting at 1; 0 if the debug information contains no column.
    pub column: u32,
}

/// The packages with functions that are called between a test and std.
const FACADES: [&str; 3] = ["unpause-loom", "unpause-model", "unpause-shuttle"];

impl Frame {
    /// Returns `true` if the function is part of the standard library.
    pub fn is_of_std(&self) -> bool {
        let parts = [
            "/library/core/src/",
            "/library/std/src/",
            "/library/alloc/src/",
            "/library/test/src/",
        ];
        self.file.starts_with("/rustc/") || parts.iter().any(|part| self.file.contains(part))
    }

    /// Returns `true` for a function of a facade crate, which provides the API of another tool, for example loom, over
    /// std.
    pub fn is_of_facade(&self) -> bool {
        // The folder is `unpause-loom/src/…` in a checkout, and `unpause-loom-0.1.0/src/…` in registry sources.
        let is_one = |part: &str| {
            let version = FACADES.iter().find_map(|name| part.strip_prefix(name));
            version.is_some_and(|version| version.is_empty() || version.starts_with("-0."))
        };
        let mut parts = self.file.split('/').peekable();
        while let Some(part) = parts.next() {
            if is_one(part) && parts.peek() == Some(&"src") {
                return true;
            }
        }
        false
    }

    /// Returns `fetch_max` or `fetch_min` if the function is the intrinsic of this atomic method, which the compiler
    /// turns into a loop. The loop reads the memory without an operation, and then executes compare-exchanges.
    pub fn looped(&self) -> Option<&'static str> {
        if !self.file.ends_with("/core/src/sync/atomic.rs") {
            return None;
        }
        // The compiler may write the name with or without its path.
        let name = self.function.split('<').next()?.rsplit("::").next()?;
        match name {
            "atomic_max" | "atomic_umax" => Some("fetch_max"),
            "atomic_min" | "atomic_umin" => Some("fetch_min"),
            _ => None,
        }
    }
}

/// The debug information of the program.
type Lines = addr2line::Context<EndianSlice<'static, LittleEndian>>;

/// The debug information for all threads of the process, which use it in turn.
static SHARED: Shared<Option<Lines>> =
    Shared { is_used: AtomicBool::new(false), value: UnsafeCell::new(None) };

thread_local! {
    /// The debug information for this thread alone; `None` if the program has none.
    static OWN: OnceCell<Option<Lines>> = const { OnceCell::new() };
}

/// A value that is computed at its first use, and that at most one thread uses at a time. Other threads do not wait. A
/// copy of the process may contain a use by a thread that the copy does not have.
struct Shared<T> {
    is_used: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a thread uses the value only between two changes of `is_used`, which exclude and order the other threads.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Calls `act` with the value. Returns `act` if the value is in use.
    fn with<R, F: FnOnce(&T) -> R>(&self, compute: fn() -> T, act: F) -> Result<R, F> {
        /// A guard that ends the use when it is dropped, also by a panic.
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        if self.is_used.swap(true, Ordering::Acquire) {
            return Err(act);
        }
        let _end = End(&self.is_used);
        // SAFETY: this thread alone has set `is_used`.
        Ok(act(unsafe { (*self.value.get()).get_or_insert_with(compute) }))
    }
}

/// Reads the debug information, if it is not yet known.
pub(crate) fn load() {
    with_lines(|_| ());
}

/// Calls `act` with the debug information, which is `None` if the program has none. Returns `None` on a thread that
/// ends, if another thread uses the debug information.
fn with_lines<R>(act: impl FnOnce(Option<&Lines>) -> R) -> Option<R> {
    let act = |lines: &Option<Lines>| act(lines.as_ref());
    // The debug information is read on demand, and what a simulated thread allocates ends with its run.
    let act = match inside() {
        true => act,
        false => match SHARED.with(read, act) {
            Ok(done) => return Some(done),
            Err(act) => act,
        },
    };
    OWN.try_with(|lines| act(lines.get_or_init(read))).ok()
}

/// Reads the debug information.
fn read() -> Option<Lines> {
    let program = program().ok()?;
    let section = |id: SectionId| {
        let section = program.section_by_name(id.name());
        let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    };
    addr2line::Context::from_dwarf(Dwarf::load(section).ok()?).ok()
}

/// Returns the frames at a return address, innermost first; empty without debug information.
pub(crate) fn frames(return_address: usize) -> Vec<Frame> {
    let Some(address) = return_address.checked_sub(load_address() + 1) else { return Vec::new() };
    let found = with_lines(|lines| {
        let Some(lines) = lines else { return Vec::new() };
        let found = lines.find_frames(address as u64).skip_all_loads();
        let Ok(mut found) = found else { return Vec::new() };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let name = name.map(|name| format!("{:#}", rustc_demangle::demangle(&name)));
            let (file, line, column) =
                frame.location.map_or((None, None, None), |at| (at.file, at.line, at.column));
            frames.push(Frame {
                function: name.unwrap_or_default(),
                file: file.unwrap_or_default().to_owned(),
                line: line.unwrap_or(0),
                column: column.unwrap_or(0),
            });
        }
        frames
    });
    found.unwrap_or_default()
}

/// Returns `true` for a return address in the compiled part of std.
pub(crate) fn is_compiled_std(return_address: usize) -> bool {
    let Some(address) = return_address.checked_sub(load_address() + 1) else { return false };
    let found = with_lines(|lines| {
        let Some(lines) = lines else { return false };
        let unit = lines.find_dwarf_and_unit(address as u64).skip_all_loads();
        let name = unit.and_then(|unit| unit.name).map(|name| name.slice());
        let name = String::from_utf8_lossy(name.unwrap_or_default());
        ["library/std/", "library/alloc/", "library/core/"]
            .iter()
            .any(|part| name.starts_with(part))
    });
    found.unwrap_or_default()
}

/// Returns the file in the format of reports. For a package from a registry, this is `package-version/…`.
pub fn shortened(file: &str) -> &str {
    let package = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    let std = file.strip_prefix("/rustc/").and_then(|_| file.split_once("/library/"));
    if let Some((_, in_library)) = std {
        return in_library;
    }
    let own = std::env::current_dir().ok();
    let own = own.as_ref().and_then(|own| file.strip_prefix(own.to_str()?)?.strip_prefix('/'));
    match (package, own) {
        (Some((_, in_package)), _) => in_package,
        (None, Some(in_folder)) => in_folder,
        (None, None) => file,
    }
}

/// Returns the file in the format of messages: like [`shortened`], but for other packages without the folders above the
/// package.
pub(crate) fn in_package(file: &str) -> &str {
    let file = shortened(file);
    if !file.starts_with('/') {
        return file;
    }
    // Cargo's checkouts have a folder for the repository, and in it a folder for the commit.
    if let Some((_, in_checkouts)) = file.split_once("/git/checkouts/") {
        return in_checkouts;
    }
    let above = file.rfind("/src/").and_then(|source| file[..source].rfind('/'));
    above.map_or(file, |above| &file[above + 1..])
}

/// Creates a place in the source, like the result of `std::panic::Location::caller`. It is never freed.
///
/// Only the compiler can create such places. So this function finds the layout of the fields in the memory of another
/// place.
///
/// # Panics
/// Panics if the toolchain's `Location` does not consist of a file name, a line and a column.
pub fn location(file: &str, line: u32, column: u32) -> &'static Location<'static> {
    /// The layout of a `Location` in the tested toolchains.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Form {
        file: *const u8,
        length: usize,
        line: u32,
        column: u32,
    }
    assert_eq!(size_of::<Location<'_>>(), size_of::<Form>(), "{UNKNOWN_FORM}");
    let sample = Location::caller();
    // SAFETY: both types have this size, and each bit pattern is a valid `Form`.
    let form = unsafe { *(&raw const *sample).cast::<Form>() };
    let name = sample.file();
    let has_form = form.file == name.as_ptr()
        && form.length - name.len() <= 1
        && (form.line, form.column) == (sample.line(), sample.column());
    assert!(has_form, "{UNKNOWN_FORM}");
    // A file name ends with a zero byte, which may be included in the length or not.
    let counted = form.length - name.len();
    let text: &'static str = Box::leak(format!("{file}\0").into_boxed_str());
    let length = file.len() + counted;
    let made: &'static Form =
        Box::leak(Box::new(Form { file: text.as_ptr(), length, line, column }));
    // SAFETY: the sample has this layout, and the fields of the new value have the same meaning.
    let made = unsafe { &*(&raw const *made).cast::<Location<'static>>() };
    assert!(
        made.file() == file && made.line() == line && made.column() == column,
        "{UNKNOWN_FORM}"
    );
    made
}

const UNKNOWN_FORM: &str =
    "this version of unpause does not know the form of `std::panic::Location` in this toolchain";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_in_its_package_or_in_the_folder() {
        let registry = "/cargo/registry/src/index.example-0011/dashmap-6.2.1/src/lock.rs";
        assert_eq!(shortened(registry), "dashmap-6.2.1/src/lock.rs");
        assert_eq!(in_package(registry), "dashmap-6.2.1/src/lock.rs");
        assert_eq!(in_package("/u/pool/src/a/lib.rs"), "pool/src/a/lib.rs");
        assert_eq!(
            in_package("/u/.cargo/git/checkouts/pool-0a/1b2c/src/a.rs"),
            "pool-0a/1b2c/src/a.rs"
        );
        assert_eq!(in_package("/tmp/build.rs"), "/tmp/build.rs");
        assert_eq!(shortened("/rustc/0000/library/core/src/cell.rs"), "core/src/cell.rs");
        let own = std::env::current_dir().unwrap().join("src/lib.rs");
        assert_eq!(shortened(own.to_str().unwrap()), "src/lib.rs");
    }

    #[test]
    fn a_location_has_the_given_parts() {
        let made = location("src/grow.rs", 12, 5);
        assert_eq!(made.to_string(), "src/grow.rs:12:5");
    }
}
