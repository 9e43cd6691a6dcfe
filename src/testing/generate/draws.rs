//! The input of a generated command: drawn numbers, and the earlier commands.

use std::ops::Range;

use super::CommandId;
use unpause_check::Model;

/// A source of drawn arguments for a command. Every drawn value is a decision of the run, so the trace replays it and
/// shrinking makes it small.
///
/// ```
/// use sim::check::models::Counter;
///
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let sizes = sim::parallel::initial::<Counter, _>(|g| {
///     let count = g.below(4);
///     (0..count).map(|_| g.range(1..9)).collect::<Vec<_>>()
/// });
/// assert!(sizes.len() < 4 && sizes.iter().all(|size| (1..9).contains(size)));
/// # });
/// # assert!(report.passed());
/// ```
pub struct Gen<'a, P: Model> {
    /// Returns a number below its argument, which is at least 1.
    pub(super) draw: &'a mut dyn FnMut(u64) -> u64,
    pub(super) id: CommandId,
    pub(super) client: Option<u32>,
    pub(super) earlier: &'a [Earlier<'a, P>],
    /// `true` if the earlier commands were read.
    pub(super) looked: bool,
}

/// A command that has certainly ended before the generated command begins.
#[derive(Debug)]
pub struct Earlier<'a, P: Model> {
    /// The id of the command. A later command contains this id to use its result.
    pub id: CommandId,
    /// The operation, with unresolved ids.
    pub op: &'a P::Op,
    /// The result of the command if all commands run in sequence, in generation order. The real result is known only
    /// after the command has returned.
    pub ret: &'a P::Ret,
}

impl<P: Model> Clone for Earlier<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Model> Copy for Earlier<'_, P> {}

impl<P: Model> Gen<'_, P> {
    /// Calls `make` with numbers from `draw`, and without earlier commands.
    pub(crate) fn with<T>(
        id: CommandId,
        draw: &mut dyn FnMut(u64) -> u64,
        make: impl FnOnce(&mut Gen<'_, P>) -> T,
    ) -> T {
        make(&mut Gen { draw, id, client: None, earlier: &[], looked: false })
    }
}

impl<'a, P: Model> Gen<'a, P> {
    /// Returns a number below `bound`, uniformly distributed. Shrinks to 0.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[track_caller]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0: give a bound of at least 1");
        (self.draw)(bound)
    }

    /// Returns a number in `range`. Shrinks to the start of the range.
    ///
    /// # Panics
    /// If the range is empty.
    ///
    /// ```
    /// use sim::check::models::Counter;
    ///
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let size = sim::parallel::initial::<Counter, _>(|g| g.range(1..3));
    /// assert!(size == 1 || size == 2, "the end of the range is exclusive");
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "there is no number in the empty range {range:?}");
        range.start + self.below(range.end - range.start)
    }

    /// Returns the client number of the command, which is the number of its branch. `None` in the prefix and the
    /// suffix.
    pub fn client(&self) -> Option<u32> {
        self.client
    }

    /// Returns `true` or `false`. Shrinks to `false`.
    pub fn bool(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Returns one of `items`. Shrinks to the first item.
    ///
    /// # Panics
    /// If `items` is empty.
    #[track_caller]
    pub fn choose<T: Clone>(&mut self, items: &[T]) -> T {
        assert!(!items.is_empty(), "there is nothing to choose from: give at least one item");
        items[self.below(items.len() as u64) as usize].clone()
    }

    /// Returns one of `items`, each with a probability proportional to its weight. Shrinks to the first item.
    ///
    /// # Panics
    /// If the weights add up to 0.
    ///
    /// ```
    /// use sim::check::models::Counter;
    ///
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let kinds = [(90, "read"), (10, "write"), (0, "delete")];
    /// let kind = sim::parallel::initial::<Counter, _>(|g| g.weighted(&kinds));
    /// assert_ne!(kind, "delete");
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Returns the id of the command that is being generated. The id is unique in the program, so an object can use it
    /// to identify a command that is sent again.
    pub fn id(&self) -> CommandId {
        self.id
    }

    /// Returns the commands whose results this command may use, in generation order.
    pub fn earlier(&mut self) -> &'a [Earlier<'a, P>] {
        self.looked = true;
        self.earlier
    }

    /// Chooses an earlier command that is `wanted` and whose result this command may use; `None` if there is no such
    /// command. Shrinks to the first.
    ///
    /// ```
    /// use sim::check::models::Counter;
    ///
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let earlier = sim::parallel::initial::<Counter, _>(|g| g.choose_earlier(|_| true));
    /// assert_eq!(earlier, None, "an initial state is drawn before all commands");
    /// # });
    /// # assert!(report.passed());
    /// ```
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
