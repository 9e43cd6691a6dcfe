//! A bank whose transfers move money between accounts and never create any.

use std::collections::BTreeMap;

use super::{FileSample, NilRead, RegisteredModel, Value, map_of, no_such_call, unexpected};
use crate::Model;
use crate::datum::Datum;

/// A bank: a transfer moves money from one account to another, and a read returns all balances.
///
/// Balances may become negative. A bank that refuses negative balances reports such a transfer as failed, and histories
/// omit failed operations. An account without any transfer has a balance of 0 and appears in no read.
///
/// ```
/// use unpause_check::{models::{Bank, BankOp::*, BankRet}, Model};
/// let mut bank = Bank::from_iter([("a", 10), ("b", 0)]);
/// assert_eq!(bank.step(&Transfer { from: "a", to: "b", amount: 3 }), BankRet::Done);
/// assert_eq!(bank.step(&Read), BankRet::Balances([("a", 7), ("b", 3)].into()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bank<A = u64> {
    /// `None` while the balances are unknown.
    balances: Option<BTreeMap<A, i64>>,
}

impl<A> Bank<A> {
    /// Creates a bank with unknown balances. The first read may return any balances, and all other reads must agree
    /// with it.
    pub fn unknown() -> Self {
        Bank { balances: None }
    }
}

impl<A: Ord> FromIterator<(A, i64)> for Bank<A> {
    /// Creates a bank with these accounts; of two accounts with the same name, the later one wins.
    fn from_iter<I: IntoIterator<Item = (A, i64)>>(accounts: I) -> Self {
        Bank { balances: Some(map_of(accounts)) }
    }
}

/// An operation on a [`Bank`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BankOp<A = u64> {
    /// Moves money. Sums wrap around.
    Transfer {
        /// The account from which the money is withdrawn.
        from: A,
        /// The account to which the money is added.
        to: A,
        /// The amount.
        amount: i64,
    },
    /// Returns all balances.
    Read,
}

/// The result of an operation on a [`Bank`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BankRet<A = u64> {
    /// The transfer is done.
    Done,
    /// The balance of each account.
    Balances(BTreeMap<A, i64>),
}

impl<A: Value + Ord> Model for Bank<A> {
    type Op = BankOp<A>;
    type Ret = BankRet<A>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            BankOp::Read => BankRet::Balances(self.balances.clone().unwrap_or_default()),
            BankOp::Transfer { from, to, amount } => {
                // A transfer of 0 opens no account.
                let moves = from != to && *amount != 0;
                if let Some(balances) = self.balances.as_mut().filter(|_| moves) {
                    let from = balances.entry(from.clone()).or_default();
                    *from = from.wrapping_sub(*amount);
                    let to = balances.entry(to.clone()).or_default();
                    *to = to.wrapping_add(*amount);
                }
                BankRet::Done
            }
        }
    }

    /// Returns `false` for reads, because the first read determines the balances of an unknown bank.
    fn observes(op: &Self::Op, _ret: &Self::Ret) -> bool {
        match op {
            BankOp::Read => false,
            BankOp::Transfer { from, to, amount } => from == to || *amount == 0,
        }
    }

    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        match (op, ret, &self.balances) {
            (BankOp::Read, Some(BankRet::Balances(read)), None) => {
                out.push(Bank { balances: Some(read.clone()) });
            }
            (BankOp::Read, Some(BankRet::Balances(read)), Some(held)) if read != held => {}
            (BankOp::Read, Some(BankRet::Done), _) => {}
            (BankOp::Transfer { .. }, Some(BankRet::Balances(_)), _) => {}
            _ => {
                let mut next = self.clone();
                if let BankOp::Transfer { .. } = op {
                    next.step(op);
                }
                out.push(next);
            }
        }
    }

    fn name() -> &'static str {
        Bank::NAME
    }

    fn op_text(op: &Self::Op) -> String {
        match op {
            BankOp::Read => "read".to_owned(),
            BankOp::Transfer { from, to, amount } => format!("{from:?} pays {to:?} {amount}"),
        }
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            BankRet::Done => "ok".to_owned(),
            BankRet::Balances(balances) => format!("{balances:?}"),
        }
    }

    fn state_text(&self) -> String {
        self.balances.as_ref().map_or_else(|| "unknown".to_owned(), |b| format!("{b:?}"))
    }
}

