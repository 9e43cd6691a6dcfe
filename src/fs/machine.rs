//! The disks of a run: one for each node, and one for code outside all nodes. Each call records its effects on inodes.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unpause_ordered::Map;

use super::disk_faults::{Faults, Rates};
use super::lock::FileLock;
use super::marks::{Marks, PartOf};
use super::trouble::{self, Befalls, DiskFault};
use crate::disk::{
    Accesses, Call, Choosing, Contents, Disk, Error, Handle, Ino, Loss, Object, Part, Settings,
};
use crate::node::{Cluster, Death, Node};
use crate::run::Failure;
use crate::run::event::ValueKind;
use crate::run::op::fs::{self, contents, inode};
use crate::run::op::{Access, Op, word};
use crate::seam::{self, Here, Wrapped};

const SEE: Op = Op::of_kind("see", Access::Peek, inode::READ).quiet();
const TOUCH: Op = Op::of_kind("touch", Access::Tell, inode::WRITE).quiet();
const SEE_BY_WORD: Op = Op::of_kind("see", Access::Peek, inode::READ_BY_WORD).quiet();
const READ_CONTENTS: Op = Op::of_kind("see", Access::Peek, contents::READ).quiet();
const STORE_CONTENTS: Op = Op::of_kind("touch", Access::Tell, contents::STORE).quiet();
const SEE_WORD: Op = Op::of_kind("see", Access::Peek, word::READ.looks().beside_a_point()).quiet();
const TOUCH_WORD: Op = Op::of_kind("touch", Access::Tell, word::WRITE).quiet();
const JOURNAL: Op = Op::of_kind("journal", Access::Tell, fs::JOURNAL).quiet();
const ROOM: Op = Op::of_kind("room", Access::Tell, fs::ROOM).quiet();
const DECIDE: Op = Op::of_kind("decide", Access::Tell, fs::DECIDE).quiet();
const CHANGE: Op = Op::of_kind("change", Access::Tell, fs::CHANGE).quiet();
const SYNC: Op = Op::of_kind("make_durable", Access::Tell, fs::SYNC).quiet();
const VISIT: Op = Op::of_kind("visit", Access::Tell, fs::VISIT).quiet();
const FAIL: Op = Op::of_kind("fail", Access::Tell, fs::FAIL).quiet();
const KILL: Op = Op::of_kind("close_files", Access::Tell, fs::KILL).quiet();
const POWER_OFF: Op = Op::of_kind("lose_cache", Access::Tell, fs::POWER_OFF).quiet();
// Screens show this operation, because it names the rules.
const POWER_OFF_UNDER_RULES: Op =
    Op::of_kind("loses_what_was_not_synced_on", Access::Tell, fs::POWER_OFF);
const LOST_LENGTH: Op = Op::of_kind("finds_an_old_length_of", Access::Peek, inode::SEE);
const LOST_BYTES: Op = Op::of_kind("finds_old_bytes_in", Access::Peek, inode::SEE);
const LOST_NAME: Op = Op::of_kind("finds_an_old_entry_in", Access::Peek, inode::SEE);

/// The machines of a run.
#[derive(Default)]
pub(super) struct Machines(Mutex<All>);

#[derive(Default)]
struct All {
    /// The machines by number; 0 is the outside, which is code in no node.
    machines: Map<u32, Arc<Machine>>,
    faults: Faults,
    faults_of: Map<u32, Faults>,
    listens: bool,
}

/// The disk of a node, or of the outside.
pub(super) struct Machine {
    number: u32,
    name: Arc<str>,
    /// The object that represents the whole disk in searches.
    whole: Wrapped,
    state: Mutex<State>,
}

struct State {
    disk: Disk,
    /// The number of deaths so far.
    life: u64,
    faults: Faults,
    /// Active lasting faults. A fault that was started several times appears several times.
    troubles: Vec<DiskFault>,
    budget: u8,
    /// The number of calls that suffered an active lasting fault.
    met: u64,
    marks: Marks,
    /// `true` if at least one call was executed.
    is_used: bool,
    locks: Map<Ino, Arc<FileLock>>,
}

/// A machine, and the number of its life.
pub(super) type Life = (Arc<Machine>, u64);

