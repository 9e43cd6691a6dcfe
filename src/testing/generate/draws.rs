//! The input of a generated command: numbers drawn, and the commands before.

use std::ops::Range;

use super::CommandId;
use unpause_check::Model;

/// Draws the arguments of a command. Every value drawn is a decision of the run: replayed by its
/// trace, and made small by shrinking.
pub struct Gen<'a, P: Model> {
    /// Returns a number below a bound that is at least 1.
    pub(super) draw: &'a mut dyn FnMut(u64) -> u64,
    pub(super) id: CommandId,
    pub(super) client: Option<u32>,
    pub(super) earlier: &'a [Earlier<'a, P>],
    /// True if the earlier commands were read.
    pub(super) looked: bool,
}

/// A command that has certainly ended before the command being generated begins.
#[derive(Debug)]
pub struct Earlier<'a, P: Model> {
    /// Its id, for a command that uses its result.
    pub id: CommandId,
    /// The operation, not resolved.
    pub op: &'a P::Op,
    /// Its result if all commands run one after the other in the order of generation. The real result is known
    /// only after it has returned.
    pub ret: &'a P::Ret,
}

impl<P: Model> Clone for Earlier<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Model> Copy for Earlier<'_, P> {}

impl<P: Model> Gen<'_, P> {
    /// Calls `make` with numbers from `draw`, and no earlier command.
    pub(crate) fn with<T>(
        id: CommandId,
        draw: &mut dyn FnMut(u64) -> u64,
        make: impl FnOnce(&mut Gen<'_, P>) -> T,
    ) -> T {
        make(&mut Gen { draw, id, client: None, earlier: &[], looked: false })
    }
}

impl<'a, P: Model> Gen<'a, P> {
    /// A number below `bound`, every one with the same probability. Shrinks to 0.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[track_caller]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0: give a bound of at least 1");
        (self.draw)(bound)
    }

    /// A number of `range`. Shrinks to the start of the range.
    ///
    /// # Panics
    /// If the range is empty.
    #[track_caller]
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "there is no number in the empty range {range:?}");
        range.start + self.below(range.end - range.start)
    }

    /// The client number of the command: the number of its branch. None before and after all
    /// branches.
    pub fn client(&self) -> Option<u32> {
        self.client
    }

    /// True or false. Shrinks to false.
    pub fn bool(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of `items`. Shrinks to the first.
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn choose<T: Clone>(&mut self, items: &[T]) -> T {
        assert!(!items.is_empty(), "there is nothing to choose from: give at least one item");
        items[self.below(items.len() as u64) as usize].clone()
    }

    /// One of `items`, each with a probability in proportion to its weight. Shrinks to the first.
    ///
    /// # Panics
    /// If the weights add up to 0.
    #[track_caller]
    pub fn weighted<T: Clone>(&mut self, items: &[(u32, T)]) -> T {
        let sum: u64 = items.iter().map(|(weight, _)| u64::from(*weight)).sum();
        assert!(sum > 0, "nothing has a weight: give at least one item with a weight above 0");
        let mut drawn = self.below(sum);
        let found = items.iter().find(|(weight, _)| {
            let here = drawn < u64::from(*weight);
            drawn = drawn.saturating_sub(u64::from(*weight));
            here
        });
        found.expect("the number drawn is below the sum of the weights").1.clone()
    }

    /// The id of the command being generated. No other command of the program has it, so an object can identify
    /// a command that is sent again.
    pub fn id(&self) -> CommandId {
        self.id
    }

    /// The commands whose results this one may use, in the order of their generation.
    pub fn earlier(&mut self) -> &'a [Earlier<'a, P>] {
        self.looked = true;
        self.earlier
    }

    /// Chooses one of the earlier commands whose results this one may use and that are `wanted`;
    /// `None` if there is none. Shrinks to the first.
    pub fn choose_earlier(
        &mut self,
        wanted: impl Fn(&Earlier<'a, P>) -> bool,
    ) -> Option<CommandId> {
        let all: Vec<CommandId> =
            self.earlier().iter().filter(|e| wanted(e)).map(|e| e.id).collect();
        if all.is_empty() { None } else { Some(self.choose(&all)) }
    }
}

impl<P: Model> std::fmt::Debug for Gen<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gen").field("id", &self.id).finish_non_exhaustive()
    }
}
