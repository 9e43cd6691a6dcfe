//! The ordered set, [`Set`].

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeBounds;

use crate::Map;

/// A sorted set.
///
/// Like a [`BTreeSet`](std::collections::BTreeSet), with the costs of a [`Map`].
///
/// ```
/// let mut ports = unpause_ordered::Set::new();
/// assert!(ports.insert(443));
/// assert!(ports.insert(80));
/// assert!(!ports.insert(80));
/// assert_eq!(ports.iter().collect::<Vec<_>>(), [&80, &443]);
/// ```
pub struct Set<T>(Map<T, ()>);

impl<T> Set<T> {
    /// Creates an empty set. Does not allocate.
    pub const fn new() -> Set<T> {
        Set(Map::new())
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all members, and keeps memory for later members.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns all members, in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self.0.iter())
    }

    /// Returns the smallest member.
    pub fn first(&self) -> Option<&T> {
        self.0.first().map(|(member, ())| member)
    }

    /// Returns the greatest member.
    pub fn last(&self) -> Option<&T> {
        self.0.last().map(|(member, ())| member)
    }

    /// Removes the smallest member.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(member, ())| member)
    }

    /// Removes the greatest member.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_last().map(|(member, ())| member)
    }

    /// Keeps the members for which `keep` returns `true`. Cost: O(n).
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|member, ()| keep(member));
    }
}

impl<T: Ord> Set<T> {
    /// Adds a member. Returns `true` if the member is new.
    pub fn insert(&mut self, member: T) -> bool {
        self.0.insert(member, ()).is_none()
    }

    /// Removes a member. Returns `true` if the member was in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(member).is_some()
    }

    /// Returns `true` if the set contains `member`.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(member)
    }

    /// Returns the member that is equal to `member`.
    pub fn get<Q: Ord + ?Sized>(&self, member: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.range((std::ops::Bound::Included(member), std::ops::Bound::Included(member))).next()
    }

    /// Returns the members in a range, in order.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        Iter(self.0.range(range))
    }

    /// Returns `true` if all members are members of `other`. Cost: one lookup per member.
    pub fn is_subset(&self, other: &Set<T>) -> bool {
        self.len() <= other.len() && self.iter().all(|member| other.contains(member))
    }

    /// Returns the members that are not in `other`, in order. Cost: one lookup per member.
    pub fn difference(&self, other: &Set<T>) -> impl Iterator<Item = &T> {
        self.iter().filter(|member| !other.contains(*member))
    }
}

/// The members of a [`Set`] or of a range of the set, in order.
pub struct Iter<'a, T>(crate::Iter<'a, T, ()>);

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(member, ())| member)
    }
}

impl<'a, T> DoubleEndedIterator for Iter<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        self.0.next_back().map(|(member, ())| member)
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<T> Default for Set<T> {
    fn default() -> Set<T> {
        Set::new()
    }
}

impl<T: Clone> Clone for Set<T> {
    fn clone(&self) -> Set<T> {
        Set(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for Set<T> {
    fn eq(&self, other: &Set<T>) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq> Eq for Set<T> {}

impl<T: Ord> PartialOrd for Set<T> {
    fn partial_cmp(&self, other: &Set<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Set<T> {
    fn cmp(&self, other: &Set<T>) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<T: Hash> Hash for Set<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: Ord> Extend<T> for Set<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Set<T> {
        let mut set = Set::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for Set<T> {
    fn from(members: [T; N]) -> Set<T> {
        Set::from_iter(members)
    }
}

impl<'a, T> IntoIterator for &'a Set<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// Collects the members into one list: O(n).
    fn into_iter(self) -> std::vec::IntoIter<T> {
        self.0.into_iter().map(|(member, ())| member).collect::<Vec<T>>().into_iter()
    }
}
