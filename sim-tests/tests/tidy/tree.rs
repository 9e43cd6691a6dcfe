//! The files of the repository, and their offences.
//!
//! The list is read from the file system and not from git, so that the checks also work on an unpacked archive. Paths
//! that `.gitignore` names are left out. Hidden folders other than our own are left out, too, because they belong to
//! tools.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// A file of the repository.
pub(crate) struct File {
    /// Relative to the root of the repository, with `/` between folders.
    pub(crate) path: String,
    /// The whole text; empty for data.
    pub(crate) text: String,
}

impl File {
    /// A file that exists in a test only.
    pub(crate) fn new(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    /// Returns `true` for a Rust file.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// A broken rule: its place, the rule, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offence {
    /// The file.
    pub(crate) path: String,
    /// The line, from 1; 0 if the message concerns the whole file.
    pub(crate) line: usize,
    /// The rule and the remedy.
    pub(crate) message: String,
}

impl Offence {
    /// An offence at `line` of `file`.
    pub(crate) fn new(file: &File, line: usize, message: impl Into<String>) -> Offence {
        Offence { path: file.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// All files of a folder, by path.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// The repository this test was compiled in. All tests share it.
    pub(crate) fn of_the_repository() -> &'static Tree {
        static TREE: LazyLock<Tree> = LazyLock::new(|| {
            let package = Path::new(env!("CARGO_MANIFEST_DIR"));
            Tree::read(package.parent().expect("the package stands in the repository"))
        });
        &TREE
    }

    /// Reads the files below `root`. A file that is not UTF-8 has no text, because it is data such as a picture.
    ///
    /// # Panics
    /// If a folder or a file cannot be read. A check that skipped it would pass for no reason.
    pub(crate) fn read(root: &Path) -> Tree {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut files = Vec::new();
        read_folder(root, "", &Ignored::parse(&ignored), &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(!files.is_empty(), "no files below {}", root.display());
        Tree { files }
    }

    /// The text of the file at `path`; empty if no file has this path.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
    }
}

fn read_folder(folder: &Path, prefix: &str, ignored: &Ignored, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let name = entry.file_name().into_string().expect("file names are UTF-8");
        let kind = entry.file_type().unwrap_or_else(|e| panic!("{prefix}{name}: {e}"));
        if ignored.contains(&name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            let of_a_tool = name.starts_with('.') && name != ".ci" && name != ".cargo";
            if !of_a_tool {
                read_folder(&entry.path(), &format!("{path}/"), ignored, files);
            }
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap_or_else(|e| panic!("{path}: {e}"));
            files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
        }
    }
}

/// The part of `.gitignore` that we use: `name`, `name/`, `/name` and `*.ending`.
struct Ignored {
    names: Vec<String>,
    endings: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> Ignored {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        let (endings, names): (Vec<&str>, Vec<&str>) = lines.partition(|l| l.starts_with('*'));
        Ignored {
            names: names.iter().map(|name| name.trim_matches('/').to_owned()).collect(),
            endings: endings.iter().map(|ending| ending[1..].to_owned()).collect(),
        }
    }

    fn contains(&self, name: &str) -> bool {
        name == ".git"
            || self.names.iter().any(|n| n == name)
            || self.endings.iter().any(|ending| name.ends_with(ending.as_str()))
    }
}

mod tests {
    use super::*;

    #[test]
    fn the_tree_has_our_files_and_no_ignored_ones() {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tidy-tree");
        let write = |path: &str, bytes: &[u8]| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let _ = fs::remove_dir_all(&root);
        write(".gitignore", b"# what builds leave\ntarget/\n*.tmp\n");
        write(".ci/run", b"cargo test");
        write(".git/config", b"");
        write(".editor/state", b"");
        write("src/lib.rs", b"//! A crate.");
        write("src/note.tmp", b"");
        write("sub/target/debug/out.rs", b"");
        write("corpus/bytes", b"\xff\xfe");

        let tree = Tree::read(&root);
        let paths: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", ".gitignore", "corpus/bytes", "src/lib.rs"]);
        assert_eq!(tree.text("src/lib.rs"), "//! A crate.");
    }
}
