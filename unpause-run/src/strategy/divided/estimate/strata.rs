//! Samples of the nodes of a level.
//!
//! A node is drawn with a probability in proportion to its weight, so that all drawn nodes of a stratum have the same
//! new weight. The samples are systematic: on a line of weights, they have equal distances, and only the first is
//! random.

use std::sync::Arc;

use super::known_steps::Progress;
use super::{Node, WEIGHTS};
use crate::run::rng::Rng;
use crate::strategy::divided::top::Look;

/// The number of representatives of a stratum. With a single representative, the bootstrap would not see the
/// differences within the stratum.
const REPRESENTATIVES: usize = 2;

/// A node that a sample may keep.
pub(super) trait Weighted {
    fn node(&mut self) -> &mut Node;
    fn weight(&self) -> f64;
}

/// A node after its look.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) node: Node,
    pub(super) look: Look,
    /// The stratum: the progress of each task, and a hash of the other facts.
    pub(super) progress: Progress,
    pub(super) state: u64,
    /// The number of children that are not barren.
    pub(super) fertile: usize,
}

impl Weighted for Candidate {
    fn node(&mut self) -> &mut Node {
        &mut self.node
    }

    fn weight(&self) -> f64 {
        self.node.weight
    }
}

impl Weighted for Node {
    fn node(&mut self) -> &mut Node {
        self
    }

    fn weight(&self) -> f64 {
        self.weight
    }
}

/// Reduces the nodes of a level to about `slots` nodes.
pub(super) fn thin(nodes: Vec<Candidate>, slots: usize, rng: &mut Rng) -> Vec<Candidate> {
    let mut strata = strata(nodes);
    let needed: usize = strata.iter().map(|stratum| stratum.len().min(REPRESENTATIVES)).sum();
    if needed > slots {
        strata = merged(strata, (slots / REPRESENTATIVES).max(1));
    }
    let weights: Vec<f64> = strata.iter().map(|stratum| total(stratum)).collect();
    let mut counts: Vec<usize> =
        strata.iter().map(|stratum| stratum.len().min(REPRESENTATIVES)).collect();
    // The stratum with the largest weight for each representative gets the next representative.
    let used: usize = counts.iter().sum();
    for _ in used..slots {
        let each = |at: &usize| weights[*at] / counts[*at] as f64;
        let open = (0..strata.len()).filter(|at| counts[*at] < strata[*at].len());
        let Some(next) = open.max_by(|a, b| each(a).total_cmp(&each(b))) else { break };
        counts[next] += 1;
    }
    let mut chosen = Vec::new();
    for (all, count) in strata.into_iter().zip(counts) {
        chosen.extend(sample(all, count, rng));
    }
    chosen
}

/// Divides nodes into strata. Neighbours are similar: they have the same number of tasks, and similar progress.
fn strata(mut nodes: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    unpause_ordered::sort_by(&mut nodes, |a, b| {
        let key = |one: &Candidate| (one.look.tasks.len(), one.state);
        let ((a_tasks, a_state), (b_tasks, b_state)) = (key(a), key(b));
        a_tasks.cmp(&b_tasks).then_with(|| a.progress.cmp(&b.progress)).then(a_state.cmp(&b_state))
    });
    let mut strata: Vec<Vec<Candidate>> = Vec::new();
    for node in nodes {
        let is_same = |of: &Candidate| of.progress == node.progress && of.state == node.state;
        match strata.last_mut() {
            Some(stratum) if is_same(&stratum[0]) => stratum.push(node),
            _ => strata.push(vec![node]),
        }
    }
    strata
}

/// Merges neighbouring strata into at most `count` strata of about the same weight.
fn merged(strata: Vec<Vec<Candidate>>, count: usize) -> Vec<Vec<Candidate>> {
    let each = strata.iter().map(|stratum| total(stratum)).sum::<f64>() / count as f64;
    let mut merged: Vec<Vec<Candidate>> = Vec::new();
    let (mut before, mut at) = (0.0, None);
    for stratum in strata {
        let weight = total(&stratum);
        let own = ((before + weight / 2.0) / each) as usize;
        before += weight;
        match merged.last_mut() {
            Some(last) if at == Some(own) => last.extend(stratum),
            _ => merged.push(stratum),
        }
        at = Some(own);
    }
    merged
}

fn total<T: Weighted>(nodes: &[T]) -> f64 {
    nodes.iter().map(Weighted::weight).sum()
}

/// Returns `count` of the nodes, which represent all of them. A node with more than its part of the weight is kept with
/// its own weight.
pub(super) fn sample<T: Weighted>(nodes: Vec<T>, count: usize, rng: &mut Rng) -> Vec<T> {
    if nodes.len() <= count {
        return nodes;
    }
    let (mut heavy, mut light) = (Vec::new(), nodes);
    while heavy.len() < count {
        let each = total(&light) / (count - heavy.len()) as f64;
        let Some(at) = light.iter().position(|node| node.weight() > each * 1.000_001) else {
            break;
        };
        heavy.push(light.remove(at));
    }
    let left = count - heavy.len();
    if left > 0 {
        heavy.extend(representatives(light, left, rng));
    }
    heavy
}

