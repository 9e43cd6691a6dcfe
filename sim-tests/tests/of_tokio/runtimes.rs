//! A run is not a runtime of tokio: the advice names the called function. The table of the library is walked, and each
//! of its rows is triggered.

use sim::__private::RUNTIME_PARTS;
use sim::run::Failure;

use crate::fails;

/// Asserts that the body panics without a runtime, and that the screen shows only the advice for this part of tokio.
fn advises(path: &str, body: impl AsyncFn() + Sync) {
    let part = RUNTIME_PARTS.iter().find(|part| part.path == path);
    let part = part.unwrap_or_else(|| panic!("the table has no {path}"));
    let Some((failure, screen)) = fails(body) else { return };
    assert!(matches!(failure, Failure::Panic { .. }), "{screen}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&screen);
    assert!(shown.contains(&words(part.instead)), "{path}:\n{screen}");
    let name = path.trim_end_matches("::");
    assert!(shown.contains(&format!("`{name}::")), "{path}:\n{screen}");
    for other in RUNTIME_PARTS.iter().filter(|other| other.path != path) {
        assert!(!shown.contains(&words(other.instead)), "{path}:\n{screen}");
    }
}

#[test]
fn each_part_of_tokio_has_its_own_advice() {
    // Each arm tests one row of the table, so a new row needs a new arm.
    for part in RUNTIME_PARTS {
        let path = part.path;
        match path {
            "tokio::task::spawn::" => advises(path, async || drop(tokio::spawn(async {}))),
            "tokio::task::blocking::" => {
                advises(path, async || drop(tokio::task::spawn_blocking(|| ())));
            }
            "tokio::task::local::" => {
                advises(path, async || drop(tokio::task::spawn_local(async {})));
            }
            "tokio::task::join_set::" => {
                advises(path, async || drop(tokio::task::JoinSet::new().spawn(async {})));
            }
            "tokio::time::" => {
                let second = std::time::Duration::from_secs(1);
                advises(path, async || tokio::time::sleep(second).await);
                advises(path, async || drop(tokio::time::timeout(second, async {}).await));
                advises(path, async || drop(tokio::time::interval(second)));
            }
            "tokio::net::" => {
                advises(path, async || drop(tokio::net::TcpListener::bind("127.0.0.1:0").await));
                advises(path, async || drop(tokio::net::TcpStream::connect("127.0.0.1:1").await));
                advises(path, async || drop(tokio::net::UdpSocket::bind("127.0.0.1:0").await));
                advises(path, async || drop(tokio::net::lookup_host("localhost:1").await));
            }
            "tokio::fs::" => advises(path, async || drop(tokio::fs::read("/nowhere").await)),
            #[cfg(unix)]
            "tokio::io::" => {
                #[allow(
                    deprecated,
                    reason = "the newer constructor is not in all versions of tokio"
                )]
                advises(path, async || _ = tokio::io::unix::AsyncFd::new(std::io::stdin()));
            }
            "tokio::runtime::" => advises(path, async || drop(tokio::runtime::Handle::current())),
            other => panic!("the row {other} is triggered by nothing"),
        }
    }
}

/// A task of tokio has a budget of 128 operations per poll, and the call of a runner is a part of one poll.
#[test]
fn runs_in_a_task_of_tokio_do_not_spend_its_budget() {
    let receives = async || {
        let (sender, mut receiver) = sim::tokio::sync::mpsc::unbounded_channel();
        for number in 0..200 {
            sender.send(number).unwrap();
            assert_eq!(receiver.recv().await, Some(number));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(async {
        let report = sim::Runner::new().hermetic().seeds(0..3).jobs(1).shrink(false).run(receives);
        assert!(tokio::task::coop::has_budget_remaining());
        report
    });
    assert!(report.passed(), "{}", sim::report::text(&report, &Default::default()));
}

/// smol has a runtime in every program, on its own threads, so their actions come from outside of the run.
#[test]
fn tasks_and_timers_of_smol_are_told_as_coming_from_outside() {
    let says = |body: &(dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = ()>>> + Sync)| {
        let Some((failure, screen)) = fails(async || body().await) else { return };
        assert!(matches!(failure, Failure::Deadlock { .. } | Failure::Misuse { .. }), "{screen}");
        assert!(screen.contains("sim::spawn"), "{screen}");
    };
    // These actions come after the end of the run.
    let late = std::time::Duration::from_secs(1);
    let timer = move || async move { _ = smol::Timer::after(late).await };
    says(&|| Box::pin(timer()));
    says(&|| Box::pin(async move { smol::spawn(timer()).await }));
    says(&|| Box::pin(async move { smol::unblock(move || std::thread::sleep(late)).await }));
}
