//! Shapes: all precedence relations between the operations of a history, each exactly once.
//!
//! Linearizability does not depend on exact times. It depends only on the pairs of operations in which one operation
//! returned before the other was invoked. These precedence relations are the interval orders. Each interval order has
//! one canonical form with stages: in each stage, operations are invoked, and then operations return (Greenough 1976).
//! Six operations by three clients have tens of thousands of event orders, but only some hundreds of shapes.

use crate::histories::Draw;

/// For each operation, the stage of its invocation, and the stage at whose end it returns, or [`NEVER`]. The operations
/// are sorted, so the predecessors of an operation come before it.
pub type Shape = Vec<(u8, u8)>;

/// The return stage of a pending operation.
pub const NEVER: u8 = u8::MAX;

/// Returns every shape of `count` operations with at most `clients` open operations at a time. An
/// operation that never returns stays open.
pub fn shapes(count: usize, clients: usize) -> Vec<Shape> {
    let mut out = Vec::new();
    stage(0, count, clients, &[], &mut Vec::new(), &mut out);
    out
}

/// Continues from the beginning of stage `number`; `left` operations are not yet invoked. `open`
/// contains the invocation stages of the open operations.
fn stage(
    number: u8,
    left: usize,
    clients: usize,
    open: &[u8],
    done: &mut Shape,
    out: &mut Vec<Shape>,
) {
    if left == 0 && number == 0 {
        out.push(Shape::new());
    }
    for more in 1..=left.min(clients - open.len()) {
        let mut open = open.to_vec();
        open.resize(open.len() + more, number);
        // Operations with the same invocation stage are interchangeable, so the first ones return first.
        let returning = (0u32..1 << open.len()).filter(|set| {
            let first = |i: usize| set & 1 << i == 0 || set & 1 << (i - 1) != 0;
            (1..open.len()).all(|i| open[i] != open[i - 1] || first(i))
        });
        for set in returning {
            let returns = |i: &usize| set & 1 << i != 0;
            let (go, stay): (Vec<usize>, Vec<usize>) = (0..open.len()).partition(returns);
            let mut done = done.clone();
            done.extend(go.iter().map(|i| (open[*i], number)));
            let stay: Vec<u8> = stay.iter().map(|i| open[*i]).collect();
            if left == more {
                done.extend(stay.iter().map(|invoked| (*invoked, NEVER)));
                done.sort_unstable();
                out.push(done);
            } else if !go.is_empty() && stay.len() < clients {
                stage(number + 1, left - more, clients, &stay, &mut done, out);
            }
        }
    }
}

/// Returns the client, the invocation time and the return time of each operation of a shape. The
/// order of events within a stage and the clients are drawn.
pub fn times(shape: &Shape, draw: &mut Draw) -> Vec<(u32, u64, Option<u64>)> {
    let mut events: Vec<(u8, bool, usize, usize)> = Vec::new();
    for (i, &(from, to)) in shape.iter().enumerate() {
        events.push((from, false, draw.below(1 << 16), i));
        if to != NEVER {
            events.push((to, true, draw.below(1 << 16), i));
        }
    }
    events.sort_unstable();
    let mut calls = vec![(0, 0, None); shape.len()];
    let mut free: Vec<u32> = (0..shape.len() as u32).collect();
    for (time, (_, is_return, _, i)) in events.into_iter().enumerate() {
        if is_return {
            calls[i].2 = Some(time as u64);
            free.push(calls[i].0);
            free.sort_unstable();
        } else {
            let most = free.len().min(2);
            calls[i] = (free.remove(draw.below(most)), time as u64, None);
        }
    }
    calls
}
