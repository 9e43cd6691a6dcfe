//! Generated programs of two and three threads on one atomic of any width, with every operation of std: an exhaustive
//! search sees the outcomes of all interleavings, which an interpreter enumerates.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};
use std::thread;

/// The folder with the outcomes of runs: their memory ends with them.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/widths");

/// A command on the atomic, with its operand.
#[derive(Clone, Copy, Debug)]
enum Command {
    Load,
    Store(i64),
    Swap(i64),
    Add(i64),
    Sub(i64),
    And(i64),
    Or(i64),
    Xor(i64),
    Nand(i64),
    Max(i64),
    Min(i64),
    /// From 0.
    Exchange(i64),
    /// Adds in a loop of compare-exchanges, unless the value is the largest one.
    Update(i64),
}

/// Commands on one atomic, and its first value: a list for each thread.
#[derive(Clone, Debug)]
struct Program {
    first: i64,
    threads: Vec<Vec<Command>>,
}

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    /// Small numbers, negative ones and the limits of each width.
    fn operand(&mut self) -> i64 {
        const OPERANDS: [i64; 10] = [0, 1, 2, 3, -1, -2, 127, -128, i64::MAX, i64::MIN];
        OPERANDS[self.below(10) as usize]
    }

    /// Half of the commands occur in no other test here.
    fn command(&mut self) -> Command {
        let by = self.operand();
        match self.below(22) {
            0 | 1 => Command::Load,
            2 => Command::Store(by),
            3 => Command::Swap(by),
            4 => Command::Add(by),
            5 => Command::Sub(by),
            6 => Command::And(by),
            7 => Command::Or(by),
            8 => Command::Xor(by),
            9 => Command::Nand(by),
            10 => Command::Exchange(by),
            11 => Command::Update(by),
            12..17 => Command::Max(by),
            _ => Command::Min(by),
        }
    }

    fn program(&mut self) -> Program {
        let lengths: &[usize] = match self.below(3) {
            0 => &[1, 1, 1],
            1 => &[2, 2],
            _ => &[3, 2],
        };
        let first = self.operand();
        let threads = lengths.iter().map(|n| (0..*n).map(|_| self.command()).collect()).collect();
        Program { first, threads }
    }
}

/// Results of each thread, and the last value.
type Outcome = (Vec<Vec<i64>>, i64);

/// A width: the atomic, and the same command on a plain number.
trait Width {
    /// Runs the program on threads. The result of a command without a value is 0.
    fn run(program: &Program) -> Outcome;

    /// Does a command on a number. Returns the result.
    fn step(value: &mut i64, command: Command) -> i64;
}

macro_rules! widths {
    ($($atomic:ident $int:ident)*) => {
        $(impl Width for $int {
            fn run(program: &Program) -> Outcome {
                fn act(at: &$atomic, command: Command) -> i64 {
                    let old = match command {
                        Command::Load => at.load(SeqCst),
                        Command::Store(by) => {
                            at.store(by as $int, SeqCst);
                            0
                        }
                        Command::Swap(by) => at.swap(by as $int, SeqCst),
                        Command::Add(by) => at.fetch_add(by as $int, SeqCst),
                        Command::Sub(by) => at.fetch_sub(by as $int, SeqCst),
                        Command::And(by) => at.fetch_and(by as $int, SeqCst),
                        Command::Or(by) => at.fetch_or(by as $int, SeqCst),
                        Command::Xor(by) => at.fetch_xor(by as $int, SeqCst),
                        Command::Nand(by) => at.fetch_nand(by as $int, SeqCst),
                        Command::Max(by) => at.fetch_max(by as $int, SeqCst),
                        Command::Min(by) => at.fetch_min(by as $int, SeqCst),
                        Command::Exchange(by) => {
                            at.compare_exchange(0, by as $int, SeqCst, SeqCst).unwrap_or_else(|old| old)
                        }
                        Command::Update(by) => {
                            let add = |old: $int| (old != $int::MAX).then(|| old.wrapping_add(by as $int));
                            at.fetch_update(SeqCst, SeqCst, add).unwrap_or_else(|old| old)
                        }
                    };
                    old as i64
                }
                let at = $atomic::new(program.first as $int);
                let mut results: Vec<Vec<i64>> = Vec::new();
                let run = |commands: &[Command]| commands.iter().map(|c| act(&at, *c)).collect::<Vec<_>>();
                thread::scope(|scope| {
                    let (here, there) = program.threads.split_first().unwrap();
                    let there: Vec<_> = there.iter().map(|commands| scope.spawn(|| run(commands))).collect();
                    results.push(run(here));
                    results.extend(there.into_iter().map(|thread| thread.join().unwrap()));
                });
                (results, at.load(SeqCst) as i64)
            }

            fn step(value: &mut i64, command: Command) -> i64 {
                let old = *value as $int;
                let new = match command {
                    Command::Load => old,
                    Command::Store(by) | Command::Swap(by) => by as $int,
                    Command::Add(by) => old.wrapping_add(by as $int),
                    Command::Sub(by) => old.wrapping_sub(by as $int),
                    Command::And(by) => old & by as $int,
                    Command::Or(by) => old | by as $int,
                    Command::Xor(by) => old ^ by as $int,
                    Command::Nand(by) => !(old & by as $int),
                    Command::Max(by) => old.max(by as $int),
                    Command::Min(by) => old.min(by as $int),
                    Command::Exchange(by) => if old == 0 { by as $int } else { old },
                    Command::Update(by) if old != $int::MAX => old.wrapping_add(by as $int),
                    Command::Update(_) => old,
                };
                *value = new as i64;
                if matches!(command, Command::Store(_)) { 0 } else { old as i64 }
            }
        })*

        const WIDTHS: &[(&str, fn(&Program) -> Outcome, fn(&mut i64, Command) -> i64)] =
            &[$((stringify!($atomic), <$int as Width>::run, <$int as Width>::step)),*];
    };
}

