//! Shared parts of the tests of this package.

#![forbid(unsafe_code)]

pub mod acts;
pub mod corpus;
pub mod counter;
pub mod falsely_proven;
pub mod fingerprint;
pub mod histories;
pub mod judge;
pub mod moments;
pub mod odd_models;
pub mod online;
pub mod page;
pub mod programs;
pub mod real_cost;
pub mod seeds;
pub mod shapes;
pub mod streams;
pub mod subsets;
pub mod tools;
pub mod unfound;

/// Runs `$fact::<M>()` for every model of the registry and for the additional models, each on its
/// own thread.
#[macro_export]
macro_rules! every_model {
    ($fact:ident $(, $also:ty)*) => {{
        struct Facts(Vec<fn()>);
        impl sim::check::models::Visitor for Facts {
            fn visit<M: sim::check::models::RegisteredModel>(&mut self) {
                self.0.push($fact::<M>);
            }
        }
        let mut facts = Facts(Vec::new());
        sim::check::models::registry(&mut facts);
        assert!(facts.0.len() >= 6, "the registry has become short");
        $(sim::check::models::Visitor::visit::<$also>(&mut facts);)*
        std::thread::scope(|scope| {
            for fact in facts.0 {
                scope.spawn(fact);
            }
        });
    }};
}
