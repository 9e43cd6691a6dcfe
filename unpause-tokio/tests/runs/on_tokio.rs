//! Tests that the environment has run on tokio: this program starts itself with the variable.

use std::process::Command;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Duration, Instant, sleep};

/// The lines of the runs of a test of this program, with this value of the variable.
fn lines(test: &str, real: &str) -> Vec<String> {
    let mut program = Command::new(std::env::current_exe().unwrap());
    for name in std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("SIM_")) {
        program.env_remove(name);
    }
    let output =
        program.args(["--exact", test, "--nocapture"]).env("UNPAUSE_TOKIO_REAL", real).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once("ran in a ").map(|it| it.1.trim()));
    lines.map(str::to_owned).collect()
}

fn say_where() {
    let handle = Handle::current();
    println!("ran in a {}", if format!("{handle:?}") == "Handle(run)" { "run" } else { "runtime" });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn flavored() {
    say_where();
    if format!("{:?}", Handle::current()) != "Handle(run)" {
        assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::MultiThread);
        assert_eq!(Handle::current().metrics().num_workers(), 1);
    }
    tokio::spawn(async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn paused() -> Result<(), String> {
    say_where();
    let begin = Instant::now();
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(begin.elapsed(), Duration::from_secs(3_600));
    Ok(())
}

#[tokio::test(flavor = "local")]
async fn local() {
    say_where();
    let value = std::rc::Rc::new(1);
    assert_eq!(tokio::task::spawn_local(async move { *value }).await.unwrap(), 1);
}

#[test]
fn a_test_that_is_named_runs_once_on_tokio_and_the_others_under_the_scheduler() {
    for test in ["on_tokio::flavored", "on_tokio::paused", "on_tokio::local"] {
        assert_eq!(lines(test, &format!("nothing, {test}")), ["runtime"]);
        assert_eq!(lines(test, "::"), ["runtime"]);
        for others in ["nothing", " , "] {
            let runs = lines(test, others);
            assert!(runs.len() >= 100 && runs.iter().all(|line| line == "run"), "{runs:?}");
        }
    }
}
