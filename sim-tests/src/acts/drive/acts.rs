//! The acts of a program, executed over the public API.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{self, Arc, MutexGuard, PoisonError};
use std::task::Poll;

use futures::future::{join, select};
use futures::stream::{FuturesUnordered, StreamExt};
use sim::Ordering::SeqCst;
use sim::check::models::{RegisterOp, RegisterRet};
use sim::task::{Builder, yield_now};
use sim::{JoinHandle, spin_until};

use super::{NAMES, Shared};
use crate::acts::program::{Act, CELL, Effect};

/// The output of a task: the handles that it held. The joining task takes them over.
pub(super) struct Bag(BTreeMap<usize, JoinHandle<Bag>>);

/// The state of one task.
struct Local {
    number: usize,
    // Shared by two branches of a task and by the effects of their drops.
    handles: sync::Mutex<BTreeMap<usize, JoinHandle<Bag>>>,
}

pub(super) type Handles = BTreeMap<usize, JoinHandle<Bag>>;

pub(super) fn task(
    shared: Arc<Shared>,
    number: usize,
    handles: Handles,
) -> Pin<Box<dyn Future<Output = Bag> + Send>> {
    Box::pin(async move {
        let local = Local { number, handles: sync::Mutex::new(handles) };
        let program = shared.driven.program.clone();
        piece(&shared, &local, &program.tasks[number], 0).await;
        Bag(local.handles.into_inner().unwrap_or_else(PoisonError::into_inner))
    })
}

impl Local {
    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, target: usize) -> Option<JoinHandle<Bag>> {
        self.handles().remove(&target)
    }

    fn spawn(&self, shared: &Arc<Shared>, child: usize, given: Handles) {
        let future = task(shared.clone(), child, given);
        let handle = Builder::new().name(child.to_string()).spawn(future);
        self.handles().insert(child, handle);
    }

    /// Returns the result of a join: 1 if the task ended by itself. In this case, takes over its handles.
    fn joined(&self, result: Result<Bag, sim::JoinError>) -> u8 {
        match result {
            Ok(Bag(handles)) => {
                self.handles().extend(handles);
                1
            }
            Err(_) => 0,
        }
    }
}

/// The values that a piece holds. They are released in reverse order when the piece ends or is dropped.
struct Items<'a> {
    shared: &'a Arc<Shared>,
    local: &'a Local,
    branch: u8,
    list: Vec<Item<'a>>,
}

enum Item<'a> {
    Guard(#[allow(dead_code, reason = "held until it is dropped")] sim::MutexGuard<'a, u8>),
    Defer(Effect),
}

impl Drop for Items<'_> {
    fn drop(&mut self) {
        while let Some(item) = self.list.pop() {
            match item {
                Item::Guard(guard) => drop(guard),
                Item::Defer(effect) => {
                    if let Some(value) = effect.done(self.shared, self.local) {
                        self.shared.log(self.local.number, self.branch, value);
                    }
                }
            }
        }
    }
}

impl Effect {
    /// Performs the effect. Returns the value for the log.
    fn done(self, shared: &Arc<Shared>, local: &Local) -> Option<u8> {
        match self {
            Effect::Abort(target) => {
                if let Some(handle) = local.handles().get(&target) {
                    handle.abort();
                }
                None
            }
            Effect::Look(target) => {
                local.handles().get(&target).map(|handle| u8::from(handle.is_finished()))
            }
            Effect::Draw(bound) => Some(sim::rand::below(u64::from(bound)) as u8),
            Effect::Spawn(child) => {
                local.spawn(shared, child, Handles::new());
                None
            }
            Effect::Panic => {
                shared.panic(local.number);
                None
            }
        }
    }
}

/// Runs acts in order, as the branch of a task with this number (0: no branch).
fn piece<'a>(
    shared: &'a Arc<Shared>,
    local: &'a Local,
    acts: &'a [Act],
    branch: u8,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        let mut items = Items { shared, local, branch, list: Vec::new() };
        let mut last = None;
        let mut at = 0;
        while let Some(act) = acts.get(at) {
            at += 1;
            let saw = perform(&mut items, act).await;
            if let Some(value) = saw {
                shared.log(local.number, branch, value);
                last = Some(value);
            }
            shared.goes_on(local.number);
            if let (Act::SkipIf(value, count), Some(last)) = (act, last) {
                if *value == last {
                    at += usize::from(*count);
                }
            }
        }
        drop(items);
        shared.goes_on(local.number);
    })
}

