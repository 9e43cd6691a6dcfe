//! Replies as bytes, and their decoding. The decoder trusts nothing: an invalid number is not a
//! reply.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::ProcessEnd;
use crate::linux::death::Death;
use crate::linux::execution::{Ended, Region};
use crate::linux::fault::{Fault, Problem, Step, TooWeak};
use crate::linux::net::{Effect, Transfer, Use};
use crate::linux::request::{Access, Call, Comparison, Operation, Request};

/// A value that can be written as bytes.
pub trait Written: Sized {
    /// Appends the value.
    fn write(&self, to: &mut Vec<u8>);

    /// Reads a value and advances `from` past it. Returns `None` if the bytes are not a valid
    /// value.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

impl Written for u8 {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn read(from: &mut &[u8]) -> Option<u8> {
        let (first, rest) = from.split_first()?;
        *from = rest;
        Some(*first)
    }
}

impl Written for u64 {
    /// Writes seven bits per byte, the lowest bits first. The highest bit of a byte is set if more
    /// bytes follow.
    fn write(&self, to: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            to.push(left as u8 | 0x80);
            left >>= 7;
        }
        to.push(left as u8);
    }

    fn read(from: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = u8::read(from)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// Numbers that are written like another type.
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Written for $number {
            fn write(&self, to: &mut Vec<u8>) {
                (*self as u64).write(to);
            }

            fn read(from: &mut &[u8]) -> Option<$number> {
                let value = u64::read(from)?;
                let number = value as $number;
                (number as u64 == value).then_some(number)
            }
        }
    )*};
}
numbers!(u16 u32 usize i32 i64 isize);

impl Written for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut &[u8]) -> Option<bool> {
        [false, true].get(usize::from(u8::read(from)?)).copied()
    }
}

impl Written for String {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<String> {
        let length = usize::read(from)?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Written for &'static str {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend_from_slice(self.as_bytes());
    }

    /// Each text is stored once. Texts are names of operations and of functions, and a program has
    /// few of them.
    fn read(from: &mut &[u8]) -> Option<&'static str> {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let text = String::read(from)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&*text) {
            return Some(known);
        }
        let text: &'static str = text.leak();
        known.insert(text);
        Some(text)
    }
}

impl<T: Written> Written for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Option<T>> {
        match bool::read(from)? {
            true => Some(Some(T::read(from)?)),
            false => Some(None),
        }
    }
}

impl<T: Written> Written for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut &[u8]) -> Option<Vec<T>> {
        // The items are read one by one, because the number is not trusted.
        (0..usize::read(from)?).map(|_| T::read(from)).collect()
    }
}

impl Written for std::ops::Range<usize> {
    fn write(&self, to: &mut Vec<u8>) {
        self.start.write(to);
        self.end.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(usize::read(from)?..usize::read(from)?)
    }
}

/// Tuples are written part by part.
macro_rules! tuples {
    ($(($($part:ident $number:tt),*))*) => {$(
        impl<$($part: Written),*> Written for ($($part,)*) {
            fn write(&self, to: &mut Vec<u8>) {
                $(self.$number.write(to);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(($($part::read(from)?,)*))
            }
        }
    )*};
}
tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// Implements `Written` for structures, field by field.
#[doc(hidden)]
#[macro_export]
macro_rules! written_structures {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl $crate::Written for $name {
            fn write(&self, to: &mut Vec<u8>) {
                $($crate::Written::write(&self.$field, to);)*
            }

            fn read(from: &mut &[u8]) -> Option<$name> {
                Some($name { $($field: $crate::Written::read(from)?),* })
            }
        }
    )*};
}
written_structures! {
    Access { operation, size, order, failure, address, operand, replacement }
    Step { label, thread, addresses }
    Fault { problem, size, offset, steps, missing }
}

