//! The import table: the modules that each top-level module of the library may name.
//!
//! Arrows point from wiring down to data. Siblings do not know each other, so each sibling can be understood, tested
//! and replaced alone. `lib.rs` names everything, to re-export it. A new module gets a row in [`TABLE`]. An arrow that
//! the layers do not allow gets a row in [`EXCEPTIONS`] with its reason.

use crate::source::{Kind, Library, Name};
use crate::tree::Offence;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    /// L0, words as types: names data and `std`.
    Data,
    /// L1, each does one thing with the data: names data.
    Sibling,
    /// Also L1, the executor of real threads: names data, and may use threads and clocks.
    Threads,
    /// L2, the contract between primitives and a run: names data, `rt` and `real`.
    Seam,
    /// L3, the items that users name: it imports data and the seam.
    Surface,
    /// L4, puts it all together: names everything.
    Wiring,
}

/// Every top-level module of `src/` and its layer, in reading order.
const TABLE: &[(&str, Layer)] = &[
    ("run", Layer::Data),
    ("rt", Layer::Sibling),
    ("real", Layer::Threads),
    ("strategy", Layer::Sibling),
    ("census", Layer::Sibling),
    ("disk", Layer::Sibling),
    ("shrink", Layer::Sibling),
    ("report", Layer::Sibling),
    ("seam", Layer::Seam),
    ("native", Layer::Surface),
    ("sync", Layer::Surface),
    ("tokio", Layer::Surface),
    ("task", Layer::Surface),
    ("time", Layer::Surface),
    ("rand", Layer::Surface),
    ("node", Layer::Surface),
    ("net", Layer::Surface),
    ("fs", Layer::Surface),
    ("nemesis", Layer::Surface),
    ("testing", Layer::Surface),
    ("engine", Layer::Wiring),
];

/// The crate that the frozen random stream is made with: only `rng` may name it.
const RNG: &str = "rand_xoshiro";

/// The crate of histories and verdicts, which are data.
const CHECKERS: &str = "unpause_check";

/// The crate of ordered collections, which is below everything.
const ORDERED: &str = "unpause_ordered";

/// An arrow that the layers do not draw: from, to, why.
type Exception = (&'static str, &'static str, &'static str);

/// The permitted imports that the layers do not cover.
const EXCEPTIONS: &[Exception] = &[
    ("native", "rt", "its tasks step plain threads"),
    ("testing", "native", "commands of a blocking program run on plain threads"),
    ("testing", "task", "the branches of a generated program are tasks"),
    ("testing", "time", "what holds eventually does so in a time"),
    ("testing", "nemesis", "a generated program has a branch of faults"),
    ("testing", "node", "which befall nodes"),
    ("tokio", "task", "tokio's tasks are those of this library"),
    ("tokio", "time", "and its time"),
    ("tokio", "net", "and its sockets"),
    ("tokio", "fs", "and its files"),
    ("node", "task", "the tasks of a node are those of this library"),
    ("net", "node", "links end at nodes, and end with them"),
    ("fs", "node", "each node has a disk"),
    ("fs", "disk", "which is data"),
    ("nemesis", "node", "its faults befall nodes"),
    ("nemesis", "net", "and their links"),
    ("nemesis", "fs", "and their disks"),
    ("nemesis", "time", "it lets time pass between them"),
];

/// The crates in `[dependencies]` of a manifest, as a source names them.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let entries = section.take_while(|line| !line.starts_with('['));
    let keys = entries.filter_map(|line| line.split_once('=')).map(|(key, _)| key.trim());
    keys.filter(|key| !key.starts_with('#')).map(|key| key.replace('-', "_")).collect()
}

/// Returns arrows that the table forbids, and modules that are missing in the table.
pub(crate) fn check(library: &Library<'_>, dependencies: &[String]) -> Vec<Offence> {
    check_with(library, dependencies, EXCEPTIONS)
}

