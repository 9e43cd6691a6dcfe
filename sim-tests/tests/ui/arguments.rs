//! Wrong arguments: each error is at the argument, nothing follows from it.

fn main() {}

// Names.

#[sim::test(sedes = 3)]
async fn a_slip() {}

#[sim::test(maxSteps = 3, timeout = "5s", krate = sim)]
async fn several_slips_at_once() {}

#[sim::test(flavor = "multi_thread")]
async fn an_argument_of_another_library() {}

#[sim::test(sim::seeds = 3)]
async fn a_path() {}

#[sim::test(100)]
async fn a_number() {}

#[sim::test("random")]
async fn a_string() {}

#[sim::test(, seeds = 3,, seed = 3)]
async fn commas() {}

// Forms.

#[sim::test(seeds)]
async fn no_value() {}

#[sim::test(time =)]
async fn no_value_after_the_equals_sign() {}

#[sim::test(strategy("random"))]
async fn parentheses() {}

#[sim::test(seeds == 3, max_steps: 3)]
async fn another_sign() {}

#[sim::test(seeds = 3 time = "5s")]
async fn no_comma() {}

#[sim::test(must_fail = true)]
async fn a_value_for_a_flag() {}

#[sim::test(closure = true)]
async fn a_value_for_another_flag() {}

#[sim::test(must_fail(yes))]
async fn parentheses_for_a_flag() {}

// Types.

#[sim::test(seeds = "100", max_steps = 1.5, time = 5, strategy = random, replay = b"x")]
async fn other_types() {}

#[sim::test(seeds = 10 * 10)]
async fn an_expression() {}

#[sim::test(native, isolate = "proces")]
fn a_slip_in_a_value() {}

#[sim::test(isolate = "process")]
async fn an_argument_of_plain_threads() {}

#[sim::test(native, chances = "timers, wek")]
fn a_slip_in_a_word() {}

#[sim::test(seed = 7u32)]
async fn another_suffix() {}

#[sim::test(crate = "sim")]
async fn a_path_in_quotes() {}

#[sim::test(crate = sim::<u8>)]
async fn a_path_with_types() {}

// Ranges.

#[sim::test(seeds = 0, max_steps = 4294967296)]
async fn out_of_range() {}

#[sim::test(seed = 18446744073709551616)]
async fn too_large() {}

#[sim::test(seed = -1)]
async fn negative() {}

#[sim::test(strategy = "", replay = " ")]
async fn empty() {}

#[sim::test(time = "s")]
async fn no_number() {}

#[sim::test(time = "5 sec")]
async fn another_unit() {}

#[sim::test(time = "1.5s")]
async fn a_fraction() {}

#[sim::test(time = "-1ms")]
async fn negative_time() {}

#[sim::test(time = "18446744073709551615h")]
async fn too_long() {}

// Together.

#[sim::test(seeds = 3, time = "5s", seeds = 4)]
async fn twice() {}

#[sim::test(seed = 3, seeds = 4)]
async fn one_and_many() {}

#[sim::test(seed = 3, replay = "x")]
async fn a_seed_and_a_trace() {}

#[sim::test(replay = "x", seeds = 3)]
async fn a_trace_and_seeds() {}

// The body.

#[sim::test(sedes = 3)]
async fn the_body_is_checked_all_the_same() -> Result<(), String> {
    let number: u32 = "three";
    std::future::ready(()).await;
    Err("an error")?;
    return Ok(());
}

#[sim::test(sedes = 3)]
#[should_panic(expected = "nothing more is said about this one")]
#[ignore = "nor about this"]
async fn other_attributes_stay() {
    #![allow(unused)]
    let unused = 3;
}

// A proof.

#[sim::test(must_prove)]
async fn no_strategy() {}

#[sim::test(must_prove, strategy = "random")]
async fn no_search() {}

#[sim::test(strategy = "exhaustive", must_prove, must_fail)]
async fn no_sense() {}

#[sim::test(strategy = "exhaustive", must_prove = true)]
async fn no_flag() {}

// Strategies.

#[sim::test(strategy = "exhaustve")]
async fn a_slip_in_a_strategy() {}

#[sim::test(strategy = "pct:9")]
async fn a_strategy_of_another_number() {}

#[sim::test(strategy = "fifo")]
async fn no_such_strategy() {}
