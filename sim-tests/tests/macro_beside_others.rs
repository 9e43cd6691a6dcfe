//! `#[sim::test]` beside other attributes and under other macros, with the library itself.
//!
//! Every test here passes under any scheduler; this file tests that they are tests, and run.

use rstest::rstest;
use test_case::test_case;

#[sim::test]
async fn alone() {
    assert_eq!(1 + 1, 2);
}

#[sim::test()]
async fn with_no_arguments_in_parentheses() {
    assert_eq!(1 + 1, 2);
}

#[sim::test(seeds = 3, strategy = "random", max_steps = 100, time = "1h")]
async fn with_arguments() {
    assert_eq!(1 + 1, 2);
}

#[sim::test(seed = 7)]
async fn with_one_seed() {
    assert_eq!(1 + 1, 2);
}

#[sim::test(crate = ::sim, seeds = 3)]
async fn with_the_path_of_the_library() {
    assert_eq!(1 + 1, 2);
}

#[sim::test(seeds = 3, must_fail)]
async fn whose_failure_is_what_is_wanted() {
    assert_eq!(1 + 1, 3, "wrong on purpose");
}

#[sim::test(seeds = 3)]
#[should_panic(expected = "one and one is not three")]
async fn should_panic_below() {
    assert_eq!(1 + 1, 3, "one and one is not three");
}

#[should_panic(expected = "one and one is not three")]
#[sim::test(seeds = 3)]
async fn should_panic_above() {
    assert_eq!(1 + 1, 3, "one and one is not three");
}

#[sim::test(seeds = 3)]
#[ignore = "shows that the attribute is passed on: this test fails if it runs"]
async fn ignored() {
    assert_eq!(1 + 1, 3);
}

#[sim::test]
#[cfg(not(test))]
async fn taken_away() {
    this_does_not_exist();
}

#[cfg(not(test))]
#[sim::test(sedes = 3)]
async fn taken_away_with_its_errors() {
    this_does_not_exist();
}

#[sim::test(sedes = 3)]
#[cfg(not(test))]
async fn taken_away_with_its_errors_from_below() {
    this_does_not_exist();
}

#[sim::test(seeds = 3)]
#[cfg_attr(test, should_panic(expected = "one and one is not three"))]
async fn should_panic_if_tested() {
    assert_eq!(1 + 1, 3, "one and one is not three");
}

/// A test may have documentation and lints.
#[sim::test(seeds = 3)]
#[allow(clippy::eq_op)]
#[deny(unused_must_use)]
pub async fn with_documentation_and_lints() {
    assert_eq!(1 + 1, 1 + 1);
}

#[sim::test(seeds = 3)]
async fn that_returns_a_result() -> Result<(), String> {
    let two: u8 = "2".parse().map_err(|_| "not a number")?;
    assert_eq!(1 + 1, two);
    Ok(())
}

#[sim::test(seeds = 3)]
async fn that_returns_a_boxed_error() -> Result<(), Box<dyn std::error::Error>> {
    let two: u8 = "2".parse()?;
    if two == 2 {
        return Ok(());
    }
    Err("two is two".into())
}

#[sim::test(seeds = 3)]
#[should_panic(expected = "the error of the body")]
async fn that_returns_an_error() -> Result<(), String> {
    Err("the error of the body".into())
}

#[sim::test(seeds = 3)]
#[should_panic(expected = "nothing but a panic")]
async fn that_only_panics() {
    panic!("nothing but a panic")
}

#[sim::test(seeds = 3)]
async fn that_awaits() {
    assert_eq!(one_plus(1).await, 2);
}

async fn one_plus(number: u32) -> u32 {
    1 + number
}

mod imported {
    use sim::test;

    // If the attribute is imported by its last word, it replaces the built-in attribute.
    #[test]
    async fn by_its_last_word() {
        assert_eq!(1 + 1, 2);
    }

    mod deeper {
        #[sim::test(seeds = 3)]
        async fn in_a_module() {
            assert!(module_path!().ends_with("imported::deeper"));
        }
    }
}

mod renamed {
    use ::sim as simulator;

    #[simulator::test(crate = simulator, seeds = 3)]
    async fn under_another_name() {
        assert_eq!(1 + 1, 2);
    }
}

#[rstest]
#[case(1, 2)]
#[case::named(2, 3)]
#[sim::test(seeds = 3)]
async fn under_rstest(#[case] number: u32, #[case] expected: u32) {
    assert_eq!(one_plus(number).await, expected);
}

#[rstest]
#[sim::test(seeds = 3)]
async fn under_rstest_with_values(#[values(1, 2)] a: u32, #[values(3, 4)] b: u32) {
    assert!(a < b);
}

#[rstest]
#[case("2")]
#[sim::test(seeds = 3)]
async fn under_rstest_with_a_result(#[case] text: &str) -> Result<(), std::num::ParseIntError> {
    assert_eq!(text.parse::<u32>()?, 2);
    Ok(())
}

#[rstest]
#[case(3)]
#[sim::test(seeds = 3)]
#[should_panic(expected = "one and one is not three")]
async fn under_rstest_that_panics(#[case] three: u32) {
    assert_eq!(1 + 1, three, "one and one is not three");
}

#[test_case(1, 2)]
#[test_case(2, 3; "named")]
#[sim::test(seeds = 3)]
async fn under_test_case(number: u32, expected: u32) {
    assert_eq!(one_plus(number).await, expected);
}

#[test_case(1 => 2)]
#[sim::test(seeds = 3)]
async fn under_test_case_with_an_expected_value(number: u32) -> u32 {
    one_plus(number).await
}

#[test_case("2")]
#[sim::test(seeds = 3)]
async fn under_test_case_with_a_result(text: &str) -> Result<(), String> {
    let two: u32 = text.parse().map_err(|_| "not a number")?;
    assert_eq!(two, 2);
    Ok(())
}

#[test_case(3 => panics "one and one is not three")]
#[sim::test(seeds = 3)]
async fn under_test_case_that_panics(three: u32) {
    assert_eq!(1 + 1, three, "one and one is not three");
}
