//! Functions of plain threads: their names without paths, and the crates whose code a reader can skip.

/// Prefixes of the names of crates that provide primitives. Such crates do the operations on behalf of other crates.
const PRIMITIVES: &[&str] = &[
    "arc-swap-",
    "async-event-",
    "atomic-waker-",
    "concurrent-queue-",
    "crossbeam-",
    "event-listener-",
    "futures-core-",
    "futures-intrusive-",
    "futures-util-",
    "lock_api-",
    "once_cell-",
    "parking-",
    "parking_lot",
    "portable-atomic-",
    "spin-",
    "try-lock-",
    "waitgroup-",
];

/// Returns `true` for a file in a crate of primitives, such as `crossbeam-epoch-0.9.18/src/epoch.rs`. Folders may
/// precede the path.
#[cfg_attr(not(any(unpause_native, test)), allow(dead_code))]
pub fn is_of_primitives(file: &str) -> bool {
    let parts: Vec<&str> = file.split('/').collect();
    let is_crate = |at: usize| PRIMITIVES.iter().any(|name| parts[at].starts_with(name));
    super::place::package(&parts).is_some_and(is_crate)
}

/// Returns `true` for the file of tokio that contains the operations on task states. `file` has the form that a report
/// shows.
pub fn is_task_state(file: &str) -> bool {
    file.starts_with("tokio-") && file.ends_with("/src/runtime/task/state.rs")
}

/// Returns the name of a function without its path: `insert` for `<dashmap::DashMap<u64, u64>>::insert`.
#[cfg_attr(not(any(unpause_native, test)), allow(dead_code))]
pub fn last_name(function: &str) -> &str {
    let (mut depth, mut begin, mut last) = (0usize, 0, "");
    let mut before = ' ';
    for (at, letter) in function.char_indices().chain([(function.len(), ':')]) {
        match letter {
            '<' | '(' | '{' | '[' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if before == '-' => {}
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                let part = &function[begin..at];
                if part.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                    last = part.split('<').next().unwrap_or(part);
                }
                begin = at + 1;
            }
            _ => {}
        }
        before = letter;
    }
    if last.is_empty() { function } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_the_last_name_of_its_path() {
        for (function, expected) in [
            ("<dashmap::DashMap<u64, u64>>::insert", "insert"),
            ("dashmap::DashMap<K,V,S>::entry", "entry"),
            ("<dashmap::Ref<u64> as core::ops::drop::Drop>::drop", "drop"),
            ("crossbeam_queue::array_queue::ArrayQueue<T>::push::{{closure}}", "push"),
            ("crossbeam_queue::run::<u8>", "run"),
            ("<log::Sink<fn() -> log::TestWriter> as log::Make>::make_writer", "make_writer"),
            ("<log::Sink<fn() -> log::TestWriter>>::write", "write"),
            ("pool::run::<fn(u8) -> [u8; 4], alloc::vec::Vec<u8>>", "run"),
            ("<fn(&u8) -> u8 as core::ops::FnOnce<(&u8,)>>::call_once", "call_once"),
            ("", ""),
        ] {
            assert_eq!(last_name(function), expected, "{function}");
        }
    }

    #[test]
    fn a_crate_of_primitives_is_told_from_others() {
        for file in [
            "crossbeam-epoch-0.9.18/src/epoch.rs",
            "parking_lot_core-0.9.12/src/thread_parker/linux.rs",
            "/u/.cargo/registry/src/index.example-19/lock_api-0.4.13/src/rwlock.rs",
            "/u/.cargo/registry/src/index.example-19/event-listener-5.4.0/src/std.rs",
        ] {
            assert!(is_of_primitives(file), "{file}");
        }
        for file in ["src/lib.rs", "crossbeam-own/lib.rs", "metrics-util-0.20.4/src/bucket.rs"] {
            assert!(!is_of_primitives(file), "{file}");
        }
    }
}
