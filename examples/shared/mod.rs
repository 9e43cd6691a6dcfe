//! Code shared by the examples: find the bug, replay its trace, and show that the fix passes.
//!
//! An example is a program in two [`Version`]s. In a test of your own `#[sim::test]` does all this;
//! here it is spelled out with [`sim::Runner`], and an unexpected result makes the process
//! fail.

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sim::Runner;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome, Signature};

use self::Version::{Buggy, Fixed};

/// The two versions of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// The version with the bug.
    Buggy,
    /// The one without.
    Fixed,
}

/// An example that is being shown.
pub(crate) struct Example {
    ok: bool,
    /// True if the environment requests one run, as the command at the end of a screen does.
    one_run: bool,
}

impl Example {
    /// Begins an example: prints its summary.
    pub(crate) fn new(about: &str) -> Example {
        let asked = |name| std::env::var_os(name).is_some();
        let one_run = asked("SIM_REPLAY") || asked("SIM_SEED");
        if !one_run {
            println!("{about}\n");
        }
        Example { ok: true, one_run }
    }

    /// The program must fail when it is buggy, and pass when it is fixed.
    #[track_caller]
    pub(crate) fn check<B: AsyncFn(Version) + Sync>(&mut self, name: &str, program: B) {
        if self.one_run {
            self.show(&Runner::new().name(name).run(async || program(Buggy).await));
        } else if sim::SIMULATED {
            let seeds = Runner::new().name(name);
            self.find_and_replay(&seeds, name, async || program(Buggy).await);
            self.pass(&seeds.name(format!("{name}_fixed")), async || program(Fixed).await);
        } else {
            println!("real threads may or may not show the bug of {name}; 20 seeds:");
            let seeds = Runner::new().name(name).seeds(0..20);
            // The message of a panic is on the screen; the hook would print it again.
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            let report = seeds.run(async || program(Buggy).await);
            std::panic::set_hook(hook);
            println!("{}", screen(&report));
            self.pass(&seeds.name(format!("{name}_fixed")), async || program(Fixed).await);
        }
    }

    /// Like [`check`](Self::check), for a bug that on real threads might hang for ever.
    #[track_caller]
    #[allow(dead_code, reason = "not every example has a bug that hangs")]
    pub(crate) fn check_what_may_hang<B: AsyncFn(Version) + Sync>(
        &mut self,
        name: &str,
        program: B,
    ) {
        if sim::SIMULATED {
            return self.check(name, program);
        }
        println!("real threads might hang for ever in {name}: only the fixed version is run");
        let seeds = Runner::new().name(format!("{name}_fixed")).seeds(0..20);
        self.pass(&seeds, async || program(Fixed).await);
    }

    /// Finds another bug, and prints only the head of its screen. Does nothing on real threads, which might hang.
    #[allow(dead_code, reason = "not every example has several bugs")]
    pub(crate) fn find<B: AsyncFn() + Sync>(&mut self, name: &str, program: B) {
        if self.one_run || !sim::SIMULATED {
            return;
        }
        let found = Runner::new().name(name).shrink(false).run(&program);
        let screen = screen(&found);
        let is_head = |line: &&str| !["  at ", "  tested "].iter().any(|end| line.starts_with(end));
        let head: Vec<&str> = screen.lines().take_while(is_head).collect();
        println!("{}\n", head.join("\n").trim_end());
        if found.passed() {
            self.unexpected("no failure was found");
        }
    }

    /// Another program without a bug.
    #[allow(dead_code, reason = "not every example has one")]
    pub(crate) fn pass_too<B: AsyncFn() + Sync>(&mut self, name: &str, program: B) {
        if !self.one_run && sim::SIMULATED {
            self.pass(&Runner::new().name(name), program);
        }
    }

    /// More seeds, none of which must fail, with `UNPAUSE_LONG` only. Prints nothing, so the output is the same without it.
    #[allow(dead_code, reason = "not every example has long runs")]
    pub(crate) fn pass_long<B: AsyncFn() + Sync>(&mut self, name: &str, seeds: u64, program: B) {
        if self.one_run || !sim::SIMULATED || std::env::var_os("UNPAUSE_LONG").is_none() {
            return;
        }
        let report = Runner::new().name(name).seeds(0..seeds).run(&program);
        if !report.passed() {
            println!("{}", screen(&report));
            self.unexpected("the fixed version failed");
        }
    }

