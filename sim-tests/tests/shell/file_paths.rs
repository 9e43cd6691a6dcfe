//! The places of files without a setting, or with a relative path in the setting.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::child::{Ended, child, clean, files, folder};

/// Creates a folder that is outside of Cargo's target folders.
fn outside(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sim-shell-{}", std::process::id())).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[cfg_attr(feature = "sim", test)]
fn traces_are_in_the_target_folder_whoever_created_it() {
    let target = outside("target");
    let program = target.join("debug/deps/shell-0123456789abcdef");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    // Not by this process: a child that starts at this moment would have it open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()));
    // Cargo writes it always, and its tag only into a folder that it creates.
    fs::write(target.join(".rustc_info.json"), "{}").unwrap();
    let mut command = Command::new(program);
    clean(&mut command);
    command.args(["fixture::lost_update", "--exact", "--nocapture"]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let ended = Ended::of(command.output().unwrap());
    let trace = PathBuf::from(ended.after("trace:"));
    assert!(trace.starts_with(target.join("sim/sim-tests")) && trace.exists(), "{ended}");
    fs::remove_dir_all(target).unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn a_relative_folder_is_meant_from_where_the_user_is() {
    let package = folder("relative");
    fs::create_dir_all(package.join("src/deep")).unwrap();
    fs::write(package.join("Cargo.toml"), "").unwrap();
    let wanted = "demo/demo.in_a_package/1-of-1.jsonl";
    let run = || {
        let child = child("in_a_package").env("UNPAUSE_PACKAGE", &package);
        child.env("UNPAUSE_VARIANT", "fixed").env("SIM_RESULTS", "rr")
    };
    for shell in [package.clone(), package.join("src"), package.join("src/deep")] {
        run().in_folder(&package, &shell).passes();
        assert_eq!(files(&shell.join("rr")), [wanted], "{}", shell.display());
        fs::remove_dir_all(shell.join("rr")).unwrap();
    }
    // Another folder is accepted if it is the folder of the process that started the test, as with `--manifest-path`.
    let shell = outside("shell");
    run().in_folder(&package, &shell).passes();
    assert_eq!(files(&package.join("rr")), [wanted]);
    fs::remove_dir_all(package.join("rr")).unwrap();
    if !std::path::Path::new("/proc/self/cwd").exists() {
        return;
    }
    let mut command = Command::new("sh");
    clean(&mut command);
    command.args(["-c", "env -C \"$0\" \"$1\" fixture::in_a_package --exact; exit $?"]);
    command.arg(&package).arg(std::env::current_exe().unwrap());
    command
        .env("UNPAUSE_PACKAGE", &package)
        .env("UNPAUSE_VARIANT", "fixed")
        .env("SIM_RESULTS", "rr");
    let status = command.current_dir(&shell).env("PWD", &shell).status().unwrap();
    assert!(status.success());
    assert_eq!(files(&shell.join("rr")), [wanted]);
    fs::remove_dir_all(shell).unwrap();
}
