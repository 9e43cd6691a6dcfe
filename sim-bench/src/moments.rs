//! The moments of faults: the number of runs until a fault hits the least likely gap between steps, divided by the runs
//! that a uniform draw of the gap needs.

use sim::strategy::STRATEGIES;
use sim_tests::moments::FAULTS;

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench moments [quick] [pct urw ...]

  a victim of 1 to 30 steps and one fault: the runs until the fault falls into the worst gap, divided by the runs
  that a uniform draw over the gaps takes; at most 3, but for random
  quick  2000 seeds each; usually 20000
  ...    only these strategies
";

/// The numbers of steps of the victims.
const STEPS: [u64; 8] = [1, 2, 3, 5, 8, 12, 20, 30];

/// Prints the table. Returns `false` if a strategy is unknown.
pub(crate) fn table(words: impl Iterator<Item = String>) -> bool {
    let words: Vec<String> = words.collect();
    let is_known = |word: &String| STRATEGIES.iter().any(|row| row.name == word);
    let seeds = if words.iter().any(|word| word == "quick") { 2_000 } else { 20_000 };
    let strategies: Vec<String> = words.into_iter().filter(|word| word != "quick").collect();
    if !strategies.iter().all(is_known) {
        return false;
    }
    print!("{:24} {:10}", "fault", "strategy");
    STEPS.iter().for_each(|steps| print!(" {steps:6}"));
    println!();
    let wanted = |name: &str| strategies.is_empty() || strategies.iter().any(|word| word == name);
    for fault in FAULTS {
        for row in STRATEGIES.iter().filter(|row| wanted(row.name)) {
            print!("{:24} {:10}", fault.name, row.name);
            for steps in STEPS {
                print!(" {:6.1}", fault.worst(row.name, steps, 0..seeds));
            }
            println!();
        }
    }
    true
}
