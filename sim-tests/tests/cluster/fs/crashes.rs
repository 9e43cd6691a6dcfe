//! The files that a death leaves.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex as StdMutex};

use sim::Node;
use sim::fs::{self, File, Rules};

use super::*;

/// The ways of a node to die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Death {
    Kill,
    PowerOff,
}

async fn read_or_none(path: &str) -> Option<String> {
    match fs::read(path).await {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).replace('\0', "0")),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

/// The states of `paths` that a search finds after the program was done and its node died.
fn left_of<F>(
    death: Death,
    rules: Rules,
    paths: &'static [&'static str],
    program: impl Fn() -> F + Sync,
) -> BTreeSet<Vec<Option<String>>>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let found = Arc::new(StdMutex::new(BTreeSet::new()));
    let report = search().run(async || {
        fs::faults(fs::Faults::none().rules(rules));
        let db = node("db");
        db.spawn(program()).await.unwrap().unwrap();
        match death {
            Death::Kill => db.kill(),
            Death::PowerOff => db.power_off(),
        }
        db.restart();
        let reading = db.spawn(async move {
            let mut all = Vec::new();
            for path in paths {
                all.push(read_or_none(path).await);
            }
            all
        });
        let state = reading.await.unwrap();
        found.lock().unwrap().insert(state);
    });
    proves(&report);
    std::mem::take(&mut found.lock().unwrap())
}

fn states(states: &[&[&str]]) -> BTreeSet<Vec<Option<String>>> {
    let value = |text: &&str| (*text != "-").then(|| (*text).to_owned());
    states.iter().map(|state| state.iter().map(value).collect()).collect()
}

async fn sync(path: &str) -> io::Result<()> {
    File::open(path).await?.sync_all().await
}

/// A file with a durable old value.
async fn old(path: &str) -> io::Result<()> {
    fs::write(path, "old").await?;
    sync(path).await?;
    sync("/").await
}

const BOTH: &[&str] = &["/f", "/t"];

/// The cases that the file system of turmoil 0.7.2 has wrong.
#[cfg_attr(feature = "sim", test)]
fn a_rename_without_a_sync_may_leave_an_empty_file() {
    let program = || async {
        old("/f").await?;
        fs::write("/t", "new").await?;
        fs::rename("/t", "/f").await
    };
    let posix = left_of(Death::PowerOff, Rules::POSIX, BOTH, program);
    // 000: the length survived, but the bytes did not.
    let expected: &[&[&str]] = &[
        &["old", "-"],
        &["old", ""],
        &["old", "000"],
        &["old", "new"],
        &["", "-"],
        &["000", "-"],
        &["new", "-"],
    ];
    assert_eq!(posix, states(expected));
    let ext4 = left_of(Death::PowerOff, Rules::EXT4, BOTH, program);
    // The rename writes the data first. The name is written before the new name only together with the data's length.
    assert_eq!(ext4, states(&[&["old", "new"], &["new", "-"]]));
    assert_eq!(left_of(Death::Kill, Rules::POSIX, BOTH, program), states(&[&["new", "-"]]));
}

#[cfg_attr(feature = "sim", test)]
fn an_open_file_is_an_inode_and_no_path() {
    // The sync after the rename is a sync of the renamed file.
    let by_handle = || async {
        let mut file = File::create("/t").await?;
        file.write_all(b"new").await?;
        fs::rename("/t", "/f").await?;
        file.sync_all().await?;
        sync("/").await
    };
    let by_name = || async {
        fs::write("/t", "new").await?;
        fs::rename("/t", "/f").await?;
        sync("/f").await?;
        sync("/").await
    };
    let linked = || async {
        fs::write("/t", "old").await?;
        fs::hard_link("/t", "/f").await?;
        let mut file = OpenOptions::new().write(true).open("/t").await?;
        file.write_all(b"new").await?;
        file.sync_all().await?;
        sync("/").await
    };
    let only_new = states(&[&["new", "-"]]);
    assert_eq!(left_of(Death::PowerOff, Rules::POSIX, BOTH, by_handle), only_new);
    assert_eq!(left_of(Death::PowerOff, Rules::POSIX, BOTH, by_name), only_new);
    let both_new = states(&[&["new", "new"]]);
    assert_eq!(left_of(Death::PowerOff, Rules::POSIX, BOTH, linked), both_new);
}

#[cfg_attr(feature = "sim", test)]
fn a_sector_is_never_a_mix_of_two_writes() {
    let program = || async {
        old("/f").await?;
        let file = OpenOptions::new().write(true).open("/f").await?;
        file.write_at(b"one", 0).await?;
        file.write_at(b"two", 0).await?;
        Ok(())
    };
    let left = left_of(Death::PowerOff, Rules::POSIX, &["/f"], program);
    assert_eq!(left, states(&[&["old"], &["one"], &["two"]]));
}

