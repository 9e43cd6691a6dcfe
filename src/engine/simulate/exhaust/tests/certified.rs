//! Certificates of searches against the checker, which uses no code of the search.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use unpause_verify::{Bound, Decisions, Gap, Observed, Reader, Verified, verify};

use super::act::Act;
use super::program::{Program, body};
use super::{by_search_up_to, ends_by_a_step, families, limits, place};
use crate::engine::results::Json;
use crate::engine::simulate::certify::{self, RunObserver};
use crate::rt::{TaskBody, Worker};
use crate::run::ids::Seed;
use crate::run::op::kind::faults;
use crate::run::op::{lock, word};
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::exhaustive::{Exhaustive, Rule, without};
use crate::strategy::search::Apart;

/// The decisions of each complete run of a search, and the differences that distinguished them.
pub(super) fn certificate(program: &Program, apart: Apart) -> (Vec<Decisions>, Apart) {
    let search = Exhaustive::default();
    search.tell_apart(apart);
    let mut worker = Worker::new(search.strategy());
    let mut runs = Vec::new();
    loop {
        let body = pin!(TaskBody::new(body(program)));
        let failure = worker.run(Seed(0), &limits(program), place(), body);
        worker.forget_histories();
        #[cfg(feature = "tokio")]
        super::channels::take_got();
        if !search.is_blocked() {
            runs.push(Decisions::read(&certify::write(&worker.schedule())).unwrap());
        }
        let more = search.advance(ends_by_a_step(failure.as_ref()));
        if search.progress().runs == 0 {
            runs.clear();
        }
        if !more {
            return (runs, search.apart());
        }
    }
}

/// A program with runs that a checker requests.
struct Asked<'a> {
    program: &'a Program,
    apart: Apart,
}

impl unpause_verify::Program for Asked<'_> {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        let mut observer = RunObserver::new(self.apart, false);
        let mut worker = Worker::new(observer.strategy(Arc::default()));
        for decisions in runs {
            let line = Json::parse(decisions.line().as_bytes())?;
            worker.set_strategy(observer.strategy(Arc::new(certify::read(&line)?)));
            let body = pin!(TaskBody::new(body(self.program)));
            let failure = worker.run(Seed(0), &limits(self.program), place(), body);
            let run = worker.extract(Seed(0), "asked");
            worker.forget_histories();
            #[cfg(feature = "tokio")]
            super::channels::take_got();
            // Runs of these programs may fail.
            observer.write(&run, failure.as_ref(), None);
        }
        let mut reader = Reader::default();
        for line in observer.lines.lines() {
            if let Some(observed) = reader.read(line)? {
                show(observed);
            }
        }
        Ok(())
    }

    fn bound(&self) -> Option<Bound> {
        None
    }
}

/// Verifies runs of a program.
pub(super) fn verified(
    program: &Program,
    runs: &[Decisions],
    apart: Apart,
) -> Result<Verified, Gap> {
    verify(runs, &mut Asked { program, apart })
}

/// Sums over certificates.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Certified {
    pub(super) certificates: u64,
    pub(super) runs: u64,
    pub(super) asked: u64,
    pub(super) disabled: u64,
    /// The number of certificates without a class.
    pub(super) mutated: u64,
    /// The number of accepted certificates.
    pub(super) accepted: u64,
}

impl Certified {
    /// Verifies the certificate of a program. Asserts that the certificate is refused if a class is missing.
    pub(super) fn check(&mut self, program: &Program, apart: Apart) {
        let (runs, apart) = certificate(program, apart);
        let whole = verified(program, &runs, apart)
            .unwrap_or_else(|gap| panic!("{program:?}\nis refused: {gap}\n{gap:?}"));
        self.certificates += 1;
        self.runs += whole.runs;
        self.asked += whole.asked;
        self.disabled += whole.disabled;
        if whole.classes != whole.runs {
            // Another run of the class may be left.
            return;
        }
        for nth in 0..runs.len() {
            let mut without = runs.clone();
            without.remove(nth);
            self.mutated += 1;
            match verified(program, &without, apart) {
                Err(Gap::Missing(..) | Gap::Empty) => {}
                Ok(_) => {
                    self.accepted += 1;
                    eprintln!("accepted without run {nth}: {program:?}\n{:?}", runs[nth]);
                }
                Err(gap) => panic!("{program:?}\nwithout run {nth}: {gap}"),
            }
        }
    }
}

/// The classes of these runs by the relation of the search.
pub(super) fn classes(program: &Program, runs: &[Decisions], apart: Apart) -> BTreeSet<u64> {
    let observer = RunObserver::new(apart, false);
    let mut worker = Worker::new(observer.strategy(Arc::default()));
    let mut class = |decisions: &Decisions| {
        let line = Json::parse(decisions.line().as_bytes()).unwrap();
        worker.set_strategy(observer.strategy(Arc::new(certify::read(&line).unwrap())));
        let body = pin!(TaskBody::new(body(program)));
        let failure = worker.run(Seed(0), &limits(program), place(), body);
        worker.forget_histories();
        observer.witness().look(ends_by_a_step(failure.as_ref()), |order| order.class())
    };
    runs.iter().map(&mut class).collect()
}

