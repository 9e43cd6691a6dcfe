//! Files of nodes: their contents after a death, and the orders of calls that a search tries.

mod crashes;
mod dead;
mod faults;
mod maps;
#[cfg(target_os = "linux")]
mod real;

use std::io::{ErrorKind, SeekFrom};

use sim::fs::{self, File, OpenOptions};
use sim::report::Report;
use sim::{Runner, node, spawn};

use super::{misuse, passes, proves, screen, search};

fn sampled(seeds: std::ops::Range<u64>, body: impl AsyncFn() + Sync) -> Report {
    Runner::new().hermetic().seeds(seeds).run(body)
}

/// Calls on a file that no other task uses.
#[cfg_attr(feature = "sim", test)]
fn calls_have_the_results_of_std() {
    let report = sampled(0..20, async || {
        fs::create_dir_all("/d/e").await.unwrap();
        assert_eq!(fs::create_dir("/d").await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::write("/d/a", "some bytes").await.unwrap();
        let mut file = OpenOptions::new().read(true).append(true).open("/d/a").await.unwrap();
        file.write_all(b", and more").await.unwrap();
        assert_eq!(file.seek(SeekFrom::Start(5)).await.unwrap(), 5);
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "bytes, and more");
        let mut four = [0; 4];
        assert_eq!(file.read_at(&mut four, 0).await.unwrap(), 4);
        assert_eq!(&four, b"some");
        file.set_len(4).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 4);
        fs::hard_link("/d/a", "/d/b").await.unwrap();
        fs::rename("/d/a", "/d/e/c").await.unwrap();
        assert!(!fs::try_exists("/d/a").await.unwrap());
        assert_eq!(fs::read_to_string("/d/b").await.unwrap(), "some");
        assert_eq!(fs::copy("/d/b", "/x").await.unwrap(), 4);
        let mut entries = fs::read_dir("/d").await.unwrap();
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            names.push((entry.file_name(), entry.file_type().await.unwrap().is_dir()));
        }
        assert_eq!(names, [("b".into(), false), ("e".into(), true)]);
        assert_eq!(fs::remove_dir("/d").await.unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir_all("/d").await.unwrap();
        assert_eq!(fs::read("/d/b").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::metadata("/x").await.unwrap().len(), 4);
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn each_node_has_a_disk_and_so_has_the_outside() {
    let report = sampled(0..1, async || {
        let [a, b] = ["a", "b"].map(node);
        for (node, text) in [(&a, "a"), (&b, "b")] {
            node.spawn(async move { fs::write("/name", text).await.unwrap() }).await.unwrap();
        }
        fs::write("/name", "outside").await.unwrap();
        for (node, text) in [(&a, "a"), (&b, "b")] {
            let read = node.spawn(async { fs::read_to_string("/name").await.unwrap() });
            assert_eq!(read.await.unwrap(), text);
        }
        assert_eq!(fs::read_to_string("/name").await.unwrap(), "outside");
        let file = a.enter(|| File::open("/name")).await.unwrap();
        b.spawn(async move { drop(file.metadata().await) }).await.unwrap();
    });
    assert!(misuse(&report).contains("a file of a is used by another node"), "{}", screen(&report));
}

/// The number of runs of a search.
#[track_caller]
fn runs(body: impl AsyncFn() + Sync) -> u64 {
    let report = search().run(body);
    proves(&report);
    report.runs
}

/// Two tasks that write in these files.
async fn two_writers([one, two]: [&'static str; 2]) {
    fs::write("/a", "0").await.unwrap();
    fs::write("/b", "0").await.unwrap();
    let tasks = [one, two].map(|path| {
        spawn(async move {
            let mut file = OpenOptions::new().write(true).open(path).await.unwrap();
            file.write_all(path.as_bytes()).await.unwrap();
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn calls_on_different_files_commute() {
    assert_eq!(runs(async || two_writers(["/a", "/b"]).await), 1);
    assert_eq!(runs(async || two_writers(["/a", "/a"]).await), 2);
    // Two entries of one directory are one object.
    let makers = async || {
        let tasks = ["/a", "/b"].map(|path| spawn(async move { fs::create_dir(path).await }));
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    };
    assert_eq!(runs(makers), 2);
    let readers = async || {
        fs::write("/a", "0").await.unwrap();
        let tasks = [(); 3].map(|()| spawn(fs::read("/a")));
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap(), b"0");
        }
    };
    assert_eq!(runs(readers), 1);
}

/// Two tasks read a number and write the next number.
async fn increments(locks: bool) {
    fs::write("/count", [0]).await.unwrap();
    let tasks = [(); 2].map(|()| {
        spawn(async move {
            let file = OpenOptions::new().read(true).write(true).open("/count").await.unwrap();
            if locks {
                file.lock().await.unwrap();
            }
            let mut count = [0];
            file.read_at(&mut count, 0).await.unwrap();
            file.write_at(&[count[0] + 1], 0).await.unwrap();
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fs::read("/count").await.unwrap(), [2]);
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_excludes_others() {
    assert!(!search().run(async || increments(false).await).passed());
    proves(&search().run(async || increments(true).await));
    passes(&sampled(0..100, async || increments(true).await));
}

#[cfg_attr(feature = "sim", test)]
fn readers_share_a_lock_and_a_writer_waits() {
    let report = search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
        one.lock_shared().await.unwrap();
        two.try_lock_shared().unwrap();
        let clone = two.try_clone().await.unwrap();
        let third = File::open("/a").await.unwrap();
        assert_eq!(third.try_lock().unwrap_err().kind(), ErrorKind::WouldBlock);
        let waits = spawn(async move { third.lock().await.unwrap() });
        one.unlock().unwrap();
        drop(two);
        // The clone has the lock.
        let other = File::open("/a").await.unwrap();
        assert_eq!(other.try_lock().unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(clone);
        waits.await.unwrap();
    });
    proves(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_conversion_that_fails_loses_the_old_lock() {
    proves(&search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
        one.lock_shared().await.unwrap();
        two.lock_shared().await.unwrap();
        assert_eq!(one.try_lock().unwrap_err().kind(), ErrorKind::WouldBlock);
        // Only the second file still has a lock, so it can convert this lock.
        two.try_lock().unwrap();
        two.lock().await.unwrap();
        assert_eq!(one.try_lock_shared().unwrap_err().kind(), ErrorKind::WouldBlock);
        two.try_lock_shared().unwrap();
        one.try_lock_shared().unwrap();
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_conversion_lets_other_files_lock_first() {
    // Each reader gives up its shared lock before it waits, so the two readers do not wait for each other.
    proves(&search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let tasks = [(); 2].map(|()| {
            spawn(async {
                let file = File::open("/a").await.unwrap();
                file.lock_shared().await.unwrap();
                file.lock().await.unwrap();
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    }));
    let read = std::sync::Mutex::new(std::collections::BTreeSet::new());
    proves(&search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let file = File::open("/a").await.unwrap();
        file.lock().await.unwrap();
        let writer = spawn(async {
            let file = OpenOptions::new().write(true).open("/a").await.unwrap();
            file.lock().await.unwrap();
            file.write_at(b"1", 0).await.unwrap();
        });
        file.lock_shared().await.unwrap();
        let text = fs::read_to_string("/a").await.unwrap();
        read.lock().unwrap().insert(text);
        drop(file);
        writer.await.unwrap();
    }));
    let read = read.into_inner().unwrap();
    assert!(read.iter().eq(["0", "1"]), "{read:?}");
}

/// Both tasks lock the same open file, and another open file shares the lock.
#[cfg_attr(feature = "sim", test)]
fn conversions_of_one_open_file_are_searched_in_each_order() {
    let results = std::sync::Mutex::new(std::collections::BTreeSet::new());
    proves(&search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let other = File::open("/a").await.unwrap();
        other.lock_shared().await.unwrap();
        let file = std::sync::Arc::new(File::open("/a").await.unwrap());
        let [one, two] = [file.clone(), file];
        let shares = spawn(async move {
            one.lock_shared().await.unwrap();
            one
        });
        let alone = spawn(async move {
            two.lock().await.unwrap();
            two
        });
        // The exclusive lock waits for the end of the shared lock of the other file.
        sim::task::yield_now().await;
        let before = shares.is_finished();
        drop(other);
        let one = shares.await.unwrap();
        let two = alone.await.unwrap();
        let third = File::open("/a").await.unwrap();
        results.lock().unwrap().insert((before, third.try_lock_shared().is_ok()));
        drop((one, two));
    }));
    let results = results.into_inner().unwrap();
    assert!(results.contains(&(false, true)) && results.contains(&(false, false)), "{results:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_that_nobody_gives_up_is_a_deadlock() {
    let report = search().run(async || {
        fs::write("/a", "0").await.unwrap();
        let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
        one.lock().await.unwrap();
        two.lock().await.unwrap();
    });
    let text = screen(&report);
    assert!(!report.passed() && text.contains("waits to lock file /a"), "{text}");
}

/// Futures' and tokio's traits.
#[cfg_attr(feature = "sim", test)]
fn a_file_is_a_stream() {
    use futures::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

    let report = Runner::new().hermetic().run(async || {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).open("/a").await.unwrap();
        let mut stream = futures::io::BufWriter::new(file);
        stream.write_all(b"bytes").await.unwrap();
        stream.flush().await.unwrap();
        stream.seek(SeekFrom::Start(1)).await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"ytes");
    });
    passes(&report);
}

/// tokio's traits, without its extensions.
#[cfg_attr(feature = "sim", test)]
fn a_file_is_a_stream_of_tokio() {
    use std::future::poll_fn;
    use std::pin::Pin;

    use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

    let report = sampled(0..20, async || {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).open("/a").await.unwrap();
        let mut file = Pin::new(&mut file);
        assert_eq!(poll_fn(|cx| file.as_mut().poll_write(cx, b"bytes")).await.unwrap(), 5);
        file.as_mut().start_seek(SeekFrom::Start(1)).unwrap();
        assert_eq!(poll_fn(|cx| file.as_mut().poll_complete(cx)).await.unwrap(), 1);
        assert_eq!(poll_fn(|cx| file.as_mut().poll_complete(cx)).await.unwrap(), 1);
        let mut room = [0; 9];
        let mut into = ReadBuf::new(&mut room);
        poll_fn(|cx| file.as_mut().poll_read(cx, &mut into)).await.unwrap();
        assert_eq!(into.filled(), b"ytes");
        poll_fn(|cx| file.as_mut().poll_shutdown(cx)).await.unwrap();
    });
    passes(&report);
}
