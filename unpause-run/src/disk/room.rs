//! Free space, counted in sectors of file contents that are not holes.
//!
//! After a power failure, the count keeps its previous value, because the losses of a crash are
//! unknown until they are read. The count also keeps its value after a sync that failed and
//! reverted.

use super::location::Ino;
use unpause_ordered::Set;

/// The used sectors, if the disk has a limit.
#[derive(Clone, Debug)]
pub(super) struct Room {
    sectors: Option<u64>,
    /// Invariant: empty if there is no limit.
    used: Set<(Ino, u64)>,
    /// For each inode, the number of its names that processes can see.
    links: Vec<u32>,
}

impl Room {
    pub(super) fn new(sectors: Option<u64>) -> Room {
        Room { sectors, used: Set::new(), links: vec![1] }
    }

    pub(super) fn add_inode(&mut self) {
        self.links.push(0);
    }

    pub(super) fn has_limit(&self) -> bool {
        self.sectors.is_some()
    }

    /// Counts a sector as used. Returns `false` if the disk is full.
    pub(super) fn take(&mut self, ino: Ino, sector: u64) -> bool {
        let Some(limit) = self.sectors else { return true };
        self.used.contains(&(ino, sector))
            || ((self.used.len() as u64) < limit && self.used.insert((ino, sector)))
    }

    /// Frees the sectors of `ino`, starting at `first`.
    pub(super) fn free_from(&mut self, ino: Ino, first: u64) {
        let freed = self.used.range((ino, first)..=(ino, u64::MAX));
        for sector in freed.copied().collect::<Vec<_>>() {
            self.used.remove(&sector);
        }
    }

    pub(super) fn link(&mut self, ino: Ino) {
        self.links[ino.0 as usize] += 1;
    }

    /// Removes a name from the count. After a crash, an inode may have more names than the count.
    pub(super) fn unlink(&mut self, ino: Ino) {
        let links = &mut self.links[ino.0 as usize];
        *links = links.saturating_sub(1);
    }

    pub(super) fn has_names(&self, ino: Ino) -> bool {
        self.links[ino.0 as usize] > 0
    }
}
