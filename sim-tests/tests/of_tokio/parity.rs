//! tokio's names must mean the same in both builds, inside and outside of runs.

use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sim::tokio::sync::{
    Barrier, MappedMutexGuard, Mutex, MutexGuard, Notify, OnceCell, OwnedMappedMutexGuard,
    OwnedMutexGuard, OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLock, RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SetError,
    SetOnce, TryAcquireError, mpsc, oneshot,
};

/// Calls the body outside of runs. If the build has simulated runs, also calls it in one run.
#[track_caller]
fn everywhere<B: AsyncFn() + Sync>(body: B) {
    sim::block_on(body());
    let run = sim::Runner::new().hermetic().run_seed(0, async || body().await);
    assert_eq!(run.outcome, sim::run::Outcome::Passed);
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn a_mutex() {
    everywhere(async || {
        let mut mutex = Mutex::new((1, 2));
        {
            let mut guard: MutexGuard<'_, _> = is_send(mutex.lock()).await;
            guard.0 += 1;
            assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
            assert!(mutex.try_lock().is_err());
            assert_eq!(format!("{guard:?}"), "(2, 2)");
            let mut part: MappedMutexGuard<'_, i32> = MutexGuard::map(guard, |pair| &mut pair.1);
            *part += 1;
            let part = MappedMutexGuard::try_map(part, |_| None::<&mut i32>).unwrap_err();
            drop(MappedMutexGuard::map(part, |part| part));
        }
        assert_eq!(*mutex.try_lock().unwrap(), (2, 3));
        mutex.get_mut().0 = 7;
        assert_eq!(mutex.into_inner(), (7, 3));

        let shared = Arc::new(Mutex::from(5));
        let guard: OwnedMutexGuard<_> = is_send(shared.clone().lock_owned()).await;
        assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &shared));
        assert!(shared.clone().try_lock_owned().is_err());
        let guard = OwnedMutexGuard::try_map(guard, |_| None::<&mut i32>).unwrap_err();
        let part: OwnedMappedMutexGuard<_, i32> = OwnedMutexGuard::map(guard, |value| value);
        drop(OwnedMappedMutexGuard::map(part, |part| part));
        assert_eq!(*shared.try_lock_owned().unwrap(), 5);
        assert_eq!(*Mutex::<u8>::default().lock().await, 0);
    });
}

#[test]
fn a_lock_with_readers() {
    everywhere(async || {
        let lock = RwLock::new((1, 2));
        {
            let one: RwLockReadGuard<'_, _> = is_send(lock.read()).await;
            let two = lock.try_read().unwrap();
            assert!(lock.try_write().is_err());
            assert_eq!((one.0, *RwLockReadGuard::map(two, |pair| &pair.1)), (1, 2));
            assert!(RwLockReadGuard::try_map(one, |_| None::<&i32>).is_err());
        }
        let mut guard: RwLockWriteGuard<'_, _> = is_send(lock.write()).await;
        guard.0 = 5;
        assert!(lock.try_read().is_err());
        let guard = guard.downgrade();
        assert_eq!((guard.0, lock.try_read().unwrap().0), (5, 5));
        drop(guard);
        let guard = lock.write().await;
        let part: RwLockMappedWriteGuard<'_, i32> =
            RwLockWriteGuard::map(guard, |pair| &mut pair.1);
        drop(RwLockMappedWriteGuard::map(part, |part| part));
        let guard = RwLockWriteGuard::try_map(lock.write().await, |_| None::<&mut i32>);
        drop(RwLockWriteGuard::into_mapped(guard.unwrap_err()));
        let part = RwLockWriteGuard::downgrade_map(lock.write().await, |pair| &pair.1);
        assert_eq!((*part, lock.try_read().unwrap().1), (2, 2));
        drop(part);
        let guard = RwLockWriteGuard::try_downgrade_map(lock.write().await, |_| None::<&i32>);
        let guard = guard.unwrap_err();
        assert!(lock.try_read().is_err());
        let part = RwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.1)).unwrap();
        assert_eq!((*part, lock.try_read().unwrap().1), (2, 2));
        drop(part);
        assert_eq!(lock.into_inner(), (5, 2));

        let shared = Arc::new(RwLock::with_max_readers(3, 2));
        let one: OwnedRwLockReadGuard<_> = is_send(shared.clone().read_owned()).await;
        let two = shared.clone().try_read_owned().unwrap();
        assert!(shared.try_read().is_err() && shared.clone().try_write_owned().is_err());
        assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&one), &shared));
        drop((OwnedRwLockReadGuard::map(one, |value| value), two));
        let mut guard: OwnedRwLockWriteGuard<_> = is_send(shared.clone().write_owned()).await;
        *guard += 1;
        assert_eq!(*guard.downgrade(), 4);
        let guard = shared.clone().try_write_owned().unwrap();
        let part: OwnedRwLockMappedWriteGuard<_> = OwnedRwLockWriteGuard::into_mapped(guard);
        let part = OwnedRwLockMappedWriteGuard::try_map(part, |_| None::<&mut u8>).unwrap_err();
        drop(OwnedRwLockMappedWriteGuard::map(part, |part| part));
        let guard = shared.clone().write_owned().await;
        let part = OwnedRwLockWriteGuard::downgrade_map(guard, |value| value);
        assert_eq!((*part, *shared.try_read().unwrap()), (4, 4));
        drop(part);
        let guard = shared.clone().write_owned().await;
        let guard = OwnedRwLockWriteGuard::try_downgrade_map(guard, |_| None::<&i32>).unwrap_err();
        assert!(shared.try_read().is_err());
        drop(OwnedRwLockWriteGuard::try_downgrade_map(guard, |value| Some(value)).unwrap());
        assert_eq!(*shared.read().await, 4);
    });
}

