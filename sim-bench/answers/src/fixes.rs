//! The lines of the fix of each program.
//!
//! They are the lines that the fix changes, moves or joins; if it inserts code, the accesses to shared objects before
//! and after it. A change of a value under a lock counts as the line that takes the lock, because only this line is an
//! access.

use crate::crates::Bug;

/// A line with this text: the n-th one from the given number on, if there are several.
type Line = (&'static str, usize);

/// The lines of each program.
const FIXES: &[(&str, &[Line])] = &[
    ("account", &[("assert_eq!(account.balance, expected)", 1)]),
    ("lazy01", &[("assert!(*checker.lock().await <= most)", 1)]),
    ("token_ring", &[("&mut *ring.lock().await", 1)]),
    ("async_mutex", &[("self.waiting[me].store(true", 1), ("self.tokens[me].wait(", 1)]),
    ("bank_transfer", &[("accounts[from].lock()", 1), ("accounts[from + 1].lock()", 1)]),
    ("barrier", &[("shared.parts[me].set(5)", 1), ("part.get().await", 1)]),
    ("bluetooth", &[("self.stopping.load(", 1), ("self.pending.fetch_add(", 1)]),
    ("broadcast_lag", &[("slot.position.load(", 1), ("slot.value.load(", 1)]),
    ("permit_after_close", &[("sender.available.fetch_add(", 1), ("channel.registered.store(", 1)]),
    ("message_lost", &[("channel.queue.lock()", 1), ("channel.disconnected.load(", 1)]),
    ("disconnect_missed", &[("channel.disconnected.load(", 2), ("channel.hook.store(", 1)]),
    ("circular_buffer", &[("= other.lock().await", 1), ("= buffer.lock().await", 1)]),
    ("stack", &[("&mut *stack.lock().await", 1)]),
    ("presumed_abort", &[("shared.timeout.load(", 1), ("shared.outcomes[me].store(", 1)]),
    ("two_step_init", &[("channel.tail_index.load(", 1), ("channel.head_block.load()", 1)]),
    ("carter01", &[("counters.lock().await;", 1), ("resource.lock().await", 1)]),
    ("deadlock01", &[("locks[first].lock()", 1), ("locks[1 - first].lock()", 1)]),
    ("phase01", &[("let kept = locks[0].lock()", 1)]),
    ("dining_3", &[("forks[first].lock()", 1), ("forks[second].lock()", 1)]),
    ("dining_5", &[("forks[first].lock()", 1), ("forks[second].lock()", 1)]),
    ("dining_7", &[("forks[first].lock()", 1), ("forks[second].lock()", 1)]),
    ("disruptor", &[("ring.slots[slot as usize].set(", 1), ("ring.cursor.store(slot)", 1)]),
    ("hazard_pointer", &[("hazard.store(object", 1), ("freed[object as usize].load(", 1)]),
    ("intern_drop", &[("references.fetch_sub(", 1), ("*table.lock().await = false", 1)]),
    ("double_checked_init", &[("early.set(7)", 1), ("late.set(7)", 1)]),
    ("lazy_monitor", &[("let mut mine = current.get()", 1), ("current.set(mine)", 1)]),
    ("once_cell", &[("state.load().await == 2", 1), ("made.fetch_add(", 1)]),
    ("notify_drop", &[("waiter.lock().await", 1), ("waiter.lock().await", 2)]),
    ("reentrant_unlock", &[("held.take_if(", 1), ("lock.count.set(0)", 1)]),
    ("reorder_3", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("reorder_4", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("reorder_5", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("reorder_10", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("reorder_20", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("reorder_50", &[("a.store(1", 1), ("b.store(-1", 1)]),
    ("writer_starves", &[("let mut state = lock.state.lock()", 1)]),
    ("seqlock", &[("a.store(value", 1), ("count.fetch_add(2", 1)]),
    ("cancelled_waiter", &[("cancelled.state.lock()", 1)]),
    ("missed_signal", &[("guard = ready.lock().await", 1), ("guard = ready.lock().await", 2)]),
    ("sync01", &[("let mut items = other.items.lock()", 1)]),
    ("cargill_buffer", &[("self.changed.notify_one()", 1)]),
    ("peterson", &[("turn.store(other", 1), ("wants[me].store(true", 1)]),
    ("bakery", &[("numbers[other].load(SeqCst).await + 1", 1), ("numbers[me].store(mine", 1)]),
    ("ticket_lock", &[("next.load(", 1), ("next.store(", 1)]),
    ("spsc_ring", &[("tail.store(item)", 1), ("slot.set(item)", 1)]),
    ("cache_stampede", &[("= cache.entry.lock().await", 1), ("cache.loads.fetch_add(", 1)]),
    ("stringbuffer", &[("guard = length.lock().await", 1), ("guard = length.lock().await", 2)]),
    ("timer_lost", &[("driver.shards[0].lock()", 1), ("driver.next_wake.store(", 1)]),
    ("treiber_aba", &[("self.head.load(", 1), (".compare_exchange(head", 1)]),
    ("twostage", &[("locks[0].lock()", 1), ("locks[1].lock()", 1)]),
    ("twostage_20", &[("locks[0].lock()", 1), ("locks[1].lock()", 1)]),
    ("twostage_50", &[("locks[0].lock()", 1), ("locks[1].lock()", 1)]),
    ("weak_upgrade", &[("handles.fetch_add(", 1), ("handles.store(0", 1)]),
    ("wronglock_3", &[("shared.locks[1].lock()", 1), ("shared.locks[0].lock()", 1)]),
    ("wronglock", &[("shared.locks[1].lock()", 1), ("shared.locks[0].lock()", 1)]),
    ("bank_audit", &[("let b = b.get()", 1), ("(0, a.get().await)", 1)]),
    ("set_compaction", &[("second.set(5)", 1), ("first.get().await == 5", 1)]),
    (
        "harris_list",
        &[("let next = self.next[node as usize].load(", 2), (".compare_exchange(from", 1)],
    ),
    ("two_level_index", &[("first.store(true", 1), ("second.store(true", 1)]),
    ("lagging_copy", &[("copies[copy].load(", 1)]),
    ("map_length", &[("other.value.swap(", 1), ("other.length.fetch_add(", 1)]),
    ("snapshot", &[("cells[0].load(", 1)]),
    ("striped_counter", &[("stripe.fetch_add(", 1), ("stripes[1 - first].load(", 1)]),
    ("try_lock_cas", &[(".compare_exchange(false, true", 1), ("self.busy.store(false", 1)]),
];

/// Checks that every bug has its lines, and that the table has no other program.
pub(crate) fn check(bugs: &[Bug]) -> Result<(), String> {
    for bug in bugs {
        lines(bug)?;
    }
    let is_known = |program: &str| bugs.iter().any(|bug| bug.program == program);
    match FIXES.iter().find(|(program, _)| !is_known(program)) {
        Some((program, _)) => Err(format!("the corpus has no program {program}")),
        None => Ok(()),
    }
}

/// The numbers of the lines, from 1.
pub(crate) fn lines(bug: &Bug) -> Result<Vec<usize>, String> {
    let row = FIXES.iter().find(|(program, _)| *program == bug.program);
    let (_, lines) = row.ok_or_else(|| format!("{}: no lines of its fix", bug.program))?;
    let number = |(text, n): &Line| {
        let found = bug.source.lines().enumerate().filter(|(_, line)| line.contains(text));
        let line = found.map(|(line, _)| line + 1).nth(n - 1);
        line.ok_or_else(|| format!("{}: no line with `{text}`", bug.program))
    };
    lines.iter().map(number).collect()
}
