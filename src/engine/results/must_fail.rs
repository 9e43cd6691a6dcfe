//! The failure that a test must have (`must_fail`): any failure of the program, or a specific failure.

/// The failure that a test must have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum MustFail {
    /// The test need not fail: all runs must pass.
    #[default]
    No,
    /// Any failure of the program.
    Somehow,
    /// A failure of this kind, such as `deadlock`, or a failure with this text in its message.
    With(String),
}

/// The kinds of failures that are not failures of the program: a run reached a limit, or the test or its trace is
/// unsuitable. A test that must fail in this way names the kind.
const OF_THE_TEST: [&str; 10] = [
    "step limit",
    "time limit",
    "hang",
    "undecided",
    "unproven",
    "too seldom",
    "unreadable",
    "diverged",
    "non-determinism",
    "misuse",
];

impl MustFail {
    /// Returns `true` if the test must fail.
    pub fn is_wanted(&self) -> bool {
        *self != MustFail::No
    }

    /// Returns the reason why a failure with this kind and text is not the required failure; `None` if it is.
    pub fn refuses(&self, kind: &str, what: &str) -> Option<String> {
        let of_the_test = OF_THE_TEST.contains(&kind);
        match self {
            MustFail::No => Some(format!("no failure is wanted: {what}")),
            MustFail::Somehow if !of_the_test => None,
            MustFail::Somehow => Some(format!(
                "not with the {kind}, which is no failure of the program; a test that must end so has \
                 must_fail = \"{kind}\""
            )),
            // A failure kind that is not a failure of the program must be named exactly: the text `step` does not match
            // a step limit.
            MustFail::With(wanted) if kind == wanted => None,
            MustFail::With(wanted) if !of_the_test && what.contains(&**wanted) => None,
            MustFail::With(wanted) => Some(format!(
                "not with a failure that has {wanted:?} as its kind or in its text: {what}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_no_failure_of_the_program_unless_it_is_named() {
        let step_limit = ("step limit", "step limit reached after 1 steps");
        let panic = ("panic", "panic in main at src/a.rs:1:2: an update was lost: 1 of 2");
        let with = |text: &str| MustFail::With(text.to_owned());
        for (must, (kind, what), accepted) in [
            (MustFail::Somehow, panic, true),
            (MustFail::Somehow, step_limit, false),
            (with("step limit"), step_limit, true),
            (with("step"), step_limit, false),
            (with("panic"), panic, true),
            (with("update was lost"), panic, true),
            (with("deadlock"), panic, false),
            (MustFail::No, panic, false),
        ] {
            assert_eq!(must.refuses(kind, what).is_none(), accepted, "{must:?} {kind}");
        }
    }
}
