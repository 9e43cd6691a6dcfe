//! A bank: the prefix opens accounts, and the branches move money between them.
//!
//! The buggy transfer checks the balance first, and takes the money later.
//! `cargo run --example parallel_bank` prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use sim::check::Model;
use sim::generate::Results;
use sim::{CommandId, Gen, Mutex, Program, Shape};

use shared::Example;
use shared::Version::{self, Buggy};

mod shared;

/// The initial balance of an account.
const GIFT: u64 = 10;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Bank(Vec<u64>);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Open,
    Balance(Account),
    Transfer { from: Account, to: Account, amount: u64 },
}

#[derive(Clone, PartialEq, Debug)]
enum Account {
    /// The account that this command opened.
    Of(CommandId),
    Number(usize),
}

#[derive(Clone, PartialEq, Debug)]
enum Ret {
    Account(usize),
    Amount(u64),
    Moved,
    Refused,
}

impl Account {
    fn number(&self) -> usize {
        match self {
            Account::Number(number) => *number,
            Account::Of(_) => unreachable!("a command is resolved before it is run"),
        }
    }

    fn resolve(&self, results: &Results<'_, Bank>) -> Option<Account> {
        match self {
            Account::Of(open) => match results.get(*open)? {
                Ret::Account(number) => Some(Account::Number(*number)),
                _ => None,
            },
            number => Some(number.clone()),
        }
    }
}

impl Model for Bank {
    type Op = Op;
    type Ret = Ret;

    fn step(&mut self, op: &Op) -> Ret {
        match op {
            Op::Open => {
                self.0.push(GIFT);
                Ret::Account(self.0.len() - 1)
            }
            Op::Balance(account) => Ret::Amount(self.0[account.number()]),
            Op::Transfer { from, to, amount } => {
                if self.0[from.number()] < *amount {
                    return Ret::Refused;
                }
                self.0[from.number()] -= amount;
                self.0[to.number()] += amount;
                Ret::Moved
            }
        }
    }
}

impl Program for Bank {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let account = |g: &mut Gen<'_, Self>| {
            g.choose_earlier(|earlier| *earlier.op == Op::Open).map(Account::Of)
        };
        let (Some(from), Some(to)) = (account(g), account(g)) else { return Op::Open };
        match g.below(4) {
            0 => Op::Open,
            1 => Op::Balance(from),
            _ => Op::Transfer { from, to, amount: g.range(1..GIFT + 1) },
        }
    }

    fn precondition(&self, op: &Op) -> bool {
        !matches!(op, Op::Transfer { from, to, .. } if from == to)
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        Some(match op {
            Op::Open => Op::Open,
            Op::Balance(account) => Op::Balance(account.resolve(results)?),
            Op::Transfer { from, to, amount } => {
                let (from, to) = (from.resolve(results)?, to.resolve(results)?);
                Op::Transfer { from, to, amount: *amount }
            }
        })
    }
}

async fn transfer(
    bank: &Mutex<Vec<u64>>,
    version: Version,
    (from, to, amount): (usize, usize, u64),
) -> Ret {
    let mut accounts = bank.lock().await;
    if accounts[from] < amount {
        return Ret::Refused;
    }
    if version == Buggy {
        // Another transfer may take the money here.
        drop(accounts);
        accounts = bank.lock().await;
    }
    accounts[from] = accounts[from].saturating_sub(amount);
    accounts[to] += amount;
    Ret::Moved
}

async fn program(version: Version) {
    let bank = Mutex::new(Vec::new());
    let shape = Shape::branches().max_branch_length(3);
    sim::parallel(shape, Bank::default(), async |op| match op {
        Op::Open => {
            let mut accounts = bank.lock().await;
            accounts.push(GIFT);
            Ret::Account(accounts.len() - 1)
        }
        Op::Balance(account) => Ret::Amount(bank.lock().await[account.number()]),
        Op::Transfer { from, to, amount } => {
            transfer(&bank, version, (from.number(), to.number(), amount)).await
        }
    })
    .await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_bank: two transfers take the same money");
    example.check("parallel_bank", program);
    example.end()
}

