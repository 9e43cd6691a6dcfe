//! std's panic hook: a run begins with the hook of the process, which is there again after the run.
//!
//! The hook of the process is a box. A run that sets another hook drops it, and a run that takes it
//! may drop it. So a run has a box without memory in its place, which calls the hook of the
//! process.

use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::statics;
use crate::linux::image;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Sync + Send;

/// The two words of the hook of the process, while a run is on.
static OUTER: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// The addresses of the words of std's static: the words of its hook, and the words of its lock.
struct Place {
    hook: [usize; 2],
    lock: Vec<usize>,
}

/// The place, once the process has set a hook: before that the words of the hook cannot be
/// distinguished from the others.
fn place() -> Option<&'static Place> {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get().or_else(|| {
        let range = statics::range("panicking::HOOK")?;
        let words: Vec<usize> = range.step_by(size_of::<usize>()).collect();
        let at = words.windows(2).position(|pair| is_hook(read(pair[0]), read(pair[1])))?;
        let lock = words.iter().enumerate().filter(|(nth, _)| !(at..at + 2).contains(nth));
        let lock = lock.map(|(_, address)| *address).collect();
        Some(PLACE.get_or_init(|| Place { hook: [words[at], words[at + 1]], lock }))
    })
}

/// Returns `true` for the two words of a box with a hook: its memory, and the table of its functions.
fn is_hook(memory: usize, table: usize) -> bool {
    let is_in_program = |address: usize| {
        address.wrapping_sub(image::load_address()) < image::size() && address.is_multiple_of(8)
    };
    memory != 0 && is_in_program(table) && {
        // Behind the function that drops it: its size and its alignment.
        let (size, align) = (read(table + 8), read(table + 16));
        size < 1 << 20 && align.is_power_of_two()
    }
}

fn read(address: usize) -> usize {
    // SAFETY: a word of a static of std, or of a constant of the program.
    unsafe { (address as *const usize).read_volatile() }
}

fn write(address: usize, word: usize) {
    // SAFETY: a word of std's static. No thread of a run exists, and threads of the system lock it while they use it.
    unsafe { (address as *mut usize).write_volatile(word) };
}

/// The hook of a run that has set none.
fn relay(info: &PanicHookInfo<'_>) {
    let [memory, table] = OUTER.each_ref().map(|word| word.load(Ordering::Relaxed));
    if memory == 0 {
        return;
    }
    // SAFETY: the words of the hook that the process had when the run began. Nobody drops it while the run is on.
    let hook: &Hook = unsafe { std::mem::transmute([memory, table]) };
    hook(info);
}

/// Returns the two words of a box with the relay, which has no memory.
fn relaying() -> [usize; 2] {
    let hook: Box<Hook> = Box::new(relay);
    // SAFETY: both are two words.
    unsafe { std::mem::transmute(Box::into_raw(hook)) }
}

/// Replaces the hook. A thread of the system may panic at the same time and call the hook between two writes: the relay
/// may have any memory, because it does not read it.
fn replace(place: &Place, [memory, table]: [usize; 2]) {
    write(place.hook[1], relaying()[1]);
    fence(Ordering::SeqCst);
    write(place.hook[0], memory);
    fence(Ordering::SeqCst);
    write(place.hook[1], table);
}

/// A run begins.
pub(super) fn begin() {
    let Some(place) = place() else { return };
    let outer = place.hook.map(read);
    OUTER.iter().zip(outer).for_each(|(word, outer)| word.store(outer, Ordering::Relaxed));
    // Memory 0 is std's own hook, which is no box.
    if outer[0] != 0 {
        replace(place, relaying());
    }
}

/// The run is over. `is_left` is true if a thread of it may hold the lock.
pub(super) fn end(is_left: bool) {
    let Some(place) = place() else { return };
    let outer = OUTER.each_ref().map(|word| word.load(Ordering::Relaxed));
    if outer[0] != 0 || read(place.hook[0]) != 0 {
        replace(place, outer);
    }
    if is_left {
        super::locks::free(&place.lock, size_of::<usize>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_of_a_run_ends_with_it() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        static OF_RUN: AtomicUsize = AtomicUsize::new(0);
        // Another test may fail at the same time.
        let count = |count: &AtomicUsize, info: &PanicHookInfo<'_>| {
            let is_own = info.payload().downcast_ref() == Some(&"on purpose");
            count.fetch_add(usize::from(is_own), Ordering::Relaxed);
        };
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            count(&COUNT, info);
            before(info);
        }));
        let panics = || drop(std::panic::catch_unwind(|| panic!("on purpose")));
        for run in 0..3 {
            begin();
            // As error reporters do it.
            let before = std::panic::take_hook();
            let text = format!("of run {run}");
            std::panic::set_hook(Box::new(move |info| {
                assert!(text.starts_with("of run"));
                count(&OF_RUN, info);
                before(info);
            }));
            panics();
            end(false);
        }
        panics();
        assert_eq!([&COUNT, &OF_RUN].map(|count| count.load(Ordering::Relaxed)), [4, 3]);
        // The first hook is still a box that can be dropped.
        drop(std::panic::take_hook());
    }
}
