//! Runs within a bound, which are all runs of a search that does not leave out equivalent runs.

use unpause_verify::{Bound, Decisions, Gap, Observed, Program, Step, verify};

use super::{Op, Toy, of_tasks, toy_of};

/// The runs within a bound are a certificate of this bound only.
#[test]
fn all_runs_within_a_bound_are_accepted_and_every_smaller_set_is_refused() {
    let (mut accepted, mut refused, mut cut) = (0, 0, 0);
    for number in 0..200 {
        let mut toy = toy_of(number, 9);
        for (counts_delays, most) in [(false, 0), (false, 1), (false, 2), (true, 1), (true, 2)] {
            let bound = Bound { counts_delays, most };
            let all = toy.within(bound);
            if all.len() > 40 {
                continue;
            }
            toy.bound = Some(bound);
            let verified = verify(&all, &mut toy);
            let verified = verified.unwrap_or_else(|gap| panic!("{:?}: {gap}\n{gap:?}", toy.tasks));
            assert_eq!(verified.classes, all.len() as u64, "{bound:?} {:?}", toy.tasks);
            accepted += 1;
            for nth in 0..all.len() {
                let mut smaller = all.clone();
                smaller.remove(nth);
                let gap = verify(&smaller, &mut toy).unwrap_err();
                assert!(matches!(gap, Gap::Missing(..) | Gap::Empty), "{gap}");
                refused += 1;
            }
            // With a larger bound, the set is accepted only if it has all its runs.
            let larger = Bound { most: most + 1, ..bound };
            toy.bound = Some(larger);
            let is_whole = toy.within(larger).len() == all.len();
            assert_eq!(verify(&all, &mut toy).is_ok(), is_whole, "{larger:?} {:?}", toy.tasks);
            cut += u32::from(!is_whole);
        }
    }
    assert!(accepted > 400 && refused > 2_000 && cut > 200, "{accepted} {refused} {cut}");
}

/// A program that does not tell which tasks could step, or tells it wrongly.
struct Liar {
    toy: Toy,
    lie: fn(&mut Step),
}

impl Program for Liar {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        for run in runs {
            let mut observed = self.toy.observe(run);
            if let Observed::Run(run) = &mut observed {
                run.steps.iter_mut().for_each(self.lie);
            }
            show(observed);
        }
        Ok(())
    }

    fn bound(&self) -> Option<Bound> {
        self.toy.bound
    }
}

#[test]
fn a_run_without_its_possible_tasks_is_no_part_of_a_bounded_proof() {
    let tasks = vec![vec![Op::Write(0), Op::Read(0)], vec![Op::Write(0)], vec![Op::Wait(1)]];
    let bound = Bound { counts_delays: false, most: 2 };
    type Lie = fn(&mut Step);
    let lies: [(Lie, bool); 3] = [
        (|_| {}, true),
        (|step| step.ready.clear(), false),
        // The last task waits forever.
        (|step| step.ready.push(3), false),
    ];
    for (lie, is_accepted) in lies {
        let toy = Toy { bound: Some(bound), ..of_tasks(tasks.clone()) };
        let all = toy.within(bound);
        assert_eq!(verify(&all, &mut Liar { toy, lie }).is_ok(), is_accepted);
    }
}
