//! Memory is a small multiple of the file, for any content. The one test of this binary: the
//! allocator counts for the whole process.

#![forbid(unsafe_code)]

use peak_alloc::PeakAlloc;
use unpause_histories::{format_named, read};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Returns the maximum number of bytes that reading a text holds at once, for each byte of the text.
fn cost(format: &str, text: &str) -> f64 {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let recording = read(text.as_bytes(), format_named(format).unwrap());
    let peak = HEAP.peak_usage() - before;
    drop(recording);
    // One block of the file is held in addition.
    peak.saturating_sub(1 << 17) as f64 / text.len() as f64
}

#[test]
fn memory_is_a_small_multiple_of_the_file() {
    let call = |process: u32, value: &str| {
        format!(
            "{{:process {process} :type :invoke :f :write :value {value}}}\n\
             {{:process {process} :type :ok :f :write :value {value}}}\n"
        )
    };
    let plain: String = (0..20_000).map(|n| call(n % 5, "1")).collect();
    let processes: String = (0..20_000).map(|n| call(n, "1")).collect();
    let digits = format!("[{}]", "0 ".repeat(500_000));
    let nested = format!("[{}]", "[] ".repeat(400_000));
    let open = format!("{{:process 0 :value {digits} :type :invoke :f :x");
    let names: String = (0..50_000).map(|n| format!("{{:k{n} :v{n} :process 0}}\n")).collect();
    let json = plain.replace(":process", "\"process\":").replace(":type", ",\"type\":");
    let json = json.replace(":f :write", ",\"f\": \"write\"").replace(":value", ",\"value\":");
    let json = json.replace(":invoke", "\"invoke\"").replace(":ok", "\"ok\"");
    assert!(read(json.as_bytes(), format_named("json").unwrap()).is_ok());
    for (what, format, text) in [
        ("plain", "edn", &plain),
        ("json", "json", &json),
        ("processes", "edn", &processes),
        ("digits", "edn", &call(0, &digits)),
        ("nested", "edn", &call(0, &nested)),
        ("cut", "edn", &open),
        ("names", "edn", &names),
    ] {
        let cost = cost(format, text);
        println!("{what}: {cost:.1} bytes for each of {}", text.len());
        // A `0 ` is two bytes, and a value is 24; it is copied once when its list is complete.
        assert!(cost < 40.0, "{what}: {cost:.1}");
    }
}
