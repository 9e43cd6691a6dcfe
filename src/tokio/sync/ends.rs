//! The ends of a channel as the run knows them.

use std::sync::Arc;

use crate::run::op::Op;
use crate::seam::{Here, Wrapped};

/// One end. Dropped after tokio's, in the same step, it records that.
///
/// The fields of a struct are dropped in their order, so an `End` stands below tokio's end. The operation is the same
/// for the last end of its side as for others: which of two is the last one depends on their order, and steps that can
/// be swapped do the same in either order.
#[derive(Debug)]
pub(super) struct End {
    /// The object of the channel.
    pub(super) channel: Arc<Wrapped>,
    drop: &'static Op,
    here: Here,
}

impl End {
    /// An end that was made at this place. Its drop is the operation `drop`.
    pub(super) fn new(channel: &Arc<Wrapped>, drop: &'static Op, here: Here) -> End {
        End { channel: channel.clone(), drop, here }
    }

    /// The object of the channel.
    pub(super) fn wrapped(&self) -> &Wrapped {
        &self.channel
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.channel.last(self.drop, self.here, || ());
    }
}
