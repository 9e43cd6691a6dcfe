//! The panic hook of std. A run begins with the hook of the process, which is restored after the run.
//!
//! The hook of the process is a box. If a run sets another hook, std drops the previous hook, and a run that takes the
//! hook may drop it. So a run gets another box in its place, which has no memory and calls the hook of the process.

use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::statics;
use crate::linux::image;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Sync + Send;

/// The two words of the process hook, saved during a run.
static OUTER: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// The addresses of the words of std's static: the two words of its hook, and the words of its lock.
struct Place {
    hook: [usize; 2],
    lock: Vec<usize>,
}

/// Returns the place, after the process has set a hook. Before that, the words of the hook cannot be distinguished from
/// the other words.
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

/// Returns `true` for the two words of a box with a hook: the address of its memory, and of its function table.
fn is_hook(memory: usize, table: usize) -> bool {
    let is_in_program = |address: usize| {
        address.wrapping_sub(image::load_address()) < image::size() && address.is_multiple_of(8)
    };
    memory != 0 && is_in_program(table) && {
        // The size and the alignment follow the drop function in the table.
        let (size, align) = (read(table + 8), read(table + 16));
        size < 1 << 20 && align.is_power_of_two()
    }
}

fn read(address: usize) -> usize {
    // SAFETY: this is a word of a std static, or of a constant of the program.
    unsafe { (address as *const usize).read_volatile() }
}

fn write(address: usize, word: usize) {
    // SAFETY: this is a word of a std static. No thread of a run exists, and OS threads lock the static while they use
    // it.
    unsafe { (address as *mut usize).write_volatile(word) };
}

/// The hook of a run that has not set a hook.
fn relay(info: &PanicHookInfo<'_>) {
    let [memory, table] = OUTER.each_ref().map(|word| word.load(Ordering::Relaxed));
    if memory == 0 {
        return;
    }
    // SAFETY: these are the words of the hook that the process had when the run began. No code drops this hook during
    // the run.
    let hook: &Hook = unsafe { std::mem::transmute([memory, table]) };
    hook(info);
}

/// Returns the two words of a box with the relay hook, which has no memory.
fn relaying() -> [usize; 2] {
    let hook: Box<Hook> = Box::new(relay);
    // SAFETY: both types are two words.
    unsafe { std::mem::transmute(Box::into_raw(hook)) }
}

/// Replaces the hook. An OS thread may panic at the same time, and call the hook between two writes. So the relay hook
/// is set in between, because it does not read its memory and may have any address.
fn replace(place: &Place, [memory, table]: [usize; 2]) {
    write(place.hook[1], relaying()[1]);
    fence(Ordering::SeqCst);
    write(place.hook[0], memory);
    fence(Ordering::SeqCst);
    write(place.hook[1], table);
}

/// Sets the hook at the start of a run.
pub(super) fn begin() {
    let Some(place) = place() else { return };
    let outer = place.hook.map(read);
    OUTER.iter().zip(outer).for_each(|(word, outer)| word.store(outer, Ordering::Relaxed));
    // Memory 0 marks std's own hook, which is not a box.
    if outer[0] != 0 {
        replace(place, relaying());
    }
}

/// Restores the hook at the end of a run. `is_left` is true if a thread of the run may hold the lock.
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

/// Finds the hook. A copy of the process uses the result.
pub(super) fn find() {
    place();
}

/// Unlocks the hook in a copy of the process. No thread of the copy calls the hook.
pub(super) fn begin_copy() {
    for address in place().into_iter().flat_map(|place| &place.lock) {
        write(*address, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::locks::tests::ends_in_copy;
    use super::*;

    #[test]
    fn a_hook_of_a_run_ends_with_it() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        static OF_RUN: AtomicUsize = AtomicUsize::new(0);
        // The message is checked, because another test may fail at the same time.
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
            // Error reporters replace the hook in this way.
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
        // A thread that calls the hook is not in a copy of the process.
        let word = place().expect("the hook is known").lock[0];
        // SAFETY: this is the word with the number of readers, which other threads access with atomic operations.
        let readers = unsafe { AtomicU32::from_ptr(word as *mut u32) };
        readers.fetch_add(1, Ordering::SeqCst);
        let ends = ends_in_copy(|| std::panic::set_hook(Box::new(|_| ())));
        readers.fetch_sub(1, Ordering::SeqCst);
        assert!(ends);
        // The first hook must still be a box that can be dropped.
        drop(std::panic::take_hook());
    }
}
