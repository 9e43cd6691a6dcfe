//! The number of runs until the bugs of the corpus are found: with our strategies, with shuttle's strategies, and as
//! published.
//!
//! A figure is all runs divided by the failing runs: the mean number of runs to the first bug. All strategies are
//! measured in this process on the same program text, with a scheduling point at each spawn. In shuttle, every spawn is
//! such a point.

mod ours;
mod peers;
mod published;

use sim_tests::corpus::all;

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench corpus [quick | long] [reorder_5 dining_5 ...]

  quick   until 50 failures or 2000 runs; long: 2000 or 200000
  ...     only these programs of the corpus
";

/// The measurement to run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    effort: Effort,
    /// The names of the selected programs; empty for all programs.
    names: Vec<String>,
}

/// The effort of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The maximum number of runs for a strategy and a program.
    runs: u64,
    /// The number of failing runs after which the mean is accurate enough.
    bugs: u64,
}

impl Arguments {
    /// Parses the arguments after `corpus`; `None` if they do not fit the grammar.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Option<Arguments> {
        let usual = Effort { runs: 20_000, bugs: 400 };
        let mut arguments = Arguments { effort: usual, names: Vec::new() };
        for word in words {
            match word.as_str() {
                "quick" => arguments.effort = Effort { runs: 2_000, bugs: 50 },
                "long" => arguments.effort = Effort { runs: 200_000, bugs: 2_000 },
                name if all().any(|program| program.name == name) => arguments.names.push(word),
                _ => return None,
            }
        }
        Some(arguments)
    }
}

/// The measurement of a strategy on a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    runs: u64,
    bugs: u64,
}

impl Seen {
    /// Returns `true` if the mean is accurate enough, or if the runs are used up.
    fn enough(&self, effort: Effort) -> bool {
        self.runs >= effort.runs || self.bugs >= effort.bugs
    }

    /// Returns the mean number of runs to the first bug; infinite if there was no bug.
    fn mean(&self) -> f64 {
        self.runs as f64 / self.bugs as f64
    }

    fn text(&self) -> String {
        match self.bugs {
            0 => format!(">{}", self.runs),
            _ => number(self.mean()),
        }
    }
}

fn number(mean: f64) -> String {
    if mean < 99.5 { format!("{mean:.1}") } else { format!("{mean:.0}") }
}

/// Prints the table.
pub(crate) fn table(arguments: &Arguments) {
    let strategies = ours::names();
    let wanted = |name: &str| {
        arguments.names.is_empty() || arguments.names.iter().any(|wanted| wanted == name)
    };
    print!("{:<20}", "");
    for name in &strategies {
        print!(" {name:>9}");
    }
    for peer in peers::PEERS {
        print!(" {:>11}", peer.name);
    }
    println!("  {:>9}  bar  published: {}", "best", published::COLUMNS.join(", "));
    let mut compared = Vec::new();
    for program in all().filter(|program| wanted(program.name)) {
        print!("{:<20}", program.name);
        let ours: Vec<Seen> =
            strategies.iter().map(|name| ours::measure(name, program, arguments.effort)).collect();
        for seen in &ours {
            print!(" {:>9}", seen.text());
        }
        let theirs: Vec<Option<Seen>> =
            peers::PEERS.iter().map(|peer| peer.measure(program.name, arguments.effort)).collect();
        for seen in &theirs {
            print!(" {:>11}", seen.map_or("-".to_owned(), |seen| seen.text()));
        }
        let published = published::of(program.name);
        let measured = ours[1..].iter().chain(theirs.iter().flatten()).map(Seen::mean);
        let best =
            measured.chain(published.iter().flatten().copied()).fold(f64::INFINITY, f64::min);
        let met = if ours[0].mean() <= 2.0 * best { "yes" } else { "NO" };
        print!("  {:>9}  {met:<3}", number(best));
        for mean in published {
            print!(" {:>6}", mean.map_or("-".to_owned(), number));
        }
        println!();
        let is_published = published.iter().any(Option::is_some);
        compared.push(Row { ours: ours[0].mean(), best, theirs, is_published });
    }
    summary(&compared);
}

/// Prints the runs of each peer as a multiple of the runs of the default, and of two ideal tools. The first ideal tool
/// needs as many runs on each program as the best column of its row. The second always finds the bug in its first run,
/// so its factor is the highest that is possible.
fn summary(rows: &[Row]) {
    const TOOLS: [(&str, fn(&Row) -> f64); 3] = [
        ("the default", |row| row.ours),
        ("the best of each row", |row| row.best),
        ("1 run always", |_| 1.0),
    ];
    println!("\nRuns of a peer by those of another tool, geometric mean (programs)");
    print!("{:<24}", "");
    for (tool, _) in TOOLS {
        print!(" {tool:>22}");
    }
    println!();
    for (i, peer) in peers::PEERS.iter().enumerate() {
        for (of, only_published) in [("all", false), ("published", true)] {
            let rows = || rows.iter().filter(|row| row.is_published || !only_published);
            print!("{:<24}", format!("{}, {of}", peer.name));
            for (_, runs) in TOOLS {
                let ratios = rows().filter_map(|row| Some(at_least(row.theirs[i]?) / runs(row)));
                print!(" {:>22}", geometric_mean(ratios));
            }
            println!();
        }
    }
}

/// The measurements of a program.
struct Row {
    /// The mean number of runs of the default strategy.
    ours: f64,
    /// The mean number of runs in the best other column.
    best: f64,
    theirs: Vec<Option<Seen>>,
    is_published: bool,
}

/// Formats a geometric mean and the number of ratios: `3.1 (49)`.
fn geometric_mean(ratios: impl Iterator<Item = f64>) -> String {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    format!("{mean:.1} ({})", logs.len())
}

/// Returns the mean number of runs to the first bug. Without a bug, returns the number of runs, which is a lower bound.
fn at_least(seen: Seen) -> f64 {
    seen.runs as f64 / seen.bugs.max(1) as f64
}
