//! Programs that share only objects of this library. A search must prove each program in a handful of runs, without a
//! separate run for each order of steps.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::program::{Program, body};
use crate::report::{Report, Searched};
use crate::run::clock_mode::ClockMode;
use crate::run::faults::{Faults, Progress};
use crate::sync::Ordering::SeqCst;
use crate::task::Builder;
use crate::time::{sleep, timeout};
use crate::{Atomic, JoinHandle, Mutex, Runner};

const SECOND: Duration = Duration::from_secs(1);

type Body = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The number of searches that must be proofs, and the number of these searches that were not.
#[derive(Default)]
struct Proofs {
    lost: Vec<String>,
}

impl Proofs {
    /// Searches a body. The search must prove it in at most `runs_max` runs, and all shared objects must belong to this
    /// library.
    fn of(
        &mut self,
        name: &str,
        runs_max: u64,
        settings: impl FnOnce(Runner) -> Runner,
        body: Body,
    ) {
        crate::engine::simulate::hook::install();
        let runner = Runner::new().hermetic().strategy("exhaustive").seeds(0..100_000);
        let report: Report = settings(runner).run(body);
        let searched: &Searched = report.searched.as_ref().expect("it was a search");
        let agrees = searched.audit.as_ref().is_some_and(|audit| audit.agrees());
        let is_proved = report.passed() && searched.complete && agrees && !searched.by_step;
        println!("{name}: {} runs", report.runs);
        if !is_proved || report.runs > runs_max {
            let screen = crate::report::text(&report, &crate::report::Style::default());
            self.lost.push(format!("{name}: {} runs\n{screen}", report.runs));
        }
    }

    fn end(self) {
        assert!(self.lost.is_empty(), "{}", self.lost.join("\n"));
    }
}

/// Searches a program as a test, and checks the search by sampled runs. If not all runs pass, the search continues
/// after failures.
pub(super) fn searched(program: &Program, passes: bool) -> Searched {
    let clock = match program.clock {
        ClockMode::Last => "last".to_owned(),
        ClockMode::Any => "any".to_owned(),
        ClockMode::Late(most) => format!("late:{most}"),
    };
    let Faults { cancel, progress, selects, spurious, weak, .. } = &program.faults;
    let chances = match (spurious, weak) {
        (true, true) => "spurious,weak",
        (true, false) => "spurious",
        (false, true) => "weak",
        (false, false) => "none",
    };
    let runner = Runner::new().hermetic().strategy("exhaustive").seeds(0..1_000_000);
    let mut runner = runner.max_steps(200).clock(&clock).chances(chances).cancel_selects(*selects);
    if let Some(pattern) = cancel {
        runner = runner.cancel(pattern);
    }
    runner = match progress {
        Progress::Any => runner,
        Progress::LockFree => runner.progress("lock-free"),
        Progress::ObstructionFree => runner.progress("obstruction-free"),
        Progress::WaitFree(steps) => runner.progress(&format!("wait-free:{steps}")),
    };
    let body = async || body(program).await;
    let report = match passes {
        true => runner.run(body),
        false => runner.each_run(body, |_| ()),
    };
    report.searched.expect("it was a search")
}

fn named(name: &str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name).spawn(task)
}

#[test]
fn a_sleeper_that_may_be_aborted_is_proved() {
    let mut proofs = Proofs::default();
    let one: Body = || {
        Box::pin(async {
            let _ = named("t1", sleep(SECOND)).await;
        })
    };
    let two: Body = || {
        Box::pin(async {
            let tasks = [named("t1", sleep(SECOND)), named("t2", sleep(SECOND))];
            for task in tasks {
                let _ = task.await;
            }
        })
    };
    let three: Body = || {
        Box::pin(async {
            let tasks =
                [named("t1", sleep(SECOND)), named("t2", sleep(2 * SECOND)), named("t3", async {})];
            for task in tasks {
                let _ = task.await;
            }
        })
    };
    for clock in ["any", "late:1"] {
        for (name, body) in [("one", one), ("two", two), ("three", three)] {
            let name = format!("{clock}, {name}");
            proofs.of(&name, 40, |runner| runner.clock(clock).cancel("t1"), body);
        }
    }
    proofs.end();
}

#[test]
fn an_abort_of_a_sleeper_is_proved() {
    let mut proofs = Proofs::default();
    let alone: Body = || {
        Box::pin(async {
            let a = crate::spawn(sleep(SECOND));
            let b = crate::spawn(async move {
                a.abort();
                sleep(SECOND).await;
            });
            let _ = b.await;
        })
    };
    let beside: Body = || {
        Box::pin(async {
            let word = Arc::new(Atomic::new(0_u32));
            let a = crate::spawn(sleep(SECOND));
            let own = word.clone();
            let b = crate::spawn(async move {
                own.fetch_add(1, SeqCst).await;
                a.abort();
                sleep(SECOND).await;
            });
            let c = crate::spawn(async move {
                word.fetch_add(1, SeqCst).await;
            });
            let _ = b.await;
            let _ = c.await;
        })
    };
    for clock in ["any", "late:1"] {
        proofs.of(clock, 40, |runner| runner.clock(clock), alone);
        proofs.of(&format!("{clock}, beside"), 200, |runner| runner.clock(clock), beside);
    }
    proofs.end();
}

