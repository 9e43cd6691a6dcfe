//! Panics of code that needs a tokio runtime, which a run does not have. The advice names a replacement for the called
//! function.

/// Parts of the messages of such panics.
const MESSAGES: [&str; 4] = [
    "there is no reactor running",
    "called from outside of a `task::LocalSet`",
    "requires a Tokio context",
    "A Tokio 1.x context was found, but",
];

/// A part of tokio that needs its runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimePart {
    /// The prefix of the paths of its functions, as they appear in a backtrace.
    pub path: &'static str,
    /// The remedy, as a sentence.
    pub instead: &'static str,
}

/// The parts of tokio that need a tokio runtime. Earlier rows have precedence.
pub const RUNTIME_PARTS: &[RuntimePart] = &[
    RuntimePart {
        path: "tokio::task::spawn::",
        instead: "In place of tokio::spawn use sim::spawn, which has the same signature.",
    },
    RuntimePart {
        path: "tokio::task::blocking::",
        instead: "In place of tokio::task::spawn_blocking use sim::task::spawn_blocking: in a run it is one step.",
    },
    RuntimePart {
        path: "tokio::task::local::",
        instead: "In place of tokio::task::spawn_local and LocalSet use those of sim::task.",
    },
    RuntimePart {
        path: "tokio::task::join_set::",
        instead: "In place of tokio::task::JoinSet use sim::task::JoinSet.",
    },
    RuntimePart {
        path: "tokio::time::",
        instead: "In place of tokio::time use sim::time, which has the same names and a virtual clock.",
    },
    RuntimePart {
        path: "tokio::net::",
        instead: "In place of tokio::net use sim::net, with the feature `tokio`: the same names, over the links of nodes.",
    },
    RuntimePart {
        path: "tokio::fs::",
        instead: "In place of tokio::fs use sim::fs, which has the same names and a disk for each node.",
    },
    RuntimePart {
        path: "tokio::io::",
        instead: "A run has no standard streams and no descriptors of the system: give the tested code a reader or a \
                  writer instead.",
    },
    RuntimePart {
        path: "tokio::runtime::",
        instead: "A run has no handle of a runtime: in place of Handle::current and its spawn use sim::spawn.",
    },
];

/// The advice if the function is unknown.
const ANY: &str = "In place of tokio::spawn, spawn_blocking, JoinSet and LocalSet use sim::spawn and sim::task, in place of \
    tokio::time, net and fs use sim::time, sim::net and sim::fs.";

/// Returns `true` if the panic message belongs to code that needs a tokio runtime.
pub fn is_needed(message: &str) -> bool {
    MESSAGES.iter().any(|part| message.contains(part))
}

/// Returns the advice about such a panic, as lines. `function` is the called function of tokio, if known.
pub(super) fn advice(function: Option<&str>) -> String {
    let part = function
        .and_then(|function| RUNTIME_PARTS.iter().find(|part| function.starts_with(part.path)));
    let instead = part.map_or(ANY, |part| part.instead);
    let what = match function {
        Some(function) => format!("`{function}` needs a runtime of tokio, and a run is none."),
        None => "A run is no runtime of tokio, and this code needs one.".to_owned(),
    };
    format!(
        "{what}\n{instead}\nWith unpause-tokio, UNPAUSE_TOKIO_REAL names the tests that run on tokio."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_about_the_function() {
        let text = advice(Some("tokio::task::spawn::spawn"));
        assert!(
            text.starts_with("`tokio::task::spawn::spawn` needs") && text.contains("sim::spawn")
        );
        assert!(!text.contains("sim::time"), "{text}");
        for text in [advice(None), advice(Some("tokio::other::new"))] {
            assert!(text.contains("sim::spawn") && text.contains("sim::time"), "{text}");
        }
    }
}
