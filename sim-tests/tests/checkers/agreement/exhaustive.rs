//! Every history of a few operations by three clients over the alphabet of each model.

use sim::check::history::Operation;
use sim::check::models::*;
use sim_tests::histories::{Draw, Recorded, long};
use sim_tests::shapes::{shapes, times};
use sim_tests::subsets::Letters;

use super::{Care, Tally, agree, every_model};

#[test]
fn every_engine_judges_every_small_history_right() {
    fn fact<M: RegisteredModel>() -> Tally {
        let (mut draw, mut tally) = (Draw(1), Tally::default());
        for count in 0..=if long() { 6 } else { 3 } {
            let care = match count {
                0..=4 => Care { others: 1, proof: if long() { 16 } else { 8 } },
                5 => Care { others: 4, proof: 512 },
                _ => Care { others: 64, proof: 1 << 14 },
            };
            let before = tally;
            histories::<M>(count, &mut draw, |history, expected| {
                agree(&mut tally, &M::initial(), history, expected, care);
            });
            let sum = |tally: Tally| tally.consistent + tally.violated;
            println!("{}: {count} operations: {}", M::NAME, sum(tally) - sum(before));
        }
        tally.assert_both(50);
        tally
    }
    every_model!(fact);
}

/// Calls `found` with every history of `count` operations by three clients and with the answer.
/// Everything that does not affect the answer is drawn: the order of events in a stage, the
/// clients, the numbering.
pub(crate) fn histories<M: RegisteredModel>(
    count: usize,
    draw: &mut Draw,
    mut found: impl FnMut(&Recorded<M>, bool),
) {
    let letters = Letters::<M>::new(count.max(1));
    for shape in shapes(count, 3) {
        let (mut history, mut places): (Recorded<M>, Vec<usize>) = (Vec::new(), Vec::new());
        letters.every(&shape, &mut |word, same, expected| {
            // The position is drawn again if the next histories differ in more than the last two operations.
            let mut from = same;
            if from + 2 < count || history.is_empty() {
                places = (0..count).collect();
                (1..count).for_each(|i| places.swap(i, draw.below(i + 1)));
                let calls = times(&shape, draw);
                let (op, _) = &letters.letters[0];
                history.clear();
                history.resize(
                    count,
                    Operation { client: 0, op: op.clone(), invoked: 0, returned: None },
                );
                for (i, (client, invoked, end)) in calls.iter().enumerate() {
                    let op = op.clone();
                    // The result is set below.
                    let ret = letters.letters[word[i]].1.clone();
                    let returned = ret.zip(*end);
                    history[places[i]] =
                        Operation { client: *client, op, invoked: *invoked, returned };
                }
                from = 0;
            }
            for i in from..count {
                let (op, ret) = &letters.letters[word[i]];
                let call = &mut history[places[i]];
                call.op = op.clone();
                call.returned = ret.clone().zip(call.returned.take().map(|(_, end)| end));
            }
            found(&history, expected);
        });
    }
}
