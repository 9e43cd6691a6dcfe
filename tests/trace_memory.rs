//! The memory cost of reading a trace: a small multiple of its text, for any text.
//!
//! This test has a file of its own, because the allocator counts allocations of the whole process.

use peak_alloc::PeakAlloc;
use sim::run::trace::format::{InlineErrorKind, parse, parse_inline};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The maximum number of bytes in use while a file is read, for each byte of the file.
const BYTES_PER_BYTE_MAX: usize = 32;

/// The maximum number of bytes held during `work`, minus the bytes held before.
fn peak(work: impl FnOnce()) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    work();
    MEMORY.peak_usage() - before
}

#[track_caller]
fn check_file(what: &str, lines: impl Iterator<Item = String>, accepted: bool) {
    let mut text = "simtrace 2\n".to_owned();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    let mut ok = false;
    let peak = peak(|| ok = parse(text.as_bytes()).is_ok());
    assert_eq!(ok, accepted, "{what}");
    println!("{what}: {} bytes, {:.1} for each", text.len(), peak as f64 / text.len() as f64);
    assert!(peak <= BYTES_PER_BYTE_MAX * text.len(), "{what}: {peak} for {} bytes", text.len());
}

#[test]
fn reading_holds_a_small_multiple_of_the_text() {
    const MANY: usize = 25_000;
    let end = |steps| [format!("end {steps}")];
    let first = || ["task 0".to_owned()].into_iter();
    // Just above a power of two, where a vector that doubles is at its worst.
    let steps = |fields: &'static str| (0..16_385).map(move |n| format!("step {n} 0{fields}"));

    check_file("steps", first().chain(steps("")).chain(end(16_385)), true);
    check_file("deeds", first().chain(steps(" a - - b")).chain(end(16_385)), true);
    check_file("draws", first().chain(steps(" drew=0/1")).chain(end(16_385)), true);
    let also = steps(" a - - b").flat_map(|step| [step, "also a - - b".to_owned()]);
    check_file("two deeds", first().chain(also).chain(end(16_385)), true);
    let draws = format!("step 0 0{}", " drew=0/1".repeat(MANY));
    check_file("draws of one step", first().chain([draws]).chain(end(1)), true);
    let tasks = (0..MANY).map(|n| format!("task 0.{n}"));
    check_file("tasks", first().chain(tasks).chain(end(0)), true);
    let objects = (0..MANY).map(|n| format!("object a:{n} b"));
    check_file("objects", objects.chain(end(0)), true);
    let kinds = (0..MANY).map(|n| format!("object {n}:0 b"));
    check_file("kinds", kinds.chain(end(0)), true);
    let deep = (0..1000).map(|depth| format!("task 0{}", ".0".repeat(depth)));
    check_file("deep tasks", deep.chain(end(0)), true);

    check_file("a huge path", [format!("task 0{}", ".0".repeat(MANY))].into_iter(), false);
    check_file("a huge text", [format!("test \"{}\"", "\\\\".repeat(MANY))].into_iter(), false);
    check_file("a huge word", ["word".repeat(MANY)].into_iter(), false);
    check_file("huge padding", ["task".to_owned() + &" ".repeat(MANY) + "0"].into_iter(), false);
    let lies = ["object a:4000000000 b", "step 4000000000 0", "end 18446744073709551615"];
    for lie in lies {
        let text = format!("simtrace 2\ntask 0\n{lie}\n");
        let peak = peak(|| assert!(parse(text.as_bytes()).is_err()));
        assert!(peak < 2_000, "{lie}: {peak} bytes");
    }

    let mut kind = None;
    let peak_run = peak(|| kind = parse_inline("sim2:0x4000000000").err().map(|e| e.kind));
    assert_eq!(kind, Some(InlineErrorKind::TooManySteps));
    assert!(peak_run < 2_000, "{peak_run} bytes");
    let deep = format!("sim2:0{}", ".0".repeat(MANY));
    let peak_deep = peak(|| kind = parse_inline(&deep).err().map(|e| e.kind));
    assert_eq!(kind, Some(InlineErrorKind::TooManyTasks));
    assert!(peak_deep < 16 * deep.len(), "{peak_deep} bytes");

    // The longest inline trace: a constant, for any length of the word.
    let mut longest = None;
    let peak_longest = peak(|| longest = parse_inline("sim2:0x1000000").ok());
    println!("a million steps inline: {peak_longest} bytes");
    assert!(peak_longest < 100_000_000, "{peak_longest} bytes");
    assert_eq!(longest.map(|trace| trace.steps.len()), Some(1_000_000));
}
