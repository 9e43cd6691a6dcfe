//! Our checkers compared with their peers: milliseconds for the same histories, with known
//! verdicts.
//!
//! Each cell is measured in a separate process ([`child`]). A peer that never ends, needs all
//! memory or overflows its stack therefore loses only this cell.

mod case;
mod chain;
mod child;
mod contestant;
mod history;
mod online;
mod ours;
mod porcupine_rs;
mod recorded;
mod scripts;
mod stateright;

use self::case::Case;
use self::child::{Cell, Outcome};
use self::contestant::CONTESTANTS;

pub(crate) use self::case::{Extent, USAGE};

/// The measurement to run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    extent: Extent,
    /// The names of the selected workloads; empty for all workloads.
    names: Vec<String>,
}

impl Arguments {
    /// Parses the arguments after `checkers`; `None` if they do not fit the grammar.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Option<Arguments> {
        let mut arguments = Arguments { extent: Extent::Usual, names: Vec::new() };
        for word in words {
            match word.as_str() {
                "quick" => arguments.extent = Extent::Quick,
                "long" => arguments.extent = Extent::Long,
                name if case::is_workload(name) => arguments.names.push(word),
                _ => return None,
            }
        }
        Some(arguments)
    }
}

/// Measures one cell in this process. The table starts such a process for each cell. Returns `None`
/// if the arguments do not select a cell.
pub(crate) fn cell(mut words: impl Iterator<Item = String>) -> Option<()> {
    let contestant = words.next()?;
    let contestant = CONTESTANTS.iter().find(|known| known.name == contestant)?;
    let turns = words.next()?.parse().ok()?;
    child::measure(contestant, &Case::read(&mut words)?, turns);
    Some(())
}

/// Prints the table. Returns `true` if every verdict was correct.
pub(crate) fn table(arguments: &Arguments) -> bool {
    println!(
        "Milliseconds of processor time for one history, the least of several turns; the peers with\n\
         their ratio to ours. T: over {} s. M: over {} GiB. died: a panic or the end of the stack.\n\
         unknown: gave up within its budget. The column `2 threads` alone has time on the wall.\n",
        child::SECONDS_MAX,
        child::GIB_MAX
    );
    print!("{:<10} {:>8} {:>3} {:<4} {:>10}", "workload", "n", "c", "", "ours");
    for contestant in &CONTESTANTS[1..] {
        print!(" {:>18}", contestant.title);
    }
    println!(" {:>9} {:>7}  engine", "visited", "MiB");
    let mut right = true;
    for case in case::cases(arguments.extent) {
        let wanted = |name: &String| *name == case.workload.name();
        if arguments.names.is_empty() || arguments.names.iter().any(wanted) {
            right &= row(&case, arguments.extent);
        }
    }
    if arguments.names.is_empty() || arguments.names.iter().any(|name| name == "chain") {
        right &= chain::table(arguments.extent);
    }
    right
}

fn row(case: &Case, extent: Extent) -> bool {
    if let Some(why) = case.missing() {
        println!("{:<10} left out: {why}", case.workload.name());
        return true;
    }
    let cells: Vec<Option<Outcome>> = CONTESTANTS
        .iter()
        .map(|contestant| (contestant.takes)(case).then(|| child::run(contestant, case, extent)))
        .collect();
    let ours = cells[0].clone().expect("ours takes everything");
    let verdict = if case.bad { "bad" } else { "ok" };
    print!("{:<10} {:>8} {:>3} {:<4}", case.workload.name(), case.count(), case.clients, verdict);
    print!(" {:>10}", text(&ours, None));
    for cell in &cells[1..] {
        let text = cell.as_ref().map_or("-".to_owned(), |cell| text(cell, Some(&ours)));
        print!(" {text:>18}");
    }
    if let Outcome::Done(Cell { visited, mebibytes, engine, .. }) = &ours {
        print!(" {visited:>9} {mebibytes:>7.1}  {engine}");
    }
    println!();
    let mut right = true;
    for (contestant, cell) in CONTESTANTS.iter().zip(&cells) {
        if matches!(cell, Some(Outcome::Wrong)) {
            println!("ERROR: {} says the opposite of what was planted", contestant.title);
            right = false;
        }
    }
    right
}

fn text(outcome: &Outcome, ours: Option<&Outcome>) -> String {
    let millis = match outcome {
        Outcome::Done(cell) => cell.millis,
        Outcome::Slow => return "T".to_owned(),
        Outcome::Large => return "M".to_owned(),
        Outcome::Died => return "died".to_owned(),
        Outcome::Unknown => return "unknown".to_owned(),
        Outcome::Wrong => return "WRONG".to_owned(),
    };
    let places = if millis < 10.0 { 2 } else { 0 };
    match ours {
        Some(Outcome::Done(ours)) => format!("{millis:.places$} {:>6.1}x", millis / ours.millis),
        _ => format!("{millis:.places$}"),
    }
}
