//! Command arguments of types that implement `Arbitrary`, with the feature `arbitrary`.

use arbitrary::{Arbitrary, Unstructured};

use super::Gen;
use unpause_check::Model;

/// The maximum number of bytes drawn for a value.
const BYTES_MAX: usize = 64;
/// The number of bytes drawn for a type without a maximum size.
const BYTES: usize = 32;

impl<P: Model> Gen<'_, P> {
    /// Returns a value of a type, created from drawn bytes: as many as the type requests, at most 64. Shrinks
    /// to the value created from zero bytes, which is usually 0 or empty.
    ///
    /// # Panics
    /// If the type cannot create a value from these bytes.
    ///
    /// ```
    /// use sim::Gen;
    /// use sim::check::models::{Register, RegisterOp};
    ///
    /// fn write(g: &mut Gen<'_, Register<(u8, bool)>>) -> RegisterOp<(u8, bool)> {
    ///     RegisterOp::Write(g.arbitrary())
    /// }
    /// ```
    #[track_caller]
    pub fn arbitrary<T: for<'b> Arbitrary<'b>>(&mut self) -> T {
        let (least, most) = T::size_hint(0);
        let wanted = most.unwrap_or(BYTES.max(least)).min(BYTES_MAX);
        let mut word = || self.below(u64::MAX).to_le_bytes();
        let bytes: Vec<u8> = (0..wanted.div_ceil(8)).flat_map(|_| word()).collect();
        match T::arbitrary(&mut Unstructured::new(&bytes)) {
            Ok(value) => value,
            Err(why) => panic!("{} was not made of bytes: {why}", std::any::type_name::<T>()),
        }
    }
}
