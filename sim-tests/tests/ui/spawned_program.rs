//! A generated program in a spawned task.

use sim::check::Model;
use sim::{Gen, Program, Shape};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tickets(u64);

impl Model for Tickets {
    type Op = ();
    type Ret = u64;
    fn step(&mut self, (): &()) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl Program for Tickets {
    fn generate(&self, _: &mut Gen<'_, Self>) {}
}

fn main() {
    sim::spawn(async {
        sim::parallel(Shape::chunks(), Tickets(0), async |()| 0).await;
    });
}
