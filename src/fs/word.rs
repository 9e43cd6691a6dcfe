//! Words of mapped files.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::map::Mapped;
use super::opened::{RunFile, Where};
use super::real;
use crate::disk::{Call, UNIT};
use crate::run::event::Values;
use crate::run::op::Op;
use crate::seam::atomic::{
    COMPARE_EXCHANGE, FETCH_ADD, FETCH_AND, FETCH_MAX, FETCH_MIN, FETCH_NAND, FETCH_OR, FETCH_SUB,
    FETCH_XOR, LOAD, STORE, SWAP, expect_of_failure, expect_of_load, expect_of_store,
};
use crate::seam::value::{BitChange, Number, NumberChange};
use crate::seam::{Here, PlainCall, here};

/// A word of a [`Map`](super::Map): an integer of up to 64 bits in the byte order of the machine. The type has the
/// operations of [`Atomic`](crate::Atomic); each is a point. All operations are sequentially consistent, for every
/// ordering.
///
/// An operation fails the run with `SIGBUS` if the file ends before the word: see [`Map`](super::Map).
///
/// ```
/// use sim::Ordering::SeqCst;
/// use sim::fs::{Map, OpenOptions};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let mut options = OpenOptions::new();
/// let file = options.read(true).write(true).create(true).open("/count").await.unwrap();
/// file.set_len(8).await.unwrap();
/// let count = Map::open(&file, 0..8).await.unwrap().word::<u64>(0);
/// assert_eq!(count.fetch_add(2, SeqCst).await, 0);
/// assert_eq!(sim::fs::read("/count").await.unwrap(), 2_u64.to_ne_bytes());
/// # });
/// # assert!(report.passed());
/// ```
pub struct MapWord<T: Number> {
    pub(super) map: Arc<Mapped>,
    /// The offset in the file, in bytes.
    pub(super) at: u64,
    pub(super) name: Option<&'static str>,
    pub(super) values: PhantomData<fn() -> T>,
}

/// The effect of an operation: the word that it read, and the word that it stored, if any.
type Done = (u64, Option<u64>);

impl<T: Number> MapWord<T> {
    /// Returns the same word with a name. Reports show the name instead of `/log+8`, for example. The first use in a
    /// run determines the name.
    #[must_use]
    pub fn named(self, name: &'static str) -> MapWord<T> {
        MapWord { name: Some(name), ..self }
    }

