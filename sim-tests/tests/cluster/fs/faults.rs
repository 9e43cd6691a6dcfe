//! Disk faults. Code that ignores a fault must fail, and code that handles it must pass.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sim::fs::{Faults, Rules};

use super::*;

/// Runs a body that must fail when it is careless, and pass when it is careful.
fn told_apart(faults: Faults, body: impl AsyncFn(bool) + Sync) {
    for runner in [Runner::new().hermetic().seeds(0..300), search()] {
        let tried = |careful: bool| {
            let (faults, body) = (faults.clone(), &body);
            runner.clone().run(async move || {
                fs::faults(faults.clone());
                body(careful).await;
            })
        };
        assert!(!tried(false).passed(), "{}", screen(&tried(false)));
        passes(&tried(true));
    }
    // Without the fault, both variants pass.
    proves(&search().run(async || body(false).await));
}

#[cfg_attr(feature = "sim", test)]
fn writes_and_reads_are_short() {
    told_apart(Faults::none().short(2), async |careful| {
        let mut file = File::create("/a").await.unwrap();
        match careful {
            true => file.write_all(b"four").await.unwrap(),
            false => drop(file.write(b"four").await.unwrap()),
        }
        assert_eq!(file.metadata().await.unwrap().len(), 4);
    });
    told_apart(Faults::none().short(1), async |careful| {
        fs::write("/a", "four").await.unwrap();
        let mut file = File::open("/a").await.unwrap();
        let mut four = [0; 4];
        match careful {
            true => drop(file.read_exact(&mut four).await.unwrap()),
            false => drop(file.read(&mut four).await.unwrap()),
        }
        assert_eq!(&four, b"four");
    });
}

