//! Values that the process keeps for modules above, outside of runs: one of each type.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

static KEPT: Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>> = Mutex::new(Vec::new());

/// The value of this type, made when it is first asked for.
pub(crate) fn of_process<T: Default + Send + Sync + 'static>() -> Arc<T> {
    let id = TypeId::of::<T>();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.iter().find(|(known, _)| *known == id).map(|(_, value)| value.clone());
    let value = known.unwrap_or_else(|| {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(T::default());
        kept.push((id, value.clone()));
        value
    });
    value.downcast().unwrap_or_else(|_| unreachable!("it is found by its type"))
}
