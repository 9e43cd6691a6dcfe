//! Compiles the code of C, with the compiler and the archiver of the system.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/unseen.c");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    let (object, library) = (folder.join("unseen.o"), folder.join("libplanted_unseen.a"));
    let _ = std::fs::remove_file(&library);
    run(Command::new("cc").args(["-c", "-O1", "-g", "-fPIC", "src/unseen.c", "-o"]).arg(&object));
    run(Command::new("ar").arg("crs").arg(&library).arg(&object));
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=planted_unseen");
}

fn run(command: &mut Command) {
    let status = command.status().expect("the tool can be started");
    assert!(status.success(), "{command:?}");
}