#[cfg_attr(feature = "sim", test)]
fn disks_are_full() {
    told_apart(Faults::none().full(1), async |careful| {
        let written = fs::write("/a", "four").await;
        assert!(
            written.is_ok() || careful && written.unwrap_err().kind() == ErrorKind::StorageFull
        );
    });
    let report = search().run(async || {
        fs::faults(Faults::none().capacity(1024));
        let mut file = File::create("/a").await.unwrap();
        assert_eq!(file.write(&[1; 700]).await.unwrap(), 700);
        assert_eq!(file.write(&[1; 700]).await.unwrap(), 324);
        assert_eq!(file.write(&[1; 700]).await.unwrap_err().kind(), ErrorKind::StorageFull);
        fs::remove_file("/a").await.unwrap();
        assert!(fs::write("/b", "b").await.is_err(), "the open file has the room");
        drop(file);
        fs::write("/b", "b").await.unwrap();
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_sector_that_cannot_be_read_can_be_written() {
    told_apart(Faults::none().read_errors(1), async |careful| {
        fs::write("/a", [7; 512]).await.unwrap();
        let found = fs::read("/a").await;
        match careful {
            false => drop(found.unwrap()),
            true if found.is_err() => {
                assert!(fs::read("/a").await.is_err(), "it mends itself");
                fs::write("/a", [7; 512]).await.unwrap();
                assert_eq!(fs::read("/a").await.unwrap(), [7; 512]);
            }
            true => {}
        }
    });
}

/// Syncs again after an error, or writes again.
#[cfg_attr(feature = "sim", test)]
fn a_sync_after_one_that_failed_covers_nothing() {
    told_apart(Faults::none().sync_errors(1), async |careful| {
        let db = node("db");
        let saving = db.spawn(async move {
            let file = File::create("/a").await.unwrap();
            if File::open("/").await.unwrap().sync_all().await.is_err() {
                return false;
            }
            file.write_at(b"new", 0).await.unwrap();
            while file.sync_all().await.is_err() {
                if careful {
                    // The file's length counts as written, too, so it must be set again.
                    file.set_len(0).await.unwrap();
                    file.write_at(b"new", 0).await.unwrap();
                }
            }
            true
        });
        let is_saved = saving.await.unwrap();
        db.power_off();
        db.restart();
        let found = db.spawn(async { fs::read("/a").await.unwrap_or_default() }).await.unwrap();
        assert!(found == b"new" || !is_saved);
    });
}

/// A failed sync is an error for the files that are open, but not for a file that is opened later.
#[cfg_attr(feature = "sim", test)]
fn a_search_opens_a_file_before_and_after_a_sync_that_fails() {
    let orders = Mutex::new(BTreeSet::new());
    let report = search().run(async || {
        fs::faults(Faults::none().sync_errors(1));
        fs::write("/a", "new").await.unwrap();
        let file = File::open("/a").await.unwrap();
        // The order in which the calls took effect. The search does not see this list.
        let order = Arc::new(Mutex::new(Vec::new()));
        let [own, other] = [order.clone(), order.clone()];
        let syncing = spawn(async move {
            let has_failed = file.sync_all().await.is_err();
            own.lock().unwrap().push("sync");
            has_failed
        });
        let opening = spawn(async move {
            let file = File::open("/a").await.unwrap();
            other.lock().unwrap().push("open");
            let has_failed = file.sync_all().await.is_err();
            other.lock().unwrap().push("other sync");
            has_failed
        });
        let (has_failed, is_told) = (syncing.await.unwrap(), opening.await.unwrap());
        if has_failed {
            let order = order.lock().unwrap().clone();
            orders.lock().unwrap().insert((order, is_told));
        }
    });
    proves(&report);
    assert!(!report.searched.as_ref().unwrap().by_step, "{}", screen(&report));
    let orders = orders.into_inner().unwrap();
    let has = |order: [&'static str; 3], told| orders.contains(&(order.to_vec(), told));
    assert!(has(["sync", "open", "other sync"], false), "{orders:?}");
    assert!(has(["open", "sync", "other sync"], true), "{orders:?}");
    assert!(!has(["open", "sync", "other sync"], false), "{orders:?}");
    assert!(has(["open", "other sync", "sync"], false), "{orders:?}");
}

/// A sync on a full disk is like a failed sync: a second sync writes nothing.
#[cfg_attr(feature = "sim", test)]
fn a_full_disk_is_found_by_a_sync() {
    let saves = async |retries: bool| {
        fs::faults(Faults::none().full_at_sync(1));
        let db = node("db");
        let saving = db.spawn(async move {
            let file = File::create("/a").await.unwrap();
            file.write_at(b"new", 0).await.unwrap();
            while let Err(error) = file.sync_all().await {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                if !retries {
                    return false;
                }
            }
            File::open("/").await.unwrap().sync_all().await.is_ok()
        });
        let is_saved = saving.await.unwrap();
        db.power_off();
        db.restart();
        let found = db.spawn(async { fs::read("/a").await.unwrap_or_default() }).await.unwrap();
        assert!(found == b"new" || !is_saved);
    };
    proves(&search().run(async || saves(false).await));
    assert!(!search().run(async || saves(true).await).passed());
}

#[cfg_attr(feature = "sim", test)]
fn bits_rot() {
    let body = async |checks: bool| {
        let db = node("db");
        let saving = db.spawn(async {
            fs::write("/a", [7; 512]).await.unwrap();
            File::open("/a").await.unwrap().sync_all().await.unwrap();
            File::open("/").await.unwrap().sync_all().await.unwrap();
        });
        saving.await.unwrap();
        db.power_off();
        db.restart();
        let found = db.spawn(async { fs::read("/a").await.unwrap() }).await.unwrap();
        assert!(checks || found == [7; 512]);
    };
    let run = |faults: Faults, checks| {
        sampled(0..200, async || {
            fs::on(&node("other")).faults(Faults::none());
            fs::faults(faults.clone());
            body(checks).await;
        })
    };
    assert!(!run(Faults::none().rot(1), false).passed());
    passes(&run(Faults::none().rot(1), true));
    passes(&run(Faults::none(), false));
}

#[cfg_attr(feature = "sim", test)]
fn other_rules_are_named_and_faults_come_first() {
    let report = sampled(0..1, async || {
        fs::faults(Faults::none().rules(Rules::EXT4));
        let db = node("db");
        db.spawn(async { fs::write("/a", "a").await.unwrap() }).await.unwrap();
        db.power_off();
        panic!("the end");
    });
    let text = screen(&report);
    assert!(text.contains("the rules EXT4"), "{text}");
    let late = sampled(0..1, async || {
        fs::write("/a", "a").await.unwrap();
        fs::faults(Faults::none());
    });
    assert!(misuse(&late).contains("after its first use"), "{}", screen(&late));
}