/// Performs an act. Returns the value that it read, for the log.
async fn perform<'a>(items: &mut Items<'a>, act: &'a Act) -> Option<u8> {
    let Items { shared, local, .. } = *items;
    match act {
        Act::Load(word) => Some(shared.load(*word).await),
        Act::Store(word, value) => {
            shared.store(*word, *value).await;
            None
        }
        Act::StoreDrawn(word, bound) => {
            let value = sim::rand::below(u64::from(*bound)) as u8;
            shared.store(*word, value).await;
            None
        }
        Act::Swap(CELL, value) => {
            let old = shared.cell.replace(*value).await;
            shared.wrote(CELL, *value);
            Some(old)
        }
        Act::Swap(word, value) => {
            let old = shared.atomic(*word).swap(*value, SeqCst).await;
            shared.wrote(*word, *value);
            Some(old)
        }
        Act::Add(word) => {
            let old = shared.atomic(*word).fetch_add(1, SeqCst).await;
            shared.wrote(*word, old + 1);
            Some(old)
        }
        Act::Max(word, value) => {
            let old = shared.atomic(*word).fetch_max(*value, SeqCst).await;
            shared.wrote(*word, old.max(*value));
            Some(old)
        }
        Act::Exchange(word, from, to) => {
            let (Ok(old) | Err(old)) = shared.exchange(*word, *from, *to).await;
            Some(old)
        }

        Act::Lock(lock) => {
            let (value, guard) = shared.lock(*lock).await;
            items.list.push(Item::Guard(guard));
            Some(value)
        }
        Act::TryLock(lock) => match shared.try_lock(*lock).await {
            Some((value, guard)) => {
                items.list.push(Item::Guard(guard));
                Some(1 + value)
            }
            None => Some(0),
        },
        Act::Unlock => {
            if let Some(at) = items.list.iter().rposition(|item| matches!(item, Item::Guard(_))) {
                drop(items.list.remove(at));
            }
            None
        }

        Act::Spin(word, value) => {
            spin_until(async || shared.load(*word).await == *value).await;
            None
        }
        Act::SpinEither(one, two) => {
            spin_until(async || shared.load(0).await == *one || shared.load(1).await == *two).await;
            None
        }
        Act::SpinBoth(one, two) => {
            spin_until(async || shared.load(0).await == *one && shared.load(1).await == *two).await;
            None
        }
        Act::SpinExchange(word, from, to) => {
            spin_until(async || shared.exchange(*word, *from, *to).await.is_ok()).await;
            None
        }
        Act::SpinTry(lock) => {
            spin_until(async || shared.locks[*lock].try_lock().await.is_some()).await;
            None
        }

        Act::Yield => {
            yield_now().await;
            None
        }
        Act::Draw(bound) => Effect::Draw(*bound).done(shared, local),
        Act::SkipIf(..) => None,
        Act::Panic => Effect::Panic.done(shared, local),

        Act::Spawn(child, gives) => {
            let given = gives.iter().filter_map(|target| Some((*target, local.take(*target)?)));
            local.spawn(shared, *child, given.collect());
            None
        }
        Act::Join(target) => {
            let handle = local.take(*target)?;
            Some(local.joined(handle.await))
        }
        Act::Poll(target) => {
            let handle = local.take(*target)?;
            match poll_once(handle).await {
                Some(result) => Some(1 + local.joined(result)),
                None => Some(0),
            }
        }
        Act::PollJoin(target) => {
            let mut handle = local.take(*target)?;
            let result = match poll_once(&mut handle).await {
                Some(result) => result,
                None => {
                    yield_now().await;
                    handle.await
                }
            };
            Some(local.joined(result))
        }
        Act::Abort(target) => Effect::Abort(*target).done(shared, local),
        Act::Look(target) => Effect::Look(*target).done(shared, local),
        Act::Detach(target) => {
            local.take(*target)?.detach();
            None
        }
        Act::Drop(act) => {
            let mut inner = Items { list: Vec::new(), ..*items };
            poll_once(Box::pin(perform_boxed(&mut inner, act))).await;
            None
        }

        Act::Node(name) => {
            shared.add_node(local.number, *name);
            None
        }
        Act::Find(name) => Some(u8::from(sim::node::find(NAMES[*name]).is_some())),
        Act::Addr(name) => {
            Some(sim::node::find(NAMES[*name]).map_or(0, |node| match node.addr() {
                IpAddr::V4(addr) => addr.octets()[3],
                IpAddr::V6(_) => unreachable!("nodes have addresses of IPv4"),
            }))
        }
        Act::Life(name) => Some(
            sim::node::find(NAMES[*name])
                .map_or(0, |node| 2 * node.life() as u8 + u8::from(node.is_up())),
        ),
        Act::Kill(name) => {
            if let Some(node) = sim::node::find(NAMES[*name]) {
                node.kill();
            }
            None
        }
        Act::Restart(name) => {
            if let Some(node) = sim::node::find(NAMES[*name]) {
                node.restart();
            }
            None
        }

        Act::Race(one, two) => {
            drop(select(piece(shared, local, one, 1), piece(shared, local, two, 2)).await);
            None
        }
        Act::Both(one, two) => {
            join(piece(shared, local, one, 1), piece(shared, local, two, 2)).await;
            None
        }
        Act::Woken(one, two) => {
            let both = [piece(shared, local, one, 1), piece(shared, local, two, 2)];
            both.into_iter().collect::<FuturesUnordered<_>>().collect::<()>().await;
            None
        }

        Act::Defer(effect) => {
            items.list.push(Item::Defer(*effect));
            None
        }
        Act::Call { explicit, write, words } => {
            let history = shared.history.as_ref().expect("a program with calls has a history");
            let op = write.map_or(RegisterOp::Read, |value| RegisterOp::Write(value.into()));
            let work = async {
                let mut ret = RegisterRet::Done;
                for word in words {
                    match write {
                        Some(value) => shared.store(*word, *value).await,
                        None => ret = RegisterRet::Value(shared.load(*word).await.into()),
                    }
                }
                ret
            };
            let ret = match explicit {
                true => {
                    let call = history.invoke(op);
                    let ret = work.await;
                    call.ok(ret.clone());
                    ret
                }
                false => history.call(op, work).await,
            };
            match ret {
                RegisterRet::Done => None,
                RegisterRet::Value(value) => Some(value as u8),
            }
        }
    }
}

/// Performs an act inside another act.
fn perform_boxed<'b, 'a: 'b>(
    items: &'b mut Items<'a>,
    act: &'a Act,
) -> Pin<Box<dyn Future<Output = Option<u8>> + Send + 'b>> {
    Box::pin(perform(items, act))
}

/// Polls a future once, and drops it if the function owns it.
async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    poll_fn(|cx| match Pin::new(&mut future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
