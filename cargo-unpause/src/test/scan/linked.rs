//! The search of a program after the compiler has linked it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Known, append, statics};
use crate::test::wrapper::{self, after};

/// Searches the program linked by the compiler call with the arguments `given`. `arguments` is the file with the
/// linker's arguments.
pub(in crate::test) fn search_linked(given: &[OsString], arguments: &OsStr) {
    let Some(program) = program(given) else { return };
    let libraries = std::env::var_os(wrapper::LIBRARIES).unwrap_or_default();
    let known = Known::of(Path::new(&libraries), Path::new(arguments), given);
    let folders = statics::folders(given);
    let searched = known.and_then(|known| append(&program, &known, &folders));
    if let Err(error) = searched {
        // For a program without a list, the runtime does not treat any search as a proof.
        eprintln!(
            "warning: a program is not searched for instructions that synchronise threads, so that no search of it is a \
             proof: {error}"
        );
    }
}

/// Returns the file of the linked program. `None` if the call does not link a program.
fn program(given: &[OsString]) -> Option<PathBuf> {
    let (name, folder) = (after(given, "--crate-name")?, after(given, "--out-dir")?);
    let links = given.iter().filter_map(|word| word.to_str()?.strip_prefix("--emit="));
    let links = links.flat_map(|kinds| kinds.split(',')).any(|kind| kind == "link");
    let codegen = given.windows(2).filter(|pair| pair[0] == "-C");
    let mut extra = codegen.filter_map(|pair| pair[1].to_str()?.strip_prefix("extra-filename="));
    let file = format!("{name}{}", extra.next_back().unwrap_or_default());
    links.then(|| Path::new(folder).join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_program_has_the_name_that_cargo_gives() {
        let of = |given: &str| {
            let given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
            program(&given).map(|path| path.display().to_string())
        };
        let place = "--out-dir /deps -C metadata=1 -C extra-filename=-7";
        let linked = of(&format!("--crate-name demo {place} --emit=dep-info,link --test"));
        assert_eq!(linked.as_deref(), Some("/deps/demo-7"));
        assert_eq!(of(&format!("--crate-name demo {place} --emit=metadata --test")), None);
        assert_eq!(of("-vV"), None);
    }
}
