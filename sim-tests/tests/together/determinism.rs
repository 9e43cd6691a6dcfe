//! A seed determines one interleaving: in this process and in another, on any number of threads, in debug and in
//! release.

use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use sim::run::Outcome;
use sim::{Runner, SIMULATED};
use sim_tests::fingerprint::Fingerprint;
use sim_tests::histories::long;
use sim_tests::programs::{PROGRAMS, Program, program};

const SEEDS: u64 = 1000;

/// A program, and the fingerprints of its first [`FEW`] and of its first [`SEEDS`] seeds.
type Golden = (&'static str, u64, u64);

/// The number of seeds that are compared unless `UNPAUSE_LONG` is set.
const FEW: u64 = 150;

/// Fingerprints under the random walk. If these change, all seeds have other runs, and the changelog must say so.
const GOLDEN: &[Golden] = &[
    ("lost_update", 0xde70_a9c5_3fdf_7f97, 0xd44e_fffd_4fa8_bd75),
    ("deadlock", 0x6f1e_8461_d2a8_2ddf, 0xcb4e_9601_9218_765d),
    ("queue", 0x40bb_2024_e5b8_098b, 0x4d4b_9dc2_2f21_d516),
    ("store", 0xf1a0_c179_1ac9_5771, 0x79fc_84e8_8abf_5dde),
    ("mix", 0xb35d_b317_8521_6923, 0xb8ad_f679_bf03_4b9e),
];

/// Fingerprints under the default strategy.
const GOLDEN_DEFAULT: &[Golden] = &[
    ("lost_update", 0x11ba_b8a3_9a4a_88e6, 0x3e40_8dfd_cf59_c8ef),
    ("deadlock", 0xe6d3_267f_0b2b_061c, 0xf994_1398_68aa_bd60),
    ("queue", 0x083c_d1e6_6c03_ba49, 0xef16_e924_d22d_3b13),
    ("store", 0xca08_50e0_ce67_21a4, 0x7b9c_c8d8_912e_3415),
    ("mix", 0x0b5f_b642_09a8_8802, 0xeedc_e8bf_6f21_57a9),
];

/// The fingerprint of some seeds: few, because [`a_seed_means_what_it_always_meant`] compares many.
fn fingerprint(program: Program) -> u64 {
    fingerprint_of(program, &random(), 100)
}

fn random() -> Runner {
    Runner::new().hermetic().strategy("random")
}

fn fingerprint_of(program: Program, runner: &Runner, seeds: u64) -> u64 {
    let mut print = Fingerprint::default();
    for seed in 0..seeds {
        print.add(&runner.run_seed(seed, program.body));
    }
    print.0
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_means_what_it_always_meant() {
    for (runner, golden) in [(random(), GOLDEN), (Runner::new().hermetic(), GOLDEN_DEFAULT)] {
        let seeds = if long() { SEEDS } else { FEW };
        let print = |p: &Program| (p.name, fingerprint_of(*p, &runner, seeds));
        let golden =
            golden.iter().map(|(name, few, all)| (*name, if long() { *all } else { *few }));
        assert_eq!(PROGRAMS.iter().map(print).collect::<Vec<_>>(), golden.collect::<Vec<_>>());
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_means_the_same_on_other_threads() {
    let threads: Vec<_> = PROGRAMS.iter().map(|p| std::thread::spawn(|| fingerprint(*p))).collect();
    let found: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(found, PROGRAMS.iter().map(|p| fingerprint(*p)).collect::<Vec<_>>());
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_means_the_same_in_another_process() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "determinism::child_prints_fingerprints", "--nocapture"])
        .env("UNPAUSE_CHILD", "1")
        // Settings that a user has for one test must not affect a hermetic test.
        .env("SIM_SEED", "3")
        .env("SIM_STRATEGY", "no such strategy")
        .output()
        .unwrap();
    assert!(child.status.success());
    let text = String::from_utf8(child.stdout).unwrap();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.split_once(&format!("print of {name} is ")));
        line.map(|(_, print)| print.parse().unwrap())
    };
    for program in PROGRAMS {
        assert_eq!(of(program.name), Some(fingerprint(*program)), "{}", program.name);
    }
}

