//! The counts of `Arc` without the setting `arc`: a search has the outcomes of all orders of its steps.

use std::sync::Weak;

use super::*;

/// A value whose destructor is a point.
struct Ends(Arc<AtomicU64>, u64);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(thread_number(), SeqCst);
        let _ = self.1;
    }
}

mod drops {
    pub struct Value;
}

/// A point that conflicts with no other.
fn point() {
    std::hint::black_box(&AtomicU64::new(0)).store(1, SeqCst);
}

fn thread_number() -> u64 {
    if thread::current().name() == Some("second") { 2 } else { 1 }
}

fn second<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().name("second".into()).spawn(f).unwrap()
}

macro_rules! counts {
    ($($name:ident $body:block)*) => {
        $(fn $name() { outcome(stringify!($name), $body); })*
        const COUNTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

counts! {
    count_there {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || Arc::strong_count(&b));
        point();
        drop(a);
        other.join().unwrap()
    }
    count_here {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || { point(); drop(b) });
        let seen = Arc::strong_count(&a);
        other.join().unwrap();
        seen
    }
    count_here_late {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || drop(b));
        point();
        let seen = Arc::strong_count(&a);
        other.join().unwrap();
        seen
    }
    upgrade_there {
        let a = Arc::new(());
        let weak = Arc::downgrade(&a);
        let other = second(move || weak.upgrade().is_some());
        point();
        drop(a);
        other.join().unwrap()
    }
    get_mut_here {
        let mut a = Arc::new(());
        let b = a.clone();
        let other = second(move || drop(b));
        point();
        let seen = Arc::get_mut(&mut a).is_some();
        other.join().unwrap();
        seen
    }
    try_unwrap_there {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || Arc::try_unwrap(b).is_ok());
        point();
        drop(a);
        other.join().unwrap()
    }
    into_inner_both {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || Arc::into_inner(b).is_some());
        point();
        let here = Arc::into_inner(a).is_some();
        (here, other.join().unwrap())
    }
    destructor {
        let ended = Arc::new(AtomicU64::new(0));
        let a = Arc::new(Ends(ended.clone(), 0));
        let b = a.clone();
        let other = second(move || { point(); drop(b) });
        point();
        drop(a);
        other.join().unwrap();
        ended.load(SeqCst)
    }
    destructor_of_an_inner_value {
        let ended = Arc::new(AtomicU64::new(0));
        let a = Arc::new(Arc::new(Ends(ended.clone(), 0)));
        let (b, c) = (a.clone(), Arc::clone(&a));
        let other = second(move || { point(); drop(b) });
        let inner = Arc::clone(&c);
        drop(c);
        point();
        drop(a);
        point();
        drop(inner);
        other.join().unwrap();
        ended.load(SeqCst)
    }
    destructor_by_three {
        let ended = Arc::new(AtomicU64::new(0));
        let a = Arc::new(Ends(ended.clone(), 0));
        let others = [a.clone(), a.clone()].map(|a| thread::spawn(move || {
            point();
            drop(a);
        }));
        point();
        drop(a);
        others.into_iter().for_each(|other| other.join().unwrap());
        ended.load(SeqCst)
    }
    destructor_of_a_message {
        let ended = Arc::new(AtomicU64::new(0));
        let a = Arc::new(Ends(ended.clone(), 0));
        let (sender, receiver) = mpsc::channel();
        sender.send(a.clone()).unwrap();
        let other = second(move || drop(receiver));
        drop((a, sender));
        other.join().unwrap();
        ended.load(SeqCst)
    }
    cloned_there {
        let (a, word) = (Arc::new(()), Arc::new(AtomicU64::new(0)));
        let (b, there) = (a.clone(), word.clone());
        let other = second(move || {
            there.store(1, SeqCst);
            let c = b.clone();
            let old = there.swap(2, SeqCst);
            drop((b, c));
            old
        });
        let old = word.swap(3, SeqCst);
        let count = Arc::strong_count(&a);
        (old, count, other.join().unwrap())
    }
    weak_counts {
        let a = Arc::new(());
        let (weak, b) = (Arc::downgrade(&a), a.clone());
        let other = second(move || {
            let more = (weak.clone(), Arc::downgrade(&b));
            point();
            drop(more);
            point();
            drop(weak);
        });
        point();
        let seen = Arc::weak_count(&a);
        other.join().unwrap();
        (seen, Arc::weak_count(&a))
    }
    unwrap_or_clone_here {
        struct Cloned(u64);
        impl Clone for Cloned {
            fn clone(&self) -> Cloned { Cloned(self.0 + 1) }
        }
        let a = Arc::new(Cloned(0));
        let b = a.clone();
        let other = second(move || drop(b));
        point();
        let Cloned(seen) = Arc::unwrap_or_clone(a);
        other.join().unwrap();
        seen
    }
    make_mut_here {
        let mut a = Arc::new(7);
        let b = a.clone();
        let at = Arc::as_ptr(&a);
        let other = second(move || drop(b));
        point();
        let is_same = std::ptr::eq(Arc::make_mut(&mut a), at);
        other.join().unwrap();
        is_same
    }
    spin_on_a_count {
        let a = Arc::new(());
        let b = a.clone();
        let other = second(move || { point(); drop(b) });
        while Arc::strong_count(&a) > 1 {}
        other.join().unwrap()
    }
    clones_in_a_scope {
        let a = Arc::new(());
        let count = || { point(); let b = a.clone(); point(); Arc::strong_count(&b) };
        thread::scope(|scope| {
            let other = scope.spawn(count);
            (count(), other.join().unwrap())
        })
    }
    of_a_named_type {
        let a = Arc::new(drops::Value);
        let b = a.clone();
        let other = second(move || Arc::strong_count(&b));
        point();
        drop(a);
        other.join().unwrap()
    }
    downgrade_beside_a_bar {
        let mut a = Arc::new(());
        let b = Arc::new(AtomicU64::new(0));
        let c = b.clone();
        let other = second(move || {
            let weak = Arc::downgrade(&c);
            c.store(1, SeqCst);
            let again = Arc::downgrade(&c);
            drop((weak, again, c));
        });
        let seen = b.load(SeqCst);
        other.join().unwrap();
        drop(b);
        (seen, Arc::get_mut(&mut a).is_some())
    }
    bar_beside_a_downgrade {
        let mut a = Arc::new(());
        let b = a.clone();
        let other = second(move || { let weak = Arc::downgrade(&b); drop(b); weak.strong_count() });
        let seen = (Arc::get_mut(&mut a).is_some(), Arc::get_mut(&mut a).is_some());
        (seen, other.join().unwrap())
    }
    joined_before {
        let (a, word) = (Arc::new(Ends(Arc::new(AtomicU64::new(0)), 0)), Arc::new(AtomicU64::new(0)));
        let (b, there) = (a.clone(), word.clone());
        let other = second(move || { there.swap(1, SeqCst); drop(b) });
        let seen = word.swap(2, SeqCst);
        other.join().unwrap();
        let unwrapped = Arc::try_unwrap(a).is_ok();
        (seen, unwrapped, Arc::strong_count(&word))
    }
    weak_each {
        let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)]);
        let a = Arc::new(());
        let weak = Arc::downgrade(&a);
        let (b, wb, there): (_, Weak<()>, _) = (a.clone(), weak.clone(), words.clone());
        let other = second(move || {
            there[0].store(1, SeqCst);
            drop(b);
            let old = there[2].swap(1, SeqCst);
            drop(wb);
            old
        });
        words[1].store(1, SeqCst);
        drop(a);
        let old = words[2].swap(2, SeqCst);
        drop(weak);
        (old, other.join().unwrap())
    }
}

