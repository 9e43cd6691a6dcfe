//! Compiles the code of C, with the compiler and the archiver of the system: static libraries, and a shared one.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    println!("cargo:rustc-link-search=native={}", folder.display());
    for name in ["threads", "unseen"] {
        let source = format!("src/{name}.c");
        println!("cargo:rerun-if-changed={source}");
        let object = folder.join(format!("{name}.o"));
        let library = folder.join(format!("libplanted_{name}.a"));
        let _ = std::fs::remove_file(&library);
        run(Command::new("cc").args(["-c", "-O1", "-g", "-fPIC", &source, "-o"]).arg(&object));
        run(Command::new("ar").arg("crs").arg(&library).arg(&object));
        println!("cargo:rustc-link-lib=static=planted_{name}");
    }
    println!("cargo:rerun-if-changed=src/shared.c");
    let library = folder.join("libplanted_shared.so");
    run(Command::new("cc").args(["-shared", "-O1", "-fPIC", "src/shared.c", "-o"]).arg(&library));
    // Cargo adds the folder to the search path of the programs that it starts.
    println!("cargo:rustc-link-lib=dylib=planted_shared");
}

fn run(command: &mut Command) {
    let status = command.status().expect("the tool can be started");
    assert!(status.success(), "{command:?}");
}
