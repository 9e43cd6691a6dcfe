//! The moments of faults: for many seeds, the step of the victim before which its fault occurs.
//!
//! A victim takes some steps, and one fault ends or disturbs it. Each row of [`FAULTS`] is a program with one kind of
//! fault. The gap of a fault is the number of steps that the victim had taken when the fault occurred. The number of
//! gaps is the number of steps plus one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sim::time::{Duration, sleep, timeout};
use sim::{Atomic, Ordering::SeqCst, Runner};

/// A kind of fault, with a program in which one such fault occurs.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The name of the fault.
    pub name: &'static str,
    /// True if a value drawn from the seed decides whether the fault occurs. Runs without the fault then count for the
    /// last gap, because the victim takes all its steps in that case, too.
    pub is_drawn: bool,
    settings: fn(Runner) -> Runner,
    kind: Kind,
    /// The first possible gap. The future under a timeout is polled before its deadline is checked.
    first: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Kill,
    KillOfSeveral,
    KillLate,
    PowerOff,
    Pause,
    Abort,
    Cut,
    Spawned,
    Cancellable,
    TimeOut,
}

/// All kinds of faults that take one step.
pub const FAULTS: &[Fault] = &[
    Fault::of("kill", Kind::Kill),
    Fault::of("kill of several tasks", Kind::KillOfSeveral),
    Fault::of("kill after three steps", Kind::KillLate),
    Fault::of("power_off", Kind::PowerOff),
    Fault::of("pause", Kind::Pause),
    Fault::of("abort", Kind::Abort),
    Fault::of("cut", Kind::Cut),
    Fault::drawn("cancel", Kind::Spawned, |runner| runner.cancel("victim")),
    Fault::drawn("cancellable", Kind::Cancellable, |runner| runner),
    Fault::drawn("stall", Kind::Spawned, |runner| runner.progress("lock-free")),
    Fault::drawn("cancel_selects", Kind::TimeOut, |runner| runner.cancel_selects(true)),
];

impl Fault {
    const fn of(name: &'static str, kind: Kind) -> Fault {
        Fault { name, is_drawn: false, settings: |runner| runner, kind, first: 0 }
    }

    const fn drawn(name: &'static str, kind: Kind, settings: fn(Runner) -> Runner) -> Fault {
        let first = if matches!(kind, Kind::TimeOut) { 1 } else { 0 };
        Fault { name, is_drawn: true, settings, kind, first }
    }

    /// Returns the number of runs for each gap, for a victim of `steps` steps, under a strategy.
    pub fn gaps(&self, strategy: &str, steps: u64, seeds: std::ops::Range<u64>) -> Vec<u64> {
        let gaps: Arc<[AtomicU64]> = (0..=steps).map(|_| AtomicU64::new(0)).collect();
        let counted = gaps.clone();
        let runner = Runner::new().hermetic().strategy(strategy).seeds(seeds).jobs(1);
        let kind = self.kind;
        let report = (self.settings)(runner).run(async move || {
            let victim = Victim::new(steps, counted.clone());
            kind.run(&victim).await;
        });
        assert!(report.passed(), "{}: {:?}", self.name, report.finding);
        gaps.iter().map(|gap| gap.load(Relaxed)).collect()
    }

    /// Returns the runs that the least likely gap needs, as a multiple of the runs under a uniform draw.
    pub fn worst(&self, strategy: &str, steps: u64, seeds: std::ops::Range<u64>) -> f64 {
        let gaps = self.gaps(strategy, steps, seeds);
        let mut runs: u64 = gaps.iter().sum();
        let mut those = &gaps[self.first as usize..];
        if self.is_drawn {
            // In half of the runs no fault occurs, so their victims take all steps.
            runs /= 2;
            those = &gaps[self.first as usize..steps as usize];
        }
        let uniform = runs as f64 / (steps + 1 - self.first) as f64;
        those.iter().min().map_or(0.0, |least| uniform / *least as f64)
    }
}

/// The number of steps that a victim has taken. The gap is counted when the run drops the victim.
struct Victim {
    steps: u64,
    done: Arc<AtomicU64>,
    gaps: Arc<[AtomicU64]>,
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.gaps[self.done.load(Relaxed) as usize].fetch_add(1, Relaxed);
    }
}

impl Victim {
    fn new(steps: u64, gaps: Arc<[AtomicU64]>) -> Victim {
        Victim { steps, done: Arc::default(), gaps }
    }

    /// Takes this many steps: all steps of the victim, or a part.
    fn act(&self, steps: u64) -> impl Future<Output = ()> + Send + 'static {
        let (done, word) = (self.done.clone(), Atomic::new(0));
        async move {
            for _ in 0..steps {
                word.fetch_add(1, SeqCst).await;
                done.fetch_add(1, Relaxed);
            }
        }
    }
}

impl Kind {
    async fn run(self, victim: &Victim) {
        match self {
            Kind::Kill | Kind::KillLate | Kind::PowerOff | Kind::Pause => {
                let node = sim::node("victim");
                node.spawn(victim.act(victim.steps)).detach();
                let word = Atomic::new(0);
                sim::spawn(async move {
                    for _ in 0..if matches!(self, Kind::KillLate) { 3 } else { 0 } {
                        word.fetch_add(1, SeqCst).await;
                    }
                    match self {
                        Kind::PowerOff => node.power_off(),
                        Kind::Pause => node.pause(),
                        _ => node.kill(),
                    }
                })
                .detach();
            }
            Kind::KillOfSeveral => {
                let node = sim::node("victim");
                let half = victim.steps / 2;
                node.spawn(victim.act(half)).detach();
                node.spawn(victim.act(victim.steps - half)).detach();
                sim::spawn(async move { node.kill() }).detach();
            }
            Kind::Abort => {
                let task = sim::spawn(victim.act(victim.steps));
                sim::spawn(async move { task.abort() }).detach();
            }
            Kind::Cut => {
                let [from, to] = ["from", "to"].map(sim::node);
                let (sender, mut receiver) = sim::net::link(&from, &to);
                let (steps, done) = (victim.steps, victim.done.clone());
                from.spawn(async move {
                    for n in 0..steps {
                        let _ = sender.send(n).await;
                    }
                    // The sender stays alive, because its end would also be a message.
                    sleep(Duration::from_secs(9)).await;
                })
                .detach();
                to.spawn(async move {
                    while receiver.recv().await.is_some() {
                        done.fetch_add(1, Relaxed);
                    }
                })
                .detach();
                sim::spawn(async move { sim::net::cut(&from, &to) }).detach();
            }
            Kind::Spawned => {
                let task = sim::task::Builder::new().name("victim").spawn(victim.act(victim.steps));
                let _ = task.await;
                return;
            }
            Kind::Cancellable => {
                let acts = victim.act(victim.steps);
                let _ = sim::spawn(sim::cancellable(acts)).await;
                return;
            }
            Kind::TimeOut => {
                let acts = victim.act(victim.steps);
                let _ = sim::spawn(timeout(Duration::from_secs(99), acts)).await;
                return;
            }
        }
        // The time advances when no other task can step.
        sleep(Duration::from_secs(1)).await;
    }
}
