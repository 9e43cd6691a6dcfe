//! Computes the top of a search that is divided among processes.

use std::sync::Arc;

use super::slice::SliceMaker;
use crate::engine::results::TopLine;
use crate::engine::simulate::session::Session;
use crate::strategy::Search;
use crate::strategy::divided::{Division, SearchTree};

/// Reads the top from the file of this process, or computes it.
pub(super) fn make(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    tree: &mut SearchTree,
    division: Division,
) {
    let log = session.assignment.results.search();
    if let Some(log) = log {
        if let Some(line) = log.top().filter(|line| line.generation >= tree.generation()) {
            let learnt = line.top.apart.and(log.learnt_by_others());
            let is_all = learnt == line.top.apart;
            let (generation, top) = (line.generation, line.top);
            if tree.take_top(generation, top).is_ok() && is_all {
                return;
            }
            // Other shares have learned more criteria, but all shares must have the same top.
            tree.begin_again(learnt);
        } else if log.learnt_by_others().and(tree.apart()) != tree.apart() {
            // If this share has no top, it begins with the criteria that other shares have learned.
            tree.begin_again(log.learnt_by_others());
        }
    }
    let mut maker = SliceMaker::new(session, search.another());
    while let Some(at) = tree.to_look_at(division) {
        let look = maker.look(tree.part_of_top(at));
        tree.look_below(at, look);
    }
    // Flags that the looks have set must not be added to the first slice: another process reads the top from the file.
    let _ = session.take_strengthened();
    tree.keep_share(division);
    if let Some(log) = log {
        log.write(&TopLine::write(tree.generation(), &tree.top()));
    }
}
