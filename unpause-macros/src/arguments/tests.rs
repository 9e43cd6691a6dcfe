//! The arguments of tests, and the messages about wrong arguments.

use super::*;
use quote::quote;

/// The messages about these arguments.
fn errors(tokens: TokenStream) -> Vec<String> {
    parse(tokens).1.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_said_about_arguments_that_are_right() {
    let (arguments, errors) = parse(quote! {
        seeds = 1_000u64, strategy = r"pct", max_steps = 0xff, time = "500ms", must_fail,
        coverage, closure, prove = 50, statistics, crate = crate::stub,
    });
    assert_eq!(errors.len(), 0);
    assert_eq!(arguments.seeds, Some(1000));
    assert_eq!(arguments.seed, None);
    assert_eq!(arguments.strategy.map(|s| s.value()), Some("pct".into()));
    assert_eq!(arguments.max_steps, Some(255));
    assert_eq!(arguments.time_ms, Some(500));
    assert!(arguments.replay.is_none());
    assert!(arguments.must_fail && arguments.coverage && arguments.closure && arguments.statistics);
    assert_eq!(arguments.prove, Some(50));
    assert!(arguments.library.is_some());
    assert_eq!(parse(quote!(seed = 0)).0.seed, Some(0));
    assert_eq!(parse(quote!(seeds = 18446744073709551615)).0.seeds, Some(u64::MAX));
    assert_eq!(parse(quote!(max_steps = 4294967295)).0.max_steps, Some(u32::MAX));
}

#[test]
fn every_argument_can_stand_alone_as_its_form_says() {
    for name in NAMES {
        let example: TokenStream = form(name).trim_matches('`').parse().unwrap();
        assert!(example.to_string().split([' ', ',']).any(|word| word == name), "{name}");
        assert_eq!(errors(example), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_wrong_argument_is_told() {
    let found = errors(quote!(sedes = 0, seed, seed = "7", seeds = 3, must_fail = true, time = 5));
    assert_eq!(
        found,
        [
            "unknown argument `sedes`; did you mean `seeds`?",
            "`seed` needs a value: write `seed = 7`",
            "`seed` is given twice",
            "`seeds` together with `seed`: `seed` is the only one tried, `seeds` is how many are",
            "`must_fail` needs a string in quotes: write `must_fail = \"deadlock\"`",
            "`time` needs a string in quotes: write `time = \"5s\"`",
        ]
    );
}

#[test]
fn a_bound_of_own_steps_is_a_number_from_1() {
    for right in ["lock-free", "wait-free", "wait-free:7"] {
        let (arguments, found) = parse(quote!(progress = #right));
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(arguments.progress.map(|s| s.value()), Some(right.into()));
    }
    assert_eq!(
        errors(quote!(progress = "wait-free:0")),
        ["`progress` needs a number from 1 after `wait-free:`, such as \"wait-free:2\""]
    );
}

#[test]
fn points_are_those_of_plain_threads() {
    let (arguments, found) = parse(quote!(native, points = "all", arc));
    assert!(found.is_empty() && arguments.arc);
    assert_eq!(arguments.points.map(|s| s.value()), Some("all".into()));
    assert_eq!(
        errors(quote!(native, points = "al")),
        ["`points` is \"all\" or \"default\", not \"al\"; did you mean \"all\"?"]
    );
    assert_eq!(
        errors(quote!(native, points = "1")),
        ["`points` is \"all\" or \"default\", not \"1\""]
    );
    assert_eq!(
        errors(quote!(points = "all", arc)),
        [
            "`points` is about plain threads: write `native, points = \"all\"`, or leave it out",
            "`arc` is about plain threads: write `native, arc`, or leave it out",
        ]
    );
}

#[test]
fn a_process_is_for_plain_threads() {
    let (arguments, found) = parse(quote!(native, isolate = "process"));
    assert!(found.is_empty());
    assert_eq!(arguments.isolate.map(|s| s.value()), Some("process".into()));
    assert_eq!(
        errors(quote!(native, isolate = "proces")),
        ["`isolate` is \"process\" or \"run\", not \"proces\"; did you mean \"process\"?"]
    );
    assert_eq!(
        errors(quote!(isolate = "process")),
        [
            "`isolate` is about plain threads: write `native, isolate = \"process\"`, or leave it out"
        ]
    );
    assert_eq!(
        errors(quote!(native, isolate)),
        ["`isolate` needs a value: write `native, isolate = \"process\"`"]
    );
}

#[test]
fn the_memory_is_one_of_two() {
    for tokens in [quote!(memory = "c11"), quote!(native, memory = "c11")] {
        let (arguments, found) = parse(tokens);
        assert!(found.is_empty());
        assert_eq!(arguments.memory.map(|s| s.value()), Some("c11".into()));
    }
    assert_eq!(errors(quote!(memory = "tso")), ["`memory` is \"c11\" or \"sc\", not \"tso\""]);
}

#[test]
fn only_a_search_must_prove() {
    for strategy in ["exhaustive", "preemptions", "delays:3"] {
        let (arguments, errors) = parse(quote!(must_prove, strategy = #strategy));
        assert!(arguments.must_prove && errors.is_empty(), "{strategy}");
    }
    assert_eq!(
        errors(quote!(must_prove)),
        [
            "`must_prove` needs a strategy that can prove something: write `strategy = \"exhaustive\"`"
        ]
    );
    assert_eq!(
        errors(quote!(strategy = "pct:2", must_prove)),
        ["`must_prove` together with the strategy `pct:2`: only searches prove something, \
          `exhaustive`, `preemptions`, `delays`; write `strategy = \"exhaustive\"`"]
    );
    // One error is enough for this test.
    assert_eq!(errors(quote!(must_prove, strategy = 7)).len(), 1);
    for other in [quote!(must_fail), quote!(replay = "x"), quote!(seed = 3)] {
        let found = errors(quote!(strategy = "delays", #other, must_prove));
        assert!(found.len() == 1 && found[0].contains("proves nothing"), "{found:?}");
    }
}

#[test]
fn a_literal_from_another_macro_is_a_literal() {
    let literal = proc_macro2::Group::new(Delimiter::None, quote!(12));
    assert_eq!(parse(quote!(seeds = #literal)).0.seeds, Some(12));
}
