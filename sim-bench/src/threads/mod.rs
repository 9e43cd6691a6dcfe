//! Measurements on programs of plain threads: the number of runs until each bug of the corpus is found, and the cost of
//! a run and of a point.
//!
//! Our programs are compiled by `cargo unpause` and run in a separate process, over std. For shuttle and loom, the same
//! files are compiled over their primitives, in this process.

mod loom;
mod ours;
mod shuttle;
mod sizes;
mod summary;

pub(crate) use self::ours::Ours;
use self::shuttle::{PEERS, programs};

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench threads [quick] [sizes | orders urw ... | dining_5 ...]

  quick       5 ranges of at most 2000 seeds each; usually 20 of 20000
  sizes       only the cost of a run and of a point, beside shuttle and loom
  orders ...  also these strategies of ours
  ...         only these programs of the corpus
";

/// The measurement to run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    effort: Effort,
    /// True to measure only the cost of a run and of a point.
    sizes: bool,
    /// Our strategies to measure, the default first.
    strategies: Vec<String>,
    /// The names of the selected programs; empty for all programs.
    names: Vec<String>,
}

/// The effort of a measurement.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// The number of disjoint seed ranges.
    ranges: u64,
    /// The maximum number of runs in each range.
    runs: u64,
    /// The number of turns for each cost of a run; the minimum counts. `turn` is the number of runs in a turn.
    turns: u64,
    turn: u64,
}

impl Arguments {
    /// Parses the arguments after `threads`; `None` if they do not fit the grammar.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Option<Arguments> {
        let usual = Effort { ranges: 20, runs: 20_000, turns: 5, turn: 1000 };
        let strategies = vec!["portfolio".to_owned()];
        let mut arguments =
            Arguments { effort: usual, sizes: false, strategies, names: Vec::new() };
        for word in words {
            let kind = word.split(':').next().unwrap_or_default();
            match word.as_str() {
                "quick" => {
                    arguments.effort = Effort { ranges: 5, runs: 2000, turns: 3, turn: 300 };
                }
                "sizes" => arguments.sizes = true,
                name if programs().any(|program| program.name == name) => {
                    arguments.names.push(word);
                }
                _ if sim::strategy::STRATEGIES.iter().any(|row| row.name == kind) => {
                    arguments.strategies.push(word);
                }
                _ => return None,
            }
        }
        Some(arguments)
    }
}

/// The measurement of a column on a program.
#[derive(Clone, Debug)]
struct Seen {
    /// The number of runs to the first failure in each range, sorted. Without a failure, twice the runs of the range.
    first: Vec<u64>,
    /// True if no range has a failure.
    never: bool,
}

impl Seen {
    fn new(mut first: Vec<Option<u64>>, effort: Effort) -> Seen {
        first.sort_by_key(|runs| runs.unwrap_or(u64::MAX));
        let never = first.iter().all(Option::is_none);
        let first = first.into_iter().map(|runs| runs.unwrap_or(2 * effort.runs)).collect();
        Seen { first, never }
    }

    /// Returns the median over the ranges.
    fn median(&self) -> f64 {
        let (low, high) = ((self.first.len() - 1) / 2, self.first.len() / 2);
        (self.first[low] + self.first[high]) as f64 / 2.0
    }

    fn text(&self) -> String {
        if self.never { "never".to_owned() } else { format!("{:.1}", self.median()) }
    }
}

/// The measurements of a program.
struct Row {
    /// One entry for each of our strategies, the default first.
    ours: Vec<Seen>,
    /// One entry for each of shuttle's strategies.
    theirs: Vec<Seen>,
    /// The microseconds per run of the fixed twin: for the default, and for shuttle's random walk.
    micros: [f64; 2],
}

/// Prints the tables.
///
/// # Errors
/// If the program for our runs cannot be built, or exits.
pub(crate) fn table(arguments: &Arguments) -> Result<(), String> {
    let mut ours = Ours::start()?;
    if arguments.sizes {
        return sizes::table(&mut ours, arguments.effort);
    }
    print!("{:<20}", "");
    for name in &arguments.strategies {
        print!(" {name:>9}");
    }
    for peer in PEERS {
        print!(" {:>11}", peer.name);
    }
    println!(" {:>8} {:>7} {:>7} {:>8}", "of best", "steps", "us", "shuttle");
    let mut rows = Vec::new();
    let wanted = |name: &str| {
        arguments.names.is_empty() || arguments.names.iter().any(|wanted| wanted == name)
    };
    for (index, program) in programs().enumerate().filter(|(_, program)| wanted(program.name)) {
        let effort = arguments.effort;
        let mut row = Row { ours: Vec::new(), theirs: Vec::new(), micros: [f64::INFINITY; 2] };
        for strategy in &arguments.strategies {
            row.ours.push(ours.first_failures(strategy, program.name, effort)?);
        }
        row.theirs.extend(PEERS.iter().map(|peer| peer.first_failures(program, effort)));
        let mut steps = 0.0;
        for turn in 0..effort.turns {
            let seeds = turn * effort.turn..(turn + 1) * effort.turn;
            let cost = ours.cost("fixed", &arguments.strategies[0], program.name, seeds)?;
            steps = cost.steps;
            row.micros[0] = row.micros[0].min(cost.micros);
            row.micros[1] = row.micros[1].min(PEERS[0].cost(program.fixed, turn, effort.turn));
        }
        print!("{:<20}", program.name);
        row.ours.iter().for_each(|seen| print!(" {:>9}", seen.text()));
        row.theirs.iter().for_each(|seen| print!(" {:>11}", seen.text()));
        let ratio = row.ours[0].median() / row.best();
        let [mine, theirs] = row.micros;
        println!(" {ratio:>8.2} {steps:>7.1} {mine:>7.1} {theirs:>8.1}");
        rows.push((index, row));
    }
    summary::print(&arguments.strategies, &rows);
    if arguments.names.is_empty() {
        sizes::table(&mut ours, arguments.effort)?;
    }
    Ok(())
}

impl Row {
    /// Returns the number of runs of shuttle's best strategy on this program.
    fn best(&self) -> f64 {
        self.theirs.iter().map(Seen::median).fold(f64::INFINITY, f64::min)
    }
}