    /// Returns the number of failing seeds among this number of seeds. One of them must. None are run on real threads.
    #[allow(dead_code, reason = "not every example compares ways to find a bug")]
    pub(crate) fn count<B: AsyncFn() + Sync>(
        &mut self,
        name: &str,
        seeds: u64,
        program: B,
    ) -> Option<usize> {
        if self.one_run || !sim::SIMULATED {
            return None;
        }
        let runner = Runner::new().name(name);
        let fails = |seed: &u64| runner.run_seed(*seed, &program).outcome != Outcome::Passed;
        let failed = (0..seeds).filter(fails).count();
        if failed == 0 {
            self.unexpected(&format!("{name}: none of {seeds} seeds fails"));
        }
        Some(failed)
    }

    /// Explores all interleavings of a small program, none of which may fail.
    #[allow(dead_code, reason = "not every example is small enough")]
    pub(crate) fn prove<B: AsyncFn() + Sync>(&mut self, name: &str, program: B) {
        if self.one_run || !sim::SIMULATED {
            return;
        }
        let report = Runner::new().name(name).strategy("exhaustive").run(&program);
        println!("{}", screen(&report));
        if !report.searched.as_ref().is_some_and(|searched| searched.is_proof()) {
            self.unexpected("not every interleaving was explored, or one failed");
        }
    }

    /// Returns the exit code of the process.
    pub(crate) fn end(self) -> ExitCode {
        if self.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Prints the screen of the one requested run.
    fn show(&mut self, report: &Report) {
        println!("{}", screen(report));
        // The run is meant to fail, but it must be the requested run.
        let failure = failure(report);
        self.ok &= !matches!(failure, Some(Failure::Diverged { .. } | Failure::Misuse { .. }));
    }

    /// Runs seeds until one fails, and then replays its trace.
    fn find_and_replay<B: AsyncFn() + Sync>(&mut self, seeds: &Runner, name: &str, program: B) {
        let found = seeds.run(&program);
        println!("{}", screen(&found));
        let Some(file) = found.finding.as_ref().and_then(|finding| finding.trace_file.as_ref())
        else {
            return self.unexpected("no failure was found, or its trace could not be written");
        };
        // The runner is hermetic, so that no variable with seeds can replace this trace.
        let again = Runner::new().name(name).hermetic().replay(file).run(&program);
        if signature(&again) == signature(&found) {
            println!("the trace file, replayed, ends with the same failure\n");
        } else {
            println!("{}", screen(&again));
            self.unexpected("the trace file, replayed, does not end with the same failure");
        }
    }

    /// Runs seeds, none of which may fail.
    fn pass<B: AsyncFn() + Sync>(&mut self, seeds: &Runner, program: B) {
        let report = seeds.run(&program);
        println!("{}", screen(&report));
        if !report.passed() {
            self.unexpected("the fixed version failed");
        }
    }

    fn unexpected(&mut self, what: &str) {
        println!("UNEXPECTED: {what}\n");
        self.ok = false;
    }
}

/// The state of one node, or of the test, that several of its tasks use. There is no await while it is held.
#[allow(dead_code, reason = "not every example has nodes")]
pub(crate) fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    // Poisoned by the panic that ends the run.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From this number of steps on, the screen of an example has no room for the explanation.
const LONG: usize = 50;

fn screen(report: &Report) -> String {
    let mut report = report.clone();
    if let Some(finding) = report.finding.as_mut().filter(|it| it.run.steps.len() > LONG) {
        finding.why = None;
    }
    text(&report, &Style::default())
}

fn failure(report: &Report) -> Option<&Failure> {
    match &report.finding.as_ref()?.run.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Passed => None,
    }
}

fn signature(report: &Report) -> Option<Signature> {
    failure(report).map(Failure::signature)
}
