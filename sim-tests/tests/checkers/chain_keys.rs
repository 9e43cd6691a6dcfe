//! A store of several objects with versions. Each object has its own chain, but calls of all objects are counted
//! together.

use sim::check::chain::{Chain, Versions};
use sim::check::models::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};
use sim::check::online::{ClientEvent, OnlineChecker, OnlineStatus};
use sim::check::{Key, Model};
use sim_tests::histories::Draw;

use super::chain::random;
use ClientEvent::{End, Failed, Invoke, Lost, Return};

/// Registers by number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Registers(Vec<VersionedRegister>);

impl Model for Registers {
    type Op = (usize, VersionedRegisterOp);
    type Ret = VersionedRegisterRet;

    fn step(&mut self, (key, op): &Self::Op) -> VersionedRegisterRet {
        self.0[*key].step(op)
    }

    fn partition((key, _): &Self::Op) -> Option<Key> {
        Some(Key::of(key))
    }
}

impl Versions for Registers {
    type Id = u64;

    fn first(&self, _: &Self::Op) -> u64 {
        0
    }

    fn version_op((_, op): &Self::Op) -> VersionedRegisterOp {
        op.clone()
    }

    fn version_ret(_: &Self::Op, ret: &VersionedRegisterRet) -> VersionedRegisterRet {
        ret.clone()
    }
}

#[test]
fn keys_are_decided_as_chains_of_their_own_and_counted_together() {
    let mut draw = Draw(11);
    let mut violated = 0;
    for _ in 0..500 {
        let streams = [random(&mut draw, 6, 2, 1), random(&mut draw, 6, 2, 1)];
        let mut single = [Chain::new(0u64), Chain::new(0)];
        let mut all = Chain::by_key(Registers(vec![VersionedRegister::new(0); 2]));
        let (mut next, mut calls, mut own) = ([0, 0], Vec::new(), [Vec::new(), Vec::new()]);
        while let Some(key) = (0..2).find(|key| next[*key] < streams[*key].len()) {
            let other = 1 - key;
            let swaps = next[other] < streams[other].len() && draw.below(2) == 0;
            let key = if swaps { other } else { key };
            let event = streams[key][next[key]].clone();
            next[key] += 1;
            if let Invoke { .. } = event {
                own[key].push(calls.len());
                calls.push(key);
            }
            let client = 2 * event.client() + key as u32;
            let keyed = match event.clone() {
                Invoke { op, .. } => Invoke { client, op: (key, op) },
                Return { ret, .. } => Return { client, ret },
                Failed { .. } => Failed { client },
                Lost { .. } => Lost { client },
                End { .. } => End { client },
            };
            let status = single[key].feed(event).unwrap();
            assert_eq!(all.feed(keyed), Ok(status));
            if status == OnlineStatus::Violated {
                let misfit = single[key].evidence().unwrap().misfit;
                assert_eq!(all.evidence().unwrap().misfit, own[key][misfit]);
                violated += 1;
                break;
            }
        }
    }
    assert!(violated > 50, "{violated}");
}