#[test]
fn a_semaphore() {
    everywhere(async || {
        let permits = Arc::new(Semaphore::new(4));
        let mut two = is_send(permits.acquire_many(2)).await.unwrap();
        two.merge(permits.try_acquire().unwrap());
        assert_eq!((two.num_permits(), permits.available_permits()), (3, 1));
        let one = two.split(1).unwrap();
        assert!(two.split(3).is_none());
        assert_eq!(permits.try_acquire_many(2).unwrap_err(), TryAcquireError::NoPermits);
        drop(one);
        assert_eq!(permits.forget_permits(5), 2);
        two.forget();
        permits.add_permits(3);
        let mut owned = is_send(permits.clone().acquire_many_owned(2)).await.unwrap();
        owned.merge(permits.clone().try_acquire_owned().unwrap());
        assert!(Arc::ptr_eq(owned.semaphore(), &permits));
        drop(owned.split(2));
        assert_eq!(permits.available_permits(), 2);
        drop(permits.clone().acquire_owned().await);
        drop(permits.clone().try_acquire_many_owned(2));
        let mut waits = pin!(permits.acquire_many(3));
        assert!(poll(&mut waits).is_pending());
        permits.close();
        assert!(permits.is_closed() && permits.acquire().await.is_err());
    });
}

/// Unlike shuttle's semaphore, tokio's semaphore does not know tasks.
#[test]
fn a_queued_request_gets_its_permit_after_the_end_of_its_task() {
    everywhere(async || {
        let permits = Arc::new(Semaphore::new(0));
        let own = permits.clone();
        let task = sim::spawn(async move {
            let mut waits = Box::pin(own.acquire_owned());
            assert!(poll(&mut waits).is_pending());
            Some(waits)
        });
        let waits = task.await.unwrap().unwrap();
        permits.add_permits(1);
        assert_eq!(permits.available_permits(), 0);
        drop(waits.await);
        assert_eq!(permits.available_permits(), 1);
    });
}

#[test]
fn very_many_permits() {
    everywhere(async || {
        let many = 2 * u32::MAX as usize;
        let permits = Semaphore::new(Semaphore::MAX_PERMITS);
        let mut all = permits.acquire_many(u32::MAX).await.unwrap();
        all.merge(permits.acquire_many(u32::MAX).await.unwrap());
        assert_eq!(all.num_permits(), many);
        assert_eq!(all.split(many - 1).unwrap().num_permits(), many - 1);
        drop(all);
        assert_eq!(permits.available_permits(), Semaphore::MAX_PERMITS);

        let (sender, _receiver) = mpsc::channel::<u8>(Semaphore::MAX_PERMITS);
        let rooms = [
            sender.reserve_many(u32::MAX as usize).await.unwrap(),
            sender.reserve_many(u32::MAX as usize).await.unwrap(),
        ];
        assert_eq!(rooms.iter().map(|room| room.len()).sum::<usize>(), many);
        drop(rooms);
        assert_eq!(sender.capacity(), Semaphore::MAX_PERMITS);
    });
}

