//! The two steps that made a difference, as an entry of the line about sampled runs.

use crate::engine::results::json::{Json, list, quoted};
use crate::report::{Clash, StepText};

/// Returns the entry, with the comma before it.
pub(super) fn entry(clash: &Clash) -> String {
    let Clash { steps, shows, is_death } = clash;
    let mut texts = Vec::new();
    for StepText { task, operations, place } in steps {
        texts.extend([task, operations, place].map(|text| quoted(text)));
    }
    texts.extend([quoted(shows), u8::from(*is_death).to_string()]);
    format!(",\"clash\":{}", list(texts))
}

/// Reads the entry, if any.
pub(super) fn read(line: &Json) -> Result<Option<Clash>, String> {
    let Some(entry) = line.get("clash") else { return Ok(None) };
    let wrong = || "`clash` is no pair of steps".to_owned();
    let Json::List(entries) = entry else { return Err(wrong()) };
    let [texts @ .., Json::Number(death @ 0..=1)] = &entries[..] else { return Err(wrong()) };
    let texts = texts.iter().map(|text| match text {
        Json::Text(text) => Some(text.clone()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<String>>>().ok_or_else(wrong)?;
    let texts = <[String; 7]>::try_from(texts).map_err(|_| wrong())?;
    let [task, operations, place, other, others, at, shows] = texts;
    let first = StepText { task, operations, place };
    let second = StepText { task: other, operations: others, place: at };
    Ok(Some(Clash { steps: [first, second], shows, is_death: *death == 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clash_is_read_as_it_was_written() {
        let step = |task: &str, operations: &str, place: &str| StepText {
            task: task.to_owned(),
            operations: operations.to_owned(),
            place: place.to_owned(),
        };
        let steps = [step("0.0", "store \"a\"", "src/a.rs:1:2"), step("0.1", "", "")];
        for is_death in [false, true] {
            let clash = Clash { steps: steps.clone(), shows: "a, b".to_owned(), is_death };
            let line = format!("{{\"audit\":0{}}}", entry(&clash));
            let line = Json::parse(line.as_bytes()).unwrap();
            assert_eq!(read(&line), Ok(Some(clash)));
        }
        let none = Json::parse(b"{\"audit\":0}").unwrap();
        assert_eq!(read(&none), Ok(None));
        for wrong in ["7", "[]", "[\"a\",0]", "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",2]"] {
            let line = format!("{{\"clash\":{wrong}}}");
            assert!(read(&Json::parse(line.as_bytes()).unwrap()).is_err(), "{wrong}");
        }
    }
}