/// The effects of an executed call. The effects are recorded after the call.
pub(super) struct Effects {
    accesses: Accesses,
    losses: Vec<(Loss, Arc<Wrapped>)>,
    /// Inodes and parts of mapped files, with the operation on each.
    touched: Vec<(Arc<Wrapped>, &'static Op)>,
    position: Option<Arc<Wrapped>>,
    is_visit: bool,
}

/// Returns the machine number of a node.
fn number_of(node: Option<&Node>) -> u32 {
    node.map_or(0, |node| node.number() + 1)
}

/// Returns the 26-bit key of a node's disk among all disks. The machine number cannot serve as key, because it depends
/// on the order in which nodes are added.
fn key_of(node: Option<&Node>) -> u32 {
    node.map_or(0, |node| node.known().hash >> 6)
}

impl Machines {
    pub(super) fn of_run() -> Arc<Machines> {
        let machines = seam::kept::<Machines>();
        if !std::mem::replace(&mut machines.all().listens, true) {
            seam::kept::<Cluster>().listen(|node, death, here| {
                let number = number_of(Some(node));
                let machine = Machines::of_run().all().machines.get(&number).cloned();
                if let Some(machine) = machine {
                    machine.died(death, here);
                }
            });
        }
        machines
    }

    /// Returns the machine of a node or of the outside. Creates it on first use.
    pub(super) fn of(&self, node: Option<&Node>, here: Here) -> Arc<Machine> {
        let number = number_of(node);
        let mut all = self.all();
        if let Some(machine) = all.machines.get(&number) {
            return machine.clone();
        }
        let faults = all.faults_of.get(&number).unwrap_or(&all.faults).clone();
        let machine = Arc::new(Machine::new(node, faults, here));
        all.machines.insert(number, machine.clone());
        machine
    }

    /// Starts or ends a lasting fault on the disk of a node. Does nothing for the end of a fault that has not started.
    pub(super) fn set_trouble(&self, node: &Node, (fault, begins): (DiskFault, bool), here: Here) {
        // All steps of the node's tasks, and all calls of visitors, depend on the fault.
        node.touch(here);
        let machine = self.of(Some(node), here);
        machine.whole.record(&FAIL, here);
        let budget = if begins { trouble::budget() } else { 0 };
        machine.state().set_trouble(fault, budget);
    }

    /// Returns the machine of a node, if the node already has a disk.
    pub(super) fn known(&self, node: &Node) -> Option<Arc<Machine>> {
        self.all().machines.get(&number_of(Some(node))).cloned()
    }