#[test]
fn an_abort_of_a_task_under_a_time_out_is_proved() {
    let mut proofs = Proofs::default();
    let body: Body = || {
        Box::pin(async {
            let lock = Arc::new(Mutex::new(0));
            let held = lock.clone();
            let a = crate::spawn(async move {
                let _ = timeout(SECOND, held.lock()).await;
            });
            let guard = lock.lock().await;
            crate::spawn(async move { a.abort() }).await.unwrap();
            drop(guard);
            sleep(SECOND).await;
        })
    };
    for clock in ["last", "late:1", "any"] {
        proofs.of(clock, 100, |runner| runner.clock(clock), body);
    }
    proofs.end();
}

#[test]
fn a_kill_beside_an_abort_is_proved() {
    let mut proofs = Proofs::default();
    let alone: Body = || {
        Box::pin(async {
            let node = crate::node("n");
            let task = node.spawn(async { crate::task::yield_now().await });
            let killer = crate::spawn(async move { node.kill() });
            let aborter = crate::spawn(async move { task.abort() });
            killer.await.unwrap();
            aborter.await.unwrap();
        })
    };
    let locked: Body = || {
        Box::pin(async {
            let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
            let node = crate::node("n");
            let task = node.spawn(async { crate::task::yield_now().await });
            let own = locks.clone();
            let killer = crate::spawn(async move {
                let _one = own[0].lock().await;
                let _two = own[1].lock().await;
                node.kill();
            });
            let aborter = crate::spawn(async move {
                let _one = locks[0].lock().await;
                task.abort();
            });
            killer.await.unwrap();
            aborter.await.unwrap();
        })
    };
    for clock in ["last", "late:1", "any"] {
        proofs.of(clock, 30, |runner| runner.clock(clock), alone);
        proofs.of(&format!("{clock}, locks"), 40, |runner| runner.clock(clock), locked);
    }
    proofs.end();
}

/// Returns a body that calls files of the first node, from one task or from several tasks. With `both`, it also calls
/// files of the second node.
fn deaths_beside_calls(tasks: usize, both: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let nodes = [crate::node("a"), crate::node("b")];
        let working = if both { &nodes[..] } else { &nodes[..1] };
        for node in working {
            for task in 0..tasks {
                let calls = node.spawn(async move {
                    for call in 0..2 / tasks {
                        let _ = crate::fs::write(format!("/f{task}"), [call as u8]).await;
                    }
                });
                calls.detach();
            }
        }
        crate::task::yield_now().await;
        let [a, b] = nodes;
        a.kill();
        b.kill();
    })
}

#[test]
fn the_deaths_of_two_nodes_in_one_step_are_proved() {
    let mut proofs = Proofs::default();
    let awaited: Body = || {
        Box::pin(async {
            let (a, b) = (crate::node("a"), crate::node("b"));
            a.spawn(async { crate::fs::write("/f", b"1").await.unwrap() }).await.unwrap();
            a.spawn(async { crate::fs::write("/f", b"2").await.unwrap() }).await.unwrap();
            a.kill();
            b.kill();
        })
    };
    let opened: Body = || {
        Box::pin(async {
            let (a, b) = (crate::node("a"), crate::node("b"));
            let calls = a.spawn(async {
                let file = crate::fs::File::create("/f").await.unwrap();
                file.write_at(b"1", 0).await.unwrap();
            });
            calls.detach();
            crate::spawn(async move {
                a.kill();
                b.kill();
            })
            .await
            .unwrap();
        })
    };
    let bodies: [(&str, Body); 5] = [
        ("awaited", awaited),
        ("opened", opened),
        ("one task", || deaths_beside_calls(1, false)),
        ("two tasks", || deaths_beside_calls(2, false)),
        ("one task each", || deaths_beside_calls(1, true)),
    ];
    for (name, body) in bodies {
        for clock in ["last", "late:1", "any"] {
            proofs.of(&format!("{name}, {clock}"), 2_000, |runner| runner.clock(clock), body);
        }
    }
    proofs.end();
}

#[cfg(feature = "tokio")]
#[test]
fn a_cut_beside_a_connection_under_a_time_out_is_proved() {
    let mut proofs = Proofs::default();
    use crate::net::{self, TcpListener, TcpStream};
    let body: Body = || {
        Box::pin(async {
            let (a, b) = (crate::node("a"), crate::node("b"));
            let server = b.spawn(async {
                let listener = TcpListener::bind("0.0.0.0:1").await.unwrap();
                let _ = listener.accept().await;
            });
            server.detach();
            let client = a.spawn(async {
                let _ = timeout(3 * SECOND, TcpStream::connect("b:1")).await;
            });
            let cutter = crate::spawn(async move { net::cut(&a, &b) });
            let _ = client.await;
            cutter.await.unwrap();
        })
    };
    proofs.of("last", 100, |runner| runner, body);
    proofs.end();
}
