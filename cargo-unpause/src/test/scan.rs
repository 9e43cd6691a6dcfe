//! Searches a linked program for instructions that synchronise threads or call the system, in code that is not
//! instrumented: assembly, C, and the output of compiler passes after the instrumentation.
//!
//! The program is searched after each link, because only a linked program has final addresses. Functions from known
//! files are left out: std, the runtime and the other libraries that the command links. All other functions count. So
//! generic std code counts as part of the crate in which it is compiled.
//!
//! The list is appended to the program. The runtime (`unpause-native/src/linux/unseen.rs`) reads the list and sets a
//! breakpoint at each instruction. So a copy of the program still contains the list. A program without a list was not
//! searched. The list also contains the Rust statics that have a name of C ([`statics`]).
//!
//! Shared libraries are not searched. Instead, the list contains the functions that the program imports from them
//! ([`imports`]), and the runtime sets a breakpoint at each of these functions.
//!
//! # Limits
//!
//! Plain loads and stores, which on x86-64 can synchronise threads, are not found: they are ordinary instructions.

mod aarch64;
mod imports;
mod known;
mod linked;
mod statics;
mod x86_64;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Architecture, File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use self::known::Known;
pub(super) use self::linked::search_linked;

/// The marker at the end of a program with a list. The 16 hexadecimal digits before it are the length of the list.
pub(super) const END: &str = "unpause-unseen-3";

/// An instruction that synchronises threads or calls the system.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Instruction {
    address: u64,
    /// `true` if the instruction is a system call.
    calls: bool,
    /// The name of the instruction, such as `lock xadd`.
    name: String,
}

/// The instructions found in a range of code.
#[derive(Default)]
struct Decoded {
    found: Vec<Instruction>,
    /// `true` if a part of the range is not code, so the decoder may have missed the start of an instruction.
    has_data: bool,
}

/// The position of the breakpoint that detects the execution of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watch {
    /// At the instruction itself.
    Instruction,
    /// At the beginning of its function, because the function contains data between its code.
    Function,
    /// No breakpoint is set, because the bytes may be data, which a breakpoint would change.
    Nowhere,
}

/// An instruction, its function, and the address of its breakpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Unseen {
    address: u64,
    watch: Watch,
    calls: bool,
    instruction: String,
    function: String,
}

/// Searches a linked program and appends the list to it. `folders` contains the folders with the libraries of the
/// program.
///
/// # Errors
/// If the program cannot be read or written.
fn append(program: &Path, known: &Known, folders: &BTreeSet<PathBuf>) -> Result<(), String> {
    let unreadable =
        |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", program.display());
    let bytes = std::fs::read(program).map_err(|error| unreadable(&error))?;
    let file = File::parse(&*bytes).map_err(|error| unreadable(&error))?;
    let unseen = search(&file, known).map_err(|error| unreadable(&error))?;
    let imports = imports::find(&file).map_err(|error| unreadable(&error))?;
    let text = list(&unseen, &statics::find(&file, known, folders), &imports);
    let written = std::fs::OpenOptions::new().append(true).open(program).and_then(|mut to| {
        std::io::Write::write_all(&mut to, format!("{text}{:016x}{END}", text.len()).as_bytes())
    });
    written.map_err(|error| format!("{} cannot be written: {error}", program.display()))
}

/// Returns the list as text: one line for each static, for each imported function, and for each instruction.
fn list(unseen: &[Unseen], statics: &[u64], imports: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for address in statics {
        let _ = writeln!(text, "{address:x}\tstatic");
    }
    for name in imports {
        let _ = writeln!(text, "{name}\timport");
    }
    for Unseen { address, watch, calls, instruction, function } in unseen {
        let watch = match watch {
            Watch::Instruction => 'i',
            Watch::Function => 'f',
            Watch::Nowhere => 'n',
        };
        let kind = if *calls { 'c' } else { 's' };
        let _ = writeln!(text, "{address:x}\t{watch}\t{kind}\t{instruction}\t{function}");
    }
    text
}

