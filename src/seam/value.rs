//! The types that fit into one atomic word, and the std atomic of each type.

use std::sync::atomic::*;

use crate::run::event::ValueKind;

mod sealed {
    pub trait Sealed {}
}

/// A type that an [`Atomic`](crate::Atomic) can store: every integer of up to 64 bits, `bool`, and
/// raw pointers to sized types. Sealed.
#[allow(missing_docs)]
pub trait Value: Copy + sealed::Sealed {
    /// The std atomic of this type.
    #[doc(hidden)]
    type Std: Send + Sync;
    /// The value in a form that may be sent to another thread.
    #[doc(hidden)]
    type Raw: Send;
    #[doc(hidden)]
    const KIND: ValueKind;

    #[doc(hidden)]
    fn into_raw(self) -> Self::Raw;
    #[doc(hidden)]
    fn from_raw(raw: &Self::Raw) -> Self;
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;

    #[doc(hidden)]
    fn std(self) -> Self::Std;
    #[doc(hidden)]
    fn std_into_inner(std: Self::Std) -> Self;
    #[doc(hidden)]
    fn std_get_mut(std: &mut Self::Std) -> &mut Self;
    #[doc(hidden)]
    fn std_load(std: &Self::Std, order: Ordering) -> Self;
    #[doc(hidden)]
    fn std_store(std: &Self::Std, value: Self, order: Ordering);
    #[doc(hidden)]
    fn std_swap(std: &Self::Std, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn std_compare_exchange(
        std: &Self::Std,
        current: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self, Self>;
    #[doc(hidden)]
    fn std_compare_exchange_weak(
        std: &Self::Std,
        current: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self, Self>;
}

/// A [`Value`] with bitwise operations: integers and `bool`. Sealed.
pub trait Bits: Value {
    /// Applies `change` to the std atomic.
    #[doc(hidden)]
    fn std_change(std: &Self::Std, change: BitChange, value: Self, order: Ordering) -> Self;
    /// Returns the result of `change` on `old`.
    #[doc(hidden)]
    fn change(old: Self, change: BitChange, value: Self) -> Self;
}

/// A [`Value`] with arithmetic: integers. Sealed.
pub trait Number: Bits {
    /// Applies `change` to the std atomic.
    #[doc(hidden)]
    fn std_compute(std: &Self::Std, change: NumberChange, value: Self, order: Ordering) -> Self;
    /// Returns the result of `change` on `old`.
    #[doc(hidden)]
    fn compute(old: Self, change: NumberChange, value: Self) -> Self;
}

/// A bitwise read-modify-write.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum BitChange {
    And,
    Nand,
    Or,
    Xor,
}

/// An arithmetic read-modify-write. Addition and subtraction wrap around.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum NumberChange {
    Add,
    Sub,
    Max,
    Min,
}

/// A compare-exchange with constant memory orders. The orders may only turn out to be constants
/// later, when the future around the operation has been optimised away. Then std's match over the
/// orders is no longer inlined: each operation of the real build would call a function that
/// branches on them.
macro_rules! exchange {
    ($std:ident.$method:ident($($value:ident),*), $success:ident, $failure:ident) => {
        exchange! { $std.$method($($value),*), $success, $failure;
            Relaxed Relaxed, Relaxed Acquire, Relaxed SeqCst,
            Acquire Relaxed, Acquire Acquire, Acquire SeqCst,
            Release Relaxed, Release Acquire, Release SeqCst,
            AcqRel Relaxed, AcqRel Acquire, AcqRel SeqCst,
            SeqCst Relaxed, SeqCst Acquire, SeqCst SeqCst
        }
    };
    ($std:ident.$method:ident $values:tt, $success:ident, $failure:ident;
     $($s:ident $f:ident),*) => {
        match ($success, $failure) {
            $((Ordering::$s, Ordering::$f) => exchange!(@ $std.$method $values, $s $f),)*
            // The other orders are invalid. std reports this best.
            _ => exchange!(@@ $std.$method $values, $success, $failure),
        }
    };
    (@ $std:ident.$method:ident($current:ident, $new:ident), $s:ident $f:ident) => {
        $std.$method($current, $new, Ordering::$s, Ordering::$f)
    };
    (@@ $std:ident.$method:ident($current:ident, $new:ident), $success:ident, $failure:ident) => {
        $std.$method($current, $new, $success, $failure)
    };
}

macro_rules! value {
    ($type:ty, $std:ty $(, $generic:ident)?; $kind:expr, $raw:ty;
     $into_raw:expr, $from_raw:expr; $to_bits:expr, $from_bits:expr) => {
        impl$(<$generic>)? sealed::Sealed for $type {}

        impl$(<$generic>)? Value for $type {
            type Std = $std;
            type Raw = $raw;
            const KIND: ValueKind = $kind;

            #[inline(always)]
            fn into_raw(self) -> $raw {
                $into_raw(self)
            }
            #[inline(always)]
            fn from_raw(raw: &$raw) -> Self {
                $from_raw(raw)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                $to_bits(self)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $from_bits(bits)
            }
            #[inline(always)]
            fn std(self) -> $std {
                <$std>::new(self)
            }
            #[inline(always)]
            fn std_into_inner(std: $std) -> Self {
                std.into_inner()
            }
            #[inline(always)]
            fn std_get_mut(std: &mut $std) -> &mut Self {
                std.get_mut()
            }
            #[inline(always)]
            fn std_load(std: &$std, order: Ordering) -> Self {
                std.load(order)
            }
            #[inline(always)]
            fn std_store(std: &$std, value: Self, order: Ordering) {
                std.store(value, order);
            }
            #[inline(always)]
            fn std_swap(std: &$std, value: Self, order: Ordering) -> Self {
                std.swap(value, order)
            }
            #[inline(always)]
            fn std_compare_exchange(
                std: &$std,
                current: Self,
                new: Self,
                success: Ordering,
                failure: Ordering,
            ) -> Result<Self, Self> {
                exchange!(std.compare_exchange(current, new), success, failure)
            }
            #[inline(always)]
            fn std_compare_exchange_weak(
                std: &$std,
                current: Self,
                new: Self,
                success: Ordering,
                failure: Ordering,
            ) -> Result<Self, Self> {
                exchange!(std.compare_exchange_weak(current, new), success, failure)
            }
        }
    };
}

macro_rules! bits {
    ($type:ty) => {
        impl Bits for $type {
            #[inline(always)]
            fn std_change(
                std: &Self::Std,
                change: BitChange,
                value: Self,
                order: Ordering,
            ) -> Self {
                match change {
                    BitChange::And => std.fetch_and(value, order),
                    BitChange::Nand => std.fetch_nand(value, order),
                    BitChange::Or => std.fetch_or(value, order),
                    BitChange::Xor => std.fetch_xor(value, order),
                }
            }
            #[inline(always)]
            fn change(old: Self, change: BitChange, value: Self) -> Self {
                match change {
                    BitChange::And => old & value,
                    BitChange::Nand => !(old & value),
                    BitChange::Or => old | value,
                    BitChange::Xor => old ^ value,
                }
            }
        }
    };
}

macro_rules! number {
    ($kind:expr, $wide:ty: $($type:ty, $std:ty;)*) => {$(
        value!($type, $std; $kind, $type; |v| v, |v: &_| *v; |v| v as $wide as u64, |b| b as $type);
        bits!($type);

        impl Number for $type {
            #[inline(always)]
            fn std_compute(
                std: &Self::Std,
                change: NumberChange,
                value: Self,
                order: Ordering,
            ) -> Self {
                match change {
                    NumberChange::Add => std.fetch_add(value, order),
                    NumberChange::Sub => std.fetch_sub(value, order),
                    NumberChange::Max => std.fetch_max(value, order),
                    NumberChange::Min => std.fetch_min(value, order),
                }
            }
            #[inline(always)]
            fn compute(old: Self, change: NumberChange, value: Self) -> Self {
                match change {
                    NumberChange::Add => old.wrapping_add(value),
                    NumberChange::Sub => old.wrapping_sub(value),
                    NumberChange::Max => old.max(value),
                    NumberChange::Min => old.min(value),
                }
            }
        }
    )*};
}

number! { ValueKind::Unsigned, u64:
    u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; usize, AtomicUsize;
}
number! { ValueKind::Signed, i64:
    i8, AtomicI8; i16, AtomicI16; i32, AtomicI32; i64, AtomicI64; isize, AtomicIsize;
}
value!(bool, AtomicBool; ValueKind::Bool, bool; |v| v, |v: &_| *v; u64::from, |b| b != 0);
bits!(bool);
// An `AtomicPtr` is the only safe way to send a pointer unchanged.
value!(*mut T, AtomicPtr<T>, T; ValueKind::Pointer, AtomicPtr<T>;
    AtomicPtr::new, |p: &AtomicPtr<T>| p.load(Ordering::Relaxed);
    |p: *mut T| p.expose_provenance() as u64,
    |b: u64| std::ptr::with_exposed_provenance_mut(b as usize));

/// Returns the kind of a type that need not be a [`Value`]; opaque if it is not a `Value`.
pub(crate) fn kind_of<T: 'static>() -> ValueKind {
    use std::any::TypeId;
    let kinds = [
        (TypeId::of::<u8>(), ValueKind::Unsigned),
        (TypeId::of::<u16>(), ValueKind::Unsigned),
        (TypeId::of::<u32>(), ValueKind::Unsigned),
        (TypeId::of::<u64>(), ValueKind::Unsigned),
        (TypeId::of::<usize>(), ValueKind::Unsigned),
        (TypeId::of::<i8>(), ValueKind::Signed),
        (TypeId::of::<i16>(), ValueKind::Signed),
        (TypeId::of::<i32>(), ValueKind::Signed),
        (TypeId::of::<i64>(), ValueKind::Signed),
        (TypeId::of::<isize>(), ValueKind::Signed),
        (TypeId::of::<bool>(), ValueKind::Bool),
    ];
    let this = TypeId::of::<T>();
    kinds.iter().find(|(id, _)| *id == this).map_or(ValueKind::Opaque, |(_, kind)| *kind)
}

/// Returns the bits of a value whose type is a [`Value`] without a pointer; `None` for any other
/// type.
pub(crate) fn bits_of<T: 'static>(value: &T) -> Option<u64> {
    use std::any::Any;
    fn bits<V: Value + 'static>(value: &dyn Any) -> Option<u64> {
        value.downcast_ref::<V>().map(|value| value.to_bits())
    }
    let value: &dyn Any = value;
    let readers: [fn(&dyn Any) -> Option<u64>; 11] = [
        bits::<u8>,
        bits::<u16>,
        bits::<u32>,
        bits::<u64>,
        bits::<usize>,
        bits::<i8>,
        bits::<i16>,
        bits::<i32>,
        bits::<i64>,
        bits::<isize>,
        bits::<bool>,
    ];
    readers.iter().find_map(|read| read(value))
}
