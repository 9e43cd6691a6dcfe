//! Compares each method of [`Map`] and [`Set`] with the method of the standard library, by random calls.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use unpause_ordered::{Map, Set};

#[derive(Clone, Copy, Debug)]
enum Call {
    Insert(u16, u8),
    /// Inserts this number of successive keys, in ascending or descending order, so that they fill pieces.
    Many(u16, u16, bool),
    Entry(u16, u8),
    Change(u16, u8),
    Remove(u16),
    RemoveRange(u16, u16),
    PopFirst,
    PopLast,
    Retain(u8),
    Clear,
}

fn call() -> impl Strategy<Value = Call> {
    let key = || 0u16..4000;
    prop_oneof![
        8 => (key(), any::<u8>()).prop_map(|(k, v)| Call::Insert(k, v)),
        3 => (key(), 1u16..1500, any::<bool>()).prop_map(|(k, n, up)| Call::Many(k, n, up)),
        4 => (key(), any::<u8>()).prop_map(|(k, v)| Call::Entry(k, v)),
        2 => (key(), any::<u8>()).prop_map(|(k, v)| Call::Change(k, v)),
        4 => key().prop_map(Call::Remove),
        2 => (key(), 1u16..1500).prop_map(|(k, n)| Call::RemoveRange(k, n)),
        2 => Just(Call::PopFirst),
        2 => Just(Call::PopLast),
        1 => (2u8..6).prop_map(Call::Retain),
        1 => Just(Call::Clear),
    ]
}

fn make(call: Call, ours: &mut Map<u16, u8>, std: &mut BTreeMap<u16, u8>) {
    match call {
        Call::Insert(key, value) => assert_eq!(ours.insert(key, value), std.insert(key, value)),
        Call::Many(from, count, up) => {
            for n in 0..count {
                let key = if up { from + n } else { from + count - n };
                assert_eq!(ours.insert(key, 0), std.insert(key, 0));
            }
        }
        Call::Entry(key, value) => {
            let of_ours = *ours.entry(key).and_modify(|v| *v = v.wrapping_add(1)).or_insert(value);
            assert_eq!(
                of_ours,
                *std.entry(key).and_modify(|v| *v = v.wrapping_add(1)).or_insert(value)
            );
        }
        Call::Change(key, value) => {
            assert_eq!(
                ours.get_mut(&key).map(|v| *v = value),
                std.get_mut(&key).map(|v| *v = value)
            );
        }
        Call::Remove(key) => assert_eq!(ours.remove(&key), std.remove(&key)),
        Call::RemoveRange(from, count) => {
            for key in from..from + count {
                assert_eq!(ours.remove(&key), std.remove(&key));
            }
        }
        Call::PopFirst => assert_eq!(ours.pop_first(), std.pop_first()),
        Call::PopLast => assert_eq!(ours.pop_last(), std.pop_last()),
        Call::Retain(n) => {
            ours.retain(|key, _| key % u16::from(n) != 0);
            std.retain(|key, _| key % u16::from(n) != 0);
        }
        Call::Clear => {
            ours.clear();
            std.clear();
        }
    }
}

proptest! {
    #[test]
    fn a_map_is_as_that_of_the_standard_library(
        calls in prop::collection::vec(call(), 0..40),
        from in 0u16..5000,
        count in 0u16..3000,
    ) {
        let (mut ours, mut std) = (Map::new(), BTreeMap::new());
        for call in calls {
            make(call, &mut ours, &mut std);
            prop_assert_eq!(ours.len(), std.len());
            prop_assert_eq!(ours.is_empty(), std.is_empty());
            prop_assert_eq!(ours.first(), std.first_key_value());
            prop_assert_eq!(ours.last(), std.last_key_value());
            prop_assert_eq!(ours.get(&from), std.get(&from));
            prop_assert_eq!(ours.contains_key(&from), std.contains_key(&from));
        }
        prop_assert!(ours.iter().eq(std.iter()));
        prop_assert!(ours.iter().rev().eq(std.iter().rev()));
        prop_assert!(ours.keys().eq(std.keys()));
        prop_assert!(ours.values().eq(std.values()));
        let to = from + count;
        prop_assert!(ours.range(from..to).eq(std.range(from..to)));
        prop_assert!(ours.range(from..=to).rev().eq(std.range(from..=to).rev()));
        prop_assert!(ours.range(..to).eq(std.range(..to)));
        prop_assert!(ours.range(from..).eq(std.range(from..)));
        prop_assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        prop_assert_eq!(&ours, &std.clone().into_iter().collect());
        // From both ends at once.
        let (mut a, mut b) = (ours.range(from..), std.range(from..));
        for n in 0.. {
            let (x, y) = if n % 3 == 0 { (a.next_back(), b.next_back()) } else { (a.next(), b.next()) };
            prop_assert_eq!(x, y);
            if x.is_none() {
                break;
            }
        }
        for value in ours.values_mut() {
            *value = 7;
        }
        prop_assert!(ours.into_iter().eq(std.into_keys().map(|key| (key, 7))));
    }

    #[test]
    fn a_set_is_as_that_of_the_standard_library(
        one in prop::collection::vec(0u16..1200, 0..2000),
        other in prop::collection::vec(0u16..1200, 0..30),
        removed in prop::collection::vec(0u16..1200, 0..500),
    ) {
        let (mut a, mut b) = (Set::from_iter(one.clone()), BTreeSet::from_iter(one));
        let (c, d) = (Set::from_iter(other.clone()), BTreeSet::from_iter(other));
        for member in removed {
            prop_assert_eq!(a.remove(&member), b.remove(&member));
        }
        prop_assert_eq!(c.is_subset(&a), d.is_subset(&b));
        prop_assert!(a.difference(&c).eq(b.difference(&d)));
        prop_assert_eq!(a.cmp(&c), b.cmp(&d));
        prop_assert_eq!(a.first(), b.first());
        prop_assert_eq!(a.last(), b.last());
        prop_assert_eq!(a.get(&600), b.get(&600));
        prop_assert_eq!(a.pop_first(), b.pop_first());
        prop_assert_eq!(a.pop_last(), b.pop_last());
        prop_assert!(a.range(300..900).eq(b.range(300..900)));
        prop_assert_eq!(format!("{a:?}"), format!("{b:?}"));
        a.retain(|member| member % 3 == 0);
        b.retain(|member| member % 3 == 0);
        prop_assert!(a.into_iter().eq(b));
    }
}
