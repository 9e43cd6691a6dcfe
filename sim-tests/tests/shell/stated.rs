//! The statements about a search: `cargo unpause merge` and the process that ran the whole search say the same.

use std::collections::BTreeSet;
use std::path::Path;

use sim::strategy::SEARCHES;

use crate::child::{Child, Ended, child};
use crate::shards::{folder, merge};

/// Returns the statements on the screen of a test: its remarks, the reasons why it is not a proof, its warnings and
/// its notes. The number of abandoned runs and the bound of a search are in the first line of merged results.
fn stated(ended: &Ended) -> BTreeSet<String> {
    let (mut found, mut last): (Vec<String>, bool) = Default::default();
    for line in ended.stderr.lines() {
        let labels = ["        (", "        NOT A PROOF: ", "warning: ", "note:    "];
        // A line within a paragraph may begin with a parenthesis, too.
        let is_open = last && found.last().is_some_and(|text| !text.ends_with([')', '.']));
        let is_within = is_open && line.starts_with("        (");
        let begins = !is_within && labels.iter().any(|label| line.starts_with(label));
        match line.strip_prefix("        ") {
            Some(rest) if !begins && last => {
                let paragraph = found.last_mut().unwrap();
                *paragraph += &format!(" {}", rest.trim());
            }
            _ if begins => found.push(line.trim().to_owned()),
            _ => {}
        }
        last = begins || last && line.starts_with("        ");
    }
    let is_elsewhere = |text: &String| {
        text.ends_with("abandoned as redundant)") || text.contains(" were not tried")
    };
    let labels = ["NOT A PROOF: ", "warning: ", "note:    "];
    let text = |text: String| {
        let text = labels.iter().find_map(|label| text.strip_prefix(label)).unwrap_or(&text);
        text.trim().to_owned()
    };
    found.into_iter().filter(|text| !is_elsewhere(text)).map(text).collect()
}

/// Returns the statements of merged results.
fn merged(said: &str) -> BTreeSet<String> {
    let statement = |line: &str| {
        let assumption = line.strip_prefix("  assumes  ").map(|text| format!("(assumes {text})"));
        let other = || {
            let labels = ["  unproved ", "  note     ", "           "];
            labels.iter().find_map(|label| line.strip_prefix(label)).map(str::to_owned)
        };
        assumption.or_else(other)
    };
    said.lines().filter_map(statement).collect()
}

/// The settings of a search that affect its statements: the memory model and the clock.
const SETTINGS: [(&str, &str); 4] =
    [("sc", "last"), ("c11", "last"), ("sc", "late:2"), ("sc", "any")];

/// A kind of search: the test, the strategy, the memory model and the clock.
struct Kind {
    test: &'static str,
    strategy: String,
    memory: &'static str,
    clock: &'static str,
}

impl Kind {
    fn child(&self, results: &Path) -> Child {
        let child = child(&format!("many_runs::{}", self.test)).env("SIM_RESULTS", results);
        let child = child.env("SIM_STRATEGY", &self.strategy).env("SIM_MEMORY", self.memory);
        child.env("SIM_CLOCK", self.clock).env("SIM_SEEDS", "100000")
    }

    /// Compares the merged results of the whole search, and of two shares, with the screen of the whole search.
    /// Returns the statements.
    fn check(&self) -> BTreeSet<String> {
        let Kind { test, strategy, memory, clock } = self;
        let about = format!("{test}, {strategy}, memory {memory}, clock {clock}");
        let [whole, shares] = ["whole", "shares"].map(|part| {
            folder(&format!("stated {test} {strategy} {memory} {clock} {part}").replace(':', " "))
        });
        let ended = self.child(&whole).passes();
        let alone = stated(&ended);
        let (_, said) = merge(&[], &whole);
        assert_eq!(merged(&said), alone, "{about}\n{said}\n{ended}");
        for share in ["1/2", "2/2"] {
            self.child(&shares).env("SIM_SHARD", share).passes();
        }
        let (_, said) = merge(&[], &shares);
        let mut together = merged(&said);
        // This statement is about shares only.
        together.retain(|text| !text.contains("shares together are not a proof"));
        // The number of repeated runs depends on the division.
        let without_number = |all: &BTreeSet<String>| {
            let is_number = |text: &str| text.contains(" repeated to reach those with the same");
            // The runs of a share have other numbers.
            let text = |text: &String| match text.strip_prefix("seed ") {
                Some(rest) => rest.split_once(": ").map_or(rest, |(_, text)| text).to_owned(),
                None => text.clone(),
            };
            all.iter().map(text).filter(|text| !is_number(text)).collect::<BTreeSet<_>>()
        };
        // Each share has other runs, which may show other steps and other tasks. The warning about the first run belongs
        // to the first process that executes a whole run.
        let without_steps = |all: BTreeSet<String>| {
            let begins = ["(each order of steps was a run of its own: ", "the detached task 0."];
            let short = |text: String| {
                let begin = begins.iter().find(|begin| text.starts_with(**begin));
                begin.map_or(text.clone(), |begin| (*begin).to_owned())
            };
            let of_first = |text: &String| text.contains("had not ended when the test body did");
            all.into_iter().filter(|text| !of_first(text)).map(short).collect::<BTreeSet<_>>()
        };
        let [together, whole] = [&together, &alone].map(|all| without_steps(without_number(all)));
        assert_eq!(together, whole, "{about}, in shares\n{said}\n{ended}");
        alone
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_merged_search_states_what_the_search_in_one_process_states() {
    let tests = [
        "takes_many_runs",
        "publishes",
        "publishes_in_time",
        "shares_unseen",
        "waits_with_time_limits",
        "leaves_tasks",
    ];
    let mut all = BTreeSet::new();
    for test in tests {
        for row in SEARCHES {
            for (memory, clock) in SETTINGS {
                let strategy = row.numbered.get(2).unwrap_or(&row.name).to_string();
                all.extend(Kind { test, strategy, memory, clock }.check());
            }
        }
    }
    // The walk has met each statement.
    let wanted = [
        "(assumes that tasks share memory through sim only)",
        "(assumes that orders weaker than SeqCst act as SeqCst)",
        "(assumes that time advances only when no task can step)",
        "(assumes that tasks share memory through sim only, orders weaker than SeqCst act as SeqCst, and time",
        "(each order of steps was a run of its own: ",
        "(memory orders act as in C11: ",
        "had not ended when the test body did",
        "was still blocked when the test body had ended",
    ];
    for text in wanted {
        assert!(all.iter().any(|statement| statement.contains(text)), "{text} in {all:#?}");
    }
}
