//! The crate of the running program: the crate with the function `main` that the program calls. The file of a program
//! may have any name, but the symbols of its crate contain the name of the crate.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol, SymbolKind};

use super::image::load_address;
use super::program::program;

/// Returns the name of the program's crate. `None` if the program has no symbols, or if several crates have a `main`
/// and the code does not show which of them is called.
pub fn own_crate() -> Option<&'static str> {
    static OWN: OnceLock<Option<String>> = OnceLock::new();
    OWN.get_or_init(find).as_deref()
}

fn find() -> Option<String> {
    let program = program().ok()?;
    let (mut all, mut begin) = (Vec::new(), None);
    for symbol in program.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let Ok(name) = symbol.name() else { continue };
        if name == "main" {
            begin = Some((symbol.address() as usize, symbol.size() as usize));
        } else if let Some(krate) = of_main(name) {
            all.push((symbol.address() as usize, krate));
        }
    }
    let names: BTreeSet<&String> = all.iter().map(|(_, krate)| krate).collect();
    if names.len() > 1 {
        let (address, size) = begin?;
        let code = load_address() + address;
        // SAFETY: the symbol table guarantees that the program has a function of this size there.
        let code = unsafe { std::slice::from_raw_parts(code as *const u8, size) };
        all.retain(|(target, _)| refers_to(code, address, *target));
    }
    all.pop().map(|(_, krate)| krate)
}

/// Returns the crate of a function `main` in the root of a crate.
fn of_main(symbol: &str) -> Option<String> {
    // Most symbols are not demangled.
    if !symbol.contains("4main") {
        return None;
    }
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let krate = name.strip_suffix("::main")?;
    let is_root =
        !krate.is_empty() && krate.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    is_root.then(|| krate.to_owned())
}

/// Returns `true` if code at an address contains the distance to another address, as instructions of x86-64 do. The
/// distance begins at the end of the instruction, which is the end of the distance.
fn refers_to(code: &[u8], address: usize, target: usize) -> bool {
    let is_it = |(at, bytes): (usize, &[u8])| {
        let distance = i32::from_le_bytes(bytes.try_into().expect("four bytes"));
        (address + at + 4).wrapping_add_signed(distance as isize) == target
    };
    cfg!(target_arch = "x86_64") && code.windows(4).enumerate().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_function_in_the_root_is_the_main_of_a_crate() {
        for (symbol, krate) in [
            ("_ZN5queue4main17h0123456789abcdefE", Some("queue")),
            ("_RNvCs1234_7my_test4main", Some("my_test")),
            ("_ZN5queue5tests4main17h0123456789abcdefE", None),
            ("_ZN5queue4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", None),
            ("_ZN5queue6domain17h0123456789abcdefE", None),
            ("main", None),
        ] {
            assert_eq!(of_main(symbol).as_deref(), krate, "{symbol}");
        }
    }

    #[test]
    fn the_main_that_a_program_calls_is_the_operand_of_an_instruction() {
        // `lea rdi, [rip + 0x10]`, which ends at 0x1007; then `ret`.
        let code = [0x48, 0x8D, 0x3D, 0x10, 0, 0, 0, 0xC3];
        assert_eq!(refers_to(&code, 0x1000, 0x1017), cfg!(target_arch = "x86_64"));
        assert!(!refers_to(&code, 0x1000, 0x1010));
    }

    /// A test program has the `main` of the harness.
    #[test]
    fn this_program_has_a_crate() {
        assert_eq!(own_crate(), Some("unpause_native"));
    }
}
