//! Tests of the places of operations.

use std::sync::Mutex;

use super::kept_sites::LeftSites;
use super::*;

fn frame(function: &str, file: &str) -> Frame {
    Frame { function: function.into(), file: file.into(), line: 7, column: 5 }
}

pub(in super::super) fn the_line_of_the_user_is_the_first_outside_of_std() {
    let std = "/rustc/0000/library";
    let load = frame("load", &format!("{std}/core/src/sync/atomic.rs"));
    let own = frame("bench::grow", "src/grow.rs");
    let found = site(&[load.clone(), own.clone(), frame("main", "src/main.rs")]);
    assert_eq!(
        (found.place.to_string().as_str(), found.is_point(Points::default())),
        ("src/grow.rs:7:5", true)
    );
    let spawn = frame("spawn_unchecked", &format!("{std}/std/src/thread/lifecycle.rs"));
    assert!(!site(&[load.clone(), spawn.clone(), own.clone()]).is_point(Points::default()));
    assert!(
        site(&[load.clone(), own.clone(), spawn]).is_point(Points::default()),
        "called by std, not of it"
    );
    let of_user = "std::thread::spawn_unchecked::<bench::parks::{closure#0}>";
    let spawn = frame(of_user, &format!("{std}/std/src/thread/lifecycle.rs"));
    assert!(!site(&[load.clone(), spawn, own.clone()]).is_point(Points::default()));
    let detect = frame("test", &format!("{std}/std_detect/src/detect/cache.rs"));
    assert!(!site(&[load.clone(), detect, own.clone()]).is_point(Points::default()));
    let park = frame("std::thread::park", &format!("{std}/std/src/thread/functions.rs"));
    assert!(site(&[load.clone(), park.clone(), own.clone()]).is_point(Points::default()));
    let of_shuttle = |name: &str| frame(name, "/registry/unpause-shuttle-0.1.0/src/thread.rs");
    for (name, loose) in [
        ("shuttle::thread::park", Some(Loose::Park)),
        ("shuttle::thread::sleep", Some(Loose::Sleep)),
        ("shuttle::thread::spawn::<bench::parks>", None),
    ] {
        let frames = [load.clone(), park.clone(), of_shuttle(name), own.clone()];
        assert_eq!(site(&frames).loose, loose, "{name}");
    }
    assert_eq!(site(&[load.clone(), park, own.clone()]).loose, None, "of std");
    let end = frame("<x::JoinInner<()>>::is_finished", &format!("{std}/std/src/thread/x.rs"));
    let seen = site(&[load.clone(), end, own.clone()]);
    assert_eq!((seen.is_point(Points::default()), seen.shows), (true, Some(Shown::End)));
    let flag = |name: &str| frame(name, &format!("{std}/std/src/sync/poison.rs"));
    let lock = |name: &str| frame(name, &format!("{std}/std/src/sync/poison/mutex.rs"));
    for (inner, outer, expected) in [
        (&["get"][..], "<x::Mutex<u8>>::is_poisoned", (true, Some(Shown::Poison))),
        (&["clear"], "<x::Mutex<u8>>::clear_poison", (true, Some(Shown::Poison))),
        (&["get"], "<x::Mutex<u8> as core::fmt::Debug>::fmt", (true, Some(Shown::Poison))),
        (&["get", "guard"], "<x::Mutex<u8>>::lock", (false, None)),
        (&["done"], "<x::MutexGuard<u8> as core::ops::drop::Drop>::drop", (false, None)),
    ] {
        let frames = [load.clone()].into_iter().chain(inner.iter().map(|name| flag(name)));
        let frames: Vec<_> = frames.chain([lock(outer), own.clone()]).collect();
        let seen = site(&frames);
        assert_eq!((seen.is_point(Points::default()), seen.shows), expected, "{outer}");
        assert_eq!(seen.is_of_mark, expected.1.is_none(), "{outer}");
    }
    let facade = frame("run", "/registry/unpause-shuttle-0.1.0/src/future/mod.rs");
    let thread = frame("main", &format!("{std}/std/src/thread/lifecycle.rs"));
    let found = site(&[load.clone(), facade.clone(), thread.clone()]);
    assert!(found.is_point(Points::default()), "of a facade, in its own thread");
    assert_eq!((found.place.file(), found.primitive), ("std/src/thread/lifecycle.rs", None));
    assert!(!site(&[load.clone(), thread, facade]).is_point(Points::default()), "of std, for it");
    let cell = frame("begin", "/registry/unpause-loom-0.1.0/src/cell.rs");
    let counted = site(&[load.clone(), cell.clone(), own.clone()]);
    assert_eq!((counted.is_of_cell, counted.place.file()), (true, "src/grow.rs"));
    assert!(!site(&[load.clone(), own.clone(), cell]).is_of_cell, "in a closure");
    let with = frame("try_with", &format!("{std}/std/src/thread/local.rs"));
    let recv = frame("recv", &format!("{std}/std/src/sync/mpmc/list.rs"));
    let last = frame("drop_slow", "/rustc/0000/library/alloc/src/sync.rs");
    for outer in [with, last] {
        let whole = site(&[load.clone(), recv.clone(), outer.clone(), own.clone()]);
        assert!(whole.is_point(Points::default()), "{outer:?}");
        assert!(!site(&[load.clone(), outer, recv.clone()]).is_point(Points::default()));
    }
    let count = frame("clone", "/rustc/0000/library/alloc/src/sync.rs");
    let named =
        frame("native::named::<()>", concat!(env!("CARGO_MANIFEST_DIR"), "/src/native/mod.rs"));
    let arc = Points { arc: Some(true), ..Points::default() };
    assert!(site(&[count.clone(), own.clone(), named.clone()]).is_point(arc));
    assert!(!site(&[count.clone(), named]).is_point(arc), "not of the program");
    let first = frame("call", "unpause-native/src/linux/local.rs");
    let dropped = frame("drop_in_place", &format!("{std}/core/src/ptr/mod.rs"));
    let whole = site(&[count.clone(), dropped.clone(), own.clone(), first.clone()]);
    assert!(whole.is_point(arc), "of the test");
    assert!(!site(&[count, dropped, first]).is_point(arc), "of the function of this library");
    let replaced = frame("unpause_std_notify_one", "/rustc/unpause/replaced/condvar.rs");
    let end = frame("drop", &format!("{std}/std/src/thread/lifecycle.rs"));
    let found = site(&[load.clone(), replaced.clone(), own.clone()]);
    assert_eq!((found.primitive, found.is_point(Points::default())), (Some("Condvar"), true));
    let begins = frame("run", "unpause-native/src/linux/thread.rs");
    let found = site(&[load.clone(), replaced.clone(), end.clone(), begins]);
    assert_eq!(
        (found.place.file(), found.is_point(Points::default())),
        ("std/src/thread/lifecycle.rs", true)
    );
    assert!(
        !site(&[load.clone(), end, replaced]).is_point(Points::default()),
        "called by it, not of it"
    );
    let merged = Frame { line: 0, ..own.clone() };
    let calls = Frame { line: 9, ..own.clone() };
    assert_eq!(site(&[load.clone(), merged, calls]).place.line(), 9);
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing/parallel/blocking.rs");
    assert_eq!(site(&[load, frame("stages", ours), own]).place.file(), "src/grow.rs");
}

pub(in super::super) fn the_places_of_a_thread_are_taken_over() {
    let left = LeftSites(Mutex::default());
    let mut sites = left.take();
    assert!(sites.known.is_empty(), "no thread has ended");
    sites.known.insert(7, Site::NOWHERE);
    left.leave(sites);
    assert!(left.take().known.contains_key(&7));
    assert!(left.take().known.is_empty(), "another thread has them");
}
