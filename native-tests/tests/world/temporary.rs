//! The folder for temporary files: empty when a run begins, and used only by the run.

use std::env::temp_dir;
use std::fs;
use std::thread;

/// Fails if an earlier run has left something. Leaves a file and a folder.
fn leaves_files() {
    let folder = temp_dir();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "something was left in {folder:?}");
    fs::write(folder.join("file"), "left").unwrap();
    fs::create_dir_all(folder.join("folder/within")).unwrap();
    fs::write(folder.join("folder/within/file"), "left").unwrap();
    assert_eq!(
        thread::spawn(|| fs::read(temp_dir().join("file"))).join().unwrap().unwrap(),
        b"left"
    );
}

#[sim::test(native, seeds = 20)]
fn temporary_files_end_with_their_run() {
    leaves_files();
}

#[sim::test(native, seeds = 20, isolate = "process")]
fn temporary_files_end_with_the_process_of_their_run() {
    leaves_files();
}

#[sim::test(seeds = 20)]
async fn temporary_files_end_with_the_run_of_an_async_test() {
    let folder = temp_dir();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "something was left in {folder:?}");
    fs::write(folder.join("file"), "left").unwrap();
}

#[test]
fn threads_of_the_system_have_the_real_folder() {
    let own = thread::spawn(temp_dir).join().unwrap();
    assert!(!own.to_str().unwrap().contains("/unpause-"), "{own:?}");
}