// ---- Output ----
//
// parallel_bank: two transfers take the same money
//
// FAILED  parallel_bank  seed 59: history is not linearizable (Bank)
//
//   checked at  examples/parallel_bank.rs:140:5
//   tested      60 runs of seeds 0 to 999, portfolio
//   shrunk      from 9 commands, 18 steps, 3 preemptions to 4 commands, 11 steps, 1 preemption (1050
//               replays)
//   why         between `lock` (parallel_bank.rs:123) and `lock` (:130) of 0.1 came `lock mutex`
//               (:123) of 0.0
//               0.1  parallel_bank.rs:123 | let mut accounts = bank.lock().await;
//               0.0                  :123 | let mut accounts = bank.lock().await;
//               0.1                  :130 | accounts = bank.lock().await;
//   remedy      as one step, parallel_bank.rs:123 to :130: all 4 interleavings pass (proved; it keeps
//               4 of the 4 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 5, all after step 6 (proved)
//
// ── program ── Bank, 4 commands of 9 ────────────────────────────────────────────────────────────────
//
//   first   Open; Open
//   then    Transfer { from: Of(#1), to: Of(#0), amount: 2 }
//     ∥     Transfer { from: Of(#1), to: Of(#0), amount: 9 }
//
// ── history ── Bank, 4 operations, 3 clients ────────────────────────────────────────────────────────
//
//   main  ├ 1 ┤ ├ 2 ┤
//   0.1               ├─ 3 ───┤
//                     ^^^^^^^^^ fits nowhere
//   0.0                 ├ 4 ┤
//
//    1  Open → Account(0)
//    2  Open → Account(1)
//    3  Transfer { from: Number(1), to: Number(0), amount: 9 } → Mo…
//    4  Transfer { from: Number(1), to: Number(0), amount: 2 } → Mo…
//
//   `Transfer { from: Number(1), to: Number(0), amount: 9 } → Mo…` by 0.1 fits nowhere: after
//   `Open → Account(0)` by main, `Open → Account(1)` by main and
//   `Transfer { from: Number(1), to: Number(0), amount: 2 } → Mo…` by 0.0 it should have returned
//   `Refused`. The state is then `Bank([12, 8])`.
//
// ── schedule ── 11 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main            0.0           0.1                    P                                 place
//      0  start                                              .11
//      1  lock mutex                                                  examples/parallel_bank.rs:142:37
//         unlock mutex                                                examples/parallel_bank.rs:142:37
//      2  lock mutex                                                  examples/parallel_bank.rs:142:37
//         unlock mutex                                                examples/parallel_bank.rs:142:37
//         spawn 0.0, 0.1                                               examples/parallel_bank.rs:140:5
//      3  │                             start
//      4  │                             lock mutex                    examples/parallel_bank.rs:123:29
//         │                             unlock mutex                  examples/parallel_bank.rs:123:29
//         │               ┌─ preempted ─┤
//      5  │               start         │                    .88 ◂
//      6  │               lock mutex    │                      1      examples/parallel_bank.rs:123:29
//         │               unlock mutex  │                             examples/parallel_bank.rs:123:29
//   no way back: every schedule fails from here on (proved)
//      7  │               lock mutex    │                             examples/parallel_bank.rs:130:25
//         │               unlock mutex  │                             examples/parallel_bank.rs:130:25
//      8  │                             lock mutex                    examples/parallel_bank.rs:130:25
//         │                             unlock mutex                  examples/parallel_bank.rs:130:25
//      9  join 0.0                                                     examples/parallel_bank.rs:140:5
//     10  join 0.1                                                     examples/parallel_bank.rs:140:5
//
//   mutex  created at examples/parallel_bank.rs:138:16
//
// trace:   target/sim/unpause/example-parallel_bank.parallel_bank/59.simtrace
// source:  target/sim/unpause/example-parallel_bank.parallel_bank/59.rs
// replay:  SIM_REPLAY=sim2:0=100/102=0/1000=0/2=2/3=0/3=1/3=0/10000=0/10000=1/10000=1/10000=0/10000=1/10000=0/10000=1/10000=1/10000=0/1=0/1=0/4=0/2=0/2=0/4=0/3=0/3=2/4=0/10=0/3=0/3=0/4=1/4=0/4=2/4=1/10=0/4=0/4=2/4=0/10=0/4=0/4=0/4=0/3=0/3=2/4=0/10=1/3=0/3=2/4=8/10=0/5=0/5=0/4=0/6=0/6=0/4,0x2,0.1x2,0.0x3,0.1,0x2 cargo run -p unpause --example parallel_bank
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_bank_fixed: 1000 runs, 22147 steps