#[cfg_attr(feature = "sim", test)]
fn a_name_needs_the_sync_of_its_directory() {
    let without = || async {
        fs::write("/f", "new").await?;
        sync("/f").await
    };
    let with = || async {
        fs::write("/f", "new").await?;
        sync("/f").await?;
        sync("/").await
    };
    let left = left_of(Death::PowerOff, Rules::POSIX, &["/f"], without);
    assert_eq!(left, states(&[&["-"], &["new"]]));
    assert_eq!(left_of(Death::PowerOff, Rules::POSIX, &["/f"], with), states(&[&["new"]]));
}

/// The files of a dead node do nothing, even if a task of the test owns them.
#[cfg_attr(feature = "sim", test)]
fn a_file_of_the_dead_does_nothing() {
    for death in [Death::Kill, Death::PowerOff] {
        let report = search().run(async || {
            let db = node("db");
            let file = db.enter(|| File::create("/f")).await.unwrap();
            db.enter(|| File::open("/")).await.unwrap().sync_all().await.unwrap();
            let killer = spawn({
                let db = db.clone();
                async move { die(&db, death) }
            });
            let is_written = file.write_at(b"new", 0).await.is_ok();
            killer.await.unwrap();
            assert!(file.write_at(b"newer", 0).await.is_err(), "a file of an earlier life");
            db.restart();
            assert!(file.sync_all().await.is_err(), "a file of an earlier life");
            let found = db.spawn(async { read_or_none("/f").await }).await.unwrap().unwrap();
            match death {
                Death::Kill => assert_eq!(found, if is_written { "new" } else { "" }),
                Death::PowerOff if is_written => assert!(["", "000", "new"].contains(&&*found)),
                Death::PowerOff => assert_eq!(found, ""),
            }
        });
        proves(&report);
    }
}

fn die(db: &Node, death: Death) {
    match death {
        Death::Kill => db.kill(),
        Death::PowerOff => db.power_off(),
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_death_gives_locks_up() {
    for death in [Death::Kill, Death::PowerOff] {
        let report = search().run(async || {
            let db = node("db");
            db.run(|| async {
                let mut options = OpenOptions::new();
                let file = options.write(true).create(true).open("/lock").await.unwrap();
                file.lock().await.unwrap();
                file.write_at(b"held", 0).await.unwrap();
            });
            let killer = spawn({
                let db = db.clone();
                async move { die(&db, death) }
            });
            killer.await.unwrap();
            db.restart();
            let locking = db.spawn(async {
                let mut options = OpenOptions::new();
                let file = options.write(true).create(true).open("/lock").await.unwrap();
                file.lock().await.unwrap();
            });
            locking.await.unwrap();
        });
        proves(&report);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_wiped_node_has_a_new_disk() {
    let report = search().run(async || {
        let db = node("db");
        db.spawn(async { old("/f").await.unwrap() }).await.unwrap();
        db.kill();
        db.wipe();
        db.restart();
        assert_eq!(db.spawn(async { read_or_none("/f").await }).await.unwrap(), None);
        db.spawn(async { old("/g").await.unwrap() }).await.unwrap();
    });
    proves(&report);
}

/// A node creates a file in one life, and finds it in the next life. Then the machine of the node fails. The bug shows
/// if a kill comes between the creation of the file and the sync of the directory: the page cache has the name, but the
/// disk does not.
async fn synced_by_the_maker(always: bool) {
    let live = || async move {
        let is_new = !fs::try_exists("/f").await.unwrap();
        let file = OpenOptions::new().create(true).append(true).open("/f").await.unwrap();
        if is_new || always {
            sync("/").await.unwrap();
        }
        file.sync_all().await.unwrap();
    };
    let db = node("db");
    db.spawn(live()).detach();
    let killer = spawn({
        let db = db.clone();
        async move { db.restart() }
    });
    killer.await.unwrap();
    db.spawn(live()).await.unwrap();
    db.power_off();
    db.restart();
    assert!(db.spawn(fs::try_exists("/f")).await.unwrap().unwrap(), "the name is lost");
}

#[cfg_attr(feature = "sim", test)]
fn a_name_in_the_page_cache_is_not_durable() {
    let found = search().run(async || synced_by_the_maker(false).await);
    assert!(screen(&found).contains("the name is lost"), "{}", screen(&found));
    proves(&search().run(async || synced_by_the_maker(true).await));
}
