//! Signals and other processes under tokio.

use std::io::{Error, ErrorKind};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.enable_all().build().unwrap())
}

/// The signals that end a process without a handler. A process may install a handler for each of them.
const SIGNALS: [fn() -> SignalKind; 8] = [
    SignalKind::user_defined1,
    SignalKind::user_defined2,
    SignalKind::terminate,
    SignalKind::interrupt,
    SignalKind::hangup,
    SignalKind::quit,
    SignalKind::alarm,
    SignalKind::pipe,
];

#[sim::test(native, seeds = 20)]
fn a_signal_that_is_raised_is_received() {
    for (kind, runtime) in
        SIGNALS.iter().flat_map(|kind| runtimes().map(|runtime| (kind(), runtime)))
    {
        runtime.block_on(async {
            let mut signals = signal(kind).unwrap();
            assert_eq!(planted::process::raise_signal(kind.as_raw_value()), 0);
            let received = timeout(Duration::from_secs(1), signals.recv()).await;
            assert_eq!(received.expect("the signal comes"), Some(()), "{kind:?}");
        });
    }
}

/// The functions that start a process.
const STARTS: [fn(&Runtime) -> Result<(), Error>; 4] = [
    |runtime| runtime.block_on(async { Command::new("true").output().await.map(drop) }),
    |runtime| runtime.block_on(async { Command::new("true").status().await.map(drop) }),
    |runtime| runtime.block_on(async { Command::new("true").spawn().map(drop) }),
    |runtime| {
        let piped = || Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        runtime.block_on(async { piped().map(drop) })
    },
];

/// A run cannot wait for a process or a pipe of the system by epoll: each call fails, with a message that names the remedy.
#[test]
fn a_process_of_tokio_is_an_error() {
    let report = sim::Runner::new().hermetic().seeds(0..3).run_native(|| {
        for (number, start) in STARTS.iter().enumerate() {
            for runtime in runtimes() {
                let error = start(&runtime).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{number}");
            }
        }
    });
    assert!(report.finding.is_none(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}
