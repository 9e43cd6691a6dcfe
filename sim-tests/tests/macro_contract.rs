//! The arguments that `#[sim::test]` passes to the library: `crate = path` makes the tests of this
//! file call the recorder below instead of `sim`.

use std::cell::Cell;

use stub::__private::{Attributes, Site};

/// The names that the macro knows. The macro cannot query the library.
#[path = "../../unpause-macros/src/strategies.rs"]
mod strategies;

/// A stand-in for the library. The stub records the arguments and runs the body once.
mod stub {
    use std::cell::RefCell;

    pub(crate) mod __private {
        use std::pin::pin;
        use std::task::{Context, Poll, Waker};

        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Site {
            pub(crate) test: &'static str,
            pub(crate) package: &'static str,
            pub(crate) version: &'static str,
            pub(crate) manifest_dir: &'static str,
            pub(crate) file: &'static str,
            pub(crate) line: u32,
            pub(crate) binary: Option<&'static str>,
            pub(crate) integration: bool,
        }

        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct Attributes {
            pub(crate) seeds: Option<u64>,
            pub(crate) seed: Option<u64>,
            pub(crate) strategy: Option<&'static str>,
            pub(crate) max_steps: Option<u32>,
            pub(crate) time_ms: Option<u64>,
            pub(crate) hang_ms: Option<u64>,
            pub(crate) limit_ms: Option<u64>,
            pub(crate) replay: Option<&'static str>,
            pub(crate) must_fail: bool,
            pub(crate) must_fail_with: Option<&'static str>,
            pub(crate) coverage: bool,
            pub(crate) closure: bool,
            pub(crate) clock: Option<&'static str>,
            pub(crate) cancel: Option<&'static str>,
            pub(crate) cancel_selects: bool,
            pub(crate) buggify: bool,
            pub(crate) progress: Option<&'static str>,
            pub(crate) points: Option<&'static str>,
            pub(crate) arc: bool,
            pub(crate) chances: Option<&'static str>,
            pub(crate) isolate: Option<&'static str>,
            pub(crate) memory: Option<&'static str>,
            pub(crate) prove: Option<u64>,
            pub(crate) why: Option<u64>,
            pub(crate) must_prove: bool,
            pub(crate) statistics: bool,
            pub(crate) leaks: bool,
        }

        pub(crate) trait TestResult {
            fn error(self) -> Option<String>;
        }

        impl TestResult for () {
            fn error(self) -> Option<String> {
                None
            }
        }

        impl<E: std::fmt::Debug> TestResult for Result<(), E> {
            fn error(self) -> Option<String> {
                self.err().map(|error| format!("{error:?}"))
            }
        }

        pub(crate) fn test<R: TestResult>(
            site: Site,
            attributes: Attributes,
            body: impl AsyncFn() -> R,
        ) {
            let mut future = pin!(body());
            let result = match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => result.error(),
                Poll::Pending => panic!("the bodies of this file wait for nothing"),
            };
            super::CALL.set(Some(super::Call { site, attributes, error: result }));
        }
    }

    /// One call of the library.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Call {
        pub(crate) site: __private::Site,
        pub(crate) attributes: __private::Attributes,
        /// The error that the body returned, if any.
        pub(crate) error: Option<String>,
    }

    thread_local! {
        static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
    }

    /// Returns the arguments with which the test calls the library.
    pub(crate) fn call_of(test: fn()) -> Call {
        CALL.take();
        test();
        CALL.take().expect("the test should have called the library")
    }
}

thread_local! {
    /// The number of executions of a body.
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

#[sim::test(crate = stub)]
async fn without_arguments() {
    RUNS.set(RUNS.get() + 1);
}

#[sim::test(
    crate = crate::stub,
    seeds = 1_000,
    strategy = "random",
    max_steps = 4294967295,
    time = "2m",
    must_fail,
    coverage,
    closure,
    statistics,
)]
async fn with_arguments() {}

#[sim::test(crate = stub, must_fail = "deadlock")]
async fn with_a_failure() {}

#[sim::test(crate = stub, seed = 0)]
async fn with_one_seed() {}

#[sim::test(crate = stub, replay = "some.simtrace", time = "500ms")]
async fn with_a_trace() {}

/// The searches, each by its name and by the name of a form. Unknown strategies do not compile here.
mod searches {
    use super::stub;

    #[sim::test(crate = stub, strategy = "exhaustive", must_prove)]
    pub(crate) async fn exhaustive() {}

    #[sim::test(crate = stub, must_prove, strategy = "preemptions")]
    pub(crate) async fn preemptions() {}

    #[sim::test(crate = stub, strategy = "delays:2", must_prove)]
    pub(crate) async fn delays() {}
}

mod inner {
    #[sim::test(crate = super::stub)]
    pub(crate) async fn r#loop() {}
}

// The bodies below return their error, which is noted and fails nothing.

#[sim::test(crate = stub)]
async fn question_mark() -> Result<(), std::num::ParseIntError> {
    let _: u8 = "256".parse()?;
    Ok(())
}

#[sim::test(crate = stub)]
async fn early_return() -> Result<(), Box<dyn std::error::Error>> {
    if std::hint::black_box(true) {
        return Err("early".into());
    }
    Ok(())
}