#[test]
fn texts_are_those_of_tokio() {
    use ::tokio::sync as real;

    fn are_the_same(ours: &dyn Debug, theirs: &dyn Debug) {
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }

    static PLACES: Semaphore = Semaphore::const_new(2);
    everywhere(async || {
        let (ours, theirs) = (Arc::new(Semaphore::new(3)), Arc::new(real::Semaphore::new(3)));
        are_the_same(&ours, &theirs);
        let permits = (ours.acquire_many(2).await.unwrap(), theirs.acquire_many(2).await.unwrap());
        are_the_same(&permits.0, &permits.1);
        let (ours, theirs) = (ours.clone().acquire_owned(), theirs.clone().acquire_owned());
        are_the_same(&ours.await.unwrap(), &theirs.await.unwrap());
        are_the_same(&Notify::new(), &real::Notify::new());
        are_the_same(&Barrier::new(2), &real::Barrier::new(2));
        let (ours, theirs) = (oneshot::channel::<u8>(), real::oneshot::channel::<u8>());
        are_the_same(&ours, &theirs);

        // A static has the state of the run.
        let free = |count: u32| format!("Semaphore {{ ll_sem: Semaphore {{ permits: {count} }} }}");
        assert_eq!(format!("{PLACES:?}"), free(2));
        let place = PLACES.acquire().await.unwrap();
        assert_eq!(format!("{PLACES:?}"), free(1));
        drop(place);

        let task = sim::spawn(async {});
        let id = task.id();
        assert_eq!(format!("{task:?}"), format!("JoinHandle {{ id: {id:?} }}"));
        let abort = task.abort_handle();
        assert_eq!(format!("{abort:?}"), format!("AbortHandle {{ id: {id:?} }}"));
        task.await.unwrap();
    });
}

#[test]
fn a_notification() {
    everywhere(async || {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        is_send(notify.notified()).await;
        let mut told = pin!(notify.clone().notified_owned());
        assert!(!told.as_mut().enable());
        notify.notify_waiters();
        told.await;
        let early = notify.notified();
        notify.notify_waiters();
        early.await;
        notify.notify_last();
        notify.notified().await;
    });
}

#[test]
fn cells() {
    everywhere(async || {
        let cell = OnceCell::new();
        assert!(cell.get().is_none() && !cell.initialized());
        assert_eq!(cell.get_or_try_init(async || Err::<u8, _>("no")).await, Err("no"));
        assert_eq!(*cell.get_or_init(async || 7).await, 7);
        assert_eq!(cell.set(8), Err(SetError::AlreadyInitializedError(8)));
        assert_eq!((cell.clone() == cell, cell.into_inner()), (true, Some(7)));
        let mut cell = OnceCell::new_with(Some(1));
        *cell.get_mut().unwrap() += 1;
        assert_eq!(
            (*cell.get_or_init(async || 9).await, cell.take(), cell.take()),
            (2, Some(2), None)
        );
        static GIVEN: OnceCell<u8> = OnceCell::const_new_with(3);
        assert!(OnceCell::<u8>::const_new().set(1).is_ok());
        if !sim::SIMULATED {
            assert_eq!(GIVEN.get(), Some(&3));
        }
        let once = SetOnce::new();
        assert!(once.get().is_none());
        once.set(4).unwrap();
        assert!(once.set(5).is_err() && once.initialized());
        assert_eq!(format!("{once:?}"), "SetOnce { value: Some(4) }");
        assert_eq!((*once.wait().await, once.into_inner()), (4, Some(4)));
    });
}

#[test]
fn a_channel_for_one_value() {
    everywhere(async || {
        let (sender, mut receiver) = oneshot::channel();
        assert_eq!(receiver.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert!(receiver.is_empty() && !receiver.is_terminated());
        sender.send(1).unwrap();
        assert_eq!(is_send(receiver).await, Ok(1));
        let (mut sender, mut receiver) = oneshot::channel::<u8>();
        receiver.close();
        is_send(sender.closed()).await;
        assert!(sender.is_closed());
        assert_eq!(sender.send(2), Err(2));
        assert!(receiver.await.is_err());
    });
}

/// Like in tokio, the value need not be `Send`.
#[test]
fn a_channel_for_one_value_of_one_thread() {
    everywhere(async || {
        let (mut sender, receiver) = oneshot::channel::<std::rc::Rc<u8>>();
        drop(receiver);
        sender.closed().await;
        assert!(sender.send(std::rc::Rc::new(7)).is_err());
    });
}

#[test]
fn a_barrier() {
    everywhere(async || {
        let barrier = Arc::new(Barrier::new(2));
        let other = sim::spawn({
            let barrier = barrier.clone();
            async move { barrier.wait().await.is_leader() }
        });
        assert_ne!(is_send(barrier.wait()).await.is_leader(), other.await.unwrap());
    });
}
