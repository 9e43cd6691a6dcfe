//! Statics with C names, and statics in their own sections: each run begins with their first values.

use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use planted::statics;
use sim::Runner;

#[test]
fn statics_with_any_name_in_any_section_are_restored() {
    // With a process for each run, all statics have their first values.
    let runner = Runner::new().hermetic().seeds(0..20).isolate("run");
    let report = runner.run_native(|| {
        for (name, value, first) in statics::all() {
            let before = thread::spawn(move || value.fetch_add(1, SeqCst)).join().unwrap();
            assert_eq!(before, first, "{name}");
        }
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}