/// A range of a section, with the name of its function.
struct Part<'a> {
    range: Range<u64>,
    name: &'a str,
    /// `true` if the range has a function symbol, so it begins with an instruction.
    is_function: bool,
    is_known: bool,
}

/// Returns the instructions outside of known files, sorted by address.
fn search(file: &File<'_>, known: &Known) -> object::Result<Vec<Unseen>> {
    let mut unseen = Vec::new();
    let named = file.symbols().filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)));
    let outlined = named.filter(|(_, name)| name.starts_with(aarch64::OUTLINED)).collect();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let bytes = section.data()?;
        for part in parts(file, &section, known).iter().filter(|part| !part.is_known) {
            let [from, to] =
                [part.range.start, part.range.end].map(|at| (at - section.address()) as usize);
            // A section without content, for example in a separate debug file.
            let Some(code) = bytes.get(from..to) else { continue };
            let decoded = match file.architecture() {
                Architecture::X86_64 => x86_64::decode(code, part.range.start, is_rust(part.name)),
                Architecture::Aarch64 => aarch64::decode(code, part.range.start, &outlined),
                _ => Decoded::default(),
            };
            unseen.extend(decoded.found.into_iter().map(|instruction| {
                let watch = match (decoded.has_data, part.is_function) {
                    (false, _) => Watch::Instruction,
                    (true, true) => Watch::Function,
                    (true, false) => Watch::Nowhere,
                };
                let address = match watch {
                    Watch::Function => part.range.start,
                    _ => instruction.address,
                };
                let function = format!("{:#}", rustc_demangle::demangle(part.name));
                let (calls, instruction) = (instruction.calls, instruction.name);
                Unseen { address, watch, calls, instruction, function }
            }));
        }
    }
    unseen.sort_by_key(|unseen| unseen.address);
    Ok(unseen)
}

/// Returns `true` for the symbol of a Rust function.
fn is_rust(symbol: &str) -> bool {
    rustc_demangle::try_demangle(symbol).is_ok()
}