    /// Executes the operation `op`: reads the word and stores the result of `change`, if any. Values cross the point as
    /// bits.
    fn operation<'a, R: 'a>(
        &'a self,
        op: &'static Op,
        here: Here,
        change: impl Fn(T) -> Option<T> + Send + 'a,
        values: impl Fn(Done) -> Values + Send + 'a,
        result: impl Fn(Done) -> R + Send + 'a,
    ) -> impl Future<Output = R> + Send + 'a {
        let mut call = PlainCall::new(op, here);
        let mut mark = None;
        let bytes = self.at..self.at + size_of::<T>() as u64;
        poll_fn(move |cx| {
            if let (Where::Run(file), None) = (&self.map.open.file, &mark) {
                mark = file.machine.lives(file.life).then(|| self.mark(file, here));
            }
            let step = |old: &[u8]| {
                let old = from_bytes::<T>(old);
                (old.to_bits(), change(old).map(T::to_bits))
            };
            let run = |call: &mut Call<'_>, file: &RunFile| {
                let mut word = [0; UNIT as usize];
                let word = &mut word[..size_of::<T>()];
                if let Err(error) = call.load(file.handle, self.at, word)? {
                    return Ok(Err(error));
                }
                let done = step(word);
                let Some(new) = done.1 else { return Ok(Ok(done)) };
                let stored = call.store(file.handle, self.at, to_bytes(new, word))?;
                Ok(stored.map(|()| done))
            };
            let real = |file: &std::fs::File| {
                let mut word = [0; UNIT as usize];
                let word = &mut word[..size_of::<T>()];
                if !real::read_whole(file, word, self.at)? {
                    return Ok(None);
                }
                let done = step(word);
                if let Some(new) = done.1 {
                    real::write_whole(file, to_bytes(new, word), self.at)?;
                }
                Ok(Some(done))
            };
            let at = (mark.as_ref(), &bytes, here);
            let values = |done: &Done| values(*done);
            self.map.poll(&mut call, at, cx, run, real, values).map(&result)
        })
    }

    fn mark(&self, file: &RunFile, here: Here) -> Arc<crate::seam::Wrapped> {
        let name = || match self.name {
            Some(name) => name.to_owned(),
            None => format!("{}+{}", file.path.display(), self.at),
        };
        file.machine.word(file.ino, self.at / UNIT, (&name, T::KIND), here)
    }

    /// Reads the word.
    ///
    /// # Panics
    /// If `order` is `Release` or `AcqRel`, as in std.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> impl Future<Output = T> + Send + use<'_, T> {
        self.load_at(order, here())
    }

    #[track_caller]
    fn load_at(&self, order: Ordering, here: Here) -> impl Future<Output = T> + Send + use<'_, T> {
        expect_of_load(order);
        self.operation(&LOAD, here, |_| None, |(old, _)| Values::Read(old), old)
    }

    /// Writes `value`.
    ///
    /// # Panics
    /// If `order` is `Acquire` or `AcqRel`, as in std.
    #[track_caller]
    pub fn store(&self, value: T, order: Ordering) -> impl Future<Output = ()> + Send + use<'_, T> {
        expect_of_store(order);
        let bits = value.to_bits();
        let change = move |_| Some(T::from_bits(bits));
        self.operation(&STORE, here(), change, move |_| Values::Wrote(bits), |_| ())
    }

    /// Writes `value` and returns the previous value.
    #[track_caller]
    pub fn swap(&self, value: T, _: Ordering) -> impl Future<Output = T> + Send + use<'_, T> {
        let bits = value.to_bits();
        self.operation(&SWAP, here(), move |_| Some(T::from_bits(bits)), changed, old)
    }

    /// Writes `new` if the word is `current`. Returns the previous value, as `Ok` if the word was replaced and as `Err`
    /// if not.
    ///
    /// ```
    /// use sim::Ordering::SeqCst;
    /// use sim::fs::{File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = File::create_new("/lock").await.unwrap();
    /// file.set_len(8).await.unwrap();
    /// let owner = Map::open(&file, 0..8).await.unwrap().word::<u32>(4);
    /// assert_eq!(owner.compare_exchange(0, 1, SeqCst, SeqCst).await, Ok(0));
    /// assert_eq!(owner.compare_exchange(0, 2, SeqCst, SeqCst).await, Err(1));
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If `failure` is `Release` or `AcqRel`, as in std.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: T,
        new: T,
        _: Ordering,
        failure: Ordering,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        self.compare_exchange_at((current, new), failure, here())
    }

    /// Does the same as [`compare_exchange`](Self::compare_exchange). Never fails spuriously.
    ///
    /// # Panics
    /// If `failure` is `Release` or `AcqRel`, as in std.
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        _: Ordering,
        failure: Ordering,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        self.compare_exchange_at((current, new), failure, here())
    }

    #[track_caller]
    fn compare_exchange_at(
        &self,
        (current, new): (T, T),
        failure: Ordering,
        here: Here,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        expect_of_failure(failure);
        let (current, new) = (current.to_bits(), new.to_bits());
        let change = move |old: T| (old.to_bits() == current).then(|| T::from_bits(new));
        let values = move |(old, new)| match new {
            Some(new) => Values::Changed(old, new),
            None => Values::Refused(old, current),
        };
        self.operation(&COMPARE_EXCHANGE, here, change, values, |(old, new): Done| {
            let old = T::from_bits(old);
            new.map_or(Err(old), |_| Ok(old))
        })
    }

    /// Replaces the word with the result of `update`. If another task has changed the word in between, tries again,
    /// until an attempt succeeds or `update` returns `None`. The load and each compare-exchange are points of their
    /// own, and `update` runs between them. Returns the last value that was read, as `Ok` if the word was replaced.
    ///
    /// ```
    /// use sim::Ordering::SeqCst;
    /// use sim::fs::{File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = File::create_new("/count").await.unwrap();
    /// file.set_len(8).await.unwrap();
    /// let count = Map::open(&file, 0..8).await.unwrap().word::<u8>(0);
    /// let add = |old: u8| old.checked_add(200);
    /// assert_eq!(count.fetch_update(SeqCst, SeqCst, add).await, Ok(0));
    /// assert_eq!(count.fetch_update(SeqCst, SeqCst, add).await, Err(200));
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If `fetch_order` is `Release` or `AcqRel`, as in std.
    #[track_caller]
    pub fn fetch_update<F>(
        &self,
        _: Ordering,
        fetch_order: Ordering,
        mut update: F,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T, F>
    where
        F: FnMut(T) -> Option<T> + Send,
    {
        let here = here();
        async move {
            // Values cross the points as bits.
            let mut bits = self.load_at(fetch_order, here).await.to_bits();
            loop {
                let old = T::from_bits(bits);
                let Some(new) = update(old) else { return Err(old) };
                let tried = self.compare_exchange_at((old, new), fetch_order, here);
                match tried.await {
                    Ok(old) => return Ok(old),
                    Err(other) => bits = other.to_bits(),
                }
            }
        }
    }
}

