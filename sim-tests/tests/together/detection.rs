//! The number of seeds to a lost update, and the size of its shrunk run.

use sim::Runner;
use sim::report::Finding;
use sim_tests::fingerprint::Fingerprint;
use sim_tests::programs::lost_update;

const RANGES: u64 = 100;

fn find(range: u64, jobs: usize) -> (u64, Finding) {
    let out = format!("{}/detection_{jobs}", env!("CARGO_TARGET_TMPDIR"));
    let seeds = range * 1000..(range + 1) * 1000;
    let report = Runner::new().hermetic().out(out).seeds(seeds).jobs(jobs).run(lost_update);
    (report.runs, *report.finding.expect("a thousand seeds find it"))
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_is_found_soon_and_shrunk_to_what_matters() {
    let mut runs_total = 0;
    for range in 0..RANGES {
        let (runs, found) = find(range, 1);
        runs_total += runs;
        let run = &found.run;
        let incrementers: Vec<_> = run
            .events
            .iter()
            .filter(|event| event.task.0 > 0 && event.object.is_some())
            .map(|event| event.op.name)
            .collect();
        assert_eq!(incrementers.len(), 4, "range {range}: {incrementers:?}");
        assert_eq!(incrementers.iter().filter(|name| **name == "load").count(), 2);
        let shrunk = found.shrunk.expect("it was shrunk");
        assert!(shrunk.complete && shrunk.size.preemptions <= 1, "range {range}: {shrunk:?}");
        assert!(shrunk.size.steps <= found.original.steps);
    }
    println!("{runs_total} runs for {RANGES} ranges");
    assert!(runs_total <= 10 * RANGES, "{runs_total} runs for {RANGES} ranges");
}

#[cfg_attr(feature = "sim", test)]
fn what_shrinking_leaves_does_not_depend_on_the_number_of_jobs() {
    for range in 0..20 {
        let (runs, alone) = find(range, 1);
        for jobs in [2, 4] {
            let (again, found) = find(range, jobs);
            assert_eq!(again, runs);
            assert_eq!(found.shrunk, alone.shrunk);
            assert_eq!(Fingerprint::of(&found.run), Fingerprint::of(&alone.run));
        }
    }
}
