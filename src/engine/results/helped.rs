//! The line that a helper process writes about seeds: the counts over the passed seeds, and the failure of the next
//! seed, if any.

use super::json::{Json, quoted};
use super::tally::Tally;

/// The results of the runs of a helper process.
#[derive(Default)]
pub(crate) struct HelpedLine {
    /// The counts over the runs that passed. These runs are the first runs of the helper.
    pub(crate) tally: Tally,
    /// The position of the first run that left tasks waiting, with the warning about it.
    pub(crate) stuck: Option<(u64, String)>,
    /// True if a run has spawned a task on a runtime with one thread.
    pub(crate) has_turns: bool,
    /// The line with the failure of the next run after the passed ones, if it failed.
    pub(crate) failed: Option<String>,
}

impl HelpedLine {
    /// Returns the line, including its line feed.
    pub(crate) fn write(&self) -> String {
        // All fields are listed, so that a new field cannot be forgotten.
        let HelpedLine { tally, stuck, has_turns, failed } = self;
        let mut out = format!("{{\"runs\":{},{}", tally.runs, tally.entries());
        if let Some((position, text)) = stuck {
            out += &format!(",\"stuck\":[{position},{}]", quoted(text));
        }
        if *has_turns {
            out += ",\"turns\":true";
        }
        if let Some(failed) = failed {
            out += &format!(",\"failed\":{}", quoted(failed));
        }
        out + "}\n"
    }

    /// Parses the line of a helper.
    ///
    /// # Errors
    /// If the text is not such a line.
    pub(crate) fn parse(text: &str) -> Result<HelpedLine, String> {
        let line = Json::parse(text.trim_end().as_bytes())?;
        let stuck = match line.get("stuck") {
            None => None,
            Some(Json::List(entries)) => match &entries[..] {
                [Json::Number(position), Json::Text(text)] => Some((*position, text.clone())),
                _ => return Err("`stuck` is not a position and a text".to_owned()),
            },
            Some(_) => return Err("`stuck` is no list".to_owned()),
        };
        let failed = match line.get("failed") {
            None => None,
            Some(Json::Text(text)) => Some(text.clone()),
            Some(_) => return Err("`failed` is no text".to_owned()),
        };
        // The entry is written only if it is true.
        let has_turns = line.get("turns").is_some();
        let tally = Tally::read(&line, 0, line.number("runs")?)?;
        Ok(HelpedLine { tally, stuck, has_turns, failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_others_are_refused() {
        let tally = Tally { runs: 7, steps: 70, beyond: 1, ..Tally::default() };
        let stuck = Some((3, "a \"task\"\nwaits".to_owned()));
        let failed = Some("main panicked: {}".to_owned());
        let line = HelpedLine { tally, stuck, has_turns: true, failed };
        let text = line.write();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let read = HelpedLine::parse(&text).unwrap();
        assert_eq!((read.tally.runs, read.tally.steps, read.tally.beyond), (7, 70, 1));
        assert_eq!((read.stuck, read.has_turns, read.failed), (line.stuck, true, line.failed));
        for wrong in [
            "",
            "{}",
            "{\"runs\":1,\"steps\":1,\"stuck\":1}",
            "{\"runs\":1,\"steps\":1,\"failed\":2}",
        ] {
            assert!(HelpedLine::parse(wrong).is_err(), "{wrong}");
        }
    }
}
