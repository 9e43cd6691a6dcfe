//! Slices made by [helpers](crate::engine::simulate::helper), for searches of plain threads.
//!
//! A helper has the tree of the search as it was when the process was copied, and follows the rounds by the lines of
//! their slices, which are facts: see [`SliceLine`]. For each helper a thread of this process takes slices of the
//! round, as the threads of an async search do, and asks the helper for them.
//!
//! | said to a helper | meaning |
//! |---|---|
//! | a line of a slice | the next slice of a round that is over |
//! | `merge` | these were all slices of the round |
//! | `make <position> <runs> <number>` | make a slice of the round, with at most so many runs, the first with this number |
//!
//! The answer is `failing` and a failure in a line, or `whole` or `cut` and the line of the slice.

use unpause_ordered::Map;

use super::RunVisitor;
use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use crate::engine::results::SliceLine;
use crate::engine::simulate::helper::{self, GoesOn};
use crate::engine::simulate::session::Session;
use crate::native::{Helper, HelperLine};
use crate::strategy::divided::{SearchTree, Slice};

/// Has a helper make a slice, as long as `goes_on`. `before` is said first. `None` if the helper is lost.
///
/// # Errors
/// The failure of a run of the slice, in a line.
pub(super) fn ask(
    session: &Session<'_>,
    helper: &mut Helper,
    (at, order): (usize, &SliceOrder),
    before: &str,
    goes_on: GoesOn<'_>,
) -> Option<Result<MadeSlice, String>> {
    let SliceOrder { budget, from, .. } = order;
    let question = format!("{before}make {at} {budget} {from}\n");
    let answer = helper::ask(session, helper, &question, goes_on)?;
    let (kind, line) = answer.split_once(' ')?;
    if kind == "failing" {
        return Some(Err(line.trim_end().to_owned()));
    }
    let line = SliceLine::parse(line).ok()?;
    Some(Ok(MadeSlice { is_cut: kind == "cut", ..MadeSlice::of_line(line) }))
}

/// Makes slices of the tree as a helper.
pub(super) fn help(tree: &mut SearchTree, maker: &mut SliceMaker<'_, '_>, line: &mut HelperLine) {
    // The slices that this process has made are whole, while lines leave out what can be found again.
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
                let [at, budget, from] = numbers.ok()?.try_into().ok()?;
                let at = at as usize;
                let order = SliceOrder { part: tree.part(at), budget, from, failed: None };
                let made = maker.make(order, &mut RunVisitor::UntilFailure, goes_on);
                let kind = if made.is_cut { "cut" } else { "whole" };
                let said = match &made.explored.found {
                    Some(found) => format!("failing {}\n", found.in_a_line()),
                    // With all classes.
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
