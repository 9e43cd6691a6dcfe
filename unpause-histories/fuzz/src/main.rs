//! Runs each reader of histories, and the checker behind it, on inputs of a fuzzer.
//!
//! The first byte of an input selects the format, and the remaining bytes are the file. A crash, a hang and a high
//! memory use are findings. A problem or a verdict of any kind is not. The fuzzer is libFuzzer and needs a C++
//! compiler; coverage comes from flags that a stable compiler has:
//!
//! ```sh
//! cd unpause-histories/fuzz
//! RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
//!   -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1" \
//!   cargo build --release --target x86_64-unknown-linux-gnu
//! target/x86_64-unknown-linux-gnu/release/unpause-histories-fuzz -dict=tokens.dict \
//!   -max_total_time=600 -rss_limit_mb=1024 corpus seeds
//! ```

#![no_main]
#![forbid(unsafe_code)]

use unpause_check::picture::Style;
use unpause_histories::{CONDITIONS, FORMATS, Question, models, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let format = &FORMATS[*first as usize % FORMATS.len()];
    let Ok(recording) = read(bytes, format) else {
        return;
    };
    let names = models();
    let (model, _) = names[*first as usize / FORMATS.len() % names.len()];
    for model in [None, Some(model)] {
        let mut question = Question { model, ..Question::default() };
        question.budget.nodes = 200;
        match CONDITIONS[0].check(&recording, &question) {
            Ok(finding) => drop(finding.text("file", &Style::default())),
            Err(problem) => drop(problem.to_string()),
        }
    }
});
