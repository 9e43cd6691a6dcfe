//! Each poll with a waker that does nothing has a reason.
//!
//! Such a poll may replace the waker with which a task waits for the same future. Then nothing wakes the task, and it
//! waits forever. In a run of the simulator this may go unseen, because some futures are not ready only on real threads.

use crate::tree::{File, Offence};

/// The wakers that do nothing.
const NOOPS: &[&str] = &["Waker::noop()", "noop_waker_ref()", "noop_waker()"];

/// The polls with such a waker: the file, their number, and the reason why no task loses its waker.
const REASONS: &[(&str, usize, &str)] = &[
    ("src/rt/executor.rs", 1, "no poll: takes the place of a waker during its clone"),
    ("src/net/sockets/tcp/end.rs", 1, "the stream has a list of wakers, and keeps all others"),
    ("src/task/join_set.rs", 1, "a member that is not ready becomes a new member of the set"),
    ("src/seam/budget.rs", 1, "the future is polled only once, and is then ready"),
];

/// Returns the uses of such wakers in the libraries, if their number differs from the list.
pub(crate) fn check(file: &File) -> Vec<Offence> {
    let is_of_library = file.path.starts_with("src/")
        || file.path.starts_with("unpause-") && file.path.contains("/src/");
    if !is_of_library || !file.is_rust() || file.path.contains("/tests") {
        return Vec::new();
    }
    let own = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_use = |line: &str| {
        !line.trim_start().starts_with("//") && NOOPS.iter().any(|noop| line.contains(noop))
    };
    let uses: Vec<usize> =
        (1..).zip(own.lines()).filter(|(_, line)| is_use(line)).map(|(number, _)| number).collect();
    let listed = REASONS.iter().find(|(path, ..)| *path == file.path).map_or(0, |row| row.1);
    if uses.len() == listed {
        return Vec::new();
    }
    let message = format!(
        "{} uses of a waker that does nothing, and {listed} in the list of `tidy/lost_wakers.rs`: a poll may replace \
         the waker of a task",
        uses.len()
    );
    vec![Offence::new(file, uses.first().copied().unwrap_or(1), message)]
}

mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&File::new(path, text)).iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn a_poll_without_a_reason_is_found() {
        let poll =
            "fn poll() {\n// Waker::noop()\nlet cx = Context::from_waker(Waker::noop());\n}\n";
        assert_eq!(lines("unpause-tokio/src/new.rs", poll), [3]);
        assert_eq!(lines("src/seam/budget.rs", poll), [0; 0]);
        assert_eq!(lines("src/seam/budget.rs", &poll.repeat(2)), [3]);
        let of_test = format!("#[cfg(test)]\nmod tests {{\n{poll}}}\n");
        assert_eq!(lines("src/new.rs", &of_test), [0; 0]);
        assert_eq!(lines("sim-tests/tests/time.rs", poll), [0; 0]);
    }

    #[test]
    fn each_listed_file_has_such_a_waker() {
        let tree = crate::tree::Tree::of_the_repository();
        for (path, ..) in REASONS {
            assert!(NOOPS.iter().any(|noop| tree.text(path).contains(noop)), "{path}");
        }
    }
}
