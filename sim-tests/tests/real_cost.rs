//! In the real build, an atomic must have the size of a std atomic, and each operation must have the same instructions.
//!
//! The instructions are read from the assembly that the compiler writes for `src/real_cost.rs`,
//! optimised and without the `sim` feature. Times are too noisy for this, and counting executed
//! instructions needs a tool that not every machine has.

mod real_cost {
    pub(crate) mod assembly;
}

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};

use real_cost::assembly::Assembly;
use sim::Atomic;
use sim_tests::real_cost::PAIRS;

/// The names of two functions. The second function has one more instruction than the first.
const PLANTED: (&str, &str) = ("std_additions", "planted_additions");

#[test]
fn an_atomic_has_the_size_of_that_of_std() {
    if sim::SIMULATED || cfg!(debug_assertions) {
        println!(
            "SKIPPED: this build keeps more beside it; `src/real_cost.rs` is compiled as users' code is"
        );
        return;
    }
    macro_rules! check {
        ($($ours:ty, $std:ty;)*) => {$(
            assert_eq!(size_of::<Atomic<$ours>>(), size_of::<$std>(), stringify!($std));
            assert_eq!(align_of::<Atomic<$ours>>(), align_of::<$std>(), stringify!($std));
        )*};
    }
    check! {
        u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; usize, AtomicUsize;
        i8, AtomicI8; i16, AtomicI16; i32, AtomicI32; i64, AtomicI64; isize, AtomicIsize;
        bool, AtomicBool; *mut String, AtomicPtr<String>;
    }
}

#[test]
fn an_operation_has_the_instructions_of_that_of_std() {
    if sim::SIMULATED {
        println!("SKIPPED: compiles the real build, which the tests of that build do");
        return;
    }
    let assembly = Assembly::parse(&compile());
    for (std, ours) in PAIRS {
        if let Err(difference) = assembly.compare(std, ours) {
            panic!("{ours} has other instructions than {std}:\n{difference}");
        }
    }
    // Added work is detected.
    let (std, planted) = PLANTED;
    let difference = assembly.compare(std, planted).expect_err("the planted work was not seen");
    assert!(difference.contains("planted_additions"), "{difference}");
}

/// Compiles only the pairs, in the real build, and returns their assembly.
fn compile() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-cost");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Settings of the caller's own build, such as coverage, must not be measured.
    for (name, _) in std::env::vars_os() {
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_"));
        if is_ours {
            cargo.env_remove(name);
        }
    }
    cargo.args(["rustc", "--quiet", "--release", "--package", "unpause", "--lib"]);
    cargo.args(["--no-default-features", "--target-dir"]).arg(&folder);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // The library keeps the optimization level of its own profile. The atomics use no other crate, so the other crates
    // need no optimization.
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    cargo.args(["--config", "profile.release.package.unpause-run.opt-level=0"]);
    // The pairs use those functions of the library that the compiler can inline into other crates. The library's own
    // machine code is not used, so it is not generated; this saves most of the work.
    cargo.args(["--", "-C", "no-prepopulate-passes", "-C", "linker-plugin-lto"]);
    run(&mut cargo);

    let release = folder.join("release");
    let assembly = folder.join("real_cost.s");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "lib", "--crate-name", "real_cost"]);
    rustc.args(["-C", "opt-level=3", "-C", "codegen-units=1", "--cfg", "real_cost_alone"]);
    rustc.arg("-L").arg(format!("dependency={}", release.join("deps").display()));
    rustc.arg("--extern").arg(format!("sim={}", release.join("libsim.rlib").display()));
    rustc.arg(format!("--emit=asm={}", assembly.display()));
    rustc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/real_cost.rs"));
    run(&mut rustc);
    fs::read_to_string(&assembly).unwrap_or_else(|e| panic!("{}: {e}", assembly.display()))
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