fn check_with(
    library: &Library<'_>,
    dependencies: &[String],
    exceptions: &[Exception],
) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut drawn: Vec<(&str, &str)> = Vec::new();
    for module in &library.modules {
        let Some(from) = module.path.first() else {
            continue;
        };
        let Some(layer) = layer(from) else {
            let message = format!("`{from}` has no layer: {WHERE_TO_ADD}");
            offences.push(Offence::new(module.file, 0, message));
            continue;
        };
        for name in module.names.iter().filter(|name| name.imported < 2) {
            let verdict = match name.segments[0].as_str() {
                "crate" => arrow(from, layer, name, exceptions),
                other if other == RNG && module.path[..] == ["run", "rng"] => Ok(None),
                CHECKERS | ORDERED => Ok(None),
                other if layer == Layer::Data && is_foreign(name, other, dependencies) => {
                    Err(format!(
                        "`{from}` is data (L0) and names `{other}`; data names only std and `{ORDERED}`"
                    ))
                }
                _ => Ok(None),
            };
            match verdict {
                Ok(to) => drawn.extend(to.map(|to| (from.as_str(), to))),
                Err(message) => offences.push(Offence::new(module.file, name.line, message)),
            }
        }
    }
    let has =
        |wanted: &str| library.modules.iter().any(|m| m.path.first().is_some_and(|p| p == wanted));
    for (from, to, _) in exceptions.iter().filter(|(from, to, _)| has(from) && has(to)) {
        if !drawn.contains(&(from, to)) {
            offences.push(Offence {
                path: "sim-tests/tests/tidy/layers.rs".to_owned(),
                line: 0,
                message: format!("`{from}` no longer names `{to}`: take its row off EXCEPTIONS"),
            });
        }
    }
    offences
}

const WHERE_TO_ADD: &str =
    "give it a row in TABLE of sim-tests/tests/tidy/layers.rs and a place in ARCHITECTURE.md";

fn layer(module: &str) -> Option<Layer> {
    TABLE.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// Returns `true` if the module at `path` is data or a sibling: a function of its arguments.
pub(crate) fn is_below_the_seam(path: &[String]) -> bool {
    let layer = path.first().and_then(|module| layer(module));
    matches!(layer, Some(Layer::Data | Layer::Sibling))
}

/// The module that `name` points at if `from` may name it, `None` for `from` itself.
fn arrow<'n>(
    from: &str,
    layer_from: Layer,
    name: &'n Name,
    exceptions: &[Exception],
) -> Result<Option<&'n str>, String> {
    let Some(to) = name.segments.get(1) else {
        return match name.kind {
            Kind::Glob => Err("`crate::*` names everything: name what you use".to_owned()),
            _ => Ok(None),
        };
    };
    // The names that expansions of macros need are in the root.
    if to == from || to == "__private" {
        return Ok(None);
    }
    let Some(layer_to) = layer(to) else {
        return Err(format!(
            "`crate::{to}` is no module of the table: import from the module that defines it; \
             if it is a new module, {WHERE_TO_ADD}"
        ));
    };
    let drawn_by_the_layers = layer_from == Layer::Wiring
        || layer_to == Layer::Data
        || (layer_from == Layer::Seam && matches!(to.as_str(), "rt" | "real"))
        || (layer_from == Layer::Surface && layer_to == Layer::Seam);
    if drawn_by_the_layers || exceptions.iter().any(|(a, b, _)| *a == from && b == to) {
        return Ok(Some(to));
    }
    Err(format!(
        "`{from}` ({layer_from:?}) must not name `{to}` ({layer_to:?}): pass data through a type \
         of L0, or join the two in `runner`; a needed arrow gets a row in EXCEPTIONS of \
         sim-tests/tests/tidy/layers.rs with its reason"
    ))
}

/// Returns `true` if `first` is a crate other than `std`. A path of one segment is a local name,
/// unless a `use` brings it in.
fn is_foreign(name: &Name, first: &str, dependencies: &[String]) -> bool {
    let is_path = name.segments.len() > 1 || matches!(name.kind, Kind::Import { .. } | Kind::Glob);
    is_path && dependencies.iter().any(|dependency| dependency == first)
}

mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::tree::File;

    const SOME: &[Exception] = &[("rt", "census", "a reason")];

    /// The offences in a library of these files, as `path:line` and message.
    fn offences(files: &[(&str, &str)]) -> Vec<Offence> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        check_with(&Library::of(&Sources::parse(&files)), &["futures".to_owned()], SOME)
    }

    #[track_caller]
    fn assert_forbidden(path: &str, text: &str, words: &str) {
        let found = offences(&[(path, text)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains(words), "{found:?}");
    }

    #[track_caller]
    fn assert_allowed(path: &str, text: &str) {
        assert_eq!(offences(&[(path, text)]), []);
    }

    #[test]
    fn data_names_data_and_std_alone() {
        assert_allowed(
            "src/run/mod.rs",
            "use std::fmt; use crate::run::{ids::Seed, trace::format};",
        );
        assert_forbidden("src/run/mod.rs", "use crate::shrink::Budget;", "`run` (Data)");
        assert_forbidden("src/run/trace/format.rs", "use futures::Stream;", "only std");
        assert_forbidden("src/run/ids.rs", "type T = futures::Never;", "only std");
        assert_allowed("src/run/ids.rs", "fn f(futures: u8) -> u8 { futures }");
    }

    #[test]
    fn a_sibling_names_no_sibling() {
        assert_allowed("src/shrink/tail.rs", "use super::Budget; use unpause_check::Model;");
        assert_forbidden("src/shrink/tail.rs", "use super::super::rt::World;", "name `rt`");
        assert_forbidden("src/shrink.rs", "use crate::{run::Seed,\nreport::Style};", "`report`");
        assert_forbidden("src/strategy/pct.rs", "fn f() { crate::rt::g() }", "name `rt`");
    }

    #[test]
    fn an_exception_is_one_arrow_and_not_its_reverse() {
        assert_allowed("src/rt/world.rs", "use crate::census::Census;");
        assert_forbidden("src/census.rs", "use crate::rt::World;", "name `rt`");
    }

    #[test]
    fn an_exception_that_nothing_uses_is_found() {
        let census = ("src/census.rs", "");
        let idle = offences(&[("src/rt/mod.rs", "use crate::run::Seed;"), census]);
        assert!(idle[0].message.contains("take its row off"), "{idle:?}");
        assert_eq!(offences(&[("src/rt/mod.rs", "use crate::census::Census;"), census]), []);
    }

    #[test]
    fn the_surface_is_written_over_the_seam() {
        assert_allowed(
            "src/sync/atomic.rs",
            "use crate::{run::op::Op, seam::Object}; use unpause_check::Model;",
        );
        assert_forbidden("src/sync/atomic.rs", "use crate::rt::World;", "name `rt`");
        assert_forbidden("src/task.rs", "use crate::sync::Mutex;", "name `sync`");
        assert_allowed("src/seam/sim.rs", "use crate::rt::World;");
        assert_forbidden("src/seam/sim.rs", "use crate::census::Census;", "name `census`");
    }

    #[test]
    fn wiring_names_everything_and_nothing_below_names_it() {
        assert_allowed("src/engine/runner/mod.rs", "use crate::{rt::World, shrink, report, task};");
        assert_forbidden("src/seam/mod.rs", "use crate::engine::Config;", "name `engine`");
    }

    #[test]
    fn a_module_without_a_row_is_told_where_to_add_it() {
        assert_forbidden("src/novel.rs", "", "TABLE of sim-tests/tests/tidy/layers.rs");
        assert_forbidden("src/engine/mod.rs", "use crate::novel::X;", "TABLE of sim-tests");
    }

    #[test]
    fn the_root_names_everything_and_is_not_named() {
        assert_allowed("src/lib.rs", "pub mod novel; pub use rt::World; pub use crate::sync::X;");
        assert_forbidden("src/engine/mod.rs", "use crate::Atomic;", "module that defines it");
        assert_forbidden("src/sync/mod.rs", "use crate::*;", "name what you use");
    }

    #[test]
    fn an_arrow_is_reported_once_where_it_is_drawn() {
        let text = "use crate::rt::World;\nfn f(world: World) { World::step(world) }";
        let found = offences(&[("src/shrink.rs", text)]);
        assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn dependencies_are_read_from_the_manifest() {
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# why = 1\nrand_xoshiro = \
                        \"1\"\nunpause-macros = { path = \"m\" }\n\n[lints]\nworkspace = true\n";
        assert_eq!(dependencies(manifest), ["rand_xoshiro", "unpause_macros"]);
    }

    #[test]
    fn our_manifest_has_dependencies() {
        let tree = crate::tree::Tree::of_the_repository();
        assert!(dependencies(tree.text("Cargo.toml")).contains(&"futures".to_owned()));
    }
}