/// The outcomes of all interleavings of the steps, without the counts as points.
fn in_any_order(name: &str, body: fn()) -> BTreeSet<String> {
    drop(outcomes(name));
    let report = runner("preemptions", 200_000).run_native(body);
    assert!(report.finding.is_none(), "{name}");
    let searched = report.searched.unwrap();
    assert!(searched.bound.is_none() && searched.is_proof(), "{name}: {searched:?}");
    outcomes(name)
}

#[test]
fn a_search_without_counts_as_points_has_the_outcomes_of_all_orders_of_its_steps() {
    let mut wrong = Vec::new();
    fs::create_dir_all(FOLDER).unwrap();
    for (name, body) in COUNTS {
        let expected = in_any_order(name, *body);
        for arc in [None, Some(false), Some(true)] {
            drop(outcomes(name));
            let runner = runner("exhaustive", 20_000);
            let runner = arc.map_or(runner.clone(), |arc| runner.arc(arc));
            let report = runner.run_native(*body);
            assert!(report.finding.is_none(), "{name}");
            let (searched, found) = (report.searched.unwrap(), outcomes(name));
            eprintln!(
                "{name} {arc:?}: {found:?} in {} runs, {} blocked, proof: {}",
                report.runs,
                searched.blocked,
                searched.is_proof()
            );
            let agrees =
                if arc == Some(true) { found.is_superset(&expected) } else { found == expected };
            if !agrees || !searched.is_proof() {
                wrong.push(format!("{name} {arc:?}: {found:?}, not {expected:?}: {searched:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
