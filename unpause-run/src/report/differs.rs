//! The remedy for a test if a second run with the same decisions differs from the first run.

/// True if `cargo unpause test` built this program. In such a program, the run controls random bytes, statics and
/// thread-locals.
const IS_INSTRUMENTED: bool = cfg!(unpause_native);

/// Returns the help text for two runs that did `first` and `second` at the same step.
pub(super) fn help(first: &str, second: &str) -> String {
    match (IS_INSTRUMENTED, is_another_order(first, second)) {
        (true, _) => [UNCONTROLLED, CAUSES].concat(),
        (false, true) => [ANOTHER_ORDER, CAUSES, STATE].concat(),
        (false, false) => [UNCONTROLLED, KEYS, CAUSES, STATE].concat(),
    }
}

const UNCONTROLLED: &str =
    "The test depends on something that the scheduler does not control. Usual causes:\n";

const ANOTHER_ORDER: &str = "The same line did the same to something else, as a loop over a HashMap or HashSet does: \
    its order is another one in each run. Run the test with `cargo unpause test`, where the order is a decision of \
    the run. The code stays as it is.\n\
    Other causes:\n";

const KEYS: &str =
    "- the order of a HashMap or HashSet: a decision of the run under `cargo unpause test`\n";

/// The causes that are possible in any build.
const CAUSES: &str = "- Instant::now, SystemTime::now or a real timer: use sim::time, or pass the time in\n\
    - a random number generator: use sim::rand\n\
    - real threads, files or sockets: keep them out of the test\n\
    - select!, which polls in random order: use select_biased!";

const STATE: &str = "\n- a static or thread-local that keeps its value from run to run: create it in the body, or \
    use `cargo unpause test`, where each run has its own";

/// Returns `true` if the texts describe the same operation at the same place, but on different objects, by different
/// tasks or with different values.
fn is_another_order(first: &str, second: &str) -> bool {
    let place = |told: &str| told.rsplit_once(" at ").map(|(_, place)| place.to_owned());
    first != second && place(first).is_some() && place(first) == place(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_told_from_another_operation() {
        let drop = |n| format!("drop_sender mpsc#{n} at src/db.rs:7:5");
        assert!(is_another_order(&drop(3), &drop(4)));
        assert!(!is_another_order(&drop(3), &drop(3)));
        assert!(!is_another_order(&drop(3), "drop_sender mpsc#4 at src/db.rs:8:5"));
        assert!(!is_another_order("the run passed", "main panicked"));
        let words = help(&drop(3), &drop(4));
        assert!(words.starts_with("The same line") && words.contains("with `cargo unpause test`"));
        assert!(help("nothing", &drop(4)).contains("- the order of a HashMap"));
    }
}