/// Returns the parts of a section: its functions, and the code between them.
fn parts<'a>(file: &File<'a>, section: &object::Section<'a, '_>, known: &Known) -> Vec<Part<'a>> {
    let end = section.address() + section.size();
    let mut symbols: Vec<(u64, u64, bool, &str)> = file
        .symbols()
        .filter(|symbol| symbol.section_index() == Some(section.index()))
        // The linker defines some symbols at the end of a section. These symbols are left out.
        .filter(|symbol| (section.address()..end).contains(&symbol.address()))
        .filter(|symbol| !matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File))
        .filter_map(|symbol| {
            let is_function = symbol.kind() == SymbolKind::Text;
            Some((symbol.address(), symbol.size(), is_function, symbol.name().ok()?))
        })
        // Mapping symbols of the assembler, such as `$x`, are not function names.
        .filter(|(.., name)| !name.is_empty() && !name.starts_with('$'))
        .collect();
    // If several symbols have the same address, functions precede other symbols, and longer ranges precede shorter
    // ranges.
    symbols
        .sort_by_key(|(address, size, is_function, _)| (*address, !is_function, u64::MAX - size));
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut at, mut last) = (section.address(), "");
    for (number, (address, size, is_function, name)) in symbols.iter().copied().enumerate() {
        if address < at {
            continue;
        }
        // Code without a symbol occurs in assembly, and after local symbols were removed.
        if at < address {
            let (range, name) = (at..address, last);
            parts.push(Part { range, name, is_function: false, is_known: false });
        }
        let mut same = symbols[number..].iter().take_while(|(other, ..)| *other == address);
        let is_known = same.all(|(.., name)| known.has(name));
        let next =
            symbols[number..].iter().map(|(other, ..)| *other).find(|other| *other > address);
        at = match size {
            0 => next.unwrap_or(end),
            size => (address + size).min(end),
        };
        parts.push(Part { range: address..at, name, is_function, is_known });
        last = name;
    }
    if at < end {
        parts.push(Part { range: at..end, name: last, is_function: false, is_known: false });
    }
    parts
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A temporary folder for a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let (process, nth) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let folder = std::env::temp_dir().join(format!("unpause-scan-{process}-{nth}"));
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        /// Assembles a program without libraries.
        fn program(&self, assembly: &str) -> PathBuf {
            let (source, program) = (self.0.join("program.s"), self.0.join("program"));
            std::fs::write(&source, format!(".intel_syntax noprefix\n.text\n{assembly}\n"))
                .unwrap();
            let mut command = Command::new("cc");
            command.args(["-nostdlib", "-static", "-Wl,-e,start", "-o"]).arg(&program).arg(&source);
            assert!(command.status().unwrap().success());
            program
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Returns function, name and breakpoint of each instruction found. `known` contains the names of known functions.
    fn found(assembly: &str, known: &[&str]) -> Vec<(String, String, Watch)> {
        let folder = Folder::new();
        let bytes = std::fs::read(folder.program(assembly)).unwrap();
        let known = Known::with_names(known);
        let unseen = search(&File::parse(&*bytes).unwrap(), &known).unwrap();
        assert!(unseen.is_sorted_by_key(|unseen| unseen.address));
        unseen
            .into_iter()
            .map(|unseen| (unseen.function, unseen.instruction, unseen.watch))
            .collect()
    }

    fn one(function: &str, instruction: &str, watch: Watch) -> (String, String, Watch) {
        (function.to_owned(), instruction.to_owned(), watch)
    }

    /// The first lines of a function. The symbol of this function has a kind and a size.
    const SIZED: &str = ".globl sized\n.type sized,@function\nsized:\n";

    #[test]
    fn functions_with_and_without_a_size_are_searched_and_known_ones_are_not() {
        let text = format!(
            "start:\nlock inc dword ptr [rax]\nret\n{SIZED}xchg [rax], ecx\nret\n.size sized, . - sized\nafter: mfence"
        );
        let [start, sized, after] = [
            one("start", "lock inc", Watch::Instruction),
            one("sized", "xchg", Watch::Instruction),
            one("after", "mfence", Watch::Instruction),
        ];
        assert_eq!(found(&text, &[]), [start.clone(), sized.clone(), after.clone()]);
        assert_eq!(found(&text, &["sized"]), [start, after]);
    }

    #[test]
    fn a_function_counts_if_only_one_of_its_names_is_known() {
        let text = format!(
            "start: ret\n{SIZED}mfence\n.size sized, . - sized\n.globl other\n.set other, sized"
        );
        assert_eq!(found(&text, &["sized"]).len(), 1);
        assert_eq!(found(&text, &["sized", "other"]), []);
    }

    #[test]
    fn code_without_a_name_counts_for_the_function_before_it() {
        let text = format!("start: ret\n{SIZED}ret\n.size sized, . - sized\nsyscall\nret");
        assert_eq!(found(&text, &["sized"]), [one("sized", "syscall", Watch::Instruction)]);
    }

    #[test]
    fn no_breakpoint_is_put_into_what_may_be_data() {
        // Bytes that do not decode, and then the bytes of an instruction.
        let data = ".byte 0x06, 0xF0, 0x0F, 0xC1, 0x07\n";
        let table = format!("start: ret\ntable: {data}");
        assert_eq!(found(&table, &[]), [one("table", "lock xadd", Watch::Nowhere)]);
        let function = format!("start: ret\n{SIZED}jmp 1f\n{data}1: ret\n.size sized, . - sized");
        assert_eq!(found(&function, &[]), [one("sized", "lock xadd", Watch::Function)]);
    }

    #[test]
    fn the_list_is_appended_to_a_program_that_still_runs() {
        let folder = Folder::new();
        // exit(7)
        let text = "start: mov eax, 60\nmov edi, 7\nsyscall";
        let program = folder.program(text);
        let before = std::fs::metadata(&program).unwrap().len();
        append(&program, &Known::default(), &BTreeSet::new()).unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let appended = String::from_utf8(bytes[before as usize..].to_vec()).unwrap();
        let (list, end) = appended.split_at(appended.len() - 16 - END.len());
        assert_eq!(end, format!("{:016x}{END}", list.len()));
        let fields: Vec<&str> = list.trim_end().split('\t').collect();
        assert_eq!(fields[1..], ["i", "c", "syscall", "start"], "{list}");
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(7));
    }

    #[test]
    fn functions_of_shared_libraries_are_in_the_list_and_those_of_libc_are_not() {
        let folder = Folder::new();
        let compile = |name: &str, text: &str, arguments: &[&str]| {
            std::fs::write(folder.0.join(name), text).unwrap();
            let mut command = Command::new("cc");
            command.current_dir(&folder.0).arg(name).args(arguments);
            assert!(command.status().unwrap().success());
        };
        let library =
            "int theirs(void) { return 7; } int of_nobody(void) { return 8; } int number = 9;";
        compile("library.c", library, &["-shared", "-fPIC", "-o", "libtheirs.so"]);
        let program = "int theirs(void); extern int number; int puts(const char *);
            int main(void) { return puts(\"\") + theirs() + number; }";
        let linked = ["-fPIE", "-pie", "-o", "program", "-L.", "-ltheirs", "-lm"];
        compile("program.c", program, &linked);
        let bytes = std::fs::read(folder.0.join("program")).unwrap();
        let found = imports::find(&File::parse(&*bytes).unwrap()).unwrap();
        let theirs = BTreeSet::from(["theirs".to_owned()]);
        assert_eq!(found, theirs);
        assert_eq!(list(&[], &[], &theirs), "theirs\timport\n");
        // A program without shared libraries.
        let bytes = std::fs::read(folder.program("start: ret")).unwrap();
        assert_eq!(imports::find(&File::parse(&*bytes).unwrap()).unwrap(), BTreeSet::new());
    }

    /// Returns the assembly of a global variable.
    fn variable(name: &str) -> String {
        format!(".globl {name}\n.type {name},@object\n.size {name}, 8\n{name}: .quad 1\n")
    }

    #[test]
    fn statics_with_a_name_of_c_are_in_the_list_unless_another_file_defines_the_name() {
        let folder = Folder::new();
        let [plain, of_std, of_c] = ["plain", "of_std", "of_c"].map(variable);
        let [placed, constant] = ["placed", "constant"].map(variable);
        let mangled = variable("_ZN4demo5COUNT17h0123456789abcdefE");
        let program = folder.program(&format!(
            "start: ret\n.data\n{plain}{of_std}{of_c}{mangled}\
             .section a_section,\"aw\"\n{placed}.section .rodata\n{constant}"
        ));
        for (object, assembly) in [("c.o", &of_c), ("rust.rcgu.o", &plain)] {
            std::fs::write(folder.0.join("part.s"), format!(".data\n{assembly}")).unwrap();
            let mut command = Command::new("cc");
            command.current_dir(&folder.0).args(["-c", "part.s", "-o", object]);
            assert!(command.status().unwrap().success());
        }
        let mut command = Command::new("ar");
        command.current_dir(&folder.0).args(["crs", "library.a", "c.o", "rust.rcgu.o"]);
        assert!(command.status().unwrap().success());

        let bytes = std::fs::read(program).unwrap();
        let file = File::parse(&*bytes).unwrap();
        let folders = BTreeSet::from([folder.0.clone()]);
        let found = statics::find(&file, &Known::with_names(&["of_std"]), &folders);
        let address_of = |name: &str| {
            let mut symbols = file.symbols();
            symbols.find(|symbol| symbol.name() == Ok(name)).unwrap().address()
        };
        let mut wanted = ["placed", "plain"].map(address_of);
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        assert_eq!(list(&[], &[0xab], &BTreeSet::new()), "ab\tstatic\n");
    }
}
