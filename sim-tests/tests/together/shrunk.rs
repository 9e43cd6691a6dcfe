//! Failing runs of generated programs, shrunk: never more steps than were found, the same failure, and the
//! printed line replays it.
//!
//! `UNPAUSE_LONG=1` shrinks 20,000 failures, `UNPAUSE_SHRUNK=locks:1234` the failure of that program.

use sim::Runner;
use sim::report::{Finding, Origin, Report, Size, Style, text};
use sim_tests::acts::drive::Driven;
use sim_tests::acts::generate::{MIXTURES, Mixture};
use sim_tests::acts::program::Program;
use sim_tests::histories::long;
use sim_tests::seeds::failure;

/// The number of failures that are shrunk: in the gate, and on request.
const USUAL: u64 = 40;
const LONG: u64 = 20_000;
/// The number of seeds that are tried for each program.
const SEEDS: u64 = 8;

fn runner(name: &str) -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shrunk");
    // A small file for each mixture is written over by the next failure.
    Runner::new().hermetic().jobs(1).out(out).name(name)
}

#[cfg_attr(feature = "sim", test)]
fn shrunk_failures_are_no_longer_and_the_same_and_their_lines_replay_them() {
    if let Ok(one) = std::env::var("UNPAUSE_SHRUNK") {
        let (name, number) = one.split_once(':').expect("a mixture and a number, like locks:17");
        let mixture = Mixture::find(name).expect("a mixture of that name");
        let finding = check(mixture, number.parse().expect("a number"));
        return println!("{}", finding.map_or("it passes".to_owned(), |found| found.screen));
    }
    let wanted = if long() { LONG } else { USUAL };
    let (mut sums, mut kinds) = (Sums::default(), std::collections::BTreeMap::new());
    // The mixtures are used in turn, because some mixtures never fail.
    for number in 0.. {
        assert!(number < 200 * wanted, "programs hardly fail any more: {sums:?}");
        let mixture = &MIXTURES[number as usize % MIXTURES.len()];
        if let Some(found) = check(mixture, number / MIXTURES.len() as u64) {
            *kinds.entry(found.kind).or_insert(0) += 1;
            sums.add(&found);
        }
        if sums.failures == wanted {
            break;
        }
    }
    println!("{sums:?} {kinds:?}");
    // With fewer kinds, the test would show nothing.
    assert!(kinds.len() >= 3, "{kinds:?}");
    assert!(
        sums.steps_after < sums.steps_before && sums.preemptions_after < sums.preemptions_before
    );
}

#[derive(Debug, Default)]
struct Sums {
    failures: u64,
    steps_before: u64,
    steps_after: u64,
    preemptions_before: u64,
    preemptions_after: u64,
    replays: u64,
}

impl Sums {
    fn add(&mut self, Found { before, after, replays, .. }: &Found) {
        self.failures += 1;
        self.steps_before += u64::from(before.steps);
        self.steps_after += u64::from(after.steps);
        self.preemptions_before += u64::from(before.preemptions);
        self.preemptions_after += u64::from(after.preemptions);
        self.replays += replays;
    }
}

struct Found {
    kind: &'static str,
    before: Size,
    after: Size,
    replays: u64,
    screen: String,
}

/// Shrinks the first failure of a program, if any, and checks the result.
fn check(mixture: &Mixture, number: u64) -> Option<Found> {
    let program: Program = mixture.program(number);
    let driven = Driven::new(&program);
    let name = format!("{}_{}", mixture.name.replace([',', ' '], "_"), number % 16);
    let report = runner(&name).seeds(0..SEEDS).run(|| driven.body());
    let screen = text(&report, &Style::default());
    let finding = report.finding.as_deref()?;
    let context = || {
        format!("UNPAUSE_SHRUNK={:?}\n{program}\n{screen}", format!("{}:{number}", mixture.name))
    };
    let Origin::Seed(seed) = finding.from else { panic!("it is of no seed\n{}", context()) };

    // The run as it was found.
    let found = runner(&name).run_seed(seed.0, || driven.body());
    let (before, after) = (Size::of(&found), Size::of(&finding.run));
    let (as_found, shown) = (failure(&found), failure(&finding.run));
    assert_eq!(finding.original, before, "{}", context());
    assert_eq!(shown.signature(), as_found.signature(), "{}", context());
    let shrunk = finding.shrunk.unwrap_or_else(|| panic!("it was not shrunk\n{}", context()));
    assert_eq!(shrunk.size, after, "{}", context());
    assert!(
        after.steps <= before.steps,
        "{} steps to {}\n{}",
        before.steps,
        after.steps,
        context()
    );

    let again = replayed(&name, finding, &driven);
    let run =
        &again.finding.as_ref().unwrap_or_else(|| panic!("it passes again\n{}", context())).run;
    assert_eq!(failure(run), shown, "{}", context());
    assert_eq!((&run.steps, &run.draws), (&finding.run.steps, &finding.run.draws), "{}", context());
    let kind = shown.kind();
    Some(Found { kind, before, after, replays: u64::from(shrunk.replays), screen })
}

/// Replays the printed line.
fn replayed(name: &str, finding: &Finding, driven: &Driven) -> Report {
    let line = finding.replay.as_deref().expect("there is a line");
    // The report of a hermetic runner has the line for the code: `.replay("sim2:0x2") on the Runner
    // of …`.
    let value = line.split('"').nth(1).expect("it quotes a trace");
    runner(name).replay(value).run(|| driven.body())
}
