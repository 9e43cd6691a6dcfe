//! `always!` takes the condition first, like the macros beside it; the other order still works, and is deprecated.

use sim::Runner;
use sim::run::{Failure, Outcome};

fn message(body: impl AsyncFn() + Sync) -> Option<String> {
    let report = Runner::new().hermetic().seeds(0..1).run(body);
    let finding = report.finding?;
    let Outcome::Failed(Failure::Panic { message, place, .. }) = &finding.run.outcome else {
        panic!("{:?}", finding.run.outcome)
    };
    assert!(place.starts_with(file!()), "{place}");
    Some(message.clone())
}

#[test]
fn the_condition_comes_first_in_all_macros() {
    let holds = std::hint::black_box(true);
    let fails = !holds;
    const NAME: &str = "by a constant";
    let passed = message(async || {
        sim::always!(holds, "holds");
        sim::always!(true, "a literal");
        sim::sometimes!(holds, "holds");
        sim::cover!(holds, 50, "holds often");
    });
    assert_eq!(passed, None);
    let broken = |text: &str| Some(format!("{text} does not hold"));
    assert_eq!(message(async || sim::always!(fails, "a")), broken("a: `fails`"));
    assert_eq!(message(async || sim::always!(fails, NAME,)), broken("by a constant: `fails`"));
    assert_eq!(message(async || sim::always!(false, "b")), broken("b: `false`"));
}

#[test]
#[expect(deprecated, reason = "it is the old order that is tested")]
fn the_old_order_of_always_works_and_is_deprecated() {
    let holds = std::hint::black_box(true);
    let fails = !holds;
    assert_eq!(message(async || sim::always!("a", holds)), None);
    let broken = Some("a: `fails` does not hold".to_owned());
    assert_eq!(message(async || sim::always!("a", fails)), broken);
}
