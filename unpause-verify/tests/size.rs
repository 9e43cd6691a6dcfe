//! The size of the checker: a reader must be able to check it.

use std::fs;
use std::path::Path;

#[test]
fn the_checker_has_fewer_than_500_lines_of_code() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut lines = 0;
    for source in fs::read_dir(sources).unwrap() {
        let text = fs::read_to_string(source.unwrap().path()).unwrap();
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        lines += text.lines().filter(is_code).count();
    }
    assert!((100..500).contains(&lines), "{lines} lines");
}
