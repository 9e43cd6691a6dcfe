//! Shared by the models that can be written to a file of histories.

use std::any::Any;

use crate::datum::Datum;
use crate::history::Written;

/// The value as a file has it; `None` if files have no such type.
pub(super) fn datum<T: 'static>(value: &T) -> Option<Datum> {
    let value: &dyn Any = value;
    macro_rules! numbers {
        ($($number:ty)*) => {
            $(if let Some(number) = value.downcast_ref::<$number>() {
                return i64::try_from(*number).ok().map(Datum::Integer);
            })*
        };
    }
    numbers!(u64 i64 u32 i32 usize isize u16 i16 u8 i8);
    if let Some(text) = value.downcast_ref::<String>() {
        return Some(Datum::text(text));
    }
    if let Some(text) = value.downcast_ref::<&'static str>() {
        return Some(Datum::text(text));
    }
    if let Some(character) = value.downcast_ref::<char>() {
        return Some(Datum::text(character.encode_utf8(&mut [0; 4])));
    }
    if let Some(value) = value.downcast_ref::<bool>() {
        return Some(Datum::Bool(*value));
    }
    value.downcast_ref::<Datum>().cloned()
}

/// A call whose result repeats its argument: the form in files of a call that returns nothing.
pub(super) fn done(f: &'static str, value: Datum) -> Written {
    Written { f, answer: value.clone(), value }
}

/// Calls that return nothing, one for each of these items.
pub(super) fn each<'a, T: 'static>(
    f: &'static str,
    items: impl IntoIterator<Item = &'a T>,
) -> Option<Vec<Written>> {
    items.into_iter().map(|item| Some(done(f, datum(item)?))).collect()
}