#[test]
fn child_prints_fingerprints() {
    if std::env::var_os("UNPAUSE_CHILD").is_some() {
        for program in PROGRAMS {
            println!("\nprint of {} is {}", program.name, fingerprint(*program));
        }
    }
}

/// Returns the part of a report that must not depend on the number of threads.
fn gist(program: Program, jobs: usize) -> (u64, Option<u64>, Option<String>) {
    let out = format!("{}/jobs_{jobs}", env!("CARGO_TARGET_TMPDIR"));
    let runner = Runner::new().hermetic().name(program.name).out(out).seeds(0..SEEDS).jobs(jobs);
    let report = runner.run(program.body);
    assert_eq!(report.finding.is_some(), program.fails);
    let shrunk = report
        .finding
        .as_ref()
        .map(|finding| format!("{:?} {:?} {:?}", finding.from, finding.original, finding.shrunk));
    let print = report.finding.as_ref().map(|finding| Fingerprint::of(&finding.run).0);
    (report.runs, print, shrunk)
}

#[cfg_attr(feature = "sim", test)]
fn a_report_is_the_same_with_one_two_and_four_jobs() {
    for program in PROGRAMS {
        let alone = gist(*program, 1);
        for jobs in [2, 4] {
            assert_eq!(gist(*program, jobs), alone, "{} with {jobs} jobs", program.name);
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_failing_seed_that_is_reported_is_the_lowest() {
    for program in PROGRAMS.iter().filter(|program| program.fails) {
        let fails = |seed: &u64| {
            let run = Runner::new().hermetic().run_seed(*seed, program.body);
            run.outcome != Outcome::Passed
        };
        let lowest = (0..SEEDS).find(fails).expect("some seed fails");
        assert_eq!(gist(*program, 4).0, lowest + 1, "{}", program.name);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_worker_that_was_used_before_does_the_same_steps() {
    for name in ["store", "mix"] {
        let body = program(name).body;
        let run = |seed| Runner::new().hermetic().run_seed(seed, body).steps.len() as u64;
        let seeds = if long() { SEEDS } else { 100 };
        let steps: u64 = (0..seeds).map(run).sum();
        for jobs in [1, 2, 4] {
            let report = Runner::new().hermetic().seeds(0..seeds).jobs(jobs).run(body);
            assert_eq!((report.runs, report.steps), (seeds, steps), "{name} with {jobs} jobs");
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_worker_that_begins_later_does_the_same_steps() {
    // Learned counts depend on the seed, but not on the first seed of a worker.
    for name in ["store", "mix"] {
        let body = program(name).body;
        let steps = |seeds| Runner::new().hermetic().seeds(seeds).jobs(1).run(body).steps;
        let parts = [0..10, 10..33, 33..500, 500..501, 501..SEEDS];
        assert_eq!(parts.map(steps).iter().sum::<u64>(), steps(0..SEEDS), "{name}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn rehearsals_are_few_beside_the_runs() {
    for (seeds, more_max) in [(100, 20), (1000, 40), (20_000, 80)] {
        let executions = AtomicU64::new(0);
        let report = Runner::new().hermetic().seeds(0..seeds).jobs(1).run(async || {
            executions.fetch_add(1, Relaxed);
        });
        assert_eq!((report.passed(), report.runs), (true, seeds));
        let more = executions.load(Relaxed) - seeds;
        assert!(more <= more_max, "{more} more than {seeds} runs");
    }
}

#[test]
fn a_run_on_real_threads_has_an_outcome_and_no_steps() {
    let run = Runner::new().hermetic().run_seed(0, program("store").body);
    assert_eq!(run.outcome, Outcome::Passed);
    assert_eq!(run.steps.is_empty(), !SIMULATED);
}
