//! Values that a run stores for other modules: one value per type, created on first use.

use std::any::{Any, TypeId};
use std::sync::Arc;

use crate::rt::part::Part;
use crate::rt::world::World;

/// The values of a run, by type.
#[derive(Default)]
pub(in crate::rt) struct Kept(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl Part for Kept {
    fn forget(&mut self) {
        // These values were added after the end of their run. The values are not dropped, because a destructor might
        // use the run.
        std::mem::forget(std::mem::take(self));
    }

    fn end(world: &World) {
        let kept = std::mem::take(world.state().parts.get_mut::<Kept>());
        drop(kept);
    }
}

impl World {
    /// Returns the value of this type. The first call creates it.
    pub(crate) fn kept<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let id = TypeId::of::<T>();
        let known = {
            let state = self.state();
            let Kept(kept) = state.parts.get();
            kept.iter().find(|(known, _)| *known == id).map(|(_, value)| value.clone())
        };
        let value = known.unwrap_or_else(|| {
            let value: Arc<dyn Any + Send + Sync> = Arc::new(T::default());
            self.state().parts.get_mut::<Kept>().0.push((id, value.clone()));
            value
        });
        value.downcast().unwrap_or_else(|_| unreachable!("it is found by its type"))
    }
}
