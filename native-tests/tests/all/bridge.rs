//! Tests of the files of `src/native`, which only an instrumented build of the library has.

#[test]
fn the_bridge_passes_its_checks() {
    assert!(!sim::__private::NATIVE_CHECKS.is_empty(), "there are checks");
    for (name, check) in sim::__private::NATIVE_CHECKS {
        println!("{name}");
        check();
    }
}
