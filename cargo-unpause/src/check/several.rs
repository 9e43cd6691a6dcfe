//! Several histories: one line each, and a summary.

use sim::check::picture::screen::plural;

use super::files::{FoundFile, all, looks_like_a_history};
use super::{CheckArguments, as_json, called, exit_of, judge};
use crate::{Exit, Terminal, Usage};

/// Checks all histories on the command line. Returns the worst of their exits.
pub(super) fn check(asked: &CheckArguments, terminal: &mut Terminal) -> Result<Exit, Usage> {
    if asked.tree {
        let message = "--tree is for one file: name it alone";
        return Err(Usage(message.to_owned()));
    }
    if asked.page.is_some() {
        return Err(Usage("--html is for one file: name it alone".to_owned()));
    }
    let is_history = |path: &std::path::Path| asked.format.is_some() || looks_like_a_history(path);
    let files = all(&asked.paths, is_history)?;
    let (mut counts, mut others, mut unchecked) = ([0usize; 4], 0, 0);
    for file in &files {
        let file = match file {
            FoundFile::History(file) => file,
            FoundFile::Other(file) => {
                others += 1;
                if !asked.as_json {
                    terminal.print(&format!("no history  {}\n", file.display()));
                }
                continue;
            }
        };
        let (exit, line) = match judge(asked, file, terminal) {
            Ok((finding, _)) => {
                unchecked += finding.unchecked;
                let line = match asked.as_json {
                    true => as_json::finding(&called(file), &finding).to_string(),
                    false => finding.line(&called(file)),
                };
                (exit_of(&finding.verdict), line)
            }
            Err(usage) if asked.as_json => {
                (Exit::Usage, as_json::error(&called(file), &usage.0).to_string())
            }
            // An error in one file must not hide the findings in other files, so the error is also one line of the
            // output.
            Err(usage) => (Exit::Usage, format!("ERROR  {usage}")),
        };
        counts[usize::from(exit.code())] += 1;
        terminal.print(&format!("{line}\n"));
    }
    let [consistent, violated, errors, undecided] = counts;
    let checked: usize = counts.iter().sum();
    let mut summary = format!(
        "{}: {consistent} consistent, {violated} violated, {undecided} undecided, {errors} with an error",
        plural(checked as u64, "history"),
    );
    if others > 0 {
        summary += &format!("; {} left out", plural(others as u64, "other file"));
    }
    if unchecked > 0 {
        summary += &format!("; {} of nil not checked", plural(unchecked as u64, "read"));
    }
    if !asked.as_json {
        terminal.print(&format!("\n{summary}\n"));
    }
    if violated > 0 && !asked.as_json {
        terminal.print("check a file alone to see why it is violated\n");
    }
    Ok(match () {
        () if errors > 0 => Exit::Usage,
        () if violated > 0 => Exit::Bad,
        () if undecided > 0 => Exit::Undecided,
        () => Exit::Good,
    })
}
