//! The kinds of uncertain edges. See `manner.rs`.

/// Defines the kinds and their list.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A kind of uncertain edges: a thread acquires a clock, but another order of the program may not have this
        /// edge.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Uncertain {
            $($(#[$doc])* $name,)*
        }

        impl Uncertain {
            /// All kinds.
            pub const ALL: &[Uncertain] = &[$(Uncertain::$name,)*];
        }
    };
}

kinds! {
    /// A futex wake or a call on a file happens before the end of the matching call in another thread. C++20 does not
    /// demand it.
    Call,
    /// A thread allocates memory that another thread has freed. C++20 does not demand the edge.
    Memory,
    /// A thread reuses the stack of an ended thread. C++20 does not demand the edge.
    Stack,
    /// An operation that is not a step acquires, for example in the drop of an `Arc`. The search does not try its other
    /// orders.
    InPassing,
    /// A step acquires a word that an operation in passing has written. The search does not try the other orders of
    /// that operation.
    Passed,
    /// A thread acquires a lock that several threads may hold. The search tries one order of their calls.
    SharedLock,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Uncertain;
    use crate::litmus::{ACQ, ACQ_REL, Act, REL, RLX, Random};
    use crate::tests::sample;
    use crate::{Manner, Operation, OrderS, Orders, Rules, SEQ_CST};

    // The words of the programs: one that is read at the end, a lock, a count, and a lock for several threads.
    const READ: usize = 0;
    const LOCK: usize = 1;
    const COUNT: usize = 2;
    const SHARED: usize = 3;
    const THREADS: usize = 3;
    /// An object of calls, and the address of freed memory.
    const OBJECT: usize = 8;

    /// A run of a search, and the values in memory.
    struct Run {
        orders: Orders,
        memory: [u64; 4],
    }

    impl Run {
        fn new(s: OrderS) -> Run {
            let mut run = Run { orders: Orders::default(), memory: [0; 4] };
            run.orders.reset(Rules { left_out: None, ..Rules::weak(s).in_search() });
            // The first values are known to all threads, but are no stores in passing.
            (0..4).for_each(|word| run.act(0, Manner::InTurn, Act::Add(word, 1, RLX), 0));
            (1..=THREADS).for_each(|thread| run.orders.spawned(0, thread));
            run.orders.chooses = true;
            run
        }

        /// Returns the indices of the stores that an operation may choose.
        fn places(&mut self, thread: usize, act: &Act) -> Vec<u8> {
            let Some(word) = act.word() else { return vec![0] };
            let at = self.orders.word(act, self.memory[word]);
            let (places, number, _) = self.orders.places(thread, act, &self.orders.words[at]);
            places[..number].to_vec()
        }

        /// Returns `true` if an operation in passing has written the word of an operation.
        fn is_passed(&self, act: &Act) -> bool {
            let at = self.orders.by_address.get(&act.address());
            at.is_some_and(|at| self.orders.words[*at as usize].is_passed)
        }

        fn act(&mut self, thread: usize, manner: Manner, act: Act, nth: usize) {
            let memory = act.word().map_or(0, |word| self.memory[word]);
            self.orders.set_manner(manner);
            let done = self.orders.perform(thread, &act, memory, nth);
            if let (Some(word), true) = (act.word(), done.in_memory) {
                self.memory[word] = done.new;
            }
        }

        /// Like [`act`](Self::act), but without the uncertain edge of an acquire. The last exclusive holder of a lock
        /// has an edge to each later holder.
        fn act_without_edge(&mut self, thread: usize, manner: Manner, act: Act, nth: usize) {
            let Some(word) = act.word() else { return self.act(thread, manner, act, nth) };
            let at = self.orders.word(&act, self.memory[word]);
            let place = usize::from(self.places(thread, &act)[nth]);
            let stores = self.orders.words[at].stores.len();
            let message = std::mem::take(&mut self.orders.words[at].stores[place].message);
            if matches!(manner, Manner::OfSharedLock | Manner::OfSharedPrimitive) {
                let exclusive = self.orders.words[at].exclusive.clone();
                self.orders.words[at].stores[place].message = exclusive;
            }
            self.act(thread, manner, act, nth);
            let word = &mut self.orders.words[at].stores;
            if word.len() > stores && act.reads() {
                word[place + 1].message.join(&message);
            }
            word[place].message = message;
        }

        /// Performs the first half of an edge of this kind in one thread.
        fn leave(&mut self, kind: Uncertain, thread: usize) {
            match kind {
                Uncertain::Call => self.orders.publish(thread, OBJECT),
                Uncertain::Memory => self.orders.freed(thread, OBJECT),
                Uncertain::Stack => {}
                Uncertain::InPassing | Uncertain::Passed => {
                    self.act(thread, Manner::InPassing, Act::Add(COUNT, 1, REL), 0);
                }
                Uncertain::SharedLock => {
                    self.act(thread, Manner::OfSharedLock, Act::Add(SHARED, 1, ACQ_REL), 0);
                }
            }
        }

        /// Performs the second half in another thread.
        fn enter(&mut self, kind: Uncertain, (thread, from): (usize, usize)) {
            match kind {
                Uncertain::Call => self.orders.receive(thread, OBJECT),
                Uncertain::Memory => self.orders.allocated(thread, OBJECT, 8),
                Uncertain::Stack => self.orders.reused(thread, from),
                Uncertain::InPassing => {
                    self.act(thread, Manner::InPassing, Act::Add(COUNT, 1, ACQ), 0);
                }
                Uncertain::Passed => self.act(thread, Manner::OfWait, Act::Load(COUNT, ACQ), 0),
                Uncertain::SharedLock => {
                    self.act(thread, Manner::OfSharedLock, Act::Add(SHARED, 1, ACQ_REL), 0);
                }
            }
        }
    }

    /// A thread changes a word, and another thread reads it after an edge of this kind. If `locks`, a lock orders them,
    /// too. Returns `true` if the run may have missed an outcome.
    fn misses(kind: Uncertain, (manner, reads): (Manner, Manner), locks: bool) -> bool {
        let mut run = Run::new(OrderS::ExactWithMoves);
        run.act(1, manner, Act::Add(READ, 1, RLX), 0);
        run.leave(kind, 1);
        if locks {
            run.act(1, Manner::InTurn, Act::Add(LOCK, 1, REL), 0);
            run.act(2, Manner::OfLock, Act::Add(LOCK, 1, ACQ), 0);
        }
        run.enter(kind, (2, 1));
        run.act(2, reads, Act::Load(READ, RLX), 0);
        run.orders.has_missed()
    }

    #[test]
    fn an_order_by_an_uncertain_edge_only_is_no_proof() {
        use Manner::{Chosen, InPassing, InTurn};
        let manners = [InPassing, InTurn, Chosen];
        let pairs = manners.into_iter().flat_map(|changes| manners.map(|reads| (changes, reads)));
        for (kind, manners) in
            pairs.flat_map(|pair| Uncertain::ALL.iter().map(move |kind| (*kind, pair)))
        {
            assert!(misses(kind, manners, false), "{kind:?}, {manners:?}");
            assert!(!misses(kind, manners, true), "{kind:?}, {manners:?}");
        }
    }

    /// A thread changes a word, and ends an exclusive hold of a lock. Two others then hold the lock together. The
    /// second one reads the word that this thread has changed. Returns `true` if the run may have missed an outcome.
    fn misses_with_holders(changing: usize) -> bool {
        let mut run = Run::new(OrderS::ExactWithMoves);
        let change = |run: &mut Run, thread| {
            if thread == changing {
                run.act(thread, Manner::Chosen, Act::Add(READ, 1, RLX), 0);
            }
        };
        change(&mut run, 1);
        run.act(1, Manner::EndsExclusive, Act::Add(SHARED, 1, REL), 0);
        change(&mut run, 3);
        for thread in [3, 2] {
            run.act(thread, Manner::OfSharedPrimitive, Act::Add(SHARED, 1, ACQ_REL), 0);
        }
        run.act(2, Manner::Chosen, Act::Load(READ, RLX), 0);
        run.orders.has_missed()
    }

    #[test]
    fn an_exclusive_hold_is_surely_before_a_shared_hold() {
        assert!(!misses_with_holders(1));
        assert!(misses_with_holders(3));
    }

    /// A step of a random program.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Act(Manner, Act),
        Leave(Uncertain),
        Enter(Uncertain, usize),
        Join(usize),
    }

    fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
        values[random.below(values.len())]
    }

    /// Returns a step of a thread. The lists contain the likely values several times.
    fn step(random: &mut Random, others: &[usize]) -> Step {
        use Manner::{Chosen, EndsExclusive, InPassing, InTurn, OfLock, OfPrimitive, OfWait};
        let other = one_of(random, others);
        let order = one_of(random, &[RLX, RLX, ACQ, REL, ACQ_REL, SEQ_CST]);
        let value = 1 + random.below(3) as u64;
        let kinds = [Uncertain::Call, Uncertain::Memory, Uncertain::Stack];
        let word = one_of(random, &[READ, READ, COUNT]);
        let holds = [Manner::OfSharedLock, Manner::OfSharedPrimitive];
        match random.below(24) {
            0..4 => Step::Act(one_of(random, &[Chosen, InTurn, Chosen]), Act::Load(word, order)),
            4..6 => Step::Act(Chosen, Act::Store(READ, value, order)),
            6 => Step::Act(Chosen, Act::CompareExchange(READ, value, 0, order, RLX)),
            7..9 => Step::Act(Chosen, Act::Add(word, value, order)),
            9 => Step::Act(InPassing, Act::Load(word, order)),
            10..12 => Step::Act(InPassing, Act::Add(COUNT, value, order)),
            12 => Step::Act(OfLock, Act::Add(LOCK, value, ACQ)),
            13 => Step::Act(InTurn, Act::Add(LOCK, value, REL)),
            14 => Step::Act(one_of(random, &holds), Act::Add(SHARED, value, ACQ_REL)),
            15 => Step::Act(OfWait, Act::Load(LOCK, ACQ)),
            16 => Step::Act(InPassing, Act::Fence(order.max(ACQ))),
            17 => Step::Leave(one_of(random, &kinds)),
            18 => Step::Enter(one_of(random, &kinds), other),
            19 => Step::Act(OfLock, Act::Add(SHARED, value, ACQ)),
            20 => Step::Act(EndsExclusive, Act::Add(SHARED, value, REL)),
            21 => Step::Act(OfPrimitive, Act::Load(LOCK, order)),
            22 => Step::Act(OfPrimitive, Act::Add(LOCK, value, order)),
            _ => Step::Join(other),
        }
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    struct Sum {
        /// Runs in which an uncertain edge has hidden a store from an operation.
        hidden: usize,
        /// Other runs that may have missed an outcome.
        others: usize,
        /// Runs that have missed nothing.
        complete: usize,
    }

    /// Performs random steps, and the same steps without uncertain edges. If an operation may then choose more stores,
    /// the run must say that it may have missed an outcome.
    #[test]
    fn stores_that_uncertain_edges_hide_are_no_proof() {
        let (programs, expected) = sample(
            (20_000, Sum { hidden: 212, others: 12_594, complete: 7_194 }),
            (1_000_000, Sum { hidden: 10_505, others: 629_535, complete: 359_960 }),
        );
        let (mut random, mut sum) = (Random(7), Sum::default());
        for program in 0..programs {
            let s = one_of(&mut random, &[OrderS::Execution, OrderS::ExactWithMoves]);
            let (mut run, mut without) = (Run::new(s), Run::new(s));
            let (mut alive, mut steps, mut hides) = (vec![1, 2, 3], Vec::new(), false);
            for _ in 0..14 {
                let thread = one_of(&mut random, &alive);
                let others: Vec<_> = (1..=THREADS).filter(|other| *other != thread).collect();
                let step = step(&mut random, &others);
                steps.push((thread, step));
                match step {
                    Step::Act(manner, act) => {
                        let (places, all) =
                            (run.places(thread, &act), without.places(thread, &act));
                        assert!(places.iter().all(|place| all.contains(place)), "{steps:?}");
                        let chooses = !matches!(
                            manner,
                            Manner::OfLock
                                | Manner::OfSharedLock
                                | Manner::OfSharedPrimitive
                                | Manner::EndsExclusive
                                | Manner::OfWait
                        );
                        hides = chooses && places != all;
                        let nth =
                            if manner == Manner::Chosen { random.below(places.len()) } else { 0 };
                        let is_uncertain = run.is_passed(&act)
                            || matches!(
                                manner,
                                Manner::InPassing
                                    | Manner::OfSharedLock
                                    | Manner::OfSharedPrimitive
                            );
                        run.act(thread, manner, act, nth);
                        let nth = all.iter().position(|place| *place == places[nth]).unwrap();
                        match is_uncertain {
                            true => without.act_without_edge(thread, manner, act, nth),
                            false => without.act(thread, manner, act, nth),
                        }
                    }
                    Step::Leave(kind) => {
                        run.leave(kind, thread);
                        without.leave(kind, thread);
                    }
                    Step::Enter(kind, from) => run.enter(kind, (thread, from)),
                    Step::Join(other) if alive.len() > 2 => {
                        alive.retain(|one| *one != other);
                        run.orders.joined(thread, other);
                        without.orders.joined(thread, other);
                    }
                    Step::Join(_) => {}
                }
                assert!(!hides || run.orders.has_missed(), "{program}: {steps:?}");
                if run.orders.has_missed() {
                    break;
                }
            }
            match (hides, run.orders.has_missed()) {
                (true, _) => sum.hidden += 1,
                (_, true) => sum.others += 1,
                _ => sum.complete += 1,
            }
        }
        assert_eq!(sum, expected);
    }

    /// An operation of a thread.
    type Performed = (usize, Manner, Act);

    /// Returns a program that ends with a load of the count. Its additions in passing have different values.
    fn counting(random: &mut Random) -> Vec<Performed> {
        use Manner::{Chosen, InPassing, InTurn};
        let mut program: Vec<Performed> = (0..6)
            .map(|nth| {
                let word = one_of(random, &[READ, LOCK]);
                let (manner, act) = match random.below(8) {
                    0..4 => (InPassing, Act::Add(COUNT, 2 << nth, one_of(random, &[RLX, ACQ_REL]))),
                    4 | 5 => (Chosen, Act::Store(word, 1, one_of(random, &[RLX, REL]))),
                    6 => (Chosen, Act::Load(word, one_of(random, &[RLX, ACQ]))),
                    _ => (InTurn, Act::Load(COUNT, one_of(random, &[RLX, ACQ]))),
                };
                (1 + random.below(THREADS), manner, act)
            })
            .collect();
        let order = one_of(random, &[RLX, ACQ]);
        program.push((
            1 + random.below(THREADS),
            one_of(random, &[Chosen, InTurn]),
            Act::Load(COUNT, order),
        ));
        program
    }

    /// Returns `true` if a search tries only one order of two operations.
    fn commute(one: &Performed, other: &Performed) -> bool {
        let is_passing = |of: &Performed| of.1 == Manner::InPassing;
        let is_of_count = |of: &Performed| of.2.word() == Some(COUNT);
        one.0 != other.0
            && match (is_passing(one), is_passing(other)) {
                (true, true) => true,
                (true, false) => !is_of_count(other),
                (false, true) => !is_of_count(one),
                (false, false) => false,
            }
    }

    /// Returns the counts that the last operation may read, and `true` if the run may have missed an outcome.
    fn counts(program: &[Performed]) -> (BTreeSet<u64>, bool) {
        let mut run = Run::new(OrderS::ExactWithMoves);
        let (last, others) = program.split_last().expect("a load");
        others.iter().for_each(|(thread, manner, act)| run.act(*thread, *manner, *act, 0));
        let (thread, manner, act) = *last;
        let at = run.orders.word(&act, run.memory[COUNT]);
        let places = run.places(thread, &act);
        let stores = &run.orders.words[at].stores;
        let values = places.iter().map(|place| stores[usize::from(*place)].value).collect();
        run.act(thread, manner, act, 0);
        (values, run.orders.has_missed())
    }

    /// Adds the counts in each equivalent order of a program to `all`. `order` is the begin of the order.
    fn in_each_order(program: &[Performed], order: &mut Vec<usize>, all: &mut BTreeSet<u64>) {
        if order.len() == program.len() {
            let program: Vec<Performed> = order.iter().map(|at| program[*at]).collect();
            return all.extend(counts(&program).0);
        }
        for at in (0..program.len()).filter(|at| !order.contains(at)).collect::<Vec<_>>() {
            let mut earlier = (0..at).filter(|other| !order.contains(other));
            if earlier.all(|other| commute(&program[other], &program[at])) {
                order.push(at);
                in_each_order(program, order, all);
                order.pop();
            }
        }
    }

    /// Performs random programs in each order that a search takes for equivalent. If the last operation may read other
    /// counts in one of them, the first order must say that it may have missed an outcome.
    #[test]
    fn counts_in_other_orders_of_stores_in_passing_are_no_proof() {
        let (programs, expected) =
            sample((10_000, [626, 4_301, 5_073]), (200_000, [12_678, 85_526, 101_796]));
        let (mut random, mut sum) = (Random(11), [0; 3]);
        for number in 0..programs {
            let program = counting(&mut random);
            let (found, has_missed) = counts(&program);
            let mut all = BTreeSet::new();
            in_each_order(&program, &mut Vec::new(), &mut all);
            assert!(has_missed || found == all, "{number}: {found:?} of {all:?}: {program:?}");
            sum[usize::from(has_missed) + usize::from(found != all)] += 1;
        }
        assert_eq!(sum, expected);
    }
}
