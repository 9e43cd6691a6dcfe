//! Values that the process stores for other modules, outside of runs: one value per type.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

static KEPT: Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>> = Mutex::new(Vec::new());

/// Returns the value of this type. The first call creates it.
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