fn old<T: Number>((old, _): Done) -> T {
    T::from_bits(old)
}

fn changed((old, new): Done) -> Values {
    Values::Changed(old, new.unwrap_or(old))
}

/// Decodes a word from its bytes in memory.
fn from_bytes<T: Number>(bytes: &[u8]) -> T {
    let in_order =
        |byte: usize| if cfg!(target_endian = "big") { bytes.len() - 1 - byte } else { byte };
    let bits = (0..bytes.len()).map(|byte| u64::from(bytes[in_order(byte)]) << (8 * byte));
    T::from_bits(bits.sum())
}

/// Encodes a word into its bytes in memory.
fn to_bytes(bits: u64, into: &mut [u8]) -> &[u8] {
    let length = into.len();
    into.copy_from_slice(&bits.to_le_bytes()[..length]);
    if cfg!(target_endian = "big") {
        into.reverse();
    }
    into
}

macro_rules! fetch {
    ($method:ident; $($(#[$doc:meta])* $name:ident $op:ident $kind:path;)*) => {
        impl<T: Number> MapWord<T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, value: T, _: Ordering) -> impl Future<Output = T> + Send + use<'_, T> {
                let bits = value.to_bits();
                let change = move |old| Some(T::$method(old, $kind, T::from_bits(bits)));
                self.operation(&$op, here(), change, changed, old)
            }
        )*}
    };
}

fetch! { compute;
    /// Adds `value`, wrapping around at the ends of the type, and returns the previous value.
    fetch_add FETCH_ADD NumberChange::Add;
    /// Subtracts `value`, wrapping around at the ends of the type, and returns the previous value.
    fetch_sub FETCH_SUB NumberChange::Sub;
    /// Raises the word to `value` if it is lower, and returns the previous value.
    fetch_max FETCH_MAX NumberChange::Max;
    /// Lowers the word to `value` if it is higher, and returns the previous value.
    fetch_min FETCH_MIN NumberChange::Min;
}

fetch! { change;
    /// Replaces the word with its bitwise "and" with `value`, and returns the previous value.
    fetch_and FETCH_AND BitChange::And;
    /// Replaces the word with its bitwise "not and" with `value`, and returns the previous value.
    fetch_nand FETCH_NAND BitChange::Nand;
    /// Replaces the word with its bitwise "or" with `value`, and returns the previous value.
    fetch_or FETCH_OR BitChange::Or;
    /// Replaces the word with its bitwise "exclusive or" with `value`, and returns the previous value.
    fetch_xor FETCH_XOR BitChange::Xor;
}

impl<T: Number> Clone for MapWord<T> {
    fn clone(&self) -> MapWord<T> {
        MapWord { map: self.map.clone(), at: self.at, name: self.name, values: PhantomData }
    }
}

impl<T: Number> fmt::Debug for MapWord<T> {
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapWord").field("at", &self.at).finish_non_exhaustive()
    }
}