    /// Sets the faults of a node's disk. Without a node, sets the faults of all disks without own settings.
    pub(super) fn set_faults(&self, node: Option<&Node>, faults: Faults, here: Here) {
        seam::changes_setting(here);
        let faults = faults.at(Rates::of_run());
        let mut all = self.all();
        let number = number_of(node);
        let is_used = match node {
            Some(_) => all.machines.contains_key(&number),
            None => !all.machines.is_empty(),
        };
        if is_used {
            seam::fail(|| Failure::Misuse {
                message: "the faults of a disk are set after its first use: call \
                          sim::fs::faults(..) at the start of the body"
                    .to_owned(),
                place: seam::place_of(here),
            });
        }
        match node {
            Some(_) => drop(all.faults_of.insert(number, faults)),
            None => all.faults = faults,
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine {
    fn new(node: Option<&Node>, faults: Faults, here: Here) -> Machine {
        let number = number_of(node);
        let key = key_of(node);
        let name: Arc<str> = node.map_or("outside", Node::name).into();
        let shown = match faults.rules_name() {
            "" => format!("disk of {name}"),
            rules => format!("disk of {name} under the rules {rules}"),
        };
        let whole = Wrapped::outside_keyed("disk", &shown, key << 1, here);
        let root = Wrapped::outside_keyed("directory", "directory /", key << 1 | 1, here);
        let state = State {
            disk: Disk::new(faults.settings()),
            life: 0,
            faults,
            troubles: Vec::new(),
            budget: 0,
            met: 0,
            marks: Marks::new(key, root),
            is_used: false,
            locks: Map::new(),
        };
        Machine { number, name, whole, state: Mutex::new(state) }
    }

    /// Returns the object on which a call with `path` is announced.
    pub(super) fn path(&self, path: &Path, here: Here) -> Arc<Wrapped> {
        self.state().marks.path(path, here)
    }

    /// Returns the object of a word in a mapped file. The first user of the word names it.
    pub(super) fn word(
        &self,
        ino: Ino,
        unit: u64,
        (name, values): (&dyn Fn() -> String, ValueKind),
        here: Here,
    ) -> Arc<Wrapped> {
        self.state().marks.word(ino, unit, (name, values), here)
    }

    /// Returns the object of an inode.
    pub(super) fn inode(&self, ino: Ino) -> Arc<Wrapped> {
        self.state().marks.inode(ino)
    }

    /// Returns the lock of an inode.
    pub(super) fn lock(&self, ino: Ino) -> Arc<FileLock> {
        let mut state = self.state();
        let mark = state.marks.inode(ino);
        let new = || {
            // Announces the new lock, because the death of the node releases it.
            seam::tells();
            Arc::new(FileLock::new(mark))
        };
        state.locks.entry(ino).or_insert_with(new).clone()
    }

    /// Returns the delay of a call by the current code on a slow disk. Calls of visitors are not delayed.
    pub(super) fn delay(&self) -> Option<Duration> {
        let delay = trouble::delay(&self.state().troubles)?;
        let is_own = number_of(crate::node::current().as_ref()) == self.number;
        is_own.then(|| {
            self.state().met += 1;
            seam::tells();
            delay
        })
    }

    /// Returns the active lasting faults, the number of calls that suffered them, and the number of inodes except `/`.
    pub(super) fn condition(&self) -> (Vec<DiskFault>, u64, u64) {
        let state = self.state();
        (state.troubles.clone(), state.met, state.disk.inodes() - 1)
    }

    /// Executes a call at its point. `path` names any inode that the call creates.
    pub(super) fn act<R>(
        &self,
        life: u64,
        path: &Path,
        here: Here,
        act: impl FnOnce(&mut Call<'_>, &Befalls<'_>) -> Result<R, Error>,
    ) -> (io::Result<R>, Effects) {
        let is_visit = self.check_visitor(here);
        let mut state = self.state();
        state.is_used = true;
        let mut effects = Effects::none(is_visit);
        if state.life != life {
            return (Err(gone()), effects);
        }
        let State { disk, faults, troubles, budget, met, marks, .. } = &mut *state;
        let has_crashed = disk.has_crashed();
        let mut draw = |bound| seam::draw(bound, "the writes that a power failure lost");
        let mut call = disk.call(&mut draw);
        let befalls = Befalls { faults, troubles, budget: *budget, met: Cell::new(0) };
        let result = act(&mut call, &befalls);
        if befalls.met.get() > 0 {
            *met += befalls.met.get();
            seam::tells();
        }
        effects.accesses = std::mem::take(&mut call.accesses);
        let losses = std::mem::take(&mut call.losses);
        if self.number == 0 && effects.accesses.is_by_map {
            // The machine outside of nodes never dies, so durability and the order of changes are not observable.
            (effects.accesses.syncs, effects.accesses.changes) = (false, false);
        }
        while marks.inodes() < disk.inodes() {
            let is_directory = disk.is_directory(Ino(marks.inodes()));
            marks.add_inode(is_directory, path, here);
        }
        effects.losses =
            losses.into_iter().map(|l| (l.clone(), marks.inode(l.location.ino))).collect();
        let Accesses { objects, contents, is_by_map, .. } = &effects.accesses;
        for (object, updates) in objects {
            let either = |see: &'static Op, touch| if *updates { touch } else { see };
            let mark_and_op = match object {
                Object::Inode(ino) => {
                    // After a crash, the first read determines the state that the crash left; later reads do not.
                    let op = match *updates || (has_crashed && !is_by_map) {
                        true => &TOUCH,
                        false if *is_by_map => &SEE_BY_WORD,
                        false => &SEE,
                    };
                    (marks.inode(*ino), op)
                }
                Object::Sector(..) if self.number == 0 => continue,
                Object::Sector(ino, index) => {
                    (marks.part(*ino, PartOf::Sector(*index), here), either(&SEE_WORD, &TOUCH_WORD))
                }
                Object::Word(ino, unit) => {
                    (marks.part(*ino, PartOf::Word(*unit), here), either(&SEE_WORD, &TOUCH_WORD))
                }
                Object::Errors(ino) if befalls.befall_syncs() => {
                    (marks.part(*ino, PartOf::Errors, here), either(&SEE, &TOUCH))
                }
                _ => continue,
            };
            effects.touched.push(mark_and_op);
        }
        effects.touched.extend(contents.map(|contents| match contents {
            Contents::Read(ino) => (marks.part(ino, PartOf::Contents, here), &READ_CONTENTS),
            Contents::Stored(ino) => (marks.part(ino, PartOf::Contents, here), &STORE_CONTENTS),
        }));
        (result.map_err(io::Error::from), effects)
    }

    /// Records the effects of a call, in its step.
    pub(super) fn record(&self, effects: Effects, here: Here) {
        effects.record(&self.whole, here, |mark, op| mark.act(op, here, || ()));
    }

    /// Closes a file, in a destructor.
    pub(super) fn close(&self, life: u64, handle: Handle, here: Here) {
        let mut state = self.state();
        if state.life != life {
            return;
        }
        let mut draw = |_| 0;
        let mut call = state.disk.call(&mut draw);
        // Closing a closed file fails, but this failure is no error here.
        let _ = call.close(handle);
        let mut effects = Effects::none(false);
        effects.accesses = std::mem::take(&mut call.accesses);
        state.is_used = true;
        drop(state);
        effects.record(&self.whole, here, |mark, op| mark.last(op, here));
    }

    /// Returns the number of deaths so far.
    pub(super) fn life(&self) -> u64 {
        self.state().life
    }

    pub(super) fn lives(&self, life: u64) -> bool {
        self.life() == life
    }

    /// Returns `true` if the calling task does not belong to the node of this machine. The death of the node does not
    /// end such a call.
    pub(super) fn check_visitor(&self, here: Here) -> bool {
        let visitor = number_of(crate::node::current().as_ref());
        if visitor == self.number {
            return false;
        }
        if visitor != 0 {
            seam::fail(|| Failure::Misuse {
                message: format!(
                    "a file of {} is used by another node: nodes share no files, send messages",
                    self.name
                ),
                place: seam::place_of(here),
            });
        }
        true
    }

    pub(super) fn record_visit(&self, here: Here) {
        self.state().is_used = true;
        self.whole.act(&VISIT, here, || ());
    }

    fn died(&self, death: Death, here: Here) {
        let (has_rules, is_used) = {
            let state = self.state();
            (!state.faults.rules_name().is_empty(), state.is_used)
        };
        let op = match death {
            Death::Killed => &KILL,
            Death::PoweredOff if has_rules => &POWER_OFF_UNDER_RULES,
            Death::PoweredOff | Death::Wiped => &POWER_OFF,
        };
        // A disk without any executed call has no files, so its death needs no record.
        if is_used {
            self.whole.act(op, here, || ());
        }
        let locks = {
            let mut state = self.state();
            state.life += 1;
            match death {
                Death::Killed => state.disk.close_all(),
                Death::PoweredOff => {
                    let moods = u64::from(seam::seed().is_some());
                    let choosing = match seam::given(2, moods, "the moods of lost writes") {
                        0 => Choosing::EachLocation,
                        _ => Choosing::Moods,
                    };
                    state.disk.set_choosing(choosing);
                    state.disk.power_off();
                }
                Death::Wiped => {
                    state.disk = Disk::new(state.faults.settings());
                    state.marks.forget_files();
                }
            }
            std::mem::take(&mut state.locks)
        };
        locks.values().for_each(|lock| lock.die(here));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Starts a fault, which each task suffers in at most `budget` calls; with 0, ends the fault.
    fn set_trouble(&mut self, fault: DiskFault, budget: u8) {
        if budget > 0 {
            self.budget = budget;
            self.troubles.push(fault);
        } else if let Some(at) = self.troubles.iter().position(|known| *known == fault) {
            self.troubles.remove(at);
        }
    }
}

/// Returns the error of a call through a file that was opened in an earlier life.
pub(super) fn gone() -> io::Error {
    io::Error::other("the node that opened the file has died since")
}

impl Effects {
    fn none(is_visit: bool) -> Effects {
        Effects {
            accesses: Accesses::default(),
            losses: Vec::new(),
            touched: Vec::new(),
            position: None,
            is_visit,
        }
    }

    /// Removes the effect on `word`, because the call was announced on `word` and is recorded there.
    pub(super) fn of_word(mut self, word: &Arc<Wrapped>) -> Effects {
        self.touched.retain(|(mark, _)| !Arc::ptr_eq(mark, word));
        self
    }

    /// Sets the object of a file position that tasks share.
    pub(super) fn at(mut self, position: Option<Arc<Wrapped>>) -> Effects {
        self.position = position;
        self
    }

    fn record(self, whole: &Wrapped, here: Here, record: impl Fn(&Wrapped, &'static Op)) {
        let _ = here;
        for (mark, op) in &self.touched {
            record(mark, op);
        }
        for (object, _) in &self.accesses.objects {
            match object {
                Object::Inode(_) | Object::Sector(..) | Object::Word(..) | Object::Errors(_) => {}
                Object::Position(_) => {
                    self.position.iter().for_each(|position| record(position, &TOUCH));
                }
                Object::Journal => record(whole, &JOURNAL),
                Object::Room => record(whole, &ROOM),
            }
        }
        let Accesses { syncs, changes, decides, .. } = self.accesses;
        let marks =
            [(decides, &DECIDE), (changes, &CHANGE), (syncs, &SYNC), (self.is_visit, &VISIT)];
        marks.into_iter().filter(|(is_so, _)| *is_so).for_each(|(_, op)| record(whole, op));
        for (loss, mark) in &self.losses {
            let op = match loss.location.part {
                Part::Size => &LOST_LENGTH,
                Part::Sector(_) => &LOST_BYTES,
                Part::Entry(_) => &LOST_NAME,
            };
            record(mark, op);
        }
    }
}

/// The settings of a disk with the rules and the capacity of `faults`.
impl Faults {
    fn settings(&self) -> Settings {
        Settings { rules: self.disk_rules(), capacity: self.room(), ..Settings::default() }
    }
}