/// Implements `Written` for enumerations: a number for the variant, and then its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! written_enumerations {
    ($($name:ident { $($number:literal $variant:ident $(($($part:ident),*))? $({$($field:ident),*})?)* })*) => {$(
        impl $crate::Written for $name {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($($part),*))? $({$($field),*})? => {
                        to.push($number);
                        $($($crate::Written::write($part, to);)*)?
                        $($($crate::Written::write($field, to);)*)?
                    })*
                }
            }

            fn read(from: &mut &[u8]) -> Option<$name> {
                Some(match <u8 as $crate::Written>::read(from)? {
                    $($number => $name::$variant
                        $(($({ let $part = $crate::Written::read(from)?; $part }),*))?
                        $({$($field: $crate::Written::read(from)?),*})?,)*
                    _ => return None,
                })
            }
        }
    )*};
}
written_enumerations! {
    Operation {
        0 Load 1 Store 2 Swap 3 Add 4 Sub 5 And 6 Or 7 Xor 8 Nand 9 CompareExchange 10 Fence
    }
    Problem {
        0 DoubleFree 1 InvalidFree 2 UseAfterFree 3 WriteAfterFree 4 OutOfBounds 5 Leak 6 DataRace
        7 UseAfterReturn
    }
    Ended { 0 Returned 1 Panicked(message, place) }
    Region { 0 Heap 1 Stack(thread) 2 Program 3 Unknown }
    Effect { 0 Done { answer, changed, beside } 1 Waits { version, limit } }
    Use { 0 Reads 1 Adds 2 Changes }
    ProcessEnd { 0 Signal(number) 1 Exit(code) 2 Hung 3 Full 4 Strayed }
    Death {
        0 Signal { signal, address, raised }
        1 StackOverflow { size }
        2 Abort
        3 Exit { function, code }
        4 Interrupted
        5 Process(end)
    }
    Request {
        0 Access(access)
        1 Wait { word, expected, bits, deadline }
        2 Wake { word, count, bits }
        3 Spawn { thread }
        4 Join { thread }
        5 Yield
        6 Point
        7 Sleep { until }
        8 Transfer(transfer)
        9 Key
        10 Fault
        11 End
        12 Died(death)
        13 Noted
        14 Requeue { word, to, wakes, moves, expected }
        15 WakeOp { word, count, access, others, comparison, operand }
    }
    Comparison { 0 Equal 1 NotEqual 2 Less 3 LessOrEqual 4 Greater 5 GreaterOrEqual }
}

impl Written for Transfer {
    fn write(&self, to: &mut Vec<u8>) {
        let Transfer { object, kind, name, deadline, call: _ } = self;
        object.write(to);
        kind.write(to);
        name.write(to);
        deadline.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Transfer> {
        let (object, kind, name, deadline) = (
            Written::read(from)?,
            Written::read(from)?,
            Written::read(from)?,
            Written::read(from)?,
        );
        Some(Transfer { object, kind, name, deadline, call: Call::nothing() })
    }
}

impl Written for TooWeak {
    fn write(&self, to: &mut Vec<u8>) {
        let [first, second] = &self.operations;
        first.write(to);
        second.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<TooWeak> {
        Some(TooWeak { operations: [Written::read(from)?, Written::read(from)?] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: Written>(value: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let access = Access {
            operation: Operation::CompareExchange,
            size: 8,
            order: 5,
            failure: 2,
            address: usize::MAX,
            operand: 300,
            replacement: 0,
        };
        let step = Step::at("write", 3, [1, 2, 1 << 47]);
        let missing = Some(TooWeak { operations: [(step.clone(), 0), (step.clone(), 3)] });
        let fault = Fault { offset: -4, missing, ..Fault::new(Problem::DataRace, step) };
        let exit = Death::Exit { function: "exit", code: -3 };
        let all = [
            bytes(&Request::Access(access)),
            bytes(&Request::Died(exit)),
            bytes(&Request::Wait { word: 7, expected: 1, bits: 3, deadline: Some(u64::MAX) }),
            bytes(&Request::Requeue { word: 7, to: 11, wakes: 1, moves: 2, expected: Some(5) }),
            bytes(&Request::WakeOp {
                word: 7,
                count: 1,
                access,
                others: 2,
                comparison: Comparison::GreaterOrEqual,
                operand: -2048,
            }),
            bytes(&Request::Died(Death::Process(ProcessEnd::Signal(11)))),
        ];
        for written in &all {
            let mut from = &written[..];
            let read = Request::read(&mut from).unwrap();
            assert!(from.is_empty());
            assert_eq!(bytes(&read), *written);
        }
        let written = bytes(&(fault, Some(-1i64), vec!["one".to_owned(), String::new()]));
        let mut from = &written[..];
        let read: (Fault, Option<i64>, Vec<String>) = Written::read(&mut from).unwrap();
        assert!(from.is_empty());
        assert_eq!(bytes(&read), written);
        assert_eq!((read.0.offset, read.1), (-4, Some(-1)));
    }

    #[test]
    fn what_is_destroyed_is_no_value() {
        let written = bytes(&Request::Sleep { until: 1 << 40 });
        for end in 0..written.len() {
            assert!(Request::read(&mut &written[..end]).is_none());
        }
        // Each byte is replaced by each value. Reading must return a value or `None`.
        for (at, byte) in (0..written.len()).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
            let mut other = written.clone();
            other[at] = byte;
            let _ = Request::read(&mut &other[..]);
        }
        let long = bytes(&u64::MAX);
        assert!(<Vec<u64>>::read(&mut &long[..]).is_none(), "no room is made for any number");
    }
}
