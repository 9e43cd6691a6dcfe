//! Slices that [helpers](crate::engine::simulate::helper) execute, for searches of plain threads.
//!
//! A helper has the search tree from the moment when the process was copied. The helper follows the rounds by the lines
//! of their slices, which are deterministic: see [`SliceLine`]. For each helper, one thread of this process takes
//! slices of the round, like the threads of an async search, and sends them to the helper as requests.
//!
//! | message to a helper | meaning |
//! |---|---|
//! | a line of a slice | the next slice of a completed round |
//! | `merge` | the lines before contain all slices of the round |
//! | `make <position> <runs> <number> <end>` | execute this slice: up to `<runs>` runs, beginning with run `<number>` |
//!
//! The line of a slice contains the classes below `<end>`. The helper does not know `<end>`, because it does not
//! receive the classes of other slices.
//!
//! The reply is `failing` and a failure on one line, or `whole` or `cut` followed by the line of the slice.

use unpause_ordered::Map;

use super::RunVisitor;
use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use crate::engine::results::SliceLine;
use crate::engine::simulate::helper::{self, GoesOn};
use crate::engine::simulate::session::Session;
use crate::native::{Helper, HelperLine};
use crate::strategy::divided::{SearchTree, Slice};

/// Requests a slice from a helper, and waits as long as `goes_on` returns `true`. The text `before` is sent first.
/// `None` if the connection to the helper is lost.
///
/// # Errors
/// The failure of a run in the slice, as one line.
pub(super) fn ask(
    session: &Session<'_>,
    helper: &mut Helper,
    (at, order): (usize, &SliceOrder),
    before: &str,
    goes_on: GoesOn<'_>,
) -> Option<Result<MadeSlice, String>> {
    let SliceOrder { budget, from, part, .. } = order;
    let end = part.known.class_end.unwrap_or(u64::MAX);
    let question = format!("{before}make {at} {budget} {from} {end}\n");
    let answer = helper::ask(session, helper, &question, goes_on)?;
    let (kind, line) = answer.split_once(' ')?;
    if kind == "failing" {
        return Some(Err(line.trim_end().to_owned()));
    }
    let line = SliceLine::parse(line).ok()?;
    Some(Ok(MadeSlice { is_cut: kind == "cut", ..MadeSlice::of_line(line) }))
}

/// Executes slices of the tree as a helper.
pub(super) fn help(tree: &mut SearchTree, maker: &mut SliceMaker<'_, '_>, line: &mut HelperLine) {
    // The slices of this process are complete, but lines omit data that can be computed again. So the own slices are
    // used where they exist.
    let mut own: Map<usize, Slice> = Map::new();
    let mut round: Vec<Slice> = Vec::new();
    helper::serve(line, &mut |text, goes_on| {
        let (word, rest) = text.split_once([' ', '\n'])?;
        match word {
            "merge" => {
                let mut own = std::mem::take(&mut own);
                let slices = std::mem::take(&mut round).into_iter().enumerate();
                tree.merge(slices.map(|(at, slice)| own.remove(&at).unwrap_or(slice)).collect());
            }
            "make" => {
                let numbers: Result<Vec<u64>, _> =
                    rest.split_whitespace().map(str::parse).collect();
                let [at, budget, from, end] = numbers.ok()?.try_into().ok()?;
                let at = at as usize;
                let mut part = tree.part(at);
                part.known.class_end = Some(end);
                let order = SliceOrder { part, budget, from, failed: None };
                let made = maker.make(order, &mut RunVisitor::UntilFailure, goes_on);
                let kind = if made.is_cut { "cut" } else { "whole" };
                let said = match &made.explored.found {
                    Some(found) => format!("failing {}\n", found.in_a_line()),
                    // The line contains all classes that the slice returns.
                    None => format!("{kind} {}", made.line((0, 0, at), u64::MAX)),
                };
                own.insert(at, made.slice);
                return Some(said);
            }
            _ => round.push(SliceLine::parse(text).ok()?.slice),
        }
        Some(String::new())
    });
}
