//! Correct objects. The histories of correct objects must raise no alarm, even if calls have returned, were aborted,
//! panicked, or are still open when the history is checked.
//!
//! A few hundred runs each; with `UNPAUSE_LONG=1` a million in total, or the number in `UNPAUSE_RUNS`.

use super::*;

/// The number of runs of each body.
fn runs(ordinary: u64) -> u64 {
    let bodies = 8;
    if std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1") {
        let all = std::env::var("UNPAUSE_RUNS").ok().and_then(|runs| runs.parse().ok());
        return all.unwrap_or(1_000_000) / bodies;
    }
    ordinary
}

fn raises_no_alarm(body: impl AsyncFn() + Sync) {
    let report = runner(runs(150)).run(body);
    passes(&report);
    println!("{} runs", report.runs);
}

type Word = Arc<Atomic<u64>>;

fn register() -> (Word, Word, History<Register<u64>>) {
    (Arc::new(Atomic::new(0)), Arc::new(Atomic::new(0)), History::new(Register::default()))
}

async fn read(word: &Word) -> RegisterRet<u64> {
    RegisterRet::Value(word.load(SeqCst).await)
}

#[test]
fn a_check_while_a_write_is_under_way() {
    raises_no_alarm(async || {
        let (word, noise, history) = register();
        let (w, n, h) = (word.clone(), noise.clone(), history.clone());
        let writer = sim::spawn(async move {
            let write = async {
                w.store(1, SeqCst).await;
                for _ in 0..3 {
                    n.fetch_add(1, SeqCst).await;
                }
                RegisterRet::Done
            };
            h.call(RegisterOp::Write(1), write).await;
        });
        let (w, h) = (word, history.clone());
        let reader = sim::spawn(async move {
            for _ in 0..5 {
                h.call(RegisterOp::Read, read(&w)).await;
                h.assert_linearizable();
            }
        });
        writer.await.unwrap();
        reader.await.unwrap();
        history.assert_linearizable();
    });
}

#[test]
fn a_check_at_the_end_with_a_task_left() {
    raises_no_alarm(async || {
        let (word, noise, history) = register();
        let (w, h) = (word.clone(), history.clone());
        let writer = sim::spawn(async move {
            let write = async {
                w.store(1, SeqCst).await;
                for _ in 0..50 {
                    noise.fetch_add(1, SeqCst).await;
                }
                RegisterRet::Done
            };
            h.call(RegisterOp::Write(1), write).await;
        });
        writer.detach();
        sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
        history.call(RegisterOp::Read, read(&word)).await;
        history.assert_linearizable();
    });
}

#[test]
fn a_call_that_panics_and_is_caught() {
    raises_no_alarm(async || {
        let (word, go, history) = register();
        let (w, g, h) = (word.clone(), go.clone(), history.clone());
        let writer = sim::spawn(async move {
            let call = h.call(RegisterOp::Write(1), async {
                w.store(1, SeqCst).await;
                for _ in 0..200 {
                    if g.load(SeqCst).await == 1 {
                        break;
                    }
                }
                std::panic::resume_unwind(Box::new("connection lost"));
            });
            let _ = std::panic::AssertUnwindSafe(call).catch_unwind().await;
        });
        let h = history.clone();
        let reader = sim::spawn(async move {
            sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
            h.call(RegisterOp::Read, read(&word)).await;
            go.store(1, SeqCst).await;
        });
        writer.await.unwrap();
        reader.await.unwrap();
        history.assert_linearizable();
    });
}

#[test]
fn a_cancelled_call_began_when_it_began() {
    raises_no_alarm(async || {
        let (word, _, history) = register();
        let (w, h) = (word.clone(), history.clone());
        let writer = sim::spawn(async move {
            let write = async {
                w.store(1, SeqCst).await;
                std::future::pending::<()>().await;
                RegisterRet::Done
            };
            h.call(RegisterOp::Write(1), write).await;
        });
        sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
        history.call(RegisterOp::Read, read(&word)).await;
        writer.abort();
        let _ = writer.await;
        history.assert_linearizable();
    });
}

/// Increments under a lock by five tasks, which the body aborts.
async fn aborted(joined: bool) {
    let number = Arc::new(Mutex::new(0i64));
    let history = History::new(Counter::default());
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let (number, history) = (number.clone(), history.clone());
            sim::spawn(async move {
                for _ in 0..5 {
                    let work = async {
                        let mut number = number.lock().await;
                        let old = *number;
                        *number += 1;
                        if joined {
                            sim::task::yield_now().await;
                        }
                        CounterRet::Value(old)
                    };
                    history.call(CounterOp::FetchAdd(1), work).await;
                }
            })
        })
        .collect();
    for _ in 0..3 {
        sim::task::yield_now().await;
    }
    for (n, task) in tasks.into_iter().enumerate() {
        if n % 2 == 0 || !joined {
            task.abort();
        }
        if joined {
            let _ = task.await;
        }
    }
    history.assert_linearizable();
}

#[test]
fn aborted_tasks_that_are_not_joined() {
    raises_no_alarm(async || aborted(false).await);
}

#[test]
fn aborted_tasks_that_are_joined() {
    raises_no_alarm(async || aborted(true).await);
}

#[test]
fn reads_and_writes_of_tasks_and_the_body() {
    raises_no_alarm(async || {
        let (word, _, history) = register();
        let client = |n: u64| {
            let (word, history) = (word.clone(), history.clone());
            async move {
                for i in 0..6 {
                    if (n + i) % 2 == 0 {
                        let value = 1 + n * 100 + i;
                        let write = async {
                            word.store(value, SeqCst).await;
                            RegisterRet::Done
                        };
                        history.call(RegisterOp::Write(value), write).await;
                    } else {
                        history.call(RegisterOp::Read, read(&word)).await;
                    }
                }
                history.assert_linearizable();
            }
        };
        let tasks: Vec<_> = (1..4).map(|n| sim::spawn(client(n))).collect();
        client(0).await;
        for task in tasks {
            task.await.unwrap();
        }
        history.assert_linearizable();
    });
}

#[test]
fn calls_that_are_spelled_out() {
    raises_no_alarm(async || {
        let (word, _, history) = register();
        let client = |n: u64| {
            let (word, history) = (word.clone(), history.clone());
            async move {
                for i in 0..4 {
                    let value = 1 + n * 100 + i;
                    let call = history.invoke(RegisterOp::Write(value));
                    word.store(value, SeqCst).await;
                    if i == 2 {
                        call.info();
                    } else {
                        call.ok(RegisterRet::Done);
                    }
                    let call = history.invoke(RegisterOp::Read);
                    call.ok(read(&word).await);
                    history.assert_linearizable();
                }
            }
        };
        sim::map_concurrently(0..3, client).await;
        history.assert_linearizable();
    });
}