#[sim::test(crate = stub)]
async fn inferred_end() -> Result<(), String> {
    "7".parse::<u8>().map(drop).map_err(|error| error.to_string())
}

#[sim::test(crate = stub)]
#[should_panic(expected = "the body only panics")]
async fn only_panics() {
    panic!("the body only panics")
}

#[sim::test(crate = stub)]
async fn attributes_in_the_body() {
    #![allow(unused_variables)]
    let unused = 1;
}

macro_rules! tests_with_seeds {
    ($($name:ident $seeds:literal $body:block)*) => {
        $(#[sim::test(crate = stub, seeds = $seeds)] async fn $name() $body)*
    };
}

tests_with_seeds! {
    made_by_a_macro 5 { RUNS.set(RUNS.get() + 1); }
}

#[test]
fn without_arguments_everything_is_left_to_the_library() {
    RUNS.set(0);
    let call = stub::call_of(without_arguments);
    assert_eq!(call.attributes, Attributes::default());
    assert_eq!(call.error, None);
    assert_eq!(RUNS.get(), 1);
}

#[test]
fn every_argument_arrives() {
    assert_eq!(
        stub::call_of(with_arguments).attributes,
        Attributes {
            seeds: Some(1000),
            strategy: Some("random"),
            max_steps: Some(u32::MAX),
            time_ms: Some(120_000),
            must_fail: true,
            coverage: true,
            closure: true,
            statistics: true,
            ..Attributes::default()
        }
    );
    assert_eq!(
        stub::call_of(with_one_seed).attributes,
        Attributes { seed: Some(0), ..Attributes::default() }
    );
    assert_eq!(
        stub::call_of(with_a_trace).attributes,
        Attributes { replay: Some("some.simtrace"), time_ms: Some(500), ..Attributes::default() }
    );
}

#[test]
fn a_test_may_name_the_failure_that_it_must_have() {
    assert_eq!(
        stub::call_of(with_a_failure).attributes,
        Attributes { must_fail: true, must_fail_with: Some("deadlock"), ..Attributes::default() }
    );
}

#[test]
fn a_test_with_any_search_may_be_one_that_must_prove() {
    let tests = [searches::exhaustive, searches::preemptions, searches::delays];
    let strategies = tests.map(|test: fn()| {
        let attributes = stub::call_of(test).attributes;
        assert!(attributes.must_prove);
        attributes.strategy.unwrap().split(':').next().unwrap()
    });
    assert_eq!(
        strategies.to_vec(),
        sim::strategy::SEARCHES.iter().map(|row| row.name).collect::<Vec<_>>()
    );
}

/// Returns the names of a table of the macro, each without a number and with every number.
fn names_of(table: &[(&str, Option<(u32, u32)>)]) -> Vec<String> {
    let names = table.iter().flat_map(|(name, numbers)| {
        let numbers = numbers.iter().flat_map(|(least, most)| *least..=*most);
        let numbered = numbers.map(move |number| format!("{name}:{number}"));
        std::iter::once((*name).to_owned()).chain(numbered)
    });
    names.collect()
}

#[test]
fn the_macro_knows_every_strategy_of_the_library_and_no_other() {
    let sampling = sim::strategy::STRATEGIES.iter().flat_map(|row| {
        let numbered = row.numbered.iter().map(|form| form.name.to_owned());
        std::iter::once(row.name.to_owned()).chain(numbered)
    });
    assert_eq!(names_of(&strategies::STRATEGIES), Vec::from_iter(sampling));
    let searches = sim::strategy::SEARCHES.iter().flat_map(|row| {
        let numbered = row.numbered.iter().map(|name| (*name).to_owned());
        std::iter::once(row.name.to_owned()).chain(numbered)
    });
    assert_eq!(names_of(&strategies::SEARCHES), Vec::from_iter(searches));
}

#[test]
fn the_site_is_that_of_the_function() {
    let call = stub::call_of(with_arguments);
    let lines: Vec<&str> = include_str!("macro_contract.rs").lines().collect();
    let line = lines.iter().position(|line| *line == "async fn with_arguments() {}").unwrap() + 1;
    assert_eq!(
        call.site,
        Site {
            test: "macro_contract::with_arguments",
            package: "sim-tests",
            version: env!("CARGO_PKG_VERSION"),
            manifest_dir: env!("CARGO_MANIFEST_DIR"),
            file: file!(),
            line: u32::try_from(line).unwrap(),
            binary: None,
            integration: true,
        }
    );
}

#[test]
fn the_name_has_its_modules_and_no_raw_marker() {
    assert_eq!(stub::call_of(inner::r#loop).site.test, "macro_contract::inner::loop");
}

#[test]
fn what_the_body_returns_arrives() {
    let error = |test| stub::call_of(test).error;
    let overflow = "ParseIntError { kind: PosOverflow }";
    assert_eq!(error(question_mark).as_deref(), Some(overflow));
    assert_eq!(error(early_return).as_deref(), Some("\"early\""));
    assert_eq!(error(inferred_end), None);
}

#[test]
fn a_test_may_come_from_another_macro() {
    RUNS.set(0);
    assert_eq!(stub::call_of(made_by_a_macro).attributes.seeds, Some(5));
    assert_eq!(RUNS.get(), 1);
}
