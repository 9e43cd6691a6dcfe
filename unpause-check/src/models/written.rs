//! Helpers for the models that can be written to a history file.

use std::any::Any;

use crate::datum::Datum;
use crate::history::Written;

/// Returns the value in the form of a file; `None` if files have no such type.
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

/// Returns a call whose result repeats its argument: files use this form for calls that return
/// nothing.
pub(super) fn done(f: &'static str, value: Datum) -> Written {
    Written { f, answer: value.clone(), value }
}

/// Returns one call for each of these items. The calls return nothing.
pub(super) fn each<'a, T: 'static>(
    f: &'static str,
    items: impl IntoIterator<Item = &'a T>,
) -> Option<Vec<Written>> {
    items.into_iter().map(|item| Some(done(f, datum(item)?))).collect()
}
