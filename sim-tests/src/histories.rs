//! Histories to check: all short histories, and random histories.

use sim::check::history::Operation;
use sim::check::models::RegisteredModel;

/// A history of a model, as a list that can grow.
pub type Recorded<M> = Vec<Operation<<M as sim::check::Model>::Op, <M as sim::check::Model>::Ret>>;

/// Reproducible pseudorandom numbers (SplitMix64, Steele et al. 2014).
pub struct Draw(pub u64);

impl Draw {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}

/// Returns `true` if a test may take minutes instead of seconds: `UNPAUSE_LONG=1`.
pub fn long() -> bool {
    std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0")
}

/// The client, invocation and return of each operation of a history, without the operations
/// themselves.
type Shape = Vec<(u32, u64, Option<u64>)>;

/// Calls `found` with every history of `count` operations by up to `clients` clients, pending
/// operations included. The operations come from the first `letters` of the model's alphabet: the
/// first result of each operation, then the second result of each, and so on. If histories differ
/// only in clients or in the numbering of operations, only one of them is visited.
pub fn every<M: RegisteredModel>(
    count: usize,
    clients: u32,
    letters: usize,
    mut found: impl FnMut(&Recorded<M>),
) {
    let alphabet = M::alphabet();
    let mut completed = Vec::new();
    for rank in 0..letters {
        for (op, rets) in &alphabet {
            completed.extend(rets.get(rank).map(|ret| (op.clone(), Some(ret.clone()))));
        }
    }
    completed.truncate(letters);
    let pending: Vec<_> = alphabet.iter().map(|(op, _)| (op.clone(), None)).collect();
    for shape in shapes(count, clients) {
        let choices: Vec<_> =
            shape.iter().map(|call| if call.2.is_some() { &completed } else { &pending }).collect();
        let mut digits = vec![0; count];
        let mut history: Recorded<M> =
            shape.iter().map(|call| fill(call, &choices[0][0])).collect();
        for (i, call) in shape.iter().enumerate() {
            history[i] = fill(call, &choices[i][0]);
        }
        loop {
            found(&history);
            let Some(turn) = (0..count).find(|i| digits[*i] + 1 < choices[*i].len()) else {
                break;
            };
            for i in 0..=turn {
                digits[i] = if i == turn { digits[i] + 1 } else { 0 };
                history[i] = fill(&shape[i], &choices[i][digits[i]]);
            }
        }
    }
}

fn fill<O: Clone, R: Clone>(
    (client, invoked, end): &(u32, u64, Option<u64>),
    (op, ret): &(O, Option<R>),
) -> Operation<O, R> {
    let returned = end.and_then(|end| ret.clone().map(|ret| (ret, end)));
    Operation { client: *client, op: op.clone(), invoked: *invoked, returned }
}

fn shapes(count: usize, clients: u32) -> Vec<Shape> {
    fn extend(shape: &mut Shape, time: u64, count: usize, clients: u32, out: &mut Vec<Shape>) {
        let open: Vec<usize> = (0..shape.len()).filter(|i| shape[*i].2.is_none()).collect();
        if shape.len() == count {
            out.push(shape.clone());
        } else if open.len() < clients as usize {
            let free = |client: &u32| open.iter().all(|i| shape[*i].0 != *client);
            let client = (0..clients).find(free).expect("fewer are open than there are clients");
            shape.push((client, time, None));
            extend(shape, time + 1, count, clients, out);
            shape.pop();
        }
        for i in open {
            shape[i].2 = Some(time);
            extend(shape, time + 1, count, clients, out);
            shape[i].2 = None;
        }
    }
    let mut out = Vec::new();
    extend(&mut Vec::new(), 0, count, clients, &mut out);
    out
}

/// Returns a random history of `count` operations by `clients` clients. The history comes from a correct
/// implementation, but `lies` of its results are replaced by others of the alphabet. About one operation in
/// `pending_one_in` never returns; its client continues under the same number.
pub fn random<M: RegisteredModel>(
    draw: &mut Draw,
    count: usize,
    clients: usize,
    pending_one_in: usize,
    lies: usize,
) -> Recorded<M> {
    let alphabet = M::alphabet();
    let mut state = M::initial();
    let mut history: Recorded<M> = Vec::with_capacity(count);
    // For each client, its open operation, with the result once the operation has taken effect.
    let mut open: Vec<Option<(usize, Option<M::Ret>)>> = vec![None; clients];
    let mut time = 0;
    while history.len() < count || open.iter().any(Option::is_some) {
        let client = draw.below(clients);
        time += 1;
        open[client] = match open[client].take() {
            None if history.len() == count => None,
            None => {
                let op = alphabet[draw.below(alphabet.len())].0.clone();
                history.push(Operation {
                    client: client as u32,
                    op,
                    invoked: time,
                    returned: None,
                });
                Some((history.len() - 1, None))
            }
            Some(_) if draw.below(2 * pending_one_in) == 0 => None,
            Some((index, None)) => Some((index, Some(state.step(&history[index].op)))),
            Some((index, Some(ret))) => {
                history[index].returned = Some((ret, time));
                None
            }
        };
    }
    for _ in 0..lies {
        let call = &mut history[draw.below(count)];
        let rets = &alphabet.iter().find(|(op, _)| *op == call.op).expect("from the alphabet").1;
        if let Some((ret, _)) = &mut call.returned {
            *ret = rets[draw.below(rets.len())].clone();
        }
    }
    history
}
