//! Slices made by other processes, for searches of plain threads: a process steps one run at a time.
//!
//! A [helper](native::Helper) is a copy of this process at some moment of a round. It has the tree of the search as it
//! was then, and follows the rounds by the lines of their slices, which are facts: see [`SliceLine`]. For each helper a
//! thread of this process takes slices of the round, as the threads of an async search do, and has the helper make
//! them. A slice with a failing run is made here once more: only this process reports. So is a slice whose helper is
//! lost: a run that hangs or ends its process does so here.
//!
//! | said to a helper | meaning |
//! |---|---|
//! | `make <position> <runs> <number>` | make a slice of the round, with at most so many runs, the first with this number |
//! | `cut` | make no other run of it |
//! | a line of a slice | the next slice of a round that is over |
//! | `merge` | these were all slices of the round |
//!
//! | said by a helper | meaning |
//! |---|---|
//! | `.` | it is making runs |
//! | `whole`, `cut` or `failing`, and a line of a slice but for the last | the slice |

use std::cell::RefCell;
use std::time::{Duration, Instant};
use unpause_ordered::Map;

use super::RunVisitor;
use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use crate::engine::results::SliceLine;
use crate::native::{Helper, HelperLine};
use crate::strategy::divided::{SearchTree, Slice};

/// The interval of signs of life.
const BEAT: Duration = Duration::from_millis(50);

/// The least time without a sign of life after which a helper is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// A slice that a helper was asked for.
pub(super) enum HelperSlice {
    Made(Box<MadeSlice>),
    /// A run of it failed.
    Fails,
    /// The helper is lost, with the slice.
    Lost,
}

/// Has a helper make a slice, as long as `goes_on`. `before` is said first. The helper is lost if it gives no sign of
/// life for the time `hang`.
pub(super) fn ask(
    helper: &mut Helper,
    (at, order): (usize, &SliceOrder),
    before: &str,
    hang: Option<Duration>,
    goes_on: &dyn Fn() -> bool,
) -> HelperSlice {
    let SliceOrder { budget, from, .. } = order;
    if !helper.line.say(&format!("{before}make {at} {budget} {from}\n")) {
        return HelperSlice::Lost;
    }
    let hang = hang.map(|hang| hang.max(PATIENCE));
    let (mut heard, mut is_cut) = (Instant::now(), false);
    loop {
        let line = match helper.line.hear(Some(BEAT)) {
            Ok(Some(line)) => line,
            Ok(None) if hang.is_none_or(|hang| heard.elapsed() < hang) => String::new(),
            Ok(None) | Err(_) => return HelperSlice::Lost,
        };
        if !line.is_empty() {
            heard = Instant::now();
        }
        match line.split_once(' ') {
            Some((kind @ ("whole" | "cut"), line)) => {
                let Ok(line) = SliceLine::parse(line) else { return HelperSlice::Lost };
                let made = MadeSlice { is_cut: kind == "cut", ..MadeSlice::of_line(line) };
                return HelperSlice::Made(Box::new(made));
            }
            None if line == "failing\n" => return HelperSlice::Fails,
            _ => {}
        }
        if !is_cut && !goes_on() {
            is_cut = true;
            if !helper.line.say("cut\n") {
                return HelperSlice::Lost;
            }
        }
    }
}

/// Works as a helper: makes slices of the tree until the process is ended.
pub(super) fn help(tree: &mut SearchTree, maker: &mut SliceMaker<'_, '_>, line: &mut HelperLine) {
    let line = RefCell::new(line);
    // The slices that this process has made are whole, while lines leave out what can be found again.
    let mut own: Map<usize, Slice> = Map::new();
    let mut round = Vec::new();
    while let Ok(Some(text)) = { line.borrow_mut().hear(None) } {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["merge"] => {
                let slices: Vec<Slice> = std::mem::take(&mut round);
                let own = &mut std::mem::take(&mut own);
                let whole = |(at, slice): (usize, Slice)| own.remove(&at).unwrap_or(slice);
                tree.merge(slices.into_iter().enumerate().map(whole).collect());
            }
            ["make", at, budget, from] => {
                let numbers = (at.parse(), budget.parse(), from.parse());
                let (Ok(at), Ok(budget), Ok(from)) = numbers else { return };
                let order = SliceOrder { part: tree.part(at), budget, from };
                let beat = HelperBeat { line: &line, last: Instant::now().into() };
                let made = maker.make(order, &mut RunVisitor::UntilFailure, &|| beat.goes_on());
                let kind = if made.is_cut { "cut" } else { "whole" };
                let said = match made.explored.found {
                    Some(_) => "failing\n".to_owned(),
                    // With all classes.
                    None => format!("{kind} {}", made.line((0, 0, at), u64::MAX)),
                };
                if !line.borrow_mut().say(&said) {
                    return;
                }
                own.insert(at, made.slice);
            }
            // The slice was made before it was heard.
            ["cut"] => {}
            _ => match SliceLine::parse(&text) {
                Ok(line) => round.push(line.slice),
                Err(_) => return,
            },
        }
    }
}

/// The signs of life of a helper that makes a slice.
struct HelperBeat<'a, 'l> {
    line: &'a RefCell<&'l mut HelperLine>,
    last: RefCell<Instant>,
}

impl HelperBeat<'_, '_> {
    /// Returns `true` if another run is to be made.
    fn goes_on(&self) -> bool {
        let mut last = self.last.borrow_mut();
        if last.elapsed() < BEAT {
            return true;
        }
        *last = Instant::now();
        let mut line = self.line.borrow_mut();
        let cut = line.say(".\n").then(|| line.hear(Some(Duration::from_nanos(1))));
        matches!(cut, Some(Ok(None)))
    }
}
