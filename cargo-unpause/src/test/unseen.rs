//! The list of functions that the runtime cannot step, merged over all programs that ran.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The environment variable with the path of the file to which programs append their functions, one
/// per line.
pub(super) const VARIABLE: &str = "UNPAUSE_UNSEEN";

/// The line prefix of a function that a run has entered.
const ENTERED: &str = "entered ";

/// The maximum number of functions shown among the functions that no run has entered.
const SHOWN: usize = 20;

/// Returns the remark about the functions in the lines of all programs. `None` if there are no
/// lines.
pub(super) fn remark(lines: &str) -> Option<String> {
    let entered: BTreeSet<&str> =
        lines.lines().filter_map(|line| line.strip_prefix(ENTERED)).collect();
    let all = lines.lines().map(|line| line.strip_prefix(ENTERED).unwrap_or(line));
    let others: BTreeSet<&str> = all.filter(|name| !entered.contains(name)).collect();
    let shows = match entered.len() + others.len() {
        0 => return None,
        1 => "1 function synchronises threads or calls the system, and unpause does not see it"
            .to_owned(),
        count => format!(
            "{count} functions synchronise threads or call the system, and unpause does not see it"
        ),
    };
    let mut text = format!("{shows}. A search that enters one is no proof:\n");
    for name in &entered {
        let _ = writeln!(text, "  {name}: entered");
    }
    for name in others.iter().take(SHOWN) {
        let _ = writeln!(text, "  {name}");
    }
    if others.len() > SHOWN {
        let _ = writeln!(text, "  and {} that no run has entered", others.len() - SHOWN);
    }
    text.truncate(text.trim_end().len());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_named_once_and_those_entered_come_first() {
        assert_eq!(remark(""), None);
        let lines = "b (b.c:1, `mfence`)\na (a.rs:2, `lock add`)\nentered b (b.c:1, `mfence`)\na (a.rs:2, `lock add`)\n";
        assert_eq!(
            remark(lines).unwrap(),
            "2 functions synchronise threads or call the system, and unpause does not see it. A search that enters \
             one is no proof:\n  b (b.c:1, `mfence`): entered\n  a (a.rs:2, `lock add`)"
        );
    }

    #[test]
    fn a_long_list_of_functions_that_are_not_entered_is_cut() {
        let lines: String = (100..200).map(|number| format!("f{number}\n")).collect();
        let text = remark(&(lines + "entered g\n")).unwrap();
        assert_eq!(text.lines().count(), 1 + 1 + SHOWN + 1, "{text}");
        assert!(text.ends_with("  f119\n  and 80 that no run has entered"), "{text}");
    }
}