impl RegisteredModel for Bank {
    const NAME: &'static str = "bank";
    const SUMMARY: &'static str = "transfer, read; a read returns all balances";

    fn initial() -> Self {
        [(1, 5), (2, 5)].into_iter().collect()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        let read = |one, two| BankRet::Balances(map_of([(1, one), (2, two)]));
        vec![
            (BankOp::Transfer { from: 1, to: 2, amount: 3 }, vec![BankRet::Done]),
            (BankOp::Read, vec![read(2, 8), read(5, 5), read(5, 8), read(2, 9)]),
            (BankOp::Transfer { from: 2, to: 1, amount: 4 }, vec![BankRet::Done]),
            (BankOp::Transfer { from: 2, to: 2, amount: 4 }, vec![BankRet::Done]),
        ]
    }

    type Recorded = Bank<Datum>;
    const CALLS: &'static [&'static str] = &["transfer", "read"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: Some("{:a 5, :b 0}"),
            calls: &[("transfer", "{:from :a, :to :b, :amount 2}", "nil")],
            allowed: ("read", "nil", "{:a 3, :b 2}"),
            rejected: ("read", "nil", "{:a 5, :b 2}"),
        },
        FileSample {
            initial: None,
            calls: &[
                ("read", "nil", "{\"0\" 5, 1 5}"),
                ("transfer", "{:from 0, :to 1, :amount 5}", "nil"),
            ],
            allowed: ("read", "nil", "{0 0, 1 10}"),
            rejected: ("read", "nil", "{0 5, 1 5}"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Bank<Datum>, String> {
        initial.map_or(Ok(Bank::unknown()), |accounts| {
            balances(accounts).map(|balances| Bank { balances: Some(balances) })
        })
    }

    fn call(f: &str, value: &Datum) -> Result<BankOp<Datum>, String> {
        match f {
            "read" => Ok(BankOp::Read),
            "transfer" => {
                let amount = value.get("amount").and_then(Datum::as_integer);
                match (value.get("from"), value.get("to"), amount) {
                    (Some(from), Some(to), Some(amount)) => {
                        Ok(BankOp::Transfer { from: account(from), to: account(to), amount })
                    }
                    _ => unexpected("{:from account, :to account, :amount number}", value),
                }
            }
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &BankOp<Datum>) -> bool {
        matches!(op, BankOp::Transfer { .. })
    }

    fn outcome(
        op: &BankOp<Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<BankRet<Datum>>, String> {
        match op {
            BankOp::Transfer { .. } => Ok(Some(BankRet::Done)),
            BankOp::Read if value.is_nil() && nil == NilRead::Anything => Ok(None),
            BankOp::Read => balances(value).map(|balances| Some(BankRet::Balances(balances))),
        }
    }
}

fn balances(accounts: &Datum) -> Result<BTreeMap<Datum, i64>, String> {
    let wanted = "the balances, as {account number, …}";
    let Datum::Map(entries) = accounts else {
        return unexpected(wanted, accounts);
    };
    let balance = |(account, balance): &(Datum, Datum)| match balance.as_integer() {
        Some(balance) => Ok((self::account(account), balance)),
        None => unexpected(wanted, accounts),
    };
    let mut balances = BTreeMap::new();
    for entry in entries.iter() {
        let (account, balance) = balance(entry)?;
        balances.insert(account, balance);
    }
    Ok(balances)
}

/// Returns the name of an account. The keys of a JSON map are always texts, so a text that denotes a number counts as
/// this number.
fn account(name: &Datum) -> Datum {
    let number = match name {
        Datum::Text(text) => text.parse().ok().filter(|number: &i64| number.to_string() == **text),
        _ => None,
    };
    number.map_or_else(|| name.clone(), Datum::Integer)
}