widths! {
    AtomicU8 u8 AtomicI8 i8 AtomicU16 u16 AtomicI16 i16 AtomicU32 u32 AtomicI32 i32 AtomicU64 u64 AtomicI64 i64
    AtomicUsize usize AtomicIsize isize
}

/// The outcomes of all interleavings.
fn enumerate(program: &Program, step: fn(&mut i64, Command) -> i64) -> BTreeSet<String> {
    fn go(
        program: &Program,
        step: fn(&mut i64, Command) -> i64,
        (results, value): &Outcome,
        outcomes: &mut BTreeSet<String>,
    ) {
        let mut ended = true;
        for (number, commands) in program.threads.iter().enumerate() {
            let Some(command) = commands.get(results[number].len()) else { continue };
            ended = false;
            let (mut results, mut value) = (results.clone(), *value);
            results[number].push(step(&mut value, *command));
            go(program, step, &(results, value), outcomes);
        }
        if ended {
            outcomes.insert(text(&(results.clone(), *value)));
        }
    }
    let mut outcomes = BTreeSet::new();
    // A store of the first value wraps it into the width.
    let mut first = 0;
    step(&mut first, Command::Store(program.first));
    go(program, step, &(vec![Vec::new(); program.threads.len()], first), &mut outcomes);
    outcomes
}

fn text(outcome: &impl Debug) -> String {
    format!("{outcome:?}")
}

/// The program of a number, with its width.
fn planned(number: u64) -> (Program, usize) {
    (Numbers(number * 7919 + 3).program(), number as usize % WIDTHS.len())
}

/// A body for each number below 1,000: `run_native` takes functions, and the memory of a body is its own.
fn body<const N: u64>() {
    let (program, width) = planned(N);
    record(N, &WIDTHS[width].1(&program));
}

macro_rules! ten {
    ($($n:literal)*) => { [$(body::<{ $n }>, body::<{ $n + 1 }>, body::<{ $n + 2 }>, body::<{ $n + 3 }>, body::<{ $n + 4 }>,
        body::<{ $n + 5 }>, body::<{ $n + 6 }>, body::<{ $n + 7 }>, body::<{ $n + 8 }>, body::<{ $n + 9 }>),*] };
}

const BODIES: [fn(); 1000] = ten! {
    0 10 20 30 40 50 60 70 80 90
    100 110 120 130 140 150 160 170 180 190
    200 210 220 230 240 250 260 270 280 290
    300 310 320 330 340 350 360 370 380 390
    400 410 420 430 440 450 460 470 480 490
    500 510 520 530 540 550 560 570 580 590
    600 610 620 630 640 650 660 670 680 690
    700 710 720 730 740 750 760 770 780 790
    800 810 820 830 840 850 860 870 880 890
    900 910 920 930 940 950 960 970 980 990
};

/// Records the outcome of a run.
fn record(number: u64, outcome: &Outcome) {
    let mut line = String::new();
    writeln!(line, "{}", text(outcome)).unwrap();
    let path = format!("{FOLDER}/{number}");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

#[test]
fn searches_see_all_outcomes_of_operations_of_all_widths() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let programs = if long { 1_000 } else { 100 };
    fs::create_dir_all(FOLDER).unwrap();
    let (mut runs, mut classes) = (0, 0);
    for (number, body) in BODIES.iter().enumerate().take(programs) {
        let (program, width) = planned(number as u64);
        let (width, _, step) = WIDTHS[width];
        let path = format!("{FOLDER}/{number}");
        let _ = fs::remove_file(&path);
        let runner = sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..20_000);
        let report = runner.shrink(false).prove(0).run_native(*body);
        let seen: BTreeSet<String> =
            fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        let _ = fs::remove_file(path);
        let expected = enumerate(&program, step);
        let searched = report.searched.clone();
        assert_eq!(seen, expected, "{width} {program:?}: {searched:?}");
        assert!(
            searched.is_some_and(|searched| searched.is_proof()),
            "{width} {program:?}: {:?} {:?}",
            report.searched,
            report.finding.map(|finding| finding.run.outcome)
        );
        (runs, classes) = (runs + report.runs, classes + expected.len());
    }
    eprintln!("{programs} programs, {classes} outcomes, {runs} runs");
}

#[sim::test(native, strategy = "exhaustive", must_fail)]
fn a_largest_value_is_seen_late() {
    let at = AtomicU32::new(0);
    thread::scope(|scope| {
        let there = scope.spawn(|| at.load(SeqCst));
        at.fetch_max(1, SeqCst);
        assert_ne!(there.join().unwrap(), 0);
    });
}

#[sim::test(native, seeds = 2000, must_fail)]
fn a_smallest_value_is_lost() {
    let at = AtomicU64::new(9);
    thread::scope(|scope| {
        scope.spawn(|| {
            let value = at.load(SeqCst);
            at.store(value, SeqCst);
        });
        at.fetch_min(1, SeqCst);
    });
    assert_eq!(at.load(SeqCst), 1);
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn a_loop_that_waits_by_the_largest_value_ends() {
    let at = AtomicU16::new(0);
    thread::scope(|scope| {
        scope.spawn(|| at.store(3, SeqCst));
        while at.fetch_max(1, SeqCst) != 3 {}
    });
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn a_largest_value_ends_a_loop_that_waits() {
    let at = AtomicI8::new(-4);
    thread::scope(|scope| {
        scope.spawn(|| while at.load(SeqCst) < 0 {});
        at.fetch_max(2, SeqCst);
    });
}