/// Returns a systematic sample of `count` nodes, each with the same part of the weight.
fn representatives<T: Weighted>(mut nodes: Vec<T>, count: usize, rng: &mut Rng) -> Vec<T> {
    let each = total(&nodes) / count as f64;
    let mut others = vec![0.0; WEIGHTS];
    for node in &mut nodes {
        let node = node.node();
        for (sum, other) in others.iter_mut().zip(node.others.iter()) {
            *sum += node.weight * other / (each * count as f64);
        }
    }
    let again = drawn_again(count, rng);
    let start = rng.below(1 << 40) as f64 / (1u64 << 40) as f64;
    let (mut before, mut nth, last) = (0.0, 0, nodes.len() - 1);
    let mut kept = Vec::new();
    for (at, mut node) in nodes.into_iter().enumerate() {
        before += node.weight();
        let first = nth;
        // A rounding error must not lose the last representative.
        while nth < count && ((start + nth as f64) * each < before || at == last) {
            nth += 1;
        }
        let times = (nth - first) as f64;
        if nth > first {
            let of_node = |weight: usize| {
                let drawn: f64 = again[first..nth].iter().map(|drawn| drawn[weight]).sum();
                others[weight] * drawn / times
            };
            let others: Arc<[f64]> = (0..WEIGHTS).map(of_node).collect();
            let kept_node = node.node();
            (kept_node.weight, kept_node.others) = (each * times, others);
            kept.push(node);
        }
    }
    kept
}

/// Draws `count` - 1 of `count` representatives with replacement, for each of the further weights. Returns the factor
/// of each representative for each weight. With one draw less than representatives, the deviation is unbiased (Rao and
/// Wu, *Resampling inference with complex survey data*, 1988).
pub(super) fn drawn_again(count: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    if count == 1 {
        return vec![vec![1.0; WEIGHTS]];
    }
    let mut factors = vec![vec![0.0; WEIGHTS]; count];
    let draws = count - 1;
    for nth in 0..WEIGHTS * draws {
        let drawn = rng.below(count as u64) as usize;
        factors[drawn][nth / draws] += count as f64 / draws as f64;
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::super::super::Job;
    use super::*;

    fn nodes(weights: &[f64]) -> Vec<Node> {
        let node = |weight: &f64| Node {
            job: Job::default(),
            weight: *weight,
            others: vec![1.0; WEIGHTS].into(),
            is_barren: false,
        };
        let mut nodes: Vec<Node> = weights.iter().map(node).collect();
        (0u64..).zip(&mut nodes).for_each(|(number, node)| node.job.number = number);
        nodes
    }

    #[test]
    fn a_sample_represents_each_node_with_its_weight() {
        let mut rng = Rng::new(0);
        for weights in [vec![1.0; 10], vec![1.0, 2.0, 30.0, 4.0, 5.0, 0.5], vec![3.0, 1.0]] {
            for count in 1..=3 {
                let (mut sums, tries) = (vec![0.0; weights.len()], 20_000);
                for _ in 0..tries {
                    let kept = sample(nodes(&weights), count, &mut rng);
                    assert!(kept.len() <= count.min(weights.len()), "{weights:?} {count}");
                    let all: f64 = kept.iter().map(|node| node.weight).sum();
                    assert!((all / weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
                    kept.iter().for_each(|node| sums[node.job.number as usize] += node.weight);
                }
                for (sum, weight) in sums.iter().zip(&weights) {
                    let mean = sum / f64::from(tries);
                    assert!((mean - weight).abs() < 0.15 * weight.max(1.0), "{weights:?} {mean}");
                }
            }
        }
    }

    #[test]
    fn further_weights_have_the_deviation_of_the_sample() {
        // The nodes have values 0 and 1, so a sum over two of them has a deviation.
        let (mut rng, weights) = (Rng::new(1), vec![1.0; 100]);
        let (mut within, mut between, tries) = (0.0, 0.0, 2_000);
        for _ in 0..tries {
            let mut all = nodes(&weights);
            for at in (1..all.len()).rev() {
                all.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let kept = sample(all, 4, &mut rng);
            let value = |node: &Node| f64::from(u8::from(node.job.number < 30));
            let sum: f64 = kept.iter().map(|node| node.weight * value(node)).sum();
            let other = |nth: usize| -> f64 {
                kept.iter().map(|node| node.weight * node.others[nth] * value(node)).sum()
            };
            within += (0..WEIGHTS).map(|nth| (other(nth) - sum).powi(2)).sum::<f64>();
            between += (sum - 30.0).powi(2);
        }
        let ratio = within / WEIGHTS as f64 / between;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
    }
}
