//! Places, shortened to the available width of a screen.

use crate::run::place::{package, portable as shown};
use unpause_check::picture::screen::{clean, columns};

/// Returns a place, or as much of it as fits. The text is escaped, like all text on a screen.
pub(super) fn cut_place(place: &str, width: usize) -> String {
    shortened(&shown(&clean(place)), width)
}

/// The minimum number of columns at which the name of a crate is still recognizable.
const NAME_LEAST: usize = 4;

/// Returns a [shown] place, shortened until it fits. First the version is removed, then the folders between the crate
/// and the file, then the end of the crate's name. Finally, only the end of the path remains. This end begins with a
/// complete part of the path if possible.
pub(super) fn shortened(place: &str, width: usize) -> String {
    let fits = |place: &str| columns(place) <= width;
    if fits(place) {
        return place.to_owned();
    }
    let parts: Vec<&str> = place.split('/').collect();
    if let Some(at) = package(&parts) {
        let (name, rest) = (without_version(parts[at]), &parts[at + 1..]);
        let whole = format!("{name}/{}", rest.join("/"));
        let last = rest[rest.len() - 1];
        let file = format!("{name}/…/{last}");
        if let Some(short) = [whole, file].into_iter().find(|place| fits(place)) {
            return short;
        }
        let room = width.saturating_sub(columns(last) + "…/".chars().count());
        if room >= NAME_LEAST {
            return format!("{}…/{last}", begin(name, room));
        }
    }
    let room = width.max(1) - 1;
    let starts = place.char_indices().map(|(at, _)| at).chain([place.len()]);
    let tail = starts.map(|at| &place[at..]).find(|tail| columns(tail) <= room).unwrap_or("");
    match tail.find(['/', '\\']) {
        Some(at) => format!("…{}", &tail[at..]),
        None => format!("…{tail}"),
    }
}

/// Returns the longest prefix of a text that fits into `width` columns.
fn begin(text: &str, width: usize) -> &str {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.map(|at| &text[..at]).take_while(|begin| columns(begin) <= width).last().unwrap_or("")
}

/// Returns a name such as `bounded-2.5.0` without its version.
fn without_version(name: &str) -> &str {
    let is_version = |text: &str| {
        let digits = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        text.split('.').count() >= 3 && text.split('.').take(3).all(digits)
    };
    match name.match_indices('-').find(|(at, _)| is_version(&name[at + 1..])) {
        Some((at, _)) => &name[..at],
        None => name,
    }
}

/// Returns the file, the line and the column of a place.
pub(super) fn parts(place: &str) -> (&str, Option<u32>, Option<u32>) {
    let cut = |text: &str| -> Option<(usize, u32)> {
        let (before, number) = text.rsplit_once(':')?;
        Some((before.len(), number.parse().ok()?))
    };
    match cut(place) {
        None => (place, None, None),
        Some((end, last)) => match cut(&place[..end]) {
            // Some places from debug information have no column.
            None => (&place[..end], Some(last).filter(|line| *line > 0), None),
            Some((file, line)) => {
                let known = |number: u32| Some(number).filter(|number| *number > 0);
                (&place[..file], known(line), known(last))
            }
        },
    }
}

/// A writer of short places, such as `queue.rs:41`. The writer omits the file name if the previous place was in the
/// same file.
#[derive(Default)]
pub(super) struct ShortPlaces {
    last: String,
}

impl ShortPlaces {
    /// Returns a place as its file name and its line.
    pub(super) fn short(&mut self, place: &str) -> String {
        let (path, line, _) = parts(place);
        let path = clean(path);
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let is_same = self.last == path;
        self.last = path;
        match line {
            Some(line) if is_same => format!(":{line}"),
            Some(line) => format!("{file}:{line}"),
            None => file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "/u/.cargo/registry/src/index.example-1949cf8c6b5b557f/concurrent-queue-2.5.0/src/bounded.rs:112:37";

    #[test]
    fn a_place_has_a_file_a_line_and_a_column() {
        for (place, expected) in [
            ("src/a.rs:3:5", ("src/a.rs", Some(3), Some(5))),
            ("C:\\a.rs:3:5", ("C:\\a.rs", Some(3), Some(5))),
            ("src/a.rs:3", ("src/a.rs", Some(3), None)),
            ("src/a.rs:0:0", ("src/a.rs", None, None)),
            ("somewhere", ("somewhere", None, None)),
        ] {
            assert_eq!(parts(place), expected, "{place}");
        }
    }

    #[test]
    fn a_short_place_names_a_file_only_if_it_changes() {
        let mut places = ShortPlaces::default();
        let all = ["src/a.rs:3:5", "src/a.rs:4:1", "b/a.rs:4:1", "c.rs:0:0", "c.rs:7"];
        assert_eq!(all.map(|place| places.short(place)), ["a.rs:3", ":4", "a.rs:4", "c.rs", ":7"]);
    }

    #[test]
    fn a_place_that_is_cut_keeps_its_crate() {
        let place = shown(REGISTRY);
        assert_eq!(shortened(&place, 44), place);
        assert_eq!(shortened(&place, 43), "concurrent-queue/src/bounded.rs:112:37");
        assert_eq!(shortened(&place, 37), "concurrent-queue/…/bounded.rs:112:37");
        assert_eq!(shortened(&place, 32), "concurrent-qu…/bounded.rs:112:37");
        assert_eq!(shortened(&place, 24), "concu…/bounded.rs:112:37");
        assert_eq!(shortened(&place, 22), "…/bounded.rs:112:37");
        assert_eq!(shortened("crates/pool/src/a/lib.rs:9:22", 26), "pool/src/a/lib.rs:9:22");
        assert_eq!(shortened("crates/pool/src/a/lib.rs:9:22", 21), "pool/…/lib.rs:9:22");
    }

    #[test]
    fn a_place_in_a_crate_of_the_registry_names_the_crate_in_every_column() {
        const EPOCH: &str =
            "/u/.cargo/registry/src/index.example-19/crossbeam-epoch-0.9.18/src/epoch.rs:117:19";
        // The columns for places have these widths.
        assert_eq!(shortened(&shown(EPOCH), 32), "crossbeam-epoch…/epoch.rs:117:19");
        assert_eq!(shortened(&shown(EPOCH), 24), "crossbe…/epoch.rs:117:19");
        for width in 21..60 {
            let short = shortened(&shown(EPOCH), width);
            assert!(short.starts_with("cros") && columns(&short) <= width, "{width}: {short}");
        }
    }

    #[test]
    fn a_place_is_cut_from_the_left_at_a_part_of_its_path() {
        assert_eq!(shortened("src/a/lost_update.rs:12:20", 26), "src/a/lost_update.rs:12:20");
        assert_eq!(shortened("src/a/lost_update.rs:12:20", 23), "…/lost_update.rs:12:20");
        assert_eq!(shortened("src/a/lost_update.rs:12:20", 10), "….rs:12:20");
    }
}
