//! The picture of a history, with an explanation of its verdict: the operation that fits nowhere, and its expected
//! result.

use super::intervals;
use super::screen::{Paint, Screen, clean, cut, plural};
use crate::chain::ENGINE as CHAIN;
use crate::history::HistoryRecord;
use crate::verdict::{Evidence, Verdict};
use unpause_ordered::Set;

/// The maximum number of operations of an order to list.
const ORDER_MAX: usize = 5;

/// Draws the picture of a history, and explains the verdict in one sentence.
pub fn draw(screen: &mut Screen, history: &HistoryRecord, verdict: Option<&Verdict>) {
    // Use the verdict of the record, or the verdict of the failure if the record has none.
    let evidence = match history.verdict.as_ref().or(verdict) {
        Some(Verdict::Violated(evidence)) => Some(&**evidence),
        Some(Verdict::Consistent(_) | Verdict::Unknown(_)) | None => None,
    };
    let part = evidence.and_then(|evidence| intervals::part(history, evidence));
    let of = if history.model.is_empty() { "" } else { ", " };
    let remark = format!("{}{of}{}", clean(&history.model), extent(history, part.as_deref()));
    screen.heading("history", &remark);
    intervals::draw(screen, history, evidence);
    if let (Some(part), Some(evidence)) = (&part, evidence) {
        let others = history.operations.len() - part.len();
        let (others, are) = match others {
            1 => ("The other one".to_owned(), "is"),
            n => (format!("The other {n}"), "are"),
        };
        let text = match evidence.anomaly {
            Some(_) => format!(
                "{others} {are} not shown: no order explains these, whatever else was done."
            ),
            None => format!("{others} {are} on other keys and not shown."),
        };
        screen.blank();
        screen.paragraph(2, (Paint::Faint, ""), (Paint::Faint, &text));
    }
    if let Some((engine, anomaly)) = evidence.and_then(|e| Some((&*e.engine, e.anomaly.as_ref()?)))
    {
        // A chain identifies the operations of a stream only by their numbers.
        let text = clean(&anomaly.text);
        let text = if engine == CHAIN { operations_by_name(history, &text) } else { text };
        let sentence = format!("{}: {text}", cut(&clean(&anomaly.name), 60));
        screen.blank();
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, &sentence));
    }
    if let Some(sentence) = evidence.and_then(|e| misfit(history, e, part.is_some())) {
        screen.blank();
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, &sentence));
    }
    if let Some(remark) = history.remark.as_ref().filter(|_| evidence.is_some()) {
        screen.blank();
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Plain, &clean(remark)));
    }
}

/// Replaces `Operation 7` in a text by `` `Read` by main ``, because pictures show no operation numbers.
fn operations_by_name(history: &HistoryRecord, text: &str) -> String {
    const WORD: &str = "peration ";
    let mut named = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(WORD) {
        let after = &rest[at + WORD.len()..];
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let number = after[..digits].parse::<usize>().ok();
        let before = rest[..at].strip_suffix(['O', 'o']);
        match (number.and_then(|number| history.operations.get(number)), before) {
            (Some(operation), Some(before)) => {
                let by = intervals::client(history, operation.client);
                let op = cut(&clean(&operation.op), 60);
                named.push_str(&format!("{before}`{op}` by {by}"));
            }
            _ => named.push_str(&rest[..at + WORD.len() + digits]),
        }
        rest = &after[digits..];
    }
    named + rest
}

/// Returns the size of the shown part of the history: `3 operations, 3 clients`, or
/// `2 of 3 operations, 2 of 3 clients`.
fn extent(history: &HistoryRecord, part: Option<&[usize]>) -> String {
    let operations = plural(history.operations.len() as u64, "operation");
    let clients = plural(history.clients.len() as u64, "client");
    let Some(part) = part else { return format!("{operations}, {clients}") };
    let of: Set<u32> = part.iter().map(|i| history.operations[*i].client).collect();
    format!("{} of {operations}, {} of {clients}", part.len(), of.len())
}

/// Returns the sentence about the operation that fits nowhere: its result, the expected result, and the order before
/// it. `few` is true if the check considered only a part of the history.
fn misfit(history: &HistoryRecord, evidence: &Evidence, few: bool) -> Option<String> {
    let operation = history.operations.get(evidence.misfit)?;
    if evidence.partial.is_empty() && evidence.anomaly.is_some() {
        // The engine constructed no order.
        return None;
    }
    // With the other operations, the object would be in another state and might return another result. It is only
    // certain that the object cannot return the recorded result.
    let alone = few && evidence.anomaly.is_some();
    let by = intervals::client(history, operation.client);
    let order = evidence.partial.first().map_or(&[][..], |order| order);
    let after = order_in_words(history, order);
    let expected: Vec<String> =
        evidence.expected.iter().map(|e| format!("`{}`", cut(&clean(e), 60))).collect();
    let verdict = match &expected[..] {
        [] => "the model does not allow it".to_owned(),
        expected => format!("it should have returned {}", one_of(expected)),
    };
    let among = if alone { " among these alone" } else { "" };
    let mut sentence = format!(
        "`{}` by {by} fits nowhere{among}: {after} {verdict}.",
        intervals::operation(operation)
    );
    // Often the misfit returns the state itself, which then need not be repeated.
    if !alone && !evidence.state.is_empty() && evidence.expected != [evidence.state.as_str()] {
        let state = cut(&clean(&evidence.state), 200);
        let of = if few { " of this key" } else { "" };
        sentence += &format!(" The state{of} is then `{state}`.");
    }
    match evidence.partial.len() {
        0 | 1 => {}
        2 => sentence += " Another order gets as far and no further.",
        n => sentence += &format!(" {} other orders get as far and no further.", n - 1),
    }
    Some(sentence)
}

fn order_in_words(history: &HistoryRecord, order: &[usize]) -> String {
    let name = |i: &usize| match history.operations.get(*i) {
        Some(o) => {
            format!("`{}` by {}", intervals::operation(o), intervals::client(history, o.client))
        }
        None => format!("operation {i}"),
    };
    let names = |order: &[usize]| order.iter().map(name).collect::<Vec<_>>().join(", ");
    match order {
        [] => "as the first of all".to_owned(),
        [one] => format!("after {}", name(one)),
        [most @ .., last] if order.len() <= ORDER_MAX => {
            format!("after {} and {}", names(most), name(last))
        }
        long => {
            let (count, last) = (long.len(), &long[long.len() - 3..]);
            format!("after {count} operations, the last of them {},", names(last))
        }
    }
}

/// Joins texts: `a`, `a or b`, `a, b or c`.
fn one_of(texts: &[String]) -> String {
    match texts {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => texts.join(""),
    }
}