/// Changes a certificate somewhere.
fn mutate(runs: &mut Vec<Decisions>, chance: &mut Rng) {
    let nth = chance.below(runs.len() as u64) as usize;
    let other = runs[chance.below(runs.len() as u64) as usize].clone();
    let run = &mut runs[nth];
    let at = chance.below(run.steps.len() as u64) as usize;
    match chance.below(6) {
        0 => drop(runs.remove(nth)),
        1 => *run = other,
        2 => run.steps[at..].rotate_left(1),
        3 => drop(run.steps.pop()),
        4 => run.steps[at] = chance.below(run.tasks.len() as u64) as usize,
        _ => {
            let values: Vec<&mut u64> = run.draws.iter_mut().flatten().collect();
            match values.into_iter().next() {
                Some(value) => *value ^= 1,
                None => run.steps.truncate(at),
            }
        }
    }
}

#[test]
fn a_certificate_that_was_changed_is_refused_unless_it_still_has_every_class() {
    crate::engine::simulate::hook::install();
    let mut chance = Rng::new(1);
    let (mut refused, mut whole) = (0, 0);
    let most = if crate::long() { 400 } else { 6 };
    for family in ["memory", "Mutex", "rand", "abort, is_finished", "select!", "node work, kill"] {
        for seed in 0..most {
            let program = families::generate(family, seed);
            if by_search_up_to(&program, Apart::ORDERS, 60).is_none() {
                continue;
            }
            let (runs, apart) = certificate(&program, Apart::ORDERS);
            let all = classes(&program, &runs, apart);
            for _ in 0..8 {
                let mut changed = runs.clone();
                mutate(&mut changed, &mut chance);
                match verified(&program, &changed, apart) {
                    Err(_) => refused += 1,
                    Ok(_) => {
                        whole += 1;
                        assert_eq!(classes(&program, &changed, apart), all, "{program:?}");
                    }
                }
            }
        }
    }
    println!("{refused} refused, {whole} still have every class");
    assert!(refused > 80 && whole > 0, "{refused} {whole}");
}

/// Verifies the certificates of a faulty search that misses a class. Returns the number of these certificates, and the
/// number of refused certificates.
fn refused(
    programs: impl Iterator<Item = Program>,
    faulty: impl Fn(&Program) -> (Vec<Decisions>, Apart),
) -> (u64, u64) {
    let (mut faulty_ones, mut refused) = (0, 0);
    for program in programs {
        let Some(whole) = by_search_up_to(&program, Apart::ORDERS, 200) else { continue };
        let (runs, apart) = faulty(&program);
        if apart != whole.apart || classes(&program, &runs, apart).len() == whole.classes.len() {
            continue;
        }
        faulty_ones += 1;
        refused += u64::from(verified(&program, &runs, apart).is_err());
        if faulty_ones == if crate::long() { 40 } else { 10 } {
            break;
        }
    }
    (faulty_ones, refused)
}

#[test]
fn the_certificate_of_a_search_without_a_rule_is_refused() {
    crate::engine::simulate::hook::install();
    let of_kind = |kind: &'static [fn(&mut Rng) -> Act]| {
        let program = move |seed| Program::generate(&mut Rng::new(seed), kind, (3, 3));
        (0..400).map(program).collect::<Vec<_>>()
    };
    let body = vec![Act::Lock(0), Act::Load(1), Act::Abort];
    let dropped = Program::new(vec![body, vec![Act::Lock(0)]], 1, 1);
    let parent = vec![Act::Spawn, Act::Join];
    let acts = vec![vec![Act::Pause, Act::Abort], parent, vec![], vec![Act::Pause]];
    let late = Program::new(acts, 1, 1);
    for (rule, programs) in [
        (Rule::Dropped, vec![dropped]),
        (Rule::Pending, of_kind(&[Act::lock, Act::add, Act::load, Act::spawn, Act::unlock])),
        (
            Rule::Enablers,
            of_kind(&[Act::store, Act::add, Act::wait, Act::wait, Act::lock, Act::unlock]),
        ),
        (Rule::LateEnablers, vec![late]),
        (Rule::Sleepers, of_kind(&[Act::load, Act::add, Act::pause, Act::store])),
    ] {
        let faulty = |program: &Program| without(rule, || certificate(program, Apart::ORDERS));
        let (faulty, refused) = refused(programs.into_iter(), faulty);
        println!("{rule:?}: {refused} of {faulty}");
        assert!(faulty > 0 && refused == faulty, "{rule:?}: {refused} of {faulty}");
    }
}

#[test]
fn the_certificate_of_a_search_that_forgets_a_conflict_is_refused() {
    crate::engine::simulate::hook::install();
    for (pair, family) in [
        ((word::READ, word::WRITE), "memory"),
        ((word::WRITE, word::WRITE), "memory"),
        ((lock::ACQUIRE, lock::ACQUIRE), "Mutex"),
    ] {
        let programs = (0..300).map(|seed| families::generate(family, seed));
        let faulty =
            |program: &Program| faults::without(pair, || certificate(program, Apart::ORDERS));
        let (faulty, refused) = refused(programs, faulty);
        println!("{pair:?}: {refused} of {faulty}");
        assert!(faulty > 0 && refused == faulty, "{pair:?}: {refused} of {faulty}");
    }
}
